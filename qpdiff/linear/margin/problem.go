package margin

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
)

// The tolerances and caps of [marginSolver]. A cap affects results only if a problem is degenerate
// or ill-conditioned.
const (
	// marginTol bounds the rounding of a margin, a coordinate, a multiplier or an entry of the
	// gradient, relative to the size of its terms. Sums of some dozens of terms stay below it.
	marginTol = 64 * dense.Eps

	// stillTol bounds the rounding by a step. It is relative to the size of a margin's or a
	// coordinate's terms. For the place of a kink it is a part of the step. It is above marginTol
	// because a step has the error of a solved system.
	stillTol = 1e-12

	// dependentTol: a normal depends on the others if its orthogonal remainder is at most
	// dependentTol times its length. The method of Gram and Schmidt, applied twice, leaves a few
	// eps for each of the others.
	dependentTol = 1e-13

	// quadraticStep: the curvature of ℓ counts as constant along a step that changes the margins by
	// at most this much. The slope itself is lost in rounding there.
	quadraticStep = 1e-3

	// lastStep: a Newton step that changes the margins by less than this is the last. Quadratic
	// convergence leaves less than its square.
	lastStep = 1e-8

	// roundedStep: a Newton step that changes the margins by less than this is the last if it is
	// more than half as long as the step before. Quadratic convergence would make it shorter, so
	// rounding causes it.
	roundedStep = 1e-4

	// nearStep: if a full Newton step changes the margins by at most this much, the multipliers
	// after it have the signs that they have at the face's minimiser.
	nearStep = .1

	// blockedSteps is the number of successive steps of length zero after which constraints leave
	// one at a time. Constraints that leave together may block one another.
	blockedSteps = 10

	// stuckRounds is the number of successive rounds without a fall of the objective after which
	// the dual method replaces the primal one. The dual method costs more for each face, so it does
	// not take over after a few steps of length zero.
	stuckRounds = 20

	// A solve may visit fixedRounds faces and kinkRounds more for each row and coordinate.
	// Degenerate data need 3 for each; the rest is for ill-conditioned data.
	fixedRounds, kinkRounds = 200, 50

	// bisections bounds the steps of the line search with ℓ. The last one is 2⁻²⁰⁰ of the Newton
	// step, which is too long only if a loss has a weight above 1e60.
	bisections = 200

	// sufficientSlope is the part of the slope at the start of a step to which the slope must fall
	// in the line search with ℓ (the curvature condition of Wolfe 1969).
	sufficientSlope = .5

	// sufficientFall is the least part of the fall predicted by the model by which the objective
	// must fall (the condition of Armijo 1966, with its usual constant).
	sufficientFall = 1e-4

	// systemRounds bounds the rounds of [marginFace.system]. They lead from the largest float64 to
	// the smallest in factors of eps, and there are as many again for the rounding that many
	// constraints add.
	systemRounds = 80

	// refinements bounds the corrections of [marginSolver.refine]. Each one squares the relative
	// error.
	refinements = 3

	// looseBound is a bound of the elbow's condition. A larger one is too loose to save time,
	// because too many rows are examined twice. Results do not depend on it.
	looseBound = 1e8
)

var (
	errSingularMargins = check.ArgErrorf("Data", qpdiff.ErrIllPosed, "raise the ridge penalty, or scale the features", "gives optimality conditions that are singular to machine precision")

	// errHiddenSide is the error of a fit that ends with a margin clearly on the other side of 1
	// than assumed. ‖z_i‖‖θ‖ is then much larger than the margin.
	errHiddenSide = check.ArgErrorf("Data", qpdiff.ErrIllPosed, "scale the features", "has features of sizes so different that rounding hides on which side of 1 a margin is")
)

// marginProblem minimises a sum of losses of the margins m = Zθ, each with a kink at 1, and of
// penalties with a kink of each coordinate at 0:
//
//	Σ_i w_i·(hinge·max(0, 1−m_i) + ℓ(m_i)) + λ1·‖θ‖₁ + λ2/2·‖θ‖²,  λ2 > 0,
//
// with ℓ(m) = smooth[0]·exp(−m) + smooth[1]·max(0, 1−m)² + smooth[2]·log(1+exp(−2m)). w_i is the
// total weight of all copies of row i in the data. Equal rows are one row here, because the
// multipliers of an elbow with copies would not be unique.
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

// top returns the largest multiplier of row i.
func (p *marginProblem) top(i int) float64 { return p.Copies[i] * p.hinge }

// smoothLoss returns the first and second derivative of ℓ at the margin m. If below is set, m
// counts as below 1.
func (p *marginProblem) smoothLoss(m float64, below bool) (slope, curvature float64) {
	if w := p.smooth[0]; w != 0 {
		e := w * math.Exp(-m)
		slope, curvature = -e, e
	}
	if w := p.smooth[1]; w != 0 && below {
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
