package figures

import (
	"fmt"
	"math"
	"strings"

	"cvgm/cvgm/experiment"
)

// ClaimsTable lists every claim of the paper beside what its code printed, what
// is measured here, and the verdict that the stated rule gives.
func ClaimsTable(claims []experiment.Claim) *Table {
	t := &Table{
		Name:    "claims",
		Caption: "The paper's claims and what becomes of them",
		Header:  []string{"Claim", "Where", "Paper", "Its code", "Here", "Repetitions", "Rule", "Verdict", "Remark"},
	}
	counts := make(map[experiment.Verdict]int)
	for _, c := range claims {
		counts[c.Verdict]++
		row := []any{c.Text, c.Place, quoted(c.Quoted.Paper), quoted(c.Quoted.Code), measurement(c.Ours), nil, c.Rule, string(c.Verdict), c.Remark}
		if c.Ours.N > 1 {
			row[5] = c.Ours.N
		}
		t.Rows = append(t.Rows, row)
	}
	var parts []string
	for _, v := range []experiment.Verdict{experiment.Confirmed, experiment.Differs, experiment.PaperError, experiment.NotTestable} {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	t.Note = fmt.Sprintf("%d claims: %s. Some sentences of the paper are judged in several rows, once for each rival. Intervals are 95 %% confidence intervals over the repetitions.", len(claims), strings.Join(parts, ", "))
	return t
}

// ClaimsAtAGlance is ClaimsTable in the columns that fit a page.
func ClaimsAtAGlance(claims []experiment.Claim) *Table {
	t := ClaimsTable(claims)
	t.Name = "claims_at_a_glance"
	kept := []int{0, 2, 3, 4, 7}
	t.Header = pick(t.Header, kept)
	for k, row := range t.Rows {
		t.Rows[k] = pick(row, kept)
	}
	return t
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
