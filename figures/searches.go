package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment/searches"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func init() {
	// SearchesTime is omitted, because it needs the timings.
	register(func(r *searches.StochasticResult) []Output {
		return []Output{OuterPenalty(r), StochasticTable(r)}
	})
	register(func(r *searches.Result) []Output {
		return []Output{SearchesTable(r), SearchesMinimaTable(r), SearchesCurves(r), SearchesSurface(r)}
	})
}

// SearchesTable counts the data sets on which each searcher reaches the minimum. It also lists the
// number of evaluations until a searcher reaches the minimum.
func SearchesTable(r *searches.Result) *Table {
	p := r.Params
	few := min(5, p.DataSets)
	t := &Table{
		Name: "searches_reached", Caption: fmt.Sprintf("Searchers for the lowest CV loss of the elastic net, over %d data sets", p.DataSets),
		Header: []string{"Searcher", "Uses gradients",
			fmt.Sprintf("First %d data sets, within %d", few, p.SmallBudget),
			fmt.Sprintf("All, within %d", p.SmallBudget), fmt.Sprintf("All, within %d", p.Budget), "All, at its end",
			fmt.Sprintf("Median excess after %d", p.SmallBudget), fmt.Sprintf("Median excess after %d", p.Budget)},
		Note: fmt.Sprintf("Data sets on which the CV loss comes within %g of its true minimum, within so many evaluations from (λ1, λ2) = (%g, %g). "+
			"The minimum is found independently, without gradients, from a dense grid. Searchers without gradient are bounded by λ ≤ %.3g. The grid and the searchers in logarithms are also bounded by λ ≥ %g, "+
			"so they can approach a minimum on a lower bound but not reach it. Multi-start runs %d searches one after the other, each within the budget.",
			p.Tol, p.StartLambda1, p.StartLambda2, math.Pow(10, p.BoxHigh), math.Pow(10, p.BoxLow), p.Starts),
	}
	for _, m := range r.Methods {
		of := func(evaluations, n int) string { return fmt.Sprintf("%d of %d", m.Within(evaluations, n), n) }
		after := func(evaluations int) string {
			return fmt.Sprintf("%.1e", max(m.Median[min(max(evaluations, 1), len(m.Median))-1], 0))
		}
		t.Rows = append(t.Rows, []any{m.Name, chart.YesNo(m.Gradient), of(p.SmallBudget, few), of(p.SmallBudget, p.DataSets), of(p.Budget, p.DataSets), of(math.MaxInt, p.DataSets), after(p.SmallBudget), after(p.Budget)})
	}
	return t
}

// SearchesMinimaTable lists the minimum of the CV loss for each data set. It also lists the number
// of evaluations until the quasi-Newton searches reach this minimum.
func SearchesMinimaTable(r *searches.Result) *Table {
	t := &Table{
		Name: "searches_minima", Caption: "Where the CV loss of the elastic net is lowest",
		Header: []string{"Data set", "Lowest CV loss", "λ1", "λ2", "On a bound", "Local minima", "Quasi-Newton", "Multi-start"},
		Note:   "The last two columns are the evaluations by which the minimum is reached. The plateau on which all coefficients are zero does not count as a local minimum.",
	}
	for i, v := range r.Minimum {
		bound := r.At[i][0] <= r.Params.MinLambda1 || r.At[i][1] <= r.Params.MinLambda2
		row := []any{fmt.Sprint(i), Number{Value: v, Digits: 8}, fmt.Sprintf("%.4g", r.At[i][0]), fmt.Sprintf("%.4g", r.At[i][1]), chart.YesNo(bound), r.LocalMinima[i]}
		for _, m := range r.Methods {
			if m.Name == searches.QuasiNewton || m.Name == searches.MultiStart {
				row = append(row, map[bool]any{true: m.Reached[i]}[m.Reached[i] > 0])
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// searchStyles maps the names of searchers to styles. Each colour is for one method and its variants.
// Grey is for the methods with a constant step size that are not the paper's.
var searchStyles = map[string]Style{
	searches.PaperStep:   {Color: Orange, Width: 2},
	"projected gradient": {Color: Grey},
	"heavy ball":         {Color: Grey, Dash: []vg.Length{6, 3}},
	"Nesterov":           {Color: Grey, Dash: []vg.Length{6, 2, 1, 2}},
	"Adam":               {Color: Grey, Dash: []vg.Length{2, 2}},
	"adaptive gradient":  {Color: Vermilion, Width: 1.5},
	searches.QuasiNewton: {Color: Blue, Width: 3},
	searches.MultiStart:  {Color: Sky, Width: 2, Dash: []vg.Length{4, 2}},
	"exhaustive":         {Color: Black},
	"random":             {Color: Black, Dash: []vg.Length{1, 2}},
	"Bayesian":           {Color: Purple, Width: 2, Dash: []vg.Length{9, 3}},
	bayesianLog:          {Color: Purple, Dash: []vg.Length{2, 2}},
	"CMA-ES":             {Color: Green, Width: 2, Dash: []vg.Length{6, 2, 1, 2}},
	cmaesLog:             {Color: Green, Dash: []vg.Length{2, 2}},
}

// bayesianLog and cmaesLog are the names of the searchers in logarithms.
const bayesianLog, cmaesLog = "Bayesian in log λ", "CMA-ES in log λ"

// valuesHeld returns the first n values of a search. If the search ended earlier, valuesHeld
// repeats its last value.
func valuesHeld(v []float64, n int) []float64 {
	return chart.Mapped(chart.OneTo(n), func(k float64) float64 { return v[min(int(k), len(v))-1] })
}

// excessFloor is the base-10 logarithm of the smallest drawn excess over the minimum. A smaller
// excess depends on rounding.
const excessFloor = -10

// SearchesCurves shows the median excess as a function of the number of evaluations. The excess is
// the CV loss minus its minimum.
func SearchesCurves(r *searches.Result) *Figure {
	drawn := func(m searches.Method) []float64 {
		return untilFloor(chart.ClampedLog10s(valuesHeld(m.Median, r.Params.Budget), excessFloor), excessFloor)
	}
	note := ""
	var newton []float64
	var rows [][]*Panel
	for _, gradient := range []bool{true, false} {
		name := map[bool]string{true: "with gradients", false: "without gradients, and quasi-Newton"}[gradient]
		p := NewPanel(name, name, "evaluations of the CV loss", "median excess over the minimum").Grid().LogAxes(false, true).ClampLow(excessFloor)
		p.Direct, p.NamesInside = true, true
		for _, m := range r.Methods {
			y := drawn(m)
			switch {
			case m.Name == searches.QuasiNewton:
				newton = y
			case m.Gradient != gradient:
				continue
			case m.Name == searches.MultiStart && slices.Equal(y, newton):
				note = " Multi-start begins with the quasi-Newton search and has the same line."
				continue
			}
			p.Line(m.Name, chart.OneTo(len(y)), y, searchStyles[m.Name])
		}
		drawReached(p, r)
		rows = append(rows, []*Panel{p})
	}
	return &Figure{Name: "searches", Width: 10 * vg.Inch, Height: 7.4 * vg.Inch, Legend: LegendBelow, SameAxes: true, Panels: rows,
		Caption: fmt.Sprintf("Lowest CV loss found within so many evaluations, minus the true minimum: medians over %d data sets of the elastic net. A line below the dotted one has reached the minimum; a line ends where it falls to 10%s.%s", r.Params.DataSets, chart.Superscript(fmt.Sprint(excessFloor)), note)}
}

// untilFloor returns the values of a falling line up to the first value at the lower end of its
// axis.
func untilFloor(y []float64, floor float64) []float64 {
	if end := slices.IndexFunc(y, func(v float64) bool { return v <= floor }); end >= 0 {
		return y[:end+1]
	}
	return y
}

// drawReached draws a horizontal line. A search has reached the minimum if its excess over the
// minimum is below this line.
func drawReached(p *Panel, r *searches.Result) {
	p.HLine("reached: "+chart.Typeset(fmt.Sprintf("%g", r.Params.Tol))+" above the minimum", math.Log10(r.Params.Tol), Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
}

// SearchesSurface shows a CV loss with several local minima, and the minima that multi-start finds
// from its starts. Notes have the number of starts that end at each minimum.
func SearchesSurface(r *searches.Result) *Figure {
	s := r.Surface
	at := chart.Nth(r.At, r.Params.SurfaceDataSet)
	axes, loss := withoutSlopes([][]float64{s.Lambda1, s.Lambda2}, s.CV, slices.Concat(s.Path, s.Ends, [][2]float64{at}))
	p := lossPanel("CV loss", "CV loss", []string{"λ₁", "λ₂"}, axes, loss)
	onSurface(p.Line, "quasi-Newton from the common start", axes, s.Path, Style{Color: Blue, Width: 1.5})
	onSurface(p.Scatter, "evaluations", axes, s.Path, Style{Color: Blue, GlyphRadius: 1.8, Unlisted: true})
	onSurface(p.Scatter, "start", axes, s.Path[:min(1, len(s.Path))], chart.StartStyle)
	drawEnds(p, axes, s.Ends)
	onSurface(p.Scatter, "true minimum", axes, [][2]float64{at}, Style{Color: Black, Glyph: draw.CrossGlyph{}, GlyphRadius: 4})
	least, _, _ := lowest([][]float64{s.EndLoss})
	for _, ends := range commonEnds(r) {
		x, y := coordinates(axes, [][2]float64{s.Ends[ends[0]]})
		text := fmt.Sprintf("%d of %d starts end at %.4f", len(ends), len(s.Ends), s.EndLoss[ends[0]])
		if rise := 100 * (s.EndLoss[ends[0]]/least - 1); rise >= .05 {
			text += fmt.Sprintf(" (+%.1f %%)", rise)
		}
		for k, name := range []string{"λ₁", "λ₂"} {
			if v := s.Ends[ends[0]][k]; v < chart.Nth(axes[k], 0) {
				text += fmt.Sprintf(", %s = %s", name, chart.Typeset(fmt.Sprintf("%.0e", v)))
			}
		}
		p.NoteAbove(text, x[0], y[0])
	}
	return &Figure{Name: "searches_surface", Width: 8 * vg.Inch, Height: 4.6 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: fmt.Sprintf("CV loss of data set %d over both penalties, light where it is low. Multi-start searches from %d starts; the notes count the starts that end at the same CV loss, with its height above the lowest. An arrow head on the edge is an end beyond it. %s.", r.Params.SurfaceDataSet, len(s.Ends), surfaceNote())}
}

// drawEnds draws the ends of multi-start. An end beyond the surface is an arrow head on the edge.
func drawEnds(p *Panel, axes [][]float64, ends [][2]float64) {
	inside := func(v float64, axis []float64) bool { return slices.Min(axis) <= v && v <= slices.Max(axis) }
	for _, kind := range []struct {
		name  string
		glyph draw.GlyphDrawer
		has   func(at [2]float64) bool
	}{
		{"ends of multi-start", draw.PyramidGlyph{}, func(at [2]float64) bool { return inside(at[0], axes[0]) && inside(at[1], axes[1]) }},
		{"beyond the edge, at smaller λ₁", chart.LeftGlyph{}, func(at [2]float64) bool { return at[0] < slices.Min(axes[0]) }},
		{"beyond the edge, at larger λ₁", chart.RightGlyph{}, func(at [2]float64) bool { return at[0] > slices.Max(axes[0]) }},
		{"beyond the edge, at smaller λ₂", chart.DownGlyph{}, func(at [2]float64) bool { return inside(at[0], axes[0]) && at[1] < slices.Min(axes[1]) }},
		{"beyond the edge, at larger λ₂", chart.UpGlyph{}, func(at [2]float64) bool { return inside(at[0], axes[0]) && at[1] > slices.Max(axes[1]) }},
	} {
		var of [][2]float64
		for _, at := range ends {
			if len(axes[0]) > 0 && len(axes[1]) > 0 && kind.has(at) {
				of = append(of, at)
			}
		}
		onSurface(p.Scatter, kind.name, axes, of, Style{Color: Vermilion, GlyphRadius: 5, Glyph: kind.glyph})
	}
}

// commonEnds groups the ends of multi-start: two neighbours by CV loss belong to one group if their
// losses differ by at most Tol. It returns the indices of each group, the lowest group first.
func commonEnds(r *searches.Result) (groups [][]int) {
	loss := r.Surface.EndLoss[:min(len(r.Surface.EndLoss), len(r.Surface.Ends))]
	order := make([]int, len(loss))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(loss[i], loss[j]) })
	for k, i := range order {
		if k == 0 || !(loss[i]-loss[order[k-1]] <= r.Params.Tol) {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], i)
	}
	return groups
}

// withoutSlopes leaves out the rows and columns at the upper ends of the axes in which the loss is
// far above its lowest value, so that a figure has room for the minima. It keeps the rows and
// columns up to the given points.
func withoutSlopes(axes, loss [][]float64, points [][2]float64) (shortened, rest [][]float64) {
	const far = 1.5 // times the lowest loss
	least, _, _ := lowest(loss)
	ends := [2][2]int{{0, len(axes[0])}, {0, len(axes[1])}}
	for k := range ends {
		isFar := func(n int) bool { // whether the loss is far above in row or column n
			for i, row := range loss {
				for j, v := range row {
					if []int{i, j}[k] == n && v <= far*least {
						return false
					}
				}
			}
			return !slices.ContainsFunc(points, func(at [2]float64) bool { return at[k] > chart.Nth(axes[k], n-1) })
		}
		for ends[k][1] > 2 && isFar(ends[k][1]-1) && isFar(ends[k][1]-2) { // the outermost row is far above, too
			ends[k][1]--
		}
	}
	return cut(axes, loss, ends)
}
