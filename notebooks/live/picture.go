package live

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"

	"cvgm/figures"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

func (m *Machine) view() view {
	s := m.now()
	return view{run: s.run, shown: min(s.visibleStep, s.run.lastStep()), pinned: s.pinnedRun}
}

// width and height are the size of the picture, in points.
const (
	width  = 800
	height = 330
)

// Draw returns the picture as SVG, in the colours of a JupyterLab page.
func (m *Machine) Draw() []byte {
	c := vgsvg.New(width, height)
	m.view().layout().draw(draw.New(c))
	var b strings.Builder
	_, _ = c.WriteTo(&b) // a Builder returns no errors
	_, picture, _ := strings.Cut(b.String(), "<g ")
	// The page sets the size of the picture. Without fill="currentColor", shapes that have no
	// colour would be black.
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 %d %d" fill="currentColor" stroke-linejoin="round"><g %s`,
		width, height, theme.Replace(picture))
}

// theme replaces the colours of a picture by the colours of the page. Black becomes the colour of
// the page's text. The background becomes transparent. On a dark page, blue becomes lighter.
var theme = strings.NewReplacer(
	"#000000", "currentColor", "#FFFFFF", "none",
	"#E1E1E1", "var(--jp-border-color2,#E1E1E1)", "#0072B2", "var(--live-blue,#0072B2)",
	"font-family:Liberation Sans", "font-family:Liberation Sans,Arial,Helvetica,sans-serif",
	"<image ", `<image preserveAspectRatio="none" `, // a surface fills its axes
)

// PNG returns the picture on a white background.
func (m *Machine) PNG() ([]byte, error) { return asPNG(width, height, m.view().layout().draw) }

// figure returns the panels of the picture as a figure with a caption.
func (m *Machine) figure() *figures.Figure {
	v := m.view()
	l := v.layout()
	return &figures.Figure{Width: width, Panels: [][]*figures.Panel{l.large, l.small}, Caption: fmt.Sprintf("%s at step %d of %d", m.problem.Title(), v.shown, v.run.lastStep())}
}

func asPNG(w, h vg.Length, paint func(draw.Canvas)) ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(110), vgimg.UseBackgroundColor(color.White))
	paint(draw.Crop(draw.New(c), 4, -8, 4, -4))
	var b bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(&b)
	return b.Bytes(), err
}

func (v view) layout() layout { return v.run.panels(v) }

func (l layout) draw(c draw.Canvas) {
	const large, gap = .355 * width, 12
	right := vg.Length(len(l.large)) * (large + gap)
	(&figures.Figure{Panels: [][]*figures.Panel{l.large}, Legend: figures.LegendBelow, Entries: l.key}).Draw(draw.Crop(c, 0, right-gap-width, 0, 0))
	var column [][]*figures.Panel
	for _, p := range l.small {
		column = append(column, []*figures.Panel{p})
	}
	(&figures.Figure{Panels: column, Legend: figures.LegendNone}).Draw(draw.Crop(c, right, -4, 0, 0))
}

// Alt returns a description of the picture, for its alternative text.
func (m *Machine) Alt() string {
	v := m.view()
	text := fmt.Sprintf("%s after %d steps. %s", m.problem.Title(), v.shown, v.run.describe())
	if v.pinned != nil {
		text += " Dashed in purple: the pinned run."
	}
	return text
}

// Readout returns the numbers of the picture as text. If no run can start with the settings, the
// text also has the error.
func (m *Machine) Readout() string {
	text := m.view().readout()
	if err := m.now().failed; err != nil {
		text += "\nthese settings fail, and the run before them is shown: " + err.Error()
	}
	return text
}
