package qpdiff

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// kktMatrix is the symmetric matrix K = [H Cᵀ; C 0] of the KKT conditions at a
// point, by the eigenvalues of EKE, which tell what of it is singular: E is the
// diagonal that brings the largest entry of every row near one, so that units do
// not decide. It is the slow and careful way, for where K may be singular.
type kktMatrix struct {
	n, k   int
	e      []float64 // diagonal of E, powers of two
	eke    *mat.SymDense
	vec    mat.Dense
	values []float64
	null   []int // the eigenvectors with eigenvalue zero, ascending
	// Work of solve.
	x, rhs, coef []float64
}

// singularTol: eigenvalues below this fraction of the largest are zero.
const singularTol = 1e-11

// equilibrations is the number of passes of Ruiz (2001); each halves the
// decades by which rows differ.
const equilibrations = 10

// kktEntry is entry (i, j) of [H Cᵀ; C 0], i ≥ j.
func kktEntry(n int, h, c []float64, i, j int) float64 {
	switch {
	case i < n:
		return h[i*n+j]
	case j < n:
		return c[(i-n)*n+j]
	}
	return 0
}

// kktScale returns the diagonal of E. The largest entries of H and of C become
// one, so that neither drowns the other, whatever the units of the objective.
func kktScale(n, k int, h, c []float64) []float64 {
	dim := n + k
	e, largest := make([]float64, dim), make([]float64, dim)
	fill(e, 1)
	block := func() (big float64) { // the largest entry of H so far
		for i := range n {
			for j := range i + 1 {
				big = max(big, math.Abs(h[i*n+j])*e[i]*e[j])
			}
		}
		if !(big > 0 && finite(big)) {
			return 1
		}
		return big
	}
	for range equilibrations {
		clear(largest)
		big := block()
		for i := range dim {
			for j := range min(i+1, n) {
				v := math.Abs(kktEntry(n, h, c, i, j)) * e[i] * e[j]
				if i < n {
					v /= big
				}
				largest[i], largest[j] = max(largest[i], v), max(largest[j], v)
			}
		}
		for i, v := range largest {
			if v > 0 && finite(v) {
				e[i] /= math.Sqrt(v)
			}
		}
	}
	root := math.Sqrt(block())
	for i, v := range e {
		if i < n {
			v /= root
		} else {
			v *= root
		}
		_, exp := math.Frexp(v)
		e[i] = math.Ldexp(1, exp)
	}
	return e
}

// newKKTMatrix takes H (n×n) and the rows C (k×n).
func newKKTMatrix(n, k int, h, c []float64) *kktMatrix {
	dim := n + k
	a := &kktMatrix{n: n, k: k, e: kktScale(n, k, h, c), x: make([]float64, dim), rhs: make([]float64, dim), coef: make([]float64, dim)}
	sym := mat.NewSymDense(dim, nil)
	for i := range dim {
		for j := range min(i+1, n) {
			sym.SetSym(i, j, kktEntry(n, h, c, i, j)*a.e[i]*a.e[j])
		}
	}
	a.eke = sym
	var eig mat.EigenSym
	if !eig.Factorize(sym, true) {
		// Nothing is known of the matrix: all of it counts as singular.
		a.values = make([]float64, dim)
		a.vec = *mat.NewDense(dim, dim, nil)
		for i := range dim {
			a.vec.Set(i, i, 1)
			a.null = append(a.null, i)
		}
		return a
	}
	a.values = eig.Values(nil)
	eig.VectorsTo(&a.vec)
	big := max(math.Abs(a.values[0]), math.Abs(a.values[dim-1]))
	for i, v := range a.values {
		if math.Abs(v) <= singularTol*big {
			a.null = append(a.null, i)
		}
	}
	return a
}

// solve sets (v, y) to the solution of least norm, in the scale of E, with
// right-hand side (cz, cy), and returns the norm of what of that lies outside
// the range, relative to it.
func (a *kktMatrix) solve(v, y, cz, cy []float64) (outside float64) {
	n := a.n
	floats.MulTo(a.rhs[:n], cz, a.e[:n])
	floats.MulTo(a.rhs[n:], cy, a.e[n:])
	clear(a.x)
	outside = a.improve()
	// The first solution has errors of the size of its largest entry. One
	// correction makes those of the small entries small: ż = 0 at a vertex.
	raw := a.eke.RawSymmetric()
	for i := range a.x {
		sum := a.rhs[i]
		for j, x := range a.x {
			sum -= raw.Data[min(i, j)*raw.Stride+max(i, j)] * x
		}
		a.coef[i] = sum
	}
	copy(a.rhs, a.coef)
	a.improve()
	floats.MulTo(v, a.x[:n], a.e[:n])
	floats.MulTo(y, a.x[n:], a.e[n:])
	return outside
}

// improve adds to x the solution of least norm for the right-hand side rhs, and
// returns how much of that lies outside the range, relative to it.
func (a *kktMatrix) improve() (outside float64) {
	var in, out float64
	isNull := 0
	raw := a.vec.RawMatrix()
	for e := range a.coef {
		s := 0.0
		for i, c := range a.rhs {
			s += raw.Data[i*raw.Stride+e] * c
		}
		in += s * s
		if isNext(a.null, &isNull, e) {
			out += s * s
			a.coef[e] = 0
		} else {
			a.coef[e] = s / a.values[e]
		}
	}
	for i := range a.x {
		a.x[i] += floats.Dot(raw.Data[i*raw.Stride:i*raw.Stride+len(a.coef)], a.coef)
	}
	if in == 0 {
		return 0
	}
	return math.Sqrt(out / in)
}

// rangeTol: a vector lies in a range if what sticks out is below this fraction
// of it.
const rangeTol = 1e-8
