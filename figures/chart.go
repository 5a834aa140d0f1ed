package figures

import "cvgm/figures/internal/chart"

// Types of the pictures and tables that the functions of this package return, and of their
// parts.
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

// Places of a figure's legends.
const (
	LegendInside = chart.LegendInside
	LegendRight  = chart.LegendRight
	LegendBelow  = chart.LegendBelow
	LegendNone   = chart.LegendNone
)

// The colours also differ in grey, and for readers who cannot distinguish red from green.
var (
	Black, Blue, Green, Grey        = chart.Black, chart.Blue, chart.Green, chart.Grey
	Orange, Purple, Sky, Vermillion = chart.Orange, chart.Purple, chart.Sky, chart.Vermillion
)

// NewPanel returns an empty panel. name identifies it in the figure's CSV.
func NewPanel(name, title, x, y string) *Panel { return chart.NewPanel(name, title, x, y) }

// Log10s returns the decadic logarithms of numbers.
func Log10s(v []float64) []float64 { return chart.Log10s(v) }

// Markdown returns a text as a paragraph of Markdown.
func Markdown(text string) string { return chart.Markdown(text, false) }

// HTML returns a text as HTML.
func HTML(text string) string { return chart.HTML(text) }

// HTMLText returns a text of sentences as HTML.
func HTMLText(text string) string { return chart.HTMLText(text) }
