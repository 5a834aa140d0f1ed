package experiment

import (
	"cvgm/qpdiff"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// rows returns the examples from ≤ i < to of d as learners take them.
func rows(d synth.Data, from, to int) qpdiff.Data {
	_, n := d.X.Dims()
	return qpdiff.Data{X: d.X.Slice(from, to, 0, n).(*mat.Dense), Y: d.Y[from:to]}
}
