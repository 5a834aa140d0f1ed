package linear

import (
	"errors"
	"math"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// A derivative fails, even with Generalised, if rounding may have moved the kink by more than
// dense.HiddenTol.
func TestBlurredKinksAreRefused(t *testing.T) {
	one := mat.NewDense(1, 1, []float64{1})
	ones, two := mat.NewDense(3, 1, []float64{1, 1, 1}), mat.NewDense(2, 1, []float64{1, -2})
	net, freeNet, sparse, freeSparse, huber := new(ElasticNet), new(ElasticNet), new(SparseLogistic), new(SparseLogistic), new(Huber)
	for _, c := range []struct {
		name      string
		l         learn.KinkedLearner
		blur      *float64
		data      learn.Data
		hyper     []float64
		hyperOnly bool
	}{
		{"elastic net", net, &net.blur, learn.Data{X: one, Y: []float64{2}}, []float64{2, 1}, false},
		{"elastic net, kink in λ1 only", freeNet, &freeNet.blur, learn.Data{X: one, Y: []float64{0}}, []float64{0, 1}, true},
		{"sparse logistic", sparse, &sparse.blur, learn.Data{X: two, Y: []float64{1, -1}}, []float64{.75, 1}, false},
		{"sparse logistic, kink in λ1 only", freeSparse, &freeSparse.blur, learn.Data{X: ones.Slice(0, 2, 0, 1).(*mat.Dense), Y: []float64{1, -1}}, []float64{0, 1}, true},
		{"Huber", huber, &huber.blur, learn.Data{X: ones, Y: []float64{0, 1, 11}}, []float64{0, 1}, false},
	} {
		theta := make([]float64, 1)
		if err := errors.Join(c.l.Load(c.data), c.l.Fit(theta, c.hyper)); err != nil {
			t.Fatal(c.name, err)
		}
		for _, blur := range []float64{dense.HiddenTol / 2, 2 * dense.HiddenTol} {
			*c.blur = blur
			for _, generalised := range []bool{false, true} {
				c.l.SetGeneralised(generalised)
				for name, g := range map[string]*learn.Grad{"Hyper": {Hyper: []float64{1, 1}}, "X": {X: mat.NewDense(len(c.data.Y), 1, nil)}, "Y": {Y: make([]float64, len(c.data.Y))}} {
					smooth, hidden := c.hyperOnly && name != "Hyper", blur > dense.HiddenTol
					for product, err := range map[string]error{"JVP": c.l.(learn.ForwardLearner).JVP(nil, make([]float64, 1), g), "VJP": c.l.VJP(nil, g, []float64{1})} {
						if errors.Is(err, qpdiff.ErrIllPosed) != (hidden && !smooth) || err != nil && (smooth || !hidden && generalised) {
							t.Errorf("%s, blur %g, generalised %v: %s in %s: %v", c.name, blur, generalised, product, name, err)
						}
					}
				}
			}
		}
	}
}

// The field blur of a fit does not depend on the unit of the labels.
func TestBlurHasNoUnit(t *testing.T) {
	var want [2]float64
	for _, unit := range []float64{1, 0x1p-40, 0x1p40} {
		var net ElasticNet
		var huber Huber
		x := mat.NewDense(3, 1, []float64{1, 1, 1})
		y := []float64{0, unit, 11 * unit}
		numtest.OK(t, net.Load(learn.Data{X: x, Y: y}), net.Fit(make([]float64, 1), []float64{4 * unit, 1}),
			huber.Load(learn.Data{X: x, Y: y}), huber.Fit(make([]float64, 1), []float64{0, unit}))
		for k, blur := range []float64{net.blur, huber.blur} {
			if unit == 1 {
				want[k] = blur
			}
			if blur == 0 || math.Abs(blur-want[k]) > 1e-9*want[k] {
				t.Errorf("learner %d, unit %g: blur %g, want %g", k, unit, blur, want[k])
			}
		}
	}
}

// VJP marks its gradient as generalised only if it returns no error.
func TestBlurredKinksMarkNothing(t *testing.T) {
	net := &ElasticNet{Generalised: true}
	d := learn.Data{X: mat.NewDense(2, 3, []float64{1, 1, 0, 0, 0, 1}), Y: []float64{4, 2}}
	numtest.OK(t, net.Load(d), net.Fit(make([]float64, 3), []float64{1, 0}))
	for _, blur := range []float64{dense.HiddenTol / 2, 2 * dense.HiddenTol} {
		net.blur = blur
		g := learn.Grad{X: mat.NewDense(2, 3, nil)}
		err := net.VJP(nil, &g, []float64{1, 2, 3})
		if refused := blur > dense.HiddenTol; g.Generalised == refused || errors.Is(err, qpdiff.ErrIllPosed) != refused || !refused && err != nil {
			t.Errorf("blur %g: generalised %v, error %v", blur, g.Generalised, err)
		}
	}
}
