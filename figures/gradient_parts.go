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

// GradientPartsTable lists the norms of the gradient's parts, and the angles between them, along
// three paths. Each path follows a different direction.
func GradientPartsTable(r *kernels.GradientPartsResult) *Table {
	t := &Table{
		Name: "gradient_parts", Caption: fmt.Sprintf("The parts of the exact gradient in the kernel's weights along three paths, over %d data sets", r.Params.Seeds),
		Header: []string{"Problem", "Splits", "Path along", "Steps", "Test error", "CV loss", "|D| / |whole|", "|T1| / |whole|", "|T2| / |whole|", "cos(D, T2)", "|D + T2| / |D|", "cos(T1, whole)", "cos(T1 + T2, whole)", "T1 uphill", "T1 + T2 uphill", "Test error, end minus start", "Lower at the end"},
		Brief:  []string{"Problem", "Splits", "Path along", "Steps", "Test error", "|D + T2| / |D|", "cos(T1, whole)", "cos(T1 + T2, whole)", "Test error, end minus start"},
		Note: "D is the direct part, through the features of the validation rows, T1 the term of the fit's derivative that the paper prints, T2 the one that it leaves out; the whole is D + T1 + T2. " +
			"The published direction is T1, the detached one T1 + T2. If D and T2 cancelled, |D + T2| / |D| would be 0 and their cosine −1. Means over the data sets with 95 % confidence intervals. Shares of the data sets are in the CSV file: “uphill” where the cosine with the whole is negative, “Lower at the end” with a tie as half.",
	}
	percent := func(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
	for _, path := range r.Paths {
		for k, at := range path.At {
			row := []any{path.Problem, path.K, path.Variant.String(), at.Steps, chart.Estimated(at.Error, 4), chart.Estimated(at.CVLoss, 4)}
			for _, e := range []experiment.Estimate{at.Direct, at.Printed, at.Missing, at.DirectMissing, at.Left, at.PrintedWhole, at.DetachedWhole} {
				row = append(row, chart.Estimated(e, 2))
			}
			row = append(row, percent(at.PrintedUphill.Mean), percent(at.DetachedUphill.Mean))
			if k+1 < len(path.At) {
				row = append(row, nil, nil)
			} else {
				row = append(row, chart.Estimated(path.Learned.Difference, 4), percent(path.Learned.Wins))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// GradientParts shows the angles between parts of the gradient along the published path. For each
// problem, it shows the path with the largest number of splits. GradientPartsTable has the angles
// along all paths.
func GradientParts(r *kernels.GradientPartsResult) *Figure {
	f := &Figure{
		Name: "gradient_parts_angles", Width: 8 * vg.Inch, Height: 3.9 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{nil},
		Caption: fmt.Sprintf("Cosines along the path of the published direction, means over %d data sets with 95 %% intervals. The exact gradient is T₁ + T₂ + D; the paper prints T₁ and leaves out T₂ and D. A direction points downhill while its cosine with the gradient is above 0. The two omitted parts would cancel if they were equally long and their cosine were −1. Titles count the data sets on which the first step points uphill.", r.Params.Seeds),
	}
	most := make(map[string]int)
	for _, path := range r.Paths {
		most[path.Problem] = max(most[path.Problem], path.K)
	}
	for _, path := range r.Paths {
		if path.Variant == kernels.Published && path.K == most[path.Problem] {
			f.Panels[0] = append(f.Panels[0], partsPanel(path))
		}
	}
	return f
}

func partsPanel(path kernels.GradientPath) *Panel {
	problem, _, _ := strings.Cut(path.Problem, ",")
	name := fmt.Sprintf("%s, K = %d", problem, path.K)
	first := path.At[0]
	title := fmt.Sprintf("%s. First step uphill:\n%s, %s", name, uphill("published", first.PrintedUphill), uphill("detached", first.DetachedUphill))
	p := NewPanel(name, title, "steps along the published direction"+stepsScale, "cosine").Grid().StepsX()
	var x []float64
	columns := make([][]experiment.Estimate, 3)
	for _, at := range path.At {
		x = append(x, math.Log10(float64(1+at.Steps)))
		for k, e := range []experiment.Estimate{at.PrintedWhole, at.DetachedWhole, at.DirectMissing} {
			columns[k] = append(columns[k], e)
		}
	}
	for k, c := range []struct {
		name  string
		style Style
	}{
		{"published T₁ with the gradient", Style{Color: Vermilion, Width: 2, Dash: []vg.Length{6, 2}}},
		{"detached T₁ + T₂ with the gradient", Style{Color: Green, Width: 2, Dash: []vg.Length{2, 2}}},
		{"omitted T₂ with omitted D", Style{Color: Black, Width: 2}},
	} {
		mean, low, high := meansAndEnds(columns[k])
		p.Band(c.name, x, low, high, c.style)
		p.Line(c.name, x, mean, c.style)
	}
	p.HLine("published, detached: uphill below", 0, Style{Color: Grey, Width: 1, Dash: []vg.Length{1, 3}})
	p.HLine("exactly opposite", -1, Style{Color: Black, Width: 1, Dash: []vg.Length{8, 2, 2, 2}})
	return p
}

// uphill counts the data sets on which a direction points uphill.
func uphill(direction string, share experiment.Estimate) string {
	return fmt.Sprintf("%s %g of %d", direction, math.Round(2*share.Mean*float64(share.N))/2, share.N)
}
