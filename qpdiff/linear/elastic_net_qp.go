package linear

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
)

// cdSweeps bounds the coordinate descent sweeps between two exact steps, and
// cdPhases how often descent is tried before exact steps alone finish.
const (
	cdSweeps = 8
	cdPhases = 60
	// minFactorisations and factorisationsPerFeature bound the factorisations of one
	// solve: the method is finite, and what takes more goes round by rounding.
	minFactorisations        = 200
	factorisationsPerFeature = 20
	// admitTol is the rounding of a slope, relative to the size of its terms, within
	// which no coordinate is let into the active set.
	admitTol = 32 * dense.Eps
	// pivotRounding times eps for each feature is the rounding of a pivot.
	pivotRounding = 8
	// looseInverse is the inverse determinant, for a unit diagonal, up to which the
	// bound of the condition that needs no λ2 is good enough.
	looseInverse = 1e6
)

// piecewiseQP minimises the quadratic function with a kink at zero in each
// coordinate
//
//	½ xᵀ(G + diag r)x − cᵀx + Σ_j up_j·max(x_j,0) + lo_j·max(−x_j,0)
//
// exactly: by finding the active set (the coordinates that are not held at
// zero by their kink) and solving the linear system on it. up = lo = λ is an
// ℓ₁ penalty, up = lo = 0 leaves the coordinate free, lo = +Inf forbids
// negative values and up = lo = +Inf holds it at zero.
//
// x depends on how the active set was found only through the set itself: two
// runs that end at the same set and signs give the same bits.
type piecewiseQP struct {
	n            int
	g            []float64 // G, n×n, both triangles; nil where columns stands for it
	diag         []float64 // of G
	c, r, up, lo []float64
	x            []float64 // a feasible point, after solve the solution
	act          []int     // the active set, ascending: free, or not held at zero
	sgn          []float64 // per member of act: the side of the kink, 0 if free
	a, dinv      []float64 // factor of the active system, its right-hand side as last column
	z, grad      []float64 // work; after solve: c − Gx where x_j is held at zero
	d, at        []float64 // work of stepTo
	cross        []int
	bound        float64 // of the condition of the active system, from above
	warm         bool    // x comes from a solve
	intercept    bool    // the last coordinate is an intercept
	features     []int   // ascending: of each coordinate, the entry of θ; nil: the same
	columnQuadratic
}

// feature returns the entry of θ that coordinate j is.
func (q *piecewiseQP) feature(j int) int {
	if q.features == nil {
		return j
	}
	return q.features[j]
}

func (q *piecewiseQP) resize(n int) {
	if q.n == n {
		return
	}
	q.n = n
	dense.GrowAll(n, &q.dinv, &q.x, &q.z, &q.grad, &q.sgn, &q.d, &q.at)
	dense.GrowAll(n, &q.act, &q.cross)
	if q.features == nil {
		q.a = dense.Grow(q.a, n*(n+1))
	}
	q.reset()
}

// reset forgets the warm start.
func (q *piecewiseQP) reset() {
	q.warm = false
	q.act, q.sgn = q.act[:0], q.sgn[:0]
	clear(q.x)
}

// factor gathers the active system and factorises it. The solution's start is
// left in z. It returns the first dependent member of act, or len(act).
func (q *piecewiseQP) factor() int {
	s := len(q.act)
	if q.columns != nil {
		if q.rowFactor = q.byRows() && q.factorRows(); q.rowFactor {
			return s
		}
		q.a = dense.Grow(q.a, s*(s+1))
	}
	w := s + 1
	if q.g != nil {
		q.gather(w)
	} else {
		q.gatherColumns(w)
	}
	if k := dense.LDLFactor(q.a, q.dinv, s, w, q.pivotTol()); k < s {
		return k
	}
	q.bound = q.condBound()
	if dense.Unsolvable(q.bound) && dense.Unsolvable(q.cond()) {
		return dense.LDLDependent(q.a, q.dinv, s, w, q.d, q.at)
	}
	for i := range s {
		q.z[i] = q.a[i*w+s]
	}
	return s
}

// gather fills in the active system, with its right-hand side as last of w columns.
func (q *piecewiseQP) gather(w int) {
	s := len(q.act)
	for i, j := range q.act {
		row := q.g[j*q.n : (j+1)*q.n]
		out := q.a[i*w : (i+1)*w]
		if s == q.n {
			copy(out[i:], row[i:])
		} else {
			for k := i; k < s; k++ {
				out[k] = row[q.act[k]]
			}
		}
		out[i] += q.r[j]
		out[s] = q.linear(i)
	}
}

// condBound bounds the condition of the active system, scaled to a unit
// diagonal, as factorised last, from above.
func (q *piecewiseQP) condBound() float64 {
	inv := 1.0
	dinv := q.dinv[:len(q.act)]
	for i, j := range q.act {
		inv *= (q.diag[j] + q.r[j]) * dinv[i]
	}
	if inv <= looseInverse {
		return dense.CondBound(len(q.act), 1/inv, 0)
	}
	// G is positive semidefinite.
	floor := 1.0
	for _, j := range q.act {
		floor = min(floor, q.r[j]/(q.diag[j]+q.r[j]))
	}
	return dense.CondBound(len(q.act), 1/inv, floor)
}

// room is the number of entries of the first argument of solveActive.
func (q *piecewiseQP) room() int { return q.rows + 3*q.n }

// cond estimates it.
func (q *piecewiseQP) cond() float64 {
	s := len(q.act)
	if q.rowFactor {
		return q.bound
	}
	return dense.LDLCond(q.a, q.dinv, s, s+1, q.d, q.at)
}

// pivotTol is the rounding of a pivot. With columns it does not depend on what else is in the
// working set.
func (q *piecewiseQP) pivotTol() float64 {
	terms := float64(q.n)
	if q.columns != nil {
		terms = float64(len(q.act)) + math.Sqrt(float64(q.rows))
	}
	return pivotRounding * dense.Eps * terms
}

// solveActive solves the active system, as factorised last, for the right-hand
// side v (n entries, of which it reads the active ones) and returns the
// solution, one entry per member of act, in w, which has room entries.
func (q *piecewiseQP) solveActive(w, v []float64) []float64 {
	s := len(q.act)
	w = w[:s]
	dense.Gather(w, v, q.act)
	if q.rowFactor {
		q.solveRows(w, w[s:cap(w)])
		return w
	}
	dense.LDLForward(q.a, q.dinv, s, s+1, w)
	dense.LDLBack(q.a, q.dinv, s, s+1, w)
	return w
}

// linear returns minus the slope at zero of the objective's linear part for
// member i of act, on its side of the kink.
func (q *piecewiseQP) linear(i int) float64 {
	j := q.act[i]
	switch t := q.sgn[i]; {
	case t > 0:
		return q.c[j] - q.up[j]
	case t < 0:
		return q.c[j] + q.lo[j]
	}
	return q.c[j]
}

// errOpen is the error of a solution that is not unique, in coordinate j.
func (q *piecewiseQP) errOpen(j int) error {
	if q.intercept && j == q.n-1 {
		return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise λ2 or drop the intercept", "leaves the solution open: the intercept depends linearly on features")
	}
	return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise λ2 or drop features", "leaves the solution open: feature %d is zero or depends linearly on others", q.feature(j))
}

// errCrowded is the error of a support too large for what λ2 tells apart.
func (q *piecewiseQP) errCrowded() error {
	return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise λ2 or λ1", "leaves %d features for %d rows in the model, which so small a λ2 does not tell apart", len(q.act), q.rows)
}

// activate makes the active set that of x: all free coordinates and those that
// are not zero.
func (q *piecewiseQP) activate() {
	q.act, q.sgn = q.act[:0], q.sgn[:0]
	for j, v := range q.x {
		switch {
		case q.up[j] == 0 && q.lo[j] == 0:
			q.act, q.sgn = append(q.act, j), append(q.sgn, 0)
		case v > 0:
			q.act, q.sgn = append(q.act, j), append(q.sgn, 1)
		case v < 0:
			q.act, q.sgn = append(q.act, j), append(q.sgn, -1)
		}
	}
}
