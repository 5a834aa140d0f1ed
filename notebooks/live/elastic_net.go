package live

import (
	"context"
	"fmt"
	"iter"
	"math"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/figures"

	"gonum.org/v1/plot/vg/draw"
)

// elasticNetTrial is the trial of an elastic net.
type elasticNetTrial struct {
	*experiment.Stepper
	leastSquares, truth float64 // test losses
	// surfaceCV evaluates the CV loss for the surface. It is separate from the Stepper of the run,
	// because evaluations for the surface would change the warm starts of the run.
	surfaceCV *experiment.Stepper
	surface   *experiment.ElasticNetSurface // nil before the surface is evaluated
}

func newElasticNetTrial(p elasticnet.ElasticNetParams) (trial, error) {
	w, err := p.Stepper(context.Background())
	if err != nil {
		return nil, err
	}
	t := &elasticNetTrial{Stepper: w}
	if t.leastSquares, t.truth, err = elasticnet.ReferenceLosses(w.Setup); err == nil {
		t.surfaceCV, err = p.Stepper(context.Background())
	}
	return t, err
}

func (t *elasticNetTrial) walk() iter.Seq2[state, error] {
	return func(yield func(state, error) bool) {
		for e, err := range t.States(context.Background()) {
			s := state{Model: e.Model}
			for _, m := range []*experiment.Metrics{&s.CV, &s.Train, &s.Test} {
				m.Accuracy = math.NaN()
			}
			if err == nil {
				s.CV.Loss, s.Lambda = e.CVLoss, [2]float64(e.X)
				s.Train.Loss, err = e.Model.Risk(t.Loss, t.Train)
			}
			if err == nil {
				s.Test.Loss, err = e.Model.Risk(t.Loss, t.Test)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

func (t *elasticNetTrial) panels(v view) layout {
	key := []figures.LegendEntry{{Name: "CVGM", Style: pathStyle}, {Name: "true coefficients", Style: truthStyle}, {Name: "CV", Style: cvStyle}, {Name: "training", Style: trainStyle}, {Name: "test", Style: testStyle},
		{Name: "test, least squares", Style: bayesStyle}, {Name: "test, truth", Style: truthLevelStyle}, {Name: "λ₁", Style: penaltyStyles[0]}, {Name: "λ₂", Style: penaltyStyles[1]}}
	return layout{
		key:   v.withPinned(key),
		large: []*figures.Panel{t.path(v.prefix+"CV loss and path", v), t.coefficients(v.prefix+"coefficients", v)},
		small: []*figures.Panel{
			v.losses(level{"least squares", t.leastSquares, bayesStyle}, level{"true coefficients", t.truth, truthLevelStyle}),
			v.penalties(),
		},
	}
}

func (t *elasticNetTrial) describe() string {
	return fmt.Sprintf("Left: the CV loss over λ1 and λ2 and the path of CVGM on it. Middle: the %d coefficients, true as circles and fitted as dots. "+
		"Right, over the steps: losses, and the penalties λ1 and λ2.", len(t.Coef))
}

// surfacePoints is the number of points of the surface along the axis of each penalty. In a
// preview, this number is coarsePoints.
const (
	surfacePoints = 28
	coarsePoints  = 12
)

// path shows the CV loss as a function of the two penalties, with the path of the run.
func (t *elasticNetTrial) path(title string, v view) *figures.Panel {
	p := figures.NewPanel(title, title, "λ₁", "λ₂")
	p.LogAxes(true, true)
	s := t.evaluated(v.run.isPreview)
	l1, l2 := figures.Log10s(s.Lambda1), figures.Log10s(s.Lambda2)
	if len(s.CV) == len(l1) {
		p.Surface("CV loss", l1, l2, s.CV, figures.LevelsAboveMinimum(s.CV))
	}
	way := func(r *trajectory, to int, name string, style figures.Style) {
		var x, y []float64
		for _, state := range r.states[:to+1] {
			x, y = append(x, math.Log10(max(state.Lambda[0], s.Lambda1[0]))), append(y, math.Log10(max(state.Lambda[1], s.Lambda2[0])))
		}
		p.Line(name, x, y, style)
		p.Scatter(name+": step shown", x[len(x)-1:], y[len(y)-1:], figures.Style{Color: style.Color, GlyphRadius: 4})
	}
	if v.pinned != nil {
		way(v.pinned, min(v.shown, v.pinned.lastStep()), "pinned path", pinStyle)
	}
	way(v.run, v.shown, "path", pathStyle)
	p.Range(l1[0], l1[len(l1)-1], l2[0], l2[len(l2)-1])
	return p
}

// evaluated returns the surface of the CV loss. It evaluates the surface only once. If the
// evaluation of a point fails, the rows from this point on are missing, and the surface is not
// drawn.
func (t *elasticNetTrial) evaluated(coarse bool) experiment.ElasticNetSurface {
	if t.surface == nil {
		n := surfacePoints
		if coarse {
			n = coarsePoints
		}
		s, _ := experiment.SurfaceGrid{SurfacePoints: n, SurfaceLow: -4, SurfaceHigh: .5}.Evaluate(context.Background(), t.surfaceCV.Setup, false)
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
	fitted := func(name string, m *cvgm.Model, s figures.Style) {
		raw := make([]float64, n) // coefficients of the features as they are, without standardisation
		for i := range raw {
			raw[i] = m.Theta[i] / m.Std[i]
		}
		p.Scatter(name, place, raw, s)
	}
	p.Scatter("true", place, t.Coef, truthStyle)
	if v.pinned != nil {
		fitted("pinned", v.pinnedState().Model, figures.Style{Color: figures.Purple, Glyph: draw.CrossGlyph{}, GlyphRadius: 4})
	}
	fitted("fitted", v.state().Model, figures.Style{Color: figures.Blue, GlyphRadius: 3})
	return p
}

// The method penalties shows λ1 and λ2 along the run, on a logarithmic axis.
func (v view) penalties() *figures.Panel {
	p := curvePanel("penalties", "step", "penalty")
	p.LogAxes(false, true)
	const low, high = -5, 1
	for j, name := range []string{"λ1", "λ2"} {
		log := func(s state) float64 { return max(low, math.Log10(s.Lambda[j])) }
		v.curves(p, name, log, penaltyStyles[j])
	}
	v.axes(p, low, high)
	return p
}
