package cvgm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// checkDataGradient compares the gradients in the rows and, if the learner accepts any label, in
// the labels with difference quotients. It reports whether the loss is smooth.
func checkDataGradient(t *testing.T, title string, c Config, alpha []float64, anyLabel bool, src *synth.Stream) (smooth bool) {
	t.Helper()
	rows, n := c.Data.X.Dims()
	dx, dy := mat.NewDense(rows, n, nil), make([]float64, rows)
	cv, err := New(c)
	if err != nil {
		t.Fatal(title, err)
	}
	loss, err := cv.DataGradient(dx, dy, alpha)
	if c.Centring == FixedLeastSquares && !c.Standardise {
		var split *SplitError
		if !errors.Is(err, qpdiff.ErrNotDifferentiable) || !errors.As(err, &split) || split.Split != 0 || !math.IsNaN(dx.At(0, 0)) || !math.IsNaN(dy[0]) {
			t.Errorf("%s: error %v, gradient %v, %v", title, err, dx.At(0, 0), dy[0])
		}
		return true
	}
	// Rows that the map makes equal may become unequal if their labels change.
	if err != nil && (anyLabel || messageHas(err, "dx: ") || !errors.Is(err, qpdiff.ErrNotDifferentiable)) {
		t.Errorf("%s: %v", title, err)
		return true
	}
	if again, err := cv.Eval(nil, alpha); err != nil || !(math.Abs(again-loss) <= 1e-12*(1+math.Abs(loss))) {
		t.Errorf("%s: loss %v, Eval gives %v, %v", title, loss, again, err)
	}
	for block, grad := range [][]float64{dx.RawMatrix().Data, dy} {
		if block == 1 && !anyLabel {
			continue
		}
		moved := c
		at := slices.Clone(c.Data.Dense().RawMatrix().Data)
		value := func(_, v []float64) (float64, error) {
			moved.Data.X = mat.NewDense(rows, n, v)
			cv, err := New(moved)
			if err != nil {
				return math.NaN(), err
			}
			return cv.Eval(nil, alpha)
		}
		if block == 1 {
			at = slices.Clone(c.Data.Y)
			value = func(_, v []float64) (float64, error) {
				moved.Data.Y = v
				cv, err := New(moved)
				if err != nil {
					return math.NaN(), err
				}
				return cv.Eval(nil, alpha)
			}
		}
		u := normalVector(src, len(at))
		want, even, err := differenceSlope(value, at, u, 1e-4)
		if err != nil || !even {
			return false
		}
		size := 1 + math.Abs(loss)
		for i, g := range grad {
			size += math.Abs(g * u[i])
		}
		if got := floats.Dot(grad, u); !(math.Abs(got-want) <= 1e-8*size) {
			t.Errorf("%s, %s: slope %.12g, central differences give %.12g", title, [2]string{"X", "y"}[block], got, want)
		}
	}
	return true
}

// unlabelled is a loss without a derivative in the label.
type unlabelled struct{}

func (unlabelled) Eval(p, y float64) (loss, slope float64) { return SquaredError{}.Eval(p, y) }

// DataGradient returns one gradient and an error for the other if only one exists.
func TestDataGradientRefusesOneBlock(t *testing.T) {
	base := casetest.Regression(3, 12, 3)
	splits := casetest.Must(KFold(synth.NewStream(3, "splits"), 12, 3))(t)
	config := Config{Data: base, Splits: splits, Loss: SquaredError{}, Standardise: true, Centring: MeanCentring,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }}
	run := func(c Config, alpha ...float64) (dx *mat.Dense, dy []float64, err error) {
		t.Helper()
		cv := casetest.Must(New(c))(t)
		dx, dy = mat.NewDense(12, 3, nil), make([]float64, 12)
		_, err = cv.DataGradient(dx, dy, alpha)
		return dx, dy, err
	}
	missing := func(v []float64) bool { return !slices.ContainsFunc(v, func(x float64) bool { return !math.IsNaN(x) }) }

	constant := config
	constant.Data = learn.Data{X: mat.DenseCopyOf(base.X), Y: base.Y}
	for _, i := range splits[1].Train {
		constant.Data.Dense().Set(i, 2, 7)
	}
	dx, dy, err := run(constant, .05, .1)
	var split *SplitError
	if !errors.As(err, &split) || split.Split != 1 || !errors.Is(err, qpdiff.ErrNotDifferentiable) || !missing(dx.RawMatrix().Data) || !args.AllFinite(dy) {
		t.Errorf("a constant column: %v, dy %v", err, dy)
	}

	noLabels := config
	noLabels.Loss = unlabelled{}
	dx, dy, err = run(noLabels, .05, .1)
	if !errors.Is(err, qpdiff.ErrNotDifferentiable) || !args.AllFinite(dx.RawMatrix().Data) || !missing(dy) {
		t.Errorf("a loss without LabelSlope: %v", err)
	}

	// λ1 at a kink of split 0.
	kinked := config
	kinked.Standardise, kinked.Centring = false, NoCentring
	kinked.Splits = splits[:1]
	cv := casetest.Must(New(kinked))(t)
	x, y := cv.fits[0].train.Dense(), cv.fits[0].train.Y
	top := 0.0 // the λ1 from which θ = 0
	for j := range 3 {
		top = max(top, math.Abs(mat.Dot(x.ColView(j), mat.NewVecDense(len(y), y)))/float64(len(y)))
	}
	dx, dy, err = run(kinked, top, .1)
	if !errors.Is(err, qpdiff.ErrNotDifferentiable) || !missing(dx.RawMatrix().Data) || !missing(dy) {
		t.Errorf("at a kink: %v", err)
	}
	kinked.Generalised = true
	if _, _, err = run(kinked, top, .1); err != nil {
		t.Errorf("at a kink, generalised: %v", err)
	}

	// Two equal rows on the elbow of an SVM.
	equal := Config{Data: learn.Data{X: mat.NewDense(5, 2, []float64{1, .5, 1, .5, -1, .3, -2, -1, .2, 2}), Y: []float64{1, 1, -1, -1, 1}},
		Splits: []Split{{Train: []int{0, 1, 2, 3}, Val: []int{4}}}, Loss: LogisticLoss{}, Learner: func() learn.Learner { return new(margin.SVM) }}
	cv = casetest.Must(New(equal))(t)
	dx = mat.NewDense(5, 2, nil)
	if _, err := cv.DataGradient(dx, nil, []float64{0, .1}); !errors.Is(err, qpdiff.ErrNotDifferentiable) || !missing(dx.RawMatrix().Data) {
		t.Errorf("equal rows: %v", err)
	}
}

// The gradient in the labels follows from θ = Σy/(N(1 + λ2)), because the only feature is 1.
func ExampleCV_DataGradient() {
	d := learn.Data{X: mat.NewDense(3, 1, []float64{1, 1, 1}), Y: []float64{2, 4, 5}}
	cv, err := New(Config{Data: d, Splits: []Split{{Train: []int{0, 1}, Val: []int{2}}}, Loss: SquaredError{},
		Learner: func() learn.Learner { return new(linear.ElasticNet) }})
	if err != nil {
		panic(err)
	}
	dy := make([]float64, 3)
	loss, err := cv.DataGradient(nil, dy, []float64{0, 1})
	fmt.Println(loss, dy, err) // θ = 1.5, loss (1.5 − 5)²
	// Output: 12.25 [-1.75 -1.75 7] <nil>
}
