package readings

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/elasticnet"
)

// ElasticNetReplay states the result of the replay of the paper's run: the test loss at the end of
// each search.
func ElasticNetReplay(r *elasticnet.Result) string {
	return fmt.Sprintf("**In the replay CVGM ends at the test loss %.4f, exhaustive search at %.4f and random search at %.4f.**", r.CVGM.Final(), r.Exhaustive.Final(), r.Random.Final())
}

// ElasticNetSeeds returns the answer from fresh data sets.
func ElasticNetSeeds(seeds *elasticnet.Seeds) string {
	grid, random := seeds.Methods[elasticnet.Exhaustive].CVGMMinusTest.Difference, seeds.Methods[elasticnet.Random].CVGMMinusTest.Difference
	against := func(e experiment.Estimate) string { return Weighed(e, 4, claims.SquaredLossMatters) }
	return fmt.Sprintf("**Against exhaustive search, the mean test loss of CVGM over %d fresh data sets %s. Against random search it %s.** %s %s",
		seeds.Params.Seeds, against(grid), against(random), CouldShow(claims.SquaredLossMatters, grid, random), pooled(claims.TestLossClaim))
}

// ElasticNetTable compares CVGM with the other methods over fresh data sets.
func ElasticNetTable(seeds *elasticnet.Seeds) string {
	method := func(k int) elasticnet.Method { return seeds.Methods[k] }
	weighed := func(c experiment.Comparison) string { return Weighed(c.Difference, 3, claims.SquaredLossMatters) }
	long, grid, random := method(elasticnet.Long), method(elasticnet.Exhaustive), method(elasticnet.Random)
	return paragraphs(
		fmt.Sprintf("* **Test loss.** CVGM has a lower test loss than exhaustive search on %.0f %% of the data sets, and a lower one than random search on %.0f %%. Against least squares its mean %s.",
			100*grid.CVGMMinusTest.Wins, 100*random.CVGMMinusTest.Wins, weighed(method(elasticnet.LeastSquares).CVGMMinusTest)),
		fmt.Sprintf("* **CV loss.** Against exhaustive search, the CV loss of CVGM after %d steps %s. Against random search it %s.",
			seeds.Params.Steps, weighed(grid.CVGMMinusCV), weighed(random.CVGMMinusCV)),
		fmt.Sprintf("* **The long run.** Against CVGM after %d steps, the CV loss of CVGM after %d %s, and its test loss %s.",
			seeds.Params.LongSteps, seeds.Params.Steps, weighed(long.CVGMMinusCV), weighed(long.CVGMMinusTest)))
}

// ElasticNetBoxTable counts how often the minimum lies outside the box.
func ElasticNetBoxTable(seeds *elasticnet.Seeds) string {
	share := func(e experiment.Estimate) string { return fmt.Sprintf("%.1f ± %.1f %%", 100*e.Mean, 100*e.Margin) }
	return fmt.Sprintf("The minimum of the CV loss, by quasi-Newton searches, lies outside the paper's box on %s of the data sets, and beyond an upper end on %s.",
		share(seeds.MinimumOutside), share(seeds.MinimumAbove))
}

// RegressionPrintedTable judges the command that the paper prints.
func RegressionPrintedTable(r *elasticnet.RegressionPrinted) string {
	second := r.Tests[elasticnet.TestSecondCall]
	text := fmt.Sprintf("On the rows of a second call, the coefficients that made the training labels have a loss of %.2f ± %.2f times the variance of the noise. The right coefficients would have 1.", second.CoefMean.Mean, second.CoefMean.Margin)
	if second.CoefMean.Mean-second.CoefMean.Margin > 1 {
		text += " So Table 1 cannot come from the printed command."
	}
	return text
}

// ElasticNetLearningCurves explains the figure.
func ElasticNetLearningCurves(r *elasticnet.Result) string {
	return fmt.Sprintf("No search sees the test loss, so all three lines can rise. Exhaustive search reaches %.4f on its way and ends at %.4f.", slices.Min(r.Exhaustive.TestLoss), r.Exhaustive.Final())
}

// ElasticNetEarlyStopping describes the figure, and lists the losses at the ends of the run.
func ElasticNetEarlyStopping(r *elasticnet.Result) string {
	at := func(v []float64) int { return slices.Index(v, slices.Min(v)) }
	last, long := len(r.CVGM.Lambda)-1, len(r.Long.Lambda)-1
	g := r.CVGM.Grad[0]
	var steps list
	for _, k := range []int{0, last, long} {
		steps.item("step %d: CV loss %.6f, test loss %.6f at (λ1, λ2) = (%.6f, %.6f)", k+1, r.Long.CVLoss[k], r.Long.TestLoss[k], r.Long.Lambda[k][0], r.Long.Lambda[k][1])
	}
	return paragraphs(
		fmt.Sprintf("Where the solid line turns up while the dashed one falls, the descent over-fits the validation rows. The test loss of this run is lowest, %.4f, at step %d, and the CV loss at step %d. In Table 1 CVGM ends at step %d.",
			slices.Min(r.Long.TestLoss), at(r.Long.TestLoss)+1, at(r.Long.CVLoss)+1, last+1),
		fmt.Sprintf("The lowest CV loss of exhaustive search is %.4f, after %d improvements. CVGM has %.4f at step %d and %.4f at step %d.",
			slices.Min(r.Exhaustive.CVLoss), r.Exhaustive.Improvements, r.Long.CVLoss[last], last+1, r.Long.CVLoss[long], long+1),
		fmt.Sprintf("The first gradient is (%.6f, %.6f), its norm %.6f. The steps of the run:", g[0], g[1], math.Hypot(g[0], g[1])),
		steps.String())
}

// ElasticNetSurfaces explains the figure.
func ElasticNetSurfaces(r *elasticnet.Result) string {
	return fmt.Sprintf("If × and + lie far apart, the lowest CV loss is a poor guide to the lowest test loss. After %d steps CVGM would end at the test loss %.4f.", len(r.Long.TestLoss), r.Long.Final())
}
