// Package args makes the errors of arguments, and checks data and numbers.
package args

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// Bad returns the error of the argument with the name arg. The message begins with the name of the
// library. Long texts in the message are cut by Short.
func Bad(arg string, why error, remedy, format string, args ...any) error {
	return fmt.Errorf("cvgm: %w", &qpdiff.ArgError{Arg: arg, Why: why, Problem: Sprintf(format, args...), Remedy: remedy})
}

// Sprintf is fmt.Sprintf, but it applies Short to texts among the arguments.
func Sprintf(format string, args ...any) string {
	args = slices.Clone(args)
	for k, v := range args {
		switch v := v.(type) {
		case string:
			args[k] = Short(v)
		case []string:
			all := slices.Clone(v)
			for i, text := range all {
				all[i] = Short(text)
			}
			args[k] = all
		}
	}
	return fmt.Sprintf(format, args...)
}

// mostBytes is the length of the longest text that Short leaves as it is.
const mostBytes = 400

// Short cuts a text for a message if the text is long. For example, a field of a file is long if
// its closing quote is missing.
func Short(text string) string {
	if len(text) <= mostBytes {
		return text
	}
	end := mostBytes / 2
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:end], len(text))
}

// placedError is an error whose message begins with a place.
type placedError struct {
	error
	place string
}

func (e *placedError) Error() string {
	return "cvgm: " + e.place + ": " + strings.TrimPrefix(e.error.Error(), "cvgm: ")
}

func (e *placedError) Unwrap() error { return e.error }

// At returns err with a place in its message, after the name of the library. Sprintf formats the
// place.
func At(err error, format string, args ...any) error {
	return &placedError{err, Sprintf(format, args...)}
}

// BadIf returns the error of the argument with the name arg if isBad is true, and otherwise nil.
func BadIf(isBad bool, arg string, why error, remedy, format string, args ...any) error {
	if !isBad {
		return nil
	}
	return Bad(arg, why, remedy, format, args...)
}

// TooFew returns an error for a list of n entries if n is below minCount, and otherwise nil. An
// empty list has an error of its own kind.
func TooFew(arg string, n, minCount int, remedy string) error {
	if n == 0 && minCount > 0 {
		return Bad(arg, qpdiff.ErrEmpty, remedy, "are empty")
	}
	return BadIf(n < minCount, arg, qpdiff.ErrShape, remedy, "are %d where %d are needed", n, minCount)
}

// CheckFinite returns an error for the first entry of v that is not finite.
func CheckFinite(arg string, v []float64, remedy string) error {
	for i, x := range v {
		if !Finite(x) {
			return Bad(arg, qpdiff.ErrNotFinite, remedy, "holds %v at index %d", x, i)
		}
	}
	return nil
}

// First returns the first error that is not nil.
func First(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Data returns an error for the first field or value of d that cannot be used. If the parameter
// prepared is true, it does not check the values of X, because NaN is then a missing value.
func Data(arg string, d learn.Data, prepared bool) error {
	if prepared {
		if err := Stored(d); err != nil {
			return err
		}
		if x := d.Dense(); x != nil && !x.IsEmpty() {
			d.X = mat.NewDense(x.RawMatrix().Rows, 1, nil)
		}
	}
	if err := d.Check(); err != nil && d.Rows == nil {
		return fmt.Errorf("cvgm: %w", err)
	}
	return BadIf(d.Rows != nil, arg, qpdiff.ErrDomain, "select rows of X and Y, or give Weights", "has Rows, which only learners use")
}

// Stored is CheckStored of d, with the package's name in the error.
func Stored(d learn.Data) error {
	if err := d.CheckStored(); err != nil {
		return fmt.Errorf("cvgm: %w", err)
	}
	return nil
}

// Finite reports whether v is neither NaN nor infinite.
func Finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// AllFinite reports whether all of v are finite.
func AllFinite(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return !Finite(x) })
}
