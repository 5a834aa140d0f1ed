package chart

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot/plotter"
)

// Surface shades the cell at (xs[i], ys[j]) by the logarithm of z[i][j]. Low values have light
// shades. If z[i][j] is not positive, the cell is blank. Surface also draws contour lines at the
// given levels. The grid must be regular.
func (p *Panel) Surface(name string, xs, ys []float64, z [][]float64, levels []float64) {
	p.filled = true
	g := p.grid(name, xs, ys, z)
	p.add(name, Style{Unlisted: true}, len(g.Xs)*len(g.Ys), func(k int) (point, bool) {
		i, j := k/len(g.Ys), k%len(g.Ys)
		return point{g.Xs[i], g.Ys[j], g.Values[i][j], math.NaN(), math.NaN()}, Drawable(g.Xs[i], g.Ys[j], g.Values[i][j])
	})
	added := &p.Series[len(p.Series)-1]
	if added.Stretches == nil || !Drawable(g.Xs...) || !Drawable(g.Ys...) {
		return
	}
	p.Scale = g.Heat()
	p.Plot.Add(p.Scale)
	for _, level := range levels {
		added.Entry = contourEntry
		for _, line := range g.Contour(level) {
			p.Plot.Add(&plotter.Line{XYs: line, LineStyle: contourEntry.Style.Line()})
			p.contours = append(p.contours, contour{level, line})
		}
	}
}

// NameContours writes names on the contours of the surface, at most the given number. The argument
// names has a name for each level, and the first levels are the first to be named. A name takes a
// place on its contour at which it covers nothing else, or is omitted.
func (p *Panel) NameContours(most int, levels []float64, names []string) {
	p.named, p.levelNames = most, nil
	for i, level := range levels {
		p.levelNames = append(p.levelNames, levelName{level, names[i]})
	}
}

// Written returns the texts that the panel may write within its axes: notes and names of contours.
func (p *Panel) Written() []string {
	return append(Mapped(p.Notes, func(n Note) string { return n.Text }), Mapped(p.levelNames, func(n levelName) string { return n.text })...)
}

// Counts shades the cell around (xs[i], ys[j]) by the logarithm of a count, z[i][j]. If the count
// is 0, the cell is blank. The grid must be regular.
func (p *Panel) Counts(name string, xs, ys []float64, z [][]float64) {
	p.filled = true
	g := p.grid(name, xs, ys, z)
	p.add(name, Style{Unlisted: true}, len(g.Xs)*len(g.Ys), func(k int) (point, bool) {
		i, j := k/len(g.Ys), k%len(g.Ys)
		return point{g.Xs[i], g.Ys[j], g.Values[i][j], math.NaN(), math.NaN()}, g.Values[i][j] > 0
	})
	if p.Series[len(p.Series)-1].Stretches == nil || !Drawable(g.Xs...) || !Drawable(g.Ys...) {
		return
	}
	p.Scale = g.shaded(color.NRGBA{170, 205, 235, 255}, color.NRGBA{8, 40, 90, 255}) // so that the lowest shade, for a count of 1, is visible on white
	p.Plot.Add(p.Scale)
}

// Tint fills the cells of a grid faintly, if the predicate holds for their values z[i][j]. The
// tint is a background, so it is neither in the legend nor in the CSV. The grid must be regular.
func (p *Panel) Tint(xs, ys []float64, z [][]float64, predicate func(v float64) bool, c color.NRGBA) {
	g := p.grid("tint", xs, ys, Mapped(z, func(row []float64) []float64 {
		return Mapped(row, func(v float64) float64 {
			if predicate(v) {
				return 1
			}
			return math.NaN()
		})
	}))
	if len(g.Xs) < 2 || len(g.Ys) < 2 || !Drawable(g.Xs...) || !Drawable(g.Ys...) {
		return
	}
	faint := func(v uint8) uint8 { return 255 - (255-v)/6 }
	c = color.NRGBA{faint(c.R), faint(c.G), faint(c.B), 255}
	p.Plot.Add(g.shaded(c, c))
}

// grid returns a surface. If the lengths of xs, ys and z do not agree, the surface has no points.
func (p *Panel) grid(name string, xs, ys []float64, z [][]float64) *Surface {
	ok := p.checkLengths(name, len(xs), len(z))
	for _, row := range z {
		ok = ok && p.checkLengths(name, len(ys), len(row))
	}
	if !ok {
		return new(Surface)
	}
	return &Surface{xs, ys, z}
}

// Contour plots the lines along which z equals level. The number z[i][j] is the value of z at
// (xs[i], ys[j]).
func (p *Panel) Contour(name string, xs, ys []float64, z [][]float64, level float64, s Style) {
	for i, line := range p.grid(name, xs, ys, z).Contour(level) {
		part := name
		if i > 0 {
			part = fmt.Sprintf("%s (%d)", name, i+1)
			s.Unlisted = true
		}
		x, y := func(v plotter.XY) float64 { return v.X }, func(v plotter.XY) float64 { return v.Y }
		p.Line(part, Mapped(line, x), Mapped(line, y), s)
	}
}
