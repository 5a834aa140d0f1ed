package portable

// NewFold returns a fold with the given weights of the scores. The fold stores the cumulative sums
// of the weights, as written files do.
func NewFold(at, size, scores, weights []float64) Fold {
	f := Fold{At: at, Size: size, Scores: scores, Below: make([]float64, len(weights))}
	var sum float64
	for i, w := range weights {
		sum += w
		f.Below[i] = sum
	}
	return f
}
