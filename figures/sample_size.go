package figures

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot/vg"
)

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
	first, last := float64(r.Sizes[0]), float64(r.Sizes[len(r.Sizes)-1])
	all.Range(first, last, .48, .92)
	best.Range(first, last, .64, .92)
	return &Figure{
		Name:    "sample_size",
		Caption: "Test accuracy against the size of the training set, means with 95 % confidence intervals",
		Width:   10.5 * vg.Inch, Height: 3.6 * vg.Inch, LegendWidth: 2.9 * vg.Inch,
		Panels: [][]*Panel{{all, best}},
	}
}

// SampleSizeLead shows by how much CVGM is more accurate than the fairly trained
// network on the same data.
func SampleSizeLead(r *experiment.SampleSizeResult) *Figure {
	p := NewPanel("lead over Adam", "", "training examples", "CVGM less network by Adam, test accuracy")
	p.Grid()
	adam := r.Methods[experiment.SizeAdam]
	p.sizeCurves(r.Sizes, []sizeCurve{
		{r.Methods[experiment.SizeCVGMFull].Name, adam.Full.BySize, sizeStyles[experiment.SizeCVGMFull]},
		{r.Methods[experiment.SizeCVGMPublished].Name, adam.Published.BySize, sizeStyles[experiment.SizeCVGMPublished]},
	})
	p.Horizontal("no difference", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
	return &Figure{
		Name:    "sample_size_lead",
		Caption: "CVGM's lead over the network trained by Adam, paired means with 95 % confidence intervals",
		Width:   5.5 * vg.Inch, Height: 3.4 * vg.Inch,
		Panels: [][]*Panel{{p}},
	}
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
	for _, c := range curves {
		var x, low, high []float64
		for i, e := range c.means {
			if e.N > 1 {
				x, low, high = append(x, float64(sizes[i])), append(low, e.Mean-e.Margin), append(high, e.Mean+e.Margin)
			}
		}
		p.Band(c.name, x, low, high, c.style)
	}
	for _, c := range curves {
		var x, mean []float64
		for i, e := range c.means {
			if e.N > 0 {
				x, mean = append(x, float64(sizes[i])), append(mean, e.Mean)
			}
		}
		p.Line(c.name, x, mean, c.style)
	}
}

// SampleSizeTable gives the mean accuracies at some of the sizes.
func SampleSizeTable(r *experiment.SampleSizeResult) *Table {
	p := r.Params
	t := &Table{
		Name:    "sample_size_accuracy",
		Caption: fmt.Sprintf("Test accuracy, mean of %d seeds", p.Seeds),
		Header:  []string{"Method"},
	}
	var columns []int
	for _, size := range []int{p.MinSize, 20, 60, 100, p.MaxSize} {
		if i := slices.Index(r.Sizes, size); i >= 0 && !slices.Contains(columns, i) {
			columns = append(columns, i)
			t.Header = append(t.Header, fmt.Sprintf("N = %d", size))
		}
	}
	for _, m := range r.Methods {
		row := []any{m.Name}
		for _, i := range columns {
			row = append(row, Number{Value: m.Mean[i].Mean, Digits: 3, Margin: margin(m.Mean[i])})
		}
		t.Rows = append(t.Rows, row)
	}
	t.Note = failureNote(r)
	return t
}

// SampleSizeDifferences compares CVGM with every other method on the same data.
func SampleSizeDifferences(r *experiment.SampleSizeResult) *Table {
	t := &Table{
		Name:    "sample_size_differences",
		Caption: "CVGM's test accuracy less the other method's, in percentage points, on the same data",
		Header: []string{"Other method", "Full gradient, all sizes", "more accurate", fmt.Sprintf("N ≤ %d", r.Params.Small),
			"Published gradient, all sizes", "more accurate", "published code", fmt.Sprintf("N ≤ %d", r.Params.Small)},
	}
	points := func(c experiment.Comparison) any {
		e := c.Difference
		return Number{Value: 100 * e.Mean, Digits: 1, Margin: 100 * margin(e)}
	}
	percent := func(share float64) any { return fmt.Sprintf("%.0f %%", 100*share) }
	for k, m := range r.Methods {
		row := []any{m.Name, points(m.Full.All), percent(m.Full.All.Wins), points(m.Full.Small), points(m.Published.All), percent(m.Published.All.Wins), nil, points(m.Published.Small)}
		if q := m.QuotedWins.Code; q != "" {
			share, err := strconv.ParseFloat(q, 64)
			if err != nil {
				panic("figures: a quoted share that is no number: " + q)
			}
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

// margin is that of an estimate, or none.
func margin(e experiment.Estimate) float64 {
	if math.IsNaN(e.Margin) {
		return 0
	}
	return e.Margin
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
