package claims

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/differentiability"
	"cvgm/cvgm/experiment/kernels"
)

func (all *measurements) rings(r *kernels.RingsResult) {
	p, run := Printed.Rings, r.Run(kernels.Published)
	setting := describe(r.Params, gradients[kernels.Published])
	all.add(saysFewExamples, Measurement{Text: "hyperparameters of the network", Setting: pick(r.Params, "Hidden"), Quoted: p.Hyperparameters, Ours: once(float64(r.Params.NumHyperparameters())),
		Control: &Control{Text: "a network with one unit more", Ours: once(float64(oneUnitMore(r.Params.LearnedKernel).NumHyperparameters()))}},
		countRule(number64(p.Hyperparameters.Paper)))
	all.add(saysBayesRings, Measurement{Text: fmt.Sprintf("test accuracy after %d steps", r.Params.Steps), Setting: setting, Quoted: p.Accuracy, Ours: once(run.FinalAccuracy()),
		Control: &Control{Text: "before the first step", Ours: once(run.Accuracy[0])},
		Remark:  besideCode(p.Accuracy, run.FinalAccuracy())}, withinOne(p.Accuracy, r.Params.Test))
	all.add(saysBayesRings, Measurement{Text: "accuracy of the Bayes rule, population", Setting: describe(r.Params.RingsData, bayesSetting), Quoted: p.Bayes, Ours: once(r.Bayes.Population),
		Control: &Control{Text: "CVGM before its first step", Ours: once(run.Accuracy[0])}}, asPrinted(p.Bayes))
	all.add(saysBayesRings, Measurement{Text: "accuracy, CVGM minus the Bayes rule, on the same test set", Setting: setting, Ours: once(run.FinalAccuracy() - r.Bayes.Test), Aside: true,
		remarks: byVerdict{ifHolds: "On this test set CVGM beats the Bayes rule, which no rule does in the population.", ifFails: "CVGM does not beat the Bayes rule. " + erratumRemark}}, aboveRule(0, computedDifference))
	reached := "It is never reached."
	if step := slices.IndexFunc(run.Accuracy, func(a float64) bool { return a >= number64(p.Accuracy10.Paper) }); step >= 0 {
		reached = fmt.Sprintf("It is reached at step %d.", step)
	}
	all.add(saysAfterTen, Measurement{Text: "test accuracy after 11 steps, the published run", Setting: setting, Quoted: p.Accuracy10, Ours: once(experiment.AtStep(run.Accuracy, 11)), Aside: true, Caveat: notOnPublishedData(p, experiment.AtStep(run.Accuracy, 11), r.Bayes.Test), Remark: fmt.Sprintf("It is %s after %d steps. %s", short(experiment.AtStep(run.Accuracy, AboutTen)), AboutTen, reached)}, asPrinted(p.Accuracy10))
	n := r.Params.Test
	bayes := r.Bayes.Population
	deviations := func(accuracy float64) experiment.Estimate {
		return once((accuracy - bayes) / math.Sqrt(bayes*(1-bayes)/float64(n)))
	}
	printed := number64(p.BayesOnTest.Paper)
	all.add(saysAfterTen, Measurement{Text: fmt.Sprintf("distance of %s from the Bayes rule's accuracy in the population, in standard deviations between test sets of %d", p.BayesOnTest.Paper, n),
		Brief:   fmt.Sprintf("distance of %s from Bayes, in SDs of test sets", p.BayesOnTest.Paper),
		Setting: describe(r.Params.RingsData, bayesSetting),
		Quoted:  p.BayesOnTest, Ours: deviations(printed),
		Control: &Control{Text: "a coin's .5", Ours: deviations(.5)},
		Remark:  fmt.Sprintf("On the published test set it is %s, %s standard deviations away.", short(r.Bayes.Test), short(deviations(r.Bayes.Test).Mean))},
		ofAllSets)
	all.add(saysChainRule, Measurement{Text: "cosine between what the published code descends and the gradient, at the start", Brief: "cosine of the code's direction and the gradient", Setting: setting, Ours: once(run.Cosine[0]),
		Remark: "The Jacobian lacks the derivative of π, and the code holds the validation features constant."}, aboveRule(.999, computedDifference).or(PaperError))
}

// notOnPublishedData compares two printed accuracies with the published data: the accuracy after
// about ten steps, and the accuracy of the Bayes rule on the test set. It returns a sentence that
// names the printed numbers that differ, or "" if there are none.
func notOnPublishedData(p PrintedKernel, accuracy, bayes float64) string {
	var other []string
	for _, n := range []struct {
		what   string
		quoted Quoted
		here   float64
	}{{"an accuracy of %s after 11 steps, not %s", p.Accuracy10, accuracy}, {"a Bayes accuracy of %s on that test set, not %s", p.BayesOnTest, bayes}} {
		if asPrinted(n.quoted).judgeOnce(n.here) != Confirmed {
			other = append(other, fmt.Sprintf(n.what, short(n.here), n.quoted.Paper))
		}
	}
	if other == nil {
		return ""
	}
	return "The paper's own data give " + strings.Join(other, ", and ") + ". The verdict judges only whether other data of this kind may give the printed numbers."
}

// AboutTen is the number of steps for which the paper writes "about 10 iterations".
const AboutTen = 10

// oneUnitMore returns a copy of the problem k. In the copy, the first hidden layer of the network
// has one more unit.
func oneUnitMore(k kernels.LearnedKernel) kernels.LearnedKernel {
	k.Hidden = slices.Clone(k.Hidden)
	k.Hidden[0]++
	return k
}

func (all *measurements) xor(r *kernels.XORResult) {
	p, run := Printed.XOR, r.Run(kernels.Published)
	setting := describe(r.Params, gradients[kernels.Published])
	all.add(saysXORParameters, Measurement{Text: "hyperparameters of the network", Setting: pick(r.Params, "Hidden"), Quoted: p.Hyperparameters, Ours: once(float64(r.Params.NumHyperparameters())),
		Control: &Control{Text: "a network with one unit more", Ours: once(float64(oneUnitMore(r.Params.LearnedKernel).NumHyperparameters()))}},
		countRule(number64(p.Hyperparameters.Paper)))
	all.add(saysXOR, Measurement{role: xorAccuracy, Text: fmt.Sprintf("test accuracy after %d steps", r.Params.Steps), Setting: setting, Quoted: p.Accuracy, Ours: once(run.FinalAccuracy()),
		Control: &Control{Text: "before the first step", Ours: once(run.Accuracy[0])}}, asPrinted(p.Accuracy))
	all.add(saysXOR, Measurement{role: xorBayes, Text: "accuracy of the Bayes rule, population", Setting: describe(r.Params.XORData, bayesSetting), Quoted: p.Bayes, Ours: once(r.Bayes.Population),
		remarks: byVerdict{ifFails: fmt.Sprintf("CVGM's %s lies %.1f standard deviations between test sets of %d from it. ", short(run.FinalAccuracy()), math.Abs(run.FinalAccuracy()-r.Bayes.Population)/math.Sqrt(r.Bayes.Population*(1-r.Bayes.Population)/float64(r.Params.Test)), r.Params.Test) + erratumRemark}},
		asPrinted(p.Bayes).or(PaperError))
}

func (all *measurements) gradientParts(r *kernels.GradientPartsResult) {
	along := func(v kernels.Variant) kernels.GradientPath {
		return r.Paths[slices.IndexFunc(r.Paths, func(p kernels.GradientPath) bool { return p.Problem == kernels.ProblemRings && p.Variant == v })]
	}
	setting := func(path kernels.GradientPath) string {
		return describe(splitsBesidePaper(path.K, kernels.DefaultRings().K), r.Params.Rings, "drawn anew for each data set", r.Params.Rings.CVGM(path.K), gradients[path.Variant])
	}
	full, path := along(kernels.Full), along(kernels.Published)
	learned := full.Learned.Difference
	all.add(saysDifferentiable, Measurement{Text: "test error of the rings' network, after a descent through the derivative in the data's features minus before", Setting: setting(full), Ours: learned, Aside: true,
		Control: &Control{Text: "no descent", Ours: experiment.Estimate{Mean: 0, Margin: 0, N: learned.N}},
		Remark:  "That is what the derivative in the data is used for."}, belowRule(0, ofPoorAccuracy))
	k := slices.IndexFunc(path.At, func(at kernels.GradientParts) bool { return at.Steps == AboutTen })
	if k < 0 {
		return
	}
	missed := path.At[k].Error
	right := negated(missed)
	right.Mean = 1 + right.Mean
	_, line := differentiability.HalfPlane(r.Params.Rings.RingsData)
	all.add(saysManifold, Measurement{Text: fmt.Sprintf("test accuracy of the linear classifier on the network's outputs after %d steps", AboutTen), Brief: fmt.Sprintf("test accuracy of a linear rule after %d steps", AboutTen), Setting: setting(path), Ours: right,
		Control: &Control{Text: "the best line through the rings in its place", Ours: once(line)}}, nearBayes(r.Params.Rings.RingsData, line))
	deviations := func(accuracy float64) experiment.Estimate {
		return once((accuracy - (1 - missed.Mean)) / experiment.Deviation(missed))
	}
	quoted := Printed.Rings.Accuracy10
	all.add(saysAfterTen, Measurement{Text: fmt.Sprintf("distance of %s from the mean accuracy after %d steps over %d data sets, in standard deviations between them, N = %d", quoted.Paper, AboutTen, missed.N, path.Train),
		Brief:   fmt.Sprintf("distance of %s from the mean, in SDs of data sets", quoted.Paper),
		Setting: setting(path),
		Quoted:  Quoted{Paper: quoted.Paper}, Ours: deviations(number64(quoted.Paper)),
		Control: &Control{Text: "a coin's .5", Ours: deviations(.5)},
		Remark:  fmt.Sprintf("The mean is %s, the standard deviation %s.", short(1-missed.Mean), short(experiment.Deviation(missed)))},
		ofAllSets)
}

// nearBayes returns a rule for accuracies on the rings. The accuracy must be above the accuracy of
// the Bayes rule, minus a quarter of its lead over the best line. The accuracy of the Bayes rule
// and the argument lineAccuracy, the accuracy of the best line, are exact.
func nearBayes(d kernels.RingsData, lineAccuracy float64) rule {
	bayes, err := d.Rings().Bayes()
	if err != nil { // the parameters are invalid, so nothing has run with them
		return aboveRule(math.NaN(), ofPoorAccuracy)
	}
	r := aboveRule(bayes.Accuracy-quarter*(bayes.Accuracy-lineAccuracy), ofPoorAccuracy)
	r.text += fmt.Sprintf(", the Bayes rule's %s minus a quarter of its lead over the best line through the rings", short(bayes.Accuracy))
	return r
}
