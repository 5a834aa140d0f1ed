package sparse

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/stop"

	"gonum.org/v1/gonum/floats"
)

const (
	// vectors is the number of scratch vectors that a solve needs. Each has one entry for each column
	// of the set.
	vectors = 5
	// roundTol is the factor by which one round of conjugate gradients reduces the residual. Each
	// round starts from a newly computed residual. maxRounds bounds the number of rounds.
	roundTol  = 1e-8
	maxRounds = 8
	// maxSteps bounds the number of steps of a round. In exact arithmetic, a system never needs more
	// steps than it has unknowns, and a well-conditioned system needs a few dozen steps.
	maxSteps = 2000
	// ProbeTol is a relative residual. If a system has exactly one solution, Solve always reaches a
	// residual of at most ProbeTol. A larger residual therefore shows that the system is singular.
	ProbeTol = 1e-6
	// MostSteps bounds the steps of all rounds together.
	MostSteps = maxRounds * maxSteps
	// ResidualTol is the largest acceptable residual of a solution, relative to the size of the
	// residual's terms. Floor and LooseFloor are values for the parameter floor of Solve. LooseFloor
	// is for callers that correct the solution themselves.
	ResidualTol = 1e-12
	Floor       = 4 * dense.Eps
	LooseFloor  = roundTol
)

// A System is the matrix inv·A_SᵀA_S + diag r, where inv is a number and A_S consists of the
// columns of A in a set S.
type System struct {
	*Columns
	Set     []int // S
	Inv     float64
	R, Diag []float64 // for each column of S: r, and inv·a_jᵀa_j
}

// Apply sets dst to the product of the matrix with the vector v. The slice named fit is scratch of
// M entries.
func (s *System) Apply(dst, v, fit []float64) {
	s.Combine(fit, v, s.Set, nil)
	along := s.Along(fit)
	for i, j := range s.Set {
		dst[i] = s.Inv*s.Dot(j, fit, along) + s.R[i]*v[i]
	}
}

// Gradients solves Systems by conjugate gradients without a factor. It scales the variables so that
// the matrix of the System has a unit diagonal, and starts at 0. If a System has several solutions,
// Gradients therefore finds the solution with the smallest norm in the scaled variables.
type Gradients struct {
	End         *stop.Stop // Solve checks it
	Least, Most float64    // smallest and largest eigenvalue of the scaled matrix that the last solve found (Ritz values)
	alpha, beta []float64
}

// Room returns the number of entries of the parameter scratch of Solve.
func Room(rows, set int) int { return rows + vectors*set }

// SolveEntries returns the number of float64 values in a System, in its Gradients, and in the
// scratch vectors of two solves.
func SolveEntries(rows, set float64) float64 {
	return 1.25 * (2*(rows+vectors*set) + 5*set + 2*maxSteps)
}

// Solve sets x to the solution for the right-hand side b. It begins no new round once the relative
// residual is at most floor. The length of scratch is the result of Room. Solve returns the
// residual, relative to the size of its terms. It also returns the place in the set at which the
// residual is largest.
func (g *Gradients) Solve(q *System, x, b, scratch []float64, floor float64) (residual float64, worst int) {
	s := len(x)
	fit := scratch[:q.M]
	scratch = scratch[q.M:]
	next := func() (v []float64) {
		v, scratch = scratch[:s:s], scratch[s:]
		return v
	}
	unit, residuals, change, along, image := next(), next(), next(), next(), next()
	for i, d := range q.Diag {
		if unit[i] = 1 / math.Sqrt(d+q.R[i]); !dense.Finite(unit[i]) {
			return math.Inf(1), i
		}
	}
	clear(x)
	floats.MulTo(residuals, unit, b)
	g.Least, g.Most = 1, 1
	most := floats.Norm(residuals, math.Inf(1))
	if most == 0 {
		return 0, 0
	}
	// The right-hand side is divided by a power of two near its largest entry, so that squares neither
	// overflow nor underflow.
	_, power := math.Frexp(most)
	dense.ScaleBy(residuals, -power)
	size := floats.Norm(residuals, 2) // of the terms of the residual
	residual = 1
	for range maxRounds {
		g.runRound(q, change, residuals, along, image, unit, fit)
		for i, c := range change {
			x[i] += unit[i] * c
		}
		q.Apply(image, x, fit)
		solution := 0.0
		for i, v := range image {
			residuals[i] = unit[i] * (math.Ldexp(b[i], -power) - v)
			solution += x[i] / unit[i] * (x[i] / unit[i])
		}
		before := residual
		residual = floats.Norm(residuals, 2) / (size + g.Most*math.Sqrt(solution))
		if !(residual > floor) || !(residual < before/2) {
			break
		}
	}
	dense.ScaleBy(x, power)
	for i, v := range residuals {
		if math.Abs(v) > math.Abs(residuals[worst]) {
			worst = i
		}
	}
	if residual != residual {
		residual = math.Inf(1)
	}
	return residual, worst
}

// runRound makes one round of conjugate gradients in the scaled variables. It sets the vector x to
// an approximate solution for the right-hand side rhs, and overwrites rhs.
func (g *Gradients) runRound(q *System, x, rhs, along, image, unit, fit []float64) {
	clear(x)
	copy(along, rhs)
	g.alpha, g.beta = g.alpha[:0], g.beta[:0]
	rr := floats.Dot(rhs, rhs)
	for end := roundTol * roundTol * rr; rr > end && len(g.alpha) < maxSteps; {
		g.End.Look()
		floats.Mul(along, unit)
		q.Apply(image, along, fit)
		floats.Div(along, unit)
		floats.Mul(image, unit)
		curve := floats.Dot(along, image)
		if !(curve > 0) || !dense.Finite(curve) {
			break
		}
		a := rr / curve
		floats.AddScaled(x, a, along)
		floats.AddScaled(rhs, -a, image)
		was := rr
		rr = floats.Dot(rhs, rhs)
		g.alpha, g.beta = append(g.alpha, a), append(g.beta, rr/was)
		floats.Scale(rr/was, along)
		floats.Add(along, rhs)
	}
	if least, most := ritzValues(g.alpha, g.beta); least < g.Least || most > g.Most {
		g.Least, g.Most = min(g.Least, least), max(g.Most, most)
	}
}

// ritzValues returns the smallest and the largest eigenvalue of the tridiagonal matrix of the
// Lanczos method. The parameter alpha holds the step lengths of conjugate gradients, and beta the
// ratios of successive squared residuals. ritzValues finds the eigenvalues by bisection on Sturm
// sequences.
func ritzValues(alpha, beta []float64) (least, most float64) {
	if len(alpha) == 0 {
		return 1, 1
	}
	diag := func(i int) float64 {
		d := 1 / alpha[i]
		if i > 0 {
			d += beta[i-1] / alpha[i-1]
		}
		return d
	}
	// countBelow counts the eigenvalues below x.
	countBelow := func(x float64) (n int) {
		d := 1.0
		for i := range alpha {
			offSquare := 0.0 // the square of the off-diagonal entry
			if i > 0 {
				offSquare = beta[i-1] / (alpha[i-1] * alpha[i-1])
			}
			if d = diag(i) - x - offSquare/d; d == 0 {
				d = dense.SmallestNormal
			}
			if d < 0 {
				n++
			}
		}
		return n
	}
	top := 0.0
	for i := range alpha {
		top = max(top, 2*diag(i)) // above the largest eigenvalue, by Gershgorin's theorem
	}
	find := func(count int) float64 {
		lo, hi := 0.0, top
		for range ritzBisections {
			if mid := (lo + hi) / 2; countBelow(mid) >= count {
				hi = mid
			} else {
				lo = mid
			}
		}
		return hi
	}
	return find(1), find(len(alpha))
}

// ritzBisections is the number of bisections. The error of an eigenvalue is then at most 1e-18
// times the largest eigenvalue.
const ritzBisections = 60
