package elasticnet

import (
	"math"
	"testing"

	"cvgm/cvgm/experiment"
)

// The two ways to draw the labels agree in quantities without a unit. A second call draws other
// coefficients.
func TestRegressionPrinted(t *testing.T) {
	p := DefaultRegressionPrinted()
	p.Seeds, p.Steps = 3, 2
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	second, printed := r.Tests[TestSecondCall], r.Tests[TestPrintedCall]
	for i := range p.Seeds {
		unit := p.Scale * p.Scale
		if d := printed.LeastSquares[i]/unit - second.LeastSquares[i]; math.Abs(d) > 1e-9*second.LeastSquares[i] {
			t.Errorf("least squares: off by %g", d)
		}
		if d := printed.Coefficients[i] - second.Coefficients[i]; math.Abs(d) > 1e-9*second.Coefficients[i] {
			t.Errorf("coefficients: off by %g", d)
		}
		for _, k := range []int{TestOtherRows, TestFreshRows} {
			if c := r.Tests[k].Coefficients[i]; math.Abs(c-1) > .2 {
				t.Errorf("%s: the true coefficients lose %g times the noise", r.Tests[k].Name, c)
			}
		}
		if second.Coefficients[i] < 1.3 {
			t.Errorf("a second call has the same coefficients: %g", second.Coefficients[i])
		}
	}
}
