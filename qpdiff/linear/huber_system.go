package linear

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/ridge"
	"cvgm/qpdiff/internal/stop"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// The Hessian is updated by adding and subtracting terms, and each term leaves a rounding error.
// For each diagonal entry, the sizes of all terms that were added or subtracted are summed. If this
// sum exceeds huberCancelled times the entry, the Hessian is computed anew.
const huberCancelled = 4

// huberSums holds sums over rows. The systems of a Huber regression, and the bounds of their
// errors, are computed from these sums. There are two ways to solve a system. Either the rows that
// changed zones update the Hessian, or the system has one unknown for each row.
type huberSums struct {
	moreParams bool // more parameters than rows
	byRows     bool // the last fit's systems have one unknown for each row

	maxBytes  int64 // the MaxBytes of the data
	sys       ridge.System
	solver    ridge.Solver
	condition ridge.Condition
	root      []float64 // of each parameter: √Σ share·z²
	zmax      []float64 // of each parameter: its largest |z|
	rowWork   []float64 // work of solveRows
	// If byRows is true, eqError·rowMove[i] bounds the effect of errors of the equations on residual
	// i.
	rowMove []float64

	quad        []float64 // k×k lower triangle: Σ share·z·zᵀ over the rows of inQuad
	inQuad      []bool
	quadValid   bool
	mass        []float64 // of each parameter: Σ share·z² over all rows added to or removed from quad
	changedRows []int
	weights     []float64
	block       []float64

	terms float64 // bounds the terms of a residual without its label
	// If byRows is false, eqError bounds the effect of errors of the equations on any residual.
	eqError     float64
	boundsExact bool // terms, size and root are exact
}

// huberSystem is a Huber regression at one θ. It solves linear systems of the Hessian in one of two
// ways: it computes the entries of the Hessian, or it solves an equivalent system with one unknown
// for each row.
type huberSystem struct {
	huberProblem
	sums  huberSums
	zstep []float64 // of each row: work, and in a line search zᵀ·step
}

func (g *huberSums) resize(m, k int) {
	g.moreParams = ways.Rows(m, k)
	g.reset()
	dense.GrowAll(k, &g.root, &g.zmax, &g.mass, &g.rowWork)
	g.rowMove = dense.Grow(g.rowMove, m)
}

// huberEntries returns a size as a number of float64 values: the storage of huberSystem, of
// huberNewton and of a derivative together. If byRows is true, the systems are solved with one
// unknown for each row, and not with the Hessian's entries.
func huberEntries(m, k float64, byRows bool) float64 {
	const ofRow = 10 + 3./learner.Word // vectors of all rows, among them three of bytes
	entries := m*k + ofRow*m + 17*k
	if byRows {
		system, solver := ridge.Entries(m, k, true, false)
		return entries + 2*(system+solver) // a derivative has both only if rows are weakly active
	}
	const kept = 4 // quad, h and without, and h of a derivative
	return entries + kept*k*k + huberBlock + float64(dense.GramWork(int(k))) + huberStride*k
}

// chooseWay selects the way in which a fit solves its systems. If there are fewer rows than
// parameters and the penalty is not too small, the systems have one unknown for each row. Otherwise
// the entries of the Hessian are computed.
func (l *huberSystem) chooseWay() error {
	g, m, k := &l.sums, l.m, l.k
	if g.byRows = g.moreParams && g.sys.Penalises(l.l2, dense.Largest(l.share)); g.byRows {
		return nil
	}
	if g.moreParams && k > distinctRows(m) {
		return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise λ2", "leaves %d parameters for %d rows, which so small a λ2 does not tell apart", k, m)
	}
	if g.moreParams {
		held := learner.Entries(huberEntries(float64(m), float64(k), false))
		if err := learner.Exceeds(held, g.maxBytes, learn.Size{Rows: m, Features: k}); err != nil {
			return err
		}
	}
	l.h = dense.Grow(l.h, k*k)
	if !g.quadValid {
		g.inQuad, g.changedRows, g.weights = dense.Grow(g.inQuad, m), dense.Grow(g.changedRows, m), dense.Grow(g.weights, huberBlock)
		g.quad, g.block = dense.Grow(g.quad, k*k), dense.Grow(g.block, dense.GramWork(k)+huberStride*k)
	}
	return nil
}

// reset forgets the sums of earlier fits.
func (g *huberSums) reset() {
	g.quadValid = false
	g.solver.Reset()
}

// loadSums prepares the sums for the rows of the problem. The first npenalised parameters have a
// penalty. Before the call, zmax must be set, and l.work must hold each parameter's sum of squares.
// loadSums stops early if the context of stopper ends.
func (l *huberSystem) loadSums(stopper *stop.Stop, npenalised int) {
	g := &l.sums
	for j, xx := range l.work {
		g.root[j] = math.Sqrt(xx)
	}
	g.sys.Rows, g.sys.Penalised = ridge.Rows{M: l.m, K: l.k, Data: l.z}, npenalised
	if g.moreParams {
		g.sys.Load(stopper, true)
	}
}

// gradient sets grad to the gradient at θ.
func (l *huberSystem) gradient() {
	for j, t := range l.theta {
		l.grad[j] = l.l2 * l.pen[j] * t
	}
	for i, s := range l.share {
		l.zstep[i] = s * l.slope(i, l.zone[i])
	}
	l.sums.sys.Add(l.grad, -1, l.zstep)
}

// leavesZone reports whether, after a step to new zones, some residual lies outside its zone by
// more than learner.DecisionTol·delta. Corrections of θ would then not bring the residual back.
func (l *huberSystem) leavesZone() bool {
	g := &l.sums
	if g.byRows || len(g.changedRows) == 0 || !dense.AllFinite(l.theta) {
		return false
	}
	for i := range l.r {
		if l.zoneExcess(i) > learner.DecisionTol*l.delta {
			return true
		}
	}
	return false
}

// boundTerms sets terms to an upper bound, by the Cauchy–Schwarz inequality.
func (l *huberSystem) boundTerms() {
	g := &l.sums
	g.boundsExact = false
	g.terms = 0
	for j, t := range l.theta {
		g.terms += g.zmax[j] * math.Abs(t)
	}
	sum := 0.0
	for i, s := range l.share {
		size := l.delta
		if l.zone[i] == 0 {
			size = math.Abs(l.y[i]) + g.terms
		}
		sum += s * size * size
	}
	sum = math.Sqrt(sum)
	for j, t := range l.theta {
		l.terms[j] = l.l2*l.pen[j]*math.Abs(t) + g.root[j]*sum
	}
}

// measure computes eqError, rowMove and size, which errorBound uses.
func (l *huberSystem) measure() {
	g := &l.sums
	l.boundTerms()
	if !g.byRows {
		dense.LDLSize(l.h, l.dinv, l.k, l.k, l.root)
		l.sizeTerms()
		sum := 0.0
		for j, d := range l.root {
			sum += g.zmax[j] / d
		}
		g.eqError = l.cond * sum * l.size
		return
	}
	g.eqError = g.condition.Errors(&g.sys, l.terms)
	l.size = g.eqError
	clear(g.rowMove)
	if g.condition.Schur > 0 {
		g.sys.Times(g.rowMove, g.condition.Along)
	}
	for i, along := range g.rowMove {
		g.rowMove[i] = g.condition.Reach(&g.sys, i, g.sys.Norm(i), along)
	}
}

// errorBound returns an upper bound of the error of row i's residual, in units of eps.
func (l *huberSystem) errorBound(i int) float64 {
	g := &l.sums
	moved := g.eqError
	if g.byRows {
		moved *= g.rowMove[i]
	}
	return math.Abs(l.y[i]) + g.terms + l.delta + moved
}

// exactTerms sets terms, root and size to their exact values for the gradient.
func (l *huberSystem) exactTerms() {
	g := &l.sums
	if g.boundsExact {
		return
	}
	g.boundsExact = true
	l.gradientTerms()
	if g.byRows {
		g.sys.Diagonal(l.root, false)
		for j, d := range l.root {
			l.root[j] = math.Sqrt(d)
		}
	}
	l.sizeTerms()
}

// factorRows does the work of factor for systems with one unknown for each row.
func (l *huberSystem) factorRows(weight func(i int) float64) (at int) {
	g := &l.sums
	g.sys.Ridge = l.l2
	for i, s := range l.share {
		g.sys.Weights[i] = s * weight(i)
	}
	g.solver.Moved()
	if !g.solver.Factorise(&g.sys) {
		l.cond = math.Inf(1)
		return l.k - 1
	}
	g.solver.Condition(&g.sys, &g.condition)
	if l.cond = g.condition.Cond; dense.Unsolvable(l.cond) {
		return g.condition.At
	}
	return l.k
}

// solveRows replaces the right-hand side x by the solution of the Hessian's system. It uses a
// system with one unknown for each row.
func (l *huberSystem) solveRows(x []float64) {
	if g := &l.sums; g.solver.Exact(&g.sys, g.rowWork, x) {
		copy(x, g.rowWork)
	} else {
		dense.Fill(x, math.NaN())
	}
}

// huberBlock is the number of changed rows that are gathered at a time. huberStride is the distance
// between the entries of successive parameters. It is not a power of two, because addresses at
// multiples of a power of two compete for the same lines of a cache.
const huberBlock, huberStride = 256, 264

// newtonEntries does the work of newton with the Hessian's entries. It updates the Hessian of the
// previous zones: it adds the terms of rows that entered the quadratic zone, and removes the terms
// of rows that left it.
func (l *huberSystem) newtonEntries() (at int) {
	g, k := &l.sums, l.k
	count := l.listChanged()
	if g.quadValid = g.quadValid && len(g.changedRows) < count; g.quadValid {
		l.updateQuad()
		for j, mass := range g.mass {
			g.quadValid = g.quadValid && mass <= huberCancelled*g.quad[j*k+j]
		}
	}
	if !g.quadValid {
		clear(g.quad)
		clear(g.mass)
		clear(g.inQuad)
		l.listChanged()
		l.updateQuad()
		g.quadValid = true
	}
	for j := range k {
		for c := j; c < k; c++ {
			l.h[j*k+c] = g.quad[c*k+j]
		}
		l.h[j*k+j] += l.l2 * l.pen[j]
	}
	l.cond, at = l.factorise(l.h, l.dinv)
	return at
}

// listChanged lists two kinds of rows in l.sums.changedRows. The rows to add to quad are in the
// quadratic zone but not in quad. The rows to remove from quad are in quad but not in the quadratic
// zone. listChanged returns the number of rows in the quadratic zone.
func (l *huberSystem) listChanged() (count int) {
	g := &l.sums
	g.changedRows = g.changedRows[:0]
	for i, zone := range l.zone {
		if zone == 0 {
			count++
		}
		if g.inQuad[i] != (zone == 0) {
			g.changedRows = append(g.changedRows, i)
		}
	}
	return count
}

// updateQuad adds each row of changedRows to quad, or removes it.
func (l *huberSystem) updateQuad() {
	g, k := &l.sums, l.k
	packed := dense.GramWork(k)
	for first := 0; first < len(g.changedRows); first += huberBlock {
		rows := g.changedRows[first:min(first+huberBlock, len(g.changedRows))]
		b := g.block[packed:]
		for at, i := range rows {
			share := l.share[i]
			for j, v := range l.row(i) {
				b[j*huberStride+at] = v
				g.mass[j] += share * v * v
			}
			if g.weights[at] = share; g.inQuad[i] {
				g.weights[at] = -share
			}
			g.inQuad[i] = !g.inQuad[i]
		}
		dense.AddGram(g.solver.End, g.quad, k, b, huberStride, len(rows), g.weights[:len(rows)], g.block[:packed])
	}
}

// factor computes and factorises the Hessian with the given weights of the rows. The result has the
// same meaning as for factorise.
func (l *huberSystem) factor(weight func(i int) float64) (at int) {
	g := &l.sums
	if g.byRows {
		return l.factorRows(weight)
	}
	l.hessian(g.solver.End, l.h, weight)
	l.cond, at = l.factorise(l.h, l.dinv)
	return at
}

// solve replaces the right-hand side x by the solution of the Hessian's system.
func (l *huberSystem) solve(x []float64) {
	if l.sums.byRows {
		l.solveRows(x)
		return
	}
	dense.LDLSolve(l.h, l.dinv, l.k, l.k, x)
}

// residuals sets r to y − zθ.
func (l *huberSystem) residuals() {
	l.products(l.r, l.theta)
	floats.SubTo(l.r, l.y, l.r)
}

// newton factorises the Hessian for the present zones. The result has the same meaning as for
// factorise.
func (l *huberSystem) newton() (at int) {
	if l.sums.byRows {
		return l.factorRows(l.quadratic)
	}
	return l.newtonEntries()
}

// hidesZone reports whether diff is within the error of residual i. This error includes the
// rounding of the residual's terms, and the rounding of the terms that determine θ.
func (l *huberSystem) hidesZone(i int, diff float64) bool {
	if !dense.Negligible(diff, l.errorBound(i), 1) {
		return false
	}
	l.sums.solver.End.Look()
	l.exactTerms()
	// errorBound uses the condition number of the whole system. The bound of rowError is smaller,
	// because it concerns only row i, but it costs a solve.
	terms := l.rowSize(i) + l.delta
	reach := 0.0
	for j, v := range l.row(i) {
		reach += math.Abs(v) / l.root[j]
	}
	return dense.Negligible(diff, terms+l.cond*reach*l.size, 1) && dense.Negligible(diff, l.rowError(i), 1)
}

// rowError estimates the error of the residual of row i, in units of eps.
func (l *huberSystem) rowError(i int) float64 {
	err := l.rowSize(i) + l.delta
	copy(l.work, l.row(i))
	l.solve(l.work)
	for j, v := range l.work {
		err += math.Abs(v) * l.terms[j]
	}
	return err
}

// products sets dst to zv, one entry for each row.
func (l *huberSystem) products(dst, v []float64) {
	l.sums.sys.Times(dst, v)
}
