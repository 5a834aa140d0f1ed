package qpdiff

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// DirectionalDerivative sets dz, dlambda and dnu to the one-sided derivatives of the solution along
// the direction t. The one-sided derivative of z is the limit ż of (z(data + εt) − z(data))/ε as ε
// ↓ 0. A nil dz, dlambda or dnu is skipped. If rows are weakly active, the derivatives of VJP and
// JVP do not exist, but one-sided derivatives do. The one-sided derivative ż solves the program
//
//	minimise   ½ żᵀQż + (ṗ + Q̇z + Ġᵀλ + Ȧᵀν)ᵀż
//	subject to G_i ż = ḣ_i − Ġ_i z on strictly active rows (≤ on weakly active ones)
//	           Aż = ḃ − Ȧz
//
// and the multipliers of this program are the one-sided derivatives of λ and ν (Robinson, 1980;
// Bonnans and Shapiro, 2000, Section 5.2). For a row that is active on its lower side, replace ≤ by
// ≥. If row i has equal sides and the multiplier 0, G_i ż lies between the changes of the two
// sides.
//
// z and the multipliers must be unique; otherwise DirectionalDerivative returns the errors of JVP.
// There is one exception: the multiplier of a row of zeros need not be unique if t does not change
// the row and the derivative of the multiplier is not requested. The workspace w has the same
// meaning as in VJP. If rows are weakly active, DirectionalDerivative allocates memory even with a
// workspace.
func (s *Solution) DirectionalDerivative(w *Workspace, dz, dlambda, dnu []float64, t *QPGrad) error {
	d, err := s.derivative(w, false)
	if err != nil {
		return err
	}
	if err := d.sys.checkShapes("t", t, dz, dlambda, dnu); err != nil {
		return err
	}
	if err := t.check(); err != nil {
		return err
	}
	a := d.sys
	apart := d.movedApart(t)
	if len(d.weakRows)+len(apart) == 0 || d.cond > weakCond || d.sideHidden {
		return d.jvp(dz, dlambda, dnu, t)
	}
	weak := append(slices.Clone(d.weakRows), apart...)
	rows := d.rows
	defer func() { d.rows = rows }()
	d.rows = nil
	for r := range a.rows {
		if a.isIgnorable(r, dlambda, dnu, t) {
			continue
		}
		if a.equality(r) && !slices.Contains(apart, r) || a.multiplier(r) != 0 && !slices.Contains(weak, r) || slices.Contains(d.spareRows, r) {
			d.rows = append(d.rows, r)
		}
	}
	strict := len(d.rows)
	d.rows = append(d.rows, weak...)
	d.cy = dense.Grow(d.cy, max(a.n, len(d.rows)))
	d.change(t)
	program := QP{Q: mat.NewDense(a.n, a.n, slices.Clone(a.q)), P: make([]float64, a.n)}
	floats.SubTo(program.P, program.P, d.cz[:a.n])
	if strict > 0 {
		program.A, program.B = mat.NewDense(strict, a.n, a.stack(d.rows[:strict])), slices.Clone(d.cy[:strict])
	}
	program.G, program.H = mat.NewDense(len(weak), a.n, a.stack(weak)), slices.Clone(d.cy[strict:len(d.rows)])
	if len(apart) > 0 {
		program.L = make([]float64, len(weak))
		dense.Fill(program.L[:len(d.weakRows)], math.Inf(-1))
		d.partSides(t, apart, program.L[len(d.weakRows):], program.H[len(d.weakRows):])
	}
	var sol Solution
	if err := sol.Solve(&program); err != nil {
		return missingError(t, qpInputs{}, func(input QPInput) *NotDifferentiableError {
			e := d.weakError(input)
			e.Weak.Rows = slices.Sorted(slices.Values(weak))
			e.Remedy = "the program of the directional derivative has no solution: " + sol.Status.String()
			return e
		})
	}
	// z and the multipliers are unique if the active rows are independent, and Q is definite on the
	// null space of the strictly active rows.
	c := a.stack(d.rows)
	if newKKTMatrix(a.n, strict, a.q, c[:strict*a.n]).isSingular() || newKKTMatrix(a.n, len(d.rows), a.q, c).isSingular() {
		return missingError(t, qpInputs{}, func(input QPInput) *NotDifferentiableError {
			e := d.weakError(input)
			e.Weak.Rows = slices.Sorted(slices.Values(weak))
			e.Residual, e.Remedy = 1, singularRemedy
			return e
		})
	}
	copy(d.v, sol.Z)
	d.y = dense.Grow(d.y, max(a.n, len(d.rows)))
	copy(d.y, sol.Nu)
	copy(d.y[strict:], sol.Lambda)
	if !d.productsFinite() {
		return errDerivativeOverflow
	}
	d.write(dz, dlambda, dnu)
	return nil
}
