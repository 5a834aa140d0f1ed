package table

import (
	"fmt"
	"maps"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// CSV reads a [Table] from text in UTF-8 with a header line. It skips a byte-order mark, empty
// lines, and spaces around names and fields. Every column is a feature, except the columns that
// Target, Group, Weights and Ignore name. Only Target is required.
//
// The kind and the format of a column are decided once, for all rows. A column is numeric if all
// present fields are finite decimal numbers. It is also numeric if all present fields are numbers
// of one other format. Such a format has a decimal comma, separators of thousands (1,234.50), or a
// unit ($5, 12.5% or 1.2 kg). Units of the same measure are converted into the most frequent unit.
// The singular and the plural of a word (1 year, 2 years) are one unit. So are texts that differ by
// the case of letters alone (km, Km), unless both are known units (mg, Mg). A number without a unit
// counts as a number in the most frequent unit. There is one exception: if the units of a column
// have several sizes, and each number of the file has a unit, a row for a prediction must also have
// one; see [Number].
//
// Numbers such as 1,234 do not show whether the comma is the decimal sign. If a column has only such
// numbers, the other columns of the file decide. If the other columns do not decide either, the
// decimal sign is a point in a file whose fields are separated by commas, and otherwise a comma.
// [Table.Notes] lists the choices that the file leaves open. Each note names the field of CSV that
// overrules the choice.
//
// Three kinds of columns of digits are not numeric. Columns with leading zeros, such as the zip
// code 01234, are texts if more than half of their fields have the same length as a field with a
// leading zero. Whole numbers above 2^53 are texts if rounding makes some of them equal. Fields
// such as 20240131 are dates if all of them are dates of the years 1900 to 2100, and at least 5 of
// them differ. Notes list these columns.
//
// A column of dates or times of one format becomes several columns. They hold the days since the
// first date, the year, the month, the weekday and the hour. Parts that do not vary are omitted;
// see [Date]. Dates such as 03/04/2025 are ambiguous. If other columns of the file show the order
// of day and month, this order applies. Otherwise the month is first in a file whose fields are
// separated by commas, and the day is first in other files.
//
// All other columns are categorical. But Read refuses three kinds of columns, which may be numbers
// or dates with errors in some fields:
//   - In a column of the first kind, more than half of the different texts are numbers, but not
//     all.
//   - A column of the second kind has infinite, hexadecimal or too large numbers, or both decimal
//     points and decimal commas.
//   - A column of the third kind has more than 20 different texts. More than half of these, but not
//     all, are dates, or numbers with one unit.
//
// A column of the first kind is accepted under two conditions. It has at most 20 different texts,
// and each text that is not a number (for example, 3+) is in at least 5 rows.
//
// A column whose texts are nearly all different is left out as an identifier. A column of whole
// numbers that seems to number the rows is a feature. If texts of a categorical column, or classes of
// the target, differ by the case of letters alone (yes, YES), they are one level or one class. The
// most frequent text is its name, and rows for predictions may have any case. If a categorical column
// has more than 20 levels, the levels with fewer than 5 rows form one level, named other. If a target
// holds only the numbers 0 and 1, or only −1 and 1, these are two classes. Texts of one number (1,
// 1.0) are then one class. Two other numbers remain numbers. Notes list these choices, too.
type CSV struct {
	// Target names the column to be predicted. The column holds numbers, or the texts of 2 to 20
	// classes; if Categorical names the target, it may have more classes. A column that holds only
	// the numbers 0 and 1, or only −1 and 1, has two classes. Unless Positive is set, the class
	// that is second in sorted order becomes +1, and the first becomes −1. If classes that differ
	// only in upper and lower case have been joined, the order ignores upper and lower case. For
	// more than two classes see [Table.Binary] and [Table.ClassData].
	Target string
	// Positive is the class that becomes +1, if the target has two classes. If Positive is set,
	// each different text of the target is a class, even if the texts are numbers.
	Positive string
	// Numeric and Categorical list the names of columns that have this kind. The kinds of all other
	// columns are inferred. In a column that Categorical lists, each different text is a level,
	// even if two texts differ only in upper and lower case. If the target is in Numeric, it is a
	// number. If it is in Categorical, its texts are classes.
	Numeric, Categorical []string
	// Numbers is a map from the name of a numeric column to the format of its numbers. For these
	// columns, no format is inferred. A field of another format is an error.
	Numbers map[string]Number
	// Dates is a map from the name of a column of dates or times to the layout of the column. For
	// these columns, no layout is inferred. As in [time.Parse], a layout is the text of 2 January
	// 2006, 15:04:05 in the format of the file.
	Dates map[string]string
	// Ignore names columns that are not features.
	Ignore []string
	// Group names the column with the group of each row. This column is not a feature. If Group is
	// empty, there are no groups.
	Group string
	// Weights names the column with the weight of each row. A weight is a number of at least 0; see
	// [learn.Data]. This column is not a feature. If Weights is empty, all rows have the same
	// weight.
	Weights string
	// Missing is the rule for missing values in all columns that are not in MissingIn. The zero
	// value is MissingIsError. If the rule is MissingIsMean, a missing value in the target, group
	// or weights is nevertheless an error.
	Missing   MissingRule
	MissingIn map[string]MissingRule
	// MissingTexts are the fields that denote a missing value. Upper and lower case count as equal.
	// If MissingTexts is nil, they are "", "NA", "N/A", "NaN", "null" and "?".
	MissingTexts []string
	// Unknown is the rule for a level that is in a row for a prediction, but not in the training
	// table. The zero value is UnknownIsError.
	Unknown UnknownRule
	// Comma separates fields. If Comma is zero, Read chooses one of ',', ';', tab and '|'. It takes
	// the separator that splits each of the first lines into the same number of fields. If there
	// are several, it takes the separator with the most fields.
	Comma rune
	// MaxBytes bounds the memory that Read uses. Read needs the bytes of the text and some 24 bytes
	// for each field. If this exceeds MaxBytes, Read returns an error of kind qpdiff.ErrTooLarge.
	// The error names the number of bytes, estimated from the first rows and the size of the file.
	// [Table.Data] returns an error of the same kind if the dense matrix of all features would
	// exceed MaxBytes. If MaxBytes is zero, the bound is the default that [learn.Data] documents.
	MaxBytes int64
}

// maxClasses bounds the number of classes if a target holds texts and Categorical does not name the
// target. A column with more different texts is unlikely to hold classes, and each class may need a
// separate model.
const maxClasses = 20

// role is the role of a column of the file.
type role int

const (
	isFeature role = iota
	isIgnored
	isTarget
	isGroup
	isWeights
)

// features returns the names except Target.
func (c CSV) features(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == c.Target })
}

// roles returns the role of each column of the file. It checks the names in the fields of c, such
// as Ignore. It also returns a map from the names of columns to the fields of c that name them.
func (c CSV) roles(text *csvText) (roles []role, named map[string]string, err error) {
	roles, named = make([]role, len(text.header)), map[string]string{}
	name := func(field string, r role, names ...string) error {
		for _, n := range names {
			at, ok := text.at[n]
			if !ok {
				return args.Bad(field, qpdiff.ErrDomain, fmt.Sprintf("name one of %q", firstOf(text.header)), "is %q, which is not a column", n)
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
	var weights []string
	if c.Weights != "" {
		weights = []string{c.Weights}
	}
	if err := args.First(
		name("CSV.Target", isTarget, c.Target),
		name("CSV.Group", isGroup, group...),
		name("CSV.Ignore", isIgnored, c.Ignore...),
		name("CSV.Weights", isWeights, weights...),
		name("CSV.Numeric", isFeature, c.features(c.Numeric)...),
		name("CSV.Categorical", isFeature, c.features(c.Categorical)...),
		name("CSV.Numbers", isFeature, c.features(slices.Sorted(maps.Keys(c.Numbers)))...),
		name("CSV.Dates", isFeature, slices.Sorted(maps.Keys(c.Dates))...),
		c.checkFormats(),
	); err != nil {
		return nil, nil, err
	}
	for _, n := range slices.Sorted(maps.Keys(c.MissingIn)) {
		at, ok := text.at[n]
		rule := c.MissingIn[n]
		if err := args.First(
			args.BadIf(!ok, "CSV.MissingIn", qpdiff.ErrDomain, fmt.Sprintf("name one of %q", firstOf(text.header)), "has %q, which is not a column", n),
			args.BadIf(rule < 0 || rule > MissingIsMean, "CSV.MissingIn", qpdiff.ErrDomain, "use one of the constants", "is %v for column %q", rule, n),
			args.BadIf(rule == MissingIsMean && ok && roles[at] != isFeature, "CSV.MissingIn", qpdiff.ErrDomain, "use MissingDropsRow",
				"is MissingIsMean for column %q, which is not a feature", n),
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

// checkFormats reports invalid formats in Numbers and Dates.
func (c CSV) checkFormats() error {
	for _, name := range slices.Sorted(maps.Keys(c.Numbers)) {
		n := c.Numbers[name]
		if err := n.check(); err != nil {
			return args.At(err, "CSV.Numbers, column %q", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Dates)) {
		if err := checkLayout(c.Dates[name]); err != nil {
			return args.At(err, "CSV.Dates, column %q", name)
		}
	}
	return nil
}

// missingRule returns the rule for missing values in the column of the given name and role.
func (c CSV) missingRule(name string, r role) MissingRule {
	if rule, ok := c.MissingIn[name]; ok {
		return rule
	}
	if r != isFeature && c.Missing == MissingIsMean {
		return MissingIsError
	}
	return c.Missing
}

// dropRows leaves out records with a missing value in a column whose rule is MissingDropsRow. If
// one of the remaining records has a missing value in a column whose rule is MissingIsError, it
// returns an error.
func (c CSV) dropRows(text *csvText, roles []role) error {
	kept, missingCounts := 0, make([]int, len(text.header)) // missingCounts counts the rows that each column drops
	for k, record := range text.records {
		drop, lacks := false, -1
		for i, field := range record {
			if roles[i] == isIgnored || !text.reader.isMissing(field) {
				continue
			}
			switch c.missingRule(text.header[i], roles[i]) {
			case MissingDropsRow:
				drop = true
				missingCounts[i]++
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
			remedy := "fill it in, remove the line, or set CSV.Missing"
			if roles[lacks] != isFeature { // MissingIsMean has no mean for it
				remedy = "fill it in, remove the line, or drop all such lines with CSV.Missing"
			}
			return args.Bad("CSV", qpdiff.ErrNotFinite, remedy,
				"lacks a value: %q in line %d, column %q", record[lacks], text.lines[k], text.header[lacks])
		}
		text.records[kept], text.lines[kept] = record, text.lines[k]
		kept++
	}
	all := len(text.records)
	text.records, text.lines = text.records[:kept], text.lines[:kept]
	if kept == 0 {
		most := slices.Index(missingCounts, slices.Max(missingCounts))
		return args.Bad("CSV", qpdiff.ErrEmpty, "fill them in, or put the column into Ignore unless it is the target",
			"has no examples: each of the %d rows lacks a value, %d of them in column %q", all, missingCounts[most], text.header[most])
	}
	return nil
}

func newCSVReader(c CSV) *csvReader {
	r := &csvReader{comma: c.Comma, missingTexts: slices.Clone(c.MissingTexts), unknown: c.Unknown, maxBytes: c.MaxBytes}
	if c.MissingTexts == nil {
		r.missingTexts = []string{"", "NA", "N/A", "NaN", "null", "?"}
	}
	return r
}
