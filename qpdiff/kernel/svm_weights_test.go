package kernel

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// For a small C, every β is at its bound C·w·y, so the linear kernel has f(x) = Σ β_i·x_i·x.
func TestKernelSVMWeightsByHand(t *testing.T) {
	d := learn.Data{X: mat.NewDense(4, 1, []float64{1, 2, -1, 5}), Y: []float64{1, 1, -1, 1}, Weights: []float64{3, .5, 2, 0}}
	l := SVM{Kernel: Polynomial{Degree: 1}}
	const c = .01
	f := make([]float64, 1)
	g := casetest.NewGrad(d, 3)
	x := mat.NewDense(1, 1, []float64{2})
	numtest.OK(t, l.Load(d), l.Fit(nil, []float64{c, 1, 0}), l.Predict(nil, f, x), l.PredictVJP(nil, g, nil, x, []float64{1}))
	numtest.NearAll(t, "decision value", f, []float64{2 * c * (3*1 + .5*2 + 2*1)}, 1e-15, 0)
	numtest.NearAll(t, "C", g.Hyper[:1], []float64{2 * (3 + 1 + 2)}, 1e-14, 0)
	numtest.NearAll(t, "X", g.X.RawMatrix().Data, []float64{2 * c * 3, 2 * c * .5, -2 * c * 2, 0}, 1e-14, 0)
	alpha, err := l.Multipliers(nil)
	if err != nil || !slices.Equal(alpha, []float64{3 * c, .5 * c, 2 * c, 0}) {
		t.Errorf("multipliers %v, error %v", alpha, err)
	}
	if rows, err := l.SupportVectors(nil); err != nil || !slices.Equal(rows, []int{0, 1, 2}) {
		t.Errorf("support vectors %v, error %v", rows, err)
	}
}

// A fit returns an error if the product of C and a weight underflows or overflows.
func TestKernelSVMWeightsOutOfRange(t *testing.T) {
	d := casetest.RandomData(5, 8, 2, true)
	for name, c := range map[string]struct {
		weight, c float64
		bound     string
	}{"underflow": {1e-200, 1e-200, "the bound 0"}, "overflow": {1e200, 1e200, "the bound +Inf"}} {
		d.Weights = slices.Repeat([]float64{c.weight}, 8)
		l := new(SVM)
		numtest.OK(t, l.Load(d))
		if err := l.Fit(nil, []float64{c.c, 1}); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), c.bound) {
			t.Errorf("%s: %v", name, err)
		}
		if err := l.Fit(nil, []float64{1 / c.weight, 1}); err != nil {
			t.Errorf("%s, balanced by C: %v", name, err)
		}
	}
}

// A fit whose weights differ by many decades satisfies the conditions of the dual or returns an
// error.
func TestKernelSVMWeightsOfManyDecades(t *testing.T) {
	solved := 0
	for trial := range uint64(numtest.Long(300)) {
		d := casetest.RandomData(trial, 16, 2, true)
		d.Weights = make([]float64, 16)
		for i := range d.Weights {
			d.Weights[i] = math.Pow(10, 6*math.Sin(float64(trial)+float64(5*i)))
		}
		l := &SVM{Intercept: trial%2 == 0}
		hyper := []float64{math.Pow(10, float64(trial%5)-2), .5}
		theta := make([]float64, 1)[:trial%2^1]
		if err := errors.Join(l.Load(d), l.Fit(theta, hyper)); err != nil {
			if !errors.Is(err, qpdiff.ErrIllPosed) && !errors.Is(err, qpdiff.ErrIterationLimit) {
				t.Errorf("trial %d: %v", trial, err)
			}
			continue
		}
		solved++
		if v := kernelSVMViolation(l, d, hyper); !(v <= 1e-9) {
			t.Errorf("trial %d: violation %g", trial, v)
		}
		g := casetest.NewGrad(d, 2)
		if err := l.PredictVJP(nil, g, nil, d.Dense(), d.Y); err != nil && !errors.Is(err, qpdiff.ErrNotDifferentiable) && !errors.Is(err, qpdiff.ErrIllPosed) {
			t.Errorf("trial %d: %v", trial, err)
		}
	}
	if solved < numtest.Long(290) {
		t.Errorf("%d of %d solved", solved, numtest.Long(300))
	}
}
