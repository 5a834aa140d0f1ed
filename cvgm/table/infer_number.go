package table

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/qpdiff"
)

// numberFormat returns the format of the numbers in column i. It returns nil if the numbers are
// plain decimal numbers, or if the column does not hold numbers. It returns an error if most texts,
// but not all, are numbers. If required is set, a column without numbers is also an error.
func (k *kinds) numberFormat(i int, levels []string, required bool) (*Number, error) {
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
		if !k.text.reader.isMissing(record[i]) {
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
			k.addDoubt(name, "CSV.Numbers", "Column %q holds the units %s, which have no common measure, so it is not read as a number.", name, c.list())
		}
		return nil, nil
	}
	if slices.ContainsFunc(levels, func(level string) bool { _, finite := number.parse(level); return !finite }) {
		return nil, k.text.errNumber(i, &number)
	}
	k.storeCensus(c, i, &number)
	return &number, nil
}

// storeCensus records whether the numbers of column i show which decimal sign the file uses, or fit
// both signs. It also adds notes on the units of the column.
func (k *kinds) storeCensus(c *census, i int, number *Number) {
	name := k.text.header[i]
	switch {
	case c.signIsOpen():
		at := slices.IndexFunc(k.text.records, func(record []string) bool {
			return strings.ContainsAny(record[i], ".,") && !k.text.reader.isMissing(record[i])
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
		unit, note, more := cmp.Or(number.Unit, "1"), k.addNote, ""
		if number.ambiguous() && bare > 0 {
			note, more = k.addDoubt, fmt.Sprintf(", as which the %d numbers without a unit count", bare)
		} else if number.caseMatters() {
			note = k.addDoubt
		}
		note(name, "CSV.Numbers", "Column %q holds the units %s: all become %s%s.", name, c.list(), unit, more)
	case number.Unit != "" && bare > 0:
		k.t.Notes = append(k.t.Notes, c.lackingNote(name, number.Unit))
	}
}

// decideSigns sets the decimal sign of the columns that can be read with either sign. If the other
// columns show only one sign, decideSigns takes this sign. If they show neither sign, or both, the
// sign depends on the separator of fields: a point if fields are separated by commas, and otherwise
// a comma.
func (k *kinds) decideSigns() {
	if k.commas == 0 && len(k.unresolved) == 0 {
		return
	}
	var plainNumbers []openNumber // columns of plain numbers such as 1.234 only
	var formats []**Number
	look := func(i int, format **Number) {
		count, example := newCensus(), ""
		for _, record := range k.text.records {
			if !strings.Contains(record[i], ".") || k.text.reader.isMissing(record[i]) {
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
		if count.signIsOpen() {
			plainNumbers, formats = append(plainNumbers, openNumber{k.text.header[i], example, new(Number)}), append(formats, format)
		}
	}
	for j := range k.t.Columns {
		if c := &k.t.Columns[j]; c.Kind == Numeric && c.Number == nil && c.Date == nil {
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
		for at, p := range plainNumbers {
			*formats[at] = p.number
		}
		k.unresolved = append(k.unresolved, plainNumbers...)
	}
	note := k.addDoubt
	if proven {
		note = k.addNote
	}
	for _, o := range k.unresolved {
		o.number.Decimal = sign
		v, _ := o.number.parse(o.example)
		note(o.name, "CSV.Numbers", "Column %q holds numbers such as %q, which may have separators of thousands or decimals: it is read as %v.", o.name, o.example, v)
	}
}

// A digitKind is the kind of a column whose fields are numbers.
type digitKind int

const (
	plainDigits digitKind = iota // numbers
	textDigits                   // codes, such as 01234, or numbers with more digits than a float64 holds
	dateDigits                   // dates in digitLayout
)

// digitLayout is the layout of dates that are written as whole numbers. Their years lie between
// firstYear and lastYear; otherwise many other numbers of eight digits would be dates.
const (
	digitLayout         = "20060102"
	firstYear, lastYear = 1900, 2100
)

// kindOfDigits returns the kind of column i, whose fields are numbers. It is plainDigits unless all
// fields consist of digits alone. If another kind is also possible, kindOfDigits adds a note.
func (k *kinds) kindOfDigits(i int) digitKind {
	var present, dates int
	inexact := false
	var lengths map[int]int   // the number of fields of each length
	var padded map[int]string // an example of a padded number by its length
	for _, record := range k.text.records {
		field := record[i]
		if k.text.reader.isMissing(field) {
			continue
		}
		if strings.Trim(field, "0123456789") != "" {
			return plainDigits
		}
		if present++; lengths == nil {
			lengths, padded = map[int]int{}, map[int]string{}
		}
		lengths[len(field)]++
		if len(field) > 1 && field[0] == '0' {
			padded[len(field)] = field
		}
		inexact = inexact || !exact(field)
		if digitDate(field) {
			dates++
		}
	}
	name := k.text.header[i]
	for length, example := range padded { // at most one length is in more than half of the fields
		if 2*lengths[length] > present {
			k.addDoubt(name, "CSV.Numeric", "Column %q holds digits with leading zeros, such as %q: they are read as texts, not as numbers.", name, strings.Clone(example))
			return textDigits
		}
	}
	switch {
	case inexact:
		return k.kindOfInexact(i)
	case len(padded) > 0:
		example := padded[slices.Min(slices.Collect(maps.Keys(padded)))]
		k.addDoubt(name, "CSV.Categorical", "Column %q holds numbers with leading zeros, such as %q: they are read as numbers, without the zeros.", name, strings.Clone(example))
	case 2*dates > present:
		return k.kindOfDates(i, dates, present)
	}
	return plainDigits
}

// digitDate reports whether a field of digits is a date in digitLayout.
func digitDate(field string) bool {
	if len(field) != len(digitLayout) {
		return false
	}
	t, ok := portable.ParseDate(digitLayout, field)
	return ok && firstYear <= t.Year() && t.Year() <= lastYear
}

// exact reports whether a float64 has the value of a field of digits.
func exact(field string) bool {
	const always = 15 // digits
	if len(field) <= always {
		return true
	}
	v, _ := number(field)
	return strconv.FormatFloat(v, 'f', 0, 64) == strings.TrimLeft(field, "0")
}

// kindOfInexact returns the kind of column i, in which no float64 equals some of the whole numbers.
// The column holds texts if two numbers are rounded to the same float64, and otherwise numbers.
func (k *kinds) kindOfInexact(i int) digitKind {
	name, levels := k.text.header[i], k.text.levels(i)
	numbers := map[float64]bool{}
	for _, level := range levels {
		v, _ := number(level)
		numbers[v] = true
	}
	if len(numbers) < len(levels) {
		k.addDoubt(name, "CSV.Numeric", "Column %q holds whole numbers above 2^53, of which rounding makes some equal: they are read as texts, not as numbers.", name)
		return textDigits
	}
	k.addDoubt(name, "CSV.Categorical", "Column %q holds whole numbers above 2^53: they are read as numbers, and rounded.", name)
	return plainDigits
}

// kindOfDates returns the kind of column i, whose fields are whole numbers or missing. The
// parameter valueCount is the number of fields with a number, and dateCount is the number of fields
// with a date. The column holds dates if all its numbers are dates and there are at least leastRows
// different dates.
func (k *kinds) kindOfDates(i, dateCount, valueCount int) digitKind {
	name, levels := k.text.header[i], k.text.levels(i)
	example := levels[slices.IndexFunc(levels, digitDate)]
	if dateCount == valueCount && len(levels) >= leastRows {
		k.addNote(name, "CSV.Numeric", "Column %q holds numbers such as %s, which are read as dates: this one as %s.", name, example, longDate(digitLayout, example))
		return dateDigits
	}
	if others := slices.DeleteFunc(levels, digitDate); len(others) > 0 {
		k.addDoubt(name, "CSV.MissingTexts", "Column %q holds dates such as %s in %d of %d rows, and the texts %q: all of them are read as numbers%s.",
			name, example, dateCount, valueCount, firstOf(others), k.unlessMissing(name))
	} else {
		k.addDoubt(name, "CSV.Dates", "Column %q holds dates such as %s: they are read as numbers, unless it has the format %q.", name, example, digitLayout)
	}
	return plainDigits
}
