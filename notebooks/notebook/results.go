package notebook

import (
	"path/filepath"
	"strconv"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/differentiability"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/manyhyper"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/cvgm/experiment/searches"
	"cvgm/cvgm/experiment/splits"
	"cvgm/cvgm/experiment/stability"
	"cvgm/notebooks/source"
)

// ResultsParams are the parameters of [Results].
type ResultsParams struct{ experiment.FreshData }

func (ResultsParams) Defaults() any { return ResultsParams{} }

// Results returns the results with which the paper's claims are checked. These are the results of
// every experiment with its default parameters, and the recorded timings. If possible, Results
// reads the results of experiments from the store. The field p.Draw is the number of the draw for
// all experiments with fresh data.
func Results(p ResultsParams) claims.Results {
	Check(noteComputed(p))
	return claims.Results{
		ElasticNet:      Compute(elasticnet.DefaultElasticNet()),
		ElasticNetSeeds: Compute(onDraw(p, elasticnet.DefaultElasticNetSeeds())),
		Rings:           Compute(kernels.DefaultRings()),
		XOR:             Compute(kernels.DefaultXOR()),
		SampleSize:      Compute(onDraw(p, samplesize.DefaultSampleSize())),
		Searches:        Compute(onDraw(p, searches.DefaultSearches())),
		Dimensions:      Compute(onDraw(p, searches.DefaultSearchDimensions())),
		Splits:          Compute(onDraw(p, splits.DefaultSplits())),
		Unrolled:        Compute(differentiability.DefaultUnrolled()),
		Stability:       Compute(onDraw(p, stability.DefaultStability())),
		Derivatives:     Compute(onDraw(p, differentiability.DefaultDerivatives())),
		Limits:          Compute(onDraw(p, differentiability.DefaultDifferentiabilityLimits())),
		Learning:        Compute(onDraw(p, differentiability.DefaultLearning())),
		Ablation:        Compute(onDraw(p, samplesize.DefaultAblation())),
		Errata:          Compute(onDraw(p, differentiability.DefaultErrata())),
		GradientParts:   Compute(onDraw(p, kernels.DefaultGradientParts())),
		FewDimensions:   Compute(onDraw(p, searches.DefaultFewDimensions())),
		Regret:          Compute(onDraw(p, searches.DefaultRegret())),
		Printed:         Compute(onDraw(p, elasticnet.DefaultRegressionPrinted())),
		Map:             Compute(onDraw(p, manyhyper.DefaultGradientMap())),
		Timings:         Timings(),
	}
}

// onDraw returns the parameters p of an experiment after it has set their Draw to rp.Draw.
func onDraw[P any](rp ResultsParams, p P) P {
	Check(experiment.Set(&p, "Draw", strconv.Itoa(rp.Draw)))
	Check(noteSet([][]experiment.Change{nil}, []any{&p}))
	return p
}

// Timings returns the times that ./reproduce.sh --timings has recorded. If there is no record, it
// returns nil.
func Timings() *claims.Timings {
	return Must(claims.ReadTimings(filepath.Join(Must(source.Root()), "figures", "out", "timings.json")))
}
