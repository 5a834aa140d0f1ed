package cvgm

import (
	"fmt"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

func badArg(arg string, why error, remedy, format string, args ...any) error {
	return &qpdiff.ArgError{Arg: arg, Why: why, Problem: fmt.Sprintf(format, args...), Remedy: remedy}
}

// badIf returns the error of a bad argument where it is one.
func badIf(bad bool, arg string, why error, remedy, format string, args ...any) error {
	if !bad {
		return nil
	}
	return badArg(arg, why, remedy, format, args...)
}

// overflow is the error of an α at which something is not finite.
func overflow(format string, args ...any) error {
	return badArg("alpha", qpdiff.ErrNotFinite, "take α closer to where it is finite, or scale the data", "is out of range: "+format, args...)
}

// A SplitError is the error of one split: of several that fail, of the lowest.
type SplitError struct {
	Split int
	Err   error
}

func (e *SplitError) Error() string { return fmt.Sprintf("split %d: %v", e.Split, e.Err) }

func (e *SplitError) Unwrap() error { return e.Err }

// checkData reports the first thing in d that cannot be used. The values of X are not
// checked where they are prepared: NaN is a missing one.
func checkData(arg string, d learn.Data, prepared bool) error {
	if prepared && d.X != nil && !d.X.IsEmpty() {
		d.X = mat.NewDense(d.X.RawMatrix().Rows, 1, nil)
	}
	return firstError(badIf(d.Rows != nil, arg, qpdiff.ErrDomain, "select rows of X and Y, or give Weights", "has Rows, which only learners use"), d.Check())
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
