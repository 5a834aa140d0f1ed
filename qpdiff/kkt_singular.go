package qpdiff

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// kktMatrix is the symmetric matrix K = [H Cᵀ; C 0] of the KKT conditions at a
// point, H positive semidefinite, by the singular values of the rows and the
// eigenvalues of H where the rows vanish. They are those of EKE: the diagonal E
// brings the largest entry of every row near one, so that units do not decide. Its
// null vectors have either a part for the variables or one for the rows: the two
// have different units, and no test adds them. It is the slow and careful way, for
// where K may be singular.
type kktMatrix struct {
	n, k int
	e    []float64 // diagonal of E, powers of two
	h    *mat.SymDense
	c    *mat.Dense
	// C = Σ values·left·rightᵀ. H has the eigenvectors curved with the eigenvalues
	// curvature in the space where C vanishes.
	values, curvature   []float64
	left, right, curved [][]float64
	// A basis of the null space of K, in echelon form: directions in which the
	// minimiser is free, and the combinations of rows that vanish.
	free, dependent [][]float64
	// The last solution of the scaled system, its residual, and work.
	v, y, rz, ry, dv, dy []float64
	cz, hv               []float64 // the first part of the right-hand side, and Hv
}

// singularTol: singular values of C below this fraction of the largest are zero, and
// eigenvalues of H below this fraction of its largest entry.
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
	e, largest := geometricScale(make([]float64, 3*dim), n, k, h, c), make([]float64, dim)
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
	a := &kktMatrix{n: n, k: k, e: kktScale(n, k, h, c), h: mat.NewSymDense(n, nil), c: mat.NewDense(max(k, 1), n, nil)}
	a.v, a.y, a.rz, a.ry = make([]float64, n), make([]float64, k), make([]float64, n), make([]float64, k)
	a.dv, a.dy, a.cz, a.hv = make([]float64, n), make([]float64, k), make([]float64, n), make([]float64, n)
	size := 0.0
	for i := range n {
		for j := range i + 1 {
			v := h[i*n+j] * a.e[i] * a.e[j]
			a.h.SetSym(i, j, v)
			size = max(size, math.Abs(v))
		}
	}
	for i := range k {
		for j := range n {
			a.c.Set(i, j, c[i*n+j]*a.e[j]*a.e[n+i])
		}
	}
	// A row of zeros stands for no row.
	var svd mat.SVD
	if !svd.Factorize(a.c, mat.SVDFull) {
		return a.unknown()
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	a.values = svd.Values(nil)
	for len(a.values) > 0 && !(a.values[len(a.values)-1] > singularTol*a.values[0]) {
		a.values = a.values[:len(a.values)-1]
	}
	rank := len(a.values)
	for i := range k {
		if i < rank {
			a.left = append(a.left, mat.Col(nil, i, &u))
		} else {
			a.dependent = append(a.dependent, mat.Col(nil, i, &u))
		}
	}
	a.dependent = echelon(a.dependent)
	for j := range rank {
		a.right = append(a.right, mat.Col(nil, j, &v))
	}
	if rank == n {
		return a
	}
	// H where the rows vanish.
	var hz, reduced, turn, vectors mat.Dense
	z := v.Slice(0, n, rank, n)
	hz.Mul(a.h, z)
	reduced.Mul(z.T(), &hz)
	sym := mat.NewSymDense(n-rank, nil)
	for i := range n - rank {
		for j := range i + 1 {
			sym.SetSym(i, j, (reduced.At(i, j)+reduced.At(j, i))/2)
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(sym, true) {
		return a.unknown()
	}
	eig.VectorsTo(&turn)
	vectors.Mul(z, &turn)
	for i, v := range eig.Values(nil) {
		if math.Abs(v) > singularTol*size {
			a.curved, a.curvature = append(a.curved, mat.Col(nil, i, &vectors)), append(a.curvature, v)
		} else {
			a.free = append(a.free, mat.Col(nil, i, &vectors))
		}
	}
	a.free = echelon(a.free)
	return a
}

// unknown makes all of K singular: nothing is known of it.
func (a *kktMatrix) unknown() *kktMatrix {
	unit := func(n, i int) []float64 {
		x := make([]float64, n)
		x[i] = 1
		return x
	}
	a.values, a.left, a.right, a.dependent, a.free = nil, nil, nil, nil, nil
	for i := range a.n {
		a.free = append(a.free, unit(a.n, i))
	}
	for i := range a.k {
		a.dependent = append(a.dependent, unit(a.k, i))
	}
	return a
}

// singular reports whether K has null vectors.
func (a *kktMatrix) singular() bool { return len(a.free)+len(a.dependent) > 0 }

// solve sets (v, y) to the solution of least norm, in the scale of E, with
// right-hand side (cz, cy).
func (a *kktMatrix) solve(v, y, cz, cy []float64) {
	n := a.n
	floats.MulTo(a.rz, cz, a.e[:n])
	floats.MulTo(a.ry, cy, a.e[n:])
	a.solveScaled()
	floats.MulTo(v, a.v, a.e[:n])
	floats.MulTo(y, a.y, a.e[n:])
}

// movesZ reports whether v of the last solution, with the right-hand side (cz, cy), is
// not 0: cy moves it, and what of an entry of cz the rows leave.
func (a *kktMatrix) movesZ(cy []float64) bool {
	if slices.ContainsFunc(cy[:a.k], nonzero) {
		return true
	}
	for j, v := range a.hv {
		own := math.Abs(a.cz[j])
		for i, y := range a.y {
			own += math.Abs(a.c.At(i, j) * y)
		}
		if math.Abs(v) > rangeTol*own {
			return true
		}
	}
	return false
}

// movesRow reports whether entry i of y of the last solution is not 0, beside what else
// it meets in the gradient.
func (a *kktMatrix) movesRow(i int) bool {
	for j, c := range a.c.RawRowView(i) {
		if math.Abs(c*a.y[i]) > rangeTol*(math.Abs(a.cz[j])+math.Abs(a.hv[j])) {
			return true
		}
	}
	return false
}

func nonzero(x float64) bool { return x != 0 }

// solveScaled sets (v, y) to the solution with the right-hand side (rz, ry), all in the
// scale of E, and leaves the residual there. The first solution has errors of the size
// of its largest entry. One correction makes those of the small entries small: ż = 0 at
// a vertex.
func (a *kktMatrix) solveScaled() {
	clear(a.v)
	clear(a.y)
	copy(a.cz, a.rz)
	for range 2 {
		// v on the rows, then where they vanish, then y.
		clear(a.dv)
		for i, s := range a.values {
			floats.AddScaled(a.dv, floats.Dot(a.left[i], a.ry)/s, a.right[i])
		}
		a.move()
		clear(a.dv)
		for i, s := range a.curvature {
			floats.AddScaled(a.dv, floats.Dot(a.curved[i], a.rz)/s, a.curved[i])
		}
		a.move()
		clear(a.dy)
		for i, s := range a.values {
			floats.AddScaled(a.dy, floats.Dot(a.right[i], a.rz)/s, a.left[i])
		}
		for i, y := range a.dy {
			a.y[i] += y
			floats.AddScaled(a.rz, -y, a.c.RawRowView(i))
		}
	}
	clear(a.hv)
	a.addH(a.hv, a.v, 1)
}

// addH adds f·Hx to dst.
func (a *kktMatrix) addH(dst, x []float64, f float64) {
	raw := a.h.RawSymmetric()
	for i := range dst {
		for j, v := range x {
			dst[i] += f * raw.Data[min(i, j)*raw.Stride+max(i, j)] * v
		}
	}
}

// move adds dv to v and takes what that makes of the right-hand side off the residual.
func (a *kktMatrix) move() {
	floats.Add(a.v, a.dv)
	a.addH(a.rz, a.dv, -1)
	for i := range a.ry {
		a.ry[i] -= floats.Dot(a.c.RawRowView(i), a.dv)
	}
}

// outside is how far the right-hand side (cz, cy) lies outside the range of K: the
// largest product with a null vector relative to the terms, of sizes (tz, ty), that
// it sums. So no unit of another variable or row matters.
func (a *kktMatrix) outside(cz, cy, tz, ty []float64) float64 {
	return max(projection(a.free, a.e[:a.n], cz, tz), projection(a.dependent, a.e[a.n:], cy, ty))
}

// projection is that of c to the basis, in the measure of outside; e scales both c and
// its terms.
func projection(basis [][]float64, e, c, terms []float64) float64 {
	worst := 0.0
	for _, x := range basis {
		var sum, size float64
		for j, v := range x {
			sum += v * e[j] * c[j]
			size += math.Abs(v * e[j] * terms[j])
		}
		worst = max(worst, ratio(math.Abs(sum), size))
	}
	return worst
}

// rangeTol: a vector lies in a range if what sticks out is below this fraction
// of it. An entry of a null vector below it is zero.
const rangeTol = 1e-8

// echelon brings a basis to the reduced echelon form, each pivot 1 and the largest
// entry left. It sets entries up to rangeTol to zero. Vectors then have no entries of
// parts of the program that have nothing to do with each other: their units differ.
func echelon(basis [][]float64) [][]float64 {
	for k := range basis {
		at, col := k, 0
		for i, x := range basis[k:] {
			for j, v := range x {
				if math.Abs(v) > math.Abs(basis[at][col]) {
					at, col = k+i, j
				}
			}
		}
		basis[k], basis[at] = basis[at], basis[k]
		floats.Scale(1/basis[k][col], basis[k])
		for i, x := range basis {
			if f := x[col]; i != k && f != 0 {
				floats.AddScaled(x, -f, basis[k])
				x[col] = 0
			}
		}
	}
	for _, x := range basis {
		for j, v := range x {
			if math.Abs(v) <= rangeTol {
				x[j] = 0
			}
		}
	}
	return basis
}

// entry is the largest entry i of the vectors of the basis.
func entry(basis [][]float64, i int) float64 {
	size := 0.0
	for _, x := range basis {
		size = max(size, math.Abs(x[i]))
	}
	return size
}
