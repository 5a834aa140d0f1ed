package experiment

import (
	"cvgm/cvgm"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// Metrics are the mean logistic loss of a classifier on some examples, and its
// accuracy: the share of the examples whose label has the sign of the
// prediction.
type Metrics struct{ Loss, Accuracy float64 }

// Evaluate evaluates a model on the examples.
func Evaluate(m *cvgm.Model, d qpdiff.Data) (Metrics, error) { return evaluate(m.Predict, d) }

// evaluate evaluates a prediction function.
func evaluate(predict func(dst []float64, x *mat.Dense) error, d qpdiff.Data) (Metrics, error) {
	predictions := make([]float64, len(d.Y))
	if err := predict(predictions, d.X); err != nil {
		return Metrics{}, err
	}
	var m Metrics
	for i, v := range predictions {
		loss, _ := cvgm.LogisticLoss{}.Eval(v, d.Y[i])
		m.Loss += loss
		if v*d.Y[i] > 0 {
			m.Accuracy++
		}
	}
	n := float64(len(d.Y))
	return Metrics{m.Loss / n, m.Accuracy / n}, nil
}
