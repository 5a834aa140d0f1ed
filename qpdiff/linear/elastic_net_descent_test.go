package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// integerColumns returns data with many columns of integers, centred and scaled to mean square 1.
func integerColumns(rows, n int) learn.Data {
	x, y, column := mat.NewDense(rows, n, nil), make([]float64, rows), make([]float64, rows)
	for j := range n {
		for i := range column {
			column[i] = float64((7*i*(j%97+1) + j%89) % (11 + j%13))
		}
		floats.AddConst(-floats.Sum(column)/float64(rows), column)
		if size := floats.Norm(column, 2); size > 0 {
			floats.Scale(math.Sqrt(float64(rows))/size, column)
		}
		x.SetCol(j, column)
	}
	for i := range y {
		y[i] = float64((5*i*i + 3) % 17)
	}
	floats.AddConst(-floats.Sum(y)/float64(rows), y)
	return learn.Data{X: x, Y: y}
}

// mostDescents is the largest allowed number of descents in a fit. Few suffice because a descent to
// the minimum finds almost the whole support.
const mostDescents = 2

// A fit of integer columns needs few descents, because each descent reaches its minimum. A line
// search that only halves steps would fail for 40,000 columns, and a limit of 20 steps for 30,000
// columns.
func TestDescentsReachTheirMinimum(t *testing.T) {
	for _, n := range []int{30_000, 40_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			e := new(ElasticNet)
			if err := e.Load(integerColumns(10, n)); err != nil {
				t.Fatal(err)
			}
			if err := e.Fit(make([]float64, n), []float64{.03, .03}); err != nil {
				t.Fatal(err)
			}
			if e.qp.phases < cdPhases-mostDescents {
				t.Errorf("%d descents", cdPhases-e.qp.phases)
			}
		})
	}
}

// After its working set grows, the solver adds coordinates before it computes a new factor.
func TestALargerSetIsNotSolvedTwice(t *testing.T) {
	const rows, n = 100, 300
	rng := rand.New(rand.NewPCG(1, 1))
	e := new(ElasticNet)
	if err := e.Load(learn.Data{X: mat.NewDense(rows, n, numtest.Normals(rng, rows*n)), Y: numtest.Normals(rng, rows)}); err != nil {
		t.Fatal(err)
	}
	if err := e.startFit(nil, make([]float64, n), []float64{.05, .1}); err != nil {
		t.Fatal(err)
	}
	e.workSet.startFromPast(e.rmsY)
	if err := e.changeSet(); err != nil {
		t.Fatal(err)
	}
	if done, err := e.qp.advance(math.MaxInt); !done || err != nil {
		t.Fatal(done, err)
	}
	e.slopes()
	if e.growSet(true); len(e.workSet.entering) == 0 {
		t.Fatal("the first working set suffices")
	}
	if err := e.changeSet(); err != nil {
		t.Fatal(err)
	}
	const mark = 7
	q := &e.qp
	q.isWarm, q.hasNewCoordinates = true, true
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
