package qpdiff

import (
	"math"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// provesInfeasible reports whether the rows prove that the program has no feasible point. The proof
// is row r minus a combination of rows of the working set; a.y holds the coefficients of the
// combination. Row r minus the combination is the constraint ρᵀz ≤ β, or ρᵀz = β if row r is an
// equality. No z satisfies the constraint if ρ is 0 up to rounding and β < 0.
func (a *activeSet) provesInfeasible(r int) bool {
	for pass := range 2 {
		big := math.Sqrt(a.mnorm[r])
		for i, s := range a.w {
			big = max(big, math.Abs(a.y[i])*math.Sqrt(a.mnorm[s]))
		}
		noise := rayNoise * dense.Eps * big
		for i, s := range a.w {
			if !a.equality(s) && a.y[i] > 0 || math.Abs(a.y[i])*math.Sqrt(a.mnorm[s]) <= noise {
				a.y[i] = 0
			}
		}
		rho, beta, size := a.ray(r)
		if a.equality(r) {
			beta = -math.Abs(beta)
		}
		if !(beta < -rayGain*size) {
			return false
		}
		if a.rayError(r, rho) <= rayTol*dense.Eps {
			return true
		}
		if pass == 0 { // the remainder of ρ may be the rounding error of a.y
			a.correctRay(rho)
		}
	}
	return false
}

// Among all combinations of rows of the working set, correctRay finds the combination nearest to
// rho in the metric of the factor. It adds the coefficients of this combination to a.y, and
// overwrites rho.
func (a *activeSet) correctRay(rho []float64) {
	k, n := len(a.w), a.n
	a.forward(rho, 0)
	dy := a.dl[:k]
	for i := range dy {
		dy[i] = floats.Dot(a.q1[i*n:(i+1)*n], rho)
	}
	dense.BackSolve(a.t, a.tinv, k, n, dy)
	floats.Add(a.y[:k], dy)
}

// rayError returns the largest entry of ρ divided by the largest term of ρ. Each entry of ρ is a
// sum of terms: the entry of row r, and the entries of the combined rows with their coefficients.
// Entries and terms are in the units of the variables.
func (a *activeSet) rayError(r int, rho []float64) float64 {
	left, term := 0.0, 0.0
	for j, v := range rho {
		sum := math.Abs(a.crow(r)[j])
		for i, s := range a.w {
			sum = max(sum, math.Abs(a.y[i]*a.crow(s)[j]))
		}
		left = max(left, math.Abs(v)*a.unit[j])
		term = max(term, sum*a.unit[j])
	}
	return ratio(left, term)
}

// ray returns ρ = c_r − Σ yᵢ c_wᵢ and β = r_r − Σ yᵢ r_wᵢ, with the coefficients y of the rows wᵢ
// of the working set. The result termSize bounds the sizes of the terms of β. In this bound, every
// norm ‖yᵢm_wᵢ‖ is replaced by the largest one, because a small yᵢm_wᵢ may consist only of the
// rounding errors of the largest one.
func (a *activeSet) ray(r int) (rho []float64, beta, termSize float64) {
	rho = a.work
	copy(rho, a.crow(r))
	big := math.Sqrt(a.mnorm[r])
	beta, termSize = a.r[r], math.Abs(a.r[r])/big
	for i, s := range a.w {
		if a.rowPart[s] != a.rowPart[r] {
			continue
		}
		norm := math.Sqrt(a.mnorm[s])
		termSize += math.Abs(a.r[s]) / norm
		if v := a.y[i]; v != 0 {
			floats.AddScaled(rho, -v, a.crow(s))
			beta -= v * a.r[s]
			big = max(big, math.Abs(v)*norm)
		}
	}
	return rho, beta, termSize * big
}

// provesNonconvex computes a direction z of negative curvature, and writes it to the certificate.
// The parameter failedRow is the row at which the factorisation of Q failed. provesNonconvex
// reports whether zᵀQz is below 0 by more than its rounding error.
func (a *activeSet) provesNonconvex(s *qpReport, failedRow int) bool {
	n := a.n
	v := dense.Zeros(s.Certificate.Z, n)
	if a.q[failedRow*n+failedRow] >= 0 {
		copy(v, a.l[failedRow*n:failedRow*n+failedRow])
		dense.BackSolve(a.l, a.linv, failedRow, n, v)
		floats.Scale(-1, v[:failedRow])
	}
	v[failedRow] = 1
	big := floats.Norm(v, math.Inf(1))
	floats.Scale(1/big, v)
	curv, terms := 0.0, 0.0
	for i := range n {
		for j, q := range a.q[i*n : (i+1)*n] {
			t := v[i] * q * v[j]
			curv += t
			terms += math.Abs(t)
		}
	}
	// Each product may also lose its digits to underflow.
	if curv < -float64(n)*(dense.Eps*terms+float64(n)*math.SmallestNonzeroFloat64) {
		s.Certificate.Z, s.Certificate.Residual = v, curv
		return true
	}
	s.Certificate.Z = v[:0]
	return false
}

// certifyInfeasible writes the certificate of an infeasible program. The certificate is row r minus
// a combination of the rows of the working set; a.y holds the coefficients of the combination.
func (a *activeSet) certifyInfeasible(s *qpReport, r int) {
	c := &s.Certificate
	c.Lambda, c.Nu = dense.Zeros(c.Lambda, a.m), dense.Zeros(c.Nu, a.rows-a.m)
	rho, beta, _ := a.ray(r)
	inRange := dense.Finite(beta)
	put := func(r int, v float64) {
		used := v != 0
		v *= a.scale[r]
		inRange = inRange && (!used || math.Abs(v) >= dense.SmallestNormal)
		out, at := a.placeOut(c.Lambda, c.Nu, r)
		out[at] = v + 0 // no -0
	}
	for i, s := range a.w {
		put(s, a.y[i]/beta)
	}
	put(r, -1/beta) // row r is written last, because the working set may still hold r from the last problem
	c.Residual = a.rayError(r, rho)
	if !inRange {
		c.Residual = math.Inf(1)
	}
}

// provesUnbounded reports whether the last proximal step proves that the program is unbounded. This
// is so if, in some part of the program, the objective falls without bound along the step and no
// row ends the fall.
func (a *activeSet) provesUnbounded(s *qpReport) bool {
	if !a.setFallDirection() {
		return false // the usual case
	}
	d := a.dz
	a.couple()
	for r := range a.rows {
		if v := floats.Dot(a.crow(r), d); a.endsRay(r, v) {
			p := &a.parts[a.rowPart[r]]
			p.deviation = max(p.deviation, math.Abs(v))
		}
	}
	for k := range a.parts {
		p := &a.parts[k]
		if !p.isRay() {
			continue
		}
		c := &s.Certificate
		c.Z, c.Residual = dense.Zeros(c.Z, a.n), p.deviation
		for _, j := range p.variables {
			c.Z[j] = -1 / p.slope * d[j]
		}
		if dense.Largest(c.Z) < dense.SmallestNormal {
			c.Residual = math.Inf(1)
		}
		return true
	}
	return false
}

// setFallDirection writes the direction of the last proximal step to a.dz, and scales it to the
// size 1 in each part of the program. It reports whether the objective of at least one part falls
// without bound along this direction if the rows are ignored.
func (a *activeSet) setFallDirection() (some bool) {
	n, d := a.n, a.dz
	for k := range a.parts {
		a.parts[k].rayResidual = rayResidual{deviation: dense.Eps}
	}
	for j, v := range a.step {
		p, root := &a.parts[a.varPart[j]], math.Sqrt(a.d[j])
		p.dirSize = max(p.dirSize, math.Abs(v)*root)
		p.pmax = max(p.pmax, math.Abs(a.p[j])/root)
		p.qmax = max(p.qmax, a.q[j*n+j]/a.d[j])
	}
	for j, v := range a.step {
		d[j] = 0
		if dirSize := a.parts[a.varPart[j]].dirSize; dirSize > 0 && dense.Finite(dirSize) {
			d[j] = v * (1 / dirSize)
		}
	}
	for i := range n {
		if p := &a.parts[a.varPart[i]]; p.qmax > 0 {
			p.deviation = max(p.deviation, math.Abs(floats.Dot(a.q[i*n:(i+1)*n], d))/(math.Sqrt(a.d[i])*p.qmax))
		}
	}
	for k := range a.parts {
		p := &a.parts[k]
		p.slope = floats.Dot(a.entriesOf(a.work, a.p, k), a.entriesOf(a.work2, d, k))
		some = some || p.isRay()
	}
	return some
}

// isRay reports whether the objective falls without bound along the direction that the rayResidual
// r describes.
func (r *rayResidual) isRay() bool {
	return r.deviation <= unboundedTol && r.slope < -slopeTol*r.deviation*r.pmax
}

// endsRay reports whether a point that moves along the direction a.dz meets row r. The parameter
// product is the product of the row with a.dz. If the point meets a side that is far away, as
// farTol decides, endsRay returns false. The rounding errors of Qz would exceed the effect of P at
// this side, so a minimiser at the side would have no smaller residual than the points before it.
func (a *activeSet) endsRay(r int, product float64) bool {
	slack := a.slack[r]
	switch {
	case a.equality(r):
		return true
	case a.twoSided && !math.IsInf(a.otherRhs[r], 1):
		if product < 0 {
			slack = a.otherSlack[r]
		}
	case math.IsInf(a.r[r], 1) || product < 0:
		return false
	}
	product = math.Abs(product)
	p := &a.parts[a.rowPart[r]]
	return product <= flatTol || !p.isRay() || slack/product*a.hiddenSlope(p) < -p.slope
}

// hiddenSlope returns, for part p of the program, the largest slope along a.dz that the rounding of
// Qz can hide after a step of length 1. It uses the same terms as gradientRatio.
func (a *activeSet) hiddenSlope(p *programPart) (slope float64) {
	n, d, dual := a.n, a.dz, 0.0
	for _, i := range p.variables {
		for j, q := range a.q[i*n : (i+1)*n] {
			dual = fastMax(dual, math.Abs(q*d[j])*a.unit[i])
		}
	}
	for _, j := range p.variables {
		slope += math.Abs(d[j]) / a.unit[j] * min(max(a.qRowMax[j], a.coupling[j]*dual), dual)
	}
	return farTol * slope
}

// alongRay moves z along the direction of the next proximal step until z meets a row, and reports
// whether it moved z. It moves only the parts of z that meet two conditions: they have not
// converged, and the objective is nearly flat along the direction of their step. It must be called
// after measure, which sets grad and slack.
//
// If the slope of the objective is small compared with P, proximal steps are too short, and
// alongRay replaces them.
func (a *activeSet) alongRay() (some bool) {
	d := a.dz
	floats.ScaleTo(d, -1, a.grad)
	dl := a.dl[:len(a.w)]
	clear(dl)
	a.solveKKT(&a.triangle, d, dl)
	for k, p := range a.parts {
		if t := a.firstRow(d, k); p.relative > convergedTol && t > 0 && dense.Finite(t) {
			some = true
			for _, j := range p.variables {
				a.z[j] += t * d[j]
			}
		}
	}
	return some
}

// firstRow returns the length of the step along the direction d at which part k of z meets its
// first row. If the objective is not nearly flat along d, it returns 0.
func (a *activeSet) firstRow(d []float64, k int) float64 {
	n := a.n
	size, curved := 0.0, 0.0
	for _, j := range a.parts[k].variables {
		size = max(size, math.Abs(d[j])/a.unit[j])
		curved = max(curved, math.Abs(floats.Dot(a.q[j*n:(j+1)*n], d))*a.unit[j])
	}
	if !(size > 0 && dense.Finite(size)) || curved > flatTol*size*a.parts[k].qsize {
		return 0
	}
	t := math.Inf(1)
	for r := range a.m {
		if a.rowPart[r] != k || a.at[r] >= 0 {
			continue
		}
		toward := floats.Dot(a.crow(r), d)
		if toward > flatTol*size {
			t = min(t, a.slack[r]/toward)
		}
		if a.twoSided && -toward > flatTol*size {
			t = min(t, a.otherSlack[r]/-toward)
		}
	}
	return t
}
