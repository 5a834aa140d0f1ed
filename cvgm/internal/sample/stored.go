package sample

import "gonum.org/v1/gonum/mat"

// Stored is a sparse matrix by rows, which are appended one after the other.
type Stored struct {
	columns int
	start   []int // of each row its first entry, then the end of the last row
	column  []int32
	value   []float64
}

// NewStored returns a matrix of so many columns without rows.
func NewStored(columns int) *Stored { return &Stored{columns: columns, start: []int{0}} }

// Set appends an entry to the row under way. No column may be set twice.
func (s *Stored) Set(column int, value float64) {
	s.column, s.value = append(s.column, int32(column)), append(s.value, value)
}

// EndRow ends the row under way.
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

// DoRowNonZero calls visit for the entries of row i.
func (s *Stored) DoRowNonZero(i int, visit func(i, j int, v float64)) {
	for k := s.start[i]; k < s.start[i+1]; k++ {
		visit(i, int(s.column[k]), s.value[k])
	}
}
