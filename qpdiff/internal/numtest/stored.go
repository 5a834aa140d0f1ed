package numtest

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Stored is a sparse matrix whose entries can be visited only row by row. Its method At panics.
type Stored struct {
	Rows, Columns int
	Index         [][]int
	Value         [][]float64
}

// DrawStored draws a rows×n matrix. Each column stores few, most or all of its entries. Among the
// stored entries are entries far from zero, and also zeros.
func DrawStored(rng *rand.Rand, rows, n int) *Stored {
	s := &Stored{rows, n, make([][]int, rows), make([][]float64, rows)}
	for j := range n {
		part := []float64{.05, .2, .4, .9, 1}[rng.IntN(5)]
		offset := []float64{0, 1, 30}[rng.IntN(3)]
		for i := range rows {
			if rng.Float64() >= part {
				continue
			}
			v := offset + rng.NormFloat64()
			if rng.IntN(20) == 0 {
				v = 0
			}
			s.Index[i], s.Value[i] = append(s.Index[i], j), append(s.Value[i], v)
		}
	}
	return s
}

// Dims returns the shape.
func (s *Stored) Dims() (rows, columns int) { return s.Rows, s.Columns }

// At panics.
func (s *Stored) At(i, j int) float64 { panic("numtest: an entry of a sparse matrix was read by At") }

// T returns the transpose.
func (s *Stored) T() mat.Matrix { return mat.Transpose{Matrix: s} }

// DoRowNonZero calls f for each stored entry of row i.
func (s *Stored) DoRowNonZero(i int, f func(i, j int, v float64)) {
	for k, j := range s.Index[i] {
		f(i, j, s.Value[i][k])
	}
}

// Seen returns the matrix (x − centre)/scale. A nil centre means 0, and a nil scale means 1.
func (s *Stored) Seen(centre, scale []float64) *mat.Dense {
	x := mat.NewDense(s.Rows, s.Columns, nil)
	for i, at := range s.Index {
		for k, j := range at {
			x.Set(i, j, s.Value[i][k])
		}
	}
	x.Apply(func(_, j int, v float64) float64 {
		if centre != nil {
			v -= centre[j]
		}
		if scale != nil {
			v /= scale[j]
		}
		return v
	}, x)
	return x
}
