package tune

import (
	"fmt"
	"math"

	"cvgm/cvgm"
)

// warnOfOtherLoss warns if the fit minimises another loss than the validation loss. A change of
// penalties cannot correct this mismatch. For example, a squared fit predicts means, while a
// pinball loss requires quantiles.
func (w *tuning) warnOfOtherLoss() {
	convention := w.learner.Convention()
	usual := usualLosses[convention.Loss]
	if usual == nil || convention.Robust && robust(w.c.Loss) || proportional(w.c.Loss, usual, w.lossLabels()) {
		return
	}
	w.warn(OtherLoss, "The validation loss, %s, is not what the fit of %T minimises, which is near %s: the search tunes the penalties alone for it. A learner of that loss may be far better.", lossName(w.c.Loss), w.learner, lossName(usual))
}

// lossLabels returns the labels against which the loss judges predictions.
func (w *tuning) lossLabels() []float64 {
	if w.isJoint() {
		return []float64{1}
	}
	return w.c.Data.Y
}

// robust reports whether the loss l is a Huber loss or the absolute loss. The fit of a robust
// learner minimises such a loss, possibly with another threshold.
func robust(l cvgm.Loss) bool {
	switch l.(type) {
	case cvgm.HuberLoss, cvgm.AbsoluteError:
		return true
	}
	return false
}

// proportional reports whether two losses are multiples of each other at predictions around the
// labels.
func proportional(a, b cvgm.Loss, labels []float64) bool {
	const probes, same = 8, 1e-9
	ratio := math.NaN()
	for i := 0; i < len(labels); i += max(1, len(labels)/probes) {
		for _, p := range []float64{-2, -.5, .25, 1.5, 3} {
			y := labels[i]
			prediction := y + p*max(1, math.Abs(y))
			va, _ := a.Eval(prediction, y)
			vb, _ := b.Eval(prediction, y)
			switch {
			case va == 0 && vb == 0:
				continue
			case vb == 0 || va == 0:
				return false
			case ratio != ratio:
				ratio = va / vb
			case !(math.Abs(va/vb-ratio) <= same*math.Abs(ratio)):
				return false
			}
		}
	}
	return true
}

// LossName names the validation loss in words.
func (t *Tuned) LossName() string { return lossName(t.Config.Loss) }

// lossName names a loss in words. It names a loss that it does not recognise by its Go type.
func lossName(l cvgm.Loss) string {
	switch l.(type) {
	case cvgm.SquaredError:
		return "squared error"
	case cvgm.AbsoluteError:
		return "absolute error"
	case cvgm.LogisticLoss:
		return "logistic loss"
	case cvgm.Hinge:
		return "hinge loss"
	}
	return fmt.Sprintf("%T", l)
}
