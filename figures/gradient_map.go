package figures

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/manyhyper"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A mapDifference is one of the two differences of test losses that a map measures.
type mapDifference struct {
	name, title, axis string
	ofCell            func(c manyhyper.MapCell) experiment.Estimate
	ofEffect          func(e manyhyper.MapEffect) experiment.Estimate
}

var mapDifferences = []mapDifference{
	{"CV gradient minus training gradient", "CV − training gradient", "← CV gradient better        worse →", func(c manyhyper.MapCell) experiment.Estimate { return c.CVLessTraining }, func(e manyhyper.MapEffect) experiment.Estimate { return e.CVLessTraining }},
	{"many hyperparameters minus one", "many − one", "← many better        worse →", func(c manyhyper.MapCell) experiment.Estimate { return c.ManyLessOne }, func(e manyhyper.MapEffect) experiment.Estimate { return e.ManyLessOne }},
}

// GradientMap shows the two differences of test losses for each value of each factor: in all cells
// with this value, and on average. Each problem has a column of panels.
func GradientMap(r *manyhyper.MapResult) *Figure {
	f := &Figure{Name: "gradient_map", Width: 11 * vg.Inch, Legend: LegendBelow,
		Caption: fmt.Sprintf("Test loss with many hyperparameters by the CV gradient, minus the test loss by the training gradient (top) or with one hyperparameter (bottom), as a share of the larger loss. Each block of rows has all cells. A cell is clear if its 95 %% interval, over %d data sets (%d of weights), excludes 0. Intervals of means are over data sets, not cells. Brackets count the cells that are clearly better and worse.", r.Params.DataSets, r.Params.RingsDataSets)}
	rows := drawMaps(f, r, drawMap)
	const shared, much = "usual scale", 4 // another scale is for differences that are much smaller, by this factor
	reach := func(p *Panel) float64 {
		data := chart.AxesOf(p.Plot)
		return max(0, -data.Xmin, data.Xmax)
	}
	all, most := slices.Concat(f.Panels...), 0.
	for _, p := range all {
		most = max(most, reach(p))
	}
	for _, p := range all {
		left, right := -1., 0. // no difference is below left, but its interval may be
		if own := reach(p); own > 0 && much*own < most {
			p.Plot.Title.Text = strings.Replace(p.Plot.Title.Text, ": ", ":\n", 1) + ", other scale"
			left, right = -own, own
		} else {
			p.SharedAxes = shared
		}
		const share, top = .05, .75 // share of the axis beside the data; top is for the mean of the first row
		data := chart.AxesOf(p.Plot)
		left, right = min(data.Xmin, left), max(data.Xmax, right)
		p.Range(left-share*(right-left), right+share*(right-left), .5-float64(rows), top)
	}
	return f
}

// drawMaps adds a row of panels for each difference, with a column for each problem, and sets the
// height of the figure. The function draw draws the rows of a map into a panel. The result is the
// largest number of rows in a panel.
func drawMaps(f *Figure, r *manyhyper.MapResult, draw func(p *Panel, rows []mapRow, d mapDifference)) (most int) {
	for _, d := range mapDifferences {
		var panels []*Panel
		for _, problem := range manyhyper.MapProblems {
			p, rows := NewPanel(d.name+", "+problem, problem+": "+d.title, d.axis, ""), mapRows(r, problem, d)
			draw(p, rows, d)
			panels, most = append(panels, p), max(most, len(rows))
		}
		f.Panels = append(f.Panels, panels)
	}
	const rowHeight, around = 15, 68 // in points; around is the height of a panel's title and labels
	f.Height = vg.Length(len(f.Panels) * (around + rowHeight*most))
	return most
}

// mapLabels are formats of the labels of rows, in the order of the factors.
var mapLabels = []string{"%g examples", "%g hyperparameters", "splits fit %g of rows", "noise %g"}

// A mapRow has all cells with one value of a factor, in the order of their differences. An empty row
// separates two factors.
type mapRow struct {
	label  string
	mean   experiment.Estimate
	cells  []manyhyper.MapCell
	counts [3]int // of cells that are clearly better, not clear and clearly worse
}

func mapRows(r *manyhyper.MapResult, problem string, d mapDifference) (rows []mapRow) {
	cells := slices.SortedStableFunc(slices.Values(r.CellsOf(problem)), func(a, b manyhyper.MapCell) int { return cmp.Compare(d.ofCell(a).Mean, d.ofCell(b).Mean) })
	for factor := range manyhyper.Factors {
		if factor > 0 {
			rows = append(rows, mapRow{})
		}
		for _, e := range r.Effects {
			if e.Problem != problem || e.Factor != factor {
				continue
			}
			row := mapRow{label: fmt.Sprintf(mapLabels[factor], e.Level), mean: d.ofEffect(e)}
			row.cells = slices.DeleteFunc(slices.Clone(cells), func(c manyhyper.MapCell) bool {
				return []float64{float64(c.Train), float64(c.Hyperparameters), c.Share, c.Noise}[factor] != e.Level
			})
			for _, c := range row.cells {
				row.counts[1+d.ofCell(c).Sign()]++
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// drawMap draws a mark for each cell of the rows, and the mean of each row.
func drawMap(p *Panel, rows []mapRow, d mapDifference) {
	faint := func(c color.NRGBA) color.NRGBA { c.A = 110; return c }
	marks := []struct {
		name  string
		style Style
		x, y  []float64
	}{
		{"cell, clearly better", Style{Color: faint(Blue), GlyphRadius: 2}, nil, nil},
		{"cell, not clear", Style{Color: Grey, Glyph: draw.RingGlyph{}, GlyphRadius: 2}, nil, nil},
		{"cell, clearly worse", Style{Color: Vermilion, Glyph: draw.CrossGlyph{}, GlyphRadius: 2.5}, nil, nil},
	}
	var labels []string
	var at []float64
	var means []experiment.Estimate
	for k, row := range rows {
		if row.label == "" {
			labels, at, means = append(labels, ""), append(at, math.NaN()), append(means, experiment.Estimate{})
			continue
		}
		y := 0 - float64(k) // not −0
		labels = append(labels, fmt.Sprintf("%s (%d : %d)", row.label, row.counts[0], row.counts[2]))
		at, means = append(at, y+meanAbove), append(means, row.mean)
		for i, c := range row.cells {
			m := &marks[1+d.ofCell(c).Sign()]
			m.x, m.y = append(m.x, d.ofCell(c).Mean), append(m.y, y+lane(i, len(row.cells)))
		}
	}
	mean, low, high := meansAndEnds(means)
	for _, m := range marks {
		p.Scatter(m.name, m.x, m.y, m.style)
	}
	p.Strokes("95 % interval of the mean", low, at, high, at, Style{Color: Black, Width: 2})
	p.Scatter("mean of the cells", mean, at, Style{Color: Black, Glyph: chart.TickGlyph{}, GlyphRadius: 3.5})
	p.VLine("no difference", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
	p.Rows(vg.Length(math.Inf(1)), labels)
}

// The mean of a row is meanAbove above the row, so that it hides no cell.
const meanAbove = .42

// lane returns the offset of a cell in its row. If there are many cells, neighbours are in different
// lanes.
func lane(i, cells int) float64 {
	const few, lanes, apart = 8, 5, .1
	if cells <= few {
		return 0
	}
	return apart * float64(i%lanes-lanes/2)
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

// KeptGradientMap counts the cells of the map that is kept with the sources, in the rows of
// [GradientMap]. The map has too many cells for a mark of each.
func KeptGradientMap() *Figure {
	r := manyhyper.KeptMap()
	f := &Figure{Name: "gradient_map_kept", Width: 11 * vg.Inch, Legend: LegendBelow,
		Caption: fmt.Sprintf("Counts of the cells of the kept map, on %d data sets each (%d of weights), in the rows of the map above. A label ends with the mean difference.", r.Params.DataSets, r.Params.RingsDataSets)}
	drawMaps(f, r, drawMapCounts)
	return f
}

// drawMapCounts draws the counts of cells as a bar for each row.
func drawMapCounts(p *Panel, rows []mapRow, _ mapDifference) {
	p.Grid().Plot.X.Label.Text = "cells"
	labels, y := make([]string, len(rows)), make([]float64, len(rows))
	from, most := make([]float64, len(rows)), 0.
	for k, row := range rows {
		if y[k] = 0 - float64(k); row.label != "" {
			labels[k] = fmt.Sprintf("%s: %s", row.label, chart.Typeset(fmt.Sprintf("%+.2f", row.mean.Mean)))
		}
	}
	for kind, c := range []struct {
		name  string
		color color.NRGBA
	}{{"clearly better", Blue}, {"not clear", color.NRGBA{215, 215, 215, 255}}, {"clearly worse", Vermilion}} {
		to := make([]float64, len(rows))
		for k, row := range rows {
			if to[k] = from[k] + float64(row.counts[kind]); to[k] == from[k] {
				to[k] = math.NaN() // no stroke
			}
		}
		p.Strokes(c.name, from, y, to, y, Style{Color: c.color, Width: 8})
		for k, row := range rows {
			from[k] += float64(row.counts[kind])
			most = max(most, from[k])
		}
	}
	p.Rows(vg.Length(math.Inf(1)), labels)
	p.Range(0, most, .6-float64(len(rows)), .6)
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
