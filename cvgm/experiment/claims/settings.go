package claims

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/differentiability"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/cvgm/experiment/searches"
	"cvgm/cvgm/experiment/splits"
	"cvgm/cvgm/experiment/stability"
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

// regressionSetting describes the data, with coefficients drawn anew for each data set.
func regressionSetting(d experiment.RegressionData) string {
	return describedRegression(d, "coefficients drawn anew for each data set")
}

func describedRegression(d experiment.RegressionData, coefficients string) string {
	return fmt.Sprintf("make_regression: %d training and %d test rows, %d standard normal features, %d coefficients uniform on [0, %.6g) and the others 0, noise of standard deviation %.6g, %s",
		d.Train, d.Samples-d.Train, d.Features, d.Informative, 100/d.Scale, d.Noise/d.Scale, coefficients)
}

func publishedSetting(d experiment.PublishedRegression) string {
	return describedRegression(d.RegressionData, fmt.Sprintf("the published data: NumPy's generator with seed %d, after %d data sets of %d informative features", d.Seed, d.DiscardedSets, d.DiscardedInformative))
}

const (
	netSetting   = "elastic net 1/(2N)·‖Xθ−y‖² + λ1·‖θ‖₁ + ½·λ2·‖θ‖², features standardised on the training rows of each split, with an intercept"
	ridgeSetting = "ridge regression 1/(2N)·‖Xθ−y‖² + ½·λ2·‖θ‖²"
	rawSetting   = "features as drawn, not standardised, no intercept"
)

// penaltySetting describes the CV loss and where its descent starts.
func penaltySetting(e elasticnet.PenaltyCVGM) string {
	return joined(netSetting, fmt.Sprintf("CV loss: mean squared error of K = %d uniform splits, p = %.6g", e.K, e.P), penaltyStart(e))
}

func penaltyStart(e elasticnet.PenaltyCVGM) string {
	return fmt.Sprintf("start λ1 = %.6g, λ2 = %.6g; bounds λ1 ≥ %.6g, λ2 ≥ %.6g", e.StartLambda1, e.StartLambda2, e.MinLambda1, e.MinLambda2)
}

// descentSetting describes the paper's gradient method.
func descentSetting(e elasticnet.PenaltyCVGM, evaluations int) string {
	return fmt.Sprintf("CVGM: %d evaluations with a step of the gradient times %.6g after each; the last evaluated point counts", evaluations, e.StepSize)
}

func boxSetting(b elasticnet.SearchBox) string {
	return fmt.Sprintf("exhaustive search: %d·%d points at equal ratios; random search: %d points, log-uniform; both with λ1 and λ2 in [%s, %s]", b.GridPoints, b.GridPoints, b.RandomPoints, power(b.BoxLow), power(b.BoxHigh))
}

func ringsDataSetting(d kernels.RingsData) string {
	return fmt.Sprintf("rings: two classes of equal size around the origin, radii normal with means %.6g and %.6g and standard deviation %.6g", d.InnerRadius, d.OuterRadius, d.RadiusSD)
}

func xorDataSetting(d kernels.XORData) string {
	return fmt.Sprintf("XOR: I = [%.4g, %.4g], J = [%.4g, %.4g]; label 1 uniform on I×I and J×J, label −1 on I×J and J×I", -d.Scale, d.Overlap*d.Scale, -d.Overlap*d.Scale, d.Scale)
}

// kernelSetting describes the learned kernel, its CV loss and its descent along a variant.
func kernelSetting(m kernels.KernelCVGM, v kernels.Variant) string {
	return joined(networkSetting(m), fmt.Sprintf("CV loss: logistic loss of K = %d uniform splits, p = %.6g", m.K, m.P), variantSetting(v), fmt.Sprintf("%d steps of the gradient times %.6g", m.Steps, m.StepSize))
}

func networkSetting(m kernels.KernelCVGM) string {
	return fmt.Sprintf("features from a network of widths %s with rectified linear units, initial weights uniform on ±1/√(inputs) of each layer; on them logistic regression ½·‖θ‖² + C·Σ log(1+exp(−yᵢθᵀxᵢ)) with C = %.6g, refitted at each step",
		strings.ReplaceAll(numbers(m.Kernel().Widths), ", ", "-"), m.C)
}

func variantSetting(v kernels.Variant) string {
	switch v {
	case kernels.Published:
		return "published gradient: validation features held constant, Jacobian as printed, intercept penalised in the fit"
	case kernels.Full:
		return "exact gradient, intercept not penalised"
	}
	return "gradient: " + v.String()
}

func learnedKernelSetting(p kernels.LearnedKernel, v kernels.Variant) string {
	return joined(fmt.Sprintf("the published data, seed %d, N = %d, %d test examples", p.Seed, p.Train, p.Test), kernelSetting(p.KernelCVGM, v))
}

func ringsProblemSetting(p kernels.RingsProblem, v kernels.Variant) string {
	return joined(ringsDataSetting(p.RingsData), fmt.Sprintf("N = %d, %d test examples, drawn anew for each data set", p.Train, p.Test), kernelSetting(p.KernelCVGM, v))
}

func linearExamplesSetting(p differentiability.LinearExamples) string {
	return fmt.Sprintf("N = %d examples of %d standard normal features, labels x₁ − x₂ + ½x₃ + %.6g·ε, for classes their signs; %s", p.Train, p.Features, p.Noise, rawSetting)
}

func linearProblemSetting(p differentiability.LinearProblem) string {
	return joined(linearExamplesSetting(p.LinearExamples), fmt.Sprintf("λ1 = %.6g, λ2 = %.6g", p.Lambda1, p.Lambda2))
}

// kinkSetting names the point of a kink.
func kinkSetting(k differentiability.Kink, p differentiability.LinearProblem) string {
	return joined(linearExamplesSetting(p.LinearExamples), fmt.Sprintf("λ2 = %.6g, λ1 = %.6g, where θ%d becomes 0: difference of dθ%d/dλ1 from the left and from the right", p.Lambda2, k.At, k.Entry+1, k.Entry+1))
}

func elasticNetSetting(p elasticnet.ElasticNetParams) string {
	return joined(publishedSetting(p.PublishedRegression), penaltySetting(p.PenaltyCVGM), descentSetting(p.PenaltyCVGM, p.Steps), boxSetting(p.SearchBox))
}

func elasticNetSeedsSetting(p elasticnet.ElasticNetSeedsParams) string {
	return joined(regressionSetting(p.RegressionData), penaltySetting(p.PenaltyCVGM), descentSetting(p.PenaltyCVGM, p.Steps), boxSetting(p.SearchBox), "a search ends at its lowest CV loss, CVGM at its last point")
}

func regressionPrintedSetting(p elasticnet.RegressionPrintedParams) string {
	return joined(regressionSetting(p.RegressionData), penaltySetting(p.PenaltyCVGM), descentSetting(p.PenaltyCVGM, p.Steps))
}

func searchesSetting(p searches.SearchesParams) string {
	return joined(regressionSetting(p.RegressionData), penaltySetting(p.PenaltyCVGM), "lowest CV loss so far")
}

// gridSetting describes the searches of a box, as others do that have no gradient.
func gridSetting(p searches.SearchesParams) string {
	return boxSetting(elasticnet.SearchBox{GridPoints: p.GridPoints, RandomPoints: p.Budget, BoxLow: p.BoxLow, BoxHigh: p.BoxHigh})
}

func bayesianSetting(p searches.SearchesParams) string {
	return joined(fmt.Sprintf("random search: log-uniform, λ1 and λ2 in [%s, %s]", power(p.BoxLow), power(p.BoxHigh)),
		fmt.Sprintf("Bayesian search: Gaussian process with a Matérn 5/2 kernel and expected improvement, in λ1 and λ2 themselves from their bounds to %s, after the start and 5 uniform points", power(p.BoxHigh)))
}

const quasiNewtonSetting = "quasi-Newton: L-BFGS with bounds, an evaluation is a loss with its gradient"

// methodSetting describes one of the searches with gradients.
func methodSetting(p searches.SearchesParams, name string) string {
	paper := fmt.Sprintf("constant step size: projected gradient with the step %.6g", p.StepSize)
	switch name {
	case "Nesterov":
		return joined(paper, fmt.Sprintf("Nesterov: step %.6g, momentum k/(k+3), restarted where a step goes against it", p.LongStepSize))
	case "Adam":
		return joined(paper, fmt.Sprintf("Adam: step %.6g, β₁ = .9, β₂ = .999", p.LongStepSize))
	}
	return joined(paper, quasiNewtonSetting)
}

func minimaSetting(p searches.SearchesParams) string {
	return joined(regressionSetting(p.RegressionData), netSetting, fmt.Sprintf("CV loss of K = %d, p = %.6g", p.K, p.P),
		fmt.Sprintf("grid of λ1 and of λ2: the lower bounds %.6g and %.6g, and %d values at equal ratios from %s to %s; a search by ever finer grids starts from each point of the grid at which the CV loss does not exceed that at its eight neighbours; ends whose CV losses differ by more than %.6g count as several minima; the plateau on which θ = 0 counts for none", p.MinLambda1, p.MinLambda2, p.ReferencePoints-1, power(p.BoxLow), power(p.BoxHigh), p.Tol))
}

// ridgeGroupsSetting describes the ridge regressions with so many penalties.
func ridgeGroupsSetting(d searches.RidgeGroups, groups string) string {
	return joined(regressionSetting(d.RegressionData), ridgeSetting+", features standardised on the training rows of each split, with an intercept, "+groups,
		fmt.Sprintf("CV loss: mean squared error of K = %d uniform splits, p = %.6g", d.K, d.P), fmt.Sprintf("each penalty in [%s, %s]", power(d.BoxLow), power(d.BoxHigh)))
}

// dimensionsRingsSetting describes the problem of most hyperparameters.
func dimensionsRingsSetting(p searches.SearchDimensionsParams) string {
	return joined(fmt.Sprintf("%d evaluations of each search", p.Budget), ringsDataSetting(p.Rings.RingsData), fmt.Sprintf("N = %d", p.Rings.Train), networkSetting(p.Rings.KernelCVGM), variantSetting(kernels.Full),
		fmt.Sprintf("CV loss: logistic loss of K = %d uniform splits, p = %.6g", p.Rings.K, p.Rings.P),
		fmt.Sprintf("start: initial weights; bounds: each weight at most %.6g away from its start; random search: draws of the initial weights", p.RingsRadius), quasiNewtonSetting)
}

func dimensionsRidgeSetting(p searches.SearchDimensionsParams, hyperparameters ...int) string {
	return joined(fmt.Sprintf("%d evaluations of each search", p.Budget), ridgeGroupsSetting(p.RidgeGroups, fmt.Sprintf("the features in %s groups of equal size, each with its own λ2", strings.ReplaceAll(numbers(hyperparameters), ", ", " or "))),
		fmt.Sprintf("start %.6g; random search: log-uniform; grid: as many values per penalty as the budget allows, at equal ratios, fewer than 5 at the middles of equal parts of the box; lowest known: that of all searches and of a quasi-Newton one of %d evaluations", p.StartLambda2, p.LongBudget))
}

func fewDimensionsSetting(p searches.FewDimensionsParams) string {
	return joined(ridgeGroupsSetting(p.RidgeGroups, "the features in as many groups of equal size as there are penalties that matter, each with its own λ2; further penalties have no effect"),
		fmt.Sprintf("random search: %d points, log-uniform; grid: %d values of each of %d penalties, at the middles of equal parts of the box in logarithms", p.RandomPoints(), p.PerAxis, p.Hyperparameters))
}

func carrySetting(p searches.FewDimensionsParams) string {
	return joined(ridgeGroupsSetting(p.RidgeGroups, fmt.Sprintf("%d penalties λ2, one per feature", p.Features)), fmt.Sprintf("squared slopes in log λ2, mean over %d log-uniform points of the box", p.Points))
}

func regretSetting(p searches.RegretParams, row searches.RegretRow) string {
	groups := p.RidgeGroups
	groups.BoxHigh = row.BoxHigh
	return joined(ridgeGroupsSetting(groups, fmt.Sprintf("the features in %d groups of equal size, each with its own λ2", row.Hyperparameters)),
		fmt.Sprintf("%d evaluations of each search, the first of them at the start %.6g; random search: log-uniform; Bayesian search: Gaussian process with a Matérn 5/2 kernel and expected improvement, in logarithms", p.Budget, p.StartLambda2),
		"the margin is the wider side of a distribution-free interval of the median")
}

// gradientSetting describes where the gradient's scatter is measured.
func gradientSetting(p splits.SplitsParams) string {
	return joined(regressionSetting(p.RegressionData), netSetting, fmt.Sprintf("p = %.6g", p.P),
		fmt.Sprintf("gradient of the CV loss at λ1 = λ2 = %.6g; standard deviation of a data set: root of the summed variances of both components over %d draws of the splits; then the mean over the data sets", p.At, p.Draws))
}

// splitsTestSetting describes how the elastic net is tuned, to the minimum.
func splitsTestSetting(p splits.SplitsParams, fixed string) string {
	return joined(regressionSetting(p.RegressionData), netSetting, fixed, fmt.Sprintf("tuned by at most %d evaluations of a quasi-Newton search from λ1 = %.6g, λ2 = %.6g within λ1 ≥ %.6g, λ2 ≥ %.6g", p.Budget, p.StartLambda1, p.StartLambda2, p.MinLambda1, p.MinLambda2),
		"splits drawn anew at each setting")
}

func splitsRingsSetting(p splits.SplitsParams) string {
	m := p.Rings
	return joined(ringsDataSetting(m.RingsData), fmt.Sprintf("N = %d, %d test examples", m.Train, m.Test), networkSetting(m.KernelCVGM), fmt.Sprintf("CV loss: logistic loss of uniform splits, p = %.6g", m.P), variantSetting(kernels.Full),
		fmt.Sprintf("%d steps of the gradient times %.6g; splits drawn anew at each K", m.Steps, m.StepSize))
}

func precisionSetting(p differentiability.UnrolledParams) string {
	return joined(fmt.Sprintf("%s, %d rows, %s", ridgeSetting, p.Features, rawSetting),
		"XᵀX/N has eigenvalues from 1 down to 1/condition at equal ratios, and λ2 = 1/condition", "derivative of the test loss in λ2 through gradient descent from 0 with the step 1/(1 + λ2)",
		fmt.Sprintf("where computed backwards, and its control, with momentum %.6g", p.Momentum), fmt.Sprintf("against the same in %d-bit arithmetic", differentiability.PreciseBits))
}

// factorSetting describes the problem on which learning rates are compared.
func factorSetting(r *differentiability.UnrolledResult) string {
	p := r.Params
	low, high := r.Curvature[0]+p.Penalty, r.Curvature[1]+p.Penalty
	return joined(publishedSetting(p.PublishedRegression), fmt.Sprintf("%s, %s, λ2 = %.6g", ridgeSetting, rawSetting, p.Penalty),
		fmt.Sprintf("gradient descent from 0 with the step η; L = %.4g is the largest eigenvalue of the Hessian and %.4g its condition number", high, high/low),
		"factor: norm of the test loss's derivative in the first iterate over that in the last")
}

func stabilitySides(p stability.StabilityParams) string {
	return joined(fmt.Sprintf("means over %d data sets of N = %d, R on %d fresh examples", p.DataSets, p.Train, p.FreshExamples),
		fmt.Sprintf("%d standard normal features, the coefficients of the published data, noise of standard deviation %.6g, %s", p.Features, p.Noise/p.Scale, rawSetting))
}

func identitySetting(p stability.StabilityParams) string {
	return joined(stabilitySides(p), "ridge regression with λ2 = "+numbers(p.RidgeLambda2), fmt.Sprintf("elastic net with λ2 = %.6g and λ1 = %s", p.ElasticNetLambda2, numbers(p.ElasticNetLambda1)),
		"logistic regression of the labels' signs with C = "+numbers(p.LogisticC), fmt.Sprintf("elastic net at the evaluations %s of CVGM's path on the published data", numbers(p.PathSteps)),
		"both sides on separate data sets, Δ by a refit after the replacement of each example")
}

// pathSetting names the ends of a path along which Δ changes.
func pathSetting(p stability.StabilityParams, first, last []float64, evaluations int) string {
	return joined(fmt.Sprintf("from λ1 = %.4g, λ2 = %.4g to λ1 = %.4g, λ2 = %.4g, the first and the last of %d evaluations of CVGM on the published data, standardised, with the step %.6g", first[0], first[1], last[0], last[1], evaluations, p.StepSize),
		"Δ and R_emp at these fixed λ", stabilitySides(p))
}

func lossSetting(p differentiability.LearningParams) string {
	return joined(linearExamplesSetting(p.LinearExamples), fmt.Sprintf("a share %.6g of the training labels turned, %d clean test examples", p.Flips, p.Test),
		"θ minimises the mean of Σₖαₖ·lₖ(m), m = yθᵀx, plus ½·λ·‖θ‖², for the losses hinge max(0, 1−m), exponential exp(−m), truncated quadratic max(0, 1−m)², logistic log(1+exp(−2m))",
		fmt.Sprintf("CV loss: logistic loss of K = %d balanced splits, p = %.6g", p.K, p.P),
		fmt.Sprintf("α on the simplex and λ ≥ 0.01 by at most %d evaluations of projected gradient with adaptive steps, the best of the searches from equal weights and from each single loss; a single loss: λ alone", p.Evaluations), "test loss: logistic loss, by whose mean the best and the worst single loss are named")
}

func jumpSetting(p differentiability.DifferentiabilityLimitsParams) string {
	return joined(linearExamplesSetting(p.LinearExamples), "logistic regression ½·‖θ‖² + C·Σ log(1+exp(−yᵢθᵀxᵢ))", fmt.Sprintf("CV loss of K = %d uniform splits, p = %.6g", p.K, p.P),
		"both values lie where the loss changes most between neighbours among 41 values of C from 0.001 to 100, halved again and again")
}

func derivativesSetting(r *differentiability.DerivativeChecks) string {
	p := r.Params
	return joined("of "+strings.Join(r.Examples(), ", "), linearProblemSetting(p.LinearProblem), fmt.Sprintf("C = %.6g, γ = %.6g, CV loss of K = %d, p = %.6g", p.C, p.Gamma, p.K, p.P),
		fmt.Sprintf("central differences of a random projection along a random direction of each input, by the best of %d steps", len(r.Steps)))
}

func jacobianSetting(p differentiability.ErrataParams) string {
	return fmt.Sprintf("logistic regression ½·‖θ‖² + C·Σ log(1+exp(−yᵢθᵀxᵢ)), C = %.6g, no intercept; N = %d examples of 2 standard normal features, labels the signs of x₁ + ½x₂ + %.6g·ε; Frobenius norm of the distance of the whole ∂θ/∂X, over the norm of the differences, at the minimiser θ", p.C, p.Train, p.Noise)
}

// bayesErratumSetting describes the rules with an affine boundary.
func bayesErratumSetting(b differentiability.BayesErratum, d kernels.RingsData) string {
	return joined(ringsDataSetting(d), fmt.Sprintf("the best of the half-planes x₁ > t, at t = %.2f; without the intercept t the error is ½", b.Offset))
}

// ablationRingsSetting describes both descents of the network.
func ablationRingsSetting(p samplesize.AblationParams, splits, steps int) string {
	m := p.Rings.CVGM(splits)
	m.Steps = steps
	return joined(ringsDataSetting(p.Rings.RingsData), fmt.Sprintf("N = %s with %d data sets each, %d test examples", numbers(p.Rings.Sizes), p.Seeds, p.Rings.Test), kernelSetting(m, kernels.Full), ablationTraining)
}

const ablationTraining = "training loss: the loss of the same learner on the rows to which it is fitted, all N, descended through the fit in the same way"

// ablationSetting describes one of the other problems.
func ablationSetting(p samplesize.AblationParams, row samplesize.AblationRow) string {
	log := func(l samplesize.AblationLog) string {
		return fmt.Sprintf("quasi-Newton search in logarithms from %.6g for both, at most a factor of %.6g away, after %d evaluations", l.Start, l.Reach, l.Evaluations)
	}
	splits := fmt.Sprintf("K = %d uniform splits, p = ", row.K)
	var parts []string
	switch row.Problem {
	case kernels.ProblemXOR:
		m := p.XOR.CVGM(row.K)
		m.Steps = row.Budget
		parts = []string{xorDataSetting(p.XOR.XORData), fmt.Sprintf("N = %d, %d test examples", p.XOR.Train, p.XOR.Test), kernelSetting(m, kernels.Full), "test loss: share of errors"}
	case samplesize.ProblemNet:
		parts = []string{regressionSetting(p.Net.RegressionData), penaltySetting(p.Net.PenaltyCVGM), descentSetting(p.Net.PenaltyCVGM, row.Budget)}
	case samplesize.ProblemNetLog:
		parts = []string{regressionSetting(p.Net.RegressionData), netSetting, "CV loss: mean squared error of " + splits + fmt.Sprintf("%.6g", p.Net.P), log(p.NetLog)}
	default:
		parts = []string{ringsDataSetting(p.Rings.RingsData), fmt.Sprintf("N = %d, %d test examples", p.Machine.Train, p.Rings.Test), "support vector machine ½·‖f‖² + C·Σ max(0, 1−yᵢ(f(xᵢ)+b)) with the kernel exp(−γ·‖x−x′‖²); CV loss: squared hinge loss of " + splits + fmt.Sprintf("%.6g", p.Rings.P), log(p.Machine.AblationLog), "test loss: share of errors"}
	}
	return joined(append(parts, ablationTraining)...)
}

// gradientPartsSetting describes the descent whose parts are measured.
func gradientPartsSetting(p kernels.GradientPartsParams, path kernels.GradientPath) string {
	m := p.Rings.CVGM(path.K)
	return joined(ringsDataSetting(p.Rings.RingsData), fmt.Sprintf("N = %d, %d test examples, drawn anew for each data set", path.Train, p.Rings.Test), kernelSetting(m, path.Variant))
}

// sampleSizeSetting describes CVGM's side of the comparison over sizes.
func sampleSizeSetting(p samplesize.SampleSizeParams, v kernels.Variant) string {
	return joined(sizesSetting(p), kernelSetting(p.KernelCVGM, v))
}

// atSizeSetting describes the comparison at one size.
func atSizeSetting(p samplesize.SampleSizeParams, n int) string {
	return joined(ringsProblemSetting(kernels.RingsProblem{RingsData: p.RingsData, Train: n, Test: p.Test, KernelCVGM: p.KernelCVGM}, kernels.Published), rivalSetting(p, samplesize.SizeLogistic))
}

func sizesSetting(p samplesize.SampleSizeParams) string {
	return joined(ringsDataSetting(p.RingsData), fmt.Sprintf("N from %d to %d in steps of %d, %d seeds each, %d test examples; the mean is over all sizes and seeds", p.MinSize, p.MaxSize, p.SizeStep, p.Seeds, p.Test))
}

// rivalSetting describes the method that CVGM is compared with.
func rivalSetting(p samplesize.SampleSizeParams, rival int) string {
	descent := fmt.Sprintf("%d steps of gradient descent times %.6g on the mean logistic loss of all N", p.NetworkSteps, p.NetworkStepSize)
	same := "network: CVGM's layers and one linear unit, all weights trained together"
	switch rival {
	case samplesize.SizeNetworkPublished:
		return joined(same, descent+", where gradients are never set back to 0, so that each step takes the sum of all gradients so far")
	case samplesize.SizeNetworkText:
		return joined(same, descent)
	case samplesize.SizeAdam:
		return joined(same, adamSetting(p, p.AdamSteps))
	}
	return fmt.Sprintf("logistic regression on the two coordinates, C = %.6g, intercept not penalised", p.LinearC)
}

func adamSetting(p samplesize.SampleSizeParams, steps int) string {
	return fmt.Sprintf("%d steps of Adam with the step %.6g on the mean logistic loss of all N", steps, p.AdamStepSize)
}

func overfittingSetting(p samplesize.SampleSizeParams) string {
	return joined(ringsDataSetting(p.RingsData), fmt.Sprintf("N nearest to %s among the sizes from %d in steps of %d, %d seeds each, %d test examples", numbers(p.RivalSizes), p.MinSize, p.SizeStep, p.Seeds, p.Test),
		"network of widths "+strings.ReplaceAll(numbers(p.Kernel().Widths), ", ", "-")+" and one linear unit, all weights trained together", adamSetting(p, p.LongSteps))
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
	p := elasticnet.DefaultElasticNet()
	return fmt.Sprintf("elastic net, N = %d, %d features, K = %d, p = %.6g, near λ1 = %.6g, λ2 = %.6g", p.Train, p.Features, k, p.P, p.StartLambda1, p.StartLambda2)
}

func kernelTimings() string {
	rings, xor := kernels.DefaultRings(), kernels.DefaultXOR()
	of := func(name string, k kernels.LearnedKernel) string {
		return fmt.Sprintf("%s, N = %d, K = %d, p = %.6g, %d weights", name, k.Train, k.K, k.P, k.NumHyperparameters())
	}
	return joined(of("rings", rings.LearnedKernel), of("XOR", xor.LearnedKernel), "one core")
}

// bayesSetting describes the best rule of a population.
const bayesSetting = "the rule that takes the likelier class at each point, integrated over the population"
