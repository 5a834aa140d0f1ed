package assess

import (
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// A Sample holds the labels and the predictions of rows. The models that made the predictions were
// not trained on these rows.
type Sample struct {
	Y           []float64 // the label of each row, finite
	Predictions []float64 // of each row; NaN leaves the row out
	Weights     []float64 // of each row, finite and at least 0; nil: 1 each
	// Folds[k] lists the rows that the model of fold k predicts. The decision values of different
	// models may have different scales, so the area under the ROC curve is computed within each
	// fold. If Folds is nil, there is one fold of all rows.
	Folds [][]int
}

// weight returns the weight of row i.
func (s Sample) weight(i int) float64 {
	if s.Weights == nil {
		return 1
	}
	return s.Weights[i]
}

// rows returns the rows that have a prediction and a positive weight.
func (s Sample) rows() (rows []int) {
	for i, p := range s.Predictions {
		if p == p && s.weight(i) > 0 {
			rows = append(rows, i)
		}
	}
	return rows
}

// check returns an error if a field of the sample s cannot be used. The error names the first field
// that is wrong, and k, the number of the sample.
func (s Sample) check(k int, classes bool) error {
	n, arg := len(s.Y), func(field string) string { return "Sample." + field }
	if err := args.First(
		args.BadIf(len(s.Predictions) != n, arg("Predictions"), qpdiff.ErrShape, "give one per label", "has %d entries for %d labels in sample %d", len(s.Predictions), n, k),
		args.BadIf(s.Weights != nil && len(s.Weights) != n, arg("Weights"), qpdiff.ErrShape, "give one per label", "has %d entries for %d labels in sample %d", len(s.Weights), n, k),
		args.CheckFinite(arg("Y"), s.Y, "leave such rows out"),
		args.CheckFinite(arg("Weights"), s.Weights, "leave such rows out"),
	); err != nil {
		return err
	}
	for i, y := range s.Y {
		if classes && y != 1 && y != -1 {
			return args.Bad(arg("Y"), qpdiff.ErrDomain, "use the labels ±1", "holds %v at index %d in sample %d", y, i, k)
		}
		if s.weight(i) < 0 {
			return args.Bad(arg("Weights"), qpdiff.ErrDomain, "use 0 or more", "holds %v at index %d in sample %d", s.weight(i), i, k)
		}
		if math.IsInf(s.Predictions[i], 0) {
			return args.Bad(arg("Predictions"), qpdiff.ErrNotFinite, "use NaN for a row without a prediction", "holds %v at index %d in sample %d", s.Predictions[i], i, k)
		}
	}
	for _, fold := range s.Folds {
		for _, i := range fold {
			if i < 0 || i >= n {
				return args.Bad(arg("Folds"), qpdiff.ErrDomain, "use row numbers from 0", "holds %d for %d labels in sample %d", i, n, k)
			}
		}
	}
	return args.BadIf(len(s.rows()) == 0, "Sample", qpdiff.ErrEmpty, "give rows with a prediction and a weight", "has no row that counts in sample %d", k)
}

// check returns an error for the first sample that cannot be used.
func check(samples []Sample, classes bool) error {
	if len(samples) == 0 {
		return args.Bad("samples", qpdiff.ErrEmpty, "give one", "are none")
	}
	for k, s := range samples {
		if err := s.check(k, classes); err != nil {
			return err
		}
	}
	return nil
}

// Regression holds metrics of predicted numbers.
type Regression struct {
	RMSE float64 // the root of the mean squared error, in the unit of the labels
	MAE  float64 // the mean absolute error, in the unit of the labels
	// R2 is 1 − Σ(ŷ − y)²/Σ(y − ȳ)² for the predictions ŷ and the labels y with the mean ȳ. If
	// every prediction is ȳ, R2 is 0. For worse predictions it is negative. It is NaN if all labels
	// are equal.
	R2 float64
}

// Regress returns metrics of predictions of numbers. It computes the metrics for each sample, and
// returns their averages over the samples. The samples may be repeats of cross-validation with
// different folds. Each row counts in proportion to its weight, and rows with a NaN prediction are
// left out. The time is proportional to the number of rows.
//
// An error names the field that cannot be used. Its kind is
//   - qpdiff.ErrShape if a length is wrong,
//   - qpdiff.ErrNotFinite if a label or weight is not finite, or a prediction is infinite,
//   - qpdiff.ErrDomain if a weight is below 0 or a row of Folds is out of range,
//   - qpdiff.ErrEmpty if there is no row.
func Regress(samples ...Sample) (Regression, error) {
	if err := check(samples, false); err != nil {
		return Regression{}, err
	}
	var mean Regression
	for _, s := range samples {
		r, share := s.regression(), 1/float64(len(samples))
		mean.RMSE += share * r.RMSE
		mean.MAE += share * r.MAE
		mean.R2 += share * r.R2
	}
	return mean, nil
}

func (s Sample) regression() Regression {
	rows := s.rows()
	var total, mean, mae float64
	for _, i := range rows {
		w := s.weight(i)
		total += w
		mean += w / total * (s.Y[i] - mean)
		mae += w / total * (math.Abs(s.Predictions[i]-s.Y[i]) - mae)
	}
	// Norms neither overflow nor underflow. Squares of small labels would underflow.
	residuals, deviations := make([]float64, len(rows)), make([]float64, len(rows))
	varies := false
	for at, i := range rows {
		root := math.Sqrt(s.weight(i) / total)
		residuals[at], deviations[at] = root*(s.Predictions[i]-s.Y[i]), root*(s.Y[i]-mean)
		varies = varies || s.Y[i] != s.Y[rows[0]]
	}
	r := Regression{RMSE: floats.Norm(residuals, 2), MAE: mae, R2: math.NaN()}
	if varies {
		ratio := r.RMSE / floats.Norm(deviations, 2)
		r.R2 = 1 - ratio*ratio
	}
	return r
}
