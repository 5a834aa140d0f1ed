package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
)

// Results are what the claims are judged by. A nil Result leaves its claims out.
type Results struct {
	ElasticNet      *experiment.ElasticNetResult
	ElasticNetSeeds *experiment.ElasticNetSeeds
	Rings, XOR      *experiment.LearnedKernelResult
	SampleSize      *experiment.SampleSizeResult
	Searches        *experiment.SearchesResult
	Dimensions      *experiment.SearchDimensionsResult
	Splits          *experiment.SplitsResult
	Unrolled        *experiment.UnrolledResult
	Stability       *experiment.StabilityResult
	Derivatives     *experiment.DerivativeChecks
	Errata          *experiment.ErrataResult
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
	if r.Derivatives != nil {
		derivativeClaims(r.Derivatives, add)
	}
	if r.Errata != nil {
		errataClaims(r.Errata, add)
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
	if r.Searches != nil {
		searchesClaims(r.Searches, add)
	}
	if r.Dimensions != nil {
		dimensionsClaims(r.Dimensions, add)
	}
	if r.Splits != nil {
		splitsClaims(r.Splits, add)
	}
	if r.Unrolled != nil {
		unrolledClaims(r.Unrolled, add)
	}
	if r.Stability != nil {
		stabilityClaims(r.Stability, add)
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
	add(Claim{Place: "Synthetic Classification Data", Text: "Sizes: logistic regression errs on about half of the rings", Quoted: experiment.Quoted{Paper: ".5"},
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

func searchesClaims(r *experiment.SearchesResult, add addClaim) {
	const within = 24
	median := make(map[string]float64)
	for _, m := range r.Methods {
		median[m.Name] = m.Median[min(within, len(m.Median))-1]
	}
	add(Claim{Place: "Cross-Validation Gradient Method", Text: fmt.Sprintf("Searches: gradients are much faster than exhaustive search (median excess of the CV loss after %d evaluations, exhaustive less quasi-Newton)", within),
		Ours:   once(median["exhaustive"] - median[experiment.SearchQuasiNewton]),
		Remark: "Gradient descent with the paper's constant step is not: a quasi-Newton method with the same gradients is."}, above(0))
	add(Claim{Place: "Synthetic Regression Data", Text: fmt.Sprintf("Searches: a constant step size works quite well (median excess of the CV loss after %d evaluations, exhaustive search less the paper's step)", within),
		Ours: once(median["exhaustive"] - r.Methods[0].Median[within-1])}, above(0))
}

func dimensionsClaims(r *experiment.SearchDimensionsResult, add addClaim) {
	var excess experiment.Estimate
	at := 0
	for _, d := range r.Dimensions {
		for _, m := range d.Methods {
			if m.Name == "exhaustive" && len(m.CV) > 0 {
				excess, at = m.Excess, d.Hyperparameters
			}
		}
	}
	add(Claim{Place: "Related Work", Text: fmt.Sprintf("Searches: exhaustive search is prohibitive from five or six hyperparameters on (CV loss above the lowest known at %d, with the same evaluations)", at),
		Ours: measured(excess)}, above(0))
}

func splitsClaims(r *experiment.SplitsResult, add addClaim) {
	byK := func(k int) experiment.SplitsSetting {
		return closest(r.ByK, func(s experiment.SplitsSetting) float64 { return math.Abs(float64(s.K - k)) })
	}
	byP := func(p float64) experiment.SplitsSetting {
		return closest(r.ByP, func(s experiment.SplitsSetting) float64 { return math.Abs(s.P - p) })
	}
	const place = "Cross-Validation Gradient Method"
	many := byK(120)
	add(Claim{Place: place, Text: fmt.Sprintf("Splits: balanced splits are an improvement: less noise (their share of the gradient's standard deviation, K = %d)", many.K),
		Ours: once(many.Balanced.GradientSD.Mean / many.Uniform.GradientSD.Mean)}, below(1))
	add(Claim{Place: place, Text: fmt.Sprintf("Splits: balanced splits are an improvement: a lower test loss (difference, K = %d)", many.K),
		Ours: measured(many.BalancedLess.Difference), Remark: "The noise of the splits is not what the test loss suffers from."}, below(0))
	add(Claim{Place: place, Text: "Splits: a larger K reduces the variance (standard deviation of the gradient at the largest K over that at the smallest)",
		Ours: once(r.ByK[len(r.ByK)-1].Uniform.GradientSD.Mean / r.ByK[0].Uniform.GradientSD.Mean)}, below(1))
	add(Claim{Place: place, Text: "Splits: K from 16 to 128 works well (test loss at K = 15 less that at K = 240)",
		Ours: difference(byK(15).Uniform.Test, byK(240).Uniform.Test)}, contains(0))
	add(Claim{Place: place, Text: "Splits: p above one half works well (test loss at p = 0.65 less that at p = 0.95)",
		Ours: difference(byP(.65).Uniform.Test, byP(.95).Uniform.Test)}, contains(0))
}

// closest returns the setting of least distance.
func closest(settings []experiment.SplitsSetting, distance func(experiment.SplitsSetting) float64) experiment.SplitsSetting {
	return slices.MinFunc(settings, func(a, b experiment.SplitsSetting) int { return cmp.Compare(distance(a), distance(b)) })
}

// difference is that of two means, with the interval they would have if their
// data were independent: too wide where they share it.
func difference(a, b experiment.Estimate) Measurement {
	return Measurement{Value: a.Mean - b.Mean, Margin: math.Hypot(a.Margin, b.Margin), N: a.N}
}

func unrolledClaims(r *experiment.UnrolledResult, add addClaim) {
	relative := func(run experiment.UnrolledRun) float64 { e := run.Error(); return e[len(e)-1] }
	steepest := slices.MaxFunc(r.ByRate, func(a, b experiment.UnrolledRun) int { return cmp.Compare(a.Rate, b.Rate) })
	add(Claim{Place: "Related Work", Text: "Iterative differentiation: its gradients can explode (relative error after the last step at the largest learning rate)",
		Ours: once(relative(steepest))}, above(1))
}

func stabilityClaims(r *experiment.StabilityResult, add addClaim) {
	const place = "supplement, Connections to Stability"
	settings := r.Settings()
	holds := 0
	for _, s := range settings {
		if s.Holds() {
			holds++
		}
	}
	add(Claim{Place: place, Text: fmt.Sprintf("Stability: E[R − R_emp] = Δ (share of %d settings whose interval of the difference contains 0)", len(settings)),
		Ours: once(float64(holds) / float64(len(settings))), Remark: "In expectation, for symmetric algorithms at fixed hyperparameters. The printed display's third term should be l(A(Sⁱ), z_i′)."}, above(.9))
	first, last := r.Path[0], r.Path[len(r.Path)-1]
	add(Claim{Place: place, Text: "Stability: CVGM lowers Δ (difference between the end and the start of its path)",
		Ours: difference(last.Delta, first.Delta)}, below(0))
	add(Claim{Place: place, Text: "Stability: that is all CVGM descends (change of E[R_emp] along its path)",
		Ours: difference(last.Training, first.Training), Remark: "What it descends is Δ + E[R_emp]; the empirical risk rises while Δ falls."}, contains(0).or(PaperError))
}

func derivativeClaims(r *experiment.DerivativeChecks, add addClaim) {
	var worst float64
	for _, c := range r.Checks {
		_, e := c.Best()
		worst = math.Max(worst, e)
	}
	add(Claim{Place: "abstract, section 3", Text: fmt.Sprintf("Derivatives: exact gradients of common convex learners exist and are found (largest relative distance from the best finite difference, %d derivatives)", len(r.Checks)),
		Ours: once(worst), Remark: "That is the rounding error of the difference; the derivative itself is exact to some 1e-15."}, below(1e-8))
	add(Claim{Place: "example Elastic-net regression", Text: "Derivatives: the elastic net's derivatives in its hyperparameters are the first published",
		Ours: Measurement{Value: math.NaN(), Margin: math.NaN(), N: 1}}, above(0))
}

func errataClaims(r *experiment.ErrataResult, add addClaim) {
	jump := func(left, right float64) Measurement { return once(math.Abs(left - right)) }
	add(Claim{Place: "section 3", Text: "Derivatives: ∇_α g ∈ R(∇_z g) suffices (jump of the slope of min ½(x−a)², x ≤ 0, at a = 0, where it holds)",
		Ours: jump(r.Range.Left, r.Range.Right), Remark: "Strict complementarity is needed as well."}, equals(0, 1e-6).or(PaperError))
	add(Claim{Place: "example Logistic regression", Text: "Derivatives: the printed Jacobian of logistic regression (relative distance from central differences)",
		Ours: once(r.Jacobian.PrintedError), Remark: "It lacks the term C π(1−π) x θᵀ, with which the distance is rounding."}, below(1e-6).or(PaperError))
	add(Claim{Place: "example Elastic-net regression", Text: "Derivatives: the elastic net is differentiable wherever λ2 > 0 (jump of a slope at such a point)",
		Ours: jump(r.ElasticNet.Left, r.ElasticNet.Right), Remark: "Not where a coefficient is weakly active."}, equals(0, 1e-6).or(PaperError))
	add(Claim{Place: "supplement, Support Vector Machine", Text: "Derivatives: the SVM is differentiable wherever λ2 > 0 (jump of a slope at such a point)",
		Ours: jump(r.SVM.Left, r.SVM.Right), Remark: "Not where a row or a coefficient is weakly active."}, equals(0, 1e-6).or(PaperError))
	add(Claim{Place: "supplement, Support Vector Machine", Text: "Derivatives: labels {0, 1} (largest change of θ when every example labelled 0 is replaced)",
		Ours: once(r.Labels.ZeroMoves), Remark: "At y = 0 the hinge loss is constant: ±1 is meant."}, above(1e-6).or(PaperError))
	add(Claim{Place: "Synthetic Classification Data", Text: "Rings: the best a linear rule can do is an error of one half (error of the best one, population)", Quoted: experiment.Quoted{Paper: ".5"},
		Ours: once(1 - r.Bayes.HalfPlane.Value), Remark: fmt.Sprintf("With an intercept: beyond x1 = %.2f lie mostly points of the outer ring.", r.Bayes.Offset)}, equals(.5, .005).or(PaperError))
}
