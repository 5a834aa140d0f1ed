package claims

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// chance is the probability of an estimate that decides as this one does, if the truth lay where
// the rule decides otherwise: 0 on the bound, or just a difference that matters away from it. It is
// NaN for what is not decided, and for what has no error of repetitions.
func (m *Measurement) chance() float64 {
	r, e := m.rule, m.tested()
	if !e.Repeated() || m.Verdict == NotDecided || m.Verdict == NotTestable || m.timed {
		return math.NaN()
	}
	// beyond is the one-sided probability of the estimate, or one further away, at a truth of v.
	beyond := func(v float64) float64 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(e.N - 1)}
		return t.Survival(math.Abs(e.Mean-v) / e.SE())
	}
	bound, oneSided := r.oneSided()
	switch {
	case r.bound != nil:
		return beyond(0)
	case oneSided && m.Sign == Even: // no difference that matters
		return max(beyond(bound-r.smallest.size), beyond(bound+r.smallest.size))
	case oneSided:
		return 2 * beyond(bound)
	case m.Size == Negligible:
		return max(beyond(r.low), beyond(r.high))
	}
	return min(beyond(r.low), beyond(r.high))
}

// A Reckoning tells what the number of rows does to the verdicts.
type Reckoning struct {
	Decided int // rows that repetitions have decided
	// Chance is how many of them would at most be decided wrongly, if all lay on the border.
	Chance float64
	// Opened are the rows that Holm's correction for their number leaves not decided.
	Opened []string
	// Of all verdicts of single draws Flips are not that of all draws together, where Expected would
	// be by the scatter of the draws. Unsteady are the rows that flip more often than it predicts,
	// at the level Unlikely and with Holm's correction.
	Draws, Verdicts, Flips int
	Expected               float64
	Unsteady               []string
}

// Unlikely is the level at which a row flips more often than its scatter predicts.
const Unlikely = .01

// Level is the probability with which each test may decide wrongly.
const Level = .05

// Reckon counts the rows that repetitions have decided, and corrects for their number by Holm
// (1979), "A simple sequentially rejective multiple test procedure".
func Reckon(claims []Claim) Reckoning {
	var r Reckoning
	var decided, drawn []chanceOf
	rows(claims, func(name string, m *Measurement) {
		if p := m.chance(); !math.IsNaN(p) {
			decided = append(decided, chanceOf{name, p})
		}
		if d := m.Draws; d != nil && m.tested().Repeated() {
			drawn = append(drawn, chanceOf{name, d.Chance})
			r.Draws, r.Verdicts, r.Flips, r.Expected = d.N, r.Verdicts+d.N, r.Flips+d.Flips, r.Expected+d.Expected
		}
	})
	r.Decided, r.Chance = len(decided), Level*float64(len(decided))
	_, r.Opened = holm(decided, Level)
	r.Unsteady, _ = holm(drawn, Unlikely)
	return r
}

// chanceOf is the probability of what was seen of a row, if nothing were there.
type chanceOf struct {
	name   string
	chance float64
}

// holm splits rows into those that a level and Holm's correction for their number reject, and the
// others.
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
