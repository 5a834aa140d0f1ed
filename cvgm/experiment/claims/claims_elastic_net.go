package claims

import (
	"fmt"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/elasticnet"
)

func (all *measurements) elasticNet(r *elasticnet.Result) {
	start, ols, setting := r.CVGM.TestLoss[0], r.LeastSquares, describe(netSetting, r.Params)
	all.add(saysTable, Measurement{Text: "test loss of CVGM", Setting: setting, Quoted: Printed.CVGM, Ours: once(r.CVGM.Final()),
		Control: &Control{Text: "CVGM's start", Ours: once(start)},
		Remark:  "The paper's number comes from another run of the code than the steps it prints. " + besideCode(Printed.CVGM, r.CVGM.Final())}, asPrinted(Printed.CVGM))
	for _, m := range []struct {
		search elasticnet.Search
		quoted Quoted
	}{{r.Exhaustive, Printed.Exhaustive}, {r.Random, Printed.Random}} {
		all.add(saysTable, Measurement{Text: "test loss of " + strings.ToLower(m.search.Name), Setting: setting, Quoted: m.quoted, Ours: once(m.search.Final()),
			Control: &Control{Text: "least squares", Ours: once(ols)}}, asPrinted(m.quoted))
	}
	all.add(saysTable, Measurement{Text: "CVGM's steps", Setting: setting, Quoted: Printed.CVGMSteps, Ours: once(float64(len(r.CVGM.TestLoss))),
		Remark: "The code counts them from 1 up to, and without, 100."}, countRule(number64(Printed.CVGMSteps.Paper)))
	printed := number64(Printed.CVGM.Paper)
	all.add(saysTestLoss, Measurement{Text: fmt.Sprintf("distance of %s from the test loss here, in standard deviations between test sets of %d", Printed.CVGM.Paper, r.Params.Samples-r.Params.Train),
		Brief:   fmt.Sprintf("distance of %s from ours, in SDs of test sets", Printed.CVGM.Paper),
		Setting: describe(setting, "standard deviation between test sets: that of the squared errors in this one, over the root of their number"),
		Quoted:  Printed.CVGM, Ours: once((printed - r.CVGM.Final()) / r.TestSD),
		Control: &Control{Text: "least squares in the place of CVGM", Ours: once((printed - ols) / r.TestSD)}}, ofAllSets)
	others := min(r.Exhaustive.Final(), r.Random.Final())
	all.add(saysTestLoss, Measurement{Text: "test loss, CVGM minus the lower of the other two methods, published data", Brief: "test loss, CVGM minus the better rival", Setting: setting, Ours: once(r.CVGM.Final() - others),
		Control: &Control{Text: "CVGM's start minus the lower of the two", Ours: once(start - others)}}, belowRule(0, computedDifference))
	falls := func(loss []float64) experiment.Estimate {
		var n float64
		for k := 1; k < len(loss); k++ {
			if loss[k] < loss[k-1] {
				n++
			}
		}
		return once(n / float64(len(loss)-1))
	}
	back := slices.Clone(r.CVGM.TestLoss)
	slices.Reverse(back)
	all.add(saysTestLoss, Measurement{Text: "share of CVGM's steps with which the test loss falls", Setting: setting, Ours: falls(r.CVGM.TestLoss),
		Control: &Control{Text: "the same steps in the opposite order", Ours: falls(back)},
		Remark:  lowestAt(r.Long.TestLoss)}, aboveRule(.5, computedDifference))
	all.add(saysUnion, Measurement{Text: "numbers in 𝒯ⱼ ∪ 𝒱ⱼ; n is that of the features", Setting: "the first experiment, Table 1", Ours: once(float64(r.Params.Train)),
		Remark: erratumRemark}, countRule(float64(r.Params.Features)).or(Slip))
}

// lowestAt returns a sentence that names the step with the lowest test loss of a long run.
func lowestAt(loss []float64) string {
	if len(loss) == 0 {
		return ""
	}
	return fmt.Sprintf("Of %d steps the test loss is lowest at step %d.", len(loss), 1+slices.Index(loss, slices.Min(loss)))
}

// onOtherData holds remarks that compare the order of the methods in Table 1 with their order on
// fresh data.
var onOtherData = byVerdict{
	ifHolds: "Table 1's order holds on other data.",
	ifFails: "Table 1's order does not hold on other data.",
	ifOpen:  "It is open whether Table 1's order holds on other data.",
}

const unknownBest = "Nothing tells which surrogate would be the best."

func (all *measurements) elasticNetSeeds(r *elasticnet.Seeds) {
	at := func(method int) elasticnet.Method { return r.Methods[method] }
	cvgm, exhaustive, start, ols := at(elasticnet.CVGM), at(elasticnet.Exhaustive), at(elasticnet.Start), at(elasticnet.LeastSquares)
	setting := describe(netSetting, freshSetting, r.Params, "a search ends at its lowest CV loss, CVGM at its last point")
	for _, k := range []int{elasticnet.Exhaustive, elasticnet.Random} {
		rival := at(k)
		name := strings.ToLower(rival.Name)
		part := noRole
		if k == elasticnet.Exhaustive {
			part = table1
		} else {
			part = paperBoxGradient
		}
		all.add(saysTestLoss, Measurement{role: part, Text: "test loss, CVGM minus " + name + ", fresh data", Setting: setting, Ours: rival.CVGMMinusTest.Difference,
			Control: &Control{Text: "least squares minus " + name, Ours: experiment.Compare(ols.Test, rival.Test).Difference},
			remarks: onOtherData}, belowRule(0, ofSquaredLoss))
		all.add(saysCompetitive, Measurement{Text: "test loss, " + name + " minus CVGM, fresh data", Setting: setting, Ours: negated(rival.CVGMMinusTest.Difference), Beyond: paired(experiment.Less(rival.Test, cvgm.Test), experiment.Less(ols.Test, cvgm.Test)),
			Control: &Control{Text: "CVGM's start minus CVGM", Ours: negated(start.CVGMMinusTest.Difference)},
			Remark:  "The same numbers, with the other sign, are measured for the sentence on a lower test loss."},
			littleOf(negated(ols.CVGMMinusTest.Difference), "least squares"))
	}
	var minimum []float64
	for _, m := range r.Minimum {
		minimum = append(minimum, m.Test)
	}
	all.add(saysSurrogate, Measurement{Text: "test loss, at the lowest CV loss minus at CVGM's last point, fresh data", Brief: "test loss, lowest CV loss minus CVGM's end", Setting: describe(setting, "the lowest CV loss over all penalties above their bounds"), Ours: experiment.Compare(minimum, cvgm.Test).Difference, Aside: true,
		Control: &Control{Text: "least squares minus CVGM", Ours: negated(ols.CVGMMinusTest.Difference)},
		remarks: byVerdict{
			ifHolds:      unknownBest + " Of the two ends of a search, the lowest CV loss has the lower test loss.",
			ifFails:      unknownBest + " Of the two ends of a search, the lowest CV loss has the higher test loss.",
			ifNegligible: unknownBest + " The test losses of the two ends of a search differ by too little to matter.",
			ifOpen:       unknownBest,
		}}, belowRule(0, ofSquaredLoss))
	lower := experiment.Wins(cvgm.CV, exhaustive.CV)
	reachable := experiment.Compare(start.CV, exhaustive.CV).Difference
	all.add(saysOtherMethods, Measurement{Text: "share of data sets on which the constant step size is below exhaustive search in CV loss, fresh data", Brief: "share of data sets, constant step below the grid", Setting: setting, Ours: experiment.ShareOf(lower),
		Control: &Control{Text: "CVGM's start in its place", Ours: experiment.ShareOf(experiment.Wins(start.CV, exhaustive.CV))},
		remarks: byVerdict{ifHolds: "It is the better of the two on most data sets.", ifFails: "It is not the better of the two on most data sets. The next row tells how much it gives away."}}, aboveRule(.5, ofSets))
	all.add(saysOtherMethods, Measurement{Text: "CV loss, constant step size minus exhaustive search, fresh data", Brief: "CV loss, constant step minus exhaustive search", Setting: setting, Ours: exhaustive.CVGMMinusCV.Difference, Beyond: paired(experiment.Less(cvgm.CV, exhaustive.CV), experiment.Less(start.CV, exhaustive.CV)),
		Control: &Control{Text: "CVGM's start minus exhaustive search", Ours: reachable},
		Remark:  fmt.Sprintf("Mean CV losses: start %s, CVGM %s, exhaustive search %s.", short(start.CVMean.Mean), short(cvgm.CVMean.Mean), short(exhaustive.CVMean.Mean))},
		littleOf(reachable, "the start"))
}

func (all *measurements) regressionPrinted(r *elasticnet.RegressionPrinted) {
	otherRows, fresh, second, printed := r.Tests[elasticnet.TestOtherRows], r.Tests[elasticnet.TestFreshRows], r.Tests[elasticnet.TestSecondCall], r.Tests[elasticnet.TestPrintedCall]
	setting := describe(netSetting, freshSetting, r.Params)
	code := fmt.Sprintf("The code draws %d rows in one call and tests on those that it does not train on.", r.Params.Samples)
	all.add(saysTestSet, Measurement{Text: "test loss of the coefficients that made the training labels, over the variance of the noise, test set by a second call of the command", Brief: "test loss of the true coefficients over the noise", Setting: setting, Ours: second.CoefMean,
		remarks: byVerdict{ifHolds: code, ifFails: "A second call draws other coefficients. " + code, ifOpen: code}},
		equalsRule(1, .2, "a fifth of the noise's variance").or(PaperError))
	all.add(saysTestSet, Measurement{Text: "test loss of CVGM with all data from the printed command", Setting: describe(setting, "labels not divided; test rows by a second call"), Quoted: Quoted{Paper: Printed.CVGM.Paper}, Ours: printed.CVGMMean, Aside: true,
		Remark: fmt.Sprintf("The code divides the labels by %g, which the text does not say. Even then a second call gives %s, the code's own test rows %s.", r.Params.Scale, withMargin(second.CVGMMean), withMargin(otherRows.CVGMMean))},
		asPrinted(Printed.CVGM))
	all.add(saysTestSet, Measurement{Text: fmt.Sprintf("test loss of CVGM, on %d further rows of the same draw minus on the code's test rows", r.Params.Test), Setting: setting, Ours: fresh.CVGMLessCode.Difference, Aside: true,
		Control: &Control{Text: "a second call's rows in their place", Ours: second.CVGMLessCode.Difference}}, zeroRule(ofSquaredLoss))
}
