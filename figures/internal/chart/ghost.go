package chart

import (
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/plotter"
)

// Ghosts draws the lines of another version of the figure behind its own: thin and grey, and only
// the lines that differ. Usually the other version has the default parameters. text is its CSV.
// Lines correspond by the names of panel and series. Axes that are not fixed grow for ghosts, but
// at most to twice their length; ghosts are cut there. The figure's own CSV has no ghosts. If text
// is not such a CSV, Ghosts changes nothing. It draws no ghosts behind surfaces.
func (f *Figure) Ghosts(text string) {
	others := readCSV(text)
	panels := slices.Concat(f.Panels...)
	first := true
	for i, p := range panels {
		same := func(q *Panel) bool { return q.Name == p.Name }
		if p.filled || slices.ContainsFunc(panels[:i], same) || slices.ContainsFunc(panels[i+1:], same) {
			continue // the other points may belong to another panel
		}
		p.Ghosts = nil
		for k, s := range p.Series {
			other := others[[2]string{CSVText(p.Name), CSVText(s.Name)}]
			same := func(t Series) bool { return t.Name == s.Name && !t.band() }
			if !s.Line || len(other) == 0 || slices.ContainsFunc(p.Series[:k], same) || slices.ContainsFunc(p.Series[k+1:], same) {
				continue
			}
			if !slices.EqualFunc(slices.Concat(s.Stretches...), other, func(a, b point) bool { return a[0] == b[0] && a[1] == b[1] }) {
				p.Ghosts = append(p.Ghosts, Series{Stretches: [][]point{other}})
			}
		}
		if p.Ghosts != nil && first {
			first = false
			f.explainGhosts(p)
		}
	}
}

// band reports whether the series was made by Band. Its points have no y.
func (s Series) band() bool { return len(s.Stretches) > 0 && math.IsNaN(s.Stretches[0][0][1]) }

// explainGhosts adds the ghosts to the legend, or to the line of the changes if the figure has no
// legend. panel is the first one with ghosts.
func (f *Figure) explainGhosts(p *Panel) {
	switch {
	case f.Legend == LegendNone:
		f.Changed = strings.TrimPrefix(f.Changed+"; grey: "+GhostEntry.Name, "; ")
	case f.Entries != nil:
		f.Entries = append(slices.Clip(f.Entries), GhostEntry)
	default:
		p.Ghosts[0].Entry = GhostEntry
	}
}

// readCSV returns the points of a figure's CSV by panel and series. It returns nil if the text is
// not such a CSV.
func readCSV(text string) map[[2]string][]point {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 || !slices.Equal(records[0], CSVHeader) {
		return nil
	}
	all := map[[2]string][]point{}
	for _, r := range records[1:] {
		x, errX := strconv.ParseFloat(r[2], 64)
		y, errY := strconv.ParseFloat(r[3], 64)
		if r[2] == "" || r[3] == "" {
			continue // a band's, which has no y
		}
		if errX != nil || errY != nil || !Drawable(x, y) {
			return nil
		}
		key := [2]string{r[0], r[1]}
		all[key] = append(all[key], newPoint(plotter.XY{X: x, Y: y}))
	}
	return all
}
