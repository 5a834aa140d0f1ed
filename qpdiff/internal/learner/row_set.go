package learner

import (
	"math"
	"math/bits"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"
)

// A RowSet is the set of distinct rows of a matrix.
type RowSet struct {
	First  []int     // for each distinct row, the first row of the matrix that equals it
	Of     []int     // for each row, the number of the distinct row that equals it; −1 if its weight is 0
	Copies []float64 // for each distinct row, the sum of the weights of the rows that equal it
	Counts []float64 // weight of each row; nil: all weights are 1
	table  []int     // hash table; an entry is the number of a distinct row plus 1, or 0
}

// Where sets dst to the rows i for which pred(k) is true. Here k is the number of the distinct row
// that equals row i. If there is no fit, Where returns an error that names the learner l.
func (s *RowSet) Where(l any, state *State, dst []int, pred func(distinct int) bool) ([]int, error) {
	if err := state.Fitted(); err != nil {
		return nil, Named(l, err)
	}
	dst = dst[:0]
	for i, k := range s.Of {
		if k >= 0 && pred(k) {
			dst = append(dst, i)
		}
	}
	return dst, nil
}

// Spread divides a value of each distinct row among the rows that equal it. It sets dst_i to
// value(k) times the weight of row i. Here k is the number of the distinct row that equals row i.
// If there is no fit, Spread returns an error that names the learner l.
func (s *RowSet) Spread(l any, state *State, dst []float64, value func(distinct int) float64) ([]float64, error) {
	if err := state.Fitted(); err != nil {
		return nil, Named(l, err)
	}
	dst = dst[:0]
	for i, k := range s.Of {
		v := 0.0
		if k >= 0 {
			v = s.Count(i) * value(k)
		}
		dst = append(dst, v)
	}
	return dst, nil
}

// Count returns the weight of row i.
func (s *RowSet) Count(i int) float64 { return dense.CountAt(s.Counts, i) }

// Share returns the weight of row i divided by the total weight of its distinct row k.
func (s *RowSet) Share(i, k int) float64 { return s.Count(i) / s.Copies[k] }

// Distinct finds the distinct rows of the matrix x, which has the given number of rows and n
// columns. It sums the weights of each distinct row. It reports whether the result differs from the
// result of the previous call.
func (s *RowSet) Distinct(x []float64, rows, n int) (changed bool) {
	if cap(s.Of) < rows {
		s.First, s.Of, s.Copies = make([]int, 0, rows), make([]int, rows), make([]float64, 0, rows)
		s.table = make([]int, 1<<bits.Len(uint(2*rows)))
		changed = true
	}
	changed = changed || len(s.Of) != rows
	s.First, s.Of, s.Copies = s.First[:0], s.Of[:rows], s.Copies[:0]
	clear(s.table)
	mask := uint64(len(s.table) - 1)
	for i := range rows {
		count := s.Count(i)
		if count == 0 {
			changed = changed || s.Of[i] >= 0
			s.Of[i] = -1
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
			if j := s.First[s.table[k]-1]; slices.Equal(row, x[j*n:(j+1)*n]) {
				break
			}
		}
		d := s.table[k] - 1
		if d < 0 {
			d = len(s.First)
			s.table[k] = d + 1
			s.First, s.Copies = append(s.First, i), append(s.Copies, 0)
		}
		s.Copies[d] += count
		changed = changed || s.Of[i] != d
		s.Of[i] = d
	}
	return changed
}

// RowSetEntries returns the size of a RowSet in float64 values.
func RowSetEntries(rows float64, weighted bool) float64 {
	entries := 3*rows + 4*rows // table
	if weighted {
		entries += rows
	}
	return entries
}

// Equal calls the function f(i, k) for each row k that equals an earlier row. The argument i is the
// first row that equals row k. Equal stops if f returns false.
func (s *RowSet) Equal(f func(i, k int) bool) {
	for k, row := range s.Of {
		if row >= 0 && s.First[row] != k && !f(s.First[row], k) {
			return
		}
	}
}

// CheckEqual returns an error if equal rows have different tangents in t. It compares the tangents
// of the labels y, and the tangents of the coordinates j for which isMoving(j) is true. It checks
// row i only if pred(k) is true, where k is the number of the distinct row that equals row i.
func (s *RowSet) CheckEqual(t *learn.Grad, y []float64, pred func(distinct int) bool, isMoving func(j int) bool) error {
	if t.X == nil && t.Y == nil {
		return nil
	}
	for i, k := range s.Equal {
		if !pred(s.Of[k]) {
			continue
		}
		sign := y[i] * y[k]
		parted := t.Y != nil && t.Y[i] != sign*t.Y[k]
		if t.X != nil {
			other := t.X.RawRowView(k)
			for j, v := range t.X.RawRowView(i) {
				parted = parted || v != sign*other[j] && isMoving(j)
			}
		}
		if parted {
			return check.ArgErrorf("d", qpdiff.ErrNotDifferentiable, "move them equally, or move the hyperparameters", "parts the equal rows %d and %d, which are at the kink of their loss", i, k)
		}
	}
	return nil
}
