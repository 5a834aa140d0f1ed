package table

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// CSV reads a [Table] from comma-separated text in UTF-8 with a header line. It skips a
// byte-order mark, empty lines, and spaces around names and fields. Every column is a feature,
// except the columns named by Target, Group and Ignore. Only Target is required.
//
// A column is numeric if all its present fields are finite decimal numbers, else
// categorical. A column is refused if more than half of its different texts, but not
// all, are such numbers: it may be numeric with an error in it. Infinite, hexadecimal
// and too large numbers, and those with commas or other separators of thousands, are errors
// of this kind. A categorical column in which no text is repeated is refused as an identifier.
type CSV struct {
	// Target names the column to be predicted. It holds numbers, or the texts
	// of 2 to 20 classes. Of two classes the last one in sorted order becomes +1, unless
	// Positive is set, and the other −1. For more classes see [Table.Binary].
	Target string
	// Positive is the class of two that becomes +1. A target of numbers is
	// then one of classes, whose names are the texts of the numbers.
	Positive string
	// Numeric and Categorical name columns of these kinds. The kinds of all others are
	// inferred.
	Numeric, Categorical []string
	// Ignore names columns that are no features.
	Ignore []string
	// Group names the column with the group of each row, which is no feature. Empty: none.
	Group string
	// Missing applies to all columns but those in MissingIn. The zero value is
	// MissingIsError. A missing target or group is an error or drops the row.
	Missing   MissingRule
	MissingIn map[string]MissingRule
	// MissingTexts are the fields that stand for a missing value, in upper or lower
	// case. Nil: "", "NA", "NaN", "null" and "?".
	MissingTexts []string
	// Unknown applies to levels that are met at a prediction only. The zero value is
	// UnknownIsError.
	Unknown UnknownRule
	// Comma separates fields. Zero: ','.
	Comma rune
	// MaxBytes bounds the memory that Read holds, which is some 24 bytes for each field beside
	// the text. A text that needs more is an error of kind qpdiff.ErrTooLarge. It names the
	// number of bytes, by the first rows and the size of a file. A table whose levels make too
	// many dense features is such an error, too: see [Table.Data]. Zero: the default that
	// [learn.Data] documents.
	MaxBytes int64
}

// maxClasses bounds the classes of a text target. A text of more values is hardly a
// class, and one model for each would be needed.
const maxClasses = 20

// ReadCSV is [CSV.Read] with all settings but Target at their defaults.
func ReadCSV(r io.Reader, target string) (*Table, error) { return CSV{Target: target}.Read(r) }

// ReadFile is Read of the file at path, with the path in errors.
func (c CSV) ReadFile(path string) (*Table, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cvgm: %w", err) // which names the path
	}
	defer file.Close()
	table, err := c.Read(file)
	if err != nil {
		return nil, args.At(err, "%s", path)
	}
	return table, nil
}

// Read reads a table. An error of the text names line, column and field. Its kind is ErrShape
// for a text without examples or features, ErrNotFinite for a missing value and for text in
// place of a number, and ErrDomain for settings, names and kinds. A record with another number
// of fields than the header is a *csv.ParseError of package encoding/csv. Read holds the whole
// text in memory, as far as MaxBytes allows, and only the values after that.
func (c CSV) Read(r io.Reader) (*Table, error) {
	if err := args.First(
		args.BadIf(c.Comma != 0 && !validComma(c.Comma), "CSV.Comma", qpdiff.ErrDomain, "use a character that is no quote and no line end", "is %q", c.Comma),
		args.BadIf(c.MaxBytes < 0, "CSV.MaxBytes", qpdiff.ErrDomain, "use a positive number, or zero for the default", "is %d", c.MaxBytes),
		args.BadIf(c.Missing < 0 || c.Missing > MissingIsMean, "CSV.Missing", qpdiff.ErrDomain, "use one of the constants", "is %v", c.Missing),
		args.BadIf(c.Unknown < 0 || c.Unknown > UnknownIsZero, "CSV.Unknown", qpdiff.ErrDomain, "use one of the constants", "is %v", c.Unknown),
	); err != nil {
		return nil, err
	}
	reader := newCSVReader(c)
	text, err := reader.header(r)
	if err != nil {
		return nil, err
	}
	roles, named, err := c.roles(text)
	if err != nil {
		return nil, err
	}
	if err := text.read(); err != nil {
		return nil, err
	}
	if err := c.dropRows(text, roles); err != nil {
		return nil, err
	}
	t := &Table{Target: c.Target, Lines: text.lines, reader: reader}
	var at []int // the places of Columns in a record
	for i, name := range text.header {
		if roles[i] != isFeature {
			continue
		}
		column, err := c.column(text, i, named[name])
		if err != nil {
			return nil, err
		}
		t.Columns = append(t.Columns, column)
		at = append(at, i)
	}
	if len(at) == 0 {
		return nil, args.Bad("CSV", qpdiff.ErrShape, "give at least one more column", "has no features beside %q", c.Target)
	}
	if err := t.readColumns(text, at); err != nil {
		return nil, err
	}
	if err := c.target(t, text); err != nil {
		return nil, err
	}
	if c.Group != "" {
		t.Groups = groups(text, text.at[c.Group])
	}
	return t, nil
}

// role is the role of a column of the file.
type role int

const (
	isFeature role = iota
	isIgnored
	isTarget
	isGroup
)

// roles returns the role of each column of the file and the field that names it, and checks the
// names in c.
func (c CSV) roles(text *csvText) (roles []role, named map[string]string, err error) {
	roles, named = make([]role, len(text.header)), map[string]string{}
	name := func(field string, r role, names ...string) error {
		for _, n := range names {
			at, ok := text.at[n]
			if !ok {
				return args.Bad(field, qpdiff.ErrDomain, fmt.Sprintf("name one of %q", firstOf(text.header)), "is %q, which is no column", n)
			}
			if first, ok := named[n]; ok {
				return args.Bad(field, qpdiff.ErrDomain, "name the column once", "names column %q, which %s names as well", n, first)
			}
			named[n], roles[at] = field, r
		}
		return nil
	}
	var group []string
	if c.Group != "" {
		group = []string{c.Group}
	}
	if err := args.First(
		name("CSV.Target", isTarget, c.Target),
		name("CSV.Group", isGroup, group...),
		name("CSV.Ignore", isIgnored, c.Ignore...),
		name("CSV.Numeric", isFeature, c.Numeric...),
		name("CSV.Categorical", isFeature, c.Categorical...),
	); err != nil {
		return nil, nil, err
	}
	for _, n := range slices.Sorted(maps.Keys(c.MissingIn)) {
		at, ok := text.at[n]
		rule := c.MissingIn[n]
		if err := args.First(
			args.BadIf(!ok, "CSV.MissingIn", qpdiff.ErrDomain, fmt.Sprintf("name one of %q", firstOf(text.header)), "has %q, which is no column", n),
			args.BadIf(rule < 0 || rule > MissingIsMean, "CSV.MissingIn", qpdiff.ErrDomain, "use one of the constants", "is %v for column %q", rule, n),
			args.BadIf(rule == MissingIsMean && ok && roles[at] != isFeature, "CSV.MissingIn", qpdiff.ErrDomain, "use MissingDropsRow",
				"is MissingIsMean for column %q, which is no feature", n),
		); err != nil {
			return nil, nil, err
		}
	}
	for i, n := range text.header {
		if n == "" && roles[i] == isFeature && named[n] == "" {
			return nil, nil, args.Bad("CSV", qpdiff.ErrDomain, `name it, or put "" into Ignore`, "has no name for column %d, which may be a row number", i+1)
		}
	}
	return roles, named, nil
}

// missingRule returns the rule of a column of the file.
func (c CSV) missingRule(name string, r role) MissingRule {
	if rule, ok := c.MissingIn[name]; ok {
		return rule
	}
	if r != isFeature && c.Missing == MissingIsMean {
		return MissingIsError
	}
	return c.Missing
}

// dropRows leaves out the records that lack a value if the column's rule drops rows, and
// returns an error for a value that must not be missing in the others.
func (c CSV) dropRows(text *csvText, roles []role) error {
	kept, lacking := 0, make([]int, len(text.header)) // rows that each column drops
	for k, record := range text.records {
		drop, lacks := false, -1
		for i, field := range record {
			if roles[i] == isIgnored || !text.reader.missing(field) {
				continue
			}
			switch c.missingRule(text.header[i], roles[i]) {
			case MissingDropsRow:
				drop = true
				lacking[i]++
			case MissingIsError:
				if lacks < 0 {
					lacks = i
				}
			}
		}
		switch {
		case drop:
			continue
		case lacks >= 0:
			return args.Bad("CSV", qpdiff.ErrNotFinite, "fill it in, remove the line, or set CSV.Missing",
				"lacks a value: %q in line %d, column %q", record[lacks], text.lines[k], text.header[lacks])
		}
		text.records[kept], text.lines[kept] = record, text.lines[k]
		kept++
	}
	all := len(text.records)
	text.records, text.lines = text.records[:kept], text.lines[:kept]
	if kept == 0 {
		most := slices.Index(lacking, slices.Max(lacking))
		return args.Bad("CSV", qpdiff.ErrShape, "fill them in, or put the column into Ignore unless it is the target",
			"has no examples: each of the %d rows lacks a value, %d of them in column %q", all, lacking[most], text.header[most])
	}
	return nil
}

// column infers the kind and the levels of column i of the file, which a field of c may name.
func (c CSV) column(text *csvText, i int, field string) (Column, error) {
	name := text.header[i]
	column := Column{Name: name, Missing: c.missingRule(name, isFeature)}
	present, numbers := text.scan(i)
	if present == 0 {
		return column, args.Bad("CSV", qpdiff.ErrDomain, "put it into Ignore", "has no value in column %q", name)
	}
	if field != "CSV.Categorical" {
		if numbers {
			return column, nil
		}
		if field == "CSV.Numeric" || text.mostlyNumbers(i) {
			return column, text.errNumber(i)
		}
	}
	column.Kind = Categorical
	column.Levels = text.levels(i)
	if len(column.Levels) == present {
		return column, args.Bad("CSV", qpdiff.ErrDomain, "put an identifier into Ignore, or correct the column",
			"has another text in each of the %d rows with a value of column %q", present, name)
	}
	column.MissingLevel = present < len(text.records) // the rule is MissingIsMean
	return column, nil
}

// target sets the table's target and classes.
func (c CSV) target(t *Table, text *csvText) error {
	i := text.at[c.Target]
	if c.Positive == "" {
		if _, numbers := text.scan(i); numbers {
			return t.readTarget(text, i)
		}
		if text.mostlyNumbers(i) {
			return text.errNumber(i)
		}
	}
	classes := text.levels(i)
	switch n := len(classes); {
	case n == 1:
		return args.Bad("CSV.Target", qpdiff.ErrDomain, "give examples of another class", "is %q in all rows of column %q", classes[0], c.Target)
	case n > maxClasses:
		return args.Bad("CSV.Target", qpdiff.ErrDomain, fmt.Sprintf("give numbers or at most %d classes", maxClasses),
			"has %d different texts in column %q, first %q in line %d", n, c.Target, text.records[0][i], text.lines[0])
	}
	if c.Positive != "" {
		at := slices.Index(classes, c.Positive)
		switch {
		case at < 0:
			return args.Bad("CSV.Positive", qpdiff.ErrDomain, fmt.Sprintf("name one of %q", firstOf(classes)), "is %q, which is no class of column %q", c.Positive, c.Target)
		case len(classes) > 2:
			return args.Bad("CSV.Positive", qpdiff.ErrDomain, "leave it empty, and use Table.Binary", "is set for the %d classes %q", len(classes), firstOf(classes))
		case at == 0:
			slices.Reverse(classes)
		}
	}
	t.Classes = classes
	return t.readTarget(text, i)
}

// groups numbers the texts of column i by first appearance.
func groups(text *csvText, i int) []int {
	numbers, of := map[string]int{}, make([]int, len(text.records))
	for k, record := range text.records {
		g, ok := numbers[record[i]]
		if !ok {
			g = len(numbers)
			numbers[record[i]] = g
		}
		of[k] = g
	}
	return of
}

// readColumns sets the table's values from the named columns of the file. The error of a
// missing or an unknown value names its line.
func (t *Table) readColumns(text *csvText, at []int) error {
	t.x = mat.NewDense(len(text.records), len(at), nil)
	for k, record := range text.records {
		for j, i := range at {
			v, err := t.reader.value(&t.Columns[j], record[i])
			if err != nil {
				return args.At(err, "CSV line %d", text.lines[k])
			}
			t.x.Set(k, j, v)
		}
	}
	return nil
}

// readTarget sets Y from column i of the file and the classes.
func (t *Table) readTarget(text *csvText, i int) error {
	t.Y = make([]float64, len(text.records))
	for k, record := range text.records {
		y, ok := number(record[i])
		if len(t.Classes) > 0 {
			class := slices.Index(t.Classes, record[i])
			if class < 0 && t.rest != "" && !t.reader.missing(record[i]) {
				class = slices.Index(t.Classes, t.rest)
			}
			y, ok = float64(class), class >= 0
			if len(t.Classes) == 2 {
				y = 2*y - 1
			}
		}
		if !ok {
			what := "a finite number"
			if len(t.Classes) > 0 {
				what = fmt.Sprintf("one of %q", t.Classes)
			}
			return args.Bad("CSV", qpdiff.ErrDomain, "correct it, or remove the column", "holds %q in line %d, column %q, in place of %s",
				record[i], text.lines[k], t.Target, what)
		}
		t.Y[k] = y
	}
	return nil
}

func newCSVReader(c CSV) *csvReader {
	r := &csvReader{comma: c.Comma, missingTexts: slices.Clone(c.MissingTexts), unknown: c.Unknown, maxBytes: c.MaxBytes}
	if r.comma == 0 {
		r.comma = ','
	}
	if c.MissingTexts == nil {
		r.missingTexts = []string{"", "NA", "NaN", "null", "?"}
	}
	return r
}
