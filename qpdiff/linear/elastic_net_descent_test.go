package linear

import (
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// TestALargerSetIsNotSolvedTwice proves that a working set that grows after its problem is solved
// needs no factor before coordinates enter.
func TestALargerSetIsNotSolvedTwice(t *testing.T) {
	const rows, n = 100, 300
	rng := rand.New(rand.NewPCG(1, 1))
	e := new(ElasticNet)
	if err := e.Load(learn.Data{X: mat.NewDense(rows, n, numtest.Normals(rng, rows*n)), Y: numtest.Normals(rng, rows)}); err != nil {
		t.Fatal(err)
	}
	if err := e.begin(nil, make([]float64, n), []float64{.05, .1}); err != nil {
		t.Fatal(err)
	}
	e.working.begin(e.rmsY)
	if err := e.change(); err != nil {
		t.Fatal(err)
	}
	if done, err := e.qp.advance(math.MaxInt); !done || err != nil {
		t.Fatal(done, err)
	}
	e.slopes()
	if e.grow(true); len(e.working.enter) == 0 {
		t.Fatal("the first working set suffices")
	}
	if err := e.change(); err != nil {
		t.Fatal(err)
	}
	const mark = 7
	q := &e.qp
	q.warm, q.grown = true, true
	was := len(q.act)
	dense.Fill(q.a, mark)
	if _, err := q.advance(1); err != nil {
		t.Fatal(err)
	}
	if len(q.act) <= was {
		t.Errorf("%d coordinates are active, and were %d", len(q.act), was)
	}
	for _, v := range q.a {
		if v != mark {
			t.Fatal("the set was factorised again")
		}
	}
}
