package figures

import (
	"fmt"
	"image/color"
	"math"
	"reflect"
	"slices"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/registry"
	"cvgm/cvgm/experiment/searches"
	"cvgm/figures/internal/chart"
	"cvgm/synth"
)

// lightness returns the CIE lightness of a colour, from 0 to 100.
func lightness(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		if s := float64(v) / 255; s > .04045 {
			return math.Pow((s+.055)/1.055, 2.4)
		}
		return float64(v) / 255 / 12.92
	}
	y := .2126*linear(c.R) + .7152*linear(c.G) + .0722*linear(c.B)
	if y < 216./24389 {
		return 24389. / 27 * y
	}
	return 116*math.Cbrt(y) - 16
}

// greyTwins returns pairs of series with one legend that have nearly the same lightness, width,
// dashes and marks. Series with direct labels do not count.
func greyTwins(f *Figure) (pairs []string) {
	const visible, wider = 15, 2              // visible: difference of lightness between thin lines; wider: factor of the width
	groups := make(map[string][]chart.Series) // series with a common explanation
	for _, p := range slices.Concat(f.Panels...) {
		of := p.Name
		if f.Legend != LegendInside {
			of = "any"
		}
		if !p.Direct {
			groups[of] = append(groups[of], p.Series...)
		}
	}
	for of, all := range groups {
		for i, s := range all {
			for _, t := range all[:i] {
				a, b := s.Entry, t.Entry
				if a.Name == "" || b.Name == "" || a.Name == b.Name {
					continue
				}
				x, y := a.Style, b.Style
				if math.Abs(lightness(x.Line().Color.(color.NRGBA))-lightness(y.Line().Color.(color.NRGBA))) < visible && slices.Equal(x.Dash, y.Dash) &&
					(x.GlyphRadius > 0 || max(x.Line().Width/y.Line().Width, y.Line().Width/x.Line().Width) < wider) &&
					(x.GlyphRadius > 0) == (y.GlyphRadius > 0) && (x.GlyphRadius == 0 || reflect.TypeOf(x.Mark().Shape) == reflect.TypeOf(y.Mark().Shape)) {
					pairs = append(pairs, fmt.Sprintf("panel %q: %q and %q", of, b.Name, a.Name))
				}
			}
		}
	}
	return pairs
}

// A panel with manyLines lines or more needs labels at their ends, because a legend would be too
// long. A free cell has room for a long legend.
const manyLines = 6

// The series of each panel differ in grey, or have labels at their ends.
func TestSeriesDifferInGrey(t *testing.T) {
	if d := lightness(Black) - lightness(color.NRGBA{255, 255, 255, 255}); math.Abs(d+100) > 1e-6 {
		t.Errorf("black and white are %v apart", d)
	}
	check := func(o Output) {
		f, ok := o.(*Figure)
		if !ok {
			return
		}
		if pairs := greyTwins(f); len(pairs) > 0 {
			t.Errorf("%s: alike are %v", f.Name, pairs)
		}
		for _, p := range slices.Concat(f.Panels...) {
			lines := 0
			for _, s := range p.Series {
				if s.Line && s.Entry.Name != "" {
					lines++
				}
			}
			if lines >= manyLines && !p.Direct && f.Legend != LegendInGap {
				t.Errorf("%s, panel %q: %d lines, and no labels at their ends", f.Name, p.Name, lines)
			}
		}
	}
	for _, e := range registry.All() {
		r, err := e.Run(t.Context(), experiment.Hooks{}, e.Draw(synth.NewStream(3, e.Name)))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range Of(r) {
			check(o)
		}
		if r, ok := r.(*searches.Result); ok {
			check(SearchesTime(r, searcherTimings(r)))
		}
	}
}
