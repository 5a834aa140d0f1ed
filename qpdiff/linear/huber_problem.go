package linear

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/stop"
)

// huberProblem minimises Σ_i share_i·h(y_i − z_iᵀθ) + ½·l2·Σ_j pen_j·θ_j² over θ, and holds values
// at one θ. The Huber loss h(r) is ½r² for |r| ≤ delta, and delta·(|r| − ½delta) otherwise.
type huberProblem struct {
	m, k      int
	z         []float64 // m×k, the rows with a weight above 0
	y, share  []float64 // share sums to 1
	pen       []float64 // 1, or 0 for the intercept
	delta, l2 float64

	theta []float64
	r     []float64 // y − zθ
	zone  []int8    // for each row: 0 in the quadratic zone, otherwise the sign of the residual
	// factor of the Hessian for the present zone; not used if systems have one unknown for each row
	h    []float64
	dinv []float64
	cond float64 // the condition of this Hessian

	grad  []float64
	terms []float64 // by parameter: the size of the terms of the gradient
	// the largest of all |θ_j| and terms[j], in units that give the Hessian a unit diagonal
	size       float64
	work, root []float64
}

// resize allocates the storage for m rows and k parameters, except the Hessian.
func (l *huberProblem) resize(m, k int) {
	l.m, l.k = m, k
	dense.GrowAll(m, &l.y, &l.share, &l.r)
	dense.GrowAll(k, &l.pen, &l.theta, &l.dinv, &l.terms, &l.grad, &l.work, &l.root)
	l.z, l.zone = dense.Grow(l.z, m*k), dense.Grow(l.zone, m)
}

func (l *huberProblem) row(i int) []float64 { return l.z[i*l.k : (i+1)*l.k] }

// hessian sets the upper triangle of h to the Hessian of the objective. The function weight returns
// the weight of row i. hessian stops early if the context of stopper ends.
func (l *huberProblem) hessian(stopper *stop.Stop, h []float64, weight func(i int) float64) {
	k := l.k
	clear(h)
	for i, s := range l.share {
		if s *= weight(i); s == 0 {
			continue
		}
		stopper.Look()
		z := l.row(i)
		for a, v := range z {
			dense.Axpy(s*v, z[a:], h[a*k+a:(a+1)*k])
		}
	}
	for j, p := range l.pen {
		h[j*k+j] += l.l2 * p
	}
}

// factorise factorises the Hessian h and returns its condition. If h is singular to machine
// precision, dep is the first parameter that depends on earlier parameters. Otherwise dep is k.
func (l *huberProblem) factorise(h, dinv []float64) (cond float64, dep int) {
	k := l.k
	if dep = dense.LDLFactor(h, dinv, k, k, dense.Eps); dep < k {
		return math.Inf(1), dep
	}
	if cond = dense.LDLCond(h, dinv, k, k, l.root, l.work); dense.Unsolvable(cond) {
		return cond, dense.LDLDependent(h, dinv, k, k, l.root, l.work)
	}
	return cond, k
}

// quadratic returns the weight of the term of row i in the Hessian. The zones are l.zone.
func (l *huberProblem) quadratic(i int) float64 {
	if l.zone[i] == 0 {
		return 1
	}
	return 0
}

// slope returns the derivative of row i's loss with respect to its residual, in the given zone.
func (l *huberProblem) slope(i int, zone int8) float64 {
	if zone != 0 {
		return float64(zone) * l.delta
	}
	return l.r[i]
}

// zoneExcess returns how far the residual of row i lies outside its zone.
func (l *huberProblem) zoneExcess(i int) float64 {
	if s := l.zone[i]; s != 0 {
		return l.delta - float64(s)*l.r[i]
	}
	return math.Abs(l.r[i]) - l.delta
}

// rowSize is the size of the terms of the residual of row i.
func (l *huberProblem) rowSize(i int) float64 {
	size := math.Abs(l.y[i])
	for j, v := range l.row(i) {
		size += math.Abs(v * l.theta[j])
	}
	return size
}

// gradientTerms sets grad to the gradient at θ, and l.terms to the sizes of the summands of the
// gradient.
func (l *huberProblem) gradientTerms() {
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

// isStationary reports whether the gradient is 0 up to rounding.
func (l *huberProblem) isStationary() bool {
	for j, g := range l.grad {
		if !dense.Negligible(math.Abs(g), l.terms[j], 1) {
			return false
		}
	}
	return true
}

// sizeTerms computes l.size.
func (l *huberProblem) sizeTerms() {
	l.size = 0
	for j, d := range l.root {
		l.size = max(l.size, d*math.Abs(l.theta[j]), l.terms[j]/d)
	}
}

// residual returns the residual of the optimality conditions, relative to the size of their
// terms.
func (l *huberProblem) residual() (worst float64) {
	p := *l
	p.r, p.zone, p.grad, p.terms = make([]float64, l.m), make([]int8, l.m), make([]float64, l.k), make([]float64, l.k)
	for i, y := range l.y {
		if p.r[i] = y - dense.Dot(l.theta, l.row(i)); math.Abs(p.r[i]) > l.delta {
			p.zone[i] = int8(dense.Sign(p.r[i]))
		}
	}
	p.gradientTerms()
	for j, g := range p.grad {
		worst = max(worst, learner.Relative(math.Abs(g), p.terms[j]))
	}
	return worst
}
