package figures

import (
	"strings"
	"testing"
)

// Braces, carets, tildes and the symbols of the tables' texts reach the reader of a
// LaTeX table, and neither a bar nor a line break ends a cell of a Markdown table.
func TestHostileTextsOfTables(t *testing.T) {
	table := &Table{Name: "t", Caption: "labels {0, 1}", Header: []string{"|θ|", "a\nb"}, Rows: [][]any{{"x^2 ~ g ∈ 10⁻⁴ of 10¹²", "two\nlines | bar"}}}
	for _, want := range []string{`labels \{0, 1\}`, `x\textasciicircum{}2 \textasciitilde{} g $\in$ 10$^{-}$$^4$ of 10$^1$$^2$`} {
		if !strings.Contains(table.LaTeX(), want) {
			t.Errorf("LaTeX lacks %q:\n%s", want, table.LaTeX())
		}
	}
	if want := "**labels {0, 1}**\n\n| \\|θ\\| | a b |\n| :-- | :-- |\n| x^2 ~ g ∈ 10⁻⁴ of 10¹² | two lines \\| bar |\n"; table.Markdown() != want {
		t.Errorf("Markdown is\n%s\nwant\n%s", table.Markdown(), want)
	}
}
