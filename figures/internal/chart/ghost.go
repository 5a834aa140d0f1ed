package chart

import (
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/plotter"
)

// Ghosts draws the lines of another version of the figure in thin grey, behind the figure's own
// lines. The argument text is the CSV of the other version. This version usually has the default
// parameters. Ghosts draws only lines that differ between the versions. Two lines correspond if
// their panels have the same name and their series have the same name. If axes are not fixed, they
// are extended for the ghosts, at most to twice their length. Ghosts are cut at the ends of the
// axes, and are not in the CSV of the figure. If text is not the CSV of a figure, Ghosts has no
// effect. There are no ghosts behind surfaces.
func (f *Figure) Ghosts(text string) {
	others := readCSV(text)
	panels := slices.Concat(f.Panels...)
	first := true
	for i, p := range panels {
		same := func(q *Panel) bool { return q.Name == p.Name }
		if p.filled || slices.ContainsFunc(panels[:i], same) || slices.ContainsFunc(panels[i+1:], same) {
			continue // the points may belong to another panel with this name
		}
		p.Ghosts = nil
		for k, s := range p.Series {
			other := others[[2]string{CSVText(p.Name), CSVText(s.Name)}]
			same := func(t Series) bool { return t.Name == s.Name && !t.isBand() }
			if !s.Line || len(other) == 0 || slices.ContainsFunc(p.Series[:k], same) || slices.ContainsFunc(p.Series[k+1:], same) {
				continue
			}
			if !slices.EqualFunc(slices.Concat(s.Stretches...), other, func(a, b point) bool { return a[0] == b[0] && a[1] == b[1] }) {
				p.Ghosts = append(p.Ghosts, Series{Stretches: [][]point{other}, step: s.step})
			}
		}
		if p.Ghosts != nil && first {
			first = false
			f.explainGhosts(p)
		}
	}
}

// isBand reports whether the method Band has added the series s. The points of such a series have
// no y.
func (s Series) isBand() bool { return len(s.Stretches) > 0 && math.IsNaN(s.Stretches[0][0][1]) }

// explainGhosts adds an entry for the ghosts to the legend. If the figure has no legend, it adds an
// explanation to Changed instead. The argument p is the first panel with ghosts.
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

// readCSV reads the CSV of a figure. It returns the points by panel and series. If text is not the
// CSV of a figure, it returns nil.
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
			continue // a point of a band has no y
		}
		if errX != nil || errY != nil || !Drawable(x, y) {
			return nil
		}
		key := [2]string{r[0], r[1]}
		all[key] = append(all[key], newPoint(plotter.XY{X: x, Y: y}))
	}
	return all
}
