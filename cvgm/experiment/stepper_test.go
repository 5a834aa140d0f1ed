package experiment

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"testing"

	"cvgm/qpdiff"
)

// take returns the first n states.
func take[S any](t *testing.T, n int, states iter.Seq2[S, error]) []S {
	t.Helper()
	var taken []S
	for s, err := range states {
		if err != nil {
			t.Fatal(err)
		}
		if taken = append(taken, s); len(taken) == n {
			break
		}
	}
	return taken
}

func TestElasticNetStepperTakesTheStepsOfRun(t *testing.T) {
	p := DefaultElasticNet()
	p.Samples, p.K, p.Steps, p.GridPoints, p.RandomPoints, p.LongSteps, p.SurfacePoints = 60, 6, 8, 2, 2, 2, 4
	r, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.Stepper()
	if err != nil {
		t.Fatal(err)
	}
	if fit, truth, err := w.ReferenceLosses(); fit != r.LeastSquares || truth != r.TrueCoefficients || err != nil {
		t.Errorf("reference losses %v, %v (%v); Run has %v, %v", fit, truth, err, r.LeastSquares, r.TrueCoefficients)
	}
	i := 0
	for s, err := range w.States() {
		if err != nil {
			t.Fatal(err)
		}
		test, err := s.Model.Risk(w.Loss, w.Test)
		if s.Step != i || [2]float64(s.X) != r.CVGM.Lambda[i] || s.CVLoss != r.CVGM.CVLoss[i] || test != r.CVGM.TestLoss[i] || err != nil {
			t.Errorf("step %d: %+v, test loss %v (%v); Run has λ %v, CV loss %v, test loss %v", i, s, test, err, r.CVGM.Lambda[i], r.CVGM.CVLoss[i], r.CVGM.TestLoss[i])
		}
		if i++; i == p.Steps {
			break
		}
	}
	s, err := w.CVSurface(p.SurfaceGrid)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range r.Surface.CV {
		for j, want := range row {
			// Both come from warm starts, but not from the same.
			if math.Abs(s.CV[i][j]-want) > 1e-9*want {
				t.Errorf("surface at %d, %d: %v, want %v", i, j, s.CV[i][j], want)
			}
		}
	}
}

func TestElasticNetStepperRefusesBadParams(t *testing.T) {
	p := DefaultElasticNet()
	p.Train = p.Samples
	if _, err := p.Stepper(); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("error %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func ExampleStepper_elasticNet() {
	w, err := DefaultElasticNet().Stepper()
	if err != nil {
		fmt.Println(err)
		return
	}
	for s, err := range w.States() {
		if err != nil {
			fmt.Println(err)
			return
		}
		if s.Step == 98 {
			test, err := w.TestLoss(s.X)
			if err != nil {
				fmt.Println(err)
			}
			fmt.Printf("CV loss %.3f, test loss %.3f at λ = %.3f\n", s.CVLoss, test, s.X)
			break
		}
	}
	fit, _, err := w.ReferenceLosses()
	if err != nil {
		fmt.Println(err)
	}
	fmt.Printf("least squares: %.3f\n", fit)
	// Output:
	// CV loss 1.654, test loss 1.078 at λ = [0.061 0.043]
	// least squares: 1.285
}

func TestKernelSteppersTakeTheStepsOfRun(t *testing.T) {
	rings, xor := DefaultRings(), DefaultXOR()
	for _, p := range []*LearnedKernel{&rings.LearnedKernel, &xor.LearnedKernel} {
		p.K, p.Steps, p.ManifoldSteps, p.Test = 12, 4, nil, 200
	}
	for name, of := range map[string]struct {
		run     func(context.Context) (*LearnedKernelResult, error)
		stepper func(Variant) (*Stepper, error)
	}{"rings": {runRings(rings), rings.Stepper}, "XOR": {runXOR(xor), xor.Stepper}} {
		r, err := of.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range Variants {
			w, err := of.stepper(v)
			if err != nil {
				t.Fatal(err)
			}
			if w.Rule.Accuracy != r.Bayes.Population {
				t.Errorf("%s: Bayes accuracy %v, want %v", name, w.Rule.Accuracy, r.Bayes.Population)
			}
			run := r.Run(v)
			for i, s := range take(t, len(run.CVLoss), w.States()) {
				test, err := Evaluate(s.Model, w.Test)
				if err != nil {
					t.Fatal(err)
				}
				if s.Step != i || s.CVLoss != run.CVLoss[i] || s.Cosine != run.Cosine[i] || test.Accuracy != run.Accuracy[i] {
					t.Errorf("%s, %v: step %d has CV loss %v, cosine %v, accuracy %v; Run has %v, %v, %v", name, v,
						s.Step, s.CVLoss, s.Cosine, test.Accuracy, run.CVLoss[i], run.Cosine[i], run.Accuracy[i])
				}
			}
		}
	}
}

func TestKernelSteppersRefuseBadParams(t *testing.T) {
	rings, xor := DefaultRings(), DefaultXOR()
	rings.Hidden = []int{0}
	xor.Overlap = 2
	for name, err := range map[string]error{
		"hidden":  second(rings.Stepper(Full)),
		"overlap": second(xor.Stepper(Full)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func ExampleStepper() {
	w, err := DefaultRings().Stepper(Full)
	if err != nil {
		fmt.Println(err)
		return
	}
	for s, err := range w.States() {
		if err != nil {
			fmt.Println(err)
			return
		}
		if s.Step%10 == 0 {
			test, err := Evaluate(s.Model, w.Test)
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("after %2d steps: CV loss %.3f, test accuracy %.3f\n", s.Step, s.CVLoss, test.Accuracy)
		}
		if s.Step == 20 {
			break
		}
	}
	// Output:
	// after  0 steps: CV loss 0.701, test accuracy 0.567
	// after 10 steps: CV loss 0.437, test accuracy 0.879
	// after 20 steps: CV loss 0.354, test accuracy 0.905
}
