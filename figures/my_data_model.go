package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/mydata"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// At most shownModels models have panels. For several classes, each class has a model. A panel of
// coefficients has at most shownCoefficients features.
const shownModels, shownCoefficients = 4, 15

// mostLetters is the largest number of letters of a level in a caption.
const mostLetters = 40

// fullName returns a name that the user has given, for a text or a table. If the name is empty, it
// returns "(no name)".
func fullName(name string) string { return cmp.Or(name, "(no name)") }

// labelName returns a name that the user has given, on one line that fits a label. It cuts a long
// name in the middle.
func labelName(name string) string {
	name = fullName(strings.TrimSpace(chart.Pictured(strings.ReplaceAll(name, "\n", " "))))
	// The width of a label is at most maxWidth times the font size. The second limit, maxLetters,
	// prevents very long labels of narrow letters.
	const maxWidth, maxLetters = 12, 56
	style := chart.KeyText()
	short := experiment.Shortened(name, maxLetters)
	for n := utf8.RuneCountInString(short) - 1; n > 0 && style.Width(short) > maxWidth*style.Font.Size; n-- {
		short = experiment.Shortened(name, n)
	}
	return short
}

// modelTitle returns a title for a model. It contains the target or, if there are several models,
// the class of the model. The function formatName formats the target or the class; it is fullName
// or labelName.
func modelTitle(r *mydata.Result, m mydata.Model, formatName func(string) string) string {
	switch {
	case len(r.Models) < 2 || m.Class == "":
		return "target " + formatName(r.Target)
	case r.Joint != nil:
		return formatName(m.Class)
	}
	return formatName(m.Class) + " against the others"
}

// modelName returns a name for a model in a table: the learner or, if there are several models, the
// class of the model.
func modelName(r *mydata.Result, m mydata.Model) string {
	if len(r.Models) < 2 || m.Class == "" {
		return cmp.Or(r.Learner, "learner")
	}
	return modelTitle(r, m, fullName)
}

// panelName returns a name for a panel. The name depends on the data, so that panels of different
// data have different names.
func panelName(r *mydata.Result, m mydata.Model, what string) string {
	return fmt.Sprintf("%s, %s, %s", labelName(r.Name), modelTitle(r, m, labelName), what)
}

// significant returns a number with the given number of significant digits.
func significant(v float64, digits int) Number {
	places := 0
	if v != 0 && chart.Drawable(v) {
		places = min(max(digits-1-int(math.Floor(math.Log10(math.Abs(v)))), 0), 6)
	}
	return Number{Value: v, Digits: places}
}

// shownNote returns a sentence for a caption. The sentence has the number of models that have no
// panels.
func shownNote(models int) string {
	if n := models - shownModels; n > 0 {
		return fmt.Sprintf(" Not shown: %d more models.", n)
	}
	return ""
}

// namedTicks are labels for the whole numbers from 1 on.
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

// MyDataCoefficients shows the largest coefficients of each model. For comparison, it shows the
// coefficients of fits to parts of the rows. Kernel machines have no coefficients.
func MyDataCoefficients(r *mydata.Result) []Output {
	f := &Figure{Name: "my_data_coefficients", Legend: LegendBelow,
		Caption: fmt.Sprintf("%s: how far the prediction moves when a feature grows by one standard deviation. Dots are the coefficients of the fits without one fold each; their range is no confidence interval.%s%s", r.Name, baselineNote(r), shownNote(len(r.Models)))}
	var row []*Panel
	features := 0 // largest number in a panel
	for _, m := range r.Models[:min(len(r.Models), shownModels)] {
		order := myOrder(m)
		if len(order) == 0 {
			continue
		}
		features = max(features, len(order))
		shown := order[:min(len(order), shownCoefficients)]
		row = append(row, myCoefficients(r, m, shown))
		f.Height = max(f.Height, vg.Length(1.3+.2*float64(len(shown)))*vg.Inch)
	}
	if features > shownCoefficients {
		f.Caption += fmt.Sprintf(" Of %d coefficients the %d largest are shown.", features, shownCoefficients)
	}
	if row == nil {
		return nil
	}
	const inRow = 2
	f.Panels = slices.Collect(slices.Chunk(row, inRow))
	f.Height *= vg.Length(len(f.Panels))
	f.Width = vg.Length(min(len(row), inRow)) * 4.6 * vg.Inch
	if len(row) == 1 {
		f.Width = 6.6 * vg.Inch
	}
	return []Output{f}
}

// baselineNote returns a sentence for a caption. The sentence names, for each column of levels, the
// level with which the others are compared. With many columns, it names only the first few.
func baselineNote(r *mydata.Result) string {
	const most = 6
	var all []string
	for i, b := range r.Baselines {
		if baseline := r.Baseline(i, mostLetters); baseline != "" && (i == 0 || b != r.Baselines[i-1]) {
			all = append(all, fmt.Sprintf("%s of %s", baseline, fullName(b.Column)))
		}
	}
	if all == nil {
		return ""
	}
	if n := len(all) - most; n > 0 {
		all = append(all[:most], fmt.Sprintf("… %d more", n))
	}
	return " Each level is compared with the level of its column that has the most rows or weight: " + strings.Join(all, ", ") + "."
}

// myOrder returns the indices of a model's largest coefficients, the largest first.
func myOrder(m mydata.Model) []int {
	var order []int
	for i, c := range m.Coefficients {
		if chart.Drawable(c) && i < len(m.Features) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Abs(m.Coefficients[b]), math.Abs(m.Coefficients[a]))
	})
	return order
}

// myCoefficients returns the panel of the coefficients with the given indices.
func myCoefficients(r *mydata.Result, m mydata.Model, order []int) *Panel {
	zeros := 0
	for _, c := range m.Coefficients {
		if c == 0 {
			zeros++
		}
	}
	title := modelTitle(r, m, labelName)
	if zeros > 0 {
		title += fmt.Sprintf(": %d of %d are 0", zeros, len(m.Coefficients))
	}
	order = slices.Clone(order)
	slices.Reverse(order) // the largest coefficient is at the top
	p := NewPanel(panelName(r, m, "coefficients"), title, "coefficient per standard deviation", "")
	p.Plot.Y.Tick.Marker = namedTicks(chart.Mapped(order, func(i int) string { return labelName(m.Features[i]) }))
	p.VLine("zero", 0, Style{Color: Grey, Width: .5, Unlisted: true})
	var foldX, foldY []float64
	for k, i := range order {
		low, high := m.Coefficients[i], m.Coefficients[i]
		for _, fold := range m.FoldCoefficients {
			if c := chart.Nth(fold, i); chart.Drawable(c) {
				foldX, foldY = append(foldX, c), append(foldY, float64(k+1))
				low, high = min(low, c), max(high, c)
			}
		}
		p.Line("spread of "+m.Features[i], []float64{low, high}, []float64{float64(k + 1), float64(k + 1)}, Style{Color: Grey, Width: 1, Unlisted: true})
	}
	p.Scatter("fit without a fold", foldX, foldY, Style{Color: Grey, GlyphRadius: 1.3})
	var x, y []float64
	for k, i := range order {
		x, y = append(x, m.Coefficients[i]), append(y, float64(k+1))
	}
	p.Scatter("fit to all rows", x, y, Style{Color: Vermilion, Glyph: draw.RingGlyph{}, GlyphRadius: 3.5})
	return p
}

// MyDataPath shows the coefficients of each linear model as functions of the main penalty, with a
// line for each feature. It marks the tuned value of the penalty.
func MyDataPath(r *mydata.Result) []Output {
	var row []*Panel
	models := r.Models[:min(len(r.Models), shownModels)]
	fewer := false
	for _, m := range models {
		if m.Path != nil && len(m.Path.Features) > 0 {
			row = append(row, myPath(r, m))
			fewer = fewer || len(m.Path.Features) < len(m.Features)
		}
	}
	if row == nil {
		return nil
	}
	const inRow = 2
	f := &Figure{Name: "my_data_path", Legend: LegendBelow, Panels: slices.Collect(slices.Chunk(row, inRow)),
		Caption: fmt.Sprintf("%s: the coefficients of fits to all rows, per standard deviation of a feature, along the first hyperparameter, with the weakest penalty at the right end. The others have their tuned values. The dotted line is at the tuned value; a penalty of 0 is drawn at the right end.%s", r.Name, shownNote(len(r.Models)))}
	if fewer {
		f.Caption += " Only the largest coefficients are shown."
	}
	f.Width, f.Height = vg.Length(len(f.Panels[0]))*5.6*vg.Inch, vg.Length(.5+3.3*float64(len(f.Panels)))*vg.Inch
	return []Output{f}
}

// myPath returns the panel of a model's path.
func myPath(r *mydata.Result, m mydata.Model) *Panel {
	path := m.Path
	label, x := chart.Subscripted(path.Hyper), Log10s(path.At)
	tuned := math.Log10(max(path.Tuned, chart.Nth(path.At, 0)))
	size := func(point int) (sum float64) {
		for _, line := range path.Coefficients {
			sum += math.Abs(chart.Nth(line, point))
		}
		return sum
	}
	falls := size(0) > size(len(path.At)-1)
	if falls { // labels belong at the end at which the lines are apart
		tuned = 0 - tuned // not −0
		for i := range x {
			x[i] = 0 - x[i]
		}
	}
	p := NewPanel(panelName(r, m, "path"), modelTitle(r, m, labelName), label, "coefficient per standard deviation").LogAxes(true, false).Grid()
	if falls {
		p.FallingX()
	}
	p.Direct = true
	p.HLine("zero", 0, Style{Color: Grey, Width: .5, Unlisted: true})
	markTuned(p, tuned, path.Coefficients)
	for k, j := range path.Features {
		style := chart.PaletteStyle(k)
		p.Line(labelName(chart.Nth(m.Features, j)), x, chart.Nth(path.Coefficients, k), style)
		style.Unlisted, style.GlyphRadius = true, 2.5
		p.Scatter("tuned, "+chart.Nth(m.Features, j), []float64{tuned}, []float64{chart.Nth(path.AtTuned, k)}, style)
	}
	return p
}

// markTuned plots a dotted line at the tuned value, and names it. The line ends above the
// coefficients but within the axes, so that the title of the panel does not seem to name it.
func markTuned(p *Panel, tuned float64, coefficients [][]float64) {
	low, high := 0., 0.
	for _, c := range slices.Concat(coefficients...) {
		if chart.Drawable(c) {
			low, high = min(low, c), max(high, c)
		}
	}
	const above = .12 // a share of the range of the coefficients, which leaves a place for the name
	high += above * (high - low)
	p.Line("tuned value", []float64{tuned, tuned}, []float64{low, high}, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}, Unlisted: true})
	p.Note("tuned", tuned, high)
}

// MyDataLearning shows the CV loss of fits to parts of the rows. All fits have the tuned
// hyperparameters.
func MyDataLearning(r *mydata.Result) []Output {
	var panels []*Panel
	models := r.Searched()
	for _, m := range models[:min(len(models), shownModels)] {
		if p := myLearning(r, m); p != nil {
			panels = append(panels, p)
		}
	}
	if panels == nil {
		return nil
	}
	const inRow = 2
	f := &Figure{Name: "my_data_learning", Legend: LegendBelow, Panels: slices.Collect(slices.Chunk(panels, inRow)),
		Caption: fmt.Sprintf("%s: the CV loss of fits to an eighth, a quarter, a half and all of each split's training rows, at the tuned hyperparameters. Strokes reach 1.96 standard errors to either side. The title has the last change and %d standard errors of the paired difference; a change within them is not clear.%s", r.Name, mydata.ClearGain, shownNote(len(models)))}
	f.Width, f.Height = vg.Length(min(len(panels), inRow))*4.6*vg.Inch, vg.Length(.5+3.2*float64(len(f.Panels)))*vg.Inch
	if len(panels) == 1 {
		f.Width = 5.4 * vg.Inch
	}
	return []Output{f}
}

// bandErrors is the half-width of a 95 % interval, in standard errors.
const bandErrors = 1.96

// myLearning returns the panel of a model's learning curve. If there is nothing to draw, it returns
// nil.
func myLearning(r *mydata.Result, m mydata.Model) *Panel {
	l := m.Learning
	var rows, loss, low, high []float64
	var ticks plot.ConstantTicks
	for i, v := range l.Loss {
		if n, by := chart.Nth(l.Rows, i), bandErrors*chart.Nth(l.Error, i); chart.Drawable(v) && n > 0 {
			rows, loss, low, high = append(rows, math.Log10(n)), append(loss, v), append(low, v-by), append(high, v+by)
			ticks = append(ticks, plot.Tick{Value: math.Log10(n), Label: fmt.Sprintf("%.0f", n)})
		}
	}
	if rows == nil {
		return nil
	}
	title := modelTitle(r, m, labelName)
	if n := len(l.Rows); n > 1 && chart.Drawable(l.Gain, l.GainError) {
		title += fmt.Sprintf("\nfrom %.0f to %.0f rows: %s ± %s (%d standard errors)", l.Rows[n-2], l.Rows[n-1], chart.Typeset(fmt.Sprintf("%+.3g", 0-l.Gain)), chart.Typeset(fmt.Sprintf("%.3g", mydata.ClearGain*l.GainError)), mydata.ClearGain)
	}
	steep := chart.IsSteep(slices.Concat(low, high, []float64{m.ConstantLoss}))
	p := NewPanel(panelName(r, m, "learning"), title, "training rows", "CV loss: "+m.LossName).LogAxes(true, steep).Grid()
	p.Plot.X.Tick.Marker = ticks
	constant := []float64{m.ConstantLoss}
	if steep {
		constant, loss, low, high = Log10s(constant), Log10s(loss), Log10s(low), Log10s(high)
	}
	p.HLine("constant prediction", constant[0], Style{Color: Grey, Width: 1, Dash: []vg.Length{2, 2}})
	p.Measured("CV loss", rows, loss, low, high, Style{Color: Orange, Dash: chart.CVStyle.Dash})
	return p
}
