package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/search"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

func init() {
	register[SampleSizeParams]("sample_size", "CVGM against networks and logistic regression over training sets of many sizes")
}

// SampleSizeParams are the parameters of the paper's comparison of CVGM with a
// network and with logistic regression over training sets of many sizes.
type SampleSizeParams struct {
	RingsData
	KernelCVGM
	MinSize   int `help:"smallest number of training examples" range:"[2,∞)" small:"[8,12]"`
	MaxSize   int `help:"largest number of training examples" range:"[2,∞)" small:"[12,24]"`
	SizeStep  int `help:"step from one size to the next" range:"[1,∞)" small:"[4,12]"`
	Seeds     int `help:"repetitions per size" range:"[1,∞)" small:"[1,3]"`
	Test      int `help:"test examples" range:"[1,∞)" small:"[10,50]"`
	SmallSize int `help:"sizes up to this one are also compared by themselves" range:"[0,∞)" small:"[8,24]"`

	NetworkStepSize float64 `help:"step size of the network's gradient descent" range:"(0,∞)" small:"[.001,.1]"`
	NetworkSteps    int     `help:"steps of the network's gradient descent" range:"[1,∞)" small:"[1,10]"`
	AdamStepSize    float64 `help:"step size of the network trained by Adam" range:"(0,∞)" small:"[.001,.1]"`
	AdamSteps       int     `help:"steps of the network trained by Adam" range:"[1,∞)" small:"[1,10]"`
	LinearC         float64 `help:"C of logistic regression on the raw features" range:"(0,∞)" small:"[.1,10]"`
	Rivals
}

// DefaultSampleSize returns the sizes and the 25 seeds that the paper states (its
// code sweeps 8 to 96 over 10), CVGM as in the rings experiment, and the
// network's step size and steps that the paper states. Adam and the rivals are not in the
// paper.
func DefaultSampleSize() SampleSizeParams {
	q := paperRings()
	return SampleSizeParams{
		RingsData: q.RingsData, KernelCVGM: q.KernelCVGM,
		MinSize: 8, MaxSize: 200, SizeStep: 4, Seeds: 25, Test: q.Test, SmallSize: 20,
		NetworkStepSize: 1e-2, NetworkSteps: 100, AdamStepSize: .01, AdamSteps: 200, LinearC: 1,
		Rivals: defaultRivals(),
	}
}

func (SampleSizeParams) defaults() any { return DefaultSampleSize() }

func (p SampleSizeParams) check() error {
	if p.MaxSize < p.MinSize {
		return invalid("MaxSize", p.MaxSize, fmt.Sprintf("use at least MinSize, %d", p.MinSize))
	}
	return nil
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
	// The rivals begin here. The last is the network of SizeAdam, trained to convergence.
	SizeQuadratic
	SizeMachineCVGM
	SizeMachineGrid
	SizeRandomFeatures
	SizeNetworkCV
	SizeAdamLong
)

var sizeMethods = []string{
	SizeBayes:            "Bayes rule",
	SizeCVGMFull:         "CVGM, full gradient",
	SizeCVGMPublished:    "CVGM, published gradient",
	SizeAdam:             "network, Adam",
	SizeNetworkPublished: "network, published (accumulated gradients)",
	SizeNetworkText:      "network, as in the text (gradient descent)",
	SizeLogistic:         "logistic regression",
	SizeQuadratic:        "logistic regression, quadratic features, C by CVGM",
	SizeMachineCVGM:      "RBF machine, C and width by CVGM",
	SizeMachineGrid:      "RBF machine, C and width by grid",
	SizeRandomFeatures:   "random ReLU features, C by CVGM",
	SizeNetworkCV:        "network, decay and stopping by CV",
	SizeAdamLong:         "network, Adam to convergence",
}

// SampleSizeResult is the accuracy of each method at each size.
type SampleSizeResult struct {
	Params  SampleSizeParams
	Sizes   []int
	Methods []SizeMethod
	// Overfitting is the accuracy of the network trained by Adam less that of the same
	// network trained to convergence, on the same data, per size; 0 of 0 cells where the
	// latter is not measured.
	Overfitting []Estimate
	// Failures lists the cells that could not be computed. They are left out
	// of every mean.
	Failures []CellFailure
}

// SizeMethod is one method over all sizes and seeds.
type SizeMethod struct {
	Name     string
	Accuracy [][]float64 // [size][seed]; NaN in cells that failed, or at sizes at which a rival is not measured
	Mean     []Estimate  // per size
	// CVGM, with the full and with the published gradient, against this method.
	Full, Published SizeComparison
}

// SizeComparison is a paired comparison over the cells of all sizes, over those
// of the sizes up to Params.SmallSize, and over the others: the differences are CVGM's accuracy
// less the other method's, and Wins is the share of cells in which CVGM is more
// accurate, a tie counting half. BySize holds the differences size by size.
type SizeComparison struct {
	All, Small, Large Comparison
	BySize            []Estimate
}

// CellFailure is the error of one cell.
type CellFailure struct {
	Size, Seed int
	Problem    string
}

// Run measures all methods in all cells, in parallel. A cell that fails is
// recorded and the others are still measured; only if every cell fails is that
// an error. Every cell has data, splits and initial weights of its own, so that
// cells are independent; all methods of a cell share its data, and all networks
// of a cell their initial weights.
func (p SampleSizeParams) Run(ctx context.Context) (*SampleSizeResult, error) {
	if err := Check(&p); err != nil {
		return nil, err
	}
	r := &SampleSizeResult{Params: p}
	for n := p.MinSize; n <= p.MaxSize; n += p.SizeStep {
		r.Sizes = append(r.Sizes, n)
	}
	measured, err := cellTable(ctx, len(r.Sizes), p.Seeds,
		func(i, seed int) string { return fmt.Sprintf("size %d, seed %d", r.Sizes[i], seed) },
		func(i, seed int) (cell sizeCell, err error) {
			cell.Accuracy, err = p.cell(ctx, r.Sizes[i], seed)
			if err != nil && ctx.Err() == nil {
				cell.Accuracy = slices.Repeat([]float64{math.NaN()}, len(sizeMethods))
				cell.Problem, err = err.Error(), nil
			}
			return cell, err
		})
	if err != nil {
		return nil, err
	}
	for _, name := range sizeMethods {
		r.Methods = append(r.Methods, SizeMethod{Name: name})
	}
	for i, size := range r.Sizes {
		for k := range r.Methods {
			var row []float64
			for _, c := range measured[i] {
				row = append(row, c.Accuracy[k])
			}
			r.Methods[k].Accuracy = append(r.Methods[k].Accuracy, row)
		}
		for seed, c := range measured[i] {
			if c.Problem != "" {
				r.Failures = append(r.Failures, CellFailure{size, seed, c.Problem})
			}
		}
	}
	if len(r.Failures) == len(r.Sizes)*p.Seeds {
		return nil, fmt.Errorf("every cell failed, the first (size %d, seed %d): %s", r.Failures[0].Size, r.Failures[0].Seed, r.Failures[0].Problem)
	}
	r.summarise()
	return r, nil
}

// sizeCell is what one cell measures: the accuracy of every method, or NaN and
// why there is none.
type sizeCell struct {
	Accuracy []float64
	Problem  string
}

// cell measures all methods on one data set.
func (p SampleSizeParams) cell(ctx context.Context, size, seed int) ([]float64, error) {
	stream := func(purpose string) *synth.Stream {
		return synth.NewStream(uint64(seed), fmt.Sprintf("sample size %d: %s", size, purpose))
	}
	s, err := p.draw(stream("training data"), stream("test data"), size, p.Test)
	if err != nil {
		return nil, err
	}
	net := newNetwork(p.KernelCVGM, s.Train)
	s.Start = make([]float64, net.numParams())
	net.init(s.Start, stream("weights"))

	// The kernel's initial weights are the network's without the last layer.
	kernel := RingsProblem{RingsData: p.RingsData, Train: size, Test: p.Test, KernelCVGM: p.KernelCVGM}
	cvgmAlong := func(v Variant) (float64, error) {
		s, err := kernel.setup(v, stream, "splits", nil)
		if err != nil {
			return 0, err
		}
		x, err := lastPoint(s.Search(ctx, p.gradient()))
		if err != nil {
			return 0, err
		}
		on, err := s.evaluate(x)
		return on.Accuracy, err
	}
	descent := gradientDescent(p.NetworkStepSize, p.NetworkSteps)
	adam := search.Adam{StepSize: p.AdamStepSize, MaxEvals: p.AdamSteps + 1, Epsilon: 1e-8, Tol: -1}
	accuracies := slices.Repeat([]float64{math.NaN()}, len(sizeMethods))
	for k, measure := range []func() (float64, error){
		SizeBayes:            func() (float64, error) { return s.Rule.SampleAccuracy(synth.Data{X: s.Test.X, Y: s.Test.Y}), nil },
		SizeCVGMFull:         func() (float64, error) { return cvgmAlong(Full) },
		SizeCVGMPublished:    func() (float64, error) { return cvgmAlong(Published) },
		SizeAdam:             func() (float64, error) { return net.accuracy(ctx, *s, adam, net.Eval) },
		SizeNetworkPublished: func() (float64, error) { return net.accuracy(ctx, *s, descent, accumulated(net.Eval)) },
		SizeNetworkText:      func() (float64, error) { return net.accuracy(ctx, *s, descent, net.Eval) },
		SizeLogistic:         func() (float64, error) { return p.logistic(s) },
	} {
		if accuracies[k], err = measure(); err != nil {
			return nil, fmt.Errorf("%s: %w", sizeMethods[k], err)
		}
	}
	if !p.hasRivals(size) {
		return accuracies, nil
	}
	rivals, err := p.rivals(ctx, s, net, stream)
	copy(accuracies[SizeQuadratic:], rivals)
	return accuracies, err
}

// hasRivals reports whether size is, of all sizes, the nearest to one of RivalSizes.
func (p SampleSizeParams) hasRivals(size int) bool {
	last := (p.MaxSize - p.MinSize) / p.SizeStep
	return slices.ContainsFunc(p.RivalSizes, func(near int) bool {
		steps := math.Round(float64(near-p.MinSize) / float64(p.SizeStep))
		return size == p.MinSize+p.SizeStep*int(max(0, min(steps, float64(last))))
	})
}

// logistic returns the test accuracy of logistic regression on the raw features.
func (p SampleSizeParams) logistic(s *Setup) (float64, error) {
	l := &linear.Logistic{Intercept: linear.UnpenalisedIntercept}
	theta := make([]float64, 3)
	if err := fit(l, s.Train, theta, []float64{p.LinearC}); err != nil {
		return 0, err
	}
	on, err := evaluate(func(dst []float64, x *mat.Dense) error {
		for i := range dst {
			dst[i] = theta[0]*x.At(i, 0) + theta[1]*x.At(i, 1) + theta[2]
		}
		return nil
	}, s.Test)
	return on.Accuracy, err
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
	r.Overfitting = r.against(SizeAdam, SizeAdamLong).BySize
}

func (r *SampleSizeResult) against(first, second int) (c SizeComparison) {
	var all, small, large [2][]float64
	for i, size := range r.Sizes {
		var here [2][]float64
		part := &large
		if size <= r.Params.SmallSize {
			part = &small
		}
		for seed, v := range r.Methods[first].Accuracy[i] {
			if w := r.Methods[second].Accuracy[i][seed]; !math.IsNaN(v) && !math.IsNaN(w) {
				here[0], here[1] = append(here[0], v), append(here[1], w)
			}
		}
		c.BySize = append(c.BySize, higher(here).Difference)
		for k, v := range here {
			all[k], part[k] = append(all[k], v...), append(part[k], v...)
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
