package dense

import (
	"math"
	"math/rand/v2"
	"testing"
)

// ldlOf is the factor of the Gram matrix of the rows.
func ldlOf(t *testing.T, rows [][]float64) (a, dinv []float64) {
	t.Helper()
	n := len(rows)
	a, dinv = make([]float64, n*n), make([]float64, n)
	for i, x := range rows {
		for j, y := range rows {
			a[i*n+j] = Dot(x, y)
		}
	}
	if k := LDLFactor(a, dinv, n, n, Eps); k < n {
		t.Fatalf("row %d depends on those before it", k)
	}
	return a, dinv
}

// LDLSolve and LDLSolveAll find solutions that consist of small integers, for any number of rows and
// any stride.
func TestLDLSolve(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for n := range 70 {
		for _, stride := range []int{n, n + 3} {
			a, dinv, x, want := make([]float64, n*stride), make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range n {
				want[i] = float64(rng.IntN(9) - 4)
				for j := range i {
					a[j*stride+i] = float64(rng.IntN(5) - 2)
				}
				a[i*stride+i] = float64(3*n + rng.IntN(9))
			}
			for i := range n {
				for j := range n {
					x[i] += a[min(i, j)*stride+max(i, j)] * want[j]
				}
			}
			if k := LDLFactor(a, dinv, n, stride, Eps); k < n {
				t.Fatalf("%d rows: stops at %d", n, k)
			}
			together := make([]float64, n*rng.IntN(2*leastTogether))
			for i := range together {
				together[i] = x[i%n] * float64(i/n)
			}
			LDLSolveAll(a, dinv, n, stride, together, make([]float64, len(together)))
			for i, v := range together {
				if exact := want[i%n] * float64(i/n); math.Abs(v-exact) > 1e-12 {
					t.Errorf("%d rows: unknown %d of right-hand side %d is %v instead of %v", n, i%n, i/n, v, exact)
				}
			}
			LDLSolve(a, dinv, n, stride, x)
			for i, v := range x {
				if math.Abs(v-want[i]) > 1e-13 {
					t.Errorf("%d rows, stride %d: unknown %d is %v instead of %v", n, stride, i, v, want[i])
				}
			}
		}
	}
}

// Cholesky, ForwardSolve and BackSolve are exact if the factor and the solution are small integers.
func TestTriangles(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	for n := range 40 {
		want, made, inv, x := make([]float64, n*n), make([]float64, n*n), make([]float64, n), make([]float64, n)
		for i := range n {
			x[i] = float64(rng.IntN(9) - 4)
			for j := range i {
				want[i*n+j] = float64(rng.IntN(5) - 2)
			}
			want[i*n+i] = float64(int(1) << rng.IntN(3))
		}
		forward, back := make([]float64, n), make([]float64, n) // Lx and Lᵀx
		for i := range n {
			for j := range i + 1 {
				made[i*n+j] = Dot(want[i*n:i*n+j+1], want[j*n:j*n+j+1])
				forward[i] += want[i*n+j] * x[j]
				back[j] += want[i*n+j] * x[i]
			}
		}
		if k := Cholesky(nil, made, inv, n, Eps); k < n {
			t.Fatalf("%d rows: stops at %d", n, k)
		}
		ForwardSolve(made, inv, n, n, forward)
		BackSolve(made, inv, n, n, back)
		for i := range n {
			for j := range i + 1 {
				if made[i*n+j] != want[i*n+j] {
					t.Errorf("%d rows: entry (%d, %d) is %v instead of %v", n, i, j, made[i*n+j], want[i*n+j])
				}
			}
			if forward[i] != x[i] || back[i] != x[i] {
				t.Errorf("%d rows: unknown %d is %v and %v instead of %v", n, i, forward[i], back[i], x[i])
			}
		}
	}
}

// A chain of plane rotations keeps the lengths of columns.
func TestRotateRows(t *testing.T) {
	for n := 2; n < 20; n++ {
		rows, cos, sin := make([]float64, n*n), make([]float64, n-1), make([]float64, n-1)
		for i := range n {
			rows[i*n+i] = 1
		}
		for k := range cos {
			cos[k], sin[k] = .6, .8
		}
		RotateRows(rows, n, n, cos, sin)
		// For the identity, the first row becomes (.6, .8, 0, …), and the last row begins with
		// (−.8)ⁿ⁻¹.
		if rows[0] != .6 || rows[1] != .8 || math.Abs(rows[(n-1)*n]-math.Pow(-.8, float64(n-1))) > 1e-14 {
			t.Errorf("%d rows: %v, %v … %v", n, rows[0], rows[1], rows[(n-1)*n])
		}
		for j := range n {
			sum := 0.0
			for i := range n {
				sum += rows[i*n+j] * rows[i*n+j]
			}
			if math.Abs(sum-1) > 1e-13 {
				t.Errorf("%d rows: column %d has the squared length %v", n, j, sum)
			}
		}
	}
}

// LDLCond estimates the largest eigenvalue by √n and does not depend on the units of the rows.
func TestConditionOfIndependentRows(t *testing.T) {
	const n = 16
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, n)
		rows[i][i] = math.Ldexp(1, 5*(i%7)-10)
	}
	a, dinv := ldlOf(t, rows)
	if c := LDLCond(a, dinv, n, n, make([]float64, n), make([]float64, n)); math.Abs(c-4) > 1e-12 {
		t.Errorf("condition %v of %d orthogonal rows instead of 4", c, n)
	}
}

// LDLDependent finds the most dependent row, even if another row has the smallest pivot.
func TestMostDependentRow(t *testing.T) {
	a, dinv := ldlOf(t, [][]float64{
		{1e-7, 0, 0, 0, 0},
		{0, 1, 0, 0, 0},
		{1e3, 1e3, 0, .1, 0},
		{0, 0, 1e-6, 0, 1e-9},
		{0, 1, 0, 0, 1},
	})
	const n = 5
	if k := LDLDependent(a, dinv, n, n, make([]float64, n), make([]float64, n)); k != 2 {
		t.Errorf("row %d instead of 2", k)
	}
}

// AddGram adds the matrix that Gram sets, at sizes near the sizes of blocks.
func TestAddGram(t *testing.T) {
	const n, width, stride = BlockSize + 7, blockDepth + 23, blockDepth + 25
	rng := rand.New(rand.NewPCG(5, 5))
	a, w := make([]float64, n*stride), make([]float64, width)
	for i := range a {
		a[i] = rng.NormFloat64()
	}
	columns := make([]float64, width*n)
	for i := range width {
		w[i] = float64(i - 3)
		for j := range n {
			columns[i*n+j] = a[j*stride+i]
		}
	}
	want := make([]float64, n*n)
	Gram(want, 1, columns, width, n, n)
	for _, vectors := range []bool{false, true} {
		defer SetVectors(SetVectors(vectors))
		got, weighted := make([]float64, n*n), make([]float64, n*n)
		AddGram(nil, got, n, a, stride, width, nil, make([]float64, GramWork(n)))
		AddGram(nil, weighted, n, a, stride, width, w, make([]float64, GramWork(n)))
		for j := range n {
			for k := range j + 1 {
				sum := 0.0
				for i, v := range w {
					sum += v * a[j*stride+i] * a[k*stride+i]
				}
				if !(math.Abs(got[j*n+k]-want[j*n+k]) <= 1e-12) || !(math.Abs(weighted[j*n+k]-sum) <= 1e-11) {
					t.Errorf("entry (%d, %d) is %v and %v, want %v and %v", j, k, got[j*n+k], weighted[j*n+k], want[j*n+k], sum)
				}
			}
		}
	}
}
