package table

import (
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/qpdiff"
)

// Kind is the kind of the values of a [Column].
type Kind int

const (
	Numeric     Kind = iota // finite numbers
	Categorical             // levels without an order
)

func (k Kind) String() string { return nameOf(kindNames[:], k) }

// MissingRule is the rule for missing values of a column.
type MissingRule int

const (
	// MissingIsError makes a missing value an error. The error names line and column.
	MissingIsError MissingRule = iota
	// MissingDropsRow leaves out a row with a missing value when a table is read for training. In a
	// table for predictions a missing value is an error, because every row must get a prediction.
	MissingDropsRow
	// MissingIsMean replaces a missing value. In a numeric column, the replacement is the mean of
	// the training rows that have a value. In a categorical column, missing values form one more
	// level.
	MissingIsMean
)

func (m MissingRule) String() string { return nameOf(missingNames[:], m) }

// UnknownRule is the rule for a level that is in a row for a prediction, but not in the training
// table.
type UnknownRule int

const (
	// UnknownIsError makes an unknown level an error. The error names line and column.
	UnknownIsError UnknownRule = iota
	// UnknownIsZero sets all features of the column to 0. The prediction is then the same as for
	// the column's baseline, the level with the most rows; see [Encoder].
	UnknownIsZero
)

func (u UnknownRule) String() string { return nameOf(unknownNames[:], u) }

var (
	kindNames    = [...]string{"numeric", "categorical"}
	missingNames = [...]string{"error", "drop row", "mean"}
	unknownNames = [...]string{"error", "zero"}
)

// A Column is a column of a [Table] from which features are made.
type Column struct {
	Name string
	Kind Kind
	// Levels holds the texts of a categorical column. The first one is the baseline, which is the
	// level with the most rows; see [Encoder]. The others are sorted.
	Levels  []string
	Missing MissingRule
	// MissingLevel is set if missing values form a level, in addition to the list Levels. This is
	// so in a categorical column that has missing values and the rule MissingIsMean.
	MissingLevel bool
	// Other is set if the rare levels of a categorical column form one level, named "other", after
	// the levels in Levels. Every text that is not in Levels then belongs to it.
	Other bool
	// If IgnoreCase is set, upper and lower case count as equal: the text Red then belongs to the
	// level red.
	IgnoreCase bool
	// Number is the format of the numbers. If Number is nil, they are plain decimal numbers.
	Number *Number
	// Date describes how the column is made from dates or times. If Date is nil, the column holds
	// the values of a column of the file.
	Date *Date
	// Effect determines the features that a term of a model makes from the column: see
	// [Table.WithEffects]. If Effect is nil, the column has the features that [Encoder] documents.
	Effect *Effect
}

// source returns the name of the file's column from which c is made.
func (c *Column) source() string {
	if c.Date != nil {
		return c.Date.Source
	}
	return c.Name
}

// Features returns the number of features that are made from the column.
func (c *Column) Features() int {
	p := c.portable()
	return p.Width()
}

// portable returns the column in the form that predictions need. It omits the rules of a CSV, and
// the values that are learned from training rows.
func (c *Column) portable() portable.Column {
	p := portable.Column{Source: c.source(), Categorical: c.Kind == Categorical, Levels: c.Levels, Fill: c.Missing == MissingIsMean,
		MissingLevel: c.MissingLevel, Other: c.Other, IgnoreCase: c.IgnoreCase, All: c.Effect.is(LevelsEffect)}
	if c.Number != nil {
		p.Number = (*portable.NumberFormat)(c.Number)
	}
	if c.Date != nil {
		p.Date = c.Date.portable()
		p.MissingFirst = c.Date.Part == PartWeekday // the column of the month has the level of missing dates
	}
	if c.Effect.is(SmoothEffect) {
		p.Splines = &portable.CentredSplines{Count: c.Effect.Bases, Low: c.Effect.Low, High: c.Effect.High}
	}
	if c.Effect.is(KernelEffect) && c.Effect.kernel != nil {
		c.Effect.kernel.join(&p)
	}
	return p
}

// baseline returns the level of the column that has no feature, or "" if there is none.
func (c *Column) baseline() string {
	if c.Kind != Categorical || c.Effect.is(LevelsEffect) {
		return ""
	}
	return c.Levels[0]
}

func (c *Column) errMissing() error {
	return args.Bad("column", qpdiff.ErrNotFinite, "fill it in, or train with MissingIsMean", "%q lacks a value", c.Name)
}

func (c *Column) errUnknown() error {
	return args.Bad("column", qpdiff.ErrDomain, "correct it, or train with UnknownIsZero", "%q holds a level that is none of %q", c.Name, c.firstLevels())
}

// firstLevels returns the first few levels, for an error.
func (c *Column) firstLevels() []string { return firstOf(c.Levels) }

// equals reports whether the columns have the same name and values.
func (c *Column) equals(d *Column) bool {
	return c.Name == d.Name && c.Kind == d.Kind && c.MissingLevel == d.MissingLevel && c.Other == d.Other && c.IgnoreCase == d.IgnoreCase && slices.Equal(c.Levels, d.Levels) && c.Number.equals(d.Number) && c.Date.equals(d.Date) && c.Effect.equals(d.Effect)
}

// sameColumns reports whether two lists of columns are equal.
func sameColumns(a, b []Column) bool {
	if len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] { // columns of one table, which may have many levels
		return true
	}
	return slices.EqualFunc(a, b, func(c, d Column) bool { return c.equals(&d) })
}

// imputed reports whether the mean replaces missing values.
func (c *Column) imputed() bool { return c.Kind == Numeric && c.Missing == MissingIsMean }
