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

func init() {
	register(func(r *manyhyper.LeversResult) []Output {
		return []Output{ManyHyperparametersCurves(r), ManyHyperparametersGains(r), ManyHyperparametersTable(r)}
	})
	register(func(r *manyhyper.AdditiveResult) []Output {
		return []Output{AdditiveTerms(r), AdditiveTable(r)}
	})
	register(func(r *manyhyper.MapResult) []Output {
		return []Output{GradientMap(r), GradientMapTable(r)}
	})
}

// searchNames returns the names of the searches in words.
func searchNames(p manyhyper.LeversParams) map[string]string {
	return map[string]string{
		manyhyper.SearchFolds:  fmt.Sprintf("%d folds", p.Folds),
		manyhyper.SearchHalves: fmt.Sprintf("splits of share %.2g", p.HalfP),
		manyhyper.SearchTuner:  "tuner",
		manyhyper.SearchNet:    "tuner, elastic net",
	}
}

// ManyHyperparametersCurves shows the test loss and the CV loss as functions of the number of
// hyperparameters. Each loss is divided by the loss with a single hyperparameter of the same kind.
func ManyHyperparametersCurves(r *manyhyper.LeversResult) *Figure {
	f := &Figure{Name: "many_hyperparameters", Width: 11 * vg.Inch, Height: 5.6 * vg.Inch, Legend: LegendBelow, Panels: make([][]*Panel, 2),
		Caption: fmt.Sprintf("Losses, divided by the loss with one hyperparameter of the kind: test losses (top) by the one on folds, CV losses (bottom) by the one on the same splits. Means over %d data sets, with 95 %% intervals of paired differences. Widths begin at two, because a ridge penalty is searched for, too. The tuner also chooses splits and features.", r.Params.DataSets)}
	for _, l := range r.Problems {
		for k, loss := range []struct {
			name  string
			ratio func(row manyhyper.LeverRow) experiment.Estimate
		}{{"test loss", l.Ratio}, {"CV loss", l.CVRatio}} {
			title := l.Name
			if k > 0 {
				title = ""
			}
			p := NewPanel(l.Name+", "+loss.name, title, "hyperparameters", loss.name+" / loss with one").Grid().LogAxes(true, false)
			p.HLine("one hyperparameter", 1, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
			const apart = .015 // so that the marks of two searches do not cover each other
			for i, s := range []struct {
				search, name string
				style        Style
			}{
				{manyhyper.SearchFolds, fmt.Sprintf("%d folds", r.Params.Folds), Style{Color: Blue}},
				{manyhyper.SearchHalves, fmt.Sprintf("%d splits that fit %.2g of the rows", r.Params.Halves, r.Params.HalfP), Style{Color: Vermilion, Dash: []vg.Length{6, 3}, Glyph: draw.PyramidGlyph{}, GlyphRadius: 3.5}},
			} {
				var x []float64
				var y []experiment.Estimate
				for _, row := range l.Rows {
					if row.Search == s.search {
						x, y = append(x, math.Log10(float64(row.Hyperparameters))+float64(2*i-1)*apart), append(y, loss.ratio(row))
					}
				}
				mean, low, high := meansAndEnds(y)
				p.Measured(s.name, x, mean, low, high, s.style)
			}
			if row, ok := l.Find(manyhyper.SearchTuner); ok && k == 0 {
				mean, low, high := meansAndEnds([]experiment.Estimate{loss.ratio(row)})
				x := []float64{math.Log10(float64(row.Hyperparameters)) + 3*apart}
				p.Strokes("tuner, 95 % interval", x, low, x, high, Style{Color: Black, Width: 1, Unlisted: true})
				p.Scatter("tuner", x, mean, Style{Color: Black, Glyph: draw.BoxGlyph{}, GlyphRadius: 3})
			}
			f.Panels[k] = append(f.Panels[k], p)
		}
	}
	shareScales(f.Panels)
	return f
}

// shareScales gives all panels the same x axis, and at most two y axes. If the losses of some
// columns vary much less than the most variable ones, these columns have a y axis of their own. The
// titles of the smaller group of columns have the words "other scale".
func shareScales(panels [][]*Panel) {
	var columns []chart.Box
	for j := range panels[0] {
		columns = append(columns, panels[0][j].Axes().Union(panels[1][j].Axes()))
	}
	var all chart.Box
	var groups [2][]int // columns that vary little, and much
	for j, c := range columns {
		if j == 0 {
			all = c
		}
		all = all.Union(c)
	}
	for j, c := range columns {
		const little = .7
		group := 0
		if c.Ymax-c.Ymin > little*(all.Ymax-all.Ymin) {
			group = 1
		}
		groups[group] = append(groups[group], j)
	}
	for k, group := range groups {
		for _, j := range group {
			y := columns[group[0]]
			for _, other := range group {
				y = y.Union(columns[other])
			}
			for _, row := range panels {
				row[j].Range(all.Xmin, all.Xmax, y.Ymin, y.Ymax)
			}
			if others := len(groups[1-k]); others > len(group) || others == len(group) && k == 1 {
				panels[0][j].Plot.Title.Text += ", other scale"
			}
		}
	}
}

// ManyHyperparametersGains lists how the remedies against over-fitting change the test loss: each
// remedy alone, and all remedies together.
func ManyHyperparametersGains(r *manyhyper.LeversResult) *Table {
	t := &Table{
		Name: "many_hyperparameters_gains", Caption: "Test losses as multiples of the test loss with one hyperparameter of the kind on folds",
		Header: []string{"Problem", "Test loss of one", "Test loss of a constant", "Many", "Many, folds", "One, other splits", "Many, other splits", "Many, tuner", "Lowest of all searches", "with", "CV loss of many, folds"},
		Note:   fmt.Sprintf("Means over %d data sets, with 95 %% confidence intervals of the paired differences. Many are the most hyperparameters of the kind. The other splits fit the share %.2g of the rows. The last column is a multiple of the CV loss of one on the same folds.", r.Params.DataSets, r.Params.HalfP),
	}
	for _, l := range r.Problems {
		var otherOne, lowest manyhyper.LeverRow
		for _, row := range l.Rows {
			if row.Search == manyhyper.SearchHalves && otherOne.Search == "" {
				otherOne = row
			}
			if lowest.Search == "" || row.Test.Mean < lowest.Test.Mean {
				lowest = row
			}
		}
		folds, _ := l.Find(manyhyper.SearchFolds)
		other, _ := l.Find(manyhyper.SearchHalves)
		tuner, _ := l.Find(manyhyper.SearchTuner)
		cells := []any{l.Name, Number{Value: l.Rows[0].Test.Mean, Digits: 3}, Number{Value: l.Constant.Mean, Digits: 3}, folds.Hyperparameters}
		for _, row := range []manyhyper.LeverRow{folds, otherOne, other, tuner, lowest} {
			cells = append(cells, chart.Estimated(l.Ratio(row), 2))
		}
		t.Rows = append(t.Rows, append(cells, lowest.Hyperparameters, chart.Estimated(l.CVRatio(folds), 2)))
	}
	return t
}

// ManyHyperparametersTable lists all searches.
func ManyHyperparametersTable(r *manyhyper.LeversResult) *Table {
	t := &Table{
		Name: "many_hyperparameters_searches", Caption: fmt.Sprintf("One hyperparameter of a kind against several, over %d data sets of each problem", r.Params.DataSets),
		Header: []string{"Problem", "Splits", "Hyperparameters", "Evaluations", "Fits", "CV loss", "Test loss", "Test loss minus one's", "Lower than one's", "Test loss of a constant", "Variance of the noise"},
		Brief:  []string{"Problem", "Splits", "Hyperparameters", "Fits", "CV loss", "Test loss", "Test loss minus one's", "Lower than one's"},
		Note: fmt.Sprintf("Means with 95 %% confidence intervals of mean squared errors. The difference is paired, from the first row of the problem; a tie counts half. A search of several hyperparameters begins where the search of one ended, and its fits include that search's. "+
			"Folds and splits are fitted at once, so that the time grows more slowly than the fits. A tuner tries several starts, looks for widths on splits of its own, and lets features leave; its fits are not counted. Training examples: %d for the widths, %d for the penalties, %d for the smooth terms.",
			r.Params.Widths.Train, r.Params.Bands.Train, r.Params.Smooths.Train),
	}
	names := searchNames(r.Params)
	for _, l := range r.Problems {
		for _, row := range l.Rows {
			var fits any
			if row.Fits.N > 0 {
				fits = Number{Value: row.Fits.Mean, Digits: 0}
			}
			t.Rows = append(t.Rows, []any{l.Name, names[row.Search], row.Hyperparameters, Number{Value: row.Evaluations.Mean, Digits: 0}, fits, chart.Estimated(row.CV, 3), chart.Estimated(row.Test, 3),
				chart.Estimated(row.TestLessOne.Difference, 3), fmt.Sprintf("%.0f %%", 100*row.TestLessOne.Wins), chart.Estimated(l.Constant, 3), Number{Value: l.Noise, Digits: 3}})
		}
	}
	return t
}

// AdditiveTerms shows the known functions with the fits of both additive models, and the fits minus
// the functions.
func AdditiveTerms(r *manyhyper.AdditiveResult) *Figure {
	f := &Figure{Name: "additive_terms", Width: 11 * vg.Inch, Height: 5.6 * vg.Inch, Legend: LegendBelow, Panels: make([][]*Panel, 2),
		Caption: fmt.Sprintf("Top: known functions of one feature each, minus their means, whose sum makes the labels, and their estimates by additive models. Bottom: estimates minus functions. Lines are means over %d data sets of %d examples; the titles have root mean square (RMS) errors of single estimates.", r.Params.DataSets, r.Params.Smooths.Train)}
	low, high := 0., 0. // of all errors
	for j, term := range r.Terms {
		x := fmt.Sprintf("x%s", chart.Subscripted(fmt.Sprint(j+1)))
		above, below := NewPanel(term.Name, term.Name, x, "effect").Grid(), NewPanel(term.Name+", error", "", x, "estimate minus truth").Grid()
		var rms [2]float64
		for k, s := range []Style{{Color: Vermilion, Width: 1.5, Dash: []vg.Length{6, 3}}, {Color: Blue, Width: 1.5}} {
			name := []string{"one penalty", "a penalty for each term"}[k]
			mean, from, to := meansAndEnds(term.Fits[k])
			above.Line(name, term.Places, mean, s)
			rms[k] = termError(term, k)
			for _, v := range [][]float64{from, to, mean} {
				for i := range v {
					v[i] -= chart.Nth(term.Truth, i)
				}
			}
			below.Band(name, term.Places, from, to, s)
			below.Line(name, term.Places, mean, s)
		}
		below.Plot.Title.Text = fmt.Sprintf("RMS error: one %#.2g, each %#.2g", rms[0], rms[1])
		truth := Style{Color: Black, Width: 2, Dash: []vg.Length{1, 3}}
		above.Line("truth", term.Places, term.Truth, truth)
		below.HLine("truth", 0, truth)
		f.Panels[0], f.Panels[1] = append(f.Panels[0], above), append(f.Panels[1], below)
		low, high = min(low, below.Axes().Ymin), max(high, below.Axes().Ymax)
	}
	for _, p := range f.Panels[1] { // errors have one scale
		p.Range(p.Axes().Xmin, p.Axes().Xmax, low, high)
	}
	return f
}

// termError returns the root mean square error of all single estimates of a function, at all places.
// Fit k of the term is meant. The mean square of a place is the square of the mean error plus the
// variance.
func termError(term manyhyper.AdditiveTerm, k int) float64 {
	var sum float64
	for i, e := range term.Fits[k] {
		bias := e.Mean - chart.Nth(term.Truth, i)
		sum += bias * bias
		if e.Repeated() {
			n := float64(e.N)
			sum += math.Pow(experiment.Deviation(e), 2) * (n - 1) / n
		}
	}
	return math.Sqrt(sum / float64(len(term.Fits[k])))
}

// AdditiveTable compares the models on known functions, and on two data sets that the project
// contains.
func AdditiveTable(r *manyhyper.AdditiveResult) *Table {
	t := &Table{
		Name: "additive", Caption: fmt.Sprintf("Additive models beside others, tuned by the same calls, over %d data sets of each kind", r.Params.DataSets),
		Header: []string{"Data", "Model", "Hyperparameters", "Evaluations", "CV loss", "Test loss", "Minus one of the kind", "Minus linear", "Test loss of a constant"},
		Brief:  []string{"Data", "Model", "Hyperparameters", "Evaluations", "CV loss", "Test loss", "Minus one of the kind", "Minus linear"},
		Note:   "Mean squared errors: means with 95 % confidence intervals, and paired differences. One of the kind is the model with one penalty, or with one width.",
	}
	for _, s := range r.Sets {
		name := fmt.Sprintf("%s, %d rows", s.Name, s.Train)
		digits := 3
		if s.Constant.Mean > 1000 {
			digits = 0
		}
		for _, m := range s.Models {
			var lessOne any
			if m.TestLessOne.Difference.N > 0 {
				lessOne = chart.Estimated(m.TestLessOne.Difference, digits)
			}
			t.Rows = append(t.Rows, []any{name, m.Name, m.Hyperparameters, Number{Value: m.Evaluations.Mean, Digits: 0}, chart.Estimated(m.CV, digits), chart.Estimated(m.Test, digits),
				lessOne, chart.Estimated(m.TestLessLinear.Difference, digits), chart.Estimated(s.Constant, digits)})
		}
	}
	return t
}

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
		Caption: fmt.Sprintf("Test loss with many hyperparameters by the CV gradient, minus the test loss by the training gradient (top) or with one hyperparameter (bottom), as a share of the larger loss. A row has all cells with this value of a factor, so each cell occurs once in every block of rows. A cell is clear if its 95 %% interval, over %d data sets (%d of weights), excludes 0. Intervals of means are over data sets, not cells. Brackets count the cells that are clearly better and worse.", r.Params.DataSets, r.Params.RingsDataSets)}
	rows := 0
	for _, d := range mapDifferences {
		var panels []*Panel
		for _, problem := range manyhyper.MapProblems {
			p := NewPanel(d.name+", "+problem, problem+": "+d.title, d.axis, "")
			rows = max(rows, drawMap(p, r, problem, d))
			panels = append(panels, p)
		}
		f.Panels = append(f.Panels, panels)
	}
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
	const rowHeight, around = 15, 68 // in points; around is the height of a panel's title and labels
	f.Height = vg.Length(len(f.Panels)) * vg.Length(around+rowHeight*rows)
	return f
}

// mapLabels are formats of the labels of rows, in the order of the factors.
var mapLabels = []string{"%g examples", "%g hyperparameters", "splits fit %g of rows", "noise %g"}

// drawMap draws a difference for all values of all factors of a problem, each in a row. An empty row
// separates two factors. It returns the number of rows.
func drawMap(p *Panel, r *manyhyper.MapResult, problem string, d mapDifference) (rows int) {
	cells := slices.SortedStableFunc(slices.Values(r.CellsOf(problem)), func(a, b manyhyper.MapCell) int { return cmp.Compare(d.ofCell(a).Mean, d.ofCell(b).Mean) })
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
	for factor := range manyhyper.Factors {
		if factor > 0 {
			labels, at, means = append(labels, ""), append(at, math.NaN()), append(means, experiment.Estimate{})
		}
		for _, e := range r.Effects {
			if e.Problem != problem || e.Factor != factor {
				continue
			}
			y := 0 - float64(len(labels)) // not −0
			at, means = append(at, y+meanAbove), append(means, d.ofEffect(e))
			in := slices.DeleteFunc(slices.Clone(cells), func(c manyhyper.MapCell) bool {
				return []float64{float64(c.Train), float64(c.Hyperparameters), c.Share, c.Noise}[factor] != e.Level
			})
			var counts [3]int // of cells that are clearly better, not clear and clearly worse
			for i, c := range in {
				kind := 1 + d.ofCell(c).Sign()
				m := &marks[kind]
				m.x, m.y = append(m.x, d.ofCell(c).Mean), append(m.y, y+lane(i, len(in)))
				counts[kind]++
			}
			labels = append(labels, fmt.Sprintf(mapLabels[factor]+" (%d : %d)", e.Level, counts[0], counts[2]))
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
	return len(labels)
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

// KeptGradientMap is [GradientMap] of the map that is kept with the sources.
func KeptGradientMap() *Figure {
	r := manyhyper.KeptMap()
	f := GradientMap(r)
	f.Name = "gradient_map_kept"
	f.Caption = fmt.Sprintf("The kept map, drawn like the map above, on %d data sets a cell (%d of weights). The height of a mark within its row has no meaning.", r.Params.DataSets, r.Params.RingsDataSets)
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
