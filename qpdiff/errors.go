package qpdiff

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
)

// ArgError says which argument cannot be used, what is wrong with it and what
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

func argErrorf(arg string, why error, remedy, format string, args ...any) *ArgError {
	return &ArgError{Arg: arg, Why: why, Problem: fmt.Sprintf(format, args...), Remedy: remedy}
}

// NotDifferentiableError says that the derivative asked for does not exist at
// the solution, and why. It matches ErrNotDifferentiable.
//
// Strict complementarity is tested first: Weak names the constraints (or
// coordinates) that are active with a zero multiplier, where the solution has
// a kink. Where Weak is empty, the cotangent or the input's ∇g lies outside
// the range that the implicit function theorem needs, by Residual (relative).
type NotDifferentiableError struct {
	Input    string // the input asked for: "lambda1", "X", "G", …
	Weak     []int  // weakly active rows or coordinates, ascending
	Residual float64
	Remedy   string
}

func (e *NotDifferentiableError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "qpdiff: the solution is not differentiable in %s here: ", e.Input)
	if len(e.Weak) > 0 {
		fmt.Fprintf(&b, "strict complementarity fails at %v", e.Weak)
	} else {
		fmt.Fprintf(&b, "the range condition fails with relative residual %.3g", e.Residual)
	}
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

// Unwrap makes errors.Is(err, ErrNotDifferentiable) hold.
func (e *NotDifferentiableError) Unwrap() error { return ErrNotDifferentiable }

// joinedError is several errors as one, on one line: [errors.Join] puts each on
// a line of its own.
type joinedError []error

// joinErrors returns the errors as one, and nil where there are none.
func joinErrors(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return joinedError(errs)
}

func (e joinedError) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "; ")
}

// Unwrap lets errors.Is and errors.As see each of the errors.
func (e joinedError) Unwrap() []error { return e }

// errNotFitted is what a VJP or JVP answers before the first successful Fit
// after Load, after Reset, and after a Fit that failed.
var errNotFitted = fmt.Errorf("qpdiff: %w: call Load and Fit first", ErrNotFitted)
