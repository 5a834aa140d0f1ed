// Package samplesize holds the experiments of notebook 03_sample_size. [SampleSizeParams] are the
// parameters of a comparison of CVGM with other methods over training sets of many sizes.
// [AblationParams] are the parameters of a comparison of two gradients: the gradient of the CV
// loss, and the gradient of the training loss.
package samplesize

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
)

// SampleSizeParams are the parameters of a comparison from the paper: CVGM, a network and logistic
// regression are compared over training sets of many sizes.
type SampleSizeParams struct {
	kernels.RingsData
	kernels.KernelCVGM
	MinSize   int `help:"smallest number of training examples" range:"[2,∞)" small:"[8,12]" setting:"sizes N from %v"`
	MaxSize   int `help:"largest number of training examples" range:"[2,∞)" small:"[12,24]" setting:"up to %v"`
	SizeStep  int `help:"step from one size to the next" range:"[1,∞)" small:"[4,12]" setting:"in steps of %v"`
	Seeds     int `help:"repetitions per size" range:"[1,∞)" small:"[1,3]" setting:"%v seeds each"`
	Test      int `help:"test examples" range:"[1,∞)" small:"[10,50]" setting:"%v test examples"`
	SmallSize int `help:"sizes up to this one are also compared by themselves" range:"[0,∞)" small:"[8,24]"`

	NetworkStepSize float64 `help:"step size of the network's gradient descent" range:"(0,∞)" small:"[.001,.1]" setting:"gradient descent on the mean logistic loss of all N with a step of the gradient times %v"`
	NetworkSteps    int     `help:"steps of the network's gradient descent" range:"[1,∞)" small:"[1,10]" setting:"%v steps"`
	AdamStepSize    float64 `help:"step size of the network trained by Adam" range:"(0,∞)" small:"[.001,.1]" setting:"Adam on the mean logistic loss of all N with the step %v"`
	AdamSteps       int     `help:"steps of the network trained by Adam" range:"[1,∞)" small:"[1,10]" setting:"%v steps"`
	LinearC         float64 `help:"C of logistic regression on the raw features" range:"(0,∞)" small:"[.1,10]" setting:"logistic regression on the two coordinates, intercept not penalised, C = %v"`
	Rivals
	experiment.FreshData
}

// Rivals are learners that a practitioner would try on the rings before a learned kernel.
// Cross-validation on balanced splits chooses the hyperparameters of each learner. The rivals are
// measured only at some of the sizes.
type Rivals struct {
	RivalSizes       []int     `help:"the rivals are measured at the sizes nearest to these" range:"[2,∞)" len:"[1,∞)" order:"ascending" small:"[8,20]" setting:"N nearest to %v"`
	RivalK           int       `help:"cross-validation splits of the rivals" range:"[2,∞)" small:"[2,5]"`
	RivalP           float64   `help:"fraction of the examples that each of these splits trains on" range:"(0,1)" splits:"MinSize" small:"[.7,.9]"`
	RivalReach       float64   `help:"C and γ of the rivals are sought from 1 over this to this" unit:"factor" range:"(1,1e100]" small:"[10,1000]"`
	RivalEvaluations int       `help:"evaluations of the search for C, or for C and γ" range:"[1,∞)" small:"[1,6]"`
	RivalGrid        int       `help:"points of the grid per hyperparameter of the kernel machine" range:"[2,∞)" small:"[2,3]"`
	RandomFeatures   int       `help:"random ReLU features" range:"[1,∞)" small:"[2,8]"`
	WeightDecays     []float64 `help:"weight decays among which the network's is chosen" range:"[0,∞)" len:"[1,∞)" order:"ascending" small:"[1e-3,1]"`
	DecaySteps       int       `help:"largest number of Adam's steps among which that network's is chosen" range:"[1,∞)" small:"[1,10]"`
	LongSteps        int       `help:"Adam's steps in training to convergence" range:"[1,∞)" small:"[1,20]" setting:"%v steps"`
}

// DefaultSampleSize returns the paper's sizes and 25 seeds. (The paper's code sweeps sizes from 8
// to 96 over 10 seeds.) CVGM is the same as in the experiment on the rings. The network has the
// paper's step size and number of steps. Adam and the rivals are not in the paper.
func DefaultSampleSize() SampleSizeParams {
	q := kernels.PaperRings()
	return SampleSizeParams{
		RingsData: q.RingsData, KernelCVGM: q.KernelCVGM,
		MinSize: 8, MaxSize: 200, SizeStep: 4, Seeds: 25, Test: q.Test, SmallSize: 20,
		NetworkStepSize: 1e-2, NetworkSteps: 100, AdamStepSize: .01, AdamSteps: 200, LinearC: 1,
		Rivals: defaultRivals(),
	}
}

func defaultRivals() Rivals {
	return Rivals{
		RivalSizes: []int{8, 12, 20, 40, 60, 100}, RivalK: 5, RivalP: .8, RivalReach: 1000, RivalEvaluations: 25, RivalGrid: 5,
		RandomFeatures: 64, WeightDecays: []float64{.001, .01, .1}, DecaySteps: 300, LongSteps: 3000,
	}
}

func (SampleSizeParams) Defaults() any { return DefaultSampleSize() }

func (p SampleSizeParams) Check() error {
	if p.MaxSize < p.MinSize {
		return experiment.Invalid("MaxSize", p.MaxSize, fmt.Sprintf("use at least MinSize, %d", p.MinSize))
	}
	return nil
}

// These constants are the indices in Result.Methods.
const (
	SizeBayes = iota
	SizeCVGMFull
	SizeCVGMPublished
	SizeAdam
	SizeNetworkPublished
	SizeNetworkText
	SizeLogistic
	// The following methods are the rivals, except for the last method. SizeAdamLong is the network
	// of SizeAdam after training to convergence.
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

// Result is the accuracy of each method at each size.
type Result struct {
	Params  SampleSizeParams
	Sizes   []int
	Methods []SizeMethod
	// Overfitting describes the network of SizeAdam. For each size, it holds the accuracy after
	// Params.AdamSteps steps minus the accuracy after training to convergence, on the same data. If
	// training to convergence is not measured, the N of the estimate is 0.
	Overfitting []experiment.Estimate
	// Failures lists the cells that could not be computed. The means do not include these cells.
	Failures []CellFailure
}

// SizeMethod is one method over all sizes and seeds.
type SizeMethod struct {
	Name     string
	Accuracy [][]float64           // [size][seed]; NaN if the cell failed, or if a rival is not measured at the size
	Mean     []experiment.Estimate // for each size
	// These fields compare CVGM with the method Name. In Full, CVGM uses the full gradient. In
	// Published, CVGM uses the published direction.
	Full, Published SizeComparison
}

// SizeComparison is a paired comparison of CVGM with another method. The field All is for the cells
// of all sizes, Small is for the sizes up to Params.SmallSize, and Large is for larger sizes. The
// differences are CVGM's accuracy minus the accuracy of the other method. Wins is the share of
// cells in which CVGM is more accurate. A tie counts as half a cell. BySize holds the differences
// for each size.
type SizeComparison struct {
	All, Small, Large experiment.Comparison
	BySize            []experiment.Estimate
}

// CellFailure is the error of one cell.
type CellFailure struct {
	Size, Seed int
	Problem    string
}

// summarise sets the means and the comparisons.
func (r *Result) summarise() {
	for k := range r.Methods {
		m := &r.Methods[k]
		m.Mean = make([]experiment.Estimate, len(r.Sizes))
		for i, seeds := range m.Accuracy {
			m.Mean[i] = experiment.EstimateOf(slices.DeleteFunc(slices.Clone(seeds), math.IsNaN))
		}
		m.Full = r.against(SizeCVGMFull, k)
		m.Published = r.against(SizeCVGMPublished, k)
	}
	r.Overfitting = r.against(SizeAdam, SizeAdamLong).BySize
}

func (r *Result) against(first, second int) (c SizeComparison) {
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
		c.BySize = append(c.BySize, higherIsBetter(here).Difference)
		for k, v := range here {
			all[k], part[k] = append(all[k], v...), append(part[k], v...)
		}
	}
	c.All, c.Small, c.Large = higherIsBetter(all), higherIsBetter(small), higherIsBetter(large)
	return c
}

// higherIsBetter compares two methods by a quantity for which a higher value is better.
func higherIsBetter(v [2][]float64) experiment.Comparison {
	c := experiment.Compare(v[1], v[0])
	c.Difference.Mean = 0 - c.Difference.Mean
	return c
}
