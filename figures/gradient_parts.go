package figures

import (
	"fmt"
	"math"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *kernels.GradientPartsResult) []Output {
		return []Output{GradientPartsTable(r), GradientParts(r)}
	})
}

// GradientPartsTable lists norms and angles of the gradient's parts along the paths of three
// directions.
func GradientPartsTable(r *kernels.GradientPartsResult) *Table {
	t := &Table{
		Name: "gradient_parts", Caption: fmt.Sprintf("The parts of the exact gradient in the kernel's weights along three paths, over %d data sets", r.Params.Seeds),
		Header: []string{"Problem", "Splits", "Path along", "Steps", "Test error", "CV loss", "|D| / |whole|", "|T1| / |whole|", "|T2| / |whole|", "cos(D, T2)", "|D + T2| / |D|", "cos(T1, whole)", "cos(T1 + T2, whole)", "Test error, end less start", "Lower at the end"},
		Note: "D is the direct part through the features of the rows validated on, T1 the term of the fit's derivative that the paper prints, T2 the one that it leaves out; the whole is D + T1 + T2. " +
			"The published direction is T1, the detached one T1 + T2. Were D and T2 to cancel, |D + T2| / |D| would be 0 and their cosine −1. Means over the data sets with 95 % confidence intervals. A tie counts half.",
	}
	for _, path := range r.Paths {
		for k, at := range path.At {
			row := []any{path.Problem, path.K, path.Variant.String(), at.Steps, chart.Estimated(at.Error, 4), chart.Estimated(at.CVLoss, 4)}
			for _, e := range []experiment.Estimate{at.Direct, at.Printed, at.Missing, at.DirectMissing, at.Left, at.PrintedWhole, at.DetachedWhole} {
				row = append(row, chart.Estimated(e, 2))
			}
			if k+1 < len(path.At) {
				row = append(row, nil, nil)
			} else {
				row = append(row, chart.Estimated(path.Learned.Difference, 4), fmt.Sprintf("%.0f %%", 100*path.Learned.Wins))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// GradientParts shows the angles of the gradient's parts along the paths.
func GradientParts(r *kernels.GradientPartsResult) *Figure {
	f := &Figure{
		Name: "gradient_parts_angles", Width: 10.5 * vg.Inch, Legend: LegendBelow, SameAxes: true,
		Caption: fmt.Sprintf("Cosines between the parts of the exact gradient in the kernel's weights along the paths of three directions with K splits: D direct, T₁ printed, T₂ missing in the paper. Means over %d data sets, bands 95 %% confidence intervals. At −1 the parts D and T₂ would point in opposite directions. A direction points uphill where its cosine with the whole is below 0.", r.Params.Seeds),
	}
	for i, path := range r.Paths {
		if i == 0 || path.Problem != r.Paths[i-1].Problem || path.K != r.Paths[i-1].K {
			f.Panels = append(f.Panels, nil)
		}
		name := fmt.Sprintf("%s, %d splits, path along %v", path.Problem, path.K, path.Variant)
		problem, _, _ := strings.Cut(path.Problem, ",")
		p := NewPanel(name, fmt.Sprintf("%s, K = %d, along %v", problem, path.K, path.Variant), "1 + steps", "cosine").Grid().LogAxes(true, false)
		var x []float64
		columns := make([][]experiment.Estimate, 3)
		for _, at := range path.At {
			x = append(x, math.Log10(float64(1+at.Steps)))
			for k, e := range []experiment.Estimate{at.DirectMissing, at.PrintedWhole, at.DetachedWhole} {
				columns[k] = append(columns[k], e)
			}
		}
		for k, c := range []struct {
			name  string
			style Style
		}{
			{"D and T₂", Style{Color: Black, Width: 2}},
			{"T₁ and the whole", Style{Color: Vermillion, Width: 2, Dash: []vg.Length{6, 2}}},
			{"T₁ + T₂ and the whole", Style{Color: Sky, Width: 2, Dash: []vg.Length{2, 2}}},
		} {
			mean, low, high := means(columns[k])
			p.Band(c.name, x, low, high, c.style)
			p.Line(c.name, x, mean, c.style)
		}
		p.HLine("right angle", 0, Style{Color: Grey, Width: 1, Dash: []vg.Length{1, 3}})
		last := len(f.Panels) - 1
		f.Panels[last] = append(f.Panels[last], p)
	}
	f.Height = vg.Length(len(f.Panels)) * 3.2 * vg.Inch
	return f
}
