package qpdiff

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// A LearnerCase is a qpdifftest.Case.
type LearnerCase struct {
	Name        string
	Data        Data
	Hyper       []float64
	Residual    func(d Data, theta, hyper []float64) float64
	Tol         float64
	ClassLabels bool
	Step        float64
}

// LearnerContract is qpdifftest.Learner and qpdifftest.Allocations. Tests in this
// package cannot import that one, which imports this: contract_external_test.go sets
// it.
var LearnerContract func(t *testing.T, newLearner func() Learner, cases ...LearnerCase)

// testLearner is the contract of every learner in this package. A new learner joins
// with a test of its own file that calls it with cases of all shapes that matter; see
// qpdifftest.Learner.
func testLearner(t *testing.T, newLearner func() Learner, cases ...LearnerCase) {
	t.Helper()
	LearnerContract(t, newLearner, cases...)
}

func gradSlices(g *Grad) [][]float64 {
	s := [][]float64{g.Hyper}
	if g.X != nil {
		s = append(s, g.X.RawMatrix().Data)
	}
	return append(s, g.Y)
}

func cloneData(d Data) Data {
	return Data{X: mat.DenseCopyOf(d.X), Y: slices.Clone(d.Y)}
}

// randomData draws standard normal features and labels that are linear in a
// third of them plus noise; with classes their signs.
func randomData(seed uint64, rows, n int, classes bool) Data {
	rng := rand.New(rand.NewPCG(seed, 99))
	d := Data{X: mat.NewDense(rows, n, normals(rng, rows*n)), Y: make([]float64, rows)}
	coef := normals(rng, n)
	for i := range d.Y {
		row := d.X.RawRowView(i)
		d.Y[i] = dot(coef[:(n+2)/3], row) + rng.NormFloat64()/2
		if classes {
			d.Y[i] = math.Copysign(1, d.Y[i])
		}
	}
	return d
}

// refuses reports whether err refuses the derivative with respect to inputs, and
// because of weak.
func refuses(err error, weak Weak, inputs ...Input) bool {
	var e *NotDifferentiableError
	return errors.As(err, &e) && errors.Is(err, ErrNotDifferentiable) && slices.Equal(e.Inputs, inputs) &&
		slices.Equal(e.Weak.Rows, weak.Rows) && slices.Equal(e.Weak.Coords, weak.Coords)
}

// newGrad returns a zero Grad with all fields, for h hyperparameters.
func newGrad(d Data, h int) *Grad {
	rows, n := d.X.Dims()
	return &Grad{Hyper: make([]float64, h), X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
}

// checkExtremes fits and differentiates, and fails where an answer without an
// error is not finite or where an error is of no documented kind.
func checkExtremes(t *testing.T, l Learner, d Data, theta, hyper, v []float64, u *Grad) {
	t.Helper()
	documented := func(err error) bool {
		for _, kind := range []error{ErrShape, ErrNotFinite, ErrDomain, ErrIllPosed, ErrInfeasible, ErrUnbounded, ErrNonconvex, ErrIterationLimit, ErrNotFitted, ErrNotDifferentiable} {
			if errors.Is(err, kind) {
				return true
			}
		}
		return false
	}
	check := func(what string, err error, values ...[]float64) {
		t.Helper()
		if err != nil {
			if !documented(err) {
				t.Fatalf("%s: error %v at X %v, y %v, hyper %v", what, err, d.X.RawMatrix().Data, d.Y, hyper)
			}
			return
		}
		for _, s := range values {
			for _, x := range s {
				if !finite(x) {
					t.Fatalf("%s: %v without an error at X %v, y %v, hyper %v", what, s, d.X.RawMatrix().Data, d.Y, hyper)
				}
			}
		}
	}
	if err := l.Load(d); err != nil {
		check("Load", err)
		return
	}
	if err := l.Fit(theta, hyper); err != nil {
		check("Fit", err)
		return
	}
	check("Fit", nil, theta)
	rows, n := d.X.Dims()
	for _, g := range []*Grad{{Hyper: make([]float64, len(hyper))}, {X: mat.NewDense(rows, n, nil)}, {Y: make([]float64, rows)}, {Hyper: make([]float64, len(hyper)), X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}} {
		check("VJP", l.VJP(nil, g, v), gradSlices(g)...)
	}
	if j, ok := l.(ForwardLearner); ok {
		for _, w := range []*Grad{u, {Hyper: u.Hyper}, {X: u.X}, {Y: u.Y}} {
			out := make([]float64, len(theta))
			check("JVP", j.JVP(nil, out, w), out)
		}
	}
}

func drawPenalty(t *rapid.T, name string) float64 {
	return math.Pow(10, rapid.Float64Range(-7, 1).Draw(t, name))
}

// classData is randomData with a label of each class.
func classData(seed uint64, rows, n int) Data {
	d := randomData(seed, rows, n, true)
	d.Y[0], d.Y[rows-1] = 1, -1
	return d
}

// drawClasses draws data that is random, or on a small grid so that rows
// coincide, repeat and lie on the same hyperplanes.
func drawClasses(t *rapid.T) Data {
	rows, n := rapid.IntRange(2, 25).Draw(t, "rows"), rapid.IntRange(1, 6).Draw(t, "n")
	grid := rapid.Bool().Draw(t, "grid")
	d := Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
	for i := range rows {
		for j := range n {
			if grid {
				d.X.Set(i, j, float64(rapid.IntRange(-2, 2).Draw(t, "x")))
			} else {
				d.X.Set(i, j, float64(rapid.IntRange(-200, 200).Draw(t, "x"))/64)
			}
		}
		d.Y[i] = float64(2*rapid.IntRange(0, 1).Draw(t, "y") - 1)
	}
	d.Y[0], d.Y[rows-1] = 1, -1
	return d
}

func learnerGradOf(d Data, hyper []float64) *Grad {
	rows, n := d.X.Dims()
	return &Grad{Hyper: make([]float64, len(hyper)), X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
}

// kindOf is the documented kind of an error.
func kindOf(err error) error {
	for _, kind := range []error{ErrShape, ErrNotFinite, ErrDomain, ErrIllPosed, ErrInfeasible, ErrUnbounded, ErrNonconvex, ErrIterationLimit, ErrNotFitted, ErrNotDifferentiable} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return err
}

// A PredictorJVP is a Predictor with derivatives along a direction.
type PredictorJVP interface {
	Predictor
	PredictJVP(w *Workspace, df []float64, x, dx *mat.Dense, d *Grad) error
}

// predictions is a Predictor whose θ are its predictions at five rows: as such it is a
// learner like any other.
type predictions struct {
	P PredictorJVP
	X *mat.Dense // nil: drawn by Load
	b [1]float64 // a fit's θ
}

func (l *predictions) Dims(n int) (theta, hyper int) {
	_, hyper = l.P.Dims(n)
	return 5, hyper
}

func (l *predictions) Load(d Data) error {
	if err := l.P.Load(d); err != nil {
		return err
	}
	if _, n := d.X.Dims(); l.X == nil || l.X.RawMatrix().Cols != n {
		l.X = mat.NewDense(5, n, normals(rand.New(rand.NewPCG(8, 8)), 5*n))
	}
	return nil
}

func (l *predictions) Fit(theta, hyper []float64) error {
	nt, _ := l.P.Dims(1)
	if err := l.P.Fit(l.b[:nt], hyper); err != nil {
		return err
	}
	return l.P.Predict(nil, theta, l.X)
}

func (l *predictions) VJP(w *Workspace, g *Grad, dtheta []float64) error {
	return l.P.PredictVJP(w, g, nil, l.X, dtheta)
}

func (l *predictions) JVP(w *Workspace, dtheta []float64, d *Grad) error {
	return l.P.PredictJVP(w, dtheta, l.X, nil, d)
}

func (l *predictions) Reset() { l.P.Reset() }

// linearModel is 1/N·Σ loss(θᵀx_i, y_i) + λ/2·‖θ‖² with the hyperparameter λ,
// for a loss given by its first and second derivative in the prediction and the
// derivative of the first in y.
func linearModel(loss func(p, y float64) (d1, d2, dy float64)) SmoothObjective {
	each := func(theta []float64, d Data, f func(i int, x []float64, d1, d2, dy float64)) {
		inv := 1 / float64(len(d.Y))
		for i, y := range d.Y {
			x := d.X.RawRowView(i)
			d1, d2, dy := loss(dot(theta, x), y)
			f(i, x, d1*inv, d2*inv, dy*inv)
		}
	}
	return SmoothObjective{
		NumHyper: 1,
		Gradient: func(g, theta []float64, d Data, hyper []float64) {
			for j, t := range theta {
				g[j] = hyper[0] * t
			}
			each(theta, d, func(_ int, x []float64, d1, _, _ float64) { axpy(d1, x, g) })
		},
		HVP: func(hv, v, theta []float64, d Data, hyper []float64) {
			for j, t := range v {
				hv[j] = hyper[0] * t
			}
			each(theta, d, func(_ int, x []float64, _, d2, _ float64) { axpy(d2*dot(x, v), x, hv) })
		},
		MixedVJP: func(g *Grad, v, theta []float64, d Data, hyper []float64) {
			if g.Hyper != nil {
				g.Hyper[0] += dot(v, theta)
			}
			each(theta, d, func(i int, x []float64, d1, d2, dy float64) {
				xv := dot(x, v)
				if g.Y != nil {
					g.Y[i] += dy * xv
				}
				if g.X != nil {
					axpy(d1, v, g.X.RawRowView(i))
					axpy(d2*xv, theta, g.X.RawRowView(i))
				}
			})
		},
	}
}

// pseudoHuber is √(1+r²), poisson exp(p) − yp, halfSquare r²/2.
func pseudoHuber(p, y float64) (d1, d2, dy float64) {
	r := p - y
	s := math.Sqrt(1 + r*r)
	return r / s, 1 / (s * s * s), -1 / (s * s * s)
}

func poisson(p, y float64) (d1, d2, dy float64) { return math.Exp(p) - y, math.Exp(p), -1 }

func halfSquare(p, y float64) (d1, d2, dy float64) { return p - y, 1, -1 }
