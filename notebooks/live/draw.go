package live

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/figures"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// view is what is to be seen: a run up to a step, and another to compare with.
type view struct {
	run    *trajectory
	shown  int         // at most run.last()
	pinned *trajectory // nil: none
	// pinnedName is what the key calls the pinned run, and prefix stands before
	// the large panels' titles. Both may be empty.
	pinnedName, prefix string
}

func (v view) state() state { return v.run.states[v.shown] }

// beside returns the pinned run's state at the step shown, or its last before.
func (v view) beside() state { return v.pinned.states[min(v.shown, v.pinned.last())] }

func (m *Machine) view() view {
	s := m.now()
	return view{run: s.run, shown: min(s.shown, s.run.last()), pinned: s.pinned}
}

// layout is a picture: large panels side by side, small ones below each other
// at their right, and the key to them all below.
type layout struct {
	large, small []*figures.Panel
	key          []figures.LegendEntry
}

// The size of the picture, in points.
const (
	width  = 800
	height = 330
)

// Draw returns what is shown, as SVG in the colours of a JupyterLab page.
func (m *Machine) Draw() []byte {
	c := vgsvg.New(width, height)
	m.view().layout().draw(draw.New(c))
	var b strings.Builder
	_, _ = c.WriteTo(&b) // a Builder takes all
	_, picture, _ := strings.Cut(b.String(), "<g ")
	// The page sets the size. Black is the colour of fills that name none.
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 %d %d" fill="currentColor" stroke-linejoin="round"><g %s`,
		width, height, theme.Replace(picture))
}

// theme gives a picture the colours of the page: black is the page's own colour
// of text, the ground is left to the page, and blue is too dark for a dark page.
var theme = strings.NewReplacer(
	"#000000", "currentColor", "#FFFFFF", "none",
	"#E1E1E1", "var(--jp-border-color2,#E1E1E1)", "#0072B2", "var(--live-blue,#0072B2)",
	"font-family:Liberation Sans", "font-family:Liberation Sans,Arial,Helvetica,sans-serif",
	"<image ", `<image preserveAspectRatio="none" `, // a surface fills its axes
)

// PNG returns what is shown on a white ground.
func (m *Machine) PNG() ([]byte, error) { return asPNG(width, height, m.view().layout().draw) }

// figure returns the panels of what is shown, with a caption.
func (m *Machine) figure() *figures.Figure {
	v := m.view()
	l := v.layout()
	return &figures.Figure{Width: width, Panels: [][]*figures.Panel{l.large, l.small}, Caption: fmt.Sprintf("%s at step %d of %d", m.problem.Title(), v.shown, v.run.last())}
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

// Looks of the classes −1 and +1, of the curves, and of what is pinned. Without
// colour, their dashes and marks tell them apart.
var (
	classes         = [2]figures.Style{{Color: figures.Blue, GlyphRadius: 2.3}, {Color: figures.Vermillion, Glyph: draw.PyramidGlyph{}, GlyphRadius: 2.9}}
	cvStyle         = figures.Style{Color: figures.Orange, Width: 1.8}
	trainStyle      = figures.Style{Color: figures.Green, Width: 1.4, Dash: []vg.Length{6, 2, 1.5, 2}}
	testStyle       = figures.Style{Color: figures.Sky, Width: 1.8, Dash: []vg.Length{8, 2.5}}
	boundaryStyle   = figures.Style{Width: 2}
	angleStyle      = figures.Style{Width: 1.6}
	bayesStyle      = figures.Style{Color: figures.Grey, Width: 1.2, Dash: []vg.Length{2, 3}}
	pathStyle       = figures.Style{Color: figures.Blue, Width: 2.2}
	truthStyle      = figures.Style{Color: figures.Black, Glyph: draw.RingGlyph{}, GlyphRadius: 5}
	truthLevelStyle = figures.Style{Width: .8, Dash: []vg.Length{1, 2}}
	penaltyStyles   = [2]figures.Style{{Width: 1.6}, {Width: 1.6, Dash: []vg.Length{4, 2}}}
	pinStyle        = figures.Style{Color: figures.Purple, Width: 1.3, Dash: []vg.Length{4, 3}}
)

func (v view) withPinned(key []figures.LegendEntry) []figures.LegendEntry {
	if v.pinned != nil {
		key = append(key, figures.LegendEntry{Name: cmp.Or(v.pinnedName, "pinned"), Style: pinStyle})
	}
	return key
}

// curve plots a number of each state of a run up to the end of its history.
func curve(p *figures.Panel, name string, r *trajectory, of func(state) float64, s figures.Style) {
	const most = 250 // points are enough for a panel of this width
	var x, y []float64
	stride := (len(r.states) + most - 1) / most
	for i := 0; i < len(r.states); i += stride {
		if f := of(r.states[i]); !math.IsNaN(f) {
			x, y = append(x, float64(i)), append(y, f)
		}
	}
	if len(x) > 1 { // a lone dot in a light colour is too faint to read
		p.Line(name, x, y, s)
	}
}

// curves plots a number of the run's states, and of the pinned run's.
func (v view) curves(p *figures.Panel, name string, of func(state) float64, s figures.Style) {
	if v.pinned != nil {
		curve(p, "pinned "+name, v.pinned, of, pinStyle)
	}
	curve(p, name, v.run, of, s)
}

// numbers returns numbers of the states of the run and of the pinned run.
func (v view) numbers(of ...func(state) float64) (all []float64) {
	states := v.run.states
	if v.pinned != nil {
		states = slices.Concat(states, v.pinned.states)
	}
	for _, s := range states {
		for _, f := range of {
			all = append(all, f(s))
		}
	}
	return all
}

// axes fixes a panel's ranges and marks the step shown.
func (v view) axes(p *figures.Panel, low, high float64) {
	end := v.run.last()
	if v.pinned != nil {
		end = max(end, v.pinned.last())
	}
	// The range grows in leaps, lest it moves with every step.
	for _, r := range []int{20, 50, 100, 200, 500, MaxSteps} {
		if r >= end {
			end = r
			break
		}
	}
	p.VLine("step shown", float64(v.shown), figures.Style{Width: .7, Color: figures.Grey})
	p.Range(0, float64(end), low, high)
}

func curvePanel(name, x, y string) *figures.Panel {
	p := figures.NewPanel(name, "", x, y)
	p.Grid()
	return p
}

// losses shows the CV, training and test losses.
func (v view) losses(levels ...level) *figures.Panel {
	p := curvePanel("losses", "", "loss")
	cv := func(s state) float64 { return s.CV.Loss }
	test := func(s state) float64 { return s.Test.Loss }
	train := func(s state) float64 { return s.Train.Loss }
	curve(p, "train", v.run, train, trainStyle)
	v.curves(p, "test", test, testStyle)
	v.curves(p, "CV", cv, cvStyle)
	seen := v.numbers(train, test, cv)
	for _, l := range levels {
		p.HLine(l.name, l.value, l.style)
		seen = append(seen, l.value)
	}
	low, high := slices.Min(seen), slices.Max(seen)
	if low > .3*high {
		pad := .08 * (high - low)
		low, high = low-pad, high+pad
	} else {
		low, high = 0, 1.05*high
	}
	if !(high > low) {
		high = low + 1
	}
	v.axes(p, low, high)
	return p
}

// level is a line across a panel of curves.
type level struct {
	name  string
	value float64
	style figures.Style
}

// Alt describes the picture in words, as its alternative text.
func (m *Machine) Alt() string {
	v := m.view()
	text := fmt.Sprintf("%s after %d steps. %s", m.problem.Title(), v.shown, v.run.describe())
	if v.pinned != nil {
		text += " Dashed in purple: the pinned run."
	}
	return text
}

// Readout says in numbers what is shown, and what went wrong.
func (m *Machine) Readout() string {
	text := m.view().readout()
	if err := m.now().failed; err != nil {
		text += "\nthese settings fail, and the run before them is shown: " + err.Error()
	}
	return text
}

func (v view) readout() string {
	text := v.state().readout(v.shown)
	if v.pinned != nil {
		text = "this   " + text
	}
	if v.run.coarse {
		text += "   preview"
	}
	if v.pinned != nil {
		text += "\npinned " + v.beside().readout(min(v.shown, v.pinned.last()))
	}
	switch {
	case v.run.done:
		text += fmt.Sprintf("\nconverged at step %d", v.run.last())
	case v.run.err != nil:
		text += fmt.Sprintf("\nthe run ends at step %d: %v", v.run.last(), v.run.err)
	case v.run.last() == MaxSteps:
		text += fmt.Sprintf("\nruns end at step %d", MaxSteps)
	}
	return text
}

func (s state) readout(step int) string {
	loss := func(p experiment.Metrics) string {
		if math.IsNaN(p.Accuracy) {
			return fmt.Sprintf("%.4f", p.Loss)
		}
		return fmt.Sprintf("%.4f (%.1f %%)", p.Loss, 100*p.Accuracy)
	}
	text := fmt.Sprintf("step %-4d  CV loss %s   training %s   test %s", step, loss(s.CV), loss(s.Train), loss(s.Test))
	if !s.classifies() {
		return text + fmt.Sprintf("   λ1 %.4g   λ2 %.4g", s.Lambda[0], s.Lambda[1])
	}
	if math.IsNaN(s.Angle) {
		return text + "   no angle"
	}
	return text + fmt.Sprintf("   angle %.0f°", s.Angle)
}
