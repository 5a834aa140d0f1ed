package claims

import (
	"cmp"
	"fmt"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/searches"
)

// excessAt returns the excess of the CV loss over the minimum that a method has
// reached on each data set after so many evaluations.
func excessAt(r *searches.SearchesResult, name string, evaluations int) []float64 {
	m := r.Methods[slices.IndexFunc(r.Methods, func(m searches.SearchMethod) bool { return m.Name == name })]
	v := make([]float64, len(m.Excess))
	for i, e := range m.Excess {
		v[i] = experiment.AtStep(e, evaluations-1)
	}
	return v
}

// lowerShare estimates the share of data sets on which a is below b; a tie counts half.
func lowerShare(a, b []float64) experiment.Estimate {
	wins := make([]float64, len(a))
	for i := range a {
		wins[i] = experiment.Compare(a[i:i+1], b[i:i+1]).Wins
	}
	return experiment.EstimateOf(wins)
}

// quasiNewtonBelowGrid is the share of data sets on which a quasi-Newton search is
// below exhaustive search, after so many evaluations of each.
func quasiNewtonBelowGrid(r *searches.SearchesResult) (share experiment.Estimate, within, budget int) {
	within, budget = 24, r.Params.Budget
	return lowerShare(excessAt(r, searches.SearchQuasiNewton, within), excessAt(r, "exhaustive", budget)), within, budget
}

func (all *measurements) searches(r *searches.SearchesResult) {
	excess := func(name string, evaluations int) []float64 { return excessAt(r, name, evaluations) }
	less := func(a, b []float64) experiment.Estimate { return experiment.Compare(a, b).Difference }
	share, within, budget := quasiNewtonBelowGrid(r)
	paper, grid, random, bayesian := excess(searches.SearchPaperStep, budget), excess("exhaustive", budget), excess("random", budget), excess("Bayesian", budget)
	start := excess(searches.SearchPaperStep, 1)
	setting := searchesSetting(r.Params)
	toGrid := joined(setting, methodSetting(r.Params, searches.SearchQuasiNewton), gridSetting(r.Params))
	all.add(saysMuchFaster, Measurement{Text: fmt.Sprintf("share of data sets on which a quasi-Newton search after %d evaluations is below exhaustive search after %d", within, budget),
		Setting: toGrid,
		Ours:    share,
		Control: &Control{Text: fmt.Sprintf("the paper's constant step size after %d", within), Ours: lowerShare(excess(searches.SearchPaperStep, within), grid)},
		Remark:  fmt.Sprintf("The mean difference of the CV losses is %s ± %s.", short(less(excess(searches.SearchQuasiNewton, within), grid).Mean), short(less(excess(searches.SearchQuasiNewton, within), grid).Margin))}, above(.5))
	all.add(saysMuchFaster, Measurement{Text: fmt.Sprintf("share of data sets on which the paper's constant step size after %d evaluations is below exhaustive search after as many", budget), Setting: toGrid, Aside: true, Ours: lowerShare(paper, grid),
		Remark: "The gradient helps a method that uses it well."}, above(.5))
	for _, name := range []string{"Nesterov", "Adam", searches.SearchQuasiNewton} {
		all.add(saysOtherMethods, Measurement{Text: fmt.Sprintf("CV loss of %s less that of the constant step size, after %d evaluations", name, budget),
			Setting: joined(setting, methodSetting(r.Params, name)),
			Ours:    less(excess(name, budget), paper),
			Aside:   name == searches.SearchQuasiNewton,
			Control: &Control{Text: "the constant step size in its place", Ours: less(paper, paper)}}, below(0))
	}
	all.add(saysFierceCompetitor, Measurement{Text: fmt.Sprintf("CV loss of random search less that of a Bayesian one, after %d evaluations", budget), Setting: joined(setting, bayesianSetting(r.Params)), Ours: less(random, bayesian),
		Control: &Control{Text: "the start less the Bayesian search", Ours: less(start, bayesian)},
		Remark:  fmt.Sprintf("The medians of the excess over the minimum are %s and %s.", short(experiment.MedianValue(random)), short(experiment.MedianValue(bayesian)))},
		littleOf(less(start, bayesian), "the start"))
	several := 0
	for _, n := range r.LocalMinima {
		if n > 1 {
			several++
		}
	}
	all.add(saysSeveralStarts, Measurement{Text: fmt.Sprintf("of %d data sets of the elastic net, those on which the CV loss has several local minima", len(r.LocalMinima)), Setting: minimaSetting(r.Params), Ours: once(float64(several)),
		Control: &Control{Text: "a loss with one minimum", Ours: once(0)}}, above(0))
}

func (all *measurements) dimensions(r *searches.SearchDimensionsResult) {
	at := func(d searches.SearchDimension, name string) searches.SearchDimensionMethod {
		return d.Methods[slices.IndexFunc(d.Methods, func(m searches.SearchDimensionMethod) bool { return m.Name == name })]
	}
	if len(r.Dimensions) == 0 {
		return
	}
	most := slices.MaxFunc(r.Dimensions, func(a, b searches.SearchDimension) int { return cmp.Compare(a.Hyperparameters, b.Hyperparameters) })
	gradient, random := at(most, searches.SearchQuasiNewton), at(most, "random")
	all.add(saysEfficient, Measurement{Text: fmt.Sprintf("CV loss of a quasi-Newton search less that of random search, %d hyperparameters, same budget", most.Hyperparameters),
		Setting: dimensionsRingsSetting(r.Params),
		Ours:    experiment.Compare(gradient.CV, random.CV).Difference,
		Control: &Control{Text: "random search in its place", Ours: experiment.Compare(random.CV, random.CV).Difference},
		Remark: fmt.Sprintf("This is the CV loss alone. The test loss there is %s ± %s, that of random search %s ± %s. The paper's constant step is not among these searches.",
			short(gradient.TestMean.Mean), short(gradient.TestMean.Margin), short(random.TestMean.Mean), short(random.TestMean.Margin))}, below(0))
	var low, high *searches.SearchDimension // with a grid
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
	rises := func(name string) experiment.Estimate {
		return experiment.Difference(at(*high, name).Excess, at(*low, name).Excess)
	}
	tie := above(experiment.TieTol * high.Best.Mean)
	tie.text += ", up to which two losses are a tie"
	all.add(saysProhibitive, Measurement{Text: fmt.Sprintf("CV loss of exhaustive search above the lowest known, with %d hyperparameters less with %d, same budget", high.Hyperparameters, low.Hyperparameters),
		Setting: dimensionsRidgeSetting(r.Params, low.Hyperparameters, high.Hyperparameters),
		Ours:    rises("exhaustive"),
		Control: &Control{Text: "a quasi-Newton search in its place", Ours: rises(searches.SearchQuasiNewton)},
		Remark:  fmt.Sprintf("With %d the budget is enough for a grid of %d values of each.", high.Hyperparameters, grid.PerAxis)}, tie)
	all.add(saysRandomBeatsGrid, Measurement{Text: fmt.Sprintf("CV loss of random search less that of exhaustive search, %d hyperparameters, same budget", high.Hyperparameters),
		Setting: dimensionsRidgeSetting(r.Params, high.Hyperparameters),
		Ours:    experiment.Compare(random.CV, grid.CV).Difference,
		Control: &Control{Text: "exhaustive search in its place", Ours: experiment.Compare(grid.CV, grid.CV).Difference},
		Remark:  fmt.Sprintf("The grid, of %d values of each, spends %d of the %d evaluations.", grid.PerAxis, grid.Evaluations, r.Params.Budget)}, below(0))
}

func (all *measurements) fewDimensions(r *searches.FewDimensionsResult) {
	if len(r.Rows) == 0 {
		return
	}
	few, most := r.Rows[0], r.Rows[len(r.Rows)-1]
	all.add(saysRandomBeatsGrid, Measurement{Text: fmt.Sprintf("CV loss of random search less that of exhaustive search, %d hyperparameters, of which %d matter, %d evaluations of each", r.Params.Hyperparameters, most.Matter, r.Points),
		Setting: fewDimensionsSetting(r.Params),
		Ours:    most.RandomLess.Difference,
		Control: &Control{Text: "exhaustive search in its place", Ours: experiment.Compare(most.Grid, most.Grid).Difference}}, below(0))
	all.add(saysFewMatter, Measurement{Text: fmt.Sprintf("share of data sets on which random search is below exhaustive search, where %d of %d hyperparameters matters, less that where %d matter", few.Matter, r.Params.Hyperparameters, most.Matter),
		Setting: fewDimensionsSetting(r.Params),
		Ours:    experiment.Compare(few.RandomBelow, most.RandomBelow).Difference,
		Control: &Control{Text: fmt.Sprintf("%d matter in both cases", most.Matter), Ours: experiment.Compare(most.RandomBelow, most.RandomBelow).Difference},
		Remark:  fmt.Sprintf("Random search is ahead where all matter, too: on a share of %s ± %s.", short(most.RandomBelowOfSets.Mean), short(most.RandomBelowOfSets.Margin))}, above(0))
	all.add(saysFewMatter, Measurement{Text: fmt.Sprintf("least share of %d penalties that carries nine tenths of the mean squared slope of the CV loss in their logarithms", r.Params.Features),
		Setting: carrySetting(r.Params),
		Ours:    experiment.EstimateOf(r.Carry),
		Control: &Control{Text: "all matter alike", Ours: once(r.CarryEqual)}}, below(.5))
}

func (all *measurements) regret(r *searches.RegretResult) {
	for _, row := range r.Rows {
		random, start := minus(symmetric(row.BayesianLess)), symmetric(row.StartLess)
		all.add(saysFierceCompetitor, Measurement{Text: fmt.Sprintf("median of the lowest CV loss of random search less that of a Bayesian one, %d penalties of at most %s", row.Hyperparameters, power(row.BoxHigh)),
			Setting: regretSetting(r.Params, row), Ours: random,
			Control: &Control{Text: "the start less the Bayesian search", Ours: start},
			Remark:  fmt.Sprintf("The medians of the excess over the minimum are %s and %s. The Bayesian search is lower on %.3g %% of the data sets.", short(row.Random.Median), short(row.Bayesian.Median), 100*row.Wins)}, littleOf(start, "the start"))
	}
}
