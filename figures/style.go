package figures

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The colours of Okabe and Ito, which readers with any kind of colour vision
// tell apart.
var (
	Blue       = color.NRGBA{0, 114, 178, 255}
	Vermillion = color.NRGBA{213, 94, 0, 255}
	Green      = color.NRGBA{0, 158, 115, 255}
	Orange     = color.NRGBA{230, 159, 0, 255}
	Purple     = color.NRGBA{204, 121, 167, 255}
	Sky        = color.NRGBA{86, 180, 233, 255}
	Black      = color.NRGBA{0, 0, 0, 255}
	Grey       = color.NRGBA{120, 120, 120, 255}
)

var palette = []color.NRGBA{Blue, Vermillion, Green, Orange, Purple, Sky, Black, Grey}

// paletteColor returns the k-th colour; colours repeat.
func paletteColor(k int) color.NRGBA { return palette[k%len(palette)] }

// intervalEntry explains the bands of a figure.
var intervalEntry = LegendEntry{"95 % interval", Style{Color: color.NRGBA{120, 120, 120, 70}, Width: 9}}

// startStyle and endStyle mark the ends of a path.
var (
	startStyle = Style{Color: Black, Glyph: draw.RingGlyph{}, GlyphRadius: 4}
	endStyle   = Style{Color: Black, Glyph: draw.SquareGlyph{}, GlyphRadius: 2.5}
)

// cvStyle draws the CV loss beside other losses.
var cvStyle = Style{Color: Orange, Width: 2, Dash: []vg.Length{6, 3}}

// dashes tell lines apart that a reader in grey sees alike.
var dashes = [][]vg.Length{nil, {6, 2}, {2, 2}, {6, 2, 1, 2}, {1, 3}, {10, 3}}

// paletteStyle returns the k-th colour with the k-th dashes; both repeat.
func paletteStyle(k int) Style { return Style{Color: paletteColor(k), Dash: dashes[k%len(dashes)]} }

// Style is the look of a series. Zero values: black, 1.5 points, solid.
type Style struct {
	Color color.NRGBA
	Width vg.Length
	Dash  []vg.Length
	// Glyph, of GlyphRadius (zero: 2.5), marks the points of Scatter.
	Glyph       draw.GlyphDrawer
	GlyphRadius vg.Length
	// Unlisted keeps the series out of the legend.
	Unlisted bool
}

func (s Style) line() draw.LineStyle {
	if s.Color == (color.NRGBA{}) {
		s.Color = Black
	}
	if s.Width == 0 {
		s.Width = 1.5
	}
	return draw.LineStyle{Color: s.Color, Width: s.Width, Dashes: s.Dash}
}

func (s Style) mark() draw.GlyphStyle {
	if s.Glyph == nil {
		s.Glyph = draw.CircleGlyph{}
	}
	if s.GlyphRadius == 0 {
		s.GlyphRadius = 2.5
	}
	return draw.GlyphStyle{Color: s.line().Color, Radius: s.GlyphRadius, Shape: s.Glyph}
}

// A LegendEntry explains a style: that of a mark if it has a GlyphRadius, else that
// of a line.
type LegendEntry struct {
	Name  string
	Style Style
}

// newLegend returns a column of entries.
func newLegend(entries []LegendEntry) plot.Legend {
	l := plot.NewLegend()
	l.TextStyle.Font.Size = 9
	l.Padding, l.ThumbnailWidth, l.Top = 2, 22, true
	for _, e := range entries {
		if e.Style.GlyphRadius > 0 {
			l.Add(e.Name, &plotter.Scatter{GlyphStyle: e.Style.mark()})
		} else {
			l.Add(e.Name, &plotter.Line{LineStyle: e.Style.line()})
		}
	}
	return l
}

// keyText is the text of a key, and its rows have keyHeight.
func keyText() text.Style {
	s := plot.New().Legend.TextStyle
	s.Font.Size, s.YAlign = 10, draw.YCenter
	return s
}

const keyHeight = 15

// sampleWidth is the width of an entry's mark or line in a key.
func (e LegendEntry) sampleWidth() vg.Length {
	if r := e.Style.GlyphRadius; r > 0 {
		return 2 * r
	}
	return 22
}

// keyRows breaks the entries of a key into as few rows of at most that width as hold
// them, of about the same width.
func keyRows(entries []LegendEntry, width vg.Length) (rows [][]LegendEntry, widths []vg.Length) {
	least := len(brokenAt(entries, width))
	total := vg.Length(0)
	for _, e := range entries {
		total += e.width() + keyGap
	}
	const tries = 20
	rows = brokenAt(entries, width)
	for k := range tries {
		even := total / vg.Length(max(least, 1))
		if at := even + vg.Length(k)/tries*(width-even); at < width {
			if narrow := brokenAt(entries, at); len(narrow) == least {
				rows = narrow
				break
			}
		}
	}
	return rows, mapped(rows, rowWidth)
}

// brokenAt breaks entries into rows of at most that width, or of a single entry.
func brokenAt(entries []LegendEntry, width vg.Length) (rows [][]LegendEntry) {
	for _, e := range entries {
		if n := len(rows); n > 0 && rowWidth(append(slices.Clip(rows[n-1]), e)) <= width {
			rows[n-1] = append(rows[n-1], e)
		} else {
			rows = append(rows, []LegendEntry{e})
		}
	}
	return rows
}

// width is the width of an entry in a key.
func (e LegendEntry) width() vg.Length { return e.sampleWidth() + keySample + keyText().Width(e.Name) }

func rowWidth(row []LegendEntry) vg.Length {
	width := keyGap * vg.Length(len(row)-1)
	for _, e := range row {
		width += e.width()
	}
	return width
}

// keyGap lies between two entries of a key, and keySample between sample and name.
const keyGap, keySample = 16, 4

// drawKey draws rows of entries from the top of c, each in the middle of its width.
func drawKey(c draw.Canvas, rows [][]LegendEntry, widths []vg.Length) {
	for i, row := range rows {
		x, y := c.Center().X-widths[i]/2, c.Max.Y-(vg.Length(i)+.5)*keyHeight
		for _, e := range row {
			w := e.sampleWidth()
			if e.Style.GlyphRadius > 0 {
				c.DrawGlyphNoClip(e.Style.mark(), vg.Point{X: x + w/2, Y: y})
			} else {
				c.StrokeLine2(e.Style.line(), x, y, x+w, y)
			}
			x += w + keySample
			c.FillText(keyText(), vg.Point{X: x, Y: y}, e.Name)
			x += keyText().Width(e.Name) + keyGap
		}
	}
}
