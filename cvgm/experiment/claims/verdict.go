package claims

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cvgm/cvgm/experiment"
)

// Verdict is the judgement on a claim.
type Verdict string

// The verdicts.
const (
	Confirmed Verdict = "confirmed"
	// TooLittle: the sentence holds, but by less than matters.
	TooLittle Verdict = "confirmed, too little to matter"
	Differs   Verdict = "differs"
	// NotDecided: the repetitions are too few.
	NotDecided Verdict = "not decided"
	PaperError Verdict = "paper's error"
	// Slip: the printed sentence is a slip of notation, and the intended sentence holds.
	Slip Verdict = "slip of notation"
	// Identity: the sentence is proved, so the measurement checks the code here.
	Identity    Verdict = "identity, checks the code"
	NotTestable Verdict = "not testable"
)

// Verdicts lists them in the order in which tables count them.
var Verdicts = []Verdict{Confirmed, TooLittle, Differs, NotDecided, PaperError, Slip, Identity, NotTestable}

// A Judgement is the result of applying a rule to an estimate.
type Judgement struct {
	// Sign is the side of the rule's bound on which the 95 % interval lies: Above, Below or Even.
	// It is empty without repetitions.
	Sign Side
	// Size states whether the distance matters, by the 90 % interval: Matters, Negligible or
	// Unclear. Each end of that interval is a test at the level 5 %. Size is empty without
	// repetitions.
	Size    Size
	Verdict Verdict
}

// Side is the side of a bound.
type Side string

// Size classifies a distance from a bound.
type Size string

const (
	Above Side = "above"
	Below Side = "below"
	Even  Side = "not decided"

	Matters    Size = "matters"
	Negligible Size = "too little to matter"
	Unclear    Size = "not decided"
)

// Telling is the smallest difference that the repetitions distinguish from 0, in standard errors.
// If this difference is the smallest that matters, two findings have a probability of at least .9
// each: that a true difference of 0 does not matter, and that one twice as large matters. By the
// normal distribution the first requires z(.95) + z(.95), the second z(.95) + z(.90).
const Telling = 2 * 1.6448536269514722

func once(v float64) experiment.Estimate {
	return experiment.Estimate{Mean: v, Margin: math.NaN(), N: 1}
}

// on returns the estimate with an interval on another scale.
func on(scale experiment.Scale, e experiment.Estimate) experiment.Estimate {
	e.Scale = scale
	return e
}

// A rule turns a measurement into a verdict. It holds for true values from low
// to high.
type rule struct {
	text      string
	low, high float64
	open      bool // low and high do not belong to it
	// smallest is the smallest distance from a bound that matters. It has no effect on the verdict
	// on a value that is computed once.
	smallest difference
	// bound, if not nil, is the rule's upper bound: the share of a bad choice's loss that the rule
	// allows. It is measured like the estimate itself. choice names the bad choice.
	bound  *experiment.Estimate
	choice string
	// holds is the verdict if the rule holds, and otherwise the verdict if it does not. Empty:
	// Confirmed and Differs.
	holds, otherwise Verdict
}

// A difference is the smallest one that matters, with its reason.
type difference struct {
	size float64
	why  string
}

// The smallest differences that matter, by the measured quantity.
var (
	ofAccuracy = difference{.005, "half a point is half of the standard deviation of an accuracy of .9 on the paper's test set of 1000 examples"}
	// Of a rival that does not learn, or learns without a penalty.
	ofPoorAccuracy    = difference{.02, "two points are a fifteenth of what learning gains on the rings, and the rival does not learn"}
	ofPoorSquaredLoss = difference{.04, "a twenty-fifth of the variance of the labels' noise; the rival has no penalty, or is known to be wrong"}
	ofSquaredLoss     = difference{.01, "a hundredth of the variance of the labels' noise, which no method removes"}
	ofLogLoss         = difference{math.Ln2 / 20, "a twentieth of log 2, the loss of a coin"}
	ofSets            = difference{.1, "one data set in ten"}
	ofWhole           = difference{.1, "a tenth of the whole"}
	// Of a derivative from a finite difference, relative.
	ofDigits = difference{sixDigits / 2, "half a unit of the sixth digit"}
)

// sixDigits is the largest relative distance of a correct derivative from finite differences.
// Rounding of the best difference causes up to some 1e-8, while a derivative of another input is
// off by a hundredth and more.
const sixDigits = 1e-6

// perDoublings is a difference over all sizes, as a slope.
func (d difference) perDoublings(smallest, largest int) difference {
	n := math.Log2(float64(largest) / float64(smallest))
	return difference{d.size / n, fmt.Sprintf("%g over the %.2g doublings from N = %d to %d; %s", d.size, n, smallest, largest, d.why)}
}

// equals requires a number up to a tolerance, which is the smallest difference that matters.
func equals(want, tol float64, why string) rule {
	return rule{text: fmt.Sprintf("within %.4g of %g", tol, want), low: want - tol, high: want + tol, smallest: difference{tol, why}}
}

// zero requires a value of 0, up to the smallest difference that matters.
func zero(d difference) rule { return equals(0, d.size, d.why) }

// exactly requires a count.
func exactly(want float64) rule {
	return rule{text: fmt.Sprintf("%g", want), low: want, high: want, smallest: difference{0, "a count"}}
}

// asPrinted requires a number that rounds to the printed one.
func asPrinted(q Quoted) rule { return within(q, 0) }

// withinOne requires the printed number up to its rounding and one of n examples. Two programs that
// count on the same test set may differ by one example on the boundary.
func withinOne(q Quoted, n int) rule {
	r := within(q, 1/float64(n))
	r.text = fmt.Sprintf("within one of %d examples of %s", n, q.Paper)
	r.smallest.why = "one example, and the rounding of the printed number"
	return r
}

// within requires the printed number up to its rounding and a tolerance. The bounds are widened by
// the rounding of float64, so that this rounding cannot decide.
func within(q Quoted, tol float64) rule {
	_, decimals, _ := strings.Cut(q.Paper, ".")
	tol += math.Pow(10, -float64(len(decimals))) / 2
	r := equals(number64(q.Paper), tol*(1+1e-9), "the rounding of the printed number")
	r.text = "rounds to " + q.Paper
	return r
}

// above requires a value above a bound. The smallest difference that matters applies to values with
// repetitions; it is zero for a value that is computed once.
func above(bound float64, d difference) rule {
	return rule{text: "above " + short(bound), low: bound, high: math.Inf(1), open: true, smallest: d}
}

func below(bound float64, d difference) rule {
	return rule{text: "below " + short(bound), low: math.Inf(-1), high: bound, open: true, smallest: d}
}

// computed is the smallest difference for values that are computed once, with no error except
// rounding. It is 0: any difference from the bound matters.
var computed = difference{0, "the value has no error but rounding"}

// ofAllSets is a distance in standard deviations. 95 % of all data sets, or test sets, lie within
// it.
var ofAllSets = rule{text: "within 1.96 of 0, as 95 % of all sets", low: -1.96, high: 1.96, smallest: difference{1.96, "what 19 of 20 sets stay within"}}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// A quarter is the share of a bad choice's loss that a rule allows if a choice "works well" or "is
// competitive". Its regret must be below a quarter of the regret of a known bad choice.
const quarter = .25

// littleOf requires less than a quarter of the loss of a bad choice. That loss is measured, too.
// The verdict is therefore on the difference of both, [Measurement.Beyond].
func littleOf(worst experiment.Estimate, choice string) rule {
	return littleBound(worst.Times(quarter), choice)
}

func littleBound(bound experiment.Estimate, choice string) rule {
	r := below(bound.Mean, difference{bound.Mean, "a quarter of what " + choice + " loses"})
	r.bound, r.choice = &bound, choice
	r.text = fmt.Sprintf("below %s, a quarter of what %s loses", short(bound.Mean), choice)
	return r
}

// beyondQuarter returns losses minus a quarter of worst, the losses of a bad choice, by data
// set.
func beyondQuarter(losses, worst []float64) []float64 {
	beyond := make([]float64, len(losses))
	for i := range beyond {
		beyond[i] = losses[i] - quarter*worst[i]
	}
	return beyond
}

// or sets the verdict of a rule that does not hold, in place of Differs.
func (r rule) or(v Verdict) rule {
	r.otherwise = v
	return r
}

// proved makes the verdict of a rule that holds Identity.
func (r rule) proved() rule {
	r.holds = Identity
	return r
}

// oneSided returns the bound of a rule with only one: a rule that requires values above it, or
// below it.
func (r rule) oneSided() (bound float64, is bool) {
	switch {
	case math.IsInf(r.low, 0):
		return r.high, true
	case math.IsInf(r.high, 0):
		return r.low, true
	}
	return 0, false
}

// judge judges an estimate. beyond is the estimate of its distance from a measured bound; if
// nil, the estimate and the bound are assumed to be independent.
func (r rule) judge(m experiment.Estimate, beyond *experiment.Estimate) Judgement {
	j := r.plain(m, beyond)
	switch {
	case j.Verdict == Confirmed && r.holds != "":
		j.Verdict = r.holds
	case j.Verdict == Differs && r.otherwise != "":
		j.Verdict = r.otherwise
	}
	return j
}

// plain is judge with the verdicts Confirmed and Differs.
func (r rule) plain(m experiment.Estimate, beyond *experiment.Estimate) Judgement {
	bound, oneSided := r.oneSided()
	switch {
	case math.IsNaN(m.Mean):
		return Judgement{Verdict: NotTestable}
	case r.bound != nil:
		return r.judgeLittle(m, beyond)
	case !m.Repeated():
		return Judgement{Verdict: r.judgeOnce(m.Mean)}
	case oneSided:
		return r.judgeSide(m, bound)
	}
	j := Judgement{Sign: side(m, (r.low+r.high)/2), Size: Unclear, Verdict: NotDecided}
	switch low, high := m.Interval(.9); {
	case r.low <= low && high <= r.high:
		j.Size, j.Verdict = Negligible, Confirmed
	case high < r.low || low > r.high:
		j.Size, j.Verdict = Matters, Differs
	}
	return j
}

func (r rule) judgeOnce(v float64) Verdict {
	if r.low < v && v < r.high || !r.open && (v == r.low || v == r.high) {
		return Confirmed
	}
	return Differs
}

// judgeSide judges by a rule with one bound.
func (r rule) judgeSide(m experiment.Estimate, bound float64) Judgement {
	want := Above
	if bound == r.high {
		want = Below
	}
	j := Judgement{Sign: side(m, bound), Size: Unclear, Verdict: NotDecided}
	switch low, high := m.Interval(.9); {
	case low > bound-r.smallest.size && high < bound+r.smallest.size:
		j.Size = Negligible
	case low > bound+r.smallest.size || high < bound-r.smallest.size:
		j.Size = Matters
	}
	switch {
	case j.Sign == want && j.Size == Negligible:
		j.Verdict = TooLittle
	case j.Sign == want:
		j.Verdict = Confirmed
	case j.Sign != Even || j.Size == Negligible: // the other side, or no difference that matters
		j.Verdict = Differs
	}
	return j
}

// judgeLittle judges an estimate that may be at most a share of a bad choice's loss. Sign describes
// the estimate itself.
func (r rule) judgeLittle(m experiment.Estimate, beyond *experiment.Estimate) Judgement {
	if beyond == nil {
		d := r.lessBound(m)
		beyond = &d
	}
	j := Judgement{Sign: side(m, 0), Size: Unclear, Verdict: NotDecided}
	switch low, high := beyond.Interval(.9); {
	case high < 0:
		j.Size, j.Verdict = Negligible, Confirmed
	case low > 0:
		j.Size, j.Verdict = Matters, Differs
	}
	return j
}

// lessBound returns the estimate minus a measured bound that is independent of it.
func (r rule) lessBound(m experiment.Estimate) experiment.Estimate {
	switch {
	case m.Repeated() && r.bound.Repeated():
		return experiment.Difference(m, *r.bound)
	case r.bound.Repeated():
		beyond := *r.bound
		beyond.Mean = m.Mean - r.bound.Mean
		return beyond
	}
	m.Mean -= r.bound.Mean
	return m
}

// side returns the side of a bound on which the 95 % interval lies.
func side(m experiment.Estimate, bound float64) Side {
	switch low, high := m.Interval(.95); {
	case low > bound:
		return Above
	case high < bound:
		return Below
	}
	return Even
}

// minus returns the estimate of the opposite.
func minus(m experiment.Estimate) experiment.Estimate { return m.Times(-1) }

// conjunction returns the verdict on a sentence that makes all of the judged statements: the first
// one in this order that any statement has.
func conjunction(of []Verdict) Verdict {
	for _, v := range []Verdict{PaperError, Slip, Differs, NotDecided, TooLittle, Confirmed, Identity} {
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

// A Help is the answer to the question whether descending the CV loss is better.
type Help string

// The values of Help. A difference that is Slight does not matter, whatever its sign.
const (
	Helps     Help = "helps"
	Harms     Help = "harms"
	Slight    Help = "too little to matter"
	Undecided Help = "not decided"
)

func (j Judgement) help() Help {
	switch {
	case j.Size == Negligible:
		return Slight
	case j.Sign == Below:
		return Helps
	case j.Sign == Above:
		return Harms
	}
	return Undecided
}

// besideCode compares a number with the output saved with the published code.
func besideCode(q Quoted, v float64) string {
	same := asPrinted(Quoted{Paper: q.Code}).judgeOnce(v) == Confirmed
	return "The output saved with the code is " + choose(same, "the same as here.", q.Code+".")
}

func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
