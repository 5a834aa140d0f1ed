package learntest

import (
	"slices"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Case holds data and hyperparameters. The tests differentiate a learner's solution with respect
// to both. The solution must be differentiable at these inputs, and at all inputs within a distance
// of about Step.
type Case struct {
	Name  string
	Data  learn.Data
	Hyper []float64

	// Residual returns how far the parameters theta violate the optimality conditions, relative to the
	// size of the conditions' terms. Its formula must not share code with the learner. The result must
	// be at most Tol, or at most 1e-13 if Tol is zero. Residual must not be nil.
	Residual func(d learn.Data, theta, hyper []float64) float64
	Tol      float64

	// ClassLabels marks a learner that accepts only the labels ±1. The tests then take no
	// difference quotients in y. They still call the VJP with a gradient in y.
	ClassLabels bool
	// Step is the step of the difference quotients. For a hyperparameter it is relative to the
	// hyperparameter. For X and y it is absolute, along directions of norm one. At a hyperparameter of
	// 0 the quotient is one-sided, and its step is a hundredth of Step. If Step is zero, 1e-3 is used
	// in its place.
	Step float64
}

// fittedLearner returns a learner after its first fit, and θ.
func fittedLearner(t *testing.T, newLearner func() learn.Learner, c Case) (learn.Learner, []float64) {
	t.Helper()
	l := newLearner()
	theta := numtest.NaNs(l.Dims(c.Data.Dense().RawMatrix().Cols))
	numtest.OK(t, l.Load(c.Data), l.Fit(theta, c.Hyper))
	return l, theta
}

// newGrad returns a Grad whose fields have v in all entries.
func newGrad(c Case, v float64) *learn.Grad {
	r, n := c.Data.X.Dims()
	g := &learn.Grad{Hyper: make([]float64, len(c.Hyper)), X: mat.NewDense(r, n, nil), Y: make([]float64, r)}
	for _, s := range gradSlices(g) {
		floats.AddConst(v, s)
	}
	return g
}

func gradSlices(g *learn.Grad) [][]float64 {
	s := [][]float64{g.Hyper}
	if g.X != nil {
		s = append(s, g.X.RawMatrix().Data)
	}
	return append(s, g.Y)
}

func cloneData(d learn.Data) learn.Data {
	return learn.Data{X: mat.DenseCopyOf(d.X), Y: slices.Clone(d.Y), Rows: d.Rows, Weights: d.Weights}
}
