package kernels

import (
	"context"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// LearnedKernel holds those parameters that the paper's two experiments with a learned kernel
// share.
type LearnedKernel struct {
	Seed  uint32 `help:"seed of the generators of NumPy (data, splits), Python (XOR's squares) and PyTorch (initial weights)" range:"[0,4294967295]" small:"[0,1000]" setting:"the published data, seed %v"`
	Train int    `help:"training examples N" range:"[2,∞)" small:"[8,20]" setting:"N = %v"`
	Test  int    `help:"test examples" range:"[1,∞)" small:"[10,50]" setting:"%v test examples"`
	KernelCVGM
	ManifoldSteps []int   `help:"numbers of steps after which the kernel's manifold is shown; those above Steps stand for the last step" range:"[0,∞)" small:"[0,4]"`
	GridPoints    int     `help:"points per axis of the grid on which the decision boundary is found" range:"[2,∞)" small:"[4,12]"`
	GridHalf      float64 `help:"the grid covers -GridHalf to GridHalf along both axes" range:"(0,∞)" small:"[1,4]"`
}

// LearnedKernelResult holds those results that the paper's two experiments with a learned kernel
// share.
type LearnedKernelResult struct {
	Train, Test synth.Data
	Runs        []Run // one per variant, in the order of Variants
	Bayes       BayesAccuracy
}

// Run returns the run along a variant.
func (r *LearnedKernelResult) Run(v Variant) *Run {
	return &r.Runs[slices.IndexFunc(r.Runs, func(run Run) bool { return run.Variant == v })]
}

// BayesAccuracy is the accuracy of the Bayes rule.
type BayesAccuracy struct {
	Test       float64 // on the test examples
	Population float64 // over the population, exact
	// Scores are the differences P(y=+1 | x) − P(y=−1 | x) on the same grid as the field Boundary
	// of the runs.
	Scores Scores
}

// Run is the result of the gradient method that follows one variant of the gradient.
type Run struct {
	Variant Variant
	// CVLoss, Accuracy and Cosine hold values after 0, 1, …, Steps steps. CVLoss is the CV loss.
	// Accuracy is the test accuracy of the model that is fitted to all training examples. Cosine is
	// the cosine of the angle between two directions: the variant's direction, and the exact
	// gradient of the same loss. The published code prints one line for each step, with the loss
	// before the step and the accuracy after it.
	CVLoss, Accuracy, Cosine []float64
	// Perturbed is the CV loss of another run of the same variant. The initial weights of this run
	// are larger by the factor 1+1e-12.
	Perturbed []float64
	Manifolds []Manifold
	Boundary  Scores // predictions of the model after the last step
}

// LastLoss returns the CV loss before the last step, or NaN if there are no steps. The published
// code prints this loss last.
func (r *Run) LastLoss() float64 { return experiment.FromEnd(r.CVLoss, 2) }

// FinalAccuracy returns the test accuracy after the last step, or NaN.
func (r *Run) FinalAccuracy() float64 { return experiment.FromEnd(r.Accuracy, 1) }

// In the perturbed run, the initial weights are larger by the factor 1 + perturbation. This change
// is far above one rounding error, and too small to be visible in a result. A run is stable while
// its CV loss differs by at most stableTol from the CV loss of the perturbed run. stableTol is
// about the precision with which the published code prints losses.
const (
	perturbation = 1e-12
	stableTol    = 1e-4
)

// StableSteps returns the number of steps during which CVLoss and Perturbed differ by at most 1e-4.
// Later steps depend on rounding, and differ from machine to machine.
func (r *Run) StableSteps() int {
	for k, loss := range r.CVLoss {
		if !(math.Abs(loss-r.Perturbed[k]) <= stableTol) {
			return k - 1
		}
	}
	return len(r.CVLoss) - 1
}

// A Manifold is the image of the test examples under the kernel after some step. It includes a
// linear classifier of the image. The predicted label at the point φ of the image is the sign of
// W·φ + B.
type Manifold struct {
	Step     int // number of steps taken
	Phi      [2][]float64
	W        [2]float64
	B        float64
	Accuracy float64
}

// Scores are predictions on a grid. The number Score[i][j] is the prediction at the point (Axis[i],
// Axis[j]).
type Scores struct {
	Axis  []float64
	Score [][]float64
}

// A drawKernel draws the data of an experiment. It also returns the generator that draws the
// splits.
type drawKernel func() (*experiment.Setup, synth.Source, error)

// setup draws data, splits and initial weights. They are the same for all variants. The parameter v
// is the variant of the gradient.
func (p LearnedKernel) setup(v Variant, draw drawKernel) (*experiment.Setup, error) {
	s, src, err := draw()
	if err != nil {
		return nil, err
	}
	s.Start = torchStart(p.Kernel(), p.Seed)
	return s, p.use(s, v, s.Train, src)
}

// stepper returns the stepper along a variant.
func (p LearnedKernel) stepper(v Variant, draw drawKernel) (*experiment.Stepper, error) {
	s, err := p.setup(v, draw)
	if err != nil {
		return nil, err
	}
	w := &experiment.Stepper{Setup: s, Searcher: GradientDescent(p.StepSize, math.MaxInt-1)}
	if v.detached() {
		w.Exact, err = p.setup(v.exactVariant(), draw)
	}
	return w, err
}

// run runs every variant.
func (p LearnedKernel) run(ctx context.Context, hooks experiment.Hooks, draw drawKernel) (*LearnedKernelResult, error) {
	s, _, err := draw()
	if err != nil {
		return nil, err
	}
	runs, err := experiment.Cells(ctx, hooks, len(Variants),
		func(i int) string { return Variants[i].String() },
		func(i int) (Run, error) { return p.runVariant(ctx, Variants[i], draw) })
	if err != nil {
		return nil, err
	}
	r := &LearnedKernelResult{Train: experiment.AsDrawn(s.Train), Test: experiment.AsDrawn(s.Test), Runs: runs}
	r.Bayes = BayesAccuracy{Test: s.Rule.SampleAccuracy(synth.Data{X: s.Test.Dense(), Y: s.Test.Y}), Population: s.Rule.Accuracy}
	r.Bayes.Scores, err = p.scores(func(dst []float64, x *mat.Dense) error {
		for i := range dst {
			dst[i] = s.Rule.Score(x.RawRowView(i))
		}
		return nil
	})
	return r, err
}

// runVariant runs a variant twice, the second time from perturbed weights.
func (p LearnedKernel) runVariant(ctx context.Context, v Variant, draw drawKernel) (run Run, err error) {
	run.Variant = v
	w, err := p.stepper(v, draw)
	if err != nil {
		return run, err
	}
	for state, err := range w.States(ctx) {
		if err != nil {
			return run, err
		}
		on, err := experiment.Evaluate(state.Model, w.Test)
		if err != nil {
			return run, err
		}
		run.CVLoss = append(run.CVLoss, state.CVLoss)
		run.Accuracy = append(run.Accuracy, on.Accuracy)
		run.Cosine = append(run.Cosine, state.Cosine)
		if p.hasManifold(state.Step) {
			m, err := newManifold(state.Model, w.Test.Dense())
			if err != nil {
				return run, err
			}
			m.Step, m.Accuracy = state.Step, on.Accuracy
			run.Manifolds = append(run.Manifolds, m)
		}
		if state.Step == p.Steps {
			if run.Boundary, err = p.scores(func(dst []float64, x *mat.Dense) error { return state.Model.Predict(dst, x) }); err != nil {
				return run, err
			}
			break
		}
	}
	floats.Scale(1+perturbation, w.Start)
	w.CV.Reset()
	for step, err := range w.Search(ctx, p.Gradient()) {
		if err != nil {
			return run, err
		}
		run.Perturbed = append(run.Perturbed, step.Loss)
	}
	return run, nil
}

// hasManifold reports whether the result contains the manifold after the given step. An entry of
// ManifoldSteps that is above Steps stands for the last step.
func (p LearnedKernel) hasManifold(step int) bool {
	return slices.ContainsFunc(p.ManifoldSteps, func(shown int) bool { return min(shown, p.Steps) == step })
}

func newManifold(model *cvgm.Model, x *mat.Dense) (Manifold, error) {
	m := Manifold{W: [2]float64(model.Theta), B: model.Theta[2]}
	phi, err := model.Features.Forward(model.Params, x)
	if err != nil {
		return m, err
	}
	for j := range m.Phi {
		m.Phi[j] = mat.Col(nil, j, phi)
	}
	return m, nil
}

// scores evaluates a prediction function on the grid.
func (p LearnedKernel) scores(predict func(dst []float64, x *mat.Dense) error) (Scores, error) {
	n := p.GridPoints
	s := Scores{Axis: make([]float64, n), Score: make([][]float64, n)}
	floats.Span(s.Axis, -p.GridHalf, p.GridHalf)
	column := mat.NewDense(n, 2, nil)
	column.SetCol(1, s.Axis)
	for i, x := range s.Axis {
		for j := range n {
			column.Set(j, 0, x)
		}
		s.Score[i] = make([]float64, n)
		if err := predict(s.Score[i], column); err != nil {
			return s, err
		}
	}
	return s, nil
}
