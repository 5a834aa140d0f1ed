package figures

import (
	"fmt"
	"math"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/manyhyper"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func init() {
	register(func(r *manyhyper.MapResult) []Output {
		return []Output{GradientMap(r), GradientMapTable(r)}
	})
}

// A mapDifference is one of the two differences of test losses that a map measures.
type mapDifference struct {
	name, axis string
	ofCell     func(c manyhyper.MapCell) experiment.Estimate
	ofEffect   func(e manyhyper.MapEffect) experiment.Estimate
}

var mapDifferences = []mapDifference{
	{"CV gradient minus training gradient", "← CV gradient better        worse →", func(c manyhyper.MapCell) experiment.Estimate { return c.CVLessTraining }, func(e manyhyper.MapEffect) experiment.Estimate { return e.CVLessTraining }},
	{"many hyperparameters minus one", "← many better        worse →", func(c manyhyper.MapCell) experiment.Estimate { return c.ManyLessOne }, func(e manyhyper.MapEffect) experiment.Estimate { return e.ManyLessOne }},
}

// GradientMap shows the two differences of test losses for each value of each factor: in all cells
// with this value, and on average. Each problem has a column of panels.
func GradientMap(r *manyhyper.MapResult) *Figure {
	f := &Figure{Name: "gradient_map", Width: 11 * vg.Inch, Legend: LegendBelow, SameAxes: true,
		Caption: fmt.Sprintf("Test loss with many hyperparameters by the CV gradient, minus the test loss by the training gradient (top) or with one hyperparameter (bottom), as a share of the larger loss. A row has all cells of a problem with this value of a factor. A cell is clear if its 95 %% interval excludes 0. Intervals are over data sets: %d in a cell, and %d in a cell of weights.", r.Params.DataSets, r.Params.RingsDataSets)}
	rows := 0
	for _, d := range mapDifferences {
		var panels []*Panel
		for _, problem := range manyhyper.MapProblems {
			p := NewPanel(d.name+", "+problem, problem, d.axis, "")
			rows = max(rows, drawMap(p, r, problem, d))
			panels = append(panels, p)
		}
		f.Panels = append(f.Panels, panels)
	}
	const rowHeight, around = 13, 62 // in points; around is the height of a panel's title and labels
	f.Height = vg.Length(len(f.Panels)) * vg.Length(around+rowHeight*rows)
	return f
}

// mapLabels are formats of the labels of rows, in the order of the factors.
var mapLabels = []string{"%g examples", "%g hyperparameters", "splits fit %g of rows", "noise %g"}

// drawMap draws a difference for all values of all factors of a problem, each in a row. An empty row
// separates two factors. It returns the number of rows.
func drawMap(p *Panel, r *manyhyper.MapResult, problem string, d mapDifference) (rows int) {
	marks := []struct {
		name  string
		style Style
		x, y  []float64
	}{
		{"cell, clearly better", Style{Color: Blue, GlyphRadius: 2}, nil, nil},
		{"cell, not clear", Style{Color: Grey, Glyph: draw.RingGlyph{}, GlyphRadius: 2}, nil, nil},
		{"cell, clearly worse", Style{Color: Vermilion, Glyph: draw.CrossGlyph{}, GlyphRadius: 2.5}, nil, nil},
	}
	cells := r.CellsOf(problem)
	var labels []string
	var at []float64
	var means []experiment.Estimate
	for factor := range manyhyper.Factors {
		if factor > 0 {
			labels, at, means = append(labels, ""), append(at, math.NaN()), append(means, experiment.Estimate{})
		}
		for _, e := range r.Effects {
			if e.Problem != problem || e.Factor != factor {
				continue
			}
			y := 0 - float64(len(labels)) // not −0
			labels, at, means = append(labels, fmt.Sprintf(mapLabels[factor], e.Level)), append(at, y), append(means, d.ofEffect(e))
			for _, c := range cells {
				if []float64{float64(c.Train), float64(c.Hyperparameters), c.Share, c.Noise}[factor] == e.Level {
					m := &marks[1+d.ofCell(c).Sign()]
					m.x, m.y = append(m.x, d.ofCell(c).Mean), append(m.y, y)
				}
			}
		}
	}
	for _, m := range marks {
		p.Scatter(m.name, m.x, m.y, m.style)
	}
	mean, low, high := meansAndEnds(means)
	p.Line("mean of the cells, along a factor", mean, at, Style{Color: Black, Width: .7, Unlisted: true})
	p.Strokes("95 % interval of the mean", low, at, high, at, Style{Color: Black, Width: 2.5})
	p.Scatter("mean of the cells", mean, at, Style{Color: Black, Glyph: draw.BoxGlyph{}, GlyphRadius: 2.5})
	p.VLine("no difference", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
	p.Rows(vg.Length(math.Inf(1)), labels)
	const left, room = -1, .05 // no difference is below left
	p.Range(left-room, max(chart.AxesOf(p.Plot).Xmax, 0)+room, .5-float64(len(labels)), .5)
	return len(labels)
}

// effectWord returns the word "helps" or "harms" for a difference of losses. If the interval of the
// difference contains 0, the word is "undecided".
func effectWord(e experiment.Estimate) string {
	return [...]string{"helps", "undecided", "harms"}[1+e.Sign()]
}

// GradientMapTable lists all cells of the map.
func GradientMapTable(r *manyhyper.MapResult) *Table {
	p := r.Params
	t := &Table{
		Name: "gradient_map_cells", Caption: fmt.Sprintf("When the gradient of the CV loss helps, and when many hyperparameters do: %d cells", len(r.Cells)),
		Header: []string{"Problem", "N", "Hyperparameters", "Share", "Noise", "CV minus training gradient", "CV gradient", "Many minus one", "Many", "CV loss, one", "CV loss, many", "Test loss, one", "Test loss, many", "Test loss, training gradient"},
		Brief:  []string{"Problem", "N", "Hyperparameters", "Share", "Noise", "CV minus training gradient", "CV gradient", "Many minus one", "Many", "CV loss, one", "CV loss, many"},
		Note: fmt.Sprintf("Differences of test losses are paired and shares of the larger loss, with 95 %% confidence intervals over %d data sets a cell of penalties and widths and %d a cell of weights; no interval is widened for the number of cells. Losses are shares of a constant prediction's: mean squared errors, of the weights error rates for the test and logistic losses for CV. "+
			"Share is the share of the rows that the %d splits fit. Noise is the standard deviation of the labels' noise, of the weights that of the radii. With one hyperparameter the penalties and widths are all equal, and the weights stay at their start while C is searched for.", p.DataSets, p.RingsDataSets, p.K),
	}
	for _, c := range r.Cells {
		t.Rows = append(t.Rows, []any{c.Problem, fmt.Sprint(c.Train), c.Hyperparameters, fmt.Sprint(c.Share), fmt.Sprint(c.Noise),
			chart.Estimated(c.CVLessTraining, 3), effectWord(c.CVLessTraining), chart.Estimated(c.ManyLessOne, 3), effectWord(c.ManyLessOne),
			chart.Estimated(c.OneCV, 3), chart.Estimated(c.ManyCV, 3), chart.Estimated(c.One, 3), chart.Estimated(c.Many, 3), chart.Estimated(c.Training, 3)})
	}
	return t
}

// KeptGradientMap is [GradientMap] of the map that is kept with the sources.
func KeptGradientMap() *Figure {
	f := GradientMap(manyhyper.KeptMap())
	f.Name = "gradient_map_kept"
	f.Caption = "The kept map. " + f.Caption
	return f
}

// KeptGradientMapTable counts the cells of the kept map in which the CV gradient, or many
// hyperparameters, help or harm. It has one row for each problem, size and number of
// hyperparameters. Its CSV is in the order of the figure's lines.
func KeptGradientMapTable() *Table {
	r := manyhyper.KeptMap()
	t := &Table{
		Name: "gradient_map_kept_cells", Caption: fmt.Sprintf("The kept map by size and number of hyperparameters: %d cells", len(r.Cells)),
		Header: []string{"Problem", "N", "Hyperparameters", "Cells", "CV gradient helps", "harms", "Mean difference", "Many help", "harm", "Mean difference of many"},
		Note:   "A difference is the mean of the cells' differences of test losses, as shares of the larger loss. Below 0 the CV gradient helps, or many hyperparameters do. A cell helps or harms if its 95 % confidence interval excludes 0.",
	}
	for first := 0; first < len(r.Cells); {
		c, last := r.Cells[first], first
		for last < len(r.Cells) && r.Cells[last].Problem == c.Problem && r.Cells[last].Train == c.Train && r.Cells[last].Hyperparameters == c.Hyperparameters {
			last++
		}
		row := []any{c.Problem, fmt.Sprint(c.Train), c.Hyperparameters, last - first}
		for _, difference := range []func(c manyhyper.MapCell) experiment.Estimate{
			func(c manyhyper.MapCell) experiment.Estimate { return c.CVLessTraining },
			func(c manyhyper.MapCell) experiment.Estimate { return c.ManyLessOne },
		} {
			helps, harms := manyhyper.CountSigns(r.Cells[first:last], difference)
			var sum float64
			for _, c := range r.Cells[first:last] {
				sum += difference(c).Mean
			}
			row = append(row, helps, harms, Number{Value: sum / float64(last-first), Digits: 3})
		}
		t.Rows = append(t.Rows, row)
		first = last
	}
	return t
}
