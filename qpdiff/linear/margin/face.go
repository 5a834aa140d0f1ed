package margin

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/stop"

	"gonum.org/v1/gonum/floats"
)

// marginFace is a face of a [marginProblem]: a set of θ on which the objective is smooth. It also
// holds the factor of the optimality system on the face.
//
// The normals z_i of the elbow, restricted to the support, are linearly independent.
type marginFace struct {
	side  []int8    // for each row: −1 if its margin m_i is below 1, +1 if m_i is above 1, 0 if the row is on the elbow
	elbow []int     // rows held at m_i = 1, ascending
	act   []int     // support: coordinates not held at 0, ascending
	sgn   []float64 // sign of each member of act, 0 if λ1 = 0
	pos   []int     // for each coordinate: its place in act, or −1
	model bool      // if true, the margin m_i decides on which side of ℓ's kink row i is; if false, side does

	h, dinv []float64 // factor of the Hessian on the support, if curved
	root    []float64 // √ of its pivots
	// R·Q is the matrix of the elbow's normals, whitened by the Hessian. R is lower triangular, and
	// the rows of Q are orthonormal.
	q, r     []float64
	isSolved bool // h, q and r belong to the solution
	stopper  *stop.Stop

	factored factoredFace
	line     []float64  // scratch of update
	cos, sin [1]float64 // the rotation that rotate applies
}

// A factoredFace describes a face for which the factor of a [marginFace] was computed.
type factoredFace struct {
	rows, coords []int // the elbow and the support of this face
	changes      int   // since a factor was computed anew
	systemKnown  bool  // the description belongs to a factor
}

// resize gives the description room for n coordinates.
func (o *factoredFace) resize(n int) {
	dense.GrowAll(n, &o.rows, &o.coords)
	o.systemKnown = false
}

// resize allocates the storage of a face with the given number of rows and n coordinates.
func (f *marginFace) resize(rows, n int) {
	f.side, f.elbow = dense.Grow(f.side, rows), dense.Grow(f.elbow, n+1)
	dense.GrowAll(n, &f.act, &f.pos)
	dense.GrowAll(n, &f.sgn, &f.dinv, &f.root, &f.line)
	f.factored.resize(n)
	dense.GrowAll(n*n, &f.h, &f.q, &f.r)
}

// faceEntries returns the number of entries that resize allocates.
func faceEntries(rows, n float64) float64 { return 3*n*n + 9*n + rows/8 }

// copyFrom copies the face o to f, without the factor.
func (f *marginFace) copyFrom(o *marginFace) {
	f.resize(len(o.side), len(o.pos))
	copy(f.side, o.side)
	copy(f.pos, o.pos)
	f.elbow = append(f.elbow[:0], o.elbow...)
	f.act, f.sgn = append(f.act[:0], o.act...), append(f.sgn[:0], o.sgn...)
}

// sideIf returns −1 or +1, the side of a row: −1 if the margin of the row is below 1, and +1
// otherwise.
func sideIf(isBelow bool) int8 {
	if isBelow {
		return -1
	}
	return 1
}

// support sets the support and its signs from theta. If the ℓ₁ penalty l1 is 0, all coordinates are
// in the support.
func (f *marginFace) support(theta []float64, l1 float64) {
	f.act, f.sgn = f.act[:0], f.sgn[:0]
	for j, t := range theta {
		f.pos[j] = -1
		if s := dense.Sign(t); s != 0 || l1 == 0 {
			if l1 == 0 {
				s = 0
			}
			f.pos[j] = len(f.act)
			f.act, f.sgn = append(f.act, j), append(f.sgn, s)
		}
	}
}

// insert adds coordinate j to the support.
func (f *marginFace) insert(j int, sign float64) {
	k, _ := slices.BinarySearch(f.act, j)
	f.act, f.sgn = slices.Insert(f.act, k, j), slices.Insert(f.sgn, k, sign)
	f.index(k)
}

// remove removes coordinate j from the support, so that θ_j stays 0.
func (f *marginFace) remove(j int) {
	k := f.pos[j]
	f.act, f.sgn = slices.Delete(f.act, k, k+1), slices.Delete(f.sgn, k, k+1)
	f.pos[j] = -1
	f.index(k)
}

func (f *marginFace) index(from int) {
	for k := from; k < len(f.act); k++ {
		f.pos[f.act[k]] = k
	}
}

// holdOnElbow adds row i to the elbow.
func (f *marginFace) holdOnElbow(i int) {
	f.side[i] = 0
	k, _ := slices.BinarySearch(f.elbow, i)
	f.elbow = slices.Insert(f.elbow, k, i)
}

// dropReleased removes from the elbow each row whose side is not 0.
func (f *marginFace) dropReleased() {
	f.elbow = slices.DeleteFunc(f.elbow, func(i int) bool { return f.side[i] != 0 })
}

// belowKink reports whether row i, with the margin m, is below the kink of the smooth loss ℓ. On
// the elbow the margin counts as 1, even if m differs from 1 by rounding.
func (f *marginFace) belowKink(i int, m float64) bool {
	if f.model {
		return m < 1
	}
	return f.side[i] < 0
}

// gradient sets g to the gradient on the face at theta, without the terms of the multipliers. If
// the loss has no smooth part ℓ, g is the gradient at θ = 0 instead. If the loss has a smooth part,
// the upper triangle of h is also set, to the Hessian on the support. The parameter m holds the
// margins.
func (f *marginFace) gradient(p *marginProblem, g, theta, m []float64) {
	n, s := p.n, len(f.act)
	if !p.curved {
		clear(g)
		for i, side := range f.side {
			if side < 0 {
				dense.Axpy(p.Copies[i], p.z[i*n:(i+1)*n], g)
			}
		}
		floats.Scale(-p.hinge, g)
		return
	}
	h := f.h[:s*s]
	clear(h)
	floats.ScaleTo(g, p.l2, theta)
	for k := range s {
		h[k*s+k] = p.l2
	}
	for i, side := range f.side {
		z := p.z[i*n : (i+1)*n]
		slope, c := p.smoothLoss(m[i], f.belowKink(i, m[i]))
		if side < 0 {
			slope -= p.hinge
		}
		c *= p.Copies[i]
		dense.Axpy(p.Copies[i]*slope, z, g)
		if c == 0 {
			continue
		}
		f.stopper.Look()
		for k, j := range f.act {
			v := c * z[j]
			row := h[k*s : (k+1)*s]
			for l := k; l < s; l++ {
				row[l] += v * z[f.act[l]]
			}
		}
	}
}

// whiten replaces x by M⁻¹x, where MMᵀ is the Hessian on the support.
func (f *marginFace) whiten(p *marginProblem, x []float64) {
	if !p.curved {
		floats.Scale(1/math.Sqrt(p.l2), x)
		return
	}
	s := len(x)
	dense.LDLForward(f.h, f.dinv, s, s, x)
	for k := range x {
		x[k] *= f.root[k] * f.dinv[k]
	}
}

// unwhiten replaces x by M⁻ᵀx; see whiten.
func (f *marginFace) unwhiten(p *marginProblem, x []float64) {
	if !p.curved {
		f.whiten(p, x)
		return
	}
	s := len(x)
	floats.Mul(x, f.root[:s])
	dense.LDLBack(f.h, f.dinv, s, s, x)
}

// orthogonalise computes row e of Q and of R from the whitened normal of data row i. It applies the
// Gram–Schmidt method twice, so that the rows of Q are orthogonal to working precision. If the
// normal depends linearly on the earlier normals, it returns false.
func (f *marginFace) orthogonalise(p *marginProblem, i, e int) bool {
	n, s := p.n, len(f.act)
	b := f.q[e*s : (e+1)*s]
	z := p.z[i*n : (i+1)*n]
	dense.Gather(b, z, f.act)
	f.whiten(p, b)
	length, independent := f.project(b, f.r[e*n:e*n+e])
	if !independent {
		return false
	}
	f.r[e*n+e] = length
	for k := range b {
		b[k] /= length
	}
	return true
}

// project subtracts from x the projection of x onto the first len(c) rows of Q, and sets c to the
// coefficients of the projection. It returns the length of the remainder, and reports whether this
// length is larger than rounding.
func (f *marginFace) project(x, c []float64) (length float64, independent bool) {
	s := len(x)
	size := norm2(x)
	clear(c)
	for range 2 {
		for k := range c {
			q := f.q[k*s : (k+1)*s]
			t := dense.Dot(q, x)
			c[k] += t
			dense.Axpy(-t, q, x)
		}
	}
	length = norm2(x)
	return length, length > dependentTol*size
}

// solveR replaces c by R⁻ᵀc.
func (f *marginFace) solveR(c []float64) {
	n := len(f.pos)
	for e := len(c) - 1; e >= 0; e-- {
		x := c[e]
		for k := e + 1; k < len(c); k++ {
			x -= f.r[k*n+e] * c[k]
		}
		c[e] = x / f.r[e*n+e]
	}
}

// dependency writes the vector a as a combination of the elbow's normals on the support, and
// returns the coefficients c of this combination. If a is not such a combination, it returns nil.
// It overwrites a.
func (f *marginFace) dependency(p *marginProblem, a, c []float64) []float64 {
	f.whiten(p, a)
	c = c[:len(f.elbow)]
	if _, independent := f.project(a, c); independent && len(c) < len(a) {
		return nil
	}
	f.solveR(c)
	return c
}

// system solves the face's optimality system
//
//	H d − Z_Eᵀb = v,  Z_E d = c
//
// The arguments v and c hold the right-hand sides. The solution overwrites them: d in place of v,
// and b in place of c. The result is dᵀHd. The argument scratch must be as long as c.
func (f *marginFace) system(p *marginProblem, v, c, scratch []float64) (decrement float64) {
	n, s := p.n, len(f.act)
	f.whiten(p, v)
	// Coordinates of d along Q: RQd = c.
	for e := range c {
		x := c[e]
		for k := range e {
			x -= f.r[e*n+k] * c[k]
		}
		c[e] = x / f.r[e*n+e]
	}
	// If the Hessian is small, v is much larger than d. A round leaves an error of eps times the
	// length of its step. Rounds therefore continue until a step is shorter than d.
	b := scratch[:len(c)]
	clear(b)
	for round := range systemRounds {
		var moved float64
		for e := range c {
			q := f.q[e*s : (e+1)*s]
			t := c[e] - dense.Dot(q, v)
			b[e] += t
			dense.Axpy(t, q, v)
			moved = max(moved, math.Abs(t))
		}
		if round > 0 && moved <= dense.Largest(v)+dense.Largest(c) {
			break
		}
		if len(c) == s { // d consists only of Qᵀc, and the remainder of v is rounding
			clear(v)
			for e, x := range c {
				dense.Axpy(x, f.q[e*s:(e+1)*s], v)
			}
			break
		}
	}
	copy(c, b)
	f.solveR(c)
	decrement = dense.Dot(v, v)
	f.unwhiten(p, v)
	return decrement
}

// elbowCond estimates the condition number of RRᵀ, the Gram matrix of the elbow's whitened normals,
// after these normals are scaled to length 1. It writes the factor of RRᵀ to a and dinv, in the
// form of ldlFactor. All arguments are scratch: a has n×n entries, and each other argument has n.
func (f *marginFace) elbowCond(a, dinv, size, x []float64) float64 {
	n, e := len(f.pos), len(f.elbow)
	for k := range e {
		d := f.r[k*n+k]
		dinv[k] = 1 / (d * d)
		for i := k; i < e; i++ {
			a[k*e+i] = d * f.r[i*n+k]
		}
	}
	return dense.LDLCond(a[:e*e], dinv[:e], e, e, size, x)
}

// elbowCondBound returns an upper bound for the result of elbowCond. It needs only R. The pivots of
// RRᵀ are the squares of R's diagonal entries. The squared length of a normal is the sum of squares
// of a row of R.
func (f *marginFace) elbowCondBound() float64 {
	n, pivots := len(f.pos), 1.0
	for k := range f.elbow {
		r := f.r[k*n : k*n+k+1]
		pivots *= r[k] * r[k] / dense.Dot(r, r)
	}
	return dense.CondBound(len(f.elbow), pivots, 0)
}
