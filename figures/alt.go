package figures

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Alt returns a description of the figure for those who do not see it: its panels
// with their axes, and their series.
func (f *Figure) Alt() string {
	panels := slices.Concat(f.Panels...)
	axes, all := mapped(panels, (*Panel).altAxes), mapped(panels, (*Panel).altSeries)
	if len(panels) > 1 && !slices.ContainsFunc(all, func(s string) bool { return s != all[0] }) {
		return fmt.Sprintf("%d panels. %s. In each: %s.", len(panels), strings.Join(axes, ". "), strings.TrimPrefix(all[0], "; "))
	}
	for i := range axes {
		axes[i] += all[i] + "."
	}
	return strings.Join(axes, " ")
}

// altAxes describes the panel's axes.
func (p *Panel) altAxes() string {
	title, x, y := cmp.Or(p.plot.Title.Text, p.name), p.plot.X.Label.Text, p.plot.Y.Label.Text
	if x == "" || y == "" {
		return title
	}
	return fmt.Sprintf("%s: %s over %s", title, y, x)
}

// altSeries lists what the panel shows.
func (p *Panel) altSeries() string {
	var series, lines []string
	for _, s := range p.series {
		to := &series
		if s.across != nil {
			to = &lines
		}
		if name := "“" + s.name + "”"; !slices.Contains(*to, name) {
			*to = append(*to, name)
		}
	}
	return altList("; series ", series) + altList("; reference lines ", lines)
}

// altList lists names, of very many the first.
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
