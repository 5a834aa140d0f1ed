package qpdiff

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ConvexProgram is a convex program with parameters α (paper, eq. 4):
//
//	minimise   f0(x, α)
//	subject to f_i(x, α) ≤ 0,  i < m   (multipliers λ ≥ 0)
//	           h_i(x, α) = 0,  i < q   (multipliers ν)
//
// The objective f0 and the constraints f_i are convex in x, and the h_i are affine in x. All of
// these functions are twice differentiable. ConvexProgram does not solve the program: it
// differentiates a solution that the caller gives.
type ConvexProgram struct {
	Objective    ParamFunc
	Inequalities []ParamFunc
	Equalities   []ParamFunc
	// Tol is the largest allowed violation of the KKT conditions at the given point. Zero means 1e-8.
	// Three numbers are computed: the gradient of the Lagrangian, the violation of a constraint, and
	// min(slack, multiplier) of an inequality. Each is divided by the size of its terms, and the
	// largest result is the violation of the KKT conditions. A slack or multiplier as small as this
	// violation cannot be distinguished from zero.
	Tol float64
}

// A ParamFunc is a function of (x, α). It returns its value at (x, α) and writes its derivatives to
// d. The fields of d are slices and matrices of zeros before the call.
type ParamFunc func(d *Partials, x, alpha []float64) float64

// Partials are the derivatives of one function of (x, α), with x ∈ Rⁿ and α ∈ Rᵖ.
type Partials struct {
	X      []float64  // ∇_x, n
	Alpha  []float64  // ∇_α, p; used only for the constraints
	XX     *mat.Dense // ∇²_xx, n×n
	XAlpha *mat.Dense // ∂(∇_x)/∂α, n×p
}

// Sensitivity holds the derivatives of a solution with respect to α.
type Sensitivity struct {
	X      *mat.Dense // ∂x/∂α, n×p
	Lambda *mat.Dense // ∂λ/∂α, m×p; nil if m = 0
	Nu     *mat.Dense // ∂ν/∂α, q×p; nil if q = 0
}

// Differentiate returns the derivatives of the solution s = (x, λ, ν) with respect to the
// parameters α. It uses the formula of the paper (Section 3; Barratt, 2018),
//
//	∇_α s = −(∇_z g)⁻¹ ∇_α g,   g = (∇_x L, diag(λ)f, h).
//
// For the strictly active inequalities S and the equalities, this formula can be written as the
// symmetric system
//
//	[∇²_xx L  Cᵀ] [ẋ ]     [∇²_xα L]
//	[C        0 ] [ẏ ] = − [∇_α f_S, ∇_α h],   C = (∇_x f_S, ∇_x h).
//
// Three conditions are tested in this order, as in [Solution.VJP]:
//
//   - strict complementarity, which does not follow from the paper's condition ∇_α g ∈ R(∇_z g);
//   - the paper's condition for each α_j; dependent constraints must also stay dependent as α_j
//     changes;
//   - uniqueness of x, of λ and of ν.
//
// The returned error holds one [NotDifferentiableError] for each failure. Its Inputs are
// "alpha[j]", or "alpha" if no derivative exists. Differentiate still returns the derivatives that
// exist. A column for an α_j without a derivative is zero, and a block without a derivative is nil.
// If constraints depend on each other, the multipliers are not unique. In this case, one of the
// given multipliers may be zero although other valid multipliers are positive. If strict
// complementarity fails for this reason, pass other multipliers.
//
// An argument that cannot be used gives an [ArgError]. The error's kind is ErrDomain if the point
// is not a solution. The kind is ErrShape if a function is nil, or if the numbers of multipliers
// and constraints differ. The kind is ErrNotFinite for NaN, Inf and overflow.
func (p *ConvexProgram) Differentiate(x, lambda, nu, alpha []float64) (*Sensitivity, error) {
	n, m, q, np := len(x), len(p.Inequalities), len(p.Equalities), len(alpha)
	if n == 0 || len(lambda) != m || len(nu) != q {
		return nil, named(check.ArgErrorf("x, lambda, nu", ErrShape, "give one multiplier per constraint", "have %d, %d, %d entries for %d inequalities and %d equalities", n, len(lambda), len(nu), m, q))
	}
	//lint:ignore SA4023 cmp.Or returns nil where every check does
	if err := cmp.Or(check.Finite("x", boundEntry, x), check.Finite("lambda", boundEntry, lambda), check.Finite("nu", boundEntry, nu), check.Finite("alpha", boundEntry, alpha)); err != nil {
		return nil, named(err)
	}
	tol := cmp.Or(max(p.Tol, 0), defaultPointTol)
	l := lagrangian{n: n, np: np, grad: make([]float64, n), terms: make([]float64, n), hess: mat.NewDense(n, n, nil), cross: mat.NewDense(n, max(np, 1), nil)}
	if _, _, err := l.add("Objective", p.Objective, 1, x, alpha); err != nil {
		return nil, err
	}
	constraints, err := p.constraintsAt(&l, x, lambda, nu, alpha)
	if err != nil {
		return nil, err
	}
	rows, coef, err := l.listActive(constraints, m, x, tol)
	if err != nil {
		return nil, err
	}
	kkt := newKKTMatrix(n, len(rows), l.hess.RawMatrix().Data, coef)
	if weak := l.listWeak(kkt, constraints[:m], constraints, rows); len(weak) > 0 {
		return nil, &NotDifferentiableError{Inputs: []Input{"alpha"}, Weak: Weak{Rows: weak}, Remedy: "move the parameters off the kink, or give the solution more accurately"}
	}
	return l.sensitivity(kkt, m, q, constraints, rows)
}

// constraintsAt evaluates the constraints, first the inequalities and then the equalities. To the
// Lagrangian l, it adds the product of each constraint and its multiplier. It also computes the
// size of the terms of the Lagrangian's gradient, and the size of the terms of each constraint.
func (p *ConvexProgram) constraintsAt(l *lagrangian, x, lambda, nu, alpha []float64) ([]constraint, error) {
	m, q := len(p.Inequalities), len(p.Equalities)
	constraints := make([]constraint, m+q)
	for i := range constraints {
		c := &constraints[i]
		f, mult := ParamFunc(nil), 0.0
		if i < m {
			c.name, f, mult = fmt.Sprintf("Inequalities[%d]", i), p.Inequalities[i], lambda[i]
		} else {
			c.name, f, mult = fmt.Sprintf("Equalities[%d]", i-m), p.Equalities[i-m], nu[i-m]
		}
		value, d, err := l.add(c.name, f, mult, x, alpha)
		if err != nil {
			return nil, err
		}
		c.value, c.mult, c.d = value, mult, d
	}
	// A ParamFunc does not return the sizes of the terms of its sums. They are estimated to first
	// order: a term is a derivative times an entry of x or alpha.
	for j := range l.terms {
		for i, v := range x {
			l.terms[j] += math.Abs(l.hess.At(j, i) * v)
		}
		for i, v := range alpha {
			l.terms[j] += math.Abs(l.cross.At(j, i) * v)
		}
	}
	for i := range constraints {
		c := &constraints[i]
		c.terms = math.Abs(c.value)
		for j, v := range c.d.X {
			c.terms += math.Abs(v * x[j])
		}
	}
	return constraints, nil
}

// listActive returns the indices and the gradients of the active constraints. The active
// inequalities come first, and then the equalities; the first m constraints are inequalities.
// listActive returns an error if the point is not a solution to the tolerance tol.
func (l *lagrangian) listActive(constraints []constraint, m int, x []float64, tol float64) (rows []int, coef []float64, err error) {
	n := len(x)
	all := make([]float64, 0, len(constraints)*n)
	for _, c := range constraints {
		all = append(all, c.d.X...)
	}
	// The tests against Tol use the units of the equilibrated KKT system. In these units, changes
	// of x, of the slacks and of the gradient have about the same size.
	e := kktScale(n, len(constraints), l.hess.RawMatrix().Data, all)
	var left, size, move float64
	for j, v := range l.terms {
		left = math.Hypot(left, l.grad[j]*e[j])
		size = math.Hypot(size, v*e[j])
		move = math.Hypot(move, x[j]/e[j])
	}
	move += size
	if !dense.Finite(left) || !dense.Finite(move) {
		return nil, nil, named(check.ArgErrorf("x, lambda, nu", ErrNotFinite, "scale the program down", "give a gradient of the Lagrangian that overflows"))
	}
	if left > tol*size {
		return nil, nil, named(check.ArgErrorf("x, lambda, nu", ErrDomain, "pass a solution, or raise Tol", "leave %.3g of the terms of the Lagrangian's gradient", left/size))
	}
	for i := range constraints {
		c, unit := &constraints[i], e[n+i]
		norm := 0.0 // of the row in these units
		for j, v := range c.d.X {
			norm = math.Hypot(norm, v*unit*e[j])
		}
		slack, push := ratio(-c.value*unit, math.Abs(c.value*unit)+norm*move), ratio(c.mult/unit*norm, size)
		if i >= m {
			slack, push = -math.Abs(slack), 1
		}
		if slack < -tol || push < 0 || min(slack, push) > tol {
			return nil, nil, named(check.ArgErrorf(c.name, ErrDomain, "pass a solution, or raise Tol", "has the value %g and the multiplier %g", c.value, c.mult))
		}
		if slack <= push {
			rows = append(rows, i)
			coef = append(coef, c.d.X...)
		} else { // an inactive row should have the multiplier 0, so its multiplier is an error of the given point
			floats.AddScaled(l.grad, -c.mult, c.d.X)
		}
	}
	return rows, coef, nil
}

// constraint holds a constraint of a ConvexProgram, evaluated at a point.
type constraint struct {
	name        string
	value, mult float64
	terms       float64 // size of the terms of the value
	d           *Partials
}

// lagrangian sums f0 + λᵀf + νᵀh and its derivatives.
type lagrangian struct {
	n, np int
	grad  []float64
	terms []float64 // for each entry of grad, the sum of the magnitudes of its terms, to first order
	hess  *mat.Dense
	cross *mat.Dense
}

// add evaluates f and its derivatives, and adds weight·f to the Lagrangian.
func (l *lagrangian) add(name string, f ParamFunc, weight float64, x, alpha []float64) (float64, *Partials, error) {
	d := &Partials{X: make([]float64, l.n), Alpha: make([]float64, l.np), XX: mat.NewDense(l.n, l.n, nil), XAlpha: mat.NewDense(l.n, max(l.np, 1), nil)}
	if f == nil {
		return 0, nil, named(check.ArgErrorf(name, ErrEmpty, "give a function", "is nil"))
	}
	value := f(d, x, alpha)
	if !dense.Finite(value) {
		return 0, nil, named(check.ArgErrorf(name, ErrNotFinite, "evaluate it in its domain", "is %v", value))
	}
	err := cmp.Or(
		check.Finite(name+"'s ∇x", boundEntry, d.X), check.Finite(name+"'s ∇α", boundEntry, d.Alpha),
		check.FiniteRows(name+"'s ∇²xx", boundEntry, d.XX), check.FiniteRows(name+"'s ∇²xα", boundEntry, d.XAlpha),
	)
	//lint:ignore SA4023 cmp.Or returns nil where every check does
	if err != nil {
		return 0, nil, named(err)
	}
	if weight == 0 {
		return value, d, nil
	}
	for i, v := range d.X {
		l.grad[i] += weight * v
		l.terms[i] += math.Abs(weight * v)
	}
	var scaled mat.Dense
	scaled.Scale(weight, d.XX)
	l.hess.Add(l.hess, &scaled)
	scaled.Reset()
	scaled.Scale(weight, d.XAlpha)
	l.cross.Add(l.cross, &scaled)
	return value, d, nil
}

// listWeak lists the weakly active inequalities. If an inequality counts as active, it is weakly
// active if its multiplier is zero within the multiplier's error. Any other inequality is weakly
// active if its slack is zero within the slack's error. As in [qpDerivative.isZero], these errors
// come from the residuals of the point and from rounding.
func (l *lagrangian) listWeak(kkt *kktMatrix, inequalities, constraints []constraint, rows []int) (weakRows []int) {
	n, k := l.n, len(rows)
	cz, cy, v, y := make([]float64, n), make([]float64, k), make([]float64, n), make([]float64, k)
	for r, c := range inequalities {
		clear(cz)
		clear(cy)
		value, scale, known := -c.value, c.terms, 0.0
		if i, active := slices.BinarySearch(rows, r); active {
			value, scale, cy[i] = c.mult, 0, 1
		} else {
			copy(cz, c.d.X)
		}
		kkt.solve(v, y, cz, cy)
		for j, w := range v {
			scale += math.Abs(w) * l.terms[j]
			known += math.Abs(w * l.grad[j])
		}
		for i, w := range y {
			scale += math.Abs(w) * constraints[rows[i]].terms
			known += math.Abs(w * constraints[rows[i]].value)
		}
		if dense.Negligible(value-2*known, scale, 1) {
			weakRows = append(weakRows, r)
		}
	}
	return weakRows
}

// sensitivity computes the derivatives with respect to each α_j, given the active constraints.
func (l *lagrangian) sensitivity(kkt *kktMatrix, m, q int, constraints []constraint, rows []int) (*Sensitivity, error) {
	n, np, k := l.n, l.np, len(rows)
	out, errs := l.blocks(kkt, m, q, rows)
	cz, cy, v, y := make([]float64, n), make([]float64, k), make([]float64, n), make([]float64, k)
	change := make([]float64, k*n) // of the rows' gradients along α_j and ẋ
	for j := range np {
		for i := range cz {
			cz[i] = -l.cross.At(i, j)
		}
		for i, r := range rows {
			cy[i] = -constraints[r].d.Alpha[j]
		}
		outside := kkt.solve(v, y, cz, cy)
		if kkt.isSingular() {
			for i, r := range rows {
				d := constraints[r].d
				for c := range n {
					change[i*n+c] = d.XAlpha.At(c, j) + floats.Dot(d.XX.RawRowView(c), v)
				}
			}
			outside = max(outside, kkt.partingRatio(change, rows, m, [3]bool{out.X != nil, out.Lambda != nil, out.Nu != nil}))
		}
		if outside > rangeTol {
			errs = append(errs, &NotDifferentiableError{Inputs: []Input{Input(fmt.Sprintf("alpha[%d]", j))}, Residual: outside, Remedy: "drop constraints that depend on others, or make the objective curved"})
			continue
		}
		if !dense.AllFinite(v) || !dense.AllFinite(y) {
			return nil, errDerivativeOverflow
		}
		out.setColumn(j, m, rows, v, y)
	}
	return out, joinErrors(errs)
}

// blocks returns a Sensitivity with storage for x, λ and ν. A field is nil if its part of the
// solution is not unique, and blocks then returns an error for this part.
func (l *lagrangian) blocks(kkt *kktMatrix, m, q int, rows []int) (out *Sensitivity, errs []error) {
	free := [3]float64{} // of x, λ, ν
	for i, part := range kkt.freedom {
		block := 0
		if i >= l.n {
			block = 1
			if rows[i-l.n] >= m {
				block = 2
			}
		}
		free[block] = max(free[block], part)
	}
	dst := [3]*mat.Dense{}
	for b, r := range [3]int{l.n, m, q} {
		if l.np == 0 || r == 0 {
			continue
		}
		if free[b] > rangeTol {
			errs = append(errs, &NotDifferentiableError{Inputs: []Input{"alpha"}, Residual: free[b], Remedy: "do not ask for the derivative of " + [3]string{"x", "lambda", "nu"}[b] + ", which is not unique"})
			continue
		}
		dst[b] = mat.NewDense(r, l.np, nil)
	}
	return &Sensitivity{X: dst[0], Lambda: dst[1], Nu: dst[2]}, errs
}

// setColumn sets the derivatives with respect to α_j. The parameter v holds the derivatives of x,
// and y holds the derivatives of the multipliers of the active rows.
func (s *Sensitivity) setColumn(j, m int, rows []int, v, y []float64) {
	if s.X != nil {
		s.X.SetCol(j, v)
	}
	for i, r := range rows {
		if r < m && s.Lambda != nil {
			s.Lambda.Set(r, j, y[i])
		} else if r >= m && s.Nu != nil {
			s.Nu.Set(r-m, j, y[i])
		}
	}
}
