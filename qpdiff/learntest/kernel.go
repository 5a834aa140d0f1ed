package learntest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/numtest"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// kernelFunc has the methods of kernel.Kernel. This package cannot import package kernel, because
// the tests inside package kernel import this package.
type kernelFunc interface {
	NumParams(n int) int
	Check(params []float64) error
	Eval(params, x, z []float64) float64
	Grad(dparams, dx, dz []float64, s, value float64, params, x, z []float64)
}

// Kernel tests a kernel.Kernel with the parameters params, for rows of n features:
//
//   - The kernel matrix of random rows is symmetric and positive semidefinite.
//   - Check accepts the parameters.
//   - Grad agrees with difference quotients to 1e-7. It adds derivatives to each destination that
//     is not nil, even if dx and dz are the same slice.
func Kernel(t *testing.T, k kernelFunc, n int, params ...float64) {
	t.Helper()
	if got := k.NumParams(n); got != len(params) {
		t.Fatalf("NumParams says %d parameters for %d features, the case has %d", got, n, len(params))
	}
	numtest.OK(t, k.Check(params))
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	const rows = 8
	x := mat.NewDense(rows, n, numtest.Normals(rng, rows*n))
	gram := mat.NewSymDense(rows, nil)
	for i := range rows {
		for j := range i + 1 {
			v, w := k.Eval(params, x.RawRowView(i), x.RawRowView(j)), k.Eval(params, x.RawRowView(j), x.RawRowView(i))
			if !(math.Abs(v-w) <= 1e-14*math.Abs(v)) {
				t.Errorf("k(x, z) = %v, k(z, x) = %v", v, w)
			}
			gram.SetSym(i, j, v)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, false) {
		t.Fatal("the eigenvalues of the kernel matrix cannot be computed")
	}
	if values := eigen.Values(nil); values[0] < -1e-13*math.Abs(values[rows-1]) {
		t.Errorf("a kernel matrix has the eigenvalues %v", values)
	}
	for i := range 4 {
		at := [3][]float64{slices.Clone(params), numtest.Normals(rng, n), numtest.Normals(rng, n)}
		if i == 0 {
			at[2] = slices.Clone(at[1])
		}
		kernelGrad(t, fmt.Sprintf("pair %d", i), k, at, rng)
	}
}

// kernelGrad compares the derivatives that Grad computes at (params, x, z) with difference
// quotients of weight·Eval.
func kernelGrad(t *testing.T, what string, k kernelFunc, point [3][]float64, rng *rand.Rand) {
	t.Helper()
	const weight, step, tol = 1.7, 1e-3, 1e-7
	value := k.Eval(point[0], point[1], point[2])
	grad := func(wanted [3]bool) (d [3][]float64) {
		for i := range d {
			if wanted[i] {
				d[i] = make([]float64, len(point[i]))
				floats.AddConst(1, d[i])
			}
		}
		k.Grad(d[0], d[1], d[2], weight, value, point[0], point[1], point[2])
		for i := range d {
			floats.AddConst(-1, d[i])
		}
		return d
	}
	all := grad([3]bool{true, true, true})
	for i, name := range [3]string{"parameters", "x", "z"} {
		if len(point[i]) == 0 {
			continue
		}
		var wanted [3]bool
		wanted[i] = true
		numtest.NearAll(t, fmt.Sprintf("%s: Grad with %s alone", what, name), grad(wanted)[i], all[i], 1e-14, 1)
		u := numtest.Direction(rng, len(point[i]))
		if i == 0 { // relative steps keep the parameters in their domain
			for j, p := range point[0] {
				u[j] *= p
			}
		}
		moved := point
		f := func(h float64) float64 {
			moved[i] = slices.Clone(point[i])
			floats.AddScaled(moved[i], h, u)
			return weight * k.Eval(moved[0], moved[1], moved[2])
		}
		got, want := floats.Dot(all[i], u), numtest.CentralDifference(f, step)
		if !(math.Abs(got-want) <= tol*(1+math.Abs(want))) {
			t.Errorf("%s: Grad gives the derivative in %s as %.12g, a difference quotient of Eval as %.12g", what, name, got, want)
		}
	}
	both := make([]float64, len(point[1]))
	k.Grad(nil, both, both, weight, value, point[0], point[1], point[2])
	sum := slices.Clone(all[1])
	floats.Add(sum, all[2])
	numtest.NearAll(t, what+": Grad with one slice for x and z", both, sum, 1e-14, 1)
}
