package learner

import (
	"math"
	"math/bits"
	"slices"

	"cvgm/qpdiff/internal/dense"
)

// A RowSet is the set of distinct rows of a matrix.
type RowSet struct {
	First  []int     // of each distinct row: its first place
	Of     []int     // of each row: its place among the distinct, −1 where it does not count
	Copies []float64 // of each distinct row: how often it occurs, or what its copies count
	table  []int     // by hash: a distinct row plus 1
}

// Where sets dst to the rows whose distinct row is one of those that is picks. The
// error is that of a learner without a fit.
func (s *RowSet) Where(l *State, dst []int, is func(distinct int) bool) ([]int, error) {
	if err := l.Fitted(); err != nil {
		return nil, err
	}
	dst = dst[:0]
	for i, k := range s.Of {
		if k >= 0 && is(k) {
			dst = append(dst, i)
		}
	}
	return dst, nil
}

// Distinct finds the distinct rows of x (rows×n without gaps), each of which counts
// once where counts is nil, and reports whether the set differs in places from the one
// before.
func (s *RowSet) Distinct(x []float64, rows, n int, counts []float64) (changed bool) {
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
		count := dense.CountAt(counts, i)
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
