package readings

import (
	"fmt"

	"cvgm/cvgm/experiment/searches"
)

// Stochastic compares two kinds of methods: stochastic CVGM with an outer penalty, and all other
// methods. It also states the effects of the penalty and of the CV gradient.
func Stochastic(r *searches.StochasticResult) string {
	own, _ := r.Find(searches.StochasticPenalty)
	against := func(name string) string {
		m, _ := r.Find(name)
		return fmt.Sprintf("against %s (%.3g after %d fits) it %s", name, m.Risk.Mean, m.Fits, Described(m.PenaltyLess.Difference, 3))
	}
	var all list
	all.item("*Against searches on fixed splits.* Stochastic CVGM with the penalty has the risk %.3g after %d fits: %s; %s; %s.",
		own.Risk.Mean, own.Fits, against(searches.StochasticPlain), against(searches.StochasticCMAES), against(searches.StochasticRandom))
	all.item("*Effect of the penalty.* With it, the risk of stochastic CVGM, %.3g without, %s.", riskOf(r, searches.StochasticAlone), describedOf(r, searches.StochasticAlone))
	all.item("*Effect of the CV gradient.* The training gradient has the risk %.3g without the penalty, and %.3g with it. Against the latter, the risk of stochastic CVGM with the penalty %s%s",
		riskOf(r, searches.StochasticTraining), riskOf(r, searches.StochasticTrainPenalty), describedOf(r, searches.StochasticTrainPenalty), penaltyAlone(r))
	return all.String()
}

func riskOf(r *searches.StochasticResult, name string) float64 {
	m, _ := r.Find(name)
	return m.Risk.Mean
}

func describedOf(r *searches.StochasticResult, name string) string {
	m, _ := r.Find(name)
	return Described(m.PenaltyLess.Difference, 3)
}

// penaltyAlone returns the conclusion that only the penalty helps, if the results support this
// conclusion. There are two conditions. The penalty must help with both gradients. Among methods
// with the penalty, the CV gradient must have no clear effect.
func penaltyAlone(r *searches.StochasticResult) string {
	alone, _ := r.Find(searches.StochasticAlone)
	trained, _ := r.Find(searches.StochasticTrainPenalty)
	if d := trained.PenaltyLess.Difference; alone.PenaltyLess.Difference.Sign() < 0 && d.N > 1 && d.Sign() == 0 {
		return ". So the penalty helps here, and no effect of the CV gradient is seen on these data sets."
	}
	return "."
}
