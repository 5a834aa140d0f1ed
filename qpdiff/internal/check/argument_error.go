package check

import (
	"errors"
	"fmt"
	"strings"
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

// ErrEmpty is the kind of an error about a nil or empty argument. It matches ErrShape.
var ErrEmpty error = emptyError{}

type emptyError struct{}

func (emptyError) Error() string { return "missing or empty" }

func (emptyError) Is(target error) bool { return target == ErrShape }

// ArgError is the error for an argument that cannot be used. Its fields are the name of the
// argument, the problem, a remedy, and the kind of the error. The kind is one of the Err… values,
// and errors.Is finds it. The packages that import qpdiff also return ArgErrors.
type ArgError struct {
	Arg     string // the name of the argument in the documentation
	Why     error  // one of the Err… kinds
	Problem string // the problem, with the offending value and its place
	Remedy  string // advice to the caller
}

func (e *ArgError) Error() string {
	if e.Why == ErrEmpty { // the problem contains the text of ErrEmpty
		return fmt.Sprintf("%s %s: %s", e.Arg, e.Problem, e.Remedy)
	}
	return fmt.Sprintf("%s %s (%v): %s", e.Arg, e.Problem, e.Why, e.Remedy)
}

func (e *ArgError) Unwrap() error { return e.Why }

func ArgErrorf(arg string, why error, remedy, format string, args ...any) *ArgError {
	return &ArgError{Arg: arg, Why: why, Problem: fmt.Sprintf(format, args...), Remedy: remedy}
}

// namedError is an error with a prefix: the name of the package, or of the package and the type.
type namedError struct {
	error
	name string
}

func (e *namedError) Error() string {
	return e.name + ": " + strings.TrimPrefix(e.error.Error(), "qpdiff: ")
}

func (e *namedError) Unwrap() error { return e.error }

// Named puts name before the text of err, in place of the prefix "qpdiff" if err has it. If err is
// nil, Named returns nil.
func Named(name string, err error) error {
	if err == nil {
		return nil
	}
	return &namedError{err, name}
}
