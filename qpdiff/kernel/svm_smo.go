package kernel

import (
	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// Of n rows, some are set aside only if these are at least n/shrinkPart rows. For fewer rows, it
// would not pay to copy rows of the kernel matrix.
const shrinkPart = 6

// optimisePairs takes at most limit steps of sequential minimal optimisation. Each step moves a
// pair of β in opposite directions. Without the constraint Σβ = 0, a step moves a single β if this
// gains more than a pair.
func (q *boxQP) optimisePairs(limit int) {
	p := &q.pairs
	p.begin(q)
	for k := range limit {
		q.stopper.Look()
		// A step moves the β with the largest r among those that may rise, together with its best
		// partner. If moving a single β gains more, the step moves the best single β.
		single, gain, gap := -1, 0.0, 0.0
		if !q.balanced {
			single, gain, gap = p.bestSingle()
		}
		i, top := dense.Highest(p.r, p.beta, p.hi)
		j, bottom := -1, 0.0
		var row []float64
		if i >= 0 {
			row = p.row(i)
			least := pairCurvature * p.diag[i]
			at, pairGain, pairGap := dense.Steepest(top, p.diag[i], least, p.r, p.diag, row, p.beta, p.lo)
			if pairGain > gain {
				j = at
			}
			if q.balanced {
				gap = pairGap
			}
			bottom = top - pairGap
		}
		if gap <= pairTol {
			if p.rowIDs == nil {
				break
			}
			p.takeBack()
			continue
		}
		if q.n > limits.shrink && k%limits.searchInterval == limits.searchInterval-1 && i >= 0 && p.setAside(top, bottom) {
			continue // at other places
		}
		if j < 0 {
			p.shift(single, p.beta[single]+p.r[single]/p.diag[single])
			continue
		}
		h := max(p.diag[i]+p.diag[j]-2*row[j], pairCurvature*p.diag[i])
		t := min((top-p.r[j])/h, p.hi[i]-p.beta[i], p.beta[j]-p.lo[j])
		p.shift(i, p.beta[i]+t)
		p.shift(j, p.beta[j]-t)
	}
	p.takeBack()
	q.freeSet = q.freeSet[:0]
	for i, v := range q.beta {
		if v > q.lo[i] && v < q.hi[i] {
			q.freeSet = append(q.freeSet, i)
		}
	}
}

// begin starts the steps with all rows of q.
func (p *pairSteps) begin(q *boxQP) {
	p.boxQP = q
	p.useAll()
}

// useAll makes the steps use all rows.
func (p *pairSteps) useAll() {
	q := p.boxQP
	p.rowIDs = nil
	p.r, p.beta, p.lo, p.hi, p.diag = q.r, q.beta, q.lo, q.hi, q.diagonal
	if !q.balanced {
		p.minus, p.zeros = dense.Grow(p.minus, q.n), dense.Zeros(p.zeros, q.n)
	}
	if c := &q.rows.cache; q.rows.k == nil && c.width != q.n {
		c.begin(q.n, q.n)
	}
}

// storeBeta copies the β of the steps to q.
func (p *pairSteps) storeBeta() {
	for at, i := range p.rowIDs {
		p.boxQP.beta[i] = p.beta[at]
	}
}

// takeBack returns the rows that were set aside to the steps.
func (p *pairSteps) takeBack() {
	if p.rowIDs == nil {
		return
	}
	q := p.boxQP
	p.storeBeta()
	q.updateResidual() // with the β changed since the first rows were set aside
	for at, i := range p.rowIDs {
		q.r[i] = p.r[at]
	}
	p.useAll()
}

// row returns the kernel's values between all rows of the steps and the row at place i.
func (p *pairSteps) row(i int) []float64 {
	if p.rowIDs == nil && p.rows.k != nil {
		return p.rows.k[i*p.n : (i+1)*p.n]
	}
	if p.rowIDs != nil {
		i = p.rowIDs[i]
	}
	row := p.rows.cache.cachedRow(i)
	if row == nil {
		row = p.rows.cache.newRow(i)
		p.rows.gather(row, i, p.n, p.rowIDs)
	}
	return row
}

// shift sets the β at place i to v, clipped to the bounds of this β, and updates the residual r.
func (p *pairSteps) shift(i int, v float64) {
	if v = p.snap(v, p.lo[i], p.hi[i]); v != p.beta[i] {
		d := v - p.beta[i]
		p.beta[i] = v
		floats.AddScaled(p.r, -d, p.row(i))
		p.r[i] -= p.delta * d
	}
}

// setAside sets aside the rows at a bound that have no partner (Joachims 1999, "Making large-scale
// SVM learning practical"). A partner of such a row is another row: a step that moves the pair
// takes the row from its bound. setAside does nothing if there are few rows without a partner. The
// parameter largestRise is the largest r among the rows that may rise, and smallestFall is the
// smallest r among the rows that may fall. A row that was set aside may later get a partner, so
// exact steps check all rows.
func (p *pairSteps) setAside(largestRise, smallestFall float64) bool {
	if !p.balanced { // a β has a step of its own too
		largestRise, smallestFall = max(largestRise, 0), min(smallestFall, 0)
	}
	p.keptRows = dense.Grow(p.keptRows, len(p.r))[:0]
	for i, v := range p.r {
		if !(p.beta[i] == p.lo[i] && v < smallestFall || p.beta[i] == p.hi[i] && v > largestRise) {
			p.keptRows = append(p.keptRows, i)
		}
	}
	m := len(p.keptRows)
	if shrinkPart*m > (shrinkPart-1)*len(p.r) {
		return false
	}
	p.storeBeta()
	if c := &p.rows.cache; p.rowIDs == nil && p.rows.k != nil {
		c.begin(p.n, m)
	} else {
		c.keepColumns(p.keptRows)
	}
	for k, from := range []*[]float64{&p.r, &p.beta, &p.lo, &p.hi, &p.diag} {
		to := dense.Grow(p.copies[k], m)
		for at, i := range p.keptRows {
			to[at] = (*from)[i] // to and *from may share storage: at ≤ i
		}
		p.copies[k], *from = to, to
	}
	if p.rowIDs == nil {
		p.boxQP.oldBeta = append(p.boxQP.oldBeta[:0], p.boxQP.beta...)
		p.places = append(p.places[:0], p.keptRows...)
	} else {
		for at, i := range p.keptRows {
			p.places[at] = p.rowIDs[i]
		}
	}
	p.rowIDs = p.places[:m]
	return true
}

// mostPairs returns the largest number of steps of sequential minimal optimisation. This is
// minPairs, or a larger number if there are at least manyRows rows. The steps then cost less than
// the exact steps that they save.
func (q *boxQP) mostPairs(minPairs int) int {
	if q.n < manyRows {
		return minPairs
	}
	return max(minPairs, q.n*q.n/rowsPerRound)
}

// bestSingle returns the β that gains most if it moves alone, and the gain of this β. It also
// returns the largest |r| of the β that may move.
func (p *pairSteps) bestSingle() (at int, gain, gap float64) {
	minus, zeros := p.minus[:len(p.r)], p.zeros[:len(p.r)]
	floats.ScaleTo(minus, -1, p.r)
	at, gain, gap = dense.Steepest(0, 0, 0, minus, p.diag, zeros, p.hi, p.beta)
	down, g, most := dense.Steepest(0, 0, 0, p.r, p.diag, zeros, p.beta, p.lo)
	if g > gain {
		at, gain = down, g
	}
	return at, gain, max(gap, most)
}
