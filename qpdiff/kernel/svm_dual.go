package kernel

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/stop"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// boxQP minimises ½βᵀKβ − yᵀβ subject to lo ≤ β ≤ hi. If balanced is true, there is also the
// constraint Σβ = 0. The problem is the dual of a support vector machine, with β_i = α_i·y_i for
// the usual dual variables α. At the solution, entry i of y − Kβ − b is 0 if β_i is free, ≤ 0 if
// β_i = lo_i, and ≥ 0 if β_i = hi_i.
//
// Sequential minimal optimisation (Platt 1998) first guesses which β are free. It chooses pairs of
// β by the method of Fan, Chen and Lin (2005). Exact steps on the free β, as in piecewiseQP, then
// complete the solution. The search by sequential minimal optimisation affects the solution only in
// two ways: through the free set, and through the bounds at which it leaves the other β.
type boxQP struct {
	n         int
	rows      kernelRows // of K
	diagonal  []float64
	y, lo, hi []float64
	balanced  bool
	largest   float64 // entry on the diagonal of K
	shift     float64 // of the free set's matrix: see freeFactor
	// The proximal term is delta/2·‖β − center‖². K and lin include this term. Without it, lin is y.
	delta       float64
	lin, center []float64
	beta, r     []float64 // the solution; y − Kβ
	oldBeta     []float64 // an earlier β
	b           float64
	freeSet     []int      // ascending
	factor      freeFactor // of freeSet at the solution
	rhs, z      []float64  // the free set's right-hand side and solution
	fix         []float64  // work: correction of z
	entries     []float64  // work: of K
	pairs       pairSteps
	isWarm      bool
	size        float64    // of the terms of r
	stopper     *stop.Stop // solve checks it

	baseEntries float64 // number of entries that Load counts
	maxBytes    int64   // the MaxBytes of the data
}

const (
	// pairTol is the tolerance at which sequential minimal optimisation ends, relative to the margin
	// 1. This tolerance is coarse, because the solver needs only the free set of the result.
	pairTol = 1e-4
	// pairCurvature is a lower limit for the computed curvature along a pair, relative to the
	// diagonal entry of the pair's first row. If two rows are almost equal, rounding errors exceed
	// a smaller curvature.
	pairCurvature = dense.Eps
	// pairsPerRow and rowsPerPair limit the number of pairs that sequential minimal optimisation
	// moves. From a cold start it moves at most pairsPerRow pairs for each row. Between exact steps it
	// moves at most one pair for every rowsPerPair rows. It converges slowly near the solution, where
	// exact steps converge fast.
	pairsPerRow = 3
	rowsPerPair = 2
	// manyRows and rowsPerRound raise the limit of pairs for large problems. With n ≥ manyRows
	// rows, the limit is at least n²/rowsPerRound pairs. An exact step then costs O(n³) and moves
	// only one row to a bound, so sequential minimal optimisation should do more of the work. All
	// pairs up to the limit cost as much as about 20 exact steps, and the limit is rarely reached.
	manyRows, rowsPerRound = 256, 16
	// pairPhases bounds how often sequential minimal optimisation runs between exact steps. Without
	// this bound, it might undo the progress of the exact steps again and again.
	pairPhases = 4
	// residualTol is the rounding error of y − Kβ, relative to the size of its terms.
	residualTol = 64 * dense.Eps
	// freeTol bounds the rounding error of a pivot that would be exactly 0 without rounding. The bound
	// is freeTol times the number of free rows, relative to the pivot's diagonal entry.
	freeTol = 8 * dense.Eps
	// boundTol decides whether a β is at a bound. A β counts as at a bound if its distance from the
	// bound is at most boundTol·n·(hi − lo), for n rows.
	boundTol = 4 * dense.Eps
	// proximalTol is the weight of the proximal term, relative to the largest diagonal entry of K. It
	// is far above rounding, but small compared with most of K, so few steps suffice. A pivot that is
	// below 0 by more than this weight shows that K is not positive semidefinite.
	proximalTol = 1e-8
	// proximalSteps bounds the number of proximal point steps. Along an eigenvector of K with the
	// eigenvalue μ, each step divides the error by 1 + μ/delta, where delta is the weight of the
	// proximal term. After this number of steps, the remaining error changes Kβ by less than a
	// rounding error.
	proximalSteps = 200
	// exactSteps and exactStepsPerRow limit the number of exact steps: at most exactSteps, plus
	// exactStepsPerRow for each row. A problem needs far fewer steps, unless rounding makes the steps
	// cycle.
	exactSteps, exactStepsPerRow = 300, 30
	// stepTol is a fraction. An exact step counts as a step of length zero if it reaches less than
	// this fraction of its full length. After stillSteps such steps in succession, rows enter one at a
	// time.
	stepTol    = 1e-12
	stillSteps = 20
)

const remedyForDecisions = "standardise the features, or lower C or the degree of a polynomial kernel"

// pairSteps is the workspace of sequential minimal optimisation over some of the rows. Its vectors
// have one entry for each of these rows. They are the vectors of a boxQP, or copies of some of
// their entries.
type pairSteps struct {
	*boxQP
	rowIDs                []int // numbers of the rows, ascending; nil: all rows
	r, beta, lo, hi, diag []float64
	minus, zeros          []float64 // work of bestSingle: −r
	keptRows              []int     // work of setAside
	copies                [5][]float64
	places                []int // storage of rowIDs
}

// resize allocates the vectors for n rows. If the number of rows does not change, it keeps the warm
// start.
func (q *boxQP) resize(n int) {
	if n != q.n {
		q.reset()
		q.rows.cache.freeCache()
		if cap(q.factor.a) > n*n {
			q.factor.a = nil
		}
	}
	q.n = n
	dense.GrowAll(n, &q.y, &q.lo, &q.hi, &q.diagonal, &q.lin, &q.center, &q.beta, &q.r, &q.rhs, &q.z, &q.fix, &q.factor.dinv, &q.factor.ones)
	if n > limits.maxStored {
		q.rows.k = nil
	} else {
		q.rows.k = dense.Grow(q.rows.k, n*n)
	}
	q.freeSet = slices.Grow(q.freeSet, n-len(q.freeSet))
}

// reset forgets the warm start.
func (q *boxQP) reset() {
	q.isWarm = false
	clear(q.beta)
	q.freeSet = q.freeSet[:0]
}

// residual computes r and the size of its terms.
func (q *boxQP) residual() {
	copy(q.r, q.lin)
	q.size = 1
	for j, v := range q.beta {
		if v != 0 {
			q.stopper.Look()
			row := q.row(j)
			floats.AddScaled(q.r, -v, row)
			q.r[j] -= q.delta * v
			q.size = max(q.size, math.Abs(v*row[j]))
		}
	}
}

// updateResidual updates the residual r after β has changed. The field oldBeta holds the β from
// before the change.
func (q *boxQP) updateResidual() {
	q.size = 1
	for j, v := range q.beta {
		q.size = max(q.size, math.Abs(v*q.diagonal[j]))
		if d := v - q.oldBeta[j]; d != 0 {
			q.stopper.Look()
			floats.AddScaled(q.r, -d, q.row(j))
			q.r[j] -= q.delta * d
		}
	}
}

// snap clips v to the bounds lo and hi. If v is within rounding of a bound, snap returns exactly
// this bound.
func (q *boxQP) snap(v, lo, hi float64) float64 {
	if tiny := boundTol * float64(q.n) * (hi - lo); v-lo <= tiny {
		return lo
	} else if hi-v <= tiny {
		return hi
	}
	return v
}

// atC reports whether b is the nonzero bound of β_i.
func (q *boxQP) atC(i int, b float64) bool { return b != 0 && (b == q.lo[i] || b == q.hi[i]) }

// interceptBounds finds the bounds of b if all entries of beta are at their bounds. An optimal b
// satisfies r[lowerRow] ≤ b ≤ r[upperRow]. If no row bounds b from below, lowerRow is −1. If no row
// bounds b from above, upperRow is −1.
func (q *boxQP) interceptBounds(beta []float64) (lowerRow, upperRow int) {
	lowerRow, upperRow = -1, -1
	for i, v := range q.r {
		if beta[i] < q.hi[i] && (lowerRow < 0 || v > q.r[lowerRow]) {
			lowerRow = i
		}
		if beta[i] > q.lo[i] && (upperRow < 0 || v < q.r[upperRow]) {
			upperRow = i
		}
	}
	return lowerRow, upperRow
}

// factorise computes the factor f of the rows in freeSet. It returns the first index in freeSet
// whose row depends on earlier rows. If the rows are independent, it returns len(freeSet).
func (q *boxQP) factorise(f *freeFactor, freeSet []int, tol float64) int {
	s := len(freeSet)
	if cap(f.a) < s*s {
		needed := s * s
		if q.n <= limits.shrink { // Load counts the largest
			needed = min(needed+needed/4, q.n*q.n)
		}
		f.a = nil // the memory need not hold both factors
		f.a = make([]float64, needed)
	}
	f.a, f.balanced, f.shift = f.a[:s*s], q.balanced, q.shift
	for i, j := range freeSet {
		f.stopper.Look()
		out := f.a[i*s+i : (i+1)*s]
		q.rows.gather(out, j, q.n, freeSet[i:])
		for k := range out {
			out[k] += q.shift
		}
		out[0] += q.delta
	}
	return f.factorise(s, tol)
}

// row returns row j, which is valid until the next call.
func (q *boxQP) row(j int) []float64 {
	r := &q.rows
	if row := r.storedRow(j, q.n); row != nil {
		return row
	}
	r.lastRow = dense.Grow(r.lastRow, q.n)
	r.evaluate(r.lastRow, j, nil)
	return r.lastRow
}

// makeRoom sets the number of entries that the cache may hold. It leaves room for nfactors factors,
// each of nfree rows. The first factor uses the storage of q.factor, which may be larger than
// needed. If the factors need more than the MaxBytes of the data, makeRoom returns an error.
func (q *boxQP) makeRoom(nfree, nfactors int) error {
	if q.n <= limits.shrink {
		return nil // Load counts the factors
	}
	if err := q.rows.check(); err != nil {
		return err
	}
	c := &q.rows.cache
	need, left := float64(nfree)*float64(nfree), learner.Room(q.maxBytes)-q.baseEntries
	if have := float64(cap(q.factor.a)); nfactors <= 1 && have > need && have+need > left {
		q.factor.a = nil // so that there is room for a factor of the needed size and for another factor
	}
	room := left - float64(max(nfactors-1, 0))*need - max(float64(min(nfactors, 1))*need, float64(cap(q.factor.a)))
	c.entries = int(max(leastCached*float64(q.n), min(room+leastCached*float64(q.n), float64(limits.cache))))
	if len(c.store) > c.entries {
		c.freeCache()
	}
	if room < 0 {
		return learner.TooLarge(learner.Entries(learner.Room(q.maxBytes)-room), q.maxBytes, learn.Size{Rows: q.n, Features: q.rows.machine.n})
	}
	return nil
}
