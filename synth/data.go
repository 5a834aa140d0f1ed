package synth

import "gonum.org/v1/gonum/mat"

// Data is a set of labelled examples. X holds one example per row (N×n), and Y the N labels or
// responses. It can be converted to any struct type with the same two fields, such as the learners'
// data: learn.Data{X: d.X, Y: d.Y}.
type Data struct {
	X *mat.Dense
	Y []float64
}
