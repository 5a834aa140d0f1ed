package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/searches"
)

// excessAt returns, for each data set, the CV loss of a method after the given number of
// evaluations, minus the minimum of the CV loss.
func excessAt(r *searches.Result, name string, evaluations int) []float64 {
	m := r.Methods[slices.IndexFunc(r.Methods, func(m searches.Method) bool { return m.Name == name })]
	v := make([]float64, len(m.Excess))
	for i, e := range m.Excess {
		v[i] = experiment.AtStep(e, evaluations-1)
	}
	return v
}

// lowerShare estimates the share of data sets i for which a[i] is lower than b[i]. An equal pair
// counts as half.
func lowerShare(a, b []float64) experiment.Estimate {
	return experiment.ShareOf(experiment.Wins(a, b))
}

// quasiNewtonBelowGrid compares two searches: a quasi-Newton search after searchEvals evaluations,
// and exhaustive search after its whole budget of evaluations. The result share is the share of
// data sets on which the quasi-Newton search has the lower CV loss.
func quasiNewtonBelowGrid(r *searches.Result) (share experiment.Estimate, searchEvals, budget int) {
	searchEvals, budget = 24, r.Params.Budget
	return lowerShare(excessAt(r, searches.QuasiNewton, searchEvals), excessAt(r, "exhaustive", budget)), searchEvals, budget
}

func (all *measurements) searches(r *searches.Result) {
	excess := func(name string, evaluations int) []float64 { return excessAt(r, name, evaluations) }
	less := func(a, b []float64) experiment.Estimate { return experiment.Compare(a, b).Difference }
	share, within, budget := quasiNewtonBelowGrid(r)
	paper, grid, random, bayesian := excess(searches.PaperStep, budget), excess("exhaustive", budget), excess("random", budget), excess("Bayesian", budget)
	start := excess(searches.PaperStep, 1)
	otherStart, otherBox := startBesidePaper(r.Params.PenaltyCVGM), boxBesidePaper(r.Params.BoxHigh)
	search := describe(netSetting, freshSetting, r.Params.RegressionData, r.Params.PenaltyCVGM, "lowest CV loss so far")
	setting := describe(otherStart, search)
	toGrid := describe(otherStart, otherBox, search, quasiNewton, pick(r.Params, "GridPoints"), pick(r.Params, "BoxLow", "BoxHigh"))
	all.add(saysMuchFaster, Measurement{role: quasiNewtonFaster, Text: fmt.Sprintf("share of data sets on which a quasi-Newton search after %d evaluations is below exhaustive search after %d", within, budget),
		Brief:   "share of data sets, quasi-Newton below the grid",
		Setting: toGrid,
		Ours:    share,
		Control: &Control{Text: fmt.Sprintf("the paper's constant step size after %d", within), Ours: lowerShare(excess(searches.PaperStep, within), grid)},
		Remark:  fmt.Sprintf("The mean difference of the CV losses is %s.", withMargin(less(excess(searches.QuasiNewton, within), grid)))}, aboveRule(.5, ofSets))
	all.add(saysMuchFaster, Measurement{role: paperStepFaster, Text: fmt.Sprintf("share of data sets on which the paper's constant step size after %d evaluations is below exhaustive search after as many", budget), Setting: toGrid, Aside: true, Ours: lowerShare(paper, grid),
		remarks: byVerdict{ifHolds: "The gradient helps the plainest method.", ifFails: "The constant step does not make enough of the gradient."}}, aboveRule(.5, ofSets))
	step := pick(r.Params, "LongStepSize")
	for _, method := range [][2]string{{"Nesterov", "Nesterov: momentum k/(k+3), restarted where a step goes against it, " + step}, {"Adam", "Adam: β₁ = .9, β₂ = .999, " + step}, {searches.QuasiNewton, quasiNewton}} {
		name := method[0]
		all.add(saysOtherMethods, Measurement{Text: fmt.Sprintf("CV loss, %s minus constant step size, after %d evaluations", name, budget), Brief: fmt.Sprintf("CV loss, %s minus constant step size", name),
			Setting: describe(setting, method[1]),
			Ours:    less(excess(name, budget), paper),
			Aside:   name == searches.QuasiNewton,
			Control: &Control{Text: "the constant step size in its place", Ours: less(paper, paper)}}, belowRule(0, ofSquaredLoss))
	}
	all.add(saysFierceCompetitor, Measurement{Text: fmt.Sprintf("CV loss, random minus Bayesian search, after %d evaluations", budget), Brief: "CV loss, random minus Bayesian search", Setting: describe(otherStart, otherBox, search, pick(r.Params, "Budget", "BoxLow", "BoxHigh"), improvement+"λ1 and λ2 themselves from their bounds to the same upper end, after the start and 5 uniform points"), Ours: less(random, bayesian), Beyond: paired(experiment.Less(random, bayesian), experiment.Less(start, bayesian)),
		Control: &Control{Text: "the start minus the Bayesian search", Ours: less(start, bayesian)},
		Remark:  fmt.Sprintf("The medians of the excess over the minimum are %s and %s.", short(experiment.MedianValue(random)), short(experiment.MedianValue(bayesian)))},
		littleOf(less(start, bayesian), "the start"))
	convex := make([]float64, len(r.Above))
	for i, above := range r.Above {
		if above > r.Params.Tol {
			convex[i] = 1
		}
	}
	all.add(saysNonconvex, Measurement{Text: fmt.Sprintf("share of data sets on which the CV loss exceeds a chord by more than %g", r.Params.Tol), Brief: "share of data sets, CV loss above a chord", Setting: describe(otherBox, netSetting, freshSetting, r.Params.RegressionData, pick(r.Params, "K", "P", "MinLambda1", "MinLambda2"), pick(r.Params, "ReferencePoints"), pick(r.Params, "BoxLow", "BoxHigh"), "each point of the grid against the line through its two neighbours along either axis"), Ours: experiment.ShareOf(convex),
		Control: &Control{Text: "a convex function", Ours: once(0)},
		Remark:  "It is bounded, as all coefficients are 0 where λ1 is large: no bounded function that falls and rises is convex."}, aboveRule(.5, ofSets))
	several := make([]float64, len(r.LocalMinima))
	for i, n := range r.LocalMinima {
		if n > 1 {
			several[i] = 1
		}
	}
	all.add(saysSeveralStarts, Measurement{Text: "share of data sets of the elastic net on which the CV loss has several local minima", Brief: "share of data sets with several local minima", Setting: describe(otherBox, netSetting, freshSetting, r.Params.RegressionData, pick(r.Params, "K", "P", "MinLambda1", "MinLambda2"), pick(r.Params, "ReferencePoints"), pick(r.Params, "BoxLow", "BoxHigh"), "a search by ever finer grids starts from each point of the grid at which the CV loss does not exceed that at its eight neighbours", pick(r.Params, "Tol"), "the plateau on which θ = 0 counts for none"), Ours: experiment.ShareOf(several),
		Control: &Control{Text: "a loss with one minimum", Ours: once(0)}}, aboveRule(0, ofSets))
}

func (all *measurements) dimensions(r *searches.DimensionsResult) {
	at := func(d searches.Dimension, name string) searches.DimensionMethod {
		return d.Methods[slices.IndexFunc(d.Methods, func(m searches.DimensionMethod) bool { return m.Name == name })]
	}
	if len(r.Dimensions) == 0 {
		return
	}
	most := slices.MaxFunc(r.Dimensions, func(a, b searches.Dimension) int { return cmp.Compare(a.Hyperparameters, b.Hyperparameters) })
	gradient, random := at(most, searches.QuasiNewton), at(most, "random")
	all.add(saysEfficient, Measurement{Text: fmt.Sprintf("CV loss, quasi-Newton minus random search, %d hyperparameters, same budget", most.Hyperparameters),
		Brief: "CV loss, quasi-Newton minus random search",
		Caveat: fmt.Sprintf("This is the CV loss alone. The test loss is %s: %s with quasi-Newton, %s with random search.",
			map[int]string{1: "higher than by random search", 0: "not clearly other than by random search", -1: "lower than by random search, too"}[experiment.Difference(gradient.TestMean, random.TestMean).Sign()], withMargin(gradient.TestMean), withMargin(random.TestMean)),
		Setting: describe(pick(r.Params, "Budget"), r.Params.Rings.RingsData, pick(r.Params.Rings, "Train", "K", "P", "C", "Hidden"), gradients[kernels.Full],
			"start: the initial weights; random search: draws of these", pick(r.Params, "RingsRadius"), quasiNewton),
		Ours:    experiment.Compare(gradient.CV, random.CV).Difference,
		Control: &Control{Text: "random search in its place", Ours: experiment.Compare(random.CV, random.CV).Difference},
		Remark:  "The paper's constant step is not among these searches."}, belowRule(0, ofLogLoss))
	var low, high *searches.Dimension // among the problems with a grid: fewest and most hyperparameters
	for i := range r.Dimensions {
		d := &r.Dimensions[i]
		if len(at(*d, "exhaustive").CV) == 0 {
			continue
		}
		if low == nil || d.Hyperparameters < low.Hyperparameters {
			low = d
		}
		if high == nil || d.Hyperparameters > high.Hyperparameters {
			high = d
		}
	}
	if low == nil || low == high {
		return
	}
	grid, random := at(*high, "exhaustive"), at(*high, "random")
	rises := func(name string) experiment.Estimate { // on the same data sets
		return experiment.Compare(experiment.Less(at(*high, name).CV, high.Lowest), experiment.Less(at(*low, name).CV, low.Lowest)).Difference
	}
	setting := func(groups string) string {
		return describe(fmt.Sprintf(groupsSetting, groups), freshSetting, r.Params.RidgeGroups, pick(r.Params, "Budget", "LongBudget"), "random search: log-uniform; grid: as many values per penalty as the budget allows, at equal ratios, fewer than 5 at the middles of equal parts of the box")
	}
	all.add(saysProhibitive, Measurement{Text: fmt.Sprintf("CV loss of exhaustive search above the lowest known, with %d hyperparameters minus with %d, same budget", high.Hyperparameters, low.Hyperparameters),
		Brief:   fmt.Sprintf("excess CV loss of a grid, %d penalties minus %d", high.Hyperparameters, low.Hyperparameters),
		Setting: setting(fmt.Sprintf("%d or %d", low.Hyperparameters, high.Hyperparameters)),
		Ours:    rises("exhaustive"),
		Control: &Control{Text: "a quasi-Newton search in its place", Ours: rises(searches.QuasiNewton)},
		Remark:  fmt.Sprintf("With %d the budget is enough for a grid of %d values of each.", high.Hyperparameters, grid.PerAxis)}, aboveRule(0, ofSquaredLoss))
	all.add(saysRandomBeatsGrid, Measurement{Text: fmt.Sprintf("CV loss, random minus exhaustive search, %d hyperparameters, same budget", high.Hyperparameters),
		Brief:   "CV loss, random minus exhaustive search",
		Setting: setting(fmt.Sprint(high.Hyperparameters)),
		Ours:    experiment.Compare(random.CV, grid.CV).Difference,
		Control: &Control{Text: "exhaustive search in its place", Ours: experiment.Compare(grid.CV, grid.CV).Difference},
		Remark:  fmt.Sprintf("The grid, of %d values of each, spends %d of the %d evaluations.", grid.PerAxis, grid.Evaluations, r.Params.Budget)}, belowRule(0, ofSquaredLoss))
}

func (all *measurements) fewDimensions(r *searches.FewDimensionsResult) {
	if len(r.Rows) == 0 {
		return
	}
	few, most := r.Rows[0], r.Rows[len(r.Rows)-1]
	setting := describe(fmt.Sprintf(groupsSetting, "as many")+", as penalties matter; further penalties have no effect", freshSetting, r.Params.RidgeGroups, pick(r.Params, "Hyperparameters", "PerAxis"), "random search: as many points, log-uniform")
	all.add(saysRandomBeatsGrid, Measurement{Text: fmt.Sprintf("CV loss, random minus exhaustive search, %d hyperparameters, of which %d matter, %d evaluations of each", r.Params.Hyperparameters, most.Matter, r.Points),
		Brief:   "CV loss, random minus exhaustive search",
		Setting: setting,
		Ours:    most.RandomLess.Difference,
		Control: &Control{Text: "exhaustive search in its place", Ours: experiment.Compare(most.Grid, most.Grid).Difference}}, belowRule(0, ofSquaredLoss))
	all.add(saysFewMatter, Measurement{Text: fmt.Sprintf("share of data sets on which random search is below exhaustive search, with %d of %d hyperparameters that matter minus with %d that matter", few.Matter, r.Params.Hyperparameters, most.Matter),
		Brief:   "share of wins of random search, few matter minus all",
		Setting: setting,
		Ours:    experiment.Compare(few.RandomBelow, most.RandomBelow).Difference,
		Control: &Control{Text: fmt.Sprintf("%d matter in both cases", most.Matter), Ours: experiment.Compare(most.RandomBelow, most.RandomBelow).Difference},
		Remark:  fmt.Sprintf("Where all matter, random search is below on a share of %s.", withMargin(most.RandomBelowOfSets))}, aboveRule(0, ofSets))
	all.add(saysFewMatter, Measurement{Text: fmt.Sprintf("least share of %d penalties that carries nine tenths of the mean squared slope of the CV loss in their logarithms", r.Params.Features),
		Brief:   "share of penalties with nine tenths of the slope",
		Setting: describe(fmt.Sprintf(groupsSetting, r.Params.Features), freshSetting, r.Params.RidgeGroups, pick(r.Params, "Points")),
		Ours:    experiment.EstimateOf(r.Carry),
		Control: &Control{Text: "all matter alike", Ours: once(r.CarryEqual)}}, belowRule(.5, ofWhole))
}

func (all *measurements) regret(r *searches.RegretResult) {
	for _, row := range r.Rows {
		random, start := negated(symmetric(row.BayesianLess)), symmetric(row.StartLess)
		beyond := symmetric(experiment.MedianOf(beyondQuarter(experiment.Less(row.Regrets.Random, row.Regrets.Bayesian), experiment.Less(row.Regrets.Start, row.Regrets.Bayesian))))
		p := r.Params
		p.BoxHigh = row.BoxHigh
		all.add(saysFierceCompetitor, Measurement{Text: fmt.Sprintf("median of the lowest CV loss, random minus Bayesian search, %d penalties of at most %.3g", row.Hyperparameters, math.Pow(10, row.BoxHigh)), Brief: fmt.Sprintf("CV loss, random minus Bayesian, %d penalties", row.Hyperparameters),
			Setting: describe(fmt.Sprintf(groupsSetting, row.Hyperparameters), freshSetting, p, "the first of them at the start; random search: log-uniform", improvement+"logarithms", "the margin is the wider side of a distribution-free interval of the median; over several draws: the mean of their medians"), Ours: random, Beyond: &beyond,
			Control: &Control{Text: "the start minus the Bayesian search", Ours: start},
			Remark:  fmt.Sprintf("The medians of the excess over the minimum are %s and %s. The Bayesian search is lower on %.3g %% of the data sets.", short(row.Random.Median), short(row.Bayesian.Median), 100*row.Wins)}, littleOf(start, "the start"))
	}
}
