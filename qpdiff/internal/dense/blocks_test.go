package dense

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/learntest/serial"
)

// definite draws XXᵀ + ridge·I, where X is an n×n matrix of normal numbers.
func definite(rng *rand.Rand, n int, ridge float64) []float64 {
	x, a := make([]float64, n*n), make([]float64, n*n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range n {
		for j := range n {
			a[i*n+j] = Dot(x[i*n:(i+1)*n], x[j*n:(j+1)*n])
		}
		a[i*n+i] += ridge
	}
	return a
}

// CholeskyBlocks and InverseBlocks return the factor and the inverse of the matrix up to rounding.
func TestBlocks(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(1, 4))
	for _, n := range []int{1, 2, 7, 8, 9, 63, 64, 65, 71, 72, 127, 128, 130, 191, 200, 300, 321} {
		a := definite(rng, n, float64(n))
		byRows, blocks := slices.Clone(a), slices.Clone(a)
		inv, blockInv, work := make([]float64, n), make([]float64, n), make([]float64, BlockWork(n))
		if Cholesky(nil, byRows, inv, n, Eps) != n || CholeskyBlocks(nil, blocks, blockInv, n, Eps, work) != n {
			t.Fatalf("n = %d: no factor", n)
		}
		tol := 4 * Eps * float64(n) * a[0]
		for i := range n {
			for j := range n {
				if v, w := byRows[i*n+j], blocks[i*n+j]; j > i && w != a[i*n+j] || !(math.Abs(v-w) <= tol) {
					t.Fatalf("n = %d: entry %d, %d of the factor is %v by rows and %v by blocks", n, i, j, v, w)
				}
			}
		}
		InverseBlocks(nil, blocks, blockInv, n, make([]float64, InverseWork(n)))
		for i := range n {
			for j := range n {
				want, got := 0.0, Dot(a[i*n:(i+1)*n], blocks[j*n:(j+1)*n])
				if i == j {
					want = 1
				}
				if !(math.Abs(got-want) <= 1e-12) || blocks[i*n+j] != blocks[j*n+i] {
					t.Fatalf("n = %d: entry %d, %d of the product with the inverse is %v", n, i, j, got)
				}
			}
		}
	}
}

// CholeskyBlocks finds the first dependent row at each place of a block.
func TestBlocksDependent(t *testing.T) {
	const n = 140
	for _, at := range []int{0, 1, 7, 8, 62, 63, 64, 65, 71, 127, 128, 139} {
		a := definite(rand.New(rand.NewPCG(2, 4)), n, n)
		for j := range n { // row at becomes equal to the row before it
			v := 0.0
			if at > 0 {
				v = a[(at-1)*n+j]
			}
			a[at*n+j], a[j*n+at] = v, v
		}
		if at > 0 {
			a[at*n+at] = a[(at-1)*n+at-1]
		} else {
			a[0] = 0
		}
		got := CholeskyBlocks(nil, a, make([]float64, n), n, Eps*n, make([]float64, BlockWork(n)))
		if got != at || !(math.Abs(a[at*n+at]) <= Eps*n*n*n) {
			t.Errorf("row %d: stops at %d, whose pivot is %v", at, got, a[at*n+at])
		}
	}
}

func BenchmarkBlocks(b *testing.B) {
	for _, n := range []int{50, 100, 200, 400, 1600} {
		a := definite(rand.New(rand.NewPCG(1, 4)), n, float64(n))
		l, inv, work := make([]float64, n*n), make([]float64, n), make([]float64, max(BlockWork(n), InverseWork(n)))
		for _, run := range []struct {
			name string
			f    func()
		}{
			{"by rows", func() { Cholesky(nil, l, inv, n, Eps) }},
			{"by blocks", func() { CholeskyBlocks(nil, l, inv, n, Eps, work) }},
			{"with inverse", func() { CholeskyBlocks(nil, l, inv, n, Eps, work); InverseBlocks(nil, l, inv, n, work) }},
		} {
			b.Run(fmt.Sprintf("%d/%s", n, run.name), func(b *testing.B) {
				for b.Loop() {
					copy(l, a)
					run.f()
				}
			})
		}
	}
}

// GramSingle has the relative rounding errors of float32 numbers in any units.
func TestGramSingle(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 7))
	for _, n := range []int{1, 7, 33, 70} {
		width := 1 + rng.IntN(600)
		a, w, root, unit := make([]float64, n*width), make([]float64, width), make([]float64, width), make([]float64, n)
		for t := range w {
			root[t] = rng.Float64()
			w[t] = root[t] * root[t]
		}
		for i := range a {
			unit[i/width] = math.Ldexp(1, 40*(i/width%9))
			a[i] = (2*rng.Float64() - 1) * unit[i/width]
		}
		want, got := make([]float64, n*n), make([]float64, n*n)
		Fill(got, math.NaN()) // GramSingle sets
		AddGram(nil, want, n, a, width, width, w, make([]float64, GramWork(n)))
		GramSingle(nil, got, n, a, width, width, root, unit, make([]float32, GramSingleWork(n)))
		for i := range n {
			for j := range i + 1 {
				if off := math.Abs(got[i*n+j]-want[i*n+j]) / math.Sqrt(want[i*n+i]*want[j*n+j]); !(off <= 2e-6) {
					t.Errorf("%d rows of %d: entry %d, %d is off by %.2g", n, width, i, j, off)
				}
			}
		}
	}
}
