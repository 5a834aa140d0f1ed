package figures

import (
	"fmt"
	"math"

	"cvgm/cvgm/experiment/searches"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func init() {
	// SearchesTime is omitted, because it needs the timings.
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

// searchStyles maps the names of searchers to styles.
var searchStyles = map[string]Style{
	searches.PaperStep:   {Color: Grey, Dash: []vg.Length{2, 2}},
	"projected gradient": {Color: Grey},
	"heavy ball":         {Color: Green, Dash: []vg.Length{6, 3}},
	"Nesterov":           {Color: Green},
	"Adam":               {Color: Purple},
	"adaptive gradient":  {Color: Vermilion},
	searches.QuasiNewton: {Color: Blue, Width: 2.5},
	searches.MultiStart:  {Color: Sky, Width: 2.5, Dash: []vg.Length{4, 2}},
	"exhaustive":         {Color: Black},
	"random":             {Color: Grey, Dash: []vg.Length{1, 2}},
	"Bayesian":           {Color: Purple, Dash: []vg.Length{9, 3}},
	bayesianLog:          {Color: Purple, Dash: []vg.Length{3, 2}},
	"CMA-ES":             {Color: Green, Dash: []vg.Length{9, 3}},
	cmaesLog:             {Color: Green, Dash: []vg.Length{3, 2}},
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
	var rows [][]*Panel
	for _, gradient := range []bool{true, false} {
		name := map[bool]string{true: "with gradients", false: "without gradients, and quasi-Newton"}[gradient]
		p := NewPanel(name, name, "evaluations of the CV loss", "median excess over the minimum").Grid().LogAxes(false, true).ClampLow(excessFloor)
		p.Direct = true
		for _, m := range r.Methods {
			if m.Gradient == gradient || m.Name == searches.QuasiNewton {
				p.Line(m.Name, chart.OneTo(r.Params.Budget), chart.ClampedLog10s(valuesHeld(m.Median, r.Params.Budget), excessFloor), searchStyles[m.Name])
			}
		}
		drawReached(p, r)
		rows = append(rows, []*Panel{p})
	}
	return &Figure{Name: "searches", Width: 8.5 * vg.Inch, Height: 7.4 * vg.Inch, Legend: LegendBelow, SameAxes: true, Panels: rows,
		Caption: fmt.Sprintf("Lowest CV loss found within so many evaluations, minus the true minimum: medians over %d data sets of the elastic net. %s", r.Params.DataSets, excessNote())}
}

// drawReached draws a horizontal line. A search has reached the minimum if its excess over the
// minimum is below this line.
func drawReached(p *Panel, r *searches.Result) {
	p.HLine("reached: "+chart.Typeset(fmt.Sprintf("%g", r.Params.Tol))+" above the minimum", math.Log10(r.Params.Tol), Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
}

func excessNote() string {
	return fmt.Sprintf("Values below 10%s are drawn there. At the dotted line a search has reached the minimum.", chart.Superscript(fmt.Sprint(excessFloor)))
}

// SearchesSurface shows a CV loss with several local minima, and the minima that multi-start finds
// from its starts.
func SearchesSurface(r *searches.Result) *Figure {
	s := r.Surface
	axes := [][]float64{s.Lambda1, s.Lambda2}
	p := lossPanel("CV loss", "CV loss", []string{"λ₁", "λ₂"}, axes, s.CV)
	onSurface(p.Scatter, "start", axes, s.Path[:min(1, len(s.Path))], chart.StartStyle)
	onSurface(p.Line, "quasi-Newton", axes, s.Path, Style{Color: Blue, Width: 1.5})
	onSurface(p.Scatter, "evaluations", axes, s.Path, Style{Color: Blue, GlyphRadius: 1.8, Unlisted: true})
	onSurface(p.Scatter, "ends of multi-start", axes, s.Ends, Style{Color: Vermilion, GlyphRadius: 4, Glyph: draw.PyramidGlyph{}})
	onSurface(p.Scatter, "true minimum", axes, [][2]float64{chart.Nth(r.At, r.Params.SurfaceDataSet)}, Style{Color: Black, Glyph: draw.CrossGlyph{}, GlyphRadius: 5})
	low, _, _ := lowest(s.CV)
	return &Figure{Name: "searches_surface", Width: 6.7 * vg.Inch, Height: 4.4 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: fmt.Sprintf("CV loss of data set %d over both penalties, light where it is low; the lowest drawn is %.4g. The path is that of one quasi-Newton search, the triangles are the ends of %d starts. Points beyond the edge are drawn on it. %s.", r.Params.SurfaceDataSet, low, len(s.Ends), surfaceNote())}
}
