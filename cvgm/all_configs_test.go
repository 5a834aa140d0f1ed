package cvgm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/smooth"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// ridge is ridge regression as a smooth.Objective: ½‖Xθ − y‖²/N + ½λ‖θ‖².
func ridge() smooth.Objective {
	product := func(hv, v []float64, d learn.Data, lambda float64) {
		for j := range hv {
			hv[j] = lambda * v[j]
		}
		for i := range d.Y {
			x := d.Dense().RawRowView(i)
			p := predict(0, v, x) / float64(len(d.Y))
			for j := range hv {
				hv[j] += p * x[j]
			}
		}
	}
	return smooth.Objective{
		NumHyper: 1,
		Gradient: func(g, theta []float64, d learn.Data, hyper []float64) {
			product(g, theta, d, hyper[0])
			for i, y := range d.Y {
				for j, x := range d.Dense().RawRowView(i) {
					g[j] -= y * x / float64(len(d.Y))
				}
			}
		},
		HVP: func(hv, v, theta []float64, d learn.Data, hyper []float64) { product(hv, v, d, hyper[0]) },
		MixedVJP: func(g *learn.Grad, v, theta []float64, d learn.Data, hyper []float64) {
			if g.Hyper != nil {
				g.Hyper[0] += predict(0, v, theta)
			}
			for i, y := range d.Y {
				x := d.Dense().RawRowView(i)
				r, xv := (predict(0, theta, x)-y)/float64(len(d.Y)), predict(0, v, x)/float64(len(d.Y))
				if g.X != nil {
					for j := range x {
						g.X.Set(i, j, g.X.At(i, j)+r*v[j]+xv*theta[j])
					}
				}
				if g.Y != nil {
					g.Y[i] -= xv
				}
			}
		},
	}
}

// squaresMap is a feature map without parameters.
type squaresMap struct {
	in     int
	x, out *mat.Dense
}

func (s *squaresMap) Dims() (in, out int) { return s.in, 2 * s.in }
func (s *squaresMap) NumParams() int      { return 0 }
func (s *squaresMap) Backward(_ []float64, dx, dfeatures *mat.Dense) {
	if dx == nil {
		return
	}
	for i := range s.x.RawMatrix().Rows {
		for j, v := range s.x.RawRowView(i) {
			dx.Set(i, j, dx.At(i, j)+dfeatures.At(i, j)+2*v*dfeatures.At(i, s.in+j))
		}
	}
}
func (s *squaresMap) Forward(_ []float64, x *mat.Dense) (*mat.Dense, error) {
	rows, _ := x.Dims()
	s.x, s.out = x, mat.NewDense(rows, 2*s.in, nil)
	for i := range rows {
		for j, v := range x.RawRowView(i) {
			s.out.Set(i, j, v)
			s.out.Set(i, s.in+j, v*v)
		}
	}
	return s.out, nil
}

// PerFeatureNet is an elastic net whose groups are the single features.
type PerFeatureNet struct{ linear.ElasticNet }

func (l *PerFeatureNet) Dims(n int) (theta, hyper int) { return n, 2 * n }

func (l *PerFeatureNet) Load(d learn.Data) error {
	if d.Dense() != nil {
		if _, n := d.X.Dims(); n != len(l.Groups) {
			l.Groups = linear.PerFeature(n)
		}
	}
	return l.ElasticNet.Load(d)
}

// configLearner is a learner with hyperparameters at which it fits well.
type configLearner struct {
	name    string
	learner func() learn.Learner
	hyper   []float64 // of the first features; more are copies of the last
	classes bool      // needs labels ±1
	even    bool      // takes no weights
}

var configLearners = []configLearner{
	{"elastic net", func() learn.Learner { return new(linear.ElasticNet) }, []float64{.05, .1}, false, false},
	{"elastic net per feature", func() learn.Learner { return new(PerFeatureNet) }, []float64{.05, .02, .1}, false, false},
	{"ridge", func() learn.Learner { return &smooth.Learner{Objective: ridge()} }, []float64{.1}, false, true},
	{"kernel ridge", func() learn.Learner { return new(kernel.Ridge) }, []float64{.05, .4}, false, false},
	{"Huber", func() learn.Learner { return new(linear.Huber) }, []float64{.1, .6}, false, false},
	{"Huber, intercept", func() learn.Learner { return &linear.Huber{Intercept: true} }, []float64{.1, .6}, false, false},
	{"kernel ridge, intercept", func() learn.Learner {
		return &kernel.Ridge{Kernel: kernel.Polynomial{Degree: 2}, Intercept: true}
	}, []float64{.05, .4, .5}, false, false},
	{"logistic", func() learn.Learner { return new(linear.Logistic) }, []float64{2}, false, false},
	{"logistic, intercept", func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }, []float64{2}, false, false},
	{"logistic, penalised", func() learn.Learner { return &linear.Logistic{Intercept: linear.PenalisedIntercept} }, []float64{2}, false, false},
	{"sparse logistic, intercept", func() learn.Learner { return &linear.SparseLogistic{Intercept: true} }, []float64{.03, .1}, false, false},
	{"SVM", func() learn.Learner { return new(margin.SVM) }, []float64{.05, .3}, true, false},
	{"learned loss", func() learn.Learner { return new(margin.LearnedLoss) }, []float64{.2, .3, .2, .3, .4}, true, false},
	{"kernel SVM", func() learn.Learner { return new(kernel.SVM) }, []float64{1.5, .4}, true, false},
	{"kernel SVM, intercept", func() learn.Learner { return &kernel.SVM{Intercept: true} }, []float64{1.5, .4}, true, false},
}

var configLosses = []Loss{SquaredError{}, LogisticLoss{}, Hinge{}, SquaredHinge{}, Exponential{}, AbsoluteError{}, HuberLoss{Delta: .7}}

// hyperOf returns the learner's hyperparameters for n features.
func (l configLearner) hyperOf(n int) []float64 {
	_, want := l.learner().Dims(n)
	hyper := slices.Clone(l.hyper)
	for len(hyper) < want {
		hyper = append(hyper, l.hyper[len(l.hyper)-1])
	}
	return hyper[:want]
}

// classData draws N examples of two overlapping classes with n features.
func classData(src *synth.Stream, n, features int) learn.Data {
	d := learn.Data{X: normalMatrix(src, n, features), Y: make([]float64, n)}
	for i := range d.Y {
		d.Y[i] = float64(2*(i%2) - 1)
		for j := range features {
			d.Dense().Set(i, j, d.X.At(i, j)+.5+.7*d.Y[i]/float64(1+j))
		}
	}
	return d
}

// differenceSlope returns the five-point difference quotient of f at x in the direction u. The
// result smooth is true if half the step gives nearly the same quotient.
func differenceSlope(f search.Objective, x, u []float64, h float64) (d float64, smooth bool, err error) {
	quotient := func(h float64) float64 {
		at := func(step float64) float64 {
			moved := slices.Clone(x)
			for i, v := range u {
				moved[i] += step * v
			}
			v, e := f(nil, moved)
			if err == nil {
				err = e
			}
			return v
		}
		return (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
	}
	d = quotient(h)
	half := quotient(h / 2)
	return d, math.Abs(d-half) <= 3e-9*(1+math.Abs(d)), err
}

// For each Config that New accepts, the gradients in the hyperparameters and in the data are the
// derivatives of the CV loss.
func TestGradientsOfAllConfigs(t *testing.T) {
	const rows, raw = 14, 3
	maps := []func() FeatureMap{
		func() FeatureMap { return nil },
		func() FeatureMap { return &squaresMap{in: raw} },
		func() FeatureMap { return &LinearMap{In: raw, Out: 2} },
		func() FeatureMap { return &Perceptron{Widths: []int{raw, 4, 2}} },
		func() FeatureMap { return &Perceptron{Widths: []int{raw, 9, 1}} },
	}
	turn := uint64(0)
	for at := range 2 * len(configLearners) {
		l, weighted := configLearners[at%len(configLearners)], at >= len(configLearners)
		if weighted && l.even {
			continue
		}
		for _, newMap := range maps {
			for intercept := NoCentring; intercept <= MeanCentring; intercept++ {
				for _, standardise := range []bool{false, true} {
					turn++
					loss := configLosses[turn%uint64(len(configLosses))]
					title := fmt.Sprintf("%s, %T, intercept %d, standardise %v, weighted %v, %T", l.name, newMap(), intercept, standardise, weighted, loss)
					learned := newMap() != nil && newMap().NumParams() > 0
					refused := intercept != NoCentring && l.classes || intercept == FixedLeastSquares && learned && !standardise
					checked := false
					for draw := range uint64(30) {
						src := synth.NewStream(turn<<8|draw, "all configs")
						c := Config{Data: classData(src, rows, raw), Loss: loss, Features: newMap(), Learner: l.learner,
							Standardise: standardise, Centring: intercept}
						if !l.classes && intercept != NoCentring {
							for i := range c.Data.Y {
								c.Data.Y[i] += src.NormFloat64()
							}
						}
						if weighted {
							c.Data.Weights = make([]float64, rows)
							for i := range c.Data.Weights {
								c.Data.Weights[i] = math.Exp(src.NormFloat64() / 2)
							}
						}
						var err error
						if turn%2 == 0 {
							c.Splits, err = RandomSplits(src, rows, 3, .8)
						} else {
							c.Splits, err = KFold(src, rows, 3)
						}
						if err != nil {
							t.Fatal(err)
						}
						features := raw
						if c.Features != nil {
							_, features = c.Features.Dims()
						}
						alpha := l.hyperOf(features)
						if held := turn%3 == 0 && learned; held {
							c.Hyper, alpha = alpha, nil
						}
						if learned {
							alpha = append(alpha, normalVector(src, c.Features.NumParams())...)
						}
						cv, err := New(c)
						var loss float64
						grad := make([]float64, len(alpha))
						if err == nil {
							loss, err = cv.Eval(grad, alpha)
						}
						if refused {
							if !errors.Is(err, qpdiff.ErrDomain) {
								t.Errorf("%s: error %v, want one of kind ErrDomain", title, err)
							}
							checked = true
							break
						}
						// A draw is skipped if a hidden unit is 0 for all examples of a split, a
						// map makes rows equal, or only one class is left.
						if errors.Is(err, qpdiff.ErrDomain) && learned && standardise || errors.Is(err, qpdiff.ErrIllPosed) ||
							errors.Is(err, qpdiff.ErrNotDifferentiable) && learned {
							continue
						}
						if err != nil {
							t.Errorf("%s: %v", title, err)
							break
						}
						if draw == 0 {
							checkFinalAgrees(t, title, c, alpha)
						}
						u := normalVector(src, len(alpha))
						for i := range alpha[:len(alpha)-paramsOf(c)] {
							u[i] *= alpha[i]
						}
						want, smooth, err := differenceSlope(cv.Eval, alpha, u, 1e-4)
						if err != nil || !smooth {
							continue
						}
						got, size := 0.0, 1+math.Abs(loss)
						for i, g := range grad {
							got += g * u[i]
							size += math.Abs(g * u[i])
						}
						if !(math.Abs(got-want) <= 1e-8*size) {
							t.Errorf("%s: slope %.12g, central differences give %.12g", title, got, want)
						}
						if !checkDataGradient(t, title, c, alpha, !l.classes, src) {
							continue
						}
						checked = true
						break
					}
					if !checked && !t.Failed() {
						t.Errorf("%s: no draw is smooth", title)
					}
				}
			}
		}
	}
}

// checkFinalAgrees compares the risk of the model of Final with the loss of a split of the same
// rows.
func checkFinalAgrees(t *testing.T, title string, c Config, alpha []float64) {
	t.Helper()
	part := func(rows []int) learn.Data {
		d := learn.Data{X: mat.NewDense(len(rows), 3, nil)}
		for i, row := range rows {
			d.Dense().SetRow(i, c.Data.Dense().RawRowView(row))
			d.Y = append(d.Y, c.Data.Y[row])
			if c.Data.Weights != nil {
				d.Weights = append(d.Weights, c.Data.Weights[row])
			}
		}
		return d
	}
	split := c.Splits[0]
	c.Splits = []Split{split}
	one, err := New(c)
	if err != nil {
		t.Fatal(title, err)
	}
	loss, err := one.Eval(nil, alpha)
	if err != nil {
		t.Fatal(title, err)
	}
	train, val := part(split.Train), part(split.Val)
	c.Data = train
	if c.Splits, err = RandomSplits(synth.NewStream(1, "not used"), len(split.Train), 1, .9); err != nil {
		t.Fatal(title, err)
	}
	cv, err := New(c)
	if err != nil {
		t.Fatal(title, err)
	}
	m, err := cv.Final(alpha)
	if err != nil {
		t.Error(title, err)
		return
	}
	risk, err := m.Risk(c.Loss, val)
	if err != nil || !(math.Abs(risk-loss) <= 1e-10*(1+loss)) {
		t.Errorf("%s: the split's loss is %v, the risk of the model %v, error %v", title, loss, risk, err)
	}
}

// If a constant is added to all labels, neither the loss nor its gradient changes.
func TestCentringFollowsTheLabels(t *testing.T) {
	for _, l := range configLearners {
		if l.classes || l.name[:2] == "lo" { // logistic takes labels by their sign
			continue
		}
		for _, intercept := range []Centring{FixedLeastSquares, MeanCentring} {
			var losses [2]float64
			var grads [2][]float64
			for k := range losses {
				src := synth.NewStream(5, "labels")
				d := classData(src, 14, 3)
				for i := range d.Y {
					d.Y[i] += src.NormFloat64() + 100*float64(k)
				}
				splits := casetest.Must(RandomSplits(src, 14, 3, .8))(t)
				cv := casetest.Must(New(Config{Data: d, Splits: splits, Loss: SquaredError{}, Learner: l.learner, Centring: intercept}))(t)
				alpha := l.hyperOf(3)
				grads[k] = make([]float64, len(alpha))
				losses[k] = casetest.Must(cv.Eval(grads[k], alpha))(t)
			}
			if a, b := losses[0], losses[1]; !(math.Abs(a-b) <= 1e-10*a) {
				t.Errorf("%s, intercept %d: loss %v, and %v with larger labels", l.name, intercept, a, b)
			}
			for i, a := range grads[0] {
				if b := grads[1][i]; !(math.Abs(a-b) <= 1e-9*(1+math.Abs(a))) {
					t.Errorf("%s, intercept %d: gradient %d is %v, and %v with larger labels", l.name, intercept, i, a, b)
				}
			}
		}
	}
}

func paramsOf(c Config) int {
	if c.Features == nil {
		return 0
	}
	return c.Features.NumParams()
}

// predict returns the linear prediction constant + wᵀx.
func predict(constant float64, w, x []float64) float64 {
	for j, v := range x {
		constant += w[j] * v
	}
	return constant
}
