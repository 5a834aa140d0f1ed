package figures

import "cvgm/figures/internal/chart"

// These are the types of the figures and tables that this package returns, and of their parts.
type (
	Code        = chart.Code
	Figure      = chart.Figure
	LegendEntry = chart.LegendEntry
	LegendPlace = chart.LegendPlace
	Number      = chart.Number
	Output      = chart.Output
	Panel       = chart.Panel
	Style       = chart.Style
	Table       = chart.Table
)

// These constants are the places of the legends of a figure.
const (
	LegendInside = chart.LegendInside
	LegendRight  = chart.LegendRight
	LegendBelow  = chart.LegendBelow
	LegendInGap  = chart.LegendInGap
	LegendNone   = chart.LegendNone
)

// Readers can distinguish these colours in grey, and also with red-green colour blindness.
var (
	Black, Blue, Green, Grey       = chart.Black, chart.Blue, chart.Green, chart.Grey
	Orange, Purple, Sky, Vermilion = chart.Orange, chart.Purple, chart.Sky, chart.Vermilion
)

// NewPanel returns an empty panel. The parameter name identifies the panel in the CSV of the
// figure.
func NewPanel(name, title, x, y string) *Panel { return chart.NewPanel(name, title, x, y) }

// Log10s returns the logarithms of numbers to base 10.
func Log10s(v []float64) []float64 { return chart.Log10s(v) }

// Markdown returns a text as a paragraph of Markdown.
func Markdown(text string) string { return chart.Markdown(text, false) }

// HTML returns a text as HTML.
func HTML(text string) string { return chart.HTML(text) }

// HTMLText returns a text of sentences as HTML.
func HTMLText(text string) string { return chart.HTMLText(text) }

// markLowest marks the lowest point of a line. The note beside the mark has the text that the
// function note returns for the index of the point. If note is nil, there is no note.
func markLowest(p *Panel, name string, x, y []float64, note func(i int) string) {
	at := -1
	for i, v := range y {
		if chart.Drawable(x[i], v) && (at < 0 || v < y[at]) {
			at = i
		}
	}
	if at < 0 {
		return
	}
	p.Scatter(name, x[at:at+1], y[at:at+1], Style{Color: Black, GlyphRadius: 3.5})
	if note != nil {
		p.Note(note(at), x[at], y[at])
	}
}
