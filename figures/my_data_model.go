package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/mydata"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// At most shownModels models have panels. For several classes, each class has a model. A panel of
// coefficients has at most shownCoefficients features.
const shownModels, shownCoefficients = 4, 15

// full returns a name that the user has given, for a text or a table. It replaces an empty name.
func full(name string) string { return cmp.Or(name, "(no name)") }

// named returns a name that the user has given, on one line that fits a label. It cuts off the end
// of a long name.
func named(name string) string {
	name = full(strings.TrimSpace(chart.Pictured(strings.ReplaceAll(name, "\n", " "))))
	// The width of a name is at most widest times the font size. For names with narrow letters, the
	// constant most bounds the number of letters.
	const widest, most = 12, 56
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

// modelTitle returns the title of a model. The title names the target. If there are several models,
// it instead names the class of the model. The argument name is one of the functions named and
// full. It formats the target or the class.
func modelTitle(r *mydata.Result, m mydata.Model, name func(string) string) string {
	switch {
	case len(r.Models) < 2 || m.Class == "":
		return "target " + name(r.Target)
	case r.Joint != nil:
		return name(m.Class)
	}
	return name(m.Class) + " against the others"
}

// panelName returns a name for a panel. The name depends on the data, so that panels of different
// data have different names.
func panelName(r *mydata.Result, m mydata.Model, what string) string {
	return fmt.Sprintf("%s, %s, %s", named(r.Name), modelTitle(r, m, named), what)
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

// MyDataPredictions shows how well the model predicts rows on which it was not trained. For a
// numeric target, it shows the target and the residuals as functions of the prediction. For
// classes, it shows the receiver operating characteristic, the calibration of probabilities, and
// the confusion matrix. If the data have classes and two numeric columns, it also shows the
// boundary.
func MyDataPredictions(r *mydata.Result) []Output {
	if len(r.Models) == 0 {
		return nil
	}
	if len(r.Classes) == 0 {
		return []Output{myPredictions(r)}
	}
	all := []Output{myROC(r), myConfusion(r)}
	if r.Boundary != nil {
		all = append(all, myBoundary(r))
	}
	return all
}

// judgedBy returns words for a caption. They describe the predictions that judge a model.
func judgedBy(j mydata.Judged) string {
	switch n := len(j.Predictions); {
	case !j.Nested:
		return "Each row is predicted by fits at the tuned hyperparameters that were not trained on it. As these were chosen with it, the picture is optimistic."
	case n > 1:
		return fmt.Sprintf("Each row is predicted by a search that has not seen it, in %d repeats of the outer folds.", n)
	}
	return "Each row is predicted by a search that has not seen it."
}

// myPredictions shows a numeric target and the residuals as functions of the prediction.
func myPredictions(r *mydata.Result) *Figure {
	m := r.Models[0]
	first := chart.Nth(m.Judged.Predictions, 0)
	var x, y, residuals []float64
	for i, v := range first {
		if actual := chart.Nth(m.Y, i); chart.Drawable(v, actual, actual-v) {
			x, y, residuals = append(x, v), append(y, actual), append(residuals, actual-v)
		}
	}
	title, spread := "", ""
	if e := m.Judged.Regression; e != nil {
		title, spread = fmt.Sprintf("RMSE %.3g", e.RMSE), fmt.Sprintf("mean absolute error %.3g", e.MAE)
		if chart.Drawable(e.R2) {
			title = fmt.Sprintf("R² %.3g, ", e.R2) + title
		}
	}
	label := "predicted " + named(r.Target)
	left := NewPanel(panelName(r, m, "predictions"), title, label, "actual "+named(r.Target)).Grid()
	left.Equal = true
	right := NewPanel(panelName(r, m, "residuals"), spread, label, "actual − predicted").Grid()
	both := axisOf(append(slices.Clone(x), y...))
	at, off := axisOf(x), axisOf(residuals)
	beyond := cloud(left, both, both, x, y)
	left.Across("actual = predicted", 1, -1, 0, Style{Color: Black, Width: 1, Dash: []vg.Length{4, 3}})
	cloud(right, at, off, x, residuals)
	right.HLine("no residual", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{4, 3}, Unlisted: true})
	myTrend(right, at, off, x, residuals)
	f := &Figure{Name: "my_data_predictions", Width: 9.2 * vg.Inch, Height: 4.7 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{left, right}},
		Caption: fmt.Sprintf("%s: the target (left) and the residuals (right) against predictions of the rows. %s", r.Name, judgedBy(m.Judged))}
	if n := len(m.Judged.Predictions); n > 1 {
		f.Caption += " The picture shows the first one; the numbers above the panels are means over all."
	}
	if left.Scale != nil {
		f.Caption += " Shades count the rows of a cell."
	}
	if beyond > 0 {
		f.Caption += fmt.Sprintf(" Drawn on the frame: %d rows beyond it.", beyond)
	}
	return f
}

// myTrend plots the mean and the spread of the residuals in groups of rows. A group consists of
// rows with neighbouring predictions.
func myTrend(p *Panel, across, up span, x, residuals []float64) {
	// The constant least is the smallest number of rows in a group. The constant most is the
	// largest number of groups.
	const least, most = 20, 10
	groups := min(len(x)/least, most)
	if groups < 3 {
		return
	}
	order, x := make([]int, len(x)), slices.Clone(x)
	floats.ArgsortStable(x, order)
	var at, mean, low, high []float64
	for g := range groups {
		first, end := g*len(x)/groups, (g+1)*len(x)/groups
		if g > 0 && x[first] == x[first-1] {
			continue // equal predictions have no order
		}
		sorted := slices.Sorted(slices.Values(chart.Pick(residuals, order[first:end])))
		quantile := func(q float64) float64 { return up.clamp(sorted[int(q*float64(len(sorted)-1)+.5)]) }
		at = append(at, across.clamp(x[first+(end-first)/2]))
		low, mean, high = append(low, quantile(.1)), append(mean, quantile(.5)), append(high, quantile(.9))
	}
	if len(at) < 3 {
		return
	}
	p.Line("median residual of rows of like prediction", at, mean, Style{Color: Vermilion, Width: 2})
	thin := Style{Color: Vermilion, Width: 1, Dash: []vg.Length{6, 2}}
	p.Line("four fifths of them lie between", at, low, thin)
	thin.Unlisted = true
	p.Line("upper tenth", at, high, thin)
}

// myROC shows the receiver operating characteristic of the predictions, and the calibration of
// probabilities.
func myROC(r *mydata.Result) *Figure {
	p := NewPanel(panelName(r, r.Models[0], "ROC"), "", "false positive rate", "true positive rate").Grid()
	p.Equal = true
	p.Across("by chance", 1, -1, 0, Style{Color: Grey, Width: 1, Dash: []vg.Length{1, 3}})
	calibration := NewPanel(panelName(r, r.Models[0], "calibration"), "calibration", "predicted probability", "share of rows").Grid()
	calibration.Equal = true
	calibration.Across("well calibrated", 1, -1, 0, Style{Color: Black, Width: 1, Dash: []vg.Length{4, 3}})
	probabilities := false
	f := &Figure{Name: "my_data_roc", Width: 4.6 * vg.Inch, Height: 4.8 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: fmt.Sprintf("%s: for each threshold the share of the other rows above it (false positive rate) and of the class's rows (true positive rate). AUC is the area under such a curve within each outer fold, on average. %s", r.Name, judgedBy(r.Models[0].Judged))}
	mark := Style{Color: Black, Glyph: draw.BoxGlyph{}, GlyphRadius: 4}
	marked := "rates of the predicted class"
	if c := r.Models[0].Judged.Classes; len(r.Models) == 1 && c != nil {
		marked = fmt.Sprintf("threshold %.3g", c.Threshold)
		p.Plot.Title.Text = fmt.Sprintf("accuracy %.3g, balanced accuracy %.3g", c.Accuracy, c.Balanced)
	}
	for k, m := range r.Models[:min(len(r.Models), shownModels)] {
		style, roc := chart.PaletteStyle(k), m.Judged.ROC
		style.Width = 2
		name := named(m.Class)
		if c := m.Judged.Classes; c != nil && chart.Drawable(c.AUC) {
			name += fmt.Sprintf(", AUC %.3g", c.AUC)
		}
		p.Line(name, roc.FalsePositive, roc.TruePositive, style)
		if len(r.Models) > 1 {
			mark.Color = style.Color
		}
		p.Scatter(marked, []float64{roc.At[0]}, []float64{roc.At[1]}, mark)
		mark.Unlisted = true
		if c := m.Judged.Classes; c != nil && c.Probabilities != nil {
			probabilities = true
			style.Unlisted = true
			myCalibration(calibration, m, style)
		}
	}
	if probabilities {
		f.Panels[0] = append(f.Panels[0], calibration)
		f.Width *= 2
		f.Caption += " Right: rows in groups by their predicted probability, with 95 % intervals of their shares."
		if c := r.Models[0].Judged.Classes; len(r.Models) == 1 && c != nil {
			calibration.Plot.Title.Text = fmt.Sprintf("log loss %.3g, Brier score %.3g", c.Probabilities.LogLoss, c.Probabilities.Brier)
		}
	}
	f.Caption += shownNote(len(r.Models))
	return f
}

// myCalibration plots the observed shares of a model's class against the predicted probabilities.
// The intervals of the shares are Wilson's. If a row has predictions in several repeats, it counts
// once in these intervals.
func myCalibration(p *Panel, m mydata.Model, style Style) {
	var x, y []float64
	for k, b := range m.Judged.Classes.Probabilities.Calibration {
		n := float64(b.Rows) / float64(max(len(m.Judged.Predictions), 1))
		x, y = append(x, b.Predicted), append(y, b.Observed)
		low, high := experiment.Wilson(b.Observed, n, .95)
		p.Line(fmt.Sprintf("%s, interval %d", m.Class, k+1), []float64{b.Predicted, b.Predicted}, []float64{low, high}, Style{Color: style.Color, Width: 1, Unlisted: true})
	}
	p.Line(m.Class+", observed", x, y, style)
	p.Scatter(m.Class+", groups", x, y, Style{Color: style.Color, GlyphRadius: 2.5, Unlisted: true})
}

func myConfusion(r *mydata.Result) *Table {
	t := &Table{Name: "my_data_confusion", Caption: fmt.Sprintf("%s: rows of each class by the predicted class", r.Name),
		Header: append(append([]string{"Class"}, chart.Mapped(r.Classes, func(c string) string { return "predicted " + full(c) })...), "Share that is right")}
	repeats, how := 1, "Predicted is the class with the largest decision value."
	if r.Joint != nil {
		how = "Predicted is the class with the largest probability."
	}
	if len(r.Models) == 1 {
		how = fmt.Sprintf("Predicted is %s if its decision value is above the threshold.", full(r.Models[0].Class))
	}
	if len(r.Models) > 0 {
		how += " " + judgedBy(r.Models[0].Judged)
		repeats = len(r.Models[0].Judged.Predictions)
	}
	if m := r.Multiclass; m != nil {
		how += fmt.Sprintf(" Of the rows %.3g %% are predicted as their class, where the largest class has %.3g %%.", 100*m.Accuracy, 100*m.Majority)
		if p := m.Probabilities; p != nil {
			how += fmt.Sprintf(" The probabilities have the log loss %.3g and the Brier score %.3g.", p.LogLoss, p.Brier)
		}
	}
	if t.Note = how; repeats > 1 {
		t.Note += " Counts are means over the repeats."
	}
	for k, class := range r.Classes {
		row, all, right := []any{full(class)}, 0., 0.
		for l := range r.Classes {
			n := chart.Nth(chart.Nth(r.Confusion, k), l)
			cell := Number{Value: n}
			if n != math.Round(n) {
				cell.Digits = 1
			}
			row, all = append(row, cell), all+n
			if k == l {
				right = n
			}
		}
		share := any(nil)
		if all > 0 {
			share = Number{Value: right / all, Digits: 3}
		}
		t.Rows = append(t.Rows, append(row, share))
	}
	return t
}

// myGlyphs are the marks of the rows of each class.
var myGlyphs = []draw.GlyphDrawer{draw.RingGlyph{}, draw.PlusGlyph{}, draw.TriangleGlyph{}, draw.SquareGlyph{}, draw.CrossGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{}, draw.CircleGlyph{}}

// myBoundary is for data with classes and two numeric columns. It shows the rows, and the boundary
// between the predicted classes.
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

// MyDataCoefficients shows the largest coefficients of each model. For comparison, it shows the
// coefficients of fits to parts of the rows. Kernel machines have no coefficients.
func MyDataCoefficients(r *mydata.Result) []Output {
	f := &Figure{Name: "my_data_coefficients", Legend: LegendBelow,
		Caption: fmt.Sprintf("%s: how far the prediction moves when a feature grows by one standard deviation. Dots are the coefficients of the fits without one fold each. A text column has a feature for each level except the first. The other levels are compared with the first.%s", r.Name, shownNote(len(r.Models)))}
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
	title := modelTitle(r, m, named)
	if zeros > 0 {
		title += fmt.Sprintf(": %d of %d are 0", zeros, len(m.Coefficients))
	}
	order = slices.Clone(order)
	slices.Reverse(order) // the largest coefficient is at the top
	p := NewPanel(panelName(r, m, "coefficients"), title, "coefficient per standard deviation", "")
	p.Plot.Y.Tick.Marker = namedTicks(chart.Mapped(order, func(i int) string { return named(m.Features[i]) }))
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
	p.Scatter("without a fold", foldX, foldY, Style{Color: Grey, GlyphRadius: 1.3})
	for _, sign := range []struct {
		name  string
		has   func(c float64) bool
		style Style
	}{
		{"raises the prediction", func(c float64) bool { return c > 0 }, Style{Color: Vermilion, Glyph: draw.PlusGlyph{}, GlyphRadius: 4}},
		{"lowers the prediction", func(c float64) bool { return c < 0 }, Style{Color: Blue, Glyph: draw.RingGlyph{}, GlyphRadius: 3.5}},
		{"exactly 0", func(c float64) bool { return c == 0 }, Style{Color: Black, Glyph: draw.SquareGlyph{}, GlyphRadius: 2.5}},
	} {
		var x, y []float64
		for k, i := range order {
			if c := m.Coefficients[i]; sign.has(c) {
				x, y = append(x, c), append(y, float64(k+1))
			}
		}
		p.Scatter(sign.name, x, y, sign.style)
	}
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
	if size(0) > size(len(path.At)-1) { // labels belong at the end at which the lines are apart
		label, tuned = "1/"+label, 0-tuned // not −0
		for i := range x {
			x[i] = 0 - x[i]
		}
	}
	p := NewPanel(panelName(r, m, "path"), modelTitle(r, m, named), label, "coefficient per standard deviation").LogAxes(true, false).Grid()
	p.Direct = true
	p.HLine("zero", 0, Style{Color: Grey, Width: .5, Unlisted: true})
	p.VLine("tuned value", tuned, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}, Unlisted: true})
	for k, j := range path.Features {
		style := chart.PaletteStyle(k)
		p.Line(named(chart.Nth(m.Features, j)), x, chart.Nth(path.Coefficients, k), style)
		style.Unlisted, style.GlyphRadius = true, 2.5
		p.Scatter("tuned, "+chart.Nth(m.Features, j), []float64{tuned}, []float64{chart.Nth(path.AtTuned, k)}, style)
	}
	return p
}

// MyDataLearning shows the CV loss of fits to parts of the rows. All fits have the tuned
// hyperparameters.
func MyDataLearning(r *mydata.Result) []Output {
	var panels []*Panel
	models := r.Searched()
	for _, m := range models[:min(len(models), shownModels)] {
		p := NewPanel(panelName(r, m, "learning"), modelTitle(r, m, named), "training rows", "CV loss: "+m.LossName).LogAxes(true, false).Grid()
		var low, high []float64
		drawn := false
		for i, v := range m.Learning.Loss {
			by := chart.Nth(m.Learning.Error, i)
			low, high = append(low, v-by), append(high, v+by)
			drawn = drawn || chart.Drawable(v) && chart.Nth(m.Learning.Rows, i) > 0
		}
		if !drawn {
			continue
		}
		x := Log10s(m.Learning.Rows)
		p.HLine("constant prediction", m.ConstantLoss, Style{Color: Grey, Width: 1, Dash: []vg.Length{2, 2}})
		bars(p, x, low, high)
		p.Line("CV loss", x, m.Learning.Loss, chart.CVStyle)
		p.Scatter("fits", x, m.Learning.Loss, Style{Color: Black, GlyphRadius: 2.5, Unlisted: true})
		panels = append(panels, p)
	}
	if panels == nil {
		return nil
	}
	const inRow = 2
	f := &Figure{Name: "my_data_learning", Legend: LegendBelow, Panels: slices.Collect(slices.Chunk(panels, inRow)),
		Caption: fmt.Sprintf("%s: the CV loss of fits to an eighth, a quarter, a half and all of each split's training rows, at the tuned hyperparameters. Bars reach one standard error to either side.%s", r.Name, shownNote(len(models)))}
	f.Width, f.Height = vg.Length(min(len(panels), inRow))*4.6*vg.Inch, vg.Length(.5+3*float64(len(f.Panels)))*vg.Inch
	if len(panels) == 1 {
		f.Width = 5.4 * vg.Inch
	}
	return []Output{f}
}

// bars plots vertical lines from low to high.
func bars(p *Panel, x, low, high []float64) {
	name := "± standard error"
	for i := range x {
		style := Style{Color: Grey, Width: 1.2, Unlisted: true}
		p.Line(fmt.Sprintf("%s at %d", name, i+1), []float64{x[i], x[i]}, []float64{chart.Nth(low, i), chart.Nth(high, i)}, style)
	}
}
