package notebooks

import (
	"cvgm/cvgm/experiment"
	"cvgm/figures"
)

// Results returns what the paper's claims are judged by: every experiment at
// the paper's parameters, from the store where it holds them.
func Results() figures.Results {
	return figures.Results{
		ElasticNet:      Compute(experiment.PaperElasticNet(), experiment.ElasticNetParams.Run),
		ElasticNetSeeds: Compute(experiment.PaperElasticNet(), experiment.ElasticNetParams.RunSeeds),
		Rings:           Compute(experiment.PaperRings(), experiment.RingsParams.Run),
		XOR:             Compute(experiment.PaperXOR(), experiment.XORParams.Run),
		SampleSize:      Compute(experiment.PaperSampleSize(), experiment.SampleSizeParams.Run),
	}
}
