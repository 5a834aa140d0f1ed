package cvgm_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// drawStored draws a sparse matrix whose columns store few, most or all entries. One column is
// constant.
func drawStored(rng *rand.Rand, rows, n int) *sample.Stored {
	s := sample.NewStored(n)
	part, offset := make([]float64, n), make([]float64, n)
	for j := range n {
		part[j], offset[j] = []float64{.1, .3, .9, 1}[rng.IntN(4)], []float64{0, 1, 20}[rng.IntN(3)]
	}
	for range rows {
		for j := range n {
			switch {
			case j == n-1:
				s.Set(j, 3)
			case rng.Float64() < part[j]:
				s.Set(j, offset[j]+rng.NormFloat64())
			}
		}
		s.EndRow()
	}
	return s
}

// unreadableMatrix is a sparse matrix whose At panics.
type unreadableMatrix struct{ *sample.Stored }

func (unreadableMatrix) At(i, j int) float64 { panic("an entry of a sparse matrix was read by At") }

// storedConfig draws a CV of an elastic net on a sparse X.
func storedConfig(t *testing.T, rng *rand.Rand) (c cvgm.Config, dense *mat.Dense) {
	rows, n := 12+rng.IntN(40), 2+rng.IntN(12)
	x := drawStored(rng, rows, n)
	dense = mat.DenseCopyOf(x)
	y := make([]float64, rows)
	for i := range y {
		y[i] = 3 + dense.At(i, 0) + .3*rng.NormFloat64()
	}
	splits, err := cvgm.RandomSplits(rng, rows, 3, .7)
	if err != nil {
		t.Fatal(err)
	}
	c = cvgm.Config{Data: learn.Data{X: unreadableMatrix{x}, Y: y}, Splits: splits, Loss: cvgm.SquaredError{},
		Learner: func() learn.Learner { return new(linear.ElasticNet) }, Standardise: rng.IntN(3) > 0, Centring: []cvgm.Centring{cvgm.NoCentring, cvgm.MeanCentring}[rng.IntN(2)]}
	if rng.IntN(2) == 0 {
		c.Data.Weights = make([]float64, rows)
		for i := range y {
			c.Data.Weights[i] = .5 + rng.Float64()
		}
	}
	if rng.IntN(3) == 0 {
		c.Loss = cvgm.AbsoluteError{}
	}
	return c, dense
}

// classifierConfig turns c into the Config of a classifier, with labels of both classes in each
// split.
func classifierConfig(c cvgm.Config, learner func() learn.Learner) cvgm.Config {
	middle := slices.Sorted(slices.Values(c.Data.Y))[len(c.Data.Y)/2]
	for i, y := range c.Data.Y {
		c.Data.Y[i] = 1
		if y < middle {
			c.Data.Y[i] = -1
		}
	}
	c.Learner, c.Loss, c.Centring = learner, cvgm.LogisticLoss{}, cvgm.NoCentring
	return c
}

// A CV with a sparse X gives the same results as with a dense copy.
func TestStoredEqualsDense(t *testing.T) {
	const tol = 1e-9 // of systems with conditions up to some 1e4
	for seed := range uint64(180) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			c, dense := storedConfig(t, rng)
			alpha := []float64{.02 + .1*rng.Float64(), .05 + rng.Float64()}
			switch seed / 60 {
			case 1:
				c = classifierConfig(c, func() learn.Learner { return &linear.Logistic{Intercept: linear.Intercept(seed % 3)} })
				alpha = alpha[:1]
			case 2:
				c = classifierConfig(c, func() learn.Learner { return &linear.SparseLogistic{Intercept: seed%2 == 0} })
			}
			rows := len(c.Data.Y)
			other := c
			other.Data.X = dense
			cv, err := cvgm.New(c)
			if err != nil {
				t.Fatal(err)
			}
			reference, err := cvgm.New(other)
			if err != nil {
				t.Fatal(err)
			}
			near := func(name string, got, want []float64) {
				t.Helper()
				if size := 1 + floats.Norm(want, math.Inf(1)); !(floats.Distance(got, want, math.Inf(1)) <= tol*size) {
					t.Errorf("%s: %v, and %v on the dense copy", name, got, want)
				}
			}
			grad, wantGrad := make([]float64, len(alpha)), make([]float64, len(alpha))
			loss, err := cv.Eval(grad, alpha)
			want, wantErr := reference.Eval(wantGrad, alpha)
			if err != nil || wantErr != nil {
				t.Fatal(err, wantErr)
			}
			if r, err := cv.Residual(); err != nil || !(r <= 1e-12) {
				t.Errorf("residual %v, error %v", r, err)
			}
			near("the loss", []float64{loss}, []float64{want})
			near("the gradient", grad, wantGrad)
			dy, wantDy := make([]float64, rows), make([]float64, rows)
			if _, err := cv.DataGradient(nil, dy, alpha); err != nil {
				t.Fatal(err)
			}
			if _, err := reference.DataGradient(nil, wantDy, alpha); err != nil {
				t.Fatal(err)
			}
			near("the gradient in the labels", dy, wantDy)
			dx := mat.DenseCopyOf(dense)
			if _, err := cv.DataGradient(dx, dy, alpha); !errors.Is(err, qpdiff.ErrNotDifferentiable) || !math.IsNaN(dx.At(0, 0)) {
				t.Errorf("the gradient in a sparse X: %v, error %v", dx.At(0, 0), err)
			}
			near("the gradient in the labels beside it", dy, wantDy)
			model, err := cv.Final(alpha)
			if err != nil {
				t.Fatal(err)
			}
			wantModel, err := reference.Final(alpha)
			if err != nil {
				t.Fatal(err)
			}
			predictions, wantPredictions := make([]float64, rows), make([]float64, rows)
			for _, err := range []error{model.Predict(predictions, c.Data.X), wantModel.Predict(wantPredictions, dense)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			near("the predictions", predictions, wantPredictions)
			if err := model.Predict(predictions, dense); err != nil {
				t.Fatal(err)
			}
			near("the predictions for the dense copy", predictions, wantPredictions)
			risk, err := model.Risk(c.Loss, c.Data)
			wantRisk, wantErr := wantModel.Risk(c.Loss, other.Data)
			if err != nil || wantErr != nil {
				t.Fatal(err, wantErr)
			}
			near("the risk", []float64{risk}, []float64{wantRisk})
		})
	}
}

// wrongVisits is a matrix that visits each entry of its rows twice.
type wrongVisits struct{ *sample.Stored }

func (x wrongVisits) DoRowNonZero(i int, fn func(i, j int, v float64)) {
	x.Stored.DoRowNonZero(i, fn)
	x.Stored.DoRowNonZero(i, fn)
}

// Every function that reads X returns an error if X visits an entry twice.
func TestWrongVisits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	x := drawStored(rng, 12, 1)
	d := learn.Data{X: x, Y: mat.Col(nil, 0, x)}
	splits, err := cvgm.KFold(rng, 12, 3)
	if err != nil {
		t.Fatal(err)
	}
	wrong := d
	wrong.X = wrongVisits{x}
	for _, learner := range []func() learn.Learner{func() learn.Learner { return new(linear.ElasticNet) }, func() learn.Learner { return new(linear.Huber) }} {
		for _, prepare := range []cvgm.Preparer{nil, newMeanPreparer("")} {
			c := cvgm.Config{Data: wrong, Splits: splits, Learner: learner, Loss: cvgm.SquaredError{}, Prepare: prepare}
			_, err := cvgm.New(c)
			wantWrongVisits(t, "New", err)
			c.Data = d
			cv, err := cvgm.New(c)
			if err != nil {
				t.Fatal(err)
			}
			model, err := cv.Final([]float64{.1, 1})
			if err != nil {
				t.Fatal(err)
			}
			wantWrongVisits(t, "Predict", model.Predict(make([]float64, 12), wrong.X))
			_, err = model.Losses(cvgm.SquaredError{}, wrong)
			wantWrongVisits(t, "Losses", err)
		}
	}
}

func wantWrongVisits(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "or that twice") {
		t.Errorf("%s: error %v", what, err)
	}
}
