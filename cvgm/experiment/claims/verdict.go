package claims

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cvgm/cvgm/experiment"
)

// Verdict is what becomes of a claim.
type Verdict string

// The verdicts.
const (
	Confirmed Verdict = "confirmed"
	Differs   Verdict = "differs"
	// NotDecided: the interval holds values on both sides of the rule's bound.
	NotDecided  Verdict = "not decided"
	PaperError  Verdict = "paper's error"
	NotTestable Verdict = "not testable"
)

// Verdicts lists them in the order in which tables count them.
var Verdicts = []Verdict{Confirmed, Differs, NotDecided, PaperError, NotTestable}

func once(v float64) experiment.Estimate {
	return experiment.Estimate{Mean: v, Margin: math.NaN(), N: 1}
}

// A rule turns a measurement into a verdict. It holds for true values from low
// to high: where the whole interval lies there it is confirmed, where none of it
// does it differs, and else it is not decided.
type rule struct {
	text      string
	low, high float64
	open      bool // low and high do not belong to it
	// otherwise is the verdict where it does not hold; empty: Differs.
	otherwise Verdict
}

// equals asks for a number up to a tolerance.
func equals(want, tol float64) rule {
	return rule{text: fmt.Sprintf("within %g of %g", tol, want), low: want - tol, high: want + tol}
}

// exactly asks for a count.
func exactly(want float64) rule {
	return rule{text: fmt.Sprintf("%g", want), low: want, high: want}
}

// asPrinted asks for a number that the printed one is a rounding of.
func asPrinted(q Quoted) rule { return within(q, 0) }

// withinOne asks for the printed number up to its rounding and one of n examples:
// a share that two programs count on the same test set differs by as much where
// one example lies on the boundary.
func withinOne(q Quoted, n int) rule {
	r := within(q, 1/float64(n))
	r.text = fmt.Sprintf("within one of %d examples of %s", n, q.Paper)
	return r
}

// within asks for the printed number up to its rounding and a tolerance. The
// bounds are widened by the rounding of float64, which decides nothing then.
func within(q Quoted, tol float64) rule {
	_, decimals, _ := strings.Cut(q.Paper, ".")
	tol += math.Pow(10, -float64(len(decimals))) / 2
	r := equals(number64(q.Paper), tol*(1+1e-9))
	r.text = "rounds to " + q.Paper
	return r
}

// above asks for a value, or the whole interval where there is one, above a
// bound.
func above(bound float64) rule {
	return rule{text: "above " + short(bound), low: bound, high: math.Inf(1), open: true}
}

func below(bound float64) rule {
	return rule{text: "below " + short(bound), low: math.Inf(-1), high: bound, open: true}
}

// ofAllSets asks for a distance in standard deviations that 95 % of all data sets
// or test sets stay within.
var ofAllSets = rule{text: "within 1.96 of 0, as 95 % of all sets", low: -1.96, high: 1.96}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// A quarter is the share of a loss that a rule lets pass where the paper says
// that something works well or is competitive: what it gives away is less than
// a quarter of what a choice that is known to be bad gives away.
const quarter = .25

// littleOf asks for less than a quarter of what a bad choice loses.
func littleOf(worst experiment.Estimate, choice string) rule {
	r := below(quarter * worst.Mean)
	r.text = fmt.Sprintf("below %s, a quarter of what %s loses", short(quarter*worst.Mean), choice)
	return r
}

// or makes the verdict of a rule that does not hold another than Differs.
func (r rule) or(v Verdict) rule {
	r.otherwise = v
	return r
}

func (r rule) judge(m experiment.Estimate) Verdict {
	if math.IsNaN(m.Mean) {
		return NotTestable
	}
	low, high := m.Mean-half(m), m.Mean+half(m)
	inside, outside := r.low <= low && high <= r.high, high < r.low || low > r.high
	if r.open {
		inside, outside = r.low < low && high < r.high, high <= r.low || low >= r.high
	}
	switch {
	case inside:
		return Confirmed
	case !outside:
		return NotDecided
	case r.otherwise != "":
		return r.otherwise
	}
	return Differs
}

// half returns half of the interval, or zero for what is computed once.
func half(m experiment.Estimate) float64 {
	if math.IsNaN(m.Margin) {
		return 0
	}
	return m.Margin
}

// minus returns the estimate of the opposite.
func minus(m experiment.Estimate) experiment.Estimate {
	m.Mean = -m.Mean
	return m
}

// conjunction is the verdict on a sentence that says all that these judge: the first that any of
// them has, in this order.
func conjunction(of []Verdict) Verdict {
	for _, v := range []Verdict{PaperError, Differs, NotDecided, Confirmed} {
		for _, w := range of {
			if v == w {
				return v
			}
		}
	}
	return NotTestable
}

// symmetric returns the median as an estimate whose margin is the wider side of the interval.
func symmetric(m experiment.Median) experiment.Estimate {
	return experiment.Estimate{Mean: m.Median, Margin: max(m.High-m.Median, m.Median-m.Low), N: m.N}
}
