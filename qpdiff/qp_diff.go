package qpdiff

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// QPGrad holds one number for each entry of the data of a [QP]: what
// [Solution.VJP] adds cotangents to, or the direction of [Solution.JVP]. A nil
// field is not wanted (VJP) or zero (JVP); the others have the shape of the
// field of the same name. The gradient with respect to Q is symmetrised, and a
// direction in Q counts as (D + Dᵀ)/2: only symmetric changes of Q make sense.
type QPGrad struct {
	Q *mat.Dense
	P []float64
	G *mat.Dense
	H []float64
	A *mat.Dense
	B []float64
}

// QPInput names a block of the data of a [QP].
type QPInput int

const (
	InputQ QPInput = iota
	InputP
	InputG
	InputH
	InputA
	InputB
)

func (in QPInput) String() string { return "QPGHAB"[in : in+1] }

// QPOutput names a block of the solution of a [QP].
type QPOutput int

const (
	OutputZ QPOutput = iota
	OutputLambda
	OutputNu
)

func (o QPOutput) String() string { return [...]string{"Z", "Lambda", "Nu"}[o] }

// qpDerivative is what the derivatives of one solution share. With S the
// strictly active rows and C their coefficients, equalities included, the
// solution moves by
//
//	[Q Cᵀ] [ż]     [ṗ + Q̇z + Ġᵀλ + Ȧᵀν]
//	[C 0 ] [ẏ] = − [Ċz − ḣ_S            ]
//
// The matrix is symmetric, so that one solve with it serves a VJP too. Where
// it is regular, the factors that the solver ended with are all that is needed;
// where it is not, its eigenvalues decide what exists.
type qpDerivative struct {
	ready       bool
	generalized bool  // prepared with weakly active rows counted as inactive
	weak        []int // inequalities where strict complementarity fails
	// spare: active inequalities with the multiplier zero, which other, equally
	// valid multipliers make strictly active.
	spare []int
	// cond is the largest amplification of rounding errors among the rows in
	// weak, see weakCond.
	cond float64
	// tri has the rows and factors of the derivative: those of the working set,
	// or a copy without its weakly active rows.
	tri  triangle
	full *kktMatrix // of the rows in rows, where the matrix may be singular
	rows []int      // the rows of y, as numbered in activeSet
	v, y []float64  // the last solution
	// Right-hand side and residual.
	cz, cy, rz, ry []float64
	// Work of uniquePrimal.
	h, hinv, root, diag []float64
	mroot               []float64 // ‖m_r‖ of the working set
	// Work of withoutMultiplier: the sizes of what the rows of the KKT system
	// sum, and their residuals.
	gradTerm, rowTerm []float64
	zero              []int
}

// rangeTol: a vector lies in a range if what sticks out is below this fraction
// of it.
const rangeTol = 1e-8

// slowTol is the residual of a derivative above which its corrections with the
// shifted factor count as too slow: Q is flat next to the proximal term there.
// Rounding leaves up to 1e-13.
const slowTol = 1e-12

// differentiable prepares the derivatives at the last solution.
func (s *Solution) differentiable(generalized bool) error {
	if s.Status != Optimal {
		return fmt.Errorf("qpdiff: derivatives of a QP need an optimal solution, the status is %v: %w", s.Status, ErrNotFitted)
	}
	d := &s.diff
	if !d.ready || d.generalized != generalized {
		d.prepare(&s.set, generalized)
	}
	return nil
}

// prepare sorts the inequalities and decides on the way to solve.
func (d *qpDerivative) prepare(a *activeSet, generalized bool) {
	d.ready, d.generalized = true, generalized
	d.weak, d.spare, d.full = d.weak[:0], d.spare[:0], nil
	n, k := a.n, len(a.w)
	for _, v := range []*[]float64{&d.v, &d.y, &d.cz, &d.cy, &d.rz, &d.ry, &d.mroot} {
		*v = grow(*v, n)
	}
	d.tri = a.triangle
	d.rows = append(d.rows[:0], a.w...)
	dependent := false
	for _, v := range a.skip[a.m:] {
		dependent = dependent || v
	}
	apart := 1.0 // how far the rows of T are from depending on each other
	if k > 0 {
		for i, r := range a.w {
			d.mroot[i] = math.Sqrt(a.mnorm[r])
		}
		apart = smallestSingular(a.t, a.tinv, k, n, d.mroot, d.rz)
		dependent = dependent || apart <= dependTol
	}
	zero := d.withoutMultiplier(a, apart)
	d.full = nil // of the working set, if those rows needed it
	if len(zero) > 0 {
		dependent = d.split(a, zero) || dependent
		if len(d.weak) > 0 && (!generalized || d.cond > weakCond) {
			d.rows = d.rows[:0]
			return
		}
		d.leaveOut(a)
	}
	if dependent || a.shift > 0 && !d.uniquePrimal(a) {
		d.rows = append(append(d.rows[:0], d.spare...), d.tri.w...)
		for r := a.m; r < a.rows; r++ {
			d.rows = append(d.rows, r)
		}
		slices.Sort(d.rows)
		d.rows = slices.Compact(d.rows)
		d.useFull(a)
	}
}

// leaveOut takes the weakly active rows out of a copy of the working set's
// factors: the solver starts its next solve from its own.
func (d *qpDerivative) leaveOut(a *activeSet) {
	n := a.n
	inside := func(r int) bool { return a.at[r] >= 0 }
	if slices.ContainsFunc(d.weak, inside) {
		d.tri = a.triangle.clone()
		for i := len(a.w) - 1; i >= 0; i-- {
			if slices.Contains(d.weak, a.w[i]) {
				d.tri.remove(i, n, d.rz, d.ry)
			}
		}
		d.rows = append(d.rows[:0], d.tri.w...)
	}
	d.weak = d.weak[:0]
}

// useFull switches to the eigenvalues of the KKT matrix with the rows d.rows.
func (d *qpDerivative) useFull(a *activeSet) {
	n, k := a.n, len(d.rows)
	c := make([]float64, 0, k*n)
	for _, r := range d.rows {
		c = append(c, a.crow(r)...)
	}
	d.full = newKKTMatrix(n, k, a.q, c)
	d.y, d.cy, d.ry = grow(d.y, max(n, k)), grow(d.cy, max(n, k)), grow(d.ry, max(n, k))
}

// uniquePrimal reports whether Q is positive definite where the rows of the
// derivative vanish, so that the minimiser is unique: Q + ρCᵀC then is
// definite everywhere.
func (d *qpDerivative) uniquePrimal(a *activeSet) bool {
	n := a.n
	d.h = grow(d.h, n*n)
	d.hinv, d.root, d.diag = grow(d.hinv, n), grow(d.root, n), grow(d.diag, n)
	h, root := d.h, d.root // root: the scale of the variables
	qmax := 0.0
	for i := range n {
		root[i] = 1 / math.Sqrt(a.d[i])
		qmax = max(qmax, a.q[i*n+i]*root[i]*root[i])
	}
	if qmax == 0 {
		qmax = 1
	}
	for i := range n {
		for j := range i + 1 {
			h[i*n+j] = a.q[i*n+j] * root[i] * root[j] / qmax
		}
	}
	for _, r := range d.tri.w {
		c := a.crow(r)
		for i, v := range c {
			if v != 0 {
				for j := range i + 1 {
					h[i*n+j] += v * c[j] * root[i] * root[j]
				}
			}
		}
	}
	for i := range n {
		d.diag[i] = math.Sqrt(h[i*n+i])
	}
	if cholesky(h, d.hinv, n, pivotTol) < n {
		return false
	}
	s := smallestSingular(h, d.hinv, n, n, d.diag, root)
	return s*s > pivotTol
}

// solve finds (d.v, d.y) with KKT·(v, y) = (d.cz, d.cy) and returns how far the
// right-hand side lies outside the range, relative to it.
func (d *qpDerivative) solve(a *activeSet) (outside float64) {
	n, k := a.n, len(d.rows)
	if d.full != nil {
		return d.full.solve(d.v[:n], d.y[:k], d.cz[:n], d.cy[:k])
	}
	v, y := d.v[:n], d.y[:k]
	clear(v)
	clear(y)
	rz, ry := d.rz[:n], d.ry[:k]
	copy(rz, d.cz)
	copy(ry, d.cy)
	before, last := math.Inf(1), false
	pinned := k == n && largest(ry) == 0 // at a vertex v is 0
	for range 100 {
		a.solveKKT(&d.tri, rz, ry)
		if pinned {
			clear(rz)
		}
		floats.Add(v, rz)
		floats.Add(y, ry)
		left, noisy := d.residual(a)
		stop := last || !(left < before/2) || left <= refined && !noisy
		last = left <= refined // one more, for the noise
		before = min(before, left)
		if stop {
			break
		}
	}
	if a.shift > 0 && !(before <= slowTol) {
		d.useFull(a)
		return d.solve(a)
	}
	return 0
}

// residual sets (d.rz, d.ry) to the residual of the last solution and returns
// its size, which no units change: that of the rows, of norm 1, against their
// right-hand sides and what v may be, and that of the gradient against its terms,
// all of them in the 1-norm. v may be what the terms move it by where Q is
// steepest: at a vertex it is 0, and then its own size is nothing but rounding.
// noisy reports that the residual is beyond rounding beside v itself and the terms
// of Q and the rows alone, which one correction mends: where Q is flat, and beside
// the proximal term, what may be is much.
func (d *qpDerivative) residual(a *activeSet) (left float64, noisy bool) {
	n := a.n
	v, y, rz, ry := d.v[:n], d.y[:len(d.rows)], d.rz[:n], d.ry[:len(d.rows)]
	clear(rz)
	for i, r := range d.rows {
		if y[i] != 0 {
			floats.AddScaled(rz, y[i], a.crow(r))
		}
	}
	var terms, size float64
	for j, c := range rz {
		unit, qv := a.unit[j], floats.Dot(a.q[j*n:(j+1)*n], v)
		rz[j] = d.cz[j] - c - qv
		left += unit * math.Abs(rz[j])
		terms += unit * (math.Abs(d.cz[j]) + math.Abs(c) + math.Abs(qv))
		size += math.Abs(v[j]) / unit
	}
	noisy = left > 4*refined*terms
	terms = max(terms, a.shift*size)
	var off, right float64 // of the rows, and their right-hand sides
	for i, r := range d.rows {
		ry[i] = d.cy[i] - floats.Dot(a.crow(r), v)
		off += math.Abs(ry[i])
		right += math.Abs(d.cy[i])
	}
	noisy = noisy || off > 4*refined*(size+right)
	return max(ratio(left, terms), ratio(off, max(size, terms/a.curvature())+right)), noisy
}

// VJP adds to the fields of g that are not nil the gradient of
// dzᵀz + dlambdaᵀλ + dnuᵀν with respect to the data of the problem; a nil
// cotangent is zero. With (v, y) solving
//
//	[Q Cᵀ] [v]   [dz]
//	[C 0 ] [y] = [dy]
//
// over the strictly active rows C, with dy the cotangents of their multipliers,
//
//	∂Q −= (vzᵀ + zvᵀ)/2,  ∂p −= v,  ∂G_S −= λvᵀ + yzᵀ,  ∂h_S += y
//
// and ∂A, ∂b like ∂G, ∂h with ν (Amos and Kolter, 2017, eq. 8; Barratt, 2018).
//
// The derivative may not exist. Tested are, in this order, strict
// complementarity; that the cotangent lies in the range of the KKT matrix; and
// for each wanted block that its ∇g does. Where a test fails the error joins
// one [NotDifferentiableError] per block, whose Weak names rows of G. The
// blocks that do exist are given all the same, the others left as they were.
// Where active rows depend on each other the multipliers are not unique, and
// strict complementarity is that of the multipliers with the fewest zeros: Q
// and p then exist as a rule, G and h (A and b) do if none of their rows is
// among the dependent ones, and G and A where z is 0 whatever they are. A row of
// zeros with the bound 0 is among the dependent ones, and its multiplier may be
// anything: it turns into a constraint, or into a contradiction, by the least
// change. One with h > 0 is inactive.
//
// The condition of the paper (Section 3) is the last of the three alone,
// ∇_α g ∈ R(∇_z g). It is not sufficient: the minimiser of ½(x − a)² subject to
// x ≤ 0 is min(a, 0). At a = 0, where λ = x = 0, it has a kink, yet with
// g = (x − a + λ, λx) the range of ∇_z g = [1 1; 0 0] holds ∇_a g = (−1, 0).
//
// VJP panics if a length or shape differs from that of the problem. It needs
// an optimal solution (ErrNotFitted) and finite cotangents (ErrNotFinite, as for
// a derivative that overflows), and allocates nothing where all exists. The
// derivatives of one Solution share its storage: only one goroutine at a time
// may call them.
func (s *Solution) VJP(g *QPGrad, dz, dlambda, dnu []float64) error {
	if err := s.differentiable(s.Generalized); err != nil {
		return err
	}
	s.checkShapes(g, dz, dlambda, dnu)
	exists, err := s.adjoint(g, dz, dlambda, dnu)
	s.addCotangents(g, exists)
	return err
}

// adjoint solves for (v, y) and says which blocks exist.
func (s *Solution) adjoint(g *QPGrad, dz, dlambda, dnu []float64) (exists [6]bool, err error) {
	a, d := &s.set, &s.diff
	if len(d.weak) > 0 {
		return exists, refuse(g, exists, func(in QPInput) *NotDifferentiableError { return d.weakError(in.String()) })
	}
	cz, cy := d.cz[:a.n], d.cy[:len(d.rows)]
	clear(cz)
	copy(cz, dz)
	for i, r := range d.rows {
		cy[i] = 0
		if r < a.m && dlambda != nil {
			cy[i] = dlambda[r] * a.scale[r]
		}
		if r >= a.m && dnu != nil {
			cy[i] = dnu[r-a.m] * a.scale[r]
		}
	}
	if err := checkCotangents(dz, dlambda, dnu); err != nil {
		return exists, err
	}
	outside := d.solve(a)
	if !s.bounded() {
		return exists, errDerivativeOverflow
	}
	var residual [6]float64
	for in := range exists {
		exists[in] = true
		if d.full != nil {
			residual[in] = max(outside, d.full.blockOutside(s, QPInput(in)))
			exists[in] = residual[in] <= rangeTol
		}
	}
	if exists == [6]bool{true, true, true, true, true, true} {
		return exists, nil
	}
	return exists, refuse(g, exists, func(in QPInput) *NotDifferentiableError {
		e := &NotDifferentiableError{Input: in.String(), Residual: residual[in]}
		if outside > rangeTol {
			e.Remedy = "the cotangent asks for a part of the solution that is not unique"
		} else {
			e.Weak, e.Remedy = slices.Clone(d.spare), singularRemedy
		}
		return e
	})
}

// errDerivativeOverflow is returned for derivatives beyond the range of float64.
var errDerivativeOverflow = fmt.Errorf("qpdiff: the derivative overflows: %w: scale the cotangent, the direction or the problem down", ErrNotFinite)

// bounded reports whether the products of the last solution (d.v, d.y) with z
// and the multipliers are finite.
func (s *Solution) bounded() bool {
	a, d := &s.set, &s.diff
	var y float64
	for i, r := range d.rows {
		y += math.Abs(d.y[i]) * (1 + a.scale[r])
	}
	v, z, lam := floats.Norm(d.v[:a.n], 1), floats.Norm(a.z, 1), floats.Norm(s.Lambda, 1)+floats.Norm(s.Nu, 1)
	return finite((v+y)*(1+z)) && finite(v*lam)
}

// checkCotangents reports the first cotangent that is not finite.
func checkCotangents(dz, dlambda, dnu []float64) error {
	const remedy = "give a finite cotangent"
	if err := checkFinite("dz", remedy, dz); err != nil {
		return err
	}
	if err := checkFinite("dlambda", remedy, dlambda); err != nil {
		return err
	}
	return checkFinite("dnu", remedy, dnu)
}

// check reports the first entry of a direction that is not finite.
func (g *QPGrad) check() error {
	const remedy = "give a finite direction"
	for i, m := range [3]*mat.Dense{g.Q, g.G, g.A} {
		if m != nil {
			if err := checkFiniteRows([3]string{"t.Q", "t.G", "t.A"}[i], remedy, m); err != nil {
				return err
			}
		}
	}
	for i, v := range [3][]float64{g.P, g.H, g.B} {
		if err := checkFinite([3]string{"t.P", "t.H", "t.B"}[i], remedy, v); err != nil {
			return err
		}
	}
	return nil
}

const singularRemedy = "the solution is not unique: remove dependent rows, or make Q positive definite"

// refuse joins one error for each wanted block that does not exist.
func refuse(g *QPGrad, exists [6]bool, e func(QPInput) *NotDifferentiableError) error {
	var errs []error
	for in, wanted := range [6]bool{g.Q != nil, g.P != nil, g.G != nil, g.H != nil, g.A != nil, g.B != nil} {
		if wanted && !exists[in] {
			errs = append(errs, e(QPInput(in)))
		}
	}
	return joinErrors(errs)
}

// addCotangents adds the products of the last adjoint to the blocks of g that
// exist.
func (s *Solution) addCotangents(g *QPGrad, exists [6]bool) {
	a, d := &s.set, &s.diff
	n, v, y, z := a.n, d.v, d.y, a.z
	if g.Q != nil && exists[InputQ] {
		raw := g.Q.RawMatrix()
		for i := range n {
			row := raw.Data[i*raw.Stride : i*raw.Stride+n]
			floats.AddScaled(row, -v[i]/2, z)
			floats.AddScaled(row, -z[i]/2, v[:n])
		}
	}
	if g.P != nil && exists[InputP] {
		floats.Sub(g.P, v[:n])
	}
	for i, r := range d.rows {
		mat, rhs, at, inMat, inRHS := g.G, g.H, r, InputG, InputH
		if r >= a.m {
			mat, rhs, at, inMat, inRHS = g.A, g.B, r-a.m, InputA, InputB
		}
		if yi := y[i] * a.scale[r]; rhs != nil && exists[inRHS] {
			rhs[at] += yi
		}
		if mat != nil && exists[inMat] {
			raw := mat.RawMatrix()
			row := raw.Data[at*raw.Stride : at*raw.Stride+n]
			if lam := s.multiplier(r); lam != 0 {
				floats.AddScaled(row, -lam, v[:n])
			}
			floats.AddScaled(row, -y[i]*a.scale[r], z)
		}
	}
}

// multiplier is λ or ν of row r.
func (s *Solution) multiplier(r int) float64 {
	if r < s.set.m {
		return s.Lambda[r]
	}
	return s.Nu[r-s.set.m]
}

// checkShapes panics where a cotangent or a field of g has the wrong shape.
func (s *Solution) checkShapes(g *QPGrad, dz, dlambda, dnu []float64) {
	a := &s.set
	vector := func(name string, x []float64, want int) {
		if x != nil && len(x) != want {
			panic("qpdiff: " + name + " has the wrong length")
		}
	}
	matrix := func(name string, m *mat.Dense, rows int) {
		if m != nil {
			if r, c := m.Dims(); r != rows || c != a.n {
				panic("qpdiff: " + name + " has the wrong shape")
			}
		}
	}
	vector("dz", dz, a.n)
	vector("dlambda", dlambda, a.m)
	vector("dnu", dnu, a.rows-a.m)
	matrix("QPGrad.Q", g.Q, a.n)
	vector("QPGrad.P", g.P, a.n)
	matrix("QPGrad.G", g.G, a.m)
	vector("QPGrad.H", g.H, a.m)
	matrix("QPGrad.A", g.A, a.rows-a.m)
	vector("QPGrad.B", g.B, a.rows-a.m)
}

// change sets (d.cz, d.cy) to the right-hand side for the direction t, over the
// rows d.rows.
func (d *qpDerivative) change(s *Solution, t *QPGrad) {
	a := &s.set
	n, cz := a.n, d.cz[:a.n]
	clear(cz)
	if t.P != nil {
		floats.Sub(cz, t.P)
	}
	if t.Q != nil {
		raw := t.Q.RawMatrix()
		for i := range n {
			row := raw.Data[i*raw.Stride : i*raw.Stride+n]
			cz[i] -= floats.Dot(row, a.z) / 2
			floats.AddScaled(cz, -a.z[i]/2, row)
		}
	}
	for i, r := range d.rows {
		mat, rhs, at := t.G, t.H, r
		if r >= a.m {
			mat, rhs, at = t.A, t.B, r-a.m
		}
		v := 0.0
		if rhs != nil {
			v = rhs[at]
		}
		if mat != nil {
			raw := mat.RawMatrix()
			row := raw.Data[at*raw.Stride : at*raw.Stride+n]
			v -= floats.Dot(row, a.z)
			floats.AddScaled(cz, -s.multiplier(r), row)
		}
		d.cy[i] = v * a.scale[r]
	}
}

// JVP sets dz, dlambda and dnu, where they are not nil, to the derivatives of z,
// λ and ν along the direction t. It fails like VJP, with an error for each
// block of t whose direction leaves the range of the KKT matrix or makes
// dependent rows independent, and for each wanted output that is not unique;
// nothing is written then.
func (s *Solution) JVP(dz, dlambda, dnu []float64, t *QPGrad) error {
	if err := s.differentiable(s.Generalized); err != nil {
		return err
	}
	s.checkShapes(t, dz, dlambda, dnu)
	if err := t.check(); err != nil {
		return err
	}
	return s.jvp(dz, dlambda, dnu, t)
}

// jvp is JVP after the preparation.
func (s *Solution) jvp(dz, dlambda, dnu []float64, t *QPGrad) error {
	a, d := &s.set, &s.diff
	if len(d.weak) > 0 {
		return refuse(t, [6]bool{}, func(in QPInput) *NotDifferentiableError { return d.weakError(in.String()) })
	}
	if d.full != nil {
		if err := d.jvpExists(s, t, dz, dlambda, dnu); err != nil {
			return err
		}
	}
	d.change(s, t)
	d.solve(a)
	if !s.bounded() {
		return errDerivativeOverflow
	}
	d.write(s, dz, dlambda, dnu)
	return nil
}

// write copies (d.v, d.y) to the outputs.
func (d *qpDerivative) write(s *Solution, dz, dlambda, dnu []float64) {
	a := &s.set
	copy(dz, d.v[:a.n])
	clear(dlambda)
	clear(dnu)
	for i, r := range d.rows {
		if v := d.y[i] * a.scale[r]; r < a.m && dlambda != nil {
			dlambda[r] = v
		} else if r >= a.m && dnu != nil {
			dnu[r-a.m] = v
		}
	}
}

// jvpExists tests each block of the direction, and each wanted output.
func (d *qpDerivative) jvpExists(s *Solution, t *QPGrad, dz, dlambda, dnu []float64) error {
	a := &s.set
	var errs []error
	wanted := [3]bool{dz != nil, dlambda != nil, dnu != nil}
	for in, part := range [6]QPGrad{{Q: t.Q}, {P: t.P}, {G: t.G}, {H: t.H}, {A: t.A}, {B: t.B}} {
		d.change(s, &part)
		if out := max(d.solve(a), d.full.parts(d.rowChange(a, &part), d.rows, a.m, wanted)); out > rangeTol {
			errs = append(errs, &NotDifferentiableError{Input: QPInput(in).String(), Residual: out, Weak: slices.Clone(d.spare), Remedy: singularRemedy})
		}
	}
	for o, wanted := range wanted {
		if out := d.full.outputFree(s, QPOutput(o)); wanted && out > rangeTol {
			errs = append(errs, &NotDifferentiableError{Input: "any block", Residual: out, Remedy: QPOutput(o).String() + " is not unique: do not ask for its derivative"})
		}
	}
	return joinErrors(errs)
}

// rowChange is Ċ for the direction t, over the rows d.rows.
func (d *qpDerivative) rowChange(a *activeSet, t *QPGrad) []float64 {
	c := make([]float64, len(d.rows)*a.n)
	for i, r := range d.rows {
		m, at := t.G, r
		if r >= a.m {
			m, at = t.A, r-a.m
		}
		if m != nil {
			floats.AddScaled(c[i*a.n:(i+1)*a.n], a.scale[r], m.RawRowView(at))
		}
	}
	return c
}

// leavesEmpty reports whether row r is one of zeros that the direction t and the
// wanted outputs do not involve.
func (a *activeSet) leavesEmpty(r int, dlambda, dnu []float64, t *QPGrad) bool {
	m, rhs, out, at := t.G, t.H, dlambda, r
	if r >= a.m {
		m, rhs, out, at = t.A, t.B, dnu, r-a.m
	}
	return a.single[r] == noEntry && out == nil && (rhs == nil || rhs[at] == 0) && (m == nil || floats.Norm(m.RawRowView(at), 1) == 0)
}

// DirectionalDerivative sets dz, dlambda and dnu, where they are not nil, to the
// one-sided derivatives of the solution along the direction t: the limit of
// (z(data + εt) − z(data))/ε as ε ↓ 0. It exists at weakly active rows too,
// where the derivative does not: ż solves the program
//
//	minimise   ½ żᵀQż + (ṗ + Q̇z + Ġᵀλ + Ȧᵀν)ᵀż
//	subject to G_i ż = ḣ_i − Ġ_i z on strictly active rows (≤ on weakly active ones)
//	           Aż = ḃ − Ȧz
//
// and its multipliers are those of the derivative (Robinson, 1980; Bonnans and
// Shapiro, 2000, Section 5.2). z and the multipliers must be unique, but for
// those of rows of zeros that t and the outputs leave out: where they are not, it
// fails like JVP.
func (s *Solution) DirectionalDerivative(dz, dlambda, dnu []float64, t *QPGrad) error {
	if err := s.differentiable(false); err != nil {
		return err
	}
	s.checkShapes(t, dz, dlambda, dnu)
	if err := t.check(); err != nil {
		return err
	}
	a, d := &s.set, &s.diff
	if len(d.weak) == 0 || d.cond > weakCond {
		return s.jvp(dz, dlambda, dnu, t)
	}
	rows := d.rows
	defer func() { d.rows = rows }()
	d.rows = nil
	for r := range a.rows {
		if a.leavesEmpty(r, dlambda, dnu, t) {
			continue
		}
		if r >= a.m || s.Lambda[r] > 0 && !slices.Contains(d.weak, r) || slices.Contains(d.spare, r) {
			d.rows = append(d.rows, r)
		}
	}
	strict := len(d.rows)
	d.rows = append(d.rows, d.weak...)
	d.cy = grow(d.cy, max(a.n, len(d.rows)))
	d.change(s, t)
	program := QP{Q: mat.NewDense(a.n, a.n, slices.Clone(a.q)), P: make([]float64, a.n)}
	floats.SubTo(program.P, program.P, d.cz[:a.n])
	stack := func(rows []int) *mat.Dense {
		if len(rows) == 0 {
			return nil
		}
		m := mat.NewDense(len(rows), a.n, nil)
		for i, r := range rows {
			m.SetRow(i, a.crow(r))
		}
		return m
	}
	program.A, program.B = stack(d.rows[:strict]), slices.Clone(d.cy[:strict])
	program.G, program.H = stack(d.weak), slices.Clone(d.cy[strict:len(d.rows)])
	var sol Solution
	if err := sol.Solve(&program); err != nil {
		return refuse(t, [6]bool{}, func(in QPInput) *NotDifferentiableError {
			e := d.weakError(in.String())
			e.Remedy = "the program of the directional derivative has no solution: " + sol.Status.String()
			return e
		})
	}
	// z and the multipliers are unique where the active rows are independent and
	// Q is definite where the strictly active ones vanish.
	c := make([]float64, 0, len(d.rows)*a.n)
	for _, r := range d.rows {
		c = append(c, a.crow(r)...)
	}
	if len(newKKTMatrix(a.n, strict, a.q, c[:strict*a.n]).null) > 0 || len(newKKTMatrix(a.n, len(d.rows), a.q, c).null) > 0 {
		return refuse(t, [6]bool{}, func(in QPInput) *NotDifferentiableError {
			e := d.weakError(in.String())
			e.Residual, e.Remedy = 1, singularRemedy
			return e
		})
	}
	copy(d.v, sol.Z)
	d.y = grow(d.y, max(a.n, len(d.rows)))
	copy(d.y, sol.Nu)
	copy(d.y[strict:], sol.Lambda)
	if !s.bounded() {
		return errDerivativeOverflow
	}
	d.write(s, dz, dlambda, dnu)
	return nil
}

// Jacobian returns the derivative of one block of the solution with respect to
// one block of the data: one row per entry of the output, one column per entry
// of the input, matrices in row-major order. For Q, column (i, j) is the
// derivative along (Eᵢⱼ + Eⱼᵢ)/2. It fails like VJP, in the rows that do not
// exist; the matrix is then nil. An empty block gives nil.
func (s *Solution) Jacobian(out QPOutput, in QPInput) (*mat.Dense, error) {
	if err := s.differentiable(s.Generalized); err != nil {
		return nil, err
	}
	a := &s.set
	n, m, q := a.n, a.m, a.rows-a.m
	rows := [...]int{n, m, q}[out]
	cols := [...]int{n * n, n, m * n, m, q * n, q}[in]
	if rows == 0 || cols == 0 {
		return nil, nil
	}
	jac := mat.NewDense(rows, cols, nil)
	unit := make([]float64, rows)
	for i := range rows {
		unit[i] = 1
		row := jac.RawRowView(i)
		var g QPGrad
		switch in {
		case InputQ:
			g.Q = mat.NewDense(n, n, row)
		case InputP:
			g.P = row
		case InputG:
			g.G = mat.NewDense(m, n, row)
		case InputH:
			g.H = row
		case InputA:
			g.A = mat.NewDense(q, n, row)
		case InputB:
			g.B = row
		}
		cot := [3][]float64{}
		cot[out] = unit
		if err := s.VJP(&g, cot[0], cot[1], cot[2]); err != nil {
			return nil, err
		}
		unit[i] = 0
	}
	return jac, nil
}

// VJPBatch calls sols[i].VJP(&grads[i], dz[i], dlambda[i], dnu[i]) for all items,
// spread over the cores; dz, dlambda and dnu may be nil. Where problems share an
// input, let the fields of their grads be the same matrix or slice: it receives
// the sum, added in the order of the items, so that the bits are the same for
// any GOMAXPROCS. The error names the lowest failing item; the others are
// differentiated all the same. It panics if the lengths differ.
func VJPBatch(grads []QPGrad, sols []Solution, dz, dlambda, dnu [][]float64) error {
	if len(grads) != len(sols) {
		panic("qpdiff: VJPBatch needs one QPGrad per Solution")
	}
	at := func(x [][]float64, i int) []float64 {
		if x == nil {
			return nil
		}
		if len(x) != len(sols) {
			panic("qpdiff: VJPBatch needs one cotangent per Solution")
		}
		return x[i]
	}
	users := map[any]int{}
	for i := range grads {
		for _, key := range grads[i].keys() {
			if key != nil {
				users[key]++
			}
		}
	}
	exist := make([][6]bool, len(sols))
	for i := range sols {
		if sols[i].Status == Optimal {
			sols[i].checkShapes(&grads[i], at(dz, i), at(dlambda, i), at(dnu, i))
		}
	}
	err := ForEach(0, len(sols), func(i int) (err error) {
		s, g := &sols[i], &grads[i]
		if err = s.differentiable(s.Generalized); err == nil {
			exist[i], err = s.adjoint(g, at(dz, i), at(dlambda, i), at(dnu, i))
			own := exist[i]
			for in, key := range g.keys() {
				own[in] = own[in] && users[key] == 1
			}
			s.addCotangents(g, own)
		}
		if err != nil {
			return fmt.Errorf("batch item %d: %w", i, err)
		}
		return nil
	})
	// Shared blocks: one goroutine per block.
	_ = ForEach(0, 6, func(in int) error {
		for i := range sols {
			var only [6]bool
			key := grads[i].keys()[in]
			only[in] = exist[i][in] && key != nil && users[key] > 1
			if only[in] {
				sols[i].addCotangents(&grads[i], only)
			}
		}
		return nil
	})
	return err
}

// keys identifies the storage behind each field.
func (g *QPGrad) keys() (k [6]any) {
	for in, m := range [6]*mat.Dense{InputQ: g.Q, InputG: g.G, InputA: g.A} {
		if m != nil {
			k[in] = m
		}
	}
	for in, v := range [6][]float64{InputP: g.P, InputH: g.H, InputB: g.B} {
		if len(v) > 0 {
			k[in] = &v[0]
		}
	}
	return k
}
