package tune

import (
	"cvgm/cvgm/tune/assess"
	"cvgm/qpdiff/learn"
)

// measureRisk sets the metrics of the outer folds' predictions. A prediction that is not finite leaves
// no metrics.
func (w *tuning) measureRisk(r *Risk) {
	s := assess.Sample{Y: w.c.Data.Y, Predictions: r.OutOfFold}
	if !w.Balanced {
		s.Weights = w.c.Data.Weights
	}
	for _, fold := range r.Outer {
		s.Folds = append(s.Folds, fold.Val)
	}
	if w.classes() {
		if m, err := assess.Classify(w.Threshold, w.learner.Convention().Loss == learn.LogisticLoss, s); err == nil {
			r.Classes = &m
		}
		return
	}
	if m, err := assess.Regress(s); err == nil {
		r.Regression = &m
	}
}
