package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/mydata"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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

// judgedBy returns sentences for a caption, which describe how the predictions are made.
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
	label := "predicted " + labelName(r.Target)
	left := NewPanel(panelName(r, m, "predictions"), title, label, "actual "+labelName(r.Target)).Grid()
	left.Equal = true
	right := NewPanel(panelName(r, m, "residuals"), spread, label, "actual − predicted").Grid()
	both := axisOf(append(slices.Clone(x), y...))
	at, off := axisOf(x), axisOf(residuals)
	beyond := cloud(left, both, both, x, y)
	left.Across("actual = predicted", 1, -1, 0, Style{Color: Black, Width: 1, Dash: []vg.Length{4, 3}})
	cloud(right, at, off, x, residuals)
	right.HLine("no residual", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{4, 3}, Unlisted: true})
	groups := myTrend(right, at, off, x, residuals)
	f := &Figure{Name: "my_data_predictions", Width: 9.2 * vg.Inch, Height: 4.7 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{left, right}},
		Caption: fmt.Sprintf("%s: the target (left) and the residuals (right) against predictions of the rows. %s", r.Name, judgedBy(m.Judged))}
	if n := len(m.Judged.Predictions); n > 1 {
		f.Caption += " The picture shows the first one; the numbers above the panels are means over all."
	}
	if left.Scale != nil {
		f.Caption += " Shades count the rows of a cell."
	}
	if groups > 0 {
		f.Caption += fmt.Sprintf(" The lines at the right join %d groups of neighbouring predictions, of about %d rows each.", groups, len(x)/groups)
	}
	if beyond > 0 {
		f.Caption += fmt.Sprintf(" Drawn on the frame: %d rows beyond it.", beyond)
	}
	return f
}

// myTrend plots the mean and the spread of the residuals in groups of rows. A group consists of
// rows with neighbouring predictions. The result is the number of groups; it is 0 if nothing is
// plotted.
func myTrend(p *Panel, across, up span, x, residuals []float64) int {
	// Each group has at least minGroup rows. There are at most maxGroups groups.
	const minGroup, maxGroups = 20, 10
	groups := min(len(x)/minGroup, maxGroups)
	if groups < 3 {
		return 0
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
		return 0
	}
	p.Line("median residual of a group of like predictions", at, mean, Style{Color: Vermilion, Width: 2})
	thin := Style{Color: Vermilion, Width: 1, Dash: []vg.Length{6, 2}}
	p.Line("four fifths of a group lie between", at, low, thin)
	thin.Unlisted = true
	p.Line("upper tenth", at, high, thin)
	return len(at)
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
		name := labelName(m.Class)
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

// myCalibration plots the observed shares of the class that a model predicts against the predicted
// probabilities. The intervals of the shares are Wilson's. If a row has predictions in several
// repeats, it counts once in these intervals.
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
		Header: append(append([]string{"Class"}, chart.Mapped(r.Classes, func(c string) string { return "predicted " + fullName(c) })...), "Share that is right")}
	repeats, how := 1, "Predicted is the class with the largest decision value."
	if r.Joint != nil {
		how = "Predicted is the class with the largest probability."
	}
	if len(r.Models) == 1 {
		how = fmt.Sprintf("Predicted is %s if its decision value is above the threshold.", fullName(r.Models[0].Class))
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
		row, all, right := []any{fullName(class)}, 0., 0.
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
	p := NewPanel(fmt.Sprintf("%s, target %s, boundary", labelName(r.Name), labelName(r.Target)), "", labelName(b.Names[0]), labelName(b.Names[1]))
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
		p.Scatter(labelName(class), x, y, Style{Color: chart.PaletteColor(k), Glyph: myGlyphs[k%len(myGlyphs)], GlyphRadius: 3})
	}
	return &Figure{Name: "my_data_boundary", Width: 5.4 * vg.Inch, Height: 4.8 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: fmt.Sprintf("%s: the rows by their class, and black lines where the predicted class changes", r.Name)}
}

// numCells is the number of cells along each axis, for a plot that shows the number of points in
// each cell.
const numCells = 44

// A span is an axis of a cloud of points.
type span struct{ low, high float64 }

// axisOf returns an axis that covers the given numbers, except for a few numbers that are far from
// the rest.
func axisOf(v []float64) span {
	if len(v) == 0 {
		return span{0, 1}
	}
	// The core is the range of the numbers that remain if the fraction tailShare is cut off at each
	// end. It has a margin at each end, coreMargin times as long as the core. If the range of all
	// numbers is more than farRatio times as long as the core with its margins, the axis leaves out
	// the numbers beyond the margins.
	const tailShare, coreMargin, farRatio = .01, .75, 2
	sorted := slices.Sorted(slices.Values(v))
	n := len(sorted)
	s := span{sorted[0], sorted[n-1]}
	k := int(tailShare * float64(n))
	low, high := sorted[k], sorted[n-1-k]
	if length := high - low; k > 0 && length > 0 && s.high-s.low > farRatio*(1+2*coreMargin)*length {
		s = span{max(s.low, low-coreMargin*length), min(s.high, high+coreMargin*length)}
	}
	const narrow = 1e-9
	if by := .1 * max(math.Abs(s.low), math.Abs(s.high)); !(s.high-s.low > narrow*by) {
		by = cmp.Or(by, 1)
		s = span{s.low - by, s.high + by}
	}
	return s
}

// clamp returns v. If v is outside of the axis, it returns the nearest end of the axis.
func (s span) clamp(v float64) float64 { return min(max(v, s.low), s.high) }

// cell returns the index of the cell that contains v.
func (s span) cell(v float64) int {
	return min(max(int(numCells*((s.clamp(v)-s.low)/(s.high-s.low))), 0), numCells-1)
}

// centres returns the centres of the cells.
func (s span) centres() []float64 {
	all := make([]float64, numCells)
	for i := range all {
		t := (float64(i) + .5) / numCells
		all[i] = (1-t)*s.low + t*s.high
	}
	return all
}

// cloud plots points on the axes. If the glyphs would overlap, it instead plots the number of
// points in each cell. Points outside of the axes are drawn on the frame. The result noutside is
// the number of these points.
func cloud(p *Panel, xAxis, yAxis span, x, y []float64) (noutside int) {
	// Glyphs are assumed to overlap if there are at least manyPoints points, and on average more
	// than crowdedMean points in a cell. The average omits empty cells.
	const manyPoints, crowdedMean = 150, 1.5
	counts, filled := make([][]float64, numCells), 0
	for i := range counts {
		counts[i] = make([]float64, numCells)
	}
	var clampedX, clampedY []float64
	for i := range x {
		clampedX, clampedY = append(clampedX, xAxis.clamp(x[i])), append(clampedY, yAxis.clamp(y[i]))
		if clampedX[i] != x[i] || clampedY[i] != y[i] {
			noutside++
		}
		n := &counts[xAxis.cell(x[i])][yAxis.cell(y[i])]
		if *n == 0 {
			filled++
		}
		*n++
	}
	if len(x) >= manyPoints && float64(len(x)) > crowdedMean*float64(filled) {
		p.Counts("rows", xAxis.centres(), yAxis.centres(), counts)
	} else {
		p.Scatter("rows", clampedX, clampedY, Style{Color: Blue, Glyph: draw.RingGlyph{}})
	}
	return noutside
}
