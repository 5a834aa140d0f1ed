package qpdiff

import (
	"flag"
	"fmt"
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

var (
	exactPrograms = flag.Int("exact", 1500, "programs whose derivatives are judged in exact arithmetic")
	exactFirst    = flag.Int("exact.first", 0, "number of the first of these programs")
)

const (
	// exactShift: all data of a drawn program are multiples of 2^-exactShift.
	exactShift = 28
	// exactStep is the step of difference quotients as a power of two, so small that second-order
	// terms are negligible.
	exactStep = 100
	// exactMargin is the smallest relative slack and multiplier of a program that counts as strict.
	exactMargin = 1e-9
	// exactTol bounds the rounding error of a derivative in the original units, in which all
	// numbers have ordinary size.
	exactTol = 1e-6
)

// exactFound lists programs with a former wrong or missing derivative or solution, one line for
// each cause.
var exactFound = []int{
	1444, 44685, 210612, // one norm was used to judge entries of a solution in unrelated units
	146133, 233868, 267307, // along a ray, the objective falls by less than the solver's tolerance
	20149, 393931, // the scale was arbitrary in a part of the program in which Q is zero
	109202, 966039, // rounding in the rows moved the derivative of a linear program
}

// An exactQP is a program in integers, scaled by one common factor. Its first q rows are
// equalities.
type exactQP struct {
	n, q        int
	hess, rows  [][]*big.Int
	p, bounds   []*big.Int
	work        [][]*big.Int
	a, b, whole big.Int
}

func exactInt(v float64, shift uint) *big.Int {
	i, accuracy := new(big.Float).SetMantExp(big.NewFloat(v), exactShift).Int(nil)
	if accuracy != big.Exact {
		panic("data finer than 2^-exactShift")
	}
	return i.Lsh(i, shift)
}

// newExactQP is the program q + 2^-(exactShift+exactStep)·sign·t.
func newExactQP(q *QP, t *QPGrad, sign int) *exactQP {
	shift := uint(0)
	if t != nil {
		shift = exactStep
	}
	vector := func(x, dx []float64) []*big.Int {
		out := make([]*big.Int, len(x))
		for i, v := range x {
			out[i] = exactInt(v, shift)
			if dx != nil {
				out[i].Add(out[i], big.NewInt(int64(sign)*int64(dx[i])))
			}
		}
		return out
	}
	matrix := func(x, dx *mat.Dense) (out [][]*big.Int) {
		if x == nil {
			return nil
		}
		for i := range x.RawMatrix().Rows {
			var d []float64
			if dx != nil {
				d = dx.RawRowView(i)
			}
			out = append(out, vector(x.RawRowView(i), d))
		}
		return out
	}
	if t == nil {
		t = &QPGrad{}
	}
	e := &exactQP{n: len(q.P), q: len(q.B), p: vector(q.P, t.P), hess: matrix(q.Q, t.Q)}
	e.rows = append(matrix(q.A, t.A), matrix(q.G, t.G)...)
	e.bounds = append(vector(q.B, t.B), vector(q.H, t.H)...)
	return e
}

// solve sets x to the numerators of z and of the multipliers for the active rows in set, over the
// denominator det > 0. It reports whether they form a KKT point.
func (e *exactQP) solve(set []int) (x []*big.Int, det *big.Int, ok bool) {
	n, dim := e.n, e.n+len(set)
	for len(e.work) < dim {
		e.work = append(e.work, nil)
	}
	m := e.work[:dim]
	for i := range m {
		for len(m[i]) <= dim {
			m[i] = append(m[i], new(big.Int))
		}
		for j := range dim + 1 {
			v := m[i][j]
			switch {
			case i < n && j < n:
				v.Set(e.hess[i][j])
			case i < n && j < dim:
				v.Set(e.rows[set[j-n]][i])
			case i < n:
				v.Neg(e.p[i])
			case j < n:
				v.Set(e.rows[set[i-n]][j])
			case j < dim:
				v.SetInt64(0)
			default:
				v.Set(e.bounds[set[i-n]])
			}
		}
	}
	// Gauss–Jordan elimination without fractions (Bareiss, 1968).
	last := big.NewInt(1)
	for k := range dim {
		at := k
		for at < dim && m[at][k].Sign() == 0 {
			at++
		}
		if at == dim {
			return nil, nil, false
		}
		m[k], m[at] = m[at], m[k]
		pivot := m[k][k]
		for i := range dim {
			if i == k {
				continue
			}
			f := e.whole.Set(m[i][k])
			for j := k + 1; j <= dim; j++ {
				e.a.Mul(m[i][j], pivot)
				e.b.Mul(f, m[k][j])
				e.a.Sub(&e.a, &e.b)
				m[i][j].Quo(&e.a, last)
			}
			m[i][k].SetInt64(0)
		}
		last = new(big.Int).Set(pivot)
	}
	// After the last step, every unknown is its entry divided by the last pivot.
	det = last
	for i := range dim {
		x = append(x, new(big.Int).Set(m[i][dim]))
	}
	if det.Sign() < 0 {
		det = new(big.Int).Neg(det)
		for _, v := range x {
			v.Neg(v)
		}
	}
	for i, r := range set {
		if r >= e.q && x[n+i].Sign() < 0 {
			return nil, nil, false
		}
	}
	for r := range e.rows {
		if s := e.slack(r, x, det).Sign(); s < 0 || r < e.q && s != 0 {
			return nil, nil, false
		}
	}
	return x, det, true
}

// slack is h_r − g_rᵀz, times det.
func (e *exactQP) slack(r int, x []*big.Int, det *big.Int) *big.Int {
	s := e.a.Mul(e.bounds[r], det)
	for j, g := range e.rows[r] {
		s.Sub(s, e.b.Mul(g, x[j]))
	}
	return s
}

// visitPoints calls f with KKT points until f returns true: first for the active rows in firstSets,
// then for all subsets of the candidates.
func (e *exactQP) visitPoints(candidates []int, firstSets [][]int, f func(set []int, x []*big.Int, det *big.Int) bool) {
	try := func(set []int) bool {
		x, det, ok := e.solve(set)
		return ok && f(set, x, det)
	}
	for _, set := range firstSets {
		if try(set) {
			return
		}
	}
	for k := min(e.n, len(candidates)); k >= 0; k-- {
		if visitSubsets(len(candidates), k, func(at []int) bool {
			set := make([]int, k)
			for i, a := range at {
				set[i] = candidates[a]
			}
			return try(set)
		}) {
			return
		}
	}
}

// exactJudge judges the derivatives of one program.
type exactJudge struct {
	qp      *QP
	base    *exactQP
	sets    [][]int // active sets of the KKT points
	active  []int   // the rows that hold with equality
	strict  bool
	regular bool // Q is definite
	cot     [3][]float64
}

// newExactJudge solves the program, and returns false if its solution does not exist or is not
// unique.
func newExactJudge(q *QP, regular bool) (*exactJudge, bool) {
	j := &exactJudge{qp: q, base: newExactQP(q, nil, 0), regular: regular}
	all := make([]int, len(j.base.rows))
	for r := range all {
		all[r] = r
	}
	least := math.Inf(1)
	several := false
	var z []*big.Int // of the first point, over div
	var div *big.Int
	j.base.visitPoints(all, nil, func(set []int, x []*big.Int, det *big.Int) bool {
		j.sets = append(j.sets, slices.Clone(set))
		if len(j.sets) > 1 {
			for c, v := range z {
				several = several || j.base.a.Mul(v, det).Cmp(j.base.b.Mul(x[c], div)) != 0
			}
			return false
		}
		z, div = x[:j.base.n], det
		number := func(v *big.Int) float64 { f, _ := new(big.Rat).SetFrac(v, det).Float64(); return math.Abs(f) }
		grad := floats.Norm(q.P, 1)
		for i, r := range set {
			grad = max(grad, number(x[j.base.n+i])*math.Sqrt(j.norm2(r)))
		}
		for r := range j.base.rows {
			slack := number(j.base.slack(r, x, det)) / math.Ldexp(1, exactShift)
			size, _ := new(big.Float).SetInt(j.base.bounds[r]).Float64()
			size = math.Abs(size) / math.Ldexp(1, exactShift)
			for c := range j.base.n {
				size += number(x[c]) * math.Sqrt(j.norm2(r))
			}
			if at := slices.Index(set, r); slack == 0 {
				j.active = append(j.active, r)
				switch {
				case at < 0:
					least = 0
				case r >= j.base.q:
					least = min(least, number(x[j.base.n+at])*math.Sqrt(j.norm2(r))/grad)
				}
			} else {
				least = min(least, slack/size)
			}
		}
		return false
	})
	j.strict = len(j.sets) == 1 && least >= exactMargin
	return j, len(j.sets) > 0 && !several
}

func (j *exactJudge) norm2(r int) float64 {
	row := j.qp.A
	if r >= j.base.q {
		row, r = j.qp.G, r-j.base.q
	}
	return floats.Dot(row.RawRowView(r), row.RawRowView(r))
}

// value is the sum of the cotangents times the solution.
func (j *exactJudge) value(set []int, x []*big.Int, det *big.Int) *big.Rat {
	sum := new(big.Int)
	term := new(big.Int)
	for i, v := range x {
		c, at := j.cot[0], i
		if i >= j.base.n {
			c, at = j.cot[2], set[i-j.base.n]
			if at >= j.base.q {
				c, at = j.cot[1], at-j.base.q
			}
		}
		if c != nil {
			sum.Add(sum, term.Mul(v, big.NewInt(int64(c[at]))))
		}
	}
	return new(big.Rat).SetFrac(sum, det)
}

// valueAtBase returns the value for the program itself, or nil if the value is not unique.
func (j *exactJudge) valueAtBase() (value *big.Rat) {
	unique := true
	j.base.visitPoints(nil, j.sets, func(set []int, x []*big.Int, det *big.Int) bool {
		v := j.value(set, x, det)
		unique = unique && (value == nil || v.Cmp(value) == 0)
		value = v
		return false
	})
	if !unique {
		return nil
	}
	return value
}

// differenceQuotient returns the quotient of the value for a step along sign·t, or false if no
// solution after the step is near the solution before it.
func (j *exactJudge) differenceQuotient(base *big.Rat, t *QPGrad, sign int) (float64, bool) {
	e := newExactQP(j.qp, t, sign)
	var v *big.Rat
	e.visitPoints(j.active, j.sets, func(set []int, x []*big.Int, det *big.Int) bool {
		v = j.value(set, x, det)
		return true
	})
	if v == nil {
		return 0, false
	}
	v.Sub(v, base)
	v.Mul(v, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(int64(sign)), exactShift+exactStep)))
	f, _ := v.Float64()
	return f, true
}

// drawExact draws a program of small integers from its solution, with everything that can make
// derivatives fail.
func drawExact(rng *rand.Rand) (q *QP, regular bool) {
	small := func() float64 { return float64(rng.IntN(7) - 3) }
	n := 1 + rng.IntN(3)
	if rng.IntN(8) == 0 {
		n = 4
	}
	z := make([]float64, n)
	for j := range z {
		if rng.IntN(4) > 0 {
			z[j] = small()
		}
	}
	if rng.IntN(5) == 0 {
		clear(z)
	}
	q = &QP{Q: mat.NewDense(n, n, nil), P: make([]float64, n)}
	rank := min(n, rng.IntN(n+2))
	f := mat.NewDense(n, max(rank, 1), nil)
	if rank > 0 {
		f.Apply(func(int, int, float64) float64 { return float64(rng.IntN(5) - 2) }, f)
		q.Q.Mul(f, f.T())
	}
	regular = mat.Det(q.Q) > .5
	var rows [][]float64
	row := func() []float64 {
		g := make([]float64, n)
		switch k := rng.IntN(12); {
		case k < 3 && len(rows) > 0: // parallel to another row, or opposite
			floats.AddScaled(g, []float64{1, 1, 2, -1}[rng.IntN(4)], rows[rng.IntN(len(rows))])
		case k < 5 && len(rows) > 1: // a combination
			floats.AddScaled(g, float64(1+rng.IntN(2)), rows[rng.IntN(len(rows))])
			floats.AddScaled(g, float64(1-2*rng.IntN(2)), rows[rng.IntN(len(rows))])
		case k < 7: // a bound
			g[rng.IntN(n)] = float64(1 - 2*rng.IntN(2))
		case k == 7 && rng.IntN(4) == 0: // zeros
		default:
			for j := range g {
				g[j] = small()
			}
		}
		rows = append(rows, g)
		return g
	}
	for i := range n {
		q.P[i] = -floats.Dot(q.Q.RawRowView(i), z)
	}
	equalities, inequalities := 0, rng.IntN(n+4)
	if rng.IntN(3) == 0 {
		equalities = 1 + rng.IntN(n)
	}
	if equalities > 0 {
		q.A, q.B = mat.NewDense(equalities, n, nil), make([]float64, equalities)
	}
	for r := range equalities {
		g := row()
		q.A.SetRow(r, g)
		q.B[r] = floats.Dot(g, z)
		floats.AddScaled(q.P, -small(), g)
	}
	if inequalities > 0 {
		q.G, q.H = mat.NewDense(inequalities, n, nil), make([]float64, inequalities)
	}
	weak := rng.IntN(2) * rng.IntN(3)
	for r := range inequalities {
		g := row()
		q.G.SetRow(r, g)
		q.H[r] = floats.Dot(g, z)
		switch rng.IntN(5) {
		case 0, 1:
			floats.AddScaled(q.P, -float64(1+rng.IntN(3)), g)
		case 2:
			if weak == 0 {
				q.H[r] += float64(1 + rng.IntN(3))
			}
		case 3:
			q.H[r] += math.Ldexp(1, -rng.IntN(exactShift))
		default:
			if weak < 2 {
				q.H[r]++
			}
		}
	}
	if rng.IntN(8) == 0 {
		q.P[rng.IntN(n)] += math.Ldexp(float64(1-2*rng.IntN(2)), -rng.IntN(exactShift))
	}
	return q, regular
}

// drawExactUnits draws powers of two from 1e-12 to 1e12 as units of objective, rows and variables.
func drawExactUnits(rng *rand.Rand, q *QP) qpUnits {
	u := drawUnits(rng, q, 2, 40, rng.IntN(2) == 0)
	one := func(x []float64) {
		for i := range x {
			x[i] = 1
		}
	}
	if rng.IntN(3) == 0 {
		u.objective = 1
	}
	if rng.IntN(3) == 0 {
		one(u.d)
	}
	if rng.IntN(3) == 0 {
		one(u.rows)
		one(u.equalityRows)
	}
	return u
}

// drawExactProgram draws program number i and its units. Every eighth program has unconnected
// parts.
func drawExactProgram(rng *rand.Rand, i int) (q *QP, units qpUnits, regular bool) {
	q, regular = drawExact(rng)
	units = drawExactUnits(rng, q)
	if i%8 != 0 {
		return q, units, regular
	}
	for len(q.P) > 2 { // the judge tries all sets of rows
		q, regular = drawExact(rng)
	}
	units = qpUnits{objective: 1}
	addUnit := func(p *QP) {
		u := math.Ldexp(1, rng.IntN(81)-40)
		for range p.P {
			units.d = append(units.d, u)
		}
		for range p.H {
			units.rows = append(units.rows, 1/u)
		}
		for range p.B {
			units.equalityRows = append(units.equalityRows, 1/u)
		}
	}
	addUnit(q)
	for len(q.P) < 2 || len(q.P) < 3 && rng.IntN(2) == 0 {
		p, definite := drawExact(rng)
		if len(q.P)+len(p.P) > 3 {
			continue
		}
		whole := glueParts(*q, *p)
		q, regular = &whole, regular && definite
		addUnit(p)
	}
	return q, units, regular
}

// exactDirection draws a direction of small integers in one block. For a semidefinite Q, it adds a
// square to keep Q semidefinite.
func exactDirection(rng *rand.Rand, q *QP, input QPInput, regular bool) *QPGrad {
	g := newQPGrad(q)
	f := g.fields()[input]
	single := rng.IntN(3) == 0
	for i := range f {
		f[i] = float64(rng.IntN(7) - 3)
	}
	if single && len(f) > 0 {
		clear(f)
		f[rng.IntN(len(f))] = 1
	}
	if input == InputQ {
		n := len(q.P)
		w := make([]float64, n)
		for i := range w {
			w[i] = float64(rng.IntN(5) - 2)
		}
		for i := range n {
			for k := range n {
				if regular {
					g.Q.Set(i, k, g.Q.At(max(i, k), min(i, k)))
				} else {
					g.Q.Set(i, k, w[i]*w[k])
				}
			}
		}
	}
	return singleBlock(g, input)
}

// exactCount counts the outcomes of the programs and of the blocks of their derivatives.
type exactCount struct {
	programs, several, strict, answered, refused int
}

// judgeExact describes the wrong derivatives of program number i, compared with exact difference
// quotients.
func judgeExact(i int, count *exactCount) (wrong []string) {
	rng := rand.New(rand.NewPCG(31, uint64(i)))
	q, units, regular := drawExactProgram(rng, i)
	count.programs++
	report := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	defer func() {
		if len(wrong) > 0 {
			fields := (&QPGrad{Q: q.Q, P: q.P, G: q.G, H: q.H, A: q.A, B: q.B}).fields()
			wrong = append(wrong, fmt.Sprintf("Q, p, G, h, A, b: %v", fields), fmt.Sprintf("units: %+v", units))
		}
	}()
	judge, unique := newExactJudge(q, regular)
	other := units.apply(q)
	var s Solution
	if err := s.Solve(&other); err != nil {
		if unique {
			report("not solved: %v", err)
		}
		return wrong
	}
	if !unique {
		count.several++
	} else if judge.strict {
		count.strict++
	}
	kind := rng.IntN(5)
	draw := func(n int, wanted bool) []float64 {
		if n == 0 || !wanted {
			return nil
		}
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(rng.IntN(9) - 4)
		}
		return x
	}
	judge.cot = [3][]float64{draw(len(q.P), kind != 1 && kind != 2), draw(len(q.H), kind == 1 || kind == 3), draw(len(q.B), kind == 2 || kind == 3)}
	if !slices.ContainsFunc(slices.Concat(judge.cot[:]...), func(v float64) bool { return v != 0 }) {
		return wrong
	}
	var value *big.Rat
	if unique {
		value = judge.valueAtBase()
	}
	dz, dlambda, dnu := units.cotangents(judge.cot[0], judge.cot[1], judge.cot[2])
	for input := range QPInput(6) {
		g := newQPGrad(&other)
		if len(g.fields()[input]) == 0 {
			continue
		}
		t := exactDirection(rng, q, input, regular)
		err := s.VJP(nil, singleBlock(g, input), dz, dlambda, dnu)
		jvp, jerr := jvpAlong(&s, judge, &units, t)
		if err != nil && jerr != nil {
			count.refused++
			if judge.strict {
				report("%v: a strict program is refused: %v", input, err)
			}
			continue
		}
		if judge.strict && (err != nil || jerr != nil) {
			report("%v: a strict program is refused: %v, %v", input, err, jerr)
		}
		count.answered++
		if !unique && (input != InputP || err != nil) { // multipliers may be unique, and smooth in the others
			continue
		}
		if value == nil {
			report("%v: VJP %v, JVP %v, but the output is not unique", input, err, jerr)
			continue
		}
		units.convertGradient(g)
		vjp, size := 0.0, 1.0
		for k, v := range t.fields()[input] {
			vjp += v * g.fields()[input][k]
			size += math.Abs(v * g.fields()[input][k])
		}
		for _, sign := range []int{1, -1} {
			if sign < 0 && input == InputQ && !regular {
				continue
			}
			want, ok := judge.differenceQuotient(value, t, sign)
			size := size + math.Abs(want)
			if err == nil && !(ok && math.Abs(vjp-want) <= exactTol*size) {
				report("%v: VJP answers %v along %+v, not %v (%v)", input, vjp, t.fields()[input], want, ok)
			}
			if jerr == nil && !(ok && math.Abs(jvp-want) <= exactTol*size) {
				report("%v: JVP answers %v along %+v, not %v (%v)", input, jvp, t.fields()[input], want, ok)
			}
		}
	}
	return wrong
}

// singleBlock returns a QPGrad that has only the block of g for the given input.
func singleBlock(g *QPGrad, input QPInput) *QPGrad {
	return [...]*QPGrad{{Q: g.Q}, {P: g.P}, {G: g.G}, {H: g.H}, {A: g.A}, {B: g.B}}[input]
}

// jvpAlong returns the derivative of the value along t by JVP, in the original units of the
// program.
func jvpAlong(s *Solution, j *exactJudge, u *qpUnits, t *QPGrad) (float64, error) {
	fields := t.fields()
	input := QPInput(slices.IndexFunc(fields[:], func(f []float64) bool { return f != nil }))
	scaled := u.convertDirection(j.qp, t, input)
	out := [3][]float64{}
	for o, c := range j.cot {
		if c != nil {
			out[o] = make([]float64, len(c))
		}
	}
	if err := s.JVP(nil, out[0], out[1], out[2], scaled); err != nil {
		return 0, err
	}
	dz, dlambda, dnu := u.cotangents(j.cot[0], j.cot[1], j.cot[2])
	return floats.Dot(out[0], dz) + floats.Dot(out[1], dlambda) + floats.Dot(out[2], dnu), nil
}

// convertDirection converts the direction t in one block to the data of the equivalent problem.
func (u *qpUnits) convertDirection(q *QP, t *QPGrad, input QPInput) *QPGrad {
	g := newQPGrad(q)
	copy(g.fields()[input], t.fields()[input])
	other := u.apply(&QP{Q: g.Q, P: g.P, G: g.G, H: g.H, A: g.A, B: g.B})
	return singleBlock(&QPGrad{Q: other.Q, P: other.P, G: other.G, H: other.H, A: other.A, B: other.B}, input)
}

// In any units, every derivative of a strict program is computed, and a derivative that does not
// exist is an error.
func TestQPDerivativeExact(t *testing.T) {
	serial.Test(t)
	var count exactCount
	failed := 0
	judge := func(i int, count *exactCount) {
		wrong := judgeExact(i, count)
		if len(wrong) == 0 {
			return
		}
		if failed++; failed <= 5 {
			t.Errorf("%d:", i)
			for _, w := range wrong {
				t.Log(w)
			}
		}
	}
	for _, i := range exactFound {
		judge(i, &exactCount{})
	}
	n := numtest.Long(*exactPrograms)
	for i := range n {
		judge(*exactFirst+i, &count)
	}
	t.Logf("%d of %d programs wrong; %+v", failed, n, count)
	if count.strict < n/10 || count.refused < n/4 || count.answered < n {
		t.Errorf("the draws are one-sided: %+v", count)
	}
}

// The derivative with respect to A is an error in any units, because the neighbouring programs are
// infeasible.
func TestQPDerivativeOfDependentRowsInAnyUnits(t *testing.T) {
	q := &QP{Q: mat.NewDense(2, 2, nil), P: []float64{-5, 8}, A: mat.NewDense(2, 2, []float64{-1, 1, 1, 2}), B: []float64{.5, -2},
		G: mat.NewDense(2, 2, []float64{0, 1, 1, 0}), H: []float64{-.5, -1}}
	for _, objective := range []float64{1e-12, 1, 1e6, 1e8, 1e12} {
		for _, variable := range []float64{1e-12, 1e-2, 1, 1e2, 1e12} {
			u := qpUnits{objective: objective, d: []float64{variable, variable}, rows: []float64{1, 1}, equalityRows: []float64{1, 1}}
			other := u.apply(q)
			var s Solution
			if err := s.Solve(&other); err != nil {
				t.Fatal(err)
			}
			if missing := refusedInputs(t, s.VJP(nil, newQPGrad(&other), []float64{1, 0}, nil, nil)); len(missing) != 4 {
				t.Errorf("objective times %g, variables in units of %g: refused are %v", objective, variable, missing)
			}
		}
	}
}
