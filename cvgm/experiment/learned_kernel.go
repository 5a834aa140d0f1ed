package experiment

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/qpdiff"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// KernelMethod holds the parameters of the cross-validation gradient method on
// a learned kernel: logistic regression on the two features of a network whose
// weights are the hyperparameters.
type KernelMethod struct {
	K        int     `help:"cross-validation splits"`
	P        float64 `help:"fraction of the examples that each split trains on"`
	C        float64 `help:"weight of the logistic losses against the ridge penalty"`
	Hidden   []int   `help:"units of the network's hidden layers"`
	StepSize float64 `help:"step size of the gradient method"`
	Steps    int     `help:"steps of the gradient method"`
}

// kernel returns the network, from points of the plane to points of the plane.
func (m KernelMethod) kernel() *cvgm.Perceptron {
	return &cvgm.Perceptron{Widths: append(append([]int{2}, m.Hidden...), 2)}
}

// NumHyperparameters counts the network's weights, which are the method's
// hyperparameters.
func (m KernelMethod) NumHyperparameters() int { return m.kernel().NumParams() }

// gradientDescent takes a number of steps of one size and evaluates once more
// where the last one ends.
func gradientDescent(size float64, steps int) cvgm.Searcher {
	return cvgm.ProjectedGradient{StepSize: size, MaxEvals: steps + 1, Tol: -1}
}

// search runs the gradient method from the given parameters.
func (m KernelMethod) search(l *kernelLoss, start []float64) iter.Seq2[cvgm.Step, error] {
	return gradientDescent(m.StepSize, m.Steps).Search(cvgm.Problem{Objective: l.Eval}, start)
}

// LearnedKernelParams are the parameters that the paper's experiments with a
// learned kernel have in common.
type LearnedKernelParams struct {
	Seed  uint32 `help:"seed of the generators of NumPy (data, splits), Python (XOR's squares) and PyTorch (initial weights)"`
	Train int    `help:"training examples N"`
	Test  int    `help:"test examples"`
	KernelMethod
	Panels     []int   `help:"numbers of steps after which the kernel's manifold is shown; those above Steps stand for the last step"`
	GridPoints int     `help:"points per axis of the grid on which the decision boundary is found"`
	GridHalf   float64 `help:"the grid covers -GridHalf to GridHalf along both axes"`
}

// LearnedKernelResult is what the paper's experiments with a learned kernel
// measure.
type LearnedKernelResult struct {
	Params      LearnedKernelParams
	Train, Test qpdiff.Data
	Runs        []KernelRun // one per variant, in the order of Variants
	Bayes       BayesAccuracy
}

// Run returns the run of a variant.
func (r *LearnedKernelResult) Run(v Variant) *KernelRun {
	return &r.Runs[slices.IndexFunc(r.Runs, func(run KernelRun) bool { return run.Variant == v })]
}

// BayesAccuracy is the accuracy of the best rule there is.
type BayesAccuracy struct {
	Test       float64 // on the test examples
	Population float64 // exact
	// Scores are P(y=+1 | x) − P(y=−1 | x) on the grid of the runs' boundaries.
	Scores Scores
	Quoted Quoted
}

// KernelRun is the gradient method along one variant of the gradient.
type KernelRun struct {
	Variant Variant
	// After 0, 1, …, Steps steps: the CV loss, the accuracy on the test
	// examples of the model fitted to all training examples, and the cosine
	// between the variant's direction and the exact gradient of the same loss.
	// (With each step the published code prints the loss before it and the
	// accuracy after it.)
	CVLoss, Accuracy, Cosine []float64
	// Twin is the CV loss along the same variant from initial weights that are
	// larger by a factor of 1+1e-12.
	Twin                    []float64
	Manifolds               []Manifold
	Boundary                Scores // of the model after the last step
	QuotedLoss, QuotedFinal Quoted // of LastLoss and FinalAccuracy
}

// LastLoss returns the CV loss before the last step, the last one that the
// published code prints.
func (r *KernelRun) LastLoss() float64 { return r.CVLoss[len(r.CVLoss)-2] }

// FinalAccuracy returns the test accuracy after the last step.
func (r *KernelRun) FinalAccuracy() float64 { return r.Accuracy[len(r.Accuracy)-1] }

// Determined returns the number of steps after which the twin is still within
// 1e-4 of the CV loss. What comes later is decided by rounding, and differs from
// machine to machine.
func (r *KernelRun) Determined() int {
	for k, loss := range r.CVLoss {
		if !(math.Abs(loss-r.Twin[k]) <= 1e-4) {
			return k - 1
		}
	}
	return len(r.CVLoss) - 1
}

// Manifold is the image of the test examples under the kernel at one step, and
// the linear classifier there: the label is the sign of W·φ + B.
type Manifold struct {
	Step     int // how many steps were taken
	Phi      [2][]float64
	W        [2]float64
	B        float64
	Accuracy float64
}

// Scores are predictions at Axis × Axis: Score[i][j] at (Axis[i], Axis[j]).
type Scores struct {
	Axis  []float64
	Score [][]float64
}

// kernelProblem is what the variants have in common.
type kernelProblem struct {
	rule        *synth.BayesRule
	train, test qpdiff.Data
	splits      []cvgm.Split
	start       []float64
}

// problem draws the splits from src, after the data.
func (p LearnedKernelParams) problem(rule *synth.BayesRule, train, test synth.Data, src synth.Source) (kernelProblem, error) {
	k := kernelProblem{rule: rule, train: qpdiff.Data{X: train.X, Y: train.Y}, test: qpdiff.Data{X: test.X, Y: test.Y}, start: torchStart(p.kernel(), p.Seed)}
	var err error
	k.splits, err = cvgm.RandomSplits(src, p.Train, p.K, p.P)
	return k, err
}

// kernelQuotes are what others report of a published run.
type kernelQuotes struct{ bayes, loss, accuracy Quoted }

// run runs every variant.
func (p LearnedKernelParams) run(ctx context.Context, draw func() (kernelProblem, error), q kernelQuotes) (*LearnedKernelResult, error) {
	k, err := draw()
	if err != nil {
		return nil, err
	}
	runs, err := keptCells(ctx, len(Variants), func(i int) (KernelRun, error) {
		run, err := p.runVariant(ctx, Variants[i], k)
		if err != nil {
			err = fmt.Errorf("%v: %w", Variants[i], err)
		}
		return run, err
	})
	if err != nil {
		return nil, err
	}
	r := &LearnedKernelResult{Params: p, Train: k.train, Test: k.test, Runs: runs}
	published := r.Run(Published)
	published.QuotedLoss, published.QuotedFinal = q.loss, q.accuracy
	r.Bayes = BayesAccuracy{Test: k.rule.SampleAccuracy(synth.Data{X: k.test.X, Y: k.test.Y}), Population: k.rule.Accuracy, Quoted: q.bayes}
	r.Bayes.Scores, err = p.scores(func(dst []float64, x *mat.Dense) error {
		for i := range dst {
			dst[i] = k.rule.Score(x.RawRowView(i))
		}
		return nil
	})
	return r, err
}

func (p LearnedKernelParams) check() error {
	bad := func(arg string, value any, remedy string) error {
		return &qpdiff.ArgError{Arg: arg, Why: qpdiff.ErrDomain, Problem: fmt.Sprintf("is %v", value), Remedy: remedy}
	}
	switch {
	case p.Steps < 1:
		return bad("Steps", p.Steps, "take at least one step")
	case p.GridPoints < 2:
		return bad("GridPoints", p.GridPoints, "use at least two points per axis")
	case !(p.GridHalf > 0):
		return bad("GridHalf", p.GridHalf, "give the grid a positive extent")
	case len(p.Panels) > 0 && slices.Min(p.Panels) < 0:
		return bad("Panels", p.Panels, "name steps from 0 on")
	case len(p.Hidden) > 0 && slices.Min(p.Hidden) < 1:
		return bad("Hidden", p.Hidden, "give every hidden layer at least one unit")
	}
	return nil
}

// torchStart returns the parameters that PyTorch gives a new network after
// torch.manual_seed.
func torchStart(phi *cvgm.Perceptron, seed uint32) []float64 {
	t := synth.NewTorch(uint64(seed))
	params := make([]float64, phi.NumParams())
	rest := params
	for l := 1; l < len(phi.Widths); l++ {
		in, out := phi.Widths[l-1], phi.Widths[l]
		t.Linear(rest[:in*out], rest[in*out:(in+1)*out])
		rest = rest[(in+1)*out:]
	}
	return params
}

// runVariant runs one variant, and its twin.
func (p LearnedKernelParams) runVariant(ctx context.Context, v Variant, k kernelProblem) (run KernelRun, err error) {
	run.Variant = v
	w, err := p.newWalk(v, k)
	if err != nil {
		return run, err
	}
	for state, err := range w.States() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return run, err
		}
		on, err := Judge(state.Model, k.test)
		if err != nil {
			return run, err
		}
		run.CVLoss = append(run.CVLoss, state.CVLoss)
		run.Accuracy = append(run.Accuracy, on.Accuracy)
		run.Cosine = append(run.Cosine, state.Cosine)
		if p.shown(state.Step) {
			m, err := newManifold(state.Model, k.test.X)
			if err != nil {
				return run, err
			}
			m.Step, m.Accuracy = state.Step, on.Accuracy
			run.Manifolds = append(run.Manifolds, m)
		}
		if state.Step == p.Steps {
			if run.Boundary, err = p.scores(state.Model.Predict); err != nil {
				return run, err
			}
			break
		}
	}
	twin := slices.Clone(k.start)
	floats.Scale(1+1e-12, twin)
	w.loss.cv.Reset()
	for step, err := range p.search(w.loss, twin) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return run, err
		}
		run.Twin = append(run.Twin, step.Loss)
	}
	return run, nil
}

// shown reports whether the manifold after that step has a panel: the walk may
// be shorter than the panels assume.
func (p LearnedKernelParams) shown(step int) bool {
	return slices.ContainsFunc(p.Panels, func(panel int) bool { return min(panel, p.Steps) == step })
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
func (p LearnedKernelParams) scores(predict func(dst []float64, x *mat.Dense) error) (Scores, error) {
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

func cosine(a, b []float64) float64 {
	return floats.Dot(a, b) / (floats.Norm(a, 2) * floats.Norm(b, 2))
}
