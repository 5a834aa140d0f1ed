package notebook

import (
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
		ElasticNet:      Compute(elasticnet.DefaultElasticNet()),
		ElasticNetSeeds: Compute(elasticnet.DefaultElasticNetSeeds()),
		Rings:           Compute(kernels.DefaultRings()),
		XOR:             Compute(kernels.DefaultXOR()),
		SampleSize:      Compute(samplesize.DefaultSampleSize()),
		Searches:        Compute(searches.DefaultSearches()),
		Dimensions:      Compute(searches.DefaultSearchDimensions()),
		Splits:          Compute(splits.DefaultSplits()),
		Unrolled:        Compute(differentiability.DefaultUnrolled()),
		Stability:       Compute(stability.DefaultStability()),
		Derivatives:     Compute(differentiability.DefaultDerivatives()),
		Limits:          Compute(differentiability.DefaultDifferentiabilityLimits()),
		Learning:        Compute(differentiability.DefaultLearning()),
		Ablation:        Compute(samplesize.DefaultAblation()),
		Errata:          Compute(differentiability.DefaultErrata()),
		GradientParts:   Compute(kernels.DefaultGradientParts()),
		FewDimensions:   Compute(searches.DefaultFewDimensions()),
		Regret:          Compute(searches.DefaultRegret()),
		Printed:         Compute(elasticnet.DefaultRegressionPrinted()),
		Timings:         Timings(),
	}
}

// Timings returns what ./reproduce.sh --timings has recorded, or nil where
// nothing is.
func Timings() *claims.Timings {
	return Must(claims.ReadTimings(filepath.Join(Must(source.Root()), "figures", "out", "timings.json")))
}
