package figures

import (
	"fmt"
	"image/color"
	"slices"

	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func init() {
	register(ringsOutputs)
	register(xorOutputs)
}

func ringsOutputs(r *kernels.RingsResult) []Output {
	return Rings.outputs(&r.LearnedKernelResult, r.Params.K)
}

func xorOutputs(r *kernels.XORResult) []Output {
	return XOR.outputs(&r.LearnedKernelResult, r.Params.K)
}

func (e KernelExample) outputs(r *kernels.LearnedKernelResult, splits int) []Output {
	return []Output{e.VariantsTable(r), e.BayesTable(r), e.Boundary(r), e.Manifold(r), e.Variants(r, splits)}
}

// A KernelExample holds the texts, the printed numbers and the boundary levels for the figures and
// tables of one experiment with a learned kernel.
type KernelExample struct {
	name, title    string
	printedNumbers claims.PrintedKernel
	bayes          string    // name of the Bayes rule's boundaries in a legend
	bayesAre       string    // name of the Bayes rule's boundaries in a caption
	levels         []float64 // values of the Bayes rule's score on these boundaries
	bayesNote      string
}

// Rings and XOR are the experiments with a learned kernel. For XOR, the squares of different
// classes overlap. In the overlap, both classes are equally likely, so the Bayes rule has no unique
// boundary there. The figures therefore show, for XOR, the edges of the corners in which the label
// is certain.
var (
	Rings = KernelExample{"rings", "Rings", claims.Printed.Rings, "Bayes rule", "the dashed boundary of the best possible rule", []float64{0},
		"The paper's text states .892 for the same test set. The best rule is a circle."}
	XOR = KernelExample{"xor", "XOR", claims.Printed.XOR, "corners where the label is certain", "the dashed corners in which the label is certain, tinted by their class", []float64{-.5, .5},
		"The labels are −1 and 1. The published code predicts 1 if the signs of the coordinates differ and 0 if not, and counts a prediction as right if it is not the label. So each prediction for the label −1 counts as right, and 0 for the label 1. " +
			"The sign rule predicts from the signs of both coordinates. It is one of the best rules: where the squares overlap, any answer is right half the time."}
)

// VariantsTable lists the results of the five variants of the gradient.
func (e KernelExample) VariantsTable(r *kernels.LearnedKernelResult) *Table {
	steps := len(chart.Nth(r.Runs, 0).CVLoss) - 1
	t := &Table{
		Name: e.name + "_variants", Caption: e.title + ": five variants of the gradient from the same start",
		Header: []string{"Variant", "First CV loss", fmt.Sprintf("CV loss after step %d", steps-1), "Published code, CV loss", "Test accuracy", "Paper, accuracy", "Published code, accuracy", "First cosine", "Steps not decided by rounding"},
	}
	for _, run := range r.Runs {
		printed := e.printedOf(run)
		row := []any{run.Variant.String(),
			Number{Value: run.CVLoss[0], Digits: 4}, Number{Value: run.LastLoss(), Digits: 4}, chart.Quoted(printed.LastLoss.Code),
			Number{Value: run.FinalAccuracy(), Digits: 3}, chart.Quoted(printed.Accuracy.Paper), chart.Quoted(printed.Accuracy.Code),
			Number{Value: run.Cosine[0], Digits: 2}, run.StableSteps()}
		if run.StableSteps() < steps {
			row[2], row[4] = "rounding decides", "rounding decides"
		}
		t.Rows = append(t.Rows, row)
	}
	t.Note = fmt.Sprintf("Accuracy after all %d steps; the CV loss is one step earlier, as the published code prints it. "+
		"The cosine belongs to the angle between the variant's first direction and the exact gradient of the same loss. "+
		"A second run starts from weights larger by one part in 10¹². The last column counts the steps up to which the two CV losses differ by at most 10⁻⁴.", steps)
	return t
}

// printedOf returns the printed numbers that belong to a run. Only the published variant has
// printed numbers.
func (e KernelExample) printedOf(run kernels.Run) (printed claims.PrintedKernel) {
	if run.Variant == kernels.Published {
		printed = e.printedNumbers
	}
	return printed
}

// BayesTable compares two accuracies of the Bayes rule: the printed accuracy, and the correct
// accuracy.
func (e KernelExample) BayesTable(r *kernels.LearnedKernelResult) *Table {
	b := r.Bayes
	t := &Table{
		Name: e.name + "_bayes", Caption: e.title + ": accuracy of the Bayes rule", Note: e.bayesNote,
		Header: []string{"", "Paper", "Published code", "On the test set", "Population"},
		Rows: [][]any{
			{"Bayes rule", chart.Quoted(e.printedNumbers.Bayes.Paper), chart.Quoted(e.printedNumbers.Bayes.Code), Number{Value: b.Test, Digits: 3}, Number{Value: b.Population, Digits: 5}},
		},
	}
	for _, run := range shownRuns(r) {
		name := map[kernels.Variant]string{kernels.Published: "CVGM, published", kernels.Full: "CVGM, full gradient"}[run.Variant]
		t.Rows = append(t.Rows, []any{name, chart.Quoted(e.printedOf(run).Accuracy.Paper), chart.Quoted(e.printedOf(run).Accuracy.Code), Number{Value: run.FinalAccuracy(), Digits: 3}, nil})
	}
	return t
}

// shownRuns returns the runs along the published and the full gradient.
func shownRuns(r *kernels.LearnedKernelResult) []kernels.Run {
	return slices.DeleteFunc(slices.Clone(r.Runs), func(run kernels.Run) bool {
		return run.Variant != kernels.Published && run.Variant != kernels.Full
	})
}

// Boundary shows the training data with the learned decision boundaries and the boundary of the
// Bayes rule. It corresponds to the upper part of the paper's figure.
func (e KernelExample) Boundary(r *kernels.LearnedKernelResult) *Figure {
	f := &Figure{Name: e.name + "_boundary", Width: 7.6 * vg.Inch, Height: 4 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{nil},
		Caption: e.title + ": the training examples of the two classes with the decision boundary that CVGM learns along the published direction and the full gradient, and " + e.bayesAre + ". The titles give the accuracy on the test examples. " + e.printedNote(r)}
	for _, run := range shownRuns(r) {
		v, b := run.Variant, r.Bayes.Scores
		p := NewPanel(v.String(), fmt.Sprintf("%s: test accuracy %.3f", direction(v), run.FinalAccuracy()), "x₁", "x₂")
		p.Equal = true
		if low, high := slices.Min(e.levels), slices.Max(e.levels); low < high {
			p.Tint(b.Axis, b.Axis, b.Score, func(v float64) bool { return v < low }, classColors[0])
			p.Tint(b.Axis, b.Axis, b.Score, func(v float64) bool { return v > high }, classColors[1])
		}
		x, y := columns(r.Train.X)
		plotClasses(p, x, y, r.Train.Y, 3)
		for i, level := range e.levels {
			p.Contour(e.bayes, b.Axis, b.Axis, b.Score, level, Style{Color: Grey, Width: 1, Dash: []vg.Length{4, 3}, Unlisted: i > 0})
		}
		p.Contour("decision boundary", run.Boundary.Axis, run.Boundary.Axis, run.Boundary.Score, 0, Style{Color: Black, Width: 1.5})
		f.Panels[0] = append(f.Panels[0], p)
	}
	return f
}

// columns returns the first two columns of the matrix x. If x is nil, the columns are empty.
func columns(x *mat.Dense) (first, second []float64) {
	if x != nil {
		first, second = mat.Col(nil, 0, x), mat.Col(nil, 1, x)
	}
	return first, second
}

// classColors are the colours of the classes −1 and +1.
var classColors = []color.NRGBA{Blue, Vermilion}

// plotClasses plots examples at their coordinates. Each class has its own colour and shape.
func plotClasses(p *Panel, x, y, labels []float64, radius vg.Length) {
	glyphs := []Style{{Color: classColors[0], Glyph: draw.RingGlyph{}, GlyphRadius: radius}, {Color: classColors[1], Glyph: draw.PlusGlyph{}, GlyphRadius: radius}}
	for k, name := range []string{"class −1", "class +1"} {
		var cx, cy []float64
		for i, label := range labels {
			if label == float64(2*k-1) {
				cx, cy = append(cx, x[i]), append(cy, y[i])
			}
		}
		p.Scatter(name, cx, cy, glyphs[k])
	}
}

// plotUnsure plots the examples with the label 0.
func plotUnsure(p *Panel, x, y, labels []float64) {
	var ux, uy []float64
	for i, label := range labels {
		if label == 0 {
			ux, uy = append(ux, x[i]), append(uy, y[i])
		}
	}
	p.Scatter("either class equally likely", ux, uy, Style{Color: chart.Pale, GlyphRadius: 1.3})
}

// evenly returns the indices of at most n examples with each label. The indices of a label are
// evenly spaced.
func evenly(labels []float64, n int) (shown []int) {
	of := make(map[float64][]int)
	for i, label := range labels {
		of[label] = append(of[label], i)
	}
	for _, all := range of {
		for k := range min(n, len(all)) {
			shown = append(shown, all[k*len(all)/min(n, len(all))])
		}
	}
	slices.Sort(shown)
	return shown
}

// certainLabels returns the labels of the test examples. If the Bayes rule's score of an example
// lies between the levels of the boundaries, its label is 0.
func (e KernelExample) certainLabels(r *kernels.LearnedKernelResult) []float64 {
	labels := slices.Clone(r.Test.Y)
	x, y := columns(r.Test.X)
	s := r.Bayes.Scores
	grid := &chart.Surface{Xs: s.Axis, Ys: s.Axis, Values: s.Score}
	for i := range labels {
		if v := grid.At(x[i], y[i]); slices.Min(e.levels) < v && v < slices.Max(e.levels) {
			labels[i] = 0
		}
	}
	return labels
}

// Manifold shows the images of test examples under the kernel after several numbers of steps. It
// shows them for the published gradient and for the full gradient. It corresponds to the lower part
// of the paper's figure.
func (e KernelExample) Manifold(r *kernels.LearnedKernelResult) *Figure {
	const most = 200 // of each class; more examples would hide each other
	f := &Figure{Name: e.name + "_manifold", Width: 9.6 * vg.Inch, Height: 5 * vg.Inch, Legend: LegendBelow}
	shown := evenly(r.Test.Y, most)
	labels := chart.Pick(e.certainLabels(r), shown)
	for _, run := range shownRuns(r) {
		v := run.Variant
		var row []*Panel
		for _, m := range run.Manifolds {
			p := NewPanel(fmt.Sprintf("%v, step %d", v, m.Step), fmt.Sprintf("step %d: accuracy %.3f", m.Step, m.Accuracy), "φ₁", "φ₂").NoTicks()
			p.Equal = true
			x, y := chart.Pick(m.Phi[0], shown), chart.Pick(m.Phi[1], shown)
			plotUnsure(p, x, y, labels)
			plotClasses(p, x, y, labels, 1.8)
			p.Across("separator", m.W[0], m.W[1], -m.B, Style{Color: Black, Width: 1.2})
			row = append(row, p)
		}
		f.Panels = append(f.Panels, row)
		f.Heads = append(f.Heads, direction(v))
	}
	examples := "the test examples"
	if len(shown) < len(r.Test.Y) {
		examples = fmt.Sprintf("%d of the test examples", len(shown))
	}
	unsure := ""
	if slices.Contains(labels, 0) {
		unsure = " In grey are the examples whose two classes are equally likely."
	}
	f.Caption = e.title + ": the features φ of " + examples + " after some numbers of steps, with the straight line by which logistic regression separates the classes." + unsure + " Each panel has its own scale. The titles give the accuracy on all test examples. " + e.printedNote(r)
	return f
}

// Variants shows three quantities along three directions: the published direction, the detached
// direction and the exact gradient. The quantities are the CV loss, the test accuracy, and the
// cosine of the angle between the direction and the exact gradient. Each direction has a row of its
// own, because a line that jumps up and down would hide the others. The row of the exact gradient
// has no cosine, which would always be 1. A line ends at the step after which its run depends on
// rounding. The argument splits is the number of splits, for the caption.
func (e KernelExample) Variants(r *kernels.LearnedKernelResult, splits int) *Figure {
	f := &Figure{Name: e.name + "_variants_path", Width: 11 * vg.Inch, Height: 6.3 * vg.Inch, Legend: LegendInGap, SameColumns: true,
		Caption: e.variantsCaption(r, splits)}
	for k, v := range variantsInFigure {
		lineColor := []color.NRGBA{Vermilion, Green, Blue}[k]
		run := runOf(r, v)
		row := chart.Mapped([]string{"CV loss", "test accuracy", "cosine with gradient"}, func(quantity string) *Panel {
			return NewPanel(v.String()+", "+quantity, quantity, "", "").Grid().StepsX()
		})
		row[1].HLine("Bayes rule, population", r.Bayes.Population, Style{Color: Grey, Width: 1, Dash: []vg.Length{1, 3}})
		row[1].HLine("Bayes rule, these examples", r.Bayes.Test, Style{Color: Black, Width: 1, Dash: []vg.Length{6, 3}})
		row[2].HLine("cosine 1: full gradient", 1, Style{Color: Blue, Width: 1.5})
		row[2].HLine("cosine 0: uphill below it", 0, Style{Color: Black, Width: .8})
		plotRun(row[0], &run, run.CVLoss, 3, lineColor)
		plotRun(row[1], &run, run.Accuracy, 3, lineColor)
		if !stops(&run) { // the Bayes rule's accuracy is beside the last accuracy
			row[1].Plot.Title.Text += fmt.Sprintf(" (Bayes %v)", Number{Value: r.Bayes.Test, Digits: 3})
		}
		plotRun(row[2], &run, run.Cosine, 2, lineColor)
		switch v {
		case kernels.Published:
			e.markPrinted(row[1], r)
		case kernels.Full:
			row = row[:2]
		}
		f.Panels, f.Heads = append(f.Panels, row), append(f.Heads, direction(v))
	}
	for _, lowest := range []*Panel{f.Panels[2][0], f.Panels[2][1], f.Panels[1][2]} {
		lowest.Plot.X.Label.Text = "steps" + stepsScale
	}
	return f
}

// runOf returns the run along a variant, or an empty run if there is none.
func runOf(r *kernels.LearnedKernelResult, v kernels.Variant) kernels.Run {
	return chart.Nth(r.Runs, slices.IndexFunc(r.Runs, func(run kernels.Run) bool { return run.Variant == v }))
}

// stepsScale explains the labels of StepsX, beside the quantity of the axis.
const stepsScale = " (log scale of steps + 1)"

// variantsInFigure are the variants with a row in the figure Variants.
var variantsInFigure = []kernels.Variant{kernels.Published, kernels.Detached, kernels.Full}

// stops reports whether the line of a run ends before its last step, because rounding decides the
// further path.
func stops(run *kernels.Run) bool { return run.StableSteps()+1 < len(run.CVLoss) }

// variantsCaption returns the caption of the figure Variants.
func (e KernelExample) variantsCaption(r *kernels.LearnedKernelResult, splits int) string {
	caption := fmt.Sprintf("%s: three variants of the gradient on one data set with K = %d splits, from the same initial weights. The published direction has the printed term of the fit's derivative, the detached one the whole derivative; both omit the path through the validation rows. "+
		"Only the published fit penalises its intercept, so its values at step 0 can differ slightly. The titles give the first and the last value of each line", e.title, splits)
	if slices.ContainsFunc(variantsInFigure, func(v kernels.Variant) bool { run := runOf(r, v); return stops(&run) }) {
		caption += "; a line stops at × if rounding errors decide its path from there"
	}
	caption += ". The cosine belongs to the angle between the direction of a step and the exact gradient of the same loss. "
	if uphill := runOf(r, kernels.Published).Cosine; len(uphill) > 0 && uphill[0] < 0 {
		caption += "The published direction begins uphill here; the figure of the gradient's parts counts on how many other data sets it does. "
	}
	return caption + e.printedNote(r)
}

// plotRun plots the values of a quantity after 0, 1, … steps of a run. It adds the values at both
// ends of the line to the title. If the line stops before the last step, its end is arbitrary, and
// the title has the step instead.
func plotRun(p *Panel, run *kernels.Run, values []float64, digits int, c color.NRGBA) {
	n := min(run.StableSteps()+1, len(values))
	if n == 0 {
		return
	}
	steps, last := Log10s(chart.OneTo(n)), values[n-1:n]
	p.Line(run.Variant.String(), steps, values[:n], Style{Color: c, Width: 1.5, Unlisted: true})
	end := fmt.Sprintf(" → %v", Number{Value: last[0], Digits: digits})
	if n < len(values) {
		end = fmt.Sprintf(", stops at step %d", n-1)
		p.Scatter("rounding decides from here", steps[n-1:], last, Style{Color: Black, Glyph: chart.HeavyCross{}, GlyphRadius: 3.5})
	}
	p.Plot.Title.Text += chart.TypesetAll(fmt.Sprintf(": %v%s", Number{Value: values[0], Digits: digits}, end))
}

// direction names a direction. Only the exact one is a gradient.
func direction(v kernels.Variant) string {
	if v == kernels.Full {
		return v.String() + " gradient"
	}
	return v.String() + " direction"
}

// printedNote returns two sentences with accuracies: those that the paper prints, and the right
// ones of the Bayes rule.
func (e KernelExample) printedNote(r *kernels.LearnedKernelResult) string {
	printed := e.printedNumbers
	note := fmt.Sprintf("The paper prints %v after the last step", chart.Quoted(printed.Accuracy.Paper))
	if printed.Accuracy10.Paper != "" {
		note += fmt.Sprintf(", %v after about %d", chart.Quoted(printed.Accuracy10.Paper), claims.AboutTen)
	}
	return note + fmt.Sprintf(", and %v for the Bayes rule, which has %v over the population and %v on these test examples. On these a learned model can exceed it by chance.",
		chart.Quoted(printed.Bayes.Paper), Number{Value: r.Bayes.Population, Digits: 3}, Number{Value: r.Bayes.Test, Digits: 3})
}

// markPrinted marks the accuracies that the paper prints.
func (e KernelExample) markPrinted(p *Panel, r *kernels.LearnedKernelResult) {
	last := len(chart.Nth(r.Runs, 0).CVLoss) - 1
	var steps, accuracies []float64
	for _, mark := range []struct {
		step   int
		quoted claims.Quoted
	}{{claims.AboutTen, e.printedNumbers.Accuracy10}, {last, e.printedNumbers.Accuracy}} {
		if accuracy, ok := mark.quoted.Number(); ok && mark.step <= last {
			steps, accuracies = append(steps, float64(1+mark.step)), append(accuracies, accuracy)
		}
	}
	p.Scatter("published, as printed", Log10s(steps), accuracies, Style{Color: Vermilion, Glyph: chart.PrintedStyle.Glyph, GlyphRadius: 4})
}
