package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/stability"
)

// sumChange describes the change of the risk R = Δ + E[R_emp], from the estimated changes of both
// terms. Both are estimated from the same data, so the margin of R is at most the sum of their
// margins. This sum is used as the margin.
func sumChange(delta, emp experiment.Estimate) string {
	sum := delta.Mean + emp.Mean
	how := fmt.Sprintf("is not seen to change (%s)", short(sum))
	if math.Abs(sum) > delta.Margin+emp.Margin {
		how = choose(sum > 0, "rises", "falls") + " by " + short(math.Abs(sum))
	}
	return "CVGM descends the CV loss, which estimates the sum Δ + E[R_emp] on one data set. Over the population that sum " + how + " along this path."
}

func (all *measurements) stability(r *stability.Result) {
	settings := r.Settings()
	// The interval of the share is Wilson's interval. It assumes independent data sets, but all
	// settings here use the same data sets. Nevertheless, the share scatters from draw to draw no
	// more than it would with independent data sets.
	share := func(holds func(stability.Parts) bool) experiment.Estimate {
		n := 0
		for _, s := range settings {
			if holds(s) {
				n++
			}
		}
		return on(experiment.Share, once(float64(n)/float64(len(settings))))
	}
	all.add(saysStabilityTheorem, Measurement{Text: fmt.Sprintf("share of %d settings whose interval of the difference of both sides, E[R − R_emp] and Δ, contains 0", len(settings)), Brief: "share of settings whose interval contains 0", Setting: describe(stabilitySides(r.Params), pick(r.Params, "RidgeLambda2"), pick(r.Params, "ElasticNetLambda1", "ElasticNetLambda2"), pick(r.Params, "LogisticC"), pick(r.Params, "PathSteps"), r.Params.PenaltyCVGM, "both sides on separate data sets, Δ by a refit after the replacement of each example"), Ours: share(stability.Parts.Holds),
		Control: &Control{Text: "0 in the place of Δ", Ours: share(func(s stability.Parts) bool { return math.Abs(s.Gap.Mean) <= s.Gap.Margin })},
		Remark:  "It holds in expectation, for symmetric algorithms at fixed hyperparameters."}, aboveRule(.5, difference{ofWhole.size, "a tenth of the settings; 19 of 20 intervals contain it, but all settings share their data, so that half of them may miss it together"}).proved())
	first, last := r.Path[0], r.Path[len(r.Path)-1]
	along := pathSetting(r.Params, first.Hyper, last.Hyper, r.Steps[len(r.Steps)-1])
	all.add(saysStability, Measurement{Text: "change of Δ along CVGM's path, published data", Setting: along, Ours: r.DeltaChange,
		Control: &Control{Text: "the path in the opposite direction", Ours: negated(r.DeltaChange)}}, belowRule(0, ofSquaredLoss))
	all.add(saysStability, Measurement{Text: "change of the training loss E[R_emp] along CVGM's path, published data", Brief: "change of E[R_emp] along CVGM's path", Setting: along, Ours: r.EmpChange,
		Remark: sumChange(r.DeltaChange, r.EmpChange)},
		littleOf(negated(r.DeltaChange), "Δ"))
	heavy := slices.MaxFunc(r.Starts, func(a, b stability.Start) int {
		return cmp.Compare(a.Start.Hyper[0]+a.Start.Hyper[1], b.Start.Hyper[0]+b.Start.Hyper[1])
	})
	all.add(saysStability, Measurement{Text: fmt.Sprintf("change of Δ along CVGM's path from large penalties, λ1 = %g, λ2 = %g", heavy.Start.Hyper[0], heavy.Start.Hyper[1]), Brief: "change of Δ from large penalties", Setting: pathSetting(r.Params, heavy.Start.Hyper, heavy.End.Hyper, r.Params.StartsSteps), Ours: heavy.DeltaChange,
		Control: &Control{Text: "the path in the opposite direction", Ours: negated(heavy.DeltaChange)},
		remarks: byVerdict{ifFails: fmt.Sprintf("From such a start CVGM does not lower Δ. It descends the CV loss, from %s to %s.", short(heavy.CVLoss[0]), short(heavy.CVLoss[1]))}}, belowRule(0, ofSquaredLoss))
	at := r.Learners[0]
	all.add(saysCancel, Measurement{Text: fmt.Sprintf("excess of the paper's displayed sum over E[R], %s, %s = %g", at.Name, at.Hyper, at.At[0]), Brief: "excess of the displayed sum over E[R]", Setting: describe("the display, l(A(S), z′) in the place of l(A(Sⁱ), z′) in its last term, exceeds E[R] by Δ", stabilitySides(r.Params)), Ours: at.Parts[0].Delta,
		Remark: erratumRemark}, zeroRule(ofPoorSquaredLoss).or(PaperError))
}
