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

// SolutionPaths shows the entries of solutions along a hyperparameter. At some points, it shows
// tangents, which come from the derivatives.
func SolutionPaths(r *differentiability.SolutionPaths) *Figure {
	f := &Figure{Name: "solution_paths", Width: 10.5 * vg.Inch, Height: 8 * vg.Inch, Legend: LegendBelow,
		Caption: fmt.Sprintf("Solutions along a hyperparameter, with tangents that the exact derivatives give. A tangent touches its line at a dot. In the middle of each quarter of an axis, this is the point with the longest tangent. The figure has the %d coordinates of θ and, in the last row, the multipliers of the %d training examples that move over the longest parts of the paths. Entries at rest at a bound have no tangents. A tangent ends at a kink: where the derivative changes by more than a quarter. Derivatives that are 0 coincide: there, broad lines lie below thin ones.", shownCoordinates, shownExamples)}
	var coordinates []int // the same in all panels
	if len(r.Paths) > 0 {
		coordinates = movingEntries(slices.DeleteFunc(slices.Clone(r.Paths), isDual)...)
	}
	var rows []string // names of the rows: one for each solution, in the order of the paths
	for _, path := range r.Paths {
		if !slices.Contains(rows, path.Name) {
			rows, f.Panels = append(rows, path.Name), append(f.Panels, nil)
		}
		shown, colors := coordinates, coordinateColors
		if isDual(path) {
			shown, colors = movingEntries(path), exampleColors
		}
		row := slices.Index(rows, path.Name)
		f.Panels[row] = append(f.Panels[row], pathPanel(path, shown, colors))
	}
	if len(r.Paths) > 0 {
		f.Panels[0] = append(f.Panels[0], slopePanel(r.Paths[0], coordinates, f.Panels[0][0].Axes()))
		for n, k := range coordinates {
			f.Entries = append(f.Entries, LegendEntry{Name: chart.Subscripted(r.Paths[0].Entries[k]), Style: Style{Color: coordinateColors[n], Width: pathWidth}})
		}
	}
	f.Entries = append(f.Entries, LegendEntry{Name: "exact tangent", Style: tangentStyle})
	return f
}

// These colours differ in grey. They are pale, below black tangents.
var (
	coordinateColors = []color.NRGBA{{90, 160, 210, 255}, {245, 205, 110, 255}, {110, 200, 165, 255}}
	exampleColors    = []color.NRGBA{{235, 150, 90, 255}, {225, 180, 205, 255}}
	tangentStyle     = Style{Color: Black, Width: 1.1, Unlisted: true}
)

const pathWidth = 1.8

func pathAxis(s differentiability.SolutionPath) []float64 {
	if s.Logarithmic {
		return Log10s(s.At)
	}
	return s.At
}

// isDual reports whether the entries are the dual variables of examples.
func isDual(s differentiability.SolutionPath) bool { return strings.HasPrefix(s.Name, "dual") }

func pathPanel(s differentiability.SolutionPath, shown []int, colors []color.NRGBA) *Panel {
	y := "θ, by coordinate"
	if isDual(s) {
		y = "N × multiplier, by example"
	}
	p := NewPanel(s.Name+" in "+s.Hyper, s.Name+" along "+chart.Subscripted(s.Hyper), chart.Subscripted(s.Hyper), y).LogAxes(s.Logarithmic, false).Grid()
	x := pathAxis(s)
	p.Direct = isDual(s) // the legend below names coordinates
	for n, k := range shown {
		p.Line(s.Entries[k], x, s.Value[k], Style{Color: colors[n], Width: pathWidth, Unlisted: !isDual(s)})
	}
	values := p.Axes()
	highest := .12 * (values.Ymax - values.Ymin) // height of a tangent on each side of its point; without this bound, a steep tangent would extend far beyond the data
	for _, k := range shown {
		tangents(p, s, k, highest)
	}
	return p
}

// tangents draws tangents to the path of entry k. There is one tangent in the inner half of each of
// several equal parts of the axis, at the point with the longest tangent. On each side of a point, a
// tangent rises or falls by at most maxHeight. It does not leave the range of the path.
func tangents(p *Panel, s differentiability.SolutionPath, k int, maxHeight float64) {
	const count = 4
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
	var touched [2][]float64
	for m := range count {
		at, from, to := -1, 0., 0.
		middle := (2*m + 1) * (len(x) - 1) / (2 * count)
		for _, i := range outwards(middle, (len(x)-1)/(4*count)) {
			slope, value := slopes[i], s.Value[k][i]
			if math.IsNaN(slope) || math.Abs(s.Slope[k][i]) <= atRest && math.Abs(value-math.Round(value)) <= atRest {
				continue // there is no derivative, or the entry rests at a bound
			}
			reach := (x[len(x)-1] - x[0]) / (2.5 * count)
			low, high := piece(x, slopes, i, steepest)
			if slope != 0 && len(values) > 0 {
				reach = min(reach, maxHeight/math.Abs(slope))
				ends := [2]float64{(slices.Min(values) - value) / slope, (slices.Max(values) - value) / slope}
				low, high = max(low, x[i]+min(ends[0], ends[1])), min(high, x[i]+max(ends[0], ends[1]))
			}
			low, high = max(low, x[i]-reach), min(high, x[i]+reach)
			const longer = 1.05 // far above rounding: of tangents with equal lengths, the first has the point nearest to the middle
			if at < 0 || high-low > longer*(to-from) {
				at, from, to = i, low, high
			}
		}
		if at < 0 {
			continue
		}
		slope, value := slopes[at], s.Value[k][at]
		p.Line(fmt.Sprintf("%s, tangent at %s", s.Entries[k], chart.FormatFull(s.At[at])), []float64{from, to},
			[]float64{value + (from-x[at])*slope, value + (to-x[at])*slope}, tangentStyle)
		touched[0], touched[1] = append(touched[0], x[at]), append(touched[1], value)
	}
	p.Scatter(s.Entries[k]+", points of tangents", touched[0], touched[1], Style{Color: Black, GlyphRadius: 1.5, Unlisted: true})
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
	p := NewPanel(s.Name+", derivative in "+s.Hyper, s.Name+": derivatives in "+chart.Subscripted(s.Hyper), chart.Subscripted(s.Hyper), "∂θ/∂"+chart.Subscripted(s.Hyper)).Grid()
	for n, k := range shown {
		x, y := brokenAtJumps(pathAxis(s), s.Slope[k])
		p.Line(s.Entries[k], x, y, Style{Color: coordinateColors[n], Width: pathWidth + 1.2*vg.Length(len(shown)-1-n), Unlisted: true}) // so that lines at 0 do not hide each other
	}
	own := p.Axes()
	p.Range(axes.Xmin, axes.Xmax, own.Ymin, own.Ymax)
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
