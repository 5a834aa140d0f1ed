package qpdiff

import (
	"fmt"
	"math"
	"strings"

	"cvgm/qpdiff/internal/check"

	"gonum.org/v1/gonum/mat"
)

// QP is the convex quadratic program
//
//	minimise   ½ zᵀQz + pᵀz
//	subject to Gz ≤ h    (m rows, multipliers λ ≥ 0)
//	           Az = b    (q rows, multipliers ν)
//
// in n = len(P) variables. Q is n×n, symmetric and positive semidefinite. A nil Q means zero, and
// the program is then linear. If there are no inequalities, G and H are nil. If there are no
// equalities, A and B are nil. An entry +Inf of H switches off its row. Rows may be equal,
// dependent or zero. A row of zeros is the condition 0 ≤ h or 0 = b. If its right-hand side is 0,
// the solution has no derivative with respect to this row (see [Solution.VJP]).
//
// A solution meets the KKT conditions with these signs:
//
//	Qz + p + Gᵀλ + Aᵀν = 0,   Gz ≤ h,   Az = b,   λ ≥ 0,   λᵢ(Gz − h)ᵢ = 0.
//
// # Two sides and bounds
//
// L adds lower sides to the rows of G. ZMin and ZMax are bounds of the variables. Each of the three
// may be nil:
//
//	l ≤ Gz ≤ h   (m rows; with L, H may be nil)
//	zmin ≤ z ≤ zmax   (n entries each; their multipliers are the n entries of λ behind the m)
//
// -Inf in L and ZMin, and +Inf in H and ZMax, mean no bound. A multiplier is positive on the upper
// side and negative on the lower side. The first KKT condition is then Qz + p + Gᵀλ + μ + Aᵀν = 0
// with the multipliers μ of the bounds. If the two sides of a row are equal, the row is an
// equality, and its multiplier may have any sign. If the sides differ by any amount, they are two
// sides of an inequality. A row with two sides costs no more than a row with one side, because at
// most one side is active.
//
// # Method
//
// The program is solved by a dual active-set method. The matrix Q = LLᵀ is factorised once. When
// row g_r of the constraints first enters the working set W, the solver computes m_r = L⁻¹g_r. The
// matrix M_W has the rows m_r of the working set. The solver keeps factors of this matrix, M_W =
// TQ₁, and updates them when a row enters or leaves. T is lower triangular, and Q₁ has orthonormal
// rows.
//
// The method starts in blocks: in each step the most violated rows enter W, and all rows with
// negative multipliers leave it (after Júdice and Pires, 1994). Most problems then need only a
// handful of steps. If the steps stop making progress, or if more rows are violated than there are
// variables, rows enter one by one as in Goldfarb and Idnani (1983). The one-by-one method cannot
// cycle.
//
// If Q is only semidefinite, the solver takes proximal steps, which replace Q by a definite matrix.
// Each proximal step is a warm-started solve by the same method (Arnström, Bemporad and Axehill,
// 2022). If the program is unbounded, the steps tend to the direction that proves this. Every solve
// ends with iterative refinement of the KKT system on the working set.
//
// An active-set method suits derivatives, because derivatives need two properties: the multipliers
// of inactive rows must be exactly zero, and the residuals must be near the rounding error.
// Interior point methods give neither. An active-set method is also faster for up to some hundred
// variables, and can start warm.
//
// The weakness of an active-set method is degeneracy together with bad scaling. Therefore the
// factor Q₁ is orthogonal, and the proximal steps start from a recentred, equilibrated problem. A
// factor of M_W M_Wᵀ would be a third cheaper than T and Q₁, but would solve fewer problems. The
// test set of Maros and Mészáros has 43 convex problems of at most 300 variables. The method with T
// and Q₁ solves all 43 problems. The same method with a factor of M_W M_Wᵀ solves only 40.
type QP struct {
	Q *mat.Dense
	P []float64
	G *mat.Dense
	H []float64
	A *mat.Dense
	B []float64

	L          []float64 // lower sides of the rows of G
	ZMin, ZMax []float64 // bounds of the variables
}

// qpShape has the numbers of variables and rows of a program. The field general is the number of
// rows of G. The field m is the number of inequalities: the rows of G and the bounds of the
// variables. The field rows is the number of all constraints: the inequalities and the equalities.
type qpShape struct{ n, general, m, rows int }

// twoSided reports whether the program has lower sides of rows or bounds of variables.
func (q *QP) twoSided() bool { return len(q.L) > 0 || q.bounded() }

func (q *QP) bounded() bool { return len(q.ZMin) > 0 || len(q.ZMax) > 0 }

// sides returns the lower and the upper side of inequality r. The first inequalities are the rows
// of G; general is their number. The bounds of the variables follow.
func (q *QP) sides(r, general int) (lo, hi float64) {
	lower, upper := q.L, q.H
	if r >= general {
		lower, upper, r = q.ZMin, q.ZMax, r-general
	}
	lo, hi = math.Inf(-1), math.Inf(1)
	if len(lower) > 0 {
		lo = lower[r]
	}
	if len(upper) > 0 {
		hi = upper[r]
	}
	return lo, hi
}

// shape checks the shapes and counts the rows.
func (q *QP) shape() (s qpShape, err error) {
	if q == nil {
		return s, check.ArgErrorf("q", ErrEmpty, "give a QP", "is nil")
	}
	n := len(q.P)
	if n == 0 {
		return s, check.ArgErrorf("QP.P", ErrEmpty, "give one entry per variable", "is empty")
	}
	if q.Q != nil {
		if r, c := q.Q.Dims(); r != n || c != n {
			return s, check.ArgErrorf("QP.Q", ErrShape, "give an n×n matrix for the n entries of P", "is %d×%d for n = %d", r, c, n)
		}
	}
	count := func(name string, g *mat.Dense) (int, error) {
		if g == nil || g.IsEmpty() {
			return 0, nil
		}
		r, c := g.Dims()
		if c != n {
			return 0, check.ArgErrorf("QP."+name, ErrShape, "give one column per variable", "has %d columns for %d variables", c, n)
		}
		return r, nil
	}
	if s.general, err = count("G", q.G); err != nil {
		return s, err
	}
	if len(q.H) != s.general && (len(q.L) == 0 || len(q.H) > 0) {
		return s, misfit("H", "row of G", q.H, s.general)
	}
	eq, err := count("A", q.A)
	if err != nil {
		return s, err
	}
	if len(q.B) != eq {
		return s, misfit("B", "row of A", q.B, eq)
	}
	s.n, s.m = n, s.general
	if q.bounded() {
		s.m += n
	}
	s.rows = s.m + eq
	if q.twoSided() {
		return s, q.checkSides(s)
	}
	return s, nil
}

// checkSides checks the lengths of L, ZMin and ZMax.
func (q *QP) checkSides(s qpShape) error {
	for _, c := range [3]struct {
		name, per string
		side      []float64
		want      int
	}{{"L", "row of G", q.L, s.general}, {"ZMin", "variable", q.ZMin, s.n}, {"ZMax", "variable", q.ZMax, s.n}} {
		if len(c.side) > 0 && len(c.side) != c.want {
			return misfit(c.name, c.per, c.side, c.want)
		}
	}
	return nil
}

func misfit(name, per string, side []float64, want int) error {
	unit, _, _ := strings.Cut(per, " ")
	count := fmt.Sprintf("%d %ss", want, unit)
	if want == 0 {
		count = "no " + unit
	}
	return check.ArgErrorf("QP."+name, ErrShape, "give one entry per "+per, "has %d entries for %s", len(side), count)
}

// Status is the way in which a solve ended.
type Status int

const (
	Unsolved       Status = iota // no solve yet, or the data could not be used
	Optimal                      // KKT conditions met to Solution.Tol
	Infeasible                   // no z meets the constraints; Certificate proves it
	Unbounded                    // the objective falls without end, or to far sides, along feasible directions; Certificate proves it
	Nonconvex                    // Q has a direction of negative curvature: Certificate.Z
	IterationLimit               // stopped before Tol; the solution holds the last iterate
)

func (s Status) String() string {
	names := [...]string{Unsolved: "unsolved", Optimal: "optimal", Infeasible: "infeasible", Unbounded: "unbounded", Nonconvex: "nonconvex", IterationLimit: "iteration limit"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("Status(%d)", int(s))
	}
	return names[s]
}

// KKTResidual measures how far a point violates the KKT conditions of a [QP]. Primal, Dual and Gap
// are the largest absolute violations:
//
//	Primal = max(Gz − h, 0, |Az − b|)
//	Dual   = ‖Qz + p + Gᵀλ + Aᵀν‖∞
//	Gap    = |zᵀQz + pᵀz + hᵀλ + bᵀν|   (primal minus dual objective)
//
// The condition λ ≥ 0 holds exactly. Lower sides and bounds count as rows of G. If a row has two
// sides, the sign of its multiplier selects the side.
//
// Relative measures the violations without units. It does not depend on the unit of the objective,
// on the unit of a row, or on a common unit of all variables. It is computed for each part of the
// program, and the largest value counts. A part is a set of variables that no entry of Q, G or A
// connects with variables outside the part. The units of different parts may be unrelated. Let u_j
// be the unit of variable j, and let
//
//	Z = max |z_j|/u_j
//	D = max u_j·|t| over the terms t of the gradient's entry j: p_j, Q_jk z_k, G_rj λ_r and A_rj ν_r
//
// with both maxima over the variables of the part. Relative is the largest of
//
//	the violation of row r    / max(|h_r|, Z·max_j u_j|G_rj|)   (of A and b alike)
//	u_j·|(Qz + p + Gᵀλ + Aᵀν)_j| / D_j
//	the part's share of Gap   / max(D·Z, |h_r λ_r|, |b_r ν_r|)
//
// where 0/0 counts as 0. Relative also has a lower bound for each row. Let t be the largest term of
// row r, and v the row's violation. If v exceeds Tol·t, Relative is at least v / (t +
// ‖L⁻¹G_r‖·(‖Lᵀz‖² + ‖L⁻¹p‖²)^½). Here LLᵀ is Q plus the proximal term.
//
// If Q is safely positive definite, all units u_j are 1 and D_j = D. Otherwise the units
// equilibrate Q and the rows with several entries: the largest entry of each row and column becomes
// near one. If a row of the working set has variable j and other variables, D_j = D. For any other
// variable j, the term D may come from another variable and be many decades too large for j.
// Therefore D_j is then the largest term of the gradient's entry j, or Z·max_k u_j|Q_jk|u_k if this
// is larger. If one entry of a row is so large that the row's other entries are within rounding of
// 0, the row counts as a row with one entry.
//
// A second lower bound applies if Relative is above 1e-13. It concerns each entry of the gradient,
// and each violation of a row, that exceeds 1e-13 in these units. Let q be the entry or violation,
// divided by the size of the terms whose sum it is. If q exceeds 1e-8, Relative is at least q.
// Values of Relative up to 1e-14 are upper bounds.
type KKTResidual struct {
	Primal, Dual, Gap float64
	Relative          float64
}

// qpReport holds the results of a solve other than z and the multipliers.
type qpReport struct {
	Objective                         float64
	Residual                          KKTResidual
	Iterations, Proximal, Refinements int
	Certificate                       Certificate
}

// Certificate proves that a [QP] has no solution. Solve has checked the proof against the data, up
// to rounding error. For an Unbounded program, Solve has also found a point that is feasible to
// Solution.Tol. The proof consists of these fields, and all other fields are empty:
//
//	Infeasible:  λ ≥ 0 and ν with Gᵀλ + Aᵀν = 0 and hᵀλ + bᵀν = −1
//	Unbounded:   z with Qz = 0, Gz ≤ 0, Az = 0 and pᵀz = −1
//	Nonconvex:   z with zᵀQz < 0 and ‖z‖∞ = 1
//
// If the program has lower sides or bounds, λ has the entries and signs of [Solution.Lambda]. A
// negative entry of λ is the multiplier of the lower side of its row, and not of the upper side h.
// In the certificate of an Unbounded program, a row with a lower side requires Gz ≥ 0.
//
// A finite side of a row counts as infinite if it is so far away that rounding errors exceed its
// effect. To test this, a point moves along the certificate's direction z until it meets the side.
// The side is too far away if, at that point, the slope of the objective along z is less than 1e-11
// of the terms of Qz. The direction z may therefore lead across such a side. In a linear program Qz
// has no terms, and z leads across no finite side.
type Certificate struct {
	Z, Lambda, Nu []float64
	// Residual is the largest violation of the equations above, divided by the size of their terms. In
	// a Nonconvex certificate, Residual is zᵀQz itself.
	Residual float64
}

// These errors are created only once. A batch item that fails therefore allocates no more memory
// than other items.
var (
	errInfeasibleQP = fmt.Errorf("qpdiff: no z meets the constraints (%w): relax one of the rows with a multiplier in Solution.Certificate, which proves it", ErrInfeasible)
	errUnboundedQP  = fmt.Errorf("qpdiff: the objective falls without end, or to sides so far that rounding of Qz hides P (%w): bound z along Solution.Certificate.Z", ErrUnbounded)
	errOutOfRangeQP = fmt.Errorf("qpdiff: the solution, or a product that its residual sums, overflows or underflows (%w): rescale the problem", ErrNotFinite)
	errNonconvexQP  = fmt.Errorf("qpdiff: Q is not positive semidefinite (%w): add curvature along Solution.Certificate.Z, where zᵀQz < 0", ErrNonconvex)
)

// boundEntry is the advice in the error for an infinite or NaN entry of a program.
const boundEntry = "remove or bound the entry"

// QPGrad has one number for each entry of the data of a [QP]. [Solution.VJP] adds its gradient to a
// QPGrad, and [Solution.JVP] takes a QPGrad as its direction. VJP skips a nil field, and JVP reads
// a nil field as zero. Any other field has the shape of the QP's field with the same name. If H or
// L is nil in the QP, the field of the QPGrad has one entry for each row of G. If ZMin or ZMax is
// nil in the QP, the field of the QPGrad has one entry for each variable. The derivative with
// respect to an infinite side is 0. Q must stay symmetric. The gradient with respect to Q is
// therefore symmetric, and a direction D for Q counts as (D + Dᵀ)/2.
type QPGrad QP

// QPInput names a block of the data of a [QP].
type QPInput int

const (
	InputQ QPInput = iota
	InputP
	InputG
	InputH
	InputA
	InputB
	InputL
	InputZMin
	InputZMax

	inputCount = iota
	noInput    = QPInput(-1)
)

func (input QPInput) String() string {
	return [...]string{"Q", "P", "G", "H", "A", "B", "L", "ZMin", "ZMax"}[input]
}

// qpInputs holds a flag for each block of the data.
type qpInputs [inputCount]bool

var allExist = qpInputs{true, true, true, true, true, true, true, true, true}

// opposite returns the block that holds the opposite sides. H and L are opposite to each other, and
// so are ZMin and ZMax.
func (input QPInput) opposite() QPInput {
	switch input {
	case InputL:
		return InputH
	case InputH:
		return InputL
	case InputZMin:
		return InputZMax
	case InputZMax:
		return InputZMin
	}
	return noInput
}

// The methods matrix and vector return the field of g for the given input. The method matrix
// returns nil if this field is a vector, and the method vector returns nil if it is a matrix.
func (g *QPGrad) matrix(input QPInput) *mat.Dense {
	switch input {
	case InputQ:
		return g.Q
	case InputG:
		return g.G
	case InputA:
		return g.A
	}
	return nil
}

func (g *QPGrad) vector(input QPInput) []float64 {
	switch input {
	case InputP:
		return g.P
	case InputH:
		return g.H
	case InputB:
		return g.B
	case InputL:
		return g.L
	case InputZMin:
		return g.ZMin
	case InputZMax:
		return g.ZMax
	}
	return nil
}

// restrict returns g without the fields whose derivatives do not exist.
func (g *QPGrad) restrict(exists qpInputs) QPGrad {
	out := *g
	if exists == allExist {
		return out
	}
	for input, field := range [inputCount]*[]float64{InputP: &out.P, InputH: &out.H, InputB: &out.B, InputL: &out.L, InputZMin: &out.ZMin, InputZMax: &out.ZMax} {
		if field != nil && !exists[input] {
			*field = nil
		}
	}
	for input, field := range [inputCount]**mat.Dense{InputQ: &out.Q, InputG: &out.G, InputA: &out.A} {
		if field != nil && !exists[input] {
			*field = nil
		}
	}
	return out
}

// QPOutput names a block of the solution of a [QP].
type QPOutput int

const (
	OutputZ QPOutput = iota
	OutputLambda
	OutputNu
)

func (o QPOutput) String() string { return [...]string{"Z", "Lambda", "Nu"}[o] }
