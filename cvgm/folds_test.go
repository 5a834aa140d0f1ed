package cvgm

import (
	"errors"
	"fmt"
	"math"
	"slices"
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

// plainLearner returns l without Folds.
func plainLearner(l learn.Learner) learn.Learner {
	if p, ok := l.(learn.Predictor); ok {
		return plainPredictions{p}
	}
	return plainFits{l}
}

// A CV that calls Folds gets the results of one fit for each fold, for unequal sizes, weights and
// learned features.
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
					one.Features, one.Learner = m(), func() learn.Learner { return plainLearner(l.New()) }
					got, want := casetest.Must(New(c))(t), casetest.Must(New(one))(t)
					alpha := make([]float64, got.Dims())
					for k := range alpha {
						alpha[k] = .4 + .3*math.Sin(float64(5*k))
					}
					for range 2 {
						compareEvaluations(t, name, atOnceTol, got, want, alpha)
						alpha[0] *= 2
					}
					if !got.evalState.atOnce || want.evalState.atOnce {
						t.Errorf("%s, %T: at once %v and %v", name, l, got.evalState.atOnce, want.evalState.atOnce)
					}
				}
			}
		}
	}
}

// compareEvaluations compares the results of two CVs at alpha up to tol times the largest entry.
func compareEvaluations(t *testing.T, name string, tol float64, got, want *CV, alpha []float64) {
	t.Helper()
	g, w := make([]float64, len(alpha)), make([]float64, len(alpha))
	loss, err := got.Eval(g, alpha)
	value, err2 := want.Eval(w, alpha)
	if err != nil || err2 != nil {
		t.Fatal(name, err, err2)
	}
	nearWithin(t, name+", loss", tol, []float64{loss}, []float64{value}, 0)
	nearWithin(t, name+", gradient", tol, g, w, 0)
	e, err := got.StandardError()
	f, err2 := want.StandardError()
	if err != nil || err2 != nil {
		t.Fatal(name, err, err2)
	}
	nearWithin(t, name+", standard error", tol, []float64{e}, []float64{f}, 0)
	p, q := make([]float64, len(got.c.Data.Y)), make([]float64, len(got.c.Data.Y))
	if err := errors.Join(got.OutOfFold(p), want.OutOfFold(q)); err != nil {
		t.Fatal(name, err)
	}
	for i := range p {
		if p[i] != p[i] && q[i] != q[i] {
			p[i], q[i] = 0, 0
		}
	}
	nearWithin(t, name+", predictions", tol, p, q, 0)
}

// Splits are fitted one by one if one of them does not use all rows or Folds returns an error. The
// error then names the split.
func TestFoldsOneByOne(t *testing.T) {
	d := casetest.Regression(4, 12, 3)
	for name, s := range map[string][]Split{
		"fewer rows": {{[]int{0, 1, 2, 3, 4, 5, 6}, []int{7, 8}}, {[]int{7, 8, 9, 10, 11, 6}, []int{0}}},
	} {
		cv := casetest.Must(New(Config{Data: d, Splits: s, Loss: SquaredError{}, Learner: func() learn.Learner { return new(penalised.GLM) }}))(t)
		if _, err := cv.Eval(nil, []float64{1}); err != nil || cv.evalState.atOnce {
			t.Errorf("%s: %v, at once %v", name, err, cv.evalState.atOnce)
		}
	}
	open := learn.Data{X: mat.NewDense(4, 1, []float64{1, 0, 0, 0}), Y: []float64{1, 2, 3, 4}}
	cv := casetest.Must(New(Config{Data: open, Splits: casetest.Must(LeaveOneOut(4))(t), Loss: SquaredError{}, Learner: func() learn.Learner { return new(penalised.GLM) }}))(t)
	var e *SplitError
	if _, err := cv.Eval(nil, []float64{0}); !errors.As(err, &e) || e.Split != 0 || !errors.Is(err, qpdiff.ErrIllPosed) {
		t.Error(err)
	}
}

// normalProblem draws a problem whose folds normalise their features. Its columns, weights and
// folds are of many kinds.
func normalProblem(t *testing.T, seed uint64) Config {
	rng := synth.NewStream(seed, "normal")
	rows, n := 18+rng.IntN(25), 2+rng.IntN(7)
	d := casetest.Regression(seed, rows, n)
	x := d.Dense()
	for i := range rows {
		x.Set(i, 0, 1e3+x.At(i, 0))
		if i%6 > 0 && seed%2 == 0 {
			x.Set(i, 1, 0)
		}
		if seed%3 > 0 {
			d.Weights = append(d.Weights, math.Exp(math.Sin(float64(7*i)))*float64(min(1, (i+1)%7)))
		}
	}
	if seed%5 == 0 {
		x.Set(rng.IntN(rows), n-1, 1e4)
	}
	for j := range n {
		unit := math.Pow(10, float64(rng.IntN(19)-9))
		for i := range rows {
			x.Set(i, j, x.At(i, j)*unit)
		}
	}
	c := Config{Data: d, Loss: SquaredError{}, Standardise: seed%4 < 3, Centring: []Centring{NoCentring, MeanCentring, FixedLeastSquares}[seed%3]}
	if !c.Standardise {
		c.Centring = MeanCentring
	}
	if seed%8 == 7 { // the learner has an intercept
		c.Centring = NoCentring
	}
	for i := range rows {
		if c.Centring != NoCentring || seed%2 > 0 { // labels far from 0 need an intercept
			d.Y[i] += 50
		}
	}
	switch seed % 3 {
	case 0:
		c.Splits = casetest.Must(LeaveOneOut(rows))(t)
	case 1:
		c.Splits = casetest.Must(KFold(rng, rows, 2+rng.IntN(5)))(t)
	case 2:
		c.Splits = casetest.Must(RandomSplits(rng, rows, 5, .5))(t)
	}
	penalties := []penalised.Penalty{penalised.Ridge(0, n), penalised.Differences(0, n, 1)}
	c.Learner = func() learn.Learner { return &penalised.GLM{Penalties: penalties, Intercept: seed%2 > 0} }
	return c
}

// normalTol bounds the difference between Folds and one fit for each fold, relative to the largest
// entry. The subtraction of a fold's rows loses two digits, and the condition of the fits loses
// more.
const normalTol = 1e-10

// A CV that calls Folds gets the results of one fit for each fold if the folds normalise their
// features.
func TestNormalisedFoldsAtOnce(t *testing.T) {
	for seed := range uint64(casetest.Sets(1000, 200)) {
		name := fmt.Sprintf("problem %d", seed)
		c := normalProblem(t, seed)
		one := c
		one.Learner = func() learn.Learner { return plainLearner(c.Learner()) }
		got, want := casetest.Must(New(c))(t), casetest.Must(New(one))(t)
		compareEvaluations(t, name, normalTol, got, want, []float64{.3 + float64(seed%7), .2})
		// Small folds of unscaled features are fitted one by one if a large entry leaves too few
		// digits.
		_, n := c.Data.X.Dims()
		small := !slices.ContainsFunc(c.Splits, func(s Split) bool { return 2*len(s.Val) > n+1 })
		mayRefit := seed%5 == 0 && !c.Standardise && small
		if !got.evalState.atOnce && !mayRefit || want.evalState.atOnce {
			t.Errorf("%s: at once %v and %v", name, got.evalState.atOnce, want.evalState.atOnce)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// Learned features are differentiated through the means and deviations of each fold.
func TestNormalisedFoldsOfLearnedFeatures(t *testing.T) {
	const rows = 24
	for seed := range uint64(12) {
		d := casetest.Regression(seed, rows, 3)
		c := Config{Data: d, Loss: SquaredError{}, Splits: casetest.Must(KFold(synth.NewStream(seed, "folds"), rows, 3+5*int(seed%3)))(t),
			Standardise: seed%2 > 0, Centring: MeanCentring, Features: &Perceptron{Widths: []int{3, 4, 2}}}
		if seed%4 == 3 {
			c.Centring = NoCentring
		}
		c.Learner = func() learn.Learner { return &penalised.GLM{Intercept: seed%5 == 0} }
		one := c
		one.Features, one.Learner = &Perceptron{Widths: []int{3, 4, 2}}, func() learn.Learner { return plainLearner(c.Learner()) }
		got, want := casetest.Must(New(c))(t), casetest.Must(New(one))(t)
		alpha := make([]float64, got.Dims())
		for k := range alpha {
			alpha[k] = .4 + .3*math.Sin(float64(5*k)+float64(seed))
		}
		compareEvaluations(t, fmt.Sprintf("problem %d", seed), atOnceTol, got, want, alpha)
		gotTrain, gotVal := got.FeatureCotangents()
		wantTrain, wantVal := want.FeatureCotangents()
		nearEntries(t, "training rows", gotTrain.RawMatrix().Data, wantTrain.RawMatrix().Data, 0)
		nearEntries(t, "validation rows", gotVal.RawMatrix().Data, wantVal.RawMatrix().Data, 0)
		if !got.evalState.atOnce || want.evalState.atOnce {
			t.Errorf("problem %d: at once %v and %v", seed, got.evalState.atOnce, want.evalState.atOnce)
		}
	}
}
