package qpdiff

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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

func argErrorf(arg string, why error, remedy, format string, args ...any) *ArgError {
	return &ArgError{Arg: arg, Why: why, Problem: fmt.Sprintf(format, args...), Remedy: remedy}
}

// An Input names what a solution depends on, as the documentation spells it:
// "lambda1", "X", "y", "G", "alpha[3]".
type Input string

// Weak names what is weakly active at a solution: active with a zero multiplier, so
// that the solution has a kink there. Its lists are ascending.
type Weak struct {
	// Rows are inequalities of a program (for [ConvexProgram], numbered from 0), or
	// training rows at the kink of their loss.
	Rows []int
	// Coords are entries of θ at the kink of their penalty.
	Coords []int
}

// Empty reports whether nothing is weakly active.
func (w Weak) Empty() bool { return len(w.Rows) == 0 && len(w.Coords) == 0 }

// named returns a copy of w whose row i is the i-th of rows.
func (w Weak) named(rows []int) Weak {
	named := Weak{Coords: slices.Clone(w.Coords)}
	for _, i := range w.Rows {
		named.Rows = append(named.Rows, rows[i])
	}
	return named
}

func (w Weak) String() string {
	var parts []string
	if len(w.Rows) > 0 {
		parts = append(parts, fmt.Sprintf("rows %v", w.Rows))
	}
	if len(w.Coords) > 0 {
		parts = append(parts, fmt.Sprintf("coordinates %v", w.Coords))
	}
	return strings.Join(parts, " and ")
}

// NotDifferentiableError is the error of a derivative that does not exist at the
// solution, with the reason. It matches ErrNotDifferentiable.
//
// Strict complementarity is tested first: it fails at what Weak names. Where Weak is
// empty, the cotangent or the input's ∇g lies outside the range that the implicit
// function theorem needs, by Residual (relative).
type NotDifferentiableError struct {
	Inputs   []Input // those asked for; none: whatever input is asked for
	Weak     Weak
	Residual float64
	Remedy   string
}

func (e *NotDifferentiableError) Error() string {
	inputs := make([]string, len(e.Inputs))
	for i, in := range e.Inputs {
		inputs[i] = string(in)
	}
	in := cmp.Or(strings.Join(inputs, ", "), "any input")
	why := fmt.Sprintf("the range condition fails with relative residual %.3g", e.Residual)
	if !e.Weak.Empty() {
		why = "strict complementarity fails at " + e.Weak.String()
	}
	if e.Remedy != "" {
		why += "; " + e.Remedy
	}
	return "qpdiff: the solution is not differentiable in " + in + " here: " + why
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

// errNotFitted is the error of a VJP or JVP before the first successful Fit
// after Load, after Reset, and after a Fit that failed.
var errNotFitted = fmt.Errorf("qpdiff: %w: call Load and Fit first", ErrNotFitted)
