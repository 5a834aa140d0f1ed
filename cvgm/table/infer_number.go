package table

import (
	"slices"
	"strings"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// number returns the format of the numbers in column i. It returns nil for plain decimal numbers
// and for other texts. It returns an error if most texts, but not all, are numbers. If required is
// set, a column without numbers is also an error.
func (k *kinds) number(i int, levels []string, required bool) (*Number, error) {
	c := newCensus()
	for _, level := range levels {
		if !c.add(level) {
			break
		}
	}
	if c.texts < len(levels) || !c.point && !c.comma {
		if required || mostlyNumbers(levels) {
			return nil, k.text.errNumber(i, nil)
		}
		return nil, nil
	}
	// The first census is over the levels, so each text counts once. The most frequent unit
	// depends on the number of rows with each text, so a second census counts all rows.
	c = newCensus()
	for _, record := range k.text.records {
		if !k.text.reader.missing(record[i]) {
			c.add(record[i])
		}
	}
	name := k.text.header[i]
	number, ok := c.format()
	switch {
	case !ok && required:
		return nil, args.Bad("CSV.Numeric", qpdiff.ErrDomain, "give the size of each unit in CSV.Numbers", "names column %q, which holds the units %s", name, c.list())
	case !ok:
		if len(levels) > fewLevels {
			k.doubt(name, "CSV.Numbers", "Column %q holds the units %s, which have no common measure, so it is not read as a number.", name, c.list())
		}
		return nil, nil
	}
	if slices.ContainsFunc(levels, func(level string) bool { _, finite := number.parse(level); return !finite }) {
		return nil, k.text.errNumber(i, &number)
	}
	k.counted(c, i, &number)
	return &number, nil
}

// If column i proves a decimal sign, or leaves it open, counted stores this. It also adds notes on
// the units of the column.
func (k *kinds) counted(c *census, i int, number *Number) {
	name := k.text.header[i]
	switch {
	case c.open():
		at := slices.IndexFunc(k.text.records, func(record []string) bool {
			return strings.ContainsAny(record[i], ".,") && !k.text.reader.missing(record[i])
		})
		k.unresolved = append(k.unresolved, openNumber{name, strings.Clone(k.text.records[at][i]), number})
	case c.point && c.marked:
		k.points++
	case !c.point:
		k.commas++
	}
	bare := c.units[""]
	switch {
	case len(number.Units) > 0:
		unit := number.Unit
		if unit == "" {
			unit = "1"
		}
		k.note(name, "CSV.Numbers", "Column %q holds the units %s: all become %s.", name, c.list(), unit)
	case number.Unit != "" && bare > 0:
		k.doubt(name, "CSV.Numbers", "Column %q lacks the unit in %d of %d numbers, which count as %s.", name, bare, c.texts, number.Unit)
	}
}

// decide sets the decimal sign of the columns that can be read with either sign. It takes the sign
// that the other columns of the file prove. If they prove neither sign, or both, the sign depends
// on the separator of fields: a point if fields are separated by commas, and otherwise a comma.
func (k *kinds) decide() {
	if k.commas == 0 && len(k.unresolved) == 0 {
		return
	}
	var plain []openNumber // columns of plain numbers such as 1.234 only
	var formats []**Number
	look := func(i int, format **Number) {
		count, example := newCensus(), ""
		for _, record := range k.text.records {
			if !strings.Contains(record[i], ".") || k.text.reader.missing(record[i]) {
				continue
			}
			if example == "" {
				example = record[i]
			}
			if !count.add(record[i]) || !count.comma {
				k.points++
				return
			}
		}
		if count.open() {
			plain, formats = append(plain, openNumber{k.text.header[i], example, new(Number)}), append(formats, format)
		}
	}
	for j := range k.t.Columns {
		if c := &k.t.Columns[j]; c.Kind == Numeric && c.Number == nil {
			look(k.at[j], &c.Number)
		}
	}
	if k.t.Classes == nil && k.t.TargetNumber == nil {
		look(k.text.at[k.t.Target], &k.t.TargetNumber)
	}
	proven := (k.points == 0) != (k.commas == 0)
	sign := '.'
	if proven && k.commas > 0 || !proven && k.text.reader.comma != ',' {
		sign = ','
	}
	if proven && sign == ',' {
		for at, p := range plain {
			*formats[at] = p.number
		}
		k.unresolved = append(k.unresolved, plain...)
	}
	note := k.doubt
	if proven {
		note = k.note
	}
	for _, o := range k.unresolved {
		o.number.Decimal = sign
		v, _ := o.number.parse(o.example)
		note(o.name, "CSV.Numbers", "Column %q holds numbers such as %q, which may have separators of thousands or decimals: it is read as %v.", o.name, o.example, v)
	}
}
