package figures

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"cvgm/cvgm/experiment/differentiability"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func init() {
	register(func(r *differentiability.Learning) []Output {
		return []Output{LearningPaths(r), LearningTable(r), LearnedLossPath(r), LearnedLossTable(r)}
	})
}

// LearningPaths shows the paths of the searches. The surface below each path is the CV loss that
// the search minimises.
func LearningPaths(r *differentiability.Learning) *Figure {
	f := &Figure{Name: "learning_paths", Width: 11 * vg.Inch, Height: 4.1 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{nil},
		Caption: "Hyperparameters of three learners chosen by the gradient of the CV loss: the path of the search on the CV loss that it descends. The titles give the CV loss at its start and at its end. " + surfaceNote() + "."}
	for _, run := range r.Runs {
		f.Panels[0] = append(f.Panels[0], learningPanel(run))
	}
	return f
}

// learningPanel returns a panel with the path of one search.
func learningPanel(run differentiability.LearningRun) *Panel {
	const every = 5 // the points of all steps would hide each other
	var p *Panel
	x, y, last := Log10s(chart.Column(run.X, 0)), run.CVLoss, run.Last()
	low, i, j := lowest(run.Surface)
	lowX, lowY := math.Log10(chart.Nth(run.Axes[0], i)), low
	if len(run.Hyper) == 2 {
		p = lossPanel("CV loss, "+run.Name, "CV loss", chart.Mapped(run.Hyper, chart.Subscripted), run.Axes, run.Surface)
		x, y = coordinates(run.Axes, run.X)
		lowY = math.Log10(chart.Nth(run.Axes[1], j))
		p.Line("path", x, y, Style{Color: Black, Width: 1, Unlisted: true}) // black, because a blue line would be as light as parts of the surface
	} else {
		p = NewPanel("CV loss, "+run.Name, "", chart.Subscripted(run.Hyper[0]), "CV loss").LogAxes(true, false).Grid()
		p.Direct = true
		p.Line("CV loss", Log10s(run.Axes[0]), chart.Column(run.Surface, 0), chart.CVStyle)
	}
	p.Plot.Title.Text = fmt.Sprintf("%s\nCV loss %s → %s", run.Name, shortNumber(run.CVLoss[0]), shortNumber(run.CVLoss[last]))
	var steps []int
	for k := 0; k <= last; k += every {
		if k == 0 || !isNear(p.Axes(), x[k]-x[last], y[k]-y[last]) { // dots near the end would hide its mark
			steps = append(steps, k)
		}
	}
	p.Scatter(fmt.Sprintf("every %dth step", every), chart.Pick(x, steps), chart.Pick(y, steps), Style{Color: Black, GlyphRadius: 1.6})
	p.Scatter("start", x[:1], y[:1], chart.StartStyle)
	name, end := "end", chart.EndStyle
	if atBound(run.Axes, run.X[last]) {
		name, end.Glyph = "end, at a bound", draw.BoxGlyph{}
	}
	p.Scatter(name, x[last:], y[last:], end)
	p.Scatter("lowest on the grid", []float64{lowX}, []float64{lowY}, Style{Color: Vermilion, Glyph: draw.CrossGlyph{}, GlyphRadius: 7}) // often on the end, and told apart by its colour
	return p
}

// isNear reports whether a distance is short along both of the axes.
func isNear(axes chart.Box, dx, dy float64) bool {
	const near = .05 // a share of the axis
	return math.Abs(dx) < near*(axes.Xmax-axes.Xmin) && math.Abs(dy) < near*(axes.Ymax-axes.Ymin)
}

// shortNumber returns a number with three decimals. If it is very small or very large, it returns
// the number with three digits.
func shortNumber(v float64) string {
	if v >= .01 && v < 1000 {
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return chart.Typeset(strconv.FormatFloat(v, 'g', 3, 64))
}

// atBound reports whether a coordinate of the point is at an end of its axis, up to rounding.
func atBound(axes [][]float64, point []float64) bool {
	for k, axis := range axes {
		if v := point[k]; len(axis) > 0 && (v <= slices.Min(axis)*(1+atRest) || v >= slices.Max(axis)*(1-atRest)) {
			return true
		}
	}
	return false
}

// LearningTable lists the start and the end of each search.
func LearningTable(r *differentiability.Learning) *Table {
	t := &Table{
		Name: "learning", Caption: "Hyperparameters learned by the gradient of the CV loss",
		Header: []string{"Learner", "Hyperparameters", "Start", "End", "Evaluations", "CV loss, start", "end", "lowest on the grid", "Test loss, start", "end", "Test accuracy, start", "end"},
	}
	var points []string // of the grids
	for _, run := range r.Runs {
		last := run.Last()
		points = append(points, fmt.Sprint(len(run.Surface)*len(run.Surface[0])))
		t.Rows = append(t.Rows, []any{run.Name, strings.Join(run.Hyper, ", "), list("%.3g", run.X[0]), list("%.3g", run.X[last]), last + 1, Number{Value: run.CVLoss[0], Digits: 4}, Number{Value: run.CVLoss[last], Digits: 4}, Number{Value: run.Lowest, Digits: 4},
			Number{Value: run.TestLoss[0], Digits: 4}, Number{Value: run.TestLoss[last], Digits: 4}, Number{Value: run.Accuracy[0], Digits: 3}, Number{Value: run.Accuracy[last], Digits: 3}})
	}
	t.Note = fmt.Sprintf("Points of the grids, from the first row to the last: %s.", strings.Join(points, ", "))
	return t
}

// LearnedLossPath shows how the weights of the four losses change along the search. It also shows
// the four losses and the learned loss.
func LearnedLossPath(r *differentiability.Learning) *Figure {
	weights := NewPanel("weights", "weights along the search", "steps", "weight").Grid()
	l := r.Loss
	steps := chart.OneTo(len(l.Alpha))
	for k, name := range differentiability.LossNames {
		style := chart.PaletteStyle(k)
		style.Width = 2
		weights.Line(name, steps, chart.Column(l.Alpha, k), style)
	}
	shape := NewPanel("losses", "the losses", "margin m = yŷ", "loss").Grid()
	var margins []float64
	for m := -2.0; m <= 2.001; m += .05 {
		margins = append(margins, m)
	}
	learned := make([]float64, len(margins))
	final := chart.Nth(l.Alpha, len(l.Alpha)-1)
	curves := make([][]float64, len(differentiability.LossNames))
	for k := range curves {
		values := make([]float64, len(margins))
		for i, m := range margins {
			values[i] = [...]float64{math.Max(0, 1-m), math.Exp(-m), math.Pow(math.Max(0, 1-m), 2), math.Log1p(math.Exp(-2 * m))}[k]
			learned[i] += chart.Nth(final, k) * values[i]
		}
		curves[k] = values
	}
	shape.Line("learned", margins, learned, Style{Color: color.NRGBA{185, 185, 185, 255}, Width: 7}) // below the other lines, because it may equal one of them
	for k, name := range differentiability.LossNames {
		style := chart.PaletteStyle(k)
		style.Width = 2
		shape.Line(name, margins, curves[k], style)
	}
	return &Figure{Name: "learned_loss", Width: 8.5 * vg.Inch, Height: 3.8 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{weights, shape}},
		Caption: "A loss learned as a convex combination of four losses of the margin m: max(0, 1−m), e⁻ᵐ, max(0, 1−m)² and log(1+e⁻²ᵐ). Left: their weights along the search. Right: the four and, broad and grey, their combination at the end" + combination(final) + "."}
}

// combination returns the part of the caption that lists the losses with their weights. A weight that
// is rounded to 0 is left out.
func combination(weights []float64) string {
	const digits, one = 2, "1.00"
	var parts []string
	for k, w := range weights {
		switch text := strconv.FormatFloat(w, 'f', digits, 64); {
		case math.IsNaN(w):
			return ""
		case text == one:
			return ", the " + differentiability.LossNames[k] + " loss alone"
		case math.Round(100*w) != 0:
			parts = append(parts, text+" "+differentiability.LossNames[k])
		}
	}
	if parts == nil {
		return ""
	}
	return ": " + strings.Join(parts, " + ")
}

// LearnedLossTable compares the learned loss with each single loss.
func LearnedLossTable(r *differentiability.Learning) *Table {
	l := r.Loss
	t := &Table{
		Name: "learned_loss_gain", Caption: fmt.Sprintf("A learned loss against each single one, over %d data sets with %.0f %% wrong labels", r.Params.LossSeeds, 100*r.Params.Flips),
		Header: []string{"Loss", "Mean weight", "CV loss", "Test loss", "Learned minus this", "Learned better", "Test error", "Learned minus this", "Learned better"},
		Note:   "The CV loss and the test loss are logistic losses; test labels are clean. The ridge penalty is learned in every row. 95 % confidence intervals of means and of paired differences.",
	}
	for i, m := range l.Methods {
		mean := any(nil)
		if single := i - (len(l.Methods) - len(l.Mean)); single >= 0 {
			mean = chart.Estimated(l.Mean[single], 3)
		}
		row := []any{m.Name, mean, chart.Estimated(m.CV, 4)}
		row = append(row, chart.Comparison(m.Test, m.LearnedMinusTest, i == 0)...)
		t.Rows = append(t.Rows, append(row, chart.Comparison(m.Error, m.LearnedMinusError, i == 0)...))
	}
	return t
}
