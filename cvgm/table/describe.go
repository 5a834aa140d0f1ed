package table

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/mat"
)

// A Description lists the columns of a file and their use. String returns the list as a table for a
// terminal.
type Description struct {
	Rows    int // rows that are used
	Dropped int // rows that are left out, because they lack a value
	// Columns first lists the columns of features, in the order of the file. Then follow the
	// columns that are left out, and then the target, the weights and the group. Ignored columns
	// are not listed.
	Columns []Described
	Notes   []Note // see Table
}

// Described describes one column of a file.
type Described struct {
	Name    string
	Kind    string   // in words: "number in kg", "dates from 2 January 2006", "12 levels", "text"
	Levels  []string // of a categorical column, without the level other; the classes for the target
	Missing int      // the number of rows without a value, among the used rows
	Low     float64  // the smallest number; NaN if the column is not numeric
	High    float64  // the largest number; NaN if the column is not numeric
	Use     string   // in words: its features, or the role of the column
}

// Describe reads a file as Read does, and describes it. Missing values are not an error. If Read
// would return an error for the missing values of a column, the description of the column mentions
// this. Describe returns all other errors of Read.
func (c CSV) Describe(r io.Reader) (*Description, error) {
	lenient := c
	lenient.MissingIn = maps.Clone(c.MissingIn)
	if lenient.MissingIn == nil {
		lenient.MissingIn = map[string]MissingRule{}
	}
	if c.Missing == MissingIsError {
		lenient.Missing = MissingIsMean
	}
	for name, rule := range c.MissingIn {
		if rule == MissingIsError {
			lenient.MissingIn[name] = MissingIsMean
		}
	}
	for _, name := range []string{c.Target, c.Group, c.Weights} {
		if name != "" && c.MissingIn[name] != MissingIsMean { // Read refuses MissingIsMean for these columns
			lenient.MissingIn[name] = MissingDropsRow
		}
	}
	t, err := lenient.Read(r)
	if err != nil {
		return nil, err
	}
	d := t.Describe()
	for i := range d.Columns {
		if col := &d.Columns[i]; col.Missing > 0 && c.missingRule(col.Name, isFeature) == MissingIsError {
			col.Use = "an error, as values are missing: set CSV.Missing"
		}
	}
	return d, nil
}

// Describe describes the file of a table.
func (t *Table) Describe() *Description {
	rows, _ := t.Dims()
	d := &Description{Rows: rows, Dropped: t.droppedRows, Notes: t.Notes}
	for j := range t.Columns {
		c := &t.Columns[j]
		if c.Date != nil && j > 0 && t.Columns[j-1].source() == c.source() {
			last := &d.Columns[len(d.Columns)-1]
			last.Use += ", " + c.countInWords()
			last.Missing = max(last.Missing, t.missingCount(j))
			continue
		}
		column := Described{Name: c.source(), Missing: t.missingCount(j), Low: math.NaN(), High: math.NaN(), Use: c.countInWords()}
		switch {
		case c.Date != nil:
			column.Kind = c.Date.inWords()
		case c.Kind == Categorical:
			column.Kind, column.Levels = fmt.Sprintf("%d levels", len(c.Levels)), c.Levels
			if c.Other {
				column.Kind += " and other"
			}
		default:
			column.Kind = numberKind(c.Number)
			column.Low, column.High = span(mat.Col(nil, j, t.x), nil)
		}
		d.Columns = append(d.Columns, column)
	}
	for _, n := range t.Notes {
		if n.LeftOut {
			d.Columns = append(d.Columns, Described{Name: n.Column, Kind: "text", Low: math.NaN(), High: math.NaN(), Use: "left out"})
		}
	}
	if t.Y != nil {
		target := Described{Name: t.Target, Kind: numberKind(t.TargetNumber), Low: slices.Min(t.Y), High: slices.Max(t.Y), Use: "target"}
		if len(t.Classes) > 0 {
			target.Kind, target.Low, target.High = fmt.Sprintf("%d classes", len(t.Classes)), math.NaN(), math.NaN()
			target.Use, target.Levels = fmt.Sprintf("target, one of %q", firstOf(t.Classes)), t.Classes
		}
		d.Columns = append(d.Columns, target)
	}
	if t.Weights != nil {
		d.Columns = append(d.Columns, Described{Name: t.weightsName, Kind: "number", Low: slices.Min(t.Weights), High: slices.Max(t.Weights), Use: "weights of the rows"})
	}
	if t.Groups != nil {
		d.Columns = append(d.Columns, Described{Name: t.groupName, Kind: fmt.Sprintf("%d groups", slices.Max(t.Groups)+1), Low: math.NaN(), High: math.NaN(), Use: "groups of rows that stay together"})
	}
	return d
}

// countInWords returns the number of features of a column in words.
func (c *Column) countInWords() string {
	text := "1 feature"
	if c.Effect.is(KernelEffect) && c.Features() == 0 {
		text = fmt.Sprintf("in the kernel %q", c.Effect.Term)
	} else if n := c.Features(); n != 1 {
		text = fmt.Sprintf("%d features", n)
	}
	if c.Date != nil {
		return fmt.Sprintf("%v: %s", c.Date.Part, text)
	}
	if c.imputed() {
		text += ", the mean for a missing value"
	}
	return text
}

// numberKind returns the kind of a column of numbers in words.
func numberKind(n *Number) string {
	if n == nil || n.Unit == "" {
		return "number"
	}
	return "number in " + n.Unit
}

// missingCount returns the number of rows that lack a value in column j.
func (t *Table) missingCount(j int) (n int) {
	rows, _ := t.Dims()
	for i := range rows {
		if v := t.x.At(i, j); v != v {
			n++
		}
	}
	return n
}

// String returns the description as a table, followed by the notes.
func (d *Description) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows", d.Rows)
	if d.Dropped > 0 {
		fmt.Fprintf(&b, ", and %d left out that lack a value", d.Dropped)
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "column\tkind\tmissing\tvalues\tuse\n")
	for _, c := range d.Columns {
		values := ""
		if c.Low == c.Low {
			values = fmt.Sprintf("%.6g to %.6g", c.Low, c.High)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", oneLine(c.Name), c.Kind, c.Missing, values, c.Use)
	}
	w.Flush()
	for _, n := range d.Notes {
		fmt.Fprintln(&b, oneLine(n.String()))
	}
	return b.String()
}

// oneLine returns text with spaces in place of control characters.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
}
