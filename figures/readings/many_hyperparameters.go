package readings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/manyhyper"
)

// perCent returns a ratio with its interval as a change in per cent.
func perCent(e experiment.Estimate) experiment.Estimate {
	e.Mean--
	return e.Times(100)
}

// ManyHyperparameters returns the answer: the change of the test loss with many hyperparameters of
// each kind.
func ManyHyperparameters(r *manyhyper.LeversResult) string {
	var all list
	for _, l := range r.Problems {
		var found []string
		for _, row := range l.Rows {
			if row.Search == manyhyper.SearchFolds && row.Hyperparameters > l.Rows[0].Hyperparameters {
				found = append(found, fmt.Sprintf("with %d hyperparameters it %s per cent", row.Hyperparameters, Described(perCent(l.Ratio(row)), 0)))
			}
		}
		halves, _ := l.Find(manyhyper.SearchHalves)
		all.item("**%s:** with one of the kind the test loss is %.3g, and a constant has %.3g. On %d folds, %s. On splits that fit the share %.2g of the rows, with %d hyperparameters it %s per cent.",
			capital(l.Name), l.Rows[0].Test.Mean, l.Constant.Mean, r.Params.Folds, strings.Join(found, ", and "), r.Params.HalfP, halves.Hyperparameters, Described(perCent(l.Ratio(halves)), 0))
	}
	return paragraphs(fmt.Sprintf("**Test loss with many hyperparameters, against one of the kind,** on the same %d data sets of each problem, all found by the exact gradient of the CV loss:", r.Params.DataSets), all.String())
}

// counted returns text with a number of hyperparameters.
func counted(n int) string {
	if n == 1 {
		return "1 hyperparameter"
	}
	return fmt.Sprintf("%d hyperparameters", n)
}

// capital returns text with a capital as its first letter.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// ManyHyperparametersCurves explains the figure, and describes the effect of each kind of
// hyperparameters.
func ManyHyperparametersCurves(r *manyhyper.LeversResult) string {
	var all list
	for _, l := range r.Problems {
		halves, _ := l.Find(manyhyper.SearchHalves)
		tuner, _ := l.Find(manyhyper.SearchTuner)
		var onFolds, onHalves, best manyhyper.LeverRow
		for _, row := range l.Rows {
			switch {
			case row.Search == manyhyper.SearchHalves && onHalves.Search == "":
				onHalves = row
			case row.Search == manyhyper.SearchFolds:
				onFolds = row
			}
			if best.Search == "" || row.Test.Mean < best.Test.Mean {
				best = row
			}
		}
		all.item("*%s.* Test losses, in units of the test loss with one of the kind on folds: other splits alone %.2f, many hyperparameters alone %.2f, both %.2f, the tuner %.2f. The lowest of all searches is %.2f, with %s. The CV loss of many on folds is %.2f of the CV loss of one.",
			capital(l.Name), l.Ratio(onHalves).Mean, l.Ratio(onFolds).Mean, l.Ratio(halves).Mean, l.Ratio(tuner).Mean, l.Ratio(best).Mean, counted(best.Hyperparameters), l.CVRatio(onFolds).Mean)
	}
	return paragraphs("A thick line below the dotted one is a gain. Where a thin line falls below the thick one of its colour, the search over-fits the splits: the CV loss falls by more than the test loss.", all.String())
}

// Enough counts the problems in which one hyperparameter is enough, because many hyperparameters of
// the kind are not clearly better.
func Enough(r *manyhyper.LeversResult, m *manyhyper.MapResult) string {
	var without []string
	for _, l := range r.Problems {
		clear := false
		for _, row := range l.Rows[1:] {
			clear = clear || row.Hyperparameters > l.Rows[0].Hyperparameters && row.TestLessOne.Difference.Sign() < 0
		}
		if !clear {
			without = append(without, l.Name)
		}
	}
	var cells list
	for _, problem := range manyhyper.MapProblems {
		helps, harms, all := counts(m, problem, func(c manyhyper.MapCell) experiment.Estimate { return c.ManyLessOne })
		cells.item("*%s:* many are clearly better than one in %d of %d cells of the map, and clearly worse in %d.", capital(problem), helps, all, harms)
	}
	return paragraphs(
		fmt.Sprintf("On these problems no search of several hyperparameters is clearly better than one: %s. There one hyperparameter of the kind, tuned by plain CVGM, is enough.", Listed(without)),
		cells.String())
}

// counts returns three numbers of cells of a problem: cells in which a difference is clearly below
// 0, cells in which it is clearly above 0, and all cells.
func counts(m *manyhyper.MapResult, problem string, of func(c manyhyper.MapCell) experiment.Estimate) (below, above, all int) {
	for _, c := range m.Cells {
		if c.Problem != problem {
			continue
		}
		all++
		switch of(c).Sign() {
		case -1:
			below++
		case 1:
			above++
		}
	}
	return below, above, all
}

// GradientMap describes the figure, and counts the cells in which the CV gradient helps.
func GradientMap(m *manyhyper.MapResult) string {
	var cells list
	for _, problem := range manyhyper.MapProblems {
		helps, harms, all := counts(m, problem, func(c manyhyper.MapCell) experiment.Estimate { return c.CVLessTraining })
		cells.item("*%s:* the CV gradient is clearly better than the training gradient in %d of %d cells, and clearly worse in %d. %s", capital(problem), helps, all, harms, turns(m, problem))
	}
	return paragraphs("Where a line crosses the dotted one, the difference changes its sign with this factor. The bands are narrow where the cells agree. A wide band can hide a gain in one cell and a loss in another.", cells.String())
}

// turns names the factors with which a mean difference clearly changes its sign.
func turns(m *manyhyper.MapResult, problem string) string {
	var turned [2][]string
	for factor, name := range manyhyper.Factors {
		signs := [2]map[int]bool{{}, {}}
		for _, e := range m.Effects {
			if e.Problem != problem || e.Factor != factor {
				continue
			}
			for k, d := range []experiment.Estimate{e.CVLessTraining, e.ManyLessOne} {
				signs[k][d.Sign()] = true
			}
		}
		for k, found := range signs {
			if found[-1] && found[1] {
				turned[k] = append(turned[k], name)
			}
		}
	}
	said := func(what string, factors []string) string {
		if factors == nil {
			return fmt.Sprintf("No factor clearly changes %s.", what)
		}
		return fmt.Sprintf("Factors that clearly change %s: %s.", what, strings.Join(factors, ", "))
	}
	return said("the sign of this difference", turned[0]) + " " + said("the sign of the difference many minus one", turned[1])
}

// Additive compares the additive model with others on each kind of data.
func Additive(r *manyhyper.AdditiveResult) string {
	var all list
	for _, s := range r.Sets {
		lowest := func(loss func(m manyhyper.AdditiveModel) float64) string {
			return slices.MinFunc(s.Models, func(a, b manyhyper.AdditiveModel) int { return cmp.Compare(loss(a), loss(b)) }).Name
		}
		each, widths := s.Models[manyhyper.ModelAdditive], s.Models[manyhyper.ModelWidths]
		share := func(e experiment.Comparison) string {
			return Described(e.Difference.Times(100/s.Constant.Mean), 1)
		}
		all.item("*%s:* in per cent of a constant's test loss, a penalty for each term has a test loss that, against one penalty for all, %s. A width for each feature has a test loss that, against one width, %s. The model %q has the lowest test loss, and %q has the lowest CV loss.",
			capital(s.Name), share(each.TestLessOne), share(widths.TestLessOne), lowest(func(m manyhyper.AdditiveModel) float64 { return m.Test.Mean }), lowest(func(m manyhyper.AdditiveModel) float64 { return m.CV.Mean }))
	}
	return all.String()
}

// AdditiveTerms explains the figure.
func AdditiveTerms(*manyhyper.AdditiveResult) string {
	return "A line near the dotted one has a small bias, and a narrow band means a small variance. Functions that bend much need a small penalty, and straight lines need a large one. One penalty for all terms is a compromise between them."
}
