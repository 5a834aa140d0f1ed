package claims

import (
	"fmt"
	"math"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
)

// The paper's sentence about line 4 has a second reading. byLiteralReading maps each verdict on
// this reading to a remark.
var byLiteralReading = map[Verdict]string{
	Confirmed:   "By that reading, too, the sentence holds.",
	TooLittle:   "By that reading, too, the sentence holds.",
	Differs:     "By that reading the sentence does not hold.",
	NotDecided:  "By that reading nothing is decided.",
	NotTestable: "That is not measured.",
}

// publishedStep is the time, in seconds, of one step of the published code on the first experiment.
// It was measured on one core of another machine.
const publishedStep = .062

func (all *measurements) timings(t *Timings) {
	dearest, mostly, quotients := once(math.NaN()), once(math.NaN()), once(math.NaN())
	higher := func(a, b experiment.Estimate) experiment.Estimate {
		if math.IsNaN(a.Mean) || b.Mean > a.Mean {
			return b
		}
		return a
	}
	var onTop []string
	for _, c := range []struct {
		name, both, value string
		hyperparameters   int
	}{
		{"elastic net", "cvgm.ElasticNetCold/gradient", "cvgm.ElasticNetCold/value", 2},
		{"rings", "cvgm.LearnedKernelStep/rings/step", "cvgm.LearnedKernelStep/rings/value", kernels.DefaultRings().NumHyperparameters()},
		{"XOR", "cvgm.LearnedKernelStep/XOR/step", "cvgm.LearnedKernelStep/XOR/value", kernels.DefaultXOR().NumHyperparameters()},
	} {
		ratio := t.estimate(c.both, c.value, func(both, value float64) float64 { return both / value })
		dearest = higher(dearest, ratio)
		mostly = higher(mostly, t.estimate(c.both, c.value, func(both, value float64) float64 { return 1 - value/both }))
		quotients = higher(quotients, t.estimate(c.both, c.value, func(both, value float64) float64 { return (both/value - 1) / float64(c.hyperparameters) }))
		if math.IsNaN(ratio.Mean) {
			continue
		}
		onTop = append(onTop, fmt.Sprintf("%.0f %% with %d hyperparameters (%s)", 100*(ratio.Mean-1), c.hyperparameters, c.name))
	}
	published := elasticnet.DefaultElasticNet().K
	const hour = 3600e9 // in ns
	values := 1e6
	all.add(saysFiveOrSix, Measurement{timed: true, Text: "hours that 10 values of each of 6 hyperparameters take, elastic net", Brief: "hours for a grid of 10 values of 6 hyperparameters", Setting: t.setting(netTiming(published)+", each fit from scratch", "10⁶ values of the CV loss on one core"), Aside: true,
		Ours:    t.estimate("cvgm.ElasticNetCold/value", "cvgm.ElasticNetCold/value", func(_, value float64) float64 { return values * value / hour }),
		Control: &Control{Text: "two hyperparameters", Ours: once(100 * t.Lowest("cvgm.ElasticNetCold/value", "ns/op") / hour)},
		Remark:  fmt.Sprintf("Nothing tells how long is prohibitive; the bound is a day. With the published code's %g s a step it would be %.0f hours. Each further hyperparameter takes ten times as long.", publishedStep, values*publishedStep*1e9/hour)}, aboveRule(24, ofWhole))
	three := t.setting(netTiming(published)+", each fit from scratch", "rings, "+pick(kernels.DefaultRings(), "Train", "K", "P", "Hidden"), "XOR, "+pick(kernels.DefaultXOR(), "Train", "K", "P", "Hidden"), "one core")
	oneMore := belowRule(2, ofWhole)
	oneMore.text += ": less than one more loss, with which a difference gives the slope in one hyperparameter"
	all.add(saysLittleOnTop, Measurement{timed: true, Text: "time of loss and gradient over that of the loss, the largest of three experiments", Brief: "time of loss and gradient over that of the loss", Setting: three, Ours: dearest,
		Control: &Control{Text: "the gradient by differences, two hyperparameters", Ours: once(1 + 2)},
		Remark:  "On top of the loss come " + strings.Join(onTop, ", ") + "."}, oneMore)
	little := belowRule(quarter, ofWhole)
	little.text += ", of what differences cost"
	all.add(saysLittleOnTop, Measurement{timed: true, Text: "time that the gradient adds to the loss over that of differences, one more loss for each hyperparameter, the largest of three experiments", Brief: "time of the gradient over that of differences", Setting: three, Ours: quotients,
		Control: &Control{Text: "differences in its place", Ours: once(1)}}, little)
	evaluating := func(search string) experiment.Estimate {
		return t.medianOf("cvgm/experiment/searches.Searcher/"+search, "evaluating/search")
	}
	both := evaluating("projected_gradient,_paper's_step")
	alone := fmt.Sprintf("Line 4 can also be read as the gradient alone, whose share in the time of loss and gradient is %s. %s", withMargin(mostly), byLiteralReading[aboveRule(.5, ofWhole).judge(mostly, nil).Verdict])
	all.add(saysMostTime, Measurement{timed: true, Text: "share of lines 3 and 4, the K fits, their loss and its gradient, in the time of CVGM's steps, elastic net",
		Brief:   "share of the K fits in the time of CVGM's steps",
		Caveat:  alone,
		Setting: t.setting(netTiming(published)+", the fits from the last ones", "100 evaluations with the paper's step on one core"), Ours: both,
		Control: &Control{Text: "a Bayesian search in their place", Ours: evaluating("Bayesian")},
		Remark:  "To find the gradient, the paper's next sentence splits up the K fits, so that line 4 includes them."}, aboveRule(.5, ofWhole))
	all.add(saysMostTime, Measurement{timed: true, Text: "share of the gradient alone in the time of loss and gradient, the largest of three experiments", Brief: "share of the gradient alone in the time", Setting: three, Ours: mostly, Aside: !math.IsNaN(both.Mean),
		remarks: byVerdict{ifHolds: "The gradient takes the larger part.", ifFails: "The fits take the larger part: their factors serve the gradient, too."}}, aboveRule(.5, ofWhole))
	speedUp := func(k int) experiment.Estimate {
		name := fmt.Sprintf("cvgm.ElasticNetStep/K=%d/workers=", k)
		return t.estimate(name+"1", name+"2", func(one, two float64) float64 { return one / two })
	}
	steps := func(k int) string {
		return t.setting(netTiming(k), "one evaluation with gradient, the fits from the last ones", "a goroutine per core")
	}
	many, caches := speedUp(2048), ""
	if many.Mean > 2 {
		caches = "Sharing the work gains a factor of 2 at most: caches or other work on the machine add to it."
	}
	for _, m := range []Measurement{
		{Text: "time on one core over that on two, K = 2048, elastic net", Brief: "time on one core over that on two", Setting: steps(2048), Ours: many, Remark: caches},
		{Text: "time on one core over that on two, K = 128, elastic net", Setting: steps(128), Ours: speedUp(128), Aside: true, remarks: byVerdict{ifFails: "A step of so few small fits is over before a second core helps."}},
	} {
		m.timed, m.Control = true, &Control{Text: "one core in the place of two", Ours: once(1)}
		all.add(saysSplitUp, m, aboveRule(1, ofWhole))
	}
	const ours = "cvgm.ElasticNetCold/gradient"
	all.add(saysSpecialised, Measurement{timed: true, Text: "time of a step of the published code over one here, elastic net", Brief: "time of a step of the published code over one here",
		Setting: t.setting(netTiming(published)+", each fit from scratch", fmt.Sprintf("one evaluation with gradient on one core; the published code: %g s, on another machine", publishedStep)),
		Ours:    t.estimate(ours, ours, func(_, ours float64) float64 { return publishedStep * 1e9 / ours }),
		Control: &Control{Text: "the published code itself", Ours: once(1)}, Remark: "The two times come from different machines."}, aboveRule(2, ofWhole))
}
