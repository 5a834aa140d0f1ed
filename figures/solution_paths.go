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

// SolutionPaths shows the entries of solutions along a hyperparameter. At some points, it shows
// tangents, which come from the derivatives.
func SolutionPaths(r *differentiability.SolutionPaths) *Figure {
	f := &Figure{Name: "solution_paths", Width: 10.5 * vg.Inch, Height: 8 * vg.Inch, Legend: LegendBelow,
		Entries: []LegendEntry{{Name: "solution", Style: Style{Width: .6}}, {Name: "exact tangent", Style: Style{Width: 2}}},
		Caption: fmt.Sprintf("Solutions along a hyperparameter, with tangents that the exact derivatives give. A colour is a coordinate of θ or, in the last row, the multiplier of a training example. The figure has the %d coordinates and the %d multipliers that move over the longest part of the path. Entries at rest at a bound have no tangents. A tangent ends where the derivative changes by more than a quarter, so it is short near a kink.", shownCoordinates, shownExamples)}
	var rows []string // names of the rows: one for each solution, in the order of the paths
	for _, path := range r.Paths {
		if !slices.Contains(rows, path.Name) {
			rows, f.Panels = append(rows, path.Name), append(f.Panels, nil)
		}
		row := slices.Index(rows, path.Name)
		f.Panels[row] = append(f.Panels[row], pathPanel(path))
	}
	if len(r.Paths) > 0 {
		for n, k := range movingEntries(r.Paths[0]) {
			f.Entries = append(f.Entries, LegendEntry{Name: chart.Subscripted(r.Paths[0].Entries[k]), Style: Style{Color: chart.PaletteColor(n), Width: 2}})
		}
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
	y := "θ, by coordinate"
	if isDual(s) {
		y = "N × multiplier, by example"
	}
	p := NewPanel(s.Name+" in "+s.Hyper, s.Name, chart.Subscripted(s.Hyper), y).LogAxes(s.Logarithmic, false).Grid()
	x := pathAxis(s)
	shown := movingEntries(s)
	p.Direct = isDual(s) // the legend below names coordinates
	for n, k := range shown {
		p.Line(s.Entries[k], x, s.Value[k], Style{Color: chart.PaletteColor(n), Width: .6, Unlisted: !isDual(s)})
	}
	values := p.Axes()
	highest := .12 * (values.Ymax - values.Ymin) // height of a tangent on each side of its point; without this bound, a steep tangent would extend far beyond the data
	for n, k := range shown {
		tangents(p, s, k, highest, Style{Color: chart.PaletteColor(n), Width: 2, Unlisted: true})
	}
	return p
}

// tangents draws tangents to the path of entry k at some points of the path. On each side of a
// point, a tangent rises or falls by at most maxHeight.
func tangents(p *Panel, s differentiability.SolutionPath, k int, maxHeight float64, style Style) {
	const count = 20
	x := pathAxis(s)
	slopes := slices.Clone(s.Slope[k]) // derivatives with respect to the axis
	steepest := 0.
	for i := range slopes {
		if s.Logarithmic {
			slopes[i] *= s.At[i] * math.Ln10
		}
		if math.Abs(slopes[i]) > steepest {
			steepest = math.Abs(slopes[i])
		}
	}
	for m := range count {
		i := (2*m + 1) * (len(x) - 1) / (2 * count)
		slope, value := slopes[i], s.Value[k][i]
		if math.IsNaN(slope) || math.Abs(s.Slope[k][i]) <= atRest && math.Abs(value-math.Round(value)) <= atRest {
			continue // there is no derivative, or the entry rests at a bound
		}
		reach := (x[len(x)-1] - x[0]) / (3 * count)
		if slope != 0 {
			reach = min(reach, maxHeight/math.Abs(slope))
		}
		from, to := piece(x, slopes, i, steepest)
		from, to = max(from, x[i]-reach), min(to, x[i]+reach)
		p.Line(fmt.Sprintf("%s, tangent at %s", s.Entries[k], chart.FormatFull(s.At[i])), []float64{from, to},
			[]float64{value + (from-x[i])*slope, value + (to-x[i])*slope}, style)
	}
}

// piece returns the ends of an interval around x[i] in which the derivative is nearly constant: it
// differs from slope[i] by at most max(|slope[i]|, steepest/20)/4. The argument steepest is the
// largest absolute derivative. Each end lies halfway between the last point inside the interval and
// the next point.
func piece(x, slope []float64, i int, steepest float64) (from, to float64) {
	allowed := max(math.Abs(slope[i]), .05*steepest) / 4
	same := func(j int) bool { return math.Abs(slope[j]-slope[i]) <= allowed }
	left, right := i, i
	for left > 0 && same(left-1) {
		left--
	}
	for right+1 < len(x) && same(right+1) {
		right++
	}
	return (x[left] + x[max(left-1, 0)]) / 2, (x[right] + x[min(right+1, len(x)-1)]) / 2
}

// shownCoordinates is the largest number of entries in one panel. For the dual variables of
// examples it is shownExamples, because their paths cross more often.
const shownCoordinates, shownExamples = 6, 4

// atRest is a tolerance far above rounding errors. An absolute slope up to atRest counts as 0. An
// entry whose distance from a bound is at most atRest counts as on the bound.
const atRest = 1e-9

// movingEntries returns the indices of the entries that move over the longest parts of the path.
// The indices are in ascending order.
func movingEntries(s differentiability.SolutionPath) []int {
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

// slopePanel returns a panel with the derivatives along a path.
func slopePanel(s differentiability.SolutionPath) *Panel {
	p := NewPanel(s.Name+", derivative in "+s.Hyper, s.Name+": the derivatives", chart.Subscripted(s.Hyper), "∂θ/∂"+chart.Subscripted(s.Hyper)).Grid()
	x := pathAxis(s)
	for n, k := range movingEntries(s) {
		p.Scatter(s.Entries[k], x, s.Slope[k], Style{Color: chart.PaletteColor(n), GlyphRadius: 1.2, Unlisted: true})
	}
	return p
}
