package experiment

import (
	"fmt"
	"math"
)

// publishedStep is what one step of the published code took on the first
// experiment, in seconds, on one core of another machine.
const publishedStep = .062

func (all *measurements) timings(t *Timings) {
	dearest, mostly := math.Inf(-1), math.Inf(-1)
	for _, c := range [][2]string{
		{"cvgm.ElasticNetCold/gradient", "cvgm.ElasticNetCold/value"},
		{"cvgm.LearnedKernelStep/rings/step", "cvgm.LearnedKernelStep/rings/value"},
		{"cvgm.LearnedKernelStep/XOR/step", "cvgm.LearnedKernelStep/XOR/value"},
	} {
		ratio := t.Lowest(c[0], "ns/op") / t.Lowest(c[1], "ns/op")
		dearest, mostly = math.Max(dearest, ratio), math.Max(mostly, 1-1/ratio)
	}
	all.add(saysLittleOnTop, Measurement{Text: "time of loss and gradient over that of the loss, the largest of three experiments", Ours: once(dearest),
		Control: &Control{Text: "the gradient by differences, two hyperparameters", Ours: once(1 + 2)}}, below(2))
	all.add(saysMostTime, Measurement{Text: "share of the gradient in the time of loss and gradient, the largest of three experiments", Ours: once(mostly),
		Remark: "The fits take the larger part: their factors serve the gradient, too."}, above(.5))
	speedUp := func(k int) Estimate {
		name := fmt.Sprintf("cvgm.ElasticNetStep/K=%d/workers=", k)
		return once(t.Lowest(name+"1", "ns/op") / t.Lowest(name+"2", "ns/op"))
	}
	all.add(saysSplitUp, Measurement{Text: "time on one core over that on two, K = 2048, elastic net", Ours: speedUp(2048), Control: &Control{Text: "one core in the place of two", Ours: once(1)}}, above(1))
	all.add(saysSplitUp, Measurement{Text: "the same, K = 128", Ours: speedUp(128), Aside: true,
		Remark: "A step of so few small fits is over before a second core helps."}, above(1))
	all.add(saysSpecialised, Measurement{Text: "time of a step of the published code over one here, elastic net", Ours: once(publishedStep * 1e9 / t.Lowest("cvgm.ElasticNetCold/gradient", "ns/op")),
		Control: &Control{Text: "the published code itself", Ours: once(1)}, Remark: "On different machines."}, above(2))
}
