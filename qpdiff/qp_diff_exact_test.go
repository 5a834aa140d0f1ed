package qpdiff

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// complementaritySeed tells apart the parts of a long run.
var complementaritySeed = flag.Uint64("complementarity-seed", 1, "seed of the programs of TestQPDerivativesExact")

// exactDerivative is a program of small integers with a known solution, and what
// rational arithmetic finds about its derivatives.
type exactDerivative struct {
	qp   QP
	n, m int
	q, c exactRows // Q; the rows of G and A
	z    []*big.Rat
	mult []*big.Rat
	// rows are those that are strictly active for some choice of the multipliers,
	// equalities included, weak the active ones that are not.
	rows, weak []int
	// free are the null vectors of Q and the rows, dependent those of the rows'
	// transpose.
	free, dependent exactRows
}

// kind names what is special about the program.
func (e *exactDerivative) kind() string {
	var names []string
	if len(e.weak) > 0 {
		names = append(names, "weak")
	}
	if len(e.dependent) > 0 {
		names = append(names, "dependent")
	}
	if len(e.free) > 0 {
		names = append(names, "free")
	}
	if names == nil {
		names = []string{"strict"}
	}
	return strings.Join(names, " ")
}

func (e *exactDerivative) strict() bool { return e.kind() == "strict" }

// drawExactDerivative draws a program from its solution.
func drawExactDerivative(rng *rand.Rand) *exactDerivative {
	small := func(most int) float64 { return float64(rng.IntN(2*most+1) - most) }
	n := 1 + rng.IntN(4)
	e := &exactDerivative{n: n}
	q := mat.NewDense(n, n, nil)
	if rank := rng.IntN(2 * n); rank > 0 {
		f := mat.NewDense(n, min(rank, n), nil)
		f.Apply(func(int, int, float64) float64 { return small(2) }, f)
		q.Mul(f, f.T())
	}
	z := make([]float64, n)
	if rng.IntN(3) > 0 {
		for j := range z {
			z[j] = small(2)
		}
	}
	active, idle, eq := rng.IntN(n+3), rng.IntN(3), max(0, rng.IntN(5)-2)
	if rng.IntN(2) == 0 { // as a rule no more rows than variables
		eq = min(eq, n)
		active = min(active, n-eq)
	}
	e.m = active + idle
	total := e.m + eq
	rows, mult, r := make([][]float64, total), make([]float64, total), make([]float64, total)
	dependent, weak := rng.IntN(2) == 0, rng.IntN(3) == 0
	for i := range rows {
		row := make([]float64, n)
		switch k := rng.IntN(12); {
		case k == 0 && dependent: // zeros
		case k < 4 && dependent && i > 0: // a combination of others
			for range 1 + rng.IntN(2) {
				f := small(2)
				for j, v := range rows[rng.IntN(i)] {
					row[j] += f * v
				}
			}
		case k < 6: // a bound
			row[rng.IntN(n)] = float64(1 - 2*rng.IntN(2))
		default:
			for j := range row {
				row[j] = small(3)
			}
		}
		rows[i] = row
	}
	p := make([]float64, n)
	for i := range n {
		p[i] = -inner(q.RawRowView(i), z)
	}
	for i, row := range rows {
		r[i] = inner(row, z)
		switch {
		case i >= e.m:
			mult[i] = small(3)
		case i >= active:
			r[i] += float64(1 + rng.IntN(4))
		case !weak || rng.IntN(3) > 0:
			mult[i] = float64(1 + rng.IntN(4))
		}
		for j, v := range row {
			p[j] -= mult[i] * v
		}
	}
	e.qp = QP{P: p}
	if mat.Norm(q, 1) > 0 || rng.IntN(2) == 0 {
		e.qp.Q = q
	}
	if e.m > 0 {
		e.qp.G, e.qp.H = mat.NewDense(e.m, n, slices.Concat(rows[:e.m]...)), r[:e.m]
	}
	if eq > 0 {
		e.qp.A, e.qp.B = mat.NewDense(eq, n, slices.Concat(rows[e.m:]...)), r[e.m:]
	}
	for i := range n {
		e.q = append(e.q, ratRow(q.RawRowView(i)...))
	}
	for _, row := range rows {
		e.c = append(e.c, ratRow(row...))
	}
	e.z, e.mult = ratRow(z...), ratRow(mult...)
	e.classify(active)
	return e
}

// classify finds rows, weak, free and dependent; the first active inequalities are
// active. An active row without a multiplier may be given one if its negative is a
// sum of others, with any weights for those that have one and with weights ≥ 0 for
// those that do not.
func (e *exactDerivative) classify(active int) {
	var held exactRows
	var zero []int
	for r, v := range e.mult {
		if r >= e.m || v.Sign() > 0 {
			e.rows = append(e.rows, r)
			held = append(held, e.c[r])
		} else if r < active {
			zero = append(zero, r)
		}
	}
	across := nullExact(held, e.n) // the rows without a multiplier, seen from there
	seen := func(r int) []*big.Rat {
		var x []*big.Rat
		for _, d := range across {
			x = append(x, dotExact(e.c[r], d))
		}
		return x
	}
	var cone exactRows
	for _, r := range zero {
		cone = append(cone, seen(r))
	}
	for i, r := range zero {
		target := zerosExact(len(across))
		for j, v := range cone[i] {
			target[j].Neg(v)
		}
		if inConeExact(cone, target) {
			e.rows = append(e.rows, r)
		} else {
			e.weak = append(e.weak, r)
		}
	}
	slices.Sort(e.rows)
	c := e.coefficients()
	e.free = nullExact(append(slices.Clone(e.q), c...), e.n)
	e.dependent = nullExact(transposeExact(c, e.n), len(e.rows))
}

func (e *exactDerivative) coefficients() (c exactRows) {
	for _, r := range e.rows {
		c = append(c, e.c[r])
	}
	return c
}

// solve returns a solution (v, y) of the KKT system, nil where there is none.
func (e *exactDerivative) solve(cz, cy []*big.Rat) (v, y []*big.Rat) {
	c := e.coefficients()
	ct := transposeExact(c, e.n)
	var eqs exactRows
	for i := range e.n {
		eqs = append(eqs, append(append(slices.Clone(e.q[i]), ct[i]...), cz[i]))
	}
	for i, row := range c {
		eqs = append(eqs, append(append(slices.Clone(row), zerosExact(len(c))...), cy[i]))
	}
	x, _ := solveExact(eqs, e.n+len(c))
	if x == nil {
		return nil, nil
	}
	return x[:e.n], x[e.n:]
}

// touched reports whether one of the vectors has an entry i.
func touched(basis exactRows, i int) bool {
	return slices.ContainsFunc(basis, func(x []*big.Rat) bool { return x[i].Sign() != 0 })
}

// gradient returns which blocks have a derivative for the cotangents (dz, dy), dy over
// all rows, and what it is. zero: the solution that it is taken at has z = 0.
//
// The derivative exists where the solutions near it agree on the output, whatever
// solution and multipliers are taken: the cotangent is orthogonal to the null vectors;
// and adding one to (z, λ, ν) or to (v, y) does not change the gradient.
func (e *exactDerivative) gradient(dz, dy []*big.Rat, zero bool) (exists [6]bool, g *QPGrad) {
	g = newQPGrad(&e.qp)
	cy := zerosExact(len(e.rows))
	for i, r := range e.rows {
		cy[i].Set(dy[r])
	}
	v, y := e.solve(dz, cy)
	if v == nil {
		return exists, g
	}
	free := len(e.free) > 0
	still := zero && isZeroExact(matVecExact(e.q, v)...) && isZeroExact(cy...)
	exists = [6]bool{!free || still, !free, true, true, true, true}
	vf, zf := floatsExact(v), floatsExact(e.z)
	yf, lf := floatsExact(y), floatsExact(e.mult)
	for i := range e.n {
		g.P[i] = -vf[i]
		for j := range e.n {
			g.Q.Set(i, j, -(vf[i]*zf[j]+zf[i]*vf[j])/2)
		}
	}
	for i, r := range e.rows {
		in, m, b, at := InputG, g.G, g.H, r
		if r >= e.m {
			in, m, b, at = InputA, g.A, g.B, r-e.m
		}
		dependent := touched(e.dependent, i)
		if dependent {
			exists[in+1] = false
		}
		if dependent && (!still || free) || free && (e.mult[r].Sign() != 0 || y[i].Sign() != 0) {
			exists[in] = false
		}
		b[at] = yf[i]
		for j := range e.n {
			m.Set(at, j, -lf[r]*vf[j]-yf[i]*zf[j])
		}
	}
	return exists, g
}

// tangent returns whether the outputs wanted have a derivative along t, which
// changes
// one block, and what it is.
func (e *exactDerivative) tangent(t *QPGrad, wanted [3]bool) (exists bool, dz, dy []*big.Rat) {
	cz, cy := zerosExact(e.n), zerosExact(len(e.rows))
	w := new(big.Rat)
	change := make(exactRows, len(e.rows)) // Ċ
	var qdot exactRows
	for j := range e.n {
		cz[j].Sub(cz[j], ratRow(t.P[j])[0])
		qdot = append(qdot, ratRow(t.Q.RawRowView(j)...))
		for i, v := range qdot[j] {
			cz[j].Sub(cz[j], w.Mul(v, e.z[i]))
		}
	}
	for i, r := range e.rows {
		m, b, at := t.G, t.H, r
		if r >= e.m {
			m, b, at = t.A, t.B, r-e.m
		}
		change[i] = ratRow(m.RawRowView(at)...)
		cy[i].Sub(ratRow(b[at])[0], dotExact(change[i], e.z))
		for j, v := range change[i] {
			cz[j].Sub(cz[j], w.Mul(v, e.mult[r]))
		}
	}
	v, y := e.solve(cz, cy)
	if v == nil || wanted[OutputZ] && len(e.free) > 0 {
		return false, nil, nil
	}
	output := func(r int) QPOutput {
		if r < e.m {
			return OutputLambda
		}
		return OutputNu
	}
	for i, r := range e.rows {
		if wanted[output(r)] && touched(e.dependent, i) {
			return false, nil, nil
		}
	}
	// The changed rows may pick one of the null vectors.
	var rhs [][2][]*big.Rat
	for _, d := range e.free {
		rhs = append(rhs, [2][]*big.Rat{matVecExact(qdot, d), matVecExact(change, d)})
	}
	for _, d := range e.dependent {
		rhs = append(rhs, [2][]*big.Rat{matVecExact(transposeExact(change, e.n), d), zerosExact(len(e.rows))})
	}
	for _, c := range rhs {
		a, b := e.solve(c[0], c[1])
		if a == nil || wanted[OutputZ] && !isZeroExact(a...) {
			return false, nil, nil
		}
		for i, r := range e.rows {
			if wanted[output(r)] && b[i].Sign() != 0 {
				return false, nil, nil
			}
		}
	}
	dy = zerosExact(len(e.c))
	for i, r := range e.rows {
		dy[r] = y[i]
	}
	return true, v, dy
}

func matVecExact(rows exactRows, x []*big.Rat) []*big.Rat {
	out := make([]*big.Rat, len(rows))
	for i, row := range rows {
		out[i] = dotExact(row, x)
	}
	return out
}

// cotangents draws those of z and of all rows, as a rule in the range of the KKT
// matrix.
func (e *exactDerivative) cotangents(rng *rand.Rand) (dz, dy []*big.Rat) {
	draw := func(n int, zero bool) []*big.Rat {
		x := make([]float64, n)
		for i := range x {
			if !zero {
				x[i] = float64(rng.IntN(7) - 3)
			}
		}
		return ratRow(x...)
	}
	mode := rng.IntN(4)
	if mode == 0 { // whatever it is
		dz, dy = draw(e.n, false), draw(len(e.c), rng.IntN(2) == 0)
		return dz, dy
	}
	c := e.coefficients()
	v, y := draw(e.n, mode == 1), draw(len(c), mode == 2)
	dz, dy = matVecExact(e.q, v), draw(len(e.c), false)
	for j, w := range matVecExact(transposeExact(c, e.n), y) {
		dz[j].Add(dz[j], w)
	}
	for i, w := range matVecExact(c, v) {
		dy[e.rows[i]] = w
	}
	return dz, dy
}

// units draws units: powers of two from 1e-12 to 1e12, which leave the
// program exact, or any factors for a program that rounding does not turn into
// another kind.
func (e *exactDerivative) units(rng *rand.Rand) qpUnits {
	const decades = 12
	any := e.strict() && rng.IntN(2) == 0
	which := rng.IntN(16)
	draw := func(bit int) float64 {
		switch v := 2*rng.Float64() - 1; {
		case which&bit == 0:
			return 1
		case any:
			return math.Pow(10, decades*v)
		default:
			return math.Ldexp(1, int(math.Round(decades*math.Log2(10)*v)))
		}
	}
	u := qpUnits{objective: draw(1), d: make([]float64, e.n), rows: make([]float64, len(e.qp.H)), equalityRows: make([]float64, len(e.qp.B))}
	one := draw(2)
	for j := range u.d {
		u.d[j] = one
		if which&4 != 0 {
			u.d[j] = draw(4)
		}
	}
	for r := range u.rows {
		u.rows[r] = draw(8)
	}
	for r := range u.equalityRows {
		u.equalityRows[r] = draw(8)
	}
	return u
}

// exactTally counts the verdicts on the programs of one kind.
type exactTally struct {
	programs, answered, refused int     // blocks whose derivative was given, and given not
	needless                    int     // refused although they exist
	unsolved                    int     // programs without a solution
	wrong                       int     // answers where there is none, or another
	worst                       float64 // error relative to the block
}

// exactTol is the error of a derivative relative to the largest entry of its
// block, in the integers' units.
const exactTol = 1e-6

// check compares the derivatives of e in other units.
func (e *exactDerivative) check(rng *rand.Rand, tally *exactTally) (report error) {
	u := e.units(rng)
	q := u.apply(&e.qp)
	tally.programs++
	var s Solution
	if err := s.Solve(&q); err != nil {
		tally.unsolved++
		if e.strict() {
			return fmt.Errorf("solve: %w", err)
		}
		return nil
	}
	zero := !slices.ContainsFunc(s.Z, func(z float64) bool { return z != 0 })
	weak := false
	for _, r := range e.weak {
		// Where the minimiser is free to leave the row, another one may be found.
		stays := !slices.ContainsFunc(e.free, func(d []*big.Rat) bool { return dotExact(e.c[r], d).Sign() != 0 })
		weak = weak || stays
	}
	bad := func(format string, args ...any) {
		tally.wrong++
		if report == nil {
			report = fmt.Errorf(format, args...)
		}
	}
	differs := func(got, want []float64) bool {
		size, off := 1.0, 0.0
		for i, v := range want {
			size, off = max(size, math.Abs(v)), max(off, math.Abs(v-got[i]))
		}
		if !(off/size <= exactTol) {
			return true
		}
		tally.worst = max(tally.worst, off/size)
		return false
	}
	dz, dy := e.cotangents(rng)
	exists, want := e.gradient(dz, dy, zero)
	zc, lc, nc := u.cotangents(floatsExact(dz), floatsExact(dy[:e.m]), floatsExact(dy[e.m:]))
	got := newQPGrad(&q)
	err := s.VJP(nil, got, zc, lc, nc)
	names := refusedBy(err)
	if err != nil && names == nil {
		return fmt.Errorf("VJP: %w", err)
	}
	u.gradient(got)
	for in, field := range got.fields() {
		if field == nil {
			continue
		}
		exists := exists[in] && !weak
		switch {
		case slices.Contains(names, QPInput(in).String()):
			tally.refused++
			if exists {
				tally.needless++
				if e.strict() {
					bad("VJP: %v of a strict program refused: %v", QPInput(in), err)
				}
			}
		case !exists:
			bad("VJP: %v answered, where there is no derivative: %v", QPInput(in), field)
		case differs(field, want.fields()[in]):
			bad("VJP: %v is %v, want %v", QPInput(in), field, want.fields()[in])
		default:
			tally.answered++
		}
	}
	// Along one block.
	in := rng.IntN(6)
	t := newQPGrad(&e.qp)
	if t.fields()[in] == nil {
		return report
	}
	e.direction(rng, t, in)
	wanted := [3]bool{rng.IntN(2) == 0, e.m > 0 && rng.IntN(3) == 0, len(e.qp.B) > 0 && rng.IntN(3) == 0}
	if wanted == [3]bool{} {
		return report
	}
	ok, vz, vy := e.tangent(t, wanted)
	along := QPGrad(u.apply((*QP)(t)))
	one := [6]QPGrad{{Q: along.Q}, {P: along.P}, {G: along.G}, {H: along.H}, {A: along.A}, {B: along.B}}[in]
	out := [3][]float64{make([]float64, e.n), make([]float64, e.m), make([]float64, len(e.qp.B))}
	units := [3]func(int) float64{
		func(j int) float64 { return u.d[j] },
		func(r int) float64 { return u.rows[r] / u.objective },
		func(r int) float64 { return u.equalityRows[r] / u.objective },
	}
	for i := range out {
		if !wanted[i] {
			out[i] = nil
		}
	}
	err = s.JVP(nil, out[0], out[1], out[2], &one)
	if err != nil {
		if !errors.Is(err, ErrNotDifferentiable) {
			return fmt.Errorf("JVP: %w", err)
		}
		tally.refused++
		if ok && !weak {
			tally.needless++
			if e.strict() {
				bad("JVP along %v of a strict program refused: %v", QPInput(in), err)
			}
		}
		return report
	}
	if !ok || weak {
		bad("JVP along %v answered, outputs %v, where there is no derivative: %v", QPInput(in), wanted, out)
		return report
	}
	tally.answered++
	exact := [3][]float64{floatsExact(vz), floatsExact(vy[:e.m]), floatsExact(vy[e.m:])}
	for i, x := range out {
		for j := range x {
			x[j] *= units[i](j)
		}
		if x != nil && differs(x, exact[i]) {
			bad("JVP along %v: %v is %v, want %v", QPInput(in), QPOutput(i), x, exact[i])
		}
	}
	return report
}

// direction fills the block of t with integers, that of a bound half of the time so
// that dependent rows stay consistent.
func (e *exactDerivative) direction(rng *rand.Rand, t *QPGrad, in int) {
	x := t.fields()[in]
	for i := range x {
		x[i] = float64(rng.IntN(5) - 2)
		if (in == int(InputG) || in == int(InputA)) && rng.IntN(2) == 0 {
			x[i] = 0
		}
	}
	for i := range e.n {
		for j := range i {
			t.Q.Set(i, j, t.Q.At(j, i))
		}
	}
	if rng.IntN(2) == 0 {
		return
	}
	z := make([]float64, e.n)
	for j := range z {
		z[j] = float64(rng.IntN(5) - 2)
	}
	switch QPInput(in) {
	case InputH:
		for i := range x {
			x[i] = inner(e.qp.G.RawRowView(i), z)
		}
	case InputB:
		for i := range x {
			x[i] = inner(e.qp.A.RawRowView(i), z)
		}
	}
}

// refusedBy lists the inputs that an error of a derivative names, nil for another
// error.
func refusedBy(err error) (names []string) {
	var list []error
	switch e := err.(type) {
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		list = e.Unwrap()
	default:
		list = []error{err}
	}
	for _, err := range list {
		var nd *NotDifferentiableError
		if !errors.As(err, &nd) {
			return nil
		}
		for _, in := range nd.Inputs {
			names = append(names, string(in))
		}
	}
	return names
}

// Derivatives of small programs, in units from 1e-12 to 1e12, against rational
// arithmetic: none is wrong without an error, and of strict programs none is
// refused.
func TestQPDerivativesExact(t *testing.T) {
	tallies := map[string]*exactTally{}
	for i := range long(*complementarityProblems) {
		rng := rand.New(rand.NewPCG(*complementaritySeed, uint64(i)))
		e := drawExactDerivative(rng)
		tally := tallies[e.kind()]
		if tally == nil {
			tally = &exactTally{}
			tallies[e.kind()] = tally
		}
		if err := e.check(rng, tally); err != nil {
			t.Errorf("%d, %s: %v", i, e.kind(), err)
		}
	}
	kinds := []string{"strict", "weak", "dependent", "free", "weak dependent", "weak free", "dependent free", "weak dependent free"}
	for _, kind := range kinds {
		if tally := tallies[kind]; tally == nil {
			t.Errorf("no program is %s", kind)
		} else {
			t.Logf("%-20s %+v", kind, *tally)
		}
	}
}

// What rational arithmetic calls a derivative is one: the outputs of the programs on
// both sides differ by it.
func TestQPExactDerivativesByDifferences(t *testing.T) {
	const h, tol = 1e-6, 1e-3
	tested := map[string]int{}
	for i := range long(2000) {
		rng := rand.New(rand.NewPCG(31, uint64(i)))
		e := drawExactDerivative(rng)
		if len(e.weak) > 0 || len(e.free) > 0 {
			continue // weak rows never have one; a free minimiser leaves the choice to the solver
		}
		dz, dy := e.cotangents(rng)
		exists, g := e.gradient(dz, dy, isZeroExact(e.z...))
		cot := slices.Concat(floatsExact(dz), floatsExact(dy))
		definite := len(nullExact(e.q, e.n)) == 0
		for in, ok := range exists {
			d := newQPGrad(&e.qp)
			if !ok || d.fields()[in] == nil || QPInput(in) == InputQ && !definite {
				continue
			}
			e.direction(rng, d, in)
			want, size := inner(g.fields()[in], d.fields()[in]), 1.0
			for k, v := range g.fields()[in] {
				size += math.Abs(v * d.fields()[in][k])
			}
			for _, side := range []float64{h, -h} {
				var s, moved Solution
				if s.Solve(&e.qp) != nil || moved.Solve(shifted(&e.qp, d, side)) != nil {
					t.Errorf("%d, %s, along %v: not solved", i, e.kind(), QPInput(in))
					continue
				}
				got := (inner(cot, stack(&moved)) - inner(cot, stack(&s))) / side
				if !(math.Abs(got-want) <= tol*size*size) {
					t.Errorf("%d, %s, along %v by %g: %v, want %v", i, e.kind(), QPInput(in), side, got, want)
				}
			}
			tested[e.kind()+" "+QPInput(in).String()]++
		}
	}
	for _, in := range []string{"P", "G", "H", "A", "B"} {
		if tested["strict "+in] < 100 || tested["dependent "+in] < 5 {
			t.Errorf("only %v programs", tested)
		}
	}
}
