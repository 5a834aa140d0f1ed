package qpdiff

import (
	"math"
	"math/bits"
	"slices"
)

// A rowSet is the set of distinct rows of a matrix.
type rowSet struct {
	first  []int     // of each distinct row: its first place
	of     []int     // of each row: its place among the distinct, −1 where it does not count
	copies []float64 // of each distinct row: how often it occurs, or what its copies count
	counts []float64 // what each row counts, nil: one each
	table  []int     // by hash: a distinct row plus 1
}

// where sets dst to the rows whose distinct row is one of those that is picks. The
// error is that of a learner without a fit.
func (s *rowSet) where(l *fitState, dst []int, is func(distinct int) bool) ([]int, error) {
	if err := l.fitted(); err != nil {
		return nil, err
	}
	dst = dst[:0]
	for i, k := range s.of {
		if k >= 0 && is(k) {
			dst = append(dst, i)
		}
	}
	return dst, nil
}

// spread sets dst to what each row counts times the value of each copy of its distinct
// row. The error is that of a learner without a fit.
func (s *rowSet) spread(l *fitState, dst []float64, value func(distinct int) float64) ([]float64, error) {
	if err := l.fitted(); err != nil {
		return nil, err
	}
	dst = dst[:0]
	for i, k := range s.of {
		v := 0.0
		if k >= 0 {
			v = s.count(i) * value(k)
		}
		dst = append(dst, v)
	}
	return dst, nil
}

// count is what row i counts.
func (s *rowSet) count(i int) float64 { return countAt(s.counts, i) }

// share returns the part of what distinct row k counts that row i counts.
func (s *rowSet) share(i, k int) float64 { return s.count(i) / s.copies[k] }

// distinct finds the distinct rows of x (rows×n without gaps), with counts for each, and
// reports whether the set differs in places from the one before.
func (s *rowSet) distinct(x []float64, rows, n int) (changed bool) {
	if cap(s.of) < rows {
		s.first, s.of, s.copies = make([]int, 0, rows), make([]int, rows), make([]float64, 0, rows)
		s.table = make([]int, 1<<bits.Len(uint(2*rows)))
		changed = true
	}
	changed = changed || len(s.of) != rows
	s.first, s.of, s.copies = s.first[:0], s.of[:rows], s.copies[:0]
	clear(s.table)
	mask := uint64(len(s.table) - 1)
	for i := range rows {
		count := s.count(i)
		if count == 0 {
			changed = changed || s.of[i] >= 0
			s.of[i] = -1
			continue
		}
		row := x[i*n : (i+1)*n]
		h := uint64(14695981039346656037)
		for _, v := range row {
			h = (h ^ math.Float64bits(v+0)) * 1099511628211 // v+0: −0 is 0
			h ^= h >> 29
		}
		k := h & mask
		for ; s.table[k] != 0; k = (k + 1) & mask {
			if j := s.first[s.table[k]-1]; slices.Equal(row, x[j*n:(j+1)*n]) {
				break
			}
		}
		d := s.table[k] - 1
		if d < 0 {
			d = len(s.first)
			s.table[k] = d + 1
			s.first, s.copies = append(s.first, i), append(s.copies, 0)
		}
		s.copies[d] += count
		changed = changed || s.of[i] != d
		s.of[i] = d
	}
	return changed
}

// equal visits the rows k that have an earlier copy, with the first one i.
func (s *rowSet) equal(visit func(i, k int) bool) {
	for k, row := range s.of {
		if row >= 0 && s.first[row] != k && !visit(s.first[row], k) {
			return
		}
	}
}

// checkEqual reports equal rows, of those that is picks, that t parts, in their labels
// y or in a coordinate that may move.
func (s *rowSet) checkEqual(t *Grad, y []float64, is func(distinct int) bool, moves func(j int) bool) error {
	if t.X == nil && t.Y == nil {
		return nil
	}
	for i, k := range s.equal {
		if !is(s.of[k]) {
			continue
		}
		sign := y[i] * y[k]
		parted := t.Y != nil && t.Y[i] != sign*t.Y[k]
		if t.X != nil {
			other := t.X.RawRowView(k)
			for j, v := range t.X.RawRowView(i) {
				parted = parted || v != sign*other[j] && moves(j)
			}
		}
		if parted {
			return argErrorf("d", ErrNotDifferentiable, "move them equally, or move the hyperparameters", "parts the equal rows %d and %d, which are at the kink of their loss", i, k)
		}
	}
	return nil
}
