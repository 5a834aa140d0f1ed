package qpdiff

import (
	"fmt"
	"math"
	"slices"

	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// load copies the program q, and scales its rows to a norm near one. The scales are powers of two,
// so scaling does not change the bits of a mantissa. load also determines which data are equal to
// the data of the last program.
func (a *activeSet) load(q *QP) error {
	shape, err := q.shape()
	if err != nil {
		return err
	}
	if two := q.twoSided(); a.qpShape != shape || a.twoSided != two {
		a.resize(shape, two)
	}
	if !a.loaded {
		a.forgetProgram()
	}
	sameQ, err := a.loadQ(q)
	if err != nil {
		return err
	}
	if err := check.Finite("QP.P", boundEntry, q.P); err != nil {
		return err
	}
	a.p = append(a.p[:0], q.P...)
	sameRows, err := a.loadRows(q)
	if err != nil {
		return err
	}
	if !a.loaded || !sameQ || !sameRows {
		a.findParts()
		a.onlyBounds = !slices.ContainsFunc(a.onlyCol[:a.rows], func(j int) bool { return j < 0 })
	}
	// If the factor includes a proximal term, it also depends on the units of the variables and on
	// the weight of this term. The rows determine these units and this weight.
	if !a.loaded || !sameQ || !sameRows && a.shifted {
		a.loaded, a.factored = true, false
	}
	if !sameRows || !a.factored {
		a.forgetRows()
	}
	if a.equalitiesDepend {
		a.triangleValid = false
	}
	return nil
}

// loadRows copies the rows of the program q. It reports whether they are equal to the rows of the
// last program.
func (a *activeSet) loadRows(q *QP) (sameRows bool, err error) {
	sameRows = true
	if a.twoSided {
		sameRows, err = a.loadSides(q)
	} else {
		sameRows, err = a.loadBlock(0, q.G, q.H)
	}
	if err != nil {
		return false, err
	}
	sameEqualities, err := a.loadBlock(a.m, q.A, q.B)
	return sameRows && sameEqualities, err
}

// loadBlock copies the rows of the matrix g and their right-hand sides. The argument first is the
// index of the constraint for row 0. loadBlock reports whether the coefficients are equal to those
// of the last program.
func (a *activeSet) loadBlock(first int, g *mat.Dense, rhs []float64) (same bool, err error) {
	same = true
	if !a.loaded {
		same = len(rhs) == 0
		if err := a.takeRows(first, 0, len(rhs), g); err != nil {
			return false, err
		}
	}
	for i, v := range rhs {
		r := first + i
		if a.loaded && !a.sameRow(r, g.RawRowView(i), v) {
			same = false
			if err := a.takeRows(r, i, 1, g); err != nil {
				return false, err
			}
		}
		right := v * a.scale[r]
		a.r[r] = right
		if !(math.Abs(right) >= dense.SmallestNormal && math.Abs(right) <= math.MaxFloat64) && right != 0 || right == 0 && v != 0 {
			if err := a.oddRight(r, i, v); err != nil {
				return false, err
			}
		}
	}
	return same, nil
}

// findParts finds the parts of the program, and assigns each variable and each row to its part. It
// assigns a row of zeros to the first part.
func (a *activeSet) findParts() {
	n := a.n
	a.varPart, a.rowPart, a.byPart = dense.Grow(a.varPart, n), dense.Grow(a.rowPart, a.rows), dense.Grow(a.byPart, n)
	count := connectVariables(a.varPart, a.q, a.c)
	a.parts = dense.Grow(a.parts, count)
	clear(a.parts)
	clear(a.rowPart)
	if count == 1 {
		clear(a.varPart)
	} else {
		a.numberParts()
	}
	list := a.byPart[:0]
	for k := range a.parts {
		from := len(list)
		for j, part := range a.varPart {
			if part == k {
				list = append(list, j)
			}
		}
		a.parts[k].variables = list[from:]
	}
}

// numberParts numbers the parts of the program 0, 1, 2 and so on. On entry, a.varPart[j] is the
// lowest variable in the part of variable j. numberParts replaces this variable by the number of
// the part. It also sets the parts of the rows.
func (a *activeSet) numberParts() {
	next := 0
	for j, lowestVar := range a.varPart { // the first variable of a part comes before its other variables
		if lowestVar == j {
			a.varPart[j] = next
			next++
		} else {
			a.varPart[j] = a.varPart[lowestVar]
		}
	}
	for r, j := range a.onlyCol[:a.rows] {
		if j < 0 {
			j = slices.IndexFunc(a.crow(r), nonzero)
		}
		if j >= 0 {
			a.rowPart[r] = a.varPart[j]
		}
	}
}

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
	if !same && raw.Stride == n {
		copy(a.q, raw.Data)
	} else {
		for i := range n {
			src, dst := raw.Data[i*raw.Stride:][:n], a.q[i*n:(i+1)*n]
			if same && slices.Equal(src, dst) {
				continue
			}
			same = false
			copy(dst, src)
		}
	}
	if same {
		return true, nil
	}
	var symmetric bool
	a.qmax, symmetric = dense.Symmetric(a.q, n)
	if symmetric && dense.Finite(a.qmax) {
		return false, nil
	}
	if err := check.FiniteRows("QP.Q", boundEntry, q.Q); err != nil {
		return false, err
	}
	return false, a.checkSymmetry()
}

// checkSymmetry returns an error if Q_ij and Q_ji differ, for some i and j, by more than a rounding
// error.
func (a *activeSet) checkSymmetry() error {
	n := a.n
	for i := range n {
		for j, v := range a.q[i*n : i*n+i] {
			w := a.q[j*n+i]
			size := max(math.Abs(v), math.Abs(w), math.Sqrt(math.Abs(a.q[i*n+i]))*math.Sqrt(math.Abs(a.q[j*n+j])))
			if math.Abs(v-w) > symmetryTol*size {
				return check.ArgErrorf("QP.Q", ErrDomain, "give (Q+Qᵀ)/2, which has the same zᵀQz", "is not symmetric: it holds %v at (%d, %d) and %v at (%d, %d)", v, i, j, w, j, i)
			}
		}
	}
	return nil
}

// loadSides copies the two-sided inequalities of a program. It reports whether their coefficients
// equal the coefficients of the last problem.
func (a *activeSet) loadSides(q *QP) (same bool, err error) {
	same = true
	for r := range a.m {
		lo, hi := q.sides(r, a.general)
		known := a.loaded && inRange(a.scale[r], lo) && inRange(a.scale[r], hi)
		if r >= a.general {
			if !known {
				a.takeBound(r)
			}
		} else {
			src := q.G.RawRowView(r)
			if known = known && a.sameRow(r, src, 0); !known {
				if err := a.takeRows(r, r, 1, q.G); err != nil {
					return false, err
				}
			}
		}
		if err := a.setSides(r, lo, hi); err != nil {
			return false, err
		}
		same = same && known
	}
	return same, nil
}

// takeBound sets the coefficients of row r, which holds the bounds of a variable.
func (a *activeSet) takeBound(r int) {
	row, j := a.crow(r), r-a.general
	clear(row)
	row[j] = boundScale
	a.scale[r], a.onlyCol[r] = boundScale, j
}

// boundScale is the scale of a row that holds a bound. The only coefficient of the row is then ½,
// and so is its norm, as takeRows scales norms into the interval [½, 1).
const boundScale = .5

// setSides sets the lower side of row r to lo and the upper side to hi. The row faces the same side
// as before, unless this side is infinite and the other is not.
func (a *activeSet) setSides(r int, lo, hi float64) error {
	equal := a.loaded && a.equality(r)
	s := a.scale[r]
	right, other := hi*s, -lo*s
	if s < 0 {
		right, other = -other, -right
	}
	a.r[r], a.otherRhs[r] = right, other
	if right > math.MaxFloat64 {
		if other > math.MaxFloat64 {
			a.switchOff(r)
		} else {
			a.turn(r)
			a.triangleValid = a.triangleValid && a.at[r] < 0
		}
	}
	a.triangleValid = a.triangleValid && a.equality(r) == equal
	if lo <= hi && lo <= math.MaxFloat64 && hi >= -math.MaxFloat64 && exactProduct(lo, s) && exactProduct(hi, s) {
		return nil
	}
	return a.checkSides(r, lo, hi)
}

// exactProduct reports whether v·s keeps all digits of v.
func exactProduct(v, s float64) bool { return math.Abs(v*s) >= dense.SmallestNormal || v == 0 }

// checkSides returns an error if the lower side lo or the upper side hi of row r cannot be used.
func (a *activeSet) checkSides(r int, lo, hi float64) error {
	lower, upper, i := InputL, InputH, r
	if r >= a.general {
		lower, upper, i = InputZMin, InputZMax, r-a.general
	}
	for _, side := range [2]struct {
		input  QPInput
		v, off float64
	}{{lower, lo, math.Inf(-1)}, {upper, hi, math.Inf(1)}} {
		name, v := "QP."+side.input.String(), side.v
		switch {
		case math.IsNaN(v) || v == -side.off:
			return check.ArgErrorf(name, ErrNotFinite, fmt.Sprintf("give a number, or %+v for no bound", side.off), "holds %v at index %d", v, i)
		case !exactProduct(v, a.scale[r]):
			return underflowError(name, i, v)
		}
	}
	return check.ArgErrorf("QP."+lower.String(), ErrDomain, "give a lower side that is at most the upper one", "holds %v at index %d, above the %v in %v", lo, i, hi, upper)
}

// switchOff removes row r, which is no longer a constraint, from the working set with which the
// next solve starts.
func (a *activeSet) switchOff(r int) {
	if i := a.at[r]; i >= 0 {
		a.w = slices.Delete(a.w, i, i+1)
		for j, other := range a.w[i:] {
			a.at[other] = i + j
		}
		a.at[r] = -1
		a.triangleValid = false
	}
}

// inputNames returns two names of program data for row r: of the matrix that holds the row, and of
// the vector that holds its right-hand side.
func (a *activeSet) inputNames(r int) (rows, right string) {
	if r >= a.m {
		return "QP.A", "QP.B"
	}
	return "QP.G", "QP.H"
}

// oddRight checks v, a right-hand side of row r, if v is not finite or tiny. The argument i is the
// index of v in its block. If the scaled right-hand side of an inequality is +Inf, oddRight
// switches the inequality off. It returns an error if v cannot be used.
func (a *activeSet) oddRight(r, i int, v float64) error {
	_, name := a.inputNames(r)
	switch {
	case math.IsNaN(v) || math.IsInf(v, -1) || r >= a.m && math.IsInf(v, 1):
		remedy := "give a number, or +Inf to switch the row off"
		if r >= a.m {
			remedy = "give a number"
		}
		return check.ArgErrorf(name, ErrNotFinite, remedy, "holds %v at index %d", v, i)
	case math.Abs(a.r[r]) < dense.SmallestNormal:
		return underflowError(name, i, v)
	case a.r[r] > 0:
		a.switchOff(r)
	}
	return nil
}

// underflowError returns the error for a right-hand side whose scaled value underflows. Its value
// is v, and its index is i.
func underflowError(name string, i int, v float64) error {
	return check.ArgErrorf(name, ErrNotFinite, "set it to 0, or measure the variables in smaller units", "holds %.3g at index %d, whose ratio to its row underflows", v, i)
}

// sameRow reports whether row r already has the coefficients src, and a scale that suits the
// right-hand side v.
func (a *activeSet) sameRow(r int, src []float64, v float64) bool {
	s, dst := a.scale[r], a.crow(r)[:len(src)]
	if !inRange(s, v) {
		return false
	}
	j := 0
	for ; j+4 <= len(src); j += 4 {
		v, w := src[j:j+4], dst[j:j+4]
		if v[0]*s != w[0] || v[1]*s != w[1] || v[2]*s != w[2] || v[3]*s != w[3] {
			return false
		}
	}
	for ; j < len(src); j++ {
		if src[j]*s != dst[j] {
			return false
		}
	}
	return true
}

// inRange reports whether a right-hand side v can be multiplied by the scale s of its row without
// underflow or overflow.
func inRange(s, v float64) bool {
	t := math.Abs(v * s)
	return t >= dense.SmallestNormal && t <= math.MaxFloat64 || v == 0 || math.IsInf(v, 0)
}

// takeRows scales and stores the coefficients of constraint r and of the constraints behind it.
// These coefficients are row i of the matrix g and the rows behind it.
func (a *activeSet) takeRows(r, i, count int, g *mat.Dense) error {
	if count == 0 {
		return nil
	}
	n, raw := a.n, g.RawMatrix()
	norm2 := a.mnorm[r : r+count] // mrow computes these entries later
	from := raw.Data[i*raw.Stride:]
	dense.NormaliseRows(a.c[r*n:(r+count)*n], a.scale[r:r+count], norm2, from, raw.Stride, n)
	onlyCol := a.onlyCol[r : r+count]
	for k, v := range norm2 {
		at := k * raw.Stride
		if !(safeSquares < v && v < 1/safeSquares) {
			if err := a.takeOddRow(r+k, i+k, g); err != nil {
				return err
			}
		}
		onlyCol[k] = manyEntries
		if n == 1 || from[at] == 0 || from[at+1] == 0 {
			onlyCol[k] = onlyEntry(from[at : at+n])
		}
	}
	return nil
}

// takeOddRow does the work of takeRows for a row whose squared norm may underflow or overflow.
func (a *activeSet) takeOddRow(r, i int, g *mat.Dense) error {
	norm, err := a.oddNorm(r, i, g)
	if err != nil {
		return err
	}
	s := 1.0
	if norm > 0 {
		s = dense.PowerFor(norm)
	}
	a.scale[r] = s
	floats.ScaleTo(a.crow(r), s, g.RawRowView(i))
	return nil
}

// oddNorm returns the norm of constraint r, which is row i of the matrix g. It is used if the sum
// of the squared coefficients may underflow or overflow.
func (a *activeSet) oddNorm(r, i int, g *mat.Dense) (float64, error) {
	var big float64
	name, _ := a.inputNames(r)
	for _, v := range g.RawRowView(i) {
		if !dense.Finite(v) {
			return 0, check.FiniteRows(name, boundEntry, g)
		}
		big = max(big, math.Abs(v))
	}
	if big > 0 && !(smallestRow <= big && big <= 1/smallestRow) {
		return 0, check.ArgErrorf(name, ErrDomain, "scale the row and its bound", "has entries of size %.3g in row %d, whose multiplier overflows or underflows", big, i)
	}
	return big, nil
}
