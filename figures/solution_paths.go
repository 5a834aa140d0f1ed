package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *experiment.SolutionPaths) []Output {
		return []Output{SolutionPaths(r)}
	})
}

// SolutionPaths shows the paths with the tangents that the derivatives give at
// some of their points.
func SolutionPaths(r *experiment.SolutionPaths) *Figure {
	f := &Figure{Name: "solution_paths", Width: 10.5 * vg.Inch, Height: 8 * vg.Inch,
		Caption: "Solution paths (thin) with their exact tangents (thick). Each colour is a coordinate of θ or, below, an example; colours repeat"}
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

func pathAxis(s experiment.SolutionPath) []float64 {
	if s.Logarithmic {
		return Log10s(s.At)
	}
	return s.At
}

func pathPanel(s experiment.SolutionPath) *Panel {
	const tangents = 20
	y := "θ, by coordinate"
	if strings.HasPrefix(s.Name, "dual") {
		y = "N × multiplier, by example"
	}
	p := NewPanel(s.Name+" in "+s.Hyper, s.Name, s.Hyper, y).LogAxes(s.Logarithmic, false).Grid()
	x := pathAxis(s)
	reach := (x[len(x)-1] - x[0]) / (3 * tangents)
	for k, name := range s.Entries {
		style := Style{Color: paletteColor(k), Width: .6, Unlisted: true}
		p.Line(name, x, s.Value[k], style)
		thick := style
		thick.Width = 2
		for m := range tangents {
			i := (2*m + 1) * (len(x) - 1) / (2 * tangents)
			slope := s.Slope[k][i]
			if math.IsNaN(slope) || slope == 0 && s.Value[k][i] == math.Trunc(s.Value[k][i]) {
				continue // no derivative, or an entry that rests at a bound
			}
			if s.Logarithmic {
				slope *= s.At[i] * math.Ln10
			}
			p.Line(fmt.Sprintf("%s, tangent at %s", name, formatFull(s.At[i])), []float64{x[i] - reach, x[i] + reach},
				[]float64{s.Value[k][i] - reach*slope, s.Value[k][i] + reach*slope}, thick)
		}
	}
	return p
}

// slopePanel shows the derivatives themselves along a path.
func slopePanel(s experiment.SolutionPath) *Panel {
	p := NewPanel(s.Name+", derivative in "+s.Hyper, s.Name+": the derivatives", s.Hyper, "∂θ/∂"+s.Hyper).Grid()
	x := pathAxis(s)
	for k, name := range s.Entries {
		p.Scatter(name, x, s.Slope[k], Style{Color: paletteColor(k), GlyphRadius: .8, Unlisted: true})
	}
	return p
}
