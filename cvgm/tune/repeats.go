package tune

import "cmp"

const (
	mostRepeats = 10
	// riskFits is the number of fits that the default number of repeats stays below. Repeats lower
	// the part of the variance that the choice of folds has: a third one halves what is left of it.
	riskFits = 7_000
	// fitEntries is the number of entries of a table up to which a fit counts as one. A fit of a larger
	// table counts in proportion.
	fitEntries = 20_000
)

// repeats returns the number of repeats of the outer folds, if a search takes so many fits. It
// follows from counts: neither a clock nor an outcome of the estimate has a part.
func (w *tuning) repeats(folds, fits int) int {
	if folds < 2 || w.ordered() || folds >= w.mostFolds(w.rows()) {
		return 1
	}
	work := float64(fits) * float64(folds) * max(1, w.entries/fitEntries)
	return cmp.Or(w.Repeats, int(max(1, min(mostRepeats, riskFits/work))))
}
