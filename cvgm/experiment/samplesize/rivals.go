package samplesize

import (
	"context"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// tuned returns the test accuracy of a learner whose hyperparameters have the lowest CV loss. The
// search is in the logarithms of the hyperparameters, and starts with the value 1 for each of them.
func (r Rivals) tuned(ctx context.Context, s *experiment.Setup, splits []cvgm.Split, features func(learn.Data) learn.Data, learner func() learn.Learner, hyperparameters int, searcher search.Searcher) (float64, error) {
	all := func(v float64) []float64 { return slices.Repeat([]float64{v}, hyperparameters) }
	own := experiment.Setup{Train: features(s.Train), Test: features(s.Test), Start: all(1), Lower: all(1 / r.RivalReach), Upper: all(r.RivalReach)}
	var err error
	own.CV, err = cvgm.New(cvgm.Config{
		Data: own.Train, Splits: splits, Learner: learner, Loss: cvgm.LogisticLoss{}, Standardise: true, Generalised: true, Workers: 1,
	})
	if err != nil {
		return 0, err
	}
	best, err := search.Best(own.Search(ctx, searcher))
	if err != nil {
		return 0, err
	}
	on, err := own.Evaluate(best.X)
	return on.Accuracy, err
}

// rivals returns the test accuracies of the rivals, in the order of sizeMethods, beginning with
// SizeQuadratic.
func (p SampleSizeParams) rivals(ctx context.Context, s *experiment.Setup, net *network, stream func(purpose string) *synth.Stream) ([]float64, error) {
	splits, err := cvgm.BalancedSplits(stream("rivals' splits"), len(s.Train.Y), p.RivalK, p.RivalP)
	if err != nil {
		return nil, err
	}
	logistic := func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }
	machine := func() learn.Learner { return &kernel.SVM{Intercept: true, Generalised: true} }
	descent := search.LogSpace{Searcher: search.QuasiNewton{MaxEvals: p.RivalEvaluations}}
	axis := experiment.Logspace(-math.Log10(p.RivalReach), math.Log10(p.RivalReach), p.RivalGrid)
	raw := func(d learn.Data) learn.Data { return d }
	random := randomFeatures(stream("random features"), p.RandomFeatures)
	adam := func(steps int) search.Searcher {
		return search.Adam{StepSize: p.AdamStepSize, MaxEvals: steps + 1, Epsilon: 1e-8, Tol: -1}
	}
	accuracies := make([]float64, 0, len(sizeMethods)-SizeQuadratic)
	for k, measure := range []func() (float64, error){
		func() (float64, error) { return p.tuned(ctx, s, splits, quadratic, logistic, 1, descent) },
		func() (float64, error) { return p.tuned(ctx, s, splits, raw, machine, 2, descent) },
		func() (float64, error) {
			return p.tuned(ctx, s, splits, raw, machine, 2, search.GridSearch{Values: [][]float64{axis, axis}})
		},
		func() (float64, error) { return p.tuned(ctx, s, splits, random, logistic, 1, descent) },
		func() (float64, error) {
			decay, steps, err := p.chooseDecay(ctx, s, splits, adam(p.DecaySteps))
			if err != nil {
				return 0, err
			}
			return net.accuracy(ctx, *s, adam(steps), decayed(net.Eval, decay))
		},
		func() (float64, error) { return net.accuracy(ctx, *s, adam(p.LongSteps), net.Eval) },
	} {
		v, err := measure()
		if err != nil {
			return nil, experiment.Wrap(err, "%s", sizeMethods[SizeQuadratic+k])
		}
		accuracies = append(accuracies, v)
	}
	return accuracies, nil
}

// chooseDecay returns the weight decay and the number of steps with the lowest CV loss.
func (p SampleSizeParams) chooseDecay(ctx context.Context, s *experiment.Setup, splits []cvgm.Split, searcher search.Searcher) (decay float64, steps int, err error) {
	lowest := math.Inf(1)
	for _, candidate := range p.WeightDecays {
		total := make([]float64, p.DecaySteps+1)
		for _, split := range splits {
			net, held := newNetwork(p.KernelCVGM, experiment.Pick(s.Train, split.Train)), experiment.Pick(s.Train, split.Val)
			fold := *s
			fold.Objective = decayed(net.Eval, candidate)
			for step, err := range fold.Search(ctx, searcher) {
				if err != nil {
					return 0, 0, err
				}
				on, err := experiment.EvaluateFunc(net.predict(step.X), held)
				if err != nil {
					return 0, 0, err
				}
				total[step.Evaluations-1] += on.Loss
			}
		}
		if k := floats.MinIdx(total); total[k] < lowest {
			lowest, decay, steps = total[k], candidate, k
		}
	}
	return decay, steps, nil
}

// decayed returns f plus the ridge penalty decay/2 · ‖x‖².
func decayed(f search.Objective, decay float64) search.Objective {
	return func(grad, x []float64) (float64, error) {
		loss, err := f(grad, x)
		if grad != nil {
			floats.AddScaled(grad, decay, x)
		}
		return loss + decay/2*floats.Dot(x, x), err
	}
}

// quadratic returns the data d with the features x1, x2, x1², x2² and x1·x2 in place of x1 and x2.
func quadratic(d learn.Data) learn.Data {
	return withFeatures(d, 5, func(dst, x []float64) {
		copy(dst, []float64{x[0], x[1], x[0] * x[0], x[1] * x[1], x[0] * x[1]})
	})
}

// randomFeatures returns a function that replaces each row x by n features. Each feature is max(0,
// w·x + b), for a vector w and a number b from the standard normal distribution.
func randomFeatures(src *synth.Stream, n int) func(learn.Data) learn.Data {
	weights := mat.NewDense(n, 3, nil)
	for i := range n {
		for j := range 3 {
			weights.Set(i, j, src.NormFloat64())
		}
	}
	return func(d learn.Data) learn.Data {
		return withFeatures(d, n, func(dst, x []float64) {
			for i := range dst {
				w := weights.RawRowView(i)
				dst[i] = max(0, w[0]*x[0]+w[1]*x[1]+w[2])
			}
		})
	}
}

// withFeatures returns the data d with new features. For each row, the function mapRow computes n
// new features from the old features.
func withFeatures(d learn.Data, n int, mapRow func(dst, x []float64)) learn.Data {
	x := mat.NewDense(len(d.Y), n, nil)
	for i := range d.Y {
		mapRow(x.RawRowView(i), d.Dense().RawRowView(i))
	}
	return learn.Data{X: x, Y: d.Y}
}
