package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
)

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

func (all *measurements) ablation(r *AblationResult) {
	for k, c := range r.Rings {
		budgets := r.Params.Rings.Budgets
		splits, steps := r.Params.Rings.Ks[k/len(budgets)], budgets[k%len(budgets)]
		var start []Estimate // less the descent of the training loss, by size
		for _, row := range r.Rows {
			if row.Problem == ablationRings && row.K == splits && row.Budget == steps {
				start = append(start, row.TrainingLessStart.Difference.minus())
			}
		}
		all.add(saysFeatures, Measurement{Text: fmt.Sprintf("test error of the network that descends the CV loss, of %d splits, less that of one that descends the training loss, rings of all sizes, %d steps", splits, steps),
			Ours:    c.Difference,
			Control: &Control{Text: "the start in the place of the descent of the CV loss", Ours: meanOf(start)},
			Remark:  "All else is equal: network, start, step size, last layer."}, below(0))
	}
	for _, row := range r.Rows {
		if row.Problem == ablationRings {
			continue
		}
		control := &Control{Text: "the descent of the training loss in its place", Ours: Estimate{0, 0, row.CVLessTraining.Difference.N}}
		if row.Problem == ablationXOR {
			control = &Control{Text: "the start in its place", Ours: row.TrainingLessStart.Difference.minus()}
		}
		all.add(saysFeatures, Measurement{Text: fmt.Sprintf("the same difference of the test losses, %s, %d splits, budget %d", row.Problem, row.K, row.Budget), Ours: row.CVLessTraining.Difference, Aside: true,
			Control: control}, below(0))
	}
}
