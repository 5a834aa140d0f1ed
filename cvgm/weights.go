package cvgm

import (
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
)

// BalancedWeights returns weights for Config.Data.Weights that give each class the same total
// weight. Examples with the same label in y are a class. For N examples in k classes, each of the
// n_c examples of class c has the weight N/(k·n_c), so the weights sum to N. If y is empty, the
// error matches qpdiff.ErrShape. If a label is not finite, it matches qpdiff.ErrNotFinite.
func BalancedWeights(y []float64) ([]float64, error) {
	if err := args.First(args.BadIf(len(y) == 0, "y", qpdiff.ErrEmpty, "give at least one label", "is empty"), args.CheckFinite("y", y, "remove the example")); err != nil {
		return nil, err
	}
	sizes := map[float64]float64{}
	for _, v := range y {
		sizes[v]++
	}
	weights := make([]float64, len(y))
	for i, v := range y {
		weights[i] = float64(len(y)) / (float64(len(sizes)) * sizes[v])
	}
	return weights, nil
}

// withWeight returns s without the rows of weight 0.
func (s Split) withWeight(weights []float64) (Split, error) {
	if weights == nil {
		return s, nil
	}
	c := Split{Train: sample.Positive(s.Train, weights), Val: sample.Positive(s.Val, weights)}
	for _, part := range []struct {
		name             string
		allRows, leftOut []int
	}{{"training", s.Train, c.Train}, {"validation", s.Val, c.Val}} {
		if len(part.leftOut) == 0 {
			return c, args.Bad("Config.Data.Weights", qpdiff.ErrDomain, "draw other splits, or give some of these rows a weight", "are 0 on all %d %s rows", len(part.allRows), part.name)
		}
	}
	return c, nil
}
