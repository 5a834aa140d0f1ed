package live

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/figures"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// kernelTrial is the trial for a kernel that is learned on points of the plane.
type kernelTrial struct {
	*experiment.Stepper
	halfWidth float64     // both axes of the plane are from −halfWidth to halfWidth
	judged    learn.Data  // test examples for the accuracy
	best      [][]float64 // labels that the Bayes rule predicts on the grid; nil before the first picture
}

func newKernelTrial(w *experiment.Stepper, half float64, coarse bool) *kernelTrial {
	if w == nil {
		return nil
	}
	t := &kernelTrial{Stepper: w, halfWidth: half, judged: w.Test}
	if coarse {
		t.judged = thinned(w.Test, len(w.Test.Y)/coarseTest)
	}
	return t
}

func (t *kernelTrial) walk() iter.Seq2[state, error] {
	return func(yield func(state, error) bool) {
		for k, err := range t.States(context.Background()) {
			s := state{CV: experiment.Metrics{Loss: k.CVLoss, Accuracy: math.NaN()}, Model: k.Model,
				Angle: math.Acos(max(-1, min(1, k.Cosine))) * 180 / math.Pi}
			if err == nil {
				s.Train, err = experiment.Evaluate(k.Model, t.Train)
			}
			if err == nil {
				s.Test, err = experiment.Evaluate(k.Model, t.judged)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

func (t *kernelTrial) panels(v view) layout {
	key := []figures.LegendEntry{{Name: "class −1", Style: classes[0]}, {Name: "class +1", Style: classes[1]}, {Name: "model", Style: boundaryStyle}, {Name: "Bayes rule", Style: bayesStyle},
		{Name: "CV", Style: cvStyle}, {Name: "training", Style: trainStyle}, {Name: "test", Style: testStyle}}
	return layout{
		key:   v.withPinned(key),
		large: []*figures.Panel{t.plane(v.prefix+"decision boundary", v), t.manifold(v.prefix+"manifold φ(x)", v.state())},
		small: []*figures.Panel{v.losses(), v.accuracies(t.Rule.Accuracy), v.angles()},
	}
}

func (t *kernelTrial) describe() string {
	return fmt.Sprintf("Left: the plane with %d training examples of two classes, dots for −1 and triangles for +1, "+
		"the model's decision boundary and, dotted, that of the Bayes rule. Middle: test examples as the features φ1 and φ2, with the model's separating line. "+
		"Right, over the steps: losses, accuracies, and the angle to the exact gradient.", len(t.Train.Y))
}

// Boundaries are computed on a grid. The number of its points per axis is fineGrid. In a preview,
// this number is coarseGrid.
const (
	fineGrid   = 60
	coarseGrid = 30
)

// plane shows the training examples and three boundaries: the boundary of the current model, the
// boundary of the Bayes rule, and the boundary of the pinned run's model.
func (t *kernelTrial) plane(title string, v view) *figures.Panel {
	p := figures.NewPanel(title, title, "x₁", "x₂")
	p.Equal = true
	byClass(p, t.Train)
	n := fineGrid
	if v.run.isPreview {
		n = coarseGrid
	}
	axis := make([]float64, n)
	floats.Span(axis, -t.halfWidth, t.halfWidth)
	if t.best == nil {
		t.best = onGrid(axis, func(dst []float64, x *mat.Dense) error {
			for i := range dst {
				dst[i] = t.Rule.Label(x.RawRowView(i))
			}
			return nil
		})
	}
	p.Contour("Bayes boundary", axis, axis, t.best, 0, bayesStyle)
	if v.pinned != nil {
		p.Contour("pinned boundary", axis, axis, onGrid(axis, dense(v.pinnedState().Model)), 0, pinStyle)
	}
	p.Contour("boundary", axis, axis, onGrid(axis, dense(v.state().Model)), 0, boundaryStyle)
	p.Range(-t.halfWidth, t.halfWidth, -t.halfWidth, t.halfWidth)
	return p
}

// dense returns a function that predicts dense rows with m.
func dense(m *cvgm.Model) func(dst []float64, x *mat.Dense) error {
	return func(dst []float64, x *mat.Dense) error { return m.Predict(dst, x) }
}

// onGrid returns the predictions at all points whose two coordinates are values of the slice axis.
// If a prediction fails, it returns nil. This cannot happen for a model that has predicted its
// training examples.
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
func byClass(p *figures.Panel, d learn.Data) {
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

// manifoldPoints is the largest number of test examples whose features are shown.
const manifoldPoints = 500

// manifold shows the features of test examples, and the separator of the learner. The learner is
// fitted to the features of the training examples.
func (t *kernelTrial) manifold(title string, s state) *figures.Panel {
	p := figures.NewPanel(title, title, "φ₁", "φ₂")
	d := thinned(t.Test, manifoldPoints)
	phi, err := s.Model.Features.Forward(s.Model.Params, d.Dense())
	if err != nil {
		return p
	}
	d.X = mat.DenseCopyOf(phi)
	byClass(p, d)
	w := s.Model.Theta
	p.Across("separator", w[0], w[1], -w[2], boundaryStyle)
	return p
}

// thinned returns at most n of the examples, evenly spaced.
func thinned(d learn.Data, n int) learn.Data {
	if len(d.Y) <= n {
		return d
	}
	few := learn.Data{X: mat.NewDense(n, 2, nil), Y: make([]float64, n)}
	for i := range n {
		row := i * len(d.Y) / n
		few.Dense().SetRow(i, d.Dense().RawRowView(row))
		few.Y[i] = d.Y[row]
	}
	return few
}

// accuracies shows the training accuracy, the test accuracy and the accuracy of the Bayes rule.
func (v view) accuracies(bayes float64) *figures.Panel {
	p := curvePanel("accuracies", "", "accuracy")
	train := func(s state) float64 { return s.Train.Accuracy }
	test := func(s state) float64 { return s.Test.Accuracy }
	p.HLine("Bayes", bayes, bayesStyle)
	curve(p, "train", v.run, train, trainStyle)
	v.curves(p, "test", test, testStyle)
	low := min(.4, slices.Min(v.valuesOf(train, test)))
	v.axes(p, low, 1.02)
	return p
}

// angles shows the angle between the direction of the descent and the exact gradient.
func (v view) angles() *figures.Panel {
	p := curvePanel("angles", "step", "angle (°)")
	v.curves(p, "to the exact gradient", func(s state) float64 { return s.Angle }, angleStyle)
	v.axes(p, -5, 180)
	return p
}
