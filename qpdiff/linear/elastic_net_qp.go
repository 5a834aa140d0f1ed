package linear

import (
	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/sparse"
	"cvgm/qpdiff/internal/stop"
	"cvgm/qpdiff/internal/woodbury"

	"gonum.org/v1/gonum/floats"
)

const (
	// After cdPhases coordinate descents, a solve takes only exact steps.
	cdPhases = 60
	// minFactorisations and factorisationsPerFeature bound the factorisations of one solve.
	minFactorisations        = 200
	factorisationsPerFeature = 20
	// admitTol bounds the rounding error of a slope, relative to the size of the slope's terms. A
	// coordinate enters the active set only if its slope exceeds the strength of its kink by more
	// than this error.
	admitTol = 32 * dense.Eps
	// The rounding error of a pivot is pivotRounding·eps for each feature.
	pivotRounding = 8
	// condBound computes a bound without λ2. This bound is useful if the inverse determinant of the
	// system, scaled to a unit diagonal, is at most looseInverse.
	looseInverse = 1e6
)

// piecewiseQP minimises the quadratic function with a kink at zero in each
// coordinate
//
//	½ xᵀ(G + diag r)x − cᵀx + Σ_j up_j·max(x_j,0) + lo_j·max(−x_j,0)
//
// The method is exact. It finds the active set and solves the linear system on that set. The kinks
// hold all coordinates outside the active set at zero. up_j = lo_j = λ is an ℓ₁ penalty. up_j =
// lo_j = 0 leaves coordinate j free, lo_j = +Inf forbids negative values, and up_j = lo_j = +Inf
// holds the coordinate at zero.
//
// The final active set and signs determine x: two searches that end with the same set and signs
// return the same bits.
type piecewiseQP struct {
	n              int
	g              []float64 // G, n×n, both triangles; nil if columns replaces it
	diag           []float64 // of G
	c, r, up, lo   []float64
	x              []float64 // a feasible point, after solve the solution
	act            []int     // the active set, ascending: free, or not held at zero
	sgn            []float64 // per member of act: the side of the kink, 0 if free
	z, grad        []float64 // work; after solve: c − Gx for the x_j held at zero
	conditionBound float64   // of the condition of the active system, from above
	phases         int       // of coordinate descent that a solve may still make
	tol            float64   // of admit in a solve
	hasFree        bool      // the active set has or had free coordinates
	isWarm         bool      // x comes from a solve
	// the problem was solved on the active set, and new coordinates were added since
	hasNewCoordinates bool
	dualKnown         bool // dual already holds v = Cx, and grad holds c − inv·Cᵀv
	// z and bound already belong to the active system; laneFactors has computed them
	laneReady bool
	inLanes   uint32       // atomic: 1 if the last factor is in lanes, and not in a and dinv
	lanes     *laneFactors // during a fit, those that hold the factor
	lane      int          // there
	stopper   *stop.Stop
	features  []int // ascending: of each coordinate, the entry of θ; nil if they are the same
	columnQuadratic
	a, dinv    []float64 // factor of the active system, its right-hand side as last column: see ownPoint
	d, crossAt []float64 // work
	crossed    []int
	intercept  bool // the last coordinate is an intercept
}

// laneFactors are the factors of several systems of equal size. Each factor is in one lane of the
// vectors; see [dense.LDLLanes].
type laneFactors struct {
	a, dinv []float64
	size    int // unknowns of each
}

// feature returns the index in θ of coordinate j.
func (q *piecewiseQP) feature(j int) int {
	if q.features == nil {
		return j
	}
	return q.features[j]
}

// setStopper makes stopper the Stop of all steps of a solve.
func (q *piecewiseQP) setStopper(stopper *stop.Stop) {
	q.stopper, q.kernel.End, q.gradients.End = stopper, stopper, stopper
}

func (q *piecewiseQP) resize(n int) {
	if q.features == nil { // else factor makes room for the active set alone
		q.a = dense.Grow(q.a, n*dense.LDLStride(n))
	}
	if q.n == n {
		return
	}
	q.n = n
	dense.GrowAll(n, &q.x, &q.sgn, &q.z, &q.grad, &q.dinv, &q.d, &q.crossAt)
	dense.GrowAll(n, &q.act, &q.crossed)
	q.reset()
}

// reset forgets the warm start.
func (q *piecewiseQP) reset() {
	q.isWarm, q.hasFree, q.dualKnown = false, false, false
	q.act, q.sgn = q.act[:0], q.sgn[:0]
	clear(q.x)
}

// linearSlope returns −f′_j for the coordinate j at position i of act. Here f is the linear part of
// the objective on x_j's side of the kink.
func (q *piecewiseQP) linearSlope(i int) float64 {
	j := q.act[i]
	switch t := q.sgn[i]; {
	case t > 0:
		return q.c[j] - q.up[j]
	case t < 0:
		return q.c[j] + q.lo[j]
	}
	return q.c[j]
}

// errOpen returns the error of a solution that is not unique in coordinate j.
func (q *piecewiseQP) errOpen(j int) error {
	if q.intercept && j == q.n-1 {
		return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise λ2 or drop the intercept", "leaves the solution open: the intercept depends linearly on features")
	}
	return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise λ2 or drop features", "leaves the solution open: feature %d is zero or depends linearly on others", q.feature(j))
}

// activate puts into the active set all free coordinates and all coordinates j with x_j ≠ 0.
func (q *piecewiseQP) activate() {
	n := len(q.x)
	act, sgn := dense.Grow(q.act, n), dense.Grow(q.sgn, n)
	up, lo := q.up[:n], q.lo[:n]
	s, free := 0, false
	for j, v := range q.x {
		var side float64
		switch {
		case up[j] == 0 && lo[j] == 0:
			free = true
		case v > 0:
			side = 1
		case v < 0:
			side = -1
		default:
			q.x[j] = 0 // a descent that underflows leaves 0 or −0, depending on its method
			continue
		}
		act[s], sgn[s] = j, side
		s++
	}
	q.act, q.sgn, q.hasFree = act[:s], sgn[:s], free
}

// isActivated reports whether a call of activate would leave the active set as it is. This holds if
// x comes from a solve or a reset, and no coordinate is without a kink.
func (q *piecewiseQP) isActivated() bool { return !q.hasFree && (q.isWarm || len(q.act) == 0) }

// columnQuadratic holds the columns of C, which represent the matrix G = inv·CᵀC of a piecewiseQP.
type columnQuadratic struct {
	// columns[i] is the column of feature i, or nil if it was not gathered; coordinate j belongs to
	// feature features[j]
	columns [][]float64
	sparse  *sparse.Columns // they take the place of columns
	rows    int
	inv     float64

	// If the support has more entries than the data have rows, and all its r_j are positive, the
	// Woodbury identity solves the active system. It uses K = I + inv·C_S·diag(1/r_S)·C_Sᵀ.
	rowFactor bool // the last factor is K's
	kernel    woodbury.Sum
	support   woodbury.Support
	dual      []float64 // work of dualNewton: v, and the step
	// a proximal term divided by the diagonal entry of its coordinate j; used if r_j is smaller than
	// this term
	proximalShare float64
	gradChange    []float64 // for each coordinate: minus the change of u along the step
	fit           []float64 // work: Cx
	fitSize       float64   // bounds the size of the terms of Cx, over √N

	// Without a Gram matrix, conjugate gradients solve sparse systems.
	iterative   bool // conjugate gradients solved the last system
	system      sparse.System
	gradients   sparse.Gradients
	work        []float64
	looseSolves bool // solutions are corrected later

	maxSupport  int     // support: see limitSupport
	heldEntries float64 // entries that are held beside the active systems
	maxBytes    int64   // the MaxBytes of the data
}

// byColumns reports whether q has the columns.
func (q *piecewiseQP) byColumns() bool { return q.columns != nil || q.sparse != nil }

// column returns column j of C.
func (q *piecewiseQP) column(j int) []float64 { return q.columns[q.features[j]] }

// withOwnScratch returns a copy with the same G and separate scratch.
func (c *columnQuadratic) withOwnScratch() columnQuadratic {
	return columnQuadratic{columns: c.columns, sparse: c.sparse, rows: c.rows, inv: c.inv, maxSupport: c.maxSupport, heldEntries: c.heldEntries, maxBytes: c.maxBytes}
}

// products sets dst to the entries of row j of G in the listed columns.
func (q *piecewiseQP) products(dst []float64, j int, at []int) {
	q.dots(dst, q.column(j), at)
	floats.Scale(q.inv, dst)
}

// dots sets dst to the products of v with the listed columns, or with all columns if the list is
// nil.
func (q *piecewiseQP) dots(dst, v []float64, at []int) {
	column := func(i int) []float64 {
		if at != nil {
			i = at[i]
		}
		return q.column(i)
	}
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		dense.Products4(dst[i:], column(i), column(i+1), column(i+2), column(i+3), v)
	}
	for ; i < len(dst); i++ {
		dst[i] = floats.Dot(column(i), v)
	}
}

// rowSum returns the part of C_jᵀv that is the same for all columns j. The caller passes it to dot.
func (q *piecewiseQP) rowSum(v []float64) float64 {
	if q.sparse == nil {
		return 0
	}
	return q.sparse.Along(v)
}

// dot returns C_jᵀv. The parameter rowSum is q.rowSum(v).
func (q *piecewiseQP) dot(j int, v []float64, rowSum float64) float64 {
	if q.sparse != nil {
		return q.sparse.Dot(q.features[j], v, rowSum)
	}
	return floats.Dot(q.column(j), v)
}

// combine sets dst to the sum of the listed columns of C, each multiplied by its entry of x.
func (q *piecewiseQP) combine(dst, x []float64, at []int) {
	if q.sparse != nil {
		q.sparse.Combine(dst, x, at, q.features)
		return
	}
	clear(dst)
	sum := dense.Sum{Dst: dst}
	for i, j := range at {
		sum.Add(x[i], q.column(j))
	}
	sum.End()
}
