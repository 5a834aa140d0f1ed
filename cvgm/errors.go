package cvgm

import (
	"fmt"

	"cvgm/qpdiff"
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

// checkPlain reports the first thing in d that cannot be used where each row counts once.
func checkPlain(arg string, d qpdiff.Data) error {
	return firstError(badIf(d.Rows != nil || d.Weights != nil, arg, qpdiff.ErrDomain, "select and repeat rows of X and Y instead", "has Rows or Weights, which only learners use"), d.Check())
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
