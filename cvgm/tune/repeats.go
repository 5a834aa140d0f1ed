package tune

import (
	"cmp"
	"math"
)

const (
	mostRepeats = 10
	// By default, the nested estimate has 1 to mostRepeats repeats, as many as are possible with
	// riskFits fits. With R repeats, the part of the variance that comes from the choice of folds
	// is divided by R.
	riskFits = 7_000
	// A fit of a table with at most fitEntries entries counts as one fit. If a table has more
	// entries, each fit counts as entries/fitEntries fits.
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

// expectedRepeats returns the expected number of repeats if the number of fits of a search is only
// roughly known. Rounding down then subtracts one half on average.
func (w *tuning) expectedRepeats(folds, fits int) float64 {
	allowed := w.allowedRepeats(folds, fits)
	if allowed == math.Trunc(allowed) {
		return allowed
	}
	return max(1, allowed-.5)
}
