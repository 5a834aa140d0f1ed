package table

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// addFeature adds column i of the file to the table. If a field of the CSV names the column, such
// as CSV.Numeric, the parameter field is the name of this field. Otherwise it is empty.
func (k *kinds) addFeature(i int, field string) error {
	name := k.text.header[i]
	column := Column{Name: name, Missing: k.csv.missingRule(name, isFeature)}
	present, numbers := k.text.countNumbers(i)
	if present == 0 {
		return args.Bad("CSV", qpdiff.ErrDomain, "put it into Ignore", "has no value in column %q", name)
	}
	given, isNumber := k.csv.Numbers[name]
	layout, isDate := k.csv.Dates[name]
	switch {
	case isNumber:
		column.Number = given.clone()
		k.add(i, column)
		return nil // readColumns reports a field of another format
	case isDate:
		return k.addDates(i, layout)
	case numbers && field == "CSV.Numeric":
		k.add(i, column)
		return nil
	case numbers && field == "":
		switch k.kindOfDigits(i) {
		case plainDigits:
			k.add(i, column)
			return nil
		case dateDigits:
			return k.addDates(i, digitLayout)
		}
	}
	levels := k.text.levels(i)
	if field != "CSV.Categorical" && !numbers {
		if found, err := k.addDateColumns(i, levels, field == "CSV.Numeric"); found || err != nil {
			return err
		}
		if field != "CSV.Numeric" && mostlyNumbers(levels) && k.levelsRecur(i, levels) {
			k.addDoubt(name, "CSV.MissingTexts", "Column %q has few numbers and the texts %q in many rows: all of them are levels%s.",
				name, firstOf(slices.DeleteFunc(slices.Clone(levels), numberLike)), k.unlessMissing(name))
		} else if number, err := k.numberFormat(i, levels, field == "CSV.Numeric"); err != nil {
			return err
		} else if number != nil {
			column.Number = number
			k.add(i, column)
			return nil
		}
	}
	column.Kind, column.Levels = Categorical, levels
	if field != "CSV.Categorical" && !k.joinLevels(i, &column, present) {
		return nil
	}
	column.MissingLevel = present < len(k.text.records) // missing values remain only with MissingIsMean
	k.add(i, column)
	return nil
}

// add adds a column that is made from column i of the file.
func (k *kinds) add(i int, column Column) {
	k.t.Columns, k.at = append(k.t.Columns, column), append(k.at, i)
}

// levelsRecur decides about a column that mixes numbers and other texts. It reports whether the
// column is categorical, with levels such as 1, 2 and 3+. Such a column has few levels. Each level
// that is not a number occurs in at least leastRows rows, because a typing error would occur in
// fewer.
func (k *kinds) levelsRecur(i int, levels []string) bool {
	if len(levels) > fewLevels {
		return false
	}
	rows, texts := k.countRows(i, levels), 0
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

// joinLevels joins levels of column i that differ only in upper and lower case, and joins the rare
// levels. It returns false if the column is not a feature, because it is an identifier or has only
// rare levels.
func (k *kinds) joinLevels(i int, column *Column, present int) bool {
	all := len(column.Levels)
	if all == present || float64(all) > uniqueShare*float64(present) {
		k.leaveOut(column.Name, "CSV.Categorical", "Column %q has %d different texts in %d rows and is left out as an identifier.", column.Name, all, present)
		return false
	}
	if joined, examples := k.joinTexts(i, column.Levels, foldKey); examples != nil {
		column.Levels, column.IgnoreCase, all = joined, true, len(joined)
		k.addDoubt(column.Name, "CSV.Categorical", "Column %q has texts that differ by the case of letters alone, and are one level: %s.", column.Name, examples)
	}
	if all <= fewLevels {
		return true
	}
	rows := k.countRows(i, column.Levels)
	column.Levels = slices.DeleteFunc(column.Levels, func(level string) bool { return rows[level] < leastRows })
	switch kept := len(column.Levels); {
	case kept == 0:
		k.leaveOut(column.Name, "CSV.Categorical", "Column %q has %d different texts, none of them in %d rows, and is left out.", column.Name, all, leastRows)
		return false
	case kept < all:
		column.Other = true
		k.addNote(column.Name, "CSV.Categorical", "Column %q has %d different texts: %d of them, each in fewer than %d rows, are one level, other.", column.Name, all, all-kept, leastRows)
	}
	return true
}

// joinTexts joins the texts of column i that have the same key. In the records, it replaces them by
// the one with the most rows, or by the first in sorted order if several have the most. It returns
// the remaining texts, sorted, and examples of replaced texts. If all keys differ, there are no
// examples.
func (k *kinds) joinTexts(i int, texts []string, key func(string) string) (kept []string, examples joinedTexts) {
	keys := make(map[string]bool, len(texts))
	for _, text := range texts {
		keys[key(text)] = true
	}
	if len(keys) == len(texts) {
		return texts, nil
	}
	rows, of := make(map[string]int, len(texts)), make(map[string]string, len(keys))
	for _, record := range k.text.records {
		rows[record[i]]++
	}
	for _, text := range texts {
		if first, ok := of[key(text)]; !ok || rows[text] > rows[first] {
			of[key(text)] = text
		}
	}
	for _, text := range texts {
		if of[key(text)] != text {
			examples = append(examples, fmt.Sprintf("%q as %q", text, of[key(text)]))
		}
	}
	for _, record := range k.text.records {
		if text, ok := of[key(record[i])]; ok && !k.text.reader.isMissing(record[i]) {
			record[i] = text
		}
	}
	return slices.Sorted(maps.Values(of)), examples
}

// foldKey returns a key that is equal for two texts if they differ by the case of letters alone, as
// in strings.EqualFold.
func foldKey(text string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, text)
}

// foldsTwice reports whether two of the texts differ by the case of letters alone.
func foldsTwice(texts []string) bool {
	keys := map[string]bool{}
	for _, text := range texts {
		keys[foldKey(text)] = true
	}
	return len(keys) < len(texts)
}

// joinedTexts lists joined texts, each with the text that replaces it.
type joinedTexts []string

func (j joinedTexts) String() string { return strings.Join(firstOf(j), ", ") }

// countRows returns the number of rows of each level of column i. It does not count beyond
// leastRows.
func (k *kinds) countRows(i int, levels []string) map[string]int {
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
