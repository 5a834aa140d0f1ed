package readings

import (
	"cmp"
	"fmt"
	"slices"

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

// clearErrors lists the settings of a sweep whose errors clearly differ, on the same data, from the
// errors of the last setting. It lists larger errors if sign is 1, and smaller errors if sign is
// −1.
func clearErrors(sweep []splits.Setting, sign int, name func(splits.Setting) string) string {
	var all []string
	for _, s := range sweep {
		if s.MinusLast.Difference.Sign() == sign {
			all = append(all, name(s))
		}
	}
	return Listed(all)
}

// Splits returns the answer on splits.
func Splits(r *splits.Result) string {
	s, last := covering(r), r.ByK[len(r.ByK)-1]
	if s == nil {
		return ""
	}
	return fmt.Sprintf("**With K = %d, the smallest K at which balanced splits validate every example, the standard deviation of their CV loss is %.2f ± %.2f times the standard deviation with uniform splits. For the gradient of the CV loss the ratio is %.2f ± %.2f.** The standard deviation with balanced splits is then %.3f. Uniform splits reach %.3f with K = %d.",
		s.K, s.LossShare.Mean, s.LossShare.Margin, s.GradientShare.Mean, s.GradientShare.Margin, s.Balanced.LossSD.Mean, last.Uniform.LossSD.Mean, last.K)
}

// Gap returns the answer on when to stop a search.
func Gap(r *splits.GapResult) string {
	most := r.Problems[len(r.Problems)-1]
	return fmt.Sprintf("**With %d hyperparameters the risk at the end of a search exceeds the CV loss by %.3f ± %.3f.** If a nested estimate stops the search, the risk %s.", most.Hyperparameters, most.Gap.Mean, most.Gap.Margin, Described(most.StoppedMinusEnd.Difference, 3))
}

// SplitsCurves explains the figure.
func SplitsCurves(r *splits.Result) string {
	scatter := func(of func(splits.Setting) splits.Measure) float64 {
		return slices.MinFunc(r.ByP, func(a, b splits.Setting) int { return cmp.Compare(of(a).LossSD.Mean, of(b).LossSD.Mean) }).P
	}
	last := func(sweep []splits.Setting) splits.Setting { return sweep[len(sweep)-1] }
	worse := clearErrors(r.RingsByK, 1, func(s splits.Setting) string { return fmt.Sprint(s.K) })
	better := clearErrors(r.RingsByP, -1, func(s splits.Setting) string { return fmt.Sprint(s.P) })
	balanced := ""
	if s := covering(r); s != nil {
		balanced = fmt.Sprintf(" With K = %d the test loss of balanced splits, against uniform ones on the same data, %s. %s", s.K, Weighed(s.BalancedMinusUniform.Difference, 3, claims.SquaredLossMatters), pooled(claims.BalancedClaim))
	}
	return paragraphs(
		fmt.Sprintf("*Left:* the lower a line, the less the CV loss depends on the draw of the splits. Of the fractions p, uniform splits scatter least at p = %g and balanced ones at p = %g. With a larger p uniform splits have fewer validation rows, and validate some examples more often than others.",
			scatter(func(s splits.Setting) splits.Measure { return s.Uniform }), scatter(func(s splits.Setting) splits.Measure { return s.Balanced })),
		"*Middle:* where a line lies near the dotted one, the choice of K or p does not matter for the test loss of the elastic net."+balanced,
		fmt.Sprintf("*Right:* the rings have many hyperparameters, and only uniform splits are drawn. On the same data, the test error is clearly higher than with K = %d for these K: %s. It is clearly lower than with p = %g for these p: %s.",
			last(r.RingsByK).K, worse, last(r.RingsByP).P, better))
}

// GapCurves explains the figure, and lists the gaps.
func GapCurves(r *splits.GapResult) string {
	var ends list
	for _, g := range r.Problems {
		turn := slices.Index(g.Risk, slices.Min(g.Risk)) + 1
		ends.item("Hyperparameters: %d. At the end the risk exceeds the CV loss by %.3f ± %.3f. The mean risk is lowest after %d of %d evaluations. Against the end, the risk where the monitor stops %s.",
			g.Hyperparameters, g.Gap.Mean, g.Gap.Margin, turn, len(g.Risk), Described(g.StoppedMinusEnd.Difference, 3))
	}
	return paragraphs(
		"The gap is the distance from the CV loss (dashed) up to the risk (solid). The lower row shows it. Where the solid line turns up while the dashed one falls, the search over-fits the validation rows. The nested estimate (dotted) helps if it turns where the solid line turns. Its height does not matter. Where the short line at the right edge is below the end of the risk, stopping by this estimate lowers the mean risk.",
		ends.String())
}

// SplitsStepsTable names the search with the lowest CV loss, and the search with the lowest test
// error.
func SplitsStepsTable(r *splits.Result) string {
	by := func(of func(splits.Step) float64) string {
		s := slices.MinFunc(r.RingsByStep, func(a, b splits.Step) int { return cmp.Compare(of(a), of(b)) })
		name := fmt.Sprintf("the step size %g", s.StepSize)
		if s.StepSize == 0 {
			name = "the quasi-Newton method"
		}
		return fmt.Sprintf("%s (CV loss %.3f, test error %.3f)", name, s.CV.Mean, s.Test.Mean)
	}
	return fmt.Sprintf("The lowest CV loss belongs to %s, the lowest test error to %s.", by(func(s splits.Step) float64 { return s.CV.Mean }), by(func(s splits.Step) float64 { return s.Test.Mean }))
}
