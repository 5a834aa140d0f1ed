package penalised

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"
)

// A softmax is the multinomial loss log Σ_c exp(η_c) − η_y of the decision values η of C classes,
// for a row of class y. If a constant is added to all decision values, the loss does not change. If
// all classes have the same quadratic penalties, the decision values at the minimum sum to 0. The
// fit therefore has only C − 1 outputs γ, with η = Qγ. The columns of the matrix Q are orthonormal
// and sum to 0, so that γ and η have equal penalties.
type softmax struct {
	classes int       // C, or 0 for a loss of one output
	q       []float64 // Q, row by row
	p       []float64 // by class: probabilities of a row, or weights
	s       []float64 // by output
}

// load makes s the loss for the given number of classes.
func (s *softmax) load(classes int) {
	s.classes = classes
	if classes == 0 {
		return
	}
	outs := classes - 1
	s.q = dense.Zeros(s.q, classes*outs)
	s.p, s.s = dense.Grow(s.p, classes), dense.Grow(s.s, outs)
	for k := range outs { // Helmert's contrasts: class k+1 is compared with the mean of the classes 0 to k
		unit := 1 / math.Sqrt(float64((k+1)*(k+2)))
		for c := range k + 1 {
			s.q[c*outs+k] = unit
		}
		s.q[(k+1)*outs+k] = -float64(k+1) * unit
	}
}

// isMultinomial reports whether the loss is the multinomial loss.
func (s *softmax) isMultinomial() bool { return s.classes > 0 }

// outputs returns C − 1, or 1.
func (s *softmax) outputs() int { return max(1, s.classes-1) }

// pairIndex returns the position at which point.curvature holds the curvatures for the outputs a
// and b.
func (s *softmax) pairIndex(a, b int) int {
	if a > b {
		a, b = b, a
	}
	return a*(2*s.outputs()-a-1)/2 + b
}

// toClasses converts parameters of outputs to parameters of classes, by η = Qγ. The slice theta
// holds the q parameters of each output, and dst gets the q parameters of each class.
func (s *softmax) toClasses(dst, theta []float64, q int) {
	clear(dst)
	outs := s.outputs()
	for c := range s.classes {
		for k := range outs {
			dense.Axpy(s.q[c*outs+k], theta[k*q:][:q], dst[c*q:])
		}
	}
}

// toOutputs is the adjoint of toClasses: it multiplies dtheta by the transpose of the matrix of
// toClasses, and writes the product to dst.
func (s *softmax) toOutputs(dst, dtheta []float64, q int) {
	clear(dst)
	outs := s.outputs()
	for c := range s.classes {
		for k := range outs {
			dense.Axpy(s.q[c*outs+k], dtheta[c*q:][:q], dst[k*q:])
		}
	}
}

// absentClass returns a class in which no row has a weight above 0, or −1 if there is no such
// class. It sets p to the total weights of the classes.
func (s *softmax) absentClass(y, w []float64) int {
	clear(s.p)
	for i, own := range y {
		s.p[int(own)] += w[i]
	}
	return slices.Index(s.p, 0)
}

// The method constant adds the outputs of the best constant prediction to dst; output k is at
// dst[k·stride]. Each class must have a row.
func (s *softmax) constant(dst []float64, stride int, y, w []float64) {
	s.absentClass(y, w)
	outs := s.outputs()
	for c, weight := range s.p {
		for k := range outs {
			dst[k*stride] += s.q[c*outs+k] * math.Log(weight)
		}
	}
}

// evaluate does the work of [Loss.evaluate] for the multinomial loss; y holds the classes of the
// rows. It computes slopes and curvatures relative to the contrasts of the most probable class.
// This avoids cancellation, even if a probability is very small.
func (s *softmax) evaluate(p *point, y, w []float64) {
	m, outs := len(w), s.outputs()
	for i, own := range y {
		best := s.probabilities(p.eta[i:], m)
		from := s.q[best*outs:][:outs]
		clear(s.s)
		for c, share := range s.p {
			for k := range outs {
				s.s[k] += share * (s.q[c*outs+k] - from[k])
			}
		}
		for a := range outs {
			p.slope[a*m+i] = w[i] * (s.s[a] - (s.q[int(own)*outs+a] - from[a]))
		}
		at := i
		for a := range outs {
			for b := a; b < outs; b++ {
				covariance := -s.s[a] * s.s[b]
				for c, share := range s.p {
					covariance += share * (s.q[c*outs+a] - from[a]) * (s.q[c*outs+b] - from[b])
				}
				p.curvature[at] = w[i] * covariance
				at += m
			}
		}
	}
}

// probabilities computes the probabilities p of the classes, and returns the most probable class.
// Output k of the row is gamma[k·stride].
func (s *softmax) probabilities(gamma []float64, stride int) (best int) {
	outs := s.outputs()
	for k := range s.s {
		s.s[k] = gamma[k*stride]
	}
	for c := range s.p {
		if s.p[c] = dense.Dot(s.q[c*outs:][:outs], s.s); s.p[c] > s.p[best] {
			best = c
		}
	}
	most, sum := s.p[best], 0.0
	for c, eta := range s.p {
		s.p[c] = math.Exp(eta - most)
		sum += s.p[c]
	}
	for c := range s.p {
		s.p[c] /= sum
	}
	return best
}
