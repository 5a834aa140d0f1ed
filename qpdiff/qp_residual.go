package qpdiff

import (
	"math"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// measure computes the residuals at the point (z, λ). It sets a.grad to the gradient of the
// Lagrangian and a.slack to the slacks. If the parameter thorough is false, each entry of Qz and
// C_Wᵀλ counts as one term. If the summands of such an entry cancel, Relative is then too large.
func (a *activeSet) measure(s *qpReport, thorough bool) {
	n := a.n
	res := &s.Residual
	*res = KKTResidual{}
	for k := range a.parts {
		p := &a.parts[k]
		p.hl, p.gapTerm, p.primal = 0, 0, 0
	}
	cl := a.work
	clear(cl)
	a.couple()
	a.addRows(cl, a.lam)
	for i, r := range a.w {
		v := a.lam[i]
		part := &a.parts[a.rowPart[r]]
		part.hl += v * a.r[r]
		part.gapTerm = fastMax(part.gapTerm, math.Abs(v*a.r[r]))
	}
	sum := 0.0
	a.coarseGrad = false
	terms := a.work2
	dense.Products(a.grad, a.q, n, a.z)
	for k := range a.parts {
		part := &a.parts[k]
		var zqz, pz, gradient, dual, size, rawDual, rawZ, rawGradient float64
		coarse := false
		for _, i := range part.variables {
			z, p, c := a.z[i], a.p[i], cl[i]
			v := a.grad[i]
			zqz += v * z
			pz += p * z
			g := v + p + c
			a.grad[i] = g
			sum += g
			term := fastMax(fastMax(math.Abs(v), math.Abs(p)), math.Abs(c))
			terms[i] = term
			unit, z := a.unit[i], math.Abs(z)
			g = math.Abs(g)
			coarse = coarse || g > defaultTol*term
			rawGradient = fastMax(rawGradient, g)
			gradient = fastMax(gradient, unit*g)
			dual = fastMax(dual, unit*term)
			size = fastMax(size, z/unit)
			rawDual = fastMax(rawDual, term)
			rawZ = fastMax(rawZ, z)
		}
		a.coarseGrad = a.coarseGrad || coarse
		res.Dual = fastMax(res.Dual, rawGradient)
		part.zqz, part.pz, part.gradient, part.dual, part.z, part.rawDual, part.rawZ = zqz, pz, gradient, dual, size, rawDual, rawZ
	}
	a.setSlacks()
	sum += a.measureViolation(res)
	gap := 0.0
	s.Objective = 0
	for k := range a.parts {
		part := &a.parts[k]
		s.Objective += part.zqz/2 + part.pz
		gap += part.zqz + part.pz + part.hl
	}
	res.Gap = math.Abs(gap)
	a.setRelative(res, terms)
	if thorough && res.Relative > refinedTol {
		a.updateTerms(terms)
		a.setRelative(res, terms)
	}
	if sum += res.Gap; !dense.Finite(sum) { // also if an entry of a maximum is NaN
		res.Relative = math.Inf(1)
	}
}

// fastMax returns max(u, v), or u if v is NaN. It takes half the time of max.
func fastMax(u, v float64) float64 {
	if v > u {
		return v
	}
	return u
}

// setRelative computes the relative residual of each part, and of the whole program. For each entry
// of the gradient, terms holds the size of the numbers whose sum is the entry.
func (a *activeSet) setRelative(res *KKTResidual, terms []float64) {
	res.Relative = 0
	for k := range a.parts {
		p := &a.parts[k]
		gap, product := math.Abs(p.zqz+p.pz+p.hl), p.dual*p.z
		p.relative = max(p.primal, a.gradientRatio(p, terms), ratio(gap, max(p.gapTerm, product)))
		if least := min(p.rawDual, p.dual, p.rawZ, p.z, product); !(least >= underflowSize && product <= math.MaxFloat64) {
			a.checkSizes(k)
		}
		res.Relative = max(res.Relative, p.relative)
	}
}

// checkSizes handles a part k with a size that is 0, or that may underflow or overflow. It sets the
// relative residual of this part.
func (a *activeSet) checkSizes(k int) {
	p := &a.parts[k]
	switch {
	case !representable(p.rawDual, p.dual) || !representable(p.rawZ, p.z):
		p.relative = math.Inf(1)
		if a.besideLarger(p) {
			p.relative = a.ownRatio(k)
		}
	case !representable(p.dual*p.z, p.dual*p.z):
		p.relative = a.ownRatio(k)
	}
}

// besideLarger reports whether part p of the program may lose digits to underflow without harm. It
// may if another part has sizes that do not underflow, because the lost digits are negligible
// compared with these sizes.
func (a *activeSet) besideLarger(p *programPart) bool {
	for k := range a.parts {
		o := &a.parts[k]
		if o.rawDual > 0 && representable(o.rawDual, o.dual) && representable(o.rawZ, o.z) {
			return dense.Finite(p.dual) && dense.Finite(p.z)
		}
	}
	return false
}

// ownRatio returns the relative residual of part k if products in this part underflow. It differs
// from setRelative in two ways. An entry of the gradient does not count as an error if it is as
// small as an underflow. The slacks of rows with a multiplier replace the duality gap.
func (a *activeSet) ownRatio(k int) float64 {
	p := &a.parts[k]
	relative := p.primal
	for _, i := range p.variables {
		lostDigits := math.SmallestNonzeroFloat64 * (1 + floats.Norm(a.q[i*a.n:(i+1)*a.n], 1))
		relative = max(relative, ratio(max(math.Abs(a.grad[i])-lostDigits, 0), p.rawDual))
	}
	for i, r := range a.w {
		if a.rowPart[r] == k && a.lam[i] != 0 {
			relative = max(relative, ratio(math.Abs(a.slack[r]), a.ownTerm(r, a.r[r])))
		}
	}
	return relative
}

// representable reports whether a residual can be divided by the size v. The argument scaledSize
// must be v in other units. If v is not 0, both v and scaledSize must be far above underflow.
func representable(v, scaledSize float64) bool {
	return v == 0 || v >= underflowSize && scaledSize >= underflowSize && dense.Finite(scaledSize)
}

// measureViolation computes the largest violation of all rows, and for each part of the program the
// largest relative violation of its rows. It returns the sum of the violations. Before the call,
// the slacks must be set, and so must the largest entry of z in each part.
func (a *activeSet) measureViolation(res *KKTResidual) (sum float64) {
	a.maxRowRatio = 0
	m, two := a.m, a.twoSided
	for r, v := range a.slack {
		rhs := a.r[r]
		if v >= 0 && r < m && !(two && a.equality(r)) {
			if !two || a.otherSlack[r] >= 0 {
				continue
			}
			v, rhs = a.otherSlack[r], a.otherRhs[r] // a row of the working set is not turned
		}
		sum += v
		v = math.Abs(v)
		p := &a.parts[a.rowPart[r]]
		res.Primal = max(res.Primal, v/math.Abs(a.scale[r]))
		term := math.Abs(rhs)
		if v > refinedTol*term {
			term = max(term, a.rowSize(r)*p.z)
		}
		p.primal = max(p.primal, ratio(v, term))
		if v > looseTol*math.Abs(rhs) {
			a.maxRowRatio = max(a.maxRowRatio, ratio(v, a.ownTerm(r, rhs)))
		}
	}
	return sum
}

// looseRows returns the largest relative violation of a row. If no row is violated by more than tol
// times its terms, it returns 0. The violation of row r is divided by the sum of two sizes: the
// largest term of the row, and ‖m_r‖·√(zᵀLLᵀz + ‖L⁻¹p‖²). The term with L⁻¹p makes the second size
// a measure of the rounding error even if z is 0. The ratio does not depend on units. In contrast,
// the units of the residual may make a violation seem small although it is as large as all terms of
// the row.
func (a *activeSet) looseRows(tol float64) (worst float64) {
	if a.maxRowRatio <= tol {
		return 0 // the usual case
	}
	u := a.dz
	copy(u, a.p)
	a.forward(u, 0)
	for r, v := range a.slack {
		rhs := a.r[r]
		if v >= 0 && !a.equality(r) {
			if !a.twoSided || a.otherSlack[r] >= 0 {
				continue
			}
			v, rhs = a.otherSlack[r], a.otherRhs[r]
		}
		k := a.rowPart[r]
		size := math.Abs(a.parts[k].zqz)
		for _, j := range a.parts[k].variables {
			size += u[j]*u[j] + a.prox[j]*a.z[j]*a.z[j]
		}
		a.mrow(r)
		worst = max(worst, ratio(math.Abs(v), a.ownTerm(r, rhs)+math.Sqrt(size*a.mnorm[r])))
	}
	return worst
}

// ownTerm returns the largest term of row r if its right-hand side is rhs.
func (a *activeSet) ownTerm(r int, rhs float64) float64 {
	own := math.Abs(rhs)
	for j, c := range a.crow(r) {
		own = max(own, math.Abs(c*a.z[j]))
	}
	return own
}

// ratio returns v/ref. It returns 0 for 0/0, because a residual of 0 is no violation.
func ratio(v, ref float64) float64 {
	if v == 0 {
		return 0
	}
	return v / ref
}

// gradientRatio returns the gradient of the Lagrangian of one part, divided by the size of its
// terms. If Q is definite, this size is the largest term of the part. Otherwise the terms of some
// variables may be many decades larger than the terms of others, and proximal steps converge for
// one variable after the other. Each entry of the gradient is then divided by its own largest term,
// or by a larger shared term. A shared term passes its rounding error to several entries. It comes
// from the variable's row of Q, or from a row of the working set that has several entries.
func (a *activeSet) gradientRatio(p *programPart, terms []float64) (relative float64) {
	if !a.shifted {
		return ratio(p.gradient, p.dual)
	}
	for _, i := range p.variables {
		shared := max(a.qRowMax[i]*p.z, a.coupling[i]*p.dual)
		term := max(terms[i]*a.unit[i], min(shared, p.dual))
		relative = max(relative, ratio(math.Abs(a.grad[i])*a.unit[i], term))
	}
	return relative
}

// ownResidual divides each entry of the Lagrangian's gradient by the largest term of the same
// entry. It returns the largest ratio, and stores the largest ratio of each part. It must be called
// after measure.
func (a *activeSet) ownResidual() (own float64) {
	terms := a.work2
	a.updateTerms(terms)
	for k := range a.parts {
		p := &a.parts[k]
		p.ownRatio = 0
		for _, i := range p.variables {
			p.ownRatio = max(p.ownRatio, ratio(math.Abs(a.grad[i]), terms[i]))
		}
		own = max(own, p.ownRatio)
	}
	return own
}

// hiddenResidual divides each entry of the Lagrangian's gradient by the entry's own terms, and each
// violation of a row by the row's own terms. It returns the largest ratio, or 0 if no ratio is
// above hiddenTol. An entry or violation does not count if it is at most convergedTol times the
// largest term of its part. It may then be the rounding error of this term. hiddenResidual must be
// called after measure.
func (a *activeSet) hiddenResidual() (worst float64) {
	if a.ownResidual() > hiddenTol {
		worst = a.hiddenGradient()
	}
	if a.maxRowRatio > hiddenTol {
		worst = max(worst, a.hiddenViolation())
	}
	if worst <= hiddenTol {
		return 0
	}
	return worst
}

// hiddenGradient does the work of hiddenResidual for the gradient. Unlike hiddenResidual, it also
// returns ratios below hiddenTol.
func (a *activeSet) hiddenGradient() (worst float64) {
	for i, g := range a.grad {
		g = math.Abs(g)
		if g*a.unit[i] > convergedTol*a.parts[a.varPart[i]].dual {
			worst = max(worst, ratio(g, a.work2[i]))
		}
	}
	return worst
}

// hiddenViolation does the work of hiddenResidual for the rows. Unlike hiddenResidual, it also
// returns ratios below hiddenTol.
func (a *activeSet) hiddenViolation() (worst float64) {
	for r, v := range a.slack {
		right := a.r[r]
		if v >= 0 && !a.equality(r) {
			if r >= len(a.otherSlack) || a.otherSlack[r] >= 0 {
				continue
			}
			v, right = a.otherSlack[r], a.otherRhs[r]
		}
		v = math.Abs(v)
		if v > convergedTol*max(math.Abs(right), a.rowSize(r)*a.parts[a.rowPart[r]].z) {
			worst = max(worst, ratio(v, a.ownTerm(r, right)))
		}
	}
	return worst
}

// couple sets coupling to the largest entry of each column of C_W. It uses only those rows of the
// working set that have several entries, because an error in the multiplier of such a row affects
// the gradient of several variables.
func (a *activeSet) couple() {
	if !a.shifted {
		return
	}
	clear(a.coupling)
	for _, r := range a.w {
		if a.onlyCol[r] >= 0 {
			continue
		}
		for j, v := range a.crow(r) {
			a.coupling[j] = max(a.coupling[j], math.Abs(v)*a.unit[j])
		}
	}
}

// Entry i of Qz is a sum of products, and so is entry i of C_Wᵀλ. If the largest product of these
// two sums exceeds terms[i], updateTerms replaces terms[i] by it. The products may be far larger
// than the sums. updateTerms also updates the largest term of each part.
func (a *activeSet) updateTerms(terms []float64) {
	z := a.z[:a.n]
	for i, most := range terms {
		for j, q := range a.q[i*a.n:][:len(z)] {
			most = fastMax(most, math.Abs(q*z[j]))
		}
		terms[i] = most
	}
	for i, r := range a.w {
		lam, row := a.lam[i], a.crow(r)
		for j, most := range terms {
			terms[j] = fastMax(most, math.Abs(row[j]*lam))
		}
	}
	for i, v := range terms {
		p := &a.parts[a.varPart[i]]
		p.dual = fastMax(p.dual, v*a.unit[i])
	}
}

// refine corrects (z, λ) on the working set by Newton steps while the residual falls. The
// corrections are computed with the factor, which includes the proximal term; the residuals do not
// include it. refine sets negative and underflowing multipliers to zero. The proximal steps leave
// such multipliers in rows that do not restrict z.
func (a *activeSet) refine(s *qpReport) {
	for i, v := range a.lam[:len(a.w)] {
		if i >= a.eq && v < 0 || math.Abs(v) < dense.SmallestNormal {
			a.lam[i] = 0
		}
	}
	a.snap()
	a.measure(s, false)
	for step := 0; s.Residual.Relative > refinedTol || step == 0 && a.maxRowRatio > looseTol; step++ {
		loose, before := a.maxRowRatio, s.Residual.Relative
		a.newtonStep(s)
		if now := s.Residual.Relative; !(now < before/2) {
			if !(now < before) && !(now <= refinedTol && loose > looseTol && a.maxRowRatio <= looseTol) {
				a.takeBack()
			}
			a.measure(s, true)
			a.refineOwn(s)
			return
		}
	}
	if s.Residual.Relative > refinedTol {
		a.measure(s, true)
	}
	a.refineOwn(s)
}

// refineOwn makes more corrections if some entry of the gradient is large compared with its own
// terms. It stops when a correction does not halve the largest ratio of an entry to its terms. A
// multiplier needs these corrections if it is small compared with the terms of other variables.
func (a *activeSet) refineOwn(s *qpReport) {
	if !a.shifted && !a.coarseGrad {
		return
	}
	for own := a.ownResidual(); own > defaultTol; {
		before := s.Residual.Relative
		a.newtonStep(s)
		now := a.ownResidual()
		if !(now < own/2) || s.Residual.Relative > max(before, refinedTol) {
			a.takeBack()
			a.measure(s, s.Residual.Relative > refinedTol)
			return
		}
		own = now
	}
}

// newtonStep corrects z and the multipliers by one Newton step on the KKT system, and then calls
// measure.
func (a *activeSet) newtonStep(s *qpReport) {
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

// takeBack restores the z and the multipliers from before the last correction. It does not restore
// the residuals.
func (a *activeSet) takeBack() {
	copy(a.z, a.oldZ)
	copy(a.lam, a.oldLam[:len(a.w)])
}

// snap puts z exactly on the bounds of the working set.
func (a *activeSet) snap() {
	for _, r := range a.w {
		if j := a.onlyCol[r]; j >= 0 {
			a.z[j] = a.r[r]/a.c[r*a.n+j] + 0 // no -0
		}
	}
}
