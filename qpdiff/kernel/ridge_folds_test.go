package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A foldProblem is a random kernel ridge regression with folds.
type foldProblem struct {
	l     *Ridge
	d     learn.Data
	hyper []float64
	units []float64 // of hyper
	folds [][]int
	ddst  []float64
}

// drawFolds draws a ridge regression whose folds are disjoint or random splits, in random units.
func drawFolds(seed uint64) foldProblem {
	rng := rand.New(rand.NewPCG(seed, 43))
	rows, n := 6+rng.IntN(30), 1+rng.IntN(5)
	if seed%8 == 7 {
		rows += 2 * dense.BlockSize
	}
	units := math.Pow(10, rng.Float64()*12-6)
	width := 1 / (units * units)
	p := foldProblem{l: &Ridge{Intercept: seed%2 == 0}, d: casetest.RandomData(seed, rows, n, false)}
	p.hyper, p.units = []float64{math.Exp(-4 * rng.Float64())}, []float64{1}
	switch seed % 5 {
	case 0:
		p.hyper, p.units = append(p.hyper, width*(.1+rng.Float64())), append(p.units, width)
	case 1:
		p.l.Kernel = Polynomial{Degree: 2}
		p.hyper, p.units = append(p.hyper, width*(.1+rng.Float64()), rng.Float64()), append(p.units, width, 1)
	default:
		p.l.Kernel = ARD{Shape: Shape(seed % 5 % 3)}
		for range n {
			p.units = append(p.units, width)
			p.hyper = append(p.hyper, width*rng.ExpFloat64()*float64(min(1, rng.IntN(6))))
		}
	}
	p.d.X.(*mat.Dense).Scale(units, p.d.X)
	floats.Scale(math.Pow(10, rng.Float64()*12-6), p.d.Y)
	var counting []int
	if seed%3 > 0 {
		p.d.Weights = make([]float64, rows)
	}
	for i := range rows {
		if p.d.Weights != nil {
			p.d.Weights[i] = math.Exp(rng.NormFloat64()/2) * float64(min(1, rng.IntN(8)))
		}
		if p.d.Weights == nil || p.d.Weights[i] > 0 {
			counting = append(counting, i)
		}
	}
	if len(counting) < 4 {
		p.d.Weights, counting = nil, rng.Perm(rows)
	}
	order := func() []int {
		rng.Shuffle(len(counting), func(i, k int) { counting[i], counting[k] = counting[k], counting[i] })
		return append([]int{}, counting...)
	}
	size := 1 + rng.IntN(len(counting)/2)
	if seed%4 < 2 {
		for all := order(); len(all) > 2; {
			size = min(size, len(all))
			p.folds, all = append(p.folds, all[:size]), all[size:]
			size += rng.IntN(2) * int(seed%4)
		}
	} else {
		for range 1 + rng.IntN(24) {
			p.folds = append(p.folds, order()[:size])
			size = max(1, size-rng.IntN(2)*int(seed%4-2))
		}
	}
	for _, v := range p.folds {
		p.ddst = append(p.ddst, numtest.Normals(rng, len(v))...)
	}
	return p
}

// foldwiseFits fits one learner for each fold and returns the predictions and their derivatives.
func (p foldProblem) foldwiseFits(t *testing.T) (dst []float64, g *learn.Grad, dx *mat.Dense) {
	t.Helper()
	rows, n := p.d.X.Dims()
	g, dx = casetest.NewGrad(p.d, len(p.hyper)), mat.NewDense(rows, n, nil)
	for _, val := range p.folds {
		d := p.d
		d.Weights = numtest.Ones(rows)
		copy(d.Weights, p.d.Weights)
		x := mat.NewDense(len(val), n, nil)
		for at, i := range val {
			d.Weights[i] = 0
			x.SetRow(at, p.d.Dense().RawRowView(i))
		}
		l, f, dat := p.l.New().(*Ridge), make([]float64, len(val)), mat.NewDense(len(val), n, nil)
		theta, _ := l.Dims(n)
		numtest.OK(t, l.Load(d), l.Fit(make([]float64, theta), p.hyper), l.Predict(nil, f, x), l.PredictVJP(nil, g, dat, x, p.ddst[len(dst):][:len(val)]))
		for at, i := range val {
			for j, v := range dat.RawRowView(at) {
				dx.Set(i, j, dx.At(i, j)+v)
			}
		}
		dst = append(dst, f...)
	}
	return dst, g, dx
}

// sumSize returns Σ_t |ddst_t|·max |y|, the size of the sum that is differentiated.
func (p foldProblem) sumSize() float64 {
	return floats.Norm(p.ddst, 1) * floats.Norm(p.d.Y, math.Inf(1))
}

// foldsTol bounds the relative difference between fits by folds and separate fits. The difference
// between derivatives with respect to ln h is relative to sumSize, because their terms may cancel.
const foldsTol = 1e-10

// Folds and FoldsVJP return the predictions and derivatives of separate fits without each fold.
func TestRidgeFolds(t *testing.T) {
	own, shared := 0, 0
	var w qpdiff.Workspace
	for seed := range uint64(numtest.Long(1000)) {
		p := drawFolds(seed)
		want, wantG, wantDX := p.foldwiseFits(t)
		rows, n := p.d.X.Dims()
		got, g, dx := make([]float64, len(p.ddst)), casetest.NewGrad(p.d, len(p.hyper)), mat.NewDense(rows, n, nil)
		numtest.OK(t, p.l.Load(p.d), p.l.Folds(got, p.hyper, p.folds), p.l.FoldsVJP(&w, g, dx, p.ddst))
		numtest.NearAll(t, "predictions", got, want, foldsTol, 0)
		for k, h := range g.Hyper { // each in its own unit
			numtest.NearAll(t, fmt.Sprint("derivative in hyperparameter ", k), []float64{h}, wantG.Hyper[k:k+1], foldsTol, p.sumSize()/p.units[k])
		}
		for k, s := range casetest.GradSlices(g)[1:] {
			numtest.NearAll(t, fmt.Sprint("derivatives ", k), s, casetest.GradSlices(wantG)[1:][k], foldsTol, 0)
		}
		numtest.NearAll(t, "dx", dx.RawMatrix().Data, wantDX.RawMatrix().Data, foldsTol, 0)
		for _, part := range p.l.folds.parts {
			if part.ownFactor {
				own++
			} else {
				shared++
			}
		}
		if t.Failed() {
			t.Fatalf("problem %d: %T, folds %v", seed, p.l.Kernel, p.folds)
		}
	}
	if own < 100 || shared < 100 {
		t.Errorf("%d folds with factors of their own, %d without", own, shared)
	}
}

// Folds returns an error for an invalid fold and leaves its destination unchanged.
func TestRidgeFoldsRefusals(t *testing.T) {
	d := casetest.RandomData(3, 6, 2, false)
	d.Weights = []float64{1, 1, 2, 0, 1, 1}
	l, dst, hyper := Ridge{Intercept: true}, make([]float64, 6), []float64{.1, .4}
	if err := l.Folds(dst[:1], hyper, [][]int{{0}}); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Error(err)
	}
	numtest.OK(t, l.Load(d))
	for _, c := range []struct {
		folds [][]int
		kind  error
	}{
		{[][]int{{0, 1}, {1, 2}}, nil},
		{[][]int{{0, 1}, {3}}, qpdiff.ErrDomain},
		{[][]int{{0, 0}}, qpdiff.ErrDomain},
		{[][]int{{0, 6}}, qpdiff.ErrDomain},
		{[][]int{{-1}}, qpdiff.ErrDomain},
		{[][]int{{0}, {}}, qpdiff.ErrDomain},
		{[][]int{{0, 1, 2, 4, 5}}, qpdiff.ErrDomain},
		{nil, nil},
	} {
		count := 0
		for _, v := range c.folds {
			count += len(v)
		}
		dst := numtest.Ones(count)
		err := l.Folds(dst, hyper, c.folds)
		if !errors.Is(err, c.kind) || err != nil && dst[0] != 1 {
			t.Errorf("%v: %v, with %v", c.folds, err, dst)
		}
		if err := l.FoldsVJP(nil, new(learn.Grad), nil, dst); (err == nil) != (c.kind == nil) {
			t.Errorf("%v, derivative: %v", c.folds, err)
		}
	}
	numtest.OK(t, l.Folds(dst[:2], hyper, [][]int{{0, 1}}))
	if err := l.FoldsVJP(nil, new(learn.Grad), nil, []float64{1, math.NaN()}); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("cotangent NaN: %v", err)
	}
	numtest.OK(t, l.Fit(make([]float64, 1), hyper))
	if err := l.FoldsVJP(nil, new(learn.Grad), nil, dst[:2]); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Errorf("FoldsVJP after Fit: %v", err)
	}
}

// Folds allocates nothing on repeated calls and returns the same bits after other fits.
func TestRidgeFoldsState(t *testing.T) {
	for seed := range uint64(12) {
		p := drawFolds(seed)
		rows, n := p.d.X.Dims()
		var w qpdiff.Workspace
		got, want := make([]float64, len(p.ddst)), make([]float64, len(p.ddst))
		g, dx := casetest.NewGrad(p.d, len(p.hyper)), mat.NewDense(rows, n, nil)
		numtest.OK(t, p.l.Load(p.d), p.l.Folds(want, p.hyper, p.folds))
		if a := testing.AllocsPerRun(5, func() {
			numtest.OK(t, p.l.Folds(got, p.hyper, p.folds), p.l.FoldsVJP(&w, g, dx, p.ddst))
		}); a != 0 {
			t.Errorf("problem %d: %v allocations", seed, a)
		}
		theta, _ := p.l.Dims(n)
		other := append([]float64{}, p.hyper...)
		other[0] *= 1.5
		numtest.OK(t, p.l.Fit(make([]float64, theta), other), p.l.Folds(got[:len(p.folds[0])], other, p.folds[:1]), p.l.Folds(got, p.hyper, p.folds))
		if !numtest.SameBits(got, want) {
			t.Errorf("problem %d: %v, then %v", seed, want, got)
		}
	}
}

// Folds returns an error if coefficients overflow.
func TestRidgeFoldsOverflow(t *testing.T) {
	d := casetest.RandomData(7, 12, 2, false)
	floats.Scale(1e307, d.Y)
	for _, count := range []int{1, 12} {
		l, dst, folds := new(Ridge), numtest.Ones(2*count), [][]int{}
		for k := range count {
			folds = append(folds, []int{k, (k + 1) % 12})
		}
		numtest.OK(t, l.Load(d))
		if err := l.Folds(dst, []float64{1e-6, 1e-4}, folds); !errors.Is(err, qpdiff.ErrNotFinite) || dst[0] != 1 {
			t.Errorf("%d folds: %v, predictions %v", count, err, dst)
		}
	}
}

// Folds share one matrix G if and only if their total weights are equal up to rounding.
func TestRidgeFoldFamilies(t *testing.T) {
	const rows = 30
	d := casetest.RandomData(5, rows, 2, false)
	d.Weights = make([]float64, rows)
	for i := range rows {
		d.Weights[i] = []float64{.1, .2, .7}[i/2%3]
	}
	var folds [][]int
	for i := range rows / 6 { // the same weights in each, in other places
		for _, at := range []int{0, 1} {
			folds = append(folds, []int{6*i + at, 2 + (6*i+14+at)%rows, 4 + (6*i+6+at)%rows})
		}
	}
	l, dst, hyper := new(Ridge), make([]float64, rows), []float64{.1, .5}
	numtest.OK(t, l.Load(d), l.Folds(dst, hyper, folds))
	if n := len(l.folds.families); n != 1 || l.folds.parts[0].ownFactor {
		t.Errorf("%d families, factors of their own %v", n, l.folds.parts[0].ownFactor)
	}
	d.Weights[0] += 1e-9
	numtest.OK(t, l.Load(d), l.Folds(dst, hyper, folds))
	if n := len(l.folds.families); n != 2 {
		t.Errorf("%d families with another weight", n)
	}
}

// Folds with different weights are no family, however small the weights of their remaining rows are.
func TestRidgeFoldsHeavyRow(t *testing.T) {
	const rows = 12
	p := foldProblem{l: new(Ridge), d: casetest.RandomData(9, rows, 2, false), hyper: []float64{.3, .4}, units: numtest.Ones(2)}
	p.d.Weights = make([]float64, rows)
	for i := range rows {
		p.d.Weights[i] = 1e-15 * float64(i)
	}
	p.d.Weights[0] = 1
	p.folds, p.ddst = [][]int{{0, 1, 2}, {0, 5, 6}, {0, 3, 4}, {0, 2, 4}}, numtest.Ones(12)
	want, _, _ := p.foldwiseFits(t)
	got := make([]float64, len(want))
	numtest.OK(t, p.l.Load(p.d), p.l.Folds(got, p.hyper, p.folds))
	numtest.NearAll(t, "predictions", got, want, foldsTol, 0)
}

// Bytes counts the memory that Folds and its derivatives hold if the rows have weights. The test has
// families of one fold, of two folds and of all folds.
func TestRidgeFoldsBytes(t *testing.T) {
	serial.Test(t)
	const rows, n = 240, 2
	for _, each := range []int{1, 5, 20, 40, 60} {
		for _, together := range []int{1, 2, rows} {
			d := casetest.RandomData(3, rows, n, false)
			d.Weights = make([]float64, rows)
			folds := make([][]int, rows/each)
			for i := range rows {
				k := i / each
				folds[k], d.Weights[i] = append(folds[k], i), 1+float64(k/together)/rows
			}
			size := d.Size()
			size.Folds = folds
			var l *Ridge
			var w *qpdiff.Workspace
			hyper, dst := []float64{.1, .3}, make([]float64, rows)
			g, dx := casetest.NewGrad(d, len(hyper)), mat.NewDense(rows, n, nil)
			held := numtest.HeldBy(func() { l, w = new(Ridge), new(qpdiff.Workspace) }, func() {
				numtest.OK(t, l.Load(d), l.Folds(dst, hyper, folds), l.FoldsVJP(w, g, dx, dst))
			})
			if counted := l.Bytes(size); held > counted {
				t.Errorf("folds of %d rows, %d in a family: counts %d bytes and holds %d", each, together, counted, held)
			}
			runtime.KeepAlive([]any{l, w, d, folds, g, dx, dst})
		}
	}
}
