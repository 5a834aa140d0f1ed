package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment/mydata"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func init() {
	register(func(r *mydata.Result) []Output {
		return slices.Concat([]Output{MyDataColumns(r)}, MyDataTuning(r), MyDataSearch(r), MyDataModel(r))
	})
}

// shownModels is the number of models, one for each class, that get panels of their own.
// shownCoefficients is the number of features in one panel.
const shownModels, shownCoefficients = 4, 20

// full returns a name that a user gave, for a text or a table.
func full(name string) string { return cmp.Or(name, "(no name)") }

// named returns a name that a user gave as one line that is not too long for a label: of a long
// name the beginning.
func named(name string) string {
	name = full(strings.TrimSpace(chart.Pictured(strings.ReplaceAll(name, "\n", " "))))
	const widest, most = 12, 56 // in font sizes, and in letters, which may be narrow
	style := chart.KeyText()
	runes := []rune(name)
	if len(runes) <= most && style.Width(name) <= widest*style.Font.Size {
		return name
	}
	runes = runes[:min(len(runes), most)]
	for len(runes) > 0 && style.Width(string(runes)+"…") > widest*style.Font.Size {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// modelTitle returns the title of a model, with names as named or full has them: the target, or
// its class among several models.
func modelTitle(r *mydata.Result, m mydata.Model, name func(string) string) string {
	if len(r.Models) < 2 {
		return "target " + name(r.Target)
	}
	return name(m.Class) + " against the others"
}

// panelName is the name of a panel, which is another one for other data.
func panelName(r *mydata.Result, m mydata.Model, what string) string {
	return fmt.Sprintf("%s, %s, %s", named(r.Name), modelTitle(r, m, named), what)
}

// significant returns a number with that many significant digits.
func significant(v float64, digits int) Number {
	places := 0
	if v != 0 && chart.Drawable(v) {
		places = min(max(digits-1-int(math.Floor(math.Log10(math.Abs(v)))), 0), 6)
	}
	return Number{Value: v, Digits: places}
}

// MyDataColumns describes the columns of the table.
func MyDataColumns(r *mydata.Result) *Table {
	t := &Table{
		Name: "my_data_columns", Caption: fmt.Sprintf("%s: %d rows, target %s", r.Name, r.Rows, full(r.Target)),
		Header: []string{"Column", "Kind", "Values", "Rows without a value"},
	}
	for _, c := range r.Columns {
		kind, values := "numeric", fmt.Sprintf("%.4g to %.4g", c.Low, c.High)
		if !c.Numeric {
			kind, values = "categorical", names(c.Levels)
		}
		t.Rows = append(t.Rows, []any{full(c.Name), kind, values, c.Missing})
	}
	notes := []string{"The target is a number."}
	if len(r.Classes) > 0 {
		notes = []string{fmt.Sprintf("The target has the classes %s.", names(r.Classes))}
	}
	if r.Dropped > 0 {
		notes = append(notes, fmt.Sprintf("Rows left out for lack of a value: %d.", r.Dropped))
	}
	if r.Groups > 0 {
		notes = append(notes, fmt.Sprintf("The rows form %d groups, each of which stays together in all folds.", r.Groups))
	}
	for _, c := range r.Columns {
		if c.Counts {
			notes = append(notes, fmt.Sprintf("The column %s counts the rows: put it into Ignore unless it is a feature.", full(c.Name)))
		}
	}
	t.Note = strings.Join(notes, " ")
	return t
}

// names lists names, of many the first.
func names(all []string) string {
	const most = 8
	shown := chart.Mapped(all[:min(len(all), most)], full)
	if n := len(all) - most; n > 0 {
		shown = append(shown, fmt.Sprintf("… %d more", n))
	}
	return strings.Join(shown, ", ")
}

// MyDataTuning lists the results of tuning: the comparisons with the verdict, the
// hyperparameters between their bounds, and the losses.
func MyDataTuning(r *mydata.Result) []Output {
	hyper := &Table{
		Name: "my_data_hyperparameters", Caption: fmt.Sprintf("%s: hyperparameters of the %s", r.Name, cmp.Or(r.Learner, "learner")),
		Header: []string{"Model", "Hyperparameter", "Lower bound", "Default", "Tuned", "Upper bound"},
		Note:   "Bounds follow from the data, in units of standardised features. The search is in the logarithm; where a penalty may vanish, 0 is tried as well.",
	}
	losses := &Table{
		Name: "my_data_losses", Caption: fmt.Sprintf("%s: losses of the %s", r.Name, cmp.Or(r.Learner, "learner")),
		Header: []string{"Model", "Loss", "Tuned", "Standard error", "Default", "Constant prediction", "Tuned less default", "Tuned less constant"},
		Note:   "The CV loss is optimistic, because it was minimised. The nested risk repeats the whole search without each outer fold in turn; its 95 % intervals are in brackets.",
	}
	for _, m := range r.Models {
		title := modelTitle(r, m, full)
		for _, h := range m.Hyper {
			hyper.Rows = append(hyper.Rows, []any{title, h.Name, significant(h.Lower, 3), significant(h.Default, 3), significant(h.Tuned, 3), significant(h.Upper, 3)})
		}
		of := func(v float64) Number { return significant(v, 4) }
		losses.Rows = append(losses.Rows,
			[]any{title, "CV loss: " + m.LossName, of(m.Loss), of(m.StandardError), of(m.DefaultLoss), of(m.ConstantLoss), of(m.Loss - m.DefaultLoss), of(m.Loss - m.ConstantLoss)},
			[]any{title, "training loss", of(m.TrainLoss), nil, nil, nil, nil, nil})
		if risk := m.Risk; risk != nil {
			losses.Rows = append(losses.Rows, []any{title, "nested risk", risk.Tuned.String(), nil, risk.Default.String(), risk.Constant.String(), nil, nil})
		}
	}
	return []Output{myVerdicts(r), hyper, losses}
}

// myVerdicts lists the comparisons of each model, with the verdicts in the note.
func myVerdicts(r *mydata.Result) *Table {
	t := &Table{
		Name: "my_data_comparisons", Caption: fmt.Sprintf("%s: which model to use", r.Name),
		Header: []string{"Model", "Compared with", "Tuned less that, in % of the constant's risk", "From", "To", "Decided", "Smallest that would show"},
	}
	var notes []string
	for _, m := range r.Models {
		title := modelTitle(r, m, full)
		if len(r.Models) > 1 {
			notes = append(notes, title+":")
		}
		notes = append(notes, m.Verdict)
		if m.Risk == nil {
			continue
		}
		for _, c := range m.Risk.Comparisons {
			decided := "no"
			switch {
			case c.Better():
				decided = "better"
			case c.Worse():
				decided = "worse"
			}
			of := func(v float64) Number { return significant(v, 3) }
			t.Rows = append(t.Rows, []any{title, c.With, of(c.Percent.Mean), of(c.Percent.Low), of(c.Percent.High), decided, of(c.Shown)})
		}
	}
	t.Note = strings.Join(notes, " ") + " The intervals of a model hold together with the probability .95."
	return t
}

// MyDataSearch shows the CV loss around the tuned hyperparameters: along each one, and over
// both if a model has two.
func MyDataSearch(r *mydata.Result) []Output {
	models := r.Models[:min(len(r.Models), shownModels)]
	curves := &Figure{Name: "my_data_curves", Legend: LegendBelow,
		Caption: fmt.Sprintf("%s: the CV loss along each hyperparameter, with the others at their tuned values. The band reaches 1.96 standard errors to either side; it holds the uncertainty that the curve's points have in common, so it is wider than that of their differences. A tuned value of 0 is drawn at the left end.%s", r.Name, shownNote(r))}
	var panels []*Panel
	for _, m := range models {
		for _, c := range m.Curves {
			panels = append(panels, myCurve(r, m, c))
		}
	}
	var all []Output
	if panels != nil {
		const inRow = 2
		curves.Panels = slices.Collect(slices.Chunk(panels, inRow))
		curves.Width, curves.Height = vg.Length(min(len(panels), inRow))*4.4*vg.Inch, vg.Length(.4+3.1*float64(len(curves.Panels)))*vg.Inch
		all = append(all, curves)
	}
	for _, m := range models {
		if len(m.Axes) == 2 && len(m.Hyper) == 2 {
			all = append(all, mySurface(r, m))
			break // of one model alone there is a surface
		}
	}
	return all
}

// shownNote lists in a caption how many models have no panels.
func shownNote(r *mydata.Result) string {
	if n := len(r.Models) - shownModels; n > 0 {
		return fmt.Sprintf(" Not shown: %d more models.", n)
	}
	return ""
}

// myCurve is the CV loss along one hyperparameter.
func myCurve(r *mydata.Result, m mydata.Model, c mydata.Curve) *Panel {
	const reach, steep = 1.96, 8 // standard errors; the ratio of losses from which the axis is logarithmic
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range c.Loss {
		if chart.Drawable(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	log := low > 0 && high > steep*low
	y := func(v float64) float64 {
		if log {
			return math.Log10(v)
		}
		return v
	}
	p := NewPanel(panelName(r, m, "CV loss along "+c.Hyper), modelTitle(r, m, named), chart.Subscripted(c.Hyper), "CV loss: "+m.LossName).LogAxes(true, log).Grid()
	x := Log10s(c.At)
	var lower, upper, loss []float64
	for i, v := range c.Loss {
		by := reach * chart.Nth(c.Error, i)
		loss, lower, upper = append(loss, y(v)), append(lower, y(max(v-by, 0))), append(upper, y(v+by)) // no loss is below 0
	}
	p.Band("CV loss, 95 % interval", x, lower, upper, chart.CVStyle)
	p.Line("CV loss", x, loss, chart.CVStyle)
	p.HLine("constant prediction", y(m.ConstantLoss), Style{Color: Grey, Width: 1, Dash: []vg.Length{2, 2}})
	for _, h := range m.Hyper {
		if h.Name == c.Hyper {
			p.VLine("default", math.Log10(h.Default), Style{Color: Black, Width: 1.2, Dash: []vg.Length{1, 3}})
		}
	}
	p.Scatter("tuned", Log10s([]float64{max(c.Tuned, chart.Nth(c.At, 0))}), []float64{y(m.Loss)}, chart.EndStyle)
	return p
}

// mySurface is the search on the CV loss over two hyperparameters.
func mySurface(r *mydata.Result, m mydata.Model) *Figure {
	hyper := chart.Mapped(m.Hyper, func(h mydata.Hyper) string { return chart.Subscripted(h.Name) })
	p := lossPanel("CV loss over both hyperparameters", "CV loss", hyper, m.Axes, m.Surface)
	p.Name = panelName(r, m, "surface")
	at := func(start int) (points [][2]float64) {
		for _, s := range m.Path {
			if s.Start == start && len(s.Hyper) == 2 {
				points = append(points, [2]float64{s.Hyper[0], s.Hyper[1]})
			}
		}
		return points
	}
	starts := 0
	for _, s := range m.Path {
		starts = max(starts, s.Start)
	}
	onSurface(p.Scatter, "single evaluations", m.Axes, at(0), Style{Color: Vermillion, Glyph: draw.PlusGlyph{}, GlyphRadius: 3})
	for k := 1; k <= min(starts, shownStarts); k++ {
		path := at(k)
		onSurface(p.Line, fmt.Sprintf("descent %d", k), m.Axes, path, Style{Color: Black, Width: 1.2, Dash: chart.Dashes[k%len(chart.Dashes)]})
		onSurface(p.Scatter, fmt.Sprintf("evaluations of descent %d", k), m.Axes, path, Style{Color: Black, GlyphRadius: 1.4, Unlisted: true})
	}
	onSurface(p.Scatter, "default", m.Axes, [][2]float64{{m.Hyper[0].Default, m.Hyper[1].Default}}, chart.StartStyle)
	onSurface(p.Scatter, "tuned", m.Axes, [][2]float64{{m.Hyper[0].Tuned, m.Hyper[1].Tuned}}, chart.EndStyle)
	low, _, _ := lowest(m.Surface)
	return &Figure{Name: "my_data_surface", Width: 6.7 * vg.Inch, Height: 4.6 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: fmt.Sprintf("%s: the CV loss (lowest on the grid %.4g) with the evaluations of the search: single ones at scattered points and at zeros, and descents from the best of them. A value of 0, and what lies beyond the edge, is drawn on the edge. %s.", r.Name, low, surfaceNote())}
}

// shownStarts is the number of descents in the picture of a search.
const shownStarts = 5

// MyDataModel shows the tuned model: coefficients, and predictions against the target by out-of-fold
// predictions, each by splits that did not train on the row.
func MyDataModel(r *mydata.Result) []Output {
	var all []Output
	if f := myCoefficients(r); f.Panels != nil {
		all = append(all, f)
	}
	if len(r.Models) == 0 {
		return all
	}
	if len(r.Classes) == 0 {
		return append(all, myPredictions(r))
	}
	all = append(all, myConfusion(r), myROC(r))
	if r.Boundary != nil {
		all = append(all, myBoundary(r))
	}
	return all
}

// namedTicks label the whole numbers from 1.
type namedTicks []string

func (n namedTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for i, name := range n {
		if at := float64(i + 1); low <= at && at <= high {
			ticks = append(ticks, plot.Tick{Value: at, Label: name})
		}
	}
	return ticks
}

func myCoefficients(r *mydata.Result) *Figure {
	f := &Figure{Name: "my_data_coefficients", Legend: LegendBelow,
		Caption: fmt.Sprintf("%s: how far the prediction moves when a feature grows by one standard deviation. A text column has a feature for each level but its first, which is the one it is compared with.%s", r.Name, shownNote(r))}
	var row []*Panel
	features := 0 // most of a model
	for _, m := range r.Models[:min(len(r.Models), shownModels)] {
		order := make([]int, 0, len(m.Coefficients))
		zeros := 0
		for i, c := range m.Coefficients {
			if chart.Drawable(c) && i < len(m.Features) {
				order = append(order, i)
			}
			if c == 0 {
				zeros++
			}
		}
		if len(order) == 0 {
			continue
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Compare(math.Abs(m.Coefficients[b]), math.Abs(m.Coefficients[a]))
		})
		title := modelTitle(r, m, named)
		if zeros > 0 {
			title += fmt.Sprintf(": %d of %d are 0", zeros, len(m.Coefficients))
		}
		features = max(features, len(order))
		order = order[:min(len(order), shownCoefficients)]
		slices.Reverse(order) // the largest above
		p := NewPanel(panelName(r, m, "coefficients"), title, "coefficient per standard deviation", "")
		p.Plot.Y.Tick.Marker = namedTicks(chart.Mapped(order, func(i int) string { return named(m.Features[i]) }))
		p.VLine("zero", 0, Style{Color: Grey, Width: .5, Unlisted: true})
		signs := []struct {
			name  string
			has   func(c float64) bool
			style Style
		}{
			{"raises the prediction", func(c float64) bool { return c > 0 }, Style{Color: Vermillion, Glyph: draw.PlusGlyph{}, GlyphRadius: 4}},
			{"lowers the prediction", func(c float64) bool { return c < 0 }, Style{Color: Blue, Glyph: draw.RingGlyph{}, GlyphRadius: 3.5}},
			{"exactly 0", func(c float64) bool { return c == 0 }, Style{Color: Black, Glyph: draw.CircleGlyph{}, GlyphRadius: 2}},
		}
		for _, sign := range signs {
			var x, y []float64
			for k, i := range order {
				if c := m.Coefficients[i]; sign.has(c) {
					x, y = append(x, c), append(y, float64(k+1))
					p.Line(m.Features[i], []float64{0, c}, []float64{float64(k + 1), float64(k + 1)}, Style{Color: sign.style.Color, Width: 1, Unlisted: true})
				}
			}
			p.Scatter(sign.name, x, y, sign.style)
		}
		row = append(row, p)
		f.Height = max(f.Height, vg.Length(1.3+.2*float64(len(order)))*vg.Inch)
	}
	if features > shownCoefficients {
		f.Caption += fmt.Sprintf(" Of %d coefficients the %d largest are shown.", features, shownCoefficients)
	}
	if row != nil {
		f.Panels = [][]*Panel{row}
		f.Width = vg.Length(len(row)) * 4.6 * vg.Inch
	}
	return f
}

// myPredictions shows a target that is a number against its predictions.
func myPredictions(r *mydata.Result) *Figure {
	m := r.Models[0]
	p := NewPanel(panelName(r, m, "predictions"), "", "actual "+named(r.Target), "predicted, out of fold").Grid()
	p.Equal = true
	p.Across("equal", 1, -1, 0, Style{Color: Grey, Width: 1, Dash: []vg.Length{4, 3}})
	p.Scatter("rows", m.Y, m.OutOfFold, Style{Color: Blue, Glyph: draw.RingGlyph{}})
	return &Figure{Name: "my_data_predictions", Width: 4.6 * vg.Inch, Height: 4.6 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: fmt.Sprintf("%s: the target against its out-of-fold prediction, by the fits at the tuned hyperparameters that did not train on the row", r.Name)}
}

func myConfusion(r *mydata.Result) *Table {
	t := &Table{Name: "my_data_confusion", Caption: fmt.Sprintf("%s: rows of each class by the class that is predicted out of fold", r.Name),
		Header: append(append([]string{"Class"}, chart.Mapped(r.Classes, func(c string) string { return "predicted " + full(c) })...), "Share that is right"),
		Note:   "Predicted is the class with the largest decision value, by the fits that did not train on the row."}
	for k, class := range r.Classes {
		row, all, right := []any{full(class)}, 0, 0
		for l := range r.Classes {
			n := chart.Nth(chart.Nth(r.Confusion, k), l)
			row, all = append(row, n), all+n
			if k == l {
				right = n
			}
		}
		share := any(nil)
		if all > 0 {
			share = Number{Value: float64(right) / float64(all), Digits: 3}
		}
		t.Rows = append(t.Rows, append(row, share))
	}
	return t
}

// myROC shows the receiver operating characteristics of out-of-fold decisions.
func myROC(r *mydata.Result) *Figure {
	p := NewPanel(panelName(r, r.Models[0], "ROC"), "", "false positive rate", "true positive rate").Grid()
	p.Equal = true
	p.Across("by chance", 1, -1, 0, Style{Color: Grey, Width: 1, Dash: []vg.Length{1, 3}})
	for k, m := range r.Models {
		style := chart.PaletteStyle(k)
		style.Width = 2
		p.Line(fmt.Sprintf("%s, area %.3f", named(m.Class), m.ROC.Area), m.ROC.FalsePositive, m.ROC.TruePositive, style)
	}
	return &Figure{Name: "my_data_roc", Width: 4.6 * vg.Inch, Height: vg.Length(4.6+.2*float64(len(r.Models))) * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: fmt.Sprintf("%s: for each threshold of the out-of-fold decisions the share of the other rows above it (false positive rate) and of the class's rows (true positive rate), with the area under the curve", r.Name)}
}

// myGlyphs mark the rows of classes.
var myGlyphs = []draw.GlyphDrawer{draw.RingGlyph{}, draw.PlusGlyph{}, draw.TriangleGlyph{}, draw.SquareGlyph{}, draw.CrossGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{}, draw.CircleGlyph{}}

// myBoundary shows the rows of classes with two numeric columns, and the boundary at which the
// predicted class changes.
func myBoundary(r *mydata.Result) *Figure {
	b := r.Boundary
	p := NewPanel(fmt.Sprintf("%s, target %s, boundary", named(r.Name), named(r.Target)), "", named(b.Names[0]), named(b.Names[1]))
	for k, margin := range b.Margin {
		p.Contour(fmt.Sprintf("decision boundary of model %d", k+1), b.Axes[0], b.Axes[1], margin, 0, Style{Color: Black, Unlisted: true})
	}
	for k, class := range r.Classes {
		var x, y []float64
		for i, of := range b.Class {
			if of == k {
				x, y = append(x, chart.Nth(b.X[0], i)), append(y, chart.Nth(b.X[1], i))
			}
		}
		p.Scatter(named(class), x, y, Style{Color: chart.PaletteColor(k), Glyph: myGlyphs[k%len(myGlyphs)], GlyphRadius: 3})
	}
	return &Figure{Name: "my_data_boundary", Width: 5.4 * vg.Inch, Height: 4.8 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: fmt.Sprintf("%s: the rows by their class, and black lines where the predicted class changes", r.Name)}
}
