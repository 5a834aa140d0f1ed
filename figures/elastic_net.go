package figures

import (
	"fmt"
	"math"
	"strings"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ElasticNetTable is Table 1 of the paper: the test loss of the three searches
// as the paper prints it, as the output saved with its code has it, as replayed
// here, and over fresh data sets.
func ElasticNetTable(r *experiment.ElasticNetResult, seeds *experiment.ElasticNetSeeds) *Table {
	n := seeds.Params.Seeds
	t := &Table{
		Name:    "table1_elastic_net",
		Caption: "Table 1: synthetic regression, test loss (mean squared error)",
		Header: []string{"Method", "Paper", "Published code", "Replay", "Evaluations",
			fmt.Sprintf("Mean of %d seeds", n), "CVGM less method", "CVGM better"},
	}
	fresh := make(map[string]experiment.ElasticNetMethod)
	for _, m := range seeds.Methods {
		fresh[m.Name] = m
	}
	long := r.Long
	long.Name = seeds.Methods[1].Name
	for _, s := range []experiment.ElasticNetSearch{r.CVGM, long, r.Exhaustive, r.Random} {
		t.Rows = append(t.Rows, append([]any{s.Name, quoted(s.Quoted.Paper), quoted(s.Quoted.Code), Number{Value: s.Final(), Digits: 6}, len(s.CVLoss)},
			comparison(fresh[s.Name].TestMean, fresh[s.Name].CVGMLessTest, s.Name == r.CVGM.Name)...))
	}
	for _, m := range []struct {
		name string
		experiment.Measured
	}{{"Least squares", r.LeastSquares}, {"True coefficients", r.TrueCoefficients}} {
		t.Rows = append(t.Rows, append([]any{m.name, quoted(m.Quoted.Paper), quoted(m.Quoted.Code), Number{Value: m.Value, Digits: 6}, nil},
			comparison(fresh[m.name].TestMean, fresh[m.name].CVGMLessTest, false)...))
	}
	t.Note = fmt.Sprintf("Means and paired differences with 95 %% confidence intervals; the last column is the share of seeds in which CVGM has the lower loss. "+
		"The published code computes in single precision, the replay in double. With the test data rounded to single precision "+
		"the true coefficients' loss is %.12f, as printed. The paper's 1.080 comes from another run of the code's cell than its printed steps, which end at %s.",
		r.TrueCoefficientsSingle, r.CVGM.Quoted.Code)
	return t
}

// ElasticNetCVTable is what Table 1 does not show: the CV loss itself, which
// the searches minimise, over fresh data sets.
func ElasticNetCVTable(seeds *experiment.ElasticNetSeeds) *Table {
	t := &Table{
		Name:    "elastic_net_cv_loss",
		Caption: fmt.Sprintf("Cross-validation loss reached, over %d seeds", seeds.Params.Seeds),
		Header:  []string{"Method", "Mean CV loss", "CVGM less method", "CVGM better"},
	}
	for _, m := range seeds.Methods {
		if m.CV != nil {
			t.Rows = append(t.Rows, append([]any{m.Name}, comparison(m.CVMean, m.CVGMLessCV, m.Name == seeds.Methods[0].Name)...))
		}
	}
	return t
}

// comparison returns the cells mean, CVGM less method and CVGM better.
func comparison(mean experiment.Estimate, c experiment.Comparison, itself bool) []any {
	cells := []any{Number{Value: mean.Mean, Digits: 4, Margin: mean.Margin}, nil, nil}
	if !itself {
		cells[1] = Number{Value: c.Difference.Mean, Digits: 4, Margin: c.Difference.Margin}
		cells[2] = fmt.Sprintf("%.1f %%", 100*c.Wins)
	}
	return cells
}

// ElasticNetLearningCurves is the figure "Synthetic regression data" of the
// supplement: the test loss along the three searches.
func ElasticNetLearningCurves(r *experiment.ElasticNetResult) *Figure {
	p := NewPanel("learning curves", "", "evaluations of the CV loss", "test loss (MSE)")
	p.Grid()
	for _, c := range []struct {
		search experiment.ElasticNetSearch
		style  Style
	}{
		{r.CVGM, Style{Color: Blue, Width: 2}},
		{r.Exhaustive, Style{Color: Vermillion, Dash: []vg.Length{6, 3}}},
		{r.Random, Style{Color: Green, Dash: []vg.Length{2, 2}}},
	} {
		p.Line(c.search.Name, count(len(c.search.TestLoss)), c.search.TestLoss, c.style)
	}
	p.Horizontal("Least squares", r.LeastSquares.Value, Style{Color: Grey, Width: 1})
	p.Horizontal("True coefficients", r.TrueCoefficients.Value, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
	p.Range(0, 101, .94, 1.42) // room for the legend
	return &Figure{
		Name:    "elastic_net_learning_curves",
		Caption: "Test loss of CVGM, exhaustive and random search against evaluations of the CV loss",
		Width:   5.5 * vg.Inch, Height: 3.6 * vg.Inch,
		Panels: [][]*Panel{{p}},
	}
}

// ElasticNetSurfaces shows what the searches walk on and what they are judged
// by: CV loss and test loss over (λ1, λ2), with the points of each search.
func ElasticNetSurfaces(r *experiment.ElasticNetResult) *Figure {
	f := &Figure{
		Name: "elastic_net_surfaces",
		Caption: fmt.Sprintf("CV loss (lowest %.4g) and test loss (lowest %.4g) over (λ1, λ2) with the path of CVGM and the points of the other searches. %s",
			lowestValue(r.Surface.CV), lowestValue(r.Surface.Test), surfaceNote()),
		Width: 9.5 * vg.Inch, Height: 4 * vg.Inch, LegendWidth: 1.85 * vg.Inch,
	}
	s := r.Surface
	l1, l2 := Log10s(s.Lambda1), Log10s(s.Lambda2)
	var row []*Panel
	for _, surface := range []struct {
		name string
		z    [][]float64
	}{{"CV loss", s.CV}, {"test loss", s.Test}} {
		p := NewPanel(surface.name, surface.name, "λ1", "λ2")
		p.LogAxes(true, true)
		p.Surface(surface.name, l1, l2, surface.z, LevelsAboveMinimum(surface.z))
		points := func(search experiment.ElasticNetSearch) (x, y []float64) {
			for _, l := range search.Lambda {
				x, y = append(x, math.Log10(l[0])), append(y, math.Log10(max(l[1], s.Lambda2[0])))
			}
			return x, y
		}
		x, y := points(r.Exhaustive)
		p.Scatter(r.Exhaustive.Name, x, y, Style{Color: Vermillion, Glyph: draw.PlusGlyph{}, GlyphRadius: 2})
		x, y = points(r.Random)
		p.Scatter(r.Random.Name, x, y, Style{Color: Green, GlyphRadius: 1.3})
		x, y = points(r.Long)
		p.Line(fmt.Sprintf("CVGM, steps %d to %d", len(r.CVGM.Lambda), len(x)), x[len(r.CVGM.Lambda)-1:], y[len(r.CVGM.Lambda)-1:],
			Style{Color: Blue, Width: 1.2, Dash: []vg.Length{3, 2}})
		x, y = points(r.CVGM)
		p.Line(r.CVGM.Name, x, y, Style{Color: Blue, Width: 2.5})
		i, j := lowest(surface.z)
		p.Scatter("lowest", []float64{l1[i]}, []float64{l2[j]}, Style{Color: Black, Glyph: draw.CrossGlyph{}, GlyphRadius: 4})
		p.Range(l1[0], l1[len(l1)-1], l2[0], l2[len(l2)-1])
		row = append(row, p)
	}
	f.Panels = [][]*Panel{row}
	return f
}

// ElasticNetEarlyStopping shows both losses along CVGM's long run: the CV loss
// falls all the way, the test loss does not.
func ElasticNetEarlyStopping(r *experiment.ElasticNetResult) *Figure {
	p := NewPanel("long run", "", "steps of CVGM", "mean squared error")
	p.Grid()
	p.LogAxes(true, false)
	steps := Log10s(count(len(r.Long.CVLoss)))
	p.Line("CV loss", steps, r.Long.CVLoss, Style{Color: Orange, Width: 2, Dash: []vg.Length{6, 3}})
	p.Line("test loss", steps, r.Long.TestLoss, Style{Color: Blue, Width: 2})
	end := math.Log10(float64(len(r.CVGM.CVLoss)))
	p.Line(fmt.Sprintf("where the paper stops (%d)", len(r.CVGM.CVLoss)), []float64{end, end}, []float64{1, 2}, Style{Color: Grey, Width: 1, Dash: []vg.Length{2, 2}})
	p.Range(0, steps[len(steps)-1], 1, 2.2) // room for the legend
	return &Figure{
		Name:    "elastic_net_early_stopping",
		Caption: "CV loss and test loss along the gradient method",
		Width:   5.5 * vg.Inch, Height: 3.4 * vg.Inch,
		Panels: [][]*Panel{{p}},
	}
}

// Log10s returns the base-10 logarithms that a panel with LogAxes plots.
func Log10s(v []float64) []float64 {
	logs := make([]float64, len(v))
	for i, x := range v {
		logs[i] = math.Log10(x)
	}
	return logs
}

func lowest(z [][]float64) (i, j int) {
	for a, row := range z {
		for b, v := range row {
			if v < z[i][j] {
				i, j = a, b
			}
		}
	}
	return i, j
}

func lowestValue(z [][]float64) float64 {
	i, j := lowest(z)
	return z[i][j]
}

// rises are those of contour levels above the lowest value, in percent.
var rises = []float64{.2, .5, 1, 2, 5, 10, 20, 50, 100, 200}

// LevelsAboveMinimum returns contour levels that lie ever further apart.
func LevelsAboveMinimum(z [][]float64) []float64 {
	var levels []float64
	for _, rise := range rises {
		levels = append(levels, lowestValue(z)*(1+rise/100))
	}
	return levels
}

// surfaceNote says in a caption how to read surfaces with these levels.
func surfaceNote() string {
	var list string
	for _, rise := range rises[:len(rises)-1] {
		list += fmt.Sprintf("%g, ", rise)
	}
	return fmt.Sprintf("Light shades are low values; contours, from the innermost, at %s and %g %% above the lowest value", strings.TrimSuffix(list, ", "), rises[len(rises)-1])
}

// count returns 1, 2, …, n.
func count(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i + 1)
	}
	return v
}
