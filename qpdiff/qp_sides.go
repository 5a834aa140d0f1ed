package qpdiff

import (
	"slices"

	"gonum.org/v1/gonum/floats"
)

// This file has the rules of derivatives for rows with equal sides. These rows are equalities, and
// the sign of the multiplier selects the side that holds the row. If the multiplier is zero, the
// solution has a kink in the two sides, and in nothing else.

// sidesPart reports whether the derivatives in the block in do not exist, because in has a side of
// a row with equal sides and no multiplier.
func (d *qpDerivative) sidesPart(in QPInput) bool {
	return slices.ContainsFunc(d.even, func(r int) bool {
		_, side, _ := d.sys.inputs(r)
		return in == side || in == side.opposite()
	})
}

// movedApart lists the rows with equal sides and no multiplier whose two sides the direction t
// moves by different amounts.
func (d *qpDerivative) movedApart(t *QPGrad) (rows []int) {
	for _, r := range d.even {
		if lo, hi := d.sys.sideChange(t, r); lo != hi {
			rows = append(rows, r)
		}
	}
	return rows
}

// partSides sets lo and hi to the sides of the rows that movedApart lists, for the program of the
// directional derivative.
func (d *qpDerivative) partSides(t *QPGrad, apart []int, lo, hi []float64) {
	a := d.sys
	for i, r := range apart {
		low, high := a.sideChange(t, r)
		if m, _, at := a.place(t, r); m != nil {
			move := floats.Dot(m.RawRowView(at), a.z)
			low, high = low-move, high-move
		}
		if a.scale[r] < 0 {
			low, high = high, low
		}
		lo[i], hi[i] = low*a.scale[r], high*a.scale[r]
	}
}

// evenError refuses the derivative with respect to the sides in.
func (d *qpDerivative) evenError(in QPInput) *NotDifferentiableError {
	remedy := "move both sides of these rows, which are equal and have no multiplier, together, ask for the DirectionalDerivative, or set Generalised"
	if d.cond > weakCond {
		remedy = d.weakRemedy()
	}
	return &NotDifferentiableError{Inputs: []Input{Input(in.String())}, Weak: Weak{Rows: slices.Clone(d.even)}, Remedy: remedy}
}
