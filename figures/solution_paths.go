package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment/differentiability"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *differentiability.SolutionPaths) []Output {
		return []Output{SolutionPaths(r)}
	})
}

// SolutionPaths shows the paths with the tangents that the derivatives give at
// some of their points.
func SolutionPaths(r *differentiability.SolutionPaths) *Figure {
	f := &Figure{Name: "solution_paths", Width: 10.5 * vg.Inch, Height: 8 * vg.Inch, Legend: LegendBelow,
		Entries: []LegendEntry{{Name: "solution", Style: Style{Width: .6}}, {Name: "exact tangent", Style: Style{Width: 2}}, {Name: "derivative", Style: Style{GlyphRadius: 1.2}}},
		Caption: fmt.Sprintf("Solutions along a hyperparameter with the tangents that the exact derivatives give at some of the points. Each colour is a coordinate of θ or, below, the multiplier of a training example, from 0 beyond the margin to 1 on its wrong side; of many, those %d coordinates and %d multipliers are shown that move over the longest part of the path. Entries at rest at a bound have no tangents drawn. At the kinks, where a coordinate becomes 0 or a multiplier meets its bound, a tangent touches one side.", shownCoordinates, shownExamples)}
	var rows []string // a row for each solution, in the order of the paths
	for _, path := range r.Paths {
		if !slices.Contains(rows, path.Name) {
			rows, f.Panels = append(rows, path.Name), append(f.Panels, nil)
		}
		row := slices.Index(rows, path.Name)
		f.Panels[row] = append(f.Panels[row], pathPanel(path))
	}
	if len(r.Paths) > 0 {
		f.Panels[0] = append(f.Panels[0], slopePanel(r.Paths[0]))
	}
	return f
}

func pathAxis(s differentiability.SolutionPath) []float64 {
	if s.Logarithmic {
		return Log10s(s.At)
	}
	return s.At
}

// isDual reports whether the entries are the dual variables of examples.
func isDual(s differentiability.SolutionPath) bool { return strings.HasPrefix(s.Name, "dual") }

func pathPanel(s differentiability.SolutionPath) *Panel {
	const tangents = 20
	y := "θ, by coordinate"
	if isDual(s) {
		y = "N × multiplier, by example"
	}
	p := NewPanel(s.Name+" in "+s.Hyper, s.Name, chart.Subscripted(s.Hyper), y).LogAxes(s.Logarithmic, false).Grid()
	x := pathAxis(s)
	longest := (x[len(x)-1] - x[0]) / (3 * tangents)
	shown := moving(s)
	for n, k := range shown {
		p.Line(s.Entries[k], x, s.Value[k], Style{Color: chart.PaletteColor(n), Width: .6, Unlisted: true})
	}
	values := p.Axes()
	highest := .12 * (values.Ymax - values.Ymin) // of a tangent, to either side: a steep one would leave the data far behind
	for n, k := range shown {
		name, thick := s.Entries[k], Style{Color: chart.PaletteColor(n), Width: 2, Unlisted: true}
		for m := range tangents {
			i := (2*m + 1) * (len(x) - 1) / (2 * tangents)
			slope := s.Slope[k][i]
			if math.IsNaN(slope) || math.Abs(slope) <= atRest && math.Abs(s.Value[k][i]-math.Round(s.Value[k][i])) <= atRest {
				continue // no derivative, or an entry that rests at a bound
			}
			if s.Logarithmic {
				slope *= s.At[i] * math.Ln10
			}
			reach := longest
			if slope != 0 {
				reach = min(reach, highest/math.Abs(slope))
			}
			p.Line(fmt.Sprintf("%s, tangent at %s", name, chart.FormatFull(s.At[i])), []float64{x[i] - reach, x[i] + reach},
				[]float64{s.Value[k][i] - reach*slope, s.Value[k][i] + reach*slope}, thick)
		}
	}
	return p
}

// shownCoordinates is the number of coordinates that a reader can follow in one panel.
// shownExamples is the same for the dual variables of examples, whose paths cross more.
const shownCoordinates, shownExamples = 6, 4

// atRest is far above the rounding of slopes and of values at a bound.
const atRest = 1e-9

// moving returns, in ascending order, the numbers of the entries that move over the longest part
// of the path.
func moving(s differentiability.SolutionPath) []int {
	moves := func(k int) (n int) {
		for _, slope := range s.Slope[k] {
			if math.Abs(slope) > atRest {
				n++
			}
		}
		return n
	}
	all := make([]int, len(s.Entries))
	for k := range all {
		all[k] = k
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(moves(b), moves(a)) })
	most := shownCoordinates
	if isDual(s) {
		most = shownExamples
	}
	all = all[:min(len(all), most)]
	slices.Sort(all)
	return all
}

// slopePanel shows the derivatives themselves along a path.
func slopePanel(s differentiability.SolutionPath) *Panel {
	p := NewPanel(s.Name+", derivative in "+s.Hyper, s.Name+": the derivatives", chart.Subscripted(s.Hyper), "∂θ/∂"+chart.Subscripted(s.Hyper)).Grid()
	x := pathAxis(s)
	for n, k := range moving(s) {
		p.Scatter(s.Entries[k], x, s.Slope[k], Style{Color: chart.PaletteColor(n), GlyphRadius: 1.2, Unlisted: true})
	}
	return p
}
