package learntest_test

import (
	"errors"
	"math"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/mat"
)

// JVP returns an error if equal rows on the elbow move apart within the support of θ.
func TestJVPRefusesToPartEqualRows(t *testing.T) {
	x := []float64{2, 0, -3, 0, 2, 0}
	svm := func() learn.ForwardLearner { return new(margin.SVM) }
	loss := func() learn.ForwardLearner { return new(margin.LearnedLoss) }
	for _, c := range []struct {
		name    string
		make    func() learn.ForwardLearner
		x, y    []float64
		hyper   []float64
		dx, dy  []float64
		refused bool
		kinked  bool
	}{
		{"apart", svm, x, []float64{1, -1, 1}, []float64{.1, 1}, []float64{1, 0, 0, 0, 0, 0}, make([]float64, 3), true, false},
		{"apart in y", svm, x, []float64{1, -1, 1}, []float64{.1, 1}, make([]float64, 6), []float64{0, 0, 1}, true, false},
		{"together", svm, x, []float64{1, -1, 1}, []float64{.1, 1}, []float64{1, 0, 0, 0, 1, 0}, []float64{.5, 1, .5}, false, false},
		{"opposite rows, together", svm, []float64{2, 0, -3, 0, -2, 0}, []float64{1, -1, -1}, []float64{.1, 1}, []float64{1, 0, 0, 0, -1, 0}, []float64{.5, 1, -.5}, false, false},
		{"opposite rows, apart", svm, []float64{2, 0, -3, 0, -2, 0}, []float64{1, -1, -1}, []float64{.1, 1}, []float64{1, 0, 0, 0, 1, 0}, make([]float64, 3), true, false},
		{"apart out of the support", svm, x, []float64{1, -1, 1}, []float64{.1, 1}, []float64{1, 1, 0, 0, 1, 0}, make([]float64, 3), false, false},
		{"apart below the margin", svm, x, []float64{1, -1, 1}, []float64{.1, 9}, []float64{1, 0, 0, 0, 0, 0}, make([]float64, 3), false, false},
		// λ1 + λ2·θ = 1/3 without the rows of margin 1.
		{"apart, weakly active", svm, []float64{2, 0, -1, 0, 2, 0}, []float64{1, -1, 1}, []float64{1. / 12, .5}, []float64{1, 0, 0, 0, 0, 0}, make([]float64, 3), false, true},
		{"apart the other way, weakly active", svm, []float64{2, 0, -1, 0, 2, 0}, []float64{1, -1, 1}, []float64{1. / 12, .5}, []float64{-1, 0, 0, 0, 0, 0}, make([]float64, 3), false, true},
		{"apart, both of them, weakly active", svm, []float64{2, 0, -1, 0, 2, 0}, []float64{1, -1, 1}, []float64{1. / 12, .5}, []float64{-1, 0, 0, 0, -2, 0}, make([]float64, 3), false, true},
		// λ1 + λ2·θ = 1 with all rows below the margin.
		{"apart, weakly active at the upper bound", svm, []float64{1, 0, -1, 0, 1, 0}, []float64{1, -1, 1}, []float64{.5, .5}, []float64{2, 0, 1, 0, 1, 0}, make([]float64, 3), false, true},
		{"learned loss, apart, weakly active", loss, []float64{1, 0, -1, 0, 1, 0}, []float64{1, -1, 1}, []float64{0, 1, .5, 0, 1 / math.E}, []float64{2, 0, 3, 0, -4, 0}, make([]float64, 3), false, true},
		{"learned loss, apart", loss, x, []float64{1, -1, 1}, []float64{1, .1, 0, 0, 1}, []float64{1, 0, 0, 0, 0, 0}, make([]float64, 3), true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := c.make()
			theta, dtheta := make([]float64, 2), make([]float64, 2)
			fit := func(step float64) {
				d := learn.Data{X: mat.NewDense(3, 2, nil), Y: c.y}
				for i, y := range c.y { // in z alone: labels stay ±1
					for j := range 2 {
						v := c.x[2*i+j]
						d.Dense().Set(i, j, v+step*(c.dx[2*i+j]+y*c.dy[i]*v))
					}
				}
				numtest.OK(t, l.Load(d), l.Fit(theta, c.hyper))
			}
			slope := func(h float64) float64 {
				fit(h)
				there := theta[0]
				fit(0)
				return (there - theta[0]) / h
			}
			const h = 1e-7
			below, above := slope(-h), slope(h)
			d := &learn.Grad{X: mat.NewDense(3, 2, c.dx), Y: c.dy}
			switch err := l.JVP(nil, dtheta, d); {
			case !c.refused && (err != nil || math.Abs(dtheta[0]-above) > 1e-5 || !c.kinked && math.Abs(dtheta[0]-below) > 1e-5):
				t.Errorf("derivative %v, error %v; differences give %v and %v", dtheta, err, below, above)
			case c.refused && !errors.Is(err, qpdiff.ErrNotDifferentiable):
				t.Errorf("derivative %v, error %v; differences give %v and %v", dtheta, err, below, above)
			case (c.refused || c.kinked) && math.Abs(below-above) < 1e-3:
				t.Errorf("slopes %v and %v: the case has no kink", below, above)
			}
		})
	}
}

// JVP is exact if equal rows move apart while the weight of the hinge loss rises from 0.
func TestJVPPartsEqualRowsAtARisingHingeLoss(t *testing.T) {
	const h = 1e-7
	y := []float64{1, -1}
	for _, dx := range [][]float64{{1, 1}, {-1, -1}, {2, 1}, {-2, 1}, {2, -2}, {0, 3}} {
		for _, dw := range []float64{.3, 2} {
			fit := func(l *margin.LearnedLoss, h float64) float64 {
				theta := []float64{0}
				x := mat.NewDense(2, 1, []float64{1 + h*dx[0], -1 + h*dx[1]})
				numtest.OK(t, l.Load(learn.Data{X: x, Y: y}), l.Fit(theta, []float64{h * dw, 1, 0, 0, 1 / math.E}))
				return theta[0]
			}
			var l margin.LearnedLoss
			want := (fit(&l, h) - fit(&l, 0)) / h
			got := []float64{0}
			if err := l.JVP(nil, got, &learn.Grad{Hyper: []float64{dw, 0, 0, 0, 0}, X: mat.NewDense(2, 1, dx)}); err != nil || math.Abs(got[0]-want) > 1e-5 {
				t.Errorf("%v, α1 at %v: derivative %v, difference quotient %v, error %v", dx, dw, got[0], want, err)
			}
		}
	}
}

// Ties lists only the ties of the last VJP with its workspace.
func TestTiesOfAnotherDerivative(t *testing.T) {
	d := learn.Data{X: mat.NewDense(3, 2, []float64{2, 0, -3, 0, 2, 0}), Y: []float64{1, -1, 1}}
	theta, v := make([]float64, 2), []float64{1, 1}
	learners := []learn.ForwardLearner{new(margin.SVM), new(margin.LearnedLoss)}
	hypers := [][]float64{{.1, 1}, {1, .1, 0, 0, 1}}
	for k, l := range learners {
		numtest.OK(t, l.Load(d), l.Fit(theta, hypers[k]))
	}
	for k, l := range learners {
		w := new(qpdiff.Workspace)
		expect := func(want int, when string, err error) {
			t.Helper()
			got := 0
			l.(learn.TiedLearner).Ties(w, func(int, int, float64, []float64) bool { got++; return false })
			if err != nil || got != want {
				t.Errorf("%T: %d ties %s, not %d: %v", l, got, when, want, err)
			}
		}
		vjp := func(l learn.Learner) error { return l.VJP(w, &learn.Grad{X: mat.NewDense(3, 2, nil)}, v) }
		expect(0, "without a VJP", nil)
		expect(1, "after a VJP", vjp(l))
		expect(0, "after a VJP of another learner", vjp(learners[1-k]))
		expect(1, "after a VJP again", vjp(l))
		expect(0, "after a JVP", l.JVP(w, theta, &learn.Grad{}))
		expect(1, "after a VJP once more", vjp(l))
		expect(0, "after another fit", l.Fit(theta, hypers[k]))
		l.(learn.TiedLearner).Ties(nil, func(int, int, float64, []float64) bool { t.Errorf("%T: ties without a workspace", l); return false })
	}
}
