package normalise

import (
	"math"

	"cvgm/cvgm/internal/sample"

	"gonum.org/v1/gonum/mat"
)

// Sums holds sums over all rows of x. By subtraction, it gives the standard deviations over the
// rows that remain if some rows are left out. The cost is proportional to the number of rows that
// are left out.
type Sums struct {
	x               *mat.Dense
	weights         []float64 // nil if all weights are 1
	unit            float64   // a power of two that multiplies the weights
	total           float64
	mean, squares   []float64 // Σ w(x−mean)²
	sum, valSquares []float64 // sums over the rows left out
}

// A sum of squares over the remaining rows is computed by subtraction if it is at least leastKept
// times the sum over all rows, and the weight of the remaining rows is at least leastKept times the
// total weight. Under these conditions the subtraction loses at most two digits. Otherwise, or if
// the sum is below smallestSquares, it is computed from the remaining rows.
const leastKept = .01

// Take stores in s the sums over the rows of x with a weight above 0. If weights is nil, all
// weights are 1.
func (s *Sums) Take(x *mat.Dense, weights []float64) {
	rows, m := x.Dims()
	s.x, s.weights, s.unit, s.total = x, weights, 1, 0
	largest := 0.0
	for _, w := range weights {
		largest = max(largest, w)
	}
	if weights != nil {
		_, e := math.Frexp(largest)
		s.unit = math.Ldexp(1, 1-e)
	}
	for _, all := range []*[]float64{&s.mean, &s.squares, &s.sum, &s.valSquares} {
		*all = sample.Resize(*all, m)
		clear(*all)
	}
	for i := range rows {
		if w := s.weight(i); w > 0 {
			s.total += w
			for j, v := range x.RawRowView(i) {
				s.mean[j] += w * v
			}
		}
	}
	for j := range s.mean {
		s.mean[j] /= s.total
	}
	for i := range rows {
		s.add(i, nil, s.squares)
	}
}

func (s *Sums) weight(i int) float64 { return s.unit * sample.Weights(s.weights).At(i) }

// add adds the terms of row i to squares, and to sum if sum is not nil. It returns the row's
// weight.
func (s *Sums) add(i int, sum, squares []float64) float64 {
	w := s.weight(i)
	if w == 0 {
		return 0
	}
	for j, v := range s.x.RawRowView(i) {
		d := v - s.mean[j]
		if sum != nil {
			sum[j] += w * d
		}
		squares[j] += w * (d * d)
	}
	return w
}

// Deviations computes the σ of features in the rows outside val, as [Normaliser.Fit] does. If
// scaledFeatures[j] is true, it sets dst[j] to the σ of feature j. Otherwise it sets dst[j] to 1.
// The argument learned has the meaning of the field Learned of a Normaliser. At least one row
// outside val must have a weight above 0.
func (s *Sums) Deviations(dst []float64, scaledFeatures []bool, val []int, learned bool) error {
	clear(s.sum)
	clear(s.valSquares)
	total := s.total
	for _, i := range val {
		total -= s.add(i, s.sum, s.valSquares)
	}
	var left []int
	rows, _ := s.x.Dims()
	for j, yes := range scaledFeatures {
		if dst[j] = 1; !yes {
			continue
		}
		shift := s.sum[j] / total
		rest := s.squares[j] - s.valSquares[j] - total*shift*shift
		dst[j] = math.Sqrt(rest / total)
		// If the column counts as constant, its deviation is at most constantTol.
		constantTol := 2 * constantTol * float64(rows) * 0x1p-52 * math.Abs(s.mean[j]-shift)
		if total >= leastKept*s.total && rest >= max(leastKept*s.squares[j], smallestSquares) && dst[j] > constantTol && dst[j] <= math.MaxFloat64 {
			continue
		}
		if left == nil {
			left = sample.Positive(sample.Complement(val, rows), s.weights)
		}
		z := Normaliser{Centre: true, Scale: true, Learned: learned, Weights: sample.Relative(s.weights, left)}
		raw := s.x.RawMatrix()
		if err := z.fit(&table{raw.Data[j:], 1, raw.Stride, left}); err != nil {
			return err
		}
		dst[j] = z.Std[0]
	}
	return nil
}
