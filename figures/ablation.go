package figures

import (
	"fmt"
	"image/color"
	"math"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *samplesize.AblationResult) []Output {
		return []Output{AblationTable(r), AblationBySize(r)}
	})
}

// AblationTable compares three methods on each problem: a descent of the CV loss, a descent of the
// training loss, and random search.
func AblationTable(r *samplesize.AblationResult) *Table {
	t := &Table{
		Name: "ablation", Caption: fmt.Sprintf("Test risk after a descent of the CV loss, after one of the training loss, and at the lowest CV loss of a random search, over %d data sets of each kernel and size, and %d of each problem with two hyperparameters", r.Params.Seeds, r.Params.PairSeeds),
		Header: []string{"Problem", "N", "Splits", "Steps", "Start", "Training loss", "CV loss", "CV minus training", "CV is better", "CV loss helps", "CV minus start", "Training minus start", "Random search", "CV minus random"},
		Brief:  []string{"Problem", "N", "Splits", "Steps", "CV minus training", "CV loss helps", "CV minus start", "Training minus start", "CV minus random"},
		Note: "The two descents have the same data, learner, searcher, start and number of steps. The random search has the CV loss and the same number of evaluations, and no gradient. Risks are error rates on the test examples, for the elastic net mean squared errors. " +
			"Means with 95 % confidence intervals, paired differences; in the share “CV is better” of the CSV file a tie counts half. The column “CV loss helps” judges “CV minus training” by its sign and against the smallest difference that matters, as the claims do; no interval is widened for the number of rows. For a kernel, Steps counts steps; for penalties and widths it counts evaluations.",
	}
	for _, row := range r.Rows {
		var random, lessRandom any
		if row.Random.N > 0 {
			random, lessRandom = chart.Estimated(row.Random, 4), chart.Estimated(row.CVLessRandom.Difference, 4)
		}
		t.Rows = append(t.Rows, []any{row.Problem, row.Train, row.K, row.Budget, chart.Estimated(row.Start, 4), chart.Estimated(row.Training, 4), chart.Estimated(row.CV, 4),
			chart.Estimated(row.CVLessTraining.Difference, 4), fmt.Sprintf("%.0f %%", 100*row.CVLessTraining.Wins), string(claims.HelpOf(row)),
			chart.Estimated(row.CVLessStart.Difference, 4), chart.Estimated(row.TrainingLessStart.Difference, 4), random, lessRandom})
	}
	return t
}

// AblationBySize compares two descents on the rings, as a function of the number of training
// examples. It shows the error rate after the descent of the CV loss, minus the error rate after
// the descent of the training loss. Each panel has another number of steps, and each kind of mark
// another number of splits. The marks at the right end are means over all sizes.
func AblationBySize(r *samplesize.AblationResult) *Figure {
	p := r.Params.Rings
	f := &Figure{
		Name: "ablation_rings", Width: 11 * vg.Inch, Height: 3.9 * vg.Inch, Legend: LegendBelow, SameAxes: true, Panels: [][]*Panel{nil},
		Heads: []string{"CV minus training, points\n← CV loss better     worse →"},
		Caption: fmt.Sprintf("Rings, learned kernel: test error after a descent of the CV loss minus test error after a descent of the training loss, in percentage points. "+
			"Means over %d data sets, with 95 %% intervals.", r.Params.Seeds),
	}
	sizes := Log10s(chart.Floats(p.Sizes))
	low, high := chart.Nth(sizes, 0), chart.Nth(sizes, len(sizes)-1)
	span := max(high-low, .5)
	apart := span / 45 // half the distance between two marks of one size
	beside := .4 * span
	all := high + beside // the place of the means over all sizes
	for b, budget := range p.Budgets {
		name := fmt.Sprintf("%d steps", budget)
		panel := NewPanel(name, name, "training examples", "").LabelX(sizes).Beside(low, high, plot.Tick{Value: all, Label: "all sizes"}).Grid()
		markTooSmall(panel)
		panel.VLine("right of it: all sizes", high+beside/2, Style{Color: chart.Pale, Width: .8, Unlisted: true})
		for i, k := range p.Ks {
			var x []float64
			var differences []experiment.Estimate
			for _, row := range r.Rows[:len(p.Ks)*len(p.Sizes)*len(p.Budgets)] {
				if row.K == k && row.Budget == budget {
					x, differences = append(x, math.Log10(float64(row.Train))), append(differences, row.CVLessTraining.Difference)
				}
			}
			x, differences = append(x, all), append(differences, chart.Nth(r.Rings, i*len(p.Budgets)+b).Difference)
			mean, from, to := meansAndEnds(chart.Mapped(differences, func(e experiment.Estimate) experiment.Estimate { return e.Times(100) }))
			dodge := float64(2*i-len(p.Ks)+1) * apart
			panel.Marked(fmt.Sprintf("%d splits", k), chart.Mapped(x, func(v float64) float64 { return v + dodge }), mean, from, to,
				Style{Color: chart.PaletteColor(len(p.Ks) - 1 - i), Glyph: myGlyphs[len(myGlyphs)-1-(len(p.Ks)-1-i)%len(myGlyphs)], GlyphRadius: 3})
		}
		f.Panels[0] = append(f.Panels[0], panel)
	}
	return f
}

// markTooSmall draws the background of a panel of differences of accuracies or error rates in
// percentage points: a line at no difference, on a band of the differences that are too small to
// matter.
func markTooSmall(p *Panel) {
	const points = 100 * claims.AccuracyMatters
	p.HBand("too small to matter", -points, points, color.NRGBA{222, 222, 222, 255})
	p.HLine("no difference", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
}

// markNoDifference is markTooSmall for a panel whose intervals are bands, so that there is no band
// below these. It draws three reference lines: no difference, and the smallest difference that
// matters, upwards and downwards.
func markNoDifference(p *Panel) {
	const points = 100 * claims.AccuracyMatters
	small := Style{Color: Grey, Width: .8, Dash: []vg.Length{6, 3}}
	p.HLine("no difference", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
	p.HLine("smallest difference that matters", points, small)
	small.Unlisted = true
	p.HLine("smallest difference that matters", -points, small)
}
