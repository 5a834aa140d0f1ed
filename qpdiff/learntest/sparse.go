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

// Sparse checks that a learner gives on a sparse X, seen through Centre and Scale, what it gives
// on a dense copy of what it sees: θ, the VJP and the JVP. draw returns labels, and
// hyperparameters at which the solution is smooth and well-conditioned.
func Sparse(t *testing.T, newLearner func() learn.Learner, draw func(rng *rand.Rand, x *mat.Dense) (y, hyper []float64)) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { sparse(t, newLearner, draw, rand.New(rand.NewPCG(seed, 36))) })
	}
}

func sparse(t *testing.T, newLearner func() learn.Learner, draw func(*rand.Rand, *mat.Dense) (y, hyper []float64), rng *rand.Rand) {
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
	y, hyper := draw(rng, seen.Dense())
	d.Y, seen.Y = y, y

	l, reference := newLearner(), newLearner()
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
	stored := d.Stored()
	g := &learn.Grad{Hyper: make([]float64, hypers), Stored: make([]float64, stored), Y: make([]float64, rows)}
	dense := &learn.Grad{Hyper: make([]float64, hypers), X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
	numtest.OK(t, l.VJP(nil, g, v), reference.VJP(nil, dense, v))
	near(t, "the derivative in the hyperparameters", g.Hyper, dense.Hyper)
	near(t, "the derivative in y", g.Y, dense.Y)
	wantStored := make([]float64, stored)
	scale := func(j int) float64 {
		if d.Scale == nil {
			return 1
		}
		return d.Scale[j]
	}
	d.VisitStored(func(at, i, j int, _ float64) { wantStored[at] = dense.X.At(i, j) / scale(j) })
	near(t, "the derivative in the stored entries", g.Stored, wantStored)

	forward, ok := l.(learn.ForwardLearner)
	if !ok {
		return
	}
	move := &learn.Grad{Hyper: numtest.Normals(rng, hypers), Stored: numtest.Normals(rng, stored), Y: numtest.Normals(rng, rows)}
	denseMove := &learn.Grad{Hyper: move.Hyper, X: mat.NewDense(rows, n, nil), Y: move.Y}
	d.VisitStored(func(at, i, j int, _ float64) { denseMove.X.Set(i, j, move.Stored[at]/scale(j)) })
	got, wantMove := make([]float64, params), make([]float64, params)
	numtest.OK(t, forward.JVP(nil, got, move), reference.(learn.ForwardLearner).JVP(nil, wantMove, denseMove))
	near(t, "the directional derivative", got, wantMove)
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
