package linear

import (
	"slices"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// A row that LoadSubset leaves out counts as one of weight 0, also if the others have weights.
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
