package figures

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *samplesize.Result) []Output {
		return []Output{SampleSizeCurves(r), SampleSizeLead(r), SampleSizeTable(r), SampleSizeDifferences(r), SampleSizeRivals(r), SampleSizeOverfitting(r), SampleSizeThresholds(r)}
	})
}

var sizeStyles = []Style{
	samplesize.SizeBayes:            {Color: Black, Width: 1, Dash: []vg.Length{1, 3}},
	samplesize.SizeCVGMFull:         {Color: Blue, Width: 2},
	samplesize.SizeCVGMPublished:    {Color: Vermilion, Width: 2, Dash: []vg.Length{6, 2}},
	samplesize.SizeAdam:             {Color: Green, Width: 1.5, Dash: []vg.Length{3, 2}},
	samplesize.SizeNetworkPublished: {Color: Orange, Width: 1.5, Dash: []vg.Length{6, 2, 1, 2}},
	samplesize.SizeNetworkText:      {Color: Purple, Width: 1.5},
	samplesize.SizeLogistic:         {Color: Grey, Width: 1.5},
	samplesize.SizeQuadratic:        {Color: Vermilion, Width: 2, Dash: []vg.Length{1, 2}},
	samplesize.SizeMachineCVGM:      {Color: Green, Width: 1.5, Dash: []vg.Length{9, 3}},
	samplesize.SizeMachineGrid:      {Color: Green, Width: 1.5, Dash: []vg.Length{3, 2}},
	samplesize.SizeRandomFeatures:   {Color: Purple, Width: 1.5, Dash: []vg.Length{6, 2}},
	samplesize.SizeNetworkCV:        {Color: Orange, Width: 1.5, Dash: []vg.Length{6, 2, 1, 2}},
	samplesize.SizeAdamLong:         {Color: Grey, Width: 1.5, Dash: []vg.Length{2, 2}},
}

// SampleSizeCurves shows the accuracy as a function of the size of the training set, as the paper's
// figure does. The right panel shows by how much the methods that learn are worse than the Bayes
// rule: all methods but SizeNetworkText and SizeLogistic.
func SampleSizeCurves(r *samplesize.Result) *Figure {
	all := NewPanel("all methods", "all methods", "training examples", "test accuracy")
	const floor = -1 // a tenth of a percentage point is far too little to matter
	best := NewPanel("below the Bayes rule", "the methods that learn, below the Bayes rule", "training examples", "points below the Bayes rule").ClampLow(floor)
	groups := sizeGroups(r)
	bayes := chart.Nth(r.Methods, samplesize.SizeBayes).Accuracy
	var accuracies, distances []sizeCurve
	for k, m := range r.Methods[:min(samplesize.SizeQuadratic, len(r.Methods))] {
		accuracies = append(accuracies, sizeCurve{m.Name, pooledSizes(groups, m.Accuracy, nil), sizeStyles[k]})
		if k != samplesize.SizeBayes && k != samplesize.SizeNetworkText && k != samplesize.SizeLogistic {
			distances = append(distances, sizeCurve{m.Name, pooledSizes(groups, bayes, m.Accuracy), sizeStyles[k]})
		}
	}
	x := pooledAxis(r, groups)
	drawSizeCurves(all, x, accuracies, func(v []float64) []float64 { return v })
	drawSizeCurves(best, x, distances, func(v []float64) []float64 {
		return chart.ClampedLog10s(chart.Mapped(v, func(x float64) float64 { return 100 * x }), floor)
	})
	return &Figure{Name: "sample_size", Width: 10.5 * vg.Inch, Height: 4.2 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{all, best}},
		Caption: fmt.Sprintf("Test accuracy on the rings by number of training examples. Right: percentage points below the Bayes rule on the same data. Means over %d data sets of each size; sizes within a third of each other are pooled. The paper's caption of the rings gives %s for the Bayes rule.", r.Params.Seeds, claims.Printed.Rings.Bayes.Paper)}
}

// SampleSizeLead shows the lead of CVGM over the network that is trained by Adam: the difference of
// their accuracies on the same data.
func SampleSizeLead(r *samplesize.Result) *Figure {
	p := NewPanel("lead over Adam", "", "training examples", "lead over the network, points")
	groups := sizeGroups(r)
	var leads []sizeCurve
	for _, k := range []int{samplesize.SizeCVGMFull, samplesize.SizeCVGMPublished} {
		m := chart.Nth(r.Methods, k)
		leads = append(leads, sizeCurve{m.Name, pooledSizes(groups, m.Accuracy, chart.Nth(r.Methods, samplesize.SizeAdam).Accuracy), sizeStyles[k]})
	}
	drawSizeCurves(p, pooledAxis(r, groups), leads, func(v []float64) []float64 { return chart.Mapped(v, func(x float64) float64 { return 100 * x }) })
	if small := r.Params.SmallSize; small > r.Params.MinSize && small < r.Params.MaxSize {
		p.VLine(fmt.Sprintf("%d examples", small), math.Log10(float64(small)), Style{Color: Grey, Width: 1})
	}
	markNoDifference(p)
	return &Figure{Name: "sample_size_lead", Width: 7 * vg.Inch, Height: 3.7 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: fmt.Sprintf("Test accuracy of CVGM minus the accuracy of the network trained by Adam on the same data, in percentage points. The paper finds CVGM ahead with few examples; the tables count sizes up to the vertical line as few. Means over %d data sets of each size; neighbouring sizes are pooled.", r.Params.Seeds)}
}

// SampleSizeRivals shows the lead of CVGM over each rival: the difference of their accuracies on
// the same data. A panel whose values have a range of more than twice the usual range has its own
// axes.
func SampleSizeRivals(r *samplesize.Result) *Figure {
	const columns = 2
	places := rivalPlaces(r)
	x := Log10s(chart.Floats(chart.Pick(r.Sizes, places)))
	var panels []*Panel
	for _, m := range r.Methods[min(samplesize.SizeQuadratic, len(r.Methods)):] {
		p := NewPanel(m.Name, m.Name, "training examples", "CVGM minus rival, points").LabelX(x).Grid()
		points := chart.Mapped(chart.Pick(m.Full.BySize, places), func(e experiment.Estimate) experiment.Estimate { return e.Times(100) })
		mean, low, high := meansAndEnds(points)
		markTooSmall(p)
		p.Measured("CVGM minus rival", x, mean, low, high, Style{Color: Blue, Width: 1.2})
		panels = append(panels, p)
	}
	heights := chart.Mapped(panels, func(p *Panel) float64 { return p.Axes().Ymax - p.Axes().Ymin })
	usual := chart.Nth(slices.Sorted(slices.Values(heights)), len(heights)/2)
	for i, p := range panels {
		if p.SharedAxes = "usual"; heights[i] > 2*usual {
			p.SharedAxes = ""
			p.Plot.Title.Text += " (other scale)"
		}
		if last := len(places) - 1; last >= 0 { // the difference at the largest size is small beside the differences at small sizes
			e := chart.Nth(chart.Nth(r.Methods, samplesize.SizeQuadratic+i).Full.BySize, places[last])
			p.Plot.Title.Text += fmt.Sprintf("\nwith %d examples: %s", r.Sizes[places[last]], withMargin(e.Times(100), 2))
		}
	}
	return &Figure{Name: "sample_size_rivals", Width: 9.5 * vg.Inch, Height: 8 * vg.Inch, Legend: LegendBelow, Panels: slices.Collect(slices.Chunk(panels, columns)),
		Caption: fmt.Sprintf("Test accuracy of CVGM along the full gradient minus the accuracy of the rival in the title, on the same data, in percentage points. Below 0 the rival is more accurate. Means over %d data sets of each size, with 95 %% intervals.", r.Params.Seeds)}
}

// sizeGroups returns groups of indices of neighbouring sizes, for means over all data sets of a
// group. The largest size of a group is at most a third larger than its smallest one. Small sizes
// and others are in different groups.
func sizeGroups(r *samplesize.Result) (groups [][]int) {
	for i, n := range r.Sizes {
		last := len(groups) - 1
		if last < 0 || 3*n > 4*r.Sizes[groups[last][0]] || n > r.Params.SmallSize && r.Sizes[i-1] <= r.Params.SmallSize {
			groups = append(groups, []int{i})
		} else {
			groups[last] = append(groups[last], i)
		}
	}
	return groups
}

// pooledAxis returns the logarithm of the geometric mean of the sizes of each group.
func pooledAxis(r *samplesize.Result, groups [][]int) []float64 {
	return chart.Mapped(groups, func(places []int) float64 {
		return stat.Mean(Log10s(chart.Floats(chart.Pick(r.Sizes, places))), nil)
	})
}

// pooledSizes returns mean accuracies over all data sets of each group. If other is not nil, it
// returns mean differences: the accuracy minus the other accuracy on the same data.
func pooledSizes(groups [][]int, accuracy, other [][]float64) []experiment.Estimate {
	return chart.Mapped(groups, func(places []int) experiment.Estimate {
		var all []float64
		for _, i := range places {
			for seed, v := range chart.Nth(accuracy, i) {
				if other != nil {
					v -= chart.Nth(chart.Nth(other, i), seed)
				}
				if !math.IsNaN(v) {
					all = append(all, v)
				}
			}
		}
		return experiment.EstimateOf(all)
	})
}

// rivalPlaces returns the indices of the sizes at which the rivals are measured.
func rivalPlaces(r *samplesize.Result) (places []int) {
	for i, e := range r.Overfitting {
		if e.N > 0 {
			places = append(places, i)
		}
	}
	return places
}

func rivalSizes(r *samplesize.Result) string {
	return strings.Join(chart.Mapped(chart.Pick(r.Sizes, rivalPlaces(r)), func(n int) string { return fmt.Sprint(n) }), ", ")
}

// SampleSizeOverfitting lists the loss of accuracy if the network is trained to convergence.
func SampleSizeOverfitting(r *samplesize.Result) *Table {
	t := &Table{
		Name: "sample_size_overfitting", Caption: fmt.Sprintf("Test accuracy that the network loses between step %d and step %d of Adam, in percentage points", r.Params.AdamSteps, r.Params.LongSteps),
		Header: []string{"N", "Points lost", "Data sets"},
		Note:   "Paired differences on the same data and from the same initial weights, with 95 % confidence intervals. Above 0, training to convergence over-fits.",
	}
	for i, e := range r.Overfitting {
		if e.N > 0 {
			t.Rows = append(t.Rows, []any{fmt.Sprint(r.Sizes[i]), inPoints(e), e.N})
		}
	}
	return t
}

// inPoints returns an estimate in percentage points. If nothing is measured, it returns nil.
func inPoints(e experiment.Estimate) any {
	if e.N == 0 {
		return nil
	}
	return Number{Value: 100 * e.Mean, Digits: 2, Margin: 100 * e.Margin}
}

// sizeCurve holds the means of one method for each size.
type sizeCurve struct {
	name  string
	means []experiment.Estimate
	style Style
}

// drawSizeCurves plots means at the logarithms x of sizes, because the means change most at small
// sizes. If the means have confidence intervals, it plots bands. The function scaled returns the
// coordinates of values on the y axis.
func drawSizeCurves(p *Panel, x []float64, curves []sizeCurve, scaled func([]float64) []float64) {
	p.Grid().LogAxes(true, false)
	p.Direct = true
	for _, c := range curves {
		_, low, high := meansAndEnds(c.means)
		p.Band(c.name, x, scaled(low), scaled(high), c.style)
	}
	for _, c := range curves {
		mean, _, _ := meansAndEnds(c.means)
		p.Line(c.name, x, scaled(mean), c.style)
	}
}

// SampleSizeTable lists the mean accuracies at some of the sizes.
func SampleSizeTable(r *samplesize.Result) *Table {
	p := r.Params
	t := &Table{Name: "sample_size_accuracy", Caption: fmt.Sprintf("Test accuracy, mean of %d seeds", p.Seeds), Header: []string{"Method"}}
	largest := float64(p.MaxSize)
	columns := chart.Nearest(r.Sizes, p.MaxSize, float64(p.MinSize)/largest, float64(p.SmallSize)/largest, .2, .3, .5, 1)
	for _, i := range columns {
		t.Header = append(t.Header, fmt.Sprintf("N = %d", r.Sizes[i]))
	}
	for _, m := range r.Methods {
		row := []any{m.Name}
		for _, i := range columns {
			if m.Mean[i].N == 0 {
				row = append(row, nil)
				continue
			}
			row = append(row, chart.Estimated(m.Mean[i], 3))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Note = failureNote(r)
	return t
}

// SampleSizeDifferences compares CVGM with every other method on the same data.
func SampleSizeDifferences(r *samplesize.Result) *Table {
	t := &Table{
		Name: "sample_size_differences", Caption: "Test accuracy, CVGM minus the other method, in percentage points, on the same data",
		Header: []string{"Other method", "Full gradient, all sizes", "more accurate", fmt.Sprintf("N ≤ %d", r.Params.SmallSize), fmt.Sprintf("N > %d", r.Params.SmallSize),
			"Published gradient, all sizes", "more accurate", "published code", fmt.Sprintf("N ≤ %d", r.Params.SmallSize), fmt.Sprintf("N > %d", r.Params.SmallSize)},
	}
	points := func(c experiment.Comparison) any {
		e := c.Difference
		if e.N == 0 {
			return nil
		}
		return Number{Value: 100 * e.Mean, Digits: 1, Margin: 100 * e.Margin}
	}
	percent := func(share float64) any {
		if math.IsNaN(share) {
			return nil
		}
		return fmt.Sprintf("%.0f %%", 100*share)
	}
	for k, m := range r.Methods {
		row := []any{m.Name, points(m.Full.All), percent(m.Full.All.Wins), points(m.Full.Small), points(m.Full.Large), points(m.Published.All), percent(m.Published.All.Wins), nil, points(m.Published.Small), points(m.Published.Large)}
		if share, err := strconv.ParseFloat(claims.Printed.SampleSizeWins.Code, 64); k == samplesize.SizeNetworkPublished && err == nil {
			row[7] = percent(share)
		}
		if k == samplesize.SizeCVGMFull {
			row[1], row[2], row[3], row[4] = nil, nil, nil, nil
		}
		if k == samplesize.SizeCVGMPublished {
			row[5], row[6], row[8], row[9] = nil, nil, nil, nil
		}
		t.Rows = append(t.Rows, row)
	}
	t.Note = strings.TrimSpace(fmt.Sprintf("Paired differences over all sizes and seeds with 95 %% confidence intervals, and the share of data sets on which CVGM is more accurate (a tie counts half). "+
		"The published code reports that share for its sizes 8 to 96 and 10 repetitions, with ties as losses. The rivals below logistic regression are measured at N = %s alone. %s", rivalSizes(r), failureNote(r)))
	return t
}

// SampleSizeThresholds compares CVGM's lead at small N with its lead at large N. A threshold
// separates small from large, and there are several thresholds. The table also lists how much the
// lead changes if N is doubled.
func SampleSizeThresholds(r *samplesize.Result) *Table {
	t := &Table{
		Name: "sample_size_thresholds", Caption: "CVGM's lead over other methods where examples are few minus its lead where they are more, in percentage points",
		Header: []string{"Other method", "Gradient"},
		Note:   "A column is the mean lead in test accuracy at sizes up to N minus the lead at larger sizes; the last one is the slope over all sizes. With 95 % confidence intervals. CVGM's lead is larger with less data where a value is above 0, or below 0 in the last column.",
	}
	for _, n := range claims.FewExamples {
		t.Header = append(t.Header, fmt.Sprintf("N ≤ %d", n))
	}
	t.Header = append(t.Header, "per doubling of N")
	for _, l := range claims.SampleSizeLeads(r) {
		gradient := "published"
		if l.Full {
			gradient = "full"
		}
		row := []any{r.Methods[l.Rival].Name, gradient}
		for _, e := range append(l.SmallLessLarge, l.PerDoubling) {
			if math.IsNaN(e.Mean) {
				e.N = 0
			}
			row = append(row, inPoints(e))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// failureNote returns a sentence that lists the cells that could not be computed. The means do not
// include these cells.
func failureNote(r *samplesize.Result) string {
	if len(r.Failures) == 0 {
		return ""
	}
	var cells []string
	for _, f := range r.Failures {
		cells = append(cells, fmt.Sprintf("size %d, seed %d (%s)", f.Size, f.Seed, f.Problem))
	}
	return fmt.Sprintf("Failed and left out: %s.", strings.Join(cells, "; "))
}
