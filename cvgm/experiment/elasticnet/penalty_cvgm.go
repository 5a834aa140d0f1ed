package elasticnet

import (
	"context"
	"math"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"
)

// PenaltyCVGM describes the CV loss of an elastic net as a function of its two penalties. It also
// describes the gradient method that minimises this loss.
type PenaltyCVGM struct {
	K            int     `help:"cross-validation splits" range:"[1,∞)" small:"[2,8]" setting:"CV loss: mean squared error of K = %v uniform splits"`
	P            float64 `help:"fraction of the examples that each split trains on" range:"(0,1)" splits:"Train,Sizes,MinSize" small:"[.5,.9]" setting:"p = %v"`
	StartLambda1 float64 `help:"start of the gradient method, weight of the l1 penalty" range:"[0,∞)" small:"[1e-4,1]" setting:"start λ1 = %v"`
	StartLambda2 float64 `help:"start of the gradient method, weight of the squared l2 penalty" range:"[0,∞)" small:"[1e-4,1]" setting:"λ2 = %v"`
	MinLambda1   float64 `help:"lower bound of λ1" range:"[0,∞)" small:"[1e-8,1e-4]" setting:"bounds λ1 ≥ %v"`
	MinLambda2   float64 `help:"lower bound of λ2" range:"[0,∞)" small:"[1e-8,1e-4]" setting:"λ2 ≥ %v"`
	StepSize     float64 `help:"step size of the gradient method" range:"(0,∞)" small:"[1e-5,1e-2]" setting:"CVGM with a step of the gradient times %v"`
}

var PaperPenaltyCVGM = PenaltyCVGM{K: 128, P: .95, StartLambda1: 1e-2, StartLambda2: 1e-4, MinLambda1: 1e-8, MinLambda2: 1e-7, StepSize: 2e-4}

// Setup draws data and then splits. The parameter workers bounds the number of goroutines.
func (e PenaltyCVGM) Setup(d experiment.RegressionData, data, splits synth.Source, workers int) (*experiment.Setup, error) {
	s := &experiment.Setup{Loss: cvgm.SquaredError{}, Start: []float64{e.StartLambda1, e.StartLambda2}, Lower: []float64{e.MinLambda1, e.MinLambda2}}
	var err error
	if s.Train, s.Test, s.Coef, err = d.Examples(data); err != nil {
		return nil, err
	}
	drawn, err := cvgm.RandomSplits(splits, d.Train, e.K, e.P)
	if err != nil {
		return nil, err
	}
	s.CV, err = NewCV(s.Train, drawn, cvgm.FixedLeastSquares, workers)
	return s, err
}

// Published returns data and splits that it draws as the published code draws them. It also returns
// the generator of random numbers, from which later draws of the code continue.
func (e PenaltyCVGM) Published(ctx context.Context, d experiment.PublishedRegression) (*experiment.Setup, *synth.NumPy, error) {
	src, err := d.Source(ctx)
	if err != nil {
		return nil, nil, err
	}
	s, err := e.Setup(d.RegressionData, src, src, 0)
	return s, src, err
}

func NewCV(train learn.Data, splits []cvgm.Split, centring cvgm.Centring, workers int) (*cvgm.CV, error) {
	return cvgm.New(cvgm.Config{
		Data: train, Splits: splits,
		// All seeds together need about a hundred million fits. One of these fits is so close to a
		// kink that its derivative does not exist. With Generalised, the method can step over the
		// kink.
		Learner:     func() learn.Learner { return &linear.ElasticNet{Generalised: true} },
		Loss:        cvgm.SquaredError{},
		Standardise: true,
		Centring:    centring,
		Workers:     workers,
	})
}

// Gradient returns the paper's gradient method with the given number of evaluations.
func (e PenaltyCVGM) Gradient(evaluations int) search.Searcher {
	return search.ProjectedGradient{StepSize: e.StepSize, MaxEvals: evaluations}
}

// SearchBox is a box of penalties. Exhaustive search and random search choose their points in this
// box.
type SearchBox struct {
	GridPoints   int     `help:"points of the exhaustive search per hyperparameter" range:"[2,∞)" small:"[2,4]" setting:"exhaustive search: %v points per penalty at equal ratios"`
	RandomPoints int     `help:"points of the random search" range:"[1,∞)" small:"[1,8]" setting:"random search: %v points, log-uniform"`
	BoxLow       float64 `help:"lower end of the searched range" unit:"log10 of the penalty" range:"[-300,300]" small:"[-5,-2]" setting:"both with λ1 and λ2 from %v"`
	BoxHigh      float64 `help:"upper end of the searched range" unit:"log10 of the penalty" range:"[-300,300]" small:"[-1,1]" setting:"up to %v"`
}

var paperSearchBox = SearchBox{GridPoints: 10, RandomPoints: 100, BoxLow: -4, BoxHigh: -1}

func (b SearchBox) Exhaustive() search.Searcher {
	grid := experiment.Logspace(b.BoxLow, b.BoxHigh, b.GridPoints)
	return search.GridSearch{Values: [][]float64{grid, grid}}
}

func (b SearchBox) Random(src func() cvgm.Source) search.Searcher {
	return search.RandomSearch{Source: src, Draw: search.LogUniform(b.BoxLow, b.BoxHigh), MaxEvals: b.RandomPoints}
}

// boxTol is a relative distance. A penalty within this distance of an edge of the box is treated as
// a penalty on the edge. boxTol is far above the rounding error of a power of ten, and far below
// the spacing of any grid.
const boxTol = 1e-9

// isInside reports whether both penalties lie in the box. The edges belong to the box.
func (b SearchBox) isInside(at [2]float64) bool {
	low, high := math.Pow(10, b.BoxLow), math.Pow(10, b.BoxHigh)
	return min(at[0], at[1]) >= low*(1-boxTol) && max(at[0], at[1]) <= high*(1+boxTol)
}

// onEdge reports whether a point of the box lies on an edge of the box.
func (b SearchBox) onEdge(at [2]float64) bool {
	return min(at[0], at[1]) <= math.Pow(10, b.BoxLow)*(1+boxTol) || b.onUpper(at)
}

// onUpper reports whether at least one of the two penalties is at the upper end of the box.
func (b SearchBox) onUpper(at [2]float64) bool {
	return max(at[0], at[1]) >= math.Pow(10, b.BoxHigh)*(1-boxTol)
}

// leastSquares are the penalties that make an elastic net least squares.
var leastSquares = []float64{0, 0}
