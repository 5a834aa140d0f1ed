package penalised

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// A foldProblem is a random problem with folds of random sizes.
type foldProblem struct {
	l     *GLM
	d     learn.Data
	hyper []float64
	folds [][]int
	ddst  []float64
}

// drawFolds draws a GLM with two penalties, weights, and folds that may overlap or omit rows.
func drawFolds(seed uint64) foldProblem {
	rng := rand.New(rand.NewPCG(seed, 41))
	rows, n := 12+rng.IntN(30), 1+rng.IntN(8)
	p := foldProblem{l: &GLM{Intercept: seed%2 == 0}, d: casetest.RandomData(seed, rows, n, false), hyper: []float64{.1 + rng.Float64(), rng.ExpFloat64()}}
	p.l.Penalties = []Penalty{Ridge(0, n), {Root: root(seed, 1+rng.IntN(3), n)}}
	if seed%3 > 0 {
		p.d.Weights = make([]float64, rows)
		for i := range rows {
			p.d.Weights[i] = math.Exp(rng.NormFloat64()) * float64(min(1, rng.IntN(8)))
		}
	}
	order := rng.Perm(rows)
	for at := 0; at < rows-3; {
		next := min(rows-3, at+1+rng.IntN(1+rows/3))
		p.folds = append(p.folds, order[at:next])
		if at = next; seed%5 > 2 { // the next fold is a part of a random split
			at, order = at-(next-at)/2, rng.Perm(rows)
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
	g, dx = casetest.NewGrad(p.d, 2), mat.NewDense(rows, n, nil)
	for _, val := range p.folds {
		d := p.d
		d.Weights = numtest.Ones(rows)
		copy(d.Weights, p.d.Weights)
		for _, i := range val {
			d.Weights[i] = 0
		}
		l := p.l.New().(*GLM)
		k, _ := l.Dims(n)
		theta, dtheta := make([]float64, k), make([]float64, k)
		numtest.OK(t, l.Load(d), l.Fit(theta, p.hyper))
		for _, i := range val {
			x := append(append([]float64{}, d.Dense().RawRowView(i)...), 1)[:k]
			ddst := p.ddst[len(dst)]
			dst = append(dst, dense.Dot(x, theta))
			dense.Axpy(ddst, x, dtheta)
			dense.Axpy(ddst, theta[:n], dx.RawRowView(i))
		}
		numtest.OK(t, l.VJP(nil, g, dtheta))
	}
	return dst, g, dx
}

// Folds and FoldsVJP return the predictions and derivatives of separate fits without each fold.
func TestFolds(t *testing.T) {
	small, large := 0, 0
	var w qpdiff.Workspace
	for seed := range uint64(numtest.Long(1000)) {
		p := drawFolds(seed)
		want, wantG, wantDX := p.foldwiseFits(t)
		rows, n := p.d.X.Dims()
		got, g, dx := make([]float64, len(p.ddst)), casetest.NewGrad(p.d, 2), mat.NewDense(rows, n, nil)
		numtest.OK(t, p.l.Load(p.d), p.l.Folds(got, p.hyper, p.folds), p.l.FoldsVJP(&w, g, dx, p.ddst))
		numtest.NearAll(t, "predictions", got, want, 1e-10, 0)
		for k, s := range casetest.GradSlices(g) {
			numtest.NearAll(t, "derivatives", s, casetest.GradSlices(wantG)[k], 1e-10, 0)
		}
		numtest.NearAll(t, "dx", dx.RawMatrix().Data, wantDX.RawMatrix().Data, 1e-10, 0)
		for _, part := range p.l.folds.parts {
			if part.large {
				large++
			} else {
				small++
			}
		}
		if t.Failed() {
			t.Fatalf("problem %d", seed)
		}
	}
	if small < 100 || large < 100 {
		t.Errorf("%d small and %d large folds", small, large)
	}
}

// FoldsVJP only reads the learner, so several calls may run at the same time.
func TestFoldsVJPOnlyReads(t *testing.T) {
	p := drawFolds(2)
	rows, n := p.d.X.Dims()
	numtest.OK(t, p.l.Load(p.d), p.l.Folds(make([]float64, len(p.ddst)), p.hyper, p.folds))
	before := p.l.state.Hypers
	numtest.OK(t, p.l.FoldsVJP(nil, casetest.NewGrad(p.d, 2), mat.NewDense(rows, n, nil), p.ddst))
	if after := p.l.state.Hypers; after != before || after != len(p.hyper) {
		t.Errorf("%d hyperparameters after FoldsVJP, %d before, want %d", after, before, len(p.hyper))
	}
}

// Folds returns an error if a fold is invalid or if the other rows do not determine a parameter.
func TestFoldsRefusals(t *testing.T) {
	d := learn.Data{X: mat.NewDense(6, 2, []float64{1, 0, 2, 0, 3, 0, 1, 0, 2, 1, 1, 0}), Y: make([]float64, 6)}
	l := GLM{Penalties: []Penalty{Ridge(0, 1)}}
	if err := l.Folds(nil, []float64{1}, nil); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Error(err)
	}
	numtest.OK(t, l.Load(d))
	for _, c := range []struct {
		folds [][]int
		kind  error
	}{
		{[][]int{{4}}, qpdiff.ErrIllPosed},
		{[][]int{{0, 1}, {3, 4}}, qpdiff.ErrIllPosed},
		{[][]int{{0, 1}, {1, 2}}, nil},
		{[][]int{{1, 1}}, qpdiff.ErrDomain},
		{[][]int{{0, 6}}, qpdiff.ErrDomain},
		{[][]int{{0}, {}}, qpdiff.ErrDomain},
		{[][]int{{0}, {1, 2}}, nil},
	} {
		rows := 0
		for _, v := range c.folds {
			rows += len(v)
		}
		dst := make([]float64, rows)
		if err := l.Folds(dst, []float64{1}, c.folds); !errors.Is(err, c.kind) {
			t.Errorf("%v: %v", c.folds, err)
		}
		if err := l.FoldsVJP(nil, new(learn.Grad), nil, dst); (err == nil) != (c.kind == nil) {
			t.Errorf("%v, derivative: %v", c.folds, err)
		}
	}
	for _, intercept := range []bool{false, true} {
		l := GLM{Intercept: intercept}
		numtest.OK(t, l.Load(learn.Data{X: d.X, Y: d.Y, Weights: []float64{1, 1, 1, 0, 0, 1}}))
		for _, all := range [][]int{{5, 1, 0, 2}, {0, 1, 2, 3, 4, 5}} { // all rows with a weight above 0
			if err := l.Folds(make([]float64, 1+len(all)), []float64{1}, [][]int{{1}, all}); !errors.Is(err, qpdiff.ErrDomain) {
				t.Errorf("intercept %v, %v: %v", intercept, all, err)
			}
		}
	}
	p := GLM{Loss: Poisson}
	numtest.OK(t, p.Load(d))
	if err := p.Folds(nil, []float64{1}, nil); !errors.Is(err, qpdiff.ErrDomain) {
		t.Error(err)
	}
}

// If the subtraction of a fold and the condition of the remaining rows together leave no digits,
// Folds returns an error of kind ErrIllPosed. In the small fold, Fit to the remaining rows returns
// this error, too.
func TestFoldsRefuseWithoutDigits(t *testing.T) {
	for _, c := range []struct {
		across, along, fold float64 // the sizes of rows outside the fold along (1, −1) and along (1, 1), and of rows of the fold along (1, 1)
		rows                int     // of the fold
		want                error
	}{
		{1, 1e-8, 1e-6, 1, qpdiff.ErrIllPosed},
		{1, 1e-4, 1e-3, 1, nil},
		{1, 2e-5, 200, 3, qpdiff.ErrIllPosed},
		{1, 1e-2, 20, 3, nil},
	} {
		x, fold := mat.NewDense(8+c.rows, 2, nil), []int{}
		for i := range 8 {
			x.SetRow(i, []float64{c.across, -c.across})
			if i < 4 {
				x.SetRow(i, []float64{c.along, c.along})
			}
		}
		for i := range c.rows {
			fold = append(fold, 8+i)
			x.SetRow(8+i, []float64{c.fold, c.fold})
		}
		var l GLM
		numtest.OK(t, l.Load(learn.Data{X: x, Y: numtest.Ones(8 + c.rows)}))
		if err := l.Folds(make([]float64, c.rows), []float64{0}, [][]int{fold}); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Folds allocate nothing once they are known.
func TestFoldsAllocations(t *testing.T) {
	p := drawFolds(2)
	rows, n := p.d.X.Dims()
	var w qpdiff.Workspace
	got, g, dx := make([]float64, len(p.ddst)), casetest.NewGrad(p.d, 2), mat.NewDense(rows, n, nil)
	numtest.OK(t, p.l.Load(p.d))
	if a := testing.AllocsPerRun(5, func() {
		numtest.OK(t, p.l.Folds(got, p.hyper, p.folds), p.l.FoldsVJP(&w, g, dx, p.ddst))
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
}
