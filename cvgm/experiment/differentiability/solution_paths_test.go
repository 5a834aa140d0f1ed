package differentiability

import (
	"math"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/floats"
)

// The integral of the slopes along a solution path equals the change of the solution.
func TestSolutionPaths(t *testing.T) {
	serial.Test(t)
	p := DefaultSolutionPaths()
	p.Train, p.PathPoints = 16, 401 // kinks are close to each other, and closer with more examples
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	if r.SolverGap > 1e-10 || r.SolverSlopeGap > 1e-10 {
		t.Errorf("the program differs from the machine by %g, its derivatives by %g", r.SolverGap, r.SolverSlopeGap)
	}
	for _, s := range r.Paths {
		for k, name := range s.Entries {
			var integral, variation float64
			for i := range len(s.At) - 1 {
				integral += (s.Slope[k][i] + s.Slope[k][i+1]) / 2 * (s.At[i+1] - s.At[i])
				variation += math.Abs(s.Value[k][i+1] - s.Value[k][i])
			}
			if rise := s.Value[k][len(s.At)-1] - s.Value[k][0]; math.Abs(integral-rise) > .1*variation {
				t.Errorf("%s in %s, %s: the slopes add up to %g, the values rise by %g", s.Name, s.Hyper, name, integral, rise)
			}
		}
		if strings.HasPrefix(s.Name, "dual") {
			for k := range s.Entries {
				if floats.Min(s.Value[k]) < -1e-9 || floats.Max(s.Value[k]) > 1+1e-9 {
					t.Errorf("multiplier %d leaves [0, 1]", k)
				}
			}
		}
	}
}
