package margin

import (
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// A generalised VJP ties no weakly active rows, because each weakly active row counts as inactive.
func TestNoTiesOfWeaklyActiveRows(t *testing.T) {
	d := learn.Data{X: mat.NewDense(3, 2, []float64{2, 0, -1, 0, 2, 0}), Y: []float64{1, -1, 1}}
	l, w := SVM{Generalised: true}, new(qpdiff.Workspace)
	numtest.OK(t, l.Load(d), l.Fit(make([]float64, 2), []float64{1. / 12, .5}), l.VJP(w, &learn.Grad{X: mat.NewDense(3, 2, nil)}, []float64{1, 1}))
	if len(l.weak.Rows) != 1 {
		t.Fatalf("weakly active are %v", l.weak)
	}
	l.Ties(w, func(i, k int, _ float64, _ []float64) bool { t.Errorf("rows %d and %d are tied", i, k); return false })
}
