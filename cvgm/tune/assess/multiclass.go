package assess

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A ClassSample holds rows of several classes, with a decision value for each row and each class.
// The decision values come from models that were not trained on these rows.
type ClassSample struct {
	Y []float64 // the number of each row's class, from 0
	// Decisions has one row for each entry of Y and one column for each class. A row of Decisions
	// with a NaN is left out of the metrics.
	Decisions *mat.Dense
	Weights   []float64 // of each row, finite and at least 0; nil: 1 each
}

// Multiclass holds metrics of decisions for several classes. The predicted class of a row is the
// class with the largest decision. If several classes have the largest decision, the first of these
// classes is predicted.
type Multiclass struct {
	Accuracy float64 // the share of rows whose class is predicted
	Balanced float64 // the mean, over the classes, of the accuracy within a class; NaN if a class has no row
	// Majority is the share of the most frequent class. It is the accuracy of a constant prediction
	// of this class.
	Majority float64
	// Confusion[a][b] is the total weight of the rows of class a with the predicted class b. With
	// several samples, the totals are averaged.
	Confusion [][]float64
	// Probabilities judges decisions that are probabilities. Otherwise it is nil.
	Probabilities *ClassProbabilities
}

// ClassProbabilities holds metrics of predicted probabilities of several classes.
type ClassProbabilities struct {
	LogLoss float64 // the mean of −log p, where p is the probability of the row's own class; +Inf if a p is 0
	// Brier is the mean of Σ_c (p_c − t_c)² over the classes c. Here p_c is the predicted
	// probability of class c, and t_c is 1 for the row's own class and otherwise 0.
	Brier float64
}

// weight returns the weight of row i.
func (s ClassSample) weight(i int) float64 { return Sample{Weights: s.Weights}.weight(i) }

// rows returns the rows that have decisions and a positive weight.
func (s ClassSample) rows() (rows []int) {
	for i := range s.Y {
		if s.weight(i) > 0 && !slices.ContainsFunc(s.Decisions.RawRowView(i), math.IsNaN) {
			rows = append(rows, i)
		}
	}
	return rows
}

// ClassifyMulti returns metrics of decisions for C classes. It computes the metrics for each sample
// and averages them. The samples may be repeats of cross-validation with different folds. If the
// decisions are probabilities, set the parameter probabilities to true. ClassifyMulti then also
// computes the log loss and the Brier score.
//
// The time is proportional to the number of decisions. An error names the field that cannot be
// used. Its kind is
//   - qpdiff.ErrShape if a length is wrong, if samples have different C, or if C is below 2,
//   - qpdiff.ErrNotFinite if a decision is infinite or a weight is not finite,
//   - qpdiff.ErrDomain if a label is not one of the numbers 0 to C − 1, a weight is below 0, or a
//     probability is not from 0 to 1,
//   - qpdiff.ErrEmpty if there is no row.
func ClassifyMulti(probabilities bool, samples ...ClassSample) (Multiclass, error) {
	if len(samples) == 0 {
		return Multiclass{}, args.Bad("samples", qpdiff.ErrEmpty, "give one", "are none")
	}
	for k, s := range samples {
		if err := s.check(k, samples[0], probabilities); err != nil {
			return Multiclass{}, err
		}
	}
	_, classes := samples[0].Decisions.Dims()
	mean := Multiclass{Confusion: make([][]float64, classes)}
	for a := range mean.Confusion {
		mean.Confusion[a] = make([]float64, classes)
	}
	if probabilities {
		mean.Probabilities = new(ClassProbabilities)
	}
	share := 1 / float64(len(samples))
	for _, s := range samples {
		s.add(&mean, share)
	}
	return mean, nil
}

// check returns an error if a field of the sample s cannot be used, or if s and firstSample have
// different numbers of classes. The error names the first field that is wrong, and k, the number of
// the sample.
func (s ClassSample) check(k int, firstSample ClassSample, probabilities bool) error {
	if s.Decisions == nil {
		return args.Bad("ClassSample.Decisions", qpdiff.ErrEmpty, "give a row per label", "is nil in sample %d", k)
	}
	rows, classes := s.Decisions.Dims()
	_, want := firstSample.Decisions.Dims()
	if err := args.First(
		args.BadIf(rows != len(s.Y), "ClassSample.Decisions", qpdiff.ErrShape, "give a row per label", "has %d rows for %d labels in sample %d", rows, len(s.Y), k),
		args.BadIf(classes != want || classes < 2, "ClassSample.Decisions", qpdiff.ErrShape, "give a column for each of two or more classes", "has %d columns in sample %d, and %d in the first one", classes, k, want),
		args.BadIf(s.Weights != nil && len(s.Weights) != len(s.Y), "ClassSample.Weights", qpdiff.ErrShape, "give one per label", "has %d entries for %d labels in sample %d", len(s.Weights), len(s.Y), k),
		args.CheckFinite("ClassSample.Weights", s.Weights, "leave such rows out"),
	); err != nil {
		return err
	}
	for i, y := range s.Y {
		if !(y >= 0 && y < float64(classes)) || y != math.Trunc(y) {
			return args.Bad("ClassSample.Y", qpdiff.ErrDomain, "give the numbers of the classes, from 0 on", "holds %v at index %d in sample %d for %d classes", y, i, k, classes)
		}
		if s.weight(i) < 0 {
			return args.Bad("ClassSample.Weights", qpdiff.ErrDomain, "use 0 or more", "holds %v at index %d in sample %d", s.weight(i), i, k)
		}
		for _, d := range s.Decisions.RawRowView(i) {
			if math.IsInf(d, 0) {
				return args.Bad("ClassSample.Decisions", qpdiff.ErrNotFinite, "use NaN for a row without decisions", "holds %v in row %d of sample %d", d, i, k)
			}
			if probabilities && (d < 0 || d > 1) {
				return args.Bad("ClassSample.Decisions", qpdiff.ErrDomain, "give probabilities, or leave them unjudged", "holds %v in row %d of sample %d", d, i, k)
			}
		}
	}
	return args.BadIf(len(s.rows()) == 0, "ClassSample", qpdiff.ErrEmpty, "give rows with decisions and a weight", "has no row that counts in sample %d", k)
}

// add multiplies the metrics of the sample by the parameter share, and adds them to the metrics in
// mean.
func (s ClassSample) add(mean *Multiclass, share float64) {
	counts := make([][]float64, len(mean.Confusion))
	for a := range counts {
		counts[a] = make([]float64, len(counts))
	}
	var total, logLoss, brier float64
	for _, i := range s.rows() {
		d, own, w := s.Decisions.RawRowView(i), int(s.Y[i]), s.weight(i)
		counts[own][floats.MaxIdx(d)] += w
		total += w
		if mean.Probabilities == nil {
			continue
		}
		miss := 0.0
		for c, p := range d {
			if c == own {
				p = 1 - p
			}
			miss += p * p
		}
		brier += w / total * (miss - brier)
		logLoss += w * -math.Log(d[own])
	}
	if p := mean.Probabilities; p != nil {
		p.Brier += share * brier
		p.LogLoss += share * logLoss / total
	}
	var right, balanced, largest float64
	for a, row := range counts {
		all := floats.Sum(row)
		right += row[a]
		balanced += row[a] / all / float64(len(counts))
		largest = max(largest, all)
		floats.AddScaled(mean.Confusion[a], share, row)
	}
	mean.Accuracy += share * right / total
	mean.Balanced += share * balanced
	mean.Majority += share * largest / total
}

// String describes the metrics in one line. It leaves out metrics that are NaN.
func (m Multiclass) String() string {
	text := fmt.Sprintf("accuracy %.3g where the largest class has %.3g", m.Accuracy, m.Majority) + knownMetric("balanced accuracy", m.Balanced)
	if p := m.Probabilities; p != nil {
		text += fmt.Sprintf("; log loss %.3g, Brier score %.3g", p.LogLoss, p.Brier)
	}
	return text
}
