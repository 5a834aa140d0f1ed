package kernels

import (
	"context"
	"fmt"
	"slices"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// GradientPartsParams are the parameters of a measurement of the parts of the gradient. The exact
// gradient in the kernel's weights is the sum D + T1 + T2. The direct part D acts through the
// features of the validation rows. The parts T1 and T2 act through the fits. The paper prints T1
// and omits T2. The detached direction is T1 + T2. The published direction is T1, but with another
// treatment of the intercept in the Hessian.
type GradientPartsParams struct {
	Seeds int `help:"data sets of each problem" range:"[2,∞)" small:"[2,3]"`
	Rings PartsRings
	XOR   AblationXOR
	experiment.FreshData
}

// PartsRings describes a kernel that is learned for rings of one size.
type PartsRings struct {
	RingsData
	AblationKernel
	Train int `help:"training examples of the rings" range:"[4,∞)" small:"[8,20]" setting:"N = %v"`
}

// DefaultGradientParts returns the paper's problems with the splits of the ablation.
func DefaultGradientParts() GradientPartsParams {
	q, x := PaperRings(), DefaultXOR()
	return GradientPartsParams{
		Seeds: 24,
		Rings: PartsRings{q.RingsData, NewAblationKernel(q.KernelCVGM, 1, 3, 10, 30, 100), q.Train},
		XOR:   AblationXOR{x.XORData, NewAblationKernel(x.KernelCVGM, 1, 3, 10, 50), x.Train},
	}
}

func (GradientPartsParams) Defaults() any { return DefaultGradientParts() }

// GradientPartsResult is the result of Run.
type GradientPartsResult struct {
	Params GradientPartsParams
	Paths  []GradientPath // first the paths for the rings, then for XOR; for each, by number of splits, and in the order of partsVariants
}

// partsVariants are the directions that the measurement follows.
var partsVariants = []Variant{Published, Detached, Full}

// GradientPath holds the path along one direction, over the data sets.
type GradientPath struct {
	Problem  string
	Variant  Variant
	Train, K int
	At       []GradientParts // before the first step, and after each number of steps in Budgets
	// Learned is the test error at the end of the path minus the test error at its start.
	Learned experiment.Comparison
}

// GradientParts holds means over the data sets, measured after a given number of steps. Norms are
// Euclidean.
type GradientParts struct {
	Steps                    int
	Error                    experiment.Estimate // share of the test examples that are classified wrongly
	CVLoss                   experiment.Estimate // CV loss of Algorithm 1; its gradient is D + T1 + T2
	Direct, Printed, Missing experiment.Estimate // norms of D, T1 and T2, divided by the norm of the whole gradient
	DirectMissing            experiment.Estimate // cosine of D and T2
	Left                     experiment.Estimate // |D + T2| / |D|; 0 if the two errors cancel
	PrintedWhole             experiment.Estimate // cosine of T1 with the whole gradient
	DetachedWhole            experiment.Estimate // cosine of T1 + T2 with the whole gradient
	// PrintedUphill and DetachedUphill are the shares of the data sets on which T1 and T1 + T2 point
	// uphill: the cosine with the whole gradient is negative.
	PrintedUphill, DetachedUphill experiment.Estimate
}

// partsCell holds the path along one direction on one data set, with one array for each number of
// steps at which the path is measured. An array lists the test error, the CV loss, and the other
// fields of GradientParts in their order.
type partsCell struct{ At [][partsNumbers]float64 }

const partsNumbers = 9

// Run measures all paths. Problems, directions and data sets run in parallel.
func (p GradientPartsParams) Run(ctx context.Context, hooks experiment.Hooks) (*GradientPartsResult, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	var problems []partsProblem
	for _, k := range p.Rings.Ks {
		rings := RingsProblem{RingsData: p.Rings.RingsData, Train: p.Rings.Train, Test: p.Rings.Test, KernelCVGM: p.Rings.CVGM(k)}
		problems = append(problems, partsProblem{ProblemRings, p.Rings.Train, k, p.Rings.AblationKernel, func(v Variant, seed uint64) (*experiment.Setup, error) {
			return rings.Setup(v, AblationStream(seed, fmt.Sprintf("rings %d", rings.Train)), "splits", nil)
		}})
	}
	for _, k := range p.XOR.Ks {
		problems = append(problems, partsProblem{ProblemXOR, p.XOR.Train, k, p.XOR.AblationKernel, func(v Variant, seed uint64) (*experiment.Setup, error) {
			return p.XOR.Setup(v, k, AblationStream(seed, "XOR"))
		}})
	}
	n := len(partsVariants)
	measured, err := experiment.CellTable(ctx, hooks, len(problems)*n, p.Seeds,
		func(i, seed int) string {
			return fmt.Sprintf("%s, K = %d, %v, data set %d", problems[i/n].name, problems[i/n].k, partsVariants[i%n], p.Number(seed, p.Seeds))
		},
		func(i, seed int) (partsCell, error) {
			return problems[i/n].measure(ctx, partsVariants[i%n], uint64(p.Number(seed, p.Seeds)))
		})
	if err != nil {
		return nil, err
	}
	uphill := func(cosines []float64) experiment.Estimate {
		return experiment.ShareOf(experiment.Wins(cosines, make([]float64, len(cosines))))
	}
	r := &GradientPartsResult{Params: p}
	for i, cells := range measured {
		problem := problems[i/n]
		path := GradientPath{Problem: problem.name, Variant: partsVariants[i%n], Train: problem.train, K: problem.k}
		var ends [2][]float64
		for k, steps := range append([]int{0}, problem.kernel.Budgets...) {
			at := GradientParts{Steps: steps}
			for j, to := range []*experiment.Estimate{&at.Error, &at.CVLoss, &at.Direct, &at.Printed, &at.Missing, &at.DirectMissing, &at.Left, &at.PrintedWhole, &at.DetachedWhole} {
				var v []float64
				for _, c := range cells {
					v = append(v, c.At[k][j])
				}
				*to = experiment.EstimateOf(v)
				switch to {
				case &at.Error:
					ends[min(k, 1)] = v
				case &at.PrintedWhole:
					at.PrintedUphill = uphill(v)
				case &at.DetachedWhole:
					at.DetachedUphill = uphill(v)
				}
			}
			path.At = append(path.At, at)
		}
		path.Learned = experiment.Compare(ends[1], ends[0])
		r.Paths = append(r.Paths, path)
	}
	return r, nil
}

// partsProblem is a problem with one number of splits.
type partsProblem struct {
	name   string
	train  int
	k      int // number of cross-validation splits
	kernel AblationKernel
	setup  func(v Variant, seed uint64) (*experiment.Setup, error)
}

// measure follows one direction on one data set.
func (a partsProblem) measure(ctx context.Context, v Variant, seed uint64) (c partsCell, err error) {
	s, err := a.setup(v, seed)
	if err != nil {
		return c, err
	}
	parts, err := a.parts(v.exactVariant(), seed)
	if err != nil {
		return c, err
	}
	places := append([]int{0}, a.kernel.Budgets...)
	for step, err := range s.Search(ctx, a.kernel.CVGM(a.k).Gradient()) {
		if err != nil {
			return c, err
		}
		if !slices.Contains(places, step.Evaluations-1) {
			continue
		}
		x := slices.Clone(step.X)
		on, err := s.Evaluate(x)
		if err != nil {
			return c, err
		}
		d, t1, t2, loss, err := parts(x)
		if err != nil {
			return c, err
		}
		sum := func(terms ...[]float64) []float64 {
			total := make([]float64, len(d))
			for _, t := range terms {
				floats.Add(total, t)
			}
			return total
		}
		whole := sum(d, t1, t2)
		norm := func(v []float64) float64 { return floats.Norm(v, 2) }
		c.At = append(c.At, [partsNumbers]float64{
			1 - on.Accuracy, loss, norm(d) / norm(whole), norm(t1) / norm(whole), norm(t2) / norm(whole),
			experiment.Cosine(d, t2), norm(sum(d, t2)) / norm(d), experiment.Cosine(t1, whole), experiment.Cosine(sum(t1, t2), whole),
		})
	}
	return c, nil
}

// parts returns a function of the kernel's weights. This function returns the CV loss and the parts
// D, T1 and T2 of its exact gradient in the weights.
func (a partsProblem) parts(v Variant, seed uint64) (func(x []float64) (d, t1, t2 []float64, loss float64, err error), error) {
	exactSetup, err := a.setup(v, seed)
	if err != nil {
		return nil, err
	}
	m := a.kernel.CVGM(a.k)
	phi := m.Kernel()
	printedCV, err := m.Loss(phi, v.printedTerm, exactSetup.Loss, exactSetup.Train, exactSetup.Splits)
	if err != nil {
		return nil, err
	}
	gradient := make([]float64, len(exactSetup.Start))
	inWeights := func(cotangent *mat.Dense) []float64 {
		grad := make([]float64, len(exactSetup.Start))
		phi.Backward(grad, nil, cotangent)
		return grad
	}
	return func(x []float64) (d, t1, t2 []float64, loss float64, err error) {
		if loss, err = exactSetup.CV.Eval(gradient, x); err != nil {
			return nil, nil, nil, 0, err
		}
		// This call of Eval evaluates phi with the weights x. The calls of phi.Backward below use
		// this evaluation.
		if _, err = printedCV.Eval(gradient, x); err != nil {
			return nil, nil, nil, 0, err
		}
		asTraining, asValidation := exactSetup.CV.FeatureCotangents()
		d, t2 = inWeights(asValidation), inWeights(asTraining)
		asPrinted, _ := printedCV.FeatureCotangents()
		t1 = inWeights(asPrinted)
		floats.Sub(t2, t1)
		return d, t1, t2, loss, nil
	}, nil
}
