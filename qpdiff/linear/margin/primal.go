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
	p.isSolved, p.factored.systemKnown, p.rounds = false, false, 0
	p.curved = p.smooth != [3]float64{}
	if p.isWarm && p.resume() {
		if err := p.primal(); err == nil {
			return nil
		}
	}
	p.isWarm = false
	if p.descend() && p.fromFeasible(p.stepLimit()) && p.primal() == nil {
		return nil
	}
	return p.fromZero()
}

// fromZero finds the solution from θ = 0.
func (p *marginSolver) fromZero() error {
	p.factored.systemKnown = false
	clear(p.theta)
	clear(p.m)
	dense.Fill(p.side, -1)
	p.elbow = p.elbow[:0]
	p.support(p.theta, p.l1)
	return p.primal()
}

// resume moves θ to the minimiser of the present problem on the face of the last solution. If the
// loss has a smooth part ℓ, it takes one Newton step towards this minimiser. resume reports whether
// the search can start from there.
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
	p.takeStep(1)
	p.margins()
	p.support(p.theta, p.l1)
	for i, m := range p.m {
		if p.side[i] != 0 {
			p.side[i] = sideIf(m < 1)
		}
	}
	// If the data have changed, the objective at this start can be larger than at θ = 0.
	return p.objective(p.theta, p.m) <= p.total*(p.hinge+p.smooth[0]+p.smooth[1]+p.smooth[2]*math.Ln2)
}

// stepLimit returns the value of p.rounds at which the solve fails.
func (p *marginSolver) stepLimit() int { return p.rounds + fixedRounds + kinkRounds*(p.rows+p.n) }

// primal moves θ from face to face to the solution.
func (p *marginSolver) primal() error {
	clear(p.correctedRows)
	s := primalSearch{marginSolver: p, lastMove: math.Inf(1), objectiveBefore: math.Inf(1)}
	limit := p.stepLimit()
	for round := 1; p.rounds < limit; round++ {
		if !p.newtonStep() {
			return errSingularMargins
		}
		if p.hinge > 0 && round%stuckRounds == 0 && s.isStuck() {
			if !p.dual(limit) {
				break
			}
			continue
		}
		moved, crossed := p.collect()
		if crossed == 0 && s.lastOnFace(moved) {
			if optimal, err := s.minimiseFace(); optimal || err != nil {
				return err
			}
		} else if !s.changeFace(moved, crossed) {
			break
		}
	}
	return check.ArgErrorf("Data", qpdiff.ErrIterationLimit, "raise the ridge penalty, or scale the features", "is so ill-conditioned that no active set was confirmed")
}

// primalSearch is the state of primal.
type primalSearch struct {
	*marginSolver
	zeroSteps       int     // number of successive steps of length zero
	lastMove        float64 // the largest change of a margin in the previous step on the same face; +Inf if there was no such step
	objectiveBefore float64 // objective at the last call of isStuck, +Inf before the first
	rounded         bool    // correctSides has moved margins to 1, so that the next step is not exact
	// correctSides has left a margin on the wrong side of 1 by more than learner.DecisionTol
	hidden bool
}

// isStuck reports whether the objective has not fallen since the last call.
func (s *primalSearch) isStuck() bool {
	f := s.objective(s.theta, s.m)
	stuck := f >= s.objectiveBefore-stillTol*math.Abs(s.objectiveBefore)
	s.objectiveBefore = f
	return stuck
}

// lastOnFace reports, for a step that crosses no kink, whether the step ends at the face's
// minimiser. The parameter maxMove is the largest change of a margin along the step.
func (s *primalSearch) lastOnFace(maxMove float64) bool {
	return !s.curved || maxMove <= lastStep || maxMove < roundedStep && maxMove > s.lastMove/2
}

// minimiseFace takes the whole step to the face's minimiser. At the minimiser it looks for a reason
// to leave the face: a margin on the other side of 1, or a multiplier with the wrong sign. If there
// is no reason, θ is the solution.
func (s *primalSearch) minimiseFace() (optimal bool, err error) {
	s.lastMove = math.Inf(1)
	s.takeStep(1)
	s.margins()
	if !s.curved {
		s.refine()
	}
	switch {
	case s.correctSides():
		s.rounded = true
	case s.rounded || !s.onElbow():
		s.rounded = false // the next step, from here, is exact
	case s.releaseWrong(s.zeroSteps > blockedSteps) > 0:
	case s.hidden:
		return false, errHiddenSide
	case s.factored.changes > 0: // θ must come from a new factor of the face
		s.factored.systemKnown = false
	default:
		s.clearWrongSigns()
		s.isWarm, s.isSolved = true, !s.curved
		return true, nil
	}
	return false, nil
}

// clearWrongSigns sets coordinates of the support to 0 if rounding has left them on the wrong side
// of their kink. The line search ignores changes of a coordinate by at most stillTol·‖θ‖. A wrong
// sign of even such a small coordinate would make its subgradient wrong by 2·λ1. (A larger
// coordinate has a wrong sign only if λ1 is lost in the rounding of the gradient's terms.)
func (s *primalSearch) clearWrongSigns() {
	cleared, hidden := false, stillTol*norm2(s.theta)
	for k, j := range s.act {
		if t := s.theta[j] * s.sgn[k]; t < 0 && t >= -hidden {
			s.theta[j], cleared = 0, true
		}
	}
	if cleared {
		s.margins()
	}
}

// changeFace moves θ along the step until the objective stops falling, and takes the face of this
// point. The parameters maxMove and crossed are the results of collect. If the line search fails,
// changeFace returns false.
func (s *primalSearch) changeFace(maxMove float64, crossed int) bool {
	t, blocked, ok := s.search(maxMove)
	if !ok {
		return false
	}
	s.zeroSteps++
	if t > 0 {
		s.zeroSteps = 0
	}
	s.takeStep(t)
	m := s.m[:len(s.dm)]
	for i, v := range s.dm {
		m[i] += t * v
	}
	s.crossKinks(blocked)
	s.lastMove = math.Inf(1)
	if t == 1 && crossed == 0 { // the face is the same
		s.lastMove = maxMove
		if s.curved && maxMove < nearStep {
			// Near the face's minimiser, the multipliers have the same signs as at the minimiser.
			s.releaseWrong(true)
		}
	}
	return true
}

// correctSides moves each row to the side of the kink on which its margin lies, and reports whether
// it moved any row. Usually it does not move a row whose margin is on the wrong side only because
// of rounding.
//
// There is an exception if the squared hinge loss has a large weight. The slope of this loss is 0
// above the margin 1, so the side of a margin near 1 matters. If rounding of the margin alone could
// cause a large slope, the row moves to the side above 1, where the slope is 0. Each row moves
// there only once. If the next steps lead back to a margin below 1, the row stays below 1.
func (s *primalSearch) correctSides() (changed bool) {
	p := s.marginSolver // once, not in every row
	s.hidden = false
	size := norm2(p.theta)
	norm := p.norm[:len(p.side)]
	for i, side := range p.side {
		v, terms := (p.m[i]-1)*float64(side), 1+norm[i]*size
		if v > stillTol*terms {
			continue
		}
		switch {
		case v < -stillTol*terms:
		case p.correctedRows[i] || side == 0:
			continue
		case v < 0 && p.isSteep(i, -v/stillTol), side < 0 && p.isSteep(i, dense.ComplementarityTol*dense.Eps*terms):
			// The margin is set to 1. If it were already beyond 1 on the new side, the line search would
			// miss the kink.
			p.correctedRows[i], p.m[i] = true, 1
		default:
			s.hidden = s.hidden || v < -learner.DecisionTol
			continue
		}
		p.side[i] = -side
		changed = true
	}
	return changed
}

// onElbow reports whether the margins of the elbow's rows are 1, up to rounding. After a very long
// step, rounding may give them other values.
func (p *marginSolver) onElbow() bool {
	size := norm2(p.theta)
	for _, i := range p.elbow {
		if math.Abs(p.m[i]-1) > stillTol*(1+p.norm[i]*size) {
			return false
		}
	}
	return true
}
