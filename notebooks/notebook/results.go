package notebook

import (
	"context"
	"path/filepath"

	"cvgm/cvgm/experiment"
	"cvgm/notebooks/source"
)

// Results returns the material for the judgement of the paper's claims: every
// experiment at its default parameters, from the store where it holds them, and
// the recorded timings.
func Results() experiment.Results {
	return experiment.Results{
		ElasticNet:      judged(experiment.DefaultElasticNet()),
		ElasticNetSeeds: judged(experiment.DefaultElasticNetSeeds()),
		Rings:           judged(experiment.DefaultRings()),
		XOR:             judged(experiment.DefaultXOR()),
		SampleSize:      judged(experiment.DefaultSampleSize()),
		Searches:        judged(experiment.DefaultSearches()),
		Dimensions:      judged(experiment.DefaultSearchDimensions()),
		Splits:          judged(experiment.DefaultSplits()),
		Unrolled:        judged(experiment.DefaultUnrolled()),
		Stability:       judged(experiment.DefaultStability()),
		Derivatives:     judged(experiment.DefaultDerivatives()),
		Limits:          judged(experiment.DefaultDifferentiabilityLimits()),
		Learning:        judged(experiment.DefaultLearning()),
		Ablation:        judged(experiment.DefaultAblation()),
		Errata:          judged(experiment.DefaultErrata()),
		GradientParts:   judged(experiment.DefaultGradientParts()),
		FewDimensions:   judged(experiment.DefaultFewDimensions()),
		Regret:          judged(experiment.DefaultRegret()),
		Printed:         judged(experiment.DefaultRegressionPrinted()),
		Timings:         Timings(),
	}
}

// judged is Compute for a notebook that judges results: the CSV of their cells lies with the
// notebooks that show them.
func judged[R any](p interface {
	Run(ctx context.Context) (R, error)
}) R {
	result, _ := obtain(p)
	return result
}

// Timings returns what ./reproduce.sh --timings has recorded, or nil where
// nothing is.
func Timings() *experiment.Timings {
	return Must(experiment.ReadTimings(filepath.Join(Must(source.Root()), "figures", "out", "timings.json")))
}
