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
// constraint Σβ = 0. The problem is the dual of a support vector machine, with β_i = α_i·y_i. At
// the solution, entry i of y − Kβ − b is 0 if β_i is free, ≤ 0 if β_i = lo_i, and ≥ 0 if β_i =
// hi_i.
//
// Sequential minimal optimisation (Platt 1998; Fan, Chen and Lin 2005 for the choice of the pair)
// guesses which β are free. Exact steps on the free β, as in piecewiseQP, then complete the
// solution. The solution depends on the search only through the free set, and through the bounds at
// which the search leaves the remaining β.
type boxQP struct {
	n         int
	rows      kernelRows // of K
	diagonal  []float64
	y, lo, hi []float64
	balanced  bool
	largest   float64 // entry on the diagonal of K
	shift     float64 // of the free set's matrix: see freeFactor
	// The proximal term is delta/2·‖β − center‖². K and lin include the term. Without the term, lin
	// is y.
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
	warm        bool
	size        float64    // of the terms of r
	stopper     *stop.Stop // solve checks it

	baseEntries float64 // number of entries that Load counts
	maxBytes    int64   // the MaxBytes of the data
}

const (
	// Sequential minimal optimisation ends at the tolerance pairTol, relative to the margin 1. This
	// tolerance is coarse, because only the free set of the result is needed.
	pairTol = 1e-4
	// pairCurvature is the smallest curvature along a pair, relative to the first diagonal entry.
	// If two rows are almost equal, rounding hides a smaller curvature.
	pairCurvature = dense.Eps
	// Sequential minimal optimisation from a cold start moves at most pairsPerRow pairs for each
	// row. Between exact steps it moves at most one pair for every rowsPerPair rows. It converges
	// slowly near the solution, where exact steps converge fast.
	pairsPerRow = 3
	rowsPerPair = 2
	// With n ≥ manyRows rows, at least n²/rowsPerRound pairs may be moved. An exact step then costs
	// O(n³) and moves only one row to a bound, so sequential minimal optimisation gets more room.
	// These pairs cost as much as some 20 exact steps, and the bound is rarely reached.
	manyRows, rowsPerRound = 256, 16
	// pairPhases bounds how often sequential minimal optimisation runs between exact steps, because
	// it may undo the progress of the exact steps.
	pairPhases = 4
	// residualTol is the rounding error of y − Kβ, relative to the size of its terms.
	residualTol = 64 * dense.Eps
	// freeTol times the number of free rows bounds the rounding error of a pivot that would be
	// exactly 0, relative to the pivot's diagonal entry.
	freeTol = 8 * dense.Eps
	// A β counts as at a bound if its distance from the bound is at most boundTol·n·(hi − lo), for
	// n rows.
	boundTol = 4 * dense.Eps
	// proximalTol is the weight of the proximal term, relative to the largest diagonal entry of K.
	// It is far above rounding, but small compared with most of K, so few steps suffice. A pivot
	// further below 0 than this weight shows that K is not positive semidefinite.
	proximalTol = 1e-8
	// proximalSteps bounds the proximal point steps. Along an eigenvector of K with the eigenvalue
	// μ, each step divides the error by 1 + μ/delta. After this number of steps, the remaining
	// error changes Kβ by less than a rounding error.
	proximalSteps = 200
	// The number of exact steps is at most exactSteps plus exactStepsPerRow for each row. A problem
	// needs far fewer, unless rounding makes the steps cycle.
	exactSteps, exactStepsPerRow = 300, 30
	// If a step reaches less than stepTol of its full length, it counts as a step of length zero.
	// After stillSteps such steps in succession, rows enter one at a time.
	stepTol    = 1e-12
	stillSteps = 20
)

const remedyForDecisions = "standardise the features, or lower C or the degree of a polynomial kernel"

// pairSteps are steps of sequential minimal optimisation among some rows. The vectors have an entry
// for each of these rows. They are copies, or parts of the vectors of a boxQP.
type pairSteps struct {
	*boxQP
	rowIDs                []int // numbers of the rows, ascending; nil: all rows
	r, beta, lo, hi, diag []float64
	minus, zeros          []float64 // work of bestSingle: −r
	keptRows              []int     // work of setAside
	copies                [5][]float64
	places                []int // storage of rowIDs
}

// resize allocates the vectors for n rows. If n does not change, it keeps the warm start.
func (q *boxQP) resize(n int) {
	if n != q.n {
		q.reset()
		q.rows.cache.release()
		if cap(q.factor.a) > n*n {
			q.factor.a = nil
		}
	}
	q.n = n
	dense.GrowAll(n, &q.y, &q.lo, &q.hi, &q.diagonal, &q.lin, &q.center, &q.beta, &q.r, &q.rhs, &q.z, &q.fix, &q.factor.dinv, &q.factor.ones)
	if n > limits.whole {
		q.rows.k = nil
	} else {
		q.rows.k = dense.Grow(q.rows.k, n*n)
	}
	q.freeSet = slices.Grow(q.freeSet, n-len(q.freeSet))
}

// reset forgets the warm start.
func (q *boxQP) reset() {
	q.warm = false
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

// follow updates r after β has changed; oldBeta holds the earlier β.
func (q *boxQP) follow() {
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

// snap returns v clipped to the bounds lo and hi. If v is within rounding of a bound, snap returns
// exactly this bound.
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

// between finds the bounds of b if all of beta is at its bounds. An optimal b satisfies r[up] ≤ b ≤
// r[down]. up or down is −1 if no row bounds b from that side.
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

// factorise makes f the factor of the rows in freeSet. It returns the first index in freeSet whose
// row depends on earlier rows, or len(freeSet) if the rows are independent.
func (q *boxQP) factorise(f *freeFactor, freeSet []int, tol float64) int {
	s := len(freeSet)
	if cap(f.a) < s*s {
		need := s * s
		if q.n <= limits.shrink { // Load counts the largest
			need = min(need+need/4, q.n*q.n)
		}
		f.a = nil // the memory need not hold both factors
		f.a = make([]float64, need)
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
	if row := r.stored(j, q.n); row != nil {
		return row
	}
	r.lastRow = dense.Grow(r.lastRow, q.n)
	r.evaluate(r.lastRow, j, nil)
	return r.lastRow
}

// makeRoom sets the number of entries that the cache may hold. The cache must leave room for
// nfactors factors of nfree rows. The first factor uses the storage of q.factor, which may be
// larger than needed. If the factors need more than the MaxBytes of the data, makeRoom returns an
// error.
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
		q.factor.a = nil // so that a factor of the needed size and another factor have room
	}
	room := left - float64(max(nfactors-1, 0))*need - max(float64(min(nfactors, 1))*need, float64(cap(q.factor.a)))
	c.entries = int(max(leastCached*float64(q.n), min(room+leastCached*float64(q.n), float64(limits.cache))))
	if len(c.store) > c.entries {
		c.release()
	}
	if room < 0 {
		return learner.TooLarge(learner.Entries(learner.Room(q.maxBytes)-room), q.maxBytes, learn.Size{Rows: q.n, Features: q.rows.machine.n})
	}
	return nil
}
