package check

import (
	"errors"
	"fmt"
)

// The kinds of failure, for errors.Is.
var (
	ErrShape             = errors.New("wrong shape")
	ErrNotFinite         = errors.New("not finite")
	ErrDomain            = errors.New("outside its domain")
	ErrIllPosed          = errors.New("problem has no unique solution")
	ErrInfeasible        = errors.New("infeasible")
	ErrUnbounded         = errors.New("unbounded")
	ErrNonconvex         = errors.New("not convex")
	ErrIterationLimit    = errors.New("iteration limit reached")
	ErrNotFitted         = errors.New("no successful fit yet")
	ErrNotDifferentiable = errors.New("not differentiable here")
	ErrTooLarge          = errors.New("too large")
)

// ErrEmpty is the kind of a nil or empty argument. It matches ErrShape.
var ErrEmpty error = emptyError{}

type emptyError struct{}

func (emptyError) Error() string { return "missing or empty" }

func (emptyError) Is(target error) bool { return target == ErrShape }

// ArgError names an argument that cannot be used, what is wrong with it and what
// to do about it. It wraps one of the Err… kinds. The packages above this one
// report their bad arguments with it too.
type ArgError struct {
	Arg     string // the argument, as the documentation spells it
	Why     error  // one of the Err… kinds
	Problem string // what was found, with the offending value and its place
	Remedy  string // what to do
}

func (e *ArgError) Error() string {
	return fmt.Sprintf("%s %s (%v): %s", e.Arg, e.Problem, e.Why, e.Remedy)
}

func (e *ArgError) Unwrap() error { return e.Why }

func ArgErrorf(arg string, why error, remedy, format string, args ...any) *ArgError {
	return &ArgError{Arg: arg, Why: why, Problem: fmt.Sprintf(format, args...), Remedy: remedy}
}
