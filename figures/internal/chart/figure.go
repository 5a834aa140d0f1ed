// Package chart holds the parts of the figures and tables of package figures: panels, axes,
// legends, styles, texts and files. Package figures exports those names that other packages need.
// All other exported names of package chart are only for package figures and its tests.
package chart

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Figure is a grid of panels. The CSV of the figure has a row for every plotted point.
type Figure struct {
	Name          string // name of the files without ending
	Caption       string
	Changed       string // text below the panels, with the parameters that differ from the defaults; empty: none
	Width, Height vg.Length
	Panels        [][]*Panel // rows of panels; all panels have the same width, and a row may have fewer panels than others
	Heads         []string   // texts to the left of the rows of panels; nil: none
	Legend        LegendPlace
	// Entries are the entries of a common legend. They replace the entries of the panels' series.
	// If Entries is nil, the legend has the entries of the series.
	Entries []LegendEntry
	// If SameAxes is true, all panels have the same axes. If SameColumns is true, the panels of
	// each column have the same axes. The headroom for legends may still differ.
	SameAxes, SameColumns bool
}

// LegendPlace is the place of the legends of a figure.
type LegendPlace int

const (
	LegendInside LegendPlace = iota // one in each panel, in the corner that needs the least headroom
	LegendRight                     // one for all panels, to the right of them
	LegendBelow                     // one for all panels, in rows below them
	LegendInGap                     // one for all panels, in the free cell at the end of the last row; without a free cell, as LegendBelow
	LegendNone
)

// LegendEntries returns the entries of all panels. Of several entries with the same name, it
// returns only one.
func (f *Figure) LegendEntries() []LegendEntry {
	if f.Entries != nil {
		return f.Entries
	}
	var all []LegendEntry
	for _, p := range slices.Concat(f.Panels...) {
		for _, e := range p.LegendEntries(p.Axes()) {
			if !slices.ContainsFunc(all, func(old LegendEntry) bool { return old.Name == e.Name }) {
				all = append(all, e)
			}
		}
	}
	return all
}

// LegendEntries returns the entries of those series that are visible within the axes.
func (p *Panel) LegendEntries(axes Box) []LegendEntry {
	var all []LegendEntry
	for _, s := range slices.Concat(p.Series, p.Ghosts) {
		if s.Entry.Name != "" && !(p.Direct && s.Line) && (s.Across == nil || len(s.Ends(axes)) > 0) {
			all = append(all, s.Entry)
		}
	}
	if p.Banded {
		all = append(all, IntervalEntry)
	}
	return all
}

// Draw draws the figure on the canvas c, so that the figure fills c. It omits parts that cannot be
// drawn.
func (f *Figure) Draw(c draw.Canvas) {
	f.LayOut(c, func(p *Panel, cell draw.Canvas, axes Box) { p.draw(cell, axes, f.Legend == LegendInside, c.Rectangle) })
}

// LayOut draws the legends outside of the panels, and then calls drawPanel for each panel. The
// argument cell of drawPanel is the part of the canvas c for the panel. The argument axes is the
// range of the panel's axes, without the headroom for a legend.
func (f *Figure) LayOut(c draw.Canvas, drawPanel func(p *Panel, cell draw.Canvas, axes Box)) {
	columns := 1
	for _, row := range f.Panels {
		columns = max(columns, len(row))
	}
	place, last := f.Legend, len(Nth(f.Panels, len(f.Panels)-1))
	if place == LegendInGap && last == columns {
		place = LegendBelow
	}
	switch place {
	case LegendRight:
		const gap, title = 6, 20
		l := NewLegend(f.LegendEntries())
		width := gap + l.Rectangle(c).Size().X
		l.Left, l.XOffs = true, gap
		l.Draw(draw.Crop(c, c.Max.X-c.Min.X-width, 0, 0, -title))
		c = draw.Crop(c, 0, -width, 0, 0)
	case LegendBelow:
		rows, widths := KeyRows(f.LegendEntries(), c.Max.X-c.Min.X)
		height := vg.Length(len(rows)) * keyHeight
		drawKey(draw.Crop(c, 0, 0, 0, height-(c.Max.Y-c.Min.Y)), rows, widths)
		c = draw.Crop(c, 0, 0, height+2, 0)
	}
	whole := c
	c = f.cropHeads(c)
	const gap = 18
	height := (c.Max.Y - c.Min.Y - gap*vg.Length(len(f.Panels)-1)) / vg.Length(len(f.Panels))
	width := (c.Max.X - c.Min.X - gap*vg.Length(columns-1)) / vg.Length(columns)
	if place == LegendInGap {
		l := NewLegend(f.LegendEntries())
		l.Left, l.TextStyle.Font.Size = true, KeyText().Font.Size
		const title = 20
		l.Draw(draw.Crop(c, vg.Length(last)*(width+gap)+3*gap, 0, 0, height-(c.Max.Y-c.Min.Y)-title))
	}
	var cells []draw.Canvas
	var all []Box
	var most margins
	for i, row := range f.Panels {
		for j, p := range row {
			axes := f.axes(j, p)
			x := c.Min.X + vg.Length(j)*(width+gap)
			y := c.Max.Y - vg.Length(i)*(height+gap) - height
			cell := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + width, Y: y + height}}}
			cells, all, most = append(cells, cell), append(all, axes), most.union(p.margins(cell, axes))
		}
	}
	f.drawHeads(whole, cells)
	for k, p := range slices.Concat(f.Panels...) {
		frame := draw.Crop(cells[k], most.left, -most.right, most.bottom, -most.top).Rectangle
		if size := frame.Size(); p.Equal {
			p = p.withFewerLabels(all[k], min(size.X, size.Y))
		} else {
			p = p.withFewerLabels(all[k], size.X)
		}
		q := *p.Plot
		q.Title.Text = ""
		all[k].setAxes(&q)
		cell := fillFrame(&q, cells[k], frame)
		cell.Max.X += p.besideWidth()
		cell.Max.Y += p.titleHeight()
		drawPanel(p, cell, all[k])
	}
}

// headHeight is the height of a line of the texts that cropHeads makes room for.
const headHeight = 18

// cropHeads returns the part of the canvas to the right of the heads of the rows.
func (f *Figure) cropHeads(c draw.Canvas) draw.Canvas {
	lines := 0
	for _, head := range f.Heads {
		lines = max(lines, 1+strings.Count(head, "\n"))
	}
	return draw.Crop(c, headHeight*vg.Length(lines), 0, 0, 0)
}

// drawHeads draws the heads of the rows at the left end of the canvas c. The argument cells has the
// canvases of all panels.
func (f *Figure) drawHeads(c draw.Canvas, cells []draw.Canvas) {
	for i, head := range f.Heads {
		style := f.Panels[i][0].Plot.Title.TextStyle
		style.Rotation, style.XAlign, style.YAlign = math.Pi/2, draw.XCenter, draw.YTop
		c.FillText(style, vg.Point{X: c.Min.X, Y: cells[0].Center().Y}, head)
		cells = cells[len(f.Panels[i]):]
	}
}

// axes returns the axes of a panel in column j.
func (f *Figure) axes(j int, p *Panel) Box {
	axes := p.Axes()
	for _, row := range f.Panels {
		for k, other := range row {
			if f.SameAxes || f.SameColumns && k == j || p.SharedAxes != "" && p.SharedAxes == other.SharedAxes {
				axes = axes.Union(other.Axes())
			}
		}
	}
	return axes
}

// fillFrame returns a canvas on which the axes of the plot q fill the given frame. The canvas may
// be larger or smaller than c. Its size affects the room for the labels of ticks, so fillFrame
// computes the canvas iteratively.
func fillFrame(q *plot.Plot, c draw.Canvas, frame vg.Rectangle) draw.Canvas {
	const steps, near = 8, .01 // steps is the largest number of steps, and near is a length in points
	for range steps {
		data := q.DataCanvas(c)
		low, high := frame.Min.Sub(data.Min), frame.Max.Sub(data.Max)
		c.Min, c.Max = c.Min.Add(low), c.Max.Add(high)
		if max(math.Abs(float64(low.X)), math.Abs(float64(low.Y)), math.Abs(float64(high.X)), math.Abs(float64(high.Y))) < near {
			break
		}
	}
	return c
}

// margins holds the room for labels and titles around the axes of a panel. All panels of a figure
// have the same margins, so that the frames of their axes are equal.
type margins struct{ left, right, bottom, top vg.Length }

func (m margins) union(n margins) margins {
	return margins{max(m.left, n.left), max(m.right, n.right), max(m.bottom, n.bottom), max(m.top, n.top)}
}

// margins returns the margins that the panel needs in its cell.
func (p *Panel) margins(c draw.Canvas, axes Box) margins {
	q := *p.Plot
	axes.setAxes(&q)
	q.Title.Text = ""
	data := q.DataCanvas(c)
	return margins{data.Min.X - c.Min.X, c.Max.X - data.Max.X + p.besideWidth(), data.Min.Y - c.Min.Y, c.Max.Y - data.Max.Y + p.titleHeight()}
}

// besideWidth returns the width of the parts to the right of the axes. These parts are a colour
// scale and the labels of lines and rows.
func (p *Panel) besideWidth() vg.Length {
	width := p.directWidth() + p.endsWidth()
	if p.Scale != nil {
		width += scaleWidth
	}
	return width
}

// titleHeight returns the height of the title, including the space below it.
func (p *Panel) titleHeight() vg.Length {
	title := p.Plot.Title
	if title.Text == "" {
		return 0
	}
	return title.TextStyle.Height(title.Text) + title.Padding
}

// draw draws the panel into its cell. If withLegend is true, the legend is inside the panel. The
// title does not extend beyond the figure.
func (p *Panel) draw(c draw.Canvas, axes Box, withLegend bool, figure vg.Rectangle) {
	var entries []LegendEntry
	if withLegend {
		entries = p.LegendEntries(axes)
	}
	q, c, l := p.LayOut(c, axes, NewLegend(entries))
	q.Draw(c)
	data := q.DataCanvas(c)
	l.Draw(data)
	p.drawDirect(q, data)
	p.drawEnds(q, data)
	if p.Scale != nil {
		bar := data
		bar.Min.X = data.Max.X + scaleGap
		drawBar(bar, p.Scale)
	}
	// The title is centred over the axes. By default, package plot would centre the title over the
	// axes together with their labels.
	style := p.Plot.Title.TextStyle
	style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
	const margin = 4 // in points; a title may extend into the figure's margin by this length
	half := style.Width(p.Plot.Title.Text) / 2
	c.FillText(style, vg.Point{X: max(min(data.Center().X, figure.Max.X+margin-half), figure.Min.X-margin+half), Y: data.Max.Y + p.Plot.Title.Padding}, p.Plot.Title.Text)
}

// LayOut moves the legend to a corner of the plot. It returns the plot with its final axes, the
// part of the cell that the plot covers, and the legend.
func (p *Panel) LayOut(c draw.Canvas, axes Box, l plot.Legend) (*plot.Plot, draw.Canvas, plot.Legend) {
	q := *p.Plot
	c.Max.Y -= p.titleHeight() // draw draws the title
	q.Title.Text = ""
	c.Max.X -= p.besideWidth()
	axes.setAxes(&q)
	if size, room := l.Rectangle(c).Size(), q.DataCanvas(c).Size(); size.Y > 0 {
		axes, l.Top, l.Left = p.clearLegend(axes, float64((size.X+legendMargin)/room.X), float64((size.Y+legendMargin)/room.Y))
		axes.setAxes(&q)
	}
	if p.Equal {
		data := q.DataCanvas(c)
		room := data.Size()
		w, h := vg.Length(axes.Xmax-axes.Xmin), vg.Length(axes.Ymax-axes.Ymin)
		unit := min(room.X/w, room.Y/h)
		c = fillFrame(&q, c, draw.Crop(data, (room.X-unit*w)/2, (unit*w-room.X)/2, (room.Y-unit*h)/2, (unit*h-room.Y)/2).Rectangle)
	}
	return &q, c, l
}

const legendMargin = 6 // in points, between a legend and the data

// clearLegend returns axes with headroom for a legend, and the corner for the legend. The arguments
// w and h are the width and the height of the legend, each divided by the length of the axis.
// clearLegend chooses the corner that needs the least headroom. Among corners with the same
// headroom, it prefers the top corners, and then the right corners.
func (p *Panel) clearLegend(axes Box, w, h float64) (best Box, top, left bool) {
	// The legend takes at most the share maxHeight of the y axis. Each corner needs its own y axis.
	// A corner replaces an earlier corner only if its axis is shorter than shrinkFactor times the
	// earlier axis.
	const maxHeight, shrinkFactor = .7, .95
	h = min(h, maxHeight)
	best = Box{Ymin: math.Inf(-1), Ymax: math.Inf(1)}
	for k, from := range []float64{axes.Xmax - w*(axes.Xmax-axes.Xmin), axes.Xmin} {
		low, high := p.yRange(axes, from, from+w*(axes.Xmax-axes.Xmin))
		for j, wider := range []Box{
			{axes.Xmin, axes.Xmax, axes.Ymin, max(axes.Ymax, (high-h*axes.Ymin)/(1-h))},
			{axes.Xmin, axes.Xmax, min(axes.Ymin, (low-h*axes.Ymax)/(1-h)), axes.Ymax},
		} {
			if wider.Ymax-wider.Ymin < shrinkFactor*(best.Ymax-best.Ymin) {
				best, top, left = wider, j == 0, k == 1
			}
		}
	}
	return best, top, left
}

// yRange returns the range of y over all points with xMin ≤ x ≤ xMax. The range includes the
// neighbours of these points, because lines connect the points with them.
func (p *Panel) yRange(axes Box, xMin, xMax float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, s := range slices.Concat(p.Series, p.Ghosts) {
		if s.Across != nil && s.Across.a*s.Across.b != 0 {
			continue // a guide may be below a legend
		}
		for _, stretch := range append(slices.Clip(s.Stretches), s.Ends(axes)) {
			for i, v := range stretch {
				if w := stretch[max(i-1, 0)]; max(v[0], w[0]) >= xMin && min(v[0], w[0]) <= xMax {
					for _, y := range []float64{v[1], v[3], v[4], w[1], w[3], w[4]} {
						if Drawable(y) {
							low, high = min(low, y), max(high, y)
						}
					}
				}
			}
		}
	}
	return low, high
}
