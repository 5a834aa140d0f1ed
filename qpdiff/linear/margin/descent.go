package margin

import (
	"cmp"
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

const (
	// descentSize is the smallest size of a problem for which a fit without a warm start begins with a
	// descent. A problem with n coordinates and r distinct rows has this size if n ≥ descentSize and
	// n·r ≥ descentSize². A smaller problem has few faces, and each face costs little.
	descentSize = 64

	// descentEpochs bounds the number of passes of the descent. One pass costs about as much as one
	// face of the primal method.
	descentEpochs = 300

	// descentGap is the duality gap at which the descent ends, relative to the objective. Below this
	// gap, Newton steps on faces cost less than more passes of the descent.
	descentGap = 1e-3

	// gapEpochs is the number of passes of the descent between two computations of the gap.
	gapEpochs = 10
)

// descend computes a feasible point near the minimiser of the dual problem (see dual). It sets the
// face to the face of this point. It minimises over one multiplier after the other (Hsieh et al.
// 2008, A dual coordinate descent method for large-scale linear SVM). With an ℓ₁ penalty, it
// replaces the curvature in a multiplier by the upper bound ‖z_i‖²/λ2 of this curvature. The step
// of the multiplier is then shorter.
//
// After a descent, the primal method visits fewer faces. If it starts from θ = 0, it visits a new
// face for almost every row that enters the elbow. If it starts near the minimiser, most rows of
// the elbow have entered already.
//
// descend returns false if the problem is small, if the loss has a smooth part, or if a value
// overflows.
func (p *marginSolver) descend() bool {
	if p.curved || p.n < descentSize || p.rows*p.n < descentSize*descentSize {
		return false
	}
	u := p.v // Zᵀb
	clear(p.b)
	clear(p.theta)
	clear(u)
	for epoch := 1; epoch <= descentEpochs; epoch++ {
		p.stopper.Look()
		for i := range p.rows {
			p.descendFace(i, u)
		}
		if epoch%gapEpochs == 0 {
			p.margins()
			primal := p.objective(p.theta, p.m)
			gap := primal + p.l2/2*dense.Dot(p.theta, p.theta) - floats.Sum(p.b[:p.rows])
			if !dense.Finite(gap) {
				return false
			}
			if gap <= descentGap*primal {
				break
			}
		}
	}
	p.setFace(u)
	return true
}

// descendFace changes b_i, the multiplier of row i, to lower the dual objective. It updates u =
// Zᵀb, and sets theta to the θ that minimises (penalties − uᵀθ).
func (p *marginSolver) descendFace(i int, u []float64) {
	z, top := p.z[i*p.n:(i+1)*p.n], p.multBound(i)
	b := top
	if norm := p.norm[i]; norm > 0 {
		b = min(max(p.b[i]+(1-floats.Dot(p.theta, z))*(p.l2/norm/norm), 0), top)
	}
	if b == p.b[i] {
		return
	}
	floats.AddScaled(u, b-p.b[i], z)
	p.b[i] = b
	for j, v := range u {
		p.theta[j] = math.Copysign(max(math.Abs(v)-p.l1, 0), v) / p.l2
	}
}

// setFace sets the face to the face of the vector b of multipliers, where u = Zᵀb. The vector b
// must be feasible in the dual problem. The multipliers between their bounds are free. If there are
// more free multipliers than coordinates in the support, each of the multipliers nearest to their
// bounds moves to its bound.
func (p *marginSolver) setFace(u []float64) {
	p.support(p.theta, p.l1)
	for j := range u {
		if u[j] = -u[j]; p.pos[j] < 0 { // the gradient of the losses
			p.theta[j] = 0
		}
	}
	p.elbow = p.elbow[:0]
	free := p.kinks[:0] // t: the distance to the nearest bound, divided by the distance between the bounds
	for i, b := range p.b[:p.rows] {
		top := p.multBound(i)
		p.side[i] = sideIf(b > top/2)
		if room := min(b, top-b) / top; room > 0 {
			free = append(free, kink{id: i, t: room})
		}
	}
	slices.SortFunc(free, func(a, b kink) int {
		return cmp.Or(cmp.Compare(b.t, a.t), cmp.Compare(a.id, b.id))
	})
	for k, f := range free {
		switch i := f.id; {
		case k < len(p.act):
			p.holdOnElbow(i)
		case p.side[i] < 0:
			p.b[i] = p.multBound(i)
		default:
			p.b[i] = 0
		}
	}
}
