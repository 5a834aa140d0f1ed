package margin

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
)

// residual measures how far the last fit violates the optimality conditions. It computes margins
// and slopes anew from the rows. If the hinge loss has a weight, the margin of each row must be on
// the side that the row's multiplier requires. The gradient must be 0 in the support, and at most
// λ1 outside the support.
func (l *marginFit) residual() (worst float64) {
	p := &l.p
	grad, terms := make([]float64, p.n), make([]float64, p.n)
	for i, side := range p.side {
		z := p.z[i*p.n:][:p.n]
		m, size := dense.Dot(p.theta, z), dense.AbsDot(p.theta, z)
		if p.hinge > 0 {
			off := math.Abs(m - 1)
			if side != 0 {
				off = (1 - m) * float64(side)
			}
			worst = max(worst, learner.Relative(off, 1+size))
		}
		mult := 0.0
		switch {
		case side < 0:
			mult = p.multBound(i)
		case side == 0:
			mult = min(max(l.mult[i], 0), p.multBound(i))
		}
		slope, curvature := p.smoothLoss(m, m < 1)
		slope, curvature = slope*p.Copies[i], curvature*p.Copies[i]
		dense.Axpy(slope-mult, z, grad)
		size = math.Abs(slope) + mult + curvature*size
		for j, v := range z {
			terms[j] += math.Abs(v) * size
		}
	}
	for j, t := range p.theta {
		off := math.Abs(grad[j] + p.l2*t + p.l1*dense.Sign(t))
		if t == 0 {
			off = math.Abs(grad[j]) - p.l1
		}
		worst = max(worst, learner.Relative(off, terms[j]+p.l2*math.Abs(t)+p.l1))
	}
	return worst
}
