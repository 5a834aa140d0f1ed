package qpdiff

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// derivative prepares the derivatives at the last solution in w.
func (s *Solution) derivative(w *Workspace, generalised bool) (*qpDerivative, error) {
	s.check()
	if s.Status != Optimal {
		return nil, fmt.Errorf("qpdiff: derivatives of a QP need an optimal solution, the status is %v: %w", s.Status, ErrNotFitted)
	}
	d := &w.orNew().qp
	if d.state != s.state || d.generalised != generalised {
		d.sys, d.state, d.generalised = &s.set.kktSystem, s.state, generalised
		d.prepare()
	}
	return d, nil
}

// prepare sorts the inequalities and decides on the way to solve.
func (d *qpDerivative) prepare() {
	a := d.sys
	d.weak, d.spare, d.full = d.weak[:0], d.spare[:0], nil
	n, k := a.n, len(a.w)
	growAll(n, &d.v, &d.y, &d.cz, &d.cy, &d.rz, &d.ry, &d.mroot)
	d.tri = a.triangle
	d.rows = append(d.rows[:0], a.w...)
	dependent := slices.Contains(a.skip[a.m:], true)
	apart := 1.0 // how far the rows of T are from depending on each other
	if k > 0 {
		for i, r := range a.w {
			d.mroot[i] = math.Sqrt(a.mnorm[r])
		}
		apart = smallestSingular(a.t, a.tinv, k, n, d.mroot, d.rz)
		dependent = dependent || apart <= dependTol
	}
	zero := d.withoutMultiplier(apart)
	d.full = nil // of the working set, if those rows needed it
	if len(zero) > 0 {
		dependent = d.split(zero) || dependent
		if len(d.weak) > 0 && (!d.generalised || d.cond > weakCond) {
			d.rows = d.rows[:0]
			return
		}
		d.leaveOut()
	}
	if dependent || a.shift > 0 && !d.uniquePrimal() {
		d.rows = append(append(d.rows[:0], d.spare...), d.tri.w...)
		for r := a.m; r < a.rows; r++ {
			d.rows = append(d.rows, r)
		}
		slices.Sort(d.rows)
		d.rows = slices.Compact(d.rows)
		d.useFull()
	}
}

// uniquePrimal reports whether Q is positive definite where the rows of the
// derivative vanish, so that the minimiser is unique: Q + ρCᵀC then is
// definite everywhere.
func (d *qpDerivative) uniquePrimal() bool {
	a := d.sys
	n := a.n
	d.h = grow(d.h, n*n)
	d.hinv, d.root, d.diag = grow(d.hinv, n), grow(d.root, n), grow(d.diag, n)
	h, root := d.h, d.root // root: the scale of the variables
	qmax := 0.0
	for i := range n {
		root[i] = 1 / math.Sqrt(a.d[i])
		qmax = max(qmax, a.q[i*n+i]*root[i]*root[i])
	}
	qmax = cmp.Or(qmax, 1)
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

// blockOutside is how much a null vector of K changes the gradient of an input after
// the solve for (v, y): zero if the derivative exists. The gradient is bilinear in
// the solution (z, λ, ν) and in (v, y), see [Solution.VJP], and either may be added a
// null vector to. Each product has to vanish by itself, since units differ. The
// null vectors have norm 1.
func (a *kktMatrix) blockOutside(d *qpDerivative, in QPInput) float64 {
	set := d.sys
	free := a.outputFree(d, OutputZ)
	if in == InputP {
		return free
	}
	moves := slices.ContainsFunc(set.z, nonzero) || a.movesZ(d.cy)
	if in == InputQ {
		if moves {
			return free
		}
		return 0
	}
	worst := 0.0
	for i, r := range d.rows {
		if (r < set.m) != (in == InputG || in == InputH) {
			continue
		}
		dependent := entry(a.dependent, i)
		if in == InputH || in == InputB || moves || free > 0 {
			worst = max(worst, dependent)
		}
		if (in == InputG || in == InputA) && (set.multiplier(r) != 0 || a.movesRow(i)) {
			worst = max(worst, free)
		}
	}
	return worst
}

// parts is how far a change Ḣ of H, nil for none, and Ċ of the rows C, k×n, parts what they hold in
// common: positive if the wanted outputs (x, λ and ν; rows below m have a λ) have a
// part of K⁺K̇ times a null vector. The changed matrix determines how much of that vector
// is in the solution, whatever the range condition says, which sees nothing where
// multipliers and z vanish. Of two rows (1, 0)z = 0 one depends on the other; once
// one of them is (1, ε) they fix all of z ∈ R².
func (a *kktMatrix) parts(h *mat.Dense, c []float64, rows []int, m int, wanted [3]bool) float64 {
	n := a.n
	worst := 0.0
	one := make([]float64, max(n, a.k)) // all is in the scale of E
	fill(one, 1)
	tz, ty := make([]float64, n), make([]float64, a.k) // sizes of the terms of K̇ times a null vector
	part := func() {
		clearRounding(a.rz, tz)
		clearRounding(a.ry, ty)
		worst = max(worst, projection(a.free, one, a.rz, tz), projection(a.dependent, one, a.ry, ty))
		change := slices.Clone(a.ry)
		a.solveScaled()
		if wanted[OutputZ] && a.movesZ(change) {
			worst = 1
		}
		for i, r := range rows {
			out := OutputNu
			if r < m {
				out = OutputLambda
			}
			if wanted[out] && a.movesRow(i) {
				worst = 1
			}
		}
	}
	reset := func() {
		for _, x := range [][]float64{a.rz, a.ry, tz, ty} {
			clear(x)
		}
	}
	add := func(sum, term *float64, v float64) {
		*sum += v
		*term += math.Abs(v)
	}
	for _, x := range a.free {
		reset()
		for j, v := range x {
			v *= a.e[j]
			for i := 0; h != nil && i < n; i++ {
				add(&a.rz[i], &tz[i], (h.At(i, j)+h.At(j, i))/2*a.e[i]*v)
			}
			for i := range a.k {
				add(&a.ry[i], &ty[i], c[i*n+j]*a.e[n+i]*v)
			}
		}
		part()
	}
	for _, x := range a.dependent {
		reset()
		for i, v := range x {
			for j := range n {
				add(&a.rz[j], &tz[j], c[i*n+j]*a.e[n+i]*a.e[j]*v)
			}
		}
		part()
	}
	return worst
}

// clearRounding sets to zero what is no more than rounding of its terms.
func clearRounding(x, terms []float64) {
	for i, v := range x {
		if math.Abs(v) <= rangeTol*terms[i] {
			x[i] = 0
		}
	}
}

// outputFree is the largest entry that a null vector has in an output: zero
// where the output is unique.
func (a *kktMatrix) outputFree(d *qpDerivative, out QPOutput) float64 {
	worst := 0.0
	if out == OutputZ {
		for i := range a.n {
			worst = max(worst, entry(a.free, i))
		}
		return worst
	}
	for i, r := range d.rows {
		if (r < d.sys.m) == (out == OutputLambda) {
			worst = max(worst, entry(a.dependent, i))
		}
	}
	return worst
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
// among the dependent ones, and G and A too where z is 0 and its cotangents move no z,
// whatever the rows are. A row of
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
// a derivative that overflows). It does not write to s. w keeps what one solution's
// derivatives share, so that the next of them only solves one system, and
// allocates nothing where all exists; nil stands for a new one.
func (s *Solution) VJP(w *Workspace, g *QPGrad, dz, dlambda, dnu []float64) error {
	d, err := s.derivative(w, s.Generalised)
	if err != nil {
		return err
	}
	d.sys.checkShapes(g, dz, dlambda, dnu)
	exists, err := d.adjoint(g, dz, dlambda, dnu)
	d.addCotangents(g, exists)
	return err
}

// adjoint solves for (v, y) and says which blocks exist.
func (d *qpDerivative) adjoint(g *QPGrad, dz, dlambda, dnu []float64) (exists [6]bool, err error) {
	a := d.sys
	if len(d.weak) > 0 {
		return exists, refuse(g, exists, func(in QPInput) *NotDifferentiableError { return d.weakError(in) })
	}
	cz, cy := d.cz[:a.n], d.cy[:len(d.rows)]
	clear(cz)
	copy(cz, dz)
	for i, r := range d.rows {
		cy[i] = 0
		if dy, at := a.placeOut(dlambda, dnu, r); dy != nil {
			cy[i] = dy[at] * a.scale[r]
		}
	}
	if err := checkCotangents(dz, dlambda, dnu); err != nil {
		return exists, err
	}
	d.solve()
	if !d.bounded() {
		return exists, errDerivativeOverflow
	}
	outside := 0.0
	if d.full != nil {
		cz, cy = d.cz[:a.n], d.cy[:len(d.rows)]
		outside = d.full.outside(cz, cy, cz, cy)
	}
	var residual [6]float64
	for in := range exists {
		exists[in] = true
		if d.full != nil {
			residual[in] = max(outside, d.full.blockOutside(d, QPInput(in)))
			exists[in] = residual[in] <= rangeTol
		}
	}
	if exists == [6]bool{true, true, true, true, true, true} {
		return exists, nil
	}
	return exists, refuse(g, exists, func(in QPInput) *NotDifferentiableError {
		e := &NotDifferentiableError{Inputs: []Input{Input(in.String())}, Residual: residual[in]}
		if outside > rangeTol {
			e.Remedy = "the cotangent asks for a part of the solution that is not unique"
		} else {
			e.Weak.Rows, e.Remedy = slices.Clone(d.spare), singularRemedy
		}
		return e
	})
}

// errDerivativeOverflow is returned for derivatives beyond the range of float64.
var errDerivativeOverflow = fmt.Errorf("qpdiff: the derivative overflows: %w: scale the cotangent, the direction or the problem down", ErrNotFinite)

// bounded reports whether the products of the last solution (d.v, d.y) with z
// and the multipliers are finite.
func (d *qpDerivative) bounded() bool {
	a := d.sys
	var y float64
	for i, r := range d.rows {
		y += math.Abs(d.y[i]) * (1 + a.scale[r])
	}
	v, z, lam := floats.Norm(d.v[:a.n], 1), floats.Norm(a.z, 1), 0.0
	for i, r := range a.w {
		lam += math.Abs(a.lam[i]) * a.scale[r]
	}
	return finite((v+y)*(1+z)) && finite(v*lam)
}

// checkCotangents reports the first cotangent that is not finite.
func checkCotangents(dz, dlambda, dnu []float64) error {
	const remedy = "give a finite cotangent"
	return cmp.Or(checkFinite("dz", remedy, dz), checkFinite("dlambda", remedy, dlambda), checkFinite("dnu", remedy, dnu))
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
func (d *qpDerivative) addCotangents(g *QPGrad, exists [6]bool) {
	a := d.sys
	n, v, y, z := a.n, d.v, d.y, a.z
	if g.Q != nil && exists[InputQ] {
		for i := range n {
			row := g.Q.RawRowView(i)
			floats.AddScaled(row, -v[i]/2, z)
			floats.AddScaled(row, -z[i]/2, v[:n])
		}
	}
	if g.P != nil && exists[InputP] {
		floats.Sub(g.P, v[:n])
	}
	for i, r := range d.rows {
		m, rhs, at := a.place(g, r)
		inMat, inRHS := InputG, InputH
		if r >= a.m {
			inMat, inRHS = InputA, InputB
		}
		yi := y[i] * a.scale[r]
		if rhs != nil && exists[inRHS] {
			rhs[at] += yi
		}
		if m != nil && exists[inMat] {
			row := m.RawRowView(at)
			if lam := a.multiplier(r); lam != 0 {
				floats.AddScaled(row, -lam, v[:n])
			}
			floats.AddScaled(row, -yi, z)
		}
	}
}

// checkShapes panics where a cotangent or a field of g has the wrong shape.
func (a *kktSystem) checkShapes(g *QPGrad, dz, dlambda, dnu []float64) {
	n, m, q := a.n, a.m, a.rows-a.m
	checkVector("dz", dz, n)
	checkVector("dlambda", dlambda, m)
	checkVector("dnu", dnu, q)
	checkMatrix("QPGrad.Q", g.Q, n, n)
	checkVector("QPGrad.P", g.P, n)
	checkMatrix("QPGrad.G", g.G, m, n)
	checkVector("QPGrad.H", g.H, m)
	checkMatrix("QPGrad.A", g.A, q, n)
	checkVector("QPGrad.B", g.B, q)
}
