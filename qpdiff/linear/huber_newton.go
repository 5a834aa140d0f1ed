package linear

import (
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
)

// huberNewton minimises Σ_i share_i·h(y_i − z_iᵀθ) + ½·l2·Σ_j pen_j·θ_j² over θ, with the
// Huber loss h(r) = ½r² for |r| ≤ delta and delta·(|r| − ½delta) beyond.
//
// The objective is quadratic where no residual crosses ±delta, and its gradient is
// continuous: Newton's method on these pieces, with an exact line search, ends at the
// minimiser of the piece that the minimiser is in. θ depends on the way there only
// through that piece.
type huberNewton struct {
	m, k      int
	z         []float64 // m×k, rows that count
	y, share  []float64 // share sums to 1
	pen       []float64 // 1, or 0 for the intercept
	delta, l2 float64

	theta []float64
	r     []float64 // y − zθ
	zone  []int8    // of each row: 0 where it is quadratic, else the sign of its residual
	h     []float64 // factor of the Hessian of zone
	dinv  []float64
	cond  float64 // and its condition

	terms        []float64 // by parameter: the size of the terms of the gradient
	size         float64   // of θ and of the terms, in units of the Hessian's diagonal
	last, lastR  []float64 // θ and r before a step
	step, grad   []float64
	along, knots []float64 // of the line search: z·step; where a residual crosses ±delta
	work, root   []float64
	warm         bool // zone is that of the last minimiser
	hidden       bool // see confirm
}

func (l *huberNewton) resize(m, k int) {
	if m != l.m || k != l.k {
		l.warm = false
	}
	l.m, l.k = m, k
	dense.GrowAll(m, &l.y, &l.share, &l.r, &l.lastR, &l.along)
	dense.GrowAll(k, &l.pen, &l.theta, &l.last, &l.dinv, &l.terms, &l.step, &l.grad, &l.work, &l.root)
	l.z, l.h = dense.Grow(l.z, m*k), dense.Grow(l.h, k*k)
	l.knots = dense.Grow(l.knots, 2*m)
	l.zone = dense.Grow(l.zone, m)
}

// huberEntries counts the entries of resize.
func huberEntries(m, k float64) float64 { return m*k + k*k + 8*m + 10*k }

func (l *huberNewton) row(i int) []float64 { return l.z[i*l.k : (i+1)*l.k] }

// hessian sets the upper triangle of h to that of the objective, in which each row has
// the given weight.
func (l *huberNewton) hessian(h []float64, weight func(i int) float64) {
	k := l.k
	clear(h)
	for i, s := range l.share {
		if s *= weight(i); s == 0 {
			continue
		}
		z := l.row(i)
		for a, v := range z {
			dense.Axpy(s*v, z[a:], h[a*k+a:(a+1)*k])
		}
	}
	for j, p := range l.pen {
		h[j*k+j] += l.l2 * p
	}
}

// factorise factorises the Hessian h and returns its condition, and the first parameter
// that depends on those before it where it is singular to machine precision, else k.
func (l *huberNewton) factorise(h, dinv []float64) (cond float64, at int) {
	k := l.k
	if at = dense.LDLFactor(h, dinv, k, k, dense.Eps); at < k {
		return math.Inf(1), at
	}
	if cond = dense.LDLCond(h, dinv, k, k, l.root, l.work); dense.Unsolvable(cond) {
		return cond, dense.LDLDependent(h, dinv, k, k, l.root, l.work)
	}
	return cond, k
}

// quadratic is the weight of row i in the Hessian of zone.
func (l *huberNewton) quadratic(i int) float64 {
	if l.zone[i] == 0 {
		return 1
	}
	return 0
}

// slope is the derivative of the loss in the residual of row i, in the zone given.
func (l *huberNewton) slope(i int, zone int8) float64 {
	if zone != 0 {
		return float64(zone) * l.delta
	}
	return l.r[i]
}

// residuals sets r to y − zθ.
func (l *huberNewton) residuals() {
	for i, y := range l.y {
		l.r[i] = y - dense.Dot(l.row(i), l.theta)
	}
}

// gradient sets grad to the gradient at θ, and terms to the size of its terms.
func (l *huberNewton) gradient() {
	for j, t := range l.theta {
		l.grad[j] = l.l2 * l.pen[j] * t
		l.terms[j] = math.Abs(l.grad[j])
	}
	for i, s := range l.share {
		z := l.row(i)
		slope, size := s*l.slope(i, l.zone[i]), s*l.delta
		if l.zone[i] == 0 {
			size = s * l.rowSize(i)
		}
		for j, v := range z {
			l.grad[j] -= slope * v
			l.terms[j] += size * math.Abs(v)
		}
	}
}

// rowSize is the size of the terms of the residual of row i.
func (l *huberNewton) rowSize(i int) float64 {
	size := math.Abs(l.y[i])
	for j, v := range l.row(i) {
		size += math.Abs(v * l.theta[j])
	}
	return size
}

// minimise finds θ, in so many steps at most.
func (l *huberNewton) minimise(limit int) error {
	done, at := false, 0
	if l.warm {
		done, at = l.start()
	}
	if !l.warm || !done && (at < l.k || l.hidden || !dense.AllFinite(l.theta)) {
		// Where all rows together do not determine θ, no zone does.
		clear(l.zone)
		if done, at = l.start(); at < l.k {
			return errHuberOpen(at)
		}
	}
	for range limit {
		if done {
			return nil
		}
		for i, r := range l.r {
			l.zone[i] = 0
			if math.Abs(r) > l.delta {
				l.zone[i] = int8(dense.Sign(r))
			}
		}
		if at = l.newton(); at == l.k {
			done = l.confirm()
		}
		if done {
			return nil
		}
		if !dense.AllFinite(l.theta) {
			return check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the features and labels, or raise λ2", "leaves a solution that overflows")
		}
		if at < l.k || l.hidden {
			if l.gradient(); l.stationary() {
				if at == l.k {
					break
				}
				return errHuberOpen(at)
			}
			// The quadratic that touches the objective at θ and is nowhere below it.
			l.hessian(l.h, func(i int) float64 { return min(1, l.delta/math.Abs(l.r[i])) })
			if _, at := l.factorise(l.h, l.dinv); at < l.k {
				return errHuberOpen(at)
			}
			for j, g := range l.grad {
				l.step[j] = -g
			}
			dense.LDLSolve(l.h, l.dinv, l.k, l.k, l.step)
		}
		t := l.lineSearch()
		if t == 0 {
			break
		}
		dense.Axpy(t, l.step, l.theta)
		l.residuals()
	}
	return check.ArgErrorf("hyper", qpdiff.ErrIterationLimit, "raise δ or λ2, or standardise the features",
		"has a δ of %v, beside which no %d steps, or rounding, tell which residuals are beyond it", l.delta, limit)
}

// newton factorises the Hessian of zone as factorise does.
func (l *huberNewton) newton() (at int) {
	l.hessian(l.h, l.quadratic)
	l.cond, at = l.factorise(l.h, l.dinv)
	return at
}

// start sets θ to the minimiser of the piece of zone, and reports whether that is the
// minimiser of the objective. at is that of factorise.
func (l *huberNewton) start() (done bool, at int) {
	clear(l.theta)
	l.residuals()
	if at = l.newton(); at < l.k || l.confirm() {
		return at == l.k, at
	}
	dense.Axpy(1, l.step, l.theta)
	l.residuals()
	return false, at
}

// errHuberOpen is the error of a solution that is not unique, in parameter j.
func errHuberOpen(j int) error {
	return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise λ2 or δ, or drop features",
		"leaves the solution open: the rows with a residual up to δ do not determine parameter %d", j)
}

// stationary reports whether the gradient is 0 but for rounding.
func (l *huberNewton) stationary() bool {
	for j, g := range l.grad {
		if !dense.Negligible(math.Abs(g), l.terms[j], 1) {
			return false
		}
	}
	return true
}

// confirm goes to the minimiser of the piece of zone, for which h is, and reports whether
// that is in the piece, which makes it the minimiser of the objective. Where it is not, θ
// and r are as before, and step goes from there to it; hidden reports that rounding
// leaves a residual too uncertain beside delta to tell.
func (l *huberNewton) confirm() bool {
	copy(l.last, l.theta)
	copy(l.lastR, l.r)
	// From 0 rather than from θ, whose rounding may be larger than the solution; the
	// second time refines.
	clear(l.theta)
	for range 2 {
		l.residuals()
		l.gradient()
		dense.LDLSolve(l.h, l.dinv, l.k, l.k, l.grad)
		dense.Axpy(-1, l.grad, l.theta)
	}
	l.residuals()
	l.gradient()
	l.measure()
	l.hidden = false
	for i, r := range l.r {
		beyond := math.Abs(r) - l.delta
		if s := l.zone[i]; s != 0 {
			beyond = l.delta - float64(s)*r
		}
		l.hidden = l.hides(i, math.Abs(beyond)) && !(dense.ComplementarityTol*dense.Eps*l.rowError(i) <= learner.DecisionTol*l.delta)
		if !l.hidden && (beyond <= 0 || l.hides(i, beyond)) {
			continue
		}
		for j, t := range l.last {
			l.step[j] = l.theta[j] - t
		}
		copy(l.theta, l.last)
		copy(l.r, l.lastR)
		return false
	}
	if !dense.Finite(l.size) {
		dense.Fill(l.theta, math.NaN())
	}
	return dense.AllFinite(l.theta)
}

// measure sets root to the roots of the diagonal of the Hessian, and size.
func (l *huberNewton) measure() {
	dense.LDLSize(l.h, l.dinv, l.k, l.k, l.root)
	l.size = 0
	for j, d := range l.root {
		l.size = max(l.size, d*math.Abs(l.theta[j]), l.terms[j]/d)
	}
}

// hides reports whether rounding of its own terms, and of those that determine θ, hides
// that the residual of row i is off from where it would have to be.
func (l *huberNewton) hides(i int, off float64) bool {
	// The bound takes the condition of the whole system; this row's own error takes one
	// solve.
	own := l.rowSize(i) + l.delta
	reach := 0.0
	for j, v := range l.row(i) {
		reach += math.Abs(v) / l.root[j]
	}
	return dense.Negligible(off, own+l.cond*reach*l.size, 1) && dense.Negligible(off, l.rowError(i), 1)
}

// rowError estimates the error of the residual of row i, in units of eps.
func (l *huberNewton) rowError(i int) float64 {
	err := l.rowSize(i) + l.delta
	copy(l.work, l.row(i))
	dense.LDLSolve(l.h, l.dinv, l.k, l.k, l.work)
	for j, v := range l.work {
		err += math.Abs(v) * l.terms[j]
	}
	return err
}

// lineSearch returns the t > 0 at which the objective is least along θ + t·step, 0 where
// rounding leaves no descent. The slope is continuous, increasing and linear between
// the knots.
func (l *huberNewton) lineSearch() (t float64) {
	var base, curve float64
	for j, s := range l.step {
		base += l.l2 * l.pen[j] * l.theta[j] * s
		curve += l.l2 * l.pen[j] * s * s
	}
	l.knots = l.knots[:0]
	for i := range l.along {
		l.along[i] = dense.Dot(l.row(i), l.step)
		for _, side := range [2]float64{-l.delta, l.delta} {
			if t := (l.r[i] - side) / l.along[i]; t > 0 && dense.Finite(t) {
				l.knots = append(l.knots, t)
			}
		}
	}
	slices.Sort(l.knots)
	slope := func(t float64) float64 {
		s := base + t*curve
		for i, a := range l.along {
			s -= l.share[i] * a * max(-l.delta, min(l.r[i]-t*a, l.delta))
		}
		return s
	}
	low := slope(0)
	if !(low < 0) {
		return 0
	}
	// Knots below from have a negative slope.
	from, to := 0, len(l.knots)
	for from < to {
		mid := (from + to) / 2
		if slope(l.knots[mid]) < 0 {
			from = mid + 1
		} else {
			to = mid
		}
	}
	if from > 0 {
		t = l.knots[from-1]
		low = slope(t)
	}
	if from == len(l.knots) {
		if curve > 0 {
			return t - slope(t)/curve
		}
		return t // by rounding: the slope beyond all knots is not negative
	}
	high := slope(l.knots[from])
	return t + (l.knots[from]-t)*(low/(low-high))
}
