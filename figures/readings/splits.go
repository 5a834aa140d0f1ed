package readings

import (
	"cmp"
	"fmt"
	"slices"

	"cvgm/cvgm/experiment/splits"
)

// covering returns the first setting of the sweep over K in which balanced splits validate every
// example. It returns nil if there is none.
func covering(r *splits.Result) *splits.Setting {
	n := r.Params.Train
	k := slices.IndexFunc(r.ByK, func(s splits.Setting) bool { return s.K*(n-int(s.P*float64(n))) >= n })
	if k < 0 {
		return nil
	}
	return &r.ByK[k]
}

// told lists settings whose error is larger (sign 1) or smaller (sign -1) than at the sweep's last
// setting, on the same data.
func told(sweep []splits.Setting, sign int, name func(splits.Setting) string) string {
	var all []string
	for _, s := range sweep {
		if s.MinusLast.Difference.Sign() == sign {
			all = append(all, name(s))
		}
	}
	return Listed(all)
}

// Splits is the answer on the splits.
func Splits(r *splits.Result) string {
	s, last := covering(r), r.ByK[len(r.ByK)-1]
	if s == nil {
		return ""
	}
	return fmt.Sprintf("**With K = %d, the first at which they validate every example, balanced splits leave %.2f ± %.2f of the standard deviation of the CV loss, and %.2f ± %.2f of that of its gradient.** The CV loss then scatters by %.3f. Uniform splits scatter by %.3f with K = %d.",
		s.K, s.LossShare.Mean, s.LossShare.Margin, s.GradientShare.Mean, s.GradientShare.Margin, s.Balanced.LossSD.Mean, last.Uniform.LossSD.Mean, last.K)
}

// Gap is the answer on when to stop.
func Gap(r *splits.GapResult) string {
	most := r.Problems[len(r.Problems)-1]
	return fmt.Sprintf("**With %d hyperparameters the risk at the end of a search exceeds the CV loss by %.3f ± %.3f.** Where a nested estimate stops the search, the risk %s.", most.Hyperparameters, most.Gap.Mean, most.Gap.Margin, Described(most.StoppedMinusEnd.Difference, 3))
}

// SplitsCurves reads the figure.
func SplitsCurves(r *splits.Result) string {
	scatter := func(of func(splits.Setting) splits.Measure) float64 {
		return slices.MinFunc(r.ByP, func(a, b splits.Setting) int { return cmp.Compare(of(a).LossSD.Mean, of(b).LossSD.Mean) }).P
	}
	last := func(sweep []splits.Setting) splits.Setting { return sweep[len(sweep)-1] }
	worse := told(r.RingsByK, 1, func(s splits.Setting) string { return fmt.Sprint(s.K) })
	better := told(r.RingsByP, -1, func(s splits.Setting) string { return fmt.Sprint(s.P) })
	balanced := ""
	if s := covering(r); s != nil {
		balanced = fmt.Sprintf(" With K = %d the test loss of balanced splits, against uniform ones on the same data, %s.", s.K, Described(s.BalancedMinusUniform.Difference, 3))
	}
	return paragraphs(
		fmt.Sprintf("*Left:* the lower a line, the less the CV loss depends on the draw of the splits. Of the fractions p, uniform splits scatter least at p = %g and balanced ones at p = %g. With a larger p uniform splits have fewer validation rows, and validate some examples more often than others.",
			scatter(func(s splits.Setting) splits.Measure { return s.Uniform }), scatter(func(s splits.Setting) splits.Measure { return s.Balanced })),
		"*Middle:* a line near the dotted one is a choice of K or p that does not matter for the elastic net chosen."+balanced,
		fmt.Sprintf("*Right:* the rings have many hyperparameters, and only uniform splits are drawn. On the same data, more test examples are misclassified than with K = %d for these K: %s. Fewer are misclassified than with p = %g for these p: %s.",
			last(r.RingsByK).K, worse, last(r.RingsByP).P, better))
}

// GapCurves reads the figure, and lists the gaps.
func GapCurves(r *splits.GapResult) string {
	var ends list
	for _, g := range r.Problems {
		turn := slices.Index(g.Risk, slices.Min(g.Risk)) + 1
		ends.item("Hyperparameters: %d. At the end the risk exceeds the CV loss by %.3f ± %.3f. The mean risk is lowest after %d of %d evaluations. Where the monitor stops, the risk %s.",
			g.Hyperparameters, g.Gap.Mean, g.Gap.Margin, turn, len(g.Risk), Described(g.StoppedMinusEnd.Difference, 3))
	}
	return paragraphs(
		"The distance from the dashed line of the CV loss up to the solid line of the risk is the gap, which the lower row shows. Where the solid line turns up while the dashed one falls, the search over-fits the validation rows. The dotted line of the nested estimate is of use where it turns with the solid one. Its height does not matter.",
		ends.String())
}

// SplitsStepsTable names the searches with the lowest CV loss and the lowest test error.
func SplitsStepsTable(r *splits.Result) string {
	by := func(of func(splits.Step) float64) string {
		s := slices.MinFunc(r.RingsByStep, func(a, b splits.Step) int { return cmp.Compare(of(a), of(b)) })
		name := fmt.Sprintf("the step size %g", s.StepSize)
		if s.StepSize == 0 {
			name = "the quasi-Newton method"
		}
		return fmt.Sprintf("%s (CV loss %.3f, test error %.3f)", name, s.CV.Mean, s.Test.Mean)
	}
	return fmt.Sprintf("The lowest CV loss is that of %s. The lowest test error is that of %s.", by(func(s splits.Step) float64 { return s.CV.Mean }), by(func(s splits.Step) float64 { return s.Test.Mean }))
}
