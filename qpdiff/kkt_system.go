package qpdiff

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// kktSystem is a solved program: its scaled data, the factor of Q, the working set with its
// triangle, and the solution. The derivatives are computed from the kktSystem alone, and do not
// write to it. The next solve overwrites it.
type kktSystem struct {
	// qpShape has four fields: n is the number of variables, general is the number of rows of G, m
	// is the number of inequalities, and rows is the number of constraints. The inequalities are
	// the rows of G and then the bounds of the variables. The equalities come last.
	qpShape

	// The problem. Row r is c[r·n:(r+1)·n], scaled by scale[r], a power of two.
	q, p, c, r, scale []float64
	qmax              float64   // largest |entry| of Q
	d                 []float64 // squared scale of the variables, for the proximal term
	// unit[j] = 1/√d_j is the unit in which residuals measure variable j.
	unit []float64
	// twoSided is true if rows have lower sides, or if the variables have bounds. The solver then
	// works with one side of each inequality at a time, and writes this side as c z ≤ r. If this is
	// the lower side, the row's scale is negative, which negates the row. The other side is −c z ≤
	// otherRhs, with the slack otherSlack = otherRhs + c z. If the row has no other side, otherRhs
	// is +Inf.
	twoSided             bool
	otherRhs, otherSlack []float64
	varPart, rowPart     []int // the number of the part to which a variable or a row belongs
	byPart               []int // the variables, part by part
	parts                []programPart
	onlyCol              []int  // the column of a row's only entry, or manyEntries or noEntry
	skippedRows          []bool // rows that the solver ignores, because they depend on others or their violation is a rounding error

	l, linv []float64 // L and the inverses of its diagonal
	prox    []float64 // added to the diagonal of Q
	shifted bool      // prox is not zero
	factors uint64    // the number of the factorisation
	mnorm   []float64 // ‖m_r‖², at least for the rows of w

	triangle
	at  []int     // place of row r in w, -1 if it is outside
	eq  int       // the number of equalities, which are the first rows of w
	lam []float64 // multipliers of the scaled rows, in the order of w

	z, slack, grad []float64 // the solution, r − c z, the gradient of the Lagrangian
}

// A triangle holds a list W of constraints and a factorisation M_W = TQ₁. The rows of M_W are the
// vectors m_r = L⁻¹c_r of these constraints, where LLᵀ is the factorised Q. M_W and Q₁ have n
// columns.
type triangle struct {
	w    []int     // the rows, in the order of the factors
	t    []float64 // lower triangle
	tinv []float64 // inverses of its diagonal
	q1   []float64 // orthonormal rows with the span of M_W
}

// clone returns a copy that shares no storage with f.
func (f *triangle) clone() triangle {
	return triangle{w: slices.Clone(f.w), t: slices.Clone(f.t), tinv: slices.Clone(f.tinv), q1: slices.Clone(f.q1)}
}

// add appends row r, whose vector is m_r = coef·Q₁ + w, with w orthogonal to Q₁. The parameter
// norm2 is ‖w‖². The new row q of Q₁ is w/‖w‖. add subtracts from the vector perp its projection
// g·q, where g = qᵀperp, and returns g.
func (f *triangle) add(r, n int, norm2 float64, coef, w, perp []float64) (g float64) {
	k := len(f.w)
	f.tinv[k], g = dense.AppendRow(f.t[k*n:(k+1)*n], coef[:k], f.q1[k*n:(k+1)*n], w, perp, norm2)
	f.w = append(f.w, r)
	return g
}

// project splits a vector m, which is m_r for some row r, into the sum Q₁ᵀt + w. It sets t = Q₁m
// and w = m − Q₁ᵀt, and returns ‖w‖². The argument norm2 is ‖m‖². The vector w is orthogonal to the
// rows of the triangle. The parameter dt is scratch. If the first projection subtracts most of m,
// project projects a second time. This keeps the rows of Q₁ orthogonal to rounding error (Daniel et
// al., 1976).
func (f *triangle) project(m []float64, norm2 float64, t, w, dt []float64) float64 {
	k := len(f.w)
	remainder := dense.SplitRow(t, w, m, f.q1, k)
	for pass := 0; pass < 2 && remainder < cancelTol*norm2 && k > 0; pass++ {
		norm2 = remainder
		remainder = dense.SplitRow(dt, w, w, f.q1, k)
		sum := t[:k]
		for i, v := range dt[:len(sum)] {
			sum[i] += v
		}
	}
	return remainder
}

// remove removes the row at index j, and makes the factor triangular again by plane rotations. It
// writes the cosines and sines of the rotations to the slices cos and sin, from entry j on. Q₁
// loses one row, which remains in the storage q1 behind the last row of Q₁.
func (f *triangle) remove(j, n int, cos, sin []float64) {
	k := len(f.w)
	for i := j + 1; i < k; i++ {
		// Row i becomes row i-1. It then has one entry beyond its diagonal.
		dst, src := f.t[(i-1)*n:(i-1)*n+i+1], f.t[i*n:i*n+i+1]
		copy(dst, src)
		for c := j; c < i-1; c++ {
			cs, sn := cos[c], sin[c]
			x, y := dst[c], dst[c+1]
			dst[c], dst[c+1] = cs*x+sn*y, cs*y-sn*x
		}
		x, y := dst[i-1], dst[i]
		h := math.Sqrt(x*x + y*y)
		if !(h > safeNorm && h < 1/safeNorm) {
			h = math.Hypot(x, y)
		}
		cos[i-1], sin[i-1] = x/h, y/h
		dst[i-1] = h
		f.tinv[i-1] = 1 / h
		f.w[i-1] = f.w[i]
	}
	dense.RotateRows(f.q1[j*n:k*n], n, n, cos[j:k-1], sin[j:k-1])
	f.w = f.w[:k-1]
}

// forward replaces x by T⁻¹x.
func (f *triangle) forward(n int, x []float64) {
	dense.ForwardSolve(f.t, f.tinv, len(x), n, x)
}

// forward replaces x by L⁻¹x. The first entries of x, before the index start, must be zero.
func (a *kktSystem) forward(x []float64, start int) {
	n := a.n
	if start < n {
		dense.ForwardSolve(a.l[start*n+start:], a.linv[start:], n-start, n, x[start:])
	}
}

// backward replaces x by L⁻ᵀx.
func (a *kktSystem) backward(x []float64) { dense.BackSolve(a.l, a.linv, a.n, a.n, x) }

func (a *kktSystem) crow(r int) []float64 { return a.c[r*a.n : (r+1)*a.n] }

// addRow adds f times row r to x.
func (a *kktSystem) addRow(x []float64, f float64, r int) {
	if j := a.onlyCol[r]; j >= 0 {
		x[j] += float64(f * a.c[r*a.n+j])
		return
	}
	floats.AddScaled(x, f, a.crow(r))
}

// stack returns the coefficients of the given rows in one slice, row by row.
func (a *kktSystem) stack(rows []int) []float64 {
	c := make([]float64, 0, len(rows)*a.n)
	for _, r := range rows {
		c = append(c, a.crow(r)...)
	}
	return c
}

// These values in kktSystem.onlyCol mark rows with more than one entry and rows without entries.
const (
	manyEntries = -1
	noEntry     = -2
)

// onlyEntry returns the column of the only entry of a row. If the row has several entries, it
// returns manyEntries, and if it has none, noEntry.
func onlyEntry(row []float64) int {
	only := nextEntry(row, 0)
	switch {
	case only == len(row):
		return noEntry
	case nextEntry(row, only+1) < len(row):
		return manyEntries
	}
	return only
}

// nextEntry returns the first column, from column j on, in which the row has a nonzero entry. If
// there is none, it returns the length of the row.
func nextEntry(row []float64, j int) int {
	for ; j+4 <= len(row); j += 4 {
		next := row[j : j+4]
		bits := math.Float64bits(next[0]) | math.Float64bits(next[1]) | math.Float64bits(next[2]) | math.Float64bits(next[3])
		if bits<<1 != 0 {
			break
		}
	}
	for j < len(row) && row[j] == 0 {
		j++
	}
	return j
}

// solveKKT replaces (x, y) by the solution of the KKT system with the right-hand side (x, y). The
// triangle f holds the rows W of the system. W is the working set or a part of it. The matrix of
// the system is
//
//	[Q + proximal term  C_Wᵀ]
//	[C_W                0   ].
func (a *kktSystem) solveKKT(f *triangle, x, y []float64) {
	n := a.n
	a.forward(x, 0)
	f.forward(n, y)
	for i, t := range y {
		q := f.q1[i*n : (i+1)*n]
		y[i] = floats.Dot(q, x) - t
		floats.AddScaled(x, -y[i], q)
	}
	a.backward(x)
	dense.BackSolve(f.t, f.tinv, len(y), n, y)
}

// rowSize returns the largest absolute entry of row r in the units of the variables.
func (a *kktSystem) rowSize(r int) float64 {
	if j := a.onlyCol[r]; j >= 0 {
		return math.Abs(a.c[r*a.n+j]) * a.unit[j]
	}
	size := 0.0
	for j, c := range a.crow(r) {
		if v := math.Abs(c) * a.unit[j]; v > size {
			size = v
		}
	}
	return size
}

// curvature returns the size of the objective's second derivatives in part k of the program, in the
// units of the variables. Without a proximal term, this is the size of Q. With a proximal term, it
// is the larger of two sizes: the size of Q, and the size of the linear term divided by the size of
// z.
func (a *kktSystem) curvature(k int) float64 {
	if !a.shifted {
		return a.qmax
	}
	p := &a.parts[k]
	return max(p.qsize, p.weight/shiftLinear)
}

// slackTerm returns |r_r| + Σ_j |c_rj z_j|, the size of the terms in the slack of row r. Here r_r
// is the right-hand side of the row, and the c_rj are its coefficients.
func (a *kktSystem) slackTerm(r int) float64 {
	sum := math.Abs(a.r[r])
	for j, c := range a.crow(r) {
		sum += math.Abs(c * a.z[j])
	}
	return sum
}

// equality reports whether row r is an equality: a row of A, or a row with equal sides.
func (a *kktSystem) equality(r int) bool {
	return r >= a.m || a.twoSided && a.otherRhs[r] == -a.r[r]
}

// sidesDepend reports whether some row with equal sides depends on other rows.
func (a *kktSystem) sidesDepend() bool {
	for r, skip := range a.skippedRows[:a.m] {
		if skip && a.equality(r) {
			return true
		}
	}
	return false
}

// sideChange returns the changes of the lower and the upper side of row r along the direction t.
func (a *kktSystem) sideChange(t *QPGrad, r int) (lo, hi float64) {
	lower, upper, at := t.L, t.H, r
	if r >= a.general {
		lower, upper, at = t.ZMin, t.ZMax, r-a.general
	}
	if lower != nil {
		lo = lower[at]
	}
	if upper != nil {
		hi = upper[at]
	}
	return lo, hi
}

// placeIn finds row r in the QPGrad t. It returns the field of t with the row's coefficients, the
// field with the row's side, and the row's index in both. If the row has two sides, this is the
// side that inputsOf selects. For a bound of a variable, the first field is nil.
func (a *kktSystem) placeIn(t *QPGrad, r int) (m *mat.Dense, rhs []float64, at int) {
	switch {
	case r >= a.m:
		return t.A, t.B, r - a.m
	case !a.twoSided:
		return t.G, t.H, r
	}
	input, side, at := a.inputsOf(r)
	return t.matrix(input), t.vector(side), at
}

// inputsOf finds row r in the data of the program. It returns the names of two blocks: the matrix
// that has the row, and the vector of the side that the row faces. It also returns the row's index
// in these blocks. If both sides of the row are equal, the sign of the multiplier selects the side.
func (a *kktSystem) inputsOf(r int) (matrix, side QPInput, at int) {
	lower := a.scale[r] < 0
	if a.equality(r) {
		lower = a.multiplier(r) < 0
	}
	switch {
	case r >= a.m:
		return InputA, InputB, r - a.m
	case r >= a.general && lower:
		return noInput, InputZMin, r - a.general
	case r >= a.general:
		return noInput, InputZMax, r - a.general
	case lower:
		return InputG, InputL, r
	}
	return InputG, InputH, r
}

// placeOut returns the list, lambda or nu, that holds the multiplier of row r. It also returns the
// index of the multiplier in the list.
func (a *kktSystem) placeOut(lambda, nu []float64, r int) (out []float64, at int) {
	if r < a.m {
		return lambda, r
	}
	return nu, r - a.m
}

// isIgnorable reports whether a derivative can ignore row r. It can if three conditions hold: row r
// is a row of zeros, the direction t does not change the sides of row r, and the derivative of the
// multiplier of row r is not requested.
func (a *kktSystem) isIgnorable(r int, dlambda, dnu []float64, t *QPGrad) bool {
	if out, _ := a.placeOut(dlambda, dnu, r); a.onlyCol[r] != noEntry || out != nil {
		return false
	}
	input, side, at := a.inputsOf(r)
	sides := [2][]float64{t.vector(side), nil}
	if a.equality(r) {
		sides[1] = t.vector(side.opposite())
	}
	for _, rhs := range sides {
		if rhs != nil && rhs[at] != 0 {
			return false
		}
	}
	m := t.matrix(input)
	return m == nil || floats.Norm(m.RawRowView(at), 1) == 0
}

// multiplier returns the multiplier of row r in the units of the caller's program.
func (a *kktSystem) multiplier(r int) float64 {
	if i := a.at[r]; i >= 0 {
		return a.lam[i] * a.scale[r]
	}
	return 0
}
