package qpdiff

import (
	"math"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// tryZeros sets entries to 0 that are 0 at the solution. It does so in each part whose residual
// then falls to at most tol.
func (a *activeSet) tryZeros(s *qpReport, tol float64) {
	for k := range a.parts {
		if a.parts[k].relative > converged {
			a.tryZerosOf(s, tol, k)
		}
	}
}

// tryZerosOf tries zeros in part k, and keeps them if the residual falls. It sets z to 0 if 0
// satisfies the working set. If p vanishes, it sets all multipliers, and the entries of z that Q
// multiplies, to 0. At a solution all of whose terms are 0, such values come only from rounding and
// from the proximal steps, and corrections do not remove them.
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
	if p.relative > refined && a.clearMultipliers(k) {
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
	// The values removed from the rows go to the other entries.
	a.slacks()
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

// tryZeroMultipliers sets multipliers that are within rounding of 0 to 0. It keeps the zeros if
// they more than halve the variables' gradient among its own terms. Proximal steps alone would let
// such multipliers decay without end.
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
	if a.measure(s, true); !(a.ownResidual() < own/2 && s.Residual.Relative <= max(before, refined)) {
		copy(lam, a.oldLam)
		a.measure(s, true)
	}
}

// originFits reports whether z = 0 satisfies the rows of part k, with equality in the rows of the
// working set.
func (a *activeSet) originFits(k int) bool {
	for r, v := range a.r {
		if a.rowPart[r] == k && !(v >= 0 && (v == 0 || !a.equality(r) && a.at[r] < 0)) {
			return false
		}
	}
	for r, v := range a.other {
		if a.rowPart[r] == k && v < 0 {
			return false
		}
	}
	return true
}

// clearMultipliers sets multipliers of part k to 0 if they are within rounding of the largest one.
// It reports whether it found any.
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

// clearZ sets the entries of z in part k to 0, or only the entries that Q multiplies.
func (a *activeSet) clearZ(k int, seen bool) {
	for _, j := range a.parts[k].variables {
		if !seen || floats.Norm(a.q[j*a.n:(j+1)*a.n], math.Inf(1)) > 0 {
			a.z[j] = 0
		}
	}
}
