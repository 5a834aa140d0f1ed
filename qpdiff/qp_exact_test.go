package qpdiff

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// exactRows holds rows of rationals, each followed by its right-hand side.
type exactRows [][]*big.Rat

func ratRow(x ...float64) []*big.Rat {
	row := make([]*big.Rat, len(x))
	for i, v := range x {
		row[i] = new(big.Rat).SetFloat64(v)
	}
	return row
}

// solveExact returns a solution of n unknowns with zeros for free unknowns, or nil, and the rank of
// the rows.
func solveExact(rows exactRows, n int) ([]*big.Rat, int) {
	m := make(exactRows, len(rows))
	for i, row := range rows {
		m[i] = make([]*big.Rat, n+1)
		for j, v := range row {
			m[i][j] = new(big.Rat).Set(v)
		}
	}
	pivots := []int{}
	t := new(big.Rat)
	for col := 0; col < n && len(pivots) < len(m); col++ {
		k := len(pivots)
		at := k
		for at < len(m) && m[at][col].Sign() == 0 {
			at++
		}
		if at == len(m) {
			continue
		}
		m[k], m[at] = m[at], m[k]
		inv := new(big.Rat).Inv(m[k][col])
		for j := col; j <= n; j++ {
			m[k][j].Mul(m[k][j], inv)
		}
		for i := range m {
			if f := new(big.Rat).Set(m[i][col]); i != k && f.Sign() != 0 {
				for j := col; j <= n; j++ {
					m[i][j].Sub(m[i][j], t.Mul(f, m[k][j]))
				}
			}
		}
		pivots = append(pivots, col)
	}
	for _, row := range m[len(pivots):] {
		if row[n].Sign() != 0 {
			return nil, len(pivots)
		}
	}
	x := make([]*big.Rat, n)
	for i := range x {
		x[i] = new(big.Rat)
	}
	for k, col := range pivots {
		x[col].Set(m[k][n])
	}
	return x, len(pivots)
}

// visitSubsets calls f with each subset of 0…m−1 with k elements until f returns true.
func visitSubsets(m, k int, f func([]int) bool) bool {
	set := make([]int, 0, k)
	var rec func(from int) bool
	rec = func(from int) bool {
		if len(set) == k {
			return f(set)
		}
		for i := from; i < m; i++ {
			set = append(set, i)
			if rec(i + 1) {
				return true
			}
			set = set[:len(set)-1]
		}
		return false
	}
	return rec(0)
}

// feasibleExact decides in rational arithmetic whether Gz ≤ h has a solution. It tries minimal
// faces, where rank(G) independent rows hold with equality.
func feasibleExact(g exactRows, n int) bool {
	_, rank := solveExact(g, n) // the right-hand side does not count for the rank
	t := new(big.Rat)
	return visitSubsets(len(g), rank, func(set []int) bool {
		rows := exactRows{}
		for _, i := range set {
			rows = append(rows, g[i])
		}
		z, r := solveExact(rows, n)
		if z == nil || r < rank {
			return false
		}
		for _, row := range g {
			v := new(big.Rat)
			for j := range n {
				v.Add(v, t.Mul(row[j], z[j]))
			}
			if v.Cmp(row[n]) > 0 {
				return false
			}
		}
		return true
	})
}

// inConeExact decides whether target is a sum of the rows with weights ≥ 0. Independent rows
// suffice by Carathéodory's theorem.
func inConeExact(rows exactRows, target []*big.Rat) bool {
	n := len(target)
	for k := 0; k <= min(n, len(rows)); k++ {
		if visitSubsets(len(rows), k, func(set []int) bool {
			eq := make(exactRows, n)
			for j := range n {
				for _, i := range set {
					eq[j] = append(eq[j], rows[i][j])
				}
				eq[j] = append(eq[j], target[j])
			}
			x, _ := solveExact(eq, k)
			for _, v := range x {
				if v.Sign() < 0 {
					return false
				}
			}
			return x != nil
		}) {
			return true
		}
	}
	return false
}

// statusExact decides the status of a QP without equalities. A feasible QP is unbounded if −p is
// not in the range of Q plus the cone of the rows.
func statusExact(q *QP) Status {
	n := len(q.P)
	g, cone := exactRows{}, exactRows{}
	for r, h := range q.H {
		row := q.G.RawRowView(r)
		g = append(g, append(ratRow(row...), ratRow(h)...))
		cone = append(cone, ratRow(row...))
	}
	if !feasibleExact(g, n) {
		return Infeasible
	}
	if q.Q != nil {
		for i := range n {
			cone = append(cone, ratRow(q.Q.RawRowView(i)...))
			neg := ratRow(q.Q.RawRowView(i)...)
			for _, v := range neg {
				v.Neg(v)
			}
			cone = append(cone, neg)
		}
	}
	target := ratRow(q.P...)
	for _, v := range target {
		v.Neg(v)
	}
	if !inConeExact(cone, target) {
		return Unbounded
	}
	return Optimal
}

// drawIntegerQP draws a program of small integers and perturbs its bounds by fractions from 1e-8 to
// 1e-2.
func drawIntegerQP(rng *rand.Rand) QP {
	n, m := 1+rng.IntN(4), rng.IntN(7)
	small := func() float64 { return float64(rng.IntN(9) - 4) }
	qp := QP{P: make([]float64, n)}
	for i := range qp.P {
		qp.P[i] = small()
	}
	if m > 0 {
		qp.G, qp.H = mat.NewDense(m, n, nil), make([]float64, m)
	}
	for r := range m {
		for j := range n {
			qp.G.Set(r, j, small())
		}
		qp.H[r] = small()
		if r > 0 && rng.IntN(3) == 0 { // a row opposite to another, or to a sum
			from := rng.IntN(r)
			f := float64(1 + rng.IntN(2))
			qp.H[r] = -f * qp.H[from]
			for j := range n {
				qp.G.Set(r, j, -f*qp.G.At(from, j))
			}
			if from > 0 && rng.IntN(2) == 0 {
				qp.H[r] -= qp.H[0]
				for j := range n {
					qp.G.Set(r, j, qp.G.At(r, j)-qp.G.At(0, j))
				}
			}
		}
		if rng.IntN(2) == 0 {
			qp.H[r] += float64(rng.IntN(3)-1) * math.Pow(10, -2-float64(rng.IntN(7)))
		}
	}
	if rank := rng.IntN(2 * n); rank > 0 && rank < n {
		f := mat.NewDense(n, rank, nil)
		f.Apply(func(int, int, float64) float64 { return float64(rng.IntN(5) - 2) }, f)
		qp.Q = mat.NewDense(n, n, nil)
		qp.Q.Mul(f, f.T())
	}
	return qp
}

// The status of a small program equals its status in rational arithmetic, unless bounds decide it
// by less than 1e-11.
func TestQPStatusExact(t *testing.T) {
	serial.Test(t)
	const relax = 1e-11
	count := map[Status]int{}
	n := numtest.Long(1500)
	for i := range n {
		rng := rand.New(rand.NewPCG(12, uint64(i)))
		qp := drawIntegerQP(rng)
		want := statusExact(&qp)
		var s Solution
		err := s.Solve(&qp)
		if s.Status != want {
			relaxed := qp
			relaxed.H = slices.Clone(qp.H)
			for r := range relaxed.H {
				relaxed.H[r] += relax
			}
			if want == Infeasible && statusExact(&relaxed) != Infeasible {
				continue
			}
			t.Errorf("%d: %v program is called %v: %v\n%+v", i, want, s.Status, err, qp)
			continue
		}
		count[want]++
		if want != Optimal {
			checkCertificate(t, &qp, &s, 1e-12)
		}
	}
	for _, status := range []Status{Optimal, Infeasible, Unbounded} {
		if count[status] < n/8 {
			t.Errorf("only %d programs are %v", count[status], status)
		}
	}
}

// A program of several parts is infeasible if one of its parts is, and otherwise unbounded if one
// part is.
func TestQPStatusOfPartsExact(t *testing.T) {
	serial.Test(t)
	const relax = 1e-11
	count := map[Status]int{}
	n := numtest.Long(600)
	for i := range n {
		rng := rand.New(rand.NewPCG(15, uint64(i)))
		var parts []QP
		want, close := Optimal, false
		for len(parts) < 2 || len(parts) < 3 && rng.IntN(2) == 0 {
			q := drawIntegerQP(rng)
			status := statusExact(&q)
			if status != Optimal && rng.IntN(4) > 0 {
				continue
			}
			relaxed := q
			relaxed.H = slices.Clone(q.H)
			for r := range relaxed.H {
				relaxed.H[r] += relax
			}
			close = close || status == Infeasible && statusExact(&relaxed) != Infeasible
			if status == Infeasible || want == Optimal {
				want = status
			}
			u := drawUnits(rng, &q, 2, 40, false)
			parts = append(parts, u.apply(&q))
		}
		if close {
			continue
		}
		q := glueParts(parts...)
		var s Solution
		if err := s.Solve(&q); s.Status != want {
			t.Errorf("%d: %v program is called %v: %v\n%+v", i, want, s.Status, err, q)
		}
		count[want]++
	}
	for _, status := range []Status{Optimal, Infeasible, Unbounded} {
		if count[status] < n/8 {
			t.Errorf("only %d programs are %v", count[status], status)
		}
	}
}

// drawUnbounded draws a feasible program whose objective falls along an integer direction.
func drawUnbounded(rng *rand.Rand) QP {
	n := 2 + rng.IntN(7)
	integers := func(k int) []float64 {
		x := make([]float64, n)
		for j := range x {
			x[j] = float64(rng.IntN(2*k+1) - k)
		}
		return x
	}
	z, d := integers(3), integers(2)
	d[rng.IntN(n)] = 1
	orthogonal := func(g []float64) []float64 {
		along := floats.Dot(g, d)
		floats.Scale(floats.Dot(d, d), g)
		floats.AddScaled(g, -along, d)
		return g
	}
	q := QP{P: integers(4)}
	for floats.Dot(q.P, d) >= 0 {
		q.P = integers(4)
	}
	if rank := []int{0, 1, n / 2, n}[rng.IntN(4)]; rank > 0 {
		f := mat.NewDense(n, rank, nil)
		for c := range rank {
			f.SetCol(c, orthogonal(integers(5)))
		}
		q.Q = mat.NewDense(n, n, nil)
		q.Q.Mul(f, f.T())
	}
	if k := rng.IntN(n); k > 0 {
		q.A, q.B = mat.NewDense(k, n, nil), make([]float64, k)
		for r := range k {
			q.A.SetRow(r, orthogonal(integers(5)))
			q.B[r] = floats.Dot(q.A.RawRowView(r), z)
		}
	}
	if m := rng.IntN(2 * n); m > 0 {
		q.G, q.H = mat.NewDense(m, n, nil), make([]float64, m)
		for r := range m {
			g := integers(5)
			if rng.IntN(2) == 0 {
				orthogonal(g)
			} else if floats.Dot(g, d) > 0 {
				floats.Scale(-1, g)
			}
			q.G.SetRow(r, g)
			q.H[r] = floats.Dot(g, z) + float64(rng.IntN(4))
		}
	}
	return q
}

// A row that is violated only by rounding after a long step along a ray does not end the ray.
func TestQPUnboundedExact(t *testing.T) {
	serial.Test(t)
	for i := range numtest.Long(20000) {
		q := drawUnbounded(rand.New(rand.NewPCG(13, uint64(i))))
		var s Solution
		if err := s.Solve(&q); s.Status != Unbounded {
			t.Errorf("%d: %v, %v, λ = %v, %+v", i, s.Status, err, s.Lambda, s.Residual)
		}
	}
	for _, q := range []QP{
		{Q: diagonal(900, 0, 0, 0), P: []float64{3, 0, -2, -4}, G: mat.NewDense(5, 4, []float64{-1, 0, 0, 0, 0, -18, -33, -3, 0, -6, 3, -15, 2, 0, 0, 0, 0, -4, -1, -7}), H: []float64{1, -117, -15, 0, -10}, A: mat.NewDense(1, 4, []float64{18, 2, -1, 5}), B: []float64{-13}},
		{Q: mat.NewDense(4, 4, []float64{276, -474, 78, 0, -474, 834, -114, 0, 78, -114, 42, 0, 0, 0, 0, 900}), P: []float64{-2, 1, 4, -1}, G: mat.NewDense(6, 4, []float64{-3, 0, 0, 0, -10, 25, 5, 0, 0, 0, 3, 4, -10, 25, 5, 0, 0, -3, 0, 0, 0, 0, 0, 1}), H: []float64{9, 75, 16, 76, -4, 3}, A: mat.NewDense(3, 4, []float64{-2, 5, 1, -6, -6, 6, -6, 24, -4, 4, -4, 0}), B: []float64{-3, 90, 12}},
	} {
		var s Solution
		if err := s.Solve(&q); s.Status != Unbounded {
			t.Errorf("%v, %v, λ = %v, %+v", s.Status, err, s.Lambda, s.Residual)
		}
	}
}
