package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/figures/internal/chart"
)

// ClaimsTable lists the paper's sentences in its order, each with its verdict,
// and below it what is measured for it: the setting, the number that the paper gives, the one
// that its code printed, the one here, and the rule from which the verdict
// follows, beside what the rule says of a case in which the sentence is false.
func ClaimsTable(claims []claims.Claim) *Table {
	t := &Table{
		Name:    "claims",
		Caption: "The paper's claims and what becomes of them",
		Header:  []string{"Claim", "Section", "Sentence or measurement", "Setting", "Paper", "Its code", "Here", "Repetitions", "Confirmed if", "Verdict", "Control", "Control's value", "Control's verdict", "Remark"},
		Links:   map[string]string{"errata in 05_differentiability": "../05_differentiability/errata.md"},
	}
	for i, c := range claims {
		t.Rows = append(t.Rows, []any{i + 1, c.Section, quotation(c.Sentence), nil, nil, nil, nil, nil, nil, string(c.Verdict), nil, nil, nil, nil})
		for k, m := range c.Measured {
			row := []any{fmt.Sprintf("%d%c", i+1, 'a'+k), nil, m.Text, optional(m.Setting), chart.Quoted(m.Quoted.Paper), chart.Quoted(m.Quoted.Code), measurement(m.Ours), nil, m.Rule, string(m.Verdict), nil, nil, nil, m.Remark}
			if m.Ours.N > 1 {
				row[7] = m.Ours.N
			}
			if m.Aside {
				row[9] = fmt.Sprintf("(%s)", m.Verdict)
			}
			if m.Control != nil {
				row[10], row[11], row[12] = m.Control.Text, measurement(m.Control.Ours), string(m.Control.Verdict)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	t.Note = counted(claims) + " A sentence holds if all that is measured for it does; a verdict in brackets is of something that the sentence does not say. Intervals are 95 % confidence intervals over the repetitions, unless the setting has another. " +
		"A control is a case in which the sentence is false, judged by the same rule. It is left out where the verdict itself shows that the rule can fail. " +
		"Where the paper calls something competitive, or says that it works well, the rule lets pass a quarter of what a choice known to be bad loses. " +
		"In settings N is the number of examples, and ε is standard normal. Each of K uniform splits trains on the integer part of p·N examples, drawn at random, and validates on the others. Balanced splits validate each example equally often. " +
		"make_regression is scikit-learn's."
	return t
}

// ClaimsAtAGlance lists the paper's sentences with their verdicts.
func ClaimsAtAGlance(claims []claims.Claim) *Table {
	t := &Table{Name: "claims_at_a_glance", Caption: "The paper's claims and what becomes of them", Header: []string{"", "The paper's sentence", "Verdict"}, Note: counted(claims)}
	for i, c := range claims {
		t.Rows = append(t.Rows, []any{i + 1, quotation(c.Sentence), string(c.Verdict)})
	}
	return t
}

// FindingsTable lists what a reader takes home, each with its number.
func FindingsTable(findings []claims.Finding, claims []claims.Claim) *Table {
	t := &Table{Name: "findings", Caption: "Seven findings", Header: []string{"Finding", "Number", "Repetitions", "Shown in"}, Note: counted(claims) + " Intervals are 95 % confidence intervals over the repetitions."}
	for _, f := range findings {
		row := []any{f.Text, measurement(f.Ours), nil, f.Notebook}
		if f.Ours.N > 1 {
			row[2] = f.Ours.N
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// optional returns a text, or nil for an empty one.
func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func quotation(sentence string) string { return "“" + sentence + "”" }

// counted says how many claims have which verdict.
func counted(all []claims.Claim) string {
	var parts []string
	for _, v := range claims.Verdicts {
		if n := len(slices.DeleteFunc(slices.Clone(all), func(c claims.Claim) bool { return c.Verdict != v })); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return fmt.Sprintf("%d claims: %s.", len(all), strings.Join(parts, ", "))
}

// measurement returns a Number in four digits after the point, or fewer where it
// is large, or nil where nothing could be measured.
func measurement(m experiment.Estimate) any {
	if math.IsNaN(m.Mean) {
		return nil
	}
	n := Number{Value: m.Mean, Digits: 4}
	if m.Mean == math.Trunc(m.Mean) && math.Abs(m.Mean) < 1e9 {
		n.Digits = 0
	}
	if !math.IsNaN(m.Margin) {
		n.Margin = m.Margin
	}
	return n
}
