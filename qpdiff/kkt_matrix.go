package qpdiff

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// kktMatrix is the symmetric matrix [H Cᵀ; C 0] of the KKT conditions at a
// point, by its eigenvalues: they tell what of it is singular. It is the slow
// and careful way, for where the matrix may be singular.
type kktMatrix struct {
	n, k   int
	scale  float64 // H was divided by it
	vec    mat.Dense
	values []float64
	null   []int // the eigenvectors with eigenvalue zero, ascending
	coef   []float64
}

// singularTol: eigenvalues below this fraction of the largest are zero.
const singularTol = 1e-11

// newKKTMatrix takes H (n×n) and the rows C (k×n), whose norms should be near
// one another's.
func newKKTMatrix(n, k int, h, c []float64) *kktMatrix {
	a := &kktMatrix{n: n, k: k, scale: floats.Norm(h, math.Inf(1)), coef: make([]float64, n+k)}
	if a.scale == 0 {
		a.scale = 1
	}
	sym := mat.NewSymDense(n+k, nil)
	for i := range n {
		for j := i; j < n; j++ {
			sym.SetSym(i, j, h[i*n+j]/a.scale)
		}
	}
	for i := range k {
		for j := range n {
			sym.SetSym(j, n+i, c[i*n+j])
		}
	}
	var eig mat.EigenSym
	eig.Factorize(sym, true)
	a.values = eig.Values(nil)
	eig.VectorsTo(&a.vec)
	big := max(math.Abs(a.values[0]), math.Abs(a.values[n+k-1]))
	for i, v := range a.values {
		if math.Abs(v) <= singularTol*big {
			a.null = append(a.null, i)
		}
	}
	return a
}

// solve sets (v, y) to the solution of least norm with right-hand side (cz, cy)
// and returns the norm of what of that lies outside the range, relative to it.
func (a *kktMatrix) solve(v, y, cz, cy []float64) (outside float64) {
	n, dim := a.n, a.n+a.k
	// With V = diag(1/√scale, √scale)·(v, y) the matrix is the scaled one.
	rz, ry := 1/math.Sqrt(a.scale), math.Sqrt(a.scale)
	var in, out float64
	isNull := 0
	raw := a.vec.RawMatrix()
	for e := range dim {
		s := 0.0
		for i, c := range cz {
			s += raw.Data[i*raw.Stride+e] * c * rz
		}
		for i, c := range cy {
			s += raw.Data[(n+i)*raw.Stride+e] * c * ry
		}
		in += s * s
		if isNull < len(a.null) && a.null[isNull] == e {
			isNull++
			out += s * s
			a.coef[e] = 0
		} else {
			a.coef[e] = s / a.values[e]
		}
	}
	for i := range v {
		v[i] = floats.Dot(raw.Data[i*raw.Stride:i*raw.Stride+dim], a.coef) * rz
	}
	for i := range y {
		y[i] = floats.Dot(raw.Data[(n+i)*raw.Stride:(n+i)*raw.Stride+dim], a.coef) * ry
	}
	if in == 0 {
		return 0
	}
	return math.Sqrt(out / in)
}

// blockOutside is how far the ∇g of an input lies outside the range: the
// largest product with a null vector of the matrix, relative to the size of ∇g.
func (a *kktMatrix) blockOutside(s *Solution, in QPInput) float64 {
	d, set := &s.diff, &s.set
	worst := 0.0
	zn := floats.Norm(set.z, 2)
	for _, e := range a.null {
		nx := make([]float64, a.n)
		for i := range nx {
			nx[i] = a.vec.At(i, e)
		}
		switch in {
		case InputQ:
			if zn > 0 {
				worst = max(worst, floats.Norm(nx, 2))
			}
			continue
		case InputP:
			worst = max(worst, floats.Norm(nx, 2))
			continue
		}
		for i, r := range d.rows {
			if (r < set.m) != (in == InputG || in == InputH) {
				continue
			}
			ny := a.vec.At(a.n+i, e)
			if in == InputH || in == InputB {
				worst = max(worst, math.Abs(ny))
				continue
			}
			// The change of row r enters as λ nx + ny z, with the null vector of
			// the matrix that is not scaled.
			lam, yz := 0.0, math.Sqrt(a.scale)
			if set.scale[r] != 0 {
				lam = s.multiplier(r) / (set.scale[r] * yz)
			}
			var sum float64
			for j, z := range set.z {
				v := lam*nx[j] + ny*yz*z
				sum += v * v
			}
			if size := math.Abs(lam) + yz*zn; size > 0 {
				worst = max(worst, math.Sqrt(sum)/size)
			}
		}
	}
	return worst
}

// outputFree is the largest entry that a null vector has in an output: zero
// where the output is unique.
func (a *kktMatrix) outputFree(s *Solution, out QPOutput) float64 {
	worst := 0.0
	for _, e := range a.null {
		if out == OutputZ {
			for i := range a.n {
				worst = max(worst, math.Abs(a.vec.At(i, e)))
			}
			continue
		}
		for i, r := range s.diff.rows {
			if (r < s.set.m) == (out == OutputLambda) {
				worst = max(worst, math.Abs(a.vec.At(a.n+i, e)))
			}
		}
	}
	return worst
}
