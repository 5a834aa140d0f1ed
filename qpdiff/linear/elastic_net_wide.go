package linear

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/sparse"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// sumsWorking computes the weighted sums over the rows of d for all features.
func (e *elasticNetFit) sumsWorking(d learn.Data) (root, xty []float64) {
	s := e.workSet
	s.renew(&e.qp)
	clear(s.root)
	clear(s.xty)
	e.total = 0
	yy, least := 0.0, math.Inf(1)
	for _, i := range s.counting {
		c, y := dense.CountAt(e.counts, i), d.Y[i]
		if c == 0 {
			continue
		}
		if e.qp.sparse == nil {
			x := seen(s.slope, d, i) // which the next solve sets anew
			floats.AddScaled(s.xty, c*y, x)
			for j, v := range x {
				s.root[j] += c * v * v
			}
		}
		e.total += c
		yy += c * y * y
		least = min(least, c)
	}
	e.inv, e.weightSpread = 1/e.total, e.total/least
	e.rmsY = math.Sqrt(yy * e.inv)
	e.qp.inv = e.inv
	if e.qp.sparse != nil {
		e.sumsSparse(d)
	}
	floats.Scale(e.inv, s.xty)
	for j, v := range s.root {
		s.root[j] = math.Sqrt(v * e.inv)
	}
	return s.root, s.xty
}

// seen returns row i of a dense X, centred and scaled by d.Centre and d.Scale. If d neither centres
// nor scales, the result is a view of X. Otherwise seen writes the result to its first argument.
func seen(row []float64, d learn.Data, i int) []float64 {
	x := d.Dense().RawRowView(i)
	if d.Centre == nil && d.Scale == nil {
		return x
	}
	return learner.See(row, &d, x)
}

// seenEntries returns the entries of a row x at the given features, centred and scaled, in the
// order of the features.
func (e *elasticNetFit) seenEntries(x []float64, features []int) []float64 {
	centre, scale := e.state.Data.Centre, e.state.Data.Scale
	e.row = dense.Grow(e.row, len(features))
	for i, j := range features {
		v := x[j]
		if centre != nil {
			v -= centre[j]
		}
		if scale != nil {
			v /= scale[j]
		}
		e.row[i] = v
	}
	return e.row
}

// sumsSparse computes the sums of sumsWorking for a sparse X. It does not divide them by N.
func (e *elasticNetFit) sumsSparse(d learn.Data) {
	s := e.workSet
	roots := s.residual
	for i := range roots {
		roots[i] = math.Sqrt(dense.CountAt(e.counts, i))
	}
	e.sparse.Load(d, roots)
	floats.Mul(roots, d.Y)
	e.sparse.AddTransposed(s.xty, 1, roots)
	for j := range s.root {
		s.root[j] = max(0, e.sparse.Square(j))
		s.diag[j] = e.inv * s.root[j]
	}
}

// If a working set is too small, the solution on this set is not needed. Therefore the slopes are
// computed after earlySteps exact steps, to find out whether the set has to grow.
const earlySteps = 6

// solveWorking solves the problem on working sets. The working set grows until the kinks certainly
// hold all features outside the set at zero. This is certain for a feature if its kink is stronger
// than its slope by more than the rounding error.
func (e *elasticNetFit) solveWorking() error {
	s := e.workSet
	s.startFromPast(e.rmsY)
	warm, most, done := s.warm, earlySteps, false
	for s.warm = false; ; warm = true {
		err := e.changeSet()
		if err != nil {
			return err
		}
		e.qp.isWarm, e.qp.hasNewCoordinates = warm, done
		e.passVectors()
		done, err = e.qp.advance(most)
		if err != nil {
			return err
		}
		if e.slopes(); !dense.Finite(s.fitSize) {
			return errSolutionOverflows
		}
		e.growSet(done)
		if most = earlySteps; len(s.entering) > 0 {
			continue
		}
		if !done {
			most = math.MaxInt
			continue
		}
		if q := &e.qp; q.iterative {
			if k, ok := q.isRegular(); !ok {
				return q.errOpen(q.act[k])
			}
		}
		s.warm = true
		s.remember(e.inv / 2 * floats.Dot(s.residual, s.residual))
		return nil
	}
}

// passVectors passes two vectors to the quadratic problem, v = Cx and u at the point x. It does
// this only if the method slopes has computed v and u at this x.
func (e *elasticNetFit) passVectors() {
	s, q := e.workSet, &e.qp
	if q.dualKnown = s.slopesValid && q.sparse == nil && q.g == nil; !q.dualKnown {
		return
	}
	q.dual = dense.Grow(q.dual, 2*e.rows)
	for k, i := range s.counting {
		q.dual[k] = math.Sqrt(dense.CountAt(e.counts, i))*e.state.Data.Y[i] - s.residual[k]
	}
	dense.Gather(q.grad, s.slope, s.features)
}

// growSet chooses the features that enter the set. If the set has more features than there are
// rows, all features may enter at once, because the systems then have one unknown for each row. The
// argument solved is true if the problem on the set is solved. If solved is true and no other
// feature enters, growSet also chooses features for which rounding hides the side of the kink.
func (e *elasticNetFit) growSet(solved bool) {
	s := e.workSet
	most := max(firstFeatures, len(s.features))
	if len(s.features) > e.rows && e.qp.byRows() {
		most = len(s.inSet)
	}
	if s.entering = s.violators(s.entering[:0], most); len(s.entering) == 0 && solved {
		s.entering = e.undecidedFeatures(s.entering)
	}
}

// undecidedFeatures returns those features that are not in the working set but may be weakly
// active. It stores them in the slice enter. Once these features are in the set, listWeak and
// retest decide whether they are weakly active. The bound for a slope follows from retest: the
// error of a slope is at most the size of its terms times 1 + √(s·cond). Here s is the number of
// features in the support, and cond the condition of the active system.
func (e *elasticNetFit) undecidedFeatures(enter []int) []int {
	s, q := e.workSet, &e.qp
	list := func(cond float64) {
		enter = enter[:0]
		for j, in := range s.inSet {
			size := s.root[j] * s.fitSize
			if !in && dense.Negligible(s.l1[j]-math.Abs(s.slope[j]), s.l1[j]+size, 1+math.Sqrt(float64(len(q.act))*cond)) {
				enter = append(enter, j)
			}
		}
	}
	if list(q.conditionBound); len(enter) > 0 {
		list(q.cond())
	}
	return enter
}

// slopes sets theta from the solution on the working set. For all features, it computes the slope
// of the squared error at theta, with the opposite sign.
func (e *elasticNetFit) slopes() {
	s := e.workSet
	clear(s.theta)
	dense.Scatter(s.theta, e.qp.x, s.features)
	s.slopesValid = true
	for k, i := range s.counting {
		s.residual[k] = math.Sqrt(dense.CountAt(e.counts, i)) * e.state.Data.Y[i]
	}
	s.fitSize = e.rmsY
	spread, fit := 0.0, dense.Sum{Dst: s.residual}
	for k, t := range e.qp.x {
		if t == 0 {
			continue
		}
		s.fitSize += e.root[k] * math.Abs(t)
		if e.qp.sparse != nil {
			spread += e.sparse.Add(s.residual, -t, s.features[k])
		} else {
			fit.Add(-t, e.qp.column(k))
		}
	}
	fit.End()
	clear(s.slope)
	if e.qp.sparse != nil {
		e.sparse.Spread(s.residual, spread)
		e.sparse.AddTransposed(s.slope, e.inv, s.residual)
		return
	}
	d := e.state.Data
	rows, slope := d.Dense(), dense.Sum{Dst: s.slope, Less: d.Centre}
	for k, r := range s.residual {
		i := s.counting[k]
		slope.Add(r*math.Sqrt(dense.CountAt(e.counts, i))*e.inv, rows.RawRowView(i))
	}
	slope.End()
	for j, c := range d.Scale {
		s.slope[j] /= c
	}
}

// changeSet adds the entering features to the working set, and replaces the coordinates of the
// quadratic problem by the features of the new set. The problem then starts at theta. changeSet
// keeps the columns and Gram entries that exist already. It returns an error if the set needs more
// than Data.MaxBytes.
func (e *elasticNetFit) changeSet() error {
	s := e.workSet
	for _, j := range s.entering {
		s.inSet[j] = true
	}
	s.oldFeatures = append(s.oldFeatures[:0], s.features...)
	s.features = s.features[:0]
	for j, in := range s.inSet {
		if in {
			s.features = append(s.features, j)
		}
	}
	e.qp.features = s.features
	gradients := e.qp.sparse != nil && ways.Gradients(len(s.features), s.penalty())
	if e.n != len(s.features) || gradients != s.gradients || !slices.Equal(s.features, s.oldFeatures) {
		s.gradients = gradients
		if err := e.makeRoom(); err != nil {
			return err
		}
		e.gatherSet()
	}
	e.groups.of, e.groups.count = e.groups.of[:0], s.groups.count
	for k, j := range s.features {
		e.l1[k], e.l2[k], e.qp.x[k] = s.l1[j], s.l2[j], s.theta[j]
		if len(s.groups.of) > 0 {
			e.groups.of = append(e.groups.of, s.groups.of[j])
		}
	}
	return nil
}

// makeRoom returns an error if the set needs more than Data.MaxBytes. Otherwise it sets the bound
// of the set's active systems. If the memory does not suffice at first, makeRoom releases the
// storage of earlier sets and counts again.
func (e *elasticNetFit) makeRoom() error {
	s, most := e.workSet, e.state.Data.MaxBytes
	exceeds := func() error {
		return learner.Exceeds(learner.Entries(e.heldEntries()), most, learn.Size{Rows: e.rows, Features: len(s.features)})
	}
	if exceeds() != nil {
		s.release(&e.qp)
		e.gram = nil
		if err := exceeds(); err != nil {
			return err
		}
	}
	s.maxFeatures = max(s.maxFeatures, len(s.features))
	e.qp.limitSupport(e.heldEntries(), most)
	return nil
}

// heldEntries returns the number of entries that the working set will hold, not counting its active
// systems. It includes the storage kept from a larger set, and a Gram matrix that is no longer
// used.
func (e *elasticNetFit) heldEntries() float64 {
	s, rows := e.workSet, float64(e.rows)
	set := float64(max(s.maxFeatures, len(s.features)))
	if e.qp.sparse != nil {
		return e.sparseHeld(set)
	}
	fetched := s.roomCount - len(s.spareRooms)
	for _, j := range s.features {
		if e.qp.columns[j] == nil {
			fetched++
		}
	}
	return workingEntries(rows, float64(e.params), set, float64(max(fetched, s.roomCount))) + float64(len(e.counts)) +
		max(gramEntries(rows, float64(len(s.features))), float64(cap(e.gram)))
}

// sparseHeld is the branch of held for sparse columns.
func (e *elasticNetFit) sparseHeld(set float64) float64 {
	rows, n := float64(e.rows), float64(e.params)
	gram := float64(cap(e.gram))
	if !ways.Gradients(int(set), 0) {
		gram = max(gram, 2.25*set*set)
	}
	return sparse.Entries(rows, n, float64(e.sparse.Stored())) + setEntries(rows, n, set) + gram + sparse.SolveEntries(rows, set) + float64(len(e.counts))
}

// gatherSet copies the data of the working set's features into the quadratic problem.
func (e *elasticNetFit) gatherSet() {
	s, q, n, was := e.workSet, &e.qp, len(e.workSet.features), len(e.workSet.oldFeatures)
	cached := len(q.g) > 0
	e.resize(n)
	e.fetch()
	q.g, q.diag = nil, dense.Grow(q.diag, n)
	s.oldPlaces, s.newPlaces = s.oldPlaces[:0], s.newPlaces[:0]
	next := 0
	for k, j := range s.features {
		for next < was && s.oldFeatures[next] < j {
			next++
		}
		if cached && next < was && s.oldFeatures[next] == j {
			s.oldPlaces, s.newPlaces = append(s.oldPlaces, next), append(s.newPlaces, k)
		}
		e.root[k], e.xty[k], q.diag[k] = s.root[j], s.xty[j], s.diag[j]
	}
	if q.sparse == nil && n > gramPerRow*e.rows || s.gradients {
		return
	}
	e.gram = rearrange(e.gram, was, n, s.oldPlaces, s.newPlaces)
	q.g = e.gram
	if q.sparse != nil {
		q.fit = dense.Zeros(q.fit, q.rows)
	}
	kept := 0
	for k := range n {
		if dense.IsNext(s.newPlaces, &kept, k) {
			continue
		}
		q.stopper.Look()
		// The slice s.productPlaces gets all features before this one. It also gets those later features
		// whose products are kept.
		s.productPlaces = s.productPlaces[:0]
		for l := range k + 1 {
			s.productPlaces = append(s.productPlaces, l)
		}
		s.productPlaces = append(s.productPlaces, s.newPlaces[kept:]...)
		row := e.gram[k*n : (k+1)*n]
		q.rowOf(row, k, s.productPlaces)
		for _, l := range s.productPlaces {
			e.gram[l*n+k] = row[l]
		}
	}
}

// rearrange makes an n×n matrix from the oldSize×oldSize matrix g. Entry (oldPlaces[a],
// oldPlaces[b]) of g becomes entry (newPlaces[a], newPlaces[b]) of the result; the other entries of
// the result are undefined. Both lists ascend. The result uses g's storage if this storage is large
// enough.
func rearrange(g []float64, oldSize, n int, oldPlaces, newPlaces []int) []float64 {
	// The entries that stay are first moved forward, to a dense matrix. Then they are moved backward
	// to their new places. So no entry is overwritten before it has moved.
	m := len(oldPlaces)
	if m < oldSize {
		for a, i := range oldPlaces {
			newPlaces, row := g[a*m:a*m+m], g[i*oldSize:i*oldSize+oldSize]
			for b, j := range oldPlaces {
				newPlaces[b] = row[j]
			}
		}
	}
	if cap(g) < n*n {
		g = append(make([]float64, 0, n*n), g[:m*m]...)
	}
	g = g[:n*n]
	for a := m - 1; a >= 0 && m < n; a-- {
		row, out := g[a*m:a*m+m], g[newPlaces[a]*n:newPlaces[a]*n+n]
		for b := m - 1; b >= 0; b-- {
			out[newPlaces[b]] = row[b]
		}
	}
	return g
}

// fetch copies the columns of those features in the set that have no copy yet. It multiplies each
// entry by the square root of its row's weight.
func (e *elasticNetFit) fetch() {
	s, q := e.workSet, &e.qp
	if q.sparse != nil {
		return
	}
	s.entering = dense.Grow(s.entering, len(s.features))[:0]
	for _, j := range s.features {
		if q.columns[j] == nil {
			s.entering = append(s.entering, j)
		}
	}
	s.room(q)
	// The loop copies one block of features after the other. In each block, it copies row by row,
	// in the order of the data.
	for enter := s.entering; len(enter) > 0; {
		block := enter[:min(fetchBlock, len(enter))]
		x := e.state.Data.Dense()
		for k, i := range s.counting {
			row, root := e.seenEntries(x.RawRowView(i), block), math.Sqrt(dense.CountAt(e.counts, i))
			for at, j := range block {
				q.columns[j][k] = root * row[at]
			}
		}
		enter = enter[len(block):]
	}
	for _, j := range s.entering {
		c := q.columns[j]
		s.diag[j] = e.inv * floats.Dot(c, c)
	}
}
