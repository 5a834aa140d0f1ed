package qpdiff

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// kktMatrix is the symmetric matrix K = [H Cᵀ; C 0] of the KKT conditions at a point, with a
// semidefinite H. A diagonal matrix E scales K, so that the largest entry of every row of EKE is
// near one. Results therefore do not depend on units. kktMatrix is slow but accurate, and is used
// only if K may be singular.
//
// Each vector that K multiplies has two halves: v for the variables, and y for the rows. The halves
// have different units, so no norm combines them. The null space of K is spanned by two kinds of
// vectors: those with v = 0, and those with y = 0. This is because K(v, y) = 0 implies vᵀHv = 0,
// and therefore Hv = 0, Cv = 0 and Cᵀy = 0.
type kktMatrix struct {
	n, k int
	e    []float64 // diagonal of E, powers of two
	h, c []float64 // EHE and ECE, row-major
	// nullX is the orthogonal projector onto the v of all null vectors (v, y) of K, and nullY onto
	// the y. A basis of the null vectors would mix unconnected parts of the program, whose units
	// are unrelated; a projector does not. freedom[i], between 0 and 1, is the length of the
	// projection of the unit vector i. If freedom[i] is above rangeTol, entry i of the solution (v,
	// y) is not unique. nullity is the number of independent null vectors.
	nullX, nullY, freedom []float64
	nullity               int
	// pinv is the pseudo-inverse C⁺ (n×k), and hpinv is Z(ZᵀHZ)⁺Zᵀ. The columns of Z are an
	// orthonormal basis of the null space of C. Together, pinv and hpinv determine the pseudo-inverse
	// of K.
	pinv, hpinv []float64
	// x is the last solution, and xterms holds the size of the terms whose sum is x, entry by entry.
	// rhs and resid are scratch of solve.
	x, xterms, rhs, resid []float64
}

// kktEntry returns the entry (i, j) of the matrix [H Cᵀ; C 0], for i ≥ j.
func kktEntry(n int, h, c []float64, i, j int) float64 {
	switch {
	case i < n:
		return h[i*n+j]
	case j < n:
		return c[(i-n)*n+j]
	}
	return 0
}

// kktScale returns the diagonal of the scaling matrix E. In EKE the largest entries of H and of C
// are both near one. Rounding errors of one of them therefore do not exceed the entries of the
// other, whatever the unit of the objective.
func kktScale(n, k int, h, c []float64) []float64 {
	dim := n + k
	e, largest := geometricScale(make([]float64, 3*dim), n, k, h, c), make([]float64, dim)
	for range kktSweeps {
		clear(largest)
		big := largestOfH(n, h, e)
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
			if v > 0 && dense.Finite(v) {
				e[i] /= math.Sqrt(v)
			}
		}
	}
	root := math.Sqrt(largestOfH(n, h, e))
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

// largestOfH returns the largest entry of EHE, or 1 if all entries are zero.
func largestOfH(n int, h, e []float64) (big float64) {
	for i := range n {
		for j := range i + 1 {
			big = max(big, math.Abs(h[i*n+j])*e[i]*e[j])
		}
	}
	if !(big > 0 && dense.Finite(big)) {
		return 1
	}
	return big
}

// newKKTMatrix takes H (n×n) and the rows C (k×n), and factorises their KKT matrix. It factorises
// unconnected parts of the program separately. The units of such parts are unrelated, so a rounding
// error of one part could be large in the units of another part.
func newKKTMatrix(n, k int, h, c []float64) *kktMatrix {
	lowestVar := make([]int, n)
	connectVariables(lowestVar, h, c)
	partOf := func(r int) int { // the lowest variable in the part of row r
		if j := slices.IndexFunc(c[r*n:(r+1)*n], nonzero); j >= 0 {
			return lowestVar[j]
		}
		return -1
	}
	dim := n + k
	a := &kktMatrix{n: n, k: k, e: make([]float64, dim), h: make([]float64, n*n), c: make([]float64, k*n), pinv: make([]float64, n*k), hpinv: make([]float64, n*n)}
	dense.GrowAll(dim, &a.x, &a.xterms, &a.rhs, &a.resid, &a.freedom)
	a.nullX, a.nullY = make([]float64, n*n), make([]float64, k*k)
	for r := range k {
		if partOf(r) < 0 { // a row of zeros
			a.e[n+r], a.nullY[r*k+r] = 1, 1
			a.nullity++
		}
	}
	for j, part := range lowestVar {
		if j != part {
			continue // not the lowest of its part
		}
		var variables, rows []int
		for i, p := range lowestVar {
			if p == part {
				variables = append(variables, i)
			}
		}
		for r := range k {
			if partOf(r) == part {
				rows = append(rows, r)
			}
		}
		a.setPart(newKKTPart(len(variables), len(rows), block(h, n, variables, variables), block(c, n, rows, variables)), variables, rows)
	}
	cleanProjector(a.nullX, a.freedom[:n])
	cleanProjector(a.nullY, a.freedom[n:])
	return a
}

// setPart copies the matrix p of one part of the program, with its factors, into the whole matrix.
// The lists variables and rows give the places of the part's variables and rows in the whole
// matrix.
func (a *kktMatrix) setPart(p *kktMatrix, variables, rows []int) {
	n, k := a.n, a.k
	for i, v := range variables {
		a.e[v] = p.e[i]
	}
	for i, r := range rows {
		a.e[n+r] = p.e[p.n+i]
	}
	setBlock(a.h, n, variables, variables, p.h)
	setBlock(a.c, n, rows, variables, p.c)
	setBlock(a.pinv, k, variables, rows, p.pinv)
	setBlock(a.hpinv, n, variables, variables, p.hpinv)
	setBlock(a.nullX, n, variables, variables, p.nullX)
	setBlock(a.nullY, k, rows, rows, p.nullY)
	a.nullity += p.nullity
}

// cleanProjector sets entries of a projector to 0 if they are rounding errors. It stores the
// lengths of the projector's columns in the slice lengths.
func cleanProjector(projector, lengths []float64) {
	for i, p := range projector {
		if math.Abs(p) <= projectorTol {
			projector[i] = 0
		}
	}
	for i := range lengths {
		lengths[i] = math.Sqrt(projector[i*len(lengths)+i])
	}
}

// block returns the entries m_rc for all r in i and c in j. The matrix m has cols columns.
func block(m []float64, cols int, i, j []int) []float64 {
	out := make([]float64, 0, len(i)*len(j))
	for _, r := range i {
		for _, c := range j {
			out = append(out, m[r*cols+c])
		}
	}
	return out
}

// setBlock sets the entries m_rc to src, for all r in i and c in j. The matrix m has cols columns.
func setBlock(m []float64, cols int, i, j []int, src []float64) {
	for x, r := range i {
		for y, c := range j {
			m[r*cols+c] = src[x*len(j)+y]
		}
	}
}

// newKKTPart factorises the matrix of one part of the program.
func newKKTPart(n, k int, h, c []float64) *kktMatrix {
	a := &kktMatrix{n: n, k: k, e: kktScale(n, k, h, c), h: make([]float64, n*n), c: make([]float64, k*n), pinv: make([]float64, n*k), hpinv: make([]float64, n*n)}
	for i := range n + k {
		for j := range n {
			if i >= n {
				a.c[(i-n)*n+j] = c[(i-n)*n+j] * a.e[i] * a.e[j]
			} else {
				a.h[i*n+j] = h[max(i, j)*n+min(i, j)] * a.e[max(i, j)] * a.e[min(i, j)]
			}
		}
	}
	a.nullX, a.nullY = make([]float64, n*n), make([]float64, k*k)
	basis, ok := a.factorRows()
	if !ok || !a.factorHessian(basis) {
		// Without factors, every vector counts as a null vector.
		clear(a.pinv)
		clear(a.hpinv)
		a.nullX, a.nullY, a.nullity = identity(n), identity(k), n+k
	}
	return a
}

// addNull adds the null vector v, of norm one, to a projector.
func (a *kktMatrix) addNull(projector, v []float64) {
	a.nullity++
	for i, vi := range v {
		floats.AddScaled(projector[i*len(v):(i+1)*len(v)], vi, v)
	}
}

// isSingular reports whether K has null vectors.
func (a *kktMatrix) isSingular() bool { return a.nullity > 0 }

func identity(n int) []float64 {
	a := make([]float64, n*n)
	for i := range n {
		a[i*n+i] = 1
	}
	return a
}

// factorRows computes pinv and nullY from a singular value decomposition of the rows C. It returns
// an orthonormal basis of the null space of C.
func (a *kktMatrix) factorRows() (basis [][]float64, ok bool) {
	n, k := a.n, a.k
	if k == 0 {
		return slices.Collect(slices.Chunk(identity(n), n)), true
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(k, n, a.c), mat.SVDFull) {
		return nil, false
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	values := svd.Values(nil)
	rank := 0
	for rank < len(values) && values[rank] > singularTol*values[0] {
		for i := range n {
			f := v.At(i, rank) / values[rank]
			for j := range k {
				a.pinv[i*k+j] += f * u.At(j, rank)
			}
		}
		rank++
	}
	for i := rank; i < k; i++ {
		a.addNull(a.nullY, mat.Col(nil, i, &u))
	}
	for i := rank; i < n; i++ {
		basis = append(basis, mat.Col(nil, i, &v))
	}
	return basis, true
}

// factorHessian computes hpinv and nullX from the eigenvalues of H on the span of the orthonormal
// vectors that factorRows returned.
func (a *kktMatrix) factorHessian(basis [][]float64) bool {
	n, f := a.n, len(basis)
	if f == 0 {
		return true
	}
	sym := mat.NewSymDense(f, nil)
	hz := make([]float64, n)
	for i, z := range basis {
		a.mulHessian(hz, z)
		for j := range i + 1 {
			sym.SetSym(i, j, floats.Dot(basis[j], hz))
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(sym, true) {
		return false
	}
	var w mat.Dense
	eig.VectorsTo(&w)
	zero := singularTol * floats.Norm(a.h, 2)
	for e, value := range eig.Values(nil) {
		v := make([]float64, n)
		for i, z := range basis {
			floats.AddScaled(v, w.At(i, e), z)
		}
		if value <= zero {
			a.addNull(a.nullX, v)
			continue
		}
		for i, vi := range v {
			floats.AddScaled(a.hpinv[i*n:(i+1)*n], vi/value, v)
		}
	}
	return true
}

// mulHessian sets dst to EHE·v.
func (a *kktMatrix) mulHessian(dst, v []float64) {
	for i := range dst {
		dst[i] = floats.Dot(a.h[i*a.n:(i+1)*a.n], v)
	}
}

// solve sets (v, y) to a solution for the right-hand side (cz, cy): the solution with the smallest
// norm in the scale of E. It returns how far cz or cy lies outside the range of K; see outsideOf.
func (a *kktMatrix) solve(v, y, cz, cy []float64) (outside float64) {
	n := a.n
	floats.MulTo(a.rhs[:n], cz, a.e[:n])
	floats.MulTo(a.rhs[n:], cy, a.e[n:])
	outside = max(outsideOf(a.nullX, a.rhs[:n]), outsideOf(a.nullY, a.rhs[n:]))
	clear(a.x)
	a.improve()
	// The rounding errors of the first solution are relative to its largest entry. One correction
	// makes the small entries accurate too.
	copy(a.rhs, a.resid)
	a.improve()
	floats.MulTo(v, a.x[:n], a.e[:n])
	floats.MulTo(y, a.x[n:], a.e[n:])
	return outside
}

// outsideOf multiplies x by a projector. Each entry of the product is a sum of terms. outsideOf
// returns the largest ratio of an entry to the sum of its absolute terms. The projector's entry (i,
// j) is zero if x_i and x_j have different units, so each sum has terms of one unit only.
func outsideOf(projector, x []float64) (worst float64) {
	n := len(x)
	for i := range n {
		var sum, terms float64
		for j, p := range projector[i*n : (i+1)*n] {
			sum += p * x[j]
			terms += math.Abs(p * x[j])
		}
		worst = max(worst, ratio(math.Abs(sum), terms))
	}
	return worst
}

// improve adds to x the solution of smallest norm for the right-hand side rhs, and sets resid to
// the remaining residual. The first call also sets xterms; see termRatio.
func (a *kktMatrix) improve() {
	n, k := a.n, a.k
	cz, cy := a.rhs[:n], a.rhs[n:]
	rz, ry := a.resid[:n], a.resid[n:]
	firstCall := dense.Largest(a.x) == 0
	v, hv, size := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range v {
		v[i] = floats.Dot(a.pinv[i*k:(i+1)*k], cy)
	}
	a.mulHessian(hv, v)
	for i, c := range cz {
		rz[i] = c - hv[i]
		size[i] = math.Abs(c) + dense.AbsDot(a.h[i*n:(i+1)*n], v)
	}
	if firstCall {
		for i := range v {
			a.xterms[i] = dense.AbsDot(a.pinv[i*k:(i+1)*k], cy) + dense.AbsDot(a.hpinv[i*n:(i+1)*n], size)
		}
	}
	for i := range v {
		v[i] += floats.Dot(a.hpinv[i*n:(i+1)*n], rz)
	}
	a.mulHessian(hv, v)
	floats.SubTo(rz, cz, hv)
	y := make([]float64, k)
	if firstCall {
		clear(a.xterms[n:])
	}
	for i := range n {
		row := a.pinv[i*k : (i+1)*k]
		floats.AddScaled(y, rz[i], row)
		if firstCall {
			size := math.Abs(cz[i]) + dense.AbsDot(a.h[i*n:(i+1)*n], v)
			for j, p := range row {
				a.xterms[n+j] += math.Abs(p) * size
			}
		}
	}
	for i, s := range y {
		floats.AddScaled(rz, -s, a.c[i*n:(i+1)*n])
		ry[i] = cy[i] - floats.Dot(a.c[i*n:(i+1)*n], v)
	}
	floats.Add(a.x[:n], v)
	floats.Add(a.x[n:], y)
}

// termRatio returns |x_i| divided by the size of the terms of x_i, where x is the last solution.
// The result is between 0 and 1. If it is at most rangeTol, the entry x_i counts as a rounding
// error. Each entry is judged separately, because the units of the entries differ.
func (a *kktMatrix) termRatio(i int) float64 {
	return ratio(math.Abs(a.x[i]), a.xterms[i])
}

// hasNonzero reports whether the last solution has a nonzero entry x_i with start ≤ i < end.
func (a *kktMatrix) hasNonzero(start, end int) bool {
	for i := start; i < end; i++ {
		if a.termRatio(i) > rangeTol {
			return true
		}
	}
	return false
}
