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
	for want, e := range map[string]experiment.Estimate{ // 0.2 matters
		"is higher by 0.30 ± 0.05, which matters":         {Mean: .3, Margin: .05, N: 100},
		"is lower by 0.30 ± 0.05, which matters":          {Mean: -.3, Margin: .05, N: 100},
		"is higher by 0.10 ± 0.05, too little to matter":  {Mean: .1, Margin: .05, N: 100},
		"is lower by 0.18 ± 0.05, which may matter":       {Mean: -.18, Margin: .05, N: 100},
		"shows no difference that matters (+0.01 ± 0.05)": {Mean: .01, Margin: .05, N: 100},
		"shows no clear difference (+0.10 ± 0.40)":        {Mean: .1, Margin: .4, N: 100},
		"differs by +0.30 on one data set":                {Mean: .3, Margin: math.NaN(), N: 1},
	} {
		if got := Weighed(e, 2, .2); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
	// The larger of the standard errors, .1, times 2·1.645 is .33.
	small, large := experiment.Estimate{Margin: 1.96 * .05, N: 1e6}, experiment.Estimate{Margin: 1.96 * .1, N: 1e6}
	if got := CouldShow(.2, small, large); got != "A difference of 0.2 or more matters. These repetitions would have shown a difference of 0.33." {
		t.Error(got)
	}
	if got := CouldShow(.2, experiment.Estimate{Margin: math.NaN(), N: 1}); got != "A difference of 0.2 or more matters." {
		t.Error(got)
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
