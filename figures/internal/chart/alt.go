package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot"
)

// Shaded reports whether the figure shows values as shades: on a surface, or for counts.
func (f *Figure) Shaded() bool {
	return slices.ContainsFunc(slices.Concat(f.Panels...), func(p *Panel) bool { return p.filled })
}

// Alt returns a description of the figure for readers who cannot see it. The description has the
// panels with their axes, the series of the panels, and the changed parameters. If there are few
// panels, it also has the values at the ends of lines.
func (f *Figure) Alt() string {
	text := f.altPanels()
	if f.Changed != "" {
		text += " " + f.Changed + "."
	}
	return experiment.Visible(text)
}

// altPanels describes the panels.
func (f *Figure) altPanels() string {
	const few = 3
	panels := slices.Concat(f.Panels...)
	detailed := len(panels) <= few
	describe := func(detailed bool) []string {
		return Mapped(panels, func(p *Panel) string { return p.altSeries(detailed) })
	}
	axes, plain := Mapped(panels, (*Panel).altAxes), describe(false)
	first := 0 // index of the first panel of a row
	for i, row := range f.Panels {
		for k := range row {
			if i < len(f.Heads) {
				axes[first+k] = flat(f.Heads[i]) + ", " + axes[first+k]
			}
		}
		first += len(row)
	}
	if !detailed && !slices.ContainsFunc(plain, func(s string) bool { return s != plain[0] }) {
		return fmt.Sprintf("%d panels. %s. In each: %s.", len(panels), strings.Join(axes, ". "), strings.TrimPrefix(plain[0], "; "))
	}
	for i, series := range describe(detailed) {
		axes[i] += series + "."
	}
	return strings.Join(axes, " ")
}

// altAxes describes the axes of the panel, and lists the labels of its rows.
func (p *Panel) altAxes() string {
	title := flat(strings.ReplaceAll(cmp.Or(p.Plot.Title.Text, p.Name), "\n", ", "))
	x, y := flat(p.Plot.X.Label.Text), flat(p.Plot.Y.Label.Text)
	if ticks, rows := p.Plot.Y.Tick.Marker.(plot.ConstantTicks); rows {
		named := slices.DeleteFunc(slices.Clone(ticks), func(t plot.Tick) bool { return t.Label == "" })
		labels := Mapped(named, func(t plot.Tick) string { return "“" + flat(t.Label) + "”" })
		return fmt.Sprintf("%s: %s; rows %s", title, x, strings.Join(labels, ", "))
	}
	if x == "" || y == "" {
		return title
	}
	return fmt.Sprintf("%s: %s over %s", title, y, x)
}

// flat returns a text in one line. A single space replaces line breaks and the wide gaps of a
// label with two sides.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// altSeries lists the visible series of the panel. It omits a series without a legend entry if the
// name of the series begins with the name of another series.
func (p *Panel) altSeries(detailed bool) string {
	var shown, lines []string
	for _, s := range p.Series {
		adds := func(t Series) bool { return t.Name != s.Name && strings.HasPrefix(s.Name, t.Name) }
		if s.Across == nil && (len(s.Stretches) == 0 || s.isBand() || s.Entry.Name == "" && slices.ContainsFunc(p.Series, adds)) {
			continue
		}
		to, text := &shown, "“"+s.Name+"”"
		if s.Across != nil {
			to = &lines
		} else if detailed {
			text += p.altEnds(s)
		}
		if !slices.Contains(*to, text) {
			*to = append(*to, text)
		}
	}
	bands := ""
	if p.Banded {
		bands = ", with 95 % intervals"
	}
	notes := Mapped(p.Notes, func(n Note) string { return "“" + flat(n.Text) + "”" })
	return altList("; series ", shown) + bands + altList("; reference lines ", lines) + altList("; notes ", notes)
}

// altEnds returns the values of a line at its two ends. In most panels, these values are the y of
// the ends. In a panel with Rows, they are the x of the ends.
func (p *Panel) altEnds(s Series) string {
	all := slices.Concat(s.Stretches...)
	if !s.Line || p.filled || p.Equal || !slices.IsSortedFunc(all, func(v, w point) int { return cmp.Compare(v[0], w[0]) }) {
		return ""
	}
	value := func(v point) string {
		y, axis := v[1], p.Plot.Y
		if _, rows := axis.Tick.Marker.(plot.ConstantTicks); rows {
			y, axis = v[0], p.Plot.X // the height is only the height of the row
		}
		if _, log := axis.Tick.Marker.(logTicks); log {
			y = math.Pow(10, y)
		}
		return Typeset(strconv.FormatFloat(y, 'g', 3, 64))
	}
	return fmt.Sprintf(" from %s to %s", value(all[0]), value(all[len(all)-1]))
}

// altList lists names. If there are very many names, the list has only the first few names and the
// number of the others.
func altList(of string, names []string) string {
	const most = 12
	if len(names) == 0 {
		return ""
	}
	if n := len(names) - most; n > 0 {
		names = append(names[:most:most], fmt.Sprintf("and %d more", n))
	}
	return of + strings.Join(names, ", ")
}
