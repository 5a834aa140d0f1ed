package portable

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Column describes how a field of a row becomes features.
type Column struct {
	Source       string // the column of the file
	Categorical  bool
	Levels       []string // first the baseline, which has no feature unless All is set; then the others, sorted
	MissingTexts []string
	Fill         bool         // a missing number becomes Mean; a missing text becomes a level
	Mean         float64      // of the numbers
	MissingLevel bool         // the last level holds missing values
	Other        bool         // one level after Levels holds all unknown texts
	IgnoreCase   bool         // a text that differs from a level by the case of letters alone counts as this level
	Unknown      bool         // unknown texts are allowed, and have no feature
	MissingFirst bool         // the baseline holds missing values
	Number       NumberReader // if nil, the numbers are plain decimal numbers
	Date         DateReader   // if nil, the column holds no dates
	All          bool         // every level has a feature, also the baseline
	// If Splines is not nil, a number has the features of Splines. Otherwise it has one feature:
	// (number − Centre)/Deviation, or the number itself if Deviation is 0.
	Splines           Basis
	Centre, Deviation float64
	// If Joint is not nil, it makes joint features from the numbers in this column and in the Joined
	// columns that follow. A Joined column has no features of its own.
	Joint  JointBasis
	Joined bool
}

// The readers and splines of a column are interfaces. A written file then contains only the types
// that its columns use.
type (
	// A NumberReader reads the numbers of a column.
	NumberReader interface {
		Parse(field string) (v float64, ok bool)
		Example() string // of a number
	}
	// A DateReader reads the number or the level of a part of dates.
	DateReader interface {
		Read(field string) (number float64, level string, ok bool)
		Pattern() string // of the dates
	}
	// A Basis makes features of a number.
	Basis interface {
		Width() int
		Set(x float64, first int, set func(feature int, v float64))
	}
	// A JointBasis makes features of several numbers.
	JointBasis interface {
		Width() int
		Set(x []float64, first int, set func(feature int, v float64))
	}
)

// A Fault is the reason why a field has no value, or why a value has no features.
type Fault int

// The faults.
const (
	None      Fault = iota
	Missing         // a missing value
	NoMissing       // a missing level in a column that had none
	NoDate          // not in the layout
	NoNumber        // not a number of the format
	NoLevel         // an unknown level
	NotFinite       // a number that is not finite
	NoIndex         // no index of a level
)

// Error returns the error of the field of a column.
func (f Fault) Error(c *Column, field string) error {
	switch f {
	case Missing, NoMissing:
		return fmt.Errorf("column %q lacks a value: fill it in", c.Source)
	case NoDate:
		return fmt.Errorf("column %q holds %q: put a date in the format %q there", c.Source, field, c.Date.Pattern())
	case NoLevel:
		return fmt.Errorf("column %q holds %q, which is none of its %d levels: correct it", c.Source, field, len(c.Levels))
	case NoNumber:
		if c.Number != nil {
			return fmt.Errorf("column %q holds %q: put a finite number such as %q there", c.Source, field, c.Number.Example())
		}
	case NoIndex:
		return fmt.Errorf("column %q holds %s: give the index of one of its %d levels", c.Source, field, len(c.Levels))
	}
	return fmt.Errorf("column %q holds %q: put a finite number there", c.Source, field)
}

// IsMissing reports whether the field equals one of the texts, in upper or lower case.
func IsMissing(texts []string, field string) bool {
	for _, text := range texts {
		if len(text) == len(field) && strings.EqualFold(text, field) {
			return true
		}
	}
	return false
}

// IndexFold returns the index of the first text that equals the field if case is ignored, or −1.
func IndexFold(texts []string, field string) int {
	return slices.IndexFunc(texts, func(text string) bool { return strings.EqualFold(text, field) })
}

// Value returns the value of a trimmed field: its number, or the index of its level. It is NaN for
// a missing value, and len(Levels) for an unknown level.
func (c *Column) Value(field string) (float64, Fault) {
	if IsMissing(c.MissingTexts, field) {
		switch {
		case !c.Fill:
			return 0, Missing
		case c.MissingFirst:
			return 0, None
		case c.Categorical && !c.MissingLevel && !c.Unknown:
			return 0, NoMissing
		}
		return math.NaN(), None
	}
	if c.Date != nil {
		number, level, ok := c.Date.Read(field)
		switch {
		case !ok:
			return 0, NoDate
		case !c.Categorical:
			return number, None
		}
		field = level
	}
	if c.Categorical {
		at := c.indexOf(field)
		switch {
		case at >= 0:
			return float64(at), None
		case !c.Other && !c.Unknown:
			return 0, NoLevel
		}
		return float64(len(c.Levels)), None
	}
	v, ok := ParseDecimal(field)
	if c.Number != nil {
		v, ok = c.Number.Parse(field)
	}
	if !ok {
		return 0, NoNumber
	}
	return v, None
}

// indexOf returns the index of the level of a text, or −1 if it has none.
func (c *Column) indexOf(field string) int {
	if field == c.Levels[0] {
		return 0
	}
	if at, known := slices.BinarySearch(c.Levels[1:], field); known {
		return at + 1
	}
	if c.IgnoreCase {
		return IndexFold(c.Levels, field)
	}
	return -1
}

// Width returns the number of features.
func (c *Column) Width() int {
	switch {
	case c.Splines != nil:
		return c.Splines.Width()
	case c.Joint != nil:
		return c.Joint.Width()
	case c.Joined:
		return 0
	case !c.Categorical:
		return 1
	}
	w := len(c.Levels) - c.numOmitted()
	if c.Other {
		w++
	}
	if c.MissingLevel {
		w++
	}
	return w
}

// numOmitted returns the number of levels at the start of the list that have no feature: 0 or 1.
func (c *Column) numOmitted() int {
	if c.All {
		return 0
	}
	return 1
}

// Features computes the features of a row of values. It calls the function set with the index and
// the value of each feature. It leaves out features of value 0 if their column is categorical. If
// one of the values has no features, Features returns the index of its column and the reason.
func Features(columns []Column, values []float64, set func(feature int, v float64)) (column int, fault Fault) {
	first := 0
	for j := range columns {
		c := &columns[j]
		if c.Categorical {
			feature, fault := c.feature(values[j])
			if fault != None {
				return j, fault
			}
			if feature >= 0 {
				set(first+feature, 1)
			}
			first += c.Width()
			continue
		}
		v, fault := c.number(values[j])
		switch {
		case fault != None:
			return j, fault
		case c.Splines != nil:
			c.Splines.Set(v, first, set)
		case c.Joint != nil:
			x, k, fault := jointNumbers(columns[j:], values[j:])
			if fault != None {
				return j + k, fault
			}
			c.Joint.Set(x, first, set)
		case c.Joined: // the features are set
		case c.Deviation != 0:
			set(first, (v-c.Centre)/c.Deviation)
		default:
			set(first, v)
		}
		first += c.Width()
	}
	return -1, None
}

// jointNumbers returns the numbers of the first column and of the Joined columns after it. If one of
// the values is no number, jointNumbers returns the index of its column and the reason.
func jointNumbers(columns []Column, values []float64) (x []float64, column int, fault Fault) {
	n := 1
	for n < len(columns) && columns[n].Joined {
		n++
	}
	x = values[:n]
	for j := range x {
		v, fault := columns[j].number(x[j])
		if fault != None {
			return nil, j, fault
		}
		if x[j] != v { // v replaces a missing number
			x = slices.Clone(x)
			x[j] = v
		}
	}
	return x, -1, None
}

// number returns the value v of a numeric column, or the mean for a missing value.
func (c *Column) number(v float64) (float64, Fault) {
	switch {
	case v != v && !c.Fill:
		return v, Missing
	case v != v:
		return c.Mean, None
	case math.Abs(v) > math.MaxFloat64:
		return v, NotFinite
	}
	return v, None
}

// feature returns the index of the feature that is 1 for the level with index v, or −1 if the level
// has no feature.
func (c *Column) feature(v float64) (int, Fault) {
	n, lacks := len(c.Levels), v != v
	switch {
	case lacks && c.MissingLevel:
		return c.Width() - 1, None
	case lacks && !c.Fill:
		return -1, Missing
	case c.Other && v == float64(n):
		return n - c.numOmitted(), None
	case lacks || v == float64(n):
		if c.Unknown {
			return -1, None
		}
		return -1, NoLevel
	case !(v >= 0 && v < float64(n)) || v != math.Floor(v):
		return -1, NoIndex
	}
	return int(v) - c.numOmitted(), None // −1 for a baseline without a feature
}
