package dense

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestVectors checks that the vector units give the bits of the Go code.
func TestVectors(t *testing.T) {
	if !vectors {
		t.Skip("no vector units")
	}
	if fuses(1+Eps, 1-Eps, -1) {
		t.Skip("the compiler fuses products and sums of the Go code")
	}
	rng := rand.New(rand.NewPCG(3, 1))
	draw := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	both := func(name string, sizes []int, run func() []float64) {
		t.Helper()
		with := run()
		defer SetVectors(SetVectors(false))
		if !slices.Equal(with, run()) {
			t.Errorf("%s, sizes %v: not the same bits", name, sizes)
		}
	}
	for range 300 {
		rows, n, extra := rng.IntN(60), 1+rng.IntN(90), rng.IntN(3)
		stride := n + extra
		sizes := []int{rows, n, stride}
		if rng.IntN(20) == 0 {
			rows = 4000
		}
		x, y, g := draw(rows*stride+n), draw(rows*stride+n), draw(n*n)
		both("Gram", sizes, func() []float64 {
			out := make([]float64, n*n)
			Gram(out, .3, x, rows, n, stride)
			return out
		})
		both("AddProducts", sizes, func() []float64 {
			out := slices.Clone(g)
			AddProducts(out, x, y, rows, n, stride)
			for i := range n {
				clear(out[i*n : i*n+i])
			}
			return out
		})
		both("Products", sizes, func() []float64 {
			out := make([]float64, rows)
			Products(out, x, stride, y[:n])
			return out
		})
		both("AddRows", sizes, func() []float64 {
			out, f := slices.Clone(y[:n]), slices.Clone(x[:rows])
			for i := range f {
				if i%7 == 3 {
					f[i] = 0
				}
			}
			AddRows(out, f, x, stride)
			return out
		})
		lower, inv := draw((n+1)*stride), draw(n)
		for i := range inv {
			inv[i] /= float64(n) // the solution stays small
		}
		both("ForwardSolve", sizes, func() []float64 {
			out := slices.Clone(lower[:n])
			ForwardSolve(lower, inv, n, stride, out)
			return out
		})
		both("BackSolve", sizes, func() []float64 {
			out := slices.Clone(lower[:n])
			BackSolve(lower, inv, n, stride, out)
			return out
		})
		both("RotateRows", sizes, func() []float64 {
			out, k := slices.Clone(lower), n/2
			RotateRows(out, stride, n, lower[:k], lower[n:n+k])
			return out
		})
		both("Symmetric", sizes, func() []float64 {
			q := make([]float64, n*n)
			for i := range n {
				for j := range i + 1 {
					q[i*n+j], q[j*n+i] = g[i*n+j], g[i*n+j]
				}
			}
			at := rows * 7 % (n * n)
			out := []float64{}
			for _, v := range []float64{q[at], -q[at], math.NaN(), math.Inf(-1)} {
				q[at] = v
				largest, same := Symmetric(q, n)
				if diagonal := at%n == at/n; same != (v == g[max(at/n, at%n)*n+min(at/n, at%n)] || diagonal && v == v) {
					t.Errorf("%d×%d with %v at %d: symmetric %v", n, n, v, at, same)
				}
				out = append(out, largest)
			}
			return out
		})
		box := draw(4 * n)
		both("DescendBox", sizes, func() []float64 {
			z, grad, lo, hi := make([]float64, n), slices.Clone(box[:n]), slices.Clone(box[n:2*n]), slices.Clone(box[2*n:3*n])
			for j, v := range hi {
				lo[j], hi[j] = min(lo[j], v), max(lo[j], v)
				z[j] = max(lo[j], min(hi[j], box[3*n+j]))
			}
			met := 0
			for range 3 {
				met += DescendBox(z, grad, g, inv, lo, hi)
			}
			return append(append(z, grad...), float64(met))
		})
		m := make([]float64, n*stride)
		h := draw(n * n)
		for i := range n {
			for j := range stride {
				m[i*stride+j] = rng.NormFloat64()
				if j < n {
					m[i*stride+j] = Dot(h[i*n:(i+1)*n], h[j*n:(j+1)*n])
				}
			}
			if rng.IntN(40) == 0 { // a pivot that fails
				m[i*stride+i] = 0
			}
		}
		both("LDLFactor", sizes, func() []float64 {
			out, inv := slices.Clone(m), make([]float64, n)
			k := LDLFactor(out, inv, n, stride, Eps)
			return append(append(out[:k*stride], inv[:k]...), float64(k))
		})
	}
}

// fuses reports whether a sum x·y + z, of numbers whose product is not exact, has no rounding
// of that product.
//
//go:noinline
func fuses(x, y, z float64) bool { return x*y+z != float64(x*y)+z }

func BenchmarkVectors(b *testing.B) {
	for _, n := range []int{10, 20, 50, 180, 800} {
		rng := rand.New(rand.NewPCG(3, 1))
		const rows = 400
		x := make([]float64, rows*n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		g, f, inv := make([]float64, n*n), make([]float64, n*n), make([]float64, n)
		for _, on := range []bool{false, true} {
			b.Run(fmt.Sprintf("Gram n=%d vectors=%v", n, on), func(b *testing.B) {
				defer SetVectors(SetVectors(on))
				for b.Loop() {
					Gram(g, 1./rows, x, rows, n, n)
				}
			})
			for i := range n {
				g[i*n+i] += 1
			}
			b.Run(fmt.Sprintf("LDL n=%d vectors=%v", n, on), func(b *testing.B) {
				defer SetVectors(SetVectors(on))
				for b.Loop() {
					copy(f, g)
					LDLFactor(f, inv, n, n, 0)
				}
			})
		}
	}
}
