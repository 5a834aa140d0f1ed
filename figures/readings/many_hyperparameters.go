package readings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/manyhyper"
)

// ManyHyperparameters states the result of the notebook. It lists the kinds of hyperparameters for
// which the test loss with many hyperparameters is clearly lower than with one hyperparameter. It
// also lists the other kinds.
func ManyHyperparameters(r *manyhyper.LeversResult) string {
	var kinds [3][]string // by the sign of the difference
	for _, l := range r.Problems {
		many, _ := l.Find(manyhyper.SearchFolds)
		sign := many.TestLessOne.Difference.Sign()
		ratio := l.Ratio(many)
		kinds[1+sign] = append(kinds[1+sign], fmt.Sprintf("*%s* (%.2f ± %.2f)", l.Name, ratio.Mean, ratio.Margin))
	}
	var all list
	for k, words := range []string{"clearly lower", "not clearly different", "clearly higher"} {
		all.item("%s: %s.", words, Listed(kinds[k]))
	}
	return paragraphs(fmt.Sprintf("**The test loss with many hyperparameters, divided by the loss with one of the same kind,** both chosen by the exact gradient of the CV loss of %d folds, over %d data sets:", r.Params.Folds, r.Params.DataSets), all.String())
}

// ManyHyperparametersCurves explains the figure of the same name. It names the problem on which the
// search over-fits most.
func ManyHyperparametersCurves(r *manyhyper.LeversResult) string {
	var name string
	var cv, test float64 // multiples of the losses with one hyperparameter
	for _, l := range r.Problems {
		many, _ := l.Find(manyhyper.SearchFolds)
		if a, b := l.CVRatio(many).Mean, l.Ratio(many).Mean; name == "" || b-a > test-cv {
			name, cv, test = l.Name, a, b
		}
	}
	return fmt.Sprintf("Where the CV loss falls further than the test loss, the search over-fits the splits. It does so most for *%s*: on folds, many hyperparameters multiply the CV loss by %.2f and the test loss by %.2f.", name, cv, test)
}

// capital returns text with a capital as its first letter.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// Enough returns a sentence that lists the problems on which one hyperparameter suffices. On these
// problems, no search over several hyperparameters of the same kind is clearly better.
func Enough(r *manyhyper.LeversResult) string {
	var without []string
	for _, l := range r.Problems {
		clear := false
		for _, row := range l.Rows[1:] {
			clear = clear || row.Hyperparameters > l.Rows[0].Hyperparameters && row.TestLessOne.Difference.Sign() < 0
		}
		if !clear {
			without = append(without, "*"+l.Name+"*")
		}
	}
	return fmt.Sprintf("One hyperparameter, tuned by plain CVGM, is enough if no search of several is clearly better. In the first figure this holds for: %s.", Listed(without))
}

// GradientMap describes the figure of the same name. It counts the cells in which the CV gradient
// clearly helps, and the cells in which many hyperparameters clearly help.
func GradientMap(m *manyhyper.MapResult) string {
	var cells list
	for _, problem := range manyhyper.MapProblems {
		c := countsOf(m, problem)
		cells.item("*%s, %d cells:* the CV gradient is clearly better than the training gradient in %d, worse in %d; many are clearly better than one in %d, worse in %d. %s",
			capital(problem), c.all, c.helps, c.harms, c.manyHelp, c.manyHarm, signTurns(m, problem))
	}
	return cells.String()
}

// KeptGradientMap counts the cells of the map that is kept with the sources.
func KeptGradientMap() string {
	rows := []string{"| Cells with a clear difference | CV gradient helps | harms | Many help | harm |", "| :-- | --: | --: | --: | --: |"}
	m := manyhyper.KeptMap()
	for _, problem := range manyhyper.MapProblems {
		c := countsOf(m, problem)
		rows = append(rows, fmt.Sprintf("| %s, of %d | %d | %d | %d | %d |", problem, c.all, c.helps, c.harms, c.manyHelp, c.manyHarm))
	}
	return strings.Join(rows, "\n")
}

// mapCounts counts the cells of a problem.
type mapCounts struct{ all, helps, harms, manyHelp, manyHarm int }

func countsOf(m *manyhyper.MapResult, problem string) (c mapCounts) {
	cells := m.CellsOf(problem)
	c.all = len(cells)
	c.helps, c.harms = manyhyper.CountSigns(cells, func(c manyhyper.MapCell) experiment.Estimate { return c.CVLessTraining })
	c.manyHelp, c.manyHarm = manyhyper.CountSigns(cells, func(c manyhyper.MapCell) experiment.Estimate { return c.ManyLessOne })
	return c
}

// A factor changes a sign if a mean difference clearly has different signs at two of its values.
// signTurns returns a sentence that lists these factors.
func signTurns(m *manyhyper.MapResult, problem string) string {
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
	return fmt.Sprintf("Factors that clearly change the sign: on the left %s; on the right %s.", joinNames(turned[0]), joinNames(turned[1]))
}

// joinNames joins names, or returns "none".
func joinNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Additive compares the additive model with other models on each kind of data.
func Additive(r *manyhyper.AdditiveResult) string {
	var all list
	for _, s := range r.Sets {
		lowest := func(loss func(m manyhyper.AdditiveModel) float64) string {
			return slices.MinFunc(s.Models, func(a, b manyhyper.AdditiveModel) int { return cmp.Compare(loss(a), loss(b)) }).Name
		}
		share := func(model int) string {
			return Signed(s.Models[model].TestLessOne.Difference.Times(100/s.Constant.Mean), 1)
		}
		all.item("*%s:* a penalty for each term %s; a width for each feature %s. Lowest test loss: %s. Lowest CV loss: %s.",
			capital(s.Name), share(manyhyper.ModelAdditive), share(manyhyper.ModelWidths), lowest(func(m manyhyper.AdditiveModel) float64 { return m.Test.Mean }), lowest(func(m manyhyper.AdditiveModel) float64 { return m.CV.Mean }))
	}
	return paragraphs("Test loss minus the test loss with one penalty or width, in per cent of a constant prediction's:", all.String())
}

// AdditiveTerms explains the figure.
func AdditiveTerms(*manyhyper.AdditiveResult) string {
	return "Functions that bend much need a smaller penalty than straight lines. One penalty is a compromise; the titles show where it errs more."
}
