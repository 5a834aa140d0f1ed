package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func init() {
	// ElasticNetTable is omitted, because it needs both results.
	register(func(r *elasticnet.Result) []Output {
		return []Output{ElasticNetLearningCurves(r), ElasticNetSurfaces(r), ElasticNetEarlyStopping(r)}
	})
	register(func(r *elasticnet.Seeds) []Output {
		return []Output{ElasticNetCVTable(r), ElasticNetBoxTable(r)}
	})
}

// ElasticNetTable is Table 1 of the paper: the test losses of the three searches. It lists the
// losses in the paper, the losses in the saved output of the paper's code, and the losses in the
// replay of the paper's run. It also lists means over fresh data sets.
func ElasticNetTable(r *elasticnet.Result, seeds *elasticnet.Seeds) *Table {
	t := &Table{
		Name: "table1_elastic_net", Caption: "Table 1: synthetic regression, test loss (mean squared error)",
		Header: []string{"Method", "Paper", "Published code", "Replay", "Evaluations", fmt.Sprintf("Mean of %d seeds", seeds.Params.Seeds), "CVGM minus method", "CVGM better"},
	}
	fresh := make(map[string]elasticnet.Method)
	for _, m := range seeds.Methods {
		fresh[m.Name] = m
	}
	long := r.Long
	long.Name = chart.Nth(seeds.Methods, elasticnet.Long).Name
	add := func(name string, loss float64, q claims.Quoted, evaluations any) {
		t.Rows = append(t.Rows, append([]any{name, chart.Quoted(q.Paper), chart.Quoted(q.Code), Number{Value: loss, Digits: 6}, evaluations},
			chart.Comparison(fresh[name].TestMean, fresh[name].CVGMMinusTest, name == r.CVGM.Name)...))
	}
	printed := claims.Printed
	for k, s := range []elasticnet.Search{r.CVGM, long, r.Exhaustive, r.Random} {
		add(s.Name, s.Final(), []claims.Quoted{printed.CVGM, {}, printed.Exhaustive, printed.Random}[k], len(s.CVLoss))
	}
	add(chart.Nth(seeds.Methods, elasticnet.Start).Name, r.CVGM.TestLoss[0], claims.Quoted{}, 1)
	add("Least squares", r.LeastSquares, printed.LeastSquares, nil)
	add("True coefficients", r.TrueCoefficients, printed.TrueCoefficients, nil)
	t.Note = fmt.Sprintf("Means and paired differences with 95 %% confidence intervals; the last column is the share of seeds in which CVGM has the lower loss. "+
		"The published code computes in single precision, the replay in double. With the test data rounded to single precision "+
		"the true coefficients' loss is %.12f, the digits in the code's saved output. That output ends at %s, so the paper's 1.080 comes from another run.",
		r.TrueCoefficientsSingle, printed.CVGM.Code)
	return t
}

// ElasticNetCVTable lists the CV losses of the searches on fresh data sets. The searches minimise
// the CV loss, but the paper's Table 1 does not show it.
func ElasticNetCVTable(seeds *elasticnet.Seeds) *Table {
	t := &Table{Name: "elastic_net_cv_loss", Caption: fmt.Sprintf("Cross-validation loss reached, over %d seeds", seeds.Params.Seeds),
		Header: []string{"Method", "Mean CV loss", "CVGM minus method", "CVGM better"}}
	for _, m := range seeds.Methods {
		if m.CV != nil {
			t.Rows = append(t.Rows, append([]any{m.Name}, chart.Comparison(m.CVMean, m.CVGMMinusCV, m.Name == chart.Nth(seeds.Methods, elasticnet.CVGM).Name)...))
		}
	}
	return t
}

// ElasticNetBoxTable compares exhaustive search with random search in two boxes: the box of the
// paper's grid, and a wider box. Both boxes have the same number of points.
func ElasticNetBoxTable(r *elasticnet.Seeds) *Table {
	p := r.Params
	t := &Table{Name: "elastic_net_boxes", Caption: fmt.Sprintf("Exhaustive and random search in the paper's box and in a wide one, over %d seeds", p.Seeds),
		Header: []string{"Search", "Mean of", "paper's box", "wide box", "wide minus paper's"}}
	for k, less := range [][2]experiment.Comparison{{r.WideLess.ExhaustiveCV, r.WideLess.ExhaustiveTest}, {r.WideLess.RandomCV, r.WideLess.RandomTest}} {
		narrow, wide := chart.Nth(r.Methods, elasticnet.Exhaustive+k), chart.Nth(r.Methods, elasticnet.WideExhaustive+k)
		add := func(of string, narrowMean, wideMean experiment.Estimate, difference any) {
			t.Rows = append(t.Rows, []any{narrow.Name, of, chart.Estimated(narrowMean, 4), chart.Estimated(wideMean, 4), difference})
		}
		add("CV loss", narrow.CVMean, wide.CVMean, chart.Estimated(less[0].Difference, 4))
		add("test loss", narrow.TestMean, wide.TestMean, chart.Estimated(less[1].Difference, 4))
		if k == 0 {
			add("share with the best point on an edge", r.OnEdge, r.WideOnEdge, nil)
			add("on an upper edge", r.OnUpper, r.WideOnUpper, nil)
		}
	}
	t.Note = fmt.Sprintf("The paper's box is [%.3g, %.3g]² and the wide one [%.3g, %.3g]², each with a grid of %d by %d points or %d random ones. "+
		"Means, paired differences and shares with 95 %% confidence intervals.",
		math.Pow(10, p.BoxLow), math.Pow(10, p.BoxHigh), math.Pow(10, p.WideLow), math.Pow(10, p.WideHigh), p.GridPoints, p.GridPoints, p.RandomPoints)
	return t
}

// ElasticNetLearningCurves is the figure "Synthetic regression data" of the supplement. It shows
// the test loss along the three searches.
func ElasticNetLearningCurves(r *elasticnet.Result) *Figure {
	p := NewPanel("learning curves", "", "evaluations of the CV loss", "test loss (MSE)").Grid()
	p.Direct = true
	p.HLine("least squares", r.LeastSquares, Style{Color: Grey, Width: 1, Dash: []vg.Length{8, 2, 2, 2}})
	p.HLine("true coefficients", r.TrueCoefficients, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
	p.Line(r.CVGM.Name, chart.OneTo(len(r.CVGM.TestLoss)), r.CVGM.TestLoss, Style{Color: Blue, Width: 2})
	p.Steps(r.Exhaustive.Name, chart.OneTo(len(r.Exhaustive.TestLoss)), r.Exhaustive.TestLoss, Style{Color: Vermilion, Dash: []vg.Length{6, 3}})
	p.Steps(r.Random.Name, chart.OneTo(len(r.Random.TestLoss)), r.Random.TestLoss, Style{Color: Green, Dash: []vg.Length{2, 2}})
	printed := claims.Printed
	var ends, losses []float64
	for _, end := range []struct {
		search elasticnet.Search
		quoted claims.Quoted
	}{{r.CVGM, printed.CVGM}, {r.Exhaustive, printed.Exhaustive}, {r.Random, printed.Random}} {
		if loss, ok := end.quoted.Number(); ok && len(end.search.TestLoss) > 0 {
			ends, losses = append(ends, float64(len(end.search.TestLoss))), append(losses, loss)
		}
	}
	p.Scatter("printed in Table 1", ends, losses, chart.PrintedStyle)
	return &Figure{Name: "elastic_net_learning_curves", Width: 6.6 * vg.Inch, Height: 3.7 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: fmt.Sprintf("Test loss along the three searches on the published data. CVGM is judged at each step, exhaustive and random search at the lowest CV loss so far. "+
			"CVGM ends at %.4f, exhaustive search at %.4f, random search at %.4f; the paper prints %s, %s and %s. The dotted line is the test loss of the coefficients that made the data.", r.CVGM.Final(), r.Exhaustive.Final(), r.Random.Final(), printed.CVGM.Paper, printed.Exhaustive.Paper, printed.Random.Paper)}
}

// ElasticNetSurfaces shows the CV loss and the test loss as functions of (λ1, λ2), with the path of
// CVGM and the points that the searches choose. The searches minimise the CV loss, so its panel has
// their points. The test loss judges their choices, so its panel is an enlarged part and has the
// test losses of the choices. Both panels have the lowest points of both surfaces.
func ElasticNetSurfaces(r *elasticnet.Result) *Figure {
	f := &Figure{Name: "elastic_net_surfaces", Width: 9 * vg.Inch, Height: 4.7 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{nil}}
	whole := [][]float64{r.Surface.Lambda1, r.Surface.Lambda2}
	places := chosenPlaces(r, whole)
	points := slices.Concat(r.Long.Lambda, r.CVGM.Lambda)
	for _, place := range places {
		points = append(points, place.at...)
	}
	axes, test := around(whole, r.Surface.Test, points)
	left := lossPanel("CV loss", "CV loss", []string{"λ₁", "λ₂"}, whole, r.Surface.CV)
	right := lossPanel("test loss, enlarged", "test loss", []string{"λ₁", "λ₂"}, axes, test)
	onSurface(left.Scatter, "points of the grid", whole, r.Exhaustive.Lambda, Style{Color: Vermilion, Glyph: draw.PlusGlyph{}, GlyphRadius: 1.6})
	onSurface(left.Scatter, "random points", whole, r.Random.Lambda, Style{Color: Green, GlyphRadius: 1.1})
	for k, p := range []*Panel{left, right} {
		axes := [][][]float64{whole, axes}[k]
		p.Series[0].Entry = LegendEntry{} // the caption explains the contours
		if end := len(r.CVGM.Lambda); end <= len(r.Long.Lambda) {
			onSurface(p.Line, fmt.Sprintf("CVGM, steps %d to %d", end, len(r.Long.Lambda)), axes, r.Long.Lambda[max(end-1, 0):], Style{Color: Blue, Width: 1.2, Dash: []vg.Length{3, 2}})
		}
		onSurface(p.Line, r.CVGM.Name, axes, r.CVGM.Lambda, Style{Color: Blue, Width: 2.5})
		onSurface(p.Scatter, "start of CVGM", axes, r.CVGM.Lambda[:min(1, len(r.CVGM.Lambda))], chart.StartStyle)
		for _, place := range places {
			onSurface(p.Scatter, place.name, axes, place.at, place.style)
		}
	}
	// The notes of the lowest points come first, because the place at the lowest CV loss has the
	// longest note.
	const choices = 4
	for _, place := range slices.Concat(places[choices:], places[:choices]) {
		if x, y := coordinates(axes, place.at); len(x) > 0 && !math.IsNaN(place.loss) {
			right.Note(fmt.Sprintf("%s: %.4g", place.note, place.loss), x[0], y[0])
		}
	}
	f.Panels[0] = []*Panel{left, right}
	f.Caption = fmt.Sprintf("The searches minimise the CV loss (left). The test loss (right, with its value beside each mark) judges the points that they choose: CVGM's end (◆) at %.4g, exhaustive search's choice (□) at %.4g and random search's choice (△) at %.4g. The lowest CV loss is at ×, the lowest test loss at +. The dashed line is the same search after its end in Table 1, up to %.4g (■). %s.",
		r.CVGM.Final(), r.Exhaustive.Final(), r.Random.Final(), r.Long.Final(), surfaceNote())
	return f
}

// A chosenPlace is a point on the surfaces with its test loss. If the loss is NaN, the point has no
// note. The field name is in the legend, and the field note is before the test loss.
type chosenPlace struct {
	name, note string
	at         [][2]float64
	loss       float64
	style      Style
}

// chosenPlaces returns the choices of the searches, and the lowest points of both surfaces.
func chosenPlaces(r *elasticnet.Result, axes [][]float64) []chosenPlace {
	at := func(z [][]float64) [][2]float64 {
		_, i, j := lowest(z)
		return [][2]float64{{chart.Nth(axes[0], i), chart.Nth(axes[1], j)}}
	}
	last := func(s elasticnet.Search) [][2]float64 { return s.Lambda[max(len(s.Lambda)-1, 0):] }
	_, i, j := lowest(r.Surface.CV)
	judged := math.NaN()
	if i < len(r.Surface.Test) {
		judged = chart.Nth(r.Surface.Test[i], j)
	}
	least, _, _ := lowest(r.Surface.Test)
	return []chosenPlace{
		{"choice of exhaustive search", "exhaustive", chosen(r.Exhaustive), r.Exhaustive.Final(), Style{Color: Vermilion, Glyph: chart.SquareOutline{}, GlyphRadius: 4.2}},
		{"choice of random search", "random", chosen(r.Random), r.Random.Final(), Style{Color: Green, Glyph: chart.TriangleOutline{}, GlyphRadius: 7.6}},
		{fmt.Sprintf("CVGM, step %d", len(r.Long.Lambda)), "", last(r.Long), math.NaN(), Style{Color: Blue, Glyph: draw.BoxGlyph{}, GlyphRadius: 2}},
		{"end of CVGM", "CVGM", last(r.CVGM), r.CVGM.Final(), Style{Color: Blue, Glyph: chart.DiamondGlyph{}, GlyphRadius: 3.2}},
		{"lowest CV loss", "at lowest CV loss", at(r.Surface.CV), judged, Style{Color: Black, Glyph: chart.HeavyCross{}, GlyphRadius: 3.8}},
		{"lowest test loss", "lowest test loss", at(r.Surface.Test), least, Style{Color: Black, Glyph: chart.HeavyPlus{}, GlyphRadius: 3.8}},
	}
}

// around returns the part of a surface around the given points. Along each axis, this part extends
// beyond the points by a share of their distance, or to the end of the surface.
func around(axes, loss [][]float64, points [][2]float64) (part, rest [][]float64) {
	const beyond = .25
	var ends [2][2]int
	for k, axis := range axes {
		at := slices.DeleteFunc(Log10s(chart.Mapped(points, func(p [2]float64) float64 { return p[k] })), func(v float64) bool { return !chart.Drawable(v) })
		first, end := 0, len(axis)
		if len(at) > 0 {
			low, high := slices.Min(at), slices.Max(at)
			room := beyond * (high - low)
			for end-first > 2 && math.Log10(axis[first+1]) < low-room {
				first++
			}
			for end-first > 2 && math.Log10(axis[end-2]) > high+room {
				end--
			}
		}
		ends[k] = [2]int{first, end}
	}
	return cut(axes, loss, ends)
}

// cut returns the part of a surface between the given rows and columns.
func cut(axes, loss [][]float64, ends [2][2]int) (part, rest [][]float64) {
	within := func(k, n int) (first, end int) { return min(ends[k][0], n), min(ends[k][1], n) }
	first, end := within(0, len(loss))
	rest = chart.Mapped(loss[first:end], func(row []float64) []float64 {
		first, end := within(1, len(row))
		return row[first:end]
	})
	return [][]float64{axes[0][ends[0][0]:ends[0][1]], axes[1][ends[1][0]:ends[1][1]]}, rest
}

// chosen returns the point with the lowest CV loss of a search. If no CV loss is finite, it returns
// no point.
func chosen(s elasticnet.Search) [][2]float64 {
	loss, _, k := lowest([][]float64{s.CVLoss})
	if math.IsNaN(loss) {
		return nil
	}
	return s.Lambda[k : k+1]
}

// ElasticNetEarlyStopping shows both losses along CVGM's long run. The CV loss falls on the whole
// path, but the test loss rises again after its minimum.
func ElasticNetEarlyStopping(r *elasticnet.Result) *Figure {
	p := NewPanel("long run", "", "steps of CVGM", "mean squared error").Grid().LogAxes(true, false)
	steps := Log10s(chart.OneTo(len(r.Long.CVLoss)))
	p.Line("CV loss", steps, r.Long.CVLoss, chart.CVStyle)
	p.Line("test loss", steps, r.Long.TestLoss, Style{Color: Blue, Width: 2})
	markLowest(p, "lowest test loss", steps, r.Long.TestLoss, func(i int) string { return fmt.Sprintf("lowest at step %d: %.4f", i+1, r.Long.TestLoss[i]) })
	p.VLine(fmt.Sprintf("end of CVGM in Table 1 (step %d)", len(r.CVGM.CVLoss)), math.Log10(float64(len(r.CVGM.CVLoss))), Style{Color: Grey, Width: 1, Dash: []vg.Length{2, 2}})
	return &Figure{Name: "elastic_net_early_stopping", Width: 5.5 * vg.Inch, Height: 3.6 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: fmt.Sprintf("CV loss and test loss along %d steps of CVGM on the published data. Step 1 is the start, and the steps descend the CV loss. The vertical line marks step %d, at which CVGM ends in Table 1.", len(r.Long.CVLoss), len(r.CVGM.CVLoss))}
}

// lossPanel returns a panel with a loss as a function of two hyperparameters. The argument hyper
// has their names, and the argument axes has their values on the grid.
func lossPanel(title, name string, hyper []string, axes, loss [][]float64) *Panel {
	p := NewPanel(title, title, hyper[0], hyper[1]).LogAxes(true, true)
	p.Surface(name, Log10s(axes[0]), Log10s(axes[1]), loss, LevelsAboveMinimum(loss))
	const named = 4
	low, _, _ := lowest(loss)
	p.NameContours(named, chart.Mapped(namedRises, func(rise float64) float64 { return low * (1 + rise/100) }), chart.Mapped(namedRises, func(rise float64) string { return fmt.Sprintf("+%g %%", rise) }))
	return p
}

// onSurface plots points on a surface with the given axes.
func onSurface[P [2]float64 | []float64](plot func(name string, xs, ys []float64, s Style), name string, axes [][]float64, points []P, s Style) {
	x, y := coordinates(axes, points)
	plot(name, x, y, s)
}

// coordinates returns the coordinates of points on a surface with the given axes. If a point lies
// outside of the surface, coordinates moves it to the edge.
func coordinates[P [2]float64 | []float64](axes [][]float64, points []P) (x, y []float64) {
	log := func(k int) []float64 {
		axis := slices.Sorted(slices.Values(axes[k]))
		return chart.Mapped(points, func(v P) float64 { return math.Log10(min(max(v[k], chart.Nth(axis, 0)), chart.Nth(axis, len(axis)-1))) })
	}
	return log(0), log(1)
}

// lowest returns the lowest finite value v of z and the indices of v. If z has no finite value, v
// is NaN.
func lowest(z [][]float64) (v float64, i, j int) {
	v = math.NaN()
	for a, row := range z {
		for b, x := range row {
			if chart.Drawable(x) && !(x >= v) {
				v, i, j = x, a, b
			}
		}
	}
	return v, i, j
}

// levelRises holds the heights of contour levels above the lowest value, in per cent of the lowest
// value.
var levelRises = []float64{.2, .5, 1, 2, 5, 10, 20, 50, 100, 200}

// namedRises holds the same heights, in the order in which contours get a name.
var namedRises = []float64{1, 2, 10, 50, 5, 20, .5, 100, .2, 200}

// LevelsAboveMinimum returns contour levels above the lowest value of z. The distance between
// neighbouring levels increases with their height.
func LevelsAboveMinimum(z [][]float64) []float64 {
	low, _, _ := lowest(z)
	return chart.Mapped(levelRises, func(rise float64) float64 { return low * (1 + rise/100) })
}

// list returns numbers in the given format, separated by commas.
func list(format string, v []float64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprintf(format, v), " ", ", "), "[]")
}

// surfaceNote returns a sentence for the caption of a figure with surfaces. The sentence explains
// the contours.
func surfaceNote() string {
	return fmt.Sprintf("Contours are at %s and %g %% above the lowest value", list("%g", levelRises[:len(levelRises)-1]), levelRises[len(levelRises)-1])
}
