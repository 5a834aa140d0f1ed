package live

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cvgm/figures"
)

// The page determines the size of the picture, its background, and the colour that replaces black.
func TestPicturesHaveThePagesColours(t *testing.T) {
	forEachProblem(t, func(t *testing.T, p Problem) {
		svg := string(quickMachine(t, p, 2).Draw())
		if strings.Count(svg, "<image ") != strings.Count(svg, `<image preserveAspectRatio="none"`) {
			t.Error("a surface that does not fill its axes")
		}
		checkSVG(t, []byte(svg))
		for _, wanted := range []string{`<svg xmlns=`, "stroke:currentColor", "var(--live-blue,#0072B2)", "var(--jp-border-color2,", "Sans,Arial"} {
			if !strings.Contains(svg, wanted) {
				t.Errorf("no %s", wanted)
			}
		}
		for _, unwanted := range []string{"#000000", "#FFFFFF", `"#E1E1E1`, ":#0072B2", "<?xml", "pt\""} {
			if strings.Contains(svg, unwanted) {
				t.Errorf("a picture with %s", unwanted)
			}
		}
	})
}

// The entries of a key differ by mark, dash or lightness.
func TestKeysReadWithoutColour(t *testing.T) {
	luminance := func(s figures.Style) float64 {
		c := s.Color // the zero value is black
		return (.2126*float64(c.R) + .7152*float64(c.G) + .0722*float64(c.B)) / 255
	}
	forEachProblem(t, func(t *testing.T, p Problem) {
		m := quickMachine(t, p, 1)
		m.Handle(Event{Kind: Pin})
		key := m.view().layout().key
		for i, a := range key {
			for _, b := range key[:i] {
				marks := a.Style.GlyphRadius > 0
				if marks != (b.Style.GlyphRadius > 0) || marks && reflect.TypeOf(a.Style.Glyph) != reflect.TypeOf(b.Style.Glyph) ||
					!marks && !slices.Equal(a.Style.Dash, b.Style.Dash) || math.Abs(luminance(a.Style)-luminance(b.Style)) > .2 {
					continue
				}
				t.Errorf("%s and %s look alike in grey", a.Name, b.Name)
			}
		}
	})
}
