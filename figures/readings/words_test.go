package readings

import (
	"math"
	"testing"

	"cvgm/cvgm/experiment"
)

func TestDescribed(t *testing.T) {
	for want, e := range map[string]experiment.Estimate{
		"is higher by 0.30 ± 0.10":                 {Mean: .3, Margin: .1, N: 2},
		"is lower by 0.30 ± 0.10":                  {Mean: -.3, Margin: .1, N: 2},
		"shows no clear difference (−0.30 ± 0.40)": {Mean: -.3, Margin: .4, N: 2},
		"shows no clear difference (+0.00 ± 0.00)": {N: 2},
		"differs by +0.30 on one data set":         {Mean: .3, Margin: math.NaN(), N: 1},
		"is not measured":                          {Mean: math.NaN(), Margin: math.NaN()},
	} {
		if got := Described(e, 2); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
	for want, e := range map[string]experiment.Estimate{
		"+0.30 ± 0.10": {Mean: .3, Margin: .1, N: 2},
		"−0.30":        {Mean: -.3, Margin: math.NaN(), N: 1},
		"not measured": {Mean: math.NaN(), Margin: math.NaN()},
	} {
		if got := Signed(e, 2); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
	if got := Described(Points(experiment.Estimate{Mean: .012, Margin: .003, N: 5}), 1); got != "is higher by 1.2 ± 0.3" {
		t.Errorf("in points: %q", got)
	}
	if a, b := Listed(nil), Listed([]string{"x", "y"}); a != "none" || b != "x; y" {
		t.Errorf("lists: %q and %q", a, b)
	}
}
