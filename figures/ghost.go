package figures

import (
	"encoding/csv"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// ghostEntry explains the lines of Ghosts.
var ghostEntry = LegendEntry{"default parameters", Style{Color: color.NRGBA{165, 165, 165, 255}, Width: .8}}

// Ghosts draws the lines of another version of the figure, that of the default
// parameters, behind its own: thin and grey, and only those that differ. The text is
// the CSV of that version, and lines correspond by the names of panel and series. Axes
// that are not fixed grow for ghosts, to twice their length at most; what lies beyond
// is cut off. The figure's own CSV has no ghosts. A text that is no such CSV changes
// nothing, and surfaces have no ghosts.
func (f *Figure) Ghosts(text string) {
	others := readCSV(text)
	panels := slices.Concat(f.Panels...)
	first := true
	for i, p := range panels {
		same := func(q *Panel) bool { return q.name == p.name }
		if p.filled || slices.ContainsFunc(panels[:i], same) || slices.ContainsFunc(panels[i+1:], same) {
			continue // other points may be those of another panel
		}
		p.ghosts = nil
		for k, s := range p.series {
			other := others[[2]string{csvText(p.name), csvText(s.name)}]
			same := func(t series) bool { return t.name == s.name && !t.band() }
			if !s.line || len(other) == 0 || slices.ContainsFunc(p.series[:k], same) || slices.ContainsFunc(p.series[k+1:], same) {
				continue
			}
			if !slices.EqualFunc(slices.Concat(s.stretches...), other, func(a, b point) bool { return a[0] == b[0] && a[1] == b[1] }) {
				p.ghosts = append(p.ghosts, series{stretches: [][]point{other}})
			}
		}
		if p.ghosts != nil && first {
			first = false
			f.explainGhosts(p)
		}
	}
}

// band reports whether the series is one of Band, whose points have no y.
func (s series) band() bool { return len(s.stretches) > 0 && math.IsNaN(s.stretches[0][0][1]) }

// explainGhosts adds the ghosts to the legend, or where there is none to the line of
// the changes. The panel is the first that has them.
func (f *Figure) explainGhosts(p *Panel) {
	switch {
	case f.Legend == LegendNone:
		f.Changed = strings.TrimPrefix(f.Changed+"; grey: "+ghostEntry.Name, "; ")
	case f.Entries != nil:
		f.Entries = append(slices.Clip(f.Entries), ghostEntry)
	default:
		p.ghosts[0].entry = ghostEntry
	}
}

// readCSV returns the points of a figure's CSV by panel and series, or nil where the
// text is no such CSV.
func readCSV(text string) map[[2]string][]point {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 || !slices.Equal(records[0], csvHeader) {
		return nil
	}
	all := map[[2]string][]point{}
	for _, r := range records[1:] {
		x, errX := strconv.ParseFloat(r[2], 64)
		y, errY := strconv.ParseFloat(r[3], 64)
		if r[2] == "" || r[3] == "" {
			continue // a band's, which has no y
		}
		if errX != nil || errY != nil || !drawable(x, y) {
			return nil
		}
		key := [2]string{r[0], r[1]}
		all[key] = append(all[key], newPoint(plotter.XY{X: x, Y: y}))
	}
	return all
}

// withGhosts returns the axes of the panel's data, longer for its ghosts.
func (p *Panel) withGhosts(b box) box {
	for _, s := range p.ghosts {
		for _, v := range slices.Concat(s.stretches...) {
			b = b.union(box{v[0], v[0], v[1], v[1]})
		}
	}
	data := axesOf(p.plot)
	b.xmin, b.xmax = bounded(b.xmin, b.xmax, data.xmin, data.xmax)
	b.ymin, b.ymax = bounded(b.ymin, b.ymax, data.ymin, data.ymax)
	return b
}

// bounded returns the part of an axis from low to high, which includes that from
// least to most, that is at most twice as long as the latter: where both ends must
// give way they do so alike.
func bounded(low, high, least, most float64) (from, to float64) {
	if narrow(least, most) {
		return least, most
	}
	room, below, above := most-least, least-low, high-most
	if below+above <= room {
		return low, high
	}
	below, above = min(below, max(room/2, room-above)), min(above, max(room/2, room-below))
	return least - below, most + above
}

// A ghostPlot is the plotter of a panel's ghosts, the first of its plotters.
type ghostPlot struct{ panel *Panel }

func (g ghostPlot) Plot(c draw.Canvas, q *plot.Plot) {
	axes := axesOf(q)
	for _, s := range g.panel.ghosts {
		for _, stretch := range s.stretches {
			for _, part := range near(stretch, axes) {
				(&plotter.Line{XYs: pairs(part, 1), LineStyle: ghostEntry.Style.line()}).Plot(c, q)
			}
		}
	}
}

// near cuts out of a line the points that are so many axes away that their places on
// paper may overflow.
func near(line []point, axes box) (parts [][]point) {
	const most = 1e6
	gap := true
	for _, v := range line {
		far := math.Abs(v[0]-axes.xmin) > most*(axes.xmax-axes.xmin) || math.Abs(v[1]-axes.ymin) > most*(axes.ymax-axes.ymin)
		if !far && gap {
			parts = append(parts, nil)
		}
		if gap = far; !far {
			parts[len(parts)-1] = append(parts[len(parts)-1], v)
		}
	}
	return parts
}
