package ridge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/floats"
)

// drawSystem returns a system with m rows and k parameters in the given layout.
func drawSystem(rng *rand.Rand, m, k int, byColumn, byRows, free bool) *System {
	s := &System{Rows: Rows{M: m, K: k, Data: numtest.Normals(rng, m*k), ByColumn: byColumn}, Penalised: k, Ridge: math.Exp(rng.NormFloat64())}
	if free { // the last parameter depends on the others, except for little
		s.Penalised--
		for i := range m {
			for j := range k {
				at := i*k + j
				if byColumn {
					at = j*m + i
				}
				if s.Data[at] = 3 + s.Data[at]; j == k-1 {
					s.Data[at] = 1
				}
			}
		}
	}
	s.Load(nil, byRows)
	for i := range s.Weights {
		s.Weights[i] = math.Exp(rng.NormFloat64())
	}
	s.Weights[rng.IntN(m)] = 0
	return s
}

// hessianEntries returns H.
func (s *System) hessianEntries() []float64 {
	k := s.K
	h := make([]float64, k*k)
	for i, w := range s.Weights {
		for a := range k {
			for b := range k {
				h[a*k+b] += w * s.Entry(i, a) * s.Entry(i, b)
			}
		}
	}
	for j := range s.Penalised {
		h[j*k+j] += s.Ridge
	}
	return h
}

// forEachSystem runs f on systems of all kinds.
func forEachSystem(t *testing.T, f func(t *testing.T, rng *rand.Rand, s *System)) {
	for i := range 120 {
		rng := rand.New(rand.NewPCG(1, uint64(i)))
		byRows := i%2 == 0
		m, k := 4+rng.IntN(30), 2+rng.IntN(20)
		if byRows {
			m, k = min(m, k+1), max(m, k+1)
		}
		f(t, rng, drawSystem(rng, m, k, i%4 < 2, byRows, i%8 < 4))
	}
}

// Exact agrees with a factorisation of H, from any first factor and for b in any unit.
func TestExact(t *testing.T) {
	forEachSystem(t, func(t *testing.T, rng *rand.Rand, s *System) {
		h, dinv := s.hessianEntries(), make([]float64, s.K)
		b := numtest.Normals(rng, s.K)
		want, got := slices.Clone(b), make([]float64, s.K)
		if dense.LDLFactor(h, dinv, s.K, s.K, dense.Eps) < s.K {
			return // the parameter without a penalty has no rows
		}
		dense.LDLSolve(h, dinv, s.K, s.K, want)
		var fresh, stale Solver
		weights := slices.Clone(s.Weights)
		for i := range weights {
			s.Weights[i] *= math.Exp(rng.NormFloat64() / 4)
		}
		if !stale.Factorise(s) {
			t.Fatal("no factor")
		}
		stale.Moved()
		copy(s.Weights, weights)
		for _, unit := range []float64{1, 0x1p900, 0x1p-900} {
			for j := range b {
				b[j] *= unit
			}
			for _, solver := range []*Solver{&fresh, &stale} {
				if !solver.Exact(s, got, b) {
					t.Fatalf("%d × %d is not solved", s.M, s.K)
				}
				for j := range got {
					got[j] /= unit
				}
				numtest.NearAll(t, fmt.Sprintf("%d × %d by rows %v, b times %g", s.M, s.K, s.byRows, unit), got, want, 1e-11, 0)
			}
			for j := range b {
				b[j] /= unit
			}
		}
	})
}

// Corrections reduce the error of conjugate gradients to rounding.
func TestExactCorrects(t *testing.T) {
	serial.Test(t)
	for i := range 20 {
		rng := rand.New(rand.NewPCG(5, uint64(i)))
		s := drawSystem(rng, 200, 60, i%2 == 0, false, false)
		h, dinv := s.hessianEntries(), make([]float64, s.K)
		b, got := numtest.Normals(rng, s.K), make([]float64, s.K)
		want := slices.Clone(b)
		if dense.LDLFactor(h, dinv, s.K, s.K, dense.Eps) < s.K {
			t.Fatal("singular")
		}
		dense.LDLSolve(h, dinv, s.K, s.K, want)
		var solver Solver
		solver.Factor, solver.spentSteps = &solver.own, -1000 // no factor comes
		if solver.own.setDiagonal(s); !solver.Exact(s, got, b) {
			t.Fatal("not solved")
		}
		numtest.NearAll(t, "x", got, want, 1e-13, 0)
	}
}

// A solution is accurate in its small parameters if the unpenalised parameter is orders of
// magnitude larger.
func TestExactOfTwoSizes(t *testing.T) {
	for i := range 20 {
		rng := rand.New(rand.NewPCG(6, uint64(i)))
		s := drawSystem(rng, 6, 12, true, i%2 == 0, true)
		for j := range s.Weights {
			s.Weights[j] *= 1e-20
		}
		b, got := numtest.Normals(rng, s.K), make([]float64, s.K)
		var solver Solver
		if !solver.Exact(s, got, b) {
			t.Fatal("not solved")
		}
		// H is diagonal except for the last row and column.
		for j := range s.Penalised {
			b[j] = (b[j] - got[s.Penalised]*s.crossEntry(j)) / s.Ridge
		}
		numtest.NearAll(t, "x", got[:s.Penalised], b[:s.Penalised], 1e-13, 0)
	}
}

// A parameter whose column is zero does not affect the accuracy of other parameters.
func TestExactOfAParameterWithoutRows(t *testing.T) {
	forEachSystem(t, func(t *testing.T, rng *rand.Rand, s *System) {
		lone := rng.IntN(s.Penalised)
		for i := range s.M {
			at := i*s.K + lone
			if s.ByColumn {
				at = lone*s.M + i
			}
			s.Data[at] = 0
		}
		weights := slices.Clone(s.Weights)
		s.Load(nil, s.byRows)
		copy(s.Weights, weights)
		b, want, got := numtest.Normals(rng, s.K), make([]float64, s.K), make([]float64, s.K)
		b[lone] = 0
		var solver Solver
		if !solver.Exact(s, want, b) {
			return // the parameter without a penalty has no rows
		}
		b[lone] = 0x1p200
		want[lone] = b[lone] / s.Ridge
		if solver = (Solver{}); !solver.Exact(s, got, b) {
			t.Fatal("not solved")
		}
		if !numtest.SameBits(got, want) {
			t.Errorf("%d × %d by rows %v: %v, want %v", s.M, s.K, s.byRows, got, want)
		}
	})
}

// crossEntry returns the entry of H for parameter j and the parameter without a penalty.
func (s *System) crossEntry(j int) (sum float64) {
	for i, w := range s.Weights {
		sum += w * s.Entry(i, j) * s.Entry(i, s.Penalised)
	}
	return sum
}

// Solves by rows reach the accuracy of their condition number for penalties down to RowsFloor.
func TestRowsFloor(t *testing.T) {
	for i := range 20 {
		rng := rand.New(rand.NewPCG(2, uint64(i)))
		s := drawSystem(rng, 8, 20, i%2 == 0, true, false)
		dense.Fill(s.Weights, 1)
		s.Ridge = 1.01 * RowsFloor * dense.Largest(s.squares)
		if !s.Penalises(s.Ridge, 1) || s.Penalises(s.Ridge/10, 1) {
			t.Error("the floor is elsewhere")
		}
		truth, b, got := numtest.Normals(rng, s.K), make([]float64, s.K), make([]float64, s.K)
		s.Product(b, truth, make([]float64, s.M))
		var solver Solver
		if !solver.Exact(s, got, b) {
			t.Fatal("not solved")
		}
		numtest.NearAll(t, "x", got, truth, 1e-6, 0)
	}
}

// A solver computes a factor when the steps without it have cost as much as the factor.
func TestFactorsCome(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	s := drawSystem(rng, 300, 60, true, false, false)
	b, x := numtest.Normals(rng, s.K), make([]float64, s.K)
	var solver Solver
	for range 1000 {
		if solver.Moved(); !solver.Solve(s, x, b, 1e-3) {
			t.Fatal("not solved")
		}
		if solver.own.hasCholesky {
			break
		}
		if solver.spentSteps > 4 { // a factor costs as much as 3.5
			t.Errorf("%d steps without a factor", solver.spentSteps)
		}
	}
	if !solver.own.hasCholesky {
		t.Error("no factor")
	}
	for range 1000 {
		spent := solver.spentSteps
		if solver.Moved(); !solver.Solve(s, x, b, 1e-3) {
			t.Fatal("not solved")
		}
		if solver.spentSteps < spent {
			return
		}
	}
	t.Error("the factor was kept for ever")
}

// A float32 factor suffices for penalties above the limit of singleFloor. A float64 factor replaces
// a float32 factor that does not suffice.
func TestSingleFactor(t *testing.T) {
	replaced := 0
	for i := range 20 {
		rng := rand.New(rand.NewPCG(8, uint64(i)))
		s := drawSystem(rng, 300, 60, true, false, false)
		for j := s.K / 2; j < s.K; j++ {
			column := s.Data[j*s.M : (j+1)*s.M]
			copy(column, s.Data[(j-1)*s.M:])
			floats.Add(column, s.Data[(j-s.K/2)*s.M:(j+1-s.K/2)*s.M])
			floats.Scale(math.Sqrt(float64(s.M))/floats.Norm(column, 2), column)
		}
		s.Load(nil, false)
		s.Ridge = 1.01 * singleFloor * dense.Largest(s.squares)
		dense.Fill(s.Weights, 1)
		b, x, want := numtest.Normals(rng, s.K), make([]float64, s.K), make([]float64, s.K)
		var solver Solver
		if !solver.Factorise(s) || !solver.own.float32s || !solver.Solve(s, want, b, 1e-8) || solver.spentSteps > 6 {
			t.Fatalf("a factor from float32 numbers: %v, %d steps", solver.own.float32s, solver.spentSteps)
		}
		for _, unit := range []float64{0x1p300, 0x1p-300} {
			for j := range s.Data {
				s.Data[j] *= unit
			}
			s.Ridge *= unit * unit
			s.Load(nil, false)
			if solver.Factorise(s); !solver.Solve(s, x, b, 1e-8) {
				t.Fatal("not solved")
			}
			for j := range s.Data {
				s.Data[j] /= unit
			}
			s.Ridge /= unit * unit
			dense.ScaleBy(x, 2*math.Ilogb(unit))
			if !numtest.SameBits(x, want) {
				t.Errorf("another solution in units of %g", unit)
			}
		}
		s.Load(nil, false)
		if s.Ridge /= 10; s.fitsSingle() {
			t.Error("the floor is elsewhere")
		}
		s = drawSystem(rng, 300, 60, true, false, false)
		for j := range s.K {
			floats.Scale(math.Exp(4*rng.NormFloat64()), s.Data[j*s.M:(j+1)*s.M])
		}
		s.Load(nil, false)
		s.Ridge = dense.Largest(s.squares)
		if !solver.factorise(s, true) {
			t.Fatal("no factor")
		}
		s.Ridge = singleFloor * slices.Min(s.squares)
		if !solver.Solve(s, x, b, 1e-8) {
			t.Error("a bad factor is not replaced")
		}
		if !solver.own.float32s {
			replaced++
		}
	}
	if replaced == 0 {
		t.Error("no bad factor")
	}
}

// A Factor adapts to weights that all change by the same factor, without a pass over the rows.
func TestFactorFollowsTheWeights(t *testing.T) {
	for i := range 4 {
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		s := drawSystem(rng, 300, 60, i%2 == 0, false, false)
		b, x := numtest.Normals(rng, s.K), make([]float64, s.K)
		for _, scale := range []float64{1e-4, 1e4, 2 * maxRescale, .5 / maxRescale} {
			var solver Solver
			if !solver.Factorise(s) {
				t.Fatal("no factor")
			}
			for i := range s.Weights {
				s.Weights[i] *= scale
			}
			if solver.Moved(); !solver.Solve(s, x, b, 1e-8) || solver.spentSteps > 2 {
				t.Errorf("%d steps for weights times %g", solver.spentSteps, scale)
			}
			for i := range s.Weights {
				s.Weights[i] /= scale
			}
		}
	}
}

// Condition returns an upper bound of the condition number, and Errors and Reach bound errors of
// rows.
func TestConditionBounds(t *testing.T) {
	forEachSystem(t, func(t *testing.T, rng *rand.Rand, s *System) {
		h, dinv := s.hessianEntries(), make([]float64, s.K)
		if dense.LDLFactor(h, dinv, s.K, s.K, dense.Eps) < s.K {
			return
		}
		work := make([]float64, 2*s.K)
		cond := dense.LDLCond(h, dinv, s.K, s.K, work[:s.K], work[s.K:])
		var solver Solver
		var c Condition
		if solver.Condition(s, &c); !(c.Cond >= .9*cond) || !(c.Cond <= 1e4*cond) {
			t.Errorf("%d × %d: condition %.3g, bound %.3g", s.M, s.K, cond, c.Cond)
		}
		terms, along := make([]float64, s.K), make([]float64, s.M)
		for j := range terms {
			terms[j] = math.Exp(rng.NormFloat64())
		}
		if c.Schur > 0 {
			s.Times(along, c.Along)
		}
		size, most := c.Errors(s, terms), 0.0
		for i := range s.M {
			z := slices.Clone(s.Row(make([]float64, s.K), i))
			squares := 0.0
			for _, v := range z[:s.Penalised] {
				squares += v * v
			}
			if s.byRows && math.Abs(s.Norm(i)-squares) > 1e-12*squares {
				t.Errorf("norm %v, want %v", s.Norm(i), squares)
			}
			dense.LDLSolve(h, dinv, s.K, s.K, z)
			moved, bound := dense.AbsDot(z, terms), size*c.Reach(s, i, squares, along[i])
			if !(moved <= 1.02*bound) || bound > size*c.Reach(s, -1, squares, along[i]) {
				t.Errorf("%d × %d: row %d moves by %.3g, bound %.3g", s.M, s.K, i, moved, bound)
			}
			most = max(most, moved/bound)
		}
		if most < 1e-3 {
			t.Errorf("%d × %d: bounds are %.2g times too large", s.M, s.K, 1/most)
		}
	})
}

// If all weights are 0, the system does not determine a parameter without a penalty.
func TestConditionOpen(t *testing.T) {
	for _, byRows := range []bool{false, true} {
		s := drawSystem(rand.New(rand.NewPCG(4, 4)), 3, 5, false, byRows, true)
		clear(s.Weights)
		var solver Solver
		var c Condition
		if solver.Condition(s, &c); !math.IsInf(c.Cond, 1) || c.At != 4 {
			t.Errorf("condition %v, at parameter %d", c.Cond, c.At)
		}
	}
}
