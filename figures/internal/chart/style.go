package chart

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// These colours are from Okabe and Ito. Readers with colour blindness of any kind can distinguish
// them.
var (
	Blue      = color.NRGBA{0, 114, 178, 255}
	Vermilion = color.NRGBA{213, 94, 0, 255}
	Green     = color.NRGBA{0, 158, 115, 255}
	Orange    = color.NRGBA{230, 159, 0, 255}
	Purple    = color.NRGBA{204, 121, 167, 255}
	Sky       = color.NRGBA{86, 180, 233, 255}
	Black     = color.NRGBA{0, 0, 0, 255}
	Grey      = color.NRGBA{120, 120, 120, 255}
)

// Pale is the colour of marks that are only a background.
var Pale = color.NRGBA{195, 195, 195, 255}

var palette = []color.NRGBA{Blue, Vermilion, Green, Orange, Purple, Sky, Black, Grey}

// PaletteColor returns colour k of the palette. The colours repeat.
func PaletteColor(k int) color.NRGBA { return palette[k%len(palette)] }

// IntervalEntry is the legend entry of the bands of a figure.
var IntervalEntry = LegendEntry{Name: "95 % interval", Style: Style{Color: color.NRGBA{120, 120, 120, 70}, Width: 9}}

// PrintedStyle is the style of numbers that the paper prints. StartStyle and EndStyle are the
// styles of the two ends of a path.
var (
	PrintedStyle = Style{Color: Black, Glyph: draw.PyramidGlyph{}, GlyphRadius: 3.5}
	StartStyle   = Style{Color: Black, Glyph: draw.RingGlyph{}, GlyphRadius: 4}
	EndStyle     = Style{Color: Black, Glyph: draw.SquareGlyph{}, GlyphRadius: 2.5}
)

// CVStyle is the style of the CV loss beside other losses.
var CVStyle = Style{Color: Orange, Width: 2, Dash: []vg.Length{6, 3}}

// Dashes distinguish lines with colours that look the same in grey.
var Dashes = [][]vg.Length{nil, {6, 2}, {2, 2}, {6, 2, 1, 2}, {1, 3}, {10, 3}}

// PaletteStyle returns a style with colour k of the palette and dash pattern k of Dashes. After its
// last entry, each of the two lists begins again.
func PaletteStyle(k int) Style { return Style{Color: PaletteColor(k), Dash: Dashes[k%len(Dashes)]} }

// A Style is the appearance of a series. The zero value is a solid black line, 1.5 points wide.
type Style struct {
	Color color.NRGBA
	Width vg.Length
	Dash  []vg.Length
	// Glyph is the mark that Scatter draws at each point. GlyphRadius is the radius of this mark.
	// If GlyphRadius is zero, the radius is 2.5.
	Glyph       draw.GlyphDrawer
	GlyphRadius vg.Length
	// Unlisted omits the series from the legend.
	Unlisted bool
	// Leaves is for a line that ends at the edge of its panel before the right end. A stroke from
	// there to the label of the line would look like a level line, so there is none.
	Leaves bool
}

func (s Style) Line() draw.LineStyle {
	if s.Color == (color.NRGBA{}) {
		s.Color = Black
	}
	if s.Width == 0 {
		s.Width = 1.5
	}
	return draw.LineStyle{Color: s.Color, Width: s.Width, Dashes: s.Dash}
}

func (s Style) Mark() draw.GlyphStyle {
	if s.Glyph == nil {
		s.Glyph = draw.CircleGlyph{}
	}
	if s.GlyphRadius == 0 {
		s.GlyphRadius = 2.5
	}
	return draw.GlyphStyle{Color: s.Line().Color, Radius: s.GlyphRadius, Shape: s.Glyph}
}

// A LegendEntry explains a style by a sample. If the style has a GlyphRadius, the sample is a mark.
// Otherwise it is a line, which may have a mark.
type LegendEntry struct {
	Name  string
	Style Style
	// MarkRadius is the radius of the marks on a line, which its sample then has, too.
	MarkRadius vg.Length
}

// mark returns the mark of the entry's sample, and reports whether there is one.
func (e LegendEntry) mark() (style draw.GlyphStyle, ok bool) {
	style = e.Style.Mark()
	style.Radius = max(e.Style.GlyphRadius, e.MarkRadius)
	return style, style.Radius > 0
}

// NewLegend returns a legend with the entries in one column.
func NewLegend(entries []LegendEntry) plot.Legend {
	l := plot.NewLegend()
	l.TextStyle.Font.Size = 9
	l.Padding, l.ThumbnailWidth, l.Top = 2, 22, true
	for _, e := range entries {
		var sample []plot.Thumbnailer
		if e.Style.GlyphRadius == 0 {
			sample = append(sample, &plotter.Line{LineStyle: e.Style.Line()})
		}
		if mark, ok := e.mark(); ok {
			sample = append(sample, &plotter.Scatter{GlyphStyle: mark})
		}
		l.Add(e.Name, sample...)
	}
	return l
}

// KeyText returns the style of text in a key, which is a legend in rows. Each row has the height
// keyHeight.
func KeyText() text.Style {
	s := plot.New().Legend.TextStyle
	s.Font.Size, s.YAlign = 10, draw.YCenter
	return s
}

const keyHeight = 15

// directText returns the style of the names of lines, of notes and of the texts beside rows.
func directText() text.Style {
	s := plot.New().Legend.TextStyle
	s.Font.Size, s.XAlign, s.YAlign = 9, draw.XLeft, draw.YCenter
	return s
}

// sampleWidth returns the width of the entry's sample in a key. The sample is a mark or a line.
func (e LegendEntry) sampleWidth() vg.Length {
	if r := e.Style.GlyphRadius; r > 0 {
		return 2 * r
	}
	return 22
}

// KeyRows breaks the entries of a key into as few rows as possible, none wider than the given
// width. All rows have about the same width. The second result holds the widths of the rows.
func KeyRows(entries []LegendEntry, width vg.Length) (rows [][]LegendEntry, widths []vg.Length) {
	least := len(BrokenAt(entries, width))
	total := vg.Length(0)
	for _, e := range entries {
		total += e.KeyWidth() + keyGap
	}
	const tries = 20
	rows = BrokenAt(entries, width)
	for k := range tries {
		even := total / vg.Length(max(least, 1))
		if at := even + vg.Length(k)/tries*(width-even); at < width {
			if narrow := BrokenAt(entries, at); len(narrow) == least {
				rows = narrow
				break
			}
		}
	}
	return rows, Mapped(rows, RowWidth)
}

// BrokenAt breaks entries into rows of at most the given width. If an entry is wider, it has a row
// to itself.
func BrokenAt(entries []LegendEntry, width vg.Length) (rows [][]LegendEntry) {
	for _, e := range entries {
		if n := len(rows); n > 0 && RowWidth(append(slices.Clip(rows[n-1]), e)) <= width {
			rows[n-1] = append(rows[n-1], e)
		} else {
			rows = append(rows, []LegendEntry{e})
		}
	}
	return rows
}

// KeyWidth returns the width of an entry in a key.
func (e LegendEntry) KeyWidth() vg.Length {
	return e.sampleWidth() + keySample + KeyText().Width(e.Name)
}

func RowWidth(row []LegendEntry) vg.Length {
	width := keyGap * vg.Length(len(row)-1)
	for _, e := range row {
		width += e.KeyWidth()
	}
	return width
}

// keyGap is the gap between two entries of a key. keySample is the gap between an entry's sample
// and its name.
const keyGap, keySample = 16, 4

// drawKey draws rows of entries on the canvas c, beginning at the top. Each row is centred.
func drawKey(c draw.Canvas, rows [][]LegendEntry, widths []vg.Length) {
	for i, row := range rows {
		x, y := c.Center().X-widths[i]/2, c.Max.Y-(vg.Length(i)+.5)*keyHeight
		for _, e := range row {
			w := e.sampleWidth()
			if e.Style.GlyphRadius == 0 {
				c.StrokeLine2(e.Style.Line(), x, y, x+w, y)
			}
			if mark, ok := e.mark(); ok {
				c.DrawGlyphNoClip(mark, vg.Point{X: x + w/2, Y: y})
			}
			x += w + keySample
			c.FillText(KeyText(), vg.Point{X: x, Y: y}, e.Name)
			x += KeyText().Width(e.Name) + keyGap
		}
	}
}
