package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// Results are what the claims are judged by. A nil Result leaves its
// measurements out.
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
	Limits          *DifferentiabilityLimits
	Learning        *Learning
	Ablation        *AblationResult
	Errata          *ErrataResult
	Timings         *Timings
}

// A Claim is a sentence of the paper with what is measured for it.
type Claim struct {
	Section  string // of the paper
	Sentence string // quoted
	Measured []Measurement
	Verdict  Verdict // on the sentence: it holds if every measurement that is no aside confirms it
}

// A Measurement is one number by which a claim is judged.
type Measurement struct {
	Text   string // what is measured
	Quoted Quoted // the number that the paper gives, and the one that its code prints
	// Ours is measured, with N = 1 and no margin where it is computed once; Mean is
	// NaN where nothing can be measured.
	Ours    Estimate
	Rule    string // how the verdict follows from Ours
	Verdict Verdict
	// Control is a case in which the sentence is false, measured in the same way:
	// a rule that confirms it is none. It is nil where the verdict itself shows
	// that the rule can fail.
	Control *Control
	Aside   bool   // it tells more than the sentence says, and does not decide
	Remark  string // what explains a difference; empty: nothing to explain
}

// A Control is a measurement of what a rule must not confirm.
type Control struct {
	Text    string
	Ours    Estimate
	Verdict Verdict
}

// measurements collects them by sentence.
type measurements [sentences][]Measurement

func (all *measurements) add(s sentence, m Measurement, r rule) {
	m.Rule, m.Verdict = r.text, r.judge(m.Ours)
	if m.Verdict == NotTestable {
		m.Rule, m.Control = "–", nil
	}
	if m.Control != nil {
		m.Control.Verdict = r.judge(m.Control.Ours)
	}
	all[s] = append(all[s], m)
}

// Claims judges the paper's sentences that the results bear on, in its order.
func Claims(r Results) []Claim {
	var all measurements
	measure(r.ElasticNet, all.elasticNet)
	measure(r.ElasticNetSeeds, all.elasticNetSeeds)
	measure(r.Rings, all.rings)
	measure(r.SampleSize, all.sampleSize)
	measure(r.XOR, all.xor)
	measure(r.Searches, all.searches)
	measure(r.Dimensions, all.dimensions)
	measure(r.Splits, all.splits)
	measure(r.Unrolled, all.unrolled)
	measure(r.Timings, all.timings)
	measure(r.Stability, all.stability)
	measure(r.Derivatives, all.derivatives)
	measure(r.Limits, all.limits)
	measure(r.Learning, all.learning)
	measure(r.Ablation, all.ablation)
	measure(r.Errata, all.errata)
	var claims []Claim
	for s, measured := range all {
		if len(measured) == 0 {
			continue
		}
		c := Claim{Section: quotations[s].section, Sentence: quotations[s].text, Measured: measured}
		var verdicts []Verdict
		for _, m := range measured {
			if !m.Aside {
				verdicts = append(verdicts, m.Verdict)
			}
		}
		c.Verdict = conjunction(verdicts)
		claims = append(claims, c)
	}
	return claims
}

func measure[R any](r *R, by func(*R)) {
	if r != nil {
		by(r)
	}
}

func (all *measurements) elasticNet(r *ElasticNetResult) {
	start, ols := r.CVGM.TestLoss[0], r.LeastSquares
	all.add(saysTable, Measurement{Text: "test loss of CVGM", Quoted: Printed.CVGM, Ours: once(r.CVGM.Final()),
		Control: &Control{Text: "CVGM's start", Ours: once(start)},
		Remark:  "The paper's number comes from another run of the code than the steps it prints, which end where the replay does."}, asPrinted(Printed.CVGM))
	for _, m := range []struct {
		search ElasticNetSearch
		quoted Quoted
	}{{r.Exhaustive, Printed.Exhaustive}, {r.Random, Printed.Random}} {
		all.add(saysTable, Measurement{Text: "test loss of " + strings.ToLower(m.search.Name), Quoted: m.quoted, Ours: once(m.search.Final()),
			Control: &Control{Text: "least squares", Ours: once(ols)}}, asPrinted(m.quoted))
	}
	all.add(saysTable, Measurement{Text: "CVGM's steps", Quoted: Printed.CVGMSteps, Ours: once(float64(len(r.CVGM.TestLoss))),
		Remark: "The code counts them from 1 up to, and without, 100."}, exactly(number64(Printed.CVGMSteps.Paper)))
	printed := number64(Printed.CVGM.Paper)
	all.add(saysTestLoss, Measurement{Text: fmt.Sprintf("distance of %s from the test loss here, in standard deviations between test sets of %d", Printed.CVGM.Paper, r.Params.Samples-r.Params.Train),
		Quoted: Printed.CVGM, Ours: once((printed - r.CVGM.Final()) / r.TestSD),
		Control: &Control{Text: "least squares in the place of CVGM", Ours: once((printed - ols) / r.TestSD)}}, ofAllSets)
	others := min(r.Exhaustive.Final(), r.Random.Final())
	all.add(saysTestLoss, Measurement{Text: "test loss of CVGM less the lower of the other two methods', published data", Ours: once(r.CVGM.Final() - others),
		Control: &Control{Text: "CVGM's start less that", Ours: once(start - others)}}, below(0))
	falls := func(loss []float64) Estimate {
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
	all.add(saysTestLoss, Measurement{Text: "share of CVGM's steps with which the test loss falls", Ours: falls(r.CVGM.TestLoss),
		Control: &Control{Text: "the same steps in the opposite order", Ours: falls(back)},
		Remark:  "It falls while the search is stopped early; run on, it rises again."}, above(.5))
	all.add(saysUnion, Measurement{Text: "numbers in 𝒯ⱼ ∪ 𝒱ⱼ; n is that of the features", Ours: once(float64(r.Params.Train)),
		Remark: "The examples are numbered from 1 to N: [N] is meant."}, exactly(float64(r.Params.Features)).or(PaperError))
}

func (all *measurements) elasticNetSeeds(r *ElasticNetSeeds) {
	at := func(method int) ElasticNetMethod { return r.Methods[method] }
	cvgm, exhaustive, start, ols := at(ElasticNetCVGM), at(ElasticNetExhaustive), at(ElasticNetStart), at(ElasticNetLeastSquares)
	for _, k := range []int{ElasticNetExhaustive, ElasticNetRandom} {
		rival := at(k)
		name := strings.ToLower(rival.Name)
		all.add(saysTestLoss, Measurement{Text: "test loss of CVGM less that of " + name + ", fresh data", Ours: rival.CVGMMinusTest.Difference,
			Control: &Control{Text: "least squares less " + name, Ours: compare(ols.Test, rival.Test).Difference},
			Remark:  "Table 1 shows one favourable data set."}, below(0))
		all.add(saysCompetitive, Measurement{Text: "test loss of " + name + " less CVGM's, fresh data", Ours: rival.CVGMMinusTest.Difference.minus(),
			Control: &Control{Text: "CVGM's start less CVGM", Ours: start.CVGMMinusTest.Difference.minus()}},
			littleOf(ols.CVGMMinusTest.Difference.minus(), "least squares"))
	}
	reachable := compare(start.CV, exhaustive.CV).Difference
	all.add(saysOtherMethods, Measurement{Text: "CV loss of the constant step size less that of exhaustive search, fresh data", Ours: exhaustive.CVGMMinusCV.Difference,
		Control: &Control{Text: "CVGM's start less exhaustive search", Ours: reachable},
		Remark:  fmt.Sprintf("Mean CV losses: start %s, CVGM %s, exhaustive search %s.", short(start.CVMean.Mean), short(cvgm.CVMean.Mean), short(exhaustive.CVMean.Mean))},
		littleOf(reachable, "the start"))
}

func (all *measurements) rings(r *RingsResult) {
	p, run := Printed.Rings, r.Run(Published)
	all.add(saysFewExamples, Measurement{Text: "hyperparameters of the network", Quoted: p.Hyperparameters, Ours: once(float64(r.Params.NumHyperparameters())),
		Control: &Control{Text: "a network with one unit more", Ours: once(float64(oneUnitMore(r.Params.LearnedKernel).NumHyperparameters()))}},
		exactly(number64(p.Hyperparameters.Paper)))
	all.add(saysBayesRings, Measurement{Text: "test accuracy after 100 steps", Quoted: p.Accuracy, Ours: once(run.FinalAccuracy()),
		Control: &Control{Text: "before the first step", Ours: once(run.Accuracy[0])},
		Remark:  "The output saved with the code is the same as here."}, withinOne(p.Accuracy, r.Params.Test))
	all.add(saysBayesRings, Measurement{Text: "accuracy of the Bayes rule, population", Quoted: p.Bayes, Ours: once(r.Bayes.Population),
		Control: &Control{Text: "CVGM before its first step", Ours: once(run.Accuracy[0])}}, asPrinted(p.Bayes))
	all.add(saysBayesRings, Measurement{Text: "accuracy of CVGM less the Bayes rule's, on the same test set", Ours: once(run.FinalAccuracy() - r.Bayes.Test), Aside: true,
		Remark: "The caption sets an accuracy on the test set beside one over the population: CVGM does not beat the Bayes rule."}, above(0))
	reached := "It is never reached."
	if step := slices.IndexFunc(run.Accuracy, func(a float64) bool { return a >= number64(p.Accuracy10.Paper) }); step >= 0 {
		reached = fmt.Sprintf("It is reached at step %d.", step)
	}
	all.add(saysAfterTen, Measurement{Text: "test accuracy after 11 steps", Quoted: p.Accuracy10, Ours: once(atStep(run.Accuracy, 11)), Remark: reached}, asPrinted(p.Accuracy10))
	n := r.Params.Test
	bayes := r.Bayes.Population
	deviations := func(accuracy float64) Estimate {
		return once((accuracy - bayes) / math.Sqrt(bayes*(1-bayes)/float64(n)))
	}
	printed := number64(p.BayesOnTest.Paper)
	all.add(saysAfterTen, Measurement{Text: fmt.Sprintf("distance of %s from the Bayes rule's accuracy in the population, in standard deviations between test sets of %d", p.BayesOnTest.Paper, n),
		Quoted: p.BayesOnTest, Ours: deviations(printed),
		Control: &Control{Text: "a coin's .5", Ours: deviations(.5)},
		Remark:  fmt.Sprintf("On the published test set it is %s, %s standard deviations away.", short(r.Bayes.Test), short(deviations(r.Bayes.Test).Mean))},
		ofAllSets)
	all.add(saysChainRule, Measurement{Text: "cosine between what the published code descends and the gradient, at the start", Ours: once(run.Cosine[0]),
		Remark: "The Jacobian lacks the derivative of π, and the code holds the validation features constant."}, above(.999).or(PaperError))
}

// oneUnitMore returns the kernel with one unit more in its first hidden layer.
func oneUnitMore(k LearnedKernel) LearnedKernel {
	k.Hidden = slices.Clone(k.Hidden)
	k.Hidden[0]++
	return k
}

func (all *measurements) xor(r *XORResult) {
	p, run := Printed.XOR, r.Run(Published)
	all.add(saysXORParameters, Measurement{Text: "hyperparameters of the network", Quoted: p.Hyperparameters, Ours: once(float64(r.Params.NumHyperparameters())),
		Control: &Control{Text: "a network with one unit more", Ours: once(float64(oneUnitMore(r.Params.LearnedKernel).NumHyperparameters()))}},
		exactly(number64(p.Hyperparameters.Paper)))
	all.add(saysXOR, Measurement{Text: "test accuracy after 50 steps", Quoted: p.Accuracy, Ours: once(run.FinalAccuracy()),
		Control: &Control{Text: "before the first step", Ours: once(run.Accuracy[0])}}, asPrinted(p.Accuracy))
	all.add(saysXOR, Measurement{Text: "accuracy of the Bayes rule, population", Quoted: p.Bayes, Ours: once(r.Bayes.Population),
		Remark: "The code compares predictions in {0, 1} with labels in {−1, 1}, so that one class always counts as right. CVGM's .72 is close to the best there is."},
		asPrinted(p.Bayes).or(PaperError))
}

// leads are the differences of two methods' accuracies, by size and seed.
func (r *SampleSizeResult) leads(method, rival int) [][]float64 {
	leads := make([][]float64, len(r.Sizes))
	for i := range leads {
		for seed, a := range r.Methods[method].Accuracy[i] {
			leads[i] = append(leads[i], a-r.Methods[rival].Accuracy[i][seed])
		}
	}
	return leads
}

// perDoubling estimates the slope of values per doubling of the size. Each seed
// gives one: the cells of different sizes are independent.
func (r *SampleSizeResult) perDoubling(values [][]float64) Estimate {
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
	return estimate(slopes)
}

// smallLessLarge is the mean of values at sizes up to n, less that at larger ones.
func (r *SampleSizeResult) smallLessLarge(values [][]float64, n int) Estimate {
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
	return difference(estimate(small), estimate(large))
}

func (all *measurements) sampleSize(r *SampleSizeResult) {
	printed := Quoted{Paper: "25", Code: "10"}
	all.add(saysSeeds, Measurement{Text: "seeds in the published code", Quoted: printed, Ours: once(number64(printed.Code)),
		Remark: "The published code trains on sizes from 8 to 96. Here sizes and seeds are the text's."}, exactly(number64(printed.Paper)))
	if i := slices.Index(r.Sizes, 20); i >= 0 {
		logistic := r.Methods[SizeLogistic]
		all.add(saysFewExamples, Measurement{Text: "accuracy at N = 20 less that of logistic regression", Ours: logistic.Published.BySize[i],
			Control: &Control{Text: "logistic regression in CVGM's place", Ours: compare(logistic.Accuracy[i], logistic.Accuracy[i]).Difference}}, above(0))
	}
	for _, c := range []struct {
		method, rival int
		name          string
		aside         bool
	}{
		{SizeCVGMPublished, SizeNetworkPublished, "a two-layer network, as the published code trains it", false},
		{SizeCVGMPublished, SizeNetworkText, "a two-layer network, as the text trains it", false},
		{SizeCVGMPublished, SizeLogistic, "logistic regression", false},
		{SizeCVGMPublished, SizeAdam, "a network trained by Adam", true},
		{SizeCVGMFull, SizeAdam, "a network trained by Adam, exact gradient", true},
	} {
		leads := r.leads(c.method, c.rival)
		comparison := r.Methods[c.rival].Published
		if c.method == SizeCVGMFull {
			comparison = r.Methods[c.rival].Full
		}
		logistic := r.leads(SizeLogistic, c.rival)
		all.add(saysOutperforms, Measurement{Text: "accuracy of CVGM less that of " + c.name, Ours: comparison.All.Difference, Aside: c.aside,
			Control: &Control{Text: "logistic regression in CVGM's place", Ours: estimate(slices.Concat(logistic...))}}, above(0))
		back := slices.Clone(leads)
		slices.Reverse(back)
		m := Measurement{Text: "change of the lead over " + c.name + " per doubling of N", Ours: r.perDoubling(leads), Aside: c.aside,
			Control: &Control{Text: "sizes in the opposite order", Ours: r.perDoubling(back)}}
		var lead []string
		for _, n := range []int{20, 28, 40, 60, 100} {
			if d := r.smallLessLarge(leads, n); !math.IsNaN(d.Mean) {
				lead = append(lead, fmt.Sprintf("%+.2f ± %.2f (N ≤ %d)", 100*d.Mean, 100*d.Margin, n))
			}
		}
		m.Remark = "Lead at small N less that at larger N, in points: " + strings.Join(lead, ", ") + "."
		all.add(saysOutperforms, m, below(0))
	}
}

// excess returns the excess of the CV loss over the minimum that a method has
// reached on each data set after so many evaluations.
func (r *SearchesResult) excess(name string, evaluations int) []float64 {
	m := r.Methods[slices.IndexFunc(r.Methods, func(m SearchMethod) bool { return m.Name == name })]
	v := make([]float64, len(m.Excess))
	for i, e := range m.Excess {
		v[i] = atStep(e, evaluations-1)
	}
	return v
}

// lowerShare estimates the share of data sets on which a is below b; a tie counts half.
func lowerShare(a, b []float64) Estimate {
	wins := make([]float64, len(a))
	for i := range a {
		wins[i] = compare(a[i:i+1], b[i:i+1]).Wins
	}
	return estimate(wins)
}

// quasiNewtonBelowGrid is the share of data sets on which a quasi-Newton search is
// below exhaustive search, after so many evaluations of each.
func (r *SearchesResult) quasiNewtonBelowGrid() (share Estimate, within, budget int) {
	within, budget = 24, r.Params.Budget
	return lowerShare(r.excess(SearchQuasiNewton, within), r.excess("exhaustive", budget)), within, budget
}

func (all *measurements) searches(r *SearchesResult) {
	excess, lower := r.excess, lowerShare
	less := func(a, b []float64) Estimate { return compare(a, b).Difference }
	share, within, budget := r.quasiNewtonBelowGrid()
	paper, grid, random, bayesian := excess(SearchPaperStep, budget), excess("exhaustive", budget), excess("random", budget), excess("Bayesian", budget)
	start := excess(SearchPaperStep, 1)
	all.add(saysMuchFaster, Measurement{Text: fmt.Sprintf("share of data sets on which a quasi-Newton search after %d evaluations is below exhaustive search after %d", within, budget),
		Ours:    share,
		Control: &Control{Text: fmt.Sprintf("random search after %d", within), Ours: lower(excess("random", within), grid)},
		Remark:  fmt.Sprintf("The mean difference of the CV losses is %s ± %s.", short(less(excess(SearchQuasiNewton, within), grid).Mean), short(less(excess(SearchQuasiNewton, within), grid).Margin))}, above(.5))
	all.add(saysMuchFaster, Measurement{Text: fmt.Sprintf("the same of the paper's constant step size after %d", budget), Aside: true, Ours: lower(paper, grid),
		Remark: "The gradient helps a method that uses it well."}, above(.5))
	for _, name := range []string{"Nesterov", "Adam", SearchQuasiNewton} {
		all.add(saysOtherMethods, Measurement{Text: fmt.Sprintf("CV loss of %s less that of the constant step size, after %d evaluations", name, budget),
			Ours:    less(excess(name, budget), paper),
			Aside:   name == SearchQuasiNewton,
			Control: &Control{Text: "the constant step size in its place", Ours: less(paper, paper)}}, below(0))
	}
	all.add(saysFierceCompetitor, Measurement{Text: fmt.Sprintf("CV loss of random search less that of a Bayesian one, after %d evaluations", budget), Ours: less(random, bayesian),
		Control: &Control{Text: "the start less the Bayesian search", Ours: less(start, bayesian)},
		Remark:  fmt.Sprintf("The medians of the excess over the minimum are %s and %s.", short(median(random)), short(median(bayesian)))},
		littleOf(less(start, bayesian), "the start"))
	several := make([]float64, len(r.LocalMinima))
	for i, n := range r.LocalMinima {
		if n > 1 {
			several[i] = 1
		}
	}
	all.add(saysSeveralStarts, Measurement{Text: "share of the elastic net's data sets on which the CV loss has several local minima", Ours: estimate(several),
		Control: &Control{Text: "a loss with one minimum", Ours: once(0)}}, above(0))
}

func (all *measurements) dimensions(r *SearchDimensionsResult) {
	at := func(d SearchDimension, name string) SearchDimensionMethod {
		return d.Methods[slices.IndexFunc(d.Methods, func(m SearchDimensionMethod) bool { return m.Name == name })]
	}
	if len(r.Dimensions) == 0 {
		return
	}
	most := slices.MaxFunc(r.Dimensions, func(a, b SearchDimension) int { return cmp.Compare(a.Hyperparameters, b.Hyperparameters) })
	gradient, random := at(most, SearchQuasiNewton), at(most, "random")
	all.add(saysEfficient, Measurement{Text: fmt.Sprintf("CV loss of a quasi-Newton search less that of random search, %d hyperparameters, same budget", most.Hyperparameters),
		Ours:    compare(gradient.CV, random.CV).Difference,
		Control: &Control{Text: "random search in its place", Ours: compare(random.CV, random.CV).Difference}}, below(0))
	var low, high *SearchDimension // with a grid
	for i := range r.Dimensions {
		d := &r.Dimensions[i]
		if len(at(*d, "exhaustive").CV) == 0 {
			continue
		}
		if low == nil || d.Hyperparameters < low.Hyperparameters {
			low = d
		}
		if high == nil || d.Hyperparameters > high.Hyperparameters {
			high = d
		}
	}
	if low == nil || low == high {
		return
	}
	grid, random := at(*high, "exhaustive"), at(*high, "random")
	rises := func(name string) Estimate { return difference(at(*high, name).Excess, at(*low, name).Excess) }
	all.add(saysProhibitive, Measurement{Text: fmt.Sprintf("CV loss of exhaustive search above the lowest known, with %d hyperparameters less with %d, same budget", high.Hyperparameters, low.Hyperparameters),
		Ours:    rises("exhaustive"),
		Control: &Control{Text: "a quasi-Newton search in its place", Ours: rises(SearchQuasiNewton)},
		Remark:  fmt.Sprintf("With %d the budget is enough for a grid of %d values of each.", high.Hyperparameters, grid.PerAxis)}, above(0))
	all.add(saysRandomBeatsGrid, Measurement{Text: fmt.Sprintf("CV loss of random search less that of exhaustive search, %d hyperparameters, same budget", high.Hyperparameters),
		Ours:    compare(random.CV, grid.CV).Difference,
		Control: &Control{Text: "exhaustive search in its place", Ours: compare(grid.CV, grid.CV).Difference}}, below(0))
}

func (all *measurements) splits(r *SplitsResult) {
	byK := func(k int) SplitsSetting {
		return closest(r.ByK, func(s SplitsSetting) float64 { return math.Abs(float64(s.K - k)) })
	}
	byP := func(p float64) SplitsSetting {
		return closest(r.ByP, func(s SplitsSetting) float64 { return math.Abs(s.P - p) })
	}
	many := byK(120)
	all.add(saysBalanced, Measurement{Text: fmt.Sprintf("standard deviation of the gradient with balanced splits over that with uniform ones, K = %d", many.K),
		Ours:    many.GradientShare,
		Control: &Control{Text: "uniform splits in their place", Ours: once(1)},
		Remark:  "The second 𝒱ⱼ is meant to be 𝒯ⱼ."}, below(1))
	all.add(saysBalanced, Measurement{Text: "test loss of the tuned model with balanced splits less that with uniform ones", Ours: many.BalancedMinusUniform.Difference, Aside: true}, below(0))
	first, last := r.ByK[0], r.ByK[len(r.ByK)-1]
	rises := func(from, to SplitsSetting) Estimate {
		return difference(to.Uniform.GradientSD, from.Uniform.GradientSD)
	}
	all.add(saysLargerK, Measurement{Text: fmt.Sprintf("standard deviation of the gradient at K = %d less that at K = %d", last.K, first.K), Ours: rises(first, last),
		Control: &Control{Text: "from the larger K to the smaller one", Ours: rises(last, first)}}, below(0))
	few := byK(15)
	all.add(saysKAndP, Measurement{Text: fmt.Sprintf("test loss at K = %d less that at K = %d, elastic net", few.K, last.K), Ours: few.MinusLast.Difference,
		Control: &Control{Text: fmt.Sprintf("K = %d", first.K), Ours: first.MinusLast.Difference}}, littleOf(first.MinusLast.Difference, fmt.Sprintf("K = %d", first.K)))
	rings, one := closest(r.RingsByK, func(s SplitsSetting) float64 { return math.Abs(float64(s.K - few.K)) }), r.RingsByK[0]
	all.add(saysKAndP, Measurement{Text: fmt.Sprintf("test error at K = %d less that at K = %d, rings", rings.K, r.RingsByK[len(r.RingsByK)-1].K), Ours: rings.MinusLast.Difference,
		Control: &Control{Text: fmt.Sprintf("K = %d", one.K), Ours: one.MinusLast.Difference}}, littleOf(one.MinusLast.Difference, fmt.Sprintf("K = %d", one.K)))
	half, least := byP(.65), r.ByP[0]
	all.add(saysKAndP, Measurement{Text: fmt.Sprintf("test loss at p = %g less that at p = %g, elastic net", half.P, r.ByP[len(r.ByP)-1].P), Ours: half.MinusLast.Difference,
		Control: &Control{Text: fmt.Sprintf("p = %g", least.P), Ours: least.MinusLast.Difference}}, littleOf(least.MinusLast.Difference, fmt.Sprintf("p = %g", least.P)))
}

// closest returns the setting of least distance.
func closest(settings []SplitsSetting, distance func(SplitsSetting) float64) SplitsSetting {
	return slices.MinFunc(settings, func(a, b SplitsSetting) int { return cmp.Compare(distance(a), distance(b)) })
}

func (all *measurements) unrolled(r *UnrolledResult) {
	byRate := func(a, b UnrolledRun) int { return cmp.Compare(a.Rate, b.Rate) }
	last := func(u UnrolledRun) Estimate { return once(fromEnd(u.Error(), 1)) }
	fast, slow := slices.MaxFunc(r.ByRate, byRate), slices.MinFunc(r.ByRate, byRate)
	good := slices.MinFunc(r.ByRate, func(a, b UnrolledRun) int { return cmp.Compare(math.Abs(a.Rate-1), math.Abs(b.Rate-1)) })
	all.add(saysFinitePrecision, Measurement{Text: fmt.Sprintf("relative error of the unrolled gradient after the last step, ηL = %g", good.Rate), Ours: last(good),
		Remark: "There the descent has converged, and what is left is rounding."}, above(1e-8))
	all.add(saysExploding, Measurement{Text: fmt.Sprintf("relative error of the unrolled gradient after the last step, ηL = %g", fast.Rate), Ours: last(fast),
		Control: &Control{Text: fmt.Sprintf("ηL = %g", good.Rate), Ours: last(good)},
		Remark:  "There the descent itself diverges. At a rate at which it converges the derivative does, too."}, above(1))
	share := func(u UnrolledRun) Estimate { return once(math.Abs(fromEnd(u.Gradient, 1) / u.Exact)) }
	all.add(saysExploding, Measurement{Text: fmt.Sprintf("unrolled gradient after the last step as a share of the exact one, ηL = %g", slow.Rate), Ours: share(slow),
		Control: &Control{Text: fmt.Sprintf("ηL = %g", good.Rate), Ours: share(good)}}, below(.5))
}

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

func (all *measurements) stability(r *StabilityResult) {
	settings := r.Settings()
	share := func(holds func(StabilityParts) bool) Estimate {
		n := 0
		for _, s := range settings {
			if holds(s) {
				n++
			}
		}
		return once(float64(n) / float64(len(settings)))
	}
	all.add(saysStabilityTheorem, Measurement{Text: fmt.Sprintf("share of %d settings whose interval of the difference of both sides contains 0", len(settings)), Ours: share(StabilityParts.Holds),
		Control: &Control{Text: "0 in the place of Δ", Ours: share(func(s StabilityParts) bool { return math.Abs(s.Gap.Mean) <= s.Gap.Margin })},
		Remark:  "In expectation, for symmetric algorithms at fixed hyperparameters."}, above(.9))
	first, last := r.Path[0], r.Path[len(r.Path)-1]
	all.add(saysStability, Measurement{Text: "change of Δ along CVGM's path, published data", Ours: difference(last.Delta, first.Delta),
		Control: &Control{Text: "the path in the opposite direction", Ours: difference(first.Delta, last.Delta)}}, below(0))
	all.add(saysStability, Measurement{Text: "change of the training loss E[R_emp] along that path", Ours: difference(last.Training, first.Training),
		Remark: "CVGM descends the sum Δ + E[R_emp], as the sentences before say: E[R_emp] rises while Δ falls."},
		littleOf(difference(first.Delta, last.Delta), "Δ"))
	heavy := slices.MaxFunc(r.Starts, func(a, b StabilityStart) int {
		return cmp.Compare(a.Start.Hyper[0]+a.Start.Hyper[1], b.Start.Hyper[0]+b.Start.Hyper[1])
	})
	all.add(saysStability, Measurement{Text: fmt.Sprintf("change of Δ along CVGM's path from large penalties, λ1 = %g, λ2 = %g", heavy.Start.Hyper[0], heavy.Start.Hyper[1]), Ours: heavy.DeltaChange,
		Control: &Control{Text: "the path in the opposite direction", Ours: heavy.DeltaChange.minus()},
		Remark:  "From over-regularised starts CVGM raises Δ: it goes where the CV loss is lower."}, below(0))
	at := r.Learners[0]
	all.add(saysCancel, Measurement{Text: fmt.Sprintf("what the display exceeds E[R] by, %s, %s = %g", at.Name, at.Hyper, at.At[0]), Ours: at.Parts[0].Delta,
		Remark: "They cancel if the third is l(A(Sⁱ), z_i′)."}, exactly(0).or(PaperError))
}

// worst returns the largest relative distance of the derivatives in an input, or in
// all for "", from the best finite difference; the least one from that in the next
// input; and how many derivatives these are.
func (r *DerivativeChecks) worst(input string) (worst, mixed Estimate, n int) {
	worst, mixed = once(0), once(math.Inf(1))
	for i, c := range r.Checks {
		if input != "" && c.Input != input {
			continue
		}
		n++
		k, e := c.Best()
		worst.Mean = math.Max(worst.Mean, e)
		other := r.Checks[(i+1)%len(r.Checks)]
		mixed.Mean = math.Min(mixed.Mean, c.relative(other.Difference[k]))
	}
	return worst, mixed, n
}

func (all *measurements) derivatives(r *DerivativeChecks) {
	apart := 0.
	for _, c := range r.Checks {
		if !math.IsNaN(c.JVP) {
			apart = math.Max(apart, c.Apart())
		}
	}
	for _, what := range []struct{ input, name string }{{"", "all"}, {"X", "in the training data"}} {
		e, mixed, n := r.worst(what.input)
		m := Measurement{Text: fmt.Sprintf("largest relative distance from the best finite difference, %d derivatives (%s)", n, what.name), Ours: e,
			Control: &Control{Text: "from the difference in the next input, the least", Ours: mixed}}
		if what.input == "" {
			m.Remark = fmt.Sprintf("That is the rounding error of the difference. From the cotangent's and from the direction's side the derivatives agree to %.0e.", apart)
		}
		all.add(saysDifferentiable, m, below(1e-8))
	}
	all.add(saysFirstDerivation, Measurement{Text: "who was first", Ours: once(math.NaN()),
		Remark: "Doubtful: LARS-EN, in the article that the paper cites for the elastic net, follows the solution along λ₁ for a fixed λ₂ by its derivative."}, above(0))
}

func (all *measurements) limits(r *DifferentiabilityLimits) {
	// flat is the share of neighbours in C between which a loss does not change.
	flat := func(v []float64) Estimate {
		n := 0
		for i := 1; i < len(v); i++ {
			if v[i] == v[i-1] {
				n++
			}
		}
		return once(float64(n) / float64(len(v)-1))
	}
	all.add(saysNotContinuous, Measurement{Text: fmt.Sprintf("share of neighbours among %d values of C between which the 0–1 loss stays as it is; it jumps %d times", len(r.Loss.C), r.Loss.Jumps), Ours: flat(r.Loss.ZeroOne),
		Control: &Control{Text: "the logistic loss", Ours: flat(r.Loss.Logistic)}}, above(.5))
}

func (all *measurements) learning(r *Learning) {
	single := slices.DeleteFunc(slices.Clone(r.Loss.Methods), func(m LossMethod) bool { return strings.HasPrefix(m.Name, "learned") })
	byTest := func(a, b LossMethod) int { return cmp.Compare(a.Test.Mean, b.Test.Mean) }
	best, worst := slices.MinFunc(single, byTest), slices.MaxFunc(single, byTest)
	loses := difference(worst.Test, best.Test)
	all.add(saysConvexCombination, Measurement{Text: fmt.Sprintf("test loss of the learned combination less that of the best single loss, %s", best.Name), Ours: best.LearnedMinusTest.Difference,
		Control: &Control{Text: fmt.Sprintf("the worst single loss, %s, in its place", worst.Name), Ours: loses}}, littleOf(loses, worst.Name))
}

func (all *measurements) ablation(r *AblationResult) {
	for k, c := range r.Rings {
		budgets := r.Params.Rings.Budgets
		all.add(saysFeatures, Measurement{Text: fmt.Sprintf("test error of the network that descends the CV loss, of %d splits, less that of one that descends the training loss, rings of all sizes, %d steps", r.Params.Rings.Ks[k/len(budgets)], budgets[k%len(budgets)]),
			Ours:    c.Difference,
			Control: &Control{Text: "the opposite difference", Ours: c.Difference.minus()},
			Remark:  "All else is equal: network, start, step size, last layer."}, below(0))
	}
	for _, row := range r.Rows {
		if row.Problem != ablationRings {
			all.add(saysFeatures, Measurement{Text: fmt.Sprintf("the same difference of the test losses, %s, %d splits, budget %d", row.Problem, row.K, row.Budget), Ours: row.CVLessTraining.Difference, Aside: true,
				Control: &Control{Text: "the opposite difference", Ours: row.CVLessTraining.Difference.minus()}}, below(0))
		}
	}
}

func (all *measurements) errata(r *ErrataResult) {
	jump := func(left, right float64) Estimate { return once(math.Abs(left - right)) }
	smooth := equals(0, 1e-6).or(PaperError)
	all.add(saysRange, Measurement{Text: "jump of the slope of min ½(x−a)², x ≤ 0, at a = 0, where all of that holds", Ours: jump(r.Range.Left, r.Range.Right),
		Remark: "Strict complementarity is needed as well. The derivative of s is in all of z, and so the range is that of ∇_z g; the printed ∇_x g contains ∇_α g at this point, too."}, smooth)
	all.add(saysLogisticJacobian, Measurement{Text: "relative distance of the printed Jacobian from central differences", Ours: once(r.Jacobian.PrintedError),
		Remark: fmt.Sprintf("It lacks the term Cπ(1−π)xθᵀ, with which the distance is %.0e.", r.Jacobian.CompleteError)}, below(1e-6).or(PaperError))
	all.add(saysElasticNetDifferentiable, Measurement{Text: "jump of the elastic net's slope at such a point", Ours: jump(r.ElasticNet.Left, r.ElasticNet.Right),
		Remark: "There is no derivative where a coefficient is weakly active."}, smooth)
	all.add(saysSVMDifferentiable, Measurement{Text: "jump of the support vector machine's slope at such a point", Ours: jump(r.SVM.Left, r.SVM.Right),
		Remark: "There is no derivative where a row or a coefficient is weakly active."}, smooth)
	all.add(saysSVMDifferentiable, Measurement{Text: "smallest eigenvalue of its quadratic program, which is to be positive definite", Ours: once(r.Program.SVM),
		Remark: "The slacks have no curvature, and neither has θₚ + θₙ: at λ₁ = 0 the two are not unique."}, above(1e-9).or(PaperError))
	all.add(saysSVMLabels, Measurement{Text: "largest change of θ when every example labelled 0 is replaced", Ours: once(r.Labels.ZeroMoves),
		Remark: "At y = 0 the hinge loss is constant: ±1 is meant."}, above(1e-6).or(PaperError))
	all.add(saysLinear, Measurement{Text: "error of the best linear rule on the rings, population", Quoted: Printed.Rings.Linear, Ours: once(1 - r.Bayes.HalfPlane),
		Remark: fmt.Sprintf("With an intercept: beyond x₁ = %.2f lie mostly points of the outer ring.", r.Bayes.Offset)}, equals(number64(Printed.Rings.Linear.Paper), .005).or(PaperError))
}
