package live

import (
	"strings"
	"testing"
)

// The picture leaves its size, its ground and its black to the page.
func TestPicturesHaveThePagesColours(t *testing.T) {
	each(t, func(t *testing.T, p Problem) {
		svg := string(quick(t, p, 2).Draw())
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
