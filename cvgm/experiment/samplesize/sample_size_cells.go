package samplesize

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// Run measures all methods in all cells, in parallel. If a cell fails, Run records the error and
// measures the other cells. It returns an error only if every cell fails. Cells are independent,
// because each cell has its own data, splits and initial weights. All methods of a cell use the
// same data, and all networks of a cell have the same initial weights.
func (p SampleSizeParams) Run(ctx context.Context, hooks experiment.Hooks) (*Result, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	r := &Result{Params: p}
	for n := p.MinSize; n <= p.MaxSize; n += p.SizeStep {
		r.Sizes = append(r.Sizes, n)
	}
	measured, err := experiment.CellTable(ctx, hooks, len(r.Sizes), p.Seeds,
		func(i, seed int) string { return fmt.Sprintf("size %d, seed %d", r.Sizes[i], p.Number(seed, p.Seeds)) },
		func(i, seed int) (cell sizeCell, err error) {
			cell.Accuracy, err = p.cell(ctx, r.Sizes[i], p.Number(seed, p.Seeds))
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
				r.Failures = append(r.Failures, CellFailure{size, p.Number(seed, p.Seeds), c.Problem})
			}
		}
	}
	if len(r.Failures) == len(r.Sizes)*p.Seeds {
		return nil, fmt.Errorf("every cell failed, the first (size %d, seed %d): %s", r.Failures[0].Size, r.Failures[0].Seed, r.Failures[0].Problem)
	}
	r.summarise()
	return r, nil
}

// sizeCell is the result of one cell: the accuracy of every method. If a method failed, all
// accuracies are NaN, and Problem is the reason.
type sizeCell struct {
	Accuracy []float64
	Problem  string
}

// cell measures all methods on one data set.
func (p SampleSizeParams) cell(ctx context.Context, size, seed int) ([]float64, error) {
	stream := func(purpose string) *synth.Stream {
		return synth.NewStream(uint64(seed), fmt.Sprintf("sample size %d: %s", size, purpose))
	}
	s, err := p.Examples(stream("training data"), stream("test data"), size, p.Test)
	if err != nil {
		return nil, err
	}
	net := newNetwork(p.KernelCVGM, s.Train)
	s.Start = make([]float64, net.numParams())
	net.init(s.Start, stream("weights"))

	// The kernel has the initial weights of the network. The last layer of the network is not a
	// part of the kernel.
	kernel := kernels.RingsProblem{RingsData: p.RingsData, Train: size, Test: p.Test, KernelCVGM: p.KernelCVGM}
	cvgmAlong := func(v kernels.Variant) (float64, error) {
		s, err := kernel.Setup(v, stream, "splits", nil)
		if err != nil {
			return 0, err
		}
		x, err := kernels.LastPoint(s.Search(ctx, p.Gradient()))
		if err != nil {
			return 0, err
		}
		on, err := s.Evaluate(x)
		return on.Accuracy, err
	}
	descent := kernels.GradientDescent(p.NetworkStepSize, p.NetworkSteps)
	adam := search.Adam{StepSize: p.AdamStepSize, MaxEvals: p.AdamSteps + 1, Epsilon: 1e-8, Tol: -1}
	accuracies := slices.Repeat([]float64{math.NaN()}, len(sizeMethods))
	for k, measure := range []func() (float64, error){
		SizeBayes:            func() (float64, error) { return s.Rule.SampleAccuracy(synth.Data{X: s.Test.Dense(), Y: s.Test.Y}), nil },
		SizeCVGMFull:         func() (float64, error) { return cvgmAlong(kernels.Full) },
		SizeCVGMPublished:    func() (float64, error) { return cvgmAlong(kernels.Published) },
		SizeAdam:             func() (float64, error) { return net.accuracy(ctx, *s, adam, net.Eval) },
		SizeNetworkPublished: func() (float64, error) { return net.accuracy(ctx, *s, descent, accumulated(net.Eval)) },
		SizeNetworkText:      func() (float64, error) { return net.accuracy(ctx, *s, descent, net.Eval) },
		SizeLogistic:         func() (float64, error) { return p.logistic(ctx, s) },
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

// hasRivals reports whether the rivals are measured at the given size. For each entry of
// RivalSizes, they are measured at the nearest size.
func (p SampleSizeParams) hasRivals(size int) bool {
	last := (p.MaxSize - p.MinSize) / p.SizeStep
	return slices.ContainsFunc(p.RivalSizes, func(near int) bool {
		steps := math.Round(float64(near-p.MinSize) / float64(p.SizeStep))
		return size == p.MinSize+p.SizeStep*int(max(0, min(steps, float64(last))))
	})
}

// logistic returns the test accuracy of logistic regression on the raw features.
func (p SampleSizeParams) logistic(ctx context.Context, s *experiment.Setup) (float64, error) {
	l := &linear.Logistic{Intercept: linear.UnpenalisedIntercept}
	theta := make([]float64, 3)
	if err := experiment.Fit(ctx, l, s.Train, theta, []float64{p.LinearC}); err != nil {
		return 0, err
	}
	on, err := experiment.EvaluateFunc(func(dst []float64, x *mat.Dense) error {
		for i := range dst {
			dst[i] = theta[0]*x.At(i, 0) + theta[1]*x.At(i, 1) + theta[2]
		}
		return nil
	}, s.Test)
	return on.Accuracy, err
}
