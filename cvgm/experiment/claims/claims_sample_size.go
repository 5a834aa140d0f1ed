package claims

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/samplesize"

	"gonum.org/v1/gonum/stat"
)

// leadsOf returns the accuracy of one method minus the accuracy of another method, for each
// [size][seed].
func leadsOf(r *samplesize.Result, method, rival int) [][]float64 {
	leads := make([][]float64, len(r.Sizes))
	for i := range leads {
		for seed, a := range r.Methods[method].Accuracy[i] {
			leads[i] = append(leads[i], a-r.Methods[rival].Accuracy[i][seed])
		}
	}
	return leads
}

// perDoubling estimates by how much the values change if the size is doubled. For each seed, it
// fits a line to the values as a function of log₂ of the size. The slopes of these lines are
// independent, because the cells of the experiment are independent.
func perDoubling(r *samplesize.Result, values [][]float64) experiment.Estimate {
	var slopes []float64
	for seed := range values[0] {
		var x, y []float64
		for i, n := range r.Sizes {
			if v := values[i][seed]; !math.IsNaN(v) {
				x, y = append(x, math.Log2(float64(n))), append(y, v)
			}
		}
		_, slope := stat.LinearRegression(x, y, nil, false)
		slopes = append(slopes, slope)
	}
	return experiment.EstimateOf(slopes)
}

// smallLessLarge returns the mean of the values at sizes up to n, minus their mean at larger sizes.
func smallLessLarge(r *samplesize.Result, values [][]float64, n int) experiment.Estimate {
	var small, large []float64
	for i, size := range r.Sizes {
		for _, v := range values[i] {
			switch {
			case math.IsNaN(v):
			case size <= n:
				small = append(small, v)
			default:
				large = append(large, v)
			}
		}
	}
	return experiment.Difference(experiment.EstimateOf(small), experiment.EstimateOf(large))
}

// FewExamples lists numbers of examples. Each of them is in turn the limit of a comparison: sizes
// up to the limit count as small, and larger sizes count as large.
var FewExamples = []int{20, 28, 40, 60, 100}

// SampleSizeLead is CVGM's lead in test accuracy over another method.
type SampleSizeLead struct {
	Rival          int  // index in samplesize.Result.Methods
	Full           bool // true: CVGM along the full gradient; false: along the published direction
	All            experiment.Estimate
	SmallLessLarge []experiment.Estimate // for each n in FewExamples: mean lead at sizes up to n, minus mean lead at larger sizes; NaN if there are no larger sizes
	PerDoubling    experiment.Estimate   // slope of the lead per doubling of the size
	opposite       experiment.Estimate   // PerDoubling with the sizes in the opposite order
}

var leadNames = map[int]string{
	samplesize.SizeNetworkPublished: "a two-layer network, as the published code trains it",
	samplesize.SizeNetworkText:      "a two-layer network, as the text trains it",
	samplesize.SizeLogistic:         "logistic regression",
	samplesize.SizeAdam:             "a network trained by Adam",
}

// briefNames holds the names of leadNames in one or two words.
var briefNames = map[int]string{
	samplesize.SizeNetworkPublished: "a network",
	samplesize.SizeNetworkText:      "a network",
	samplesize.SizeLogistic:         "logistic regression",
	samplesize.SizeAdam:             "a network",
}

// SampleSizeLeads returns the leads of CVGM over other methods: the methods of the paper, and a
// network that is trained by Adam.
func SampleSizeLeads(r *samplesize.Result) []SampleSizeLead {
	if len(r.Sizes) == 0 {
		return nil
	}
	all := []SampleSizeLead{{Rival: samplesize.SizeNetworkPublished}, {Rival: samplesize.SizeNetworkText}, {Rival: samplesize.SizeLogistic}, {Rival: samplesize.SizeAdam}, {Rival: samplesize.SizeAdam, Full: true}}
	for i := range all {
		l := &all[i]
		method, comparison := samplesize.SizeCVGMPublished, r.Methods[l.Rival].Published
		if l.Full {
			method, comparison = samplesize.SizeCVGMFull, r.Methods[l.Rival].Full
		}
		leads := leadsOf(r, method, l.Rival)
		l.All, l.PerDoubling = comparison.All.Difference, perDoubling(r, leads)
		for _, n := range FewExamples {
			l.SmallLessLarge = append(l.SmallLessLarge, smallLessLarge(r, leads, n))
		}
		back := slices.Clone(leads)
		slices.Reverse(back)
		l.opposite = perDoubling(r, back)
	}
	return all
}

func (all *measurements) sampleSize(r *samplesize.Result) {
	for _, m := range []Measurement{
		{Text: "seeds in the published code", Quoted: Printed.Seeds, Remark: fmt.Sprintf("Here they are %d.", r.Params.Seeds)},
		{Text: "largest size in the published code", Quoted: Printed.LargestSize, Remark: fmt.Sprintf("Here it is %d.", r.Params.MaxSize)},
	} {
		m.Setting, m.Ours = "the published code beside the text", once(number64(m.Quoted.Code))
		all.add(saysSeeds, m, countRule(number64(m.Quoted.Paper)))
	}
	all.overfitting(r)
	if i := slices.Index(r.Sizes, 20); i >= 0 {
		logistic := r.Methods[samplesize.SizeLogistic]
		all.add(saysFewExamples, Measurement{Text: "accuracy at N = 20, CVGM minus logistic regression", Setting: describe("N = 20", r.Params.RingsData, pick(r.Params, "Seeds", "Test")+", drawn anew for each", r.Params.KernelCVGM, gradients[kernels.Published], rivalSetting(r.Params, samplesize.SizeLogistic)), Ours: logistic.Published.BySize[i],
			Control: &Control{Text: "logistic regression in CVGM's place", Ours: experiment.Compare(logistic.Accuracy[i], logistic.Accuracy[i]).Difference}}, aboveRule(0, ofPoorAccuracy))
	}
	for _, l := range SampleSizeLeads(r) {
		name, variant := leadNames[l.Rival], kernels.Published
		brief := briefNames[l.Rival]
		if l.Full {
			name += ", exact gradient"
			variant = kernels.Full
		}
		logistic, setting := leadsOf(r, samplesize.SizeLogistic, l.Rival), describe(r.Params.RingsData, pick(r.Params, "MinSize", "MaxSize", "SizeStep", "Seeds", "Test"), "the mean is over all sizes and seeds", r.Params.KernelCVGM, gradients[variant], rivalSetting(r.Params, l.Rival))
		all.add(saysOutperforms, Measurement{Text: "accuracy, CVGM minus " + name, Brief: "accuracy, CVGM minus " + brief, Setting: setting, Ours: l.All, Aside: l.Rival == samplesize.SizeAdam,
			Control: &Control{Text: "logistic regression in CVGM's place", Ours: experiment.EstimateOf(slices.Concat(logistic...))}}, aboveRule(0, ofAccuracy))
		m := Measurement{Text: "change per doubling of N of CVGM's lead in accuracy over " + name, Brief: "CVGM's lead over " + brief + " per doubling of N", Setting: describe(setting, slopeSetting), Ours: l.PerDoubling, Aside: l.Rival == samplesize.SizeAdam,
			Control: &Control{Text: "sizes in the opposite order", Ours: l.opposite}}
		var lead []string
		for k, n := range FewExamples {
			if d := l.SmallLessLarge[k]; !math.IsNaN(d.Mean) {
				lead = append(lead, fmt.Sprintf("%+.2f ± %.2f (N ≤ %d)", 100*d.Mean, 100*d.Margin, n))
			}
		}
		m.Remark = "Lead at small N minus lead at larger N, in points: " + strings.Join(lead, ", ") + "."
		smallest := ofAccuracy
		if l.Rival == samplesize.SizeNetworkText || l.Rival == samplesize.SizeLogistic {
			smallest = ofPoorAccuracy
		}
		all.add(saysOutperforms, m, belowRule(0, smallest.perDoublings(r.Sizes[0], r.Sizes[len(r.Sizes)-1])))
	}
}

// overfitting adds a measurement: the accuracy that the network loses if it is trained to
// convergence.
func (all *measurements) overfitting(r *samplesize.Result) {
	loses := leadsOf(r, samplesize.SizeAdam, samplesize.SizeAdamLong)
	var lost []float64
	var sizes []int
	for i, e := range r.Overfitting {
		if e.N > 0 {
			lost, sizes = append(lost, loses[i]...), append(sizes, r.Sizes[i])
		}
	}
	if len(lost) == 0 {
		return
	}
	setting := describe(r.Params.RingsData, pick(r.Params, "RivalSizes")+" among these", pick(r.Params, "MinSize", "SizeStep", "Seeds", "Test"), pick(r.Params, "Hidden"), sameLayers, pick(r.Params, "AdamStepSize", "LongSteps"))
	all.add(saysOverfitting, Measurement{Text: fmt.Sprintf("accuracy that a network trained by Adam loses between step %d and step %d, all sizes", r.Params.AdamSteps, r.Params.LongSteps), Brief: "accuracy that longer training loses", Setting: setting, Ours: experiment.EstimateOf(lost),
		Control: &Control{Text: "logistic regression, whose fit has converged", Ours: once(0)}}, aboveRule(0, ofAccuracy))
	all.add(saysOverfitting, Measurement{Text: fmt.Sprintf("change per doubling of N of the accuracy that a network trained by Adam loses between step %d and step %d", r.Params.AdamSteps, r.Params.LongSteps), Brief: "accuracy that longer training loses, per doubling", Setting: describe(setting, slopeSetting), Ours: perDoubling(r, loses),
		remarks: byVerdict{ifHolds: "It shrinks as N grows.", ifFails: "It does not shrink as N grows."}}, belowRule(0, ofAccuracy.perDoublings(sizes[0], sizes[len(sizes)-1])))
}

// paperSteps is the number of steps along the CV loss in the paper's runs on the rings.
const paperSteps = 100

func (all *measurements) ablation(r *samplesize.AblationResult) {
	budgets := r.Params.Rings.Budgets
	for k, c := range r.Rings {
		splits, steps := r.Params.Rings.Ks[k/len(budgets)], budgets[k%len(budgets)]
		var startExcess, cvGain []experiment.Estimate // by size; startExcess: test error at the start minus after the descent of the training loss; cvGain: after the descent of the CV loss minus at the start
		for _, row := range r.Rows {
			if row.Problem == kernels.ProblemRings && row.K == splits && row.Budget == steps {
				startExcess, cvGain = append(startExcess, negated(row.TrainingLessStart.Difference)), append(cvGain, row.CVLessStart.Difference)
			}
		}
		part := noRole
		if splits == slices.Max(r.Params.Rings.Ks) && steps == paperSteps {
			part = weights
		}
		all.add(saysFeatures, Measurement{role: part, Text: fmt.Sprintf("test error, network that descends the CV loss of %d splits minus network that descends the training loss, rings of all sizes, %d steps", splits, steps),
			Brief:   "test error, CV loss minus training loss descended",
			Setting: ablationSetting(r.Params, samplesize.AblationRow{Problem: kernels.ProblemRings, K: splits, Budget: steps}),
			Ours:    c.Difference, Aside: part == noRole,
			Control: &Control{Text: "the start in the place of the descent of the CV loss", Ours: experiment.MeanOf(startExcess)},
			Remark: fmt.Sprintf("Both descents have the same network, start, step size and last layer. From the start, the descent of the CV loss changes the test error by %s.",
				withMargin(experiment.MeanOf(cvGain)))}, belowRule(0, ofAccuracy))
	}
	for _, row := range r.Rows {
		training, random, of := helpThatMatters(row.Problem)
		name := fmt.Sprintf("%s, N = %d, %d splits, budget %d", row.Problem, row.Train, row.K, row.Budget)
		control := &Control{Text: "the descent of the training loss in its place", Ours: experiment.Estimate{Mean: 0, Margin: 0, N: row.CVLessTraining.Difference.N}}
		if row.Problem == kernels.ProblemXOR || row.Problem == kernels.ProblemRings {
			control = &Control{Text: "the start in its place", Ours: negated(row.TrainingLessStart.Difference)}
		}
		loss, gradient, box := noRole, noRole, ""
		if row.Problem == samplesize.ProblemNet {
			box = boxBesidePaper(r.Params.Net.BoxHigh)
		}
		switch {
		case row.Problem == kernels.ProblemRings:
			loss = weightsBySize
		case row.Problem == samplesize.ProblemNet && row.Budget <= r.Params.RandomBudget:
			loss, gradient = penalties, penaltiesGradient
		}
		if row.Problem != kernels.ProblemRings || row.K == slices.Max(r.Params.Rings.Ks) && row.Budget == paperSteps {
			all.add(saysFeatures, Measurement{role: loss, size: strconv.Itoa(row.Train), Text: of + " after the descent of the CV loss minus after the descent of the training loss, " + name, Setting: ablationSetting(r.Params, row), Ours: row.CVLessTraining.Difference, Aside: true,
				Control: control, Remark: "Both have the same data, start and steps, and differ in the loss."}, belowRule(0, training))
		}
		if row.Random.N > 0 && row.Budget <= r.Params.RandomBudget && (row.Problem != kernels.ProblemRings || row.Budget == paperSteps) {
			all.add(saysMuchFaster, Measurement{role: gradient, Text: of + " after the descent of the CV loss minus after a random search for its lowest value, " + name, Setting: describe(box, ablationSetting(r.Params, row), pick(r.Params, "RandomBudget")), Ours: row.CVLessRandom.Difference, Aside: true,
				Control: &Control{Text: "the random search in its place", Ours: experiment.Estimate{Mean: 0, Margin: 0, N: row.CVLessRandom.Difference.N}}, Remark: "Both have the same loss and number of evaluations, and the random search has no gradient."}, belowRule(0, random))
		}
	}
}

// helpThatMatters returns the name of the risk and, for each of two comparisons, the smallest
// relevant difference in risk. Both compare a descent of the CV loss with a rival. For vsTraining,
// the rival is a descent of the training loss. For vsRandom, the rival is a random search. Against
// a poor rival, only a larger difference matters. For penalties, the descent of the training loss
// is a poor rival, because the training loss chooses no penalty. For the weights of a network,
// random search is a poor rival, because it does not learn the weights.
func helpThatMatters(problem string) (vsTraining, vsRandom difference, risk string) {
	switch problem {
	case kernels.ProblemRings, kernels.ProblemXOR:
		return ofAccuracy, ofPoorAccuracy, "test error"
	case samplesize.ProblemMachine:
		return ofPoorAccuracy, ofAccuracy, "test error"
	}
	return ofPoorSquaredLoss, ofSquaredLoss, "test loss"
}

// HelpOf judges a row of the ablation. It uses the sign and the size of the row's difference, and
// the same rules as for the claims.
func HelpOf(row samplesize.AblationRow) Help {
	training, _, _ := helpThatMatters(row.Problem)
	return Weigh(row.CVLessTraining.Difference, training.size).help()
}
