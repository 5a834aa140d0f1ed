package cvgm

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

func finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

func allFinite(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return !finite(x) })
}

func sum(s float64, v []float64) float64 {
	for _, x := range v {
		s += x
	}
	return s
}

func meanOf(v []float64) float64 { return sum(0, v) / float64(len(v)) }

func resize(s []float64, n int) []float64 {
	return slices.Grow(s[:0], n)[:n]
}

// gather copies the named rows of src to dst, row-major without gaps.
func gather(dst []float64, src *mat.Dense, rows []int) {
	s := src.RawMatrix()
	for i, row := range rows {
		copy(dst[i*s.Cols:(i+1)*s.Cols], s.Data[row*s.Stride:])
	}
}

// complement returns the numbers from 0 to n−1 that rows does not hold. It is
// never nil.
func complement(rows []int, n int) []int {
	in := make([]bool, n)
	for _, r := range rows {
		in[r] = true
	}
	out := make([]int, 0, n-len(rows))
	for i, held := range in {
		if !held {
			out = append(out, i)
		}
	}
	return out
}

// scatterAdd adds scale times the rows of src to the named rows of dst.
func scatterAdd(dst *mat.Dense, src []float64, rows []int, scale float64) {
	d := dst.RawMatrix()
	for i, row := range rows {
		to := d.Data[row*d.Stride : row*d.Stride+d.Cols]
		for j, v := range src[i*d.Cols : (i+1)*d.Cols] {
			to[j] += scale * v
		}
	}
}
