package linear

import (
	"math"
	"sync"
	"sync/atomic"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/sparse"
	"cvgm/qpdiff/learn"
)

// factor gathers the active system and factorises it. The solution is left in z. It returns the first dependent member of act, or len(act).
func (q *piecewiseQP) factor() int {
	s := len(q.act)
	if q.ready {
		q.ready = false
		return s
	}
	q.place(0)
	w := dense.LDLStride(s)
	if q.features == nil {
		q.gather(w)
	} else if k, done := q.factorColumns(w); done {
		return k
	}
	if k := dense.LDLFactor(q.a, q.dinv, s, w, q.pivotTol()); k < s {
		return k
	}
	inverse := 1.0
	dinv, diag := q.dinv[:s], q.diag
	r := q.r[:len(diag)]
	for i, j := range q.act {
		inverse *= (diag[j] + r[j]) * dinv[i]
	}
	q.bound = q.condBound(inverse)
	if dense.Unsolvable(q.bound) && dense.Unsolvable(q.cond()) {
		return dense.LDLDependent(q.a, q.dinv, s, w, q.d, q.at)
	}
	for i := range s {
		q.z[i] = q.a[i*w+s]
	}
	dense.LDLBack(q.a, q.dinv, s, w, q.z[:s])
	return s
}

// factorColumns is the part of factor for a problem of some features of all: it gathers the active
// system, of w columns, or solves it in another way.
func (q *piecewiseQP) factorColumns(w int) (dependent int, done bool) {
	s := len(q.act)
	if q.iterative = q.sparse != nil && q.g == nil; q.iterative {
		return q.solveSparse(), true
	}
	if q.byColumns() {
		if q.rowFactor = q.byRows() && q.factorRows(); q.rowFactor {
			return s, true
		}
		q.a = dense.Grow(q.a, s*dense.LDLStride(s))
	}
	if q.g != nil {
		q.gather(w)
	} else {
		q.gatherColumns(w)
	}
	return s, false
}

// solveSparse leaves the solution of the active system in z, and the condition that its solve
// met in bound. It returns the coordinate with the largest residual if the system cannot be
// solved, else len(act).
func (q *piecewiseQP) solveSparse() int {
	s, m := len(q.act), &q.system
	m.Columns, m.Inv = q.sparse, q.inv
	dense.GrowAll(s, &m.R, &m.Diag)
	m.Set = m.Set[:0]
	b := q.grad[:s]
	for i, j := range q.act {
		m.Set = append(m.Set, q.features[j])
		m.R[i], m.Diag[i], b[i] = q.r[j], q.diag[j], q.linear(i)
	}
	q.work = dense.Grow(q.work, sparse.Room(q.rows, s))
	residual, worst := q.gradients.Solve(m, q.z[:s], b, q.work, q.residualFloor())
	if q.bound = q.gradients.Most / q.gradients.Least; !(residual <= max(sparse.ResidualTol, q.residualFloor())) || dense.Unsolvable(q.bound) {
		return worst
	}
	return s
}

// regular reports whether the active system, solved last by solveSparse, has one solution, by a
// second solve. The first one meets no direction that its right-hand side lacks.
func (q *piecewiseQP) regular() (worst int, ok bool) {
	s := len(q.act)
	b, x, part := q.at[:s], q.d[:s], 0.0
	for i, j := range q.act {
		// Multiples of the golden ratio, modulo 1: no direction of the data is left out.
		_, part = math.Modf(part + math.Phi)
		b[i] = (part - .5) * math.Sqrt(q.diag[j]+q.r[j])
	}
	residual, worst := q.gradients.Solve(&q.system, x, b, q.work, sparse.LooseFloor)
	q.bound = max(q.bound, q.gradients.Most/q.gradients.Least)
	return worst, residual <= sparse.ProbeTol && !dense.Unsolvable(q.bound)
}

// factorRegular is factor, of a system that must have one solution for any right-hand side.
func (q *piecewiseQP) factorRegular() int {
	k := q.factor()
	if q.iterative {
		if worst, ok := q.regular(); !ok {
			return worst
		}
	}
	return k
}

// errUnsolved is the error of a derivative whose system conjugate gradients do not solve.
var errUnsolved = check.ArgErrorf("Data", qpdiff.ErrIllPosed, "raise λ2 or drop features", "is so ill-conditioned that conjugate gradients do not solve the system of the derivative")

// unsolved reports whether w is the result of a solveActive that failed.
func unsolved(w []float64) bool { return len(w) > 0 && w[0] != w[0] }

// residualFloor is the residual at which conjugate gradients end.
func (q *piecewiseQP) residualFloor() float64 {
	if q.loose {
		return sparse.LooseFloor
	}
	return sparse.Floor
}

// gather fills in the active system, with its right-hand side as last of w columns.
func (q *piecewiseQP) gather(w int) {
	s := len(q.act)
	if s == 0 {
		return
	}
	dense.GatherUpper(q.a, w, q.g, q.n, q.r, q.act)
	a, at := q.a, s
	for i, j := range q.act {
		v := q.c[j] // see linear
		if t := q.sgn[i]; t > 0 {
			v -= q.up[j]
		} else if t < 0 {
			v += q.lo[j]
		}
		a[at] = v
		at += w
	}
}

// condBound bounds the condition of the active system, scaled to a unit
// diagonal, from above, by the inverse of its determinant.
func (q *piecewiseQP) condBound(inverse float64) float64 {
	if inverse <= looseInverse {
		return dense.CondBound(len(q.act), 1/inverse, 0)
	}
	return dense.CondBound(len(q.act), 1/inverse, q.floor())
}

// away reports whether the factor of the active system is elsewhere.
func (q *piecewiseQP) away() bool { return atomic.LoadUint32(&q.elsewhere) != 0 }

// place notes where the factor of the active system is. Most often nothing changes, and a store
// costs much more than a load.
func (q *piecewiseQP) place(elsewhere uint32) {
	if atomic.LoadUint32(&q.elsewhere) != elsewhere {
		atomic.StoreUint32(&q.elsewhere, elsewhere)
	}
}

// owning is locked while a factor comes to its own place, which few ever need.
var owning sync.Mutex

// own makes a and dinv hold the factor of the active system. It is safe for concurrent use, as
// derivatives are.
func (q *piecewiseQP) own() {
	if !q.away() {
		return
	}
	owning.Lock()
	defer owning.Unlock()
	if s := len(q.act); q.away() {
		q.gather(dense.LDLStride(s))
		dense.LDLFactor(q.a, q.dinv, s, dense.LDLStride(s), q.pivotTol())
		q.place(0)
	}
}

// room is the number of entries of the first argument of solveActive.
func (q *piecewiseQP) room() int {
	switch {
	case q.sparse != nil:
		return sparse.Room(q.rows, q.n) + 2*q.n
	case q.columns != nil:
		return q.rows + 4*q.n
	}
	return q.n
}

// cond estimates it. The largest eigenvalue counts as √s, see [dense.LDLCond].
func (q *piecewiseQP) cond() float64 {
	s := len(q.act)
	if q.iterative {
		return q.bound
	}
	if q.rowFactor {
		return q.bound / math.Sqrt(float64(s))
	}
	q.own()
	return dense.LDLCond(q.a, q.dinv, s, dense.LDLStride(s), q.d, q.at)
}

// pivotTol is the rounding of a pivot. With columns it does not depend on the inactive features
// of the working set.
func (q *piecewiseQP) pivotTol() float64 {
	terms := float64(q.n)
	if q.byColumns() {
		terms = float64(len(q.act)) + math.Sqrt(float64(q.rows))
	}
	return pivotRounding * dense.Eps * terms
}

// solveActiveSparse is solveActive by conjugate gradients, in place.
func (q *piecewiseQP) solveActiveSparse(w []float64) {
	s := len(w)
	b := w[s : 2*s]
	copy(b, w)
	floor := q.residualFloor()
	if residual, _ := new(sparse.Gradients).Solve(&q.system, w, b, w[2*s:cap(w)], floor); !(residual <= max(sparse.ResidualTol, floor)) {
		dense.Fill(w, math.NaN())
	}
}

// solveActive solves the active system, as factorised last, for the right-hand side v (n
// entries, of which it reads the active ones). It returns the solution, one entry per member of
// act, in w, which has room entries. It is NaN if conjugate gradients find none: see unsolved.
func (q *piecewiseQP) solveActive(w, v []float64) []float64 {
	s := len(q.act)
	w = w[:s]
	dense.Gather(w, v, q.act)
	switch {
	case q.rowFactor:
		work := w[s:cap(w)]
		q.solveRows(w, work[3*s:], work, work[s:], work[2*s:])
	case q.iterative:
		q.solveActiveSparse(w)
	default:
		q.own()
		dense.LDLForward(q.a, q.dinv, s, dense.LDLStride(s), w)
		dense.LDLBack(q.a, q.dinv, s, dense.LDLStride(s), w)
	}
	return w
}

// elasticNetBatch is the scratch of elastic nets whose systems are solved side by side, in the
// lanes of vectors. Each has the bits that it has by itself.
type elasticNetBatch struct {
	nets     [dense.LaneCount]*ElasticNet // of the fits, or of the derivatives; nil: solved by itself
	regular  [dense.LaneCount]bool        // a and dinv hold the factors of these
	full     [dense.LaneCount]*ElasticNet // the nets, of which another takes the place of nil
	fits     [dense.LaneCount]uint64      // those of the fits of these numbers, or 0
	n, size  int                          // coordinates, and unknowns of the systems
	a, dinv  []float64                    // of the systems, see dense.LDLLanes
	x, r     []float64                    // solutions, and penalties on the diagonal
	rows     [dense.LaneCount][]float64   // a vector of each net
	compact  [dense.LaneCount][]float64   // the systems of nets that leave coordinates out
	g        []float64                    // all entries of G, for the descent
	rest, l1 []float64                    // likewise
	u, sides []float64                    // of the derivatives: solutions, and the signs of x
}

// fit fits the nets of up to dense.LaneCount items.
func (b *elasticNetBatch) fit(items []learn.BatchItem, hyper []float64) {
	b.n, b.nets, b.fits = 0, [dense.LaneCount]*ElasticNet{}, [dense.LaneCount]uint64{}
	var any *ElasticNet
	for i := range items {
		item := &items[i]
		if item.Err != nil {
			continue
		}
		e, ok := item.Learner.(*ElasticNet)
		if !ok || e.state.Data.X == nil || e.working != nil || e.n > dense.LaneMost || b.n > 0 && e.n != b.n {
			item.Err = item.Learner.Fit(item.Theta, hyper)
			continue
		}
		if err := e.begin(e.Groups, item.Theta, hyper); err != nil {
			item.Err = learner.Named(e, err)
			continue
		}
		e.start()
		b.nets[i], b.n = e, e.n
		any = e
	}
	if any == nil {
		return
	}
	b.full = b.nets
	for i := range b.rows {
		b.rows[i] = dense.Grow(b.rows[i], b.n)
		if b.full[i] == nil {
			b.full[i] = any
		}
	}
	b.descend()
	b.search(items)
	for i, e := range b.nets {
		if e == nil {
			continue
		}
		err := items[i].Err
		if err == nil {
			err = e.settle()
		}
		e.qp.batch = nil
		items[i].Err = learner.Named(e, e.end(items[i].Theta, err))
		if b.regular[i] {
			b.fits[i] = e.state.Fit
		}
	}
}

// search is the search of each net. All nets take part in the factorisations until the last
// one is done, so that their factors are those of the solutions.
func (b *elasticNetBatch) search(items []learn.BatchItem) {
	var searching [dense.LaneCount]bool
	steps := 0
	for i, e := range b.nets {
		if e != nil {
			e.qp.begin(!e.qp.warm)
			searching[i], steps = true, e.qp.mostSteps()
		}
	}
	for ; searching != [dense.LaneCount]bool{}; steps-- {
		b.factor()
		for i, e := range b.nets {
			if !searching[i] {
				continue
			}
			e.qp.ready = b.regular[i]
			done, err := e.qp.step()
			if !done && err == nil && steps == 1 {
				err = errNoActiveSet
			}
			items[i].Err = err
			searching[i] = !done && err == nil
		}
	}
}

// descend is the coordinate descent of the nets whose x does not come from a solve. It is zero: see reset.
func (b *elasticNetBatch) descend() {
	const lanes = dense.LaneCount
	var live [lanes]float64
	var sweeps [lanes]int
	count := 0
	for i, e := range b.nets {
		if e == nil || e.qp.warm {
			continue
		}
		live[i], sweeps[i] = -1, e.qp.sweeps()
		count++
	}
	if count == 0 {
		return
	}
	n := b.n
	var g, c, l1, l2 [lanes][]float64
	for i, e := range b.full {
		g[i], c[i], l1[i], l2[i] = e.gram, e.qp.c, e.l1, e.l2
	}
	b.g = dense.Grow(b.g, n*n*lanes)
	dense.GrowAll(n*lanes, &b.rest, &b.l1, &b.r)
	dense.LaneRows(b.g, 1, &g, n*n)
	dense.LaneRows(b.rest, 1, &c, n)
	dense.LaneRows(b.l1, 1, &l1, n)
	dense.LaneRows(b.r, 1, &l2, n)
	b.x = dense.Zeros(b.x, n*lanes)
	going := live
	for sweep := 1; going != [lanes]float64{}; sweep++ {
		moved := dense.DescendLanes(b.x, b.rest, b.g, b.r, b.l1, n, &going)
		for i := range going {
			if moved>>i&1 == 0 || sweep >= sweeps[i] {
				going[i] = 0
			}
		}
	}
	dst := b.rows
	for i, e := range b.nets {
		if live[i] < 0 {
			dst[i] = e.qp.x
		}
	}
	dense.RowsOfLanes(&dst, b.x, n)
	for i, e := range b.nets {
		if live[i] < 0 {
			e.qp.activate()
		}
	}
}

// factor factorises and solves the active systems.
func (b *elasticNetBatch) factor() {
	b.size, b.regular = 0, [dense.LaneCount]bool{}
	for _, e := range b.full {
		b.size = max(b.size, len(e.qp.act))
	}
	if b.size == 0 {
		return
	}
	const lanes = dense.LaneCount
	n, size := b.n, b.size
	b.a, b.dinv, b.x = dense.Grow(b.a, size*(size+1)*lanes), dense.Grow(b.dinv, size*lanes), dense.Grow(b.x, size*lanes)
	b.r = dense.Grow(b.r, size*lanes)
	var systems, r [lanes][]float64
	for i, e := range b.full {
		systems[i], r[i] = e.gram, e.l2
	}
	dense.LaneRows(b.r, 1, &r, size)
	z := b.rows
	for i, e := range b.nets {
		if e != nil {
			systems[i], z[i] = b.system(i, &e.qp), e.qp.z
		}
	}
	dense.LaneRows(b.a[size*lanes:], size+1, &b.rows, size)
	dense.LaneUpper(b.a, &systems, n, b.r, size)
	var pivots [lanes]float64
	regular := dense.LDLLanes(b.a, b.dinv, b.x, &pivots, size, b.full[0].qp.pivotTol())
	dense.RowsOfLanes(&z, b.x, size)
	for i, e := range b.nets {
		if e == nil || regular>>i&1 == 0 {
			continue
		}
		q := &e.qp
		if q.bound = q.condBound(pivots[i]); !dense.Unsolvable(q.bound) {
			b.regular[i] = true
			q.batch, q.lane = b, i
			q.place(1)
		}
	}
}

// system returns the upper triangle of the active system of q, in rows of n. It sets lane i of r, and
// its row to the right-hand side.
func (b *elasticNetBatch) system(i int, q *piecewiseQP) []float64 {
	s, n, size := len(q.act), b.n, b.size
	rhs := b.rows[i]
	c, l1, sgn := q.c[:n], q.up[:n], q.sgn[:s]
	for k, j := range q.act {
		rhs[k] = c[j] - sgn[k]*l1[j] // as linear, whose kinks are the same on both sides here
	}
	if s == n {
		return q.g
	}
	clear(rhs[s:])
	for k := range size {
		b.r[k*dense.LaneCount+i] = 0
	}
	b.compact[i] = dense.Grow(b.compact[i], n*n)
	if s > 0 {
		dense.GatherUpper(b.compact[i], n, q.g, n, q.r, q.act)
	}
	dense.Pad(b.compact[i], n, s, size)
	return b.compact[i]
}

// vjp adds the products of up to dense.LaneCount items, with the factors of the last fit.
func (b *elasticNetBatch) vjp(w *qpdiff.Workspace, items []learn.BatchItem) {
	const lanes = dense.LaneCount
	b.nets, b.full = [lanes]*ElasticNet{}, [lanes]*ElasticNet{}
	var any *ElasticNet
	for i := range items {
		item := &items[i]
		if item.Err != nil {
			continue
		}
		e, ok := item.Learner.(*ElasticNet)
		if !ok || b.fits[i] == 0 || b.fits[i] != e.state.Fit || len(e.weak) > 0 || e.equal != nil {
			item.Err = item.Learner.VJP(w, item.Grad, item.DTheta)
			continue
		}
		if err := e.state.CheckAdjoint(item.Grad, item.DTheta); err != nil {
			item.Err = learner.Named(e, err)
			continue
		}
		b.nets[i], any = e, e
		s := len(e.qp.act)
		dense.Gather(b.rows[i][:s], item.DTheta, e.qp.act)
		clear(b.rows[i][s:])
	}
	if any == nil {
		return
	}
	var sides [lanes][]float64
	for i, e := range b.nets {
		if e == nil {
			e = any
		}
		sides[i] = e.qp.sgn[:b.size]
	}
	b.u, b.sides = dense.Grow(b.u, b.size*lanes), dense.Grow(b.sides, b.size*lanes)
	dense.LaneRows(b.u, 1, &b.rows, b.size)
	dense.LaneRows(b.sides, 1, &sides, b.size)
	dense.LDLLanesSolve(b.a, b.dinv, b.u, b.size)
	dense.RowsOfLanes(&b.rows, b.u, b.size)
	sum1, sum2 := dense.LaneSums(b.u, b.sides, b.x, b.size)
	for i, e := range b.nets {
		if e == nil {
			continue
		}
		g := items[i].Grad
		if !math.IsNaN(sum1[i]) && len(e.groups.of) == 0 && !e.qp.free && g.Hyper != nil && g.Y == nil && !learner.WantsRows(g) {
			// As penalisedQuadratic.addHyper.
			g.Hyper[0] -= sum1[i]
			g.Hyper[1] -= sum2[i]
			if !dense.AllFinite(g.Hyper) {
				items[i].Err = learner.Named(e, learner.CheckProduct(g))
			}
			continue
		}
		u := b.rows[i][:len(e.qp.act)]
		if unsolved(u) {
			items[i].Err = learner.Named(e, errUnsolved)
			continue
		}
		refused := !e.Generalised || e.blur > dense.HiddenTol
		d := qpdiff.Scratch[penalisedDerivative](w)
		items[i].Err = learner.Named(e, d.products(&e.elasticNetFit, g, &e.qp, u, refused))
	}
}
