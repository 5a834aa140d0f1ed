package learntest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// sparseTol is how far fits and derivatives on a sparse X may be from those on its dense copy,
// relative to the largest entry. Their systems have conditions up to some 1e4.
const sparseTol = 1e-9

// Views checks that a [learn.ViewLearner] gives on a sparse X, and on a dense one that it reads in place, seen
// through Centre and Scale, what it gives on a dense copy of what it sees: θ, the VJP and the JVP. draw returns labels, and
// hyperparameters at which the solution is smooth and well-conditioned.
func Views(t *testing.T, newLearner func() learn.Learner, draw func(rng *rand.Rand, x *mat.Dense) (y, hyper []float64)) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { views(t, newLearner, draw, rand.New(rand.NewPCG(seed, 36))) })
	}
}

func views(t *testing.T, newLearner func() learn.Learner, draw func(*rand.Rand, *mat.Dense) (y, hyper []float64), rng *rand.Rand) {
	rows, n := 4+rng.IntN(60), 1+rng.IntN(40)
	x := numtest.DrawStored(rng, rows, n)
	d := learn.Data{X: x}
	if rng.IntN(3) > 0 {
		d.Weights = make([]float64, rows)
		for i := range d.Weights {
			d.Weights[i] = float64(rng.IntN(4)) / 2
		}
		d.Weights[0], d.Weights[1], d.Weights[2] = 1, 1, 1
	}
	if rng.IntN(3) > 0 {
		d.Centre, d.Scale = moments(x, d.Weights)
	}
	if rng.IntN(4) == 0 {
		d.Rows = rng.Perm(rows)[:3+rng.IntN(rows-3)]
		d.Rows = append(d.Rows, 0, 1, 2)
	}
	seen := d
	seen.X, seen.Centre, seen.Scale = x.Seen(d.Centre, d.Scale), nil, nil
	l, reference := newLearner(), newLearner()
	if inPlace := (learn.Data{X: x.Seen(nil, nil)}); l.(learn.ViewLearner).Views(inPlace.Size()) && rng.IntN(2) == 0 {
		d.X = inPlace.X
	}
	y, hyper := draw(rng, seen.Dense())
	d.Y, seen.Y = y, y

	params, hypers := l.Dims(n)
	theta, want := numtest.NaNs(params, 0), numtest.NaNs(params, 0)
	numtest.OK(t, l.Load(d), reference.Load(seen), l.Fit(theta, hyper), reference.Fit(want, hyper))
	near(t, "θ", theta, want)

	// A warm fit after another point.
	other := make([]float64, len(hyper))
	floats.AddScaled(other, 1.3, hyper)
	numtest.OK(t, l.Fit(theta, other), l.Fit(theta, hyper))
	near(t, "θ of a warm fit", theta, want)

	v := numtest.Normals(rng, params)
	g := &learn.Grad{Hyper: make([]float64, hypers), Y: make([]float64, rows)}
	newRows(g, d, func(n int) []float64 { return make([]float64, n) })
	dense := &learn.Grad{Hyper: make([]float64, hypers), X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
	numtest.OK(t, l.VJP(nil, g, v), reference.VJP(nil, dense, v))
	near(t, "the derivative in the hyperparameters", g.Hyper, dense.Hyper)
	near(t, "the derivative in y", g.Y, dense.Y)
	scale := func(j int) float64 {
		if d.Scale == nil {
			return 1
		}
		return d.Scale[j]
	}
	wantRows := rowsOf(&learn.Grad{X: dense.X}, learn.Data{X: dense.X})
	if d.Sparse() {
		wantRows = nil
		d.VisitStored(func(at, i, j int, _ float64) { wantRows = append(wantRows, dense.X.At(i, j)/scale(j)) })
	} else {
		for at := range wantRows {
			wantRows[at] /= scale(at % n)
		}
	}
	near(t, "the derivative in X", rowsOf(g, d), wantRows)

	forward, ok := l.(learn.ForwardLearner)
	if !ok {
		return
	}
	move := &learn.Grad{Hyper: numtest.Normals(rng, hypers), Y: numtest.Normals(rng, rows)}
	newRows(move, d, func(n int) []float64 { return numtest.Normals(rng, n) })
	denseMove := &learn.Grad{Hyper: move.Hyper, X: mat.NewDense(rows, n, nil), Y: move.Y}
	if d.Sparse() {
		d.VisitStored(func(at, i, j int, _ float64) { denseMove.X.Set(i, j, move.Stored[at]/scale(j)) })
	} else {
		denseMove.X.Apply(func(i, j int, v float64) float64 { return v / scale(j) }, move.X)
	}
	got, wantMove := make([]float64, params), make([]float64, params)
	numtest.OK(t, forward.JVP(nil, got, move), reference.(learn.ForwardLearner).JVP(nil, wantMove, denseMove))
	near(t, "the directional derivative", got, wantMove)
}

// newRows gives g the field for the rows of d, with the entries that fill returns.
func newRows(g *learn.Grad, d learn.Data, fill func(n int) []float64) {
	if rows, n := d.X.Dims(); d.Sparse() {
		g.Stored = fill(d.Stored())
	} else {
		g.X = mat.NewDense(rows, n, fill(rows*n))
	}
}

// rowsOf returns the entries of g for the rows of d.
func rowsOf(g *learn.Grad, d learn.Data) []float64 {
	if d.Sparse() {
		return g.Stored
	}
	return g.X.RawMatrix().Data
}

// moments returns the weighted mean and deviation of the columns of x, 1 for a constant one.
func moments(x *numtest.Stored, weights []float64) (mean, deviation []float64) {
	seen := x.Seen(nil, nil)
	mean, deviation = make([]float64, x.Columns), make([]float64, x.Columns)
	for j := range mean {
		column := mat.Col(nil, j, seen)
		total, sum := 0.0, 0.0
		for i, v := range column {
			w := 1.0
			if weights != nil {
				w = weights[i]
			}
			total += w
			sum += w * v
		}
		mean[j] = sum / total
		squares := 0.0
		for i, v := range column {
			w := 1.0
			if weights != nil {
				w = weights[i]
			}
			squares += w * (v - mean[j]) * (v - mean[j])
		}
		if deviation[j] = math.Sqrt(squares / total); deviation[j] < 1e-9 {
			deviation[j] = 1
		}
	}
	return mean, deviation
}

// near compares two vectors by sparseTol.
func near(t *testing.T, name string, got, want []float64) {
	t.Helper()
	size := 1e-3
	for _, v := range want {
		size = max(size, math.Abs(v))
	}
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= sparseTol*size) {
			t.Errorf("%s: %v at index %d, and %v on the dense copy", name, v, i, want[i])
			return
		}
	}
}
