package readings

import (
	"reflect"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/differentiability"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/manyhyper"
	"cvgm/cvgm/experiment/registry"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/cvgm/experiment/searches"
	"cvgm/cvgm/experiment/splits"
	"cvgm/cvgm/experiment/stability"
	"cvgm/synth"
)

// texts are functions that return the texts of one result each.
var texts = []any{
	ElasticNetReplay, ElasticNetLearningCurves, ElasticNetEarlyStopping, ElasticNetSurfaces, ElasticNetSeeds, ElasticNetTable, ElasticNetBoxTable, RegressionPrintedTable,
	func(r *kernels.RingsResult) string {
		k := &r.LearnedKernelResult
		return paragraphs(Rings(k), RingsVariantsTable(k), RingsVariants(k), RingsBayesTable(k))
	},
	func(r *kernels.XORResult) string {
		k := &r.LearnedKernelResult
		return paragraphs(XOR(k), XORVariantsTable(k), XORVariants(k), XORBayesTable(k, kernels.DefaultXOR()))
	},
	func(r *kernels.GradientPartsResult) string {
		return GradientParts(r, &kernels.LearnedKernelResult{Runs: []kernels.Run{{Cosine: []float64{-.5}}}})
	},
	Ablation, AblationBySize, SampleSize, SampleSizeCurves, SampleSizeLead, SampleSizeRivals,
	func(r *differentiability.DerivativeChecks) string {
		return Derivatives(r, new(differentiability.ErrataResult))
	},
	SolutionPaths, DifferentiabilityKinks, DifferentiabilityLimits, Unrolled, LearningPaths, LearnedLossPath, LearnedLossTable,
	func(r *searches.Result) string { return Searches(r, nil) },
	SearchesCurves, SearchesMinimaTable, SearchesSurface, SearchDimensionsCurves, SearchDimensionsTest, FewDimensionsTable, RegretTable,
	MyDataPredictions, MyDataCoefficients, MyDataLearning, MyDataSearch,
	Splits, SplitsTable, SplitsCurves, SplitsStepsTable, Gap, GapCurves, Stability, StabilitySweeps, StabilityPath, StabilityStartsTable,
	ManyHyperparameters, ManyHyperparametersCurves, Enough, Additive, AdditiveTerms, GradientMap, Stochastic,
}

// The texts for random small results are complete sentences without missing values.
func TestReadingsOfSmallRuns(t *testing.T) {
	read := make([]bool, len(texts))
	for _, e := range registry.All() {
		p := e.Draw(synth.NewStream(1, "readings of "+e.Name))
		r, err := e.Run(t.Context(), experiment.Hooks{}, p)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		for k, f := range texts {
			call := reflect.ValueOf(f)
			if call.Type().In(0) != reflect.TypeOf(r) {
				continue
			}
			read[k] = true
			for _, line := range strings.Split(call.Call([]reflect.Value{reflect.ValueOf(r)})[0].String(), "\n") {
				if strings.Contains(line, "%!") || strings.Contains(line, "NaN") || strings.Contains(line, "  ") {
					t.Errorf("%s: %q", e.Name, line)
				}
			}
		}
	}
	for k, done := range read {
		if !done {
			t.Errorf("%v: no experiment has its result", reflect.TypeOf(texts[k]))
		}
	}
}

// minimaAbove returns a result whose bounds are 1e-8, and in logarithms the given one.
func minimaAbove(r *searches.Result, low float64) *searches.Result {
	r.Params.MinLambda1, r.Params.MinLambda2, r.Params.BoxLow = 1e-8, 1e-8, low
	return r
}

// Texts without a result are sentences, too.
func TestReadingsWithoutResult(t *testing.T) {
	for _, text := range []string{RingsBoundary(), RingsManifold(), XORBoundary(), XORManifold(), IncompleteJacobian(), DerivativeErrors(), GradientCostTable(), Limits(nil), SearchesTime(new(claims.Timings))} {
		if !strings.HasSuffix(text, ".") {
			t.Errorf("%q", text)
		}
	}
}

// bayesianTakes returns timings with the given microseconds for an evaluation of Bayesian
// optimisation, and 20 µs for CMA-ES.
func bayesianTakes(micros float64) *claims.Timings {
	const name = "cvgm/experiment/searches.Searcher/"
	stat := func(micros float64) map[string]claims.BenchStat {
		return map[string]claims.BenchStat{"ns/evaluation": {Lowest: 1e3 * micros}}
	}
	return &claims.Timings{Benchmarks: map[string]map[string]claims.BenchStat{name + "CMA-ES": stat(20), name + "Bayesian": stat(micros)}}
}

// comparisonOf returns a clear difference, or for 0 an unclear one.
func comparisonOf(mean float64) experiment.Comparison {
	return experiment.Comparison{Difference: experiment.Estimate{Mean: mean, Margin: .001, N: 9}}
}

// leverResult returns results for one and for many hyperparameters whose losses differ by mean.
func leverResult(name string, mean float64) manyhyper.Lever {
	return manyhyper.Lever{Name: name, Rows: []manyhyper.LeverRow{
		{Search: manyhyper.SearchFolds, Hyperparameters: 1, Test: experiment.Estimate{Mean: 4}},
		{Search: manyhyper.SearchFolds, Hyperparameters: 4, CV: experiment.Estimate{Mean: 3}, TestLessOne: comparisonOf(mean), CVLessOne: comparisonOf(-1)}}}
}

// regretResult returns a row with a regret of Bayesian search minus random search, where the start
// has a regret of 1.
func regretResult(less float64) *searches.RegretResult {
	return &searches.RegretResult{Rows: []searches.RegretRow{{BayesianLess: experiment.Median{Median: less, Low: less - .01, High: less + .01}, StartLess: experiment.Median{Median: 1}}}}
}

// ablationResult returns differences with four splits and with 3, 4, … steps.
func ablationResult(differences ...float64) *samplesize.AblationResult {
	r := new(samplesize.AblationResult)
	r.Params.Rings.Ks = []int{4}
	for k, d := range differences {
		r.Params.Rings.Budgets, r.Rings = append(r.Params.Rings.Budgets, 3+k), append(r.Rings, comparisonOf(d))
	}
	return r
}

// The words depend on the result.
func TestWordsFollowFromResults(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{StabilityStartsTable(&stability.Result{Starts: []stability.Start{{DeltaChange: experiment.Estimate{Mean: 2, Margin: 1}}, {DeltaChange: experiment.Estimate{Mean: -2, Margin: 1}}, {DeltaChange: experiment.Estimate{Mean: 2, Margin: 3}}}}), "from 1 of 3 starts and lowers it from 1."},
		{StabilityStartsTable(&stability.Result{Starts: []stability.Start{{RiskChange: experiment.Estimate{Mean: 2, Margin: 1}}, {RiskChange: experiment.Estimate{Mean: -2, Margin: 1}}, {RiskChange: experiment.Estimate{Mean: -2, Margin: 1}}}}), "the risk rises on the way from 1 of the starts, and falls on the way from 2."},
		{SearchesMinimaTable(&searches.Result{At: [][2]float64{{1, 1}, {0, 1}}}), "1 of 2 minima"},
		{RegretTable(regretResult(-.1)), "lower regret in 1 of 1 rows: the interval of the difference lies below 0. By the rule above, the medians make random search competitive in 1."},
		{RegretTable(regretResult(-.3)), "random search competitive in 0."},
		{AblationAnswer(ablationResult(.01, -.02, .03)), "is higher by 3.00 ± 0.10, which matters.** This is the mean for the rings with 4 splits and 5 steps, and from −2.00 to +1.00 with other ones."},
		{AblationAnswer(ablationResult(.03)), "with 4 splits and 3 steps."},
		{RingsVariants(&kernels.LearnedKernelResult{Runs: []kernels.Run{
			{Variant: kernels.Published, CVLoss: []float64{5, 4, 3, 2}, Accuracy: make([]float64, 4)},
			{Variant: kernels.Full, CVLoss: []float64{5, 1, 2, 3}, Accuracy: make([]float64, 4)}}}),
			"Of 3 steps, the CV loss rises in 2 along the full gradient, and in 0 along the published direction. At 2 of 3 steps the full gradient has the lower CV loss."},
		{XORVariants(&kernels.LearnedKernelResult{Runs: []kernels.Run{ // the figure has no line of the second run
			{Variant: kernels.Detached, CVLoss: []float64{5, 4, 3}, Perturbed: []float64{5, 4, 9}, Accuracy: make([]float64, 3)},
			{Variant: kernels.DetachedPenalised, CVLoss: []float64{5, 4, 3}, Perturbed: []float64{5, 4, 9}, Accuracy: make([]float64, 3)}}}),
			"decides their further path: detached (after step 1). A line"},
		{LearningPaths(&differentiability.Learning{Runs: []differentiability.LearningRun{
			{CVLoss: []float64{3, 2}, Lowest: 1.5, TestLoss: []float64{3, 2}}, {CVLoss: []float64{3, 1}, Lowest: 2, TestLoss: []float64{3, 4}}}}),
			"No search ends more than 0.5000 above the lowest CV loss on the grid of its contours. The test loss falls from start to end in 1 of 2 searches."},
		{LearningPaths(&differentiability.Learning{Runs: []differentiability.LearningRun{{CVLoss: []float64{3, 2}, Lowest: 2 + 1e-9, TestLoss: []float64{3, 2}}}}), "No search ends more than 0.0001 above the lowest CV loss on the grid of its contours."},
		{ManyHyperparameters(&manyhyper.LeversResult{Problems: []manyhyper.Lever{leverResult("worse", 1), leverResult("better", -1), leverResult("alike", 0)}}),
			"* clearly lower: *better* (0.75 ± 0.00).\n* not clearly different: *alike* (1.00 ± 0.00).\n* clearly higher: *worse* (1.25 ± 0.00)."},
		{ManyHyperparametersCurves(&manyhyper.LeversResult{Problems: []manyhyper.Lever{leverResult("worse", 1), leverResult("better", -1), leverResult("alike", 0)}}),
			"most for *worse*: on folds, many hyperparameters multiply the CV loss by 0.75 and the test loss by 1.25."},
		{Enough(&manyhyper.LeversResult{Problems: []manyhyper.Lever{leverResult("worse", 1), leverResult("better", -1), leverResult("alike", 0)}}), "In the first figure this holds for: *worse*; *alike*."},
		{AblationBySize(&samplesize.AblationResult{Params: samplesize.AblationParams{Rings: samplesize.AblationRings{AblationKernel: kernels.AblationKernel{Ks: []int{4, 8}, Budgets: []int{3, 5}}}},
			Rings: []experiment.Comparison{comparisonOf(.01), comparisonOf(.02), comparisonOf(-.03), comparisonOf(.04)}}),
			"| | 3 steps | 5 steps |\n| :-- | --: | --: |\n| 4 splits | +1.00 ± 0.10 | +2.00 ± 0.10 |\n| 8 splits | −3.00 ± 0.10 | +4.00 ± 0.10 |"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%q lacks %q", c.got, c.want)
		}
	}
	// Advice and conclusions are omitted if the result does not support them.
	call := func(mean float64) *elasticnet.RegressionPrinted {
		r := &elasticnet.RegressionPrinted{Tests: make([]elasticnet.RegressionTest, elasticnet.TestPrintedCall+1)}
		r.Tests[elasticnet.TestSecondCall].CoefMean = experiment.Estimate{Mean: mean, Margin: .1, N: 9}
		return r
	}
	kinks := func(distance float64) *differentiability.Limits {
		l := new(differentiability.Limits)
		l.Range.RangeResidual = distance
		return l
	}
	minima := func(first float64) *searches.Result { // of two data sets, with λ1 of the first one's minimum
		r := &searches.Result{At: [][2]float64{{first, 1}, {1, 1}}, Methods: []searches.Method{
			{Name: "CMA-ES", Reached: []int{7, 0}}, {Name: "CMA-ES in log λ", Reached: []int{0, 10}}}}
		r.Params.Budget = 10
		return r
	}
	for _, c := range []struct{ with, without, conclusion string }{
		{SearchesMinimaTable(minima(0)), SearchesMinimaTable(minima(1)), "CMA-ES reaches 1 if it searches λ and 0 if it searches log λ. Of the other 1, CMA-ES reaches 0 in λ and 1 in log λ."},
		{SearchesMinimaTable(minimaAbove(minima(0), -3)), SearchesMinimaTable(minimaAbove(minima(0), -9)), ", so they cannot reach a minimum on a bound."},
		{RegressionPrintedTable(call(3)), RegressionPrintedTable(call(1.05)), "cannot come from"},
		{DifferentiabilityKinks(kinks(1e-16)), DifferentiabilityKinks(kinks(.5)), "condition holds"},
		{SearchesTime(bayesianTakes(900)), SearchesTime(bayesianTakes(30)), "most of its time"},
	} {
		if !strings.Contains(c.with, c.conclusion) || strings.Contains(c.without, c.conclusion) {
			t.Errorf("%q is in one of these: %q, %q", c.conclusion, c.with, c.without)
		}
	}
	few := &splits.Result{ByK: []splits.Setting{{K: 1, P: .5}}}
	if few.Params.Train = 10; Splits(few) != "" {
		t.Errorf("splits that leave examples out: %q", Splits(few))
	}
}
