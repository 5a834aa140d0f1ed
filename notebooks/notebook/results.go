package notebook

import (
	"cvgm/cvgm/experiment"
	"cvgm/figures"
)

// Results returns what the paper's claims are judged by: every experiment at
// the paper's parameters, or at our own where the paper has none, from the store
// where it holds them, and the recorded timings.
func Results() figures.Results {
	return figures.Results{
		ElasticNet:      Compute(experiment.PaperElasticNet(), experiment.ElasticNetParams.Run),
		ElasticNetSeeds: Compute(experiment.PaperElasticNet(), experiment.ElasticNetParams.RunSeeds),
		Rings:           Compute(experiment.PaperRings(), experiment.RingsParams.Run),
		XOR:             Compute(experiment.PaperXOR(), experiment.XORParams.Run),
		SampleSize:      Compute(experiment.PaperSampleSize(), experiment.SampleSizeParams.Run),
		Searches:        Compute(experiment.DefaultSearches(), experiment.SearchesParams.Run),
		Dimensions:      Compute(experiment.DefaultSearchDimensions(), experiment.SearchDimensionsParams.Run),
		Splits:          Compute(experiment.DefaultSplits(), experiment.SplitsParams.Run),
		Unrolled:        Compute(experiment.DefaultUnrolled(), experiment.UnrolledParams.Run),
		Stability:       Compute(experiment.DefaultStability(), experiment.StabilityParams.Run),
		Derivatives:     Compute(experiment.DefaultDifferentiability(), experiment.DifferentiabilityParams.Run),
		Errata:          Compute(experiment.DefaultDifferentiability(), experiment.DifferentiabilityParams.RunErrata),
		Timings:         Timings(),
	}
}
