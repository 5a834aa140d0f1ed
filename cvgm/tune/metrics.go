package tune

import (
	"math"

	"cvgm/cvgm/tune/assess"
	"cvgm/qpdiff/learn"
)

// measureClasses is measureRisk for several classes.
func (w *tuning) measureClasses(r *Risk, done []*repeat) {
	var samples []assess.ClassSample
	for _, one := range done {
		s := assess.ClassSample{Y: w.c.Data.Y, Decisions: one.classProbabilities}
		if !w.Balanced {
			s.Weights = w.c.Data.Weights
		}
		samples = append(samples, s)
		r.Outer, r.OutOfFold = append(r.Outer, one.folds), append(r.OutOfFold, one.predictions[ofTuning])
		var rows [][]float64
		for i := range w.c.Data.Y {
			rows = append(rows, one.classProbabilities.RawRowView(i))
		}
		r.OutOfFoldClasses = append(r.OutOfFoldClasses, rows)
	}
	if m, err := assess.ClassifyMulti(true, samples...); err == nil {
		r.Multiclass = &m
	}
}

// measureRisk sets the predictions of the repeats and their metrics. Some learners predict
// logarithms of means; the metrics then judge exp of the predictions. If a prediction is not
// finite, measureRisk sets no metrics.
func (w *tuning) measureRisk(r *Risk, doneRepeats []*repeat) {
	if w.isJoint() {
		w.measureClasses(r, doneRepeats)
		return
	}
	var samples []assess.Sample
	for _, one := range doneRepeats {
		s := assess.Sample{Y: w.c.Data.Y, Predictions: one.predictions[ofTuning]}
		if !w.Balanced {
			s.Weights = w.c.Data.Weights
		}
		for _, fold := range one.folds {
			s.Folds = append(s.Folds, fold.Val)
		}
		samples = append(samples, s)
		r.Outer, r.OutOfFold = append(r.Outer, one.folds), append(r.OutOfFold, s.Predictions)
	}
	if w.classes() {
		if m, err := assess.Classify(w.Threshold, w.learner.Convention().Loss == learn.LogisticLoss, samples...); err == nil {
			r.Classes = &m
		}
		return
	}
	// The metrics are for predictions in the unit of the labels.
	if w.learner.Convention().Loss == learn.PoissonLoss {
		for k := range samples {
			means := make([]float64, len(samples[k].Predictions))
			for i, p := range samples[k].Predictions {
				means[i] = math.Exp(p)
			}
			samples[k].Predictions = means
		}
	}
	if m, err := assess.Regress(samples...); err == nil {
		r.Regression = &m
	}
}
