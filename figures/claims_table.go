package figures

import (
	"fmt"
	"slices"
	"strings"

	"cvgm/cvgm/experiment/claims"
	"cvgm/figures/internal/chart"
)

// claimsTable lists the paper's sentences in the order of the paper, each with its verdict. Below a
// sentence, there is a row for each of its measurements. A row has the setting, the paper's number,
// the number that the paper's code printed, the measured number, the rule, and the rule's verdict.
// As a control, the row also has the rule's verdict in a case in which the sentence is false.
func claimsTable(all []claims.Claim) *Table {
	t := &Table{
		Name: "claims", Caption: claimsCaption,
		Header: []string{"Claim", "Section", "Sentence or measurement", "Setting", "Paper", "Its code", "Here", "Repetitions", "Confirmed if", "Smallest difference", "Reason", "Tells", "Sign", "Size", "Verdict", "Draws", "Other verdicts", "Expected", "Control", "Control's value", "Control's verdict", "Remark"},
	}
	for _, c := range all {
		row := make([]any, len(t.Header))
		row[0], row[1], row[2], row[14] = c.Number, c.Section, quotation(c.Sentence), string(c.Verdict)
		t.Rows = append(t.Rows, row)
		for k := range c.Measured {
			t.Rows = append(t.Rows, claimsRow(c, k))
		}
	}
	return t
}

func claimsRow(c claims.Claim, k int) []any {
	m := &c.Measured[k]
	row := []any{claims.RowName(c.Number-1, k), nil, m.Text, optional(m.Setting), chart.Quoted(m.Quoted.Paper), chart.Quoted(m.Quoted.Code), measurement(m.Ours), repeated(m), m.Rule, Number{Value: m.Smallest, Digits: 4}, optional(m.Reason), nil, optional(string(m.Sign)), optional(string(m.Size)), bracketed(m), nil, nil, nil, nil, nil, nil, optional(m.Remark)}
	if tells := m.Tells(); tells > 0 {
		row[11] = Number{Value: tells, Digits: 4}
	}
	if d := m.Draws; d != nil {
		row[15], row[16], row[17] = d.N, d.Flips, Number{Value: d.Expected, Digits: 1}
	}
	if m.Control != nil && !failed(m.Verdict) {
		row[18], row[19], row[20] = m.Control.Text, measurement(m.Control.Ours), string(m.Control.Verdict)
	}
	return row
}

// ClaimsAtAGlance lists the paper's sentences, each shortened to a few words. Each sentence comes
// with its verdict, the quantity that decides the verdict, and its number.
func ClaimsAtAGlance(all []claims.Claim) *Table {
	t := &Table{Name: "claims_at_a_glance", Caption: claimsCaption, Header: []string{"", "The paper says", "Verdict", "Measured", "Number"}, Note: verdictCounts(all)}
	for _, c := range all {
		row := []any{c.Number, c.Short, string(c.Verdict), nil, nil}
		if m := deciding(c); m != nil {
			row[3], row[4] = m.InBrief(), measurement(m.Ours)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// FindingsTable lists the main findings, each with its number. If the number has an interval, the
// row also has a bar. The argument note is a text that is placed below the table.
func FindingsTable(all []claims.Claim, note string) *Table {
	t := &Table{Name: "findings", Caption: "Seven findings", Header: []string{"Finding", "Number", "Against the bound", "Verdict", "Shown in"}, Note: strings.TrimSpace(verdictCounts(all) + " " + findingsNote + " " + note)}
	for _, f := range claims.Findings(all) {
		row := []any{f.Text, measurement(f.Row.Ours), nil, string(f.Row.Verdict), f.Notebook}
		if p, ok := f.Row.Position(); ok {
			row[2] = Code(intervalBar(p))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

const findingsNote = "Intervals are 95 % confidence intervals over the repetitions. In a bar ● is the number, ─ its interval, and │ the bound of the rule; right of │ the number speaks for the claim, left of │ against it, and within [ ] the difference is too small to matter; ◂ and ▸ lie beyond the axis. A finding's words follow from the verdict on a claim of the paper, or on our own claim if the finding goes beyond the paper."

const claimsCaption = "The paper's claims and the verdicts on them"

// repeated returns the number of repetitions of a row, or nil if its value is computed only once.
func repeated(m *claims.Measurement) any {
	if m.Ours.N < 2 {
		return nil
	}
	return m.Ours.N
}

// bracketed returns the verdict of a row as text. The text is in brackets if the verdict of the row
// does not affect the verdict on the sentence.
func bracketed(m *claims.Measurement) string {
	if m.Aside {
		return fmt.Sprintf("(%s)", m.Verdict)
	}
	return string(m.Verdict)
}

// optional returns the text, or nil if the text is empty.
func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func quotation(sentence string) string { return "“" + sentence + "”" }

// verdictCounts returns a text that counts the claims by verdict.
func verdictCounts(all []claims.Claim) string {
	var parts []string
	for _, v := range claims.Verdicts {
		if n := len(slices.DeleteFunc(slices.Clone(all), func(c claims.Claim) bool { return c.Verdict != v })); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, numbered(v, n)))
		}
	}
	return fmt.Sprintf("%d claims: %s.", len(all), strings.Join(parts, ", "))
}

// numbered returns a verdict as text. The text is in the plural unless the number n of such
// verdicts is 1.
func numbered(v claims.Verdict, n int) string {
	texts := map[claims.Verdict]string{claims.Identity: "identity that checks the code"}
	if n != 1 {
		texts = map[claims.Verdict]string{claims.Differs: "differ", claims.PaperError: "errors of the paper", claims.Slip: "slips of notation", claims.Identity: "identities that check the code"}
	}
	if text, ok := texts[v]; ok {
		return text
	}
	return string(v)
}
