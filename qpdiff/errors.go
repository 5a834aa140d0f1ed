package qpdiff

import (
	"cmp"
	"fmt"
	"strings"

	"cvgm/qpdiff/internal/check"
)

// The kinds of failure, for errors.Is.
var (
	ErrShape             = check.ErrShape
	ErrEmpty             = check.ErrEmpty // an argument is nil, missing or empty; such errors match ErrShape too
	ErrNotFinite         = check.ErrNotFinite
	ErrDomain            = check.ErrDomain
	ErrIllPosed          = check.ErrIllPosed
	ErrInfeasible        = check.ErrInfeasible
	ErrUnbounded         = check.ErrUnbounded
	ErrNonconvex         = check.ErrNonconvex
	ErrIterationLimit    = check.ErrIterationLimit
	ErrNotFitted         = check.ErrNotFitted
	ErrNotDifferentiable = check.ErrNotDifferentiable
	// ErrTooLarge is the kind of a problem that needs more bytes than MaxBytes allows. The error is
	// returned before these bytes are allocated.
	ErrTooLarge = check.ErrTooLarge
)

// ArgError is the error of an argument that cannot be used. Arg is the argument's name, as in the
// documentation. Problem describes the failure, with the offending value and its place. Remedy is
// the advice to the caller. Why is the error's kind, one of the Err… values; errors.Is finds it.
// The packages above this one also use ArgError.
type ArgError = check.ArgError

// An Input is the name of an argument on which a solution depends, as in the documentation: "λ1",
// "X", "y", "G", "alpha[3]".
type Input string

// Weak lists weakly active rows and coordinates. A row or coordinate is weakly active if it is
// active with a zero multiplier, so that the solution has a kink. Both lists are in ascending
// order.
type Weak struct {
	// Rows lists inequalities of a program, or training rows at the kink of their loss.
	// Inequalities are numbered as in [Solution.Lambda]; inequalities of a [ConvexProgram] are
	// numbered from 0.
	Rows []int
	// Coords are entries of θ at the kink of their penalty.
	Coords []int
}

// Empty reports whether nothing is weakly active.
func (w Weak) Empty() bool { return len(w.Rows) == 0 && len(w.Coords) == 0 }

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

// NotDifferentiableError is returned if a derivative does not exist at the solution, and gives the
// reason. It matches ErrNotDifferentiable.
//
// Strict complementarity is tested first. The field Weak lists the rows and coordinates at which
// strict complementarity fails. If Weak is empty, the implicit function theorem fails for another
// reason: the cotangent, or the input's ∇g, has a part outside the required range. Residual is then
// the size of this part, divided by the size of the whole vector.
type NotDifferentiableError struct {
	Inputs   []Input // the requested inputs without a derivative; empty if no input has a derivative
	Weak     Weak
	Residual float64
	Remedy   string
}

func (e *NotDifferentiableError) Error() string {
	inputs := make([]string, len(e.Inputs))
	for i, input := range e.Inputs {
		inputs[i] = string(input)
	}
	input := cmp.Or(strings.Join(inputs, ", "), "any input")
	why := fmt.Sprintf("the range condition fails with relative residual %.3g", e.Residual)
	if !e.Weak.Empty() {
		why = "strict complementarity fails at " + e.Weak.String()
	}
	if e.Remedy != "" {
		why += ": " + e.Remedy
	}
	return "qpdiff: the solution is not differentiable in " + input + " here: " + why
}

// Unwrap makes errors.Is(err, ErrNotDifferentiable) hold.
func (e *NotDifferentiableError) Unwrap() error { return ErrNotDifferentiable }

// named prefixes an error with the name of the package.
func named(err error) error { return check.Named("qpdiff", err) }

// joinedError holds several errors and formats them on one line. An error from [errors.Join] would
// have one line for each.
type joinedError []error

// joinErrors returns one error that holds all errs, or nil if errs is empty.
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
