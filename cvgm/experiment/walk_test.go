package experiment

import (
	"context"
	"fmt"
	"iter"
	"math"
	"testing"
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

func TestKernelWalksTakeTheStepsOfRun(t *testing.T) {
	rings, xor := PaperRings(), PaperXOR()
	for _, p := range []*LearnedKernelParams{&rings.LearnedKernelParams, &xor.LearnedKernelParams} {
		p.K, p.Steps, p.Panels, p.Test = 12, 4, nil, 200
	}
	for name, of := range map[string]struct {
		run  func(context.Context) (*LearnedKernelResult, error)
		walk func(Variant) (*KernelWalk, error)
	}{"rings": {rings.Run, rings.Walk}, "XOR": {xor.Run, xor.Walk}} {
		r, err := of.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range Variants {
			w, err := of.walk(v)
			if err != nil {
				t.Fatal(err)
			}
			if w.Bayes.Accuracy != r.Bayes.Population {
				t.Errorf("%s: Bayes accuracy %v, want %v", name, w.Bayes.Accuracy, r.Bayes.Population)
			}
			run := r.Run(v)
			for i, s := range take(t, len(run.CVLoss), w.States()) {
				test, err := Judge(s.Model, w.Test)
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

func TestElasticNetWalkTakesTheStepsOfRun(t *testing.T) {
	p := PaperElasticNet()
	p.Samples, p.K, p.Steps, p.GridPoints, p.RandomPoints, p.LongSteps, p.SurfacePoints = 60, 6, 8, 2, 2, 2, 4
	r, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.Walk()
	if err != nil {
		t.Fatal(err)
	}
	if w.LeastSquares != r.LeastSquares.Value || w.TrueCoefficients != r.TrueCoefficients.Value {
		t.Errorf("levels %v, %v; Run has %v, %v", w.LeastSquares, w.TrueCoefficients, r.LeastSquares.Value, r.TrueCoefficients.Value)
	}
	for i, s := range take(t, p.Steps, w.States()) {
		if s.Step != i || s.Lambda != r.CVGM.Lambda[i] || s.CVLoss != r.CVGM.CVLoss[i] || s.TestLoss != r.CVGM.TestLoss[i] {
			t.Errorf("step %d: %+v; Run has λ %v, CV loss %v, test loss %v", i, s, r.CVGM.Lambda[i], r.CVGM.CVLoss[i], r.CVGM.TestLoss[i])
		}
	}
	s, err := w.CVSurface(p.SurfaceLow, p.SurfaceHigh, p.SurfacePoints)
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

func TestWalksRefuseBadParams(t *testing.T) {
	rings := PaperRings()
	rings.Hidden = []int{0}
	xor := PaperXOR()
	xor.Overlap = 2
	net := PaperElasticNet()
	net.Train = net.Samples
	for name, err := range map[string]error{
		"hidden":  second(rings.Walk(Full)),
		"overlap": second(xor.Walk(Full)),
		"train":   second(net.Walk()),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func ExampleKernelWalk() {
	w, err := PaperRings().Walk(Full)
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
			test, err := Judge(s.Model, w.Test)
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

func ExampleElasticNetWalk() {
	w, err := PaperElasticNet().Walk()
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
			fmt.Printf("CV loss %.3f, test loss %.3f at λ = %.3f\n", s.CVLoss, s.TestLoss, s.Lambda)
			break
		}
	}
	fmt.Printf("least squares: %.3f\n", w.LeastSquares)
	// Output:
	// CV loss 1.654, test loss 1.078 at λ = [0.061 0.043]
	// least squares: 1.285
}
