package portable

// NewFold returns a fold with the sums of the weights of its scores. Written files hold the sums.
func NewFold(at, size, scores, weights []float64) Fold {
	f := Fold{At: at, Size: size, Scores: scores, Below: make([]float64, len(weights))}
	var sum float64
	for i, w := range weights {
		sum += w
		f.Below[i] = sum
	}
	return f
}
