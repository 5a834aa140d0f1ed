package table

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
)

// kinds infers the kind and the format of each column of a file.
type kinds struct {
	csv       CSV
	text      *csvText
	t         *Table // receives the columns
	at        []int  // the index in a record of each column of t
	totalRows int    // the number of rows of the file, with those that were left out
	// namedBy maps the names of columns to the fields of csv that name them.
	namedBy map[string]string
	// The fields points and commas count the columns whose numbers show that the decimal sign is a
	// point or a comma. The field unresolved lists the columns that fit both signs.
	points, commas int
	unresolved     []openNumber
}

// openNumber is a column whose numbers can be read with either decimal sign.
type openNumber struct {
	name, example string
	number        *Number
}

// addNote adds a note on a column.
func (k *kinds) addNote(column, field, format string, values ...any) {
	k.t.Notes = append(k.t.Notes, Note{Column: column, Text: args.Sprintf(format, values...), Field: field})
}

// addDoubt adds a note on a choice that the file does not settle.
func (k *kinds) addDoubt(column, field, format string, args ...any) {
	k.addNote(column, field, format, args...)
	k.t.Notes[len(k.t.Notes)-1].Check = true
}

// leaveOut adds a note on a column that is left out of the features.
func (k *kinds) leaveOut(column, field, format string, args ...any) {
	k.addDoubt(column, field, format, args...)
	k.t.Notes[len(k.t.Notes)-1].LeftOut = true
}

// unlessMissing returns the end of a note on texts in a column of features. These texts may denote
// missing values.
func (k *kinds) unlessMissing(column string) string {
	const unless = ", unless such a text means a missing value in every column"
	if k.csv.missingRule(column, isFeature) == MissingIsError {
		return unless + ", for which CSV.Missing sets a rule"
	}
	return unless
}

// leftOut returns a phrase for an error that names the columns that were left out.
func (k *kinds) leftOut() string {
	var names []string
	for _, n := range k.t.Notes {
		if n.LeftOut {
			names = append(names, n.Column)
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf(", without the identifiers %q", firstOf(names))
}

// If a column has more than fewLevels levels, its levels with fewer than leastRows rows form one
// level, named other. A column of texts is an identifier if its number of levels exceeds
// uniqueShare times its number of values.
const (
	leastRows   = 5
	uniqueShare = .9
)

// rowNumbers adds a note on each column of numbers that may only number the rows. Such a column
// holds different whole numbers of one of two kinds. The first kind ascends or descends, over a
// range of at most as many numbers as the file has rows. The second kind is in any order. It has
// more than fewLevels numbers, and more than the fraction uniqueShare of the whole numbers between
// its smallest and its largest number.
func (k *kinds) rowNumbers() {
	for j := range k.t.Columns {
		c := &k.t.Columns[j]
		if c.Kind == Numeric && c.Date == nil && (c.Number == nil || c.Number.Unit == "") && k.namedBy[c.Name] == "" && k.numbersRows(j) {
			k.addDoubt(c.Name, "CSV.Ignore", "Column %q seems to number the rows, and is read as a feature.", c.Name)
		}
	}
}

// numbersRows reports whether column j of the table has the numbers that rowNumbers describes.
func (k *kinds) numbersRows(j int) bool {
	rows, _ := k.t.Dims()
	var present []float64
	ascend, descend := true, true
	for i := range rows {
		v := k.t.x.At(i, j)
		if v != v {
			continue
		}
		if v != math.Floor(v) {
			return false
		}
		if n := len(present); n > 0 {
			ascend, descend = ascend && v > present[n-1], descend && v < present[n-1]
		}
		present = append(present, v)
	}
	if len(present) < leastRows {
		return false
	}
	low := slices.Min(present)
	switch numbers := slices.Max(present) - low + 1; {
	case (ascend || descend) && numbers <= float64(k.totalRows):
		return true
	case len(present) <= fewLevels || float64(len(present)) <= uniqueShare*numbers:
		return false
	}
	seen := make(map[float64]bool, len(present))
	return !slices.ContainsFunc(present, func(v float64) bool {
		again := seen[v]
		seen[v] = true
		return again
	})
}

// newName appends apostrophes to the given name until no column has this name.
func (k *kinds) newName(name string) string {
	for {
		if _, ok := k.text.at[name]; !ok && !slices.ContainsFunc(k.t.Columns, func(c Column) bool { return c.Name == name }) {
			return name
		}
		name += "'"
	}
}
