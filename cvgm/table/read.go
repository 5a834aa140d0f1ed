package table

import (
	"fmt"
	"io"
	"os"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// ReadCSV reads a table as [CSV.Read] does, with the given target and all other settings at their
// defaults.
func ReadCSV(r io.Reader, target string) (*Table, error) { return CSV{Target: target}.Read(r) }

// ReadFile reads a file as Read does. Errors name the path.
func (c CSV) ReadFile(path string) (*Table, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cvgm: %w", err) // err names the path
	}
	defer file.Close()
	table, err := c.Read(file)
	if err != nil {
		return nil, args.At(err, "%s", path)
	}
	return table, nil
}

// Read reads a table. An error about the CSV names line, column and field. If the CSV has no
// examples or no features, the error is of kind ErrEmpty. If a value is missing, or a field of a
// numeric column is not a number, it is of kind ErrNotFinite. For settings, names and kinds that
// cannot be used, it is of kind ErrDomain. If a record has more or fewer fields than the header, or
// a misplaced quote, the error wraps a *csv.ParseError of package encoding/csv. Read holds the
// whole text in memory, within MaxBytes. The table then holds only the values.
func (c CSV) Read(r io.Reader) (*Table, error) {
	text, err := c.header(r)
	if err != nil {
		return nil, err
	}
	roles, named, err := c.roles(text)
	if err != nil {
		return nil, err
	}
	if err := text.readRecords(); err != nil {
		return nil, err
	}
	all := len(text.records)
	if err := c.dropRows(text, roles); err != nil {
		return nil, err
	}
	k := &kinds{csv: c, text: text, totalRows: all, namedBy: named, t: &Table{Target: c.Target, Lines: text.lines, reader: text.reader, Columns: make([]Column, 0, len(text.header)),
		weightsName: c.Weights, groupName: c.Group, droppedRows: all - len(text.records)}}
	for i, name := range text.header {
		if roles[i] == isFeature {
			if err := k.addFeature(i, named[name]); err != nil {
				return nil, err
			}
		}
	}
	if len(k.at) == 0 {
		return nil, args.Bad("CSV", qpdiff.ErrEmpty, "give at least one more column, or name one in CSV.Categorical", "has no features beside %q%s", c.Target, k.leftOut())
	}
	if err := k.target(); err != nil {
		return nil, err
	}
	k.decideSigns()
	t := k.t
	if err := args.First(t.readColumns(text, k.at), t.readTarget(text, text.at[c.Target])); err != nil {
		return nil, err
	}
	k.twoNumbers()
	k.rowNumbers()
	if c.Weights != "" {
		if err := t.readWeights(text, text.at[c.Weights]); err != nil {
			return nil, err
		}
	}
	t.chooseBaselines(text, k.at)
	if c.Group != "" {
		t.Groups = groupNumbers(text, text.at[c.Group])
	}
	return t, nil
}

// Header returns the names of the columns of a text in their order. It reads only the first lines.
// Header returns the same errors as Read if they concern r, the header line, or the fields Comma,
// MaxBytes, Missing and Unknown.
func (c CSV) Header(r io.Reader) ([]string, error) {
	text, err := c.header(r)
	if err != nil {
		return nil, err
	}
	return text.header, nil
}

// header reads the first line. It checks the settings that do not name columns.
func (c CSV) header(r io.Reader) (*csvText, error) {
	if err := args.First(
		args.BadIf(c.Comma != 0 && !validComma(c.Comma), "CSV.Comma", qpdiff.ErrDomain, "use a character other than a quote or a line end", "is %q", c.Comma),
		args.BadIf(c.MaxBytes < 0, "CSV.MaxBytes", qpdiff.ErrDomain, "use a positive number, or zero for the default", "is %d", c.MaxBytes),
		args.BadIf(c.Missing < 0 || c.Missing > MissingIsMean, "CSV.Missing", qpdiff.ErrDomain, "use one of the constants", "is %v", c.Missing),
		args.BadIf(c.Unknown < 0 || c.Unknown > UnknownIsZero, "CSV.Unknown", qpdiff.ErrDomain, "use one of the constants", "is %v", c.Unknown),
	); err != nil {
		return nil, err
	}
	text, err := newCSVReader(c).header(r)
	if err != nil {
		return nil, err
	}
	if other := text.otherComma(); c.Comma != 0 && other != 0 {
		return nil, args.Bad("CSV.Comma", qpdiff.ErrDomain, fmt.Sprintf("use %q", string(other)), "is %q, which line 1, %q, lacks", string(c.Comma), text.header[0])
	}
	return text, nil
}

// groupNumbers numbers the different texts of column i in the order of their first appearance. It
// returns the number of each row.
func groupNumbers(text *csvText, i int) []int {
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

// readColumns sets the values of the table. Column j of the table is made from column origin[j] of
// the file. The error for a missing or unknown value names its line.
func (t *Table) readColumns(text *csvText, origin []int) error {
	if more := len(origin) - len(text.header); more > 0 { // the table has more columns than the file, because a date makes several
		if err := text.meter.checkTotal(text.meter.heldBytes + 8*float64(more)*float64(len(text.records))); err != nil {
			return err
		}
	}
	t.x = mat.NewDense(len(text.records), len(origin), nil)
	code := t.reader.code(t.Columns)
	for k, record := range text.records {
		for j, i := range origin {
			v, err := t.Columns[j].value(&code[j], record[i])
			if err != nil {
				return args.At(err, "CSV line %d", text.lines[k])
			}
			t.x.Set(k, j, v)
		}
	}
	return nil
}

// readWeights sets Weights from column i of the file.
func (t *Table) readWeights(text *csvText, i int) error {
	t.Weights = make([]float64, len(text.records))
	for k, record := range text.records {
		w, ok := number(record[i])
		if !ok || w < 0 {
			return args.Bad("CSV.Weights", qpdiff.ErrDomain, "give finite numbers of 0 or more", "holds %q in line %d, column %q", record[i], text.lines[k], text.header[i])
		}
		t.Weights[k] = w
	}
	return args.BadIf(slices.Max(t.Weights) == 0, "CSV.Weights", qpdiff.ErrDomain, "give a row that counts", "has the weight 0 in each row of column %q", text.header[i])
}

// readTarget sets Y from column i of the file. It uses the table's classes and TargetNumber.
func (t *Table) readTarget(text *csvText, i int) error {
	t.Y = make([]float64, len(text.records))
	for k, record := range text.records {
		y, ok := numberBy(t.TargetNumber, record[i])
		if len(t.Classes) > 0 {
			class := t.classIndex(t.Classes, record[i])
			if class < 0 && t.restClass != "" && !t.reader.isMissing(record[i]) {
				class = slices.Index(t.Classes, t.restClass)
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

// tieTol is the largest share by which the weights of two levels differ if the levels count as
// equally frequent. It exceeds the rounding errors of sums of weights, which depend on the order of
// the rows.
const tieTol = 1e-9

// chooseBaselines puts the baseline of each categorical column first in Levels: the level with the
// most rows, or with the largest sum of weights. Of equally frequent levels, it chooses the first
// one. Column j of the table is made from column origin[j] of the file.
func (t *Table) chooseBaselines(text *csvText, origin []int) {
	top := 1.
	if t.Weights != nil {
		top = slices.Max(t.Weights)
	}
	for j := range t.Columns {
		c := &t.Columns[j]
		if c.Kind != Categorical {
			continue
		}
		// A missing weekday has the value 0; see portable.Column.MissingFirst.
		lacks := func(i int) bool { return c.Date != nil && t.reader.isMissing(text.records[i][origin[j]]) }
		frequency := make([]float64, len(c.Levels)+1) // the last entry is for the level other
		for i := range text.records {
			if v := t.x.At(i, j); v == v && !lacks(i) {
				w := 1.
				if t.Weights != nil {
					w = t.Weights[i] / top
				}
				frequency[int(v)] += w
			}
		}
		most := slices.Max(frequency[:len(c.Levels)])
		best := slices.IndexFunc(frequency, func(v float64) bool { return v >= (1-tieTol)*most })
		if best == 0 {
			continue
		}
		name := c.Levels[best]
		copy(c.Levels[1:], c.Levels[:best])
		c.Levels[0] = name
		for i := range text.records {
			switch v := t.x.At(i, j); {
			case lacks(i): // the value 0 stays
			case v == float64(best):
				t.x.Set(i, j, 0)
			case v < float64(best):
				t.x.Set(i, j, v+1)
			}
		}
	}
}
