package cvgm

import (
	"errors"
	"math"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// classes draws N examples that a circle and noise divide into classes.
func classes(seed uint64, n, features int) learn.Data {
	src := synth.NewStream(seed, "test classes")
	d := learn.Data{X: normalMatrix(src, n, features), Y: make([]float64, n)}
	for i := range d.Y {
		row := d.Dense().RawRowView(i)
		r := 0.0
		for _, v := range row {
			r += v * v
		}
		d.Y[i] = math.Copysign(1, r-float64(features)+.5*row[0]+src.NormFloat64()/2)
	}
	return d
}

func classifierCV(t testing.TB, seed uint64, k int, learner func() learn.Learner, change func(*Config)) *CV {
	t.Helper()
	d := classes(seed, 40, 2)
	splits, err := RandomSplits(synth.NewStream(seed, "splits"), 40, k, .7)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Data: d, Splits: splits, Loss: LogisticLoss{}, Learner: learner}
	if change != nil {
		change(&c)
	}
	cv, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return cv
}

func TestSVMGradientThroughCrossValidation(t *testing.T) {
	svm := func() learn.Learner { return new(margin.SVM) }
	checkGradient(t, classifierCV(t, 1, 8, svm, nil).Eval, []float64{.01, .3}, 1e-6, 1e-7)
	checkGradient(t, classifierCV(t, 2, 8, svm, func(c *Config) { c.Standardise = true }).Eval, []float64{0.002, .2}, 1e-6, 1e-7)
	// On learned features.
	src := synth.NewStream(3, "weights")
	cv := classifierCV(t, 3, 4, svm, func(c *Config) { c.Features = &LinearMap{In: 2, Out: 3}; c.Hyper = []float64{.01, .2} })
	checkGradient(t, cv.Eval, normalVector(src, cv.Dims()), 1e-6, 1e-7)
}

func TestKernelSVMGradientThroughCrossValidation(t *testing.T) {
	for _, intercept := range []bool{false, true} {
		rbf := func() learn.Learner { return &kernel.SVM{Intercept: intercept} }
		poly := func() learn.Learner {
			return &kernel.SVM{Kernel: kernel.Polynomial{Degree: 2}, Intercept: intercept}
		}
		checkGradient(t, classifierCV(t, 1, 8, rbf, nil).Eval, []float64{.8, .5}, 1e-6, 1e-7)
		checkGradient(t, classifierCV(t, 2, 8, poly, func(c *Config) { c.Standardise = true }).Eval, []float64{.7, .4, 1}, 1e-6, 1e-7)
		// On learned features, which validation rows reach through the kernel too.
		src := synth.NewStream(3, "weights")
		cv := classifierCV(t, 3, 4, rbf, func(c *Config) { c.Features = &LinearMap{In: 2, Out: 3}; c.Standardise = true })
		x := append([]float64{.7, .3}, normalVector(src, cv.Dims()-2)...)
		checkGradient(t, cv.Eval, x, 1e-6, 1e-7)
	}
}

// A kernel machine's model predicts as the learner decides.
func TestModelOfADecider(t *testing.T) {
	cv := classifierCV(t, 1, 3, func() learn.Learner { return &kernel.SVM{Intercept: true} }, nil)
	hyper := []float64{1, .5}
	m, err := cv.Final(hyper)
	if err != nil {
		t.Fatal(err)
	}
	d := cv.c.Data
	var l kernel.SVM
	l.Intercept = true
	x := mat.NewDense(2, 2, []float64{.1, -.2, 1.5, 2})
	got, want := make([]float64, 2), make([]float64, 2)
	if err := errors.Join(m.Predict(got, x), l.Load(d), l.Fit(make([]float64, 1), hyper), l.Predict(nil, want, x)); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("prediction %v, decision %v", got, want)
		}
	}
	if risk, err := m.Risk(ZeroOne{}, d); err != nil || risk > .2 {
		t.Errorf("training error %v, %v", risk, err)
	}
}

// A label that no classifier takes, or a split with one class, is named.
func TestClassifierErrorsNameTheSplit(t *testing.T) {
	d := classes(1, 10, 2)
	for i := range d.Y {
		d.Y[i] = math.Copysign(1, float64(i)-4.5)
	}
	splits := []Split{{Train: []int{1, 2, 8, 9}, Val: []int{0, 5}}, {Train: []int{0, 1, 2, 3}, Val: []int{9}}}
	for _, learner := range []func() learn.Learner{
		func() learn.Learner { return new(margin.SVM) },
		func() learn.Learner { return new(kernel.SVM) },
	} {
		_, err := New(Config{Data: d, Splits: splits, Loss: LogisticLoss{}, Learner: learner})
		var split *SplitError
		var arg *qpdiff.ArgError
		if !errors.As(err, &split) || split.Split != 1 || !errors.As(err, &arg) || arg.Arg != "Data.Y" || !errors.Is(err, qpdiff.ErrIllPosed) {
			t.Errorf("one class: %v", err)
		}
	}
}
