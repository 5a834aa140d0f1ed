package synth

import "gonum.org/v1/gonum/mat"

// Data is a set of labelled examples. Each row of X (N×n) is one example, and Y holds the N labels
// or responses. Data can be converted to any struct with the same two fields. The fields can also
// be copied, as in learn.Data{X: d.X, Y: d.Y}.
type Data struct {
	X *mat.Dense
	Y []float64
}
