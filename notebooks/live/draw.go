package live

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/figures"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func (v view) state() state { return v.run.states[v.shown] }

// pinnedState returns the state of the pinned run at the visible step. If the pinned run is
// shorter, it returns the last state of this run.
func (v view) pinnedState() state { return v.pinned.states[min(v.shown, v.pinned.lastStep())] }

// These variables are the styles of the two classes, of the curves, and of the pinned run. Readers
// can distinguish the styles without colour, because dashes and marks differ, too.
var (
	classes         = [2]figures.Style{{Color: figures.Blue, GlyphRadius: 2.3}, {Color: figures.Vermilion, Glyph: draw.PyramidGlyph{}, GlyphRadius: 2.9}}
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

// curve plots valueAt(s) for the states s of a run, from the first to the last.
func curve(p *figures.Panel, name string, r *trajectory, valueAt func(state) float64, s figures.Style) {
	const most = 250 // enough points for a panel of this width
	var x, y []float64
	stride := (len(r.states) + most - 1) / most
	for i := 0; i < len(r.states); i += stride {
		if f := valueAt(r.states[i]); !math.IsNaN(f) {
			x, y = append(x, float64(i)), append(y, f)
		}
	}
	if len(x) > 1 { // a single dot in a light colour would be too faint
		p.Line(name, x, y, s)
	}
}

// curves plots a number as a function of the step, for the run and for the pinned run.
func (v view) curves(p *figures.Panel, name string, of func(state) float64, s figures.Style) {
	if v.pinned != nil {
		curve(p, "pinned "+name, v.pinned, of, pinStyle)
	}
	curve(p, name, v.run, of, s)
}

// valuesOf returns the values of the given functions, for each state of the run and of the pinned
// run.
func (v view) valuesOf(functions ...func(state) float64) (all []float64) {
	states := v.run.states
	if v.pinned != nil {
		states = slices.Concat(states, v.pinned.states)
	}
	for _, s := range states {
		for _, f := range functions {
			all = append(all, f(s))
		}
	}
	return all
}

// axes sets the ranges of a panel's axes. It also marks the visible step.
func (v view) axes(p *figures.Panel, low, high float64) {
	end := v.run.lastStep()
	if v.pinned != nil {
		end = max(end, v.pinned.lastStep())
	}
	// The x axis grows in a few large steps. Otherwise it would change with every step of the run.
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
	seen := v.valuesOf(train, test, cv)
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

// level is a horizontal line across a panel of curves.
type level struct {
	name  string
	value float64
	style figures.Style
}

func (v view) readout() string {
	text := v.state().readout(v.shown)
	if v.pinned != nil {
		text = "this   " + text
	}
	if v.run.isPreview {
		text += "   preview"
	}
	if v.pinned != nil {
		text += "\npinned " + v.pinnedState().readout(min(v.shown, v.pinned.lastStep()))
	}
	switch {
	case v.run.hasConverged:
		text += fmt.Sprintf("\nconverged at step %d", v.run.lastStep())
	case v.run.err != nil:
		text += fmt.Sprintf("\nthe run ends at step %d: %v", v.run.lastStep(), v.run.err)
	case v.run.lastStep() == MaxSteps:
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
