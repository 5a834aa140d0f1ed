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
	// ErrTooLarge is the kind of error for a problem that needs more bytes than MaxBytes allows. The
	// error is returned before these bytes are allocated.
	ErrTooLarge = check.ErrTooLarge
)

// ArgError is the error for an argument that cannot be used. The field Arg is the argument's name,
// as in the documentation. Problem describes the failure, with the offending value and its place.
// Remedy advises the caller how to correct the argument. The field Why is the kind of the error,
// one of the Err… values; errors.Is finds it. The packages that import qpdiff also return
// ArgErrors.
type ArgError = check.ArgError

// An Input is the name of an argument on which a solution depends: "λ1", "X", "y", "G" or
// "alpha[3]", for example. The documentation uses the same names.
type Input string

// Weak lists weakly active rows and coordinates. A row or coordinate is weakly active if it is
// active and its multiplier is zero. The solution then has a kink. Both lists are in ascending
// order.
type Weak struct {
	// Rows lists inequalities of a program, or training rows at the kink of their loss. The
	// inequalities of a [QP] are numbered as in [Solution.Lambda], and the inequalities of a
	// [ConvexProgram] are numbered from 0.
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

// NotDifferentiableError is the error for a derivative that does not exist at the solution. Its
// fields give the reason. The error matches ErrNotDifferentiable.
//
// Strict complementarity is tested first. The field Weak lists the rows and coordinates at which
// strict complementarity fails. If Weak is empty, the implicit function theorem fails for another
// reason: a vector lies partly outside the range of the KKT matrix. This vector is the cotangent,
// or the derivative of the KKT conditions with respect to the input. Residual is then the size of
// the part outside the range, divided by the size of the whole vector.
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

// joinedError holds several errors and formats them on one line, whereas an error from
// [errors.Join] has one line for each.
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
