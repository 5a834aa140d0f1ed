package qpdiff

import (
	"errors"
	"math"
	"slices"
)

// boxQP minimises ½βᵀKβ − yᵀβ over lo ≤ β ≤ hi, and with balanced over Σβ = 0
// too: the dual of a support vector machine in β_i = α_i·y_i. At the solution
// y − Kβ − b is zero where β is free, ≤ 0 where β is at lo and ≥ 0 at hi.
//
// Sequential minimal optimisation (Platt 1998; Fan, Chen and Lin 2005 for the
// choice of the pair) guesses which β are free; exact steps on the free ones,
// as in kinkedQP, finish. β depends on how the free set was found only through
// the set and the bounds of the others.
//
// With balanced, what is factorised is K_FF + shift·11ᵀ on the free set F: Σβ = 0
// makes that the same problem, and it is positive definite wherever the
// solution is unique.
type boxQP struct {
	n         int
	k         []float64 // n×n
	y, lo, hi []float64
	balanced  bool
	largest   float64 // entry on the diagonal of K
	shift     float64
	// A proximal term: delta/2·‖β − center‖² is in K and lin, which is y
	// without it.
	delta       float64
	lin, center []float64
	beta, r     []float64 // the solution; y − Kβ
	b           float64
	free        []int // ascending
	a, dinv     []float64
	rhs, z      []float64 // the free set's right-hand side and solution
	ones, fix   []float64 // work: factor⁻¹·1; correction of z
	warm        bool
	size        float64 // of the terms of r
}

const (
	// pairTol ends sequential minimal optimisation, beside the margin 1. It guesses
	// a free set only.
	pairTol = 1e-4
	// residualTol is what rounding makes of y − Kβ, of the size of its terms.
	residualTol = 64 * eps
	// freeTol is what rounding leaves, for each free row, of a pivot that is 0, of
	// its diagonal entry.
	freeTol = 8 * eps
	// boundTol is how near its bound rounding leaves, for each row, a β that arrives
	// there, of the range between its bounds.
	boundTol = 4 * eps
	// proximalTol is the weight of the proximal term, of the largest diagonal entry
	// of K: far above rounding, and small beside most of K, so that few steps do.
	proximalTol = 1e-8
	// stepTol is the part of a step below which it counts as of length zero, and
	// stillSteps how many of those in a row make rows enter one at a time.
	stepTol    = 1e-12
	stillSteps = 20
)

func (q *boxQP) resize(n int) {
	if cap(q.y) < n {
		*q = boxQP{k: make([]float64, n*n), a: make([]float64, n*n), free: make([]int, 0, n), shift: q.shift, balanced: q.balanced}
		buf := make([]float64, 12*n)
		take := func() []float64 {
			s := buf[:n:n]
			buf = buf[n:]
			return s
		}
		q.lin, q.center, q.y, q.lo, q.hi, q.beta, q.r, q.dinv, q.rhs, q.z, q.ones, q.fix = take(), take(), take(), take(), take(), take(), take(), take(), take(), take(), take(), take()
	}
	if n != q.n {
		q.reset()
	}
	q.n = n
	q.k = q.k[:n*n]
	q.y, q.lo, q.hi, q.beta, q.r = q.y[:n], q.lo[:n], q.hi[:n], q.beta[:n], q.r[:n]
	q.lin, q.center = q.lin[:n], q.center[:n]
}

// reset forgets the warm start.
func (q *boxQP) reset() {
	q.warm = false
	clear(q.beta)
	q.free = q.free[:0]
}

// solve moves beta to the solution, from a feasible beta.
func (q *boxQP) solve() error {
	copy(q.lin, q.y)
	q.delta = 0
	err := q.walk(4)
	if errors.Is(err, ErrIterationLimit) {
		err = q.proximal()
	}
	q.warm = err == nil
	return err
}

// proximal solves by proximal point steps: with delta/2·‖β − center‖² added,
// the problem is so positive definite that exact steps from one free set to the
// next always descend.
func (q *boxQP) proximal() error {
	q.delta = proximalTol * q.largest
	for range 200 {
		copy(q.center, q.beta)
		copy(q.lin, q.y)
		axpy(q.delta, q.center, q.lin)
		q.residual()
		q.descend(0) // sets free
		q.warm = true
		if err := q.walk(0); err != nil {
			return err
		}
		moved := 0.0
		for i, v := range q.beta {
			moved = max(moved, math.Abs(v-q.center[i]))
		}
		if q.delta*moved <= residualTol*q.size {
			break
		}
	}
	// A basis of the free set: what is out of it keeps its β within the box.
	q.delta = 0
	copy(q.lin, q.y)
	for {
		k := q.factor(freeTol * float64(len(q.free)))
		if k == len(q.free) {
			break
		}
		q.residual()
		if !q.slide(k) {
			return errNoActiveSet
		}
	}
	q.solveFree()
	if wrong, _ := q.outside(); wrong == 0 {
		for i, j := range q.free {
			q.beta[j] = q.z[i]
		}
	}
	q.residual()
	if q.balanced && len(q.free) == 0 {
		q.middle()
	}
	return nil
}

// walk makes exact steps from free set to free set, with up to the given number
// of phases of sequential minimal optimisation between them.
func (q *boxQP) walk(phases int) error {
	q.residual()
	if !q.warm {
		q.descend(3 * q.n)
	}
	q.warm = false
	still := 0
	for range 300 + 30*q.n {
		s := len(q.free)
		if k := q.factor(freeTol * float64(s)); k < s {
			if q.delta > 0 {
				return argErrorf("Kernel", ErrNonconvex, "use a positive semidefinite kernel", "has a direction of negative curvature")
			}
			if q.a[k*s+k] < -proximalTol*q.largest || !q.slide(k) {
				break // not convex, or no digits left: proximal tells
			}
			q.residual()
			continue
		}
		q.solveFree()
		if wrong, moved := q.stepTo(); wrong > 0 {
			q.residual()
			if still++; moved {
				still = 0
			}
			if wrong > 1 && phases > 0 {
				q.descend(q.n / 2)
				phases--
			}
			continue
		}
		for i, j := range q.free {
			q.beta[j] = q.z[i]
		}
		if q.balanced && s == 1 {
			// Σβ = 0 leaves no choice: rounding must not make a bound free.
			j := q.free[0]
			if q.shiftTo(j, q.beta[j]); q.beta[j] == q.lo[j] || q.beta[j] == q.hi[j] {
				q.free = q.free[:0]
			}
		}
		q.residual()
		added := q.admit(phases == 0, still > stillSteps)
		if added == 0 {
			return nil
		}
		if added > 1 && phases > 0 {
			q.descend(q.n / 2)
			phases--
		}
	}
	return errNoActiveSet
}

const remedyForDecisions = "standardise the features, or lower C or the degree of a polynomial kernel"

var errNoActiveSet = argErrorf("Data", ErrIterationLimit, remedyForDecisions, "is so ill-conditioned that no active set was confirmed")

// violation returns how far r − b is from the optimality conditions.
func (q *boxQP) violation() float64 {
	worst := 0.0
	for i, v := range q.r {
		v -= q.b
		if q.beta[i] < q.hi[i] {
			worst = max(worst, v)
		}
		if q.beta[i] > q.lo[i] {
			worst = max(worst, -v)
		}
	}
	return worst
}

// decisionError estimates the error of Kβ + b over all rows, in units of eps: the
// first-order effect of rounding errors of K and of the conditions that
// determine the free β. Each condition is off by the size of its terms, by signs
// along the direction that the factor makes least of, which [ldlCond] leaves in
// fix. The terms of row i are bounded by root_i·Σ root_j|β_j| with root² = k_ii,
// since an entry k_ij is rounded relative to what it is summed from.
func (q *boxQP) decisionError() float64 {
	n, s := q.n, len(q.free)
	e, f := q.z[:s], q.rhs[:n]
	label, size, sum := q.terms()
	for i, j := range q.free {
		e[i] = math.Copysign(label+math.Sqrt(q.k[j*n+j])*size, q.fix[i])
		if s == 1 {
			e[i] = math.Abs(e[i])
		}
	}
	db := q.bordered(e, sum)
	for i := range f {
		f[i] = db
	}
	for i, j := range q.free {
		axpy(e[i], q.k[j*n:(j+1)*n], f)
	}
	worst := 0.0
	for i, v := range f {
		worst = max(worst, math.Abs(v)+label+math.Sqrt(q.k[i*n+i])*size)
	}
	return worst
}

// terms returns the sizes that errors are measured by: row i's condition sums
// terms of label + √k_ii·size, and Σβ = 0 terms of sum.
func (q *boxQP) terms() (label, size, sum float64) {
	for i, b := range q.beta {
		size += math.Sqrt(q.k[i*q.n+i]) * math.Abs(b)
		sum += math.Abs(b)
	}
	return 1 + math.Abs(q.b), size, sum
}

// errorOf estimates the error of x·β + weight·b over the free set, in units of eps:
// what rounding of the terms of the conditions that determine β and b makes. It
// overwrites x, and needs the factor.
func (q *boxQP) errorOf(x []float64, weight float64) float64 {
	label, size, sum := q.terms()
	e := sum * math.Abs(q.bordered(x, weight))
	for k, j := range q.free {
		e += math.Abs(x[k]) * (label + math.Sqrt(q.k[j*q.n+j])*size)
	}
	return e
}

// residual computes r and the size of its terms.
func (q *boxQP) residual() {
	copy(q.r, q.lin)
	q.size = 1
	for j, v := range q.beta {
		if v != 0 {
			row := q.k[j*q.n : (j+1)*q.n]
			axpy(-v, row, q.r)
			q.r[j] -= q.delta * v
			q.size = max(q.size, math.Abs(v*row[j]))
		}
	}
}

// descend makes at most limit steps of sequential minimal optimisation: each
// moves a pair of β in opposite directions, or where Σβ is free a single one if
// that gains more.
func (q *boxQP) descend(limit int) {
	n := q.n
	for range limit {
		// The largest r whose β may rise, and the best single β.
		i, top := -1, math.Inf(-1)
		single, gain, gap := -1, 0.0, 0.0
		for k, v := range q.r {
			up, down := q.beta[k] < q.hi[k], q.beta[k] > q.lo[k]
			if up && v > top {
				i, top = k, v
			}
			if !q.balanced && (up && v > 0 || down && v < 0) {
				gap = max(gap, math.Abs(v))
				if d := v * v / q.k[k*n+k]; d > gain {
					single, gain = k, d
				}
			}
		}
		j, pairGap := -1, 0.0
		if i >= 0 {
			row, dii := q.k[i*n:(i+1)*n], q.k[i*n+i]
			for k, v := range q.r {
				if d := top - v; d > 0 && q.beta[k] > q.lo[k] {
					pairGap = max(pairGap, d)
					if h := max(dii+q.k[k*n+k]-2*row[k], eps*dii); d*d > gain*h {
						j, gain = k, d*d/h
					}
				}
			}
		}
		if q.balanced {
			gap = pairGap
		}
		if gap <= pairTol {
			break
		}
		if j < 0 {
			q.shiftTo(single, q.beta[single]+q.r[single]/q.k[single*n+single])
			continue
		}
		h := max(q.k[i*n+i]+q.k[j*n+j]-2*q.k[i*n+j], eps*q.k[i*n+i])
		t := min((top-q.r[j])/h, q.hi[i]-q.beta[i], q.beta[j]-q.lo[j])
		q.shiftTo(i, q.beta[i]+t)
		q.shiftTo(j, q.beta[j]-t)
	}
	q.free = q.free[:0]
	for i, v := range q.beta {
		if v > q.lo[i] && v < q.hi[i] {
			q.free = append(q.free, i)
		}
	}
}

// shiftTo sets beta[i] to v within its bounds, to a bound exactly where v is
// within rounding of it, and updates r.
func (q *boxQP) shiftTo(i int, v float64) {
	if tiny := boundTol * float64(q.n) * (q.hi[i] - q.lo[i]); v-q.lo[i] <= tiny {
		v = q.lo[i]
	} else if q.hi[i]-v <= tiny {
		v = q.hi[i]
	}
	if d := v - q.beta[i]; d != 0 {
		q.beta[i] = v
		axpy(-d, q.k[i*q.n:(i+1)*q.n], q.r)
		q.r[i] -= q.delta * d
	}
}

// isFree reports for the places of free, in ascending order, whether i is next.
func (q *boxQP) isFree(next *int, i int) bool {
	if *next < len(q.free) && q.free[*next] == i {
		*next++
		return true
	}
	return false
}

// factor factorises the free set's matrix, and returns the first member that
// depends on those before it, or their number.
func (q *boxQP) factor(tol float64) int {
	s := len(q.free)
	for i, j := range q.free {
		row := q.k[j*q.n : (j+1)*q.n]
		out := q.a[i*s : (i+1)*s]
		for k := i; k < s; k++ {
			out[k] = row[q.free[k]] + q.shift
		}
		out[i] += q.delta
	}
	return ldlFactor(q.a, q.dinv, s, s, tol)
}

// factored replaces x by the inverse of the factorised matrix times x.
func (q *boxQP) factored(x []float64) {
	s := len(q.free)
	ldlForward(q.a, q.dinv, s, s, x)
	ldlBack(q.a, q.dinv, s, s, x)
}

// bordered replaces x by the solution w of K_FF·w + b·1 = x and, with balanced,
// 1ᵀw = sum, and returns b. It needs the factor.
func (q *boxQP) bordered(x []float64, sum float64) (b float64) {
	q.factored(x)
	if !q.balanced || len(x) == 0 {
		return 0
	}
	ones := q.ones[:len(x)]
	for i := range ones {
		ones[i] = 1
	}
	q.factored(ones)
	have, weight := -sum, 0.0
	for i, v := range ones {
		have += x[i]
		weight += v
	}
	b = have / weight
	axpy(-b, ones, x)
	return b + q.shift*sum
}

// solveFree solves the free set's system for z and b, from its factor and with
// one step of refinement.
func (q *boxQP) solveFree() {
	s := len(q.free)
	z, rhs, fix := q.z[:s], q.rhs[:s], q.fix[:s]
	for i, j := range q.free {
		rhs[i] = q.lin[j]
	}
	sum := 0.0 // of the free β
	next := 0
	for j, v := range q.beta {
		if !q.isFree(&next, j) && v != 0 {
			sum -= v
			row := q.k[j*q.n : (j+1)*q.n]
			for i, f := range q.free {
				rhs[i] -= v * row[f]
			}
		}
	}
	copy(z, rhs)
	q.b = q.bordered(z, sum)
	for i, j := range q.free {
		row := q.k[j*q.n : (j+1)*q.n]
		r := rhs[i] - q.b - q.delta*z[i]
		for k, f := range q.free {
			r -= row[f] * z[k]
		}
		fix[i] = r
	}
	for _, v := range z {
		sum -= v
	}
	q.b += q.bordered(fix, sum)
	axpy(1, fix, z)
}

// outside returns how many entries of z are out of bounds, and how far from
// beta to z the first bound is.
func (q *boxQP) outside() (wrong int, t float64) {
	t = 1
	for i, j := range q.free {
		switch z, b := q.z[i], q.beta[j]; {
		case z < q.lo[j]:
			wrong++
			t = min(t, (b-q.lo[j])/(b-z))
		case z > q.hi[j]:
			wrong++
			t = min(t, (q.hi[j]-b)/(z-b))
		}
	}
	return wrong, t
}

// stepTo moves beta towards z up to the first bound, where z is out of bounds,
// and holds what arrives there. It returns how many entries of z are.
func (q *boxQP) stepTo() (wrong int, moved bool) {
	wrong, t := q.outside()
	if wrong == 0 {
		return 0, true
	}
	k := 0
	for i, j := range q.free {
		z, b := q.z[i], q.beta[j]
		v := b + t*(z-b)
		switch {
		case z < q.lo[j] && ((b-q.lo[j])/(b-z) <= t || v <= q.lo[j]):
			q.beta[j] = q.lo[j]
		case z > q.hi[j] && ((q.hi[j]-b)/(z-b) <= t || v >= q.hi[j]):
			q.beta[j] = q.hi[j]
		default:
			q.beta[j] = v
			q.free[k] = j
			k++
		}
	}
	q.free = q.free[:k]
	return wrong, t > stepTol
}

// slide moves beta down the direction in which member k of free depends on
// those before it, along which the objective is linear, to the first bound.
func (q *boxQP) slide(k int) bool {
	s := len(q.free)
	v := q.z[:s]
	clear(v)
	for i := range k {
		v[i] = -q.a[i*s+k]
	}
	ldlBack(q.a, q.dinv, k, s, v[:k])
	v[k] = 1
	var rise float64 // of −objective along v
	for i := range k + 1 {
		rise += v[i] * q.r[q.free[i]]
	}
	t, hit := math.Inf(1), -1
	for i := range k + 1 {
		if rise < 0 {
			v[i] = -v[i]
		}
		j := q.free[i]
		room := math.Inf(1)
		if v[i] > 0 {
			room = (q.hi[j] - q.beta[j]) / v[i]
		} else if v[i] < 0 {
			room = (q.lo[j] - q.beta[j]) / v[i]
		}
		if room < t {
			t, hit = room, i
		}
	}
	if hit < 0 {
		return false
	}
	m := 0
	for i, j := range q.free {
		if i <= k {
			b := q.beta[j] + t*v[i]
			if i == hit || b <= q.lo[j] || b >= q.hi[j] {
				q.beta[j] = q.lo[j]
				if v[i] > 0 {
					q.beta[j] = q.hi[j]
				}
				continue
			}
			q.beta[j] = b
		}
		q.free[m] = j
		m++
	}
	q.free = q.free[:m]
	return true
}

// between finds the rows whose r bound b from below and from above where beta
// is at its bounds, −1 where there is none.
func (q *boxQP) between(beta []float64) (up, down int) {
	up, down = -1, -1
	for i, v := range q.r {
		if beta[i] < q.hi[i] && (up < 0 || v > q.r[up]) {
			up = i
		}
		if beta[i] > q.lo[i] && (down < 0 || v < q.r[down]) {
			down = i
		}
	}
	return up, down
}

// middle sets b to the middle of its interval where nothing is free, and returns
// the rows at its ends.
func (q *boxQP) middle() (up, down int) {
	up, down = q.between(q.beta)
	if up >= 0 && down >= 0 {
		q.b = (q.r[up] + q.r[down]) / 2
	}
	return up, down
}

// admit frees bounded β that want to leave their bound: all of them, with worst
// set the one that wants it most, with first set the first. It returns how many.
// With nothing free it finds b.
func (q *boxQP) admit(worst, first bool) int {
	tol := residualTol * q.size
	s := len(q.free)
	if q.balanced && s == 0 {
		up, down := q.middle()
		if up < 0 || down < 0 || q.r[up] <= q.r[down]+tol {
			return 0
		}
		q.free = append(q.free, min(up, down), max(up, down))
		return 2
	}
	next, most, at := 0, tol, -1
	for i, v := range q.r {
		if next < s && q.free[next] == i {
			next++
			continue
		}
		v -= q.b
		if q.beta[i] == q.hi[i] {
			v = -v
		}
		switch {
		case v <= tol:
		case first:
			q.free = slices.Insert(q.free, next, i)
			return 1
		case worst:
			if v > most {
				most, at = v, i
			}
		default:
			q.free = append(q.free, i)
		}
	}
	if at >= 0 {
		k, _ := slices.BinarySearch(q.free, at)
		q.free = slices.Insert(q.free, k, at)
		return 1
	}
	added := len(q.free) - s
	slices.Sort(q.free)
	return added
}
