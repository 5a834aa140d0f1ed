package linear

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// Fit returns an error if unpenalised features separate the classes, and succeeds with any penalty.
func TestSparseLogisticSeparable(t *testing.T) {
	column := func(x ...float64) *mat.Dense { return mat.NewDense(len(x), 1, x) }
	wide := casetest.RandomData(2, 5, 8, true)
	wide.Y[0], wide.Y[1] = 1, -1
	for _, c := range []struct {
		name      string
		d         learn.Data
		intercept bool
	}{
		{"apart", learn.Data{X: column(1, 2, -1, -3), Y: []float64{1, 1, -1, -1}}, false},
		{"apart, not at 0", learn.Data{X: column(1, 2, 5, 6), Y: []float64{1, 1, -1, -1}}, true},
		{"one class, no intercept", learn.Data{X: column(1, 2, 3), Y: []float64{1, 1, 1}}, false},
		{"a row of each class on the boundary", learn.Data{X: column(1, 2, 2, 3), Y: []float64{1, 1, -1, -1}}, true},
		{"a feature of one row", learn.Data{X: column(1, 0, 0, 0), Y: []float64{1, 1, -1, -1}}, true},
		{"a class on a line", learn.Data{X: mat.NewDense(5, 2, []float64{0, 1, 0, -1, 1, 0, 0, 1, 0, -1}), Y: []float64{1, 1, 1, -1, -1}}, false},
		{"more features than rows", wide, true},
	} {
		for _, unit := range []float64{1, 1e-6, 1e6} {
			d := learn.Data{X: mat.DenseCopyOf(c.d.X), Y: c.d.Y}
			d.Dense().Scale(unit, d.X)
			v, name := casetest.Residual(residualOf).Verdict, fmt.Sprintf("%s, features times %g", c.name, unit)
			l := &SparseLogistic{Intercept: c.intercept}
			v(t, name, l, d, qpdiff.ErrIllPosed, "separate the classes", 0, 0)
			v(t, name, l, d, nil, "", 1e-3*unit, 0)
			v(t, name, l, d, nil, "", 0, 1e-3*unit*unit)
			v(t, name, l, d, nil, "", 1e-6*unit, 1e-6*unit*unit)
		}
	}
}

// With an intercept, a shift of a feature changes only the intercept, up to rounding.
func TestSparseLogisticShiftedFeatures(t *testing.T) {
	const rows, n = 40, 4
	d := casetest.NoisyClasses(9, rows, n)
	hyper := []float64{.02, .01}
	l := &SparseLogistic{Intercept: true}
	theta, want := make([]float64, n+1), make([]float64, n+1)
	numtest.OK(t, l.Load(d), l.Fit(want, hyper))
	// The tolerance is the rounding of the shifted margins times a condition number of a few hundred.
	const shiftTol = 1e-13
	for _, shift := range []float64{1e2, 1e4, 1e6} {
		moved := casetest.CloneData(d)
		for i := range rows {
			moved.Dense().Set(i, 1, d.X.At(i, 1)+shift)
		}
		l := &SparseLogistic{Intercept: true}
		if err := errors.Join(l.Load(moved), l.Fit(theta, hyper)); err != nil {
			t.Errorf("shift %g: %v", shift, err)
			continue
		}
		if off := math.Abs(theta[n] + shift*theta[1] - want[n]); !(off <= shiftTol*shift*shift) {
			t.Errorf("shift %g: the intercept is off by %g", shift, off)
		}
		numtest.NearAll(t, "theta", theta[:n], want[:n], shiftTol*shift, 0)
	}
}

// A warm fit takes few Newton steps, and a cold fit takes hardly more than a Logistic.
func TestSparseLogisticNewtonSteps(t *testing.T) {
	const rows, n, warmSteps, factor = 400, 40, 5, 1.5
	d := casetest.RandomData(1, rows, n, true)
	l, smooth := &SparseLogistic{Intercept: true}, &Logistic{Intercept: UnpenalisedIntercept}
	theta := make([]float64, n+1)
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{.005, 1e-3}), smooth.Load(d), smooth.Fit(theta, []float64{1 / (1e-3 * rows)}))
	if limit := factor * float64(smooth.iter); float64(l.iter) > limit {
		t.Errorf("%d steps of a cold fit, %d of a Logistic", l.iter, smooth.iter)
	}
	for range 10 {
		for _, l1 := range []float64{.0055, .005} {
			if err := l.Fit(theta, []float64{l1, 1e-3}); err != nil || l.iter > warmSteps {
				t.Errorf("%d steps of a warm fit, error %v", l.iter, err)
			}
		}
	}
}

// If the support is empty, the intercept is the log odds of the classes, however uneven the weights
// are.
func TestSparseLogisticUnevenClasses(t *testing.T) {
	for _, weight := range []float64{1e-200, 1e-50, 1e-5, 1e5, 1e50, 1e200} {
		d := learn.Data{X: mat.NewDense(3, 1, []float64{1, -2, 3}), Y: []float64{1, -1, -1}, Weights: []float64{weight, .5, .5}}
		l := &SparseLogistic{Intercept: true}
		theta := make([]float64, 2)
		if err := errors.Join(l.Load(d), l.Fit(theta, []float64{9, 0})); err != nil {
			t.Errorf("weight %g: %v", weight, err)
		} else if want := math.Log(weight); theta[0] != 0 || !(math.Abs(theta[1]-want) <= 1e-14*math.Abs(want)) {
			t.Errorf("weight %g: θ = %v, want 0 and %v", weight, theta, want)
		}
	}
}

// If rounding hides the support, Fit returns ErrIllPosed after few steps.
func TestSparseLogisticHiddenSupport(t *testing.T) {
	d := learn.Data{X: mat.NewDense(2, 4, []float64{1e6, 1e6, 1e6, -2e6, 2e6, 0, 1e6, -1e6}), Y: []float64{1, -1}}
	var l SparseLogistic
	const steps = 40 // of which half reach the margins of the solution
	if err := errors.Join(l.Load(d), l.Fit(make([]float64, 4), []float64{.06932981348517135, 1.4107492245435436e-08})); !errors.Is(err, qpdiff.ErrIllPosed) || l.iter > steps {
		t.Errorf("%d steps: %v", l.iter, err)
	}
}

// isOptimal accepts a slope of a third of its rounding tolerance and rejects three times the
// tolerance.
func TestSparseLogisticRoundoffTolerance(t *testing.T) {
	d := casetest.NoisyClasses(4, 100, 1)
	hyper := []float64{0, .1}
	var l SparseLogistic
	theta := make([]float64, 1)
	numtest.OK(t, l.Load(d), l.Fit(theta, hyper))
	tol := (64*dense.Eps + dense.Eps*math.Sqrt(100)) * (l.terms[0] + .1*math.Abs(theta[0]))
	curve := l.gram[0] + .1
	for _, times := range []float64{-3, -1. / 3, 1. / 3, 3} {
		l.theta[0] = theta[0] + times*tol/curve
		l.evaluate()
		l.measure()
		if got := l.isOptimal(); got != (math.Abs(times) < 1) {
			t.Errorf("slope %.2g times the tolerance: optimal %v", times, got)
		}
	}
}

// If one row of size a prevents separation, Fit finds the solution unless a is below rounding. The
// solution satisfies 3s(θ) = a·s(−aθ) for s(m) = 1/(1 + exp m).
func TestSparseLogisticBarelyInseparable(t *testing.T) {
	for _, a := range []float64{1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-14, 1e-20} {
		for _, unit := range []float64{1, 1e-6, 1e6} {
			var l SparseLogistic
			theta := make([]float64, 1)
			err := errors.Join(l.Load(learn.Data{X: mat.NewDense(4, 1, []float64{unit, unit, unit, a * unit}), Y: []float64{1, 1, 1, -1}}), l.Fit(theta, []float64{0, 0}))
			if a < dense.Eps {
				if !errors.Is(err, qpdiff.ErrIllPosed) || !strings.Contains(err.Error(), "separate the classes") {
					t.Errorf("a = %g, unit %g: error %v", a, unit, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("a = %g, unit %g: %v", a, unit, err)
				continue
			}
			m := unit * theta[0]
			if slope := 3*sigmoid(-m) - a*sigmoid(a*m); !(math.Abs(slope) <= 1e-14*a) {
				t.Errorf("a = %g, unit %g: margin %v leaves the slope %g", a, unit, m, slope)
			}
		}
	}
}

// isDiverging returns false if a row that moves by more than sparseFlat loses margin or has a loss.
func TestSparseLogisticDivergenceTolerance(t *testing.T) {
	for _, c := range []struct {
		move, s float64 // of the other row
		want    bool
	}{
		{-3 * sparseFlat, 1e-17, false}, {-sparseFlat / 3, .5, true}, {3 * sparseFlat, .5, false}, {3 * sparseFlat, 1e-17, true},
	} {
		var l SparseLogistic
		err := errors.Join(l.Load(learn.Data{X: mat.NewDense(2, 1, []float64{1, c.move}), Y: []float64{1, 1}}), l.Fit(make([]float64, 1), []float64{0, 1}))
		if err != nil {
			t.Fatal(err)
		}
		l.coords.l1[0], l.coords.l2[0], l.step[0] = 0, 0, 1
		copy(l.s, []float64{1e-17, c.s})
		if got := l.isDiverging(dense.Eps); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
