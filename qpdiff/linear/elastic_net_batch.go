package linear

import (
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
)

// Batch implements [learn.BatchLearner]. On a processor with vector units, four nets with up to 15
// features each are fitted together. Each net has one lane of the vectors. A batch has several sets
// of four nets.
func (e *ElasticNet) Batch(l learn.Learner, s learn.Size) int {
	_, own := l.(*ElasticNet)
	if own && dense.LanesPay() && s.Features <= dense.LaneMost && !s.Sparse && !ways.WorkingSet(s.Rows, s.Features) {
		return batchSets * dense.LaneCount
	}
	return 1
}

// batchSets is the number of sets of lanes in a batch. While one set is fitted, the memory of the
// next ones is fetched.
const batchSets = 4

// FitBatch implements [learn.BatchLearner].
func (e *ElasticNet) FitBatch(w *qpdiff.Workspace, batch []learn.BatchItem, hyper []float64) {
	b := qpdiff.Scratch[elasticNetBatch](w)
	prefetchNets(batch)
	for k := 0; len(batch) > 0; k++ {
		items := batch[:min(dense.LaneCount, len(batch))]
		batch = batch[len(items):]
		prefetchVectors(batch)
		b.use(k)
		b.fit(items, hyper)
	}
}

// VJPBatch implements [learn.BatchLearner].
func (e *ElasticNet) VJPBatch(w *qpdiff.Workspace, batch []learn.BatchItem) {
	b := qpdiff.Scratch[elasticNetBatch](w)
	k := 0
	for items := range slices.Chunk(batch, dense.LaneCount) {
		b.use(k)
		b.vjp(w, items)
		k++
	}
}

// netEntries is the size, in float64s, of the part of an ElasticNet that is read if nets are fitted
// in lanes.
const netEntries = 107

// prefetchNets fetches the nets of the items, without their vectors.
func prefetchNets(items []learn.BatchItem) {
	for i := range items {
		if e, ok := items[i].Learner.(*ElasticNet); ok {
			dense.Prefetch(&e.allZeroAbove, netEntries)
		}
	}
}

// prefetchVectors fetches the vectors of the next set of nets. The items of this set come first in
// the slice.
func prefetchVectors(items []learn.BatchItem) {
	for i := range items[:min(dense.LaneCount, len(items))] {
		if e, ok := items[i].Learner.(*ElasticNet); ok && e.workSet == nil && e.n > 0 {
			dense.Prefetch(&e.gram[0], e.n*(e.n+hotVectors))
			if theta := items[i].Theta; len(theta) > 0 {
				dense.Prefetch(&theta[0], 2*len(theta)) // and DTheta, if it follows
			}
		}
	}
}

// use makes set k the set of the next fit or product.
func (b *elasticNetBatch) use(k int) {
	for len(b.sets) <= k {
		b.sets = append(b.sets, new(laneSet))
	}
	b.laneSet = b.sets[k]
}

// elasticNetBatch is the scratch of elastic nets that are solved together. Each net has one lane of
// the vectors, and its results have the same bits as in a single fit.
type elasticNetBatch struct {
	// the net of each lane; nil if the net of this lane's item is solved alone
	nets       [dense.LaneCount]*ElasticNet
	isFactored [dense.LaneCount]bool        // a and dinv hold the factor of this lane's system
	fullNets   [dense.LaneCount]*ElasticNet // as nets, with any other net in place of nil
	n          int                          // coordinates
	*laneSet
	sets            []*laneSet
	r               []float64                  // penalties on the diagonal
	rows            [dense.LaneCount][]float64 // a vector of each net
	compactSystems  [dense.LaneCount][]float64 // the systems of nets that leave coordinates out
	g               []float64                  // all entries of G, for the descent
	descentRest, l1 []float64                  // likewise
	u               []float64                  // solutions of the derivatives
}

// laneSet holds the results of a set of lanes, which the products read.
type laneSet struct {
	fits [dense.LaneCount]uint64 // number of the fit of each lane, or 0
	laneFactors
	x []float64 // solutions
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
		if !ok || e.state.Data.X == nil || e.workSet != nil || e.n > dense.LaneMost || b.n > 0 && e.n != b.n {
			item.Err = item.Learner.Fit(item.Theta, hyper)
			continue
		}
		if err := e.state.Stop.Err(); err != nil {
			item.Err = learner.Ended(e, err)
			continue
		}
		if err := e.startFit(e.Groups, item.Theta, hyper); err != nil {
			item.Err = learner.Named(e, err)
			continue
		}
		if e.qp.stopper != nil { // fits of this size end soon, so they do not check the context
			e.qp.setStopper(nil)
		}
		e.start()
		b.nets[i], b.n = e, e.n
		any = e
	}
	if any == nil {
		return
	}
	b.fullNets = b.nets
	for i := range b.rows {
		b.rows[i] = dense.Grow(b.rows[i], b.n)
		if b.fullNets[i] == nil {
			b.fullNets[i] = any
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
		e.qp.lanes = nil
		items[i].Err = learner.Named(e, e.end(items[i].Theta, err))
		if b.isFactored[i] {
			b.fits[i] = e.state.Fit
		}
	}
}

// search runs the searches of all nets. Every net takes part in every factorisation until the last
// net is solved. At the end of search, the factors of all nets therefore belong to their solutions.
func (b *elasticNetBatch) search(items []learn.BatchItem) {
	var searching [dense.LaneCount]bool
	steps := 0
	for i, e := range b.nets {
		if e != nil {
			e.qp.startSolve(!e.qp.isWarm)
			searching[i], steps = true, e.qp.mostSteps()
		}
	}
	for ; searching != [dense.LaneCount]bool{}; steps-- {
		b.factor()
		for i, e := range b.nets {
			if !searching[i] {
				continue
			}
			e.qp.laneReady = b.isFactored[i]
			done, err := e.qp.step()
			if !done && err == nil && steps == 1 {
				err = errNoActiveSet
			}
			items[i].Err = err
			searching[i] = !done && err == nil
		}
	}
}

// descend runs coordinate descent for those nets that have no warm start. The x of these nets is
// zero: see reset.
func (b *elasticNetBatch) descend() {
	const lanes = dense.LaneCount
	var live [lanes]float64
	var sweeps [lanes]int
	count := 0
	for i, e := range b.nets {
		if e == nil || e.qp.isWarm {
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
	for i, e := range b.fullNets {
		g[i], c[i], l1[i], l2[i] = e.gram, e.qp.c, e.l1, e.l2
	}
	b.g = dense.Grow(b.g, n*n*lanes)
	dense.GrowAll(n*lanes, &b.descentRest, &b.l1, &b.r)
	dense.LaneRows(b.g, 1, &g, n*n)
	dense.LaneRows(b.descentRest, 1, &c, n)
	dense.LaneRows(b.l1, 1, &l1, n)
	dense.LaneRows(b.r, 1, &l2, n)
	b.x = dense.Zeros(b.x, n*lanes)
	going := live
	for sweep := 1; going != [lanes]float64{}; sweep++ {
		moved := dense.DescendLanes(b.x, b.descentRest, b.g, b.r, b.l1, n, &going)
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
	b.size, b.isFactored = 0, [dense.LaneCount]bool{}
	for _, e := range b.fullNets {
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
	for i, e := range b.fullNets {
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
	regular := dense.LDLLanes(b.a, b.dinv, b.x, &pivots, size, b.fullNets[0].qp.pivotTol())
	dense.RowsOfLanes(&z, b.x, size)
	for i, e := range b.nets {
		if e == nil || regular>>i&1 == 0 {
			continue
		}
		q := &e.qp
		if q.conditionBound = q.condBound(pivots[i]); !dense.Unsolvable(q.conditionBound) {
			b.isFactored[i] = true
			q.lanes, q.lane = &b.laneFactors, i
			q.setInLanes(1)
		}
	}
}

// system returns the upper triangle of the active system of q, in rows of n entries, and writes the
// right-hand side to rows[i]. If some coordinates are not active, it also sets the penalties of net
// i in the field r to 0.
func (b *elasticNetBatch) system(i int, q *piecewiseQP) []float64 {
	s, n, size := len(q.act), b.n, b.size
	rhs := b.rows[i]
	c, l1, sgn := q.c[:n], q.up[:n], q.sgn[:s]
	if s == n {
		rhs, l1, sgn := rhs[:len(c)], l1[:len(c)], sgn[:len(c)]
		for k, v := range c {
			rhs[k] = v - sgn[k]*l1[k] // as linearSlope, whose kinks are the same on both sides here
		}
		return q.g
	}
	for k, j := range q.act {
		rhs[k] = c[j] - sgn[k]*l1[j]
	}
	clear(rhs[s:])
	for k := range size {
		b.r[k*dense.LaneCount+i] = 0
	}
	b.compactSystems[i] = dense.Grow(b.compactSystems[i], n*n)
	if s > 0 {
		dense.GatherUpper(b.compactSystems[i], n, q.g, n, q.r, q.act)
	}
	dense.Pad(b.compactSystems[i], n, s, size)
	return b.compactSystems[i]
}

// vjp adds the vector-Jacobian products of the items, of which there are at most dense.LaneCount.
// It uses the factors of the last fit.
func (b *elasticNetBatch) vjp(w *qpdiff.Workspace, items []learn.BatchItem) {
	const lanes = dense.LaneCount
	var nets [lanes]*ElasticNet // as b.nets
	var right [lanes][]float64
	var plain [lanes]bool // only the sums are needed
	any := -1
	for i := range nets {
		if i >= len(items) {
			break
		}
		item := &items[i]
		if item.Err != nil {
			continue
		}
		e, ok := item.Learner.(*ElasticNet)
		if !ok || b.fits[i] == 0 || b.fits[i] != e.state.Fit || len(e.weakPenalised) > 0 || e.equalFeatures != nil {
			item.Err = item.Learner.VJP(w, item.Grad, item.DTheta)
			continue
		}
		act, hyperAlone := e.qp.act, e.state.HyperAlone(item.Grad, item.DTheta)
		all := len(act) == e.n
		// If all coordinates are active, DTheta need not be checked here: an entry that is not finite
		// enters the sums below, which are checked.
		if !hyperAlone || !all && !dense.AllFinite(item.DTheta) {
			if err := e.state.CheckAdjoint(item.Grad, item.DTheta); err != nil {
				item.Err = learner.Named(e, err)
				continue
			}
		}
		side := item.DTheta
		if !all {
			side = dense.Grow(b.rows[i], b.size) // the last fit may have had fewer coordinates
			dense.Gather(side[:len(act)], item.DTheta, act)
			clear(side[len(act):])
			b.rows[i] = side
		}
		nets[i], right[i], plain[i], any = e, side, hyperAlone && len(e.groups.of) == 0 && !e.qp.hasFree, i
	}
	if any < 0 {
		return
	}
	for i := range right {
		if right[i] == nil {
			right[i] = right[any]
		}
	}
	b.u = dense.Grow(b.u, b.size*lanes)
	dense.LaneRows(b.u, 1, &right, b.size)
	dense.LDLLanesSolve(b.a, b.dinv, b.u, b.size)
	var sums [2][lanes]float64
	dense.LaneSums(&sums, b.u, b.x, b.size) // each active coordinate has the sign of its side
	for i, e := range nets {
		if e == nil {
			continue
		}
		item := &items[i]
		if plain[i] {
			// As penalisedQuadratic.addHyper.
			h := item.Grad.Hyper
			d1, d2 := h[0]-sums[0][i], h[1]-sums[1][i]
			if dense.Finite(d1) && dense.Finite(d2) {
				h[0], h[1] = d1, d2
				continue
			}
		}
		if plain[i] || !dense.Finite(sums[0][i]) {
			item.Err = e.VJP(w, item.Grad, item.DTheta)
			continue
		}
		u := dense.Grow(b.rows[i], len(e.qp.act))
		for k := range u {
			u[k] = b.u[k*lanes+i]
		}
		refused := !e.Generalised || e.blur > dense.HiddenTol
		d := qpdiff.Scratch[penalisedDerivative](w)
		item.Err = learner.Named(e, d.products(&e.elasticNetFit, item.Grad, &e.qp, u, refused))
	}
}
