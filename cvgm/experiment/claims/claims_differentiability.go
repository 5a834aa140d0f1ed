package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/differentiability"
	"cvgm/cvgm/experiment/kernels"
)

func (all *measurements) unrolled(r *differentiability.UnrolledResult) {
	if len(r.Precision) == 0 {
		return
	}
	largest := func(of func(differentiability.UnrolledPrecision) float64) experiment.Estimate {
		e := once(0)
		for _, m := range r.Precision {
			e.Mean = math.Max(e.Mean, of(m))
		}
		return e
	}
	digitsLost := func(rounding float64) rule {
		lost := aboveRule(math.Sqrt(rounding), computedDifference)
		lost.text += ": half of the digits are lost"
		return lost
	}
	steps := slices.Max(r.Params.UnrolledSteps)
	precision := describe(ridgeSetting, fmt.Sprintf("as many rows as features, %d", r.Params.Features), rawSetting, "XᵀX/N has eigenvalues from 1 down to 1/condition at equal ratios, and λ2 = 1/condition", "derivative of the test loss in λ2 through gradient descent from 0 with the step 1/(1 + λ2)",
		"where computed backwards, and its control, with "+pick(r.Params, "Momentum"), fmt.Sprintf("against the same in %d-bit arithmetic", differentiability.PreciseBits))
	conditions := fmt.Sprintf("the largest over condition numbers from %g to %g", slices.Min(r.Params.Conditions), slices.Max(r.Params.Conditions))
	stored := largest(func(m differentiability.UnrolledPrecision) float64 { return m.Double })
	all.add(saysFinitePrecision, Measurement{Text: fmt.Sprintf("relative rounding error of the gradient through %d steps, the iterates computed again backwards, %s", steps, conditions),
		Brief:   "relative error of a gradient computed backwards",
		Setting: precision,
		Ours:    largest(func(m differentiability.UnrolledPrecision) float64 { return m.Backwards }),
		Control: &Control{Text: "the iterates stored", Ours: stored},
		Remark:  "That saves the memory of the iterates. With momentum each step back divides the rounding error by a number below 1."}, digitsLost(0x1p-52))
	all.add(saysFinitePrecision, Measurement{Text: fmt.Sprintf("relative rounding error of the gradient through %d steps, the iterates stored, %s", steps, conditions), Setting: precision, Ours: stored, Aside: true,
		Remark: fmt.Sprintf("The largest error of the implicit derivative on the same problems is %.0e.", largest(func(m differentiability.UnrolledPrecision) float64 { return m.Implicit }).Mean)}, digitsLost(0x1p-52))
	all.add(saysFinitePrecision, Measurement{Text: fmt.Sprintf("relative rounding error in single precision of the gradient through %d steps, the iterates stored, %s", steps, conditions), Setting: precision, Ours: largest(func(m differentiability.UnrolledPrecision) float64 { return m.Single }), Aside: true,
		remarks: byVerdict{ifHolds: "Single precision has 7 digits, of which more than half are lost.", ifFails: "Single precision has 7 digits, of which at least half are right."}}, digitsLost(0x1p-23))

	byRate := func(a, b differentiability.UnrolledRun) int { return cmp.Compare(a.Rate, b.Rate) }
	last := func(u differentiability.UnrolledRun) experiment.Estimate {
		return once(experiment.FromEnd(u.Factor, 1))
	}
	fast := slices.MaxFunc(r.ByRate, byRate)
	good := slices.MinFunc(r.ByRate, func(a, b differentiability.UnrolledRun) int {
		return cmp.Compare(math.Abs(a.Rate-1), math.Abs(b.Rate-1))
	})
	curvature := r.Curvature[1] + r.Params.Penalty
	setting := describe(r.Params.PublishedRegression, ridgeSetting, rawSetting, pick(r.Params, "Penalty"), fmt.Sprintf("gradient descent from 0 with the step η; L = %.4g is the largest eigenvalue of the Hessian and %.4g its condition number", curvature, curvature/(r.Curvature[0]+r.Params.Penalty)),
		"factor: norm of the test loss's derivative in the first iterate over that in the last")
	factor := func(u differentiability.UnrolledRun) string {
		return fmt.Sprintf("factor by which the chain rule through %d steps multiplies a gradient, ηL = %g", steps, u.Rate)
	}
	const growth = "factor on a gradient by the chain rule"
	all.add(saysExploding, Measurement{Text: factor(fast), Brief: growth, Setting: setting, Ours: last(fast),
		Control: &Control{Text: fmt.Sprintf("ηL = %g", good.Rate), Ours: last(good)},
		Remark:  choose(fast.Rate > 2, "There the descent itself diverges.", "")}, aboveRule(1/math.Sqrt(0x1p-52), computedDifference))
	all.add(saysExploding, Measurement{Text: factor(good), Brief: growth, Setting: setting, Ours: last(good),
		Control: &Control{Text: fmt.Sprintf("through %d step", good.Steps[0]), Ours: once(good.Factor[0])},
		remarks: byVerdict{ifHolds: "The early steps no longer count: the late ones give the gradient in λ₂."}}, belowRule(math.Sqrt(0x1p-52), computedDifference))
}

// worstDerivative examines the derivatives with respect to one input, or to all inputs if input is
// "". It returns the largest relative distance of a derivative from its best finite difference. It
// also returns the smallest relative distance of a derivative from the finite difference for a
// wrong input, and the number of derivatives.
func worstDerivative(r *differentiability.DerivativeChecks, input string) (maxDistance, control experiment.Estimate, n int) {
	maxDistance, control = on(experiment.Positive, once(0)), on(experiment.Positive, once(math.Inf(1)))
	for i, c := range r.Checks {
		if input != "" && c.Input != input {
			continue
		}
		n++
		k, e := c.Best()
		maxDistance.Mean = math.Max(maxDistance.Mean, e)
		other := r.Checks[(i+1)%len(r.Checks)]
		control.Mean = math.Min(control.Mean, c.Relative(other.Difference[k]))
	}
	return maxDistance, control, n
}

func (all *measurements) derivatives(r *differentiability.DerivativeChecks) {
	apart := 0.
	for _, c := range r.Checks {
		if !math.IsNaN(c.JVP) {
			apart = math.Max(apart, c.Apart())
		}
	}
	for _, what := range []struct{ input, name string }{{"", "derivatives"}, {"X", "derivatives in the training data"}} {
		e, mixed, n := worstDerivative(r, what.input)
		m := Measurement{Text: fmt.Sprintf("largest relative distance of %d %s from the best finite difference", n, what.name), Brief: fmt.Sprintf("largest relative error of %d derivatives", n), Setting: describe("of "+strings.Join(r.Examples(), ", "), r.Params, fmt.Sprintf("central differences of a random projection along a random direction of each input, by the best of %d steps", len(r.Steps))), Ours: e,
			Control: &Control{Text: "from the difference in the next input, the least", Ours: mixed}}
		if what.input == "" {
			m.role = exactGradients
			sides := fmt.Sprintf("From the cotangent's and from the direction's side the derivatives agree to %.0e.", apart)
			m.remarks = byVerdict{ifHolds: "That is the rounding error of the difference. " + sides, ifFails: sides, ifOpen: sides}
		}
		all.add(saysDifferentiable, m, belowRule(sixDigits, ofDigits))
	}
	all.add(saysFirstDerivation, Measurement{Text: "who was first", Ours: once(math.NaN()),
		Remark: "Nothing tells who was first, but an earlier derivative is known. " + erratumRemark}, aboveRule(0, computedDifference))
}

func (all *measurements) limits(r *differentiability.Limits) {
	jumps := func(v []float64) experiment.Estimate {
		jumps := make([]float64, len(v))
		for i, change := range v {
			if change > 1e-6 {
				jumps[i] = 1
			}
		}
		return experiment.ShareOf(jumps)
	}
	l := r.Loss
	all.add(saysNotContinuous, Measurement{Text: fmt.Sprintf("share of data sets on which the 0–1 loss changes by more than 1e-6 between values of C that differ by %g of themselves", differentiability.JumpWidth), Brief: "share of data sets on which the 0–1 loss jumps", Setting: describe(r.Params.LinearExamples, logisticSetting, pick(r.Params, "K", "P"), "both values lie where the loss changes most between neighbours among 41 values of C from 0.001 to 100, halved again and again"), Ours: jumps(l.ZeroOneJump),
		Control: &Control{Text: "the logistic loss", Ours: jumps(l.LogisticJump)}}, aboveRule(.5, ofSets))
}

func (all *measurements) learning(r *differentiability.Learning) {
	single := slices.DeleteFunc(slices.Clone(r.Loss.Methods), func(m differentiability.LossMethod) bool { return strings.HasPrefix(m.Name, "learned") })
	byTest := func(a, b differentiability.LossMethod) int { return cmp.Compare(a.Test.Mean, b.Test.Mean) }
	best, worst := slices.MinFunc(single, byTest), slices.MaxFunc(single, byTest)
	loses := experiment.Compare(worst.TestLosses, best.TestLosses).Difference
	all.add(saysConvexCombination, Measurement{Text: "test loss, learned combination minus best single loss", Brief: "test loss, learned minus best single loss", Setting: describe(r.Params, "θ minimises the mean of Σₖαₖ·lₖ(m), m = yθᵀx, plus ½·λ·‖θ‖², for the losses hinge max(0, 1−m), exponential exp(−m), truncated quadratic max(0, 1−m)², logistic log(1+exp(−2m))", "α on the simplex and λ ≥ 0.01 by projected gradient with adaptive steps, the best of the searches from equal weights and from each single loss; a single loss: λ alone", "test loss: logistic loss, by whose mean the best and the worst single loss are named"), Ours: best.LearnedMinusTest.Difference, Beyond: paired(experiment.Less(r.Loss.Methods[0].TestLosses, best.TestLosses), experiment.Less(worst.TestLosses, best.TestLosses)),
		Control: &Control{Text: "the worst single loss in its place", Ours: loses},
		Remark:  fmt.Sprintf("The best single loss is %s, the worst %s.", best.Name, worst.Name)}, littleOf(loses, "the worst single loss"))
}

func (all *measurements) errata(r *differentiability.ErrataResult) {
	jump := func(left, right float64) experiment.Estimate {
		return on(experiment.Positive, once(math.Abs(left-right)))
	}
	smooth := equalsRule(0, 1e-6, "a millionth of the slopes, which are about 1, and more than their rounding").or(PaperError)
	at := func(k differentiability.Kink) string {
		p := r.Params.LinearProblem
		p.Lambda1 = k.At
		return describe(p, fmt.Sprintf("there θ%d becomes 0: difference of dθ%d/dλ1 from the left and from the right", k.Entry+1, k.Entry+1))
	}
	all.add(saysRange, Measurement{Text: "jump of the slope of min ½(x−a)², x ≤ 0, at a = 0, where all of that holds", Brief: "jump of the slope of min ½(x−a)², x ≤ 0", Setting: "slope of the minimiser x(a) = min(a, 0), from the left and from the right", Ours: jump(r.Range.Left, r.Range.Right),
		Remark: erratumRemark}, smooth)
	all.add(saysLogisticJacobian, Measurement{role: printedJacobian, Text: fmt.Sprintf("relative distance of the printed Jacobian from central differences, %d fresh examples", r.Params.Train), Brief: "relative error of the printed Jacobian", Setting: describe(logisticSetting, pick(r.Params, "C", "Train"), fmt.Sprintf("2 standard normal features, no intercept, labels the signs of x₁ + ½x₂ + %.6g·ε", r.Params.Noise), "Frobenius norm of the distance of the whole ∂θ/∂X, over the norm of the differences, at the minimiser θ"), Ours: on(experiment.Positive, once(r.Jacobian.PrintedError)),
		Remark: erratumRemark}, belowRule(sixDigits, ofDigits).or(PaperError))
	all.add(saysElasticNetDifferentiable, Measurement{Text: "jump of the elastic net's slope where a coefficient becomes 0", Brief: "jump of the slope where a coefficient becomes 0", Setting: at(r.ElasticNet), Ours: jump(r.ElasticNet.Left, r.ElasticNet.Right),
		Remark: erratumRemark}, smooth)
	all.add(saysSVMDifferentiable, Measurement{Text: "jump of the support vector machine's slope where a coefficient becomes 0", Brief: "jump of the slope where a coefficient becomes 0", Setting: at(r.SVM), Ours: jump(r.SVM.Left, r.SVM.Right),
		Remark: erratumRemark}, smooth)
	all.add(saysSVMDifferentiable, Measurement{Text: "smallest eigenvalue of its quadratic program, which is to be positive definite", Brief: "smallest eigenvalue of its quadratic program", Setting: "in θp, θn and the slacks t, of which t and θp + θn have no curvature, whatever the data", Ours: once(r.Program.SVM),
		Remark: erratumRemark}, aboveRule(1e-9, computedDifference).or(PaperError))
	kink := Measurement{Text: "jump of the slope of θ in the weight a of the hinge loss, where θ = min(a, 1)", Brief: "jump of the slope of θ in a weight α", Setting: "two examples x = y = ±1, θ minimises the mean of a·max(0, 1−m) plus ½θ²: slopes from the left and from the right at a = 1", Ours: jump(r.Loss.Left, r.Loss.Right),
		Remark: "The program is convex in θ. Its solution has a kink in α wherever an example reaches the margin, as the solution of the support vector machine does. " + erratumRemark}
	all.add(saysSmoothInAlpha, kink, smooth)
	all.add(saysBayesRule, Measurement{Text: "radius at which the likelier class changes", Setting: describe(kernels.DefaultRings().RingsData), Quoted: Printed.Rings.Radius, Ours: once(r.Bayes.Radius),
		Control: &Control{Text: "the best half-plane's x₁", Ours: once(r.Bayes.Offset)}}, asPrinted(Printed.Rings.Radius))
	all.add(saysSVMLabels, Measurement{Text: "largest change of θ when every example labelled 0 is replaced", Brief: "change of θ by the examples labelled 0", Setting: describe(r.Params.LinearProblem, "0 for the label −1; the features of those examples drawn anew; θ by the program of the supplement"), Ours: once(r.Labels.ZeroMoves),
		Remark: erratumRemark}, aboveRule(1e-6, computedDifference).or(Slip))
	all.add(saysLinear, Measurement{Text: "error of every linear rule through the origin on the rings, population", Brief: "error of linear rules through the origin", Setting: describe(kernels.DefaultRings().RingsData, "the half-plane x₁ > 0; by symmetry every other one"), Quoted: Printed.Rings.Linear, Ours: once(1 - r.Bayes.Origin),
		Control: &Control{Text: "with an intercept", Ours: once(1 - r.Bayes.HalfPlane)}}, asPrinted(Printed.Rings.Linear))
	all.add(saysLinear, Measurement{Text: "error of the best linear rule with an intercept on the rings, population", Brief: "error of the best line with an intercept", Setting: describe(kernels.DefaultRings().RingsData, fmt.Sprintf("the best of the half-planes x₁ > t, at t = %.2f; without the intercept t the error is ½", r.Bayes.Offset)), Quoted: Printed.Rings.Linear, Ours: once(1 - r.Bayes.HalfPlane),
		Remark: erratumRemark}, equalsRule(number64(Printed.Rings.Linear.Paper), ofAccuracy.size, ofAccuracy.why).or(PaperError))
}
