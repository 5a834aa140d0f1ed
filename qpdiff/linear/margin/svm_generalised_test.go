package margin

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A generalised derivative is the limit of derivatives at nearby problems, even if elbow rows are
// linearly dependent.
func TestGeneralisedSVMIsALimit(t *testing.T) {
	const step, tol = 1e-6, 1e-3
	rng := rand.New(rand.NewPCG(5, 8))
	weakCoords := 0
	for trial := range numtest.Long(400) {
		rows, n := 2+rng.IntN(5), 1+rng.IntN(3)
		d := learn.Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
		for i := range rows {
			for j := range n {
				d.Dense().Set(i, j, float64(rng.IntN(5)-2))
			}
			d.Y[i] = 2*float64(i%2) - 1
		}
		unit := 8 * float64(rows)
		hyper := []float64{float64(1+rng.IntN(4)) / unit, float64(1+rng.IntN(16)) / unit}
		if trial == 0 {
			d = learn.Data{X: mat.NewDense(3, 2, []float64{1, 2, 0, 0, 1, -1}), Y: []float64{-1, 1, -1}}
			rows, n, hyper = 3, 2, []float64{1. / 6, 3. / 8}
		}
		v := numtest.Normals(rng, n)
		derivative := func(l *SVM, d learn.Data, hyper []float64) []float64 {
			g := &learn.Grad{Hyper: make([]float64, 2), X: mat.NewDense(rows, n, nil)}
			if err := errors.Join(l.Load(d), l.Fit(make([]float64, n), hyper), l.VJP(nil, g, v)); err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
			return append(g.X.RawMatrix().Data, g.Hyper...)
		}
		l := SVM{Generalised: true}
		got := derivative(&l, d, hyper)
		if l.weak.Empty() || l.p.rows < rows {
			continue
		}
		if len(l.weak.Coords) > 0 {
			weakCoords++
		}
		nearest := math.Inf(1)
		for sample := 0; sample < 1000 && nearest > tol; sample++ {
			moved := casetest.CloneData(d)
			floats.AddScaled(moved.Dense().RawMatrix().Data, step, numtest.Normals(rng, rows*n))
			want := derivative(&SVM{Generalised: true}, moved, []float64{hyper[0] + step*rng.NormFloat64(), hyper[1] + step*rng.NormFloat64()})
			nearest = min(nearest, floats.Distance(got, want, math.Inf(1))/(tol+dense.Largest(want)))
		}
		if nearest > tol {
			t.Errorf("trial %d: at %v, with %v weakly active, the nearest derivative differs by %.2g of itself", trial, hyper, l.weak, nearest)
		}
	}
	if weakCoords < numtest.Long(30) {
		t.Errorf("only %d cases with weakly active coordinates", weakCoords)
	}
}
