package penalised

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
)

// residual measures how far the last fit violates the optimality condition that the gradient is 0.
// It computes the gradient anew from the rows.
func (l *glmFit) residual() (worst float64) {
	c := glmFit{loss: l.loss, joint: l.joint, forms: l.forms, lambda: l.lambda, sums: l.sums, n: l.n, q: l.q, y: l.y, w: l.w, z: l.z}
	outs := l.joint.outputs()
	c.joint.p, c.joint.s = make([]float64, l.joint.classes), make([]float64, outs) // l is only read
	c.currentPoint.grow(len(l.w), outs)
	c.g = make([]float64, len(l.theta))
	c.evaluate(&c.currentPoint, c.g, l.theta)
	terms := c.gradientTerms(l.theta)
	for j, g := range c.g {
		worst = max(worst, learner.Relative(math.Abs(g), terms[j]))
	}
	return worst
}

// gradientTerms returns the sizes of the terms of the gradient at theta. The field currentPoint
// must belong to theta. The term of a row is the slope of its loss. Rounding of the row's η changes
// the slope by the curvature times the size of the terms of η, and this product is added to the
// size. An exponential of η has a rounding error even at η = 0.
func (l *glmFit) gradientTerms(theta []float64) []float64 {
	m, q, outs := len(l.w), l.q, l.joint.outputs()
	sizes, terms := make([]float64, outs), make([]float64, len(theta))
	for i := range m {
		row := l.z[i*q:][:q]
		for a := range sizes {
			if sizes[a] = dense.AbsDot(theta[a*q:][:q], row); l.loss != Squared {
				sizes[a]++
			}
		}
		for a := range outs {
			size := math.Abs(l.currentPoint.slope[a*m+i])
			for b := range outs {
				size += math.Abs(l.currentPoint.curvature[l.joint.pairIndex(a, b)*m+i]) * sizes[b]
			}
			for j, v := range row {
				terms[a*q+j] += size * math.Abs(v)
			}
		}
	}
	for at := 0; at < len(terms); at += q {
		for j := range l.forms {
			l.forms[j].addSizes(terms[at:], l.lambda[j], theta[at:])
		}
	}
	return terms
}
