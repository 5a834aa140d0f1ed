package figures

import (
	"fmt"
	"image/color"
	"math"
	"reflect"
	"slices"
	"testing"

	"cvgm/cvgm/experiment/registry"
	"cvgm/cvgm/experiment/searches"
	"cvgm/figures/internal/chart"
	"cvgm/synth"
)

// lightness is the CIE lightness of a colour, from 0 to 100.
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

// indistinguishable returns the pairs of listed series of a figure that have the same lightness
// (up to visible), the same dashes, nearly the same width and the same marks. It compares the
// series of one panel or, if one legend explains all panels, of all. Series that are labelled
// directly do not need to differ.
func indistinguishable(f *Figure) (pairs []string) {
	const visible, wider = 15, 2              // of lightness, between thin lines; factor of width
	groups := make(map[string][]chart.Series) // that are explained together
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

// fewest is the number of lines from which a panel labels them at their ends: a reader cannot
// match so many entries of a legend with their lines.
const fewest = 6

// The series of each panel differ by lightness, dashes or marks, or have labels at their
// ends. A panel of many lines has the labels.
func TestSeriesDifferInGrey(t *testing.T) {
	if d := lightness(Black) - lightness(color.NRGBA{255, 255, 255, 255}); math.Abs(d+100) > 1e-6 {
		t.Errorf("black and white are %v apart", d)
	}
	check := func(o Output) {
		f, ok := o.(*Figure)
		if !ok {
			return
		}
		if pairs := indistinguishable(f); len(pairs) > 0 {
			t.Errorf("%s: alike are %v", f.Name, pairs)
		}
		for _, p := range slices.Concat(f.Panels...) {
			lines := 0
			for _, s := range p.Series {
				if s.Line && s.Entry.Name != "" {
					lines++
				}
			}
			if lines >= fewest && !p.Direct {
				t.Errorf("%s, panel %q: %d lines, and no labels at their ends", f.Name, p.Name, lines)
			}
		}
	}
	for _, e := range registry.All() {
		r, err := e.Run(t.Context(), e.Draw(synth.NewStream(3, e.Name)))
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
