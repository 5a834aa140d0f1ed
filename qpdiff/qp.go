package qpdiff

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// QP is the convex quadratic program
//
//	minimise   ½ zᵀQz + pᵀz
//	subject to Gz ≤ h    (m rows, multipliers λ ≥ 0)
//	           Az = b    (q rows, multipliers ν)
//
// in n = len(P) variables. Q is n×n, symmetric and positive semidefinite; nil
// stands for zero, which makes the program linear. G and H, and likewise A and
// B, are nil where there are no such rows. An entry +Inf of H switches its row
// off. Rows may repeat each other, depend on each other or vanish. A row of
// zeros asks for 0 ≤ h or 0 = b; where it holds with equality, nothing has a
// derivative with respect to it (see [Solution.VJP]).
//
// A solution meets the KKT conditions with these signs:
//
//	Qz + p + Gᵀλ + Aᵀν = 0,   Gz ≤ h,   Az = b,   λ ≥ 0,   λᵢ(Gz − h)ᵢ = 0.
//
// # Method
//
// The program is solved by a dual active-set method. Q = LLᵀ is factorised
// once; row r of the constraints is seen as m_r = L⁻¹g_r and computed when it
// first enters the working set W, for which the factors of M_W = TQ₁ (T lower
// triangular, Q₁ with orthonormal rows) are kept up to date row by row. The
// method starts in blocks: the most violated rows enter and all negative
// multipliers leave at once (after Júdice and Pires, 1994), which finds the
// working set of most problems in a handful of steps; when that stops making
// progress, rows enter one by one as in Goldfarb and Idnani (1983), which
// cannot cycle. A Q that is only semidefinite is made definite by proximal
// steps, each a warm start of the same method (Arnström, Bemporad and Axehill,
// 2022); the limit of the steps, where there is none, is the direction that
// proves the program unbounded. Iterative refinement of the KKT system on the
// working set ends every solve.
//
// An active-set method gives exact zeros for the multipliers of inactive rows
// and residuals near the rounding error, which the derivatives need and an
// interior point does not reach; it is faster at up to some hundred variables;
// and it can be started warm. Its weak spot is degeneracy together with bad
// scaling, hence the orthogonal factors (those of M_W M_Wᵀ would be cheaper by
// a third, but failed on 3 of the 43 convex Maros–Mészáros problems with up to
// 300 variables, of which these solve all) and the proximal steps from a
// recentred, equilibrated problem.
type QP struct {
	Q *mat.Dense
	P []float64
	G *mat.Dense
	H []float64
	A *mat.Dense
	B []float64
}

// Status says how a solve ended.
type Status int

const (
	Unsolved       Status = iota // no solve yet, or the data could not be used
	Optimal                      // KKT conditions met to Solution.Tol
	Infeasible                   // no z meets the constraints; Certificate proves it
	Unbounded                    // feasible directions of descent without end; Certificate proves it
	Nonconvex                    // Q has a direction of negative curvature: Certificate.Z
	IterationLimit               // stopped before Tol; the solution holds the last iterate
)

func (s Status) String() string {
	switch s {
	case Unsolved:
		return "unsolved"
	case Optimal:
		return "optimal"
	case Infeasible:
		return "infeasible"
	case Unbounded:
		return "unbounded"
	case Nonconvex:
		return "nonconvex"
	case IterationLimit:
		return "iteration limit"
	}
	return fmt.Sprintf("Status(%d)", int(s))
}

// KKTResidual measures how far a point is from the KKT conditions of a [QP].
// The largest absolute violations are
//
//	Primal = max(Gz − h, 0, |Az − b|)
//	Dual   = ‖Qz + p + Gᵀλ + Aᵀν‖∞
//	Gap    = |zᵀQz + pᵀz + hᵀλ + bᵀν|   (primal minus dual objective)
//
// and λ ≥ 0 holds exactly. Relative does not change if the objective, a row or
// all variables are measured in other units. With u_j the unit of variable j, and
// with
//
//	Z = max |z_j|/u_j
//	D = max u_j·|t| over the terms t of the gradient's entry j: p_j, Q_jk z_k, G_rj λ_r and A_rj ν_r
//
// it is the largest of
//
//	the violation of row r    / max(|h_r|, Z·max_j u_j|G_rj|)   (of A and b alike)
//	u_j·|(Qz + p + Gᵀλ + Aᵀν)_j| / D
//	Gap                       / max(D·Z, |h_r λ_r|, |b_r ν_r|)
//
// where 0/0 counts as 0. The units are 1 where Q is safely positive definite;
// elsewhere they come from equilibrating Q and the rows with more than one
// entry, so that the largest entry of each row and column is near one. Values up
// to 1e-14 are upper bounds.
type KKTResidual struct {
	Primal, Dual, Gap float64
	Relative          float64
}

// Certificate proves why a [QP] has no solution. It has been checked against
// the data to rounding error; Unbounded has besides a point that is feasible to
// Solution.Tol. Entries not named below are empty.
//
//	Infeasible:  λ ≥ 0 and ν with Gᵀλ + Aᵀν = 0 and hᵀλ + bᵀν = −1
//	Unbounded:   z with Qz = 0, Gz ≤ 0, Az = 0 and pᵀz = −1
//	Nonconvex:   z with zᵀQz < 0 and ‖z‖∞ = 1
type Certificate struct {
	Z, Lambda, Nu []float64
	// Residual is the largest violation of the equations above, as a fraction
	// of what they are a sum of (for Nonconvex: zᵀQz itself).
	Residual float64
}

// Solution solves a [QP], holds its solution and differentiates it. The zero
// value is ready. A Solution reuses its storage: solving again a problem of the
// same shape allocates nothing, and starts from the last working set; what did
// not change in Q, G and A is not factorised again. The slices of a Solution are
// its own and hold until the next Solve. A Solution serves one goroutine at a
// time, while it solves and while it is differentiated: the derivatives share
// its storage.
type Solution struct {
	// Tol is the largest Residual.Relative that counts as Optimal; zero means
	// 1e-9. Refinement goes on to rounding error whatever Tol is.
	Tol float64
	// MaxIter bounds the changes of the working set; zero means
	// 1000 + 100·(variables + rows).
	MaxIter int
	// Generalized lets the derivatives count weakly active rows (slack and
	// multiplier both zero) as inactive instead of refusing them. What they give
	// there is not a derivative but one element of the generalised (Bouligand)
	// Jacobian: the limit of the derivatives as h grows on those rows.
	Generalized bool

	Z      []float64 // n: the minimiser
	Lambda []float64 // m: multipliers of Gz ≤ h, exactly zero on inactive rows
	Nu     []float64 // q: multipliers of Az = b
	// Objective is ½ zᵀQz + pᵀz.
	Objective float64
	Status    Status
	Residual  KKTResidual
	// Iterations counts the changes of the working set, Proximal the proximal
	// steps (zero where Q is positive definite), Refinements the corrections
	// on the last working set.
	Iterations, Proximal, Refinements int
	Certificate                       Certificate

	set  activeSet
	diff qpDerivative
}

// Reset forgets the last solve and with it the warm start, but keeps the
// storage: the next Solve has the same bits as one of a new Solution.
func (s *Solution) Reset() {
	s.forget()
	s.set.loaded = false
}

// forget empties the results.
func (s *Solution) forget() {
	s.Z, s.Lambda, s.Nu = s.Z[:0], s.Lambda[:0], s.Nu[:0]
	s.Objective, s.Status, s.Residual = 0, Unsolved, KKTResidual{}
	s.Iterations, s.Proximal, s.Refinements = 0, 0, 0
	c := &s.Certificate
	c.Z, c.Lambda, c.Nu, c.Residual = c.Z[:0], c.Lambda[:0], c.Nu[:0], 0
	s.diff.ready = false
}

// Solve solves q. The error matches
//
//   - ErrShape, ErrNotFinite or ErrDomain (an [ArgError]) where the data cannot
//     be used, the last for a Q that is not symmetric and for a row of G or A
//     other than zero whose largest entry lies outside 1e-270…1e270;
//   - ErrInfeasible, ErrUnbounded or ErrNonconvex with the Status of that name,
//     and its Certificate filled;
//   - ErrIterationLimit where Tol was not reached. Z, Lambda and Nu then hold
//     the best point found and Residual says how good it is;
//   - ErrNotFinite, with the Status IterationLimit, where the solution or a
//     product that its residual sums leaves the range of float64. Sizes between
//     1e-140 and 1e140 of all entries and of the solution are safe.
//
// In all other cases of error Z, Lambda and Nu are empty. q is not changed and
// not referred to after Solve returns.
func (s *Solution) Solve(q *QP) error {
	s.forget()
	a := &s.set
	if err := a.load(q); err != nil {
		a.loaded = false
		return err
	}
	s.Status = a.solve(s)
	switch s.Status {
	case Optimal, IterationLimit:
		s.Z = append(s.Z[:0], a.z...)
		s.Lambda = grow(s.Lambda, a.m)
		s.Nu = grow(s.Nu, a.rows-a.m)
		clear(s.Lambda)
		clear(s.Nu)
		inRange := finite(s.Residual.Relative) && finite(s.Residual.Primal) && finite(s.Objective)
		for i, r := range a.w {
			v := a.lam[i] * a.scale[r]
			inRange = inRange && finite(v) && (math.Abs(v) >= minNormal || a.lam[i] == 0)
			if r < a.m {
				s.Lambda[r] = v
			} else {
				s.Nu[r-a.m] = v
			}
		}
		if !inRange {
			return s.outOfRange()
		}
		if s.Status == Optimal {
			return nil
		}
		return fmt.Errorf("qpdiff: stopped with relative KKT residual %.3g: %w", s.Residual.Relative, ErrIterationLimit)
	case Nonconvex:
		if !finite(s.Certificate.Residual) {
			return s.outOfRange()
		}
		a.loaded = false
		return errNonconvexQP
	}
	s.Residual, s.Objective = KKTResidual{}, 0
	if c := &s.Certificate; !finite(c.Residual) || !allFinite(c.Z) || !allFinite(c.Lambda) || !allFinite(c.Nu) {
		return s.outOfRange()
	}
	if s.Status == Infeasible {
		return errInfeasibleQP
	}
	return errUnboundedQP
}

// outOfRange forgets everything, since the numbers are no answer.
func (s *Solution) outOfRange() error {
	s.Reset()
	s.Status = IterationLimit
	return errOutOfRangeQP
}

// Wrapped once, so that a failing batch item allocates no more than others.
var (
	errInfeasibleQP = fmt.Errorf("qpdiff: no z meets Gz ≤ h and Az = b: %w (Solution.Certificate holds the proof)", ErrInfeasible)
	errUnboundedQP  = fmt.Errorf("qpdiff: the objective falls without end: %w (Solution.Certificate holds the direction)", ErrUnbounded)
	errOutOfRangeQP = fmt.Errorf("qpdiff: the solution, or a product that its residual sums, overflows or underflows: %w: rescale the problem", ErrNotFinite)
	errNonconvexQP  = fmt.Errorf("qpdiff: Q is not positive semidefinite: %w (Solution.Certificate holds a direction of negative curvature)", ErrNonconvex)
)

// SolveBatch solves qps[i] into sols[i], spread over the cores, and returns an
// error that names the lowest failing item, if any. The others are solved all
// the same, and each Solution has its own Status. Problems may share matrices,
// and an item's warm start is that of its Solution: the results have the same
// bits for any GOMAXPROCS. It panics if the lengths differ.
func SolveBatch(sols []Solution, qps []QP) error {
	if len(sols) != len(qps) {
		panic("qpdiff: SolveBatch needs one Solution per QP")
	}
	return ForEach(0, len(qps), func(i int) error {
		if err := sols[i].Solve(&qps[i]); err != nil {
			return fmt.Errorf("batch item %d: %w", i, err)
		}
		return nil
	})
}

// load copies q in, rows scaled by powers of two to a norm near one (which
// changes no bit of the mantissas), and notes what is the same as last time.
func (a *activeSet) load(q *QP) error {
	n, m, rows, err := q.dims()
	if err != nil {
		return err
	}
	if !a.loaded || a.n != n || a.m != m || a.rows != rows {
		a.resize(n, m, rows)
	}
	sameQ, err := a.loadQ(q)
	if err != nil {
		return err
	}
	if err := checkVector("QP.P", q.P); err != nil {
		return err
	}
	a.p = append(a.p[:0], q.P...)
	sameRows := true
	for r := range rows {
		same, err := a.loadRow(q, r)
		if err != nil {
			return err
		}
		sameRows = sameRows && same
	}
	// A shifted factor belongs to the units of the variables and the weight of the
	// proximal term that the rows gave.
	if !a.loaded || !sameQ || !sameRows && a.shift > 0 {
		a.loaded, a.factored = true, false
	}
	if !sameRows || !a.factored {
		a.forgetRows()
	}
	if a.redundant {
		a.current = false
	}
	return nil
}

// dims checks the shapes and returns n, m and m+q.
func (q *QP) dims() (n, m, rows int, err error) {
	n = len(q.P)
	if n == 0 {
		return 0, 0, 0, argErrorf("QP.P", ErrShape, "give one entry per variable", "is empty")
	}
	if q.Q != nil {
		if r, c := q.Q.Dims(); r != n || c != n {
			return 0, 0, 0, argErrorf("QP.Q", ErrShape, "give an n×n matrix for the n entries of P", "is %d×%d for n = %d", r, c, n)
		}
	}
	count := func(name string, g *mat.Dense, rhs string, h []float64) (int, error) {
		if g == nil || g.IsEmpty() {
			if len(h) != 0 {
				return 0, argErrorf("QP."+rhs, ErrShape, "give one entry per row of "+name, "has %d entries for no row", len(h))
			}
			return 0, nil
		}
		r, c := g.Dims()
		if c != n {
			return 0, argErrorf("QP."+name, ErrShape, "give one column per variable", "has %d columns for %d variables", c, n)
		}
		if len(h) != r {
			return 0, argErrorf("QP."+rhs, ErrShape, "give one entry per row of "+name, "has %d entries for %d rows", len(h), r)
		}
		return r, nil
	}
	if m, err = count("G", q.G, "H", q.H); err != nil {
		return 0, 0, 0, err
	}
	eq, err := count("A", q.A, "B", q.B)
	return n, m, m + eq, err
}

// asymmetry is how much entries (i, j) and (j, i) of Q may differ, relative to
// them and to √(Q_ii Q_jj): room for the rounding of a product such as XᵀX, whose
// size that is.
const asymmetry = 1e-13

func (a *activeSet) loadQ(q *QP) (same bool, err error) {
	n := a.n
	if q.Q == nil {
		same = a.qmax == 0 && a.loaded
		clear(a.q)
		a.qmax = 0
		return same, nil
	}
	raw := q.Q.RawMatrix()
	same = a.loaded
	for i := range n {
		src, dst := raw.Data[i*raw.Stride:i*raw.Stride+n], a.q[i*n:(i+1)*n]
		if same && slices.Equal(src, dst) {
			continue
		}
		same = false
		copy(dst, src)
	}
	if same {
		return true, nil
	}
	a.qmax = 0
	symmetric := true
	for i := range n {
		for j, v := range a.q[i*n : i*n+i+1] {
			if v != a.q[j*n+i] { // also where an entry is NaN
				symmetric = false
			}
			if v = math.Abs(v); v > a.qmax {
				a.qmax = v
			}
		}
	}
	if symmetric && finite(a.qmax) {
		return false, nil
	}
	if err := checkMatrix("QP.Q", q.Q); err != nil {
		return false, err
	}
	for i := range n {
		for j, v := range a.q[i*n : i*n+i] {
			w := a.q[j*n+i]
			size := max(math.Abs(v), math.Abs(w), math.Sqrt(math.Abs(a.q[i*n+i]))*math.Sqrt(math.Abs(a.q[j*n+j])))
			if math.Abs(v-w) > asymmetry*size {
				return false, argErrorf("QP.Q", ErrDomain, "give (Q+Qᵀ)/2, which has the same zᵀQz", "is not symmetric: it holds %v at (%d, %d) and %v at (%d, %d)", v, i, j, w, j, i)
			}
		}
	}
	return false, nil
}

// loadRow takes over constraint r and says whether its coefficients are those
// of the last problem.
func (a *activeSet) loadRow(q *QP, r int) (same bool, err error) {
	n := a.n
	g, rhs, i, name, rhsName := q.G, q.H, r, "QP.G", "QP.H"
	if r >= a.m {
		g, rhs, i, name, rhsName = q.A, q.B, r-a.m, "QP.A", "QP.B"
	}
	raw := g.RawMatrix()
	src, dst := raw.Data[i*raw.Stride:i*raw.Stride+n], a.c[r*n:(r+1)*n]
	same = a.loaded
	if same {
		s := a.scale[r]
		for j, v := range src {
			if v*s != dst[j] {
				same = false
				break
			}
		}
	}
	if !same {
		norm := floats.Dot(src, src)
		if safeSquares < norm && norm < 1/safeSquares {
			norm = math.Sqrt(norm)
		} else if norm, err = a.oddNorm(name, g, i); err != nil {
			return false, err
		}
		s := 1.0
		if norm > 0 {
			_, e := math.Frexp(norm)
			s = math.Ldexp(1, -e)
		}
		a.scale[r] = s
		a.single[r] = noEntry
		entries := 0
		for j, v := range src {
			dst[j] = v * s
			if v != 0 {
				entries++
				a.single[r] = j
			}
		}
		if entries > 1 {
			a.single[r] = manyEntries
		}
	}
	v := rhs[i]
	if math.IsNaN(v) || math.IsInf(v, -1) || r >= a.m && math.IsInf(v, 1) {
		remedy := "give a number, or +Inf to switch the row off"
		if r >= a.m {
			remedy = "give a number"
		}
		return false, argErrorf(rhsName, ErrNotFinite, remedy, "holds %v at index %d", v, i)
	}
	a.r[r] = v * a.scale[r]
	if math.Abs(a.r[r]) < minNormal && v != 0 {
		return false, argErrorf(rhsName, ErrNotFinite, "set it to 0, or measure the variables in smaller units", "holds %.3g at index %d, whose ratio to its row underflows", v, i)
	}
	return same, nil
}

const (
	// safeSquares: above it, and below its inverse, a sum of squares has lost
	// nothing to underflow or overflow.
	safeSquares = 1e-280
	// smallestRow is the size from which a row is taken, and its inverse that up
	// to which it is: the row's multiplier still has room for 38 decades.
	smallestRow = 1e-270
)

// oddNorm is the norm of row i of g, whose sum of squares is no safe number.
func (a *activeSet) oddNorm(name string, g *mat.Dense, i int) (float64, error) {
	var big float64
	for _, v := range g.RawRowView(i) {
		if !finite(v) {
			return 0, checkMatrix(name, g)
		}
		big = max(big, math.Abs(v))
	}
	if big > 0 && !(smallestRow <= big && big <= 1/smallestRow) {
		return 0, argErrorf(name, ErrDomain, "scale the row and its bound", "has entries of size %.3g in row %d, whose multiplier overflows or underflows", big, i)
	}
	return big, nil
}

// checkMatrix returns the error for the first entry that is not finite.
func checkMatrix(name string, m *mat.Dense) error {
	raw := m.RawMatrix()
	for i := range raw.Rows {
		for j, v := range raw.Data[i*raw.Stride : i*raw.Stride+raw.Cols] {
			if !finite(v) {
				return argErrorf(name, ErrNotFinite, "remove or bound the entry", "holds %v at row %d, column %d", v, i, j)
			}
		}
	}
	return nil
}

func checkVector(name string, x []float64) error {
	for i, v := range x {
		if !finite(v) {
			return argErrorf(name, ErrNotFinite, "remove or bound the entry", "holds %v at index %d", v, i)
		}
	}
	return nil
}

// allFinite reports whether no entry is NaN or infinite.
func allFinite(x []float64) bool {
	for _, v := range x {
		if !finite(v) {
			return false
		}
	}
	return true
}

// grow returns x with length n, its contents unspecified.
func grow[T any](x []T, n int) []T { return slices.Grow(x[:0], n)[:n] }
