// Package claims compares the claims of the paper with the results of the experiments. The function
// [Claims] returns a verdict on each claim, and [Findings] returns the most important results.
//
// The variable [Printed] holds the numbers that are printed in the paper and in the saved output of
// its published code. The package compares these numbers with the measured numbers. The experiments
// compute all other numbers.
package claims

import (
	"cvgm/cvgm/experiment/differentiability"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/manyhyper"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/cvgm/experiment/searches"
	"cvgm/cvgm/experiment/splits"
	"cvgm/cvgm/experiment/stability"
)

// Results are the results of the experiments. The package compares the claims with these results.
// If a result is nil, its measurements are omitted.
type Results struct {
	ElasticNet      *elasticnet.Result
	ElasticNetSeeds *elasticnet.Seeds
	Rings           *kernels.RingsResult
	XOR             *kernels.XORResult
	SampleSize      *samplesize.Result
	Searches        *searches.Result
	Dimensions      *searches.DimensionsResult
	Splits          *splits.Result
	Unrolled        *differentiability.UnrolledResult
	Stability       *stability.Result
	Derivatives     *differentiability.DerivativeChecks
	Limits          *differentiability.Limits
	Learning        *differentiability.Learning
	Ablation        *samplesize.AblationResult
	Errata          *differentiability.ErrataResult
	GradientParts   *kernels.GradientPartsResult
	FewDimensions   *searches.FewDimensionsResult
	Regret          *searches.RegretResult
	Printed         *elasticnet.RegressionPrinted
	Map             *manyhyper.MapResult
	Timings         *Timings
}

// A Claim is a sentence of the paper with the measurements that test it.
type Claim struct {
	Number   int    // place in the order of the paper, from 1
	Section  string // section of the paper
	Sentence string // quoted
	Short    string // at most twelve words, which are not the paper's
	Measured []Measurement
	Verdict  Verdict // on the sentence; confirmed if all measurements except asides confirm it
}

// Claims judges those sentences of the paper for which there are results. The claims are in the
// order of the paper. Each file claims_….go holds the measurements from one experiment.
func Claims(r Results) []Claim {
	var all measurements
	measure(r.ElasticNet, all.elasticNet)
	measure(r.ElasticNetSeeds, all.elasticNetSeeds)
	measure(r.Rings, all.rings)
	measure(r.SampleSize, all.sampleSize)
	measure(r.XOR, all.xor)
	measure(r.Searches, all.searches)
	measure(r.Dimensions, all.dimensions)
	measure(r.Splits, all.splits)
	measure(r.Unrolled, all.unrolled)
	measure(r.Timings, all.timings)
	measure(r.Stability, all.stability)
	measure(r.Derivatives, all.derivatives)
	measure(r.Limits, all.limits)
	measure(r.Learning, all.learning)
	measure(r.Ablation, all.ablation)
	measure(r.Errata, all.errata)
	measure(r.GradientParts, all.gradientParts)
	measure(r.FewDimensions, all.fewDimensions)
	measure(r.Regret, all.regret)
	measure(r.Printed, all.regressionPrinted)
	measure(r.Map, all.gradientMap)
	var claims []Claim
	for s, measured := range all {
		if len(measured) == 0 {
			continue
		}
		c := Claim{Number: s + 1, Section: quotations[s].section, Sentence: quotations[s].text, Short: quotations[s].summary, Measured: measured}
		c.judge()
		claims = append(claims, c)
	}
	return claims
}

// judge sets the verdict on the sentence from the verdicts on its measurements.
func (c *Claim) judge() {
	var verdicts []Verdict
	for _, m := range c.Measured {
		if !m.Aside {
			verdicts = append(verdicts, m.Verdict)
		}
	}
	c.Verdict = conjunction(verdicts)
}

func measure[R any](r *R, by func(*R)) {
	if r != nil {
		by(r)
	}
}
