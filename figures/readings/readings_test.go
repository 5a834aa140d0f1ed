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
	GradientParts, Ablation, AblationBySize, SampleSize, SampleSizeCurves, SampleSizeLead, SampleSizeRivals,
	func(r *differentiability.DerivativeChecks) string {
		return Derivatives(r, new(differentiability.ErrataResult))
	},
	SolutionPaths, DifferentiabilityKinks, DifferentiabilityLimits, Unrolled, LearningPaths, LearnedLossPath, LearnedLossTable,
	func(r *searches.Result) string { return Searches(r, nil) },
	SearchesCurves, SearchesMinimaTable, SearchesSurface, SearchDimensionsCurves, SearchDimensionsTest, FewDimensionsTable, RegretTable,
	MyDataPredictions, MyDataCoefficients, MyDataLearning, MyDataSearch,
	Splits, SplitsCurves, SplitsStepsTable, Gap, GapCurves, Stability, StabilitySweeps, StabilityPath, StabilityStartsTable,
	ManyHyperparameters, ManyHyperparametersCurves, Additive, AdditiveTerms, GradientMap, Stochastic,
	func(r *manyhyper.MapResult) string { return Enough(new(manyhyper.LeversResult), r) },
}

// The texts for random small results are sentences. No value is missing, and each text ends as a
// sentence does.
func TestReadingsOfSmallRuns(t *testing.T) {
	read := make([]bool, len(texts))
	for _, e := range registry.All() {
		p := e.Draw(synth.NewStream(1, "readings of "+e.Name))
		r, err := e.Run(t.Context(), p)
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

// Texts without a result are sentences, too.
func TestReadingsWithoutResult(t *testing.T) {
	for _, text := range []string{RingsBoundary(), RingsManifold(), XORBoundary(), XORManifold(), AblationFigure(), IncompleteJacobian(), DerivativeErrors(), GradientCostTable(), SearchesTime(new(claims.Timings))} {
		if !strings.HasSuffix(text, ".") {
			t.Errorf("%q", text)
		}
	}
}

// bayesianTakes returns recorded times per evaluation: micros in µs for Bayesian optimisation, and
// 20 µs for CMA-ES.
func bayesianTakes(micros float64) *claims.Timings {
	const name = "cvgm/experiment/searches.Searcher/"
	stat := func(micros float64) map[string]claims.BenchStat {
		return map[string]claims.BenchStat{"ns/evaluation": {Lowest: 1e3 * micros}}
	}
	return &claims.Timings{Benchmarks: map[string]map[string]claims.BenchStat{name + "CMA-ES": stat(20), name + "Bayesian": stat(micros)}}
}

// The words depend on the result.
func TestWordsFollowFromResults(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{told([]splits.Setting{{K: 3, MinusLast: experiment.Comparison{Difference: experiment.Estimate{Mean: 2, Margin: 1}}}, {K: 9}}, 1, func(s splits.Setting) string { return "three" }), "three"},
		{told([]splits.Setting{{K: 3, MinusLast: experiment.Comparison{Difference: experiment.Estimate{Mean: 2, Margin: 1}}}, {K: 9}}, -1, func(s splits.Setting) string { return "three" }), "none"},
		{StabilityStartsTable(&stability.Result{Starts: []stability.Start{{DeltaChange: experiment.Estimate{Mean: 2, Margin: 1}}, {DeltaChange: experiment.Estimate{Mean: -2, Margin: 1}}, {DeltaChange: experiment.Estimate{Mean: 2, Margin: 3}}}}), "from 1 of 3 starts and lowers it from 1."},
		{StabilityStartsTable(&stability.Result{Starts: []stability.Start{{RiskChange: experiment.Estimate{Mean: 2, Margin: 1}}, {RiskChange: experiment.Estimate{Mean: -2, Margin: 1}}, {RiskChange: experiment.Estimate{Mean: -2, Margin: 1}}}}), "the risk rises on the way from 1 of the starts, and falls on the way from 2."},
		{SearchesMinimaTable(&searches.Result{At: [][2]float64{{1, 1}, {0, 1}}}), "1 of 2 minima"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%q lacks %q", c.got, c.want)
		}
	}
	// Advice and conclusions depend on the result. If the result does not support them, they are
	// omitted.
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
	for _, c := range []struct{ with, without, conclusion string }{
		{SearchesMinimaTable(&searches.Result{At: [][2]float64{{0, 1}}}), SearchesMinimaTable(&searches.Result{At: [][2]float64{{1, 1}}}), "search in λ"},
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
