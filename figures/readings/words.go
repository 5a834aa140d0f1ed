package readings

import (
	"fmt"
	"math"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
)

// Described describes a difference in words that depend on its 95 % confidence interval. The
// numbers have the given number of digits. The text is "is higher by 0.21 ± 0.08" or "is lower by
// …". If the interval contains 0, the text is "shows no clear difference (…)". A single repetition
// has no interval, and the text is "differs by … on one data set". Without repetitions, the text is
// "is not measured".
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

// Weighed describes a difference as Described does. It also states whether the difference reaches
// the smallest relevant difference. The table of claims judges differences in the same way.
func Weighed(e experiment.Estimate, digits int, relevant float64) string {
	text, j := Described(e, digits), claims.Weigh(e, relevant)
	switch {
	case j.Sign == "": // no interval
		return text
	case j.Sign != claims.Even:
		return text + map[claims.Size]string{claims.Matters: ", which matters", claims.Negligible: ", too little to matter", claims.Unclear: ", which may matter"}[j.Size]
	case j.Size == claims.Negligible:
		return fmt.Sprintf("shows no difference that matters (%s)", Signed(e, digits))
	}
	return text
}

// CouldShow returns sentences with two numbers: the smallest relevant difference, and the smallest
// difference that the repetitions distinguish from 0. The second number is the largest value for
// any of the given estimates.
func CouldShow(relevant float64, of ...experiment.Estimate) string {
	tells := 0.
	for _, e := range of {
		tells = max(tells, claims.Telling*e.SE())
	}
	text := fmt.Sprintf("A difference of %g or more matters.", relevant)
	if tells > 0 {
		text += fmt.Sprintf(" These repetitions would have shown a difference of %.2g.", tells)
	}
	return text
}

// pooled returns a sentence that follows a difference. It refers to the claim that judges this
// difference from all recorded draws, by the number of the claim.
func pooled(number int) string {
	return fmt.Sprintf("[Claim %d](../figures/out/00_start/claims.md) has the verdict from all recorded draws.", number)
}

// Limits lists what the findings rest on.
func Limits(of []claims.Claim) string {
	l := claims.LimitsOf(of)
	return paragraphs("## Limits", fmt.Sprintf(`* **Synthetic data.** All findings except the first two rest on the paper's three populations: one linear model with normal noise, two rings, XOR. On other data a difference may have the other sign.
* **One author's choices.** Rules and smallest differences are ours. Of these verdicts, %d use a smallest difference. Halving or doubling all smallest differences changes the words or verdicts of these: %s. Seeds are numbered, so anyone can redo the draws and apply other rules.
* **One machine.** The claims on time, in the folded table, rest on one processor with two cores.
* **The paper's sizes.** The data sets are as small as in the paper. The splits, the start or the box are not the paper's in these findings or a part of their words: %s.`,
		len(l.Chosen), Listed(l.Moved), Listed(l.NotThePapers)))
}

// Signed returns a number with its sign and its 95 % confidence interval: "−0.21 ± 0.08". For a
// single repetition, it returns the number without an interval. Without repetitions, it returns
// "not measured".
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

// Listed joins names with semicolons, because a name may contain a comma. It returns "none" if
// there are no names.
func Listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, "; ")
}

// signed returns a number with its sign. The number has the given number of digits.
func signed(v float64, digits int) string {
	return strings.Replace(fmt.Sprintf("%+.*f", digits, v), "-", "−", 1)
}
