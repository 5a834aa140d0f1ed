package qpdiff_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/hostile"

	"gonum.org/v1/gonum/mat"
)

// A preciseSum adds products without overflow and with negligible rounding, and keeps the largest
// product.
type preciseSum struct{ sum, term, product, factor big.Float }

func newPreciseSum() *preciseSum {
	t := new(preciseSum)
	for _, f := range []*big.Float{&t.sum, &t.term, &t.product} {
		f.SetPrec(200)
	}
	return t
}

func (t *preciseSum) add(factors ...float64) {
	t.product.SetFloat64(1)
	for _, f := range factors {
		if f == 0 {
			return
		}
		t.product.Mul(&t.product, t.factor.SetFloat64(f))
	}
	t.sum.Add(&t.sum, &t.product)
	if t.product.Abs(&t.product); t.product.Cmp(&t.term) > 0 {
		t.term.Set(&t.product)
	}
}

func (t *preciseSum) value() float64 { v, _ := t.sum.Float64(); return v }

// largest is the largest magnitude of a product.
func (t *preciseSum) largest() float64 { v, _ := t.term.Float64(); return v }

// checkOptimal checks the KKT conditions at s to the solver's tolerance, relative to their terms.
// For entries of very different sizes, it checks only the conditions that do not depend on units.
func checkOptimal(input *hostile.Input, q *qpdiff.QP, s *qpdiff.Solution, p hostile.Profile) {
	tol := s.Tol
	if !(tol > 0) {
		tol = 1e-9
	}
	tol = max(2*tol, 1e-13) // another way of summing, and rounding
	g, a, qr := hostile.Rows(q.G), hostile.Rows(q.A), hostile.Rows(q.Q)
	n := len(q.P)
	if len(s.Z) != n || len(s.Lambda) != len(g) || len(s.Nu) != len(a) {
		input.Failf("Solve: lengths", "%d, %d, %d for %d variables, %d and %d rows", len(s.Z), len(s.Lambda), len(s.Nu), n, len(g), len(a))
		return
	}
	r := s.Residual
	if !hostile.Finite(s.Z, s.Lambda, s.Nu, []float64{s.Objective, r.Primal, r.Dual, r.Gap, r.Relative}) {
		input.Failf("Solve: optimal and not finite", "z = %v, λ = %v, ν = %v, objective %v, residual %+v", s.Z, s.Lambda, s.Nu, s.Objective, r)
		return
	}
	if r.Relative > tol {
		input.Failf("Solve: optimal with a residual above the tolerance", "%+v above %v", r, tol)
	}
	// How large z may have been on the way.
	reach := hostile.MaxAbs(s.Z)
	diagonal := 0.0
	for i, row := range qr {
		diagonal = max(diagonal, math.Abs(row[i]))
	}
	if diagonal > 0 {
		reach += hostile.MaxAbs(q.P) / diagonal
	}
	for k, row := range append(slices.Clone(g), a...) {
		rhs := 0.0
		if k < len(g) {
			rhs = q.H[k]
		} else {
			rhs = q.B[k-len(g)]
		}
		if norm := hostile.MaxAbs(row); norm > 0 && !math.IsInf(rhs, 1) {
			reach += math.Abs(rhs) / norm
		}
	}
	worst, size := 0.0, diagonal*reach
	if hostile.MaxAbs(q.P) == 0 && diagonal == 0 {
		size = 1 // an objective of 0 has no scale, so multipliers of 1e-17 are allowed
	}
	for i := range n {
		t := newPreciseSum()
		t.add(q.P[i])
		if qr != nil {
			for j, v := range qr[i] {
				t.add(v, s.Z[j])
			}
		}
		for k, row := range g {
			t.add(row[i], s.Lambda[k])
		}
		for k, row := range a {
			t.add(row[i], s.Nu[k])
		}
		worst, size = max(worst, math.Abs(t.value())), max(size, t.largest())
	}
	wild := p > hostile.Scaled
	if worst > tol*size+hostile.Subnormal && !wild {
		input.Failf("Solve: optimal and not stationary", "residual %v of %v; z = %v, λ = %v, ν = %v, residual %+v", worst, size, s.Z, s.Lambda, s.Nu, r)
	}
	gap := newPreciseSum()
	check := func(name string, row []float64, rhs, multiplier float64, equality bool) {
		if math.IsInf(rhs, 1) {
			if multiplier != 0 {
				input.Failf("Solve: multiplier of a row that is switched off", "%v", multiplier)
			}
			return
		}
		gap.add(rhs, multiplier)
		t := newPreciseSum()
		t.add(-rhs)
		for j, v := range row {
			t.add(v, s.Z[j])
		}
		if v := t.value(); (v > 0 || equality) && math.Abs(v) > tol*(math.Abs(rhs)+hostile.Norm(row)*reach) && !(wild && hostile.Norm(row) > 0) {
			input.Failf("Solve: optimal and not feasible", "%s is off by %v: %v against %v; z = %v, residual %+v", name, v, row, rhs, s.Z, r)
		}
		if !equality && !(multiplier >= 0) {
			input.Failf("Solve: negative multiplier", "%v", s.Lambda)
		}
	}
	for k, row := range g {
		check(fmt.Sprintf("row %d of G", k), row, q.H[k], s.Lambda[k], false)
	}
	for k, row := range a {
		check(fmt.Sprintf("row %d of A", k), row, q.B[k], s.Nu[k], true)
	}
	objective := newPreciseSum()
	for i, z := range s.Z {
		gap.add(q.P[i], z)
		objective.add(q.P[i], z)
		if qr != nil {
			for j, v := range qr[i] {
				gap.add(z, v, s.Z[j])
				objective.add(.5, z, v, s.Z[j])
			}
		}
	}
	if v := gap.value(); !wild && math.Abs(v) > tol*max(gap.largest(), size*reach)+hostile.Subnormal {
		input.Failf("Solve: optimal with a gap", "%v among %v; z = %v, λ = %v, ν = %v, residual %+v", v, gap.largest(), s.Z, s.Lambda, s.Nu, r)
	}
	if v := objective.value(); math.Abs(v-s.Objective) > 1e-9*objective.largest()+hostile.Subnormal {
		input.Failf("Solve: wrong objective", "%v instead of %v", s.Objective, v)
	}
}

// proofTol is the relative rounding error of a certificate, for entries of similar sizes.
const proofTol = 1e-9

func checkInfeasible(input *hostile.Input, q *qpdiff.QP, s *qpdiff.Solution, p hostile.Profile) bool {
	c := s.Certificate
	g, a := hostile.Rows(q.G), hostile.Rows(q.A)
	if len(c.Lambda) != len(g) || len(c.Nu) != len(a) || len(c.Z) != 0 || !hostile.Finite(c.Lambda, c.Nu, []float64{c.Residual}) {
		input.Failf("Solve: certificate of infeasibility has no numbers", "%+v", c)
		return false
	}
	rhs := newPreciseSum()
	for k, v := range c.Lambda {
		if !(v >= 0) || math.IsInf(q.H[k], 1) && v != 0 {
			input.Failf("Solve: certificate of infeasibility has a wrong sign", "%+v", c)
			return false
		}
		if v != 0 {
			rhs.add(q.H[k], v)
		}
	}
	for k, v := range c.Nu {
		rhs.add(q.B[k], v)
	}
	worst, size := 0.0, 0.0
	for j := range q.P {
		t := newPreciseSum()
		for k, row := range g {
			t.add(row[j], c.Lambda[k])
		}
		for k, row := range a {
			t.add(row[j], c.Nu[k])
		}
		worst, size = max(worst, math.Abs(t.value())), max(size, t.largest())
	}
	if worst > proofTol*size+hostile.Subnormal && p <= hostile.Scaled || !(c.Residual <= proofTol) || math.Abs(rhs.value()+1) > proofTol*max(1, rhs.largest()) {
		input.Failf("Solve: certificate of infeasibility proves nothing", "combination %v of %v, right-hand side %v; %+v", worst, size, rhs.value(), c)
		return false
	}
	return true
}

func checkUnbounded(input *hostile.Input, q *qpdiff.QP, s *qpdiff.Solution, p hostile.Profile) {
	c := s.Certificate
	if len(c.Z) != len(q.P) || !hostile.Finite(c.Z, []float64{c.Residual}) {
		input.Failf("Solve: certificate of unboundedness has no numbers", "%+v", c)
		return
	}
	length := hostile.Norm(c.Z)
	all := 0.0
	for _, row := range hostile.Rows(q.Q) {
		all = max(all, hostile.Norm(row))
	}
	off := func(row []float64, size float64) (float64, float64) {
		t := newPreciseSum()
		for j, v := range row {
			t.add(v, c.Z[j])
		}
		// In the solver's own units of z, its tolerance of 1e-13 may exceed proofTol, because the
		// units of the profile Scaled differ by up to 1e12.
		if p >= hostile.Scaled {
			size = math.Inf(1)
		}
		return t.value(), proofTol*size*length + hostile.Subnormal
	}
	for i, row := range hostile.Rows(q.Q) {
		if v, tol := off(row, all); math.Abs(v) > tol {
			input.Failf("Solve: certificate of unboundedness: curvature", "row %d of Qz is %v > %v; %+v", i, v, tol, c)
		}
	}
	for k, row := range hostile.Rows(q.G) {
		if v, tol := off(row, hostile.Norm(row)); v > tol && !math.IsInf(q.H[k], 1) {
			input.Failf("Solve: certificate of unboundedness: leaves a row", "row %d of Gz is %v > %v; %+v", k, v, tol, c)
		}
	}
	for k, row := range hostile.Rows(q.A) {
		if v, tol := off(row, hostile.Norm(row)); math.Abs(v) > tol {
			input.Failf("Solve: certificate of unboundedness: leaves an equation", "row %d of Az is %v > %v; %+v", k, v, tol, c)
		}
	}
	slope := newPreciseSum()
	for j, p := range q.P {
		slope.add(p, c.Z[j])
	}
	if math.Abs(slope.value()+1) > proofTol*max(1, slope.largest()) || !(c.Residual <= proofTol) {
		input.Failf("Solve: certificate of unboundedness: slope", "%v; %+v", slope.value(), c)
	}
	// A direction proves nothing if no point is feasible, which rounding may hide for entries of
	// all sizes.
	if p > hostile.Integer {
		return
	}
	feasibility := qpdiff.QP{P: make([]float64, len(q.P)), G: q.G, H: q.H, A: q.A, B: q.B}
	var f qpdiff.Solution
	if f.Solve(&feasibility); f.Status == qpdiff.Infeasible && checkInfeasible(input, &feasibility, &f, p) {
		input.Failf("Solve: an infeasible program is called unbounded", "%+v proves that no point is feasible", f.Certificate)
	}
}

func checkNonconvex(input *hostile.Input, q *qpdiff.QP, s *qpdiff.Solution) {
	c := s.Certificate
	if len(c.Z) != len(q.P) || !hostile.Finite(c.Z, []float64{c.Residual}) {
		input.Failf("Solve: certificate of nonconvexity has no numbers", "%+v", c)
		return
	}
	t := newPreciseSum()
	for i, row := range hostile.Rows(q.Q) {
		for j, v := range row {
			t.add(c.Z[i], v, c.Z[j])
		}
	}
	if !(t.sum.Sign() < 0) || math.Abs(hostile.MaxAbs(c.Z)-1) > 1e-12 {
		input.Failf("Solve: certificate of nonconvexity proves nothing", "zᵀQz = %v, %+v", t.value(), c)
	}
}

// solveAndCheck solves the program, checks the result, and reports whether it is a solution.
func solveAndCheck(input *hostile.Input, s *qpdiff.Solution, q *qpdiff.QP, p hostile.Profile) bool {
	const call = "Solve"
	var kept hostile.Memory
	kept.Matrix(q.Q, q.G, q.A)
	kept.Vector(q.P, q.H, q.B)
	err := s.Solve(q)
	kept.Check(input, call)
	ok := input.Answer(call, err)
	if input.Replaying() {
		fmt.Printf("%s (%v): Q = %v, P = %v, G = %v, H = %v, A = %v, B = %v\n  Tol %v, MaxIter %v: %v, z = %v, λ = %v, ν = %v, %+v, residual %+v, %d %d %d, error %v\n", call, p,
			hostile.Rows(q.Q), q.P, hostile.Rows(q.G), q.H, hostile.Rows(q.A), q.B, s.Tol, s.MaxIter, s.Status, s.Z, s.Lambda, s.Nu, s.Certificate, s.Residual, s.Iterations, s.Proximal, s.Refinements, err)
	}
	if ok != (s.Status == qpdiff.Optimal) {
		input.Failf("Solve: error and status differ", "%v with status %v", err, s.Status)
	}
	for status, kind := range map[qpdiff.Status]error{qpdiff.Infeasible: qpdiff.ErrInfeasible, qpdiff.Unbounded: qpdiff.ErrUnbounded, qpdiff.Nonconvex: qpdiff.ErrNonconvex} {
		if (s.Status == status) != errors.Is(err, kind) {
			input.Failf("Solve: error and status differ", "%v with status %v", err, s.Status)
		}
	}
	switch s.Status {
	case qpdiff.Optimal:
		checkOptimal(input, q, s, p)
	case qpdiff.Infeasible:
		checkInfeasible(input, q, s, p)
	case qpdiff.Unbounded:
		checkUnbounded(input, q, s, p)
	case qpdiff.Nonconvex:
		checkNonconvex(input, q, s)
	}
	r := s.Residual
	if !hostile.Finite(s.Z, s.Lambda, s.Nu, []float64{s.Objective, r.Primal, r.Dual, r.Gap, r.Relative}) {
		input.Failf("Solve: results are not finite", "status %v, z = %v, λ = %v, ν = %v, objective %v, residual %+v", s.Status, s.Z, s.Lambda, s.Nu, s.Objective, r)
	}
	return ok
}

// gradStorage returns the slices that together store g.
func gradStorage(g *qpdiff.QPGrad) [][]float64 {
	var b [][]float64
	for _, m := range []*mat.Dense{g.Q, g.G, g.A} {
		b = append(b, hostile.Rows(m)...)
	}
	return append(b, g.P, g.H, g.B)
}

// drawQPGrad draws a QPGrad for n variables, m inequalities and e equalities, without empty blocks.
func drawQPGrad(input *hostile.Input, n, m, e int, draw func(n int) []float64) *qpdiff.QPGrad {
	matrix := func(r int) *mat.Dense {
		if r == 0 || n == 0 {
			return nil
		}
		return mat.NewDense(r, n, draw(r*n))
	}
	return &qpdiff.QPGrad{Q: matrix(n), P: draw(n), G: matrix(m), H: draw(m), A: matrix(e), B: draw(e)}
}

func zeros(n int) []float64 { return make([]float64, n) }

// dropBlocks removes blocks at random.
func dropBlocks(input *hostile.Input, g *qpdiff.QPGrad) {
	out := func() bool { return input.IntN(3) == 0 }
	if out() {
		g.Q = nil
	}
	if out() {
		g.P = nil
	}
	if out() {
		g.G = nil
	}
	if out() {
		g.H = nil
	}
	if out() {
		g.A = nil
	}
	if out() {
		g.B = nil
	}
}

// checkQPDerivatives computes every derivative of s for cotangents and tangents of the given
// profile.
func checkQPDerivatives(input *hostile.Input, q *qpdiff.QP, s *qpdiff.Solution, profile hostile.Profile) {
	n, m, e := len(q.P), len(hostile.Rows(q.G)), len(hostile.Rows(q.A))
	cotangent := func(k int) []float64 {
		if input.IntN(4) == 0 {
			return nil
		}
		return input.Vector(profile, k)
	}
	for range 1 + input.IntN(3) {
		switch input.IntN(4) {
		case 0:
			g := drawQPGrad(input, n, m, e, zeros)
			dropBlocks(input, g)
			dz, dl, dn := cotangent(n), cotangent(m), cotangent(e)
			var kept hostile.Memory
			kept.Vector(dz, dl, dn, s.Z, s.Lambda, s.Nu)
			err := s.VJP(nil, g, dz, dl, dn)
			kept.Check(input, "VJP")
			input.Answer("VJP", err)
			if !hostile.Finite(gradStorage(g)...) && !errors.Is(err, qpdiff.ErrNotFinite) {
				input.Failf("VJP: not finite", "%v with error %v for dz = %v, dλ = %v, dν = %v", gradStorage(g), err, dz, dl, dn)
			}
			if again := drawQPGrad(input, n, m, e, zeros); err == nil {
				again.Q, again.P, again.G, again.H, again.A, again.B = shapedLike(again.Q, g.Q), keepWanted(again.P, g.P), shapedLike(again.G, g.G), keepWanted(again.H, g.H), shapedLike(again.A, g.A), keepWanted(again.B, g.B)
				if err := s.VJP(nil, again, dz, dl, dn); err != nil {
					input.Failf("VJP: the second call fails", "%v", err)
				} else if !slices.EqualFunc(gradStorage(g), gradStorage(again), hostile.SameBits) {
					input.Failf("VJP: the second call has other bits", "%v, then %v", gradStorage(g), gradStorage(again))
				}
			}
		case 1, 2:
			t := drawQPGrad(input, n, m, e, func(k int) []float64 { return input.Vector(profile, k) })
			dropBlocks(input, t)
			dz, dl, dn := zeros(n), zeros(m), zeros(e)
			var kept hostile.Memory
			kept.Vector(gradStorage(t)...)
			call, f := "JVP", s.JVP
			if input.IntN(2) == 0 {
				call, f = "DirectionalDerivative", s.DirectionalDerivative
			}
			err := f(nil, dz, dl, dn, t)
			kept.Check(input, call)
			input.Answer(call, err)
			if !hostile.Finite(dz, dl, dn) && !errors.Is(err, qpdiff.ErrNotFinite) {
				input.Failf(call+": not finite", "%v, %v, %v with error %v", dz, dl, dn, err)
			}
		default:
			out, block := qpdiff.QPOutput(input.IntN(3)), qpdiff.QPInput(input.IntN(6))
			j, err := s.Jacobian(out, block)
			input.Answer("Jacobian", err)
			if !hostile.FiniteMatrix(j) {
				input.Failf("Jacobian: not finite", "∂%v/∂%v with error %v: %v", out, block, err, hostile.Rows(j))
			}
		}
	}
}

func shapedLike(m, wanted *mat.Dense) *mat.Dense {
	if wanted == nil {
		return nil
	}
	return m
}

func keepWanted(v, wanted []float64) []float64 {
	if wanted == nil {
		return nil
	}
	return v
}

// drawSettings draws a Solution's.
func drawSettings(input *hostile.Input) *qpdiff.Solution {
	s := &qpdiff.Solution{Generalised: input.IntN(4) == 0}
	if input.IntN(6) == 0 {
		s.Tol = []float64{1e-6, 1e-12, 1, 1e-300, -1, math.NaN(), math.Inf(1)}[input.IntN(7)]
	}
	if input.IntN(6) == 0 {
		s.MaxIter = []int{1, 2, 5, -1, math.MaxInt32}[input.IntN(5)]
	}
	return s
}

// anyQP draws a program of no particular kind.
func anyQP(input *hostile.Input, p hostile.Profile, n, m, e int) qpdiff.QP {
	q := qpdiff.QP{P: input.Vector(p, n), G: input.Matrix(p, m, n), H: input.Vector(p, m), A: input.Matrix(p, e, n), B: input.Vector(p, e)}
	if input.IntN(3) == 0 {
		for i := range q.H {
			if input.IntN(3) == 0 {
				q.H[i] = math.Inf(1)
			}
		}
	}
	if n == 0 {
		return q
	}
	switch b := input.Matrix(p, 1+input.IntN(n+1), n); input.IntN(8) {
	case 0:
	case 1: // symmetric, hardly ever convex
		q.Q = input.Matrix(p, n, n)
		for i := range n {
			for j := range i {
				q.Q.Set(i, j, q.Q.At(j, i))
			}
		}
	case 2: // not even symmetric
		q.Q = input.Matrix(p, n, n)
	case 3: // diagonal
		q.Q = mat.NewDense(n, n, nil)
		for i := range n {
			q.Q.Set(i, i, math.Abs(input.Value(p)))
		}
		q.Q = input.Window(q.Q)
	default: // a sum of squares, often of too few
		q.Q = new(mat.Dense)
		q.Q.Mul(b.T(), b)
		if input.IntN(2) == 0 {
			ridge := math.Abs(input.Value(p))
			for i := range n {
				q.Q.Set(i, i, q.Q.At(i, i)+ridge)
			}
		}
		q.Q = input.Window(q.Q)
	}
	return q
}

// distortProgram gives one part of q another shape.
func distortProgram(input *hostile.Input, q *qpdiff.QP) {
	n := len(q.P)
	shape := func() *mat.Dense { return input.Matrix(hostile.Integer, input.IntN(4), input.IntN(n+3)) }
	switch input.IntN(6) {
	case 0:
		q.Q = shape()
	case 1:
		q.P = input.Vector(hostile.Integer, input.IntN(n+3))
	case 2:
		q.G = shape()
	case 3:
		q.H = input.Vector(hostile.Integer, input.IntN(4))
	case 4:
		q.A = shape()
	default:
		q.B = input.Vector(hostile.Integer, input.IntN(4))
	}
}

// hostileQP solves programs of all kinds one after the other, from warm and cold starts.
func hostileQP(input *hostile.Input) {
	s := drawSettings(input)
	n, m, e := input.IntN(9), input.IntN(11), input.IntN(4)
	for range 1 + input.IntN(3) {
		p := input.Profile()
		q := anyQP(input, p, n, m, e)
		if input.IntN(12) == 0 {
			distortProgram(input, &q)
		}
		ok := solveAndCheck(input, s, &q, p)
		cotangents := hostile.Tame
		if input.IntN(4) == 0 {
			cotangents = input.Profile()
		}
		if ok || input.IntN(20) == 0 { // without a solution: an error
			checkQPDerivatives(input, &q, s, cotangents)
		}
		// Reset makes a Solution new.
		if input.IntN(3) == 0 {
			s.Reset()
			fresh := &qpdiff.Solution{Tol: s.Tol, MaxIter: s.MaxIter, Generalised: s.Generalised}
			errOld, errNew := s.Solve(&q), fresh.Solve(&q)
			if s.Status != fresh.Status || (errOld == nil) != (errNew == nil) || !hostile.SameBits(s.Z, fresh.Z) || !hostile.SameBits(s.Lambda, fresh.Lambda) || !hostile.SameBits(s.Nu, fresh.Nu) {
				input.Failf("Reset: other bits than a new Solution", "%v %v %v, new: %v %v %v", s.Status, s.Z, s.Lambda, fresh.Status, fresh.Z, fresh.Lambda)
			}
		}
		if input.IntN(3) == 0 {
			n, m, e = input.IntN(9), input.IntN(11), input.IntN(4)
		}
	}
}

// A knownProgram is constructed from its solution, from integers or from normal numbers in random
// units.
type knownProgram struct {
	qpdiff.QP
	z, lambda, nu []float64
	weak          []int // rows with slack and multiplier 0
	definite      bool
	// strict: no row is weakly active, and no multiplier or slack is small unless it is 0
	strict bool
	// cond is the condition number of the KKT matrix with the active rows, each scaled to norm 1.
	// It is infinite for a singular matrix. condStrict is the condition number without weakly
	// active rows.
	cond, condStrict float64
}

func drawKnown(input *hostile.Input, p hostile.Profile, scaled bool) knownProgram {
	n := 1 + input.IntN(7)
	m, e := input.IntN(10), input.IntN(min(n, 3))
	k := knownProgram{z: input.Vector(p, n), lambda: make([]float64, m), nu: input.Vector(p, e), definite: input.IntN(4) > 0, strict: true}
	k.G, k.A, k.P, k.H, k.B = input.Matrix(p, m, n), input.Matrix(p, e, n), make([]float64, n), make([]float64, m), make([]float64, e)
	b := mat.NewDense(1+input.IntN(n), n, nil)
	r, _ := b.Dims()
	for i := range r {
		copy(b.RawRowView(i), input.Vector(p, n))
	}
	k.Q = new(mat.Dense)
	k.Q.Mul(b.T(), b)
	if k.definite {
		for i := range n {
			k.Q.Set(i, i, k.Q.At(i, i)+1)
		}
	}
	if input.IntN(3) == 0 {
		clear(k.z)
	}
	var active, strict [][]float64
	for i, row := range hostile.Rows(k.G) {
		slack := 0.0
		switch input.IntN(6) {
		case 0, 1:
			k.lambda[i] = 1 + math.Abs(input.Value(p))
			active, strict = append(active, row), append(strict, row)
		case 2:
			if input.IntN(2) == 0 {
				k.weak, k.strict = append(k.weak, i), false
				active = append(active, row)
				break
			}
			fallthrough
		default:
			slack = 1 + math.Abs(input.Value(p))
		}
		k.H[i] = slack
		for j, v := range row {
			k.H[i] += v * k.z[j]
			k.P[j] -= v * k.lambda[i]
		}
	}
	for i, row := range hostile.Rows(k.A) {
		active, strict = append(active, row), append(strict, row)
		for j, v := range row {
			k.B[i] += v * k.z[j]
			k.P[j] -= v * k.nu[i]
		}
	}
	for i, row := range hostile.Rows(k.Q) {
		for j, v := range row {
			k.P[i] -= v * k.z[j]
		}
	}
	k.cond, k.condStrict = kktConditionNumber(hostile.Rows(k.Q), active), kktConditionNumber(hostile.Rows(k.Q), strict)
	if scaled {
		power := func() float64 { return math.Ldexp(1, input.IntN(41)-20) }
		objective := power()
		k.Q.Scale(objective, k.Q)
		for j := range k.P {
			k.P[j] *= objective
		}
		scale := func(rows [][]float64, rhs, multipliers []float64) {
			for i, row := range rows {
				s := power()
				for j := range row {
					row[j] *= s
				}
				rhs[i] *= s
				multipliers[i] *= objective / s
			}
		}
		scale(hostile.Rows(k.G), k.H, k.lambda)
		scale(hostile.Rows(k.A), k.B, k.nu)
	}
	return k
}

// kktConditionNumber returns the condition number of the KKT matrix of Q and the active rows c,
// both scaled to norm 1.
func kktConditionNumber(q, c [][]float64) float64 {
	n := len(q)
	size := n + len(c)
	k := mat.NewDense(size, size, nil)
	big := 0.0
	for _, row := range q {
		big = max(big, hostile.Norm(row))
	}
	for i, row := range q {
		for j, v := range row {
			if big > 0 {
				v /= big
			}
			k.Set(i, j, v)
		}
	}
	for i, row := range c {
		norm := hostile.Norm(row)
		if norm == 0 {
			return math.Inf(1)
		}
		for j, v := range row {
			k.Set(n+i, j, v/norm)
			k.Set(j, n+i, v/norm)
		}
	}
	var svd mat.SVD
	if !svd.Factorize(k, mat.SVDNone) {
		return math.Inf(1)
	}
	values := svd.Values(nil)
	if least := values[size-1]; least > 1e-13*values[0] {
		return values[0] / least
	}
	return math.Inf(1)
}

// hostileKnown solves programs whose solution is known, and checks the values and the derivatives.
func hostileKnown(input *hostile.Input) {
	p := []hostile.Profile{hostile.Tame, hostile.Integer, hostile.Integer}[input.IntN(3)]
	scaled := input.IntN(2) == 0
	k := drawKnown(input, p, scaled)
	var s qpdiff.Solution
	warm := func(q *qpdiff.QP) {
		if err := s.Solve(q); input.Replaying() {
			fmt.Printf("Solve first: Q = %v, P = %v, G = %v, H = %v, A = %v, B = %v\n%v\n", hostile.Rows(q.Q), q.P, hostile.Rows(q.G), q.H, hostile.Rows(q.A), q.B, err)
		}
	}
	switch input.IntN(6) {
	case 0: // warm, from a program of no meaning
		q := anyQP(input, input.Profile(), len(k.P), len(k.H), len(k.B))
		warm(&q)
	case 1: // from one with the same matrices, in other units
		q := k.QP
		scale := func(v []float64) []float64 {
			moved, by := slices.Clone(v), math.Pow(10, 12*(2*input.Float64()-1))
			for i := range moved {
				moved[i] *= by
			}
			return moved
		}
		q.P, q.H, q.B = scale(q.P), scale(q.H), scale(q.B)
		warm(&q)
	case 2: // from one that differs in the rows only
		q := k.QP
		q.G = input.Matrix([]hostile.Profile{hostile.Scaled, hostile.Wild}[input.IntN(2)], len(k.H), len(k.P))
		warm(&q)
	}
	if !solveAndCheck(input, &s, &k.QP, p) {
		input.Failf("Solve: refuses a program with a solution, "+s.Status.String(), "condition %.3g, definite %v, z = %v, λ = %v, ν = %v", k.cond, k.definite, k.z, k.lambda, k.nu)
		return
	}
	n, m, e := len(k.P), len(k.H), len(k.B)
	size := 1 + hostile.MaxAbs(k.z)
	if cond := max(k.cond, k.condStrict); cond < 1e6 {
		// Rounding of P changes z in proportion to the largest entry of P divided by the largest
		// entry of Q.
		slope := 1.0
		if norm := hostile.MaxAbs(hostile.Rows(k.Q)...); norm > 0 {
			slope += hostile.MaxAbs(k.P) / norm
		}
		for j, z := range s.Z {
			if math.Abs(z-k.z[j]) > 1e-13*cond*size*slope {
				input.Failf("Solve: another solution than the only one", "z = %v instead of %v, condition %.3g", s.Z, k.z, cond)
				return
			}
		}
	}
	w := [][]float64{input.Vector(hostile.Tame, n), input.Vector(hostile.Tame, m), input.Vector(hostile.Tame, e)}
	g := drawQPGrad(input, n, m, e, zeros)
	err := s.VJP(nil, g, w[0], w[1], w[2])
	input.Answer("VJP", err)
	if !hostile.Finite(gradStorage(g)...) && !errors.Is(err, qpdiff.ErrNotFinite) {
		input.Failf("VJP: not finite", "%v with error %v", gradStorage(g), err)
	}
	if math.IsInf(k.cond, 1) || k.cond > 1e6 {
		checkQPDerivatives(input, &k.QP, &s, hostile.Tame)
		return
	}
	if err == nil && !k.strict {
		input.Failf("VJP: answers at weakly active rows", "rows %v, condition %.3g, Q = %v, P = %v, G = %v, H = %v, A = %v, B = %v", k.weak, k.cond, hostile.Rows(k.Q), k.P, hostile.Rows(k.G), k.H, hostile.Rows(k.A), k.B)
		return
	}
	if err != nil && k.strict {
		input.Failf("VJP: refuses a regular solution", "condition %.3g, λ = %v, Q = %v, P = %v, G = %v, H = %v: %v", k.cond, s.Lambda, hostile.Rows(k.Q), k.P, hostile.Rows(k.G), k.H, err)
	}
	t := drawQPGrad(input, n, m, e, func(k int) []float64 { return input.Vector(hostile.Tame, k) })
	for i := range n {
		for j := range i {
			t.Q.Set(i, j, t.Q.At(j, i))
		}
	}
	if err != nil {
		// One-sided derivatives exist.
		dz, dl, dn := zeros(n), zeros(m), zeros(e)
		err := s.DirectionalDerivative(nil, dz, dl, dn, t)
		if !input.Answer("DirectionalDerivative", err) && len(k.weak) > 0 && k.condStrict < 1e6 {
			input.Failf("DirectionalDerivative: refuses a regular point", "condition %.3g, weak rows %v: %v", k.cond, k.weak, err)
		}
		return
	}
	// Rows that are scaled by 2^±20 would move by their whole size along the unscaled tangents.
	if scaled {
		return
	}
	d := [][]float64{zeros(n), zeros(m), zeros(e)}
	if err := s.JVP(nil, d[0], d[1], d[2], t); !input.Answer("JVP", err) {
		input.Failf("JVP: refuses where VJP answers", "%v", err)
		return
	}
	left, right := hostile.Dot(d, w), hostile.Dot(gradStorage(g), gradStorage(t))
	length := hostile.Norm(gradStorage(g)...)*hostile.Norm(gradStorage(t)...) + hostile.Norm(d...)*hostile.Norm(w...)
	// Each of the two systems is solved to a residual of 1e-14, relative to its terms.
	if math.Abs(left-right) > 2e-14*k.cond*length {
		input.Failf("VJP and JVP are not adjoint", "%v and %v, condition %.3g", left, right, k.cond)
	}
	if input.IntN(4) > 0 || k.cond > 1e4 {
		return
	}
	// Steps of at most 1e-5 do not change the working set, because a tangent is about as long as
	// the shortest slack.
	var probe qpdiff.Solution
	value := func(step float64) (float64, bool) {
		matrix := func(m, t *mat.Dense) *mat.Dense {
			if m == nil || m.IsEmpty() {
				return nil
			}
			moved := mat.DenseCopyOf(m)
			for i := range hostile.Rows(moved) {
				for j, v := range t.RawRowView(i) {
					moved.Set(i, j, moved.At(i, j)+step*v)
				}
			}
			return moved
		}
		vector := func(v, t []float64) []float64 {
			moved := slices.Clone(v)
			for i := range moved {
				moved[i] += step * t[i]
			}
			return moved
		}
		q := qpdiff.QP{Q: matrix(k.Q, t.Q), P: vector(k.P, t.P), G: matrix(k.G, t.G), H: vector(k.H, t.H), A: matrix(k.A, t.A), B: vector(k.B, t.B)}
		if probe.Solve(&q) != nil {
			return 0, false
		}
		return hostile.Dot([][]float64{probe.Z, probe.Lambda, probe.Nu}, w), true
	}
	input.Slope("VJP", value, right, length)
}

// hostileProofs draws infeasible programs, and programs with a feasible point and an unbounded
// objective.
func hostileProofs(input *hostile.Input) {
	n, m := 1+input.IntN(6), input.IntN(6)
	q := anyQP(input, hostile.Integer, n, m, input.IntN(2))
	for i, h := range q.H {
		if math.IsInf(h, 1) {
			q.H[i] = 3
		}
	}
	if q.G == nil || q.G.IsEmpty() {
		q.G, q.H = mat.NewDense(1, n, input.Vector(hostile.Integer, n)), []float64{1}
	}
	g := hostile.Rows(q.G)
	infeasible := input.IntN(2) == 0
	add := func(row []float64, h float64) {
		wider := mat.NewDense(len(g)+1, n, nil)
		for i, r := range append(slices.Clone(g), row) {
			copy(wider.RawRowView(i), r)
		}
		q.G, q.H = wider, append(q.H, h)
		g = hostile.Rows(q.G)
	}
	// The row −Σ c_i g_i z ≤ −Σ c_i h_i − gap contradicts the sum of the rows if and only if gap >
	// 0.
	row, rhs := make([]float64, n), 0.0
	for i, r := range g {
		c := float64(input.IntN(3))
		for j, v := range r {
			row[j] -= c * v
		}
		rhs -= c * q.H[i]
	}
	if infeasible {
		gap := []float64{1, 1, .5, .01}[input.IntN(4)]
		add(row, rhs-gap)
	} else {
		z := input.Vector(hostile.Integer, n)
		for i, r := range g {
			v := 0.0
			for j, x := range r {
				v += x * z[j]
			}
			q.H[i] = v + float64(input.IntN(3))
		}
		for i, r := range hostile.Rows(q.A) {
			q.B[i] = 0
			for j, x := range r {
				q.B[i] += x * z[j]
			}
		}
	}
	var s qpdiff.Solution
	solveAndCheck(input, &s, &q, hostile.Integer)
	switch {
	case infeasible && s.Status != qpdiff.Infeasible && s.Status != qpdiff.Nonconvex && s.Status != qpdiff.Unsolved:
		input.Failf("Solve: an infeasible program is called "+s.Status.String(), "Q = %v, P = %v, G = %v, H = %v, A = %v, B = %v", hostile.Rows(q.Q), q.P, hostile.Rows(q.G), q.H, hostile.Rows(q.A), q.B)
	case !infeasible && (s.Status == qpdiff.Infeasible || s.Status == qpdiff.IterationLimit):
		input.Failf("Solve: a feasible program is called "+s.Status.String(), "Q = %v, P = %v, G = %v, H = %v, A = %v, B = %v", hostile.Rows(q.Q), q.P, hostile.Rows(q.G), q.H, hostile.Rows(q.A), q.B)
	}
}

// hostileBatch compares batches with items one by one.
func hostileBatch(input *hostile.Input) {
	k := input.IntN(4)
	qps, sols, alone := make([]qpdiff.QP, k), make([]qpdiff.Solution, k), make([]qpdiff.Solution, k)
	failed := false
	n, m := 1+input.IntN(4), input.IntN(5)
	var dz [][]float64
	grads, single := make([]qpdiff.QPGrad, k), make([]qpdiff.QPGrad, k)
	sum := zeros(n)
	for i := range qps {
		p := input.Profile()
		if input.IntN(2) == 0 {
			p = hostile.Integer
		}
		qps[i] = anyQP(input, p, n, m, 0)
		if input.IntN(20) == 0 {
			distortProgram(input, &qps[i])
		}
		failed = alone[i].Solve(&qps[i]) != nil || failed
	}
	if err := qpdiff.SolveBatch(sols, qps); input.Answer("SolveBatch", err) == failed {
		input.Failf("SolveBatch: error differs from that of the items", "%v, one by one failed: %v", err, failed)
	}
	failed = false
	shared := input.IntN(2) == 0
	for i := range sols {
		if sols[i].Status != alone[i].Status || !hostile.SameBits(sols[i].Z, alone[i].Z) || !hostile.SameBits(sols[i].Lambda, alone[i].Lambda) {
			input.Failf("SolveBatch: other bits than one by one", "item %d: %v %v, alone %v %v", i, sols[i].Status, sols[i].Z, alone[i].Status, alone[i].Z)
		}
		if len(qps[i].P) != n {
			return // another shape: no shared cotangents
		}
		dz = append(dz, input.Vector(hostile.Tame, n))
		grads[i].P, single[i].P = zeros(n), zeros(n)
		if shared {
			grads[i].P = sum
		}
		err := alone[i].VJP(nil, &single[i], dz[i], nil, nil)
		failed = failed || err != nil
	}
	if err := qpdiff.VJPBatch(nil, grads, sols, dz, nil, nil); input.Answer("VJPBatch", err) == failed {
		input.Failf("VJPBatch: error differs from that of the items", "%v, one by one failed: %v", err, failed)
	}
	want := zeros(n)
	for i := range grads {
		if !hostile.Finite(grads[i].P) {
			input.Failf("VJPBatch: not finite", "%v", grads[i].P)
		}
		if !shared && !hostile.SameBits(grads[i].P, single[i].P) {
			input.Failf("VJPBatch: other bits than one by one", "%v and %v", grads[i].P, single[i].P)
		}
		for j, v := range single[i].P {
			want[j] += v
		}
	}
	if shared && k > 0 && !hostile.SameBits(sum, want) {
		input.Failf("VJPBatch: other bits than one by one", "shared: %v and %v", sum, want)
	}
}

// hostileProgram compares derivatives of a QP with derivatives of an equal ConvexProgram in P and
// H.
func hostileProgram(input *hostile.Input) {
	p := input.Profile()
	var k knownProgram
	if p == hostile.Tame || p == hostile.Integer {
		k = drawKnown(input, p, false)
	} else {
		k.QP = anyQP(input, p, 1+input.IntN(4), input.IntN(5), input.IntN(2))
	}
	var s qpdiff.Solution
	if s.Solve(&k.QP) != nil {
		s.Z, s.Lambda, s.Nu = input.Vector(p, len(k.P)), input.Vector(p, len(hostile.Rows(k.G))), input.Vector(p, len(hostile.Rows(k.A)))
	}
	n, m := len(k.P), len(hostile.Rows(k.G))
	program := qpdiff.ConvexProgram{Objective: func(d *qpdiff.Partials, x, alpha []float64) float64 {
		v := 0.0
		for i := range x {
			d.X[i] += alpha[i]
			v += alpha[i] * x[i]
			for j := range x {
				if k.Q != nil && !k.Q.IsEmpty() {
					d.X[i] += k.Q.At(i, j) * x[j]
					v += .5 * x[i] * k.Q.At(i, j) * x[j]
					d.XX.Set(i, j, k.Q.At(i, j))
				}
			}
			d.XAlpha.Set(i, i, 1)
		}
		return v
	}}
	affine := func(row []float64, rhs int, value float64) qpdiff.ParamFunc {
		return func(d *qpdiff.Partials, x, alpha []float64) float64 {
			v := -value
			if rhs >= 0 {
				v = -alpha[rhs]
				d.Alpha[rhs] = -1
			}
			for j, c := range row {
				d.X[j] = c
				v += c * x[j]
			}
			return v
		}
	}
	alpha := append(slices.Clone(k.P), k.H...)
	for i, row := range hostile.Rows(k.G) {
		program.Inequalities = append(program.Inequalities, affine(row, n+i, 0))
	}
	for i, row := range hostile.Rows(k.A) {
		program.Equalities = append(program.Equalities, affine(row, -1, k.B[i]))
	}
	x, lambda, nu := s.Z, s.Lambda, s.Nu
	if input.IntN(10) == 0 {
		switch input.IntN(5) {
		case 0:
			x = input.Vector(hostile.Poisoned, len(x))
		case 1:
			lambda = input.Vector(hostile.Poisoned, len(lambda))
		case 2:
			nu = input.Vector(hostile.Poisoned, len(nu)+input.IntN(2))
		case 3:
			alpha = input.Vector(hostile.Poisoned, len(alpha))
		default:
			program.Tol = []float64{-1, math.NaN(), math.Inf(1), 1, 1e-300}[input.IntN(5)]
		}
	}
	var kept hostile.Memory
	kept.Vector(x, lambda, nu, alpha)
	got, err := program.Differentiate(x, lambda, nu, alpha)
	kept.Check(input, "Differentiate")
	ok := input.Answer("Differentiate", err)
	if got == nil {
		if ok {
			input.Failf("Differentiate: neither derivative nor error", "%v", err)
		}
		return
	}
	if !hostile.FiniteMatrix(got.X) || !hostile.FiniteMatrix(got.Lambda) || !hostile.FiniteMatrix(got.Nu) {
		input.Failf("Differentiate: not finite", "%v, %v, %v with error %v", hostile.Rows(got.X), hostile.Rows(got.Lambda), hostile.Rows(got.Nu), err)
	}
	if !ok || s.Status != qpdiff.Optimal || k.z == nil || !(k.cond < 1e6) || program.Tol != 0 || !slices.Equal(alpha, append(slices.Clone(k.P), k.H...)) {
		return
	}
	if !k.strict {
		input.Failf("Differentiate: answers at weakly active rows", "rows %v, condition %.3g", k.weak, k.cond)
	}
	t := &qpdiff.QPGrad{P: input.Vector(hostile.Tame, n), H: input.Vector(hostile.Tame, m)}
	dz := zeros(n)
	if s.JVP(nil, dz, nil, nil, t) != nil {
		return
	}
	dalpha := append(slices.Clone(t.P), t.H...)
	for i, row := range hostile.Rows(got.X) {
		want := hostile.Dot([][]float64{row}, [][]float64{dalpha})
		// A derivative of z is 0 if the rows determine z, but its cancelling terms have the size of
		// dα.
		if math.Abs(want-dz[i]) > 1e-13*k.cond*((1+hostile.Norm(row))*hostile.Norm(dalpha)+hostile.Norm(dz)) {
			input.Failf("Differentiate: differs from the QP's JVP", "%v instead of %v, condition %.3g", want, dz[i], k.cond)
		}
	}
}

// hostileForEach calls ForEach, and prints a Status and a block with invalid numbers.
func hostileForEach(input *hostile.Input) {
	calls := make([]int, input.IntN(20))
	fails := map[int]bool{}
	for range input.IntN(3) {
		fails[input.IntN(20)] = true
	}
	err := qpdiff.ForEach(input.IntN(5)-1, len(calls), func(i int) error {
		calls[i]++
		if fails[i] {
			return fmt.Errorf("item %d: %w", i, qpdiff.ErrDomain)
		}
		return nil
	})
	input.Answer("ForEach", err)
	want := ""
	for i, c := range calls {
		if c != 1 {
			input.Failf("ForEach: calls an item not once", "%v", calls)
		}
		if fails[i] && want == "" {
			want = fmt.Sprintf("item %d: %v", i, qpdiff.ErrDomain)
		}
	}
	if (err == nil) != (want == "") || err != nil && err.Error() != want {
		input.Failf("ForEach: not the error of the lowest item", "%v, want %s", err, want)
	}
	for i := range 8 {
		_ = qpdiff.Status(i - 1).String()
	}
	for i := range 6 {
		_ = qpdiff.QPInput(i).String()
	}
	for i := range 3 {
		_ = qpdiff.QPOutput(i).String()
	}
}
