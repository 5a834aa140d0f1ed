package claims

import (
	"fmt"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/manyhyper"
)

// Two of the map's factors, places in manyhyper.Factors.
const (
	byExamples = iota
	byHyperparameters
)

// gradientMap adds measurements to the sentence of the paper about few examples. Each compares the
// gradient of the CV loss with the gradient of the training loss. The measurements show whether few
// examples favour the gradient of the CV loss, and whether many hyperparameters favour it. No row
// decides the sentence, because the sentence only reports an optimisation.
func (all *measurements) gradientMap(r *manyhyper.MapResult) {
	for _, n := range r.Levels(manyhyper.MapOfWeights, byExamples) {
		all.weightsOfSize(r, int(n))
	}
	for _, problem := range manyhyper.MapProblems {
		all.favours(r, problem, byExamples)
		all.favours(r, problem, byHyperparameters)
	}
}

// weightsOfSize compares test errors of learned weights.
func (all *measurements) weightsOfSize(r *manyhyper.MapResult, n int) {
	errors := func(of func(l manyhyper.MapLosses) []float64) experiment.Estimate {
		return experiment.EstimateOf(r.Means(manyhyper.MapOfWeights, byExamples, float64(n), of)).Times(manyhyper.ConstantError)
	}
	p := r.Params
	p.Weights.Sizes = []int{n}
	all.add(saysFewExamples, Measurement{Text: fmt.Sprintf("test error, CV gradient minus training gradient, weights of a network, N = %d", n), Setting: mapSetting(p, manyhyper.MapOfWeights), Aside: true,
		Ours:    errors(func(l manyhyper.MapLosses) []float64 { return experiment.Less(l.Many, l.Training) }),
		Control: &Control{Text: "C alone by the CV gradient, the weights at their start, minus the weights by it", Ours: errors(func(l manyhyper.MapLosses) []float64 { return experiment.Less(l.One, l.Many) })},
		Remark: fmt.Sprintf("Test errors: weights by the CV gradient %s, by the training gradient %s, C alone %s.",
			short(errors(func(l manyhyper.MapLosses) []float64 { return l.Many }).Mean), short(errors(func(l manyhyper.MapLosses) []float64 { return l.Training }).Mean), short(errors(func(l manyhyper.MapLosses) []float64 { return l.One }).Mean))},
		belowRule(0, ofAccuracy))
}

// favours compares the effect of the CV gradient at the smallest value of a factor with the effect
// at the largest value. If the factor is the number of examples, the difference is the effect with
// few examples minus the effect with many examples. If the factor is the number of hyperparameters,
// the difference is the effect with many hyperparameters minus the effect with few.
func (all *measurements) favours(r *manyhyper.MapResult, problem string, factor int) {
	levels := r.Levels(problem, factor)
	if len(levels) < 2 {
		return
	}
	first, second, between := levels[0], levels[len(levels)-1], "at N = %g minus at N = %g"
	part := noRole
	if factor == byHyperparameters {
		first, second, between = second, first, "with %g hyperparameters minus with %g"
		if problem == manyhyper.MapOfWeights {
			part = moreWeights
		}
	}
	effect := func(level float64) []float64 {
		return r.Means(problem, factor, level, manyhyper.MapLosses.CVLessTraining)
	}
	difference := experiment.Compare(effect(first), effect(second))
	all.add(saysFewExamples, Measurement{role: part, Text: fmt.Sprintf("test loss, CV gradient minus training gradient, as a share of the larger, %s, "+between, problem, first, second), Setting: mapSetting(r.Params, problem), Aside: true,
		size:    fmt.Sprintf("from %g to %g weights", second, first),
		Ours:    difference.Difference,
		Control: &Control{Text: "the two exchanged", Ours: negated(difference.Difference)},
		Remark: fmt.Sprintf("The difference is %s in the first case and %s in the second. Below 0 the CV gradient helps.",
			withMargin(experiment.EstimateOf(effect(first))), withMargin(experiment.EstimateOf(effect(second))))},
		belowRule(0, ofWhole))
}

// mapSetting returns a text that describes the cells of a problem. The text begins with the
// differences between the problem and the paper's learned kernel.
func mapSetting(p manyhyper.GradientMapParams, problem string) string {
	lists := ""
	if p.Fraction == 2 {
		lists = "half of all combinations of these lists, balanced over all pairs"
	}
	const searches = "each descent ends at the lowest value of its loss"
	splits := pick(p, "Shares", "K")
	regression := func(of any) string {
		return describe("not a problem of the paper", of, "CV loss: squared error of balanced splits, "+splits, lists, pick(p, "Evaluations", "DataSets"), searches, trainingSetting)
	}
	paper := kernels.DefaultRings()
	switch problem {
	case manyhyper.MapOfPenalties:
		return regression(p.Penalties)
	case manyhyper.MapOfWidths:
		return regression(p.Widths)
	}
	return describe(splitsBesidePaper(p.K, paper.K), fmt.Sprintf("%s in the place of the paper's %g", pick(p, "Shares"), paper.P), p.Weights, "CV loss: logistic loss of random splits, "+splits, lists, pick(p, "RingsDataSets"), gradients[kernels.Full], searches, trainingSetting)
}
