package cvgm_test

import (
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/cvgmtest"
	"cvgm/qpdiff"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func init() {
	cvgm.FeatureMapContract = func(t rapid.TB, fresh func() cvgm.FeatureMap, reference func(params, x []float64) []float64, params []float64, x *mat.Dense, step float64) {
		t.Helper()
		cvgmtest.FeatureMap(t, fresh, reference, params, x, step)
		f := fresh()
		_, out := f.Dims()
		rows, _ := x.Dims()
		grad, d := make([]float64, len(params)), mat.NewDense(rows, out, nil)
		if a := testing.AllocsPerRun(5, func() {
			f.Forward(params, x)
			f.Backward(grad, nil, d)
		}); a != 0 {
			t.Errorf("Forward and Backward allocate %v times", a)
		}
	}
	cvgm.SearcherContract = func(t *testing.T, make func(budget int) cvgm.Searcher, gradient, fixed, restarts bool) {
		t.Helper()
		cvgmtest.Searcher(t, make, cvgmtest.Search{Gradient: gradient, Fixed: fixed, Restarts: restarts})
	}
}

func TestLosses(t *testing.T) {
	predictions := []float64{-20, -2, -1, -.3, 0, .4, 1, 3, 17}
	for _, l := range []cvgm.Loss{cvgm.SquaredError{}, cvgm.LogisticLoss{}, cvgm.Hinge{}, cvgm.SquaredHinge{}, cvgm.Exponential{}, cvgm.ZeroOne{}} {
		cvgmtest.Loss(t, l, predictions, []float64{-1, 1, .5})
	}
}

// The exact gradients of a CV pass the check for any objective.
func TestCheckGradientOfACV(t *testing.T) {
	src := synth.NewStream(5, "check gradient")
	d := qpdiff.Data{X: mat.NewDense(20, 3, nil), Y: make([]float64, 20)}
	for i := range d.Y {
		for j := range 3 {
			d.X.Set(i, j, src.NormFloat64())
		}
		d.Y[i] = d.X.At(i, 0) + src.NormFloat64()
	}
	splits, err := cvgm.KFold(src, 20, 4)
	if err != nil {
		t.Fatal(err)
	}
	cv, err := cvgm.New(cvgm.Config{Data: d, Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring,
		Learner: func() qpdiff.Learner { return new(qpdiff.ElasticNet) }})
	if err != nil {
		t.Fatal(err)
	}
	cvgmtest.CheckGradient(t, cv.Eval, []float64{.1, .2})
}

// failures counts what a contract reports.
type failures struct {
	*testing.T
	count int
}

func (f *failures) Errorf(string, ...any) { f.count++ }

// The checks can fail.
func TestContractsFindFaults(t *testing.T) {
	f := &failures{T: t}
	cvgmtest.CheckGradient(f, func(grad, x []float64) (float64, error) {
		if grad != nil {
			grad[0], grad[1] = 2*x[0], x[0] // of x₀² + x₁
		}
		return x[0]*x[0] + x[1], nil
	}, []float64{2, 3})
	if f.count == 0 {
		t.Error("CheckGradient takes a wrong gradient")
	}
	f.count = 0
	cvgmtest.Loss(f, wrongSlope{}, []float64{1, 2}, []float64{1})
	if f.count == 0 {
		t.Error("Loss takes a wrong slope")
	}
	f.count = 0
	cvgmtest.Searcher(f, func(budget int) cvgm.Searcher {
		return cvgm.ProjectedGradient{StepSize: .2, MaxEvals: budget + 1}
	}, cvgmtest.Search{Gradient: true})
	if f.count == 0 {
		t.Error("Searcher takes a searcher that exceeds its budget")
	}
}

type wrongSlope struct{}

func (wrongSlope) Eval(p, y float64) (loss, slope float64) { return (p - y) * (p - y), p - y }
