package figures

import (
	"fmt"
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

// FindingsBars draws the position of each finding's number relative to the bound of its rule. To
// the right of the bound, the claim holds. The colour and the shape of a mark show the verdict. To
// the left of a row is the claim that the finding judges. To the right are the verdict, the number,
// the rule, its unit and the measured quantity. An arrow points to a number or an end of an
// interval beyond the axis.
func FindingsBars(all []claims.Claim) *Figure {
	found := claims.Findings(all)
	p := NewPanel("findings", "← against the claim      for the claim →", "distance from the claim's bound,\nin units of the row", "").Grid()
	bottom := .5 - float64(len(found))
	p.Band("less than a unit: too small to matter", []float64{-1, 1}, []float64{bottom, bottom}, []float64{.5, .5}, Style{Color: chart.Grey})
	p.VLine("bound", 0, Style{Color: chart.Grey, Width: .7, Unlisted: true})
	judged, ends := make([]string, len(found)), make([]LegendEntry, len(found))
	for i, f := range found {
		judged[i], ends[i] = f.Claim, LegendEntry{Name: rowEnd(f), Style: verdictStyle(f.Row.Verdict)}
		if at, ok := f.Row.Place(); ok {
			bar(p, f.Claim, at, -float64(i), verdictStyle(f.Row.Verdict))
		}
	}
	lines := max(p.Rows(claimWidth, judged), p.RowEnds(measuredWidth, ends))
	p.Range(-barReach-.9, barReach+.9, bottom, .5)
	return &Figure{Name: "findings_bars", Width: 9 * vg.Inch, Height: (vg.Length(lines*len(found))+vg.Length(len(found)))*chart.RowLine + 1.1*vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Entries: []LegendEntry{
			{Name: "95 % interval", Style: Style{Color: chart.Grey, Width: 2}}, {Name: "less than a unit: too small to matter", Style: chart.IntervalEntry.Style},
			{Name: "beyond the axis", Style: Style{Color: chart.Grey, Glyph: chart.RightGlyph{}, GlyphRadius: 4}},
		},
		Caption: "A mark is the number's distance from the claim's bound, in units of the smallest difference that matters. Right of the grey band the claim is confirmed; left of it, it differs, or the paper errs if a printed formula or number is wrong. An interval around 0 within the band is too small a difference to matter: a claim “below” or “above” differs, only “rounds to” would hold. The deciding part of a claim is shown; intervals shorter than the mark are hidden. The quasi-Newton search descends the CV loss by its gradient."}
}

// rowEnd returns the text to the right of a finding's row: the verdict with the number, the rule
// and the smallest difference that matters, and below them the measured quantity.
func rowEnd(f claims.Finding) string {
	end := string(f.Row.Verdict)
	if n, ok := measurement(f.Row.Ours).(Number); ok {
		end += ": " + chart.TypesetAll(n.String())
	}
	if at, ok := f.Row.Place(); ok && at.Low == at.High {
		end += ", exact"
	}
	if f.Row.Smallest > 0 {
		rule, _, _ := strings.Cut(f.Row.Rule, ", ")
		end += fmt.Sprintf("; claim: %s, unit %s", chart.TypesetAll(rule), chart.TypesetAll(fmt.Sprintf("%.3g", f.Row.Smallest)))
	}
	if _, quantity, ok := strings.Cut(f.Text, ": "); ok {
		end += "\n" + quantity
	}
	return end
}

// claimWidth is the width of the claims in FindingsBars, and measuredWidth is the width of the
// texts to the right.
const claimWidth, measuredWidth = 2.15 * vg.Inch, 4.25 * vg.Inch

// verdictStyle returns the mark of a verdict.
func verdictStyle(v claims.Verdict) Style {
	s := Style{Color: chart.Grey, Glyph: draw.RingGlyph{}, GlyphRadius: 2.6, Width: 2, Unlisted: true}
	switch {
	case v == claims.Confirmed || v == claims.Identity:
		s.Color, s.Glyph = chart.Blue, draw.CircleGlyph{}
	case v == claims.TooLittle:
		s.Color, s.Glyph = chart.Blue, draw.RingGlyph{}
	case v == claims.Differs:
		s.Color, s.Glyph = chart.Vermilion, draw.BoxGlyph{}
	case failed(v):
		s.Color, s.Glyph = chart.Black, chart.DiamondGlyph{}
	}
	return s
}

// bar draws the interval of a position at height y, and the estimate as a mark of the given style.
// If the estimate is beyond the axis, it has no mark, and an arrow alone points to it.
func bar(p *Panel, name string, at claims.Position, y float64, s Style) {
	within := func(v float64) float64 { return max(-barReach, min(barReach, v)) }
	if within(at.Low) < within(at.High) {
		p.Line(name, []float64{within(at.Low), within(at.High)}, []float64{y, y}, s)
	}
	if within(at.At) == at.At {
		p.Scatter(name+", number", []float64{at.At}, []float64{y}, s)
	}
	const beside = .5 // distance of an arrow from the end of the axis
	if at.Low < -barReach {
		s.Glyph = chart.LeftGlyph{}
		p.Scatter(name+", beyond the axis", []float64{-barReach - beside}, []float64{y}, s)
	}
	if at.High > barReach {
		s.Glyph = chart.RightGlyph{}
		p.Scatter(name+", beyond the axis", []float64{barReach + beside}, []float64{y}, s)
	}
}
