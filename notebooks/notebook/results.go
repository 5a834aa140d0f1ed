package notebook

import (
	"context"
	"path/filepath"

	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/differentiability"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/cvgm/experiment/searches"
	"cvgm/cvgm/experiment/splits"
	"cvgm/cvgm/experiment/stability"
	"cvgm/notebooks/source"
)

// Results returns the material for the judgement of the paper's claims: every
// experiment at its default parameters, from the store where it holds them, and
// the recorded timings.
func Results() claims.Results {
	return claims.Results{
		ElasticNet:      judged(elasticnet.DefaultElasticNet()),
		ElasticNetSeeds: judged(elasticnet.DefaultElasticNetSeeds()),
		Rings:           judged(kernels.DefaultRings()),
		XOR:             judged(kernels.DefaultXOR()),
		SampleSize:      judged(samplesize.DefaultSampleSize()),
		Searches:        judged(searches.DefaultSearches()),
		Dimensions:      judged(searches.DefaultSearchDimensions()),
		Splits:          judged(splits.DefaultSplits()),
		Unrolled:        judged(differentiability.DefaultUnrolled()),
		Stability:       judged(stability.DefaultStability()),
		Derivatives:     judged(differentiability.DefaultDerivatives()),
		Limits:          judged(differentiability.DefaultDifferentiabilityLimits()),
		Learning:        judged(differentiability.DefaultLearning()),
		Ablation:        judged(samplesize.DefaultAblation()),
		Errata:          judged(differentiability.DefaultErrata()),
		GradientParts:   judged(kernels.DefaultGradientParts()),
		FewDimensions:   judged(searches.DefaultFewDimensions()),
		Regret:          judged(searches.DefaultRegret()),
		Printed:         judged(elasticnet.DefaultRegressionPrinted()),
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
func Timings() *claims.Timings {
	return Must(claims.ReadTimings(filepath.Join(Must(source.Root()), "figures", "out", "timings.json")))
}
