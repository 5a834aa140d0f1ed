package cvgm

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// atKink returns the CV of an elastic net whose first split is at the kink λ1 = |xᵀy|/N.
func atKink(t *testing.T, change func(*Config)) *CV {
	t.Helper()
	c := Config{Data: learn.Data{X: mat.NewDense(4, 1, []float64{1, 1, 2, 2}), Y: []float64{2, 2, 8, 8}},
		Splits: []Split{{[]int{0}, []int{1}}, {[]int{2}, []int{3}}}, Loss: SquaredError{},
		Learner: func() learn.Learner { return new(linear.ElasticNet) }}
	if change != nil {
		change(&c)
	}
	cv := casetest.Must(New(c))(t)
	return cv
}

func TestGeneralisedGradient(t *testing.T) {
	kink, smooth := []float64{2, 1}, []float64{1, 1}
	grad := make([]float64, 2)
	cv := atKink(t, nil)
	var split *SplitError
	if _, err := cv.Eval(grad, kink); !errors.Is(err, qpdiff.ErrNotDifferentiable) || !errors.As(err, &split) || split.Split != 0 {
		t.Errorf("error %v, want that of split 0 at its kink", err)
	}
	if cv.Generalised() {
		t.Error("a gradient that failed is called generalised")
	}

	cv = atKink(t, func(c *Config) { c.Generalised = true })
	eval := func(grad, alpha []float64, want bool) {
		t.Helper()
		if _, err := cv.Eval(grad, alpha); err != nil {
			t.Error(err)
		}
		if cv.Generalised() != want {
			t.Errorf("at %v: generalised is %v, want %v", alpha, cv.Generalised(), want)
		}
	}
	eval(nil, kink, false) // no gradient yet
	eval(grad, kink, true)
	// Split 1: θ = (16 − λ1)/(4 + λ2), predicted 2θ, ∂θ/∂λ1 = −1/5.
	if want := 2 * (2*2.8 - 8) * 2 * -.2 / 2; math.Abs(grad[0]-want) > 1e-14 {
		t.Errorf("∂/∂λ1 is %v, want %v, that of the other split", grad[0], want)
	}
	eval(nil, smooth, true) // still the last gradient's
	eval(grad, smooth, false)
	eval(grad, kink, true)
	if _, err := cv.Eval(grad, []float64{-1, 0}); err == nil || cv.Generalised() {
		t.Errorf("after the error %v: generalised is %v", err, cv.Generalised())
	}
	eval(grad, kink, true)
	if cv.Reset(); cv.Generalised() {
		t.Error("Reset leaves it generalised")
	}

	// With the learner's own setting a gradient exists too, and the kink is reported.
	cv = atKink(t, func(c *Config) { c.Learner = func() learn.Learner { return &linear.ElasticNet{Generalised: true} } })
	eval(grad, kink, true)
}

// A learner without SetGeneralised fails at its kinks, and the error names it.
func TestGeneralisedNamesLearnersThatCannot(t *testing.T) {
	type plainMap struct{ learn.Learner } // hides SetGeneralised
	cv := atKink(t, func(c *Config) {
		c.Generalised, c.Learner = true, func() learn.Learner { return plainMap{new(linear.ElasticNet)} }
	})
	grad := make([]float64, 2)
	_, err := cv.Eval(grad, []float64{2, 1})
	if want := fmt.Sprintf("%T", plainMap{}); !errors.Is(err, qpdiff.ErrNotDifferentiable) || !messageHas(err, want) || !messageHas(err, "SetGeneralised") {
		t.Errorf("error %v lacks %s", err, want)
	}
	if _, err := cv.Eval(grad, []float64{1, 1}); err != nil {
		t.Error(err)
	}
}

// Eval returns an error at a kink of the loss. If Config.Generalised is set, Eval uses the slope
// that the loss returns.
func TestKinksOfTheLoss(t *testing.T) {
	// For θ = 1/2, the margin of the second example is 1.
	for _, c := range []struct {
		name string
		x    float64 // of the second example
		kink bool
	}{{"at", 2, true}, {"as near as rounding", 2 * (1 + 1e-15), true}, {"within the tolerance", 2 * (1 + 1e-11), true},
		{"below", 2 * (1 - 1e-9), false}, {"beyond", 2 * (1 + 1e-9), false}} {
		t.Run(c.name, func(t *testing.T) {
			var cv *CV
			for _, generalised := range []bool{false, true} {
				cv = atKink(t, func(k *Config) {
					k.Data = learn.Data{X: mat.NewDense(3, 1, []float64{1, c.x, 1}), Y: []float64{1, 1, 1}}
					k.Splits = []Split{{[]int{0}, []int{1, 2}}}
					k.Loss, k.Generalised = Hinge{}, generalised
				})
				grad := make([]float64, 2)
				loss, err := cv.Eval(grad, []float64{0, 1})
				if c.kink && !generalised {
					if !errors.Is(err, qpdiff.ErrNotDifferentiable) || !messageHas(err, "example 1") {
						t.Errorf("error %v, want one that names example 1", err)
					}
					if _, err := cv.Eval(nil, []float64{0, 1}); err != nil {
						t.Errorf("value alone: %v", err)
					}
					continue
				}
				// ∂θ/∂λ1 = −1/2; below the kink the second example adds its slope −x.
				want := .5 / 2
				if c.x < 2 && !c.kink {
					want += c.x * .5 / 2
				}
				if err != nil || math.Abs(loss-.25) > 1e-9 || math.Abs(grad[0]-want) > 1e-14 {
					t.Errorf("loss %v, ∂/∂λ1 %v, error %v; want .25, %v", loss, grad[0], err, want)
				}
				if cv.Generalised() != c.kink {
					t.Errorf("generalised is %v, want %v", cv.Generalised(), c.kink)
				}
			}
		})
	}
}

// Eval divides the distance of a prediction from a kink by the size of its terms, because rounding
// errors are proportional to this size.
func TestKinksOfTheLossAreMeasuredInTermsOfThePrediction(t *testing.T) {
	d := learn.Data{X: mat.NewDense(3, 2, []float64{1, 0, 0, 1, 0, 0}), Y: []float64{1, 1, 1}}
	for _, c := range []struct {
		x    float64
		kink bool
	}{{1e6, true}, {1, false}} {
		// θ = (1/3, 1/3): the prediction is 1 + 1e-8.
		d.Dense().SetRow(2, []float64{c.x, 3 - c.x + 3e-8})
		cv := atKink(t, func(k *Config) {
			k.Data, k.Splits, k.Loss, k.Generalised = d, []Split{{[]int{0, 1}, []int{2}}}, Hinge{}, true
		})
		if _, err := cv.Eval(make([]float64, 2), []float64{0, 1}); err != nil || cv.Generalised() != c.kink {
			t.Errorf("terms of %v: generalised is %v, error %v", c.x, cv.Generalised(), err)
		}
	}
}

// The kink of a rectified linear unit is a kink of the CV loss.
func TestKinksOfTheFeatureMap(t *testing.T) {
	for _, generalised := range []bool{false, true} {
		cv := atKink(t, func(c *Config) {
			c.Features, c.Hyper, c.Generalised = &Perceptron{Widths: []int{1, 2, 1}}, []float64{0, 1}, generalised
		})
		grad := make([]float64, cv.Dims())
		_, err := cv.Eval(grad, []float64{1, -1, 0, 2, 1, 1, .5}) // z = 0 at x = 2
		if errors.Is(err, qpdiff.ErrNotDifferentiable) == generalised || cv.Generalised() != generalised {
			t.Errorf("generalised %v: error %v, reported %v", generalised, err, cv.Generalised())
		}
		if _, err = cv.Eval(grad, []float64{1, -1, 0, 1.9, 1, 1, .5}); err != nil || cv.Generalised() {
			t.Errorf("beside the kink: error %v, reported %v", err, cv.Generalised())
		}
	}
}

// If the hyperparameters are fixed, the gradient in the parameters of a feature map exists at a
// kink in λ1.
func TestFixedHyperparametersNeedNoDerivative(t *testing.T) {
	cv := atKink(t, func(c *Config) {
		c.Data.Y = []float64{0, 0, 8, 8} // θ = 0 in the first split, at λ1 = 0
		c.Features, c.Hyper = &LinearMap{In: 1, Out: 1}, []float64{0, 1}
	})
	checkGradient(t, cv.Eval, []float64{1.5}, 1e-3, 1e-9)
	if cv.Generalised() {
		t.Error("reported as generalised")
	}
}

// Searches pass the kinks of an elastic net and of an SVM if Config.Generalised is set. Without it,
// some searches stop at kinks.
func TestSearchesPassKinks(t *testing.T) {
	searchers := map[string]search.Searcher{
		"QuasiNewton":       search.QuasiNewton{MaxEvals: 150},
		"AdaptiveGradient":  search.AdaptiveGradient{MaxEvals: 150},
		"ProjectedGradient": search.ProjectedGradient{StepSize: .02, MaxEvals: 60},
	}
	stopped, met := 0, 0
	for name, s := range searchers {
		for seed := range uint64(40) {
			for _, generalised := range []bool{false, true} {
				c := Config{Loss: SquaredError{}, Standardise: true, Centring: MeanCentring, Generalised: generalised,
					Data: casetest.Regression(seed, 16, 4), Learner: func() learn.Learner { return new(linear.ElasticNet) }}
				if seed >= 20 {
					c.Loss, c.Centring = LogisticLoss{}, NoCentring
					c.Data, c.Learner = signedLabels(c.Data), func() learn.Learner { return new(margin.SVM) }
				}
				var err error
				if c.Splits, err = KFold(synth.NewStream(seed, "splits"), 16, 2); err != nil {
					t.Fatal(err)
				}
				cv, err := New(c)
				if err != nil {
					t.Fatal(err)
				}
				at := false
				for step, err := range s.Search(search.Problem{Objective: cv.Eval, Generalised: cv.Generalised, Lower: []float64{0, 1e-3}}, []float64{.3, .3}) {
					if err != nil {
						if generalised || !errors.Is(err, qpdiff.ErrNotDifferentiable) {
							t.Errorf("%s, seed %d, generalised %v: %v", name, seed, generalised, err)
						}
						stopped++
						break
					}
					if step.Generalised && !generalised {
						t.Errorf("%s, seed %d: a step is marked as generalised", name, seed)
					}
					at = at || step.Generalised
				}
				if at {
					met++
				}
			}
		}
	}
	if stopped == 0 || met == 0 {
		t.Errorf("%d of 120 searches stop at a kink, and %d meet one with Generalised: the test needs some", stopped, met)
	}
}

// signedLabels replaces the labels by their signs.
func signedLabels(d learn.Data) learn.Data {
	for i, y := range d.Y {
		d.Y[i] = math.Copysign(1, y)
	}
	return d
}

// messageHas reports whether the error's message contains the text.
func messageHas(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text)
}

// Eval accepts a validation row that equals a support vector, although rounding of large terms
// moves the prediction off the kink. DataGradient refuses it.
func TestKinkOfLargeKernelTerms(t *testing.T) {
	x, y := []float64{1, 4, 3, -6, 8, -6, 7}, []float64{1, -1, -1, 1, 1, 1, 1}
	c := Config{Data: learn.Data{X: mat.NewDense(7, 1, x), Y: y}, Splits: []Split{{[]int{0, 1, 2, 3, 4}, []int{5, 6}}}, Loss: Hinge{},
		Learner: func() learn.Learner { return &kernel.SVM{Kernel: kernel.Polynomial{}} }}
	cv := casetest.Must(New(c))(t)
	for _, scale := range []float64{1, 1.5, 2.5} {
		hyper := []float64{6.288668941508128, 3.888834992070125 * scale, 0.56202448385047}
		if _, err := cv.Eval(make([]float64, 3), hyper); err != nil {
			t.Errorf("scale %v: %v", scale, err)
		}
		if _, err := cv.DataGradient(nil, make([]float64, 7), hyper); !errors.Is(err, qpdiff.ErrNotDifferentiable) {
			t.Errorf("scale %v: the gradient in the labels has the error %v, want one of kind ErrNotDifferentiable", scale, err)
		}
	}
}

// The derivative is 0 if the validation row equals a support vector at the margin, because its
// prediction stays at the kink of the hinge loss.
func TestValidationRowHeldAtTheKink(t *testing.T) {
	for _, hyper := range [][]float64{{.1, .1}, {.3, .2}, {0, .5}, {.01, .9}} {
		cv := atKink(t, func(c *Config) {
			c.Data = learn.Data{X: mat.NewDense(3, 1, []float64{1, -1, 1}), Y: []float64{1, -1, 1}}
			c.Splits, c.Loss = []Split{{[]int{0, 1}, []int{2}}}, Hinge{}
			c.Learner = func() learn.Learner { return new(margin.SVM) }
		})
		grad := []float64{1, 1}
		if _, err := cv.Eval(grad, hyper); err != nil || grad[0] != 0 || grad[1] != 0 {
			t.Errorf("at %v: gradient %v, error %v; want zeros", hyper, grad, err)
		}
		// A change of the rows can make the prediction larger or smaller than 1.
		if _, err := cv.DataGradient(mat.NewDense(3, 1, nil), make([]float64, 3), hyper); !errors.Is(err, qpdiff.ErrNotDifferentiable) {
			t.Errorf("at %v: the gradient in the data has the error %v, want one of kind ErrNotDifferentiable", hyper, err)
		}
	}
}

// heldCase has data, a learner and hyperparameters. The last example is the validation row.
type heldCase struct {
	data  learn.Data
	hyper []float64
	loss  Loss
	make  func() learn.Learner
}

// newHeldCase draws a problem whose validation row is often a combination of training rows, so that
// its prediction may stay at a kink.
func newHeldCase(t *testing.T, rng *rand.Rand, kind int) heldCase {
	rows, n := 3+rng.IntN(3), 1+rng.IntN(3)
	c := heldCase{data: learn.Data{X: mat.NewDense(rows+1, n, nil), Y: make([]float64, rows+1)}, loss: Hinge{}}
	x := c.data.Dense()
	for i := range rows + 1 {
		c.data.Y[i] = 2*float64(i%2) - 1
		for j := range n {
			x.Set(i, j, float64(rng.IntN(7)-3)/2)
		}
	}
	last := x.RawRowView(rows)
	switch rng.IntN(4) {
	case 0:
		copy(last, x.RawRowView(rng.IntN(rows)))
	case 1, 2:
		clear(last)
		for i := range rows {
			floats.AddScaled(last, float64(rng.IntN(3)-1), x.RawRowView(i))
		}
	}
	draw := func(lowest float64) float64 { return lowest * math.Exp(4*rng.Float64()) }
	switch kind {
	case 0:
		c.hyper, c.make = []float64{draw(.005), draw(.02)}, func() learn.Learner { return new(margin.SVM) }
	case 1:
		c.hyper, c.make = []float64{draw(.1), draw(.01), draw(.01), draw(.01), draw(.02)}, func() learn.Learner { return new(margin.LearnedLoss) }
	case 2:
		c.hyper, c.make = []float64{draw(.2), draw(.1)}, func() learn.Learner { return &kernel.SVM{Intercept: rows%2 == 0} }
	case 3:
		c.hyper, c.make = []float64{draw(.05), draw(.02)}, func() learn.Learner { return new(linear.ElasticNet) }
		c.loss, c.data.Y[rows] = AbsoluteError{}, 0
	}
	if rng.IntN(8) == 0 {
		c.loss = AbsoluteError{}
		cv := c.cv(t, 1)
		if _, err := cv.Eval(nil, c.hyper); err == nil {
			c.data.Y[rows] = cv.fits[0].prediction[0]
		}
	}
	return c
}

// cv returns the CV of c with features in the given unit.
func (c heldCase) cv(t *testing.T, unit float64) *CV {
	x := new(mat.Dense)
	x.Scale(unit, c.data.X)
	rows := len(c.data.Y) - 1
	s := Split{Val: []int{rows}}
	for i := range rows {
		s.Train = append(s.Train, i)
	}
	return casetest.Must(New(Config{Data: learn.Data{X: x, Y: c.data.Y}, Splits: []Split{s}, Loss: c.loss, Learner: c.make}))(t)
}

// differentiable reports whether the learner's θ and its predictions have a derivative.
func (c heldCase) differentiable(t *testing.T) bool {
	cv := c.cv(t, 1)
	cv.c.Loss = SquaredError{}
	_, err := cv.Eval(make([]float64, len(c.hyper)), c.hyper)
	return err == nil
}

// Eval returns a gradient at a kink of the loss if and only if both one-sided difference quotients
// are equal.
func TestKinksOfHeldPredictions(t *testing.T) {
	const step, tol = 1e-7, 1e-5
	rng := rand.New(rand.NewPCG(3, 9))
	for kind, name := range []string{"SVM", "LearnedLoss", "kernel SVM", "ElasticNet"} {
		held, refused := 0, 0
		for trial := range 1500 {
			c := newHeldCase(t, rng, kind)
			cv := c.cv(t, 1)
			loss, err := cv.Eval(nil, c.hyper)
			if err != nil || !c.differentiable(t) {
				continue
			}
			prediction := cv.fits[0].prediction[0]
			if distance, _ := c.loss.(KinkedLoss).Kink(prediction, c.data.Y[len(c.data.Y)-1]); distance > 1e-12 {
				continue
			}
			if kind != 3 && math.Abs(prediction) < 1e-3 { // may move by less than the differences resolve
				continue
			}
			grad := make([]float64, len(c.hyper))
			_, err = cv.Eval(grad, c.hyper)
			smooth := true
			for h := range c.hyper {
				var slopes [2]float64
				for side, sign := range []float64{-1, 1} {
					moved := slices.Clone(c.hyper)
					moved[h] += sign * step
					at, err := cv.Eval(nil, moved)
					if err != nil {
						t.Fatal(err)
					}
					slopes[side] = sign * (at - loss) / step
				}
				smooth = smooth && math.Abs(slopes[0]-slopes[1]) <= tol
				if err == nil && math.Abs(slopes[1]-grad[h]) > tol {
					t.Errorf("%s, trial %d: derivative %d is %v, differences are %v", name, trial, h, grad[h], slopes)
				}
			}
			if smooth != (err == nil) {
				t.Errorf("%s, trial %d: differences to both sides agree: %v, error %v", name, trial, smooth, err)
			}
			if err != nil {
				refused++
				continue
			}
			held++
			if kind != 0 {
				continue
			}
			for _, exponent := range []int{-300, 300} {
				unit := math.Ldexp(1, exponent)
				cv := c.cv(t, unit)
				if _, err := cv.Eval(grad, []float64{c.hyper[0] * unit, c.hyper[1] * unit * unit}); err != nil || cv.Generalised() {
					t.Errorf("%s, trial %d, units 2^%d: generalised %v, error %v", name, trial, exponent, cv.Generalised(), err)
				}
			}
		}
		t.Logf("%s: %d predictions are held at the kink, %d pass through it", name, held, refused)
		if held < 5 || refused < 5 {
			t.Errorf("%s: %d predictions are held at the kink, %d pass through it: the test needs some of both", name, held, refused)
		}
	}
}

// A CV without parameters has an empty gradient, so Eval succeeds at a kink of the loss.
func TestKinkOfTheLossWithoutParameters(t *testing.T) {
	hyper := map[string][]float64{"linear.ElasticNet": {0, 1}, "margin.SVM": {.1, 1}, "kernel.SVM": {1, 1}}
	for name, learner := range map[string]func() learn.Learner{
		"linear.ElasticNet": func() learn.Learner { return new(linear.ElasticNet) },
		"margin.SVM":        func() learn.Learner { return new(margin.SVM) },
		"kernel.SVM":        func() learn.Learner { return new(kernel.SVM) },
	} {
		for _, fixed := range []bool{false, true} {
			cv := atKink(t, func(c *Config) {
				c.Data = learn.Data{X: mat.NewDense(3, 1, []float64{1, -1, 2}), Y: []float64{1, -1, 1}}
				c.Splits, c.Learner = []Split{{[]int{0, 1}, []int{2}}}, learner
			})
			alpha := hyper[name]
			if _, err := cv.Eval(nil, alpha); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			c := cv.c
			c.Loss = kinkAt(cv.fits[0].prediction[0])
			if fixed {
				c.Hyper, alpha = alpha, nil
			}
			cv = casetest.Must(New(c))(t)
			_, err := cv.Eval(make([]float64, len(alpha)), alpha)
			if fixed && (err != nil || cv.Generalised()) {
				t.Errorf("%s without parameters: generalised %v, error %v", name, cv.Generalised(), err)
			}
			if !fixed && !errors.Is(err, qpdiff.ErrNotDifferentiable) {
				t.Errorf("%s: error %v, want that of a prediction which moves through the kink", name, err)
			}
		}
	}
}

// kinkAt is the loss |p − kinkAt|.
type kinkAt float64

func (k kinkAt) Eval(p, _ float64) (float64, float64) {
	return math.Abs(p - float64(k)), math.Copysign(1, p-float64(k))
}
func (k kinkAt) Kink(p, _ float64) (distance, slope float64) { return math.Abs(p - float64(k)), 0 }
