package margin

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
)

// solve moves theta to the solution.
func (p *marginSolver) solve() error {
	p.solved, p.factored.known, p.rounds = false, false, 0
	p.curved = p.smooth != [3]float64{}
	if p.warm && p.resume() {
		if err := p.primal(); err == nil {
			return nil
		}
	}
	p.warm = false
	if p.descend() && p.fromFeasible(p.limit()) && p.primal() == nil {
		return nil
	}
	return p.fromZero()
}

// fromZero finds the solution from θ = 0.
func (p *marginSolver) fromZero() error {
	p.factored.known = false
	clear(p.theta)
	clear(p.m)
	dense.Fill(p.side, -1)
	p.elbow = p.elbow[:0]
	p.support(p.theta, p.l1)
	return p.primal()
}

// resume moves θ to the minimiser of the present problem on the face of the last solution. With ℓ
// it takes one Newton step towards this minimiser. resume reports whether the search can start
// there.
func (p *marginSolver) resume() bool {
	if p.hinge == 0 {
		for _, i := range p.elbow {
			p.side[i] = -1
		}
		p.elbow = p.elbow[:0]
	}
	p.margins()
	p.support(p.theta, p.l1)
	if !p.newtonStep() {
		return false
	}
	p.advance(1)
	p.margins()
	p.support(p.theta, p.l1)
	for i, m := range p.m {
		if p.side[i] != 0 {
			p.side[i] = sideIf(m < 1)
		}
	}
	// After a change of the data, this start can have a larger objective than θ = 0.
	return p.objective(p.theta, p.m) <= p.total*(p.hinge+p.smooth[0]+p.smooth[1]+p.smooth[2]*math.Ln2)
}

// limit returns the value of p.rounds at which the solve fails.
func (p *marginSolver) limit() int { return p.rounds + fixedRounds + kinkRounds*(p.rows+p.n) }

// primal moves θ from face to face to the solution.
func (p *marginSolver) primal() error {
	clear(p.tried)
	still := 0          // number of successive steps of length zero
	rounded := false    // correctSides has moved margins to 1, so that the next step is not exact
	last := math.Inf(1) // length of the step before, on the same face
	low := math.Inf(1)
	limit := p.limit()
	for round := 1; p.rounds < limit; round++ {
		if !p.newtonStep() {
			return errSingularMargins
		}
		if round%stuckRounds == 0 && p.hinge > 0 {
			f := p.objective(p.theta, p.m)
			stuck := f >= low-stillTol*math.Abs(low)
			low = f
			if stuck {
				if !p.dual(limit) {
					break
				}
				continue
			}
		}
		moved, crossed := p.collect()
		if crossed == 0 && (!p.curved || moved <= lastStep || moved < roundedStep && moved > last/2) {
			last = math.Inf(1)
			p.advance(1)
			p.margins()
			if !p.curved {
				p.refine()
			}
			if p.correctSides() {
				rounded = true
				continue
			}
			if rounded || !p.onElbow() {
				rounded = false
				continue
			}
			if p.release(still > blockedSteps) == 0 {
				if p.hidden {
					return errHiddenSide
				}
				if p.factored.changes > 0 { // θ must come from a new factor of the face
					p.factored.known = false
					continue
				}
				p.warm, p.solved = true, !p.curved
				return nil
			}
			continue
		}
		t, blocked, ok := p.search(moved)
		if !ok {
			break
		}
		still++
		if t > 0 {
			still = 0
		}
		p.advance(t)
		for i, v := range p.dm {
			p.m[i] += t * v
		}
		p.cross(blocked)
		last = math.Inf(1)
		if t == 1 && crossed == 0 {
			last = moved
		}
		if p.curved && t == 1 && crossed == 0 && moved < nearStep {
			// Near the face's minimiser a wrong sign is a wrong sign.
			p.release(true)
		}
	}
	return check.ArgErrorf("Data", qpdiff.ErrIterationLimit, "raise the ridge penalty, or scale the features", "is so ill-conditioned that no active set was confirmed")
}

// correctSides moves every row to the side of its margin, and reports whether any row was on the
// other side. If a margin is on the other side only by rounding, correctSides usually ignores this.
//
// There is an exception if the squared hinge loss has a large weight. The side of such a margin
// then matters, because this loss has a slope only below 1. The weight may be so large that the
// rounding of a margin of 1 could cause any slope. In this case the row moves to the side above 1,
// which has no slope. It moves only once: either the next steps lead away from 1, or they lead back
// and the row stays below.
func (p *marginSolver) correctSides() (changed bool) {
	p.hidden = false
	size := math.Sqrt(dense.Dot(p.theta, p.theta))
	norm := p.norm[:len(p.side)]
	for i, side := range p.side {
		v, terms := (p.m[i]-1)*float64(side), 1+norm[i]*size
		if v > stillTol*terms {
			continue
		}
		switch {
		case v < -stillTol*terms:
		case p.tried[i] || side == 0:
			continue
		case v < 0 && p.steep(i, -v/stillTol), side < 0 && p.steep(i, dense.ComplementarityTol*dense.Eps*terms):
			// Set the margin to 1. If it were beyond 1 on the new side too, the line search would
			// not see the kink.
			p.tried[i], p.m[i] = true, 1
		default:
			p.hidden = p.hidden || v < -learner.DecisionTol
			continue
		}
		p.side[i] = -side
		changed = true
	}
	return changed
}

// onElbow reports whether the margins of the elbow's rows are 1, up to rounding. After a very long
// step, rounding may leave these margins elsewhere.
func (p *marginSolver) onElbow() bool {
	size := math.Sqrt(dense.Dot(p.theta, p.theta))
	for _, i := range p.elbow {
		if math.Abs(p.m[i]-1) > stillTol*(1+p.norm[i]*size) {
			return false
		}
	}
	return true
}
