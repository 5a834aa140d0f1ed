package figures

import (
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// deciding returns the first measurement that has the same verdict as the claim. If there is none,
// it returns the first measurement of the claim.
func deciding(c claims.Claim) *claims.Measurement {
	k := slices.IndexFunc(c.Measured, func(m claims.Measurement) bool { return m.Verdict == c.Verdict && !m.Aside })
	if k = max(k, 0); k < len(c.Measured) {
		return &c.Measured[k]
	}
	return nil
}

func failed(v claims.Verdict) bool {
	return v == claims.Differs || v == claims.PaperError || v == claims.Slip
}

// barUnit is the number of characters for one unit of a bar. The unit is the smallest difference
// that matters. A bar extends barReach units to each side of the bound of a rule.
const (
	barUnit  = 3
	barReach = 5
)

// intervalBar returns a bar of characters that shows the 95 % interval of an estimate, relative to
// the bound of a rule. An arrow marks an end of the interval that lies beyond the bar.
func intervalBar(p claims.Position) string {
	const half = barUnit * barReach
	line := []rune(strings.Repeat("·", 2*half+1))
	cell := func(v float64) int {
		return half + int(max(-half, min(half, math.Round(barUnit*v))))
	}
	for i := cell(p.Low); i <= cell(p.High); i++ {
		line[i] = '─'
	}
	line[half-barUnit], line[half], line[half+barUnit] = '[', '│', ']'
	line[cell(p.At)] = '●'
	if p.Low < -barReach {
		line[0] = '◂'
	}
	if p.High > barReach {
		line[2*half] = '▸'
	}
	return string(line)
}

// measurement returns an estimate as a Number for a table. The Number has four digits after the
// decimal point, or fewer if it is large. If nothing is measured, measurement returns nil.
func measurement(m experiment.Estimate) any {
	if math.IsNaN(m.Mean) {
		return nil
	}
	n := chart.Estimated(m, 4)
	if m.Mean == math.Trunc(m.Mean) && math.Abs(m.Mean) < 1e9 && !m.Repeated() {
		n.Digits = 0
	}
	if math.IsNaN(n.Margin) {
		n.Margin = 0
	}
	return n
}

// FindingsBars draws the interval of each finding and the bound of its rule. The unit of the axis
// is the smallest difference that matters. Each row has the words, the verdict and the number of a
// finding. If an interval extends beyond the axis, it ends in a triangle. A finding without an
// interval has no bar.
func FindingsBars(all []claims.Claim) *Figure {
	found := claims.Findings(all)
	p := NewPanel("findings", "", "distance from the bound, in smallest\ndifferences that matter", "")
	bottom := .5 - float64(len(found))
	p.Band("too small to matter", []float64{-1, 1}, []float64{bottom, bottom}, []float64{.5, .5}, Style{Color: chart.Grey})
	p.VLine("bound", 0, Style{Color: chart.Grey, Width: .7})
	labels := make([]string, len(found))
	for i, f := range found {
		words, _, _ := strings.Cut(f.Text, ": ")
		labels[i] = words + "\n" + string(f.Row.Verdict)
		if n, ok := measurement(f.Row.Ours).(Number); ok {
			labels[i] += ", " + strings.ReplaceAll(n.String(), "-", "−")
		}
		if at, ok := f.Row.Position(); ok {
			bar(p, words, at, -float64(i))
		}
	}
	lines := p.Rows(labelWidth, labels)
	p.Range(-barReach-.4, barReach+.4, bottom, .5)
	return &Figure{Name: "findings_bars", Width: 7.6 * vg.Inch, Height: vg.Length(lines*len(found))*lineHeight + .6*vg.Inch, Legend: LegendNone, Panels: [][]*Panel{{p}},
		Caption: "The findings, each with its verdict and its number. A bar is the 95 % interval of the number, and the line is the bound of its rule. The unit is the smallest difference that matters: an interval within the grey band does not matter. A triangle is an end beyond the axis."}
}

// FindingsBars writes a text for each finding. The width of these texts is labelWidth, and the
// height of a line is lineHeight.
const labelWidth, lineHeight = 4.6 * vg.Inch, 11.5

// bar draws the interval of a position at height y.
func bar(p *Panel, name string, at claims.Position, y float64) {
	within := func(v float64) float64 { return max(-barReach, min(barReach, v)) }
	of := func(glyph draw.GlyphDrawer) Style {
		return Style{Color: chart.Blue, Glyph: glyph, GlyphRadius: 3.5, Unlisted: true}
	}
	p.Line(name, []float64{within(at.Low), within(at.High)}, []float64{y, y}, Style{Color: chart.Blue, Width: 2})
	if within(at.At) == at.At {
		p.Scatter(name+", number", []float64{at.At}, []float64{y}, of(draw.CircleGlyph{}))
	}
	for _, end := range []float64{at.Low, at.High} {
		if math.Abs(end) > barReach {
			p.Scatter(name+", beyond the axis", []float64{within(end)}, []float64{y}, of(draw.PyramidGlyph{}))
		}
	}
}
