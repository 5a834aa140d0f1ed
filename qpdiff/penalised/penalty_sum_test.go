package penalised

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// overlappingPenalties draws penalties on shared features, factors lambda, and the penalties'
// weighted sum.
func overlappingPenalties(seed uint64) (all []Penalty, lambda []float64, sum Penalty) {
	const n = 9
	rng := rand.New(rand.NewPCG(seed, 3))
	matrix := mat.NewSymDense(n, nil)
	for kind := range 6 {
		for k := range 1 + rng.IntN(11) {
			var p Penalty
			switch kind {
			case 0, 3:
				p.S = square(root(rng.Uint64(), 4, n))
			case 1:
				p = Differences(1, n-1, 2)
			case 2:
				p = Ridge(2, 5)
			case 4:
				p = Penalty{First: 3, Root: root(rng.Uint64(), 2, 3)}
			case 5:
				p = Penalty{First: 4, S: square(root(rng.Uint64(), 2, 3))}
			}
			all, lambda = append(all, p), append(lambda, rng.Float64()*float64(k%3))
			matrix.AddSym(matrix, scaled(p.fullMatrix(n), lambda[len(lambda)-1]))
		}
	}
	return all, lambda, Penalty{S: matrix}
}

func scaled(s *mat.SymDense, by float64) *mat.SymDense {
	s.ScaleSym(by, s)
	return s
}

// Several penalties give the fits, folds and derivatives of their sum. The derivative with respect
// to λ_j is the derivative of θ along S_jβ.
func TestSumsOfPenalties(t *testing.T) {
	const rows, n, tol = 40, 9, 1e-10 // rounding times the condition
	for seed := range uint64(20) {
		all, lambda, sum := overlappingPenalties(seed)
		d := casetest.ClassData(seed, rows, n)
		one := []float64{1}
		for _, loss := range []Loss{Squared, Logistic} {
			many, single := &GLM{Loss: loss, Intercept: true, Penalties: all}, &GLM{Loss: loss, Intercept: true, Penalties: []Penalty{sum}}
			got, want := make([]float64, n+1), make([]float64, n+1)
			cotangent := numtest.Normals(rand.New(rand.NewPCG(seed, 4)), rows)
			g, h := casetest.NewGrad(d, len(all)), casetest.NewGrad(d, 1)
			numtest.OK(t, many.Load(d), single.Load(d), many.Fit(got, lambda), single.Fit(want, one),
				many.VJP(nil, g, cotangent[:n+1]), single.VJP(nil, h, cotangent[:n+1]))
			numtest.NearAll(t, "θ", got, want, tol, 0)
			numtest.NearAll(t, "X", g.X.RawMatrix().Data, h.X.RawMatrix().Data, tol, 0)
			byOne := 0.0
			for j, v := range g.Hyper {
				byOne += lambda[j] * v
				numtest.NearAll(t, "λ_j", []float64{v}, []float64{alongPenalty(t, many, j, cotangent[:n+1])}, tol, tol)
			}
			numtest.NearAll(t, "λ", []float64{byOne}, h.Hyper, tol, tol)
			if loss != Squared {
				continue
			}
			folds, fewer := [][]int{{1, 4, 7}, {0, 2, 3, 5, 8, 9, 11}}, make([]float64, 10)
			other, g, h := make([]float64, 10), &learn.Grad{Hyper: make([]float64, len(all))}, &learn.Grad{Hyper: make([]float64, 1)}
			numtest.OK(t, many.Folds(fewer, lambda, folds), single.Folds(other, one, folds),
				many.FoldsVJP(nil, g, nil, cotangent[:10]), single.FoldsVJP(nil, h, nil, cotangent[:10]))
			numtest.NearAll(t, "folds", fewer, other, tol, 0)
			byOne = 0
			for j, v := range g.Hyper {
				byOne += lambda[j] * v
			}
			numtest.NearAll(t, "λ of folds", []float64{byOne}, h.Hyper, tol, tol)
		}
	}
}

// alongPenalty returns the derivative with respect to λ_j of the product of the cotangent and θ,
// computed by forward mode.
func alongPenalty(t *testing.T, l *GLM, j int, cotangent []float64) (along float64) {
	t.Helper()
	tangent, out := make([]float64, len(l.forms)), make([]float64, len(cotangent))
	tangent[j] = 1
	numtest.OK(t, l.JVP(nil, out, &learn.Grad{Hyper: tangent}))
	for k, v := range out {
		along += v * cotangent[k]
	}
	return along
}

// Bytes counts the sums of penalties.
func TestBytesOfSums(t *testing.T) {
	const rows, n, factor = 160, 150, 1.3
	d := casetest.RandomData(3, rows, n, false)
	s, band := square(root(1, n, n)), mat.NewSymBandDense(n, 60, nil)
	for i := range n {
		band.SetSymBand(i, i, 1)
	}
	for name, all := range map[string][]Penalty{"two": {{S: s}, {S: s}}, "twice two": {{S: s}, {S: s}, Ridge(0, n), Ridge(0, n), {S: s}, {S: s}, {S: s}, {S: s}, {S: s}}, "bands": {{S: band}, {S: band}}, "none": {{S: s}, Ridge(0, n), {S: s}}} {
		var l *GLM
		var w *qpdiff.Workspace
		theta, hyper, g := make([]float64, n), numtest.Ones(len(all)), casetest.NewGrad(d, len(all))
		held := float64(numtest.HeldBy(func() { l, w = &GLM{Penalties: all}, new(qpdiff.Workspace) }, func() {
			numtest.OK(t, l.Load(d), l.Fit(theta, hyper), l.VJP(w, g, theta))
		}))
		if counted := float64(l.Bytes(d.Size())); held > counted || counted > factor*held {
			t.Errorf("%s: counts %v bytes and holds %v", name, counted, held)
		}
		runtime.KeepAlive([]any{l, w, g, theta, d})
	}
}
