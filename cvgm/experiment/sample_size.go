package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/qpdiff"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// SampleSizeParams are the parameters of the paper's comparison of CVGM with a
// network and with logistic regression over training sets of many sizes.
type SampleSizeParams struct {
	RingsData
	KernelMethod
	MinSize  int `help:"smallest number of training examples"`
	MaxSize  int `help:"largest number of training examples"`
	SizeStep int `help:"step from one size to the next"`
	Seeds    int `help:"repetitions per size"`
	Test     int `help:"test examples"`
	Small    int `help:"sizes up to this one are also compared by themselves"`

	NetworkStep  float64 `help:"step size of the network's gradient descent"`
	NetworkSteps int     `help:"steps of the network's gradient descent"`
	AdamStep     float64 `help:"step size of the network trained by Adam"`
	AdamSteps    int     `help:"steps of the network trained by Adam"`
	LinearC      float64 `help:"C of logistic regression on the raw features"`
}

// PaperSampleSize returns the sizes and the 25 seeds that the paper states (its
// code sweeps 8 to 96 over 10), CVGM as in the rings experiment, and the
// network's step size and steps that the paper states. Adam is ours.
func PaperSampleSize() SampleSizeParams {
	return SampleSizeParams{
		RingsData: paperRingsData, KernelMethod: paperRingsMethod(),
		MinSize: 8, MaxSize: 200, SizeStep: 4, Seeds: 25, Test: 1000, Small: 20,
		NetworkStep: 1e-2, NetworkSteps: 100, AdamStep: .01, AdamSteps: 200, LinearC: 1,
	}
}

// The order of SampleSizeResult.Methods.
const (
	SizeBayes = iota
	SizeCVGMFull
	SizeCVGMPublished
	SizeAdam
	SizeNetworkPublished
	SizeNetworkText
	SizeLogistic
)

var sizeMethods = []string{
	SizeBayes:            "Bayes rule",
	SizeCVGMFull:         "CVGM, full gradient",
	SizeCVGMPublished:    "CVGM, published gradient",
	SizeAdam:             "network, Adam",
	SizeNetworkPublished: "network, published (accumulated gradients)",
	SizeNetworkText:      "network, as in the text (gradient descent)",
	SizeLogistic:         "logistic regression",
}

// SampleSizeResult is the accuracy of each method at each size.
type SampleSizeResult struct {
	Params  SampleSizeParams
	Sizes   []int
	Methods []SizeMethod
	// Failures lists the cells that could not be computed. They are left out
	// of every mean.
	Failures []CellFailure
}

// SizeMethod is one method over all sizes and seeds.
type SizeMethod struct {
	Name     string
	Accuracy [][]float64 // [size][seed]; NaN in cells that failed
	Mean     []Estimate  // per size
	// CVGM, with the full and with the published gradient, against this method.
	Full, Published SizeComparison
	// What others report of Published.All.Wins. Their sizes and repetitions are
	// fewer, and their ties count as lost.
	QuotedWins Quoted
}

// SizeComparison is a paired comparison over the cells of all sizes, over those
// of the sizes up to Params.Small, and over the others: the differences are CVGM's accuracy
// less the other method's, and Wins is the share of cells in which CVGM is more
// accurate, a tie counting half. BySize holds the differences size by size.
type SizeComparison struct {
	All, Small, Large Comparison
	BySize            []Estimate
}

// CellFailure says what went wrong in one cell.
type CellFailure struct {
	Size, Seed int
	Problem    string
}

// Run measures all methods in all cells, in parallel. A cell that fails is
// recorded and the rest goes on; only if every cell fails is that an error.
// Every cell has data, splits and initial weights of its own, so that cells are
// independent; all methods of a cell share its data, and all networks of a cell
// their initial weights.
func (p SampleSizeParams) Run(ctx context.Context) (*SampleSizeResult, error) {
	if p.MinSize < 2 || p.MaxSize < p.MinSize || p.SizeStep < 1 || p.Seeds < 1 {
		return nil, &qpdiff.ArgError{Arg: "SampleSizeParams", Why: qpdiff.ErrDomain,
			Problem: fmt.Sprintf("asks for sizes %d to %d in steps of %d over %d seeds", p.MinSize, p.MaxSize, p.SizeStep, p.Seeds),
			Remedy:  "use 2 ≤ MinSize ≤ MaxSize, a positive step and at least one seed"}
	}
	for name, steps := range map[string]int{"Steps": p.Steps, "NetworkSteps": p.NetworkSteps, "AdamSteps": p.AdamSteps} {
		if steps < 1 {
			return nil, &qpdiff.ArgError{Arg: name, Why: qpdiff.ErrDomain, Problem: fmt.Sprintf("is %d", steps), Remedy: "take at least one step"}
		}
	}
	r := &SampleSizeResult{Params: p}
	for n := p.MinSize; n <= p.MaxSize; n += p.SizeStep {
		r.Sizes = append(r.Sizes, n)
	}
	cells, err := keptCells(ctx, len(r.Sizes)*p.Seeds, func(i int) (measured sizeCell, err error) {
		// The largest first: they take longest, and in the end only short ones
		// are left to share out.
		size, seed := r.Sizes[len(r.Sizes)-1-i/p.Seeds], i%p.Seeds
		measured.Accuracy, err = p.cell(ctx, size, seed)
		if err != nil && ctx.Err() == nil {
			measured.Problem, err = err.Error(), nil
		}
		return measured, err
	})
	if err != nil {
		return nil, err
	}
	for k, name := range sizeMethods {
		m := SizeMethod{Name: name}
		for i := range r.Sizes {
			var seeds []float64
			for _, c := range cells[(len(r.Sizes)-1-i)*p.Seeds:][:p.Seeds] {
				if c.Problem != "" {
					seeds = append(seeds, math.NaN())
				} else {
					seeds = append(seeds, c.Accuracy[k])
				}
			}
			m.Accuracy = append(m.Accuracy, seeds)
		}
		r.Methods = append(r.Methods, m)
	}
	for i, size := range r.Sizes {
		for seed, c := range cells[(len(r.Sizes)-1-i)*p.Seeds:][:p.Seeds] {
			if c.Problem != "" {
				r.Failures = append(r.Failures, CellFailure{size, seed, c.Problem})
			}
		}
	}
	if len(r.Failures) == len(cells) {
		return nil, fmt.Errorf("every cell failed, the first (size %d, seed %d): %s", r.Failures[0].Size, r.Failures[0].Seed, r.Failures[0].Problem)
	}
	r.summarise()
	r.Methods[SizeNetworkPublished].QuotedWins = Quoted{Code: ".782608695652174"}
	return r, nil
}

// sizeCell is what one cell measures: the accuracy of every method, or what
// went wrong.
type sizeCell struct {
	Accuracy []float64
	Problem  string
}

// cell measures all methods on one data set.
func (p SampleSizeParams) cell(ctx context.Context, size, seed int) ([]float64, error) {
	stream := func(purpose string) *synth.Stream {
		return synth.NewStream(uint64(seed), fmt.Sprintf("sample size %d: %s", size, purpose))
	}
	rule, err := p.rings().Bayes()
	if err != nil {
		return nil, err
	}
	train, err := synth.MakeRings(stream("training data"), size, p.rings())
	if err != nil {
		return nil, err
	}
	test, err := synth.MakeRings(stream("test data"), p.Test, p.rings())
	if err != nil {
		return nil, err
	}
	splits, err := cvgm.RandomSplits(stream("splits"), size, p.K, p.P)
	if err != nil {
		return nil, err
	}
	net := newNetwork(p.KernelMethod, qpdiff.Data{X: train.X, Y: train.Y})
	c := sizeContest{p, qpdiff.Data{X: train.X, Y: train.Y}, qpdiff.Data{X: test.X, Y: test.Y}, splits, net, make([]float64, net.numParams())}
	net.init(c.start, stream("weights"))

	accuracies := make([]float64, len(sizeMethods))
	for k, measure := range []func() (float64, error){
		SizeBayes:         func() (float64, error) { return rule.SampleAccuracy(test), nil },
		SizeCVGMFull:      func() (float64, error) { return c.cvgm(ctx, Full) },
		SizeCVGMPublished: func() (float64, error) { return c.cvgm(ctx, Published) },
		SizeAdam: func() (float64, error) {
			return c.network(ctx, cvgm.Adam{StepSize: p.AdamStep, MaxEvals: p.AdamSteps + 1, Epsilon: 1e-8, Tol: -1}, net.Eval)
		},
		SizeNetworkPublished: func() (float64, error) {
			return c.network(ctx, gradientDescent(p.NetworkStep, p.NetworkSteps), accumulated(net.Eval))
		},
		SizeNetworkText: func() (float64, error) {
			return c.network(ctx, gradientDescent(p.NetworkStep, p.NetworkSteps), net.Eval)
		},
		SizeLogistic: c.logistic,
	} {
		if accuracies[k], err = measure(); err != nil {
			return nil, fmt.Errorf("%s: %w", sizeMethods[k], err)
		}
	}
	return accuracies, nil
}

// sizeContest is one data set on which the methods compete.
type sizeContest struct {
	p           SampleSizeParams
	train, test qpdiff.Data
	splits      []cvgm.Split
	net         *network
	start       []float64 // the network's; the kernel's without the last three
}

func (c sizeContest) accuracy(predict func(dst []float64, x *mat.Dense) error) (float64, error) {
	on, err := judge(predict, c.test)
	return on.Accuracy, err
}

func (c sizeContest) cvgm(ctx context.Context, v Variant) (float64, error) {
	loss, err := c.p.newKernelLoss(v, c.train, c.splits)
	if err != nil {
		return 0, err
	}
	x, err := train(ctx, gradientDescent(c.p.StepSize, c.p.Steps), loss.Eval, c.start[:len(c.start)-3])
	if err != nil {
		return 0, err
	}
	model, err := loss.cv.Final(x)
	if err != nil {
		return 0, err
	}
	return c.accuracy(model.Predict)
}

func (c sizeContest) network(ctx context.Context, s cvgm.Searcher, loss cvgm.Objective) (float64, error) {
	x, err := train(ctx, s, loss, c.start)
	if err != nil {
		return 0, err
	}
	return c.accuracy(c.net.predict(x))
}

// logistic fits logistic regression to the raw features.
func (c sizeContest) logistic() (float64, error) {
	l := &qpdiff.Logistic{Intercept: qpdiff.UnpenalisedIntercept}
	theta := make([]float64, 3)
	if err := l.Load(c.train); err != nil {
		return 0, err
	}
	if err := l.Fit(theta, []float64{c.p.LinearC}); err != nil {
		return 0, err
	}
	return c.accuracy(func(dst []float64, x *mat.Dense) error {
		for i := range dst {
			dst[i] = theta[0]*x.At(i, 0) + theta[1]*x.At(i, 1) + theta[2]
		}
		return nil
	})
}

// Overall returns the mean accuracy of a method over all cells.
func (r *SampleSizeResult) Overall(method int) Estimate {
	all := slices.Concat(r.Methods[method].Accuracy...)
	return estimate(slices.DeleteFunc(all, math.IsNaN))
}

// summarise computes the means and comparisons.
func (r *SampleSizeResult) summarise() {
	for k := range r.Methods {
		m := &r.Methods[k]
		m.Mean = make([]Estimate, len(r.Sizes))
		for i, seeds := range m.Accuracy {
			m.Mean[i] = estimate(slices.DeleteFunc(slices.Clone(seeds), math.IsNaN))
		}
		m.Full = r.against(SizeCVGMFull, k)
		m.Published = r.against(SizeCVGMPublished, k)
	}
}

func (r *SampleSizeResult) against(first, second int) (c SizeComparison) {
	var all, small, large [2][]float64
	for i, size := range r.Sizes {
		var here [2][]float64
		for seed, v := range r.Methods[first].Accuracy[i] {
			if w := r.Methods[second].Accuracy[i][seed]; !math.IsNaN(v) && !math.IsNaN(w) {
				here[0], here[1] = append(here[0], v), append(here[1], w)
			}
		}
		c.BySize = append(c.BySize, higher(here).Difference)
		for k, v := range here {
			all[k] = append(all[k], v...)
			if size <= r.Params.Small {
				small[k] = append(small[k], v...)
			} else {
				large[k] = append(large[k], v...)
			}
		}
	}
	c.All, c.Small, c.Large = higher(all), higher(small), higher(large)
	return c
}

// higher compares two methods by what is the better the higher it is.
func higher(v [2][]float64) Comparison {
	c := compare(v[1], v[0])
	c.Difference.Mean = 0 - c.Difference.Mean
	return c
}
