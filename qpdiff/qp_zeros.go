package qpdiff

import (
	"math"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// In each part of the program that has not converged, tryZeros sets some entries of z and some
// multipliers to 0. It keeps the zeros of a part only if they reduce the residual to at most tol.
func (a *activeSet) tryZeros(s *qpReport, tol float64) {
	for k := range a.parts {
		if a.parts[k].relative > convergedTol {
			a.tryZerosOf(s, tol, k)
		}
	}
}

// tryZerosOf does the work of tryZeros for part k. If z = 0 satisfies the rows of the part, it
// tries z = 0. If p is 0 in the part, it tries zeros for all multipliers and for those entries of z
// that have a nonzero row in Q. If these multipliers and entries are 0 at the solution, their
// computed values come only from rounding and from the proximal steps. Corrections do not remove
// these rounding errors.
func (a *activeSet) tryZerosOf(s *qpReport, tol float64, k int) {
	p, lam := &a.parts[k], a.lam[:len(a.w)]
	try := func() {
		before := p.relative
		if a.measure(s, true); !(p.relative < before && p.relative <= tol) {
			copy(a.z, a.oldZ)
			copy(lam, a.oldLam)
			a.measure(s, true)
		}
	}
	copy(a.oldLam, lam)
	copy(a.oldZ, a.z)
	origin := a.originFits(k)
	if origin {
		a.clearZ(k, false)
		try()
	}
	if p.relative > refinedTol && a.clearMultipliers(k) {
		if origin {
			a.clearZ(k, false)
		}
		try()
		copy(a.oldLam, lam)
	}
	for _, j := range p.variables {
		if a.p[j] != 0 {
			return
		}
	}
	copy(a.oldZ, a.z)
	for i, r := range a.w {
		if a.rowPart[r] == k {
			lam[i] = 0
		}
	}
	a.clearZ(k, true)
	// The other entries of z must change too, so that z satisfies the rows of the working set with
	// equality again.
	a.setSlacks()
	dl := a.dl[:len(a.w)]
	dense.Gather(dl, a.slack, a.w)
	for i, r := range a.w {
		if a.rowPart[r] != k {
			dl[i] = 0
		}
	}
	clear(a.dz)
	a.solveKKT(&a.triangle, a.dz, dl)
	floats.Add(a.z, a.dz)
	a.clearZ(k, true)
	try()
}

// tryZeroMultipliers sets multipliers to 0 if they are within rounding of 0. It keeps these zeros
// if they reduce the result of ownResidual to less than half. With proximal steps alone, such
// multipliers would become smaller in each step without reaching 0.
func (a *activeSet) tryZeroMultipliers(s *qpReport) {
	lam := a.lam[:len(a.w)]
	copy(a.oldLam, lam)
	some, before, own := false, s.Residual.Relative, a.ownResidual()
	for k := range a.parts {
		some = a.clearMultipliers(k) || some
	}
	if !some {
		return
	}
	if a.measure(s, true); !(a.ownResidual() < own/2 && s.Residual.Relative <= max(before, refinedTol)) {
		copy(lam, a.oldLam)
		a.measure(s, true)
	}
}

// originFits reports whether z = 0 satisfies the rows of part k. It must satisfy the rows of the
// working set with equality.
func (a *activeSet) originFits(k int) bool {
	for r, v := range a.r {
		if a.rowPart[r] == k && !(v >= 0 && (v == 0 || !a.equality(r) && a.at[r] < 0)) {
			return false
		}
	}
	for r, v := range a.otherRhs {
		if a.rowPart[r] == k && v < 0 {
			return false
		}
	}
	return true
}

// clearMultipliers sets a multiplier of part k to 0 if it is a rounding error compared with the
// part's largest multiplier. It reports whether it set any to 0.
func (a *activeSet) clearMultipliers(k int) (some bool) {
	size := 0.0
	for i, r := range a.w {
		if a.rowPart[r] == k {
			size = max(size, math.Abs(a.lam[i])*a.rowSize(r))
		}
	}
	for i, r := range a.w {
		if v := math.Abs(a.lam[i]) * a.rowSize(r); a.rowPart[r] == k && v > 0 && v <= dense.Eps*size {
			a.lam[i], some = 0, true
		}
	}
	return some
}

// clearZ sets entries of z in part k to 0. If inQ is false, it sets all entries of the part. If inQ
// is true, it sets only the entries with a nonzero row of Q.
func (a *activeSet) clearZ(k int, inQ bool) {
	for _, j := range a.parts[k].variables {
		if !inQ || floats.Norm(a.q[j*a.n:(j+1)*a.n], math.Inf(1)) > 0 {
			a.z[j] = 0
		}
	}
}
