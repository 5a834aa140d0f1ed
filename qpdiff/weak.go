package qpdiff

import "slices"

// row adds row i where value is negligible, in ascending order.
func (w *Weak) row(i int, value, scale, cond float64) {
	if negligible(value, scale, cond) {
		w.Rows = append(w.Rows, i)
	}
}

// coord adds coordinate j where value is negligible, in ascending order.
func (w *Weak) coord(j int, value, scale, cond float64) {
	if negligible(value, scale, cond) {
		w.Coords = append(w.Coords, j)
	}
}

// clear makes the lists empty.
func (w *Weak) clear() { w.Rows, w.Coords = w.Rows[:0], w.Coords[:0] }

// settle takes from the lists what is on its side of the kink by more than its own
// error, which distance returns for a row, or rows+coordinate.
func (w *Weak) settle(rows int, distance func(place int) (value, err float64)) {
	decided := func(place int) bool {
		value, err := distance(place)
		return !negligible(value, err, 1)
	}
	w.Rows = slices.DeleteFunc(w.Rows, decided)
	w.Coords = slices.DeleteFunc(w.Coords, func(j int) bool { return decided(rows + j) })
}

// refuse reports that there is no derivative with respect to the fields of g, at what
// is weakly active of the rows of s.
func (s *rowSet) refuse(g *Grad, weak Weak, remedy string, hyper ...Input) error {
	named := Weak{Coords: slices.Clone(weak.Coords)}
	for _, i := range weak.Rows {
		named.Rows = append(named.Rows, s.first[i])
	}
	return notDifferentiable(g, named, remedy, hyper...)
}

// eachEqual visits the rows whose distinct row is one of those that is picks and has
// an earlier copy i, until visit reports false.
func (s *rowSet) eachEqual(is func(distinct int) bool, visit func(i, k, distinct int) bool) {
	if len(s.first) == len(s.of) {
		return
	}
	for k, row := range s.of {
		if row >= 0 && s.first[row] != k && is(row) && !visit(s.first[row], k, row) {
			return
		}
	}
}

// checkEqual reports equal rows, of those that is picks, that t parts, in their labels
// y or in a coordinate that may move.
func (s *rowSet) checkEqual(t *Grad, y []float64, is func(distinct int) bool, moves func(j int) bool) (err error) {
	if t.X == nil && t.Y == nil {
		return nil
	}
	s.eachEqual(is, func(i, k, _ int) bool {
		sign := y[i] * y[k]
		parted := t.Y != nil && t.Y[i] != sign*t.Y[k]
		if t.X != nil {
			other := t.X.RawRowView(k)
			for j, v := range t.X.RawRowView(i) {
				parted = parted || v != sign*other[j] && moves(j)
			}
		}
		if parted {
			err = argErrorf("d", ErrNotDifferentiable, "move them equally, or move the hyperparameters", "parts the equal rows %d and %d, which are at the kink of their loss", i, k)
		}
		return !parted
	})
	return err
}
