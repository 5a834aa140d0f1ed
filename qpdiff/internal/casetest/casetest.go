// Package casetest holds helpers that the tests of learners share: data sets, difference quotients,
// and learners that are composed of other types.
package casetest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// Contract runs the tests of package learntest on a learner: the tests for all learners, and the
// tests of its allocations.
func Contract(t *testing.T, newLearner func() learn.Learner, cases ...learntest.Case) {
	t.Helper()
	learntest.Learner(t, newLearner, cases...)
	for _, c := range cases {
		t.Run(c.Name+"/allocations", func(t *testing.T) {
			serial.Test(t)
			learntest.Allocations(t, newLearner, c)
		})
	}
}

// GradSlices returns the fields of g.
func GradSlices(g *learn.Grad) [][]float64 {
	s := [][]float64{g.Hyper}
	if g.X != nil {
		s = append(s, g.X.RawMatrix().Data)
	}
	return append(s, g.Y)
}

func CloneData(d learn.Data) learn.Data {
	return learn.Data{X: mat.DenseCopyOf(d.X), Y: slices.Clone(d.Y)}
}

// RandomData draws a data set with standard normal features. Each label is a linear function of the
// first third of the features, plus noise. If classes is true, only the sign of the label is kept.
func RandomData(seed uint64, rows, n int, classes bool) learn.Data {
	rng := rand.New(rand.NewPCG(seed, 99))
	d := learn.Data{X: mat.NewDense(rows, n, numtest.Normals(rng, rows*n)), Y: make([]float64, rows)}
	coef := numtest.Normals(rng, n)
	for i := range d.Y {
		row := d.Dense().RawRowView(i)
		d.Y[i] = dense.Dot(coef[:(n+2)/3], row) + rng.NormFloat64()/2
		if classes {
			d.Y[i] = math.Copysign(1, d.Y[i])
		}
	}
	return d
}

// Refuses reports whether err is a NotDifferentiableError with exactly the given inputs, and
// whether its Weak lists exactly the rows and coordinates that weak lists.
func Refuses(err error, weak qpdiff.Weak, inputs ...qpdiff.Input) bool {
	var e *qpdiff.NotDifferentiableError
	return errors.As(err, &e) && errors.Is(err, qpdiff.ErrNotDifferentiable) && slices.Equal(e.Inputs, inputs) &&
		slices.Equal(e.Weak.Rows, weak.Rows) && slices.Equal(e.Weak.Coords, weak.Coords)
}

// NewGrad returns a Grad for h hyperparameters, with zeros in the fields Hyper, X and Y.
func NewGrad(d learn.Data, h int) *learn.Grad {
	rows, n := d.X.Dims()
	return &learn.Grad{Hyper: make([]float64, h), X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
}

// NoisyClasses draws data of two classes that overlap strongly.
func NoisyClasses(seed uint64, rows, n int) learn.Data {
	d := RandomData(seed, rows, n, true)
	for i := range d.Y {
		if i%3 == 0 {
			d.Y[i] = 1 - 2*float64(i%2)
		}
	}
	return d
}

// DrawGroups divides n features into groups at random. There may be one group, one group for each
// feature, or any number of groups between these.
func DrawGroups(rng *rand.Rand, n int) []int {
	groups := make([]int, n)
	for j := range groups {
		groups[j] = j
	}
	switch rng.IntN(3) {
	case 0:
		return nil
	case 1:
		return groups
	}
	for j := 1 + rng.IntN(n); j < n; j++ {
		groups[j] = rng.IntN(groups[j-1] + 1)
	}
	rng.Shuffle(n, func(i, k int) { groups[i], groups[k] = groups[k], groups[i] })
	return groups
}

func DrawPenalty(t *rapid.T, name string) float64 {
	return math.Pow(10, rapid.Float64Range(-7, 1).Draw(t, name))
}

// ClassData returns RandomData with at least one label of each class.
func ClassData(seed uint64, rows, n int) learn.Data {
	d := RandomData(seed, rows, n, true)
	d.Y[0], d.Y[rows-1] = 1, -1
	return d
}

// DrawClasses draws the data of a classifier, either at random or on a small grid. On the grid some
// rows are equal, and many lie on common hyperplanes.
func DrawClasses(t *rapid.T) learn.Data {
	rows, n := rapid.IntRange(2, 25).Draw(t, "rows"), rapid.IntRange(1, 6).Draw(t, "n")
	grid := rapid.Bool().Draw(t, "grid")
	d := learn.Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
	for i := range rows {
		for j := range n {
			if grid {
				d.Dense().Set(i, j, float64(rapid.IntRange(-2, 2).Draw(t, "x")))
			} else {
				d.Dense().Set(i, j, float64(rapid.IntRange(-200, 200).Draw(t, "x"))/64)
			}
		}
		d.Y[i] = float64(2*rapid.IntRange(0, 1).Draw(t, "y") - 1)
	}
	d.Y[0], d.Y[rows-1] = 1, -1
	return d
}

// KindOf returns the documented kind of err.
func KindOf(err error) error {
	for _, kind := range []error{qpdiff.ErrShape, qpdiff.ErrNotFinite, qpdiff.ErrDomain, qpdiff.ErrIllPosed, qpdiff.ErrInfeasible, qpdiff.ErrUnbounded, qpdiff.ErrNonconvex, qpdiff.ErrIterationLimit, qpdiff.ErrNotFitted, qpdiff.ErrNotDifferentiable} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return err
}

// A PredictorJVP is a Predictor with derivatives along a direction.
type PredictorJVP interface {
	learn.Predictor
	PredictJVP(w *qpdiff.Workspace, df []float64, x, dx *mat.Dense, d *learn.Grad) error
}

// Predictions is a learner made from a Predictor. The θ of this learner is the vector of the
// Predictor's predictions at five rows. The tests of learners thus also test predictions.
type Predictions struct {
	P   PredictorJVP
	X   *mat.Dense      // nil: drawn by Load
	b   [1]float64      // scratch for θ of a fit
	ctx context.Context // the context of all calls except Predict in Fit
}

// SetContext implements [learn.ContextLearner].
func (l *Predictions) SetContext(ctx context.Context) {
	l.ctx = ctx
	l.P.(learn.ContextLearner).SetContext(ctx)
}

func (l *Predictions) Dims(n int) (theta, hyper int) {
	_, hyper = l.P.Dims(n)
	return 5, hyper
}

func (l *Predictions) Load(d learn.Data) error {
	if err := l.P.Load(d); err != nil {
		return err
	}
	if _, n := d.X.Dims(); l.X == nil || l.X.RawMatrix().Cols != n {
		l.X = mat.NewDense(5, n, numtest.Normals(rand.New(rand.NewPCG(8, 8)), 5*n))
	}
	return nil
}

func (l *Predictions) Fit(theta, hyper []float64) error {
	nt, _ := l.P.Dims(1)
	if err := l.P.Fit(l.b[:nt], hyper); err != nil {
		return err
	}
	stops := l.P.(learn.ContextLearner)
	stops.SetContext(context.Background())
	defer stops.SetContext(l.ctx)
	return l.P.Predict(nil, theta, l.X)
}

func (l *Predictions) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) error {
	return l.P.PredictVJP(w, g, nil, l.X, dtheta)
}

func (l *Predictions) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) error {
	return l.P.PredictJVP(w, dtheta, l.X, nil, d)
}

// Residual implements [learn.VerifiedLearner].
func (l *Predictions) Residual() (float64, error) { return l.P.(learn.VerifiedLearner).Residual() }

func (l *Predictions) Reset() { l.P.Reset() }

func (l *Predictions) SetGeneralised(on bool) { l.P.(learn.KinkedLearner).SetGeneralised(on) }

// LinearModel returns the objective 1/N·Σ loss(θᵀx_i, y_i) + λ/2·‖θ‖², which has the hyperparameter
// λ. The function loss takes a prediction and a label y, and returns three derivatives: d1 and d2
// are the first and second derivatives of the loss with respect to the prediction, and dy is the
// derivative of d1 with respect to y.
func LinearModel(loss func(p, y float64) (d1, d2, dy float64)) smooth.Objective {
	each := func(theta []float64, d learn.Data, f func(i int, x []float64, d1, d2, dy float64)) {
		inv := 1 / float64(len(d.Y))
		for i, y := range d.Y {
			x := d.Dense().RawRowView(i)
			d1, d2, dy := loss(dense.Dot(theta, x), y)
			f(i, x, d1*inv, d2*inv, dy*inv)
		}
	}
	return smooth.Objective{
		NumHyper: 1,
		Gradient: func(g, theta []float64, d learn.Data, hyper []float64) {
			for j, t := range theta {
				g[j] = hyper[0] * t
			}
			each(theta, d, func(_ int, x []float64, d1, _, _ float64) { dense.Axpy(d1, x, g) })
		},
		HVP: func(hv, v, theta []float64, d learn.Data, hyper []float64) {
			for j, t := range v {
				hv[j] = hyper[0] * t
			}
			each(theta, d, func(_ int, x []float64, _, d2, _ float64) { dense.Axpy(d2*dense.Dot(x, v), x, hv) })
		},
		MixedVJP: func(g *learn.Grad, v, theta []float64, d learn.Data, hyper []float64) {
			if g.Hyper != nil {
				g.Hyper[0] += dense.Dot(v, theta)
			}
			each(theta, d, func(i int, x []float64, d1, d2, dy float64) {
				xv := dense.Dot(x, v)
				if g.Y != nil {
					g.Y[i] += dy * xv
				}
				if g.X != nil {
					dense.Axpy(d1, v, g.X.RawRowView(i))
					dense.Axpy(d2*xv, theta, g.X.RawRowView(i))
				}
			})
		},
	}
}

// PseudoHuber returns the derivatives of the loss √(1+r²) with r = p − y, for the prediction p and
// the label y. Poisson returns the derivatives of exp(p) − yp, and HalfSquare the derivatives of
// r²/2.
func PseudoHuber(p, y float64) (d1, d2, dy float64) {
	r := p - y
	s := math.Sqrt(1 + r*r)
	return r / s, 1 / (s * s * s), -1 / (s * s * s)
}

func Poisson(p, y float64) (d1, d2, dy float64) { return math.Exp(p) - y, math.Exp(p), -1 }

func HalfSquare(p, y float64) (d1, d2, dy float64) { return p - y, 1, -1 }

// A Residual is a function of the parameters theta. It returns the largest violation of a learner's
// optimality conditions at theta.
type Residual func(l learn.Learner, d learn.Data, theta, hyper []float64) float64

// Verdict checks the error of a fit. The error must match the parameter kind, and its message must
// contain the parameter text. After an error, θ must be unchanged and a VJP must fail. Without an
// error, the residual must be at most 1e-13. If the function residual is nil, this is not checked.
func (residual Residual) Verdict(t *testing.T, name string, l learn.Learner, d learn.Data, kind error, text string, hyper ...float64) {
	t.Helper()
	theta := numtest.NaNs(l.Dims(d.Dense().RawMatrix().Cols))
	err := l.Load(d)
	if err == nil {
		err = l.Fit(theta, hyper)
	}
	switch {
	case !errors.Is(err, kind) || err != nil && !strings.Contains(err.Error(), text):
		t.Errorf("%T, %s: error %v, want %v with %q", l, name, err, kind, text)
	case err != nil:
		if l.VJP(nil, &learn.Grad{}, theta) == nil || slices.ContainsFunc(theta, dense.Finite) {
			t.Errorf("%T, %s: after a failed fit θ is %v, and VJP answers", l, name, theta)
		}
	case residual != nil:
		if r := residual(l, d, theta, hyper); !(r <= 1e-13) {
			t.Errorf("%T, %s: residual %v", l, name, r)
		}
	}
}
