package search

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// The computed step is a minimiser of the model up to modelTol: the model's gradient falls to
// modelTol times its value at the start. This remainder is far below the change of the gradient
// between two evaluations, and far above rounding errors.
const modelTol = 1e-10

// boxModel minimises the model gᵀd + ½dᵀBd of the loss over the box lower − x ≤ d ≤ upper − x. It
// uses conjugate gradients on the free coordinates. The set of free coordinates is determined anew
// in two cases: when a coordinate reaches a bound, and when the minimum over the free coordinates
// is reached. If B has no positive curvature along a direction, d moves in this direction to a bound.
type boxModel struct {
	p                  Problem
	maxMove            []float64 // the largest change of each coordinate in a step
	lowerGap, upperGap []float64 // the distances from x to its lower and upper bounds, or to the limit of a step; if d is at a bound, d equals one of these distances
	freeCoordinates    []bool
	r, w               []float64 // the model's gradient r = g + Bd, and r divided by B's diagonal
	v, bv              []float64 // a direction v, and Bv
}

// A modelMatrix is the symmetric matrix B of a model. It need not be positive definite.
type modelMatrix interface {
	// diagonal returns positive numbers near the diagonal of B, for the preconditioner.
	diagonal() []float64
	// times writes the product Bv to dst.
	times(dst, v []float64)
}

// newBoxModel returns a model for steps that change each coordinate by at most maxMove·scale.
func newBoxModel(p Problem, scale []float64, maxMove float64) *boxModel {
	n := len(scale)
	reach := make([]float64, n)
	floats.ScaleTo(reach, maxMove, scale)
	return &boxModel{p: p, maxMove: reach, lowerGap: make([]float64, n), upperGap: make([]float64, n),
		freeCoordinates: make([]bool, n), r: make([]float64, n), w: make([]float64, n), v: make([]float64, n), bv: make([]float64, n)}
}

// If d moves an entry of x to a bound, snap makes the entry exactly equal to this bound. The
// rounded sum x0 + (bound − x0) may miss the bound.
func (m *boxModel) snap(x, x0, d []float64) {
	for i, v := range d {
		lower, upper := m.p.bounds(i)
		switch v {
		case lower - x0[i]:
			x[i] = lower
		case upper - x0[i]:
			x[i] = upper
		}
	}
}

// minimise sets d.
func (m *boxModel) minimise(d, x, g []float64, b modelMatrix) {
	clear(d)
	copy(m.r, g)
	for i, v := range x {
		lower, upper := m.p.bounds(i)
		m.lowerGap[i], m.upperGap[i], m.freeCoordinates[i] = max(lower-v, -m.maxMove[i]), min(upper-v, m.maxMove[i]), true
	}
	enough := modelTol * modelTol * m.precondition(b.diagonal())
	for range 3*len(d) + 10 {
		for i, r := range m.r {
			m.freeCoordinates[i] = !(d[i] <= m.lowerGap[i] && r >= 0 || d[i] >= m.upperGap[i] && r <= 0)
		}
		rr := m.precondition(b.diagonal())
		if !(rr > enough) { // also if rr is NaN, because the model has overflowed
			return
		}
		m.conjugate(d, b, rr, enough)
	}
}

// precondition sets w to r divided by B's diagonal, for the free coordinates. The vector r is the
// gradient of the model. Division by the diagonal makes the method independent of the units of
// coordinates. precondition returns rᵀw.
func (m *boxModel) precondition(diag []float64) (rr float64) {
	for i, r := range m.r {
		m.w[i] = 0
		if m.freeCoordinates[i] {
			m.w[i] = r / diag[i]
			rr += r * m.w[i]
		}
	}
	return rr
}

// conjugate moves d by the method of conjugate gradients in the free coordinates. It stops when a
// coordinate reaches a bound, or when rᵀw is at most tol. At the start, the argument rr must be the
// value of rᵀw.
func (m *boxModel) conjugate(d []float64, b modelMatrix, rr, tol float64) {
	floats.ScaleTo(m.v, -1, m.w)
	for range len(d) {
		b.times(m.bv, m.v)
		t, vbv := math.Inf(1), floats.Dot(m.v, m.bv)
		if !(vbv <= 0) {
			t = rr / vbv
		}
		t, hit := m.stepInside(d, t)
		floats.AddScaled(d, t, m.v)
		floats.AddScaled(m.r, t, m.bv)
		if hit >= 0 {
			d[hit] = m.bound(hit)
			return
		}
		before := rr
		if rr = m.precondition(b.diagonal()); !(rr > tol) {
			return
		}
		floats.Scale(rr/before, m.v)
		floats.Sub(m.v, m.w)
	}
}

// stepInside returns the largest number s ≤ t for which d + s·v stays within the bounds. It also
// returns the coordinate that reaches its bound at s. If no coordinate reaches its bound, it
// returns −1.
func (m *boxModel) stepInside(d []float64, t float64) (share float64, hit int) {
	hit = -1
	for i, v := range m.v {
		if room := (m.bound(i) - d[i]) / v; v != 0 && room < t {
			t, hit = max(room, 0), i
		}
	}
	return t, hit
}

// bound returns the bound of d_i in the direction of v_i.
func (m *boxModel) bound(i int) float64 {
	if m.v[i] < 0 {
		return m.lowerGap[i]
	}
	return m.upperGap[i]
}
