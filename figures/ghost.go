package figures

import (
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/plotter"
)

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
