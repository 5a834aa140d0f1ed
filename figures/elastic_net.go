package figures

import (
	"fmt"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot/vg"
)

// ElasticNetTable is Table 1 of the paper: the test loss of the three searches
// as the paper prints it, as the output saved with its code has it, and as
// replayed here.
func ElasticNetTable(r *experiment.ElasticNetResult) *Table {
	t := &Table{
		Name:    "table1_elastic_net",
		Caption: "Table 1: synthetic regression, test loss (mean squared error)",
		Header:  []string{"Method", "Paper", "Published code", "Replay", "Evaluations"},
	}
	for _, s := range []experiment.ElasticNetSearch{r.CVGM, r.Exhaustive, r.Random} {
		t.Rows = append(t.Rows, []any{s.Name, quoted(s.Quoted.Paper), quoted(s.Quoted.Code), Number{Value: s.Final(), Digits: 6}, len(s.CVLoss)})
	}
	for _, m := range []struct {
		name string
		experiment.Measured
	}{{"Least squares", r.LeastSquares}, {"True coefficients", r.TrueCoefficients}} {
		t.Rows = append(t.Rows, []any{m.name, quoted(m.Quoted.Paper), quoted(m.Quoted.Code), Number{Value: m.Value, Digits: 6}, nil})
	}
	t.Note = fmt.Sprintf("The published code computes in single precision, the replay in double. With the test data rounded to single precision "+
		"the true coefficients' loss is %.12f, as printed. The paper's 1.080 comes from another run of the code's cell than its printed steps, which end at %s.",
		r.TrueCoefficientsSingle, r.CVGM.Quoted.Code)
	return t
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

// count returns 1, 2, …, n.
func count(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i + 1)
	}
	return v
}
