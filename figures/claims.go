package figures

import (
	"fmt"
	"math"

	"cvgm/cvgm/experiment"
)

// Results are what the claims are judged by. A nil Result leaves its claims out.
type Results struct {
	ElasticNet      *experiment.ElasticNetResult
	ElasticNetSeeds *experiment.ElasticNetSeeds
	Rings, XOR      *experiment.LearnedKernelResult
	SampleSize      *experiment.SampleSizeResult
}

// A Claim is a statement of the paper beside what is measured.
type Claim struct {
	Place  string            // in the paper
	Text   string            // what is claimed, in our words
	Quoted experiment.Quoted // the number that the paper gives, and the one that its code prints
	// Ours is measured; Value is NaN where nothing can be.
	Ours    Measurement
	Unit    string // of all three: empty, "points" (of accuracy), …
	Rule    string // how the verdict follows from Ours
	Verdict Verdict
	Remark  string // what explains a difference; empty: nothing to explain
}

// Measurement is a measured value with half of its 95 % confidence interval.
// Margin is NaN, and N is 1, for what is computed once.
type Measurement struct {
	Value, Margin float64
	N             int
}

// Verdict is what becomes of a claim.
type Verdict string

// The verdicts.
const (
	Confirmed   Verdict = "confirmed"
	Differs     Verdict = "differs"
	PaperError  Verdict = "paper's error"
	NotTestable Verdict = "not testable"
)

func once(v float64) Measurement { return Measurement{v, math.NaN(), 1} }

func measured(e experiment.Estimate) Measurement {
	return Measurement{Value: e.Mean, Margin: e.Margin, N: e.N}
}

// A rule turns a measurement into a verdict.
type rule struct {
	text  string
	holds func(Measurement) bool
	// otherwise is the verdict where it does not hold; empty: Differs.
	otherwise Verdict
}

// equals asks for a number up to a tolerance.
func equals(want, tol float64) rule {
	return rule{text: fmt.Sprintf("within %g of %g", tol, want), holds: func(m Measurement) bool { return math.Abs(m.Value-want) <= tol }}
}

// above asks for a value, or the whole interval where there is one, above a
// bound.
func above(bound float64) rule {
	return rule{text: fmt.Sprintf("the interval lies above %g", bound), holds: func(m Measurement) bool { return m.Value-m.half() > bound }}
}

func below(bound float64) rule {
	return rule{text: fmt.Sprintf("the interval lies below %g", bound), holds: func(m Measurement) bool { return m.Value+m.half() < bound }}
}

// contains asks for an interval around a value.
func contains(v float64) rule {
	return rule{text: fmt.Sprintf("the interval contains %g", v), holds: func(m Measurement) bool { return math.Abs(m.Value-v) <= m.half() }}
}

// half returns half of the interval, or zero for what is computed once.
func (m Measurement) half() float64 {
	if math.IsNaN(m.Margin) {
		return 0
	}
	return m.Margin
}

// or makes the verdict of a rule that does not hold another than Differs.
func (r rule) or(v Verdict) rule {
	r.otherwise = v
	return r
}

func (r rule) judge(m Measurement) Verdict {
	switch {
	case math.IsNaN(m.Value):
		return NotTestable
	case r.holds(m):
		return Confirmed
	case r.otherwise != "":
		return r.otherwise
	}
	return Differs
}

// Claims judges every claim of the paper that the results bear on, in the order
// of the paper.
func Claims(r Results) []Claim {
	var claims []Claim
	add := func(c Claim, rule rule) {
		c.Rule = rule.text
		c.Verdict = rule.judge(c.Ours)
		claims = append(claims, c)
	}
	if r.ElasticNet != nil {
		elasticNetClaims(r.ElasticNet, add)
	}
	if r.ElasticNetSeeds != nil {
		elasticNetSeedsClaims(r.ElasticNetSeeds, add)
	}
	if r.Rings != nil {
		ringsClaims(r.Rings, add)
	}
	if r.SampleSize != nil {
		sampleSizeClaims(r.SampleSize, add)
	}
	if r.XOR != nil {
		xorClaims(r.XOR, add)
	}
	return claims
}

type addClaim func(Claim, rule)

func elasticNetClaims(r *experiment.ElasticNetResult, add addClaim) {
	const table = "Table 1"
	printed := func(name string, s experiment.ElasticNetSearch, paper float64, remark string) {
		add(Claim{Place: table, Text: fmt.Sprintf("Elastic net, published data: test loss of %s", name), Quoted: s.Quoted,
			Ours: once(s.Final()), Remark: remark}, equals(paper, .0005))
	}
	printed("CVGM", r.CVGM, 1.080, "The paper's number comes from another run of the code than the steps it prints, which end where the replay does.")
	printed("exhaustive search", r.Exhaustive, 1.207, "")
	printed("random search", r.Random, 1.084, "")
	falls := 0
	for k := 1; k < len(r.CVGM.TestLoss); k++ {
		if r.CVGM.TestLoss[k] < r.CVGM.TestLoss[k-1] {
			falls++
		}
	}
	add(Claim{Place: "Synthetic Regression Data", Text: "Elastic net: CVGM's test loss mostly falls from step to step (share of steps)",
		Ours:   once(float64(falls) / float64(len(r.CVGM.TestLoss)-1)),
		Remark: "It falls while the search is stopped early; run on, it rises again."}, above(.5))
}

func elasticNetSeedsClaims(r *experiment.ElasticNetSeeds, add addClaim) {
	against := func(k int, text string, rule rule, remark string) {
		m := r.Methods[k]
		add(Claim{Place: "Synthetic Regression Data", Text: text, Ours: measured(m.CVGMLessTest.Difference), Remark: remark}, rule)
	}
	const seed = "Table 1 shows one favourable seed."
	against(experiment.ElasticNetExhaustive, "Elastic net, fresh data: CVGM reaches a lower test loss than exhaustive search (difference)", below(0), seed)
	against(experiment.ElasticNetRandom, "Elastic net, fresh data: CVGM reaches a lower test loss than random search (difference)", below(0), seed)
	against(experiment.ElasticNetRandom, "Elastic net, fresh data: in two dimensions random search is quite competitive (CVGM less random search)", contains(0), "")
	against(experiment.ElasticNetLeastSquares, "Elastic net, fresh data: choosing the penalties pays (CVGM less least squares)", below(0), "")
}

func ringsClaims(r *experiment.LearnedKernelResult, add addClaim) {
	const place, caption = "Synthetic Classification Data", "figure of the rings, caption"
	run := r.Run(experiment.Published)
	add(Claim{Place: place, Text: "Rings: the network kernel has 322 hyperparameters", Quoted: experiment.Quoted{Paper: "322"},
		Ours: once(float64(r.Params.NumHyperparameters()))}, equals(322, 0))
	add(Claim{Place: place, Text: "Rings: test accuracy after about 10 steps", Quoted: experiment.Quoted{Paper: ".865", Code: ".725"},
		Ours: once(run.Accuracy[min(11, len(run.Accuracy)-1)]), Remark: "Twice as many steps get there."}, equals(.865, .01))
	add(Claim{Place: caption, Text: "Rings: test accuracy after 100 steps", Quoted: experiment.Quoted{Paper: ".898", Code: run.QuotedFinal.Code},
		Ours: once(run.FinalAccuracy())}, equals(.898, .0015))
	add(Claim{Place: caption, Text: "Rings: accuracy of the Bayes rule, population", Quoted: experiment.Quoted{Paper: ".894"},
		Ours: once(r.Bayes.Population)}, equals(.894, .0005))
	add(Claim{Place: place, Text: "Rings: accuracy of the Bayes rule on the test set", Quoted: experiment.Quoted{Paper: ".892"},
		Ours: once(r.Bayes.Test), Remark: "So CVGM does not beat the Bayes rule on this test set, as the caption suggests."}, equals(.892, .0005).or(PaperError))
	add(Claim{Place: "example Logistic regression, and the code", Text: "Rings: what the published code descends is the gradient (cosine with the exact one at the start)",
		Ours: once(run.Cosine[0]), Remark: "The Jacobian lacks the derivative of π, and the code holds the validation features constant."}, above(.999).or(PaperError))
}

func xorClaims(r *experiment.LearnedKernelResult, add addClaim) {
	const place, caption = "supplement, XOR Experiment", "figure of XOR, caption"
	run := r.Run(experiment.Published)
	add(Claim{Place: place, Text: "XOR: the network kernel has 4482 hyperparameters", Quoted: experiment.Quoted{Paper: "4482"},
		Ours: once(float64(r.Params.NumHyperparameters()))}, equals(4482, 0))
	add(Claim{Place: caption, Text: "XOR: test accuracy after 50 steps", Quoted: experiment.Quoted{Paper: ".72", Code: run.QuotedFinal.Code},
		Ours: once(run.FinalAccuracy())}, equals(.72, .005))
	add(Claim{Place: caption, Text: "XOR: accuracy of the Bayes rule", Quoted: experiment.Quoted{Paper: ".851"}, Ours: once(r.Bayes.Population),
		Remark: "The code compares predictions in {0, 1} with labels in {−1, 1}, so that one class always counts as right. CVGM's .72 is the best there is."},
		equals(.851, .0005).or(PaperError))
}

func sampleSizeClaims(r *experiment.SampleSizeResult, add addClaim) {
	const place = "accuracy against dataset size"
	mean := func(method, size int) Measurement {
		for i, s := range r.Sizes {
			if s == size {
				return measured(r.Methods[method].Mean[i])
			}
		}
		return Measurement{Value: math.NaN(), Margin: math.NaN()}
	}
	add(Claim{Place: "conclusion", Text: "Sizes: 322 hyperparameters are optimised with as few as 20 examples (accuracy at N = 20, published gradient)",
		Ours: mean(experiment.SizeCVGMPublished, 20)}, above(.5))
	add(Claim{Place: "Synthetic Classification Data", Text: "Sizes: a linear rule errs on half of the rings", Quoted: experiment.Quoted{Paper: ".5"},
		Ours: measured(r.Overall(experiment.SizeLogistic))}, equals(.5, .02))
	for _, c := range []struct {
		method int
		text   string
	}{
		{experiment.SizeNetworkText, "Sizes: CVGM is more accurate than a network trained as the text says (difference)"},
		{experiment.SizeNetworkPublished, "Sizes: CVGM is more accurate than the network of the published code (difference)"},
		{experiment.SizeAdam, "Sizes: CVGM is more accurate than a fairly trained network (difference)"},
		{experiment.SizeLogistic, "Sizes: CVGM is more accurate than logistic regression (difference)"},
	} {
		m := r.Methods[c.method]
		add(Claim{Place: place, Text: c.text + ", published gradient", Ours: measured(m.Published.All.Difference)}, above(0))
		add(Claim{Place: place, Text: c.text + ", exact gradient", Ours: measured(m.Full.All.Difference)}, above(0))
	}
	for _, c := range []struct {
		gradient string
		experiment.SizeComparison
	}{{"published", r.Methods[experiment.SizeAdam].Published}, {"exact", r.Methods[experiment.SizeAdam].Full}} {
		more := measured(c.Small.Difference)
		more.Value -= c.All.Difference.Mean
		add(Claim{Place: place, Text: fmt.Sprintf("Sizes: … especially with little data (gain over a fairly trained network at N ≤ %d less that at all sizes), %s gradient", r.Params.Small, c.gradient),
			Ours: more}, above(0))
	}
}
