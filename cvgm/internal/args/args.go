// Package args makes the errors of arguments, and checks data and numbers.
package args

import (
	"fmt"
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// Bad returns the error of the named argument.
func Bad(arg string, why error, remedy, format string, args ...any) error {
	return &qpdiff.ArgError{Arg: arg, Why: why, Problem: fmt.Sprintf(format, args...), Remedy: remedy}
}

// BadIf returns the error of a bad argument where it is one.
func BadIf(bad bool, arg string, why error, remedy, format string, args ...any) error {
	if !bad {
		return nil
	}
	return Bad(arg, why, remedy, format, args...)
}

// CheckFinite reports the first of v that is not finite.
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

// Data reports the first thing in d that cannot be used. The values of X are not
// checked where they are prepared: NaN is a missing one.
func Data(arg string, d learn.Data, prepared bool) error {
	if x := d.Dense(); prepared && x != nil && !x.IsEmpty() {
		d.X = mat.NewDense(x.RawMatrix().Rows, 1, nil)
	}
	return First(BadIf(d.Rows != nil, arg, qpdiff.ErrDomain, "select rows of X and Y, or give Weights", "has Rows, which only learners use"), d.Check())
}

// Finite reports whether v is neither NaN nor infinite.
func Finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// AllFinite reports whether all of v are finite.
func AllFinite(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return !Finite(x) })
}
