package claims

import (
	"cmp"

	"cvgm/cvgm/experiment"
)

// A Measurement is one number by which a claim is judged.
type Measurement struct {
	Text string // the measured quantity, in words
	// Brief is Text in a few words, for lists with one line for each claim. If it is empty, Text
	// has few words itself.
	Brief string
	// Caveat is a sentence about results that the verdict does not show, but that its reader would
	// miss. The card of the claim begins with it. If it is empty, there are no such results.
	Caveat string
	// Setting describes the conditions of the measurement: problem, data, sizes, start, bounds and
	// budget. With these conditions, a reader can repeat the measurement with another program.
	// Setting omits conditions that the table of claims shows elsewhere.
	Setting string
	Quoted  Quoted // the number that the paper gives, and the number that its published code prints
	// Ours is the measured estimate. A value that is computed only once has N = 1 and no margin. If
	// nothing can be measured, Mean is NaN.
	Ours experiment.Estimate
	// If the bound of the rule is measured on the same data sets as Ours, Beyond is the mean over
	// these data sets of Ours minus the bound. If not, Beyond is nil.
	Beyond *experiment.Estimate
	Rule   string // how the verdict follows from Ours
	// A distance of Ours from the bound of the rule does not matter if it is below Smallest. Reason
	// explains the choice of Smallest.
	Smallest float64
	Reason   string
	Judgement
	// Control is the same measurement in a case in which the sentence is false. If the rule
	// confirms the sentence even in this case, the rule is no proof. Control is nil if the verdict
	// already shows that the rule can fail.
	Control *Control
	Aside   bool   // the measurement goes beyond the sentence and does not affect the verdict on it
	Remark  string // explanation of a difference; empty: nothing to explain
	remarks byVerdict

	// Draws describes the results of several draws. Nil: there is one draw.
	Draws *Draws

	rule  rule
	timed bool   // a time, which no draw moves
	role  role   // in the findings
	size  string // of the training set or of the network, if the role names it
}

// A Control is a measurement that a rule must not confirm.
type Control struct {
	Text    string
	Ours    experiment.Estimate
	Verdict Verdict
}

// Draws describes the verdicts of several draws on a row.
type Draws struct {
	N        int
	Flips    int     // number of verdicts on single draws that differ from the verdict on all draws together
	Expected float64 // number of flips that the scatter of single draws predicts
	// Chance is a probability under the assumption that the estimate from all draws is the true
	// value. It is the probability of at least as many flips as in these draws. If Chance is small,
	// the repetitions of the row do not show all of its errors.
	Chance float64
}

// A role is the function of a row in the findings.
type role int

const (
	noRole role = iota
	exactGradients
	printedJacobian
	penalties         // the CV loss against the training loss
	penaltiesGradient // a descent of the CV loss compared with a random search of the CV loss
	weights           // weights of a network, all sizes: the CV loss compared with the training loss
	weightsBySize     // the same by size
	moreWeights       // the same with many weights minus with few
	table1
	paperBoxGradient // a descent of the CV loss compared with random search in the paper's box
	quasiNewtonFaster
	paperStepFaster
	xorAccuracy
	xorBayes
)

// Tells returns how far from the bound an estimate must be, so that the repetitions distinguish the
// distance from 0 (see [Telling]). It uses the largest of three standard errors: at the bound, and
// at 2·Smallest above and below the bound. The standard error at the bound alone could be too
// small. For example, the standard error of a jump is proportional to the size of the jump. Near a
// small bound, this error is small, even if the estimate is far from the bound. For a value that is
// computed only once, Tells returns 0.
func (m *Measurement) Tells() float64 {
	e, bound := m.testedEstimate(), m.middleOfRule()
	return Telling * max(e.SEAt(bound-2*m.Smallest), e.SEAt(bound), e.SEAt(bound+2*m.Smallest))
}

// middleOfRule returns the value from which differences are measured. For a rule with one bound,
// this value is the bound. For a rule with two bounds, it is the middle between them. For a
// measured bound, it is 0, because the rule then judges the difference between the estimate and the
// bound.
func (m *Measurement) middleOfRule() float64 {
	bound, oneSided := m.rule.oneSided()
	switch {
	case m.rule.bound != nil:
		return 0
	case oneSided:
		return bound
	}
	return (m.rule.low + m.rule.high) / 2
}

// testedEstimate returns the estimate that decides the verdict.
func (m *Measurement) testedEstimate() experiment.Estimate {
	switch {
	case m.Beyond != nil:
		return *m.Beyond
	case m.rule.bound != nil:
		return m.rule.lessBound(m.Ours)
	}
	return m.Ours
}

// InBrief returns the measured quantity in a few words.
func (m *Measurement) InBrief() string { return cmp.Or(m.Brief, m.Text) }

func (m *Measurement) setRule(r rule) {
	m.rule, m.Rule, m.Smallest, m.Reason = r, r.text, r.minSize.size, r.minSize.why
}

// byVerdict holds a remark for each result of a rule: ifHolds if the rule holds, ifFails if the
// rule does not hold, and ifOpen if the repetitions do not decide. If the difference is too small
// to matter and ifNegligible is not empty, ifNegligible replaces ifFails.
type byVerdict struct{ ifHolds, ifFails, ifOpen, ifNegligible string }

func (b byVerdict) text(m *Measurement) string {
	switch {
	case m.Verdict == NotDecided:
		return b.ifOpen
	case m.satisfiesRule():
		return b.ifHolds
	case m.Size == Negligible && b.ifNegligible != "":
		return b.ifNegligible
	}
	return b.ifFails
}

// satisfiesRule reports whether the measurement satisfies the rule.
func (m *Measurement) satisfiesRule() bool {
	return m.Verdict == Confirmed || m.Verdict == TooLittle || m.Verdict == Identity
}

// judge applies the rule to the measurement and to its control.
func (m *Measurement) judge() {
	m.Judgement = m.rule.judge(m.Ours, m.Beyond)
	if m.remarks != (byVerdict{}) {
		m.Remark = m.remarks.text(m)
	}
	if m.Verdict == NotTestable {
		m.Rule = "–"
	}
	if m.Control != nil {
		m.Control.Verdict = m.rule.judge(m.Control.Ours, nil).Verdict
	}
}

// measurements holds the measurements of each sentence.
type measurements [sentences][]Measurement

func (all *measurements) add(s sentence, m Measurement, r rule) {
	m.setRule(r)
	m.judge()
	all[s] = append(all[s], m)
}

// paired estimates the mean of losses[i] − badLosses[i]/4 over the data sets i, for
// [Measurement.Beyond]. The slice badLosses holds the losses of a bad choice.
func paired(losses, badLosses []float64) *experiment.Estimate {
	e := experiment.EstimateOf(beyondQuarter(losses, badLosses))
	return &e
}

// erratumRemark is for a row that shows an error in the paper. The table in 05_differentiability
// lists all these errors.
const erratumRemark = "See the errata in 05_differentiability."
