package margin

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"

	"gonum.org/v1/gonum/floats"
)

// These are tolerances and iteration limits of [marginSolver]. The limits affect results only if a
// problem is degenerate or ill-conditioned.
const (
	// marginTol bounds the rounding error of a margin, a coordinate, a multiplier or an entry of
	// the gradient, relative to the size of its terms. It suffices for sums of some dozens of
	// terms.
	marginTol = 64 * dense.Eps

	// stillTol bounds the rounding error of a margin or a coordinate after a step, relative to the
	// size of its terms. It also bounds the error in the position of a kink, relative to the step.
	// stillTol is larger than marginTol, because the step comes from the solution of a linear system,
	// which has a larger error.
	stillTol = 1e-12

	// dependentTol decides whether a normal depends linearly on other normals. It does if its
	// orthogonal remainder is at most dependentTol times as long as the normal. The Gram–Schmidt
	// method, applied twice, leaves an error of a few eps for each of the other normals.
	dependentTol = 1e-13

	// quadraticStep bounds short steps. Along a step that changes no margin by more than
	// quadraticStep, the curvature of the smooth loss ℓ counts as constant. The computed slope of the
	// objective could consist of rounding errors along such a step.
	quadraticStep = 1e-3

	// lastStep ends the Newton steps: a step is the last if it changes no margin by more than
	// lastStep. Convergence is quadratic, so the remaining error is less than lastStep².
	lastStep = 1e-8

	// roundedStep also ends the Newton steps: a step is the last if it changes no margin by more than
	// roundedStep, but is more than half as long as the previous step. A step in the phase of
	// quadratic convergence would be shorter, so this step consists of rounding errors.
	roundedStep = 1e-4

	// If a full Newton step changes no margin by more than nearStep, its end counts as near the face's
	// minimiser. The multipliers there have the same signs as at the minimiser.
	nearStep = .1

	// blockedSteps is the number of successive steps of length zero after which the solver removes
	// only one constraint at a time. Constraints that are removed together may block one another.
	blockedSteps = 10

	// If the objective has not fallen for stuckRounds successive rounds, the dual method replaces the
	// primal method. The dual method costs more for each face, so stuckRounds is not small.
	stuckRounds = 20

	// fixedRounds and kinkRounds limit the number of faces that a solve visits: fixedRounds +
	// kinkRounds·(rows + coordinates). Degenerate data need 3 faces for each row or coordinate. The
	// rest is a reserve for ill-conditioned data.
	fixedRounds, kinkRounds = 200, 50

	// minSquares is the smallest sum of squares that counts as accurate. A smaller sum may lose
	// digits, because some of its squares underflow.
	minSquares = 0x1p-900

	// maxBisections bounds the number of bisections in a line search if the loss has a smooth part ℓ.
	// After the last one, the step is 2⁻²⁰⁰ of the Newton step. This step is still too long only if a
	// loss has a weight above 1e60.
	maxBisections = 200

	// sufficientSlope ends a line search if the loss has a smooth part ℓ. The search ends at a step
	// length t with |slope at t| ≤ sufficientSlope·|slope at 0| (the curvature condition of Wolfe
	// 1969).
	sufficientSlope = .5

	// sufficientFall is a fraction of the fall that the model predicts. The objective must fall by at
	// least this fraction (the condition of Armijo 1966, with its usual constant).
	sufficientFall = 1e-4

	// systemRounds bounds the number of rounds of [marginFace.system]. Each round multiplies the error
	// by about eps. Half of the rounds therefore suffice to reduce an error from the largest float64
	// to the smallest. The other half is a reserve for the rounding errors of many constraints.
	systemRounds = 80

	// maxRefinements bounds the number of corrections of [marginSolver.refine]. Each correction
	// squares the relative error.
	maxRefinements = 3

	// looseBound limits the use of an upper bound for the elbow's condition number: the bound is used
	// only if it is at most looseBound. With a larger bound, too many rows would be examined twice, so
	// that the bound would save no time. Results do not depend on looseBound.
	looseBound = 1e8
)

// norm2 returns ‖x‖₂. If the squares overflow or underflow, it uses [floats.Norm], which is slower.
// If the ridge penalty is near 0, a step can end at entries of 1e200. If ‖θ‖ were infinite, every
// coordinate would count as a rounding error.
func norm2(x []float64) float64 {
	if s := dense.Dot(x, x); s >= minSquares && s <= math.MaxFloat64 {
		return math.Sqrt(s)
	}
	return floats.Norm(x, 2)
}

var (
	errSingularMargins = check.ArgErrorf("Data", qpdiff.ErrIllPosed, "raise the ridge penalty, or scale the features", "gives optimality conditions that are singular to machine precision")

	// errHiddenSide is the error for a fit that ends with a margin clearly on the wrong side of 1.
	// This happens if ‖z_i‖‖θ‖ is much larger than the margin z_iᵀθ.
	errHiddenSide = check.ArgErrorf("Data", qpdiff.ErrIllPosed, "scale the features", "has features of sizes so different that rounding hides on which side of 1 a margin is")
)

// marginProblem minimises a sum of losses and penalties. The losses depend on the margins m = Zθ
// and have a kink at m_i = 1. The penalties have a kink at θ_j = 0:
//
//	Σ_i w_i·(hinge·max(0, 1−m_i) + ℓ(m_i)) + λ1·‖θ‖₁ + λ2/2·‖θ‖²,  λ2 > 0,
//
// with the smooth loss ℓ(m) = smooth[0]·exp(−m) + smooth[1]·max(0, 1−m)² +
// smooth[2]·log(1+exp(−2m)). Equal rows of the data are one row i here, and w_i is their total
// weight. If they were separate rows, the multipliers on the elbow would not be unique.
type marginProblem struct {
	rows, n int // distinct rows, coordinates
	learner.RowSet
	total         float64   // the weight of all rows of the data
	z             []float64 // rows×n: y_i·x_i
	norm          []float64 // ‖z_i‖
	hinge, l1, l2 float64
	smooth        [3]float64
	curved        bool // ℓ is not 0
}

// objective returns the objective at theta, whose margins are m.
func (p *marginProblem) objective(theta, m []float64) float64 {
	f := p.l2 / 2 * dense.Dot(theta, theta)
	for _, t := range theta {
		f += p.l1 * math.Abs(t)
	}
	for i, m := range m {
		l := max(0, 1-m)
		l = p.hinge*l + p.smooth[1]*l*l
		if p.smooth[0] != 0 {
			l += p.smooth[0] * math.Exp(-m)
		}
		if p.smooth[2] != 0 {
			l += p.smooth[2] * softplus(-2*m)
		}
		f += p.Copies[i] * l
	}
	return f
}

// softplus returns log(1+eˣ) without overflow.
func softplus(x float64) float64 {
	return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
}

// multBound returns the upper bound of the multiplier of row i.
func (p *marginProblem) multBound(i int) float64 { return p.Copies[i] * p.hinge }

// smoothLoss returns the first and the second derivative of the smooth loss ℓ at the margin m. If
// the parameter belowKink is false, these derivatives do not include the squared hinge loss.
func (p *marginProblem) smoothLoss(m float64, belowKink bool) (slope, curvature float64) {
	if w := p.smooth[0]; w != 0 {
		e := w * math.Exp(-m)
		slope, curvature = -e, e
	}
	if w := p.smooth[1]; w != 0 && belowKink {
		slope -= 2 * w * (1 - m)
		curvature += 2 * w
	}
	if w := p.smooth[2]; w != 0 {
		// −2w/(1+e^{2m}) and its derivative, without overflow.
		e := math.Exp(-2 * math.Abs(m))
		s := 1 / (1 + e)
		if m > 0 {
			slope -= 2 * w * e * s
		} else {
			slope -= 2 * w * s
		}
		curvature += 4 * w * e * s * s
	}
	return slope, curvature
}
