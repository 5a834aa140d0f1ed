package qpdiff

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// learnerCase is a smooth point of a learner: the solution must be
// differentiable in a neighbourhood of about fdStep in every input.
type learnerCase struct {
	name  string
	data  Data
	hyper []float64

	// residual is the violation of the optimality conditions by theta, relative
	// to the size of their terms, from a formula that does not share code with
	// the learner. At most optTol, 1e-13 if zero.
	residual func(d Data, theta, hyper []float64) float64
	optTol   float64

	// fixedY is for learners that accept no labels but ±1: no differences with
	// respect to y are taken (the VJP is still asked for it).
	fixedY bool
	// fdStep is the step of the difference quotients, 1e-3 if zero: relative to
	// a hyperparameter, absolute along unit directions of X and y. At a
	// hyperparameter 0 the quotient is one-sided, with a hundredth of it.
	fdStep float64
}

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
func testLearner(t *testing.T, newLearner func() Learner, cases ...learnerCase) {
	t.Helper()
	var exported []LearnerCase
	for _, c := range cases {
		exported = append(exported, LearnerCase{c.name, c.data, c.hyper, c.residual, c.optTol, c.fixedY, c.fdStep})
	}
	LearnerContract(t, newLearner, exported...)
}

// nanSlice returns a destination for θ, poisoned.
func nanSlice(n, _ int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = math.NaN()
	}
	return s
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

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool {
		return math.Float64bits(x) == math.Float64bits(y)
	})
}

// long is the number of random problems of a test that takes n of them, a fifth of
// that with -short, as under the race detector and emulation.
func long(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

func normals(rng *rand.Rand, n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = rng.NormFloat64()
	}
	return s
}

// direction draws from the unit sphere.
func direction(rng *rand.Rand, n int) []float64 {
	s := normals(rng, n)
	length := math.Sqrt(dot(s, s))
	for i := range s {
		s[i] /= length
	}
	return s
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

// centralDifference is the derivative of f at 0 from five points, with an
// error of order h⁴.
func centralDifference(f func(float64) float64, h float64) float64 {
	return (8*(f(h)-f(-h)) - (f(2*h) - f(-2*h))) / (12 * h)
}

// forwardDifference is the derivative of f at 0 from the right, of order h⁴.
func forwardDifference(f func(float64) float64, h float64) float64 {
	return (-25*f(0) + 48*f(h) - 36*f(2*h) + 16*f(3*h) - 3*f(4*h)) / (12 * h)
}

// These learners count rows; the contract accepts refusals as well.
func TestLearnersThatCountRows(t *testing.T) {
	d := randomData(1, 12, 2, true)
	d.Rows = []int{0, 1, 1, 2, 3, 4, 5, 6, 7, 8}
	d.Weights = nanSlice(12, 0)
	for i := range d.Weights {
		d.Weights[i] = 1 + float64(i)/2
	}
	for _, l := range []Learner{new(ElasticNet), new(Logistic), new(SparseLogistic), new(SVM), new(LearnedLoss), new(KernelSVM), &KernelSVM{Intercept: true}} {
		if err := l.Load(d); err != nil {
			t.Errorf("%T: %v", l, err)
		}
		for name, change := range map[string]func(d *Data){
			"short weights":   func(d *Data) { d.Weights = d.Weights[1:] },
			"negative weight": func(d *Data) { d.Weights = []float64{-1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1} },
			"NaN weight":      func(d *Data) { d.Weights = nanSlice(12, 0) },
			"no row counts":   func(d *Data) { d.Weights = make([]float64, 12) },
			"sum not normal":  func(d *Data) { d.Weights = slices.Repeat([]float64{1e-310}, 12) },
			"sum overflows":   func(d *Data) { d.Weights = slices.Repeat([]float64{1e308}, 12) },
			"row too high":    func(d *Data) { d.Rows = []int{0, 12} },
			"row below 0":     func(d *Data) { d.Rows = []int{0, -1} },
			"no rows":         func(d *Data) { d.Rows = []int{} },
		} {
			bad := d
			change(&bad)
			var e *ArgError
			if err := l.Load(bad); !errors.As(err, &e) || !strings.HasPrefix(e.Arg, "Data.") {
				t.Errorf("%T, %s: %v", l, name, err)
			}
		}
	}
}

// A row that LoadSubset leaves out counts as one of weight 0, also where the others have
// weights.
func TestLogisticSubsetOfWeightedRows(t *testing.T) {
	d := randomData(2, 20, 2, true)
	d.Weights = make([]float64, 20)
	for i := range d.Weights {
		d.Weights[i] = .5 + float64(i%4)
	}
	full, part, want := new(Logistic), new(Logistic), new(Logistic)
	without := d
	without.Weights = slices.Clone(d.Weights)
	out := []int{3, 4, 11}
	for _, i := range out {
		without.Weights[i] = 0
	}
	theta, reference, hyper := make([]float64, 2), make([]float64, 2), []float64{3}
	if err := errors.Join(full.Load(d), full.Fit(theta, hyper), part.LoadSubset(full, out), part.Fit(theta, hyper),
		want.Load(without), want.Fit(reference, hyper)); err != nil {
		t.Fatal(err)
	}
	nearAll(t, "theta", theta, reference, 1e-13, 0)
	g, h := &Grad{X: mat.NewDense(20, 2, nil)}, &Grad{X: mat.NewDense(20, 2, nil)}
	if err := errors.Join(part.VJP(nil, g, []float64{1, 2}), want.VJP(nil, h, []float64{1, 2}), part.Load(without), full.Fit(theta, hyper)); err != nil {
		t.Fatal(err)
	}
	nearAll(t, "X", g.X.RawMatrix().Data, h.X.RawMatrix().Data, 1e-12, 0)
	if full.counts[3] != d.Weights[3] {
		t.Error("a Load after LoadSubset writes to the weights of the full learner")
	}
}
