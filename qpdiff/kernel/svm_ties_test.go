package kernel

import (
	"errors"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// After a VJP that returns an error, Ties lists no ties of an earlier VJP.
func TestNoTiesAfterARefusal(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(2, 6))
	tied := 0
	for range 2000 {
		d := casetest.ClassData(rng.Uint64(), 6, 1)
		for i := range 6 {
			d.Dense().Set(i, 0, float64(rng.IntN(5)-2))
		}
		l, w := SVM{Intercept: true, Generalised: true}, new(qpdiff.Workspace)
		numtest.OK(t, l.Load(d), l.Fit([]float64{0}, []float64{1, .5}))
		ties := func() (n int) {
			l.Ties(w, func(int, int, float64, []float64) bool { n++; return true })
			return n
		}
		g := &learn.Grad{X: mat.NewDense(6, 1, nil)}
		for _, product := range []func() error{
			func() error { return l.VJP(w, g, []float64{1}) },
			func() error { return l.PredictVJP(w, g, nil, d.Dense(), d.Y) },
		} {
			l.Generalised = true
			if err := product(); err != nil || len(l.weak) == 0 || ties() == 0 {
				continue
			}
			tied++
			l.Generalised = false
			if err := product(); !errors.Is(err, qpdiff.ErrNotDifferentiable) || ties() > 0 {
				t.Errorf("error %v, and %d ties", err, ties())
			}
		}
	}
	if tied < 10 {
		t.Errorf("only %d products with ties and weakly active rows", tied)
	}
}
