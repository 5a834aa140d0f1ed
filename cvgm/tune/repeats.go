package tune

import "cmp"

const (
	mostRepeats = 10
	// riskFits bounds the number of fits for the default number of repeats. There is always at
	// least one repeat. With R repeats, the part of the variance that comes from the choice of
	// folds is divided by R.
	riskFits = 7_000
	// A fit of a table with at most fitEntries entries counts as one fit. A fit of a larger table
	// counts as its number of entries divided by fitEntries.
	fitEntries = 20_000
)

// repeats returns the number of repeats of the outer folds. The caller gives the numbers of outer
// folds and of fits of a search. The result depends only on counts, not on a clock or on a result
// of the estimate.
func (w *tuning) repeats(folds, fits int) int {
	if folds < 2 || w.ordered() || folds >= w.mostFolds(w.rows()) {
		return 1
	}
	work := float64(fits) * float64(folds) * max(1, w.entries/fitEntries)
	return cmp.Or(w.Repeats, int(max(1, min(mostRepeats, riskFits/work))))
}
