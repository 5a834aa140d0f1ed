package claims

import (
	"fmt"
	"strings"
)

// A Finding is one of the project's main results. It is a sentence that quotes the estimate of one
// row of the table of claims. The words of the sentence depend on the verdict on this row, and on
// the verdicts on the row's controls.
type Finding struct {
	Name     string // in one or two words
	Claim    string // the claim that the row judges, in a few words; it may hold or not
	Text     string
	Row      *Measurement
	Others   []*Measurement // further rows on which the words depend
	Notebook string         // the notebook that shows the finding
}

// Findings returns the seven most important findings. If the row of a finding is not measured,
// Findings omits this finding.
func Findings(claims []Claim) []Finding {
	byRole := make(map[role][]*Measurement)
	judged := make(map[*Measurement]string)
	for _, c := range claims {
		for k := range c.Measured {
			m := &c.Measured[k]
			byRole[m.role] = append(byRole[m.role], m)
			judged[m] = "Paper: " + c.Short
			if m.Aside {
				judged[m] = beyondPaper[m.role]
			}
		}
	}
	var all []Finding
	add := func(r role, name, notebook string, text func(m *Measurement) string, others ...role) {
		if of := byRole[r]; len(of) > 0 {
			f := Finding{Name: name, Claim: judged[of[0]], Text: text(of[0]), Row: of[0], Notebook: notebook}
			for _, other := range others {
				f.Others = append(f.Others, byRole[other]...)
			}
			all = append(all, f)
		}
	}
	add(exactGradients, "exact gradients", "05_differentiability", func(m *Measurement) string {
		return byVerdict{ifHolds: "The CV loss has exact gradients", ifFails: "A gradient of the CV loss is not exact", ifOpen: "It is open whether the CV loss has exact gradients"}.text(m) + ": the " + m.Text
	})
	add(printedJacobian, "printed Jacobian", "05_differentiability", func(m *Measurement) string {
		return byVerdict{ifHolds: "The paper's Jacobian of logistic regression is right", ifFails: "The paper's Jacobian of logistic regression lacks a term", ifOpen: "It is open whether the paper's Jacobian of logistic regression is right"}.text(m) + ": " + m.Text
	})
	add(penalties, "two penalties", "03_sample_size", func(m *Measurement) string {
		return fmt.Sprintf("For two penalties %s: test loss, CV-loss minus training-loss descent", penaltiesText(m, byRole[penaltiesGradient], byRole[paperBoxGradient]))
	}, penaltiesGradient, paperBoxGradient)
	add(weights, "a network's weights", "03_sample_size", func(m *Measurement) string {
		return fmt.Sprintf("For a network's weights the CV loss %s: test error, CV-loss minus training-loss descent, all sizes", bySize(byRole[weightsBySize])+withMoreWeights(byRole[moreWeights]))
	}, weightsBySize, moreWeights)
	add(table1, "Table 1", "01_elastic_net", func(m *Measurement) string {
		return strings.TrimSuffix(onOtherData.text(m), ".") + ": " + m.Text
	})
	add(quasiNewtonFaster, "searches", "06_searches", func(m *Measurement) string {
		return gradientText(m, byRole[paperStepFaster]) + ": " + m.Text + ", CV loss"
	}, paperStepFaster)
	add(xorBayes, "XOR", "04_xor", func(m *Measurement) string {
		near := ""
		if of := byRole[xorAccuracy]; len(of) > 0 {
			near = fmt.Sprintf(", and CVGM reaches %.3f", of[0].Ours.Mean)
		}
		return fmt.Sprintf("The best rule for XOR %s the paper's accuracy %s%s: %s", choose(m.satisfiesRule(), "has", "does not have"), m.Quoted.Paper, near, m.Text)
	})
	return all
}

// beyondPaper holds the claims of those findings that go beyond the sentences of the paper.
var beyondPaper = map[role]string{
	penalties: "Beyond the paper: for two penalties a descent of the CV loss beats a descent of the training loss",
}

// gradientText compares two searches with a grid: a quasi-Newton search, and a search with the
// paper's constant step.
func gradientText(quasiNewton *Measurement, paperStep []*Measurement) string {
	switch {
	case quasiNewton.Verdict == NotDecided:
		return "It is open whether the gradient makes a search faster than a grid"
	case !quasiNewton.satisfiesRule():
		return "The gradient does not make a search faster than a grid"
	case len(paperStep) == 0 || paperStep[0].Verdict == NotDecided:
		return "A quasi-Newton search is faster than a grid"
	case paperStep[0].satisfiesRule():
		return "The gradient makes any search faster than a grid"
	}
	return "The gradient needs a method that uses it"
}

// penaltiesText describes two effects: the effect of minimising the CV loss, and the effect of
// using its gradient. For the second effect, it compares the gradient method with random search,
// both in a wide box and in the paper's box.
func penaltiesText(loss *Measurement, gradient, paperBox []*Measurement) string {
	if loss.Verdict == NotDecided {
		return "it is open whether the CV loss helps"
	}
	if !loss.satisfiesRule() {
		return "the CV loss does not help"
	}
	if len(gradient) == 0 {
		return "the CV loss helps"
	}
	switch g := gradient[0]; {
	case g.Verdict == Confirmed && len(paperBox) > 0 && !paperBox[0].satisfiesRule():
		return "the CV loss helps; in a wide box its gradient helps more than random search, " + byVerdict{ifFails: "but not in the paper's box", ifOpen: "and in the paper's box that is open"}.text(paperBox[0]) + " (notebook 01)"
	case g.Verdict == Confirmed:
		return "the CV loss helps, and its gradient helps further"
	case g.Verdict == NotDecided:
		return "the CV loss helps; it is open whether its gradient helps further"
	}
	return "the CV loss helps, and a search without its gradient does as well"
}

// withMoreWeights continues bySize for a larger network.
func withMoreWeights(of []*Measurement) string {
	if len(of) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s %s (notebook 09)", map[Help]string{Helps: "more so", Harms: "less so", Slight: "about the same", Undecided: "undecided"}[of[0].help()], of[0].size)
}

// bySize lists the sizes in four groups: the CV loss helps, harms, makes no difference that
// matters, or the effect is not decided.
func bySize(of []*Measurement) string {
	sizes := make(map[Help][]string)
	for _, m := range of {
		sizes[m.help()] = append(sizes[m.help()], m.size)
	}
	var words []string
	for _, w := range []struct {
		help Help
		what string
	}{{Helps, "helps"}, {Harms, "harms"}, {Slight, "makes no difference that matters"}, {Undecided, "is not decided"}} {
		if n := sizes[w.help]; n != nil {
			words = append(words, w.what+" at N = "+strings.Join(n, ", "))
		}
	}
	if words == nil {
		return "is compared with the training loss"
	}
	last := len(words) - 1
	return strings.Join(append(words[:max(0, last-1)], strings.Join(words[max(0, last-1):], ", and ")), "; ")
}
