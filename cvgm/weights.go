package cvgm

import (
	"math"

	"cvgm/qpdiff"
)

// BalancedWeights returns weights for Config.Data.Weights that give each class, the
// examples of one label in y, the same total: an example of a class of n_c examples, of N
// in k classes, has the weight N/(k·n_c), so that the weights sum to N. Errors match
// qpdiff.ErrShape where y is empty and qpdiff.ErrNotFinite for a label that is not finite.
func BalancedWeights(y []float64) ([]float64, error) {
	if len(y) == 0 {
		return nil, badArg("y", qpdiff.ErrShape, "give at least one label", "is empty")
	}
	sizes := map[float64]float64{}
	for i, v := range y {
		if !finite(v) {
			return nil, badArg("y", qpdiff.ErrNotFinite, "remove the example", "holds %v at index %d", v, i)
		}
		sizes[v]++
	}
	weights := make([]float64, len(y))
	for i, v := range y {
		weights[i] = float64(len(y)) / (float64(len(sizes)) * sizes[v])
	}
	return weights, nil
}

// rowWeights are the weights of some rows, times a power of two so that the largest is
// between 1 and 2: their unit does not matter to a mean, and cannot make it overflow. Nil:
// 1 each, which gives the same bits as weights of 1.
type rowWeights []float64

// relativeWeights returns those of the rows, of which one at least has a positive weight.
func relativeWeights(weights []float64, rows []int) rowWeights {
	if weights == nil {
		return nil
	}
	largest := 0.0
	for _, i := range rows {
		largest = max(largest, weights[i])
	}
	_, e := math.Frexp(largest)
	w := make(rowWeights, len(rows))
	for at, i := range rows {
		w[at] = math.Ldexp(weights[i], 1-e)
	}
	return w
}

// at returns the weight of row i.
func (w rowWeights) at(i int) float64 {
	if w == nil {
		return 1
	}
	return w[i]
}

// total returns the sum of the weights of all n rows.
func (w rowWeights) total(n int) float64 {
	if w == nil {
		return float64(n)
	}
	return sum(0, w)
}

// mean returns the weighted mean of v.
func (w rowWeights) mean(v []float64) float64 {
	var s float64
	for i, x := range v {
		s += w.at(i) * x
	}
	return s / w.total(len(v))
}

// counting returns s without the rows of weight 0.
func (s Split) counting(weights []float64) (Split, error) {
	if weights == nil {
		return s, nil
	}
	c := Split{Train: positive(s.Train, weights), Val: positive(s.Val, weights)}
	for _, part := range []struct {
		name      string
		all, left []int
	}{{"training", s.Train, c.Train}, {"validation", s.Val, c.Val}} {
		if len(part.left) == 0 {
			return c, badArg("Config.Data.Weights", qpdiff.ErrDomain, "draw other splits, or give some of these rows a weight", "are 0 on all %d %s rows", len(part.all), part.name)
		}
	}
	return c, nil
}

// positive returns the rows whose weight is above 0.
func positive(rows []int, weights []float64) []int {
	if weights == nil {
		return rows
	}
	var left []int
	for _, i := range rows {
		if weights[i] > 0 {
			left = append(left, i)
		}
	}
	return left
}
