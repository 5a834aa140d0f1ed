package cvgm

import (
	"context"
	"errors"
	"math"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/penalised"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// jointConfig has three classes, weights and random splits that overlap.
func jointConfig(t testing.TB) Config {
	const rows, n = 45, 4
	src := synth.NewStream(3, "several classes")
	d := learn.Data{X: normalMatrix(src, rows, n), Y: make([]float64, rows), Weights: make([]float64, rows)}
	for i := range rows {
		row := d.Dense().RawRowView(i)
		d.Weights[i] = float64(i%4) / 2
		switch {
		case row[0]+src.NormFloat64()/2 > .5:
			d.Y[i] = 1
		case row[1]-row[2]+src.NormFloat64()/2 > 0:
			d.Y[i] = 2
		}
	}
	splits := casetest.Must(RandomSplits(src, rows, 5, .7))(t)
	return Config{Data: d, Splits: splits, Loss: LogisticLoss{}, Standardise: true, Learner: func() learn.Learner {
		return &penalised.Multinomial{Classes: 3, Intercept: true, Penalties: []penalised.Penalty{penalised.Ridge(0, 2), penalised.Ridge(2, 2)}}
	}}
}

// The CV loss of several classes is the mean of −log p over the rows, where p is the probability of
// the row's own class.
func TestSeveralClasses(t *testing.T) {
	const tol, step = 1e-6, 1e-4 // of central differences
	c := jointConfig(t)
	cv := casetest.Must(New(c))(t)
	alpha, grad := []float64{.6, 2}, make([]float64, 2)
	loss := casetest.Must(cv.Eval(grad, alpha))(t)
	out := make([]float64, len(c.Data.Y))
	casetest.OK(t, cv.OutOfFold(out))
	want := 0.0
	for _, s := range c.Splits {
		models := casetest.Must(cv.FinalClasses(context.Background(), s.Train, alpha))(t)
		x := copyRows(c.Data.Dense(), s.Val)
		decisions := mat.NewDense(len(s.Val), 3, nil)
		for k, m := range models {
			d := make([]float64, len(s.Val))
			casetest.OK(t, m.Predict(d, x))
			decisions.SetCol(k, d)
		}
		sum, total := 0.0, 0.0
		for at, i := range s.Val {
			row := decisions.RawRowView(at)
			share := math.Exp(row[int(c.Data.Y[i])]) / (math.Exp(row[0]) + math.Exp(row[1]) + math.Exp(row[2]))
			sum -= c.Data.Weights[i] * math.Log(share)
			total += c.Data.Weights[i]
		}
		want += sum / total / float64(len(c.Splits))
	}
	fromModels := 0.0
	for _, s := range c.Splits { // the same loss, computed with the functions of all models
		models := casetest.Must(cv.FinalClasses(context.Background(), s.Train, alpha))(t)
		val := learn.Data{X: copyRows(c.Data.Dense(), s.Val), Y: sample.Pick(c.Data.Y, s.Val), Weights: sample.Pick(c.Data.Weights, s.Val)}
		fromModels += casetest.Must(ClassRisk(models, c.Loss, val))(t) / float64(len(c.Splits))
	}
	if !casetest.Near(loss, want, 1e-12) || !casetest.Near(fromModels, want, 1e-12) {
		t.Errorf("loss %v instead of %v", loss, want)
	}
	checkOutOfFoldClasses(t, c, cv, alpha)
	for j := range alpha {
		at := func(h float64) float64 {
			moved := []float64{alpha[0], alpha[1]}
			moved[j] += h
			return casetest.Must(cv.Eval(nil, moved))(t)
		}
		if quotient := (at(step) - at(-step)) / (2 * step); !casetest.Near(grad[j], quotient, tol) {
			t.Errorf("λ[%d]: %v instead of %v", j, grad[j], quotient)
		}
	}
	rows, n := c.Data.X.Dims()
	dx := mat.NewDense(rows, n, nil)
	dgrad := make([]float64, 2)
	casetest.Must(cv.DataGradient(dx, nil, alpha))(t)
	casetest.Must(cv.Eval(dgrad, alpha))(t)
	if !casetest.Near(dgrad[0], grad[0], 1e-9) || !casetest.Near(dgrad[1], grad[1], 1e-9) { // from a warm start
		t.Errorf("gradient %v after one of the data, %v before", dgrad, grad)
	}
	for _, at := range [][2]int{{1, 0}, {5, 3}, {22, 2}} {
		value := func(h float64) float64 {
			moved := c
			moved.Data.X = mat.DenseCopyOf(c.Data.X)
			moved.Data.Dense().Set(at[0], at[1], c.Data.Dense().At(at[0], at[1])+h)
			return casetest.Must(casetest.Must(New(moved))(t).Eval(nil, alpha))(t)
		}
		if quotient := (value(step) - value(-step)) / (2 * step); !casetest.Near(dx.At(at[0], at[1]), quotient, 10*tol) {
			t.Errorf("x at %v: %v instead of %v", at, dx.At(at[0], at[1]), quotient)
		}
	}
	if _, err := cv.DataGradient(nil, make([]float64, rows), alpha); !errors.Is(err, qpdiff.ErrNotDifferentiable) {
		t.Errorf("a derivative in the numbers of classes: %v", err)
	}
}

// checkOutOfFoldClasses compares the out-of-fold probabilities with the mean probabilities of the
// models of the splits.
func checkOutOfFoldClasses(t *testing.T, c Config, cv *CV, alpha []float64) {
	t.Helper()
	rows := len(c.Data.Y)
	got, want, counts := mat.NewDense(rows, 3, nil), mat.NewDense(rows, 3, nil), make([]float64, rows)
	casetest.OK(t, cv.OutOfFoldClasses(got))
	for _, s := range c.Splits {
		models := casetest.Must(cv.FinalClasses(context.Background(), s.Train, alpha))(t)
		p := casetest.Must(ClassProbabilities(models, copyRows(c.Data.Dense(), s.Val)))(t)
		for at, i := range s.Val {
			counts[i]++
			for k := range 3 {
				want.Set(i, k, want.At(i, k)+p.At(at, k))
			}
		}
	}
	for i, n := range counts {
		for k := range 3 {
			v := got.At(i, k)
			if c.Data.Weights[i] == 0 || n == 0 {
				if v == v {
					t.Errorf("row %d without a judge has the probability %v", i, v)
				}
			} else if !casetest.Near(v, want.At(i, k)/n, 1e-9) {
				t.Errorf("row %d, class %d: %v instead of %v", i, k, v, want.At(i, k)/n)
			}
		}
	}
}

// A CV of several classes refuses calls that need a single prediction, and labels that are no
// classes.
func TestSeveralClassesRefuse(t *testing.T) {
	c := jointConfig(t)
	cv := casetest.Must(New(c))(t)
	if _, err := cv.Final([]float64{1, 1}); !errors.Is(err, qpdiff.ErrDomain) {
		t.Error(err)
	}
	one := casetest.Must(New(Config{Data: c.Data, Splits: c.Splits, Loss: SquaredError{}, Learner: func() learn.Learner { return new(penalised.GLM) }}))(t)
	if _, err := one.FinalClasses(context.Background(), c.Splits[0].Train, []float64{1}); !errors.Is(err, qpdiff.ErrDomain) {
		t.Error(err)
	}
	if err := one.OutOfFoldClasses(mat.NewDense(45, 3, nil)); !errors.Is(err, qpdiff.ErrDomain) {
		t.Error(err)
	}
	if err := cv.OutOfFoldClasses(mat.NewDense(45, 3, nil)); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Error(err)
	}
	models := casetest.Must(cv.FinalClasses(context.Background(), c.Splits[0].Train, []float64{1, 1}))(t)
	if _, err := ClassProbabilities(models[:1], c.Data.X); !errors.Is(err, qpdiff.ErrShape) {
		t.Error(err)
	}
	if _, err := ClassProbabilities([]*Model{models[0], nil}, c.Data.X); !errors.Is(err, qpdiff.ErrEmpty) {
		t.Error(err)
	}
	if _, err := ClassProbabilities(nil, c.Data.X); !errors.Is(err, qpdiff.ErrEmpty) {
		t.Errorf("no models: %v", err)
	}
	if _, err := ClassProbabilities(models, nil); !errors.Is(err, qpdiff.ErrEmpty) {
		t.Error(err)
	}
	if _, err := ClassRisk(models[:2], c.Loss, c.Data); !errors.Is(err, qpdiff.ErrDomain) { // labels up to 2
		t.Error(err)
	}
	centred := c
	centred.Centring = MeanCentring
	beyond := c
	beyond.Data.Y = append([]float64{3}, c.Data.Y[1:]...)
	for name, c := range map[string]Config{"centring": centred, "label": beyond} {
		if _, err := New(c); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
