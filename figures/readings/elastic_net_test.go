package readings

import (
	"math"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/elasticnet"
)

// replayResult returns searches with these test losses at their ends, a long run of CVGM, and a
// surface of two points. At the lowest CV loss the test loss is at, and elsewhere 1.
func replayResult(cvgm, exhaustive, random, long, at float64) *elasticnet.Result {
	s := func(name string, losses ...float64) elasticnet.Search {
		return elasticnet.Search{Name: name, TestLoss: losses, CVLoss: []float64{3, 2, 1}[:len(losses)], Lambda: make([][2]float64, len(losses)), Grad: make([][2]float64, len(losses))}
	}
	r := &elasticnet.Result{CVGM: s("CVGM", 9, cvgm), Exhaustive: s("Exhaustive search", exhaustive), Random: s("Random search", random), Long: s("CVGM", 9, cvgm, long)}
	r.Surface.CV, r.Surface.Test = [][]float64{{5, 4}}, [][]float64{{1, at}}
	return r
}

// seedsResult returns the differences of CVGM from its rivals, and the differences of the wide box
// from the paper's box: of both CV losses and of both test losses.
func seedsResult(grid, random, cv, exhaustiveTest, randomTest float64) *elasticnet.Seeds {
	r := &elasticnet.Seeds{Methods: make([]elasticnet.Method, elasticnet.WideRandom+1)}
	r.Methods[elasticnet.Exhaustive].CVGMMinusTest, r.Methods[elasticnet.Random].CVGMMinusTest = comparisonOf(grid), comparisonOf(random)
	less := &r.WideLess
	less.ExhaustiveCV, less.RandomCV, less.ExhaustiveTest, less.RandomTest = comparisonOf(cv), comparisonOf(cv), comparisonOf(exhaustiveTest), comparisonOf(randomTest)
	r.OnEdge, r.MinimumAbove = experiment.Estimate{Mean: .5, Margin: .1, N: 9, Scale: experiment.Share}, experiment.Estimate{Mean: 1, Margin: math.NaN(), N: 1}
	return r
}

func TestAnswersOnElasticNet(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{ElasticNetReplay(replayResult(1, 3, 2, 0, 0)), "**On the published data set CVGM ends at the lowest test loss, 1.0000, before random search with 2.0000 and exhaustive search with 3.0000.**"},
		{ElasticNetReplay(replayResult(3, 1, 2, 0, 0)), "exhaustive search ends at the lowest test loss, 1.0000, before random search with 2.0000 and CVGM with 3.0000.**"},
		{ElasticNetSeeds(seedsResult(0, 0, 0, 0, 0)), "the gradient is not clearly better than either rival.**"},
		{ElasticNetSeeds(seedsResult(1, 1, 0, 0, 0)), "the gradient is not clearly better than either rival.**"},
		{ElasticNetSeeds(seedsResult(-1, -1, 0, 0, 0)), "the gradient is better than both rivals.**"},
		{ElasticNetSeeds(seedsResult(-1, 0, 0, 0, 0)), "the gradient is better than exhaustive search, and not clearly better than random search.**"},
		{ElasticNetSeeds(seedsResult(1, -1, 0, 0, 0)), "the gradient is better than random search, and not clearly better than exhaustive search.**"},
		{ElasticNetBoxTable(seedsResult(0, 0, -1, 1, 1)), "raises their test loss: the paper's box acts as a regulariser. The best point of the grid lies on an edge of the paper's box on 50.0 % (22.7 to 77.3) of the"},
		{ElasticNetBoxTable(seedsResult(0, 0, -1, 1, 1)), "beyond an upper end on 100.0 %."},
		{ElasticNetBoxTable(seedsResult(0, 0, -1, -1, -1)), "the paper's box is too small."},
		{ElasticNetBoxTable(seedsResult(0, 0, -1, 0, 1)), "does not clearly move the test loss of both to one side."},
		{ElasticNetBoxTable(seedsResult(0, 0, 0, 1, 1)), "do not move together"},
		{ElasticNetSurfaces(replayResult(2, 0, 0, 4, 3)), "At the lowest CV loss (×) the test loss is 3.0000, and its lowest value (+) is 1.0000. CVGM has a lower test loss than × because it stops on the way. After 3 steps CVGM would end at 4.0000."},
		{ElasticNetSurfaces(replayResult(2, 0, 0, 1, 3)), "(+) is 1.0000. After 3 steps"},
		{ElasticNetSurfaces(replayResult(2, 0, 0, 4, 1.5)), "(+) is 1.0000. After 3 steps"},
		{ElasticNetEarlyStopping(replayResult(2, 0, 0, 4, 0)), "at step 2, and the CV loss at step 3. From step 2 on the descent over-fits the validation rows. In Table 1"},
		{ElasticNetEarlyStopping(replayResult(2, 0, 0, 1, 0)), "at step 3, and the CV loss at step 3. In Table 1"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%q lacks %q", c.got, c.want)
		}
	}
}
