package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/splits"

	"gonum.org/v1/gonum/floats"
)

func (all *measurements) splits(r *splits.Result) {
	byK := func(k int) splits.Setting {
		return closest(r.ByK, func(s splits.Setting) float64 { return math.Abs(float64(s.K - k)) })
	}
	byP := func(p float64) splits.Setting {
		return closest(r.ByP, func(s splits.Setting) float64 { return math.Abs(s.P - p) })
	}
	many := byK(120)
	tuned := func(fixed string) string {
		return describe(netSetting, freshSetting, r.Params.RegressionData, fixed, pick(r.Params, "Budget", "StartLambda1", "StartLambda2", "MinLambda1", "MinLambda2"), "splits drawn anew at each setting")
	}
	gradient := describe(netSetting, freshSetting, r.Params.RegressionData, pick(r.Params, "P"), "gradient of the CV loss at "+pick(r.Params, "At"),
		"standard deviation of a data set: root of the summed variances of both components over "+pick(r.Params, "Draws"))
	all.add(saysBalanced, Measurement{Text: fmt.Sprintf("standard deviation of the gradient with balanced splits over that with random ones, K = %d", many.K),
		Brief:   "SD of the gradient, balanced over random splits",
		Setting: describe(gradient, ratioSetting),
		Ours:    many.GradientShare,
		Control: &Control{Text: "random splits in their place", Ours: once(1)},
		Remark:  "The second 𝒱ⱼ is a slip. " + erratumRemark}, belowRule(1, ofWhole))
	all.add(saysBalanced, Measurement{Text: "test loss of the tuned model, balanced minus random splits", Setting: tuned(fmt.Sprintf("K = %d, ", many.K) + pick(r.Params, "P")), Ours: many.BalancedMinusUniform.Difference, Aside: true,
		Control: &Control{Text: "random splits in their place", Ours: once(0)}}, belowRule(0, ofSquaredLoss))
	first, last := r.ByK[0], r.ByK[len(r.ByK)-1]
	rises := func(from, to splits.Setting) experiment.Estimate {
		return experiment.RatioOf(floats.DivTo(make([]float64, len(to.Uniform.GradientSDs)), to.Uniform.GradientSDs, from.Uniform.GradientSDs))
	}
	all.add(saysLargerK, Measurement{Text: fmt.Sprintf("standard deviation of the gradient at K = %d over that at K = %d", last.K, first.K), Brief: fmt.Sprintf("SD of the gradient, K = %d over K = %d", last.K, first.K), Setting: describe(gradient, ratioSetting), Ours: rises(first, last),
		Control: &Control{Text: "from the larger K to the smaller one", Ours: rises(last, first)}}, belowRule(1, ofWhole))
	// The excess of a setting is its test loss minus the test loss of the last setting. The first
	// setting is known to be bad. The function overQuarter returns the excess of the setting s,
	// minus a quarter of the excess of the first setting.
	overQuarter := func(s splits.Setting, all []splits.Setting) *experiment.Estimate {
		last := all[len(all)-1].Uniform.TestLosses
		return paired(experiment.Less(s.Uniform.TestLosses, last), experiment.Less(all[0].Uniform.TestLosses, last))
	}
	few := byK(15)
	all.add(saysKAndP, Measurement{Text: fmt.Sprintf("test loss at K = %d minus test loss at K = %d, elastic net", few.K, last.K), Brief: fmt.Sprintf("test loss, K = %d minus K = %d", few.K, last.K), Setting: tuned(pick(r.Params, "P")), Ours: few.MinusLast.Difference, Beyond: overQuarter(few, r.ByK),
		Control: &Control{Text: fmt.Sprintf("K = %d", first.K), Ours: first.MinusLast.Difference},
		Remark:  fmt.Sprintf("The paper's range is 16 to 128. K = %d stands for its lower end.", few.K)}, littleOf(first.MinusLast.Difference, fmt.Sprintf("K = %d", first.K)))
	rings, one := closest(r.RingsByK, func(s splits.Setting) float64 { return math.Abs(float64(s.K - few.K)) }), r.RingsByK[0]
	all.add(saysKAndP, Measurement{Text: fmt.Sprintf("test error at K = %d minus test error at K = %d, rings", rings.K, r.RingsByK[len(r.RingsByK)-1].K), Brief: fmt.Sprintf("test error, K = %d minus K = %d", rings.K, r.RingsByK[len(r.RingsByK)-1].K), Setting: describe(r.Params.Rings.RingsData, pick(r.Params.Rings, "Train", "Test", "C", "Hidden"), "CV loss: logistic loss of random splits, drawn anew at each K, "+pick(r.Params.Rings, "P"), gradients[kernels.Full], pick(r.Params.Rings, "Steps", "StepSize")), Ours: rings.MinusLast.Difference, Beyond: overQuarter(rings, r.RingsByK),
		Control: &Control{Text: fmt.Sprintf("K = %d", one.K), Ours: one.MinusLast.Difference},
		Remark:  fmt.Sprintf("The paper's range is 16 to 128. K = %d stands for its lower end.", rings.K)}, littleOf(one.MinusLast.Difference, fmt.Sprintf("K = %d", one.K)))
	half, least := byP(.65), r.ByP[0]
	all.add(saysKAndP, Measurement{Text: fmt.Sprintf("test loss at p = %g minus test loss at p = %g, elastic net", half.P, r.ByP[len(r.ByP)-1].P), Brief: fmt.Sprintf("test loss, p = %g minus p = %g", half.P, r.ByP[len(r.ByP)-1].P), Setting: tuned(pick(r.Params, "K")), Ours: half.MinusLast.Difference, Beyond: overQuarter(half, r.ByP),
		Control: &Control{Text: fmt.Sprintf("p = %g", least.P), Ours: least.MinusLast.Difference}}, littleOf(least.MinusLast.Difference, fmt.Sprintf("p = %g", least.P)))
}

// closest returns the setting with the smallest distance.
func closest(settings []splits.Setting, distance func(splits.Setting) float64) splits.Setting {
	return slices.MinFunc(settings, func(a, b splits.Setting) int { return cmp.Compare(distance(a), distance(b)) })
}
