package figures

import (
	"fmt"
	"strconv"
	"strings"

	"cvgm/cvgm/experiment"
	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *experiment.SampleSizeResult) []Output {
		return []Output{SampleSizeCurves(r), SampleSizeLead(r), SampleSizeTable(r), SampleSizeDifferences(r)}
	})
}

var sizeStyles = []Style{
	experiment.SizeBayes:            {Color: Black, Width: 1, Dash: []vg.Length{1, 3}},
	experiment.SizeCVGMFull:         {Color: Blue, Width: 2},
	experiment.SizeCVGMPublished:    {Color: Vermillion, Width: 2, Dash: []vg.Length{6, 2}},
	experiment.SizeAdam:             {Color: Green, Width: 1.5, Dash: []vg.Length{3, 2}},
	experiment.SizeNetworkPublished: {Color: Orange, Width: 1.5, Dash: []vg.Length{6, 2, 1, 2}},
	experiment.SizeNetworkText:      {Color: Purple, Width: 1.5},
	experiment.SizeLogistic:         {Color: Grey, Width: 1.5},
}

// SampleSizeCurves is the paper's figure of accuracy against the size of the
// training set: means with 95 % confidence intervals. On the right are the
// methods that learn, enlarged.
func SampleSizeCurves(r *experiment.SampleSizeResult) *Figure {
	all := NewPanel("all methods", "all methods", "training examples", "test accuracy")
	best := NewPanel("methods that learn", "the methods that learn, enlarged", "training examples", "test accuracy")
	for _, p := range []*Panel{all, best} {
		var curves []sizeCurve
		for k, m := range r.Methods {
			if p == all || k != experiment.SizeNetworkText && k != experiment.SizeLogistic {
				curves = append(curves, sizeCurve{m.Name, m.Mean, sizeStyles[k]})
			}
		}
		p.Grid()
		p.sizeCurves(r.Sizes, curves)
	}
	return &Figure{Name: "sample_size", Width: 10.5 * vg.Inch, Height: 3.6 * vg.Inch, Legend: LegendRight, Panels: [][]*Panel{{all, best}},
		Caption: "Test accuracy against the size of the training set, means with 95 % confidence intervals"}
}

// SampleSizeLead shows by how much CVGM is more accurate than the fairly trained
// network on the same data.
func SampleSizeLead(r *experiment.SampleSizeResult) *Figure {
	p := NewPanel("lead over Adam", "", "training examples", "CVGM less network by Adam, test accuracy").Grid()
	adam := nth(r.Methods, experiment.SizeAdam)
	p.sizeCurves(r.Sizes, []sizeCurve{
		{nth(r.Methods, experiment.SizeCVGMFull).Name, adam.Full.BySize, sizeStyles[experiment.SizeCVGMFull]},
		{nth(r.Methods, experiment.SizeCVGMPublished).Name, adam.Published.BySize, sizeStyles[experiment.SizeCVGMPublished]},
	})
	p.HLine("no difference", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
	return &Figure{Name: "sample_size_lead", Width: 5.5 * vg.Inch, Height: 3.4 * vg.Inch, Panels: [][]*Panel{{p}},
		Caption: "CVGM's lead over the network trained by Adam, paired means with 95 % confidence intervals"}
}

// sizeCurve is one method's means, size by size.
type sizeCurve struct {
	name  string
	means []experiment.Estimate
	style Style
}

// sizeCurves plots means over sizes, on bands of their confidence intervals
// where there are any.
func (p *Panel) sizeCurves(sizes []int, curves []sizeCurve) {
	x := floats(sizes)
	for _, c := range curves {
		_, low, high := means(c.means)
		p.Band(c.name, x, low, high, c.style)
	}
	for _, c := range curves {
		mean, _, _ := means(c.means)
		p.Line(c.name, x, mean, c.style)
	}
}

// SampleSizeTable lists the mean accuracies at some of the sizes.
func SampleSizeTable(r *experiment.SampleSizeResult) *Table {
	p := r.Params
	t := &Table{Name: "sample_size_accuracy", Caption: fmt.Sprintf("Test accuracy, mean of %d seeds", p.Seeds), Header: []string{"Method"}}
	largest := float64(p.MaxSize)
	columns := nearest(r.Sizes, p.MaxSize, float64(p.MinSize)/largest, float64(p.SmallSize)/largest, .3, .5, 1)
	for _, i := range columns {
		t.Header = append(t.Header, fmt.Sprintf("N = %d", r.Sizes[i]))
	}
	for _, m := range r.Methods {
		row := []any{m.Name}
		for _, i := range columns {
			row = append(row, estimated(m.Mean[i], 3))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Note = failureNote(r)
	return t
}

// SampleSizeDifferences compares CVGM with every other method on the same data.
func SampleSizeDifferences(r *experiment.SampleSizeResult) *Table {
	t := &Table{
		Name: "sample_size_differences", Caption: "CVGM's test accuracy less the other method's, in percentage points, on the same data",
		Header: []string{"Other method", "Full gradient, all sizes", "more accurate", fmt.Sprintf("N ≤ %d", r.Params.SmallSize),
			"Published gradient, all sizes", "more accurate", "published code", fmt.Sprintf("N ≤ %d", r.Params.SmallSize)},
	}
	points := func(c experiment.Comparison) any {
		e := c.Difference
		return Number{Value: 100 * e.Mean, Digits: 1, Margin: 100 * e.Margin}
	}
	percent := func(share float64) any { return fmt.Sprintf("%.0f %%", 100*share) }
	for k, m := range r.Methods {
		row := []any{m.Name, points(m.Full.All), percent(m.Full.All.Wins), points(m.Full.Small), points(m.Published.All), percent(m.Published.All.Wins), nil, points(m.Published.Small)}
		if share, err := strconv.ParseFloat(experiment.Printed.SampleSizeWins.Code, 64); k == experiment.SizeNetworkPublished && err == nil {
			row[6] = percent(share)
		}
		if k == experiment.SizeCVGMFull {
			row[1], row[2], row[3] = nil, nil, nil
		}
		if k == experiment.SizeCVGMPublished {
			row[4], row[5], row[7] = nil, nil, nil
		}
		t.Rows = append(t.Rows, row)
	}
	t.Note = strings.TrimSpace(fmt.Sprintf("Paired differences over all sizes and seeds with 95 %% confidence intervals, and the share of data sets on which CVGM is more accurate (a tie counts half). "+
		"The published code reports that share for its sizes 8 to 96 and 10 repetitions, with ties as losses. %s", failureNote(r)))
	return t
}

// failureNote names the cells that are missing from the means.
func failureNote(r *experiment.SampleSizeResult) string {
	if len(r.Failures) == 0 {
		return ""
	}
	var cells []string
	for _, f := range r.Failures {
		cells = append(cells, fmt.Sprintf("size %d, seed %d (%s)", f.Size, f.Seed, f.Problem))
	}
	return fmt.Sprintf("Failed and left out: %s.", strings.Join(cells, "; "))
}
