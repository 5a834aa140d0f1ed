package qpdiff

import (
	"math"

	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// activeSet is the working storage of one QP solve: the scaled problem, the factor of Q, and the
// working set with its triangle. All constraints have one numbering: first the m inequalities, then
// the equalities. The field w lists the constraints in the working set, equalities first.
//
// Let LLᵀ be Q plus the proximal term, let m_r = L⁻¹c_r for the coefficients c_r of row r, and let
// u = Lᵀz. The program is then: minimise ½‖u − u0‖² subject to m_rᵀu ≤ r_r. Here u0 is the
// unconstrained minimiser, and r_r is the right-hand side of row r.
type activeSet struct {
	kktSystem
	loaded   bool // the data of a problem are loaded
	factored bool // l belongs to q

	// maxRowRatio is the largest ratio of a row's violation to the row's own terms; see looseTol.
	// coarseGrad is true if some entry of the gradient may exceed defaultTol times the entry's own
	// terms.
	maxRowRatio float64
	coarseGrad  bool
	weakened    bool // the weight of the proximal term was reduced after it was chosen
	// qRowMax has the largest entry of each row of Q. coupling has the largest entry of each column
	// of C_W, over those rows of the working set that have several entries. Both are in the units
	// of the variables, and are used only with a proximal term.
	qRowMax, coupling []float64
	logs              []float64 // work of geometricScale
	loneRows          []bool    // rows that are bounds up to rounding, see findLone
	mrows             []float64 // m_r if mrowKnown[r], likewise mnorm
	mrowKnown         []bool
	// triangleValid is true if t and q1 are factors for the rows in w, computed with the current
	// factor of Q. equalitiesDepend is true if some equalities depend on others. In this case, the
	// next solve must check again whether their right-hand sides b are consistent.
	triangleValid, equalitiesDepend bool

	onlyBounds bool // each row has one entry

	g []float64 // Q₁u0, see perp
	e []float64 // T⁻¹ baseSlack_W

	// The base is the origin of z and the centre of the proximal term. The slacks at the base are
	// baseSlack = r − c·base. The unconstrained minimiser of u is u0 = Q₁ᵀg + perp, with perp
	// orthogonal to the rows of Q₁.
	base, baseSlack, perp  []float64
	baseOther              []float64 // as baseSlack, for the sides that the rows do not face
	step                   []float64 // z = base + step
	dz, dl                 []float64 // a correction of z and the multipliers; dz also holds a direction, see setFallDirection
	y                      []float64 // coefficients of the rows of w, see combination
	row, wrow              []float64 // Q₁m_r and the part of m_r orthogonal to Q₁, see project
	oldZ, oldLam           []float64 // z and the multipliers before the last correction
	work, work2            []float64 // scratch within one function, which names what they hold
	lastRows               []int     // the rows of the last working set; restartAtZ tries to enter them
	violatedRows           []int     // the violated rows that may enter
	iterations, maxChanges int
}

// resize allocates the storage for a program with another shape than the last program.
func (a *activeSet) resize(shape qpShape, twoSided bool) {
	a.qpShape, a.twoSided = shape, twoSided
	n, m, rows := a.n, a.m, a.rows
	a.loaded = false
	a.otherRhs, a.otherSlack, a.baseOther = a.otherRhs[:0], a.otherSlack[:0], a.baseOther[:0]
	if twoSided {
		dense.GrowAll(m, &a.otherRhs, &a.otherSlack, &a.baseOther)
	}
	dense.GrowAll(n*n, &a.q, &a.l, &a.t, &a.q1)
	dense.GrowAll(rows*n, &a.c, &a.mrows)
	dense.GrowAll(n, &a.p, &a.d, &a.prox, &a.unit, &a.qRowMax, &a.coupling, &a.linv, &a.tinv, &a.g, &a.e, &a.lam, &a.z, &a.base, &a.step, &a.perp, &a.grad, &a.dz, &a.dl, &a.y, &a.work, &a.work2, &a.row, &a.wrow, &a.oldZ, &a.oldLam)
	dense.GrowAll(rows, &a.r, &a.scale, &a.mnorm, &a.slack, &a.baseSlack)
	dense.GrowAll(rows, &a.mrowKnown, &a.skippedRows, &a.loneRows)
	dense.GrowAll(rows, &a.at, &a.onlyCol)
	dense.GrowAll(n, &a.w, &a.lastRows)
	a.violatedRows = dense.Grow(a.violatedRows, m)
}

// forgetProgram forgets the last program and its working set.
func (a *activeSet) forgetProgram() {
	a.factored = false
	a.w = a.w[:0]
	clear(a.q)
	a.qmax = 0
	dense.Fill(a.at, -1)
	a.eq, a.triangleValid = 0, false
}

// forgetRows discards the values that were computed from the rows and the last factor of Q. It
// keeps the working set, from which the next solve starts.
func (a *activeSet) forgetRows() {
	clear(a.mrowKnown)
	a.triangleValid = false
}

// factor computes the Cholesky factor L of Q plus the proximal term. It returns the first row whose
// pivot is at most tol times the row's diagonal entry, or n if there is no such row.
func (a *activeSet) factor(tol float64) int {
	n := a.n
	a.factors = check.NewState()
	copy(a.l, a.q)
	for i, p := range a.prox {
		a.l[i*n+i] += p
	}
	return dense.Cholesky(nil, a.l, a.linv, n, tol)
}

// mrow returns m_r = L⁻¹c_r.
func (a *activeSet) mrow(r int) []float64 {
	n := a.n
	m := a.mrows[r*n : (r+1)*n]
	if a.mrowKnown[r] {
		return m
	}
	a.mrowKnown[r] = true
	row := a.crow(r)
	if row[0] != 0 { // the usual case
		a.mnorm[r] = dense.ForwardRow(m, row, a.l, a.linv, n)
		return m
	}
	from := nextEntry(row, max(a.onlyCol[r], 0))
	clear(m[:from])
	if a.mnorm[r] = 0; from < n {
		a.mnorm[r] = dense.ForwardRow(m[from:], row[from:], a.l[from*n+from:], a.linv[from:], n)
	}
	return m
}

// addRows adds the rows of the working set to x, each multiplied by its entry of f.
func (a *activeSet) addRows(x, f []float64) {
	if !a.onlyBounds {
		dense.AddListed(x, f, a.c, a.w)
		return
	}
	for i, r := range a.w {
		a.addRow(x, f[i], r)
	}
}

// combination sets a.y to the solution y of M_Wᵀy = Q₁ᵀt. Here t is the result of project for the
// row that was projected last.
func (a *activeSet) combination() []float64 {
	k := len(a.w)
	y := a.y[:k]
	copy(y, a.row[:k])
	dense.BackSolve(a.t, a.tinv, k, a.n, y)
	return y
}

// enter appends row r to the working set. Row r must be the row that was projected last.
func (a *activeSet) enter(r int, norm2 float64) {
	k, n := len(a.w), a.n
	a.g[k] = a.add(r, n, norm2, a.row, a.wrow, a.perp)
	a.lam[k] = 0
	a.at[r] = k
	if a.equality(r) {
		a.eq = k + 1
	}
	a.iterations++
}

// tryEnter appends row r unless it depends on the working set.
func (a *activeSet) tryEnter(r int) bool {
	if len(a.w) == a.n {
		return false
	}
	m := a.mrow(r)
	norm2 := a.mnorm[r]
	remainder := a.project(m, norm2, a.row, a.wrow, a.dl)
	if !(remainder > dependTol*dependTol*norm2) {
		return false
	}
	a.enter(r, remainder)
	return true
}

// leave removes the row at place j of the working set.
func (a *activeSet) leave(j int) {
	k, n := len(a.w), a.n
	r := a.w[j]
	a.at[r] = -1
	a.remove(j, n, a.work, a.work2)
	for i, other := range a.w[j:] {
		a.at[other] = j + i
	}
	copy(a.lam[j:k-1], a.lam[j+1:k])
	for c := j; c < k-1; c++ {
		cs, sn := a.work[c], a.work2[c]
		a.g[c], a.g[c+1] = cs*a.g[c]+sn*a.g[c+1], cs*a.g[c+1]-sn*a.g[c]
	}
	last := a.g[k-1]
	floats.AddScaled(a.perp, last, a.q1[(k-1)*n:k*n])
	p := &a.parts[a.rowPart[r]]
	p.noise = max(p.noise, math.Abs(last))
	if j < a.eq {
		a.eq--
	}
	a.iterations++
}

// setMultipliers computes the multipliers λ of the working set from the system Tᵀλ = g − e. Here e
// is T⁻¹s_W, and s_W holds the slacks of the working set at the base.
func (a *activeSet) setMultipliers() {
	a.setOffsets()
	k := len(a.w)
	floats.SubTo(a.lam[:k], a.g[:k], a.e[:k])
	dense.BackSolve(a.t, a.tinv, k, a.n, a.lam)
}

// setOffsets sets a.e to T⁻¹s_W.
func (a *activeSet) setOffsets() {
	k := len(a.w)
	dense.Gather(a.e, a.baseSlack, a.w)
	a.triangle.forward(a.n, a.e[:k])
}

// setPoint sets z to the minimiser on the working set, and sets the slacks of all rows.
func (a *activeSet) setPoint() {
	a.move()
	a.followAll()
}

// followAll computes the slacks of all rows at the point z = base + step.
func (a *activeSet) followAll() {
	if a.twoSided {
		a.subtractSides(a.baseSlack, a.baseOther, a.step)
	} else {
		a.subtractRows(a.baseSlack, a.step)
	}
}

// move sets z to the minimiser on the working set. It computes z as the base plus a step: z = base
// + L⁻ᵀ(u⊥ + Q₁ᵀe). The vector u⊥ is perp, and e holds T⁻¹ times the slacks of the working set at
// the base.
func (a *activeSet) move() {
	copy(a.step, a.perp)
	dense.AddRows(a.step, a.e[:len(a.w)], a.q1, a.n)
	a.backward(a.step)
	floats.AddTo(a.z, a.base, a.step)
}

// followRows computes the slacks of the given rows at the point z = base + step.
func (a *activeSet) followRows(rows []int) {
	for _, r := range rows {
		a.slack[r] = a.baseSlack[r] - floats.Dot(a.crow(r), a.step)
	}
}

// recentre makes z the base, and thereby the centre of the proximal term. It keeps the working set
// and its multipliers. Relative to the new base, the unconstrained minimiser is u0 = −L⁻¹∇L +
// M_Wᵀλ, where ∇L is the gradient of the Lagrangian. Two vectors represent u0: g = Q₁u0, and perp,
// the part of u0 orthogonal to the rows of Q₁. Near the solution perp is small, and so are the
// rounding errors of the following steps. recentre must be called after measure, which sets grad
// and slack.
func (a *activeSet) recentre() {
	n, k := a.n, len(a.w)
	a.baseHere()
	floats.ScaleTo(a.perp, -1, a.grad)
	a.forward(a.perp, 0)
	a.measureNoise()
	g := a.g[:k]
	for j := range g {
		v := floats.Dot(a.q1[j*n:(j+1)*n], a.perp)
		floats.AddScaled(a.perp, -v, a.q1[j*n:(j+1)*n])
		for i := j; i < k; i++ {
			v += a.t[i*n+j] * a.lam[i]
		}
		g[j] = v
	}
}

// entriesOf copies the entries of x that belong to part k of the program to the slice work, and
// returns this slice. If the program has only one part, entriesOf returns x.
func (a *activeSet) entriesOf(work, x []float64, k int) []float64 {
	if len(a.parts) == 1 {
		return x
	}
	work = work[:len(a.parts[k].variables)]
	dense.Gather(work, x, a.parts[k].variables)
	return work
}

// measureNoise sets the noise of each part of the program to the norm of perp in this part.
func (a *activeSet) measureNoise() {
	for k := range a.parts {
		a.parts[k].noise = floats.Norm(a.entriesOf(a.work, a.perp, k), 2)
	}
}

// roundingError returns the rounding error of u = Lᵀz in part k of the program. It includes the
// rounding error of the step from u back to z. Because of this error, the slacks of the working set
// are not exactly 0.
func (a *activeSet) roundingError(k int) float64 {
	sum := 0.0
	for i, r := range a.w {
		if a.rowPart[r] == k {
			sum += a.e[i] * a.e[i]
		}
	}
	off := roundingFactor * dense.Eps * max(a.parts[k].noise, math.Sqrt(sum))
	for _, r := range a.w {
		if a.rowPart[r] == k {
			off = max(off, math.Abs(a.slack[r])/math.Sqrt(a.mnorm[r]))
		}
	}
	return off
}

// baseHere makes z the base. The slacks at z must be known.
func (a *activeSet) baseHere() {
	copy(a.base, a.z)
	copy(a.baseSlack, a.slack)
	if a.twoSided {
		copy(a.baseOther, a.otherSlack)
	}
}

// setSlacks computes the slacks of all rows at the point z.
func (a *activeSet) setSlacks() {
	if a.twoSided {
		a.subtractSides(a.r, a.otherRhs, a.z)
	} else {
		a.subtractRows(a.r, a.z)
	}
}

// subtractRows sets a.slack to rhs − Cx. The rows of C are all constraints.
func (a *activeSet) subtractRows(rhs, x []float64) {
	dst := a.slack[:a.rows]
	rhs = rhs[:len(dst)]
	if a.onlyBounds {
		for r, j := range a.onlyCol[:a.rows] {
			dst[r] = rhs[r] - float64(a.c[r*a.n+j]*x[j])
		}
		return
	}
	dense.Products(dst, a.c, a.n, x)
	for r, v := range dst {
		dst[r] = rhs[r] - v
	}
}

// A row with two sides faces one of its sides at a time: the solver treats it as a row that has
// only this side. The two sides are never in the working set together. If z violates the side that
// the row does not face, the row is turned to that side. Turning negates the numbers of the row and
// changes no other bit.

// turn exchanges the two sides of row r, so that the row faces the other one. Row r must be outside
// the working set.
func (a *activeSet) turn(r int) {
	a.scale[r] = -a.scale[r]
	if j := a.onlyCol[r]; j >= 0 {
		a.c[r*a.n+j] = -a.c[r*a.n+j]
	} else {
		floats.Scale(-1, a.crow(r))
	}
	if a.mrowKnown[r] {
		floats.Scale(-1, a.mrows[r*a.n:(r+1)*a.n])
	}
	a.r[r], a.otherRhs[r] = a.otherRhs[r], a.r[r]
	a.slack[r], a.otherSlack[r] = a.otherSlack[r], a.slack[r]
	a.baseSlack[r], a.baseOther[r] = a.baseOther[r], a.baseSlack[r]
}

// subtractSides does the work of subtractRows for rows with two sides. It also sets a.otherSlack to
// otherRhs + Cx, the slacks of the sides that the rows do not face. If a row is outside the working
// set, and z violates the side that the row does not face, subtractSides turns the row to that
// side.
func (a *activeSet) subtractSides(rhs, otherRhs, x []float64) {
	n, dst := a.n, a.slack[:a.rows]
	dense.Products(dst[:a.general], a.c, n, x)
	for j, r := 0, a.general; r < a.m; j, r = j+1, r+1 {
		dst[r] = a.c[r*n+j] * x[j]
	}
	dense.Products(dst[a.m:], a.c[a.m*n:], n, x)
	rhs = rhs[:len(dst)]
	for r, u := range otherRhs {
		v := dst[r]
		dst[r] = rhs[r] - v
		u += v
		if a.otherSlack[r] = u; u < 0 && u < dst[r] {
			a.tryTurn(r)
		}
	}
	for r := a.m; r < a.rows; r++ {
		dst[r] = rhs[r] - dst[r]
	}
}

// tryTurn makes row r face its other side. If the row is in the working set, or is an equality,
// tryTurn does nothing.
func (a *activeSet) tryTurn(r int) {
	if a.at[r] < 0 && !a.equality(r) {
		a.turn(r)
	}
}

// faceNearest makes all rows face their nearer side, because derivatives test only the side that a
// row faces.
func (a *activeSet) faceNearest() {
	for r, u := range a.otherSlack {
		if u < a.slack[r] {
			a.tryTurn(r)
		}
	}
}

// mayEnter reports whether row r is outside the working set and may enter it. If it is outside, and
// z is on or beyond the side that the row does not face, mayEnter makes the row face that side. The
// parameter product is c_rᵀz, the product of the row with z.
func (a *activeSet) mayEnter(r int, product float64) bool {
	if a.at[r] >= 0 {
		return false
	}
	if a.otherRhs[r] <= -product {
		a.turn(r)
	}
	return true
}

// unskip allows rows with two sides to enter the working set again if they were skipped because of
// rounding. It does not allow this for equalities that follow from other rows.
func (a *activeSet) unskip() {
	for r := range a.skippedRows[:a.m] {
		a.skippedRows[r] = a.skippedRows[r] && a.equality(r)
	}
}
