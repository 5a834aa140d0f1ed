package figures

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Table is a table of the paper with its measured counterpart. Cells are
// strings, integers, a [Number], or nil where there is nothing to report.
type Table struct {
	Name    string // of the files, without ending
	Caption string
	Header  []string
	Rows    [][]any
	Note    string // below the table; empty: none
}

// A Number is a measured or quoted number. CSV gets it in full, the other
// formats with the given digits after the point.
type Number struct {
	Value  float64
	Digits int
	// Margin is half of the 95 % confidence interval; zero: none known.
	Margin float64
}

func (n Number) text(plusMinus string) string {
	if size := math.Abs(n.Value); n.Margin == 0 && (size >= 1e9 || size > 0 && size < .5*math.Pow10(-n.Digits)) {
		return strconv.FormatFloat(n.Value, 'e', 1, 64) // no digit would be left to read, or too many
	}
	s := strconv.FormatFloat(n.Value, 'f', n.Digits, 64)
	if n.Margin > 0 {
		s += plusMinus + strconv.FormatFloat(n.Margin, 'f', n.Digits, 64)
	}
	return s
}

// quoted returns a number as others print it, in the digits that they give but
// for those beyond the sixth, or nil where they are silent.
func quoted(text string) any {
	if text == "" {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	_, decimals, _ := strings.Cut(text, ".")
	return Number{Value: v, Digits: min(len(decimals), 6)}
}

func cell(v any, plusMinus, none string) string {
	switch v := v.(type) {
	case nil:
		return none
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case Number:
		if math.IsNaN(v.Value) {
			return none
		}
		return v.text(plusMinus)
	}
	panic(fmt.Sprintf("figures: a table cell of type %T", v))
}

// longest returns the length of the longest text in column i, or 0 where its
// cells are numbers or nothing at all. The first column is text in any case.
func (t *Table) longest(i int) int {
	n := 0
	for _, row := range t.Rows {
		switch v := row[i].(type) {
		case string:
			n = max(n, utf8.RuneCountInString(v))
		case int, Number:
			if i > 0 {
				return 0
			}
		}
	}
	if i == 0 {
		n = max(n, 1)
	}
	return n
}

// Markdown returns the table in GitHub's dialect.
func (t *Table) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n| %s |\n|", t.Caption, strings.Join(t.Header, " | "))
	for i := range t.Header {
		b.WriteString(map[bool]string{true: " :-- |", false: " --: |"}[t.longest(i) > 0])
	}
	b.WriteByte('\n')
	for _, row := range t.Rows {
		b.WriteByte('|')
		for _, v := range row {
			b.WriteString(" " + strings.ReplaceAll(cell(v, " ± ", "–"), "|", `\|`) + " |")
		}
		b.WriteByte('\n')
	}
	if t.Note != "" {
		b.WriteString("\n" + t.Note + "\n")
	}
	return b.String()
}

// LaTeX returns the table as a booktabs table environment.
func (t *Table) LaTeX() string {
	var b strings.Builder
	var columns string
	for i := range t.Header {
		switch n := t.longest(i); {
		case n == 0:
			columns += "r"
		case n <= 60:
			columns += "l"
		default:
			columns += `p{.3\linewidth}`
		}
	}
	fmt.Fprintf(&b, "\\begin{table}\n  \\caption{%s}\n  \\label{tab:%s}\n  \\centering\n  \\begin{tabular}{%s}\n    \\toprule\n",
		latex(t.Caption), t.Name, columns)
	line := func(cells []string) { fmt.Fprintf(&b, "    %s \\\\\n", strings.Join(cells, " & ")) }
	cells := make([]string, len(t.Header))
	for i, h := range t.Header {
		cells[i] = latex(h)
	}
	line(cells)
	b.WriteString("    \\midrule\n")
	for _, row := range t.Rows {
		for i, v := range row {
			if n, ok := v.(Number); ok {
				cells[i] = "$" + cell(n, ` \pm `, "") + "$"
			} else {
				cells[i] = latex(cell(v, "", "--"))
			}
		}
		line(cells)
	}
	b.WriteString("    \\bottomrule\n  \\end{tabular}\n")
	if t.Note != "" {
		fmt.Fprintf(&b, "  \\par\\smallskip\\footnotesize %s\n", latex(t.Note))
	}
	b.WriteString("\\end{table}\n")
	return b.String()
}

var latexEscapes = strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "_", `\_`, "#", `\#`, "$", `\$`,
	"λ1", `$\lambda_1$`, "λ2", `$\lambda_2$`, "±", `$\pm$`, "θ", `$\theta$`, "Δ", `$\Delta$`, "∇", `$\nabla$`, "∂", `$\partial$`, "α", `$\alpha$`, "γ", `$\gamma$`, "λ", `$\lambda$`, "ν", `$\nu$`, "π", `$\pi$`,
	"½", `$\frac12$`, "²", `$^2$`, "ᵀ", `$^\top$`, "ŷ", `$\hat y$`, "′", `$'$`, "ⁱ", `$^i$`, "…", `\dots{}`, "−", "$-$", "≤", `$\le$`, "≥", `$\ge$`, "×", `$\times$`, "–", "--")

func latex(s string) string { return latexEscapes.Replace(s) }

// CSV returns the table with full precision; a Number with a margin takes two
// columns.
func (t *Table) CSV() string {
	margins := make([]bool, len(t.Header))
	for _, row := range t.Rows {
		for i, v := range row {
			if n, ok := v.(Number); ok && n.Margin > 0 {
				margins[i] = true
			}
		}
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	record := func(put func(i int) (value, margin string)) {
		var fields []string
		for i := range t.Header {
			v, m := put(i)
			fields = append(fields, v)
			if margins[i] {
				fields = append(fields, m)
			}
		}
		_ = w.Write(fields) // a strings.Builder never fails
	}
	record(func(i int) (string, string) { return t.Header[i], t.Header[i] + " ±" })
	for _, row := range t.Rows {
		record(func(i int) (value, margin string) {
			n, ok := row[i].(Number)
			if !ok {
				return cell(row[i], "", ""), ""
			}
			if n.Margin > 0 {
				margin = full(n.Margin)
			}
			return full(n.Value), margin
		})
	}
	w.Flush()
	return b.String()
}

// full writes a number in as few digits as read back the same.
func full(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Write writes dir/Name.csv, .md and .tex.
func (t *Table) Write(dir string) error {
	for ext, text := range map[string]string{".csv": t.CSV(), ".md": t.Markdown(), ".tex": t.LaTeX()} {
		if err := os.WriteFile(filepath.Join(dir, t.Name+ext), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
