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
	Categorical             // levels, which have no order
)

func (k Kind) String() string { return nameOf(kindNames[:], k) }

// MissingRule selects the effect of a missing value of a column.
type MissingRule int

const (
	// MissingIsError makes it an error that names line and column.
	MissingIsError MissingRule = iota
	// MissingDropsRow leaves the row out when a table is read for training. In a table for
	// predictions a missing value is an error, because each row has a prediction.
	MissingDropsRow
	// MissingIsMean replaces a missing value: in a numeric column by the mean of the training rows
	// that have a value, and in a categorical column by a level of its own.
	MissingIsMean
)

func (m MissingRule) String() string { return nameOf(missingNames[:], m) }

// UnknownRule selects the prediction for a level that is not in the model's training table.
type UnknownRule int

const (
	// UnknownIsError makes it an error that names line and column.
	UnknownIsError UnknownRule = iota
	// UnknownIsZero sets all features of the column to 0. The prediction is then the same as for
	// the column's first level.
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
	// Levels holds the texts of a categorical column, sorted.
	Levels  []string
	Missing MissingRule
	// MissingLevel is set for a categorical column with MissingIsMean that lacks values. A missing
	// value is then a level after Levels.
	MissingLevel bool
	// Other is set for a categorical column whose rare levels form one level, other, after Levels.
	// All texts that are not in Levels then count as other.
	Other bool
	// Number is how the numbers are written. Nil: as plain decimal numbers.
	Number *Number
	// Date describes how dates or times make the column. Nil: it is a column of the file.
	Date *Date
	// Effect makes the column's features for a term of a model: see [Table.WithEffects]. Nil: the
	// features that [Encoder] documents.
	Effect *Effect
}

// source returns the name of the column in the file.
func (c *Column) source() string {
	if c.Date != nil {
		return c.Date.Source
	}
	return c.Name
}

// Features returns the number of features that are made of the column.
func (c *Column) Features() int {
	p := c.portable()
	return p.Width()
}

// portable returns the column in the form that predictions need, without the rules of a CSV and the
// values learned from training rows.
func (c *Column) portable() portable.Column {
	p := portable.Column{Source: c.source(), Categorical: c.Kind == Categorical, Levels: c.Levels, Fill: c.Missing == MissingIsMean,
		MissingLevel: c.MissingLevel, Other: c.Other, All: c.Effect.is(LevelsEffect)}
	if c.Number != nil {
		p.Number = (*portable.NumberFormat)(c.Number)
	}
	if c.Date != nil {
		p.Date = c.Date.portable()
		p.MissingFirst = c.Date.Part == PartWeekday // the month has the level of missing dates
	}
	if c.Effect.is(SmoothEffect) {
		p.Splines = &portable.CentredSplines{Count: c.Effect.Bases, Low: c.Effect.Low, High: c.Effect.High}
	}
	return p
}

func (c *Column) errMissing() error {
	return args.Bad("column", qpdiff.ErrNotFinite, "fill it in, or train with MissingIsMean", "%q lacks a value", c.Name)
}

func (c *Column) errUnknown() error {
	return args.Bad("column", qpdiff.ErrDomain, "correct it, or train with UnknownIsZero", "%q holds a level that is none of %q", c.Name, c.shown())
}

// shown returns the first levels, for an error.
func (c *Column) shown() []string { return firstOf(c.Levels) }

// equal reports whether the columns have the same name and values.
func (c *Column) equal(d *Column) bool {
	return c.Name == d.Name && c.Kind == d.Kind && c.MissingLevel == d.MissingLevel && c.Other == d.Other && slices.Equal(c.Levels, d.Levels) && c.Number.equal(d.Number) && c.Date.equal(d.Date) && c.Effect.equal(d.Effect)
}

// sameColumns reports whether two lists of columns are equal.
func sameColumns(a, b []Column) bool {
	if len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] { // of one table, which may have many levels
		return true
	}
	return slices.EqualFunc(a, b, func(c, d Column) bool { return c.equal(&d) })
}

// imputed reports whether missing values become the mean.
func (c *Column) imputed() bool { return c.Kind == Numeric && c.Missing == MissingIsMean }
