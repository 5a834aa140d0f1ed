package cvgm

import (
	"errors"
	"math"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/penalised"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// plainFits and plainPredictions hide Folds.
type (
	plainFits        struct{ learn.Learner }
	plainPredictions struct{ learn.Predictor }
)

// plain returns l without Folds.
func plain(l learn.Learner) learn.Learner {
	if p, ok := l.(learn.Predictor); ok {
		return plainPredictions{p}
	}
	return plainFits{l}
}

// Folds at once give the loss, the gradient, the standard error and the predictions of one fit for
// each, with folds of unequal sizes, weights and learned features.
func TestFoldsAtOnce(t *testing.T) {
	const rows = 23
	d := casetest.Regression(4, rows, 3)
	weighted := d
	weighted.Weights = make([]float64, rows)
	for i := range rows {
		weighted.Weights[i] = math.Exp(math.Sin(float64(7*i))) * float64(min(1, i%5))
	}
	splits := map[string][]Split{"5 folds": casetest.Must(KFold(synth.NewStream(2, "folds"), rows, 5))(t), "leave-one-out": casetest.Must(LeaveOneOut(rows))(t)}
	splits["random splits"] = casetest.Must(RandomSplits(synth.NewStream(3, "splits"), rows, 6, .5))(t)
	splits["two of the folds"] = splits["5 folds"][:2]
	for name, s := range splits {
		for _, d := range []learn.Data{d, weighted} {
			for _, m := range []func() FeatureMap{func() FeatureMap { return nil }, func() FeatureMap { return &Perceptron{Widths: []int{3, 4, 2}} }} {
				if name == "leave-one-out" && d.Weights != nil {
					continue // splits without an example that counts
				}
				for _, l := range []learn.Tunable{
					&penalised.GLM{Penalties: []penalised.Penalty{penalised.Ridge(0, 2), penalised.Ridge(1, 1)}, Intercept: true},
					&kernel.Ridge{Intercept: true},
				} {
					c := Config{Data: d, Splits: s, Loss: SquaredError{}, Features: m(), Learner: l.New}
					one := c
					one.Features, one.Learner = m(), func() learn.Learner { return plain(l.New()) }
					got, want := casetest.Must(New(c))(t), casetest.Must(New(one))(t)
					alpha := make([]float64, got.Dims())
					for k := range alpha {
						alpha[k] = .4 + .3*math.Sin(float64(5*k))
					}
					for range 2 {
						compareEvaluations(t, name, got, want, alpha)
						alpha[0] *= 2
					}
					if !got.run.atOnce || want.run.atOnce {
						t.Errorf("%s, %T: at once %v and %v", name, l, got.run.atOnce, want.run.atOnce)
					}
				}
			}
		}
	}
}

// compareEvaluations compares two CVs, of rows examples, at alpha.
func compareEvaluations(t *testing.T, name string, got, want *CV, alpha []float64) {
	t.Helper()
	g, w := make([]float64, len(alpha)), make([]float64, len(alpha))
	loss, err := got.Eval(g, alpha)
	value, err2 := want.Eval(w, alpha)
	if err != nil || err2 != nil {
		t.Fatal(name, err, err2)
	}
	nearEntries(t, name+", loss", []float64{loss}, []float64{value}, 0)
	nearEntries(t, name+", gradient", g, w, 0)
	e, err := got.StandardError()
	f, err2 := want.StandardError()
	if err != nil || err2 != nil {
		t.Fatal(name, err, err2)
	}
	nearEntries(t, name+", standard error", []float64{e}, []float64{f}, 0)
	p, q := make([]float64, len(got.c.Data.Y)), make([]float64, len(got.c.Data.Y))
	if err := errors.Join(got.OutOfFold(p), want.OutOfFold(q)); err != nil {
		t.Fatal(name, err)
	}
	for i := range p {
		if p[i] != p[i] && q[i] != q[i] {
			p[i], q[i] = 0, 0
		}
	}
	nearEntries(t, name+", predictions", p, q, 0)
}

// Splits that leave rows out are fitted one by one, as are folds that Folds refuses: the error then
// names the split.
func TestFoldsOneByOne(t *testing.T) {
	d := casetest.Regression(4, 12, 3)
	for name, s := range map[string][]Split{
		"fewer rows": {{[]int{0, 1, 2, 3, 4, 5, 6}, []int{7, 8}}, {[]int{7, 8, 9, 10, 11, 6}, []int{0}}},
	} {
		cv := casetest.Must(New(Config{Data: d, Splits: s, Loss: SquaredError{}, Learner: func() learn.Learner { return new(penalised.GLM) }}))(t)
		if _, err := cv.Eval(nil, []float64{1}); err != nil || cv.run.atOnce {
			t.Errorf("%s: %v, at once %v", name, err, cv.run.atOnce)
		}
	}
	open := learn.Data{X: mat.NewDense(4, 1, []float64{1, 0, 0, 0}), Y: []float64{1, 2, 3, 4}}
	cv := casetest.Must(New(Config{Data: open, Splits: casetest.Must(LeaveOneOut(4))(t), Loss: SquaredError{}, Learner: func() learn.Learner { return new(penalised.GLM) }}))(t)
	var e *SplitError
	if _, err := cv.Eval(nil, []float64{0}); !errors.As(err, &e) || e.Split != 0 || !errors.Is(err, qpdiff.ErrIllPosed) {
		t.Error(err)
	}
}
