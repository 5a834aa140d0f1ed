package claims

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cvgm/cvgm/experiment"
)

// Verdict is the judgement on a claim or on a measurement.
type Verdict string

// These constants are the verdicts.
const (
	Confirmed Verdict = "confirmed"
	// TooLittle means that the sentence holds, but the difference is too small to matter.
	TooLittle Verdict = "confirmed, too little to matter"
	Differs   Verdict = "differs"
	// NotDecided: there are too few repetitions.
	NotDecided Verdict = "not decided"
	PaperError Verdict = "paper's error"
	// Slip means that the printed sentence has a slip of notation, and that the intended sentence
	// holds.
	Slip Verdict = "slip of notation"
	// Identity means that the sentence is proved, so the measurement only checks the code.
	Identity    Verdict = "identity, checks the code"
	NotTestable Verdict = "not testable"
)

// Verdicts lists the verdicts in the order of the tables that count them.
var Verdicts = []Verdict{Confirmed, TooLittle, Differs, NotDecided, PaperError, Slip, Identity, NotTestable}

// A Judgement is the result of applying a rule to an estimate.
type Judgement struct {
	// Sign states on which side of the rule's bound the 95 % interval lies: Above, Below or Even.
	// If there are no repetitions, it is empty.
	Sign Side
	// Size classifies the distance of the estimate from the bound as Matters, Negligible or
	// Unclear. It uses the 90 % interval of the estimate, so each end of the interval is a test at
	// the level 5 %. Size is empty if there are no repetitions.
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

// Telling is a multiple of the standard error. The repetitions distinguish a difference from 0 if
// it is at least d = Telling·(standard error). Suppose that d is also the smallest difference that
// matters. There are two cases. In both, z(p) is the quantile of the normal distribution:
//
//   - If the true difference is 0, the repetitions show with a probability of at least .9 that the
//     difference does not matter. This requires that d is z(.95) + z(.95) standard errors.
//   - If the true difference is 2d, the repetitions show with at least this probability that the
//     difference matters. This requires only z(.95) + z(.90) standard errors.
//
// Telling determines the number of repetitions. A pilot gives the standard deviation s between
// repetitions. Ten draws together need (Telling·s/d)² repetitions. The pilot is draw 20. Its data
// are neither in the ten recorded draws nor in the ten draws after them.
//
// The file testdata/pilot.csv holds the experiments whose number of repetitions follows from the
// pilot. TestPilotHasPower compares their estimates with d. For the other experiments,
// TestRecordedDrawsHavePower checks the number of repetitions on the recorded draws. The cards of
// the claims mark rows with too few repetitions. For times, the repetitions are the runs of the
// benchmarks, and there are no draws.
const Telling = 2 * 1.6448536269514722

func once(v float64) experiment.Estimate {
	return experiment.Estimate{Mean: v, Margin: math.NaN(), N: 1}
}

// on returns the estimate with its interval on another scale.
func on(scale experiment.Scale, e experiment.Estimate) experiment.Estimate {
	e.Scale = scale
	return e
}

// A rule turns a measurement into a verdict. The rule holds for a true value between the numbers
// low and high.
type rule struct {
	text         string
	low, high    float64
	excludesEnds bool // low and high themselves are excluded
	// A distance from a bound matters if it is at least minSize. The verdict on a value that is
	// computed only once does not depend on minSize.
	minSize difference
	// The field bound is the upper bound of the rule if this bound is measured, and otherwise nil.
	// A measured bound is a share of a bad choice's loss. The field badChoice names the bad choice.
	bound     *experiment.Estimate
	badChoice string
	// The field ifHolds is the verdict if the rule holds, and ifFails is the verdict if it does not
	// hold. If they are empty, the verdicts are Confirmed and Differs.
	ifHolds, ifFails Verdict
}

// A difference holds the size of the smallest change that would matter to a reader, and the reason
// for this size.
type difference struct {
	size float64
	why  string
}

// These constants are the smallest differences that matter for accuracies, and for squared losses
// of the paper's regression data. See ofAccuracy and ofSquaredLoss for the reasons.
const (
	AccuracyMatters    = .005
	SquaredLossMatters = .01
)

// Each of these variables is a smallest difference that matters. Its name is "of" followed by the
// measured quantity.
var (
	ofAccuracy = difference{AccuracyMatters, "half a point is half of the standard deviation of an accuracy of .9 on the paper's test set of 1000 examples"}
	// The next two differences are for comparisons with a poor rival. A poor rival does not learn,
	// or learns without a penalty.
	ofPoorAccuracy    = difference{.02, "two points are a fifteenth of what learning gains on the rings, and the rival does not learn"}
	ofPoorSquaredLoss = difference{.04, "a twenty-fifth of the variance of the labels' noise; the rival has no penalty, or is known to be wrong"}
	ofSquaredLoss     = difference{SquaredLossMatters, "a hundredth of the variance of the labels' noise, which no method removes"}
	ofLogLoss         = difference{math.Ln2 / 20, "a twentieth of log 2, the loss of a coin"}
	ofSets            = difference{.1, "one data set in ten"}
	ofWhole           = difference{.1, "a tenth of the whole"}
	// This is a relative difference between a derivative and a finite difference.
	ofDigits = difference{sixDigits / 2, "half a unit of the sixth digit"}
)

// sixDigits bounds the relative distance of a correct derivative from the best finite difference.
// The rounding of the finite difference causes distances of up to about 1e-8. The derivative with
// respect to a wrong input has a distance of a hundredth or more.
const sixDigits = 1e-6

// perDoublings converts a difference between the smallest and the largest size into a slope: the
// change per doubling of the size.
func (d difference) perDoublings(smallest, largest int) difference {
	n := math.Log2(float64(largest) / float64(smallest))
	return difference{d.size / n, fmt.Sprintf("%g over the %.2g doublings from N = %d to %d; %s", d.size, n, smallest, largest, d.why)}
}

// equalsRule returns a rule that requires a value within tol of the given number. The smallest
// difference that matters is also tol.
func equalsRule(number, tol float64, why string) rule {
	return rule{text: fmt.Sprintf("within %.4g of %g", tol, number), low: number - tol, high: number + tol, minSize: difference{tol, why}}
}

// zeroRule returns a rule that requires the value 0, up to the smallest difference that matters.
func zeroRule(d difference) rule { return equalsRule(0, d.size, d.why) }

// countRule returns a rule that requires a count equal to the given number.
func countRule(number float64) rule {
	return rule{text: fmt.Sprintf("%g", number), low: number, high: number, minSize: difference{0, "a count"}}
}

// asPrinted requires a number that rounds to the printed number.
func asPrinted(q Quoted) rule { return withinRule(q, 0) }

// withinOne returns a rule that requires a rate near the printed number. The rate is a share of n
// examples. It may differ from the printed number by half a unit of the last printed digit, plus
// 1/n. Two programs may differ by one example of the same test set if this example lies on the
// decision boundary.
func withinOne(q Quoted, n int) rule {
	r := withinRule(q, 1/float64(n))
	r.text = fmt.Sprintf("within one of %d examples of %s", n, q.Paper)
	r.minSize.why = "one example, and the rounding of the printed number"
	return r
}

// withinRule returns a rule that requires a value near the printed number. The value may differ
// from the printed number by half a unit of the last printed digit, plus the tolerance tol. The
// bounds of the rule are slightly wider, because the rounding of float64 must not decide.
func withinRule(q Quoted, tol float64) rule {
	_, decimals, _ := strings.Cut(q.Paper, ".")
	tol += math.Pow(10, -float64(len(decimals))) / 2
	r := equalsRule(number64(q.Paper), tol*(1+1e-9), "the rounding of the printed number")
	r.text = "rounds to " + q.Paper
	return r
}

// aboveRule returns a rule that requires a value above the bound. If there are repetitions, d is
// the smallest difference that matters. For a value that is computed only once, the size of d is
// zero.
func aboveRule(bound float64, d difference) rule {
	return rule{text: "above " + short(bound), low: bound, high: math.Inf(1), excludesEnds: true, minSize: d}
}

func belowRule(bound float64, d difference) rule {
	return rule{text: "below " + short(bound), low: math.Inf(-1), high: bound, excludesEnds: true, minSize: d}
}

// computedDifference is for a value without sampling error. Its size is 0, so every difference
// between the value and its bound matters.
var computedDifference = difference{0, "the value has no error but rounding"}

// ofAllSets requires a distance of at most 1.96 standard deviations. If the claim is true, 95 % of
// all data sets or test sets satisfy this rule.
var ofAllSets = rule{text: "within 1.96 of 0, as 95 % of all sets", low: -1.96, high: 1.96, minSize: difference{1.96, "what 19 of 20 sets stay within"}}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// withMargin returns the text of an estimate: its mean and the margin of its interval.
func withMargin(e experiment.Estimate) string {
	return fmt.Sprintf("%s ± %s", short(e.Mean), short(e.Margin))
}

// The paper says that some choices "work well" or are "competitive". A rule requires that the
// regret of such a choice is at most a quarter of the regret of a bad choice.
const quarter = .25

// littleOf returns a rule that requires a loss below a quarter of the loss of a bad choice. Both
// losses are measured. The verdict therefore comes from [Measurement.Beyond], which is the loss
// minus a quarter of the bad choice's loss.
func littleOf(worst experiment.Estimate, choice string) rule {
	return littleBound(worst.Times(quarter), choice)
}

func littleBound(bound experiment.Estimate, choice string) rule {
	r := belowRule(bound.Mean, difference{bound.Mean, "a quarter of what " + choice + " loses"})
	r.bound, r.badChoice = &bound, choice
	r.text = fmt.Sprintf("below %s, a quarter of what %s loses", short(bound.Mean), choice)
	return r
}

// beyondQuarter returns losses[i] − badLosses[i]/4 for each data set i. The slice badLosses holds
// the losses of a bad choice.
func beyondQuarter(losses, badLosses []float64) []float64 {
	beyond := make([]float64, len(losses))
	for i := range beyond {
		beyond[i] = losses[i] - quarter*badLosses[i]
	}
	return beyond
}

// or returns the rule with the verdict v in place of Differs.
func (r rule) or(v Verdict) rule {
	r.ifFails = v
	return r
}

// proved returns the rule with the verdict Identity in place of Confirmed.
func (r rule) proved() rule {
	r.ifHolds = Identity
	return r
}

// oneSided returns the bound of a rule with one bound: a rule that requires values above a number,
// or below a number. For other rules, its second result is false.
func (r rule) oneSided() (bound float64, isOneSided bool) {
	switch {
	case math.IsInf(r.low, 0):
		return r.high, true
	case math.IsInf(r.high, 0):
		return r.low, true
	}
	return 0, false
}

// judge applies the rule to the estimate m. Only a rule with a measured bound uses overBound, an
// estimate of the difference between m and the bound. If overBound is nil, judge computes this
// difference as if m and the bound were independent.
func (r rule) judge(m experiment.Estimate, overBound *experiment.Estimate) Judgement {
	j := r.plainJudgement(m, overBound)
	switch {
	case j.Verdict == Confirmed && r.ifHolds != "":
		j.Verdict = r.ifHolds
	case j.Verdict == Differs && r.ifFails != "":
		j.Verdict = r.ifFails
	}
	return j
}

// plainJudgement judges as judge does, but without the special verdicts of the rule. If the
// estimate decides the rule, the verdict is Confirmed or Differs.
func (r rule) plainJudgement(m experiment.Estimate, beyond *experiment.Estimate) Judgement {
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
	j := Judgement{Sign: sideOf(m, (r.low+r.high)/2), Size: Unclear, Verdict: NotDecided}
	switch low, high := m.Interval(.9); {
	case r.low <= low && high <= r.high:
		j.Size, j.Verdict = Negligible, Confirmed
	case high < r.low || low > r.high:
		j.Size, j.Verdict = Matters, Differs
	}
	return j
}

func (r rule) judgeOnce(v float64) Verdict {
	if r.low < v && v < r.high || !r.excludesEnds && (v == r.low || v == r.high) {
		return Confirmed
	}
	return Differs
}

// Weigh compares a difference with 0, and with the smallest relevant difference. Its verdict judges
// the statement that the difference is below 0.
func Weigh(e experiment.Estimate, relevant float64) Judgement {
	return belowRule(0, difference{size: relevant}).judge(e, nil)
}

// judgeSide applies a rule with one bound to m.
func (r rule) judgeSide(m experiment.Estimate, bound float64) Judgement {
	want := Above
	if bound == r.high {
		want = Below
	}
	j := Judgement{Sign: sideOf(m, bound), Size: Unclear, Verdict: NotDecided}
	switch low, high := m.Interval(.9); {
	case low > bound-r.minSize.size && high < bound+r.minSize.size:
		j.Size = Negligible
	case low > bound+r.minSize.size || high < bound-r.minSize.size:
		j.Size = Matters
	}
	switch {
	case j.Sign == want && j.Size == Negligible:
		j.Verdict = TooLittle
	case j.Sign == want:
		j.Verdict = Confirmed
	case j.Sign != Even || j.Size == Negligible: // on the other side, or no difference that matters
		j.Verdict = Differs
	}
	return j
}

// judgeLittle applies a rule with a measured bound to the estimate m. The field Sign of the
// judgement is the side of 0 on which the interval of m lies.
func (r rule) judgeLittle(m experiment.Estimate, beyond *experiment.Estimate) Judgement {
	if beyond == nil {
		d := r.lessBound(m)
		beyond = &d
	}
	j := Judgement{Sign: sideOf(m, 0), Size: Unclear, Verdict: NotDecided}
	switch low, high := beyond.Interval(.9); {
	case high < 0:
		j.Size, j.Verdict = Negligible, Confirmed
	case low > 0:
		j.Size, j.Verdict = Matters, Differs
	}
	return j
}

// lessBound returns the estimate m minus the measured bound of the rule. It assumes that m and the
// bound are independent.
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

// sideOf returns the side of the bound on which the 95 % interval of the estimate m lies.
func sideOf(m experiment.Estimate, bound float64) Side {
	switch low, high := m.Interval(.95); {
	case low > bound:
		return Above
	case high < bound:
		return Below
	}
	return Even
}

// negated returns the estimate of the negative quantity.
func negated(m experiment.Estimate) experiment.Estimate { return m.Times(-1) }

// conjunction returns the verdict on a sentence that joins several judged statements by "and". It
// returns the first verdict of the following list that any of the statements has.
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

// symmetric returns a median as an estimate with a symmetric interval. The margin is the distance
// from the median to the farther end of the median's interval.
func symmetric(m experiment.Median) experiment.Estimate {
	return experiment.Estimate{Mean: m.Median, Margin: max(m.High-m.Median, m.Median-m.Low), N: m.N}
}

// A Help is the answer to a question: does a descent of the CV loss give a better result than its
// rival?
type Help string

// These constants are the values of Help. Slight means that the difference does not matter,
// whatever its sign.
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

// besideCode returns a sentence that compares the value v with the saved output of the published
// code.
func besideCode(q Quoted, v float64) string {
	same := asPrinted(Quoted{Paper: q.Code}).judgeOnce(v) == Confirmed
	return "The output saved with the code is " + choose(same, "the same as here.", q.Code+".")
}

func choose[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}
