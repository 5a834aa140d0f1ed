package figures

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/qpdiff"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// RingsTable is what the five variants of the gradient reach on the rings.
func RingsTable(r *experiment.LearnedKernelResult) *Table {
	return variantTable(r, "rings_variants", "Rings: five variants of the gradient from the same start")
}

// XORTable is the same on XOR.
func XORTable(r *experiment.LearnedKernelResult) *Table {
	return variantTable(r, "xor_variants", "XOR: five variants of the gradient from the same start")
}

func variantTable(r *experiment.LearnedKernelResult, name, caption string) *Table {
	steps := r.Params.Steps
	t := &Table{
		Name: name, Caption: caption,
		Header: []string{"Variant", "First CV loss", "Last CV loss", "Published code", "Test accuracy", "Paper", "Published code", "First cosine", "Steps determined"},
	}
	for _, run := range r.Runs {
		row := []any{run.Variant.String(),
			Number{Value: run.CVLoss[0], Digits: 4}, Number{Value: run.LastLoss(), Digits: 4}, quoted(run.QuotedLoss.Code),
			Number{Value: run.FinalAccuracy(), Digits: 3}, quoted(run.QuotedFinal.Paper), quoted(run.QuotedFinal.Code),
			Number{Value: run.Cosine[0], Digits: 2}, run.Determined()}
		if run.Determined() < steps {
			row[2], row[4] = "rounding decides", "rounding decides"
		}
		t.Rows = append(t.Rows, row)
	}
	t.Note = fmt.Sprintf("CV losses before the first and before the last of %d steps, test accuracy after the last, as the published code prints them. "+
		"The cosine is that of the angle between the variant's first direction and the exact gradient of the same loss. "+
		"The last column counts the steps after which a start that is larger by one part in 10¹² has led to the same CV loss within 10⁻⁴.", steps)
	return t
}

// RingsBayesTable sets the accuracy of the Bayes rule as stated beside the
// right one.
func RingsBayesTable(r *experiment.LearnedKernelResult) *Table {
	return bayesTable(r, "rings_bayes", "Rings: accuracy of the Bayes rule",
		"The paper's text also states .892, of the same test set. The best rule is a circle; it does better on this test set than over the population, by chance.")
}

// XORBayesTable is the same on XOR.
func XORBayesTable(r *experiment.LearnedKernelResult) *Table {
	return bayesTable(r, "xor_bayes", "XOR: accuracy of the Bayes rule",
		"The published code compares predictions in {0, 1} with labels in {−1, +1}: every example of the class −1 counts as right. "+
			"The sign rule is one of the best rules: where the squares overlap, any answer is right half the time.")
}

func bayesTable(r *experiment.LearnedKernelResult, name, caption, note string) *Table {
	b := r.Bayes
	return &Table{
		Name: name, Caption: caption, Note: note,
		Header: []string{"", "Paper", "Published code", "On the test set", "Population"},
		Rows: [][]any{
			{"Bayes rule", quoted(b.Quoted.Paper), quoted(b.Quoted.Code), Number{Value: b.Test, Digits: 3}, Number{Value: b.Population, Digits: 5}},
			{"CVGM, published", quoted(r.Run(experiment.Published).QuotedFinal.Paper), quoted(r.Run(experiment.Published).QuotedFinal.Code),
				Number{Value: r.Run(experiment.Published).FinalAccuracy(), Digits: 3}, nil},
			{"CVGM, full gradient", nil, nil, Number{Value: r.Run(experiment.Full).FinalAccuracy(), Digits: 3}, nil},
		},
	}
}

// RingsBoundary shows the training data with the learned decision boundaries
// and the Bayes rule's (the top of the paper's figure).
func RingsBoundary(r *experiment.LearnedKernelResult) *Figure {
	return boundaryFigure(r, "rings_boundary", "Rings: training data and decision boundaries, with the test accuracy", "Bayes rule", 0)
}

// XORBoundary is the same for XOR. The Bayes rule has a choice where the squares
// overlap; shown are the corners in which it has none.
func XORBoundary(r *experiment.LearnedKernelResult) *Figure {
	return boundaryFigure(r, "xor_boundary", "XOR: training data and decision boundaries, with the test accuracy", "corners of sure label", -.5, .5)
}

func boundaryFigure(r *experiment.LearnedKernelResult, name, caption, bayes string, levels ...float64) *Figure {
	f := &Figure{Name: name, Caption: caption, Width: 7.6 * vg.Inch, Height: 3.2 * vg.Inch, LegendWidth: 1.6 * vg.Inch}
	half := r.Params.GridHalf
	var row []*Panel
	for _, v := range []experiment.Variant{experiment.Published, experiment.Full} {
		run := r.Run(v)
		p := NewPanel(v.String(), fmt.Sprintf("%v gradient: %.1f %%", v, 100*run.FinalAccuracy()), "x1", "x2")
		p.Equal = true
		classes(p, r.Train, r.Train.X.At, 3)
		b := r.Bayes.Scores
		for i, level := range levels {
			p.Contour(bayes, b.Axis, b.Axis, b.Score, level, Style{Color: Grey, Width: 1, Dash: []vg.Length{4, 3}, Unlisted: i > 0})
		}
		p.Contour("decision boundary", run.Boundary.Axis, run.Boundary.Axis, run.Boundary.Score, 0, Style{Color: Black, Width: 1.5})
		p.Range(-half, half, -half, half)
		row = append(row, p)
	}
	f.Panels = [][]*Panel{row}
	return f
}

// classes plots the examples of d at their coordinates, each class in its own
// colour and shape.
func classes(p *Panel, d qpdiff.Data, at func(i, j int) float64, radius vg.Length) {
	for _, c := range []struct {
		name  string
		y     float64
		color Style
	}{
		{"class −1", -1, Style{Color: Blue, Glyph: draw.RingGlyph{}, GlyphRadius: radius}},
		{"class +1", 1, Style{Color: Vermillion, Glyph: draw.PlusGlyph{}, GlyphRadius: radius}},
	} {
		var x, y []float64
		for i, label := range d.Y {
			if label == c.y {
				x, y = append(x, at(i, 0)), append(y, at(i, 1))
			}
		}
		p.Scatter(c.name, x, y, c.color)
	}
}

// RingsManifold shows the images of the test examples under the kernel as it is
// learned (the bottom of the paper's figure), for the published and for the full
// gradient.
func RingsManifold(r *experiment.LearnedKernelResult) *Figure {
	return manifoldFigure(r, "rings_manifold", "Rings: the test examples under the learned kernel, with the linear separator and the test accuracy")
}

// XORManifold is the same for XOR.
func XORManifold(r *experiment.LearnedKernelResult) *Figure {
	return manifoldFigure(r, "xor_manifold", "XOR: the test examples under the learned kernel, with the linear separator and the test accuracy")
}

func manifoldFigure(r *experiment.LearnedKernelResult, name, caption string) *Figure {
	f := &Figure{Name: name, Caption: caption, Width: 10.5 * vg.Inch, Height: 5 * vg.Inch, LegendWidth: 1.1 * vg.Inch}
	for _, v := range []experiment.Variant{experiment.Published, experiment.Full} {
		var row []*Panel
		for _, m := range r.Run(v).Manifolds {
			p := NewPanel(fmt.Sprintf("%v, step %d", v, m.Step), fmt.Sprintf("%v, step %d: %.1f %%", v, m.Step, 100*m.Accuracy), "φ1", "φ2")
			p.Equal = true
			classes(p, r.Test, func(i, j int) float64 { return m.Phi[j][i] }, 1.3)
			// A square that holds all points.
			var centre [2]float64
			var half float64
			for j, c := range m.Phi {
				low, high := slices.Min(c), slices.Max(c)
				centre[j] = (low + high) / 2
				half = math.Max(half, .53*(high-low))
			}
			xs, ys := []float64{centre[0] - half, centre[0] + half}, []float64{centre[1] - half, centre[1] + half}
			score := make([][]float64, 2)
			for i, x := range xs {
				for _, y := range ys {
					score[i] = append(score[i], m.W[0]*x+m.W[1]*y+m.B)
				}
			}
			p.Contour("separator", xs, ys, score, 0, Style{Color: Black, Width: 1.2})
			p.Range(xs[0], xs[1], ys[0], ys[1])
			row = append(row, p)
		}
		f.Panels = append(f.Panels, row)
	}
	return f
}

// RingsVariants shows the CV loss and the test accuracy along the five variants,
// and the angle between their directions and the exact gradient. A line ends
// where rounding begins to decide where it goes.
func RingsVariants(r *experiment.LearnedKernelResult) *Figure {
	return variantFigure(r, "rings_variants_path", "Rings: CV loss and direction along the variants of the gradient; a line ends where rounding begins to decide where it goes")
}

// XORVariants is the same for XOR.
func XORVariants(r *experiment.LearnedKernelResult) *Figure {
	return variantFigure(r, "xor_variants_path", "XOR: CV loss and direction along the variants of the gradient; a line ends where rounding begins to decide where it goes")
}

var variantStyles = map[experiment.Variant]Style{
	experiment.Published:         {Color: Vermillion, Width: 2},
	experiment.Detached:          {Color: Green, Dash: []vg.Length{6, 3}},
	experiment.DetachedPenalised: {Color: Purple, Dash: []vg.Length{6, 2, 1, 2}},
	experiment.Full:              {Color: Blue, Width: 2},
	experiment.FullPenalised:     {Color: Orange, Dash: []vg.Length{3, 2}},
}

func variantFigure(r *experiment.LearnedKernelResult, name, caption string) *Figure {
	loss := NewPanel("CV loss", "", "steps", "CV loss")
	accuracy := NewPanel("test accuracy", "", "steps", "test accuracy")
	cosine := NewPanel("cosine", "", "steps", "cosine with the exact gradient")
	panels := []*Panel{loss, accuracy, cosine}
	for _, p := range panels {
		p.Grid()
	}
	var steps []float64
	for k := range r.Params.Steps + 1 {
		steps = append(steps, float64(k))
	}
	for _, run := range r.Runs {
		style := variantStyles[run.Variant]
		n := run.Determined() + 1
		loss.Line(run.Variant.String(), steps[:n], run.CVLoss[:n], style)
		accuracy.Line(run.Variant.String(), steps[:n], run.Accuracy[:n], style)
		cosine.Line(run.Variant.String(), steps[:n], run.Cosine[:n], style)
	}
	cosine.Range(0, float64(r.Params.Steps), -1, 1)
	return &Figure{
		Name: name, Caption: caption,
		Width: 11 * vg.Inch, Height: 3 * vg.Inch, LegendWidth: 2.1 * vg.Inch,
		Panels: [][]*Panel{panels},
	}
}
