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
	ErrEmpty             = check.ErrEmpty // of an argument that is nil, missing or empty; it matches ErrShape too
	ErrNotFinite         = check.ErrNotFinite
	ErrDomain            = check.ErrDomain
	ErrIllPosed          = check.ErrIllPosed
	ErrInfeasible        = check.ErrInfeasible
	ErrUnbounded         = check.ErrUnbounded
	ErrNonconvex         = check.ErrNonconvex
	ErrIterationLimit    = check.ErrIterationLimit
	ErrNotFitted         = check.ErrNotFitted
	ErrNotDifferentiable = check.ErrNotDifferentiable
	// ErrTooLarge is the kind of a problem that needs more bytes than MaxBytes allows. It is
	// detected before they are allocated.
	ErrTooLarge = check.ErrTooLarge
)

// ArgError describes an argument that cannot be used: its name as in the documentation (Arg), the
// problem with the offending value and its place (Problem), and the remedy (Remedy). It wraps one
// of the Err… kinds (Why). The packages above this one use it for bad arguments, too.
type ArgError = check.ArgError

// An Input names an argument on which a solution depends, as in the documentation: "λ1", "X", "y",
// "G", "alpha[3]".
type Input string

// Weak names rows and coordinates that are weakly active: active with a zero multiplier, so that
// the solution has a kink. Its lists ascend.
type Weak struct {
	// Rows are inequalities of a program, numbered as in [Solution.Lambda] (for
	// [ConvexProgram], from 0), or training rows at the kink of their loss.
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

// NotDifferentiableError is the error of a derivative that does not exist at the solution, with
// the reason. It matches ErrNotDifferentiable.
//
// Strict complementarity is tested first: it fails at the rows and coordinates in Weak. If Weak is
// empty, the cotangent or the input's ∇g lies outside the range that the implicit function theorem
// requires. Residual is its relative distance.
type NotDifferentiableError struct {
	Inputs   []Input // the requested inputs without a derivative; none: no input has one
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
		why += ": " + e.Remedy
	}
	return "qpdiff: the solution is not differentiable in " + in + " here: " + why
}

// Unwrap makes errors.Is(err, ErrNotDifferentiable) hold.
func (e *NotDifferentiableError) Unwrap() error { return ErrNotDifferentiable }

// named puts the package in front of an error of its arguments.
func named(err error) error { return check.Named("qpdiff", err) }

// joinedError is several errors as one, on one line. [errors.Join] would put each on its own line.
type joinedError []error

// joinErrors returns the errors as one, nil if the list is empty.
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
