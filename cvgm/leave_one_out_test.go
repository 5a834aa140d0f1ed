package cvgm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
)

// withoutLeaveOneOut hides LeaveOneOut.
type withoutLeaveOneOut struct{ learn.Predictor }

// fitCountingRidge counts the fits of a kernel ridge regression.
type fitCountingRidge struct {
	kernel.Ridge
	fits *atomic.Int64
}

func (l *fitCountingRidge) Fit(theta, hyper []float64) error {
	l.fits.Add(1)
	return l.Ridge.Fit(theta, hyper)
}

// atOnceTol bounds the difference between one fit of all rows and N fits, relative to the largest
// entry. The condition number of the fits, up to about 1e6, magnifies rounding errors. The
// difference is 1.1e-10 on processors that fuse products and sums.
const atOnceTol = 1e-9

func nearEntries(t *testing.T, what string, got, want []float64, size float64) {
	t.Helper()
	nearWithin(t, what, atOnceTol, got, want, size)
}

func nearWithin(t *testing.T, what string, tol float64, got, want []float64, size float64) {
	t.Helper()
	for _, v := range want {
		size = max(size, math.Abs(v))
	}
	for i, v := range want {
		if !(math.Abs(got[i]-v) <= tol*size) {
			t.Errorf("%s: entry %d is %.15g at once, %.15g one by one", what, i, got[i], v)
		}
	}
}

// New refuses the same splits with leave-one-out learners as with other learners.
func TestLeaveOneOutOfBadSplits(t *testing.T) {
	d := casetest.Regression(1, 3, 2)
	for _, bad := range []Split{{[]int{0, 1}, []int{3}}, {[]int{0, 1}, []int{-1}}, {[]int{0, 3}, []int{2}}, {[]int{0, 2}, []int{2}}} {
		splits := []Split{{[]int{1, 2}, []int{0}}, {[]int{0, 2}, []int{1}}, bad}
		_, err := New(Config{Data: d, Splits: splits, Loss: SquaredError{}, Learner: func() learn.Learner { return &kernel.Ridge{} }})
		if !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("%v: error %v, want one of kind ErrDomain", bad, err)
		}
	}
}

// One evaluation of all splits gives the loss and gradient of single fits.
func TestLeaveOneOutAtOnce(t *testing.T) {
	const rows = 14
	splits := casetest.Must(LeaveOneOut(rows))(t)
	order := synth.NewStream(1, "order").Perm(rows)
	shuffled := make([]Split, rows)
	for j, i := range order {
		shuffled[j] = splits[i]
	}
	kernels := []struct {
		kernel kernel.Kernel
		hyper  []float64
	}{{kernel.RBF{}, []float64{.05, .4}}, {kernel.Polynomial{Degree: 2}, []float64{.05, .4, .5}}}
	maps := []func() FeatureMap{
		func() FeatureMap { return nil },
		func() FeatureMap { return &squaresMap{in: 3} },
		func() FeatureMap { return &Perceptron{Widths: []int{3, 4, 2}} },
	}
	for turn, newMap := range slices.Repeat(maps, 8) {
		src := synth.NewStream(uint64(turn), "leave one out")
		k := kernels[turn/3%2]
		intercept, held := turn/6%2 == 0, turn/12 == 1
		d := casetest.Regression(uint64(turn), rows, 3)
		c := Config{Data: d, Splits: shuffled, Loss: []Loss{SquaredError{}, HuberLoss{Delta: .5}, AbsoluteError{}}[turn%3], Features: newMap()}
		alpha := slices.Clone(k.hyper)
		if n := paramsOf(c); n > 0 {
			if held {
				c.Hyper, alpha = alpha, nil
			}
			alpha = append(alpha, normalVector(src, n)...)
		}
		var fits atomic.Int64
		newLearner := func() *fitCountingRidge {
			return &fitCountingRidge{Ridge: kernel.Ridge{Kernel: k.kernel, Intercept: intercept}, fits: &fits}
		}
		c.Learner = func() learn.Learner { return newLearner() }
		title := fmt.Sprintf("turn %d: %T, %T, intercept %v, held %v", turn, k.kernel, c.Features, intercept, held)
		at, err := New(c)
		if err != nil {
			t.Fatal(title, err)
		}
		c.Learner = func() learn.Learner { return withoutLeaveOneOut{newLearner()} }
		c.Features = newMap()
		by, err := New(c)
		if err != nil {
			t.Fatal(title, err)
		}
		got, want := make([]float64, len(alpha)), make([]float64, len(alpha))
		loss, err := at.Eval(got, alpha)
		if err != nil || fits.Load() != 0 {
			t.Errorf("%s: %d fits, error %v", title, fits.Load(), err)
		}
		wantLoss, err := by.Eval(want, alpha)
		if err != nil || fits.Load() != rows {
			t.Errorf("%s, one by one: %d fits, error %v", title, fits.Load(), err)
		}
		nearEntries(t, title+": loss", []float64{loss}, []float64{wantLoss}, 0)
		nearEntries(t, title+": gradient", got, want, wantLoss)
		if c.Features != nil {
			gotTrain, gotVal := at.FeatureCotangents()
			wantTrain, wantVal := by.FeatureCotangents()
			nearEntries(t, title+": training rows", gotTrain.RawMatrix().Data, wantTrain.RawMatrix().Data, 0)
			nearEntries(t, title+": validation rows", gotVal.RawMatrix().Data, wantVal.RawMatrix().Data, 0)
		}
		gotOut, wantOut := make([]float64, rows), make([]float64, rows)
		if err := errors.Join(at.OutOfFold(gotOut), by.OutOfFold(wantOut)); err != nil {
			t.Error(title, err)
		}
		nearEntries(t, title+": out of fold", gotOut, wantOut, 0)
		gotError, err := at.StandardError()
		wantError, errWant := by.StandardError()
		if err != nil || errWant != nil || math.Abs(gotError-wantError) > atOnceTol*wantError {
			t.Errorf("%s: standard error %v, %v; one by one %v, %v", title, gotError, err, wantError, errWant)
		}
		value, err := at.Eval(nil, alpha)
		if err != nil || value != loss {
			t.Errorf("%s: loss %v without gradient, %v with it, error %v", title, value, loss, err)
		}
		// Gradients in the data need the fits. They do not change the other results.
		dx, dy := mat.NewDense(rows, 3, nil), make([]float64, rows)
		if dataLoss, err := at.DataGradient(dx, dy, alpha); err != nil || math.Abs(dataLoss-loss) > atOnceTol*loss {
			t.Errorf("%s: loss %v with DataGradient, want %v, error %v", title, dataLoss, loss, err)
		}
		again := make([]float64, len(alpha))
		for range 2 {
			if l, err := at.Eval(again, alpha); err != nil || l != loss || cmp.Diff(got, again) != "" {
				t.Errorf("%s: a second evaluation gives %v, %v, error %v", title, l, again, err)
			}
			at.Reset()
		}
	}
}

// Splits are fitted one by one if a split omits more than its validation rows or the features
// depend on the split.
func TestLeaveOneOutAtOnceNeedsTheFeaturesAsTheyAre(t *testing.T) {
	all := casetest.Must(LeaveOneOut(8))(t)
	folds := casetest.Must(KFold(synth.NewStream(1, "folds"), 8, 4))(t)
	less := []Split{folds[0], {folds[1].Train[1:], folds[1].Val}}
	for _, c := range []struct {
		splits      []Split
		standardise bool
		centring    Centring
		atOnce      bool
	}{{all, false, NoCentring, true}, {all, true, NoCentring, false}, {all, false, MeanCentring, false},
		{folds, false, NoCentring, true}, {folds, true, NoCentring, false}, {all[:5], false, NoCentring, true}, {less, false, NoCentring, false}} {
		var fits atomic.Int64
		cv, err := New(Config{Data: casetest.Regression(1, 8, 2), Splits: c.splits, Loss: SquaredError{}, Standardise: c.standardise, Centring: c.centring,
			Learner: func() learn.Learner { return &fitCountingRidge{fits: &fits} }})
		if err != nil {
			t.Fatal(err)
		}
		checkGradient(t, cv.Eval, []float64{.1, .3}, 1e-4, 1e-8)
		if (fits.Load() == 0) != c.atOnce {
			t.Errorf("%d splits, standardise %v, centring %v: %d fits", len(c.splits), c.standardise, c.centring, fits.Load())
		}
	}
}

// The error of a failed fit or of a kink names its split.
func TestLeaveOneOutAtOnceErrors(t *testing.T) {
	splits, err := LeaveOneOut(6)
	if err != nil {
		t.Fatal(err)
	}
	d := casetest.Regression(1, 6, 2)
	kinked := learn.Data{X: d.X, Y: slices.Clone(d.Y)} // its first example is predicted exactly
	first := casetest.Must(New(Config{Data: kinked, Splits: splits, Loss: AbsoluteError{}, Learner: func() learn.Learner { return &kernel.Ridge{Intercept: true} }}))(t)
	casetest.Must(first.Eval(nil, []float64{.1, 1}))(t)
	kinked.Y[0] = first.loo.fit.prediction[0]
	for i := range d.Y { // which the fit with an intercept predicts exactly
		d.Y[i] = 2
	}
	tied := learn.Data{X: mat.DenseCopyOf(d.X), Y: d.Y}
	tied.Dense().SetRow(5, tied.Dense().RawRowView(3))
	for _, c := range []struct {
		data  learn.Data
		alpha []float64
		kind  error
		split int
	}{{kinked, []float64{.1, 1}, qpdiff.ErrNotDifferentiable, 0}, {tied, []float64{0, 1}, qpdiff.ErrIllPosed, 0}, {d, []float64{-1, 1}, qpdiff.ErrDomain, 0}} {
		config := Config{Data: c.data, Splits: splits, Loss: AbsoluteError{}, Learner: func() learn.Learner { return &kernel.Ridge{Intercept: true} }}
		cv, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		grad := make([]float64, 2)
		_, err = cv.Eval(grad, c.alpha)
		var split *SplitError
		if !errors.Is(err, c.kind) || !errors.As(err, &split) || split.Split != c.split {
			t.Errorf("α = %v: error %v, want %v of split %d", c.alpha, err, c.kind, c.split)
		}
		config.Generalised = true
		if cv, err = New(config); err != nil {
			t.Fatal(err)
		}
		if _, err = cv.Eval(grad, c.alpha); (err == nil) != errors.Is(c.kind, qpdiff.ErrNotDifferentiable) || (err == nil) != cv.Generalised() {
			t.Errorf("α = %v: generalised %v, error %v", c.alpha, cv.Generalised(), err)
		}
	}
	// Equal labels are predicted exactly for all hyperparameters, so the derivative is 0.
	grad := []float64{1, 1}
	cv := casetest.Must(New(Config{Data: d, Splits: splits, Loss: AbsoluteError{}, Learner: func() learn.Learner { return &kernel.Ridge{Intercept: true} }}))(t)
	if _, err := cv.Eval(grad, []float64{.1, 1}); err != nil || grad[0] != 0 || grad[1] != 0 || cv.Generalised() {
		t.Errorf("gradient %v, generalised %v, error %v; want zeros", grad, cv.Generalised(), err)
	}
	// For two equal rows and λ = 0, each split has a fit, but both rows together have none.
	tied.X = mat.NewDense(2, 1, []float64{1, 1})
	tied.Y = []float64{1, 3}
	if splits, err = LeaveOneOut(2); err != nil {
		t.Fatal(err)
	}
	cv, err = New(Config{Data: tied, Splits: splits, Loss: SquaredError{}, Learner: func() learn.Learner { return new(kernel.Ridge) }})
	if err != nil {
		t.Fatal(err)
	}
	if loss, err := cv.Eval(nil, []float64{0, 1}); err != nil || math.Abs(loss-4) > 1e-15 {
		t.Errorf("equal rows at λ = 0: loss %v, want 4, error %v", loss, err)
	}
}

func TestLeaveOneOutAtOnceAllocatesNothing(t *testing.T) {
	splits, err := LeaveOneOut(12)
	if err != nil {
		t.Fatal(err)
	}
	cv, err := New(Config{Data: casetest.Regression(1, 12, 2), Splits: splits, Loss: SquaredError{}, Learner: func() learn.Learner { return new(kernel.Ridge) }})
	if err != nil {
		t.Fatal(err)
	}
	grad, alpha := make([]float64, 2), []float64{.1, .3}
	if a := testing.AllocsPerRun(10, func() {
		alpha[1] *= 1.01
		if _, err := cv.Eval(grad, alpha); err != nil {
			t.Fatal(err)
		}
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

// BenchmarkLeaveOneOut compares an evaluation of 200 splits at once with fits one by one.
func BenchmarkLeaveOneOut(b *testing.B) {
	const rows = 200
	splits, err := LeaveOneOut(rows)
	if err != nil {
		b.Fatal(err)
	}
	for name, learner := range map[string]func() learn.Learner{
		"at once":    func() learn.Learner { return new(kernel.Ridge) },
		"one by one": func() learn.Learner { return withoutLeaveOneOut{new(kernel.Ridge)} },
	} {
		b.Run(name, func(b *testing.B) {
			cv, err := New(Config{Data: casetest.Regression(1, rows, 5), Splits: splits, Loss: SquaredError{}, Learner: learner})
			if err != nil {
				b.Fatal(err)
			}
			grad := make([]float64, 2)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cv.Eval(grad, []float64{.1, .3}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Splits with weights are fitted one by one, because a fit of all rows at once accepts no weights.
func TestLeaveOneOutWithWeights(t *testing.T) {
	const rows = 9
	splits := casetest.Must(LeaveOneOut(rows))(t)
	d := casetest.Regression(1, rows, 2)
	for i := range rows {
		d.Weights = append(d.Weights, float64(1+i%3))
	}
	var losses [2]float64
	var grads [2][2]float64
	for k, l := range []func() learn.Learner{
		func() learn.Learner { return new(kernel.Ridge) },
		func() learn.Learner { return withoutLeaveOneOut{new(kernel.Ridge)} },
	} {
		cv := casetest.Must(New(Config{Data: d, Splits: splits, Loss: SquaredError{}, Learner: l}))(t)
		losses[k] = casetest.Must(cv.Eval(grads[k][:], []float64{.1, .4}))(t)
	}
	nearEntries(t, "loss", losses[:1], losses[1:], 0)
	nearEntries(t, "gradient", grads[0][:], grads[1][:], losses[1])
}
