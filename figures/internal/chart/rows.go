package chart

import (
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Rows puts the given texts as labels on the y axis, at y = 0, −1, −2, …. It breaks each text into
// lines of at most the given width, and keeps the line breaks that the text already has. The rows
// with the numbers heads are headings of the rows below them, and have no grid line. The result
// maxLines is the largest number of lines of a text.
func (p *Panel) Rows(width vg.Length, texts []string, heads ...int) (maxLines int) {
	style := p.Plot.Y.Tick.Label
	var ticks plot.ConstantTicks
	for i, text := range texts {
		lines := broken(text, style, width)
		ticks, maxLines = append(ticks, plot.Tick{Value: -float64(i), Label: strings.Join(lines, "\n")}), max(maxLines, len(lines))
	}
	p.Plot.Y.Tick.Marker, p.Plot.Y.Tick.Length, p.heads = ticks, 0, heads
	return maxLines
}

// RowEnds puts a sample and a text to the right of the axes for each row, at y = 0, −1, −2, …. The
// first line of a text has the colour of its sample. If the style of an entry has no glyph, there is
// no sample. RowEnds breaks the texts and returns the largest number of lines as Rows does.
func (p *Panel) RowEnds(width vg.Length, entries []LegendEntry) (maxLines int) {
	p.BesideRows = nil
	for _, e := range entries {
		lines := broken(e.Name, directText(), width)
		e.Name = strings.Join(lines, "\n")
		p.BesideRows, maxLines = append(p.BesideRows, e), max(maxLines, len(lines))
	}
	return maxLines
}

// broken breaks each line of a text into lines of at most the given width.
func broken(text string, style text.Style, width vg.Length) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, breakText(line, style, width)...)
	}
	return lines
}

// RowLine is the height of a line of text beside a row.
const RowLine = 10.5

// rowSample returns the distance from the axes to a text of RowEnds. A sample is in its middle.
func (e LegendEntry) rowSample() vg.Length {
	if e.Style.Glyph == nil {
		return 8
	}
	return 22
}

// endsWidth returns the width of the texts of RowEnds.
func (p *Panel) endsWidth() (width vg.Length) {
	for _, e := range p.BesideRows {
		width = max(width, e.rowSample()+directText().Width(e.Name))
	}
	return width
}

// drawEnds draws the samples and texts of RowEnds.
func (p *Panel) drawEnds(q *plot.Plot, data draw.Canvas) {
	for i, e := range p.BesideRows {
		lines := strings.Split(e.Name, "\n")
		y := data.Y(q.Y.Norm(-float64(i))) + RowLine*vg.Length(len(lines)-1)/2
		style := directText()
		descent := style.FontExtents().Descent // as the labels of Rows, so that capitals and digits are at the row's middle
		style.Color = e.Style.Line().Color
		if e.Style.Glyph != nil {
			data.DrawGlyphNoClip(e.Style.Mark(), vg.Point{X: data.Max.X + e.rowSample()/2, Y: y})
		}
		for k, line := range lines {
			data.FillText(style, vg.Point{X: data.Max.X + e.rowSample(), Y: y + descent - RowLine*vg.Length(k)}, line)
			style.Color = directText().Color
		}
	}
}
