package table

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// feature adds column i of the file to the table. field is the field of the CSV that names the
// column, or empty.
func (k *kinds) feature(i int, field string) error {
	name := k.text.header[i]
	column := Column{Name: name, Missing: k.csv.missingRule(name, isFeature)}
	add := func() { k.t.Columns, k.at = append(k.t.Columns, column), append(k.at, i) }
	present, numbers := k.text.scan(i)
	if present == 0 {
		return args.Bad("CSV", qpdiff.ErrDomain, "put it into Ignore", "has no value in column %q", name)
	}
	given, isNumber := k.csv.Numbers[name]
	layout, isDate := k.csv.Dates[name]
	switch {
	case isNumber:
		column.Number = given.clone()
		add()
		return nil // readColumns reports a field of another format
	case isDate:
		return k.addDates(i, layout)
	case numbers && field != "CSV.Categorical":
		add()
		return nil
	}
	levels := k.text.levels(i)
	if field != "CSV.Categorical" {
		if found, err := k.dates(i, levels, field == "CSV.Numeric"); found || err != nil {
			return err
		}
		if field != "CSV.Numeric" && mostlyNumbers(levels) && k.recurring(i, levels) {
			k.doubt(name, "CSV.MissingTexts", "Column %q has few numbers and the texts %q in many rows: all of them are levels, unless such a text means a missing value.",
				name, firstOf(slices.DeleteFunc(slices.Clone(levels), numberLike)))
		} else if number, err := k.number(i, levels, field == "CSV.Numeric"); err != nil {
			return err
		} else if number != nil {
			column.Number = number
			add()
			return nil
		}
	}
	column.Kind, column.Levels = Categorical, levels
	if field != "CSV.Categorical" && !k.group(i, &column, present) {
		return nil
	}
	column.MissingLevel = present < len(k.text.records) // missing values remain only with MissingIsMean
	add()
	return nil
}

// recurring reports whether a column with few levels that mixes numbers and other texts is meant as
// levels, such as 1, 2 and 3+. In such a column, each level that is not a number is in at least
// leastRows rows. A typing error would be in fewer rows.
func (k *kinds) recurring(i int, levels []string) bool {
	if len(levels) > fewLevels {
		return false
	}
	rows, texts := k.rows(i, levels), 0
	for _, level := range levels {
		if _, plain := number(level); plain {
			continue
		}
		if numberLike(level) || newCensus().add(level) || rows[level] < leastRows {
			return false
		}
		texts++
	}
	return texts > 0
}

// These constants are thresholds for a column with more than fewLevels levels. The levels with
// fewer than leastRows rows form one level, named other. The column is an identifier if its number
// of levels exceeds uniqueShare times its number of values.
const (
	leastRows   = 5
	uniqueShare = .9
)

// group groups the rare levels of column i. It returns false if the column is not a feature,
// because it is an identifier or has only rare levels.
func (k *kinds) group(i int, column *Column, present int) bool {
	all := len(column.Levels)
	if all == present || float64(all) > uniqueShare*float64(present) {
		k.leaveOut(column.Name, "CSV.Categorical", "Column %q has %d different texts in %d rows and is left out as an identifier.", column.Name, all, present)
		return false
	}
	if all <= fewLevels {
		return true
	}
	rows := k.rows(i, column.Levels)
	column.Levels = slices.DeleteFunc(column.Levels, func(level string) bool { return rows[level] < leastRows })
	switch kept := len(column.Levels); {
	case kept == 0:
		k.leaveOut(column.Name, "CSV.Categorical", "Column %q has %d different texts, none of them in %d rows, and is left out.", column.Name, all, leastRows)
		return false
	case kept < all:
		column.Other = true
		k.note(column.Name, "CSV.Categorical", "Column %q has %d different texts: %d of them, each in fewer than %d rows, are one level, other.", column.Name, all, all-kept, leastRows)
	}
	return true
}

// rows returns the number of rows of each level of column i, up to leastRows.
func (k *kinds) rows(i int, levels []string) map[string]int {
	rows := make(map[string]int, len(levels))
	for _, level := range levels {
		rows[level] = 0
	}
	for _, record := range k.text.records {
		if n, ok := rows[record[i]]; ok && n < leastRows {
			rows[record[i]]++
		}
	}
	return rows
}

// target sets the table's target and classes.
func (k *kinds) target() error {
	c, text, t := k.csv, k.text, k.t
	i := text.at[c.Target]
	if given, ok := c.Numbers[c.Target]; ok {
		t.TargetNumber = given.clone()
		return nil
	}
	number, given := slices.Contains(c.Numeric, c.Target), c.Positive != "" || slices.Contains(c.Categorical, c.Target)
	if number && given {
		return args.Bad("CSV.Numeric", qpdiff.ErrDomain, "name it once, and leave Positive empty", "names the target %q, which CSV.Positive or Categorical makes classes", c.Target)
	}
	if _, numbers := text.scan(i); numbers && !given {
		if !number {
			t.Classes = k.binary(i)
		}
		return nil
	}
	classes := text.levels(i)
	if !given {
		number, err := k.number(i, classes, number)
		if err != nil {
			return err
		}
		if number != nil {
			t.TargetNumber = number
			return nil
		}
	}
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
			return args.Bad("CSV.Positive", qpdiff.ErrDomain, fmt.Sprintf("name one of %q", firstOf(classes)), "is %q, which is not a class of column %q", c.Positive, c.Target)
		case len(classes) > 2:
			return args.Bad("CSV.Positive", qpdiff.ErrDomain, "leave it empty, and use Table.Binary", "is set for the %d classes %q", len(classes), firstOf(classes))
		case at == 0:
			slices.Reverse(classes)
		}
	}
	t.Classes = classes
	return nil
}

// binary returns the classes of a target of two numbers, 0 and 1 or −1 and 1. It returns nil for
// other targets.
func (k *kinds) binary(i int) []string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, record := range k.text.records {
		v, _ := number(record[i])
		switch {
		case low > high:
			low, high = v, v
		case v != low && v != high && low < high:
			return nil // a third value
		default:
			low, high = min(low, v), max(high, v)
		}
	}
	if high == 1 && (low == 0 || low == -1) {
		if classes := k.text.levels(i); len(classes) == 2 {
			k.note(k.t.Target, "CSV.Numeric", "The target %q holds %v and %v alone, which are classes.", k.t.Target, low, high)
			return classes
		}
	}
	return nil
}
