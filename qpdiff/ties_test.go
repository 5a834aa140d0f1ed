package qpdiff

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// A move that parts equal rows has no derivative where they are at the kink of
// their loss: a JVP refuses it, and answers moves that part them elsewhere, or in
// coordinates that θ does without.
func TestJVPRefusesToPartEqualRows(t *testing.T) {
	x := []float64{2, 0, -3, 0, 2, 0}
	svm := func() ForwardLearner { return new(SVM) }
	loss := func() ForwardLearner { return new(LearnedLoss) }
	for _, c := range []struct {
		name    string
		make    func() ForwardLearner
		x, y    []float64
		hyper   []float64
		dx, dy  []float64
		refused bool
	}{
		{"apart", svm, x, []float64{1, -1, 1}, []float64{.1, 1}, []float64{1, 0, 0, 0, 0, 0}, make([]float64, 3), true},
		{"apart in y", svm, x, []float64{1, -1, 1}, []float64{.1, 1}, make([]float64, 6), []float64{0, 0, 1}, true},
		{"together", svm, x, []float64{1, -1, 1}, []float64{.1, 1}, []float64{1, 0, 0, 0, 1, 0}, []float64{.5, 1, .5}, false},
		{"opposite rows, together", svm, []float64{2, 0, -3, 0, -2, 0}, []float64{1, -1, -1}, []float64{.1, 1}, []float64{1, 0, 0, 0, -1, 0}, []float64{.5, 1, -.5}, false},
		{"opposite rows, apart", svm, []float64{2, 0, -3, 0, -2, 0}, []float64{1, -1, -1}, []float64{.1, 1}, []float64{1, 0, 0, 0, 1, 0}, make([]float64, 3), true},
		{"apart out of the support", svm, x, []float64{1, -1, 1}, []float64{.1, 1}, []float64{1, 1, 0, 0, 1, 0}, make([]float64, 3), false},
		{"apart below the margin", svm, x, []float64{1, -1, 1}, []float64{.1, 9}, []float64{1, 0, 0, 0, 0, 0}, make([]float64, 3), false},
		// λ1 + λ2·θ = 1/3 without the rows of margin 1.
		{"apart, weakly active", svm, []float64{2, 0, -1, 0, 2, 0}, []float64{1, -1, 1}, []float64{1. / 12, .5}, []float64{1, 0, 0, 0, 0, 0}, make([]float64, 3), true},
		{"learned loss, apart", loss, x, []float64{1, -1, 1}, []float64{1, .1, 0, 0, 1}, []float64{1, 0, 0, 0, 0, 0}, make([]float64, 3), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := c.make()
			theta, dtheta := make([]float64, 2), make([]float64, 2)
			fit := func(step float64) {
				d := Data{X: mat.NewDense(3, 2, nil), Y: c.y}
				for i, y := range c.y { // in z alone: labels stay ±1
					for j := range 2 {
						v := c.x[2*i+j]
						d.X.Set(i, j, v+step*(c.dx[2*i+j]+y*c.dy[i]*v))
					}
				}
				if err := errors.Join(l.Load(d), l.Fit(theta, c.hyper)); err != nil {
					t.Fatal(err)
				}
			}
			slope := func(h float64) float64 {
				fit(h)
				there := theta[0]
				fit(0)
				return (there - theta[0]) / h
			}
			const h = 1e-7
			below, above := slope(-h), slope(h)
			d := &Grad{X: mat.NewDense(3, 2, c.dx), Y: c.dy}
			switch err := l.JVP(nil, dtheta, d); {
			case !c.refused && (err != nil || math.Abs(dtheta[0]-above) > 1e-5 || math.Abs(dtheta[0]-below) > 1e-5):
				t.Errorf("derivative %v, error %v; differences give %v and %v", dtheta, err, below, above)
			case c.refused && !errors.Is(err, ErrNotDifferentiable):
				t.Errorf("derivative %v, error %v; differences give %v and %v", dtheta, err, below, above)
			case c.refused && math.Abs(below-above) < 1e-3:
				t.Errorf("slopes %v and %v: the case has no kink", below, above)
			}
		})
	}
}
