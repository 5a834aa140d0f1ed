package qpdiff

import "slices"

// A face is the piece of a learner's objective that its solution is on, with the
// factor of its optimality system. A place of it is what may have a kink: a distinct
// row, or rows+coordinate.
type face interface {
	// screen returns how far a place is from its kink and what bounds the error of
	// that, as [negligible] takes them.
	screen(place int) (value, scale, cond float64)
	// distance is screen with the error of that place alone, which takes one solve.
	distance(place int) (value, scale, cond float64)
	// free reports a kink in a hyperparameter at 0 only.
	free(place int) bool
}

// kinks lists where strict complementarity fails at a solution.
type kinks struct {
	weak     Weak // weakly active, by distinct row
	weakFree Weak // kinks in a hyperparameter at 0 only: coordinates in λ1, rows in the hinge loss's weight
}

func (k *kinks) resize(rows, n int) {
	growAll(rows, &k.weak.Rows, &k.weakFree.Rows)
	growAll(n, &k.weak.Coords, &k.weakFree.Coords)
}

// list lists the places that screen does not tell from their kinks, and reports
// whether there are any.
func (k *kinks) list(f face, rows, coords int) (any bool) {
	k.weak.Rows, k.weak.Coords = k.weak.Rows[:0], k.weak.Coords[:0]
	k.weakFree.Rows, k.weakFree.Coords = k.weakFree.Rows[:0], k.weakFree.Coords[:0]
	for place := range rows + coords {
		if !negligible(f.screen(place)) {
			continue
		}
		any = true
		weak := &k.weak
		if f.free(place) {
			weak = &k.weakFree
		}
		if place < rows {
			weak.Rows = append(weak.Rows, place)
		} else {
			weak.Coords = append(weak.Coords, place-rows)
		}
	}
	return any
}

// settle takes from the lists the places that are on their side of the kink by more
// than their own error.
func (k *kinks) settle(f face, rows int) {
	row := func(i int) bool { return !negligible(f.distance(i)) }
	coord := func(j int) bool { return !negligible(f.distance(rows + j)) }
	for _, weak := range []*Weak{&k.weak, &k.weakFree} {
		weak.Rows, weak.Coords = slices.DeleteFunc(weak.Rows, row), slices.DeleteFunc(weak.Coords, coord)
	}
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
