package margin

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"cvgm/qpdiff/internal/dense"
)

// collect lists the kinks between the start and the end of a step. It returns the largest change of
// a margin along the step, and the number of kinks.
func (p *marginSolver) collect() (moved float64, crossed int) {
	at := norm2(p.theta)
	size := at + norm2(p.dir[:len(p.act)])
	n := p.n // assigned after the calls, so that the loops have it in a register
	p.kinks = p.kinks[:0]
	d := p.dir[:len(p.act)]
	for i, side := range p.side {
		z := p.z[i*n : (i+1)*n]
		var v float64
		for k, j := range p.act {
			v += z[j] * d[k]
		}
		p.dm[i] = v
		moved = max(moved, math.Abs(v))
		if side == 0 || v*float64(side) >= 0 || math.Abs(v) <= stillTol*p.norm[i]*size {
			continue
		}
		if t := atStart(1-p.m[i], v, 1+p.norm[i]*at); t < 1 {
			p.kinks = append(p.kinks, kink{id: i, t: t, jump: p.Copies[i] * p.hinge * math.Abs(v)})
		}
	}
	for k, j := range p.act {
		v := d[k]
		if v*p.sgn[k] >= 0 || math.Abs(v) <= stillTol*size {
			continue
		}
		if t := atStart(-p.theta[j], v, at); t < 1 {
			p.kinks = append(p.kinks, kink{id: p.rows + j, t: t, jump: 2 * p.l1 * math.Abs(v)})
		}
	}
	return moved, len(p.kinks)
}

// atStart returns t = dist/v, the length at which a step reaches a kink. The parameter dist is the
// distance of a margin or coordinate from its kink, and v is its change along the whole step. If
// dist is 0 up to the rounding of terms of the size termSize, atStart returns 0. Several kinks may
// have t = 0; they are passed in the order of their ids.
func atStart(dist, v, termSize float64) float64 {
	t := dist / v
	if t < stillTol && math.Abs(dist) <= stillTol*termSize {
		return 0
	}
	return t
}

// search returns t, the step length at which the objective stops falling. It removes from p.kinks
// the kinks at or beyond t. The result kinkID is the id of the kink at t. If t is between kinks,
// kinkID is −1.
func (p *marginSolver) search(moved float64) (t float64, kinkID int, ok bool) {
	slices.SortFunc(p.kinks, func(a, b kink) int {
		return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.id, b.id))
	})
	d := p.dir[:len(p.act)]
	c := p.l2 * dense.Dot(d, d)
	if p.curved {
		if moved > quadraticStep {
			return p.searchCurved()
		}
		c = p.decrement
	}
	var jumps float64
	for k, kk := range p.kinks {
		if c*(kk.t-1)+jumps >= 0 {
			p.kinks = p.kinks[:k]
			break
		}
		jumps += kk.jump
		if c*(kk.t-1)+jumps >= 0 {
			p.kinks = p.kinks[:k]
			return kk.t, kk.id, true
		}
	}
	return 1 - jumps/c, -1, true
}

// searchCurved does the work of search if the slope is not linear between kinks.
func (p *marginSolver) searchCurved() (t float64, kinkID int, ok bool) {
	d := p.dir[:len(p.act)]
	var atZero, dd float64 // the slope of the linear and quadratic terms at the start of the step, and the growth of this slope
	for k, j := range p.act {
		atZero += (p.l2*p.theta[j] + p.l1*p.sgn[k]) * d[k]
		dd += p.l2 * d[k] * d[k]
	}
	for i, side := range p.side {
		if side < 0 {
			atZero -= p.Copies[i] * p.hinge * p.dm[i]
		}
	}
	smoothSlope := func(t float64) float64 {
		s := atZero + t*dd
		for i, v := range p.dm {
			if v != 0 && p.side[i] != 0 {
				m := p.m[i] + t*v
				f, _ := p.smoothLoss(m, m < 1)
				s += p.Copies[i] * f * v
			}
		}
		return s
	}
	var jumps float64
	for i := range p.kinks {
		p.kinks[i].jumpsBefore = jumps
		jumps += p.kinks[i].jump
	}
	start := smoothSlope(0)
	if end := smoothSlope(1) + jumps; end <= 0 || end <= marginTol*math.Abs(start) {
		return 1, -1, true
	}
	// The search looks for the first kink after which the slope is not negative.
	jumps = 0
	lo, hi := 0.0, 1.0
	for k := p.passedKinks(smoothSlope); k < len(p.kinks); k++ {
		kk := p.kinks[k]
		jumps = kk.jumpsBefore
		if k > 0 {
			lo = p.kinks[k-1].t
		}
		s := smoothSlope(kk.t) + jumps
		if s >= 0 {
			hi = kk.t
			p.kinks = p.kinks[:k]
			break
		}
		jumps += kk.jump
		lo = kk.t
		if s+kk.jump >= 0 {
			p.kinks = p.kinks[:k]
			return kk.t, kk.id, true
		}
	}
	for range maxBisections {
		t = (lo + hi) / 2
		switch s := smoothSlope(t) + jumps; {
		case s > 0:
			hi = t
		case s < sufficientSlope*start:
			lo = t
		default:
			return t, -1, true
		}
	}
	// A step of length 0 that passes no kink changes nothing. Without this case, it would be taken
	// again and again.
	return lo, -1, dense.Finite(start) && (lo > 0 || len(p.kinks) > 0)
}

// fewKinks is the largest number of kinks that searchCurved examines one after the other. Each kink
// costs a pass over the rows.
const fewKinks = 8

// passedKinks returns a number of kinks that searchCurved can skip, because the slope is still
// negative after each of them. If there are few kinks, it returns 0. The function smoothSlope
// returns the slope without the jumps at the kinks. Each jump increases the slope.
func (p *marginSolver) passedKinks(smoothSlope func(t float64) float64) int {
	beyond := func(k int) bool {
		p.stopper.Look()
		return smoothSlope(p.kinks[k].t)+p.kinks[k].jumpsBefore+p.kinks[k].jump >= 0
	}
	from, to := 0, fewKinks
	for ; to < len(p.kinks) && !beyond(to-1); to *= 2 {
		from = to
	}
	if from == 0 {
		return 0
	}
	return from + sort.Search(min(to, len(p.kinks))-1-from, func(k int) bool { return beyond(from + k) })
}

// crossKinks updates the face after a step: it accounts for the kinks that the step has passed, and
// for the kink with the id kinkID, at which the step has ended.
func (p *marginSolver) crossKinks(kinkID int) {
	for _, k := range p.kinks {
		if k.id < p.rows {
			p.side[k.id] = -p.side[k.id]
		} else {
			s := &p.sgn[p.pos[k.id-p.rows]]
			*s = -*s
		}
	}
	switch {
	case kinkID >= p.rows:
		p.dropCoordinate(kinkID - p.rows)
	case kinkID >= 0 && p.hinge > 0:
		p.m[kinkID] = 1
		p.holdOnElbow(kinkID)
	case kinkID >= 0:
		p.side[kinkID] = -p.side[kinkID]
	}
}
