package claims

import (
	"cmp"
	"math"
	"slices"
)

// chance returns an upper bound of the probability of a wrong decision. It assumes the true value
// that is nearest to the estimate, among the values for which the decision is wrong. This true
// value is a bound of the rule. If the decision is that no difference matters, it is the bound ±
// the smallest difference that matters. For this true value, chance returns the probability of an
// estimate at least as decisive as the present one. If the measurement is not decided, or if there
// are no repetitions, chance returns NaN.
func (m *Measurement) chance() float64 {
	r, e := m.rule, m.testedEstimate()
	if !e.Repeated() || m.Verdict == NotDecided || m.Verdict == NotTestable || m.timed {
		return math.NaN()
	}
	beyond := e.Chance
	bound, oneSided := r.oneSided()
	switch {
	case r.bound != nil:
		return beyond(0)
	case oneSided && m.Sign == Even: // no difference that matters
		return max(beyond(bound-r.minSize.size), beyond(bound+r.minSize.size))
	case oneSided:
		return 2 * beyond(bound)
	}
	return max(beyond(r.low), beyond(r.high)) // the larger one belongs to the nearer bound, also from outside
}

// A Reckoning describes how many verdicts on many rows of measurements may be wrong by chance.
type Reckoning struct {
	Decided int // number of rows that repetitions have decided
	// Chance is an upper bound of the expected number of wrong decisions among the decided rows.
	// The expected number equals this bound if all true values lie on the border between two
	// decisions.
	Chance float64
	// Opened lists the rows that are decided without a correction, but undecided after Holm's
	// correction for the number of rows.
	Opened []string
	// Draws is the number of draws. Verdicts is the number of verdicts on single draws. A verdict
	// on a single draw is a flip if it differs from the verdict on all draws together. Flips is the
	// number of flips. Expected is the number of flips that the scatter of the draws predicts.
	// Unsteady lists the rows with significantly more flips than predicted, by Holm's test at the
	// level Unlikely.
	Draws, Verdicts, Flips int
	Expected               float64
	Unsteady               []string
}

// Unlikely is the level of the test for unsteady rows. From the scatter of a row's draws, the test
// computes the probability of the row's number of flips.
const Unlikely = .01

// Level is the probability with which each test may decide wrongly.
const Level = .05

// Reckon counts the rows that repetitions have decided. Because there are many rows, it corrects
// the decisions by the method of Holm (1979), "A simple sequentially rejective multiple test
// procedure".
func Reckon(claims []Claim) Reckoning {
	var r Reckoning
	var decided, drawn []chanceOf
	rows(claims, func(name string, m *Measurement) {
		if p := m.chance(); !math.IsNaN(p) {
			decided = append(decided, chanceOf{name, p})
		}
		if d := m.Draws; d != nil && m.testedEstimate().Repeated() {
			drawn = append(drawn, chanceOf{name, d.Chance})
			r.Draws, r.Verdicts, r.Flips, r.Expected = d.N, r.Verdicts+d.N, r.Flips+d.Flips, r.Expected+d.Expected
		}
	})
	r.Decided, r.Chance = len(decided), Level*float64(len(decided))
	_, r.Opened = holm(decided, Level)
	r.Unsteady, _ = holm(drawn, Unlikely)
	return r
}

// chanceOf holds the name of a row and a probability. It is the probability of an estimate that is
// at least as extreme as the row's estimate, if there is no effect.
type chanceOf struct {
	name   string
	chance float64
}

// holm tests all rows at a level, with Holm's correction for the number of rows. It returns the
// names of the rows whose hypothesis is rejected, and the names of all other rows.
func holm(all []chanceOf, level float64) (rejected, others []string) {
	slices.SortStableFunc(all, func(a, b chanceOf) int { return cmp.Compare(a.chance, b.chance) })
	for k, row := range all {
		if others != nil || row.chance > level/float64(len(all)-k) {
			others = append(others, row.name)
		} else {
			rejected = append(rejected, row.name)
		}
	}
	slices.SortFunc(rejected, compareRows)
	slices.SortFunc(others, compareRows)
	return rejected, others
}
