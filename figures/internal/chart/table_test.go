package chart

import (
	"math"
	"testing"

	"cvgm/cvgm/experiment"
)

// A number whose shown digits would all be zero is written with a power of ten, and so is its
// interval.
func TestNumbersKeepADigit(t *testing.T) {
	for _, c := range []struct {
		e    experiment.Estimate
		want string
	}{
		{experiment.Estimate{Mean: 3.42e-9, Margin: 4.7e-9, N: 10}, "3.4e-09 ± 4.7e-09"},
		{experiment.Estimate{Mean: 3.42e-9, Margin: 3.42e-9, N: 10, Scale: experiment.Positive}, "3.4e-09 (1.3e-09 to 9.3e-09)"},
		{experiment.Estimate{Mean: 3.42e-9, Margin: 6e-8, N: 10, Scale: experiment.Positive}, "0.0000 (0.0000 to 0.1423)"},
		{experiment.Estimate{N: 1000, Scale: experiment.Share}, "0.0000 (0.0000 to 0.0038)"},
		{experiment.Estimate{Mean: 3.42e-9, Margin: .0047, N: 10}, "0.0000 ± 0.0047"},
		{experiment.Estimate{Mean: -.25, Margin: .125, N: 10}, "-0.2500 ± 0.1250"},
		{experiment.Estimate{Mean: 6.6e-10, N: 1}, "6.6e-10"},
		{experiment.Estimate{Mean: 6.6e-10, Margin: math.NaN(), N: 1}, "6.6e-10"},
		{experiment.Estimate{Mean: 2e9, Margin: math.NaN(), N: 1}, "2.0e+09"},
		{experiment.Estimate{Mean: 2e9, Margin: 1, N: 10}, "2000000000.0000 ± 1.0000"},
		{experiment.Estimate{Margin: math.NaN(), N: 1}, "0.0000"},
	} {
		if got := Estimated(c.e, 4).text(" ± "); got != c.want {
			t.Errorf("%+v: %q, want %q", c.e, got, c.want)
		}
	}
}
