package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/splits"
)

func (all *measurements) splits(r *splits.SplitsResult) {
	byK := func(k int) splits.SplitsSetting {
		return closest(r.ByK, func(s splits.SplitsSetting) float64 { return math.Abs(float64(s.K - k)) })
	}
	byP := func(p float64) splits.SplitsSetting {
		return closest(r.ByP, func(s splits.SplitsSetting) float64 { return math.Abs(s.P - p) })
	}
	many := byK(120)
	all.add(saysBalanced, Measurement{Text: fmt.Sprintf("standard deviation of the gradient with balanced splits over that with uniform ones, K = %d", many.K),
		Setting: joined(gradientSetting(r.Params), "here the ratio of each data set, then the mean"),
		Ours:    many.GradientShare,
		Control: &Control{Text: "uniform splits in their place", Ours: once(1)},
		Remark:  "The second 𝒱ⱼ is a slip. " + erratum}, below(1))
	all.add(saysBalanced, Measurement{Text: "test loss of the tuned model with balanced splits less that with uniform ones", Setting: splitsTestSetting(r.Params, fmt.Sprintf("K = %d, p = %.6g", many.K, r.Params.P)), Ours: many.BalancedMinusUniform.Difference, Aside: true,
		Control: &Control{Text: "uniform splits in their place", Ours: once(0)}}, below(0))
	first, last := r.ByK[0], r.ByK[len(r.ByK)-1]
	rises := func(from, to splits.SplitsSetting) experiment.Estimate {
		return experiment.Difference(to.Uniform.GradientSD, from.Uniform.GradientSD)
	}
	all.add(saysLargerK, Measurement{Text: fmt.Sprintf("standard deviation of the gradient at K = %d less that at K = %d", last.K, first.K), Setting: gradientSetting(r.Params), Ours: rises(first, last),
		Control: &Control{Text: "from the larger K to the smaller one", Ours: rises(last, first)}}, below(0))
	few := byK(15)
	all.add(saysKAndP, Measurement{Text: fmt.Sprintf("test loss at K = %d less that at K = %d, elastic net", few.K, last.K), Setting: splitsTestSetting(r.Params, fmt.Sprintf("p = %.6g", r.Params.P)), Ours: few.MinusLast.Difference,
		Control: &Control{Text: fmt.Sprintf("K = %d", first.K), Ours: first.MinusLast.Difference},
		Remark:  fmt.Sprintf("The paper's range is 16 to 128. K = %d stands for its lower end.", few.K)}, littleOf(first.MinusLast.Difference, fmt.Sprintf("K = %d", first.K)))
	rings, one := closest(r.RingsByK, func(s splits.SplitsSetting) float64 { return math.Abs(float64(s.K - few.K)) }), r.RingsByK[0]
	all.add(saysKAndP, Measurement{Text: fmt.Sprintf("test error at K = %d less that at K = %d, rings", rings.K, r.RingsByK[len(r.RingsByK)-1].K), Setting: splitsRingsSetting(r.Params), Ours: rings.MinusLast.Difference,
		Control: &Control{Text: fmt.Sprintf("K = %d", one.K), Ours: one.MinusLast.Difference},
		Remark:  fmt.Sprintf("The paper's range is 16 to 128. K = %d stands for its lower end.", rings.K)}, littleOf(one.MinusLast.Difference, fmt.Sprintf("K = %d", one.K)))
	half, least := byP(.65), r.ByP[0]
	all.add(saysKAndP, Measurement{Text: fmt.Sprintf("test loss at p = %g less that at p = %g, elastic net", half.P, r.ByP[len(r.ByP)-1].P), Setting: splitsTestSetting(r.Params, fmt.Sprintf("K = %d", r.Params.K)), Ours: half.MinusLast.Difference,
		Control: &Control{Text: fmt.Sprintf("p = %g", least.P), Ours: least.MinusLast.Difference}}, littleOf(least.MinusLast.Difference, fmt.Sprintf("p = %g", least.P)))
}

// closest returns the setting of least distance.
func closest(settings []splits.SplitsSetting, distance func(splits.SplitsSetting) float64) splits.SplitsSetting {
	return slices.MinFunc(settings, func(a, b splits.SplitsSetting) int { return cmp.Compare(distance(a), distance(b)) })
}
