package tune

import (
	"cmp"
	"math"
)

const (
	mostRepeats = 10
	// The default number of repeats is chosen so that the number of fits is at most riskFits. There
	// is always at least one repeat. With R repeats, the part of the variance that comes from the
	// choice of folds is divided by R.
	riskFits = 7_000
	// A fit of a table with at most fitEntries entries counts as one fit. A fit of a larger table
	// counts as more fits: its number of entries divided by fitEntries.
	fitEntries = 20_000
)

// repeats returns the number of repeats of the outer folds. Its parameters are the number of outer
// folds and the number of fits of a search. The result depends only on counts, not on a clock or on
// a result of the estimate.
func (w *tuning) repeats(folds, fits int) int { return int(w.allowedRepeats(folds, fits)) }

// allowedRepeats is repeats before it is rounded down.
func (w *tuning) allowedRepeats(folds, fits int) float64 {
	if folds < 2 || w.ordered() || folds >= w.mostFolds(w.rows()) {
		return 1
	}
	work := float64(fits) * float64(folds) * max(1, w.entries/fitEntries)
	return cmp.Or(float64(w.Repeats), max(1, min(mostRepeats, riskFits/work)))
}

// expectedRepeats returns the mean number of repeats if the number of fits of a search is only
// roughly known: the fraction that rounding takes is then one half on average.
func (w *tuning) expectedRepeats(folds, fits int) float64 {
	allowed := w.allowedRepeats(folds, fits)
	if allowed == math.Trunc(allowed) {
		return allowed
	}
	return max(1, allowed-.5)
}
