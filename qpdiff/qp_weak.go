package qpdiff

import (
	"fmt"
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// withoutMultiplier lists the inequalities whose slack is negligible and whose computed multiplier
// is negligible too. Strict complementarity fails at these inequalities, at least for the computed
// multipliers. The parameter sigmaT is the smallest singular value of T, after the rows of T are
// scaled to norm one.
//
// A slack or multiplier is negligible if it is zero within its error. The error of the computed
// solution is K⁻¹ times the residual of the KKT system with the matrix K. The residual's entries
// are known up to the rounding of their terms. Computing the error of one slack or multiplier takes
// one solve with K. This error does not depend on the unit of any row or variable. For nearly all
// rows an upper bound of the error, computed from norms, avoids the solve. The bound uses estimates
// of the smallest singular values, and these estimates can be too high by a small factor. To
// compensate for this, the bound uses sums of magnitudes in place of norms; the sums are some
// hundred times larger than the norms.
func (d *qpDerivative) withoutMultiplier(sigmaT float64) []int {
	a := d.sys
	n := a.n
	d.zeroRows, d.cond = d.zeroRows[:0], 0
	if a.m == 0 {
		return d.zeroRows
	}
	// ‖L⁻¹x‖ ≤ (Σ|x_j|·inv_j)/sigmaL and ‖m_r‖ ≤ maxNorm for rows of norm one.
	sigmaL := d.smallestSingular()
	steep, grad, size, energy := 0.0, 0.0, 0.0, 0.0 // max inv, Σ ρ_j·inv_j, ‖z‖₁, Σ |z_j|/inv_j
	for j, z := range a.z {
		z, inv := math.Abs(z), d.inv[j]
		steep = max(steep, inv)
		grad += (math.Abs(a.p[j]) + math.Abs(a.grad[j])*(1/dense.Eps)) * inv
		energy += z / inv
		size += z
	}
	grad += float64(n) * energy // |Q_ij| ≤ 1/(inv_i·inv_j)
	rowSum := 0.0               // Σ σ_i/‖m_i‖
	for i, r := range a.w {
		grad += math.Abs(a.lam[i]) * steep * float64(n)
		rowSum += (math.Abs(a.r[r]) + size + math.Abs(a.slack[r])*(1/dense.Eps)) / d.mroot[i]
	}
	moved := grad/sigmaL + rowSum/sigmaT // of u = Lᵀz, in units of eps
	maxNorm := steep / sigmaL
	two := a.twoSided
	for r := range a.m {
		var value, scale float64
		i := a.at[r]
		switch {
		case i >= 0:
			value, scale = a.lam[i]*d.mroot[i], moved/sigmaT
			if two && a.equality(r) {
				value = math.Abs(value)
			}
		case math.IsInf(a.r[r], 1) || two && a.equality(r): // the row is switched off, or is an equality
			continue
		default:
			value, scale = a.slack[r], math.Abs(a.r[r])+size+maxNorm*moved
		}
		if dense.Negligible(value, scale, 1) {
			d.zeroRows = append(d.zeroRows, r)
		}
	}
	if len(d.zeroRows) == 0 {
		return d.zeroRows
	}
	d.measureTerms()
	d.zeroRows = slices.DeleteFunc(d.zeroRows, func(r int) bool { return !d.isZero(r) })
	if a.twoSided {
		d.zeroRows = slices.DeleteFunc(d.zeroRows, func(r int) bool {
			if a.equality(r) {
				d.evenRows = append(d.evenRows, r)
				return true
			}
			return false
		})
	}
	return d.zeroRows
}

// measureTerms computes the sum of the absolute terms in each row of the KKT system of the working
// set. It writes the sums for the variables to gradTerm, and the sums for the rows of the working
// set to rowTerm.
func (d *qpDerivative) measureTerms() {
	a := d.sys
	n := a.n
	d.gradTerm, d.rowTerm = dense.Grow(d.gradTerm, n), dense.Grow(d.rowTerm, len(a.w))
	for i := range n {
		sum := math.Abs(a.p[i])
		for j, q := range a.q[i*n : (i+1)*n] {
			sum += math.Abs(q * a.z[j])
		}
		d.gradTerm[i] = sum
	}
	for i, r := range a.w {
		for j, c := range a.crow(r) {
			d.gradTerm[j] += math.Abs(c * a.lam[i])
		}
		d.rowTerm[i] = a.slackTerm(r)
	}
}

// isZero reports whether the slack of row r is zero within its error. If row r is in the working
// set, isZero tests the row's multiplier instead of the slack.
func (d *qpDerivative) isZero(r int) bool {
	a := d.sys
	n, k := a.n, len(a.w)
	cz, cy := d.cz[:n], d.cy[:k]
	clear(cz)
	clear(cy)
	var testedValue, own float64
	if i := a.at[r]; i >= 0 {
		testedValue = a.lam[i]
		if a.equality(r) {
			testedValue = math.Abs(testedValue)
		}
		cy[i] = 1
	} else {
		testedValue, own = a.slack[r], a.slackTerm(r)
		copy(cz, a.crow(r))
	}
	d.solve()
	scale, resError := own, 0.0
	for j, v := range d.v[:n] {
		v = math.Abs(v)
		scale += v * d.gradTerm[j]
		resError += v * math.Abs(a.grad[j])
	}
	for i, y := range d.y[:k] {
		y = math.Abs(y)
		scale += y * d.rowTerm[i]
		resError += y * math.Abs(a.slack[a.w[i]])
	}
	// resError bounds the error of testedValue that the residuals cause. If a single residual
	// causes all of testedValue, resError equals |testedValue| up to the rounding of K⁻¹. The
	// subtracted number is therefore 2·resError.
	if !dense.Negligible(testedValue-2*resError, scale, 1) {
		return false
	}
	if a.twoSided && !a.equality(r) && !math.IsInf(a.otherRhs[r], 1) {
		terms, off := scale, resError
		if a.at[r] >= 0 {
			terms, off = a.slackTerm(r), 0
		}
		d.sideHidden = d.sideHidden || dense.Negligible(a.otherSlack[r]-2*off, terms+math.Abs(a.otherRhs[r]), 1)
	}
	own = max(own, d.sizeOf(r))
	if own > 0 {
		d.cond = max(d.cond, (scale+resError/dense.Eps)/own)
	}
	return true
}

// sizeOf returns the size with which the slack of row r is compared: |h_r| + ‖c_r‖(‖z‖ +
// ‖gradTerm‖), for a row with the coefficients c_r and the right-hand side h_r. If row r is in the
// working set, sizeOf returns the size with which its multiplier is compared: ‖gradTerm‖/‖c_r‖. The
// norms are in the scale of the variables.
func (d *qpDerivative) sizeOf(r int) float64 {
	a := d.sys
	var c2, z2, g2 float64
	for j, c := range a.crow(r) {
		s := a.q[j*a.n+j] + a.prox[j]
		c2 += c * c / s
		z2 += a.z[j] * a.z[j] * s
		g2 += d.gradTerm[j] * d.gradTerm[j] / s
	}
	if a.at[r] >= 0 {
		return math.Sqrt(g2 / c2)
	}
	return math.Abs(a.r[r]) + math.Sqrt(c2)*(math.Sqrt(z2)+math.Sqrt(g2))
}

// smallestSingular estimates the smallest singular value of L, after the rows of L are scaled to
// norm one. It sets d.inv to the inverse norms of the unscaled rows. The estimate takes one solve.
// The entries of its right-hand side are ±1, with signs chosen so that the solution grows.
// smallestSingular costs less than [dense.SmallestSingular], but its estimate can be too high by a
// larger factor.
func (d *qpDerivative) smallestSingular() float64 {
	a := d.sys
	if d.factorID == a.factors {
		return d.sigmaMin
	}
	n, x := a.n, d.rz[:a.n]
	d.inv = dense.Grow(d.inv, n)
	sum := 0.0
	for i := range x {
		root := math.Sqrt(a.q[i*n+i] + a.prox[i])
		d.inv[i] = 1 / root
		s := floats.Dot(a.l[i*n:i*n+i], x[:i])
		if s > 0 {
			root = -root
		}
		v := (root - s) * a.linv[i]
		x[i] = v
		sum += v * v
	}
	d.factorID, d.sigmaMin = a.factors, math.Sqrt(float64(n)/sum)
	return d.sigmaMin
}

// splitZeroRows divides zeroRows, the active rows with the multiplier 0, between the lists
// d.spareRows and d.weakRows. If active rows depend on each other, other multipliers are valid too;
// splitZeroRows reports whether this is so. A row goes into d.spareRows if some valid vector of
// multipliers is positive at this row, and otherwise into d.weakRows. The valid vectors are λ + δ.
// Here δ satisfies Σ δ_r c_r = 0 over the active rows r, and δ_r ≥ 0 on zeroRows. A linear program
// finds the δ with the most positive entries.
//
// If the KKT system is so badly conditioned that rounding hides slacks and multipliers, all of
// zeroRows count as weak.
func (d *qpDerivative) splitZeroRows(zeroRows []int) (dependent bool) {
	a := d.sys
	if d.cond > weakCond {
		d.weakRows = append(d.weakRows[:0], zeroRows...)
		return false
	}
	outside := slices.DeleteFunc(slices.Clone(zeroRows), func(r int) bool { return a.at[r] >= 0 })
	if d.areIndependent(outside) {
		d.weakRows = append(d.weakRows[:0], zeroRows...)
		return false
	}
	active := append(slices.Clone(a.w), outside...)
	k, n, nz := len(active), a.n, len(zeroRows)
	// The linear program has the variables δ (k entries) and t (nz entries): maximise Σt subject to t
	// ≤ 1, t ≤ δ on zeroRows, and t ≥ 0.
	lp := QP{P: make([]float64, k+nz), G: mat.NewDense(3*nz, k+nz, nil), H: make([]float64, 3*nz), A: mat.NewDense(n, k+nz, nil), B: make([]float64, n)}
	place := map[int]int{}
	for i, r := range active {
		place[r] = i
		for j, c := range a.crow(r) {
			lp.A.Set(j, i, c)
		}
	}
	for i, r := range zeroRows {
		lp.P[k+i] = -1
		lp.G.Set(3*i, k+i, 1)
		lp.H[3*i] = 1
		lp.G.Set(3*i+1, k+i, 1)
		lp.G.Set(3*i+1, place[r], -1)
		lp.G.Set(3*i+2, k+i, -1)
	}
	var sol Solution
	solved := sol.Solve(&lp) == nil
	for i, r := range zeroRows {
		if solved && sol.Z[k+i] > 0.5 {
			d.spareRows = append(d.spareRows, r)
		} else {
			d.weakRows = append(d.weakRows, r)
		}
	}
	return true
}

// areIndependent reports whether the given rows, together with the rows of the working set, are
// linearly independent. No given row may be in the working set.
func (d *qpDerivative) areIndependent(rows []int) bool {
	a := d.sys
	if len(rows) == 0 {
		return true
	}
	if len(a.w)+len(rows) > a.n {
		return false
	}
	f := a.triangle.clone()
	row, outside, more := make([]float64, a.n), make([]float64, a.n), make([]float64, a.n)
	for _, r := range rows {
		m := slices.Clone(a.crow(r))
		a.forward(m, 0)
		norm2 := floats.Dot(m, m)
		left := f.project(m, norm2, row, outside, more)
		if !(left > dependTol*dependTol*norm2) {
			return false
		}
		f.add(r, a.n, left, row, outside, more)
	}
	return true
}

// weakError returns the error for one input whose derivative does not exist because rows are weakly
// active.
func (d *qpDerivative) weakError(input QPInput) *NotDifferentiableError {
	return &NotDifferentiableError{Inputs: []Input{Input(input.String())}, Weak: Weak{Rows: slices.Clone(d.weakRows)}, Remedy: d.weakRemedy()}
}

func (d *qpDerivative) weakRemedy() string {
	if d.cond > weakCond {
		return fmt.Sprintf("the KKT system has a condition of about %.0e, which hides slacks and multipliers below %.0e of their scale: rescale or regularise the problem", d.cond, dense.ComplementarityTol*dense.Eps*d.cond)
	}
	if d.sideHidden {
		return "rounding hides which of its sides such a row lies on: set them equal, or further apart"
	}
	return "ask for the DirectionalDerivative, or set Generalised for an element of the generalised Jacobian"
}
