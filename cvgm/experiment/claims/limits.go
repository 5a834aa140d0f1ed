package claims

import (
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
)

// Limits lists the names of the findings that rest on choices.
type Limits struct {
	// Chosen lists the findings whose rule has a minimum relevant difference. If the minimum
	// differences of all rows are halved or doubled, the words or the verdict of some findings
	// change. Moved lists these findings.
	Chosen, Moved []string
	// NotThePapers lists the findings whose start, box or splits differ from the paper's, in the row
	// or in another row on which the words depend.
	NotThePapers []string
}

// LimitsOf returns the limits of the findings.
func LimitsOf(claims []Claim) Limits {
	var l Limits
	findings := Findings(claims)
	smaller, larger := Findings(withDifferences(claims, .5)), Findings(withDifferences(claims, 2))
	for k, f := range findings {
		if _, is := f.Row.Position(); is {
			l.Chosen = append(l.Chosen, f.Name)
		}
		for _, other := range []Finding{smaller[k], larger[k]} {
			if (other.Text != f.Text || other.Row.Verdict != f.Row.Verdict) && !slices.Contains(l.Moved, f.Name) {
				l.Moved = append(l.Moved, f.Name)
			}
		}
		if slices.ContainsFunc(append(f.Others, f.Row), func(m *Measurement) bool { return strings.Contains(m.Setting, otherSetting) }) {
			l.NotThePapers = append(l.NotThePapers, f.Name)
		}
	}
	return l
}

// withDifferences multiplies all smallest differences that matter by a factor, and then judges the
// claims again. A rule with two bounds keeps its middle. A rule with a measured bound is not
// changed. A rule also keeps its smallest difference if no value could matter with the other one.
func withDifferences(claims []Claim, factor float64) []Claim {
	others := make([]Claim, len(claims))
	for i, c := range claims {
		c.Measured = slices.Clone(c.Measured)
		for k := range c.Measured {
			m := &c.Measured[k]
			if r := m.rule; r.bound == nil && m.Ours.Repeated() {
				if _, oneSided := r.oneSided(); !oneSided {
					middle, half := (r.low+r.high)/2, (r.high-r.low)/2
					r.low, r.high = middle-factor*half, middle+factor*half
				}
				if r.minSize.size *= factor; !r.leavesRoom(m.Ours.Scale) {
					continue
				}
				m.rule, m.Smallest = r, r.minSize.size
				m.Judgement = r.judge(m.Ours, m.Beyond)
			}
		}
		c.judge()
		others[i] = c
	}
	return others
}

// leavesRoom reports whether the rule has values that matter, so that the scale does not end nearer
// to the bound than the smallest difference that matters.
func (r rule) leavesRoom(scale experiment.Scale) bool {
	room := math.Inf(1)
	switch bound, oneSided := r.oneSided(); {
	case !oneSided:
	case math.IsInf(r.low, -1) && scale != experiment.AnyNumber: // no value is below 0
		room = bound
	case math.IsInf(r.high, 1) && scale == experiment.Share:
		room = 1 - bound
	}
	return r.minSize.size < room
}
