package sample

import (
	"fmt"
	"slices"
	"sync/atomic"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// With up to denseFeatures features, prepared rows are always dense, because linear learners then
// use the Gram matrix of all features. With more features, prepared rows are sparse only if each
// row has at most 1/rowsPerStored of all features. The stored entries and their columns then take
// less than half the memory of dense rows.
const denseFeatures, rowsPerStored = 200, 4

var mostDense atomic.Int64

func init() { mostDense.Store(denseFeatures) }

// SetDenseFeatures replaces the number denseFeatures during a test. It returns the old number.
func SetDenseFeatures(n int) (oldNumber int) { return int(mostDense.Swap(int64(n))) }

// MostStored returns the largest number of features that p stores for a row. If prepared rows are
// dense (see denseFeatures), it returns 0.
func MostStored(p any) int {
	s, ok := p.(interface {
		Dims() (in, out int)
		MostStored() int
	})
	if !ok {
		return 0
	}
	_, m := s.Dims()
	if most := s.MostStored(); int64(m) > mostDense.Load() && rowsPerStored*most <= m {
		return max(1, most)
	}
	return 0
}

// Plain reports whether the features that p makes are the unchanged columns of x. p may be nil.
func Plain(p any, x *mat.Dense) bool {
	plain, ok := p.(interface {
		Dims() (in, out int)
		Plain(self any, x *mat.Dense) bool
	})
	if !ok {
		return false
	}
	_, n := x.Dims()
	in, out := plain.Dims()
	return in == n && out == n && plain.Plain(p, x)
}

// Widest returns a text for errors. It describes the column from which p makes the most features.
// If p makes no more than one feature from each column, the text is empty.
func Widest(p any) string {
	if w, ok := p.(interface{ Widest() (string, int) }); ok {
		if column, features := w.Widest(); features > 1 {
			return fmt.Sprintf(", %d of them of column %q", features, column)
		}
	}
	return ""
}

// Views reports whether l reads its training rows in place, without a copy. If p is nil, these are
// the rows of d. If p stores only some entries, they are the features that p makes from the rows of
// d. For any other p, the result is false. A matrix that is not sparse is treated as dense. The
// parameter countRows returns the number of rows with a weight above 0. It is called only for a
// dense X.
func Views(l learn.Learner, d learn.Data, p any, countRows func() int) bool {
	v, ok := l.(learn.ViewLearner)
	switch {
	case !ok:
		return false
	case p != nil:
		return MostStored(p) > 0 && v.Views(learn.Size{Sparse: true})
	}
	if x, dense := d.X.(*mat.Dense); d.X == nil || dense && x == nil {
		return false
	}
	if d.Sparse() {
		return v.Views(learn.Size{Sparse: true})
	}
	s := d.Size()
	s.Counting = countRows()
	return v.Views(s)
}

// PrepareStored returns the features of the listed rows of x as p stores them. The result is a
// matrix with as many rows as x, in which rows that are not listed are 0. If a feature is not
// finite, PrepareStored returns an error.
func PrepareStored(p interface {
	Dims() (in, out int)
	MostStored() int
	ApplyStored(row []float64, set func(feature int, v float64)) error
}, x *mat.Dense, rows []int) (*Stored, error) {
	n, _ := x.Dims()
	_, m := p.Dims()
	in, seen := make([]bool, n), make([]int, m) // the last row that set each feature, from 1 on
	for _, i := range rows {
		in[i] = true
	}
	s := NewStored(m)
	s.grow(n, len(rows)*p.MostStored())
	for i, named := range in {
		if !named {
			s.EndRow()
			continue
		}
		var wrong error
		left := p.MostStored()
		err := p.ApplyStored(x.RawRowView(i), func(j int, v float64) {
			left--
			switch {
			case wrong != nil:
			case j < 0 || j >= m || seen[j] == i+1 || left < 0:
				wrong = args.Bad("Config.Prepare", qpdiff.ErrShape, "let ApplyStored set each feature of Dims at most once, and no more than MostStored",
					"sets feature %d of %d in row %d, or that twice, or more than %d", j, m, i, p.MostStored())
			case !args.Finite(v):
				wrong = errPrepared(v, i, j)
			default:
				seen[j] = i + 1
				s.Set(j, v)
			}
		})
		if err != nil {
			return nil, args.At(err, "prepare row %d of Data.X", i)
		}
		if wrong != nil {
			return nil, wrong
		}
		s.EndRow()
	}
	return s, nil
}

// StoredBytes returns the bytes of a result of PrepareStored. x has nrows rows, of which nlisted
// are listed. There are nfeatures features, of which a row stores at most maxStored.
func StoredBytes(nrows, nlisted, maxStored, nfeatures float64) float64 {
	return 9*(nrows+1) + 12*nlisted*maxStored + 8*nfeatures
}

// Stored is a sparse matrix by rows. Rows are appended one after the other.
type Stored struct {
	columns int
	start   []int // the index of each row's first entry; then the end of the last row
	column  []int32
	value   []float64
}

// NewStored returns a matrix without rows. It has the given number of columns.
func NewStored(columns int) *Stored { return &Stored{columns: columns, start: []int{0}} }

// grow allocates storage for the given numbers of further rows and entries.
func (s *Stored) grow(rows, entries int) {
	s.start = slices.Grow(s.start, rows)
	s.column, s.value = slices.Grow(s.column, entries), slices.Grow(s.value, entries)
}

// Set appends an entry to the current row. Each column must be set at most once for each row.
func (s *Stored) Set(column int, value float64) {
	s.column, s.value = append(s.column, int32(column)), append(s.value, value)
}

// EndRow ends the current row.
func (s *Stored) EndRow() { s.start = append(s.start, len(s.value)) }

// Dims returns the number of rows and columns.
func (s *Stored) Dims() (rows, columns int) { return len(s.start) - 1, s.columns }

// At returns an entry.
func (s *Stored) At(i, j int) (v float64) {
	s.DoRowNonZero(i, func(_, k int, value float64) {
		if k == j {
			v = value
		}
	})
	return v
}

// T returns the transpose.
func (s *Stored) T() mat.Matrix { return mat.Transpose{Matrix: s} }

// DoRowNonZero calls fn for the entries of row i.
func (s *Stored) DoRowNonZero(i int, fn func(i, j int, v float64)) {
	for k := s.start[i]; k < s.start[i+1]; k++ {
		fn(i, int(s.column[k]), s.value[k])
	}
}
