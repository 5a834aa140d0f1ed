package penalised

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// A secondProblem is a foldProblem with the function Σ_t ddst_t·dst_t + ½curvature_t·dst_t² of the
// predictions dst.
type secondProblem struct {
	foldProblem
	curvature []float64
}

// drawSecond draws a problem with up to twenty penalties of random ranks. Labels, features and
// hyperparameters have random units. Every third problem normalises its features in each fold, and
// every seventh leaves one row out at a time. Some problems have fewer rows than features.
func drawSecond(seed uint64) secondProblem {
	rng := rand.New(rand.NewPCG(seed, 57))
	p := secondProblem{foldProblem: drawFolds(seed)}
	rows, n := p.d.X.Dims()
	if seed%4 == 1 {
		n = rows + rng.IntN(10)
		p.d.X = mat.NewDense(rows, n, numtest.Normals(rng, rows*n))
	}
	p.l.Penalties, p.hyper = []Penalty{Ridge(0, n)}, []float64{.1 + rng.Float64()}
	for range rng.IntN(20) {
		first := rng.IntN(n)
		p.l.Penalties = append(p.l.Penalties, Penalty{First: first, Root: root(rng.Uint64(), 1+rng.IntN(3), 1+rng.IntN(n-first))})
		p.hyper = append(p.hyper, rng.ExpFloat64())
	}
	if seed%7 == 0 {
		p.folds = nil
		for i := range rows - 3 {
			p.folds = append(p.folds, []int{i})
		}
	}
	predicted := 0
	for _, v := range p.folds {
		predicted += len(v)
	}
	p.ddst, p.curvature = numtest.Normals(rng, predicted), numtest.Normals(rng, predicted)
	unit := math.Pow(10, float64(rng.IntN(13)-6))
	scaled := mat.DenseCopyOf(p.d.X)
	scaled.Scale(unit, scaled)
	if p.d.X = scaled; seed%3 > 0 {
		for j := range p.hyper {
			p.hyper[j] *= unit * unit
		}
	}
	if seed%3 == 0 {
		p.l.NormaliseFolds(p.normal(seed))
	}
	return p
}

// gradient returns the derivatives in the logarithms of the hyperparameters, and the slopes of the
// function at the predictions.
func (p secondProblem) gradient(t *testing.T, hyper []float64) (grad, slopes []float64) {
	t.Helper()
	slopes = make([]float64, len(p.ddst))
	numtest.OK(t, p.l.Folds(slopes, hyper, p.folds))
	for i, v := range slopes {
		slopes[i] = p.ddst[i] + p.curvature[i]*v
	}
	grad = make([]float64, len(hyper))
	numtest.OK(t, p.l.FoldsVJP(nil, &learn.Grad{Hyper: grad}, nil, slopes))
	for j, v := range hyper {
		grad[j] *= v
	}
	return grad, slopes
}

// FoldsHessian is equal to difference quotients of the gradient.
func TestFoldsHessian(t *testing.T) {
	const step, tol = 1e-4, 1e-6 // the differences have errors of order step² and of rounding/step
	small, large, normal, wide, inverse := 0, 0, 0, 0, 0
	var w qpdiff.Workspace
	for seed := range uint64(numtest.Long(400)) {
		p := drawSecond(seed)
		numtest.OK(t, p.l.Load(p.d))
		grad, slopes := p.gradient(t, p.hyper)
		count := len(p.hyper)
		h := mat.NewSymDense(count, nil)
		numtest.OK(t, p.l.FoldsHessian(&w, h, slopes, p.curvature))
		got, want := make([]float64, 0, count*count), make([]float64, 0, count*count)
		for i := range count {
			at := func(by float64) []float64 {
				hyper := append([]float64{}, p.hyper...)
				hyper[i] *= math.Exp(by)
				g, _ := p.gradient(t, hyper)
				return g
			}
			up, down := at(step), at(-step)
			for j := range count {
				v := h.At(i, j) * p.hyper[i] * p.hyper[j]
				if i == j {
					v += grad[i]
				}
				got, want = append(got, v), append(want, (up[j]-down[j])/(2*step))
			}
		}
		numtest.NearAll(t, "Hessian", got, want, tol, 0)
		for _, part := range p.l.folds.parts {
			switch {
			case p.l.folds.normal:
				normal++
			case part.large:
				large++
			default:
				small++
			}
		}
		if rows, n := p.d.X.Dims(); rows < n {
			wide++
		}
		if len(qpdiff.Scratch[foldDerivative](&w).inverse) > 0 {
			inverse++
		}
		if t.Failed() {
			t.Fatalf("problem %d", seed)
		}
	}
	if min(small, large, normal, wide, inverse) < numtest.Long(400)/10 {
		t.Errorf("%d small, %d large and %d normalised folds, %d problems with fewer rows than features, %d with an inverse", small, large, normal, wide, inverse)
	}
}

// For one feature of ones, the labels 1 and 2 and λ = 1, the predictions without the own row are
// 2/(1 + λ) and 1/(1 + λ). The second derivative of (2/(1 + λ) − 1)² + (1/(1 + λ) − 2)² is −1/8.
func TestFoldsHessianByHand(t *testing.T) {
	l, dst, h := new(GLM), make([]float64, 2), mat.NewSymDense(1, []float64{10})
	numtest.OK(t, l.Load(learn.Data{X: mat.NewDense(2, 1, []float64{1, 1}), Y: []float64{1, 2}}), l.Folds(dst, []float64{1}, [][]int{{0}, {1}}),
		l.FoldsHessian(nil, h, []float64{2 * (dst[0] - 1), 2 * (dst[1] - 2)}, []float64{2, 2}))
	if got := h.At(0, 0); !(math.Abs(got-(10-1./8)) <= 1e-14) {
		t.Errorf("adds %v", got-10)
	}
}

// FoldsHessian needs Folds and finite derivatives, and returns an error if a product overflows.
func TestFoldsHessianRefusals(t *testing.T) {
	d := learn.Data{X: mat.NewDense(2, 1, []float64{1, 1}), Y: []float64{1, 2}}
	l, dst, h := new(GLM), make([]float64, 2), mat.NewSymDense(1, nil)
	ones := []float64{1, 1}
	if err := l.FoldsHessian(nil, h, ones, ones); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Error(err)
	}
	numtest.OK(t, l.Load(d), l.Folds(dst, []float64{1}, [][]int{{0}, {1}}))
	for _, bad := range [][]float64{{1, math.NaN()}, {math.Inf(-1), 1}} {
		if err := l.FoldsHessian(nil, h, bad, ones); !errors.Is(err, qpdiff.ErrNotFinite) {
			t.Errorf("ddst %v: %v", bad, err)
		}
		if err := l.FoldsHessian(nil, h, ones, bad); !errors.Is(err, qpdiff.ErrNotFinite) {
			t.Errorf("curvature %v: %v", bad, err)
		}
	}
	if err := l.FoldsHessian(nil, h, ones, []float64{-1e308, -1e308}); err != nil {
		t.Error(err)
	}
	numtest.OK(t, l.Load(learn.Data{X: d.X, Y: []float64{1e10, 1e10}}), l.Folds(dst, []float64{1}, [][]int{{0}, {1}}))
	if err := l.FoldsHessian(nil, h, ones, []float64{-1e308, -1e308}); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("overflow: %v", err)
	}
	numtest.OK(t, l.Fit(dst[:1], []float64{1}))
	if err := l.FoldsHessian(nil, h, ones, ones); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Error(err)
	}
}

// With extreme data and hyperparameters, an entry is finite or the error is ErrNotFinite.
func TestFoldsHessianOfExtremes(t *testing.T) {
	fitted, finite := 0, 0
	for seed := range uint64(numtest.Long(3000)) {
		rng := rand.New(rand.NewPCG(seed, 58))
		p := drawSecond(seed)
		rows, n := p.d.X.Dims()
		p.d.X, p.d.Y = mat.NewDense(rows, n, numtest.Extremes(rng, rows*n)), numtest.Extremes(rng, rows)
		for j, v := range numtest.Extremes(rng, len(p.hyper)) {
			p.hyper[j] = math.Abs(v)
		}
		if seed%3 == 0 {
			p.l.NormaliseFolds(learn.FoldNormal{})
		}
		if p.l.Load(p.d) != nil || p.l.Folds(make([]float64, len(p.ddst)), p.hyper, p.folds) != nil {
			continue
		}
		fitted++
		h := mat.NewSymDense(len(p.hyper), nil)
		err := p.l.FoldsHessian(nil, h, p.ddst, numtest.Extremes(rng, len(p.ddst)))
		if err == nil {
			finite++
		} else if !errors.Is(err, qpdiff.ErrNotFinite) {
			t.Errorf("problem %d: %v", seed, err)
		}
		for i := range p.hyper {
			for j := range p.hyper {
				if v := h.At(i, j); v-v != 0 {
					t.Fatalf("problem %d: entry %v, error %v", seed, v, err)
				}
			}
		}
	}
	if fitted < numtest.Long(3000)/20 || finite == 0 || finite == fitted {
		t.Errorf("%d fits, %d finite Hessians", fitted, finite)
	}
}

// A second FoldsHessian with the same workspace allocates nothing.
func TestFoldsHessianAllocations(t *testing.T) {
	for _, seed := range []uint64{1, 3, 7} {
		p := drawSecond(seed)
		numtest.OK(t, p.l.Load(p.d))
		_, slopes := p.gradient(t, p.hyper)
		var w qpdiff.Workspace
		h := mat.NewSymDense(len(p.hyper), nil)
		if a := testing.AllocsPerRun(5, func() { numtest.OK(t, p.l.FoldsHessian(&w, h, slopes, p.curvature)) }); a != 0 {
			t.Errorf("problem %d: %v allocations", seed, a)
		}
	}
}
