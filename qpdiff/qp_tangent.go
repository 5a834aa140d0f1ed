package qpdiff

import (
	"cmp"

	"cvgm/qpdiff/internal/check"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// check returns an error for the first entry of g that is not finite. Here g is a direction.
func (g *QPGrad) check() error {
	const remedy = "give a finite direction"
	return named(cmp.Or(
		check.FiniteRows("t.Q", remedy, g.Q), check.FiniteRows("t.G", remedy, g.G), check.FiniteRows("t.A", remedy, g.A),
		check.Finite("t.P", remedy, g.P), check.Finite("t.H", remedy, g.H), check.Finite("t.B", remedy, g.B),
		check.Finite("t.L", remedy, g.L), check.Finite("t.ZMin", remedy, g.ZMin), check.Finite("t.ZMax", remedy, g.ZMax),
	))
}

// change sets (d.cz, d.cy) to the right-hand side of the KKT system for the direction t. The system
// has the rows d.rows.
func (d *qpDerivative) change(t *QPGrad) {
	a := d.sys
	cz := d.cz[:a.n]
	clear(cz)
	if t.P != nil {
		floats.Sub(cz, t.P)
	}
	if t.Q != nil {
		for i := range a.n {
			row := t.Q.RawRowView(i)
			cz[i] -= floats.Dot(row, a.z) / 2
			floats.AddScaled(cz, -a.z[i]/2, row)
		}
	}
	for i, r := range d.rows {
		m, rhs, at := a.placeIn(t, r)
		v := 0.0
		if rhs != nil {
			v = rhs[at]
		}
		if m != nil {
			row := m.RawRowView(at)
			v -= floats.Dot(row, a.z)
			floats.AddScaled(cz, -a.multiplier(r), row)
		}
		d.cy[i] = v * a.scale[r]
	}
}

// JVP sets dz, dlambda and dnu to the derivatives of z, λ and ν along the direction t. A nil dz,
// dlambda or dnu is skipped. JVP returns the errors of VJP. If it returns an error, it writes
// nothing. The returned error joins one error for each block of t along which no derivative exists,
// and one error for each wanted output that is not unique. There is no derivative along a block in
// two cases: the change of the KKT conditions along the block is not in the range of the KKT
// matrix, or the block makes dependent rows independent. The workspace w has the same meaning as in
// VJP.
func (s *Solution) JVP(w *Workspace, dz, dlambda, dnu []float64, t *QPGrad) error {
	d, err := s.derivative(w, s.Generalised)
	if err != nil {
		return err
	}
	if err := d.sys.checkShapes("t", t, dz, dlambda, dnu); err != nil {
		return err
	}
	if err := t.check(); err != nil {
		return err
	}
	return d.jvp(dz, dlambda, dnu, t)
}

// jvp does the work of JVP, after the derivative is prepared and the arguments are checked.
func (d *qpDerivative) jvp(dz, dlambda, dnu []float64, t *QPGrad) error {
	if len(d.weakRows) > 0 {
		return missingError(t, qpInputs{}, func(input QPInput) *NotDifferentiableError { return d.weakError(input) })
	}
	if apart := d.movedApart(t); len(apart) > 0 {
		var exists qpInputs
		for input := range exists {
			exists[input] = !d.hasEvenSide(QPInput(input))
		}
		return missingError(t, exists, func(input QPInput) *NotDifferentiableError { return d.evenError(input) })
	}
	if d.kkt != nil {
		if err := d.jvpExists(t, dz, dlambda, dnu); err != nil {
			return err
		}
	}
	d.change(t)
	d.solve()
	if d.kkt != nil && d.kkt.splitsRowsLater(d.rowChange(t)) {
		others := qpInputs{InputQ: true, InputP: true, InputH: true, InputB: true, InputL: true, InputZMin: true, InputZMax: true}
		return missingError(t, others, func(input QPInput) *NotDifferentiableError { return d.singularError(input, 1) })
	}
	if !d.productsFinite() {
		return errDerivativeOverflow
	}
	d.write(dz, dlambda, dnu)
	return nil
}

// write copies (d.v, d.y) to the outputs.
func (d *qpDerivative) write(dz, dlambda, dnu []float64) {
	a := d.sys
	copy(dz, d.v[:a.n])
	clear(dlambda)
	clear(dnu)
	for i, r := range d.rows {
		if out, at := a.placeOut(dlambda, dnu, r); out != nil {
			out[at] = d.y[i] * a.scale[r]
		}
	}
}

// jvpExists returns an error if a derivative of JVP does not exist: the derivative along some block
// of t, or the derivative of some wanted output.
func (d *qpDerivative) jvpExists(t *QPGrad, dz, dlambda, dnu []float64) error {
	a := d.sys
	var errs []error
	wanted := [3]bool{dz != nil, dlambda != nil, dnu != nil}
	for input, part := range [inputCount]QPGrad{{Q: t.Q}, {P: t.P}, {G: t.G}, {H: t.H}, {A: t.A}, {B: t.B}, {L: t.L}, {ZMin: t.ZMin}, {ZMax: t.ZMax}} {
		d.change(&part)
		if out := max(d.solve(), d.kkt.partingRatio(d.rowChange(&part), d.rows, a.m, wanted)); out > rangeTol {
			errs = append(errs, d.singularError(QPInput(input), out))
		}
	}
	for o, wanted := range wanted {
		if out := d.kkt.outputFree(d, QPOutput(o)); wanted && out > rangeTol {
			errs = append(errs, &NotDifferentiableError{Residual: out, Remedy: "do not ask for the derivative of " + QPOutput(o).String() + ", which is not unique"})
		}
	}
	return joinErrors(errs)
}

// rowChange returns Ċ, the change of the rows d.rows along the direction t.
func (d *qpDerivative) rowChange(t *QPGrad) []float64 {
	a := d.sys
	c := make([]float64, len(d.rows)*a.n)
	for i, r := range d.rows {
		if m, _, at := a.placeIn(t, r); m != nil {
			floats.AddScaled(c[i*a.n:(i+1)*a.n], a.scale[r], m.RawRowView(at))
		}
	}
	return c
}

// Jacobian returns the derivative of one block of the solution with respect to one block of the
// data. The result has one row for each entry of the output, and one column for each entry of the
// input. The entries of a matrix are in row-major order. For Q, column (i, j) is the derivative
// along (Eᵢⱼ + Eⱼᵢ)/2. Jacobian computes each row by VJP. If a row does not exist, it returns nil
// and the error of VJP. If a block is empty, it returns nil.
func (s *Solution) Jacobian(output QPOutput, input QPInput) (*mat.Dense, error) {
	var w Workspace
	d, err := s.derivative(&w, s.Generalised)
	if err != nil {
		return nil, err
	}
	a := d.sys
	n, m, q := a.n, a.general, a.rows-a.m
	rows := [...]int{n, a.m, q}[output]
	bounds, lower := a.m-m, 0
	if a.twoSided {
		lower = m
	}
	cols := [...]int{n * n, n, m * n, m, q * n, q, lower, bounds, bounds}[input]
	if rows == 0 || cols == 0 {
		return nil, nil
	}
	jac := mat.NewDense(rows, cols, nil)
	unit := make([]float64, rows)
	for i := range rows {
		unit[i] = 1
		row := jac.RawRowView(i)
		var g QPGrad
		switch input {
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
		case InputL:
			g.L = row
		case InputZMin:
			g.ZMin = row
		case InputZMax:
			g.ZMax = row
		}
		cot := [3][]float64{}
		cot[output] = unit
		if err := s.VJP(&w, &g, cot[0], cot[1], cot[2]); err != nil {
			return nil, err
		}
		unit[i] = 0
	}
	return jac, nil
}
