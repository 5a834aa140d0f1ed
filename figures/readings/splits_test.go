package readings

import (
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/splits"
)

// The settings that satisfy a condition are read as ranges.
func TestSpans(t *testing.T) {
	sweep := []splits.Setting{{K: 1}, {K: 2}, {K: 4}, {K: 8}, {K: 16}}
	for want, ks := range map[string]string{
		"no K": "", "K = 4": "4", "K from 1 to 4": "124", "K from 1 to 2, and 8": "128", "K = 1, and from 4 to 16": "14816", "K from 1 to 16": "124816",
	} {
		if got := spansOfK(sweep, func(s splits.Setting) bool {
			return strings.HasPrefix(ks, "1") && s.K == 1 || s.K > 1 && s.K < 10 && strings.ContainsRune(ks, rune('0'+s.K)) || s.K == 16 && strings.HasSuffix(ks, "16")
		}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// splitsResult returns a sweep in which balanced splits scatter ratio times as much as random ones,
// and a sweep over p whose first value differs from the last by net and by rings.
func splitsResult(ratio, net, rings float64) *splits.Result {
	at := func(p, mean float64) splits.Setting {
		return splits.Setting{K: 15, P: p, MinusLast: comparisonOf(mean)}
	}
	share := experiment.Estimate{Mean: ratio, Margin: .1, N: 99, Scale: experiment.Positive}
	r := &splits.Result{
		ByK:      []splits.Setting{{K: 2, P: .9}, {K: 10, P: .9, LossShare: share, GradientShare: share, BalancedMinusUniform: comparisonOf(-.5)}, {K: 40, P: .9}},
		ByP:      []splits.Setting{at(.5, net), at(.9, 0)},
		RingsByP: []splits.Setting{at(.5, rings), at(.9, 0)}}
	for k := range r.ByK {
		r.ByK[k].Uniform.TestLosses, r.ByK[k].Balanced.TestLosses = []float64{1, 2}, []float64{1, 2}
	}
	r.Params.Train = 10
	return r
}

func TestAnswersOnSplits(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Splits(splitsResult(.25, 0, -1)), "**Descend balanced splits, with K = 10, the smallest K at which they validate all 10 examples.**"},
		{Splits(splitsResult(2, 0, -1)), "**Descend random splits: they scatter less than balanced ones with K = 10,"},
		{Splits(splitsResult(1, 0, -1)), "**Balanced and random splits show no clear difference with K = 10,"},
		{Splits(splitsResult(1, 0, -1)), "With them, p = 0.5 has a clearly lower test error than p = 0.9, and"},
		{Splits(splitsResult(1, 1, -1)), "With them, no p has"}, // its test loss on the elastic net is higher
		{Splits(splitsResult(1, 0, 1)), "With them, no p has"},
		{SplitsTable(splitsResult(.25, 0, 0)), "one of 10 balanced splits is worth 1/0.25² = 16 random ones"},
		{Gap(gapResult(-.2)), "**Stop by a nested estimate with 2 hyperparameters:** stopping changes the risk by −0.200 ± 0.001 (lower on 25 % of the data sets)."},
		{Gap(gapResult(.2)), "**Search to the end with 2 hyperparameters:** stopping"},
		{Gap(gapResult(0, -.1, 0, 0)), "**Stop by a nested estimate with 3 hyperparameters:** stopping changes the risk by −0.100 ± 0.001 (lower on 25 % of the data sets). **With 2, 4 and 5 hyperparameters nothing is decided:** stopping changes the risk with 2 by +0.000 ± 0.001 (lower"},
		{SplitsStepsTable(stepsResult(.1, .3)), "All constant steps end with a clearly higher CV loss than the quasi-Newton method."},
		{SplitsStepsTable(stepsResult(.1, .3)), "So the search with the lowest CV loss over-fits the validation rows."},
		{SplitsStepsTable(stepsResult(.1, .2005)), "so over-fitting is not decided."},
		{SplitsStepsTable(stepsResult(.1, .1)), "So the lowest CV loss costs no test error here."},
		{SplitsStepsTable(stepsResult(0, .3)), "not clearly higher than with the quasi-Newton method for these constant steps: 0.5."},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%q lacks %q", c.got, c.want)
		}
	}
	for sign, want := range map[float64]string{1: "higher for p = 0.5, clearly lower for no p; ", -1: "higher for no p, clearly lower for p = 0.5; "} {
		want = "With K = 15, against random splits with p = 0.9: random splits, clearly " + want + "balanced splits, clearly higher for no p, clearly lower for no p."
		if got := SplitsCurves(curvesResult(sign)); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

// gapResult returns problems with 2, 3, … hyperparameters, at which a stopped search changes the
// risk by the given means.
func gapResult(changes ...float64) *splits.GapResult {
	r := new(splits.GapResult)
	for k, change := range changes {
		c := comparisonOf(change)
		c.Wins = .25
		r.Problems = append(r.Problems, splits.GapProblem{Hyperparameters: k + 2, StoppedMinusEnd: c})
	}
	return r
}

// stepsResult returns a constant step and the quasi-Newton method. The CV loss of the constant step
// is higher by cv, and the method has the given test error.
func stepsResult(cv, test float64) *splits.Result {
	e := func(mean float64) experiment.Estimate { return experiment.Estimate{Mean: mean, Margin: .001, N: 9} }
	return &splits.Result{RingsByStep: []splits.Step{
		{StepSize: .5, CV: e(.5 + cv), Test: e(.2), MinusLast: comparisonOf(cv)}, {CV: e(.5), Test: e(test)}}}
}

// curvesResult returns sweeps in which the test loss at the first p differs with the given sign.
func curvesResult(sign float64) *splits.Result {
	r := splitsResult(1, sign, -1)
	for k := range r.ByP {
		r.ByP[k].Uniform.TestLosses, r.ByP[k].Balanced.TestLosses = []float64{1, 2}, []float64{1, 2}
	}
	r.RingsByK = r.ByK
	return r
}
