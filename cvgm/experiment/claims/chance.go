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
}

// Level is the probability with which each test may decide wrongly.
const Level = .05

// Reckon counts the rows that repetitions have decided, and corrects for their number by Holm
// (1979), "A simple sequentially rejective multiple test procedure".
func Reckon(claims []Claim) Reckoning {
	type row struct {
		name   string
		chance float64
	}
	var decided []row
	rows(claims, func(name string, m *Measurement) {
		if p := m.chance(); !math.IsNaN(p) {
			decided = append(decided, row{name, p})
		}
	})
	r := Reckoning{Decided: len(decided), Chance: Level * float64(len(decided))}
	slices.SortStableFunc(decided, func(a, b row) int { return cmp.Compare(a.chance, b.chance) })
	for k, d := range decided {
		if d.chance > Level/float64(len(decided)-k) {
			for _, open := range decided[k:] {
				r.Opened = append(r.Opened, open.name)
			}
			break
		}
	}
	slices.SortFunc(r.Opened, compareRows)
	return r
}
