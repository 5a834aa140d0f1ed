package figures

import (
	"fmt"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/figures/internal/chart"

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
		Note: "The two descents have the same data, learner, searcher, start and number of steps. The random search has the CV loss and as many evaluations, and no gradient. Risks are error rates on the test examples, for the elastic net mean squared errors. " +
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
// the descent of the training loss. Each panel has another number of steps, and each line another
// number of splits.
func AblationBySize(r *samplesize.AblationResult) *Figure {
	p := r.Params.Rings
	f := &Figure{
		Name: "ablation_rings", Width: 11 * vg.Inch, Height: 3.9 * vg.Inch, Legend: LegendBelow, SameAxes: true, Panels: [][]*Panel{nil},
		Caption: fmt.Sprintf("Rings, learned kernel: test error after a descent of the CV loss minus test error after a descent of the training loss, in percentage points. "+
			"Means over %d data sets. The titles give means over all sizes.", r.Params.Seeds),
	}
	for b, budget := range p.Budgets {
		name := fmt.Sprintf("%d steps", budget)
		title := name + ", over all sizes"
		for i, k := range p.Ks {
			if all := chart.Nth(r.Rings, i*len(p.Budgets)+b).Difference; all.N > 0 {
				title += fmt.Sprintf("\n%d splits: %s", k, withMargin(all.Times(100), 2))
			}
		}
		panel := NewPanel(name, title, "training examples", "CV minus training, points\n← CV loss better     worse →").LabelX(Log10s(chart.Floats(p.Sizes))).Grid()
		for i, k := range p.Ks {
			var sizes []float64
			var differences []experiment.Estimate
			for _, row := range r.Rows[:len(p.Ks)*len(p.Sizes)*len(p.Budgets)] {
				if row.K == k && row.Budget == budget {
					sizes = append(sizes, float64(row.Train))
					differences = append(differences, row.CVLessTraining.Difference.Times(100))
				}
			}
			drawMeans(panel, fmt.Sprintf("%d splits", k), Log10s(sizes), differences, Style{Color: chart.PaletteColor(len(p.Ks) - 1 - i), Width: 2, Dash: chart.Dashes[(len(p.Ks)-1-i)%len(chart.Dashes)]})
		}
		markNoDifference(panel)
		f.Panels[0] = append(f.Panels[0], panel)
	}
	return f
}

// drawMeans plots means as a line with a dot at each of them, and their confidence intervals as a
// band.
func drawMeans(p *Panel, name string, x []float64, means []experiment.Estimate, s Style) {
	mean, low, high := meansAndEnds(means)
	p.Band(name+", interval", x, low, high, s)
	p.Line(name, x, mean, s)
	p.Scatter(name+", mean", x, mean, Style{Color: s.Color, GlyphRadius: 2.5, Unlisted: true})
}

// markNoDifference draws three reference lines on a panel of differences of accuracies or error
// rates in percentage points: no difference, and the smallest difference that matters, upwards and
// downwards.
func markNoDifference(p *Panel) {
	const points = 100 * claims.AccuracyMatters
	small := Style{Color: Grey, Width: .8, Dash: []vg.Length{6, 3}}
	p.HLine("no difference", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
	p.HLine("smallest difference that matters", points, small)
	small.Unlisted = true
	p.HLine("smallest difference that matters", -points, small)
}
