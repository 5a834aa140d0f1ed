package search

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// CMAES is the evolution strategy with covariance matrix adaptation. It uses no gradients. It
// updates a Cholesky factor of the covariance matrix (Krause, Arbonès and Igel, "CMA-ES with
// optimal covariance update and storage complexity", 2016). Its constants are from Hansen's
// tutorial (arXiv:1604.00772). Each generation draws points around a mean. The better half of the
// points determines the new mean, the new covariance and the new step size. If a point is outside
// the constraint set, the projection of the point is evaluated and used in the update.
//
// The CMA-ES of gonum's package optimize is not used here, because that CMA-ES draws points without
// the adapted step size.
type CMAES struct {
	Source func() Source // required; see [Searcher]
	// Sigma is the standard deviation of the first generation in each coordinate, in units of x. If
	// Sigma is zero, it is .3 times each coordinate's scale; see [Searcher]. Set Sigma if the search
	// starts at 0 without bounds, because the scale is 1 in this case, whatever the unit of x.
	Sigma      float64
	Population int // points of a generation; zero: 4 + ⌊3·ln n⌋
	MaxEvals   int // evaluations at most; zero: 1000
	// Tol ends the search when the points of a generation lie close together. The search ends if, for
	// every coordinate, the standard deviation is at most Tol times the larger of the coordinate's
	// scale and |x|. If Tol is zero, 1e-12 is used. If Tol is negative, the search never ends in this
	// way.
	Tol float64
}

// Search first evaluates the projection of x0, which is the first mean. Then it evaluates one
// generation after the other.
func (m CMAES) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	lambda := m.Population
	if lambda == 0 && len(x0) > 0 {
		lambda = 4 + int(3*math.Log(float64(len(x0))))
	}
	settings := args.First(
		args.BadIf(!(m.Sigma >= 0) || math.IsInf(m.Sigma, 1), "CMAES.Sigma", qpdiff.ErrDomain, "use a positive number, or zero for the default", "is %v", m.Sigma),
		args.BadIf(lambda < 4, "CMAES.Population", qpdiff.ErrDomain, "use at least 4 points", "is %d", lambda))
	return drawingSearch(p, x0, cmp.Or(m.MaxEvals, 1000), settings, m.Source, func(w *searchRun, src Source) {
		if m.Sigma > 0 { // Sigma is also the scale of every coordinate whose scale does not follow from x0 and the bounds
			w.p.scale = w.p.scales(w.X)
			for i, s := range w.p.scale {
				w.p.scale[i] = cmp.Or(s, m.Sigma)
			}
		}
		if w.eval() && w.yieldStep(false) {
			g := newCMAState(w, m.Sigma, lambda)
			for g.evaluate(w, src, cmp.Or(m.Tol, 1e-12)) {
				g.update()
			}
		}
	})
}

// cmaState is the state of a CMAES between generations.
type cmaState struct {
	n, mu          int
	weights        []float64
	muEff          float64
	cc, cs, c1, cm float64
	damping, chi   float64
	mean, old, mid []float64
	pc, ps         []float64
	sigma          float64
	smallest       float64 // the lower bound of sigma; with a negative Tol, sigma keeps falling
	chol           mat.Cholesky
	order          []int
	x              [][]float64
	f              []float64
	z              *mat.VecDense
}

func newCMAState(w *searchRun, sigma float64, lambda int) *cmaState {
	n := len(w.X)
	dim := float64(n)
	g := &cmaState{n: n, mu: lambda / 2, sigma: cmp.Or(sigma, .3*slices.Max(w.scale)), mean: slices.Clone(w.X),
		old: make([]float64, n), mid: make([]float64, n), pc: make([]float64, n), ps: make([]float64, n),
		order: make([]int, lambda), f: make([]float64, lambda), z: mat.NewVecDense(n, nil)}
	for i := range lambda {
		g.x = append(g.x, make([]float64, n))
		if i < g.mu {
			g.weights = append(g.weights, math.Log(float64(g.mu)+.5)-math.Log(float64(i+1)))
		}
	}
	floats.Scale(1/floats.Sum(g.weights), g.weights)
	g.muEff = 1 / floats.Dot(g.weights, g.weights)
	g.cc = (4 + g.muEff/dim) / (dim + 4 + 2*g.muEff/dim)
	g.cs = (g.muEff + 2) / (dim + g.muEff + 5)
	g.c1 = 2 / ((dim+1.3)*(dim+1.3) + g.muEff)
	g.cm = min(1-g.c1, 2*(g.muEff-2+1/g.muEff)/((dim+2)*(dim+2)+g.muEff))
	g.damping = 1 + 2*max(0, math.Sqrt((g.muEff-1)/(dim+1))-1) + g.cs
	g.chi = math.Sqrt(dim) * (1 - 1/(4*dim) + 1/(21*dim*dim)) // E‖N(0, I)‖
	g.smallest = minShare * g.sigma
	cov, shares := mat.NewSymDense(n, nil), w.relativeScales()
	for i := range n {
		cov.SetSym(i, i, 1)
		if sigma == 0 {
			cov.SetSym(i, i, shares[i]*shares[i])
		}
	}
	g.chol.Factorize(cov)
	return g
}

// evaluate draws a generation of points and evaluates them. It returns false when the search is
// over.
func (g *cmaState) evaluate(w *searchRun, src Source, tol float64) bool {
	upper := g.chol.RawU()
	for k, x := range g.x {
		for i := range g.n {
			g.z.SetVec(i, normal(src))
		}
		g.z.MulVec(upper.T(), g.z)
		floats.AddScaledTo(x, g.mean, g.sigma, g.z.RawVector().Data)
		w.p.project(x)
		copy(w.X, x)
		if !w.evaluate() {
			return false
		}
		g.f[k] = w.Loss
		if !w.yieldStep(k == len(g.x)-1 && g.largestDeviation(w) <= tol) {
			return false
		}
	}
	return true
}

// largestDeviation returns the largest standard deviation of a coordinate, in scales.
func (g *cmaState) largestDeviation(w *searchRun) float64 {
	upper := g.chol.RawU()
	var widest float64
	for i := range g.n {
		var v float64
		for k := range i + 1 {
			v += upper.At(k, i) * upper.At(k, i)
		}
		widest = max(widest, g.sigma*math.Sqrt(v)/w.scaleAt(i, g.mean[i]))
	}
	return widest
}

// update moves the distribution towards the better half of the generation.
func (g *cmaState) update() {
	floats.ArgsortStable(g.f, g.order)
	copy(g.old, g.mean)
	clear(g.mean)
	for k, w := range g.weights {
		floats.AddScaled(g.mean, w, g.x[g.order[k]])
	}
	floats.SubTo(g.mid, g.mean, g.old)
	floats.Scale(1/g.sigma, g.mid)

	// The path of the step size is in coordinates in which the covariance matrix is I, so the move
	// of the mean is divided by the Cholesky factor. A triangular factor with a positive diagonal
	// is never singular. An error of SolveVec therefore means only that the condition number is
	// large, and the search continues.
	_ = g.z.SolveVec(g.chol.RawU().T(), mat.NewVecDense(g.n, g.mid))
	floats.Scale(1-g.cs, g.ps)
	floats.AddScaled(g.ps, math.Sqrt(g.cs*(2-g.cs)*g.muEff), g.z.RawVector().Data)
	floats.Scale(1-g.cc, g.pc)
	floats.AddScaled(g.pc, math.Sqrt(g.cc*(2-g.cc)*g.muEff), g.mid)

	g.chol.Scale(1-g.c1-g.cm, &g.chol)
	g.chol.SymRankOne(&g.chol, g.c1, mat.NewVecDense(g.n, g.pc))
	for k, w := range g.weights {
		floats.SubTo(g.mid, g.x[g.order[k]], g.old)
		g.chol.SymRankOne(&g.chol, g.cm*w/(g.sigma*g.sigma), mat.NewVecDense(g.n, g.mid))
	}
	g.sigma = max(g.sigma*math.Exp(g.cs/g.damping*(floats.Norm(g.ps, 2)/g.chi-1)), g.smallest)
}

// normal returns a standard normal number (Box and Muller 1958).
func normal(src Source) float64 {
	u, v := src.Float64(), src.Float64()
	return math.Sqrt(-2*math.Log(1-u)) * math.Cos(2*math.Pi*v)
}
