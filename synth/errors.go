package synth

import (
	"fmt"
	"math"
)

// ArgError describes an argument that cannot be used, the problem with it, and the remedy.
type ArgError struct {
	Arg     string // name of the argument, as in the documentation
	Problem string // the problem, with the value of the argument
	Remedy  string // the remedy
}

func (e *ArgError) Error() string {
	return fmt.Sprintf("synth: %s %s: %s", e.Arg, e.Problem, e.Remedy)
}

// inRange returns an ArgError unless low ≤ v ≤ high. In particular, it returns an ArgError if v is
// NaN.
func inRange(arg string, v, low, high float64) error {
	if v >= low && v <= high {
		return nil
	}
	return argErrorf(arg, fmt.Sprintf("give a value between %v and %v", low, high), "is %v", v)
}

func argErrorf(arg, remedy, format string, args ...any) *ArgError {
	return &ArgError{Arg: arg, Problem: fmt.Sprintf(format, args...), Remedy: remedy}
}

// maxSize bounds the number of examples, the number of features, and their product. 2³¹ numbers
// take 16 GiB.
const maxSize = math.MaxInt32

// checkSize returns an ArgError unless 1 ≤ n ≤ maxSize.
func checkSize(arg string, n int) error {
	return inRange(arg, float64(n), 1, maxSize)
}
