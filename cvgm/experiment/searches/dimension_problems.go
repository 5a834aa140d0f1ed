package searches

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"
)

// RidgeGroups describes ridge regressions with groups of features. Each group has its own penalty,
// and a search chooses the penalties.
type RidgeGroups struct {
	Groups []int `help:"numbers of groups of features, each with its own ridge penalty; divisors of Features" range:"[1,∞)" small:"{1,2,3}"`
	experiment.RegressionData
	K            int     `help:"cross-validation splits of the ridge regressions" range:"[1,∞)" small:"[2,8]" setting:"CV loss: mean squared error of K = %v uniform splits"`
	P            float64 `help:"fraction of the examples that each split trains on, for the ridge regressions" range:"(0,1)" splits:"Train,Sizes,MinSize" small:"[.6,.9]" setting:"p = %v"`
	StartLambda2 float64 `help:"start of every search, for all ridge penalties" range:"(0,∞)" small:"[1e-2,1]" setting:"start %v where a search has one"`
	BoxLow       float64 `help:"lower bound of the ridge penalties" unit:"log10 of the penalty" range:"[-300,300]" below:"BoxHigh" small:"[-5,-2]" setting:"each penalty from %v"`
	BoxHigh      float64 `help:"upper bound of the ridge penalties" unit:"log10 of the penalty" range:"[-300,300]" small:"[-1,1]" setting:"up to %v"`
}

// DimensionProblems describes search problems with few and with many hyperparameters. The problems
// with few hyperparameters are ridge regressions of RidgeGroups. One problem has many
// hyperparameters: the weights of a network that classifies the rings.
type DimensionProblems struct {
	RidgeGroups
	Rings       kernels.RingsProblem
	RingsRadius float64 `help:"half the width of the box of the network's weights, around the initial ones" range:"(0,∞)" small:"[.1,2]" setting:"each weight at most %v away from its start"`
}

func DefaultDimensionProblems() DimensionProblems {
	return DimensionProblems{
		RidgeGroups: RidgeGroups{
			Groups:         []int{1, 2, 5, 20},
			RegressionData: experiment.RegressionData{Samples: 1060, Train: 60, Features: 20, Informative: 8, Noise: 100, Scale: 100},
			K:              64, P: .9, StartLambda2: .1, BoxLow: -4, BoxHigh: 1,
		},
		Rings: kernels.PaperRings(), RingsRadius: 1,
	}
}

func (d RidgeGroups) Check() error {
	for _, g := range d.Groups {
		if d.Features%g != 0 {
			return experiment.Invalid("Groups", d.Groups, fmt.Sprintf("use divisors of Features, %d", d.Features))
		}
	}
	return nil
}

// Hyperparameters returns the number of hyperparameters of each problem. The last problem is the
// rings.
func (d DimensionProblems) Hyperparameters() []int {
	return append(slices.Clone(d.Groups), d.Rings.NumHyperparameters())
}

func (d DimensionProblems) isRings(problem int) bool { return problem == len(d.Groups) }

// stream returns the stream of random numbers for one purpose, in one data set of a problem.
func (d DimensionProblems) stream(problem, dataSet int, purpose string) *synth.Stream {
	name := "search dimensions: "
	if d.isRings(problem) {
		name = "search dimensions, rings: "
	}
	return synth.NewStream(uint64(dataSet), name+purpose)
}

// Setup draws a data set of a problem. The argument rows lists the training examples that the CV
// loss uses. If it is nil, the CV loss uses all training examples.
func (d DimensionProblems) Setup(problem, dataSet int, rows []int) (*experiment.Setup, error) {
	stream := func(purpose string) *synth.Stream { return d.stream(problem, dataSet, purpose) }
	if !d.isRings(problem) {
		return d.ridge(d.Groups[problem], stream, rows)
	}
	s, err := d.Rings.Setup(kernels.Full, stream, "splits", rows)
	if err != nil {
		return nil, err
	}
	for _, x := range s.Start {
		s.Lower, s.Upper = append(s.Lower, x-d.RingsRadius), append(s.Upper, x+d.RingsRadius)
	}
	return s, nil
}

// ridge returns a ridge regression with one penalty for each group of features.
func (d RidgeGroups) ridge(groups int, stream func(purpose string) *synth.Stream, rows []int) (*experiment.Setup, error) {
	s := &experiment.Setup{
		Loss: cvgm.SquaredError{}, Start: slices.Repeat([]float64{d.StartLambda2}, groups),
		Lower: slices.Repeat([]float64{math.Pow(10, d.BoxLow)}, groups), Upper: slices.Repeat([]float64{math.Pow(10, d.BoxHigh)}, groups),
	}
	var err error
	if s.Train, s.Test, s.Coef, err = d.Examples(stream("data")); err != nil {
		return nil, err
	}
	train := experiment.Pick(s.Train, rows)
	splits, err := cvgm.RandomSplits(stream("splits"), len(train.Y), d.K, d.P)
	if err != nil {
		return nil, err
	}
	s.CV, err = cvgm.New(cvgm.Config{
		Data: train, Splits: splits, Loss: s.Loss, Standardise: true, Centring: cvgm.MeanCentring, Workers: 1,
		Learner: func() learn.Learner { return &linear.ElasticNet{Groups: linear.PerFeature(d.Features)} },
	})
	if err != nil {
		return nil, err
	}
	// The first n hyperparameters of the learner are the λ1 of the features, which remain zero. The
	// next n are the λ2 of the features.
	n := d.Features
	hyper, grad := make([]float64, 2*n), make([]float64, 2*n)
	s.Hyper = func(x []float64) []float64 {
		for j := range n {
			hyper[n+j] = x[j*groups/n]
		}
		return hyper
	}
	s.Objective = func(g, x []float64) (float64, error) {
		if g == nil {
			return s.CV.Eval(nil, s.Hyper(x))
		}
		loss, err := s.CV.Eval(grad, s.Hyper(x))
		clear(g)
		for j := range n {
			g[j*groups/n] += grad[n+j]
		}
		return loss, err
	}
	return s, nil
}
