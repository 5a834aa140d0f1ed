package experiment

import (
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
	if w.LeastSquares != r.LeastSquares || w.TrueCoefficients != r.TrueCoefficients {
		t.Errorf("levels %v, %v; Run has %v, %v", w.LeastSquares, w.TrueCoefficients, r.LeastSquares, r.TrueCoefficients)
	}
	for i, s := range take(t, p.Steps, w.States()) {
		if s.Step != i || s.Lambda != r.CVGM.Lambda[i] || s.CVLoss != r.CVGM.CVLoss[i] || s.TestLoss != r.CVGM.TestLoss[i] {
			t.Errorf("step %d: %+v; Run has λ %v, CV loss %v, test loss %v", i, s, r.CVGM.Lambda[i], r.CVGM.CVLoss[i], r.CVGM.TestLoss[i])
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

func ExampleElasticNetStepper() {
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
			fmt.Printf("CV loss %.3f, test loss %.3f at λ = %.3f\n", s.CVLoss, s.TestLoss, s.Lambda)
			break
		}
	}
	fmt.Printf("least squares: %.3f\n", w.LeastSquares)
	// Output:
	// CV loss 1.654, test loss 1.078 at λ = [0.061 0.043]
	// least squares: 1.285
}
