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
		return slices.Concat([]Output{MyDataColumns(r)}, MyDataTuning(r), MyDataSearch(r), MyDataPredictions(r), MyDataCoefficients(r), MyDataPath(r), MyDataLearning(r))
	})
}

// MyDataColumns describes the columns of the file, and lists how the program uses each column. Some
// choices of the program do not follow from the file alone. For such a choice, the table names the
// parameter that changes it.
func MyDataColumns(r *mydata.Result) *Table {
	t := &Table{
		Name: "my_data_columns", Caption: fmt.Sprintf("%s: %d rows, target %s", r.Name, r.Rows, fullName(r.Target)),
		Header: []string{"Column", "Kind", "Values", "Rows without a value", "Use", "Choice", "Parameter that overrules it"},
	}
	for _, c := range r.Columns {
		values := any(nil)
		switch {
		case len(c.Levels) > 0:
			values = shortNames(c.Levels)
		case c.Numeric && chart.Drawable(c.Low, c.High):
			values = fmt.Sprintf("%.4g to %.4g", c.Low, c.High)
		}
		use, _, _ := strings.Cut(c.Use, ", one of") // the column values lists the classes
		var choices, parameters []string
		for _, choice := range c.Choices {
			choices = append(choices, choice.Text)
			if !slices.Contains(parameters, choice.Parameter) {
				parameters = append(parameters, choice.Parameter)
			}
		}
		cell := func(texts []string, by string) any {
			if texts == nil {
				return nil
			}
			return strings.Join(texts, by)
		}
		t.Rows = append(t.Rows, []any{fullName(c.Name), c.Kind, values, c.Missing, use, cell(choices, " "), cell(parameters, ", ")})
	}
	var notes []string
	if r.Dropped > 0 {
		notes = append(notes, fmt.Sprintf("Rows left out for lack of a value: %d.", r.Dropped))
	}
	if r.Groups > 0 {
		notes = append(notes, fmt.Sprintf("The rows form %d groups, each of which stays together in all folds.", r.Groups))
	}
	t.Note = strings.Join(notes, " ")
	return t
}

// shortNames returns the names in one text. If there are many names, the text has only the first
// few names, and the number of the others.
func shortNames(all []string) string {
	const most = 8
	shown := chart.Mapped(all[:min(len(all), most)], fullName)
	if n := len(all) - most; n > 0 {
		shown = append(shown, fmt.Sprintf("… %d more", n))
	}
	return strings.Join(shown, ", ")
}

// MyDataTuning lists the results of tuning: the comparisons with their verdicts, the
// hyperparameters with their bounds, and the losses.
func MyDataTuning(r *mydata.Result) []Output {
	hyper := &Table{
		Name: "my_data_hyperparameters", Caption: fmt.Sprintf("%s: hyperparameters of the %s", r.Name, cmp.Or(r.Learner, "learner")),
		Header: []string{"Model", "Hyperparameter", "Lower bound", "Default", "Tuned", "Upper bound"},
		Note:   "Bounds follow from the data, in units of standardised features. The search is in the logarithm; where a penalty may vanish, 0 is tried as well.",
	}
	losses := &Table{
		Name: "my_data_losses", Caption: fmt.Sprintf("%s: losses of the %s", r.Name, cmp.Or(r.Learner, "learner")),
		Header: []string{"Model", "Loss", "Tuned", "Standard error", "Default", "Constant prediction", "Default minus tuned", "Constant minus tuned"},
		Note:   "The CV loss is optimistic, because it was minimised. The nested risk repeats the whole search without each outer fold in turn; its 95 % intervals are in brackets.",
	}
	for _, m := range r.Searched() {
		title := modelName(r, m)
		for _, h := range m.Hyper {
			hyper.Rows = append(hyper.Rows, []any{title, h.Name, significant(h.Lower, 3), significant(h.Default, 3), significant(h.Tuned, 3), significant(h.Upper, 3)})
		}
		of := func(v float64) Number { return significant(v, 4) }
		losses.Rows = append(losses.Rows,
			[]any{title, "CV loss: " + m.LossName, of(m.Loss), of(m.StandardError), of(m.DefaultLoss), of(m.ConstantLoss), of(m.DefaultLoss - m.Loss), of(m.ConstantLoss - m.Loss)},
			[]any{title, "training loss", of(m.TrainLoss), nil, nil, nil, nil, nil})
		if risk := m.Risk; risk != nil {
			losses.Rows = append(losses.Rows, []any{title, "nested risk", risk.Tuned.String(), nil, risk.Default.String(), risk.Constant.String(), nil, nil})
		}
	}
	return []Output{myVerdicts(r), hyper, losses}
}

// myVerdicts returns one table with the comparisons of all models. The note of the table has the
// verdicts.
func myVerdicts(r *mydata.Result) *Table {
	t := &Table{
		Name: "my_data_comparisons", Caption: fmt.Sprintf("%s: which model to use", r.Name),
		Header: []string{"Model", "Compared with", "Gain, in % of a constant's risk", "From", "To", "Decided", "Smallest that would show"},
	}
	var notes []string
	for _, m := range r.Searched() {
		title := modelName(r, m)
		if len(r.Searched()) > 1 {
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
			gain := c.Gain()
			t.Rows = append(t.Rows, []any{title, c.With, of(gain.Mean), of(gain.Low), of(gain.High), decided, of(c.Shown)})
		}
	}
	t.Note = strings.Join(notes, " ") + " A gain above 0 means that the tuned model has the lower risk. All intervals of a model hold at once with probability .95."
	return t
}

// MyDataSearch shows the CV loss around the tuned hyperparameters. There is a curve along each
// hyperparameter. For a model with two hyperparameters, there is also a surface.
func MyDataSearch(r *mydata.Result) []Output {
	models := r.Searched()
	models = models[:min(len(models), shownModels)]
	curves := &Figure{Name: "my_data_curves", Legend: LegendBelow,
		Caption: fmt.Sprintf("%s: the CV loss along each hyperparameter, with the others at their tuned values. The band reaches 1.96 standard errors to either side; it holds the uncertainty that the curve's points have in common, so it is wider than that of their differences. A thin line leads to a tuned value of 0.%s", r.Name, shownNote(len(models)))}
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
		if showsBoth(m) {
			all = append(all, mySurface(r, m))
			break // only one model has a surface
		}
	}
	return all
}

// myCurve returns a panel with the CV loss along one hyperparameter.
func myCurve(r *mydata.Result, m mydata.Model, c mydata.Curve) *Panel {
	log := chart.IsSteep(c.Loss)
	y := func(v float64) float64 {
		if log {
			return math.Log10(v)
		}
		return v
	}
	p := NewPanel(panelName(r, m, "CV loss along "+c.Hyper), modelTitle(r, m, labelName)+", along "+chart.Subscripted(c.Hyper), chart.Subscripted(c.Hyper), "CV loss: "+m.LossName).LogAxes(true, log).Grid()
	x := Log10s(c.At)
	var lower, upper, loss []float64
	for i, v := range c.Loss {
		by := bandErrors * chart.Nth(c.Error, i)
		loss, lower, upper = append(loss, y(v)), append(lower, y(max(v-by, 0))), append(upper, y(v+by)) // a loss is not negative
	}
	p.Band("CV loss, 95 % interval", x, lower, upper, chart.CVStyle)
	p.Line("CV loss", x, loss, chart.CVStyle)
	p.HLine("constant prediction", y(m.ConstantLoss), Style{Color: Grey, Width: 1, Dash: []vg.Length{2, 2}})
	for _, h := range m.Hyper {
		if h.Name == c.Hyper {
			p.VLine("default", math.Log10(h.Default), Style{Color: Black, Width: 1.2, Dash: []vg.Length{1, 3}})
		}
	}
	tuned := math.Log10(c.Tuned)
	if first, last := chart.Nth(x, 0), chart.Nth(x, len(x)-1); c.Tuned == 0 {
		tuned = first - .1*(last-first) // a place beside the numbers
		p.Beside(first, last, plot.Tick{Value: tuned, Label: "0"})
		p.Line("from the least value to 0", []float64{tuned, first}, []float64{y(m.Loss), chart.Nth(loss, 0)}, Style{Color: chart.CVStyle.Color, Width: .7, Unlisted: true})
	}
	p.Scatter("tuned", []float64{tuned}, []float64{y(m.Loss)}, Style{Color: Black, Glyph: draw.BoxGlyph{}, GlyphRadius: 3})
	return p
}

// The surface is drawn on a finer grid. Each interval of the grid is divided into refinementFactor
// intervals.
const refinementFactor = 3

// showsBoth reports whether the surface of a model shows more than its curves. It does if the tuned
// values are on it, and if the CV loss depends on both hyperparameters there: along each of them, it
// must cross the lowest contour.
func showsBoth(m mydata.Model) bool {
	if len(m.Axes) != 2 || len(m.Hyper) != 2 || len(m.Surface) != len(m.Axes[0]) || !covers(m.Axes, [2]float64{m.Hyper[0].Tuned, m.Hyper[1].Tuned}) {
		return false
	}
	least := slices.Min(LevelsAboveMinimum(m.Surface))
	crosses := func(v []float64) bool {
		return slices.ContainsFunc(v, func(loss float64) bool { return loss < least }) && slices.ContainsFunc(v, func(loss float64) bool { return loss > least })
	}
	columns := make([][]float64, len(m.Axes[1]))
	for j := range columns {
		columns[j] = chart.Column(m.Surface, j)
	}
	return slices.ContainsFunc(m.Surface, crosses) && slices.ContainsFunc(columns, crosses)
}

// mySurface shows the CV loss as a function of two hyperparameters, with the final descent.
func mySurface(r *mydata.Result, m mydata.Model) *Figure {
	hyper := chart.Mapped(m.Hyper, func(h mydata.Hyper) string { return chart.Subscripted(h.Name) })
	axes, surface := smoothSurface(m.Axes, m.Surface, refinementFactor)
	p := lossPanel("CV loss over both hyperparameters", "CV loss", hyper, axes, surface)
	p.Name = panelName(r, m, "surface")
	tuned := []float64{m.Hyper[0].Tuned, m.Hyper[1].Tuned}
	path := slices.DeleteFunc(append(slices.Clone(m.Descent), tuned), func(at []float64) bool { return len(at) != 2 })
	onSurface(p.Line, "end of the descent", axes, path, Style{Color: Black, Width: 1.4})
	onSurface(p.Scatter, "its evaluations", axes, path, Style{Color: Black, GlyphRadius: 1.6, Unlisted: true})
	byDefault, where := []float64{m.Hyper[0].Default, m.Hyper[1].Default}, ""
	if covers(axes, [2]float64(byDefault)) {
		onSurface(p.Scatter, "default", axes, [][]float64{byDefault}, chart.StartStyle)
	} else {
		where = fmt.Sprintf(" The default, %.3g and %.3g, lies outside.", byDefault[0], byDefault[1])
	}
	onSurface(p.Scatter, "tuned", axes, [][]float64{tuned}, Style{Color: Black, Glyph: draw.BoxGlyph{}, GlyphRadius: 3.5})
	low, _, _ := lowest(m.Surface)
	return &Figure{Name: "my_data_surface", Width: 6.7 * vg.Inch, Height: 4.6 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: fmt.Sprintf("%s: the CV loss around the tuned hyperparameters (lowest on the grid %.4g), and the descent to them, without its first long steps.%s %s. Along a valley the loss hardly changes: the data do not determine that direction.", r.Name, low, where, surfaceNote())}
}

// covers reports whether a point is on a surface with the given axes.
func covers(axes [][]float64, at [2]float64) bool {
	for k, v := range at {
		axis := axes[k]
		if len(axis) == 0 || !(v >= axis[0] && v <= axis[len(axis)-1]) {
			return false
		}
	}
	return true
}

// smoothSurface interpolates a surface on a finer grid. It divides each interval of the grid into
// the given number of parts, which is the argument factor. The interpolation uses Catmull–Rom
// splines of the logarithms. The values on each axis must be a geometric sequence. Next to a value
// that is not positive and finite, the result is NaN.
func smoothSurface(axes [][]float64, z [][]float64, factor int) (finer [][]float64, values [][]float64) {
	if len(axes) != 2 || len(z) != len(axes[0]) || slices.ContainsFunc(axes, func(a []float64) bool { return len(a) < 2 }) {
		return axes, z
	}
	for _, axis := range axes {
		finer = append(finer, chart.Mapped(interpolate(Log10s(axis), factor), func(v float64) float64 { return math.Pow(10, v) }))
	}
	for k, axis := range finer { // the ends have no rounding
		axis[0], axis[len(axis)-1] = axes[k][0], axes[k][len(axes[k])-1]
	}
	rows := chart.Mapped(z, func(row []float64) []float64 { return interpolate(chart.Mapped(row, math.Log), factor) })
	values = make([][]float64, len(finer[0]))
	for j := range finer[1] {
		for i, v := range interpolate(chart.Column(rows, j), factor) {
			values[i] = append(values[i], math.Exp(v))
		}
	}
	return finer, values
}

// interpolate inserts factor−1 interpolated values between each pair of neighbours of v.
func interpolate(v []float64, factor int) []float64 {
	var all []float64
	for i := range len(v) - 1 {
		before, after := v[i]-(v[i+1]-v[i]), v[i+1]+(v[i+1]-v[i]) // the line through both, at an end of v
		if i > 0 && chart.Drawable(v[i-1]) {
			before = v[i-1]
		}
		if i+2 < len(v) && chart.Drawable(v[i+2]) {
			after = v[i+2]
		}
		for k := range factor {
			t := float64(k) / float64(factor)
			d0, d1 := (v[i+1]-before)/2, (after-v[i])/2
			all = append(all, v[i]+t*(d0+t*(3*(v[i+1]-v[i])-2*d0-d1+t*(2*(v[i]-v[i+1])+d0+d1))))
		}
	}
	return append(all, v[len(v)-1])
}
