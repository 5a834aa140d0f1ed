package learntest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// sparseTol is the largest allowed difference between results on a sparse X and results on a dense
// copy of X, relative to the largest entry. The results are fits and derivatives. The condition
// numbers of their systems are up to some 1e4.
const sparseTol = 1e-9

// residualTol bounds the residual of a fit. Conjugate gradients reduce the residual to 1e-12,
// relative to the terms of the whole system.
const residualTol = 1e-11

// wideFeatures is the largest number of features in the tests. Some learners of this module choose
// other methods above a number of features: working sets, or conjugate gradients for penalised
// columns. The constant is above these numbers.
const wideFeatures = 400

// Views compares two learners, which must have the same θ, VJP and JVP. The first is a
// [learn.ViewLearner] that reads X, sparse or dense, in place with Centre and Scale. The second has
// a dense copy of the centred and scaled values. Some data sets have a few hundred features, so
// learners switch to their methods for many features. The function draw returns labels y, and
// hyperparameters at which the solution is smooth and well-conditioned. There are 150 problems, and
// 30 with -short.
func Views(t *testing.T, newLearner func() learn.Learner, draw func(rng *rand.Rand, x *mat.Dense) (y, hyper []float64)) {
	const first = 10 // problems that show whether the learner starts goroutines
	var p serial.Probe
	for seed := range uint64(numtest.Long(150)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			by := p.First
			if seed >= first {
				by = p.Then
			}
			by(t, func(t *testing.T) { views(t, newLearner, draw, rand.New(rand.NewPCG(seed, 36)), 40) })
		})
	}
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("wide ", seed), func(t *testing.T) { views(t, newLearner, draw, rand.New(rand.NewPCG(seed, 37)), wideFeatures) })
	}
}

// A view holds the same data in two forms. A learner reads the field data in place. The field
// denseCopy holds a dense copy of the centred and scaled values.
type view struct {
	data, denseCopy learn.Data
}

// drawView draws a view that has no labels and at most maxFeatures features, for the learner l.
func drawView(rng *rand.Rand, l learn.ViewLearner, maxFeatures int) view {
	rows, n := 4+rng.IntN(60), 1+rng.IntN(maxFeatures)
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
	denseCopy := d
	denseCopy.X, denseCopy.Centre, denseCopy.Scale = x.Seen(d.Centre, d.Scale), nil, nil
	if inPlace := (learn.Data{X: x.Seen(nil, nil), Rows: d.Rows}); l.Views(inPlace.Size()) && rng.IntN(2) == 0 {
		if d.X = inPlace.X; rng.IntN(2) == 0 {
			d.Gram = learn.NewGram(inPlace.Dense(), d.Weights)
		}
	}
	return view{d, denseCopy}
}

func views(t *testing.T, newLearner func() learn.Learner, draw func(*rand.Rand, *mat.Dense) (y, hyper []float64), rng *rand.Rand, most int) {
	l, reference := newLearner(), newLearner()
	d := drawView(rng, l.(learn.ViewLearner), most)
	y, hyper := draw(rng, d.denseCopy.Dense())
	d.data.Y, d.denseCopy.Y = y, y
	_, n := d.data.X.Dims()
	params, _ := l.Dims(n)
	theta, want := numtest.NaNs(params, 0), numtest.NaNs(params, 0)
	numtest.OK(t, l.Load(d.data), reference.Load(d.denseCopy), l.Fit(theta, hyper), reference.Fit(want, hyper))
	checkNear(t, "θ", theta, want)

	// A warm fit after another point.
	other := make([]float64, len(hyper))
	floats.AddScaled(other, 1.3, hyper)
	numtest.OK(t, l.Fit(theta, other), l.Fit(theta, hyper))
	checkNear(t, "θ of a warm fit", theta, want)
	if l, ok := l.(learn.VerifiedLearner); ok {
		if r, err := l.Residual(); err != nil || !(r <= residualTol) {
			t.Errorf("residual %v, error %v", r, err)
		}
	}

	g, denseGrad := d.grads(len(hyper), func(n int) []float64 { return make([]float64, n) })
	v := numtest.Normals(rng, params)
	numtest.OK(t, l.VJP(nil, g, v), reference.VJP(nil, denseGrad, v))
	checkNear(t, "the derivative in the hyperparameters", g.Hyper, denseGrad.Hyper)
	checkNear(t, "the derivative in y", g.Y, denseGrad.Y)
	var rows, wantRows []float64
	d.eachEntry(g, func(own float64, i, j int, scale float64) {
		rows, wantRows = append(rows, own), append(wantRows, denseGrad.X.At(i, j)/scale)
	})
	checkNear(t, "the derivative in X", rows, wantRows)

	forward, ok := l.(learn.ForwardLearner)
	if !ok {
		return
	}
	move, denseMove := d.grads(len(hyper), func(n int) []float64 { return numtest.Normals(rng, n) })
	d.eachEntry(move, func(own float64, i, j int, scale float64) { denseMove.X.Set(i, j, own/scale) })
	got, wantMove := make([]float64, params), make([]float64, params)
	numtest.OK(t, forward.JVP(nil, got, move), reference.(learn.ForwardLearner).JVP(nil, wantMove, denseMove))
	checkNear(t, "the directional derivative", got, wantMove)
}

// grads returns two Grads: viewGrad for the view, and denseGrad for the dense copy. The function
// fill returns the entries of viewGrad. denseGrad has the same entries as viewGrad in Hyper and Y,
// and zeros in X.
func (d *view) grads(hypers int, fill func(n int) []float64) (viewGrad, denseGrad *learn.Grad) {
	rows, n := d.data.X.Dims()
	viewGrad = &learn.Grad{Hyper: fill(hypers), Y: fill(rows)}
	if d.data.Sparse() {
		viewGrad.Stored = fill(d.data.Stored())
	} else {
		viewGrad.X = mat.NewDense(rows, n, fill(rows*n))
	}
	return viewGrad, &learn.Grad{Hyper: slices.Clone(viewGrad.Hyper), X: mat.NewDense(rows, n, nil), Y: slices.Clone(viewGrad.Y)}
}

// eachEntry calls the function visit for each entry of the derivative with respect to X in
// viewGrad, which is in the field Stored or X. The arguments i and j are the entry's row and
// column, and scale is the scale of the column.
func (d *view) eachEntry(viewGrad *learn.Grad, visit func(v float64, i, j int, scale float64)) {
	scale := func(j int) float64 {
		if d.data.Scale == nil {
			return 1
		}
		return d.data.Scale[j]
	}
	if d.data.Sparse() {
		d.data.VisitStored(func(at, i, j int, _ float64) { visit(viewGrad.Stored[at], i, j, scale(j)) })
		return
	}
	for i := range viewGrad.X.RawMatrix().Rows {
		for j, v := range viewGrad.X.RawRowView(i) {
			visit(v, i, j, scale(j))
		}
	}
}

// moments returns the weighted mean and the weighted deviation of each column of x. For a constant
// column it returns the deviation 1.
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

// checkNear fails the test if the vectors differ by more than sparseTol.
func checkNear(t *testing.T, name string, got, want []float64) {
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
