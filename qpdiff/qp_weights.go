package qpdiff

import (
	"math"

	"cvgm/qpdiff/internal/dense"
)

// chooseWeights chooses the weight of the proximal term in each part.
func (a *activeSet) chooseWeights() {
	n := a.n
	for k := range a.parts {
		a.parts[k].qsize = 0
	}
	for i, v := range a.unit {
		p := &a.parts[a.varPart[i]]
		p.qsize = max(p.qsize, a.q[i*n+i]*v*v)
		a.qRowMax[i] = 0
		for j, q := range a.q[i*n : (i+1)*n] {
			a.qRowMax[i] = max(a.qRowMax[i], math.Abs(q)*v*a.unit[j])
		}
	}
	for k := range a.parts {
		p := &a.parts[k]
		p.psize, p.zsize = a.partSizes(k)
		if p.weight = p.proximalWeight(p.zsize); p.weight == 0 {
			// No number in this part of the program determines the size of z, so any weight serves. The
			// chosen weight is a power of four, because its square root is exact.
			_, e := math.Frexp(p.psize)
			p.weight = math.Ldexp(1, e&^1)
		}
	}
	a.weakened = false
}

// proximalWeight returns the weight that the proximal term of a part should have if zsize is the
// size of z in this part.
func (p *programPart) proximalWeight(zsize float64) float64 {
	weight := shiftQuadratic * p.qsize
	if zsize > 0 {
		weight = max(weight, shiftLinear*p.psize/zsize)
	}
	return weight
}

// factorWeighted factorises Q plus the proximal term, with the current weight of each part. It
// reports whether the factorisation succeeded.
func (a *activeSet) factorWeighted() bool {
	for j, d := range a.d {
		a.prox[j] = a.parts[a.varPart[j]].weight * d
	}
	return a.factor(0) == a.n
}

// weaken reduces the weight of the proximal term in some parts of the program. These are the parts
// in which z is far larger than the bounds of the rows imply. If slowSteps is true, they also
// include the parts that have not converged. weaken reports whether it reduced a weight.
func (a *activeSet) weaken(slowSteps bool) (some bool) {
	for k := range a.parts {
		p := &a.parts[k]
		p.oldWeight = p.weight
		weaker := p.weight
		if size := a.sizeOf(k); size > staleSize*p.zsize {
			// The bounds of the rows do not determine the size of z. For example, they may be 0 up to
			// rounding.
			weaker = min(weaker, p.proximalWeight(size))
		}
		if slowSteps && max(p.relative, p.ownRatio) > convergedTol {
			weaker = min(weaker, p.weight/100) // Q is flatter than the proximal term
		}
		if weaker < p.weight/2 {
			p.weight, some = weaker, true
		}
	}
	a.weakened = a.weakened || some
	return some
}

// takeBackWeights undoes the last call of weaken: it restores the weights from before this call,
// and factorises again.
func (a *activeSet) takeBackWeights() {
	for k := range a.parts {
		a.parts[k].weight = a.parts[k].oldWeight
	}
	a.factorWeighted()
}

// factorStale reports whether the factor contains a proximal term of another program, and this term
// does not suit the present program: it was weakened, or P, H or B have very different sizes.
func (a *activeSet) factorStale() bool {
	if !a.shifted {
		return false
	}
	near := func(now, then float64) bool { return now <= staleSize*then && then <= staleSize*now }
	for k := range a.parts {
		p, z := a.partSizes(k)
		if !near(p, a.parts[k].psize) || !near(z, a.parts[k].zsize) {
			return true
		}
	}
	return a.weakened
}

// partSizes returns two sizes of part k of the program, in the units of the variables: the size of
// the linear term, and the size of z, as implied by the bounds of the rows.
func (a *activeSet) partSizes(k int) (psize, zsize float64) {
	for _, j := range a.parts[k].variables {
		psize = max(psize, math.Abs(a.p[j])*a.unit[j])
	}
	// lowerBound is a lower bound of the size of feasible points. The harmonic mean of the bounds that
	// z = 0 satisfies is nopen/sumInv. Huge bounds, which represent infinity, hardly change this mean.
	lowerBound, sumInv, nopen := 0.0, 0.0, 0.0
	sharedRow := false // a row with several entries counts in lowerBound
	counts := func(r int, v float64) bool {
		return !math.IsInf(v, 1) && a.onlyCol[r] != noEntry && a.rowPart[r] == k
	}
	count := func(r int, v float64) {
		switch {
		case !counts(r, v):
		case a.equality(r) || v < 0:
			lowerBound = max(lowerBound, math.Abs(v))
			sharedRow = sharedRow || v != 0 && a.onlyCol[r] < 0
		case v > 0:
			sumInv += 1 / v
			nopen++
		}
	}
	for r, v := range a.r {
		count(r, v)
	}
	for r, v := range a.otherRhs {
		count(r, v)
	}
	// Suppose that all bounds satisfied by z = 0 represent infinity. Their harmonic mean then
	// represents infinity too. After a first step of the size of this mean, rounding errors would
	// exceed the bounds of the rows that determine lowerBound. Rows with one entry are an
	// exception, because z satisfies such a row exactly after the step.
	usual := lowerBound
	if sumInv > 0 && !(sharedRow && dense.Eps*nopen/sumInv > shiftLinear*lowerBound) {
		usual = max(usual, nopen/sumInv)
	}
	measure := func(r int, v float64) {
		if size := math.Abs(v); size <= openBound*usual && counts(r, v) {
			zsize = max(zsize, size)
		}
	}
	for r, v := range a.r {
		measure(r, v)
	}
	for r, v := range a.otherRhs {
		measure(r, v)
	}
	return psize, zsize
}

// zNorm returns the norm of z in the scale of the variables.
func (a *activeSet) zNorm() float64 {
	var sum float64
	for i, v := range a.z {
		sum += a.d[i] * v * v
	}
	return math.Sqrt(sum)
}

// sizeOf returns the norm of z in part k of the program, in the scale of the variables.
func (a *activeSet) sizeOf(k int) float64 {
	var sum float64
	for _, j := range a.parts[k].variables {
		sum += a.d[j] * a.z[j] * a.z[j]
	}
	return math.Sqrt(sum)
}
