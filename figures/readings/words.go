package readings

import (
	"fmt"
	"math"
	"strings"

	"cvgm/cvgm/experiment"
)

// Described describes a difference by its 95 % confidence interval, with the given number of
// digits. The text is "is higher by 0.21 ± 0.08" or "is lower by …". If the interval contains 0,
// the text is "shows no clear difference (…)". One repetition has no interval, and the text is
// "differs by … on one data set". Without repetitions, the text is "is not measured".
func Described(e experiment.Estimate, digits int) string {
	switch {
	case e.N == 0:
		return "is not measured"
	case math.IsNaN(e.Margin):
		return fmt.Sprintf("differs by %s on one data set", Signed(e, digits))
	case e.Sign() > 0:
		return fmt.Sprintf("is higher by %.*f ± %.*f", digits, e.Mean, digits, e.Margin)
	case e.Sign() < 0:
		return fmt.Sprintf("is lower by %.*f ± %.*f", digits, -e.Mean, digits, e.Margin)
	}
	return fmt.Sprintf("shows no clear difference (%s)", Signed(e, digits))
}

// Signed returns a number with its sign and its 95 % confidence interval: "−0.21 ± 0.08". A single
// repetition has no interval. Without repetitions Signed returns "not measured".
func Signed(e experiment.Estimate, digits int) string {
	switch {
	case e.N == 0:
		return "not measured"
	case math.IsNaN(e.Margin):
		return signed(e.Mean, digits)
	}
	return fmt.Sprintf("%s ± %.*f", signed(e.Mean, digits), digits, e.Margin)
}

// Points returns a difference of shares in percentage points.
func Points(e experiment.Estimate) experiment.Estimate {
	return e.Times(100)
}

// Listed joins names with semicolons, because names may contain commas. It returns "none" if there
// are no names.
func Listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, "; ")
}

// signed returns a number with its sign, with the given number of digits.
func signed(v float64, digits int) string {
	return strings.Replace(fmt.Sprintf("%+.*f", digits, v), "-", "−", 1)
}
