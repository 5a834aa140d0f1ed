package qpdiff

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// derivative prepares the derivatives at the last solution. It stores the preparation in the
// workspace w, so that the next derivative with the same w need not prepare again.
func (s *Solution) derivative(w *Workspace, generalised bool) (*qpDerivative, error) {
	s.home.Check()
	if s.Status != Optimal {
		return nil, fmt.Errorf("qpdiff: the last solution is %v, and only an optimal one has derivatives (%w): call Solve and use its error", s.Status, ErrNotFitted)
	}
	d := &w.orNew().qp
	if d.state != s.state || d.generalised != generalised {
		d.sys, d.state, d.generalised = &s.set.kktSystem, s.state, generalised
		d.prepare()
	}
	return d, nil
}

// prepare finds the strictly active and the weakly active inequalities. It also chooses how the
// systems of the derivatives are solved: with the factors of the working set, or with eigenvalues.
func (d *qpDerivative) prepare() {
	a := d.sys
	d.weakRows, d.spareRows, d.evenRows, d.kkt = d.weakRows[:0], d.spareRows[:0], d.evenRows[:0], nil
	d.sideHidden = false
	n, k := a.n, len(a.w)
	dense.GrowAll(n, &d.v, &d.y, &d.cz, &d.cy, &d.rz, &d.ry, &d.mroot, &d.qv)
	d.tri = a.triangle
	d.rows = append(d.rows[:0], a.w...)
	dependent := slices.Contains(a.skippedRows[a.m:], true) || a.twoSided && a.sidesDepend()
	sigmaT := 1.0 // smallest singular value of T with rows of norm 1
	if k > 0 {
		for i, r := range a.w {
			d.mroot[i] = math.Sqrt(a.mnorm[r])
		}
		sigmaT = dense.SmallestSingular(a.t, a.tinv, k, n, d.mroot, d.rz)
		dependent = dependent || sigmaT <= dependTol
	}
	zero := d.withoutMultiplier(sigmaT)
	if d.generalised && d.cond <= weakCond {
		d.evenRows = d.evenRows[:0]
	}
	d.kkt = nil // it belongs to the rows of the working set
	if len(zero) > 0 {
		dependent = d.splitZeroRows(zero) || dependent
		if len(d.weakRows) > 0 && (!d.generalised || d.cond > weakCond) {
			d.rows = d.rows[:0]
			return
		}
		d.leaveOut()
	}
	if dependent || a.shifted && !d.uniquePrimal() {
		d.rows = append(append(d.rows[:0], d.spareRows...), d.tri.w...)
		for r := range a.rows {
			if a.equality(r) {
				d.rows = append(d.rows, r)
			}
		}
		slices.Sort(d.rows)
		d.rows = slices.Compact(d.rows)
		d.useFull()
	}
}

// uniquePrimal reports whether the minimiser z is unique. It is unique if Q is positive definite on
// the null space of C, the matrix of the rows d.rows. This is so if the matrix Q + ρCᵀC is positive
// definite for some ρ > 0, and uniquePrimal tests this matrix.
func (d *qpDerivative) uniquePrimal() bool {
	a := d.sys
	n := a.n
	d.h = dense.Grow(d.h, n*n)
	d.hinv, d.root, d.diag = dense.Grow(d.hinv, n), dense.Grow(d.root, n), dense.Grow(d.diag, n)
	h, root := d.h, d.root // root: the scale of the variables
	for i := range n {
		root[i] = 1 / math.Sqrt(a.d[i])
	}
	for i := range n {
		qmax := cmp.Or(a.parts[a.varPart[i]].qsize, 1)
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
	if dense.Cholesky(nil, h, d.hinv, n, pivotTol) < n {
		return false
	}
	s := dense.SmallestSingular(h, d.hinv, n, n, d.diag, root)
	return s*s > pivotTol
}

// blockOutside considers one block of the data, which the parameter input names. It measures the
// part of the derivative ∇g of the KKT conditions g in this block that lies outside the range of
// the KKT matrix. It returns the largest entry of the null vectors at the variables and rows in
// which ∇g is not zero. A change of the entry in column j of row r changes g by λ_r times the
// change at variable j, and by z_j times the change at row r. For G and A, blockOutside also
// measures a second effect, see [kktMatrix.partingRatio]: the derivative may change if a null
// vector is added to the last solution (v, y). This happens if v is not zero and rows depend on
// each other, or if y is not zero and a variable is not unique.
func (a *kktMatrix) blockOutside(d *qpDerivative, input QPInput) float64 {
	set := d.sys
	n := a.n
	moves := dense.Largest(set.z) > 0
	loose := dense.Largest(a.freedom[:n]) // the freest variable
	switch {
	case input == InputP, input == InputQ && moves:
		return loose
	case input == InputQ:
		return 0
	}
	rhs := input != InputG && input != InputA
	moves = moves || a.hasNonzero(0, n)
	worst := 0.0
	for i, r := range d.rows {
		matrix, side, _ := set.inputsOf(r)
		if input != matrix && input != side && !(set.equality(r) && input == side.opposite()) {
			continue
		}
		if rhs || moves {
			worst = max(worst, a.freedom[n+i])
		}
		if !rhs && (set.multiplier(r) != 0 || a.freedom[n+i] > rangeTol || a.termRatio(n+i) > rangeTol) {
			worst = max(worst, loose)
		}
	}
	return worst
}

// partingRatio measures how far a change Ċ of the rows C (k×n) makes dependent rows independent. K
// is the KKT matrix, K⁺ its pseudo-inverse, and K̇ the change of K that Ċ causes. partingRatio
// multiplies K⁺K̇ by null vectors of K, and returns the largest termRatio of an entry that belongs
// to a wanted output. The outputs are x, λ and ν. The multiplier of row i of C is in λ if rows[i] <
// m, and otherwise in ν. The range condition does not detect such a change if z and the multipliers
// are 0. For example, two equal rows (1, 0)z = 0 depend on each other. If one of them becomes (1,
// ε), the two rows determine all of z ∈ R².
func (a *kktMatrix) partingRatio(c []float64, rows []int, m int, wanted [3]bool) float64 {
	worst := 0.0
	a.changedNulls(c, func(change []float64) {
		clear(a.x)
		copy(a.rhs, change)
		a.improve()
		for i := range a.x {
			out := OutputZ
			if i >= a.n && rows[i-a.n] < m {
				out = OutputLambda
			} else if i >= a.n {
				out = OutputNu
			}
			if wanted[out] {
				worst = max(worst, a.termRatio(i))
			}
		}
	})
	return worst
}

// splitsRowsLater considers rows that depend on each other, and a change Ċ of these rows. It
// reports whether the rows become independent at the first small change of z and of the
// multipliers. The rates of change of z and of the multipliers are the last solution (ż, ẏ). For
// example, suppose that two rows are both z₁ = 1, and the second changes to z₁ + εz₂ = 1. Both rows
// can then hold only if z₂ is 0.
func (a *kktMatrix) splitsRowsLater(c []float64) (splits bool) {
	n := a.n
	moves := [2]bool{a.hasNonzero(0, n), a.hasNonzero(n, n+a.k)}
	a.changedNulls(c, func(change []float64) {
		splits = splits || moves[0] && dense.Largest(change[:n]) > 0 || moves[1] && dense.Largest(change[n:]) > 0
	})
	return splits
}

// changedNulls computes the products K̇x for vectors x that span the null space of the KKT matrix
// K. K̇ is the change of K if its rows C change by Ċ. An entry of K̇x becomes zero if it is at most
// rangeTol times the size of the terms in its sum. changedNulls calls the function f with each
// product that has a nonzero entry.
func (a *kktMatrix) changedNulls(c []float64, f func(image []float64)) {
	n, k := a.n, a.k
	scaled := make([]float64, len(c))
	for i := range k {
		floats.MulTo(scaled[i*n:(i+1)*n], c[i*n:(i+1)*n], a.e[:n])
		floats.Scale(a.e[n+i], scaled[i*n:(i+1)*n])
	}
	image, terms := make([]float64, n+k), make([]float64, n+k)
	for e, free := range a.freedom {
		if free <= rangeTol {
			continue
		}
		clear(image)
		clear(terms)
		for i := range k {
			for j := range n {
				to, v := n+i, 0.0
				if e < n {
					v = scaled[i*n+j] * a.nullX[e*n+j]
				} else {
					to, v = j, scaled[i*n+j]*a.nullY[(e-n)*k+i]
				}
				image[to] += v
				terms[to] += math.Abs(v)
			}
		}
		for i, v := range image {
			if math.Abs(v) <= rangeTol*terms[i] {
				image[i] = 0
			}
		}
		if slices.ContainsFunc(image, nonzero) {
			f(image)
		}
	}
}

// outputFree returns the largest freedom of an entry of the given output; see kktMatrix. The result
// is 0 if the output is unique.
func (a *kktMatrix) outputFree(d *qpDerivative, output QPOutput) float64 {
	if output == OutputZ {
		return dense.Largest(a.freedom[:a.n])
	}
	worst := 0.0
	for i, r := range d.rows {
		if (r < d.sys.m) == (output == OutputLambda) {
			worst = max(worst, a.freedom[a.n+i])
		}
	}
	return worst
}

// VJP differentiates dzᵀz + dlambdaᵀλ + dnuᵀν with respect to the data of the problem. It adds the
// gradient to the fields of g that are not nil. A nil cotangent dz, dlambda or dnu counts as zero.
// Let (v, y) solve the system
//
//	[Q Cᵀ] [v]   [dz]
//	[C 0 ] [y] = [dy]
//
// The rows of C are the strictly active rows S and the equalities, and dy holds the cotangents of
// their multipliers. VJP then adds
//
//	∂Q −= (vzᵀ + zvᵀ)/2,  ∂p −= v,  ∂G_S −= λvᵀ + yzᵀ,  ∂h_S += y
//
// and the gradients in A and b are computed like the gradients in G and h, with ν in place of λ
// (Amos and Kolter, 2017, eq. 8; Barratt, 2018).
//
// The derivative may not exist. VJP makes three tests in this order. First, strict complementarity
// must hold. Second, the cotangent must lie in the range of the KKT matrix. The third test is made
// for each block of the data with a field in g: the derivative of the KKT conditions with respect
// to this block must also lie in this range. If a test fails, the returned error consists of one
// [NotDifferentiableError] for each block that has a field in g but no derivative. The field Weak
// of this error lists inequalities, numbered as in Lambda. VJP still adds the derivatives that
// exist, and leaves the other fields of g unchanged.
//
// If active rows depend on each other, the multipliers are not unique. VJP then tests strict
// complementarity with the multipliers that have the fewest zeros. The derivatives with respect to
// Q and p usually exist. The derivatives with respect to G and h exist if no row of G is among the
// dependent rows. The derivatives with respect to A and b exist if no row of A is among them. If z
// is 0, the derivatives with respect to G and A always exist. A row of zeros with the right-hand
// side 0 is a dependent row, whose multiplier may have any value. The smallest change of this row
// turns it into a constraint or into a contradiction. A row of zeros with h > 0 is inactive.
//
// If a row is active on its lower side, its derivative is in L or ZMin instead of H or ZMax. If
// both sides of a row are equal, the sign of the multiplier selects the side that has the
// derivative. This derivative is valid for changes that do not raise the lower side above the upper
// side. If both sides are equal and the multiplier is zero, the solution has a kink as a function
// of the two sides, but not as a function of other data. In this case, only the derivatives with
// respect to L and H, or to ZMin and ZMax, do not exist.
//
// The paper has one condition (Section 3), ∇_α g ∈ R(∇_z g). It is only the last of the three
// tests, and does not suffice for a derivative. For example, the minimiser of ½(x − a)² subject to
// x ≤ 0 is min(a, 0). It has a kink at a = 0, and λ = x = 0 there. Yet with g = (x − a + λ, λx) the
// range of ∇_z g = [1 1; 0 0] contains ∇_a g = (−1, 0).
//
// VJP panics if the length or shape of an argument does not fit the problem. It returns
// ErrNotFitted if the Solution is not Optimal, and ErrNotFinite if a cotangent is not finite or a
// derivative overflows. VJP does not write to the Solution. The workspace w keeps the results that
// all derivatives of one solution need. The next derivative with the same w therefore solves only
// one system, and allocates nothing if the derivatives of all wanted blocks exist. If w is nil, VJP
// uses a new workspace.
func (s *Solution) VJP(w *Workspace, g *QPGrad, dz, dlambda, dnu []float64) error {
	d, err := s.derivative(w, s.Generalised)
	if err != nil {
		return err
	}
	if err := d.sys.checkShapes("g", g, dz, dlambda, dnu); err != nil {
		return err
	}
	exists, err := d.adjoint(g, dz, dlambda, dnu)
	d.addCotangents(g, exists)
	return err
}

// adjoint solves the KKT system for (v, y), and reports which blocks of g have a derivative.
func (d *qpDerivative) adjoint(g *QPGrad, dz, dlambda, dnu []float64) (exists qpInputs, err error) {
	a := d.sys
	if len(d.weakRows) > 0 {
		return exists, missingError(g, exists, func(input QPInput) *NotDifferentiableError { return d.weakError(input) })
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
	outside := d.solve()
	if !d.productsFinite() {
		return exists, errDerivativeOverflow
	}
	d.zvz = append(append(append(d.zvz[:0], a.z...), d.v[:a.n]...), a.z...)
	if d.kkt == nil && len(d.evenRows) == 0 {
		return allExist, nil
	}
	var residual [inputCount]float64
	for input := range exists {
		if d.kkt != nil {
			residual[input] = max(outside, d.kkt.blockOutside(d, QPInput(input)))
		}
		exists[input] = residual[input] <= rangeTol && !d.hasEvenSide(QPInput(input))
	}
	return exists, missingError(g, exists, func(input QPInput) *NotDifferentiableError {
		switch {
		case residual[input] <= rangeTol:
			return d.evenError(input)
		case outside > rangeTol:
			return &NotDifferentiableError{Inputs: []Input{Input(input.String())}, Residual: residual[input], Remedy: "take out of the cotangent the part of the solution that is not unique"}
		}
		return d.singularError(input, residual[input])
	})
}

// errDerivativeOverflow is returned for derivatives beyond the range of float64.
var errDerivativeOverflow = fmt.Errorf("qpdiff: the derivative overflows (%w): scale the cotangent, the direction or the problem down", ErrNotFinite)

// productsFinite reports whether the products that form the derivatives are finite: the products of
// d.v and d.y with z and with the multipliers.
func (d *qpDerivative) productsFinite() bool {
	a := d.sys
	var y float64
	for i, r := range d.rows {
		y += math.Abs(d.y[i]) * (1 + math.Abs(a.scale[r]))
	}
	v, z, lam := floats.Norm(d.v[:a.n], 1), floats.Norm(a.z, 1), 0.0
	for i, r := range a.w {
		lam += math.Abs(a.lam[i] * a.scale[r])
	}
	return dense.Finite((v+y)*(1+z)) && dense.Finite(v*lam)
}

// checkCotangents reports the first cotangent that is not finite.
func checkCotangents(dz, dlambda, dnu []float64) error {
	const remedy = "give a finite cotangent"
	return named(cmp.Or(check.Finite("dz", remedy, dz), check.Finite("dlambda", remedy, dlambda), check.Finite("dnu", remedy, dnu)))
}

// singularError returns the error for one input that has no derivative because the KKT system is
// singular.
func (d *qpDerivative) singularError(input QPInput, residual float64) *NotDifferentiableError {
	return &NotDifferentiableError{Inputs: []Input{Input(input.String())}, Residual: residual, Weak: Weak{Rows: slices.Clone(d.spareRows)}, Remedy: singularRemedy}
}

const singularRemedy = "remove dependent rows, or make Q positive definite, so that the solution is unique"

// missingError calls the function e for each block that has a field in g but no derivative, and
// joins the errors that e returns.
func missingError(g *QPGrad, exists qpInputs, e func(QPInput) *NotDifferentiableError) error {
	var errs []error
	for i, exists := range exists {
		if input := QPInput(i); !exists && (g.matrix(input) != nil || g.vector(input) != nil) {
			errs = append(errs, e(input))
		}
	}
	return joinErrors(errs)
}

// addCotangents computes the gradients from the last adjoint (v, y). It adds them to the wanted
// blocks whose derivatives exist.
func (d *qpDerivative) addCotangents(wanted *QPGrad, exists qpInputs) {
	a := d.sys
	n, v, y, z := a.n, d.v, d.y, a.z
	g := wanted.restrict(exists)
	if g.Q != nil {
		for i := range n {
			dense.AddRows(g.Q.RawRowView(i), []float64{-v[i] / 2, -z[i] / 2}, d.zvz, n)
		}
	}
	if g.P != nil {
		floats.Sub(g.P, v[:n])
	}
	for i, r := range d.rows {
		m, rhs, at := a.placeIn(&g, r)
		yi := y[i] * a.scale[r]
		if rhs != nil {
			rhs[at] += yi
		}
		if m != nil {
			dense.AddRows(m.RawRowView(at), []float64{-a.multiplier(r), -yi}, d.zvz[n:], n)
		}
	}
}

// checkShapes panics if a cotangent or a field of g has the wrong shape. If g is nil, it returns an
// error, in which arg is the name of g.
func (a *kktSystem) checkShapes(arg string, g *QPGrad, dz, dlambda, dnu []float64) error {
	if g == nil {
		return named(check.ArgErrorf(arg, ErrEmpty, "give a QPGrad with the wanted fields", "is nil"))
	}
	n, m, q := a.n, a.general, a.rows-a.m
	check.Vector("dz", dz, n)
	check.Vector("dlambda", dlambda, a.m)
	check.Vector("dnu", dnu, q)
	check.Matrix("QPGrad.Q", g.Q, n, n)
	check.Vector("QPGrad.P", g.P, n)
	check.Matrix("QPGrad.G", g.G, m, n)
	check.Vector("QPGrad.H", g.H, m)
	check.Matrix("QPGrad.A", g.A, q, n)
	check.Vector("QPGrad.B", g.B, q)
	check.Vector("QPGrad.L", g.L, m)
	check.Vector("QPGrad.ZMin", g.ZMin, n)
	check.Vector("QPGrad.ZMax", g.ZMax, n)
	return nil
}
