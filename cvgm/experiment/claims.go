package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Results are what the claims are judged by. A nil Result leaves its claims out.
type Results struct {
	ElasticNet      *ElasticNetResult
	ElasticNetSeeds *ElasticNetSeeds
	Rings           *RingsResult
	XOR             *XORResult
	SampleSize      *SampleSizeResult
	Searches        *SearchesResult
	Dimensions      *SearchDimensionsResult
	Splits          *SplitsResult
	Unrolled        *UnrolledResult
	Stability       *StabilityResult
	Derivatives     *DerivativeChecks
	Errata          *ErrataResult
	Timings         *Timings
}

// A Claim is a statement of the paper beside what is measured.
type Claim struct {
	Place  string // in the paper
	Text   string // what is claimed, in our words
	Quoted Quoted // the number that the paper gives, and the one that its code prints
	// Ours is measured, with N = 1 and no margin where it is computed once; Mean is
	// NaN where nothing can be measured.
	Ours    Estimate
	Unit    string // of all three: empty, "points" (of accuracy), …
	Rule    string // how the verdict follows from Ours
	Verdict Verdict
	Remark  string // what explains a difference; empty: nothing to explain
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

func once(v float64) Estimate { return Estimate{v, math.NaN(), 1} }

// A rule turns a measurement into a verdict.
type rule struct {
	text  string
	holds func(Estimate) bool
	// otherwise is the verdict where it does not hold; empty: Differs.
	otherwise Verdict
}

// equals asks for a number up to a tolerance.
func equals(want, tol float64) rule {
	return rule{text: fmt.Sprintf("within %g of %g", tol, want), holds: func(m Estimate) bool { return math.Abs(m.Mean-want) <= tol }}
}

// asPrinted asks for the paper's number up to a tolerance.
func asPrinted(q Quoted, tol float64) rule { return equals(number64(q.Paper), tol) }

// above asks for a value, or the whole interval where there is one, above a
// bound.
func above(bound float64) rule {
	return rule{text: fmt.Sprintf("the interval lies above %g", bound), holds: func(m Estimate) bool { return m.Mean-m.half() > bound }}
}

func below(bound float64) rule {
	return rule{text: fmt.Sprintf("the interval lies below %g", bound), holds: func(m Estimate) bool { return m.Mean+m.half() < bound }}
}

// A tenth of a loss is what a rule lets pass where the paper says that something
// works well or is competitive.
const tenth = .1

// withinTenth asks for a difference of losses, or for the whole interval where
// there is one, that is below a tenth of a loss.
func withinTenth(loss float64) rule {
	return rule{text: fmt.Sprintf("the interval lies below %.3f, a tenth of the loss", tenth*loss), holds: below(tenth * loss).holds}
}

// contains asks for an interval around a value.
func contains(v float64) rule {
	return rule{text: fmt.Sprintf("the interval contains %g", v), holds: func(m Estimate) bool { return math.Abs(m.Mean-v) <= m.half() }}
}

// half returns half of the interval, or zero for what is computed once.
func (m Estimate) half() float64 {
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

func (r rule) judge(m Estimate) Verdict {
	switch {
	case math.IsNaN(m.Mean):
		return NotTestable
	case r.holds(m):
		return Confirmed
	case r.otherwise != "":
		return r.otherwise
	}
	return Differs
}

// Claims judges every claim of the paper that the results bear on, experiment by
// experiment.
func Claims(r Results) []Claim {
	var claims []Claim
	add := func(c Claim, rule rule) {
		if c.Rule = rule.text; math.IsNaN(c.Ours.Mean) {
			c.Rule = "–"
		}
		c.Verdict = rule.judge(c.Ours)
		claims = append(claims, c)
	}
	judge(r.Derivatives, derivativeClaims, add)
	judge(r.Errata, errataClaims, add)
	judge(r.ElasticNet, elasticNetClaims, add)
	judge(r.ElasticNetSeeds, elasticNetSeedsClaims, add)
	judge(r.Rings, ringsClaims, add)
	judge(r.SampleSize, sampleSizeClaims, add)
	judge(r.XOR, xorClaims, add)
	judge(r.Searches, searchesClaims, add)
	judge(r.Dimensions, dimensionsClaims, add)
	judge(r.Splits, splitsClaims, add)
	judge(r.Unrolled, unrolledClaims, add)
	judge(r.Timings, timingsClaims, add)
	judge(r.Stability, stabilityClaims, add)
	return claims
}

type addClaim func(Claim, rule)

// judge adds the claims that a result bears on, and none for nil.
func judge[R any](r *R, claims func(*R, addClaim), add addClaim) {
	if r != nil {
		claims(r, add)
	}
}

func elasticNetClaims(r *ElasticNetResult, add addClaim) {
	const table = "Table 1"
	printed := func(name string, s ElasticNetSearch, q Quoted, remark string) {
		add(Claim{Place: table, Text: fmt.Sprintf("Elastic net, published data: test loss of %s", name), Quoted: q,
			Ours: once(s.Final()), Remark: remark}, asPrinted(q, .0005))
	}
	printed("CVGM", r.CVGM, Printed.CVGM, "The paper's number comes from another run of the code than the steps it prints, which end where the replay does.")
	printed("exhaustive search", r.Exhaustive, Printed.Exhaustive, "")
	printed("random search", r.Random, Printed.Random, "")
	add(Claim{Place: table, Text: "Elastic net, published data: CVGM's steps", Quoted: Printed.CVGMSteps,
		Ours: once(float64(len(r.CVGM.TestLoss))), Remark: "The code counts them from 1 up to, and without, 100."}, asPrinted(Printed.CVGMSteps, 0))
	const place = "Synthetic Regression Data"
	add(Claim{Place: place, Text: "Elastic net, published data: CVGM's test loss is lower than the other two methods' (CVGM less the lower of them)",
		Ours: once(r.CVGM.Final() - min(r.Exhaustive.Final(), r.Random.Final())), Remark: "On this data set."}, below(0))
	falls := 0
	for k := 1; k < len(r.CVGM.TestLoss); k++ {
		if r.CVGM.TestLoss[k] < r.CVGM.TestLoss[k-1] {
			falls++
		}
	}
	add(Claim{Place: place, Text: "Elastic net: CVGM's test loss mostly falls from step to step (share of steps)",
		Ours:   once(float64(falls) / float64(len(r.CVGM.TestLoss)-1)),
		Remark: "It falls while the search is stopped early; run on, it rises again."}, above(.5))
}

func elasticNetSeedsClaims(r *ElasticNetSeeds, add addClaim) {
	against := func(k int, text string, rule rule, remark string) {
		m := r.Methods[k]
		add(Claim{Place: "Synthetic Regression Data", Text: text, Ours: m.CVGMMinusTest.Difference, Remark: remark}, rule)
	}
	const seed = "Table 1 shows one favourable seed."
	against(ElasticNetExhaustive, "Elastic net, fresh data: CVGM reaches a lower test loss than exhaustive search (difference)", below(0), seed)
	against(ElasticNetRandom, "Elastic net, fresh data: CVGM reaches a lower test loss than random search (difference)", below(0), seed)
	cvgm := r.Methods[ElasticNetCVGM]
	for _, k := range []int{ElasticNetExhaustive, ElasticNetRandom} {
		less := r.Methods[k].CVGMMinusTest.Difference
		less.Mean = -less.Mean
		add(Claim{Place: "Synthetic Regression Data", Text: fmt.Sprintf("Elastic net, fresh data: in two dimensions %s is quite competitive (its test loss less CVGM's)", strings.ToLower(r.Methods[k].Name)),
			Ours: less}, withinTenth(cvgm.TestMean.Mean))
	}
	exhaustive := r.Methods[ElasticNetExhaustive]
	add(Claim{Place: "Cross-Validation Gradient Method", Text: "Elastic net, fresh data: a constant step size works quite well (CV loss, CVGM less exhaustive search)",
		Ours:   exhaustive.CVGMMinusCV.Difference,
		Remark: fmt.Sprintf("It ends above the lowest point of the grid on %.0f %% of the data sets, by little.", 100*(1-exhaustive.CVGMMinusCV.Wins))},
		withinTenth(exhaustive.CVMean.Mean))
}

func ringsClaims(r *RingsResult, add addClaim) {
	const place, caption = "Synthetic Classification Data", "figure of the rings, caption"
	p, run := Printed.Rings, r.Run(Published)
	reached := "It is never reached."
	if step := slices.IndexFunc(run.Accuracy, func(a float64) bool { return a >= number64(p.Accuracy10.Paper) }); step >= 0 {
		reached = fmt.Sprintf("It is reached at step %d.", step)
	}
	add(Claim{Place: place, Text: "Rings: the network kernel has 322 hyperparameters", Quoted: p.Hyperparameters,
		Ours: once(float64(r.Params.NumHyperparameters()))}, asPrinted(p.Hyperparameters, 0))
	add(Claim{Place: place, Text: "Rings: test accuracy after about 10 steps", Quoted: p.Accuracy10,
		Ours: once(run.Accuracy[min(11, len(run.Accuracy)-1)]), Remark: reached}, asPrinted(p.Accuracy10, .01))
	add(Claim{Place: caption, Text: "Rings: test accuracy after 100 steps", Quoted: p.Accuracy,
		Ours: once(run.FinalAccuracy()), Remark: "One of a thousand test examples; the output saved with the code is the same as here."}, asPrinted(p.Accuracy, .0005))
	add(Claim{Place: caption, Text: "Rings: accuracy of the Bayes rule, population", Quoted: p.Bayes,
		Ours: once(r.Bayes.Population)}, asPrinted(p.Bayes, .0005))
	add(Claim{Place: place, Text: "Rings: accuracy of the Bayes rule on the test set", Quoted: p.BayesOnTest,
		Ours: once(r.Bayes.Test), Remark: "So CVGM does not beat the Bayes rule on this test set, although the caption suggests it."}, asPrinted(p.BayesOnTest, .0005).or(PaperError))
	add(Claim{Place: "example Logistic regression, and the code", Text: "Rings: what the published code descends is the gradient (cosine with the exact one at the start)",
		Ours: once(run.Cosine[0]), Remark: "The Jacobian lacks the derivative of π, and the code holds the validation features constant."}, above(.999).or(PaperError))
}

func xorClaims(r *XORResult, add addClaim) {
	const place, caption = "supplement, XOR Experiment", "figure of XOR, caption"
	p, run := Printed.XOR, r.Run(Published)
	add(Claim{Place: place, Text: "XOR: the network kernel has 4482 hyperparameters", Quoted: p.Hyperparameters,
		Ours: once(float64(r.Params.NumHyperparameters()))}, asPrinted(p.Hyperparameters, 0))
	add(Claim{Place: caption, Text: "XOR: test accuracy after 50 steps", Quoted: p.Accuracy,
		Ours: once(run.FinalAccuracy())}, asPrinted(p.Accuracy, .005))
	add(Claim{Place: caption, Text: "XOR: accuracy of the Bayes rule", Quoted: p.Bayes, Ours: once(r.Bayes.Population),
		Remark: "The code compares predictions in {0, 1} with labels in {−1, 1}, so that one class always counts as right. CVGM's .72 is close to the best there is."},
		asPrinted(p.Bayes, .0005).or(PaperError))
}

func sampleSizeClaims(r *SampleSizeResult, add addClaim) {
	const place = "accuracy against dataset size"
	few := once(math.NaN())
	if i := slices.Index(r.Sizes, 20); i >= 0 {
		few = r.Methods[SizeCVGMPublished].Mean[i]
	}
	add(Claim{Place: "conclusion", Text: "Sizes: 322 hyperparameters are optimised with as few as 20 examples (accuracy at N = 20, published gradient)",
		Ours: few}, above(.5))
	rivals := []struct {
		method int
		name   string
	}{
		{SizeNetworkText, "a network trained as the text says"},
		{SizeNetworkPublished, "the network of the published code"},
		{SizeLogistic, "logistic regression"},
		{SizeAdam, "a fairly trained network"}, // not in the paper
	}
	for _, c := range rivals {
		add(Claim{Place: place, Text: "Sizes: CVGM is more accurate than " + c.name + " (difference)", Ours: r.Methods[c.method].Published.All.Difference}, above(0))
	}
	fair := r.Methods[SizeAdam]
	add(Claim{Place: place, Text: "Sizes: CVGM is more accurate than a fairly trained network (difference), exact gradient", Ours: fair.Full.All.Difference}, above(0))
	especially := func(against string, c SizeComparison, remark string) {
		add(Claim{Place: place, Text: fmt.Sprintf("Sizes: … especially with little data (lead over %s at N ≤ %d less that at larger N)", against, r.Params.SmallSize),
			Ours: difference(c.Small.Difference, c.Large.Difference), Remark: remark}, above(0))
	}
	for _, c := range rivals {
		especially(c.name, r.Methods[c.method].Published, "With little data every method is less accurate, CVGM among them.")
	}
	especially("a fairly trained network, exact gradient,", fair.Full, "")
}

func searchesClaims(r *SearchesResult, add addClaim) {
	const within = 24
	median := func(name string, evaluations int) float64 {
		m := r.Methods[slices.IndexFunc(r.Methods, func(m SearchMethod) bool { return m.Name == name })].Median
		return m[min(evaluations, len(m))-1]
	}
	budget := r.Params.Budget
	add(Claim{Place: "Cross-Validation Gradient Method", Text: fmt.Sprintf("Searches: gradients can be much faster than exhaustive search (median excess of the CV loss, exhaustive after %d evaluations less quasi-Newton after %d)", budget, within),
		Ours:   once(median("exhaustive", budget) - median(SearchQuasiNewton, within)),
		Remark: "Gradient descent with the paper's constant step is not: a quasi-Newton method with the same gradients is."}, above(0))
	add(Claim{Place: "Related Work", Text: fmt.Sprintf("Searches: random search is a fierce competitor of Bayesian optimisation (median excess of the CV loss after %d evaluations, random over Bayesian)", budget),
		Ours:   once(median("random", budget) / median("Bayesian", budget)),
		Remark: "The sentence is about other problems; on this one, smooth and in two dimensions, a Gaussian process is worth its trouble."}, below(2))
}

func dimensionsClaims(r *SearchDimensionsResult, add addClaim) {
	exhaustive := make(map[int]SearchDimensionMethod)
	most := 0
	for _, d := range r.Dimensions {
		for _, m := range d.Methods {
			if m.Name == "exhaustive" && len(m.CV) > 0 {
				exhaustive[d.Hyperparameters] = m
				most = max(most, d.Hyperparameters)
			}
		}
	}
	more := Estimate{Mean: math.NaN(), Margin: math.NaN()}
	if two, ok := exhaustive[2]; ok && most > 2 {
		more = difference(exhaustive[most].Excess, two.Excess)
	}
	add(Claim{Place: "Related Work", Text: fmt.Sprintf("Searches: exhaustive search becomes prohibitive as hyperparameters become more (CV loss above the lowest known, at %d less at 2, same budget)", most),
		Ours:   more,
		Remark: fmt.Sprintf("At %d the budget is enough for a grid of %d values of each.", most, exhaustive[most].PerAxis)}, above(0))
}

func splitsClaims(r *SplitsResult, add addClaim) {
	byK := func(k int) SplitsSetting {
		return closest(r.ByK, func(s SplitsSetting) float64 { return math.Abs(float64(s.K - k)) })
	}
	byP := func(p float64) SplitsSetting {
		return closest(r.ByP, func(s SplitsSetting) float64 { return math.Abs(s.P - p) })
	}
	const place = "Cross-Validation Gradient Method"
	many := byK(120)
	add(Claim{Place: place, Text: fmt.Sprintf("Splits: balanced splits are an improvement: less noise (their share of the gradient's standard deviation, K = %d)", many.K),
		Ours: once(many.Balanced.GradientSD.Mean / many.Uniform.GradientSD.Mean)}, below(1))
	add(Claim{Place: place, Text: "Splits: a larger K reduces the variance (standard deviation of the gradient at the largest K over that at the smallest)",
		Ours: once(r.ByK[len(r.ByK)-1].Uniform.GradientSD.Mean / r.ByK[0].Uniform.GradientSD.Mean)}, below(1))
	few, last := byK(15), r.ByK[len(r.ByK)-1]
	add(Claim{Place: place, Text: fmt.Sprintf("Splits: K from 16 to 128 works well (test loss at K = %d less that at K = %d, same data)", few.K, last.K),
		Ours: few.MinusLast.Difference}, withinTenth(last.Uniform.Test.Mean))
	half, last := byP(.65), r.ByP[len(r.ByP)-1]
	add(Claim{Place: place, Text: fmt.Sprintf("Splits: p above one half works well (test loss at p = %g less that at p = %g, same data)", half.P, last.P),
		Ours: half.MinusLast.Difference}, withinTenth(last.Uniform.Test.Mean))
}

// closest returns the setting of least distance.
func closest(settings []SplitsSetting, distance func(SplitsSetting) float64) SplitsSetting {
	return slices.MinFunc(settings, func(a, b SplitsSetting) int { return cmp.Compare(distance(a), distance(b)) })
}

func unrolledClaims(r *UnrolledResult, add addClaim) {
	errs := slices.MaxFunc(r.ByRate, func(a, b UnrolledRun) int { return cmp.Compare(a.Rate, b.Rate) }).Error()
	add(Claim{Place: "Related Work", Text: "Iterative differentiation: its gradients can explode (relative error after the last step at the largest learning rate)",
		Ours: once(fromEnd(errs, 1)), Remark: "There the descent itself diverges. At a rate at which it converges the derivative does, too."}, above(1))
}

func timingsClaims(t *Timings, add addClaim) {
	dearest := math.Inf(-1)
	for _, c := range [][2]string{
		{"cvgm.ElasticNetCold/gradient", "cvgm.ElasticNetCold/value"},
		{"cvgm.LearnedKernelStep/rings/step", "cvgm.LearnedKernelStep/rings/value"},
		{"cvgm.LearnedKernelStep/XOR/step", "cvgm.LearnedKernelStep/XOR/value"},
	} {
		dearest = math.Max(dearest, t.Lowest(c[0], "ns/op")/t.Lowest(c[1], "ns/op"))
	}
	add(Claim{Place: "Cross-Validation Gradient Method", Text: "Cost: a gradient costs little on top of the CV loss (time with it over time without, the largest of three experiments)",
		Ours: once(dearest)}, below(2))
}

func stabilityClaims(r *StabilityResult, add addClaim) {
	const place = "supplement, Connections to Stability"
	settings := r.Settings()
	holds := 0
	for _, s := range settings {
		if s.Holds() {
			holds++
		}
	}
	add(Claim{Place: place, Text: fmt.Sprintf("Stability: E[R − R_emp] = Δ (share of %d settings whose interval of the difference contains 0)", len(settings)),
		Ours: once(float64(holds) / float64(len(settings))), Remark: "In expectation, for symmetric algorithms at fixed hyperparameters."}, above(.9))
	first, last := r.Path[0], r.Path[len(r.Path)-1]
	add(Claim{Place: place, Text: "Stability: CVGM lowers Δ (difference between the end and the start of its path)",
		Ours: difference(last.Delta, first.Delta)}, below(0))
	add(Claim{Place: place, Text: "Stability: CVGM chooses the hyperparameters to optimise the stability (change of E[R_emp] along its path)",
		Ours: difference(last.Training, first.Training), Remark: "It descends the sum Δ + E[R_emp], as the sentences before say; E[R_emp] rises while Δ falls."}, contains(0))
	at := r.Learners[0]
	add(Claim{Place: place, Text: fmt.Sprintf("Stability: the last two terms of the display cancel (what it exceeds E[R] by, %s, %s = %g)", at.Name, at.Hyper, at.At[0]),
		Ours: at.Parts[0].Delta, Remark: "They do if the third is l(A(Sⁱ), z_i′)."}, contains(0).or(PaperError))
}

func derivativeClaims(r *DerivativeChecks, add addClaim) {
	var worst, apart float64
	for _, c := range r.Checks {
		_, e := c.Best()
		worst = math.Max(worst, e)
		if !math.IsNaN(c.JVP) {
			apart = math.Max(apart, c.Apart())
		}
	}
	add(Claim{Place: "abstract, section 3", Text: fmt.Sprintf("Derivatives: exact gradients of common convex learners exist and are found (largest relative distance from the best finite difference, %d derivatives)", len(r.Checks)),
		Ours: once(worst), Remark: fmt.Sprintf("That is the rounding error of the difference. From the cotangent's and from the direction's side the derivatives agree to %.0e.", apart)}, below(1e-8))
	add(Claim{Place: "example Elastic-net regression", Text: "Derivatives: the elastic net's derivatives in its hyperparameters are the first published",
		Ours: once(math.NaN())}, above(0))
}

func errataClaims(r *ErrataResult, add addClaim) {
	jump := func(left, right float64) Estimate { return once(math.Abs(left - right)) }
	add(Claim{Place: "section 3", Text: "Derivatives: ∇_α g ∈ R(∇_z g) suffices (jump of the slope of min ½(x−a)², x ≤ 0, at a = 0, where it holds)",
		Ours: jump(r.Range.Left, r.Range.Right), Remark: "Strict complementarity is needed as well."}, equals(0, 1e-6).or(PaperError))
	add(Claim{Place: "example Logistic regression", Text: "Derivatives: the printed Jacobian of logistic regression (relative distance from central differences)",
		Ours: once(r.Jacobian.PrintedError), Remark: "It lacks the term C π(1−π) x θᵀ, with which the distance is rounding."}, below(1e-6).or(PaperError))
	add(Claim{Place: "example Elastic-net regression", Text: "Derivatives: the elastic net is differentiable wherever λ2 > 0 (jump of a slope at such a point)",
		Ours: jump(r.ElasticNet.Left, r.ElasticNet.Right), Remark: "Not where a coefficient is weakly active."}, equals(0, 1e-6).or(PaperError))
	add(Claim{Place: "supplement, Support Vector Machine", Text: "Derivatives: the SVM is differentiable wherever λ2 > 0 (jump of a slope at such a point)",
		Ours: jump(r.SVM.Left, r.SVM.Right), Remark: "Not where a row or a coefficient is weakly active."}, equals(0, 1e-6).or(PaperError))
	add(Claim{Place: "supplement, Support Vector Machine", Text: "Derivatives: the SVM's quadratic program is positive definite (smallest eigenvalue)",
		Ours: once(r.Program.SVM), Remark: "Only in θ: the slacks have no curvature."}, above(1e-9).or(PaperError))
	add(Claim{Place: "supplement, Support Vector Machine", Text: "Derivatives: labels {0, 1} (largest change of θ when every example labelled 0 is replaced)",
		Ours: once(r.Labels.ZeroMoves), Remark: "At y = 0 the hinge loss is constant: ±1 is meant."}, above(1e-6).or(PaperError))
	add(Claim{Place: "Synthetic Classification Data", Text: "Rings: the best a linear rule can do is an error of one half (error of the best one, population)", Quoted: Printed.Rings.Linear,
		Ours: once(1 - r.Bayes.HalfPlane), Remark: fmt.Sprintf("With an intercept: beyond x1 = %.2f lie mostly points of the outer ring.", r.Bayes.Offset)}, asPrinted(Printed.Rings.Linear, .005).or(PaperError))
}
