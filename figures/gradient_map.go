package figures

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/manyhyper"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
)

// A mapDifference is one of the two differences of test losses that a map measures.
type mapDifference struct {
	name, title, better string
	ofCell              func(c manyhyper.MapCell) experiment.Estimate
	ofEffect            func(e manyhyper.MapEffect) experiment.Estimate
}

var mapDifferences = []mapDifference{
	{"CV gradient minus training gradient", "CV gradient against training gradient", "CV gradient better", func(c manyhyper.MapCell) experiment.Estimate { return c.CVLessTraining }, func(e manyhyper.MapEffect) experiment.Estimate { return e.CVLessTraining }},
	{"many hyperparameters minus one", "many hyperparameters against one", "many better", func(c manyhyper.MapCell) experiment.Estimate { return c.ManyLessOne }, func(e manyhyper.MapEffect) experiment.Estimate { return e.ManyLessOne }},
}

// A mapKind is a kind of cells.
type mapKind struct {
	name string
	mark Style // of a cell
	bar  color.NRGBA
}

// mapKinds are the kinds in the order of the signs of their differences.
var mapKinds = []mapKind{
	{"better", Style{Color: Blue, GlyphRadius: 2.2}, Blue},
	{"unclear", Style{Color: Grey, Glyph: chart.OpenGlyph{}, GlyphRadius: 2.2}, color.NRGBA{215, 215, 215, 255}},
	{"worse", Style{Color: Vermilion, Glyph: chart.HeavyCross{}, GlyphRadius: 2.7}, Vermilion},
}

// These are the names and styles of the means of the rows.
const mapMean, mapInterval = "mean of the cells", "95 % interval of the mean"

var (
	mapMeanStyle     = Style{Color: Black, Glyph: chart.TickGlyph{}, GlyphRadius: 3}
	mapIntervalStyle = Style{Color: chart.Pale, Width: 4.5}
)

// mapWidth is the width of the figures of both maps.
const mapWidth = 9 * vg.Inch

// GradientMap shows the two differences of test losses for each value of each factor: in all cells
// with this value, and on average. Each problem has a row of panels. The panels have the same axes,
// but a panel whose differences are much smaller than in the others has an x axis of its own.
func GradientMap(r *manyhyper.MapResult) *Figure {
	f := &Figure{Name: "gradient_map", Width: mapWidth, Legend: LegendBelow,
		Caption: fmt.Sprintf("Left of 0 the method named first in the title has the lower test loss. A panel has the same cells, combinations of the factors' values, under each factor. An open circle (unclear): the 95 %% interval of the cell's difference, over %d data sets (%d of weights), contains 0.", r.Params.DataSets, r.Params.RingsDataSets)}
	for _, k := range mapKinds {
		f.Entries = append(f.Entries, LegendEntry{Name: "cell, " + k.name, Style: k.mark})
	}
	f.Entries = append(f.Entries, LegendEntry{Name: mapMean, Style: mapMeanStyle}, LegendEntry{Name: mapInterval, Style: mapIntervalStyle})
	var all mapReach
	for _, problem := range manyhyper.MapProblems {
		for _, d := range mapDifferences {
			all.include(reachOf(r, problem, d))
		}
	}
	const apart = 2 // room for the cells and the mean of a row
	reaches := map[*Panel]mapReach{}
	rows := drawMaps(f, r, apart, func(p *Panel, problem string, rows []mapRow, d mapDifference) {
		reach := all
		const much = 5
		if own := reachOf(r, problem, d); own.left < own.right && much*(own.right-own.left) < all.right-all.left {
			reach = own
			p.Plot.Title.Text = problem + " (other scale)\n" + d.title
		}
		reaches[p] = reach.widened()
		p.Grid().Plot.X.Label.Text = fmt.Sprintf("difference / larger test loss\n← %s   ·   worse →", d.better)
		drawMap(p, rows, d, reaches[p].right-reaches[p].left)
	})
	for p, reach := range reaches {
		p.Range(reach.left, reach.right, .4-float64(rows), .5)
	}
	return f
}

// A mapReach has the ends of an axis. The axis contains 0.
type mapReach struct{ left, right float64 }

func (a *mapReach) include(b mapReach) {
	for _, v := range []float64{b.left, b.right} {
		if chart.Drawable(v) {
			a.left, a.right = min(a.left, v), max(a.right, v)
		}
	}
}

// widened adds a margin at both ends.
func (a mapReach) widened() mapReach {
	const share, least = .04, .001
	beside := max(share*(a.right-a.left), least)
	return mapReach{a.left - beside, a.right + beside}
}

// reachOf returns the reach of a panel: the differences of its cells, and the intervals of its
// means.
func reachOf(r *manyhyper.MapResult, problem string, d mapDifference) (reach mapReach) {
	for _, c := range r.CellsOf(problem) {
		v := d.ofCell(c).Mean
		reach.include(mapReach{v, v})
	}
	for _, e := range r.Effects {
		if mean := d.ofEffect(e); e.Problem == problem {
			reach.include(mapReach{mean.Mean - mean.Margin, mean.Mean + mean.Margin})
		}
	}
	return reach
}

// drawMaps adds a row of panels for each problem, with a column for each difference, and sets the
// height of the figure. The function draw draws the rows of a map into a panel. The result is the
// largest number of rows in a panel. The argument apart is the argument of mapRows.
func drawMaps(f *Figure, r *manyhyper.MapResult, apart int, draw func(p *Panel, problem string, rows []mapRow, d mapDifference)) (most int) {
	for _, problem := range manyhyper.MapProblems {
		var panels []*Panel
		for _, d := range mapDifferences {
			p, rows := NewPanel(d.name+", "+problem, problem+"\n"+d.title, "", ""), mapRows(r, problem, d, apart)
			draw(p, problem, rows, d)
			panels, most = append(panels, p), max(most, len(rows))
		}
		f.Panels = append(f.Panels, panels)
	}
	const around, rowHeight = 78, 12 // height of a panel's title and labels, and of a row, in points
	f.Height = vg.Length(len(f.Panels)) * vg.Length(around+rowHeight*most)
	return most
}

// mapFactors are the names of the factors.
var mapFactors = []string{"examples", "hyperparameters", "share of rows fitted", "noise"}

// A mapRow has all cells with one value of a factor, in the order of their differences. Some
// rows have no cells: the head of a factor, and empty rows without a label.
type mapRow struct {
	label  string
	isHead bool
	mean   experiment.Estimate
	cells  []manyhyper.MapCell
	counts [3]int // of the cells of each kind
}

// mapRows returns the rows of a panel. Each factor has its head directly above its first value. The
// distance of two values of a factor is apart, in rows, and between two factors it is greater by one.
func mapRows(r *manyhyper.MapResult, problem string, d mapDifference, apart int) (rows []mapRow) {
	cells := slices.SortedStableFunc(slices.Values(r.CellsOf(problem)), func(a, b manyhyper.MapCell) int { return cmp.Compare(d.ofCell(a).Mean, d.ofCell(b).Mean) })
	for factor := range manyhyper.Factors {
		if factor > 0 {
			rows = append(rows, make([]mapRow, apart-1)...)
		}
		rows = append(rows, mapRow{label: mapFactors[factor], isHead: true})
		for _, e := range r.Effects {
			if e.Problem != problem || e.Factor != factor {
				continue
			}
			if !rows[len(rows)-1].isHead {
				rows = append(rows, make([]mapRow, apart-1)...)
			}
			row := mapRow{label: fmt.Sprint(e.Level), mean: d.ofEffect(e)}
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

// drawMap draws a mark for each cell, and below the marks of each row their mean. The argument length
// is the length of the x axis.
func drawMap(p *Panel, rows []mapRow, d mapDifference, length float64) {
	const (
		near         = .026     // a share of the axis, about the width of a mark
		above, below = .22, .35 // distances of the cells and of their mean from the middle of the row
	)
	labels, at, means := make([]string, len(rows)), make([]float64, len(rows)), make([]experiment.Estimate, len(rows))
	var x, y [3][]float64
	for k, row := range rows {
		labels[k], at[k], means[k] = row.label, -below-float64(k), row.mean // the place of the mean
		if row.label == "" || row.isHead {
			at[k] = math.NaN()
		}
		values := chart.Mapped(row.cells, func(c manyhyper.MapCell) float64 { return d.ofCell(c).Mean })
		for i, offset := range laneOffsets(values, near*length) {
			kind := 1 + d.ofCell(row.cells[i]).Sign()
			x[kind], y[kind] = append(x[kind], values[i]), append(y[kind], above-float64(k)+offset)
		}
	}
	p.VLine("no difference", 0, Style{Color: Grey, Width: 1, Unlisted: true})
	mean, low, high := meansAndEnds(means)
	p.Strokes(mapInterval, low, at, high, at, mapIntervalStyle)
	p.Scatter(mapMean, mean, at, mapMeanStyle)
	for kind, k := range mapKinds {
		p.Scatter("cell, "+k.name, x[kind], y[kind], k.mark)
	}
	p.Rows(vg.Length(math.Inf(1)), labels, headsOf(rows)...)
}

// headsOf returns the numbers of the heads.
func headsOf(rows []mapRow) (heads []int) {
	for k, row := range rows {
		if row.isHead {
			heads = append(heads, k)
		}
	}
	return heads
}

// laneOffsets returns the height of each of the ascending values above the lowest lane of its row, in
// rows. Values that are less than near apart are in different lanes. All other values are in the
// lowest lane.
func laneOffsets(values []float64, near float64) (offsets []float64) {
	const apart, most = .4, .66 // distance of two lanes, and largest distance of the outer lanes
	for from, to := 0, 0; from < len(values); from = to {
		var last []float64 // value in each lane
		var lanes []int
		for to = from; to == from || to < len(values) && values[to]-values[to-1] < near; to++ {
			lane := slices.IndexFunc(last, func(v float64) bool { return values[to]-v >= near })
			if lane < 0 {
				lane, last = len(last), append(last, 0)
			}
			last[lane], lanes = values[to], append(lanes, lane)
		}
		for _, lane := range lanes {
			offsets = append(offsets, float64(lane)*min(apart, most/float64(max(len(last)-1, 1))))
		}
	}
	return offsets
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

// KeptGradientMap shows the shares of the cells that are better, unclear and worse, for the map that
// is kept with the sources. It has the rows of [GradientMap], because the map has too many cells for
// a mark of each.
func KeptGradientMap() *Figure {
	r := manyhyper.KeptMap()
	f := &Figure{Name: "gradient_map_kept", Width: mapWidth, Legend: LegendBelow,
		Caption: fmt.Sprintf("A finer grid of values: %d cells a panel, %d data sets each (%d of weights). Better: the first in the title clearly has the lower test loss, as above. Numbers: mean of difference / larger test loss, with the number of cells; negative favours it.", len(r.CellsOf(manyhyper.MapOfPenalties)), r.Params.DataSets, r.Params.RingsDataSets)}
	rows := drawMaps(f, r, 1, drawMapShares)
	for _, p := range slices.Concat(f.Panels...) {
		p.Range(0, 100, .4-float64(rows), .6)
	}
	return f
}

// drawMapShares draws a bar for each row, with a part for each kind of cells. The head of the texts
// at their right is beside the head of the first factor.
func drawMapShares(p *Panel, _ string, rows []mapRow, _ mapDifference) {
	p.Plot.X.Label.Text = "share of the row's cells (%)"
	labels, ends := make([]string, len(rows)), make([]LegendEntry, len(rows))
	y, from := make([]float64, len(rows)), make([]float64, len(rows))
	for k, row := range rows {
		y[k], labels[k] = 0-float64(k), row.label // not −0
		if row.label != "" && !row.isHead {
			ends[k].Name = fmt.Sprintf("%s (%d)", chart.Typeset(fmt.Sprintf("%+.3f", row.mean.Mean)), len(row.cells))
		}
	}
	ends[0].Name = "mean (cells)"
	for kind, c := range mapKinds {
		to := make([]float64, len(rows))
		for k, row := range rows {
			if to[k] = from[k] + 100*float64(row.counts[kind])/float64(len(row.cells)); to[k] == from[k] {
				to[k] = math.NaN() // no stroke
			}
		}
		p.Strokes(c.name, from, y, to, y, Style{Color: c.bar, Width: 9})
		for k, v := range to {
			if !math.IsNaN(v) {
				from[k] = v
			}
		}
	}
	p.Rows(vg.Length(math.Inf(1)), labels, headsOf(rows)...)
	p.RowEnds(vg.Length(math.Inf(1)), ends)
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
		for _, d := range mapDifferences {
			helps, harms := manyhyper.CountSigns(r.Cells[first:last], d.ofCell)
			var sum float64
			for _, c := range r.Cells[first:last] {
				sum += d.ofCell(c).Mean
			}
			row = append(row, helps, harms, Number{Value: sum / float64(last-first), Digits: 3})
		}
		t.Rows = append(t.Rows, row)
		first = last
	}
	return t
}
