package qpdiff

import (
	"math"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// measure fills in the residuals at (z, λ), and leaves the gradient of the
// Lagrangian in a.grad and the slacks in a.slack. If it is not thorough,
// Relative may be too large, for want of terms that cancel in Qz or C_Wᵀλ.
func (a *activeSet) measure(s *qpReport, thorough bool) {
	n := a.n
	res := &s.Residual
	*res = KKTResidual{}
	cl := a.work
	clear(cl)
	a.couple()
	hl, gapTerm := 0.0, 0.0
	for i, r := range a.w {
		if v := a.lam[i]; v != 0 {
			floats.AddScaled(cl, v, a.crow(r))
			hl += v * a.r[r]
			gapTerm = max(gapTerm, math.Abs(v*a.r[r]))
		}
	}
	var zqz, pz, rawTerm, rawZ, sum float64
	terms := a.work2
	for i, z := range a.z {
		p, c := a.p[i], cl[i]
		v := floats.Dot(a.q[i*n:(i+1)*n], a.z)
		zqz += v * z
		pz += p * z
		g := v + p + c
		a.grad[i] = g
		sum += g
		res.Dual = max(res.Dual, math.Abs(g))
		term := max(math.Abs(v), math.Abs(p), math.Abs(c))
		terms[i] = term
		rawTerm, rawZ = max(rawTerm, term), max(rawZ, math.Abs(z))
	}
	dualTerm, zmax := rawTerm, rawZ
	if a.shift > 0 { // the units are not 1
		dualTerm, zmax = 0, 0
		for i, unit := range a.unit {
			dualTerm = max(dualTerm, unit*terms[i])
			zmax = max(zmax, math.Abs(a.z[i])/unit)
		}
	}
	a.slacks()
	var primal, rows float64
	res.Primal, primal, rows = a.violation(zmax)
	sum += rows
	s.Objective = zqz/2 + pz
	res.Gap = math.Abs(zqz + pz + hl)
	res.Relative = max(primal, a.dualRatio(terms, dualTerm, zmax), ratio(res.Gap, max(gapTerm, dualTerm*zmax)))
	if thorough && res.Relative > refined {
		dualTerm = max(dualTerm, a.products(terms))
		res.Relative = max(primal, a.dualRatio(terms, dualTerm, zmax), ratio(res.Gap, max(gapTerm, dualTerm*zmax)))
	}
	if sum += res.Gap; !dense.Finite(sum) || !representable(rawTerm, dualTerm) || !representable(rawZ, zmax) {
		res.Relative = math.Inf(1)
	}
}

// underflow is the size below which rounding errors underflow.
const underflow = dense.SmallestNormal / dense.Eps

// representable reports whether v and scaled, the same in other units, can be
// the size of what a relative residual is judged by.
func representable(v, scaled float64) bool {
	return v == 0 || v >= underflow && scaled >= underflow && dense.Finite(scaled)
}

// violation returns the largest violation of a row, the largest relative to the
// size of the terms of its row, and their sum. It needs the slacks, and the
// largest entry of z in the units of the variables. It notes whether a row is
// loose, see looseTol.
func (a *activeSet) violation(zmax float64) (largest, relative, sum float64) {
	a.loose = false
	for r, v := range a.slack {
		if v >= 0 && r < a.m {
			continue
		}
		sum += v
		v = math.Abs(v)
		largest = max(largest, v/a.scale[r])
		term := math.Abs(a.r[r])
		if v > refined*term {
			size := a.msize[r]
			if !a.has[r] {
				size = a.rowSize(r)
			}
			term = max(term, size*zmax)
		}
		relative = max(relative, ratio(v, term))
		if v > looseTol*math.Abs(a.r[r]) && !a.loose {
			own := 0.0
			for j, c := range a.crow(r) {
				own = max(own, math.Abs(c*a.z[j]))
			}
			a.loose = v > looseTol*own
		}
	}
	return largest, relative, sum
}

// looseTol is the violation of a row, relative to the terms of that row, that is
// worth one correction: rows of small variables beside large ones lose digits
// that the size of z does not show, and one correction brings them back.
const looseTol = 1e-12

// ratio is v/of, and 0 for 0/0: a violation of nothing by nothing is none.
func ratio(v, of float64) float64 {
	if v == 0 {
		return 0
	}
	return v / of
}

const (
	// refined is the relative residual below which no correction is worth while.
	refined = 1e-14
	// defaultTol is what Solution.Tol stands for where it is zero: half the
	// digits, for problems whose condition leaves no more.
	defaultTol = 1e-9
)

// dualRatio is the gradient of the Lagrangian relative to its terms, to the
// largest of them where the units are 1. Elsewhere the terms of other variables
// may be many decades larger, and proximal steps reach one variable after the
// other: each is judged by its own terms, or by those whose rounding errors it
// shares, through its row of Q or through rows with several entries.
func (a *activeSet) dualRatio(terms []float64, dualTerm, zmax float64) float64 {
	var dual, relative float64
	for i, g := range a.grad {
		g = math.Abs(g)
		dual = max(dual, g)
		if a.shift > 0 {
			shared := max(a.curvature[i]*zmax, a.coupling[i]*dualTerm)
			relative = max(relative, ratio(g*a.unit[i], max(terms[i]*a.unit[i], min(shared, dualTerm))))
		}
	}
	if a.shift > 0 {
		return relative
	}
	return ratio(dual, dualTerm)
}

// ownResidual returns the largest entry of the gradient of the Lagrangian, each relative
// to the terms of that entry alone. It follows measure.
func (a *activeSet) ownResidual() float64 {
	terms := a.work2
	a.products(terms)
	own := 0.0
	for i, g := range a.grad {
		own = max(own, ratio(math.Abs(g), terms[i]))
	}
	return own
}

// couple finds the variables that share the errors of a multiplier: those in a row
// of the working set with several entries. The multiplier of another row is an exact 0.
func (a *activeSet) couple() {
	if a.shift == 0 {
		return
	}
	clear(a.coupling)
	for _, r := range a.w {
		if a.single[r] >= 0 {
			continue
		}
		for j, v := range a.crow(r) {
			a.coupling[j] = max(a.coupling[j], math.Abs(v)*a.unit[j])
		}
	}
}

// products adds to the terms, which are maxima, the products that Qz sums and
// those that C_Wᵀλ does: the sums may hide them. It returns the largest, in the
// units of the variables.
func (a *activeSet) products(terms []float64) float64 {
	for i := range a.z {
		for j, q := range a.q[i*a.n : (i+1)*a.n] {
			terms[i] = max(terms[i], math.Abs(q*a.z[j]))
		}
	}
	for i, r := range a.w {
		for j, c := range a.crow(r) {
			terms[j] = max(terms[j], math.Abs(c*a.lam[i]))
		}
	}
	largest := 0.0
	for i, v := range terms {
		largest = max(largest, v*a.unit[i])
	}
	return largest
}

// refine corrects (z, λ) on the working set by Newton steps on the KKT system
// of the program itself, with the factor of the shifted one, as long as the
// residual falls. Multipliers that turn negative are set to zero, and those that
// underflow: proximal steps let multipliers that hold nothing decay.
func (a *activeSet) refine(s *qpReport) {
	for i, v := range a.lam[:len(a.w)] {
		if i >= a.eq && v < 0 || math.Abs(v) < dense.SmallestNormal {
			a.lam[i] = 0
		}
	}
	a.snap()
	a.measure(s, false)
	for step := 0; s.Residual.Relative > refined || step == 0 && a.loose; step++ {
		loose, before := a.loose, s.Residual.Relative
		a.correct(s)
		if now := s.Residual.Relative; !(now < before/2) {
			if !(now < before) && !(now <= refined && loose && !a.loose) {
				a.takeBack()
			}
			a.measure(s, true)
			a.refineOwn(s)
			return
		}
	}
	if s.Residual.Relative > refined {
		a.measure(s, true)
	}
	a.refineOwn(s)
}

// refineOwn goes on with the corrections where a variable's gradient is large among its
// own terms, as long as they halve that: multipliers that are small beside the terms of other
// variables need them.
func (a *activeSet) refineOwn(s *qpReport) {
	if a.shift == 0 {
		return
	}
	for own := a.ownResidual(); own > defaultTol; {
		before := s.Residual.Relative
		a.correct(s)
		now := a.ownResidual()
		if !(now < own/2) || s.Residual.Relative > max(before, refined) {
			a.takeBack()
			a.measure(s, s.Residual.Relative > refined)
			return
		}
		own = now
	}
}

// correct makes one Newton step on the KKT system of the program, and measures.
func (a *activeSet) correct(s *qpReport) {
	k := len(a.w)
	copy(a.oldZ, a.z)
	copy(a.oldLam, a.lam[:k])
	dz, dl := a.dz, a.dl[:k]
	floats.ScaleTo(dz, -1, a.grad)
	dense.Gather(dl, a.slack, a.w)
	a.solveKKT(&a.triangle, dz, dl)
	floats.Add(a.z, dz)
	for i, v := range dl {
		a.lam[i] += v
		if i >= a.eq && a.lam[i] < 0 {
			a.lam[i] = 0
		}
	}
	a.snap()
	a.measure(s, false)
	s.Refinements++
}

// takeBack undoes the last correction, but for the residuals measured.
func (a *activeSet) takeBack() {
	copy(a.z, a.oldZ)
	copy(a.lam, a.oldLam[:len(a.w)])
}

// tryZeros replaces by 0 what is 0 at the solution, if the residual falls and is
// at most tol: z where 0 lies on the working set, and where p vanishes all
// multipliers with the entries of z that Q multiplies. Without any term at the
// solution rounding and the proximal steps leave nothing but noise, and no
// correction of it is small relative to it.
func (a *activeSet) tryZeros(s *qpReport, tol float64) {
	lam := a.lam[:len(a.w)]
	try := func() {
		before := s.Residual.Relative
		if a.measure(s, true); !(s.Residual.Relative < before && s.Residual.Relative <= tol) {
			copy(a.z, a.oldZ)
			copy(lam, a.oldLam)
			a.measure(s, true)
		}
	}
	copy(a.oldLam, lam)
	copy(a.oldZ, a.z)
	origin := true
	for r, v := range a.r {
		origin = origin && v >= 0 && (v == 0 || r < a.m && a.at[r] < 0)
	}
	if origin {
		clear(a.z)
		try()
	}
	if s.Residual.Relative > refined && a.clearMultipliers() {
		if origin {
			clear(a.z)
		}
		try()
		copy(a.oldLam, lam)
	}
	if floats.Norm(a.p, math.Inf(1)) == 0 {
		copy(a.oldZ, a.z)
		clear(lam)
		a.clearSeen()
		// What was taken from the rows goes to the other entries.
		a.slacks()
		dl := a.dl[:len(a.w)]
		dense.Gather(dl, a.slack, a.w)
		clear(a.dz)
		a.solveKKT(&a.triangle, a.dz, dl)
		floats.Add(a.z, a.dz)
		a.clearSeen()
		try()
	}
}

// clearMultipliers sets those to 0 that are rounding beside the largest, and reports
// whether there are any.
func (a *activeSet) clearMultipliers() (some bool) {
	size := 0.0
	for i, r := range a.w {
		size = max(size, math.Abs(a.lam[i])*a.rowSize(r))
	}
	for i, r := range a.w {
		if v := math.Abs(a.lam[i]) * a.rowSize(r); v > 0 && v <= dense.Eps*size {
			a.lam[i], some = 0, true
		}
	}
	return some
}

// clearSeen sets the entries of z that Q multiplies to 0.
func (a *activeSet) clearSeen() {
	for j := range a.z {
		if floats.Norm(a.q[j*a.n:(j+1)*a.n], math.Inf(1)) > 0 {
			a.z[j] = 0
		}
	}
}

// snap puts z exactly on the bounds of the working set.
func (a *activeSet) snap() {
	for _, r := range a.w {
		if j := a.single[r]; j >= 0 {
			a.z[j] = a.r[r]/a.c[r*a.n+j] + 0 // no -0
		}
	}
}
