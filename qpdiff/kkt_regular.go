package qpdiff

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// qpDerivative holds the storage that all derivatives of one solution share. S denotes the strictly
// active inequalities, and C the coefficients of S and of the equalities. A dot marks the change of
// a quantity along a direction. The changes (ż, ẏ) of the solution and of the multipliers of C
// solve
//
//	[Q Cᵀ] [ż]     [ṗ + Q̇z + Ġᵀλ + Ȧᵀν]
//	[C 0 ] [ẏ] = − [Ċz − ḣ_S            ]
//
// The matrix is symmetric, so a VJP solves a system with the same matrix. If the matrix is regular,
// the derivatives use the factors from the end of the solve. If it is singular, its eigenvalues
// determine which derivatives exist.
type qpDerivative struct {
	sys         *kktSystem
	state       uint64 // the number of the solution for which it is prepared
	generalised bool   // prepared with weakly active rows counted as inactive
	weakRows    []int  // inequalities for which strict complementarity fails
	// spareRows lists active inequalities whose computed multiplier is zero. Their multipliers are not
	// unique: the KKT conditions also hold with other multipliers, which are positive on these rows.
	// See splitZeroRows.
	spareRows []int
	// evenRows lists the rows with equal sides and the multiplier 0. The sign of a multiplier selects
	// a side, and the multiplier 0 selects none.
	evenRows []int
	// sideHidden is true if zeroRows has a two-sided row for which z may lie on either side,
	// because the distance of the sides is within rounding.
	sideHidden bool
	// cond is the largest amplification of rounding errors among the rows whose slack and multiplier
	// are both zero; see weakCond.
	cond float64
	// tri has the rows and factors that the derivative uses. It is the triangle of the working set, or
	// a copy of that triangle without the weakly active rows.
	tri  triangle
	kkt  *kktMatrix // the KKT matrix with these rows, if it may be singular
	rows []int      // the rows of y, as numbered in activeSet
	v, y []float64  // the last solution
	// three vectors, one after the other, for the products in the cotangent of Q: z, the last
	// adjoint's v, and z again
	zvz []float64
	// Right-hand side and residual.
	cz, cy, rz, ry []float64
	qv             []float64        // Qv, in residual
	sums           []derivativeSums // of the parts, in residual
	unpinned       []int            // see findPinned
	// Work of uniquePrimal.
	h, hinv, root, diag []float64
	mroot               []float64 // ‖m_r‖ of the working set
	// Scratch of withoutMultiplier, see measureTerms.
	gradTerm, rowTerm []float64
	// inv and sigmaMin are the results of the method smallestSingular for the factorisation with the
	// number factorID.
	inv      []float64
	sigmaMin float64
	factorID uint64
	zeroRows []int
}

// leaveOut copies the factors of the working set and removes the weakly active rows from the copy.
// The original factors stay unchanged, because the next solve starts from them.
func (d *qpDerivative) leaveOut() {
	a := d.sys
	n := a.n
	inside := func(r int) bool { return a.at[r] >= 0 }
	if slices.ContainsFunc(d.weakRows, inside) {
		d.tri = a.triangle.clone()
		for i := len(a.w) - 1; i >= 0; i-- {
			if slices.Contains(d.weakRows, a.w[i]) {
				d.tri.remove(i, n, d.rz, d.ry)
			}
		}
		d.rows = append(d.rows[:0], d.tri.w...)
	}
	d.weakRows = d.weakRows[:0]
}

// useFull makes the derivative use the eigenvalues of the KKT matrix with the rows d.rows, in place
// of the factors.
func (d *qpDerivative) useFull() {
	a := d.sys
	n, k := a.n, len(d.rows)
	d.kkt = newKKTMatrix(n, k, a.q, a.stack(d.rows))
	dense.GrowAll(max(n, k), &d.y, &d.cy, &d.ry)
}

// solve sets (d.v, d.y) to the solution of the KKT system with the right-hand side (d.cz, d.cy). It
// returns the size of the right-hand side's part outside the range of the KKT matrix, as a fraction
// of the whole right-hand side.
func (d *qpDerivative) solve() (outside float64) {
	a := d.sys
	n, k := a.n, len(d.rows)
	if d.kkt != nil {
		return d.kkt.solve(d.v[:n], d.y[:k], d.cz[:n], d.cy[:k])
	}
	v, y := d.v[:n], d.y[:k]
	clear(v)
	clear(y)
	rz, ry := d.rz[:n], d.ry[:k]
	copy(rz, d.cz)
	copy(ry, d.cy)
	before, noisier, idle := math.Inf(1), math.Inf(1), 0
	noisy := false // whether an entry's residual is large among its own terms
	pinned := d.findPinned()
	for range maxCorrections {
		a.solveKKT(&d.tri, rz, ry)
		if pinned {
			for i, part := range a.varPart {
				if d.unpinned[part] == 0 {
					rz[i] = 0
				}
			}
		}
		floats.Add(v, rz)
		floats.Add(y, ry)
		left, noise := d.residual()
		noisy = noise > noisyTol
		gained := left < before/2
		if left <= refinedTol {
			if noise <= max(noiseTol, float64(n+k)*dense.Eps) {
				before = left
				break
			}
			idle++
			if noise < noisier/2 {
				noisier, idle = noise, 0
			}
			gained = idle <= 1
		}
		before = min(before, left)
		if !gained {
			break
		}
	}
	if a.shifted && (noisy || !(before <= slowTol)) {
		d.useFull()
		return d.solve()
	}
	return 0
}

// findPinned computes, for each part of the program, the number of variables minus the number of
// active rows. If this difference is 0, the part is at a vertex, and v is 0 in this part. A row
// with a nonzero right-hand side moves v, so it adds n to the difference, which is then never 0.
// findPinned reports whether the difference of at least one part is 0.
func (d *qpDerivative) findPinned() (some bool) {
	a := d.sys
	if len(a.parts) == 1 && len(d.rows) < a.n { // the usual case
		return false
	}
	d.unpinned = dense.Grow(d.unpinned, len(a.parts))
	for k := range d.unpinned {
		d.unpinned[k] = len(a.parts[k].variables)
	}
	for i, r := range d.rows {
		free := &d.unpinned[a.rowPart[r]]
		*free--
		if d.cy[i] != 0 {
			*free += a.n
		}
	}
	return slices.Contains(d.unpinned, 0)
}

// residual sets (d.rz, d.ry) to the residual of the last solution (v, y). It returns two measures
// of the residual's size, relRes and entryRes, which do not depend on the units.
//
// relRes is the largest ratio over the parts of the program. Each part has two ratios of 1-norms,
// and the larger one counts. The first ratio is the gradient's residual divided by the gradient's
// terms. The second ratio concerns the rows, scaled to norm 1: their residual is divided by h + s,
// where h is the norm of their right-hand sides and s is the size of v. The size s is the norm of
// v, or t/‖Q‖ if this is larger, where t is the size of the gradient's terms. The norm alone would
// be useless at a vertex, because v is 0 up to rounding there.
//
// entryRes is the largest of three ratios. The first compares the residual of one gradient entry
// with the terms of this entry. The second compares the residual of the rows of one part with the
// sum of v and of their right-hand sides. The third exists only with a proximal term: it compares
// the residual of one row with the terms of this row. relRes alone would accept large errors in two
// cases: if Q is small compared with the proximal term, or if one gradient entry is small compared
// with another.
func (d *qpDerivative) residual() (relRes, entryRes float64) {
	a := d.sys
	n := a.n
	v, y, rz, ry := d.v[:n], d.y[:len(d.rows)], d.rz[:n], d.ry[:len(d.rows)]
	clear(rz)
	for i, r := range d.rows {
		if y[i] != 0 {
			a.addRow(rz, y[i], r)
		}
	}
	qv := d.qv[:n]
	dense.Products(qv, a.q, n, v)
	d.sums = dense.Grow(d.sums, len(a.parts))
	for k := range d.sums {
		var relRes, terms, size float64
		for _, j := range a.parts[k].variables {
			unit, qv, c := a.unit[j], qv[j], rz[j]
			off := d.cz[j] - c - qv
			rz[j] = off
			off = math.Abs(off)
			own := math.Abs(d.cz[j]) + math.Abs(c) + math.Abs(qv)
			entryRes = fastMax(entryRes, ratio(off, own))
			relRes += unit * off
			terms += unit * own
			size += math.Abs(v[j]) / unit
		}
		if a.shifted {
			terms = max(terms, a.parts[k].weight*size)
		}
		d.sums[k] = derivativeSums{gradRes: relRes, gradTerms: terms, vnorm: size}
	}
	for i, r := range d.rows {
		ry[i] = d.cy[i] - floats.Dot(a.crow(r), v)
		p := &d.sums[a.rowPart[r]]
		p.rowRes += math.Abs(ry[i])
		p.rhs += math.Abs(d.cy[i])
		if a.shifted { // rows may have unrelated units
			entryRes = max(entryRes, ratio(math.Abs(ry[i]), math.Abs(d.cy[i])+dense.AbsDot(a.crow(r), v)))
		}
	}
	for k, p := range d.sums {
		entryRes = max(entryRes, ratio(p.rowRes, p.vnorm+p.rhs))
		relRes = max(relRes, ratio(p.gradRes, p.gradTerms), ratio(p.rowRes, max(p.vnorm, p.gradTerms/a.curvature(k))+p.rhs))
	}
	return relRes, entryRes
}

// derivativeSums holds five 1-norms for one part of the program. gradRes belongs to the gradient's
// residual, gradTerms to the gradient's terms, vnorm to v, rowRes to the residuals of the part's
// rows, and rhs to the right-hand sides of these rows.
type derivativeSums struct{ gradRes, gradTerms, vnorm, rowRes, rhs float64 }
