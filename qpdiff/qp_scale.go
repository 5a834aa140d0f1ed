package qpdiff

import (
	"cmp"
	"math"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

const (
	// openBound: a bound beyond this multiple of the usual ones stands for
	// infinity, and does not make the proximal term weaker. Smaller multiples
	// are common in one problem.
	openBound = 1e6
	// ruizSweeps is the number of passes of equilibrate: the distance from unit
	// rows and columns halves with each, and the scale serves the proximal term,
	// where a factor of two is nothing.
	ruizSweeps = 10
)

// geometricSweeps bounds the sweeps of geometricScale, which stop earlier where no
// entry of E changes by more than geometricStep, in powers of two. An error of some
// powers is nothing to the passes that follow.
const (
	geometricSweeps = 200
	geometricStep   = .1
)

// geometricScale returns the diagonal of E that brings the logarithms of the entries
// of EKE nearest to zero, by least squares (Curtis and Reid, 1972). Units of the
// objective, rows and variables do not change that matrix. The largest entries of
// rows alone would not determine it: in the rows (1, u) and (0, 1) they are one for
// every u ≤ 1. Of H the diagonal counts, which bounds the other entries. work
// has three times as many entries.
func geometricScale(work []float64, n, k int, h, c []float64) []float64 {
	dim := n + k
	clear(work)
	e, sum, count := work[:dim], work[dim:2*dim], work[2*dim:3*dim]
	big := 0.0
	for i := range n {
		big = max(big, math.Abs(h[i*n+i]))
	}
	_, exp := math.Frexp(big) // other units of the objective leave all bits as they are
	for i := range n {
		if v := math.Abs(h[i*n+i]); v > 0 && dense.Finite(v) {
			f, e := math.Frexp(v)
			sum[i], count[i] = 2*(math.Log2(f)+float64(e-exp)), 4
		}
	}
	for i := range k {
		for j := range n {
			if v := math.Abs(c[i*n+j]); v > 0 && dense.Finite(v) {
				l := math.Log2(v)
				sum[j] += l
				sum[n+i] += l
				count[j]++
				count[n+i]++
			}
		}
	}
	for range geometricSweeps {
		step := 0.0
		move := func(i int, coupled float64) {
			if count[i] == 0 {
				return
			}
			x := -(sum[i] + coupled) / count[i]
			step = max(step, math.Abs(x-e[i]))
			e[i] = x
		}
		for j := range n {
			coupled := 0.0
			for i := range k {
				if c[i*n+j] != 0 {
					coupled += e[n+i]
				}
			}
			move(j, coupled)
		}
		for i := range k {
			coupled := 0.0
			for j := range n {
				if c[i*n+j] != 0 {
					coupled += e[j]
				}
			}
			move(n+i, coupled)
		}
		if step <= geometricStep {
			break
		}
	}
	for i, x := range e {
		e[i] = math.Exp2(x)
	}
	return e
}

// equilibrate chooses the scale of the variables and the rows so that the
// largest entries of all rows and columns of Q and the constraints are near one
// (Ruiz, 2001), and returns the weight of the proximal term. Rows with a single
// entry do not count: a bound fits any scale of its variable.
func (a *activeSet) equilibrate() float64 {
	n := a.n
	sigma, col := a.work, a.work2
	rho := a.slack
	a.logs = dense.Grow(a.logs, 3*(n+a.rows))
	e := geometricScale(a.logs, n, a.rows, a.q, a.c)
	copy(sigma, e)
	copy(rho, e[n:])
	big := 0.0
	for i := range n {
		for j := range n {
			big = max(big, math.Abs(a.q[i*n+j])*sigma[i]*sigma[j])
		}
	}
	for range ruizSweeps {
		clear(col)
		if a.qmax > 0 {
			for i := range n {
				for j, v := range a.q[i*n : (i+1)*n] {
					col[i] = max(col[i], math.Abs(v)*sigma[i]*sigma[j]/big)
				}
			}
		}
		for r := range a.rows {
			if a.single[r] >= 0 {
				continue
			}
			big := 0.0
			for j, v := range a.crow(r) {
				v = math.Abs(v) * rho[r] * sigma[j]
				big = max(big, v)
				col[j] = max(col[j], v)
			}
			if big > 0 {
				rho[r] /= math.Sqrt(big)
			}
		}
		for j, v := range col {
			if v > 0 {
				sigma[j] /= math.Sqrt(v)
			}
		}
	}
	a.ownUnits(sigma)
	copy(a.unit, sigma)
	for j, v := range sigma {
		a.d[j] = 1 / (v * v)
	}
	for r := range a.rows {
		norm := 0.0
		for j, v := range a.crow(r) {
			v *= sigma[j]
			norm += v * v
		}
		if norm == 0 {
			continue
		}
		_, e := math.Frexp(math.Sqrt(norm))
		_, have := math.Frexp(a.scale[r])
		s := math.Ldexp(1, -min(e, have+1021)) // a scale of 0 would lose the multiplier
		a.scale[r] *= s
		a.r[r] *= s
		floats.Scale(s, a.crow(r))
	}
	qmax := 0.0
	for i, v := range sigma {
		qmax = max(qmax, a.q[i*n+i]*v*v)
		a.curvature[i] = 0
		for j, q := range a.q[i*n : (i+1)*n] {
			a.curvature[i] = max(a.curvature[i], math.Abs(q)*v*sigma[j])
		}
	}
	a.psize, a.zsize = a.sizes()
	a.qsize = qmax
	if shift := a.proximalWeight(a.zsize); shift > 0 {
		return shift
	}
	return 1 // nothing in the problem has the units of z
}

// ownUnits chooses the scale of each part of the program that shares no row with the
// others and that Q does not see: no equilibration determines it. It is the one that
// brings the entries of P to the size of the others, or where those have none gives the
// part the curvature of the others at the size of its bounds.
func (a *activeSet) ownUnits(sigma []float64) {
	a.findUnseenParts()
	var seen, unseen, curvature float64 // the largest entries of P, and of Q
	for j, first := range a.part {
		v := math.Abs(a.p[j]) * sigma[j]
		if first < 0 {
			seen = max(seen, v)
			curvature = max(curvature, a.q[j*a.n+j]*sigma[j]*sigma[j])
		} else {
			unseen = max(unseen, v)
		}
	}
	for part := range a.part {
		p, z := 0.0, 0.0
		for j, first := range a.part {
			if first == part {
				p = max(p, math.Abs(a.p[j])*sigma[j])
				z = max(z, a.boundSize(j)/sigma[j])
			}
		}
		if p == 0 {
			continue
		}
		f := cmp.Or(seen, unseen) / p
		if seen == 0 && curvature > 0 && z > 0 {
			f = math.Sqrt(z / p * curvature)
		}
		for j, first := range a.part {
			if first == part {
				sigma[j] *= f
			}
		}
	}
}

// findUnseenParts sets part[j], for each variable j that rows connect with no entry of
// Q, to the first variable that they connect with j, and to -1 for the others.
func (a *activeSet) findUnseenParts() {
	n := a.n
	a.part = dense.Grow(a.part, n)
	for j := range a.part {
		a.part[j] = j
	}
	rename := func(from, to int) {
		for j, first := range a.part {
			if first == from {
				a.part[j] = to
			}
		}
	}
	for r := range a.rows {
		part := -1
		for j, v := range a.crow(r) {
			switch first := a.part[j]; {
			case v == 0 || first == part:
			case part < 0:
				part = first
			default:
				rename(max(part, first), min(part, first))
				part = min(part, first)
			}
		}
	}
	for i := range n {
		if a.part[i] >= 0 && floats.Norm(a.q[i*n:(i+1)*n], 1) > 0 {
			rename(a.part[i], -1)
		}
	}
}

// boundSize is the size of the bounds of variable j alone.
func (a *activeSet) boundSize(j int) (size float64) {
	for r, at := range a.single {
		if v := math.Abs(a.r[r] / a.c[r*a.n+j]); at == j && dense.Finite(v) {
			size = max(size, v)
		}
	}
	return size
}

// proximalWeight is the weight of the proximal term for a z of the given size.
func (a *activeSet) proximalWeight(zsize float64) float64 {
	weight := shiftQuadratic * a.qsize
	if zsize > 0 {
		weight = max(weight, shiftLinear*a.psize/zsize)
	}
	return weight
}

// staleSize is how far the sizes of P and of the bounds may be from those that
// the weight of the proximal term was chosen for. Within three orders of
// magnitude the steps converge as well. With far too weak a term, or from a
// centre far too large, the steps end so far away that P is lost in the rounding
// of Qz; with far too strong a one there are more steps than allowed.
const staleSize = 1e3

// stale reports whether the factor's proximal term does not suit P, H and B.
func (a *activeSet) stale() bool {
	if a.shift == 0 {
		return false
	}
	near := func(now, then float64) bool { return now <= staleSize*then && then <= staleSize*now }
	p, z := a.sizes()
	for first, part := range a.part {
		if part != first {
			continue
		}
		v := 0.0
		for j, p := range a.part {
			if p == part {
				v = max(v, math.Abs(a.p[j])*a.unit[j])
			}
		}
		if v > 0 && !near(v, a.psize) {
			return true
		}
	}
	return !near(p, a.psize) || !near(z, a.zsize)
}

// sizes returns that of the linear term, and that of z by the bounds of the
// rows, both in the units of the variables.
func (a *activeSet) sizes() (psize, zsize float64) {
	for j, v := range a.unit {
		psize = max(psize, math.Abs(a.p[j])*v)
	}
	// least: no feasible point is smaller. inverse/open: the harmonic mean of the
	// bounds that 0 meets, which bounds that stand for infinity do not move.
	least, inverse, open := 0.0, 0.0, 0.0
	for r := range a.rows {
		switch v := a.r[r]; {
		case a.single[r] == noEntry:
		case r >= a.m || v < 0:
			least = max(least, math.Abs(v))
		case v > 0:
			inverse += 1 / v
			open++
		}
	}
	usual := least
	if inverse > 0 {
		usual = max(usual, open/inverse)
	}
	for r, v := range a.r {
		if v = math.Abs(v); v <= openBound*usual && a.single[r] != noEntry {
			zsize = max(zsize, v)
		}
	}
	return psize, zsize
}

// size is the norm of z in the scale of the variables.
func (a *activeSet) size() float64 {
	var sum float64
	for i, v := range a.z {
		sum += a.d[i] * v * v
	}
	return math.Sqrt(sum)
}
