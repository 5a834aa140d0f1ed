package figures

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/figures/internal/chart"

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
// figure does. It shows means and 95 % confidence intervals. The right panel enlarges all methods
// but SizeNetworkText and SizeLogistic.
func SampleSizeCurves(r *samplesize.Result) *Figure {
	all := NewPanel("all methods", "all methods", "training examples", "test accuracy")
	best := NewPanel("methods that learn", "the methods that learn, enlarged", "training examples", "test accuracy")
	for _, p := range []*Panel{all, best} {
		p.Direct = true
		var curves []sizeCurve
		for k, m := range r.Methods {
			if k >= samplesize.SizeQuadratic {
				continue
			}
			if p == all || k != samplesize.SizeNetworkText && k != samplesize.SizeLogistic {
				curves = append(curves, sizeCurve{m.Name, m.Mean, sizeStyles[k]})
			}
		}
		drawSizeCurves(p, r.Sizes, curves)
	}
	return &Figure{Name: "sample_size", Width: 10.5 * vg.Inch, Height: 4.2 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{all, best}},
		Caption: fmt.Sprintf("Test accuracy on the rings against the number of training examples, as means over %d data sets of each size. Right: the methods that learn, enlarged. The paper's text gives %s for the Bayes rule.", r.Params.Seeds, claims.Printed.Rings.Bayes.Paper)}
}

// SampleSizeLead shows the lead of CVGM over the network that is trained by Adam: the difference of
// their accuracies on the same data.
func SampleSizeLead(r *samplesize.Result) *Figure {
	p := NewPanel("lead over Adam", "", "training examples", "CVGM minus network by Adam, test accuracy")
	adam := chart.Nth(r.Methods, samplesize.SizeAdam)
	drawSizeCurves(p, r.Sizes, []sizeCurve{
		{chart.Nth(r.Methods, samplesize.SizeCVGMFull).Name, adam.Full.BySize, sizeStyles[samplesize.SizeCVGMFull]},
		{chart.Nth(r.Methods, samplesize.SizeCVGMPublished).Name, adam.Published.BySize, sizeStyles[samplesize.SizeCVGMPublished]},
	})
	if small := r.Params.SmallSize; small > r.Params.MinSize && small < r.Params.MaxSize {
		p.VLine(fmt.Sprintf("%d examples", small), math.Log10(float64(small)), Style{Color: Grey, Width: 1, Dash: []vg.Length{4, 3}})
	}
	p.HLine("no difference", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
	return &Figure{Name: "sample_size_lead", Width: 5.5 * vg.Inch, Height: 3.7 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: fmt.Sprintf("Test accuracy, CVGM minus the network trained by Adam on the same data, along the full and along the published gradient, as means over %d data sets of each size. Above 0 CVGM is more accurate. The paper finds CVGM ahead with few examples. The tables count sizes up to the vertical line as few.", r.Params.Seeds)}
}

// SampleSizeRivals shows the lead of CVGM over each rival: the difference of their accuracies on
// the same data.
func SampleSizeRivals(r *samplesize.Result) *Figure {
	const columns = 2
	f := &Figure{Name: "sample_size_rivals", Width: 9.5 * vg.Inch, Height: 7.5 * vg.Inch, Legend: LegendBelow, SameAxes: true,
		Caption: fmt.Sprintf("Test accuracy of CVGM along the full gradient minus that of a rival, whose hyperparameters are chosen by cross-validation, on the same data. Where the band lies below 0 the rival is more accurate. Means over %d data sets of each size, bands 95 %% confidence intervals.", r.Params.Seeds)}
	places := rivalPlaces(r)
	for k := samplesize.SizeQuadratic; k < len(r.Methods); k++ {
		m, last := r.Methods[k], len(f.Panels)-1
		p := NewPanel(m.Name, m.Name, "training examples", "CVGM minus rival")
		drawSizeCurves(p, chart.Pick(r.Sizes, places), []sizeCurve{{"CVGM minus rival", chart.Pick(m.Full.BySize, places), Style{Color: Blue, Width: 2}}})
		p.HLine("equally accurate", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
		if last < 0 || len(f.Panels[last]) == columns {
			f.Panels = append(f.Panels, nil)
			last++
		}
		f.Panels[last] = append(f.Panels[last], p)
	}
	return f
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

// drawSizeCurves plots means as functions of the size, on a logarithmic axis, because the means
// change most at small sizes. If the means have confidence intervals, it plots bands.
func drawSizeCurves(p *Panel, sizes []int, curves []sizeCurve) {
	x := Log10s(chart.Floats(sizes))
	p.Grid().LogAxes(true, false)
	for _, c := range curves {
		_, low, high := meansAndEnds(c.means)
		p.Band(c.name, x, low, high, c.style)
	}
	for _, c := range curves {
		mean, _, _ := meansAndEnds(c.means)
		p.Line(c.name, x, mean, c.style)
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
