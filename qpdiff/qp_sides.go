package qpdiff

import (
	"slices"

	"gonum.org/v1/gonum/floats"
)

// This file computes derivatives for rows whose two sides are equal. Such a row is an equality. The
// sign of its multiplier selects the side to which the derivative belongs. If the multiplier is
// zero, the solution has a kink as a function of these two sides, but not as a function of other
// data.

// hasEvenSide reports whether the given block of the data holds a side of a row whose sides are
// equal and whose multiplier is 0. If it does, the derivatives with respect to this block do not
// exist.
func (d *qpDerivative) hasEvenSide(input QPInput) bool {
	return slices.ContainsFunc(d.evenRows, func(r int) bool {
		_, side, _ := d.sys.inputsOf(r)
		return input == side || input == side.opposite()
	})
}

// movedApart lists those of d.evenRows whose two sides the direction t changes by different
// amounts.
func (d *qpDerivative) movedApart(t *QPGrad) (rows []int) {
	for _, r := range d.evenRows {
		if lo, hi := d.sys.sideChange(t, r); lo != hi {
			rows = append(rows, r)
		}
	}
	return rows
}

// The directional derivative along t is the solution of another program. partSides sets lo[i] and
// hi[i] to the sides of row movedRows[i] in that program. The list movedRows is the result of
// movedApart.
func (d *qpDerivative) partSides(t *QPGrad, movedRows []int, lo, hi []float64) {
	a := d.sys
	for i, r := range movedRows {
		low, high := a.sideChange(t, r)
		if m, _, at := a.placeIn(t, r); m != nil {
			move := floats.Dot(m.RawRowView(at), a.z)
			low, high = low-move, high-move
		}
		if a.scale[r] < 0 {
			low, high = high, low
		}
		lo[i], hi[i] = low*a.scale[r], high*a.scale[r]
	}
}

// evenError returns the error for a block of the data that holds sides of d.evenRows.
func (d *qpDerivative) evenError(input QPInput) *NotDifferentiableError {
	remedy := "move both sides of these rows, which are equal and have no multiplier, together, ask for the DirectionalDerivative, or set Generalised"
	if d.cond > weakCond {
		remedy = d.weakRemedy()
	}
	return &NotDifferentiableError{Inputs: []Input{Input(input.String())}, Weak: Weak{Rows: slices.Clone(d.evenRows)}, Remedy: remedy}
}
