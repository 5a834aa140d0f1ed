package notebook

import (
	"path/filepath"

	"cvgm/cvgm/experiment"
	"cvgm/notebooks/source"
)

// Results returns the material for the judgement of the paper's claims: every
// experiment at its default parameters, from the store where it holds them, and
// the recorded timings.
func Results() experiment.Results {
	return experiment.Results{
		ElasticNet:      Compute(experiment.DefaultElasticNet()),
		ElasticNetSeeds: Compute(experiment.DefaultElasticNetSeeds()),
		Rings:           Compute(experiment.DefaultRings()),
		XOR:             Compute(experiment.DefaultXOR()),
		SampleSize:      Compute(experiment.DefaultSampleSize()),
		Searches:        Compute(experiment.DefaultSearches()),
		Dimensions:      Compute(experiment.DefaultSearchDimensions()),
		Splits:          Compute(experiment.DefaultSplits()),
		Unrolled:        Compute(experiment.DefaultUnrolled()),
		Stability:       Compute(experiment.DefaultStability()),
		Derivatives:     Compute(experiment.DefaultDerivatives()),
		Limits:          Compute(experiment.DefaultDifferentiabilityLimits()),
		Learning:        Compute(experiment.DefaultLearning()),
		Ablation:        Compute(experiment.DefaultAblation()),
		Errata:          Compute(experiment.DefaultErrata()),
		GradientParts:   Compute(experiment.DefaultGradientParts()),
		FewDimensions:   Compute(experiment.DefaultFewDimensions()),
		Printed:         Compute(experiment.DefaultRegressionPrinted()),
		Timings:         Timings(),
	}
}

// Timings returns what ./reproduce.sh --timings has recorded, or nil where
// nothing is.
func Timings() *experiment.Timings {
	return Must(experiment.ReadTimings(filepath.Join(Must(source.Root()), "figures", "out", "timings.json")))
}
