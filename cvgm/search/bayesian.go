package search

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// Bayesian is Bayesian optimisation without gradients. A Gaussian process with a Matérn-5/2 kernel
// models the losses found so far. The next point is the point with the highest expected improvement
// (Jones, Schonlau and Welch 1998; Snoek, Larochelle and Adams 2012). With up to ten coordinates,
// the kernel has one length scale for each coordinate. With more coordinates, all coordinates share
// one length scale. The length scales maximise the posterior density under a log-normal prior.
// Given the length scales, the mean and the variance of the process maximise the likelihood.
//
// Bayesian requires finite bounds. They set the units of the length scales. The cost of the model
// grows with the cube of the number of evaluations, so Bayesian is meant for costly losses and a
// budget of about a hundred evaluations. The model replaces a loss of +Inf by the highest finite
// loss so far.
type Bayesian struct {
	Source   func() Source // required; see [Searcher]
	Initial  int           // number of points before the model proposes points, including x0; zero: 2n + 2 for n coordinates, at most 20
	MaxEvals int           // evaluations at most; zero: 100
	// Candidates is the number of points at which the expected improvement is compared. Half of these
	// points are drawn over the box, and the other half near the best point so far. The best candidate
	// is then refined by about as many evaluations of the expected improvement. If Candidates is zero,
	// the number is 200.
	Candidates int
}

// Search first evaluates the projection of x0. It then evaluates points drawn uniformly from the
// box, and after them the points that the model proposes.
func (m Bayesian) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	initial, candidates := cmp.Or(m.Initial, min(2*len(x0)+2, 20)), cmp.Or(m.Candidates, 200)
	settings := args.First(p.box("Bayesian"), p.exact("Bayesian"),
		args.BadIf(initial < 1 || candidates < 1, "Bayesian", qpdiff.ErrDomain, "use positive numbers, or zero for the defaults", "has Initial = %d, Candidates = %d", initial, candidates))
	return drawingSearch(p, x0, cmp.Or(m.MaxEvals, 100), settings, m.Source, func(w *searchRun, src Source) {
		unit, err := p.toUnit(w.X)
		if err != nil {
			w.fail(err)
			return
		}
		if !w.eval() {
			return
		}
		gp, highest := newGaussianProcess(len(x0)), w.Loss
		for w.yieldStep(false) {
			if args.Finite(w.Loss) {
				highest = max(highest, w.Loss)
			}
			gp.add(unit, min(w.Loss, highest))
			if w.Evaluations < initial {
				for i := range unit {
					unit[i] = src.Float64()
				}
			} else {
				gp.fit()
				gp.propose(unit, src, candidates)
			}
			for i, u := range unit {
				lower, upper := p.bounds(i)
				w.X[i] = lower + u*(upper-lower)
			}
			p.project(w.X) // against rounding
			if !w.evaluate() {
				return
			}
		}
	})
}

// toUnit maps x from the box to the unit cube. An infinite bound is an error.
func (p Problem) toUnit(x []float64) ([]float64, error) {
	unit := make([]float64, len(x))
	for i, x := range x {
		lower, upper := p.bounds(i)
		if !args.Finite(upper - lower) {
			return nil, args.Bad("Problem.Upper", qpdiff.ErrDomain, "give Bayesian finite bounds", "is, or Lower is, infinite at index %d", i)
		}
		if upper > lower {
			unit[i] = (x - lower) / (upper - lower)
		}
	}
	return unit, nil
}

// gaussianProcess is a Gaussian process on the unit cube.
type gaussianProcess struct {
	x         [][]float64
	y         []float64
	logLength []float64 // logarithms of the length scales: one for all coordinates, or one for each
	// weight holds a factor for each coordinate, computed from its length scale. The kernel is a
	// function of the weighted sum of squared differences.
	weight []float64
	// The remaining fields are the fitted process: the lower Cholesky factor of the correlation
	// matrix K, the mean, the variance, and the vector K⁻¹(y − mean) for the losses y.
	chol     mat.Cholesky
	l        mat.TriDense
	mean     float64
	variance float64
	alpha    []float64
	k, v     []float64 // work
	best     int
}

// nugget is the part of the variance that the kernel does not explain. It is added to the diagonal
// of the correlation matrix, so that the matrix is not singular.
const nugget = 1e-8

func newGaussianProcess(n int) *gaussianProcess {
	g := &gaussianProcess{weight: make([]float64, n)}
	if n > 10 {
		n = 1
	}
	g.logLength = slices.Repeat([]float64{math.Log(.5)}, n)
	return g
}

func (g *gaussianProcess) add(x []float64, y float64) {
	if len(g.y) > 0 && y < g.y[g.best] {
		g.best = len(g.y)
	}
	g.x = append(g.x, slices.Clone(x))
	g.y = append(g.y, y)
	g.k, g.v = make([]float64, len(g.y)), make([]float64, len(g.y))
}

// correlation is the Matérn-5/2 kernel.
func (g *gaussianProcess) correlation(a, b []float64) float64 {
	var rr float64
	for i, w := range g.weight {
		d := a[i] - b[i]
		rr += w * d * d
	}
	r := math.Sqrt(5 * rr)
	return (1 + r + r*r/3) * math.Exp(-r)
}

// posterior conditions the process on the data at the current length scales. It returns the log
// posterior density of these length scales, up to a constant.
func (g *gaussianProcess) posterior() float64 {
	n := len(g.y)
	for i := range g.weight {
		// A common length is measured along the cube's diagonal.
		if len(g.logLength) == 1 {
			g.weight[i] = math.Exp(-2*g.logLength[0]) / float64(len(g.weight))
		} else {
			g.weight[i] = math.Exp(-2 * g.logLength[i])
		}
	}
	k := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i {
			k.SetSym(i, j, g.correlation(g.x[i], g.x[j]))
		}
		k.SetSym(i, i, 1+nugget)
	}
	if !g.chol.Factorize(k) {
		return math.Inf(-1)
	}
	ones := mat.NewVecDense(n, slices.Repeat([]float64{1}, n))
	var kOnes, kY mat.VecDense
	// Errors about the condition number are ignored, because the nugget bounds it.
	_ = g.chol.SolveVecTo(&kOnes, ones)
	y := mat.NewVecDense(n, g.y)
	g.mean = mat.Dot(&kOnes, y) / mat.Dot(&kOnes, ones)
	var residual mat.VecDense
	residual.AddScaledVec(y, -g.mean, ones)
	_ = g.chol.SolveVecTo(&kY, &residual)
	g.variance = max(mat.Dot(&kY, &residual)/float64(n), 1e-300)
	g.alpha = kY.RawVector().Data
	density := -.5 * (float64(n)*math.Log(g.variance) + g.chol.LogDet())
	for _, l := range g.logLength {
		d := l - math.Log(.5)
		density -= .5 * d * d
	}
	return density
}

// fit increases the posterior density by changing one length scale after the other. It starts at
// the length scales of the last fit.
func (g *gaussianProcess) fit() {
	best := g.posterior()
	for i := range g.logLength {
		for step := .5; step > .1; step /= 2 {
			at := g.logLength[i]
			for _, l := range []float64{at - step, at + step} {
				last := g.logLength[i]
				g.logLength[i] = l
				if density := g.posterior(); density > best {
					best = density
				} else {
					g.logLength[i] = last
				}
			}
		}
	}
	g.posterior()
	g.l.Reset()
	g.chol.LTo(&g.l)
}

// expectedGain returns the expected improvement at x: the expected amount by which an evaluation at
// x lowers the lowest loss. Its unit is the standard deviation of the process.
func (g *gaussianProcess) expectedGain(x []float64) float64 {
	var mean float64
	explained, raw := 0., g.l.RawTriangular()
	for i, xi := range g.x {
		g.k[i] = g.correlation(x, xi)
		mean += g.k[i] * g.alpha[i]
		v, row := g.k[i], raw.Data[i*raw.Stride:]
		for j, l := range row[:i] {
			v -= l * g.v[j]
		}
		g.v[i] = v / row[i]
		explained += g.v[i] * g.v[i]
	}
	sd := math.Sqrt(g.variance)
	gain := (g.y[g.best] - g.mean - mean) / sd
	s := math.Sqrt(max(1+nugget-explained, 0))
	// If the standard deviation s is 0, z is ±Inf or NaN. The result is then max(gain, 0), or NaN.
	// The function propose never takes a candidate with the result NaN.
	z := gain / s
	return gain*.5*math.Erfc(-z/math.Sqrt2) + s*math.Exp(-.5*z*z)/math.Sqrt(2*math.Pi)
}

// propose overwrites x with a point of high expected improvement. A coordinate search from the best
// candidate finds this point.
func (g *gaussianProcess) propose(x []float64, src Source, candidates int) {
	n := len(x)
	trial := make([]float64, n)
	best := -1.
	consider := func() bool {
		if v := g.expectedGain(trial); v > best {
			best = v
			copy(x, trial)
			return true
		}
		return false
	}
	around := g.x[g.best]
	for c := range candidates {
		width := math.Pow(10, -4*src.Float64())
		for i := range trial {
			trial[i] = src.Float64()
			if c%2 == 1 {
				trial[i] = min(max(around[i]+width*(2*trial[i]-1), 0), 1)
			}
		}
		consider()
	}
	for step, left := .05, candidates; step > 1e-6 && left > 0; {
		improved := false
		for i := range n {
			for _, d := range []float64{step, -step} {
				copy(trial, x)
				trial[i] = min(max(x[i]+d, 0), 1)
				improved = consider() || improved
				left--
			}
		}
		if !improved {
			step /= 3
		}
	}
}
