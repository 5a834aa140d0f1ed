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
// The kind and the format of a column are decided once, for all rows. A column is numeric in two
// cases. In the first case, all present fields are finite decimal numbers. In the second case, all
// present fields are numbers of one format: with a decimal comma, with separators of thousands, as
// in 1,234.50, or with a unit, as in $5, 12.5% and 1.2 kg. Units of the same measure are converted
// into the most frequent unit. Numbers such as 1,234 do not show whether the comma is the decimal
// sign. If a column has only such numbers, the other columns of the file decide. If the other
// columns do not decide, the decimal sign is a comma in a file whose fields are not separated by
// commas. [Table.Notes] lists the choices that the file leaves open, each with the field of CSV
// that overrules the choice.
//
// A column of dates or times of one format becomes several columns. They hold the days since the
// first date, and the year, month, weekday and hour, but only the parts that vary; see [Date].
// Dates such as 03/04/2025 are ambiguous. If other columns of the file show the order of day and
// month, that order applies. Otherwise the month is first in a file whose fields are separated by
// commas, and the day in other files.
//
// All other columns are categorical. Three kinds of columns are refused, because they may be
// numeric columns with an error. In the first kind, more than half of the different texts, but not
// all of them, are numbers. The second kind has infinite, hexadecimal or too large numbers, or both
// decimal points and decimal commas. The third kind has more than 20 different texts, and more than
// half of them, but not all, are numbers with one unit, or dates. A column of the first kind is not
// refused if it has at most 20 different texts, and each text that is not a number, such as 3+, is
// in at least 5 rows.
//
// A column whose texts are nearly all different is left out as an identifier. If a column has more
// than 20 levels, the levels with fewer than 5 rows form one level, named other. A target of the
// numbers 0 and 1, or −1 and 1, has classes. Notes list these choices, too.
type CSV struct {
	// Target names the column to be predicted. The column holds numbers, or the texts of 2 to 20
	// classes. A column that holds only the numbers 0 and 1, or −1 and 1, has classes. Of two
	// classes, the second in sorted order becomes +1, and the first −1, unless Positive is set. For
	// more classes see [Table.Binary] and [Table.ClassData].
	Target string
	// Positive names the class that becomes +1, if there are two. With Positive, a target of
	// numbers has classes. Their names are the texts of the numbers.
	Positive string
	// Numeric and Categorical name columns of these kinds. The kinds of all other columns are
	// inferred. A column in Categorical keeps all its levels. Numeric and Categorical may also name
	// the target, to make the target a number or classes.
	Numeric, Categorical []string
	// Numbers holds formats of numeric columns, by the names of the columns. These formats are not
	// inferred. A field of another format is an error.
	Numbers map[string]Number
	// Dates holds layouts of columns of dates or times, by the names of the columns. These layouts
	// are not inferred. A layout is the date 2 January 2006, 15:04:05 in the file's format, as in
	// [time.Parse].
	Dates map[string]string
	// Ignore names columns that are not features.
	Ignore []string
	// Group names the column with the group of each row. This column is not a feature. Empty: no
	// groups.
	Group string
	// Weights names the column with the weight of each row. A weight is a number of at least 0; see
	// [learn.Data]. This column is not a feature. Empty: all rows have the same weight.
	Weights string
	// Missing is the rule for missing values in all columns that are not in MissingIn. The zero
	// value is MissingIsError. MissingIsMean does not apply to target, group and weights: a missing
	// value in these columns is then an error.
	Missing   MissingRule
	MissingIn map[string]MissingRule
	// MissingTexts are the fields that denote a missing value. Upper and lower case count as equal.
	// Nil: "", "NA", "NaN", "null" and "?".
	MissingTexts []string
	// Unknown is the rule for levels in rows for predictions that the training table lacks. The
	// zero value is UnknownIsError.
	Unknown UnknownRule
	// Comma separates fields. Zero: ',', ';', a tab or '|'. Of these, the separator is the
	// character that splits each of the first lines into the same number of fields, and into the
	// most fields.
	Comma rune
	// MaxBytes bounds the memory that Read holds. In addition to the text, Read needs some 24 bytes
	// for each field. A text that needs more than MaxBytes is an error of kind qpdiff.ErrTooLarge.
	// The error names the number of bytes, which is estimated from the first rows and the size of
	// the file. A table whose levels make too many dense features is an error of this kind, too;
	// see [Table.Data]. Zero: the default that [learn.Data] documents.
	MaxBytes int64
}

// maxClasses bounds the classes of a text target. A column with more values is unlikely to hold
// classes, and would need one model for each.
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

// roles returns the role of each column of the file. named maps the name of a column to the field
// of c that names the column. roles checks the names in c.
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

// dropRows leaves out records with missing values in columns whose rule is MissingDropsRow. It
// returns an error if a column whose rule is MissingIsError lacks a value in a row that is kept.
func (c CSV) dropRows(text *csvText, roles []role) error {
	kept, lacking := 0, make([]int, len(text.header)) // lacking counts the rows that each column drops
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

func newCSVReader(c CSV) *csvReader {
	r := &csvReader{comma: c.Comma, missingTexts: slices.Clone(c.MissingTexts), unknown: c.Unknown, maxBytes: c.MaxBytes}
	if c.MissingTexts == nil {
		r.missingTexts = []string{"", "NA", "NaN", "null", "?"}
	}
	return r
}
