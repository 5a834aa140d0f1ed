package figures

import (
	"cmp"
	"fmt"
	"image/color"
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

// SolutionPaths shows the entries of solutions along a hyperparameter, with tangents that come from
// the derivatives. The upper row has a panel for each path of θ. Below it, on the same axis, are
// the multipliers of the same solution. Below the first path are its derivatives. All panels show
// the same coordinates, and all panels with multipliers the same examples.
func SolutionPaths(r *differentiability.SolutionPaths) *Figure {
	f := &Figure{Name: "solution_paths", Width: 11 * vg.Inch, Height: 6.2 * vg.Inch, Legend: LegendBelow}
	var duals, primals []differentiability.SolutionPath
	for _, path := range r.Paths {
		if isDual(path) {
			duals = append(duals, path)
		} else {
			primals = append(primals, path)
		}
	}
	f.Caption = "Between kinks the solution is smooth, and the exact derivative is its tangent." + shownEntries(primals, duals) + " A black tangent touches at its dot and ends before the next kink."
	if len(primals) > 0 {
		f.Caption += " Lower left: the derivatives of the curves above, which jump at the kinks."
	}
	rows := [2][]*Panel{}
	list := func(names []string, shown []int, styles []Style) {
		for n, k := range shown {
			f.Entries = append(f.Entries, LegendEntry{Name: names[k], Style: styles[n]})
		}
	}
	if len(primals) > 0 {
		shown := movingEntries(primals...)
		for _, path := range primals {
			rows[0] = append(rows[0], pathPanel(path, shown, coordinateStyles))
		}
		rows[1] = append(rows[1], slopePanel(primals[0], shown, rows[0][0].Axes()))
		list(chart.Mapped(primals[0].Entries, chart.Subscripted), shown, coordinateStyles)
	}
	if len(duals) > 0 {
		shown := movingEntries(duals...)
		for _, path := range duals {
			rows[1] = append(rows[1], pathPanel(path, shown, exampleStyles))
		}
		list(duals[0].Entries, shown, exampleStyles)
	}
	for _, row := range rows {
		if row != nil {
			f.Panels = append(f.Panels, row)
		}
	}
	f.Entries = append(f.Entries, LegendEntry{Name: "exact tangent", Style: tangentStyle})
	return f
}

// shownEntries returns the part of the caption that counts the entries. Each argument may be empty.
func shownEntries(primals, duals []differentiability.SolutionPath) string {
	var all []string
	for _, group := range []struct {
		paths []differentiability.SolutionPath
		names string
	}{{primals, "coordinates of θ"}, {duals, "multipliers"}} {
		if len(group.paths) > 0 {
			all = append(all, fmt.Sprintf("%d of %d %s", len(movingEntries(group.paths...)), len(group.paths[0].Entries), group.names))
		}
	}
	if all == nil {
		return ""
	}
	n := ""
	if len(duals) > 0 {
		n = "; N is the number of examples"
	}
	return " Shown are " + strings.Join(all, " and ") + ", those that are least often constant" + n + "."
}

// The lines are pale and broad, so that a thin black tangent leaves its line visible. They differ in
// grey by their dashes, through which the earlier lines of a panel show where lines are equal.
var (
	coordinateStyles = []Style{pathStyle(90, 160, 210), pathStyle(245, 205, 110, 9, 5), pathStyle(110, 200, 165, 3, 4)}
	exampleStyles    = []Style{pathStyle(235, 150, 90, 14, 3), pathStyle(225, 180, 205, 6, 2, 2, 2)}
	tangentStyle     = Style{Color: Black, Width: 1, Unlisted: true}
)

func pathStyle(red, green, blue uint8, dash ...vg.Length) Style {
	return Style{Color: color.NRGBA{red, green, blue, 255}, Width: 3, Dash: dash}
}

// inFigure returns the style of a line whose entry is in the legend of the figure.
func inFigure(s Style) Style {
	s.Unlisted = true
	return s
}

func pathAxis(s differentiability.SolutionPath) []float64 {
	if s.Logarithmic {
		return Log10s(s.At)
	}
	return s.At
}

// dualPrefix begins the name of a path whose entries are the dual variables of examples. The figure
// calls them multipliers.
const dualPrefix = "dual variables"

// isDual reports whether the entries are multipliers.
func isDual(s differentiability.SolutionPath) bool { return strings.HasPrefix(s.Name, dualPrefix) }

func pathPanel(s differentiability.SolutionPath, shown []int, styles []Style) *Panel {
	hyper, y := chart.Subscripted(s.Hyper), "θ, by coordinate"
	if isDual(s) {
		y = "N × multiplier, by example"
	}
	p := NewPanel(s.Name+" in "+s.Hyper, strings.Replace(s.Name, dualPrefix, "multipliers", 1)+" along "+hyper, hyper, y).LogAxes(s.Logarithmic, false).Grid()
	x := pathAxis(s)
	for n, k := range shown {
		p.Line(s.Entries[k], x, s.Value[k], inFigure(styles[n]))
	}
	values := p.Axes()
	highest := .12 * (values.Ymax - values.Ymin) // height of a tangent on each side of its point; without this bound, a steep tangent would extend far beyond the data
	for _, k := range shown {
		tangents(p, s, k, highest)
	}
	return p
}

// tangents draws tangents to the path of entry k. There is one tangent in the inner five sixths
// of each of several equal parts of the axis, at the point whose tangent extends farthest on both sides. If an entry rests at
// a bound, it has no tangent. A piece so steep or short that its tangent would look like a tick has
// none either. A tangent ends at a kink; see piece. On each side of a point, it rises
// or falls by at most maxHeight. It does not leave the range of the path.
func tangents(p *Panel, s differentiability.SolutionPath, k int, maxHeight float64) {
	const count = 2
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
	values := slices.DeleteFunc(slices.Clone(s.Value[k]), math.IsNaN)
	const shortest = .01 // length of a tangent on each side of its point, as a share of the axis
	var touched [2][]float64
	for m := range count {
		at, from, to, longest := -1, 0., 0., 0.
		middle := (2*m + 1) * (len(x) - 1) / (2 * count)
		for _, i := range outwards(middle, 5*(len(x)-1)/(12*count)) {
			slope, value := slopes[i], s.Value[k][i]
			if math.IsNaN(slope) || math.Abs(s.Slope[k][i]) <= atRest && math.Abs(value-math.Round(value)) <= atRest {
				continue // there is no derivative, or the entry rests at a bound
			}
			reach := (x[len(x)-1] - x[0]) / (5 * count)
			low, high := piece(x, slopes, i, steepest)
			if slope != 0 && len(values) > 0 {
				reach = min(reach, maxHeight/math.Abs(slope))
				ends := [2]float64{(slices.Min(values) - value) / slope, (slices.Max(values) - value) / slope}
				low, high = max(low, x[i]+min(ends[0], ends[1])), min(high, x[i]+max(ends[0], ends[1]))
			}
			low, high = max(low, x[i]-reach), min(high, x[i]+reach)
			const longer = 1.05 // far above rounding: of tangents with equal lengths, the first has the point nearest to the middle
			if length := min(high-x[i], x[i]-low); at < 0 || length > longer*longest {
				at, from, to, longest = i, low, high, length
			}
		}
		if at < 0 || longest < shortest*(x[len(x)-1]-x[0]) {
			continue
		}
		slope, value := slopes[at], s.Value[k][at]
		p.Line(fmt.Sprintf("%s, tangent at %s", s.Entries[k], chart.FormatFull(s.At[at])), []float64{from, to},
			[]float64{value + (from-x[at])*slope, value + (to-x[at])*slope}, tangentStyle)
		touched[0], touched[1] = append(touched[0], x[at]), append(touched[1], value)
	}
	p.Scatter(s.Entries[k]+", points of tangents", touched[0], touched[1], Style{Color: Black, GlyphRadius: 2, Unlisted: true})
}

// outwards returns the whole numbers from middle−reach to middle+reach, in ascending order of their
// distance from the middle.
func outwards(middle, reach int) []int {
	all := []int{middle}
	for d := 1; d <= reach; d++ {
		all = append(all, middle-d, middle+d)
	}
	return all
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
const shownCoordinates, shownExamples = 3, 2

// atRest is a tolerance far above rounding errors. An absolute slope up to atRest counts as 0. An
// entry whose distance from a bound is at most atRest counts as on the bound.
const atRest = 1e-9

// movingEntries returns the indices of the entries that move over the longest parts of the paths.
// The indices are in ascending order. The paths have the same entries.
func movingEntries(paths ...differentiability.SolutionPath) []int {
	moves := make([]int, len(paths[0].Entries))
	all := make([]int, len(moves))
	for k := range all {
		all[k] = k
		for _, s := range paths {
			for _, slope := range chart.Nth(s.Slope, k) {
				if math.Abs(slope) > atRest {
					moves[k]++
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(moves[b], moves[a]) })
	most := shownCoordinates
	if isDual(paths[0]) {
		most = shownExamples
	}
	all = all[:min(len(all), most)]
	slices.Sort(all)
	return all
}

// slopePanel returns a panel with the derivatives of the given entries along a path. Its x axis is
// the one of the given axes.
func slopePanel(s differentiability.SolutionPath, shown []int, axes chart.Box) *Panel {
	p := NewPanel(s.Name+", derivative in "+s.Hyper, s.Name+": derivatives in "+chart.Subscripted(s.Hyper), chart.Subscripted(s.Hyper), "∂θ/∂"+chart.Subscripted(s.Hyper)).LogAxes(s.Logarithmic, false).Grid()
	for n, k := range shown {
		x, y := brokenAtJumps(pathAxis(s), s.Slope[k])
		p.Line(s.Entries[k], x, y, inFigure(coordinateStyles[n]))
	}
	p.RangeX(axes)
	return p
}

// brokenAtJumps inserts gaps into a derivative where it jumps, so that no line connects the two
// sides. A jump is a change by more than a fiftieth of the range from one point to the next.
func brokenAtJumps(x, y []float64) (bx, by []float64) {
	finite := slices.DeleteFunc(slices.Clone(y), math.IsNaN)
	for i, v := range y {
		if i > 0 && len(finite) > 0 && math.Abs(v-y[i-1]) > .02*(slices.Max(finite)-slices.Min(finite)) {
			bx, by = append(bx, x[i]), append(by, math.NaN())
		}
		bx, by = append(bx, x[i]), append(by, v)
	}
	return bx, by
}
