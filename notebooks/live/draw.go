package live

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/figures"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// view is what is to be seen: a run up to a step, and another to compare with.
type view struct {
	run    *Run
	shown  int  // at most run.last()
	pinned *Run // nil: none
	// pinnedName is what the key calls the pinned run, and prefix stands before
	// the large panels' titles. Both may be empty.
	pinnedName, prefix string
}

func (v view) state() State { return v.run.States[v.shown] }

// beside returns the pinned run's state at the step shown, or its last before.
func (v view) beside() State { return v.pinned.States[min(v.shown, v.pinned.last())] }

func (m *Machine) view() view {
	s := m.now()
	return view{run: s.run, shown: min(s.shown, s.run.last()), pinned: s.pinned}
}

// layout is a picture: large panels side by side, small ones below each other
// at their right, and the key to them all below.
type layout struct {
	large, small []*figures.Panel
	key          []figures.KeyEntry
}

// The size of the picture, in points.
const (
	width  = 800
	height = 330
)

// Draw returns what is shown, as SVG in the colours of a JupyterLab page.
func (m *Machine) Draw() []byte {
	c := newCanvas(width, height)
	m.view().layout().draw(draw.New(c))
	return c.svg()
}

// PNG returns what is shown on a white ground.
func (m *Machine) PNG() ([]byte, error) { return asPNG(width, height, m.view().layout().draw) }

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
	(&figures.Figure{Panels: [][]*figures.Panel{l.large}, Key: l.key}).Draw(draw.Crop(c, 0, right-gap-width, 0, 0))
	var column [][]*figures.Panel
	for _, p := range l.small {
		column = append(column, []*figures.Panel{p})
	}
	(&figures.Figure{Panels: column, Key: []figures.KeyEntry{}}).Draw(draw.Crop(c, right, -4, 0, 0))
}

// Colours: of the classes −1 and +1, of the curves, and of what is pinned.
var (
	classes         = [2]figures.Style{{Color: figures.Blue, GlyphRadius: 2.3}, {Color: figures.Vermillion, GlyphRadius: 2.3}}
	cvStyle         = figures.Style{Color: figures.Orange, Width: 1.6}
	trainStyle      = figures.Style{Color: figures.Green, Width: 1.3}
	testStyle       = figures.Style{Color: figures.Sky, Width: 1.6}
	boundaryStyle   = figures.Style{Width: 2}
	angleStyle      = figures.Style{Width: 1.6}
	bayesStyle      = figures.Style{Color: figures.Grey, Width: 1.2, Dash: []vg.Length{2, 3}}
	pathStyle       = figures.Style{Color: figures.Blue, Width: 2.2}
	truthStyle      = figures.Style{Color: figures.Black, Glyph: draw.RingGlyph{}, GlyphRadius: 5}
	truthLevelStyle = figures.Style{Width: .8, Dash: []vg.Length{1, 2}}
	penaltyStyles   = [2]figures.Style{{Width: 1.6}, {Width: 1.6, Dash: []vg.Length{4, 2}}}
	pinStyle        = figures.Style{Color: figures.Purple, Width: 1.3, Dash: []vg.Length{5, 3}}
)

func (t *kernelTrial) panels(v view) layout {
	key := []figures.KeyEntry{{Name: "class −1", Style: classes[0]}, {Name: "class +1", Style: classes[1]}, {Name: "model", Style: boundaryStyle}, {Name: "Bayes rule", Style: bayesStyle},
		{Name: "CV", Style: cvStyle}, {Name: "training", Style: trainStyle}, {Name: "test", Style: testStyle}}
	return layout{
		key:   v.withPinned(key),
		large: []*figures.Panel{t.plane(v.prefix+"decision boundary", v), t.manifold(v.prefix+"manifold φ(x)", v.state())},
		small: []*figures.Panel{v.losses(), v.accuracies(t.Bayes.Rate), v.angles()},
	}
}

// The grid on which a boundary is found has fineGrid points per axis, or
// coarseGrid in a preview.
const (
	fineGrid   = 60
	coarseGrid = 30
)

// plane shows the training examples with the boundaries of the model, of the
// best rule there is, and of the pinned run's model.
func (t *kernelTrial) plane(title string, v view) *figures.Panel {
	p := figures.NewPanel(title, title, "x1", "x2")
	p.Equal = true
	byClass(p, t.Train)
	n := fineGrid
	if t.coarse {
		n = coarseGrid
	}
	axis := make([]float64, n)
	floats.Span(axis, -t.half, t.half)
	if t.best == nil {
		t.best = onGrid(axis, func(dst []float64, x *mat.Dense) error {
			for i := range dst {
				dst[i] = t.Bayes.Label(x.RawRowView(i))
			}
			return nil
		})
	}
	p.Contour("Bayes boundary", axis, axis, t.best, 0, bayesStyle)
	if v.pinned != nil {
		p.Contour("pinned boundary", axis, axis, onGrid(axis, v.beside().Model.Predict), 0, pinStyle)
	}
	p.Contour("boundary", axis, axis, onGrid(axis, v.state().Model.Predict), 0, boundaryStyle)
	p.Range(-t.half, t.half, -t.half, t.half)
	return p
}

// onGrid returns the predictions at axis × axis. None are what cannot be
// computed: a model that predicts its own training examples predicts all.
func onGrid(axis []float64, predict func(dst []float64, x *mat.Dense) error) [][]float64 {
	n := len(axis)
	points := mat.NewDense(n*n, 2, nil)
	for i, x := range axis {
		for j, y := range axis {
			points.SetRow(i*n+j, []float64{x, y})
		}
	}
	all := make([]float64, n*n)
	if err := predict(all, points); err != nil {
		return nil
	}
	z := make([][]float64, n)
	for i := range z {
		z[i] = all[i*n : (i+1)*n]
	}
	return z
}

// byClass plots points of the plane in the colours of their classes.
func byClass(p *figures.Panel, d qpdiff.Data) {
	for class, name := range []string{"class −1", "class +1"} {
		var x, y []float64
		for i, label := range d.Y {
			if (label > 0) == (class == 1) {
				x, y = append(x, d.X.At(i, 0)), append(y, d.X.At(i, 1))
			}
		}
		p.Scatter(name, x, y, classes[class])
	}
}

// manifoldPoints bounds the test examples whose features are shown.
const manifoldPoints = 500

// manifold shows test examples as the learner sees them, with its separator.
func (t *kernelTrial) manifold(title string, s State) *figures.Panel {
	p := figures.NewPanel(title, title, "φ1", "φ2")
	d := thinned(t.Test, manifoldPoints)
	phi, err := s.Model.Features.Forward(s.Model.Params, d.X)
	if err != nil {
		return p
	}
	d.X = mat.DenseCopyOf(phi)
	byClass(p, d)
	var low, high [2]float64
	for j := range low {
		column := mat.Col(nil, j, d.X)
		low[j], high[j] = slices.Min(column), slices.Max(column)
		pad := .05*(high[j]-low[j]) + 1e-9
		low[j], high[j] = low[j]-pad, high[j]+pad
	}
	// The line w·φ + b = 0, over the whole panel.
	w, b := s.Model.Theta[:2], s.Model.Theta[2]
	if norm := w[0]*w[0] + w[1]*w[1]; norm > 0 {
		reach := math.Hypot(high[0]-low[0], high[1]-low[1])
		// From the point of the line that is nearest to the panel's middle.
		mid := [2]float64{(low[0] + high[0]) / 2, (low[1] + high[1]) / 2}
		off := (w[0]*mid[0] + w[1]*mid[1] + b) / norm
		foot := [2]float64{mid[0] - off*w[0], mid[1] - off*w[1]}
		along := [2]float64{-w[1] * reach / math.Sqrt(norm), w[0] * reach / math.Sqrt(norm)}
		p.Line("separator", []float64{foot[0] - along[0], foot[0] + along[0]}, []float64{foot[1] - along[1], foot[1] + along[1]},
			boundaryStyle)
	}
	p.Range(low[0], high[0], low[1], high[1])
	return p
}

// thinned returns at most n of the examples, evenly spaced.
func thinned(d qpdiff.Data, n int) qpdiff.Data {
	if len(d.Y) <= n {
		return d
	}
	few := qpdiff.Data{X: mat.NewDense(n, 2, nil), Y: make([]float64, n)}
	for i := range n {
		row := i * len(d.Y) / n
		few.X.SetRow(i, d.X.RawRowView(row))
		few.Y[i] = d.Y[row]
	}
	return few
}

func (v view) withPinned(key []figures.KeyEntry) []figures.KeyEntry {
	if v.pinned != nil {
		key = append(key, figures.KeyEntry{Name: cmp.Or(v.pinnedName, "pinned"), Style: pinStyle})
	}
	return key
}

// curve plots a number of each state of a run up to the end of its history.
func curve(p *figures.Panel, name string, r *Run, of func(State) float64, s figures.Style) {
	const most = 250 // points are enough for a panel of this width
	var x, y []float64
	stride := (len(r.States) + most - 1) / most
	for i := 0; i < len(r.States); i += stride {
		if f := of(r.States[i]); !math.IsNaN(f) {
			x, y = append(x, float64(i)), append(y, f)
		}
	}
	if len(x) > 0 {
		p.Line(name, x, y, s)
	}
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
	at := float64(v.shown)
	p.Line("step shown", []float64{at, at}, []float64{low, high}, figures.Style{Width: .7, Color: figures.Grey})
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
	cv := func(s State) float64 { return s.CV.Loss }
	test := func(s State) float64 { return s.Test.Loss }
	train := func(s State) float64 { return s.Train.Loss }
	if v.pinned != nil {
		curve(p, "pinned CV", v.pinned, cv, pinStyle)
		curve(p, "pinned test", v.pinned, test, pinStyle)
	}
	curve(p, "train", v.run, train, trainStyle)
	curve(p, "test", v.run, test, testStyle)
	curve(p, "CV", v.run, cv, cvStyle)
	var seen []float64
	for _, r := range []*Run{v.run, v.pinned} {
		if r != nil {
			for _, s := range r.States {
				seen = append(seen, cv(s), test(s), train(s))
			}
		}
	}
	for _, l := range levels {
		p.Line(l.name, []float64{0, MaxSteps}, []float64{l.value, l.value}, l.style)
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

// accuracies shows the training and test accuracy and that of the Bayes rule.
func (v view) accuracies(bayes float64) *figures.Panel {
	p := curvePanel("accuracies", "", "accuracy")
	if v.pinned != nil {
		curve(p, "pinned test", v.pinned, func(s State) float64 { return s.Test.Accuracy }, pinStyle)
	}
	p.Line("Bayes", []float64{0, MaxSteps}, []float64{bayes, bayes}, bayesStyle)
	curve(p, "train", v.run, func(s State) float64 { return s.Train.Accuracy }, trainStyle)
	curve(p, "test", v.run, func(s State) float64 { return s.Test.Accuracy }, testStyle)
	v.axes(p, .4, 1.02)
	return p
}

// angles shows the angle between the direction descended and the exact gradient.
func (v view) angles() *figures.Panel {
	p := curvePanel("angles", "step", "angle (°)")
	angle := func(s State) float64 { return s.Angle }
	if v.pinned != nil {
		curve(p, "pinned", v.pinned, angle, pinStyle)
	}
	curve(p, "to the exact gradient", v.run, angle, angleStyle)
	v.axes(p, -5, 180)
	return p
}

func (t *elasticNetTrial) panels(v view) layout {
	key := []figures.KeyEntry{{Name: "CVGM", Style: pathStyle}, {Name: "true coefficients", Style: truthStyle}, {Name: "CV", Style: cvStyle}, {Name: "training", Style: trainStyle}, {Name: "test", Style: testStyle},
		{Name: "test, least squares", Style: bayesStyle}, {Name: "test, truth", Style: truthLevelStyle}, {Name: "λ1", Style: penaltyStyles[0]}, {Name: "λ2", Style: penaltyStyles[1]}}
	return layout{
		key:   v.withPinned(key),
		large: []*figures.Panel{t.path(v.prefix+"CV loss and path", v), t.coefficients(v.prefix+"coefficients", v)},
		small: []*figures.Panel{
			v.losses(level{"least squares", t.LeastSquares, bayesStyle}, level{"true coefficients", t.TrueCoefficients, truthLevelStyle}),
			v.penalties(),
		},
	}
}

// The surface is evaluated on surfacePoints per penalty, or coarsePoints in a
// preview.
const (
	surfacePoints = 28
	coarsePoints  = 12
)

// path shows the CV loss over the penalties and the way walked on it.
func (t *elasticNetTrial) path(title string, v view) *figures.Panel {
	p := figures.NewPanel(title, title, "λ1", "λ2")
	p.LogAxes(true, true)
	s := t.evaluated()
	l1, l2 := figures.Log10s(s.Lambda1), figures.Log10s(s.Lambda2)
	if len(s.CV) == len(l1) {
		p.Surface("CV loss", l1, l2, s.CV, figures.LevelsAboveMinimum(s.CV))
	}
	way := func(r *Run, to int, name string, style figures.Style) {
		var x, y []float64
		for _, state := range r.States[:to+1] {
			x, y = append(x, math.Log10(max(state.Lambda[0], s.Lambda1[0]))), append(y, math.Log10(max(state.Lambda[1], s.Lambda2[0])))
		}
		p.Line(name, x, y, style)
		p.Scatter(name+": step shown", x[len(x)-1:], y[len(y)-1:], figures.Style{Color: style.Color, GlyphRadius: 4})
	}
	if v.pinned != nil {
		way(v.pinned, min(v.shown, v.pinned.last()), "pinned path", pinStyle)
	}
	way(v.run, v.shown, "path", pathStyle)
	p.Range(l1[0], l1[len(l1)-1], l2[0], l2[len(l2)-1])
	return p
}

// evaluated returns the surface, which is computed once. Where a point of it
// fails, the rows behind are missing, and it is not drawn.
func (t *elasticNetTrial) evaluated() experiment.ElasticNetSurface {
	if t.surface == nil {
		n := surfacePoints
		if t.coarse {
			n = coarsePoints
		}
		s, _ := t.ground.CVSurface(-4, .5, n)
		t.surface = &s
	}
	return *t.surface
}

// coefficients shows the fitted and the true coefficients.
func (t *elasticNetTrial) coefficients(title string, v view) *figures.Panel {
	p := figures.NewPanel(title, title, "feature", "coefficient")
	p.Grid()
	n := len(t.Coef)
	place := make([]float64, n)
	for i := range place {
		place[i] = float64(i + 1)
	}
	low, high := min(0, slices.Min(t.Coef)), slices.Max(t.Coef)
	fitted := func(name string, m *cvgm.Model, s figures.Style) {
		raw := make([]float64, n) // on the features as they are
		for i := range raw {
			raw[i] = m.Theta[i] / m.Dev[i]
		}
		low, high = min(low, slices.Min(raw)), max(high, slices.Max(raw))
		p.Scatter(name, place, raw, s)
	}
	p.Scatter("true", place, t.Coef, truthStyle)
	if v.pinned != nil {
		fitted("pinned", v.beside().Model, figures.Style{Color: figures.Purple, Glyph: draw.CrossGlyph{}, GlyphRadius: 4})
	}
	fitted("fitted", v.state().Model, figures.Style{Color: figures.Blue, GlyphRadius: 3})
	pad := .08 * (high - low)
	p.Range(.5, float64(n)+.5, low-pad, high+pad)
	return p
}

// penalties shows λ1 and λ2 along the run, on a logarithmic axis.
func (v view) penalties() *figures.Panel {
	p := curvePanel("penalties", "step", "penalty")
	p.LogAxes(false, true)
	const low, high = -5, 1
	for j, name := range []string{"λ1", "λ2"} {
		log := func(s State) float64 { return max(low, math.Log10(s.Lambda[j])) }
		if v.pinned != nil {
			curve(p, "pinned "+name, v.pinned, log, pinStyle)
		}
		curve(p, name, v.run, log, penaltyStyles[j])
	}
	v.axes(p, low, high)
	return p
}

// Readout says in numbers what is shown, and what went wrong.
func (m *Machine) Readout() string {
	text := m.view().readout()
	if err := m.now().failed; err != nil {
		text += "\nthese settings fail: " + err.Error()
	}
	return text
}

func (v view) readout() string {
	text := v.state().readout(v.shown)
	if v.pinned != nil {
		text = "this   " + text
	}
	if v.run.Coarse {
		text += "   preview"
	}
	if v.pinned != nil {
		text += "\npinned " + v.beside().readout(min(v.shown, v.pinned.last()))
	}
	if v.run.Err != nil {
		text += fmt.Sprintf("\nthe run ends at step %d: %v", v.run.last(), v.run.Err)
	}
	return text
}

func (s State) readout(step int) string {
	loss := func(p experiment.Performance) string {
		if math.IsNaN(p.Accuracy) {
			return fmt.Sprintf("%.4f", p.Loss)
		}
		return fmt.Sprintf("%.4f (%.1f %%)", p.Loss, 100*p.Accuracy)
	}
	text := fmt.Sprintf("step %-4d  CV loss %s   training %s   test %s", step, loss(s.CV), loss(s.Train), loss(s.Test))
	if !s.classifies() {
		return text + fmt.Sprintf("   λ1 %.4g   λ2 %.4g", s.Lambda[0], s.Lambda[1])
	}
	return text + fmt.Sprintf("   angle %.0f°", s.Angle)
}
