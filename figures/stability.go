package figures

import (
	"fmt"
	"math"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/stability"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func init() {
	register(func(r *stability.Result) []Output {
		return []Output{StabilityTable(r), StabilitySweeps(r), StabilityPath(r), StabilityPathTable(r), StabilityStartsTable(r)}
	})
}

// StabilityTable compares the two sides of Bousquet and Elisseeff's identity.
func StabilityTable(r *stability.Result) *Table {
	settings := r.Settings()
	holds := 0
	for _, s := range settings {
		if s.Holds() {
			holds++
		}
	}
	t := &Table{
		Name: "stability_identity", Caption: fmt.Sprintf("The identity E[R − R_emp] = Δ over %d data sets of %d examples on each side", r.Params.DataSets, r.Params.Train),
		Header: []string{"Learner", "Hyperparameters", "E[R]", "E[R_emp]", "E[R − R_emp]", "Δ", "Difference", "Contains 0"},
		Note: fmt.Sprintf("Means with 95 %% confidence intervals. The two sides come from separate data, so the interval of their difference tests the identity. "+
			"It contains 0 in %d of all %d settings, which include those along CVGM's path. The settings share their data, so they are not independent.", holds, len(settings)),
	}
	for _, l := range r.Learners {
		for k, s := range l.Parts {
			t.Rows = append(t.Rows, stabilityRow(l.Name, fmt.Sprintf("%s = %g", l.Hyper, l.At[k]), s))
		}
	}
	return t
}

func stabilityRow(name, at string, s stability.Parts) []any {
	return []any{name, at, chart.Estimated(s.Risk, 3), chart.Estimated(s.Training, 3), chart.Estimated(s.Gap, 4), chart.Estimated(s.Delta, 4), chart.Estimated(s.Difference, 4), chart.YesNo(s.Holds())}
}

// StabilitySweeps shows, for each learner, three quantities as functions of the regularisation: the
// two sides of the identity, and the resulting risk.
func StabilitySweeps(r *stability.Result) *Figure {
	f := &Figure{Name: "stability_sweeps", Width: 11 * vg.Inch, Height: 4 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{nil},
		Caption: fmt.Sprintf("Both sides of the identity E[R − Rₑₘₚ] = Δ for three learners at fixed hyperparameters, as means over %d data sets. Δ is the mean amount by which training on an example lowers the loss on it, R the risk and Rₑₘₚ the training risk. Squares are E[R − Rₑₘₚ] and rings E[R], from other data than the lines: where the identity holds, squares lie on the dotted line and rings on the solid one.", r.Params.DataSets)}
	for _, l := range r.Learners {
		p := NewPanel(l.Name, l.Name, chart.Subscripted(l.Hyper), "loss").Grid().LogAxes(true, false)
		drawStability(p, Log10s(l.At), l.Parts, func(i int) string {
			return fmt.Sprintf("lowest risk: %s = %g", chart.Subscripted(l.Hyper), l.At[i])
		})
		f.Panels[0] = append(f.Panels[0], p)
	}
	return f
}

// drawStability draws the parts of the identity as functions of x. The function note returns the
// note beside the lowest risk.
func drawStability(p *Panel, x []float64, parts []stability.Parts, note func(i int) string) {
	columns := make([][]experiment.Estimate, 5)
	for _, s := range parts {
		for k, e := range []experiment.Estimate{s.Training, s.Delta, s.Sum, s.Gap, s.Risk} {
			columns[k] = append(columns[k], e)
		}
	}
	for k, c := range []struct {
		name  string
		style Style
	}{
		{"training risk E[Rₑₘₚ]", Style{Color: Green, Width: 2, Dash: []vg.Length{6, 2, 1, 2}}},
		{"instability Δ", Style{Color: Purple, Width: 2, Dash: []vg.Length{2, 2}}},
		{"risk as Δ + E[Rₑₘₚ]", Style{Color: Black, Width: 2}},
		{"E[R − Rₑₘₚ], from other data", Style{Color: Purple, Glyph: draw.SquareGlyph{}, GlyphRadius: 2.5}},
		{"risk E[R], from other data", Style{Color: Black, Glyph: draw.RingGlyph{}, GlyphRadius: 3}},
	} {
		y, low, high := meansAndEnds(columns[k])
		if c.style.GlyphRadius > 0 {
			p.Scatter(c.name, x, y, c.style)
		} else {
			p.Band(c.name, x, low, high, c.style)
			p.Line(c.name, x, y, c.style)
		}
	}
	risk, _, _ := meansAndEnds(columns[4])
	markLowest(p, "lowest value", x, risk, note)
}

// meansAndEnds returns the means of the estimates and the ends of their intervals. The mean of an
// estimate without repetitions is NaN.
func meansAndEnds(e []experiment.Estimate) (mean, low, high []float64) {
	for _, v := range e {
		if v.N == 0 {
			v.Mean = math.NaN()
		}
		mean, low, high = append(mean, v.Mean), append(low, v.Mean-v.Margin), append(high, v.Mean+v.Margin)
	}
	return mean, low, high
}

// StabilityPath shows the parts of the identity along CVGM's path on the published data. It also
// shows the CV loss and the test loss of this run.
func StabilityPath(r *stability.Result) *Figure {
	steps := Log10s(chart.Floats(r.Steps))
	parts := NewPanel("expectations", "over data sets of the same population", "steps of CVGM", "loss").Grid().LogAxes(true, false)
	step := func(i int) string { return fmt.Sprintf("lowest at step %d", r.Steps[i]) }
	parts.Direct = true
	drawStability(parts, steps, r.Path, step)
	one := NewPanel("published data", "on the published data", "steps of CVGM", "loss").Grid().LogAxes(true, false)
	one.Direct = true
	one.Line("CV loss", steps, r.CVLoss, chart.CVStyle)
	markLowest(one, "lowest value", steps, r.CVLoss, step)
	one.Line("test loss", steps, r.TestLoss, Style{Color: Blue, Width: 2})
	markLowest(one, "lowest value", steps, r.TestLoss, step)
	return &Figure{Name: "stability_path", Width: 11 * vg.Inch, Height: 4 * vg.Inch, Legend: LegendBelow, SameAxes: true, Panels: [][]*Panel{{parts, one}},
		Caption: fmt.Sprintf("Left: instability Δ, training risk E[Rₑₘₚ], their sum and the risk at the hyperparameters along CVGM's path, as means over %d data sets of the same population. The marks come from other data than the lines. Right: CV loss and test loss of the run on the published data, whose path this is.", r.Params.DataSets)}
}

// StabilityPathTable lists the parts of the identity along CVGM's path.
func StabilityPathTable(r *stability.Result) *Table {
	t := &Table{
		Name: "stability_along_path", Caption: "Along CVGM's path: the CV loss on the published data, and the expected losses over the population",
		Header: []string{"Step", "λ1", "λ2", "CV loss", "E[R]", "Δ + E[R_emp]", "Δ", "E[R_emp]", "Difference of the identity", "Contains 0"},
	}
	for k, s := range r.Path {
		t.Rows = append(t.Rows, []any{fmt.Sprint(r.Steps[k]), Number{Value: s.Hyper[0], Digits: 4}, Number{Value: s.Hyper[1], Digits: 4},
			Number{Value: r.CVLoss[k], Digits: 4}, chart.Estimated(s.Risk, 4), chart.Estimated(s.Sum, 4), chart.Estimated(s.Delta, 4), chart.Estimated(s.Training, 4), chart.Estimated(s.Difference, 4), chart.YesNo(s.Holds())})
	}
	return t
}

// StabilityStartsTable lists whether CVGM raises or lowers Δ, for several starts.
func StabilityStartsTable(r *stability.Result) *Table {
	t := &Table{
		Name: "stability_starts", Caption: fmt.Sprintf("CVGM from several starts on the published data, up to %d evaluations: is Δ lower at the end?", r.Params.StartsSteps),
		Header: []string{"λ1, start", "λ2, start", "λ1, end", "λ2, end", "CV loss, start", "CV loss, end", "Δ, start", "Δ, end", "change of Δ", "change of E[R_emp]", "change of E[R]"},
		Brief:  []string{"λ1, start", "λ2, start", "λ1, end", "λ2, end", "CV loss, start", "CV loss, end", "change of Δ", "change of E[R_emp]", "change of E[R]"},
		Note:   fmt.Sprintf("Δ, R_emp and R at fixed hyperparameters, over %d data sets of the population, with 95 %% confidence intervals; the changes are paired.", r.Params.DataSets),
	}
	for _, s := range r.Starts {
		row := []any{}
		for _, v := range [][]float64{s.Start.Hyper, s.End.Hyper} {
			row = append(row, Number{Value: v[0], Digits: 4}, Number{Value: v[1], Digits: 4})
		}
		row = append(row, Number{Value: s.CVLoss[0], Digits: 4}, Number{Value: s.CVLoss[1], Digits: 4})
		for _, e := range []experiment.Estimate{s.Start.Delta, s.End.Delta, s.DeltaChange, s.EmpChange, s.RiskChange} {
			row = append(row, chart.Estimated(e, 4))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
