package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cvgm/cvgm/experiment"
)

// A Table is a table of results. A row has one cell for each column. A cell is a string, a [Code],
// an int, a [Number], or nil if the cell is empty. All formats show texts unchanged, with one
// exception: they replace invisible characters as [experiment.Visible] does.
type Table struct {
	Name    string // name of the files without ending
	Caption string
	Header  []string
	Rows    [][]any
	Note    string // text below the table; empty: none
	// Brief lists columns. If a table is too wide for the page of a notebook, the notebook shows
	// only these columns. If Brief is nil, the notebook shows all columns.
	Brief []string
	// Links maps words in cells to addresses. The addresses are relative to the folder of the
	// table. Markdown shows the words as links. The other formats show only the words.
	Links   map[string]string
	Changed string // text below the table, with the parameters that differ from the defaults; empty: none
}

// Code is text that Markdown shows as code.
type Code string

// A Number is a measured or quoted number. A CSV has all digits of the number. Other formats round
// it: the field Digits is the number of digits after the decimal point.
type Number struct {
	Value  float64
	Digits int
	// Margin is half the length of the 95 % confidence interval. If Margin is zero, there is no
	// such interval.
	Margin float64
	// Low and High are the ends of an asymmetric interval. If they are given, this interval
	// replaces Margin. If both are zero, there is no asymmetric interval.
	Low, High float64
}

// uneven reports whether Low or High is set.
func (n Number) uneven() bool { return n.Low != 0 || n.High != 0 }

// String returns the number with its interval, as Markdown shows it.
func (n Number) String() string { return n.text(" ± ") }

func (n Number) text(plusMinus string) string {
	size, repeated := math.Abs(n.Value), n.Margin > 0 // false if Margin is NaN
	small := func(v float64) bool { return math.Abs(v) < .5*math.Pow10(-n.Digits) }
	power := func(v float64) string { return strconv.FormatFloat(v, 'e', 1, 64) }
	// A number is written with a power of ten if, without it, all digits would be zero or there
	// would be too many digits.
	switch lost := size > 0 && small(size); {
	case n.uneven() && lost && small(n.Low) && small(n.High):
		return fmt.Sprintf("%s (%s to %s)", power(n.Value), power(n.Low), power(n.High))
	case n.uneven():
	case repeated && lost && small(n.Margin):
		return power(n.Value) + plusMinus + power(n.Margin)
	case !repeated && (lost || size >= 1e9):
		return power(n.Value)
	}
	s := strconv.FormatFloat(n.Value, 'f', n.Digits, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-") // zero has no sign
	}
	if n.uneven() {
		s += fmt.Sprintf(" (%.*f to %.*f)", n.Digits, n.Low, n.Digits, n.High)
	} else if repeated {
		s += plusMinus + strconv.FormatFloat(n.Margin, 'f', n.Digits, 64)
	}
	return s
}

// Quoted returns, for a cell, a printed number with at most six decimals. If text is empty, Quoted
// returns nil.
func Quoted(text string) any {
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

// check returns an error if a row or a cell is invalid. The error names the first of them.
func (t *Table) check() error {
	for k, row := range t.Rows {
		if len(row) != len(t.Header) {
			return fmt.Errorf("figures: table %s: row %d: %d cells under %d headings: give each column one cell, nil where there is nothing", t.Name, k+1, len(row), len(t.Header))
		}
		for i, v := range row {
			switch v.(type) {
			case nil, string, Code, int, Number:
			default:
				return fmt.Errorf("figures: table %s: row %d, column %q: a cell of type %T: use a string, a Code, an int, a Number or nil", t.Name, k+1, t.Header[i], v)
			}
		}
	}
	for _, h := range t.Brief {
		if !slices.Contains(t.Header, h) {
			return fmt.Errorf("figures: table %s: Brief names %q, which is not a heading: use those of Header", t.Name, h)
		}
	}
	return nil
}

// Describe returns the table's name and caption.
func (t *Table) Describe() (name, caption string) { return t.Name, experiment.Visible(t.Caption) }

// cellAt returns the cell of a row in column i. If the row has no such cell, it returns nil.
func cellAt(row []any, i int) any {
	if i < len(row) {
		return row[i]
	}
	return nil
}

func Cell(v any, plusMinus, none string) string {
	if n, ok := v.(Number); ok && !math.IsNaN(n.Value) {
		return n.text(plusMinus)
	} else if ok || v == nil {
		return none
	}
	if c, ok := v.(Code); ok {
		return "`" + string(c) + "`"
	}
	return fmt.Sprint(v)
}

// longestText returns the length of the longest text in column i. For any column but the first, it
// returns 0 if the column has a number.
func (t *Table) longestText(i int) int {
	n := 0
	for _, row := range t.Rows {
		switch v := cellAt(row, i).(type) {
		case string:
			n = max(n, utf8.RuneCountInString(v))
		case Code:
			n = max(n, utf8.RuneCountInString(string(v)))
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

// Below returns the lines below the table.
func (t *Table) Below() []string {
	return slices.DeleteFunc([]string{t.Note, t.Changed}, func(line string) bool { return line == "" })
}

// ForNotebook returns the Markdown of those columns that a notebook shows. A line break never
// divides a number. If columns are omitted, the last line names the file that has them.
func (t *Table) ForNotebook() string {
	brief := *t
	if t.Brief != nil {
		var columns []int
		for i, h := range t.Header {
			if slices.Contains(t.Brief, h) {
				columns = append(columns, i)
			}
		}
		brief.Header = nil
		for _, i := range columns {
			brief.Header = append(brief.Header, t.Header[i])
		}
		brief.Rows = make([][]any, len(t.Rows))
		for k, row := range t.Rows {
			for _, i := range columns {
				brief.Rows[k] = append(brief.Rows[k], cellAt(row, i))
			}
		}
		brief.Note = strings.TrimSpace(t.Note + " The other columns are in " + t.Name + ".csv.")
	}
	return brief.markdown(noBreak)
}

const noBreak = "\u00a0"

// Markdown returns the table in the Markdown of GitHub.
func (t *Table) Markdown() string { return t.markdown(" ") }

// markdown returns the table in the Markdown of GitHub. The argument space is the text for a space
// within numbers.
func (t *Table) markdown(space string) string {
	var b strings.Builder
	caption := Markdown(t.Caption, false)
	if strings.Contains(t.Caption, "*") { // an asterisk might end the emphasis
		caption = codeSpan(experiment.Visible(t.Caption), false)
	}
	header := Mapped(t.Header, func(text string) string { return Markdown(text, true) })
	fmt.Fprintf(&b, "**%s**\n\n| %s |\n|", caption, strings.Join(header, " | "))
	for i := range t.Header {
		b.WriteString(map[bool]string{true: " :-- |", false: " --: |"}[t.longestText(i) > 0])
	}
	b.WriteByte('\n')
	for _, row := range t.Rows {
		b.WriteByte('|')
		for i := range t.Header {
			cell := t.markdownCell(cellAt(row, i))
			if _, ok := cellAt(row, i).(Number); ok {
				cell = strings.ReplaceAll(cell, " ", space)
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteByte('\n')
	}
	for _, line := range t.Below() {
		b.WriteString("\n" + Markdown(line, false) + "\n")
	}
	return b.String()
}

func (t *Table) markdownCell(v any) string {
	if c, ok := v.(Code); ok {
		return codeSpan(string(c), true)
	}
	text := Markdown(Cell(v, " ± ", "–"), true)
	if !strings.HasPrefix(text, "`") {
		for words, address := range t.Links {
			text = strings.ReplaceAll(text, words, "["+words+"]("+address+")")
		}
	}
	return text
}

// LaTeX returns the table as a table environment with booktabs.
func (t *Table) LaTeX() string {
	var b strings.Builder
	var columns string
	for i := range t.Header {
		switch n := t.longestText(i); {
		case n == 0:
			columns += "r"
		case n <= 60:
			columns += "l"
		default:
			columns += `p{.3\linewidth}`
		}
	}
	fmt.Fprintf(&b, "\\begin{table}\n  \\caption{%s}\n  \\label{tab:%s}\n  \\centering\n  \\begin{tabular}{%s}\n    \\toprule\n",
		Latex(t.Caption), t.Name, columns)
	line := func(cells []string) { fmt.Fprintf(&b, "    %s \\\\\n", strings.Join(cells, " & ")) }
	cells := make([]string, len(t.Header))
	for i, h := range t.Header {
		cells[i] = Latex(h)
	}
	line(cells)
	b.WriteString("    \\midrule\n")
	for _, row := range t.Rows {
		for i := range cells {
			if n, ok := cellAt(row, i).(Number); ok {
				cells[i] = "$" + Cell(n, ` \pm `, "") + "$"
			} else {
				cells[i] = Latex(Cell(cellAt(row, i), "", "–"))
			}
		}
		line(cells)
	}
	b.WriteString("    \\bottomrule\n  \\end{tabular}\n")
	for _, line := range t.Below() {
		fmt.Fprintf(&b, "  \\par\\smallskip\\footnotesize %s\n", Latex(line))
	}
	b.WriteString("\\end{table}\n")
	return b.String()
}

// CSV returns the table as CSV with all digits of its numbers. A Number with a margin has two
// columns. A Number with an asymmetric interval has three columns.
func (t *Table) CSV() string {
	margins, ends := make([]bool, len(t.Header)), make([]bool, len(t.Header))
	for _, row := range t.Rows {
		for i := range margins {
			if n, ok := cellAt(row, i).(Number); ok {
				ends[i] = ends[i] || n.uneven()
				margins[i] = margins[i] || n.Margin > 0 && !n.uneven()
			}
		}
	}
	var records [][]string
	for k, row := range append([][]any{nil}, t.Rows...) {
		var fields []string
		for i, value := range t.Header {
			margin, low, high := value+" ±", value+" from", value+" to"
			if k > 0 {
				n, isNumber := cellAt(row, i).(Number)
				value, margin, low, high = Cell(cellAt(row, i), "", ""), "", "", ""
				if isNumber {
					value = FormatFull(n.Value)
				}
				if n.uneven() {
					low, high = FormatFull(n.Low), FormatFull(n.High)
				} else if n.Margin > 0 {
					margin = FormatFull(n.Margin)
				}
			}
			if fields = append(fields, value); margins[i] {
				fields = append(fields, margin)
			}
			if ends[i] {
				fields = append(fields, low, high)
			}
		}
		records = append(records, fields)
	}
	return writeCSV(records)
}

// WriteCSV writes Name.csv into the folder dir. It returns the same errors as Write.
func (t *Table) WriteCSV(dir string) error {
	if err := t.check(); err != nil {
		return err
	}
	return writeFiles(dir, t.Name, map[string]string{".csv": t.CSV()})
}

// Write writes Name.csv, Name.md and Name.tex into the folder dir. It returns an error if a row has
// too many or too few cells, or if a cell has an unknown type.
func (t *Table) Write(dir string) error {
	if err := t.check(); err != nil {
		return err
	}
	return writeFiles(dir, t.Name, map[string]string{".csv": t.CSV(), ".md": t.Markdown(), ".tex": t.LaTeX()})
}

// Estimated returns an estimate with its 95 % interval.
func Estimated(e experiment.Estimate, digits int) Number {
	n := Number{Value: e.Mean, Digits: digits, Margin: e.Margin}
	if e.Scale != experiment.AnyNumber && e.Repeated() {
		n.Low, n.High = e.Interval(.95)
	}
	return n
}

func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Comparison returns three cells. They are the mean of a method, the difference CVGM − method, and
// the share of cases in which CVGM is better. If the method is CVGM itself, the last two cells are
// empty.
func Comparison(mean experiment.Estimate, c experiment.Comparison, itself bool) []any {
	if itself {
		return []any{Estimated(mean, 4), nil, nil}
	}
	return []any{Estimated(mean, 4), Estimated(c.Difference, 4), fmt.Sprintf("%.1f %%", 100*c.Wins)}
}
