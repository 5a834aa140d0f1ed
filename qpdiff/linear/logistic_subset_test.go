package linear

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// A row that LoadSubset omits counts as a row of weight 0.
func TestLogisticSubsetOfWeightedRows(t *testing.T) {
	d := casetest.RandomData(2, 20, 2, true)
	d.Weights = make([]float64, 20)
	for i := range d.Weights {
		d.Weights[i] = .5 + float64(i%4)
	}
	full, part, want := new(Logistic), new(Logistic), new(Logistic)
	without := d
	without.Weights = slices.Clone(d.Weights)
	out := []int{3, 4, 11}
	for _, i := range out {
		without.Weights[i] = 0
	}
	theta, reference, hyper := make([]float64, 2), make([]float64, 2), []float64{3}
	numtest.OK(t, full.Load(d), full.Fit(theta, hyper), part.LoadSubset(full, out), part.Fit(theta, hyper),
		want.Load(without), want.Fit(reference, hyper))
	numtest.NearAll(t, "theta", theta, reference, 1e-13, 0)
	g, h := &learn.Grad{X: mat.NewDense(20, 2, nil)}, &learn.Grad{X: mat.NewDense(20, 2, nil)}
	numtest.OK(t, part.VJP(nil, g, []float64{1, 2}), want.VJP(nil, h, []float64{1, 2}), part.Load(without), full.Fit(theta, hyper))
	numtest.NearAll(t, "X", g.X.RawMatrix().Data, h.X.RawMatrix().Data, 1e-12, 0)
	if full.counts[3] != d.Weights[3] {
		t.Error("a Load after LoadSubset writes to the weights of the full learner")
	}
}

// LoadSubset can also omit rows of a sparse X.
func TestLogisticSubsetOfStored(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 39))
	const rows, n = 30, 8
	x := numtest.DrawStored(rng, rows, n)
	d := learn.Data{X: x, Y: numtest.Normals(rng, rows), Centre: numtest.Normals(rng, n), Weights: slices.Repeat([]float64{1, .5}, rows/2)}
	seen, out := d, []int{1, 2, 17}
	seen.X, seen.Centre = x.Seen(d.Centre, nil), nil
	seen.Weights = slices.Clone(d.Weights)
	for _, i := range out {
		seen.Weights[i] = 0
	}
	full, part, want := &Logistic{Intercept: UnpenalisedIntercept}, &Logistic{Intercept: UnpenalisedIntercept}, &Logistic{Intercept: UnpenalisedIntercept}
	theta, reference, hyper := make([]float64, n+1), make([]float64, n+1), []float64{2}
	numtest.OK(t, full.Load(d), full.Fit(theta, hyper), part.LoadSubset(full, out), part.Fit(theta, hyper), want.Load(seen), want.Fit(reference, hyper))
	numtest.NearAll(t, "theta", theta, reference, 1e-12, 0)
	v := numtest.Normals(rng, n+1)
	g, h := &learn.Grad{Y: make([]float64, rows), Stored: make([]float64, d.Stored())}, &learn.Grad{Y: make([]float64, rows)}
	numtest.OK(t, part.VJP(nil, g, v), want.VJP(nil, h, v))
	numtest.NearAll(t, "Y", g.Y, h.Y, 1e-11, 0)
	d.VisitStored(func(at, i, _ int, _ float64) {
		if slices.Contains(out, i) && g.Stored[at] != 0 {
			t.Errorf("the row %d, which is left out, has the derivative %v", i, g.Stored[at])
		}
	})
	probabilities := make([]float64, rows)
	numtest.OK(t, part.Probabilities(nil, probabilities))
	if probabilities[out[0]] != 1 {
		t.Errorf("a row that is left out has the probability %v", probabilities[out[0]])
	}
}
