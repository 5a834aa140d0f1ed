package readings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/splits"
)

// covering returns, from the sweep over K, the first setting for which balanced splits validate
// every example. If there is no such setting, it returns nil.
func covering(r *splits.Result) *splits.Setting {
	n := r.Params.Train
	k := slices.IndexFunc(r.ByK, func(s splits.Setting) bool { return s.K*(n-int(s.P*float64(n))) >= n })
	if k < 0 {
		return nil
	}
	return &r.ByK[k]
}

// spans returns the settings of a sweep that satisfy the condition, in words such as "K from 1 to 8,
// and 30", "K = 30" or "no K".
func spans(name string, sweep []splits.Setting, value func(splits.Setting) any, is func(splits.Setting) bool) string {
	text := ""
	for i := 0; i < len(sweep); i++ {
		from := i
		for i < len(sweep) && is(sweep[i]) {
			i++
		}
		if i == from {
			continue
		}
		switch {
		case text != "":
			text += ", and "
		case i == from+1:
			text = name + " = "
		default:
			text = name + " "
		}
		if i > from+1 {
			text += fmt.Sprintf("from %v to ", value(sweep[from]))
		}
		text += fmt.Sprint(value(sweep[i-1]))
	}
	return cmp.Or(text, "no "+name)
}

// spansOfK and spansOfP are spans for sweeps over K and over p.
func spansOfK(sweep []splits.Setting, is func(splits.Setting) bool) string {
	return spans("K", sweep, func(s splits.Setting) any { return s.K }, is)
}

func spansOfP(sweep []splits.Setting, is func(splits.Setting) bool) string {
	return spans("p", sweep, func(s splits.Setting) any { return s.P }, is)
}

// errorSign returns a condition for spans: with random splits, the test loss of a setting clearly
// differs from the test loss of the last setting, and the difference has the given sign.
func errorSign(sign int) func(splits.Setting) bool {
	return func(s splits.Setting) bool { return s.MinusLast.Difference.Sign() == sign }
}

// balancedSign is errorSign for balanced splits, against random splits at the given setting.
func balancedSign(last splits.Setting, sign int) func(splits.Setting) bool {
	return func(s splits.Setting) bool {
		return experiment.Compare(s.Balanced.TestLosses, last.Uniform.TestLosses).Difference.Sign() == sign
	}
}

// Splits returns the answer on splits: which kind, how many, and how large.
func Splits(r *splits.Result) string {
	s := covering(r)
	if s == nil {
		return ""
	}
	last := r.ByK[len(r.ByK)-1]
	answer := "Balanced and random splits show no clear difference with K = %d, the smallest K at which balanced ones validate all %d examples."
	switch low, high := s.LossShare.Interval(.95); {
	case high < 1:
		answer = "Descend balanced splits, with K = %d, the smallest K at which they validate all %d examples."
	case low > 1:
		answer = "Descend random splits: they scatter less than balanced ones with K = %d, the smallest K at which balanced ones validate all %d examples."
	}
	return paragraphs(
		fmt.Sprintf("**"+answer+"** If the splits are drawn anew, the CV loss of %d balanced splits scatters %.2f ± %.2f times as much as the CV loss of %d random ones, and its gradient %.2f ± %.2f times. The standard deviation of the CV loss is then %.3f. Random splits reach %.3f with K = %d.",
			s.K, r.Params.Train, s.K, s.LossShare.Mean, s.LossShare.Margin, s.K, s.GradientShare.Mean, s.GradientShare.Margin, s.Balanced.LossSD.Mean, last.Uniform.LossSD.Mean, last.K),
		fmt.Sprintf("Against %d random splits, the test loss of %d balanced ones %s. %s", s.K, s.K, Weighed(s.BalancedMinusUniform.Difference, 3, claims.SquaredLossMatters), pooled(claims.BalancedClaim)),
		fractions(r))
}

// fractions names the fractions p that are clearly better than the last one on the rings, and not
// clearly worse on the elastic net.
func fractions(r *splits.Result) string {
	if len(r.RingsByP) == 0 {
		return ""
	}
	last := r.RingsByP[len(r.RingsByP)-1].P
	good := spansOfP(r.RingsByP, func(s splits.Setting) bool {
		k := slices.IndexFunc(r.ByP, func(net splits.Setting) bool { return net.P == s.P })
		return k >= 0 && errorSign(-1)(s) && !errorSign(1)(r.ByP[k])
	})
	return fmt.Sprintf("On the rings only random splits are measured. With them, %s has a clearly lower test error than p = %g, and no clearly higher test loss on the elastic net.", good, last)
}

// Gap returns the answer on when to stop a search. It groups the numbers of hyperparameters by the
// effect of a nested estimate that stops the search: a lower risk, a higher risk, or no clear
// difference.
func Gap(r *splits.GapResult) string {
	var texts []string
	for _, c := range []struct {
		sign   int
		advice string
	}{
		{-1, "Stop by a nested estimate with %s hyperparameters"},
		{1, "Search to the end with %s hyperparameters"},
		{0, "With %s hyperparameters nothing is decided"},
	} {
		var numbers, changes []string
		for _, g := range r.Problems {
			if e := g.StoppedMinusEnd; e.Difference.Sign() == c.sign {
				numbers = append(numbers, fmt.Sprint(g.Hyperparameters))
				changes = append(changes, fmt.Sprintf("by %s (lower on %.0f %% of the data sets)", Signed(e.Difference, 3), 100*e.Wins))
			}
		}
		if len(numbers) > 1 {
			for k, n := range numbers {
				changes[k] = "with " + n + " " + changes[k]
			}
		}
		if numbers != nil {
			texts = append(texts, fmt.Sprintf("**"+c.advice+":** stopping changes the risk %s.", inARow(numbers), inARow(changes)))
		}
	}
	return strings.Join(texts, " ")
}

// inARow joins texts without commas: "1, 2 and 3".
func inARow(texts []string) string {
	if last := len(texts) - 1; last > 0 {
		return strings.Join(texts[:last], ", ") + " and " + texts[last]
	}
	return strings.Join(texts, "")
}

// SplitsTable explains the ratios in the table.
func SplitsTable(r *splits.Result) string {
	worth := ""
	if s := covering(r); s != nil && s.LossShare.Mean > 0 {
		ratio := s.LossShare.Mean
		worth = fmt.Sprintf("With random splits the standard deviation of the CV loss falls as $1/\\sqrt K$. So one of %d balanced splits is worth 1/%.2f² = %.2g random ones, and costs as much as one of them. ", s.K, ratio, 1/(ratio*ratio))
	}
	return worth + "A steadier CV loss need not lower the test loss: beyond some K the remaining scatter no longer changes the model that is chosen."
}

// SplitsCurves explains the figure.
func SplitsCurves(r *splits.Result) string {
	scatter := func(of func(splits.Setting) splits.Measure) float64 {
		return slices.MinFunc(r.ByP, func(a, b splits.Setting) int { return cmp.Compare(of(a).LossSD.Mean, of(b).LossSD.Mean) }).P
	}
	last := func(sweep []splits.Setting) splits.Setting { return sweep[len(sweep)-1] }
	// against compares a sweep with random splits at its last setting.
	against := func(sweep []splits.Setting, words func([]splits.Setting, func(splits.Setting) bool) string) string {
		sides := func(kind string, is func(sign int) func(splits.Setting) bool) string {
			return fmt.Sprintf("%s splits, clearly higher for %s, clearly lower for %s", kind, words(sweep, is(1)), words(sweep, is(-1)))
		}
		return sides("random", errorSign) + "; " + sides("balanced", func(sign int) func(splits.Setting) bool { return balancedSign(last(sweep), sign) }) + "."
	}
	return paragraphs(
		fmt.Sprintf("*Left:* the lower a line, the less the CV loss depends on the draw of the splits. Of the fractions p, random splits scatter least at p = %g and balanced ones at p = %g. With a larger p random splits have fewer validation rows, and validate some examples more often than others.",
			scatter(func(s splits.Setting) splits.Measure { return s.Uniform }), scatter(func(s splits.Setting) splits.Measure { return s.Balanced })),
		fmt.Sprintf("*Middle:* the test loss of the elastic net. Against %d random splits: %s With K = %d, against random splits with p = %g: %s",
			last(r.ByK).K, against(r.ByK, spansOfK), last(r.ByP).K, last(r.ByP).P, against(r.ByP, spansOfP)),
		fmt.Sprintf("*Right:* the rings have many hyperparameters, and only random splits are drawn. Against K = %d, the test error is clearly higher for %s. With K = %d, against p = %g, it is clearly lower for %s.",
			last(r.RingsByK).K, spansOfK(r.RingsByK, errorSign(1)), last(r.RingsByP).K, last(r.RingsByP).P, spansOfP(r.RingsByP, errorSign(-1))))
}

// GapCurves explains the figure, and lists the gaps.
func GapCurves(r *splits.GapResult) string {
	var ends list
	lowest := func(v []float64) int { return slices.Index(v, slices.Min(v)) + 1 }
	for _, g := range r.Problems {
		ends.item("Hyperparameters: %d. At the end the risk exceeds the CV loss by %.3f ± %.3f. Of %d evaluations, the mean risk is lowest after %d and the mean nested estimate after %d. Against the end, the risk where the monitor stops %s.",
			g.Hyperparameters, g.Gap.Mean, g.Gap.Margin, len(g.Risk), lowest(g.Risk), lowest(g.Nested), Described(g.StoppedMinusEnd.Difference, 3))
	}
	return paragraphs(
		"The gap is the distance from the CV loss (dashed) up to the risk (solid). The lower row shows it. After the lowest mean risk the search over-fits the validation rows: the CV loss falls further, and the risk rises. The nested estimate (dotted) should turn where the risk turns; its height does not matter.",
		ends.String())
}

// SplitsStepsTable compares constant steps with the quasi-Newton method. It names the search with
// the lowest CV loss, and the search with the lowest test error.
func SplitsStepsTable(r *splits.Result) string {
	by := func(of func(splits.Step) float64) (splits.Step, string) {
		s := slices.MinFunc(r.RingsByStep, func(a, b splits.Step) int { return cmp.Compare(of(a), of(b)) })
		name := fmt.Sprintf("the step size %g", s.StepSize)
		if s.StepSize == 0 {
			name = "the quasi-Newton method"
		}
		return s, fmt.Sprintf("%s (CV loss %.3f, test error %.3f)", name, s.CV.Mean, s.Test.Mean)
	}
	var near []string // constant steps with no clearly higher CV loss
	for _, s := range r.RingsByStep {
		if s.StepSize > 0 && s.MinusLast.Difference.Sign() <= 0 {
			near = append(near, fmt.Sprint(s.StepSize))
		}
	}
	down := "All constant steps end with a clearly higher CV loss than the quasi-Newton method."
	if near != nil {
		down = fmt.Sprintf("The CV loss is not clearly higher than with the quasi-Newton method for these constant steps: %s.", inARow(near))
	}
	low, lowName := by(func(s splits.Step) float64 { return s.CV.Mean })
	right, rightName := by(func(s splits.Step) float64 { return s.Test.Mean })
	so := "Their test errors are not clearly different, so over-fitting is not decided."
	switch {
	case low.StepSize == right.StepSize:
		so = "So the lowest CV loss costs no test error here."
	case low.Test.Mean-low.Test.Margin > right.Test.Mean+right.Test.Margin:
		so = "So the search with the lowest CV loss over-fits the validation rows."
	}
	return fmt.Sprintf("%s The lowest CV loss belongs to %s, the lowest test error to %s. %s", down, lowName, rightName, so)
}
