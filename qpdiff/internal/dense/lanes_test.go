package dense

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/learntest/serial"
)

// A problem is a quadratic problem with some active coordinates.
type problem struct {
	g, r, c, bound []float64
	at             []int
}

func drawProblem(rng *rand.Rand, n int) problem {
	p := problem{make([]float64, n*n), make([]float64, n), make([]float64, n), make([]float64, n), nil}
	rows := n + rng.IntN(3) - 1 // one less: not regular without r
	x := make([]float64, rows*n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	Gram(p.g, 1/float64(max(1, rows)), x, rows, n, n)
	for j := range n {
		p.c[j], p.bound[j] = rng.NormFloat64(), rng.Float64()*rng.Float64()
		if rng.IntN(2) == 0 {
			p.r[j] = math.Exp(3 * rng.NormFloat64())
		}
		if rng.IntN(4) > 0 {
			p.at = append(p.at, j)
		}
	}
	return p
}

// TestLanes checks that a problem has the same bits in lanes as by itself.
func TestLanes(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(8, 1))
	for trial := range 2000 {
		if trial == 1000 {
			defer SetVectors(SetVectors(false))
		}
		n := 1 + rng.IntN(LaneMost)
		var p [LaneCount]problem
		size := 1
		for i := range p {
			p[i] = drawProblem(rng, n)
			size = max(size, len(p[i].at))
		}
		checkLaneSystems(t, p, n, size)
		checkLaneDescent(t, p, n)
		if t.Failed() {
			return
		}
	}
}

// lane returns n entries of lane i.
func lane(x []float64, i, n int) []float64 {
	one := make([]float64, n)
	for k := range one {
		one[k] = x[k*LaneCount+i]
	}
	return one
}

// laneTol is the tolerance of pivots.
const laneTol = 1e-14

// laneSystems returns the active systems side by side.
func laneSystems(p [LaneCount]problem, n, size int) []float64 {
	a, r := make([]float64, size*(size+1)*LaneCount), make([]float64, size*LaneCount)
	var src, rhs [LaneCount][]float64
	for i := range p {
		rhs[i] = make([]float64, size)
		Gather(rhs[i], p[i].c, p[i].at)
		s := len(p[i].at)
		if s == n {
			src[i] = p[i].g
			for k, v := range p[i].r {
				r[k*LaneCount+i] = v
			}
			continue
		}
		src[i] = make([]float64, n*n)
		if s > 0 {
			GatherUpper(src[i], n, p[i].g, n, p[i].r, p[i].at)
		}
		Pad(src[i], n, s, size)
	}
	LaneUpper(a, &src, n, r, size)
	LaneRows(a[size*LaneCount:], size+1, &rhs, size)
	return a
}

func checkLaneSystems(t *testing.T, p [LaneCount]problem, n, size int) {
	t.Helper()
	a, dinv, x, u := laneSystems(p, n, size), make([]float64, size*LaneCount), make([]float64, size*LaneCount), make([]float64, size*LaneCount)
	var pivots [LaneCount]float64
	var rows, solved [LaneCount][]float64
	regular := LDLLanes(a, dinv, x, &pivots, size, laneTol)
	for i := range rows {
		rows[i], solved[i] = make([]float64, size), make([]float64, size)
		for k := range p[i].at {
			rows[i][k] = math.Sin(float64(k*LaneCount + i))
		}
	}
	LaneRows(u, 1, &rows, size)
	var sums [2][LaneCount]float64
	LaneSums(&sums, u, x, size)
	LDLLanesSolve(a, dinv, u, size)
	RowsOfLanes(&solved, u, size)
	for i := range p {
		s := len(p[i].at)
		own, inv, z, product, ok := singleSolve(p[i], n)
		if ok != (regular>>i&1 == 1) {
			t.Errorf("n = %d, %d active in lane %d of size %d: regular %v", n, s, i, size, !ok)
		}
		if !ok {
			continue
		}
		w, v := LDLStride(s), rows[i][:s]
		if !slices.Equal(z, lane(x, i, s)) || !slices.Equal(inv, lane(dinv, i, s)) || product != pivots[i] {
			t.Errorf("n = %d, %d active in lane %d of size %d: solution %v, reciprocals %v, pivots %v; alone %v, %v, %v",
				n, s, i, size, lane(x, i, s), lane(dinv, i, s), pivots[i], z, inv, product)
		}
		for k := range s {
			if !slices.Equal(own[k*w+k:k*w+s], lane(a[(k*(size+1)+k)*LaneCount:], i, s-k)) {
				t.Errorf("n = %d, %d active in lane %d of size %d: another row %d of the factor", n, s, i, size, k)
			}
		}
		signs := make([]float64, s)
		for k, v := range z {
			signs[k] = math.Copysign(1, v)
		}
		if Dot(v, signs) != sums[0][i] || Dot(v, z) != sums[1][i] || LDLLanesForm(a, dinv, size, i, v) != LDLForm(own, inv, s, w, v) {
			t.Errorf("n = %d, %d active in lane %d of size %d: sums %v, %v, form %v", n, s, i, size, sums[0][i], sums[1][i], LDLLanesForm(a, dinv, size, i, v))
		}
		if LDLSolve(own, inv, s, w, v); !slices.Equal(v, solved[i][:s]) {
			t.Errorf("n = %d, %d active in lane %d of size %d: solve gives %v, alone %v", n, s, i, size, solved[i], v)
		}
	}
}

// singleSolve solves the active system of p without lanes and returns the product of all ratios of
// diagonal entry to pivot.
func singleSolve(p problem, n int) (a, inv, z []float64, product float64, ok bool) {
	s := len(p.at)
	w := LDLStride(s)
	a, inv, z = make([]float64, s*w), make([]float64, s), make([]float64, s)
	if s > 0 {
		GatherUpper(a, w, p.g, n, p.r, p.at)
	}
	diagonal := make([]float64, s)
	for k, j := range p.at {
		a[k*w+s], diagonal[k] = p.c[j], a[k*w+k]
	}
	ok = LDLFactor(a, inv, s, w, laneTol) == s
	product = 1
	for k := range z {
		z[k] = a[k*w+s]
		product *= diagonal[k] * inv[k]
	}
	LDLBack(a, inv, s, w, z)
	return a, inv, z, product, ok
}

func checkLaneDescent(t *testing.T, p [LaneCount]problem, n int) {
	t.Helper()
	var src [5][LaneCount][]float64
	var live [LaneCount]float64
	for i := range p {
		src[0][i], src[1][i], src[2][i], src[3][i], src[4][i] = make([]float64, n), slices.Clone(p[i].c), p[i].g, p[i].r, p[i].bound
		if i != 2 {
			live[i] = -1
		}
	}
	var in [5][]float64
	for k := range in {
		size := n
		if k == 2 {
			size = n * n
		}
		in[k] = make([]float64, size*LaneCount)
		LaneRows(in[k], 1, &src[k], size)
	}
	for sweep := range 3 {
		moved := DescendLanes(in[0], in[1], in[2], in[3], in[4], n, &live)
		for i := range p {
			one := live[i] < 0 && DescendKinks(src[0][i], src[1][i], p[i].g, p[i].r, p[i].bound, p[i].bound)
			if one != (moved>>i&1 == 1) {
				t.Errorf("n = %d, lane %d, sweep %d: moved %v", n, i, sweep, !one)
			}
			for j := range n {
				if in[0][j*LaneCount+i] != src[0][i][j] || in[1][j*LaneCount+i] != src[1][i][j] {
					t.Errorf("n = %d, lane %d, sweep %d: coordinate %d is %v, alone %v", n, i, sweep, j, in[0][j*LaneCount+i], src[0][i][j])
				}
			}
		}
	}
}

// LaneGather and LDLLanes return the same bits with and without the vector units.
func TestLaneGather(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(11, 4))
	const n = 60
	g := definite(rng, n, n)
	for _, size := range []int{1, 4, 15, 16, 26, 40} {
		var rows [LaneCount][]int
		var right [LaneCount][]float64
		for i := range rows {
			rows[i], right[i] = rng.Perm(n)[:size], make([]float64, size)
			for k := range right[i] {
				right[i][k] = rng.NormFloat64()
			}
		}
		solve := func() []float64 {
			a, dinv, x := make([]float64, size*(size+1)*LaneCount), make([]float64, size*LaneCount), make([]float64, size*LaneCount)
			LaneGather(a, g, n, &rows, size)
			LaneRows(a[size*LaneCount:], size+1, &right, size)
			var pivots [LaneCount]float64
			if regular := LDLLanes(a, dinv, x, &pivots, size, Eps); regular != 1<<LaneCount-1 {
				t.Fatalf("%d unknowns: regular %b", size, regular)
			}
			again := make([]float64, size*LaneCount)
			LaneRows(again, 1, &right, size)
			LDLLanesSolve(a, dinv, again, size)
			return append(x, again...)
		}
		x := solve()
		defer SetVectors(SetVectors(false))
		if !slices.Equal(x, solve()) {
			t.Errorf("%d unknowns: other bits without the vector units", size)
		}
		SetVectors(true)
		for i := range rows {
			for _, solution := range [][]float64{lane(x, i, size), lane(x[size*LaneCount:], i, size)} {
				for k, row := range rows[i] {
					sum := -right[i][k]
					for l, v := range solution {
						sum += g[row*n+rows[i][l]] * v
					}
					if !(math.Abs(sum) <= 1e-12) {
						t.Errorf("%d unknowns, lane %d: residual %v", size, i, sum)
					}
				}
			}
		}
	}
}
