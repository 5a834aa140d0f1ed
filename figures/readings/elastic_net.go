package readings

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/elasticnet"
)

// ElasticNetReplay states the result of the replay of the paper's run: which search ends at the
// lowest test loss.
func ElasticNetReplay(r *elasticnet.Result) string {
	ends := []elasticnet.Search{r.CVGM, r.Exhaustive, r.Random}
	slices.SortStableFunc(ends, func(a, b elasticnet.Search) int { return cmp.Compare(a.Final(), b.Final()) })
	return fmt.Sprintf("**On the published data set %s ends at the lowest test loss, %.4f, before %s with %.4f and %s with %.4f.**",
		inSentence(ends[0].Name), ends[0].Final(), inSentence(ends[1].Name), ends[1].Final(), inSentence(ends[2].Name), ends[2].Final())
}

// inSentence returns the name of a search as it stands within a sentence.
func inSentence(name string) string {
	if name == "CVGM" {
		return name
	}
	return strings.ToLower(name)
}

// ElasticNetSeeds returns the answer from fresh data sets.
func ElasticNetSeeds(seeds *elasticnet.Seeds) string {
	grid, random := seeds.Methods[elasticnet.Exhaustive].CVGMMinusTest.Difference, seeds.Methods[elasticnet.Random].CVGMMinusTest.Difference
	against := func(e experiment.Estimate) string { return Weighed(e, 4, claims.SquaredLossMatters) }
	better := "not clearly better than either rival"
	switch {
	case grid.Sign() < 0 && random.Sign() < 0:
		better = "better than both rivals"
	case grid.Sign() < 0:
		better = "better than exhaustive search, and not clearly better than random search"
	case random.Sign() < 0:
		better = "better than random search, and not clearly better than exhaustive search"
	}
	return fmt.Sprintf("**On %d fresh data sets the gradient is %s.** Against exhaustive search, the mean test loss of CVGM %s. Against random search it %s. %s %s",
		seeds.Params.Seeds, better, against(grid), against(random), CouldShow(claims.SquaredLossMatters, grid, random), pooled(claims.TestLossClaim))
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

// ElasticNetBoxTable judges the paper's box: whether a wider box changes both losses, and how often
// the minimum lies outside the paper's box.
func ElasticNetBoxTable(seeds *elasticnet.Seeds) string {
	share := func(e experiment.Estimate) string {
		text := fmt.Sprintf("%.1f %%", 100*e.Mean)
		if e.Repeated() { // with the interval of the table
			low, high := e.Interval(.95)
			text += fmt.Sprintf(" (%.1f to %.1f)", 100*low, 100*high)
		}
		return text
	}
	less := seeds.WideLess
	both := func(sign int, a, b experiment.Comparison) bool {
		return a.Difference.Sign() == sign && b.Difference.Sign() == sign
	}
	wider := "The two losses of the two searches do not move together from the paper's box to the wide one."
	if both(-1, less.ExhaustiveCV, less.RandomCV) {
		switch {
		case both(1, less.ExhaustiveTest, less.RandomTest):
			wider = "The wide box lowers the CV loss of both searches and raises their test loss: the paper's box acts as a regulariser."
		case both(-1, less.ExhaustiveTest, less.RandomTest):
			wider = "The wide box lowers the CV loss of both searches and their test loss, too: the paper's box is too small."
		default:
			wider = "The wide box lowers the CV loss of both searches, and does not clearly move the test loss of both to one side."
		}
	}
	return fmt.Sprintf("%s The best point of the grid lies on an edge of the paper's box on %s of the data sets, where a user would widen the grid. The minimum of the CV loss, by quasi-Newton searches, lies outside the paper's box on %s, and beyond an upper end on %s.",
		wider, share(seeds.OnEdge), share(seeds.MinimumOutside), share(seeds.MinimumAbove))
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
	between := ""
	if at(r.Long.TestLoss) < at(r.Long.CVLoss) {
		between = fmt.Sprintf(". From step %d on the descent over-fits the validation rows", at(r.Long.TestLoss)+1)
	}
	return paragraphs(
		fmt.Sprintf("The test loss of this run is lowest, %.4f, at step %d, and the CV loss at step %d%s. In Table 1 CVGM ends at step %d.",
			slices.Min(r.Long.TestLoss), at(r.Long.TestLoss)+1, at(r.Long.CVLoss)+1, between, last+1),
		fmt.Sprintf("The lowest CV loss of exhaustive search is %.4f, found after its best value had changed %d times. CVGM has %.4f at step %d and %.4f at step %d.",
			slices.Min(r.Exhaustive.CVLoss), r.Exhaustive.Improvements, r.Long.CVLoss[last], last+1, r.Long.CVLoss[long], long+1),
		fmt.Sprintf("The first gradient is (%.6f, %.6f), its norm %.6f. The steps of the run:", g[0], g[1], math.Hypot(g[0], g[1])),
		steps.String())
}

// ElasticNetSurfaces compares the test loss at the lowest CV loss with the lowest test loss and with
// the end of CVGM.
func ElasticNetSurfaces(r *elasticnet.Result) string {
	at, low := math.NaN(), math.NaN() // test losses at the lowest CV loss, and lowest
	cv := math.Inf(1)
	for i, row := range r.Surface.Test {
		for j, loss := range row {
			if r.Surface.CV[i][j] < cv {
				cv, at = r.Surface.CV[i][j], loss
			}
			if !(loss >= low) {
				low = loss
			}
		}
	}
	text := fmt.Sprintf("At the lowest CV loss (×) the test loss is %.4f, and its lowest value (+) is %.4f.", at, low)
	end := r.CVGM.Final()
	if at > end && r.Long.Final() > end {
		text += " CVGM has a lower test loss than × because it stops on the way."
	}
	return fmt.Sprintf("%s After %d steps CVGM would end at %.4f.", text, len(r.Long.TestLoss), r.Long.Final())
}
