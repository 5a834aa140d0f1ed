package readings

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/searches"
)

// countReached counts the data sets on which a search reaches the minimum within its whole budget.
func countReached(r *searches.Result, m searches.Method) int {
	return m.Within(r.Params.Budget, r.Params.DataSets)
}

// searchNamed returns the search with the given name. If there is none, it returns an empty search.
func searchNamed(r *searches.Result, name string) searches.Method {
	for _, m := range r.Methods {
		if m.Name == name {
			return m
		}
	}
	return searches.Method{Name: name}
}

// Searches states which searches reach the minimum. If times are recorded, it also states the time
// of a gradient.
func Searches(r *searches.Result, t *claims.Timings) string {
	var best searches.Method // the best search without gradients
	for _, m := range r.Methods {
		if !m.Gradient && (best.Name == "" || countReached(r, m) > countReached(r, best)) {
			best = m
		}
	}
	p, newton, cost := r.Params, searchNamed(r, searches.QuasiNewton), ""
	if t != nil {
		times := func(value, gradient string) float64 { return t.Lowest(gradient, "ns/op") / t.Lowest(value, "ns/op") }
		cost = fmt.Sprintf("An evaluation with gradient takes %.2f times as long as one without for the 2 hyperparameters of the elastic net, and %.2f times for the 322 of the rings.",
			times("cvgm.ElasticNetCold/value", "cvgm.ElasticNetCold/gradient"), times("cvgm.LearnedKernelStep/rings/value", "cvgm.LearnedKernelStep/rings/step"))
	}
	return paragraphs(
		fmt.Sprintf("**The quasi-Newton method reaches the lowest CV loss of an elastic net within %d evaluations on %d of %d data sets.** Of the searches without gradients %s is the best: within %d evaluations it reaches the lowest CV loss on %d of %d. Exhaustive search reaches it on %d of %d.",
			p.SmallBudget, newton.Within(p.SmallBudget, p.DataSets), p.DataSets, best.Name, p.Budget, countReached(r, best), p.DataSets, countReached(r, searchNamed(r, "exhaustive")), p.DataSets),
		cost)
}

// SearchesCurves explains the figure of the same name. It counts the searches that reach the
// minimum.
func SearchesCurves(r *searches.Result) string {
	count := func(gradient bool) (halves, all int) {
		for _, m := range r.Methods {
			if m.Gradient == gradient {
				all++
				if 2*countReached(r, m) >= r.Params.DataSets {
					halves++
				}
			}
		}
		return halves, all
	}
	with, ofWith := count(true)
	without, ofWithout := count(false)
	return paragraphs(
		"A line below the dotted level has reached the minimum on at least half of the data sets.",
		fmt.Sprintf("Within %d evaluations, %d of %d searches with gradients reach the minimum on at least half of the data sets. Of the searches without gradients %d of %d do. **With the same gradients, the method decides:** the paper's step reaches the minimum on %d of %d data sets, the quasi-Newton method on %d.",
			r.Params.Budget, with, ofWith, without, ofWithout, countReached(r, searchNamed(r, searches.PaperStep)), r.Params.DataSets, countReached(r, searchNamed(r, searches.QuasiNewton))))
}

// SearchesTime explains the figure.
func SearchesTime(t *claims.Timings) string {
	each := func(name string) float64 {
		return t.Lowest("cvgm/experiment/searches.Searcher/"+name, "ns/evaluation") / 1e3
	}
	text := fmt.Sprintf("An evaluation takes %.0f µs in the quasi-Newton method, %.0f µs in CMA-ES and %.0f µs in Bayesian optimisation.",
		each("quasi-Newton"), each("CMA-ES"), each("Bayesian"))
	if each("Bayesian") > 2*each("CMA-ES") { // CMA-ES chooses its points in almost no time
		text += " Bayesian optimisation spends most of its time on the choice of the next point."
	}
	return text
}

// SearchesMinimaTable counts the minima that lie on a bound. It also counts the minima that a
// search reaches, separately for minima on a bound and for other minima. For searches that run both
// in λ and in the logarithm of λ, it compares both ways.
func SearchesMinimaTable(r *searches.Result) string {
	p := r.Params
	onBound := make([]bool, len(r.At))
	bounds := 0
	for i, at := range r.At {
		if at[0] <= p.MinLambda1 || at[1] <= p.MinLambda2 {
			onBound[i], bounds = true, bounds+1
		}
	}
	text := fmt.Sprintf("%d of %d minima lie on a bound of a penalty.", bounds, len(r.At))
	if bounds == 0 {
		return text
	}
	count := func(m searches.Method, of bool) (n int) {
		for i, at := range m.Reached {
			if onBound[i] == of && at > 0 && at <= p.Budget {
				n++
			}
		}
		return n
	}
	var these, others []string
	for _, m := range r.Methods {
		if log := searchNamed(r, m.Name+" in log λ"); log.Reached != nil {
			these = append(these, fmt.Sprintf("%s reaches %d if it searches λ and %d if it searches log λ", m.Name, count(m, true), count(log, true)))
			others = append(others, fmt.Sprintf("%s reaches %d in λ and %d in log λ", m.Name, count(m, false), count(log, false)))
		}
	}
	low, so := math.Pow(10, p.BoxLow), ""
	if low > max(p.MinLambda1, p.MinLambda2) {
		so = ", so they cannot reach a minimum on a bound"
	}
	if these != nil {
		text += fmt.Sprintf(" Of these, within %d evaluations, %s. Of the other %d, %s. The searches of log λ have the lower bound λ = %.3g%s.",
			p.Budget, strings.Join(these, ", and "), len(r.At)-bounds, strings.Join(others, ", and "), low, so)
	}
	return text
}

// SearchesSurface explains the figure of the same name. It counts the starts from which a search
// ends at the minimum.
func SearchesSurface(r *searches.Result) string {
	lowest, higher, others := 0, 0., ""
	minimum := r.Minimum[r.Params.SurfaceDataSet]
	for _, v := range r.Surface.EndLoss {
		if v-minimum <= r.Params.Tol {
			lowest++
		} else {
			higher = max(higher, v)
		}
	}
	if higher > 0 {
		others = fmt.Sprintf("The others end at CV losses up to %.6f.", higher)
	}
	return paragraphs(
		fmt.Sprintf("The searches that end on the cross have found the true minimum, %.6f. Others end in other local minima, or on a plateau, where every coefficient is zero and the CV loss is constant. Here %d of %d starts end at the true minimum.", minimum, lowest, len(r.Surface.EndLoss)),
		others)
}

// SearchDimensionsCurves explains the figure of the same name. It compares the end of the
// quasi-Newton search with the end of the best search without gradients.
func SearchDimensionsCurves(r *searches.DimensionsResult) string {
	above := func(excess float64) string {
		if excess < 1e-6 { // as in the figure
			return "less than 1e-6"
		}
		return fmt.Sprintf("%.2g", excess)
	}
	var ends list
	for _, d := range r.Dimensions {
		var newton, best searches.DimensionMethod // best: the best search without gradients
		for _, m := range d.Methods {
			switch {
			case m.Name == searches.QuasiNewton:
				newton = m
			case m.CV != nil && m.Name != "adaptive gradient" && (best.CV == nil || m.Excess.Mean < best.Excess.Mean):
				best = m
			}
		}
		ends.item("Hyperparameters: %d. Quasi-Newton: %s, after at most %d evaluations. %s: %s, after %d.", d.Hyperparameters, above(newton.Excess.Mean), newton.Evaluations, best.Name, above(best.Excess.Mean), best.Evaluations)
	}
	return paragraphs(
		"How far above the lowest known CV loss the quasi-Newton method and the best search without gradients end:",
		ends.String())
}

// SearchDimensionsTest warns that the search with the lowest CV loss may not have the lowest test
// loss.
func SearchDimensionsTest(r *searches.DimensionsResult) string {
	most := r.Dimensions[len(r.Dimensions)-1]
	ran := slices.DeleteFunc(slices.Clone(most.Methods), func(m searches.DimensionMethod) bool { return m.CV == nil })
	if len(ran) == 0 {
		return ""
	}
	cv := slices.MinFunc(ran, func(a, b searches.DimensionMethod) int { return cmp.Compare(a.CVMean.Mean, b.CVMean.Mean) })
	test := slices.MinFunc(ran, func(a, b searches.DimensionMethod) int { return cmp.Compare(a.TestMean.Mean, b.TestMean.Mean) })
	return fmt.Sprintf("**A low CV loss need not be a low test loss.** With %d hyperparameters %s ends at the lowest CV loss of these searches, %.3f, and has the test loss %.3f ± %.3f. The lowest mean test loss, %.3f ± %.3f, belongs to %s, which ends at the CV loss %.3f. [07_splits](07_splits.ipynb) measures when to stop.",
		most.Hyperparameters, cv.Name, cv.CVMean.Mean, cv.TestMean.Mean, cv.TestMean.Margin, test.TestMean.Mean, test.TestMean.Margin, test.Name, test.CVMean.Mean)
}

// FewDimensionsTable says how many hyperparameters affect the CV loss.
func FewDimensionsTable(few *searches.FewDimensionsResult) string {
	var carry float64
	for _, share := range few.Carry {
		carry += share / float64(len(few.Carry))
	}
	return fmt.Sprintf("A difference below 0 means that random search is better. If each of %d features has its own penalty, %.0f %% of the penalties carry nine tenths of the mean squared slope of the CV loss.", few.Params.Features, 100*carry)
}

// RegretTable counts the rows in which Bayesian optimisation is clearly better.
func RegretTable(r *searches.RegretResult) string {
	lower, competitive := 0, 0
	for _, row := range r.Rows {
		if row.BayesianLess.High < 0 {
			lower++
		}
		if -row.BayesianLess.Median < row.StartLess.Median/4 {
			competitive++
		}
	}
	return fmt.Sprintf("Bayesian optimisation has the lower regret in %d of %d rows: the interval of the difference lies below 0. By the rule above, the medians make random search competitive in %d. A regret near zero means that the search has found the lowest known CV loss of its box. The ratio of two such regrets has no meaning.", lower, len(r.Rows), competitive)
}

// GradientCostTable explains the table.
func GradientCostTable() string {
	return "In rows with a gradient, the last column is the time with the gradient divided by the time without. In rows with cores it is the time on two cores divided by the time on one. Sharing the work gives 0.5 at best. A value below 0.5 has other causes as well, such as caches or other work on the machine."
}
