package cvgmtest_test

import (
	"fmt"
	"math"

	"cvgm/cvgm/cvgmtest"
)

// quartic is the loss (p − y)⁴, with a factor for its slope.
type quartic float64

func (q quartic) Eval(p, y float64) (loss, slope float64) {
	return math.Pow(p-y, 4), float64(q) * math.Pow(p-y, 3)
}

// report counts failures. A test passes its *testing.T.
type report int

func (r *report) Helper()               {}
func (r *report) Errorf(string, ...any) { *r++ }
func (r *report) Fatalf(string, ...any) { *r++ }

// Loss compares a loss's slope with difference quotients. It reports each of the six pairs of
// prediction and label for the quartic with a wrong factor.
func Example() {
	for _, loss := range []quartic{4, 3} {
		var failures report
		cvgmtest.Loss(&failures, loss, []float64{-1, .5, 2}, []float64{0, 1})
		fmt.Println(loss, failures)
	}
	// Output:
	// 4 0
	// 3 6
}
