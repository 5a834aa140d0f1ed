package dense

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/floats"
)

// TestVectors checks that the vector units and the Go code give the same bits.
func TestVectors(t *testing.T) {
	serial.Test(t)
	if !vectors {
		t.Skip("no vector units")
	}
	if fusesProduct(1+Eps, 1-Eps, -1) {
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
		if old := setWide(false); old {
			if !slices.Equal(with, run()) {
				t.Errorf("%s, sizes %v: not the same bits by narrow registers", name, sizes)
			}
			setWide(true)
		}
		defer SetVectors(SetVectors(false))
		if !slices.Equal(with, run()) {
			t.Errorf("%s, sizes %v: not the same bits", name, sizes)
		}
	}
	for range 300 {
		rows, n, extra := rng.IntN(60), 1+rng.IntN(90), rng.IntN(3)
		if rng.IntN(20) == 0 {
			n += 250
		}
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
		draws, kinds := draw(3*n), make([]int, n)
		for i := range kinds {
			kinds[i] = rng.IntN(6)
		}
		row := func(i int) []float64 { return x[i*n : (i+1)*n] }
		both("Products4", sizes, func() []float64 {
			out := make([]float64, 4)
			if rows >= 4 {
				Products4(out, row(3), row(0), row(2), row(1), y[:n])
			}
			return out
		})
		both("Sum", sizes, func() []float64 {
			out, want := slices.Clone(y[:n]), slices.Clone(y[:n])
			sum := Sum{Dst: out}
			for i := range rows {
				f := x[i]
				if i%7 == 3 {
					f = 0
				}
				sum.Add(f, row(i))
				floats.AddScaled(want, f, row(i))
			}
			if sum.End(); !slices.Equal(out, want) {
				t.Errorf("Sum, sizes %v: not the bits of floats.AddScaled", sizes)
			}
			less := slices.Clone(y[:n])
			shifted := Sum{Dst: less, Less: x[:n]}
			for i := range rows {
				shifted.Add(x[i], row(i))
			}
			shifted.End()
			return append(out, less...)
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
		both("ForwardRow", sizes, func() []float64 {
			out := make([]float64, n)
			norm2 := ForwardRow(out, lower[n:2*n], lower, inv, stride)
			return append(out, norm2)
		})
		both("AddListed", sizes, func() []float64 {
			out, listed := slices.Clone(y[:n]), make([]int, rows/2)
			for i := range listed {
				listed[i] = (i*7 + n) % rows
			}
			AddListed(out, x[:len(listed)], x, listed)
			return out
		})
		both("BackSolve", sizes, func() []float64 {
			out := slices.Clone(lower[:n])
			BackSolve(lower, inv, n, stride, out)
			return out
		})
		both("NormaliseRows", sizes, func() []float64 {
			out, scale, norm2 := make([]float64, rows*n), make([]float64, rows), make([]float64, rows)
			NormaliseRows(out, scale, norm2, x, stride, n)
			return slices.Concat(out, scale, norm2)
		})
		count, square := min(rows, n-1), draw(max(n, leastRows)*n)
		both("SplitRow", sizes, func() []float64 {
			t, again, w := make([]float64, n+leastRows), make([]float64, n+leastRows), make([]float64, n)
			first := SplitRow(t, w, y[:n], square, count)
			second := SplitRow(again, w, w, square, count)
			row, q, perp := make([]float64, count+1), make([]float64, n), slices.Clone(x[:n])
			inv, g := AppendRow(row, t[:count], q, w, perp, second)
			return slices.Concat(row, again[:count], w, q, perp, []float64{first, second, inv, g})
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
		near := []float64{LogisticTaylor / 2, LogisticShortSeries / 2, LogisticSeries}[rng.IntN(3)]
		both("LogisticNear", sizes, func() []float64 {
			dm, s0, w0 := make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range n {
				dm[i] = near * (math.Mod(x[i%len(x)], 1))
				s0[i] = 1 / (1 + math.Exp(y[i]))
				w0[i] = s0[i] * (1 - s0[i])
			}
			s, w, s1, w1 := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
			LogisticNear(s, w, s0, w0, dm, near)
			LogisticNext(s1, w1, s0, w0, dm)
			return slices.Concat(s, w, s1, w1)
		})
		both("DescendKinks", sizes, func() []float64 {
			point, rest, q, r, up, lo := slices.Clone(draws[:n]), slices.Clone(draws[n:2*n]), make([]float64, n*n), make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range n {
				r[i] = math.Abs(draws[2*n+i]) + float64(n)
				up[i], lo[i] = math.Abs(y[i]), math.Abs(draws[n-1-i])
				switch kinds[i] {
				case 0:
					up[i], lo[i] = 0, 0
				case 1:
					r[i] = -1
				case 2:
					point[i] = 0
				case 3:
					point[i], up[i] = math.Inf(1), math.NaN()
				}
				for j := range n {
					q[i*n+j] = g[min(i, j)*n+max(i, j)]
				}
				q[i*n+i] = 0
			}
			var signs []float64
			for range 3 {
				if DescendKinks(point, rest, q, r, up, lo) {
					signs = append(signs, 1)
				}
			}
			for _, v := range [][]float64{point, rest} {
				for i := range v {
					if v[i] != v[i] { // numbers may have other bits
						v[i] = 7e77
					}
				}
			}
			return slices.Concat(point, rest, signs)
		})
		both("GatherUpper", sizes, func() []float64 {
			var at []int
			for i := range n {
				if i == n/2 || math.Mod(math.Abs(y[i]), .1) < .07 {
					at = append(at, i)
				}
			}
			out := make([]float64, len(at)*LDLStride(len(at)))
			GatherUpper(out, LDLStride(len(at)), g, n, y[:n], at)
			for i := range at {
				clear(out[i*LDLStride(len(at)):][:i])
			}
			return out
		})
		both("three columns", sizes, func() []float64 {
			z := draws[:3*n]
			out, h := make([]float64, n), make([]float64, 9)
			Combine3(out, []float64{.3, -2, 1.7}, z)
			g0, g1, g2 := Products3(y[:n], z)
			Moments3(h, .7, x[:n], z)
			return slices.Concat(out, h, []float64{g0, g1, g2})
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
		both("Cholesky", sizes, func() []float64 {
			out, inv := packRows(m, n, stride), make([]float64, n)
			k := Cholesky(nil, out, inv, n, Eps)
			return append(append(out[:k*n], inv[:k]...), float64(k))
		})
		both("LDLFactor", sizes, func() []float64 {
			out, inv := slices.Clone(m), make([]float64, n)
			k := LDLFactor(out, inv, n, stride, Eps)
			forward, back := slices.Clone(y[:k]), slices.Clone(y[:k])
			LDLForward(out, inv, k, stride, forward)
			LDLBack(out, inv, k, stride, back)
			for i := range k {
				clear(out[i*stride : i*stride+i])
			}
			together := slices.Clone(y[:k*min(len(y)/max(1, k), 2*leastTogether)])
			LDLSolveAll(out, inv, k, stride, together, make([]float64, len(together)))
			return slices.Concat(out[:k*stride], inv[:k], forward, back, together, []float64{float64(k)})
		})
		both("Distances", sizes, func() []float64 {
			out := make([]float64, n)
			Distances(out, y[:rows], x, stride)
			return out
		})
		both("widths", sizes, func() []float64 {
			w, s := slices.Clone(y[:rows]), slices.Clone(y[:n])
			for i := range w {
				w[i] = math.Abs(w[i]) * float64(i%3)
			}
			for i := range s {
				s[i] *= float64(i % 5)
			}
			q, sums := make([]float64, n), slices.Clone(y[:rows])
			AddWeightedSquares(q, w, y[:rows], x, stride)
			AddPairSquares(sums, s, y[:rows], x, stride)
			e := slices.Clone(q)
			ExpNegatives(e)
			return slices.Concat(q, sums, e)
		})
		row = func(i int) []float64 { return h[i*n : (i+1)*n] }
		bounds := slices.Clone(row(0))
		for i := range n { // ties of values and bounds
			bounds[i] = math.Round(bounds[i])
			row(n - 1)[i] = math.Round(2 * row(n - 1)[i])
		}
		both("Highest", sizes, func() []float64 {
			at, value := Highest(row(n-1), bounds, row(n/2))
			return []float64{float64(at), value}
		})
		both("Steepest", sizes, func() []float64 {
			at, gain, gap := Steepest(row(n - 1)[n/3], 1, Eps, row(n-1), row(n/3), row(n/2), bounds, row(n-1))
			return []float64{float64(at), gain, gap}
		})
		both("Steepest, overflow", sizes, func() []float64 {
			huge, far := slices.Repeat([]float64{1e308}, n), slices.Clone(row(0))
			huge[n/2] = 1
			at, gain, gap := Steepest(1, 1e308, Eps, far, huge, huge, slices.Repeat([]float64{1}, n), make([]float64, n))
			return []float64{float64(at), gain, gap}
		})
		single := make([]float32, GramSingleWork(n))
		both("GramSingle", sizes, func() []float64 {
			out, width := make([]float64, n*n), len(x)/n
			GramSingle(nil, out, n, x, width, width, y, slices.Repeat([]float64{64}, n), single)
			return out
		})
		work := make([]float64, max(BlockWork(n), InverseWork(n)))
		both("CholeskyBlocks", sizes, func() []float64 {
			out, inv := packRows(m, n, stride), make([]float64, n)
			k := CholeskyBlocks(nil, out, inv, n, Eps, work)
			if k == n {
				InverseBlocks(nil, out, inv, n, work)
			}
			return append(append(out[:k*n], inv[:k]...), float64(k))
		})
		both("WeightedProducts", sizes, func() []float64 {
			first := n / 3 / 4 * 4
			count := min(BlockSize, n-first)
			out := make([]float64, (n-first)*count)
			WeightedProducts(nil, out, first, count, h, n, g[:n], work)
			for i := range min(count, n-first) {
				clear(out[i*count+i+1 : (i+1)*count])
			}
			return out
		})
	}
}

// packRows returns the first n columns of n rows. Row i begins at m[i·stride].
func packRows(m []float64, n, stride int) []float64 {
	out := make([]float64, 0, n*n)
	for i := range n {
		out = append(out, m[i*stride:i*stride+n]...)
	}
	return out
}

// fusesProduct reports whether the compiler rounds x·y + z only once, for an inexact product.
//
//go:noinline
func fusesProduct(x, y, z float64) bool { return x*y+z != float64(x*y)+z }

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
