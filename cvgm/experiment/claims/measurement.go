package claims

import "cvgm/cvgm/experiment"

// A Measurement is one number by which a claim is judged.
type Measurement struct {
	Text string // what is measured
	// Setting is what someone needs to repeat it with a program of their own, and the table
	// of claims has no other place for: problem, data, sizes, start, bounds and budget.
	Setting string
	Quoted  Quoted // the number that the paper gives, and the one that its code prints
	// Ours is measured, with N = 1 and no margin where it is computed once; Mean is
	// NaN where nothing can be measured.
	Ours    experiment.Estimate
	Rule    string // how the verdict follows from Ours
	Verdict Verdict
	// Control is a case in which the sentence is false, measured in the same way:
	// a rule that does not deny it is none. It is nil where the verdict itself
	// shows that the rule can fail.
	Control *Control
	Aside   bool   // it tells more than the sentence says, and does not decide
	Remark  string // what explains a difference; empty: nothing to explain
}

// A Control is a measurement of what a rule must not confirm.
type Control struct {
	Text    string
	Ours    experiment.Estimate
	Verdict Verdict
}

// measurements collects them by sentence.
type measurements [sentences][]Measurement

func (all *measurements) add(s sentence, m Measurement, r rule) {
	m.Rule, m.Verdict = r.text, r.judge(m.Ours)
	switch m.Verdict {
	case NotTestable:
		m.Rule, m.Control = "–", nil
	case Differs, PaperError:
		m.Control = nil
	default:
		if m.Control != nil {
			m.Control.Verdict = r.judge(m.Control.Ours)
		}
	}
	all[s] = append(all[s], m)
}

// erratum is the remark where the paper prints something wrong: one table tells what.
const erratum = "See the errata in 05_differentiability."
