package ridge

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/sparse"
	"cvgm/qpdiff/internal/stop"

	"gonum.org/v1/gonum/floats"
)

const (
	// correctionTol is the relative error that the first round of conjugate gradients may leave. Each
	// later round may leave laterTol times the error of the round before it. After two rounds the
	// error is below rounding. Errors are measured in the norm that the matrix of the Factor defines.
	correctionTol, laterTol = 1e-9, 1e-7
	// maxCorrections bounds the number of corrections. If a correction is at most finalCorrection
	// times the solution, it is the last: the next correction would be about finalCorrection² times
	// the solution.
	maxCorrections  = 4
	finalCorrection = 1e-8
	// freshSteps bounds the number of steps with a fresh Factor, which was computed for the same
	// system. A few steps suffice unless rounding has destroyed the Factor. If a Factor from
	// float32 numbers is destroyed in this way, a Factor from float64 numbers replaces it.
	freshSteps = 100
)

// A Solver solves Systems by conjugate gradients with a Factor. It computes a new Factor when the
// steps since the last factorisation have cost as much as a factorisation. The results of a Solver
// depend only on the systems that it has solved since Reset, and not on measured times.
type Solver struct {
	Factor       *Factor    // the factor in use, or nil before the first factor
	End          *stop.Stop // the solver checks it
	own          Factor
	freshFactor  bool    // the factor was computed for this very system
	spentSteps   int     // number of steps with this factor
	largestEigen float64 // a lower bound of the largest eigenvalue of H, relative to the Factor's matrix

	r, p, q, z, t    []float64
	residual, change []float64
	joint            []float64 // the result of System.jointPart for b
}

// Reset forgets the factor.
func (s *Solver) Reset() { s.Factor, s.spentSteps, s.freshFactor = nil, 0, false }

// Moved must be called after each change of the weights or of the ridge. It records that the factor
// was computed for an earlier system.
func (s *Solver) Moved() { s.freshFactor = false }

// Borrow makes the Solver s start with the factor of another Solver, the parameter lender. The
// Solver s only reads this factor.
func (s *Solver) Borrow(lender *Solver) {
	s.Factor, s.freshFactor, s.spentSteps = lender.Factor, lender.freshFactor, 0
}

// These constants are ratios: the time of one operation in another task, divided by the time of one
// operation in a step of conjugate gradients. gramShare is the ratio for a Gram matrix, and
// factorShare for a Cholesky factor. Both are below 1, because a step uses each entry that it reads
// only a few times, and a Gram matrix or a factor many times. singleShare is the ratio for a Gram
// matrix from float32 numbers. Such a Gram matrix also requires that entries are packed; packing
// one entry takes as long as packingCost operations of a step.
const gramShare, singleShare, factorShare, packingCost = .4, .2, .4, 5

// budget returns the number of steps that together cost as much as a factorisation.
func (s *System) budget() float64 {
	m, k := float64(s.M), float64(s.K)
	if s.Stored != nil {
		stored := float64(s.Stored.Stored())
		return (stored*k/2 + k*k*k/3) / (2*stored + k*k)
	}
	if s.byRows {
		return m * m * m / 3 / (4*m*k + m*m)
	}
	gram := gramShare * m * k * k / 2
	if s.fitsSingle() {
		gram = singleShare*m*k*k/2 + packingCost*m*k
	}
	return (gram + factorShare*k*k*k/3) / (2*m*k + k*k)
}

// stepsLeft returns the number of steps that Solve may still make with this factor.
func (s *Solver) stepsLeft(sys *System) int {
	if s.freshFactor {
		return freshSteps
	}
	return int(sys.budget()) - s.spentSteps
}

// Factorise factorises the system, and reports whether it is regular to working precision.
func (s *Solver) Factorise(sys *System) bool {
	return sys.fitsSingle() && s.factorise(sys, true) || s.factorise(sys, false)
}

// factorise is Factorise with or without float32 numbers.
func (s *Solver) factorise(sys *System, single bool) bool {
	s.Factor, s.spentSteps = &s.own, 0
	s.freshFactor = s.own.factorise(sys, s.End, single)
	return s.freshFactor
}

// maxRescale limits a ratio: the mean of the present weights, divided by the mean of the weights at
// the last scaling of the factor. Beyond this limit, the rows of the factor are rescaled, and the
// scaled matrix is factorised. This costs about as much as a dozen steps.
const maxRescale = 2

// followWeights rescales the rows of the factor if the mean of the weights has changed much. This
// happens, for example, if the hyperparameter C of a logistic regression changes.
func (s *Solver) followWeights(sys *System) {
	f := &s.own
	if s.Factor != f || s.freshFactor || !f.hasCholesky || f.byRows {
		return
	}
	share := floats.Sum(sys.Weights) / f.total
	if !(share > 0) || !dense.Finite(share) || share <= maxRescale*f.share && f.share <= maxRescale*share {
		return
	}
	if !f.rescale(sys, s.End, share) {
		f.setDiagonal(sys)
	}
}

// Solve sets x to the solution of Hx = b. The error is at most tol times the solution. Both are
// measured in the norm that the matrix of the Factor defines. Solve reports whether it converged.
// Only rounding can prevent it from converging.
func (s *Solver) Solve(sys *System, x, b []float64, tol float64) bool {
	if sys.Iterative {
		if !s.freshFactor {
			s.own.exactDiagonal(sys)
			s.Factor, s.freshFactor = &s.own, true
		}
		_, ok := s.conjugate(sys, x, b, tol, sparse.MostSteps, false)
		return ok
	}
	if s.Factor == nil {
		if sys.byRows {
			if !s.Factorise(sys) {
				return false
			}
		} else {
			s.own.setDiagonal(sys)
			s.Factor, s.spentSteps = &s.own, 0
		}
	}
	s.followWeights(sys)
	for {
		steps, ok := s.conjugate(sys, x, b, tol, s.stepsLeft(sys), !s.freshFactor)
		if s.spentSteps += steps; ok {
			return true
		}
		if s.freshFactor && s.Factor.float32s {
			if !s.factorise(sys, false) {
				return false
			}
		} else if s.freshFactor || !s.Factorise(sys) {
			return false
		}
	}
}

// Exact sets x to the solution of Hx = b. The error is only the rounding of the products with H.
// Exact reports whether there is a solution.
func (s *Solver) Exact(sys *System, x, b []float64) bool {
	k := sys.K
	dense.GrowAll(k, &s.residual, &s.change, &s.joint)
	clear(x[:k])
	whole := b
	b = s.joint
	sys.jointPart(b, whole)
	copy(s.residual, b)
	s.largestEigen = 0
	tol := correctionTol
	for range 1 + maxCorrections {
		if !s.Solve(sys, s.change, s.residual, tol) {
			return false
		}
		tol = laterTol
		floats.Add(x[:k], s.change)
		// The parameter without a penalty may be far larger than the other parameters, so its correction
		// is tested separately.
		sys.Diagonal(s.z, true)
		if isFinal(s.z[:sys.Penalised], x, s.change) && isFinal(s.z[sys.Penalised:], x[sys.Penalised:], s.change[sys.Penalised:]) {
			break
		}
		sys.Product(s.residual, x[:k], s.t)
		floats.SubTo(s.residual, b[:k], s.residual)
	}
	if sys.Iterative && !(s.relativeResidual(sys, x, b) <= sparse.ResidualTol) {
		return false
	}
	for j := range sys.Penalised {
		if sys.squares[j] == 0 {
			x[j] = whole[j] / sys.Ridge
		}
	}
	return dense.AllFinite(x[:k])
}

// jointPart copies the right-hand side b to dst, but sets some entries to 0: the entry dst_j
// becomes 0 if parameter j has a penalty and its column of Z is zero. The entry b_j of such a
// parameter may be very large, and would then dominate the norms of the steps.
func (s *System) jointPart(dst, b []float64) {
	copy(dst, b[:s.K])
	for j, v := range s.squares[:s.Penalised] {
		if v == 0 {
			dst[j] = 0
		}
	}
}

// relativeResidual returns the residual b − Hx of the system sys, relative to the size of the
// residual's terms. Sizes are norms with the weights s.Factor.scale, which approximate the inverse
// of H's diagonal.
func (s *Solver) relativeResidual(sys *System, x, b []float64) float64 {
	sys.Product(s.residual, x[:sys.K], s.t)
	dense.GrowAll(sys.K, &s.z, &s.p)
	for j, scale := range s.Factor.scale {
		root := math.Sqrt(scale)
		s.residual[j] = root * (b[j] - s.residual[j])
		s.z[j], s.p[j] = root*b[j], x[j]/root
	}
	rest := floats.Norm(s.residual[:sys.K], 2)
	if rest == 0 {
		return 0
	}
	return rest / (floats.Norm(s.z[:sys.K], 2) + s.largestEigen*floats.Norm(s.p[:sys.K], 2))
}

// isFinal reports whether no further correction is needed, because correction is small compared
// with x. It compares the largest entries of these two vectors, in units that give H a unit
// diagonal.
func isFinal(diagonal, x, correction []float64) bool {
	whole, part := 0.0, 0.0
	for j, d := range diagonal {
		d = math.Sqrt(d)
		whole, part = max(whole, d*math.Abs(x[j])), max(part, d*math.Abs(correction[j]))
	}
	return !(part > finalCorrection*whole)
}

// A Condition describes how accurately a system determines its solution.
type Condition struct {
	// a bound of the condition number of H scaled to a unit diagonal; the bound uses √K in place of
	// the largest eigenvalue
	Cond float64
	At   int // the parameter that the system determines least accurately
	// Schur and Along concern the parameter without a penalty, if there is one. Schur is the
	// remainder of its diagonal entry after the other parameters are eliminated (the Schur
	// complement). The field Along holds the changes of all parameters if the parameter without a
	// penalty changes by 1.
	Schur float64
	Along []float64
}

// conditionTol is the tolerance of the solve that the method Condition needs if a parameter has no
// penalty.
const conditionTol = 1e-2

// Condition sets c to an upper bound of the condition number that H has after scaling to a unit
// diagonal. The bound uses one ratio for each penalised parameter: its penalty divided by its
// diagonal entry. No eigenvalue of the scaled H is below the smallest ratio. If a parameter has no
// penalty, Condition solves one system.
func (s *Solver) Condition(sys *System, c *Condition) {
	dense.GrowAll(sys.K, &s.residual, &s.change, &c.Along)
	sys.Diagonal(s.residual, true)
	if c.setBound(sys, s.residual); dense.Unsolvable(c.Cond) {
		sys.Diagonal(s.residual, false)
		c.setBound(sys, s.residual)
	}
	if c.Schur = 0; sys.Penalised < sys.K {
		s.setUnpenalised(sys, c)
	}
	if !(c.Cond >= 1) {
		c.Cond = math.Inf(1)
	}
}

// setBound computes Cond and At. It divides the penalty of each penalised parameter by the
// parameter's entry in the given diagonal.
func (c *Condition) setBound(sys *System, diagonal []float64) {
	least := 1.0
	c.At = 0
	for j, d := range diagonal[:sys.Penalised] {
		if part := sys.Ridge / d; !(part >= least) {
			least, c.At = part, j
		}
	}
	c.Cond = math.Sqrt(float64(sys.K)) / least
}

// setUnpenalised computes Schur and Along for the parameter without a penalty. If the system
// determines this parameter less accurately than the others, setUnpenalised increases Cond. The
// field residual must hold the diagonal of H.
func (s *Solver) setUnpenalised(sys *System, c *Condition) {
	free, own := sys.Penalised, 0.0
	for i, w := range sys.Weights {
		v := sys.unpenalisedEntry(i, free)
		own += w * v * v
	}
	clear(s.change)
	s.change[free] = 1
	if !(own > 0) || !s.Solve(sys, c.Along, s.change, conditionTol) || !(c.Along[free] > 0) {
		c.Cond, c.At = math.Inf(1), free
		return
	}
	c.Schur = 1 / c.Along[free]
	moved := 1.0
	for j := range free {
		c.Along[j] *= c.Schur
		moved += c.Along[j] * c.Along[j] * s.residual[j] / own
	}
	c.Along[free] = 1
	part := math.Sqrt(float64(sys.K)) * moved * own / c.Schur
	if part > c.Cond {
		c.At = free
	}
	c.Cond += part
}

// Errors returns an upper bound of √(tᵀH⁻¹t) over all vectors t with |t_j| = terms_j. For a row z,
// the product of Reach and Errors bounds the sum Σ_j |(H⁻¹z)_j|·terms_j. This sum is (H⁻¹z)ᵀt for
// one such t, and the Cauchy–Schwarz inequality bounds it by √(zᵀH⁻¹z)·√(tᵀH⁻¹t). Errors and Reach
// both use that H is a sum of semidefinite parts: such a sum is at least as large as each part.
func (c *Condition) Errors(sys *System, terms []float64) (size float64) {
	sum, schurTerm := 0.0, 0.0
	for j, t := range terms[:sys.K] {
		if j < sys.Penalised {
			sum += t * t / sys.Ridge
		}
		if c.Schur > 0 {
			schurTerm += math.Abs(c.Along[j]) * t
		}
	}
	if c.Schur > 0 {
		schurTerm /= math.Sqrt(c.Schur) // before squaring, because the square may overflow
		sum += schurTerm * schurTerm
	}
	return math.Sqrt(sum)
}

// Reach returns an upper bound of √(zᵀH⁻¹z), where z is row i, or any row if i = −1. The caller
// gives two sums for the row. The parameter squares is the sum of squares of the row's penalised
// entries, and the parameter product is the product of the row with c.Along.
func (c *Condition) Reach(sys *System, i int, squares, product float64) float64 {
	sum := squares / sys.Ridge
	if c.Schur > 0 {
		product /= math.Sqrt(c.Schur)
		sum += product * product
	}
	if i >= 0 && sys.Weights[i]*sum > 1 {
		sum = 1 / sys.Weights[i]
	}
	return math.Sqrt(sum)
}

// Norm returns the sum of squares of the penalised entries of row i. It may be called only if the
// system has one unknown for each row.
func (s *System) Norm(i int) float64 { return s.rows[i*s.M+i] }

// forecastSteps is the number of steps of conjugate gradients after which the rate of convergence
// is known well enough for a forecast.
const forecastSteps = 4

// conjugate makes at most maxSteps steps of conjugate gradients from x = 0. If forecast is true,
// conjugate ends early when the present rate shows that maxSteps steps would not suffice.
func (s *Solver) conjugate(sys *System, x, b []float64, tol float64, maxSteps int, forecast bool) (steps int, ok bool) {
	k := sys.K
	dense.GrowAll(k, &s.r, &s.p, &s.q, &s.z)
	s.t = dense.Grow(s.t, sys.M+k)
	clear(x[:k])
	// Without this scaling, squares of b might overflow or underflow.
	largest := dense.Largest(b[:k])
	if largest == 0 {
		return 0, true
	}
	if maxSteps <= 0 {
		return 0, false
	}
	_, unit := math.Frexp(largest)
	copy(s.r, b[:k])
	dense.ScaleBy(s.r, -unit)
	copy(s.z, s.r)
	s.Factor.solve(sys, s.z, s.t)
	copy(s.p, s.z)
	size := floats.Dot(s.r, s.z)
	first := size
	end := tol * tol * size
	for ; steps < maxSteps; steps++ {
		if forecast && steps >= forecastSteps && float64(steps)*math.Log(end/first) < float64(maxSteps)*math.Log(size/first) {
			return steps, false
		}
		s.End.Look()
		alpha := size / sys.Product(s.q, s.p, s.t)
		if !(alpha > 0) || !dense.Finite(alpha) {
			return steps, false
		}
		s.largestEigen = max(s.largestEigen, 1/alpha)
		floats.AddScaled(x[:k], alpha, s.p)
		floats.AddScaled(s.r, -alpha, s.q)
		if s.Factor.boundProduct(s.r) <= end {
			dense.ScaleBy(x[:k], unit)
			return steps + 1, true
		}
		copy(s.z, s.r)
		s.Factor.solve(sys, s.z, s.t)
		next := floats.Dot(s.r, s.z)
		if next <= end {
			dense.ScaleBy(x[:k], unit)
			return steps + 1, true
		}
		floats.AddScaledTo(s.p, s.z, next/size, s.p)
		size = next
	}
	return steps, false
}

// Entries returns two numbers of float64 values, for m rows and k parameters: the size of a System,
// and the size of a Solver together with its Condition. The parameter byRows is the argument of
// Load, and byColumn selects the layout of the Rows.
func Entries(m, k float64, byRows, byColumn bool) (system, solver float64) {
	system, solver = k+m, 9*k+m
	size := k // of the factor
	if byRows {
		size = m
	}
	gram := float64(dense.GramWork(int(size))) // scratch of addGram
	if byRows == byColumn {                    // addGram transposes
		gram += gramStride * size
	}
	scratch := float64(dense.BlockWork(int(size))) // of the factor
	if byRows {
		system, solver = system+m*m+gram, solver+m
	} else {
		solver, scratch = solver+k*k, max(scratch, gram)
		solver += float64(dense.GramSingleWork(int(k)))/2 + k + m // of singleGram
	}
	return system, solver + size*size + size + k + scratch
}
