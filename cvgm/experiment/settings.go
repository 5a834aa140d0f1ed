package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// This file describes parameters in words, for Measurement.Setting: what someone needs to
// repeat a measurement with a program of their own. Six digits hide what rounding may move a
// parameter by; see ./reproduce.sh --sensitivities.

// joined makes one text of the parts of a setting that are not empty.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// numbers lists numbers with commas between them.
func numbers[T int | float64](all []T) string {
	var texts []string
	for _, v := range all {
		texts = append(texts, fmt.Sprintf("%.5g", float64(v)))
	}
	return strings.Join(texts, ", ")
}

// power is a bound whose logarithm is a parameter.
func power(log10 float64) string { return fmt.Sprintf("%.3g", math.Pow(10, log10)) }

// setting describes the data, with coefficients drawn anew for each data set.
func (d RegressionData) setting() string {
	return d.described("coefficients drawn anew for each data set")
}

func (d RegressionData) described(coefficients string) string {
	return fmt.Sprintf("make_regression: %d training and %d test rows, %d standard normal features, %d coefficients uniform on [0, %.6g) and the others 0, noise of standard deviation %.6g, %s",
		d.Train, d.Samples-d.Train, d.Features, d.Informative, 100/d.Scale, d.Noise/d.Scale, coefficients)
}

func (d PublishedRegression) setting() string {
	return d.described(fmt.Sprintf("the published data: NumPy's generator with seed %d, after %d data sets of %d informative features", d.Seed, d.DiscardedSets, d.DiscardedInformative))
}

const (
	netSetting   = "elastic net 1/(2N)·‖Xθ−y‖² + λ1·‖θ‖₁ + ½·λ2·‖θ‖², features standardised on the training rows of each split, with an intercept"
	ridgeSetting = "ridge regression 1/(2N)·‖Xθ−y‖² + ½·λ2·‖θ‖²"
	rawSetting   = "features as drawn, not standardised, no intercept"
)

// setting describes the CV loss and where its descent starts.
func (e PenaltyCVGM) setting() string {
	return joined(netSetting, fmt.Sprintf("CV loss: mean squared error of K = %d uniform splits, p = %.6g", e.K, e.P), e.start())
}

func (e PenaltyCVGM) start() string {
	return fmt.Sprintf("start λ1 = %.6g, λ2 = %.6g; bounds λ1 ≥ %.6g, λ2 ≥ %.6g", e.StartLambda1, e.StartLambda2, e.MinLambda1, e.MinLambda2)
}

// descent describes the paper's gradient method.
func (e PenaltyCVGM) descent(evaluations int) string {
	return fmt.Sprintf("CVGM: %d evaluations with a step of the gradient times %.6g after each; the last evaluated point counts", evaluations, e.StepSize)
}

func (b SearchBox) setting() string {
	return fmt.Sprintf("exhaustive search: %d·%d points at equal ratios; random search: %d points, log-uniform; both with λ1 and λ2 in [%s, %s]", b.GridPoints, b.GridPoints, b.RandomPoints, power(b.BoxLow), power(b.BoxHigh))
}

func (d RingsData) setting() string {
	return fmt.Sprintf("rings: two classes of equal size around the origin, radii normal with means %.6g and %.6g and standard deviation %.6g", d.InnerRadius, d.OuterRadius, d.RadiusSD)
}

func (d XORData) setting() string {
	return fmt.Sprintf("XOR: I = [%.4g, %.4g], J = [%.4g, %.4g]; label 1 uniform on I×I and J×J, label −1 on I×J and J×I", -d.Scale, d.Overlap*d.Scale, -d.Overlap*d.Scale, d.Scale)
}

// setting describes the learned kernel, its CV loss and its descent along a variant.
func (m KernelCVGM) setting(v Variant) string {
	return joined(m.network(), fmt.Sprintf("CV loss: logistic loss of K = %d uniform splits, p = %.6g", m.K, m.P), v.setting(), fmt.Sprintf("%d steps of the gradient times %.6g", m.Steps, m.StepSize))
}

func (m KernelCVGM) network() string {
	return fmt.Sprintf("features from a network of widths %s with rectified linear units, initial weights uniform on ±1/√(inputs) of each layer; on them logistic regression ½·‖θ‖² + C·Σ log(1+exp(−yᵢθᵀxᵢ)) with C = %.6g, refitted at each step",
		strings.ReplaceAll(numbers(m.kernel().Widths), ", ", "-"), m.C)
}

func (v Variant) setting() string {
	switch v {
	case Published:
		return "published gradient: validation features held constant, Jacobian as printed, intercept penalised in the fit"
	case Full:
		return "exact gradient, intercept not penalised"
	}
	return "gradient: " + v.String()
}

func (p LearnedKernel) setting(v Variant) string {
	return joined(fmt.Sprintf("the published data, seed %d, N = %d, %d test examples", p.Seed, p.Train, p.Test), p.KernelCVGM.setting(v))
}

func (p RingsProblem) setting(v Variant) string {
	return joined(p.RingsData.setting(), fmt.Sprintf("N = %d, %d test examples, drawn anew for each data set", p.Train, p.Test), p.KernelCVGM.setting(v))
}

func (p LinearExamples) setting() string {
	return fmt.Sprintf("N = %d examples of %d standard normal features, labels x₁ − x₂ + ½x₃ + %.6g·ε, for classes their signs; %s", p.Train, p.Features, p.Noise, rawSetting)
}

func (p LinearProblem) setting() string {
	return joined(p.LinearExamples.setting(), fmt.Sprintf("λ1 = %.6g, λ2 = %.6g", p.Lambda1, p.Lambda2))
}

// setting names the point of a kink.
func (k Kink) setting(p LinearProblem) string {
	return joined(p.LinearExamples.setting(), fmt.Sprintf("λ2 = %.6g, λ1 = %.6g, where θ%d becomes 0: difference of dθ%d/dλ1 from the left and from the right", p.Lambda2, k.At, k.Entry+1, k.Entry+1))
}

func (p ElasticNetParams) setting() string {
	return joined(p.PublishedRegression.setting(), p.PenaltyCVGM.setting(), p.descent(p.Steps), p.SearchBox.setting())
}

func (p ElasticNetSeedsParams) setting() string {
	return joined(p.RegressionData.setting(), p.PenaltyCVGM.setting(), p.descent(p.Steps), p.SearchBox.setting(), "a search ends at its lowest CV loss, CVGM at its last point")
}

func (p RegressionPrintedParams) setting() string {
	return joined(p.RegressionData.setting(), p.PenaltyCVGM.setting(), p.descent(p.Steps))
}

func (p SearchesParams) setting() string {
	return joined(p.RegressionData.setting(), p.PenaltyCVGM.setting(), "lowest CV loss so far")
}

// gridSetting describes the searches of a box, as others do that have no gradient.
func (p SearchesParams) gridSetting() string {
	return SearchBox{GridPoints: p.GridPoints, RandomPoints: p.Budget, BoxLow: p.BoxLow, BoxHigh: p.BoxHigh}.setting()
}

func (p SearchesParams) bayesianSetting() string {
	return joined(fmt.Sprintf("random search: log-uniform, λ1 and λ2 in [%s, %s]", power(p.BoxLow), power(p.BoxHigh)),
		fmt.Sprintf("Bayesian search: Gaussian process with a Matérn 5/2 kernel and expected improvement, in λ1 and λ2 themselves from their bounds to %s, after the start and 5 uniform points", power(p.BoxHigh)))
}

const quasiNewtonSetting = "quasi-Newton: L-BFGS with bounds, an evaluation is a loss with its gradient"

// methodSetting describes one of the searches with gradients.
func (p SearchesParams) methodSetting(name string) string {
	paper := fmt.Sprintf("constant step size: projected gradient with the step %.6g", p.StepSize)
	switch name {
	case "Nesterov":
		return joined(paper, fmt.Sprintf("Nesterov: step %.6g, momentum k/(k+3), restarted where a step goes against it", p.LongStepSize))
	case "Adam":
		return joined(paper, fmt.Sprintf("Adam: step %.6g, β₁ = .9, β₂ = .999", p.LongStepSize))
	}
	return joined(paper, quasiNewtonSetting)
}

func (p SearchesParams) minimaSetting() string {
	return joined(p.RegressionData.setting(), netSetting, fmt.Sprintf("CV loss of K = %d, p = %.6g", p.K, p.P),
		fmt.Sprintf("grid of λ1 and of λ2: the lower bounds %.6g and %.6g, and %d values at equal ratios from %s to %s; a search by ever finer grids starts from each point of the grid at which the CV loss does not exceed that at its eight neighbours; ends whose CV losses differ by more than %.6g count as several minima; the plateau on which θ = 0 counts for none", p.MinLambda1, p.MinLambda2, p.ReferencePoints-1, power(p.BoxLow), power(p.BoxHigh), p.Tol))
}

// setting describes the ridge regressions with so many penalties.
func (d RidgeGroups) setting(groups string) string {
	return joined(d.RegressionData.setting(), ridgeSetting+", features standardised on the training rows of each split, with an intercept, "+groups,
		fmt.Sprintf("CV loss: mean squared error of K = %d uniform splits, p = %.6g", d.K, d.P), fmt.Sprintf("each penalty in [%s, %s]", power(d.BoxLow), power(d.BoxHigh)))
}

// ringsSetting describes the problem of most hyperparameters.
func (p SearchDimensionsParams) ringsSetting() string {
	return joined(fmt.Sprintf("%d evaluations of each search", p.Budget), p.Rings.RingsData.setting(), fmt.Sprintf("N = %d", p.Rings.Train), p.Rings.network(), Full.setting(),
		fmt.Sprintf("CV loss: logistic loss of K = %d uniform splits, p = %.6g", p.Rings.K, p.Rings.P),
		fmt.Sprintf("start: initial weights; bounds: each weight at most %.6g away from its start; random search: draws of the initial weights", p.RingsRadius), quasiNewtonSetting)
}

func (p SearchDimensionsParams) ridgeSetting(hyperparameters ...int) string {
	return joined(fmt.Sprintf("%d evaluations of each search", p.Budget), p.RidgeGroups.setting(fmt.Sprintf("the features in %s groups of equal size, each with its own λ2", strings.ReplaceAll(numbers(hyperparameters), ", ", " or "))),
		fmt.Sprintf("start %.6g; random search: log-uniform; grid: as many values per penalty as the budget allows, at equal ratios, fewer than 5 at the middles of equal parts of the box; lowest known: that of all searches and of a quasi-Newton one of %d evaluations", p.StartLambda2, p.LongBudget))
}

func (p FewDimensionsParams) searchSetting() string {
	return joined(p.RidgeGroups.setting("the features in as many groups of equal size as there are penalties that matter, each with its own λ2; further penalties have no effect"),
		fmt.Sprintf("random search: %d points, log-uniform; grid: %d values of each of %d penalties, at the middles of equal parts of the box in logarithms", p.points(), p.PerAxis, p.Hyperparameters))
}

func (p FewDimensionsParams) carrySetting() string {
	return joined(p.RidgeGroups.setting(fmt.Sprintf("%d penalties λ2, one per feature", p.Features)), fmt.Sprintf("squared slopes in log λ2, mean over %d log-uniform points of the box", p.Points))
}

func (p RegretParams) rowSetting(row RegretRow) string {
	groups := p.RidgeGroups
	groups.BoxHigh = row.BoxHigh
	return joined(groups.setting(fmt.Sprintf("the features in %d groups of equal size, each with its own λ2", row.Hyperparameters)),
		fmt.Sprintf("%d evaluations of each search, the first of them at the start %.6g; random search: log-uniform; Bayesian search: Gaussian process with a Matérn 5/2 kernel and expected improvement, in logarithms", p.Budget, p.StartLambda2),
		"the margin is the wider side of a distribution-free interval of the median")
}

// gradientSetting describes where the gradient's scatter is measured.
func (p SplitsParams) gradientSetting() string {
	return joined(p.RegressionData.setting(), netSetting, fmt.Sprintf("p = %.6g", p.P),
		fmt.Sprintf("gradient of the CV loss at λ1 = λ2 = %.6g; standard deviation of a data set: root of the summed variances of both components over %d draws of the splits; then the mean over the data sets", p.At, p.Draws))
}

// testSetting describes how the elastic net is tuned, to the minimum.
func (p SplitsParams) testSetting(fixed string) string {
	return joined(p.RegressionData.setting(), netSetting, fixed, fmt.Sprintf("tuned by at most %d evaluations of a quasi-Newton search from λ1 = %.6g, λ2 = %.6g within λ1 ≥ %.6g, λ2 ≥ %.6g", p.Budget, p.StartLambda1, p.StartLambda2, p.MinLambda1, p.MinLambda2),
		"splits drawn anew at each setting")
}

func (p SplitsParams) ringsSetting() string {
	m := p.Rings
	return joined(m.RingsData.setting(), fmt.Sprintf("N = %d, %d test examples", m.Train, m.Test), m.network(), fmt.Sprintf("CV loss: logistic loss of uniform splits, p = %.6g", m.P), Full.setting(),
		fmt.Sprintf("%d steps of the gradient times %.6g; splits drawn anew at each K", m.Steps, m.StepSize))
}

func (p UnrolledParams) precisionSetting() string {
	return joined(fmt.Sprintf("%s, %d rows, %s", ridgeSetting, p.Features, rawSetting),
		"XᵀX/N has eigenvalues from 1 down to 1/condition at equal ratios, and λ2 = 1/condition", "derivative of the test loss in λ2 through gradient descent from 0 with the step 1/(1 + λ2)",
		fmt.Sprintf("where computed backwards, and its control, with momentum %.6g", p.Momentum), fmt.Sprintf("against the same in %d-bit arithmetic", preciseBits))
}

// factorSetting describes the problem on which learning rates are compared.
func (r *UnrolledResult) factorSetting() string {
	p := r.Params
	low, high := r.Curvature[0]+p.Penalty, r.Curvature[1]+p.Penalty
	return joined(p.PublishedRegression.setting(), fmt.Sprintf("%s, %s, λ2 = %.6g", ridgeSetting, rawSetting, p.Penalty),
		fmt.Sprintf("gradient descent from 0 with the step η; L = %.4g is the largest eigenvalue of the Hessian and %.4g its condition number", high, high/low),
		"factor: norm of the test loss's derivative in the first iterate over that in the last")
}

func (p StabilityParams) sides() string {
	return joined(fmt.Sprintf("means over %d data sets of N = %d, R on %d fresh examples", p.DataSets, p.Train, p.FreshExamples),
		fmt.Sprintf("%d standard normal features, the coefficients of the published data, noise of standard deviation %.6g, %s", p.Features, p.Noise/p.Scale, rawSetting))
}

func (p StabilityParams) identitySetting() string {
	return joined(p.sides(), "ridge regression with λ2 = "+numbers(p.RidgeLambda2), fmt.Sprintf("elastic net with λ2 = %.6g and λ1 = %s", p.ElasticNetLambda2, numbers(p.ElasticNetLambda1)),
		"logistic regression of the labels' signs with C = "+numbers(p.LogisticC), fmt.Sprintf("elastic net at the evaluations %s of CVGM's path on the published data", numbers(p.PathSteps)),
		"both sides on separate data sets, Δ by a refit after the replacement of each example")
}

// pathSetting names the ends of a path along which Δ changes.
func (p StabilityParams) pathSetting(first, last []float64, evaluations int) string {
	return joined(fmt.Sprintf("from λ1 = %.4g, λ2 = %.4g to λ1 = %.4g, λ2 = %.4g, the first and the last of %d evaluations of CVGM on the published data, standardised, with the step %.6g", first[0], first[1], last[0], last[1], evaluations, p.StepSize),
		"Δ and R_emp at these fixed λ", p.sides())
}

func (p LearningParams) lossSetting() string {
	return joined(p.LinearExamples.setting(), fmt.Sprintf("a share %.6g of the training labels turned, %d clean test examples", p.Flips, p.Test),
		"θ minimises the mean of Σₖαₖ·lₖ(m), m = yθᵀx, plus ½·λ·‖θ‖², for the losses hinge max(0, 1−m), exponential exp(−m), truncated quadratic max(0, 1−m)², logistic log(1+exp(−2m))",
		fmt.Sprintf("CV loss: logistic loss of K = %d balanced splits, p = %.6g", p.K, p.P),
		fmt.Sprintf("α on the simplex and λ ≥ 0.01 by at most %d evaluations of projected gradient with adaptive steps, the best of the searches from equal weights and from each single loss; a single loss: λ alone", p.Evaluations), "test loss: logistic loss, by whose mean the best and the worst single loss are named")
}

func (p DifferentiabilityLimitsParams) jumpSetting() string {
	return joined(p.LinearExamples.setting(), "logistic regression ½·‖θ‖² + C·Σ log(1+exp(−yᵢθᵀxᵢ))", fmt.Sprintf("CV loss of K = %d uniform splits, p = %.6g", p.K, p.P),
		"both values lie where the loss changes most between neighbours among 41 values of C from 0.001 to 100, halved again and again")
}

func (r *DerivativeChecks) setting() string {
	p := r.Params
	return joined("of "+strings.Join(r.Examples(), ", "), p.LinearProblem.setting(), fmt.Sprintf("C = %.6g, γ = %.6g, CV loss of K = %d, p = %.6g", p.C, p.Gamma, p.K, p.P),
		fmt.Sprintf("central differences of a random projection along a random direction of each input, by the best of %d steps", len(r.Steps)))
}

func (p ErrataParams) jacobianSetting() string {
	return fmt.Sprintf("logistic regression ½·‖θ‖² + C·Σ log(1+exp(−yᵢθᵀxᵢ)), C = %.6g, no intercept; N = %d examples of 2 standard normal features, labels the signs of x₁ + ½x₂ + %.6g·ε; Frobenius norm of the distance of the whole ∂θ/∂X, over the norm of the differences, at the minimiser θ", p.C, p.Train, p.Noise)
}

// halfPlaneSetting describes what an affine rule is.
func (b BayesErratum) setting(d RingsData) string {
	return joined(d.setting(), fmt.Sprintf("the best of the half-planes x₁ > t, at t = %.2f; without the intercept t the error is ½", b.Offset))
}

// ringsSetting describes both descents of the network.
func (p AblationParams) ringsSetting(splits, steps int) string {
	m := p.Rings.cvgm(splits)
	m.Steps = steps
	return joined(p.Rings.RingsData.setting(), fmt.Sprintf("N = %s with %d data sets each, %d test examples", numbers(p.Rings.Sizes), p.Seeds, p.Rings.Test), m.setting(Full), ablationTraining)
}

const ablationTraining = "training loss: the loss of the same learner on the rows to which it is fitted, all N, descended through the fit in the same way"

// rowSetting describes one of the other problems.
func (p AblationParams) rowSetting(row AblationRow) string {
	log := func(l AblationLog) string {
		return fmt.Sprintf("quasi-Newton search in logarithms from %.6g for both, at most a factor of %.6g away, after %d evaluations", l.Start, l.Reach, l.Evaluations)
	}
	splits := fmt.Sprintf("K = %d uniform splits, p = ", row.K)
	var parts []string
	switch row.Problem {
	case ablationXOR:
		m := p.XOR.cvgm(row.K)
		m.Steps = row.Budget
		parts = []string{p.XOR.XORData.setting(), fmt.Sprintf("N = %d, %d test examples", p.XOR.Train, p.XOR.Test), m.setting(Full), "test loss: share of errors"}
	case ablationNet:
		parts = []string{p.Net.RegressionData.setting(), p.Net.PenaltyCVGM.setting(), p.Net.descent(row.Budget)}
	case ablationNetLog:
		parts = []string{p.Net.RegressionData.setting(), netSetting, "CV loss: mean squared error of " + splits + fmt.Sprintf("%.6g", p.Net.P), log(p.NetLog)}
	default:
		parts = []string{p.Rings.RingsData.setting(), fmt.Sprintf("N = %d, %d test examples", p.Machine.Train, p.Rings.Test), "support vector machine ½·‖f‖² + C·Σ max(0, 1−yᵢ(f(xᵢ)+b)) with the kernel exp(−γ·‖x−x′‖²); CV loss: squared hinge loss of " + splits + fmt.Sprintf("%.6g", p.Rings.P), log(p.Machine.AblationLog), "test loss: share of errors"}
	}
	return joined(append(parts, ablationTraining)...)
}

// setting describes the descent whose parts are measured.
func (p GradientPartsParams) ringsSetting(path GradientPath) string {
	m := p.Rings.cvgm(path.K)
	return joined(p.Rings.RingsData.setting(), fmt.Sprintf("N = %d, %d test examples, drawn anew for each data set", path.Train, p.Rings.Test), m.setting(path.Variant))
}

// setting describes CVGM's side of the comparison over sizes.
func (p SampleSizeParams) setting(v Variant) string {
	return joined(p.sizes(), p.KernelCVGM.setting(v))
}

// atSetting describes the comparison at one size.
func (p SampleSizeParams) atSetting(n int) string {
	return joined(RingsProblem{p.RingsData, n, p.Test, p.KernelCVGM}.setting(Published), p.rivalSetting(SizeLogistic))
}

func (p SampleSizeParams) sizes() string {
	return joined(p.RingsData.setting(), fmt.Sprintf("N from %d to %d in steps of %d, %d seeds each, %d test examples; the mean is over all sizes and seeds", p.MinSize, p.MaxSize, p.SizeStep, p.Seeds, p.Test))
}

// rivalSetting describes the method that CVGM is compared with.
func (p SampleSizeParams) rivalSetting(rival int) string {
	descent := fmt.Sprintf("%d steps of gradient descent times %.6g on the mean logistic loss of all N", p.NetworkSteps, p.NetworkStepSize)
	same := "network: CVGM's layers and one linear unit, all weights trained together"
	switch rival {
	case SizeNetworkPublished:
		return joined(same, descent+", where gradients are never set back to 0, so that each step takes the sum of all gradients so far")
	case SizeNetworkText:
		return joined(same, descent)
	case SizeAdam:
		return joined(same, p.adam(p.AdamSteps))
	}
	return fmt.Sprintf("logistic regression on the two coordinates, C = %.6g, intercept not penalised", p.LinearC)
}

func (p SampleSizeParams) adam(steps int) string {
	return fmt.Sprintf("%d steps of Adam with the step %.6g on the mean logistic loss of all N", steps, p.AdamStepSize)
}

func (p SampleSizeParams) overfittingSetting() string {
	return joined(p.RingsData.setting(), fmt.Sprintf("N nearest to %s among the sizes from %d in steps of %d, %d seeds each, %d test examples", numbers(p.RivalSizes), p.MinSize, p.SizeStep, p.Seeds, p.Test),
		"network of widths "+strings.ReplaceAll(numbers(p.kernel().Widths), ", ", "-")+" and one linear unit, all weights trained together", p.adam(p.LongSteps))
}

const slopeSetting = "slope of the least-squares line on log₂ N for each seed, then the mean over the seeds"

// setting names the machine.
func (t *Timings) setting(problem string) string {
	machine := t.Machine.Processor
	if t.Machine.Cores > 0 {
		machine += fmt.Sprintf(", %d cores", t.Machine.Cores)
	}
	return joined(problem, fmt.Sprintf("median of %d runs, the interval reaches over all of them", t.RunsOfEach), machine)
}

// The sizes of the benchmarked problems are those of the experiments.
func netTiming(k int) string {
	p := DefaultElasticNet()
	return fmt.Sprintf("elastic net, N = %d, %d features, K = %d, p = %.6g, near λ1 = %.6g, λ2 = %.6g", p.Train, p.Features, k, p.P, p.StartLambda1, p.StartLambda2)
}

func kernelTimings() string {
	rings, xor := DefaultRings(), DefaultXOR()
	of := func(name string, k LearnedKernel) string {
		return fmt.Sprintf("%s, N = %d, K = %d, p = %.6g, %d weights", name, k.Train, k.K, k.P, k.NumHyperparameters())
	}
	return joined(of("rings", rings.LearnedKernel), of("XOR", xor.LearnedKernel), "one core")
}

// bayesSetting describes the best rule of a population.
const bayesSetting = "the rule that takes the likelier class at each point, integrated over the population"
