package cvgm

import (
	"errors"
	"math"
	"slices"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// blend is the feature map φ(x) = (x₀ − c·αᵀr, x₁ + αᵀr), where r holds the remaining entries of x.
type blend struct {
	n      int // parameters
	c      float64
	x, out *mat.Dense
}

func (b *blend) Dims() (in, out int) { return 2 + b.n, 2 }
func (b *blend) NumParams() int      { return b.n }
func (b *blend) Forward(params []float64, x *mat.Dense) (*mat.Dense, error) {
	rows, _ := x.Dims()
	b.x, b.out = x, mat.NewDense(rows, 2, nil)
	for i := range rows {
		row := x.RawRowView(i)
		r := floats.Dot(params, row[2:])
		b.out.SetRow(i, []float64{row[0] - b.c*r, row[1] + r})
	}
	return b.out, nil
}
func (b *blend) Backward(dparams []float64, _, dfeatures *mat.Dense) {
	rows, _ := b.x.Dims()
	for i := range rows {
		floats.AddScaled(dparams, dfeatures.At(i, 1)-b.c*dfeatures.At(i, 0), b.x.RawRowView(i)[2:])
	}
}

// outerSVM is an SVM that omits rows of another learner's data.
type outerSVM struct {
	margin.SVM
	data learn.Data
	kept []int // rows of the full data
}

func (l *outerSVM) Load(d learn.Data) error {
	l.data = d
	return l.SVM.Load(d)
}

func (l *outerSVM) LoadSubset(full learn.Learner, out []int) error {
	all := full.(*outerSVM).data
	rows, n := all.X.Dims()
	l.kept = sample.Complement(out, rows)
	d := learn.Data{X: mat.NewDense(len(l.kept), n, nil)}
	sample.Gather(d.Dense().RawMatrix().Data, all.Dense(), l.kept)
	for _, i := range l.kept {
		d.Y = append(d.Y, all.Y[i])
	}
	return l.SVM.Load(d)
}

func (l *outerSVM) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) error {
	_, n := g.X.Dims()
	own := learn.Grad{Hyper: g.Hyper, X: mat.NewDense(len(l.kept), n, nil)}
	err := l.SVM.VJP(w, &own, dtheta)
	sample.ScatterAdd(g.X, own.X.RawMatrix().Data, l.kept, 1)
	return err
}

func (l *outerSVM) Ties(w *qpdiff.Workspace, visit func(i, k int, sign float64, d []float64) bool) {
	l.SVM.Ties(w, func(i, k int, sign float64, d []float64) bool { return visit(l.kept[i], l.kept[k], sign, d) })
}

// A tieCase is a CV of one split whose feature map gives some training rows the same features, so
// that their multipliers are not unique.
type tieCase struct {
	name   string
	x      []float64
	y      []float64
	train  []int
	change func(*Config)
	alpha  []float64
}

func (c tieCase) cv(t *testing.T, generalised bool) *CV {
	t.Helper()
	k := Config{Data: learn.Data{X: mat.NewDense(len(c.y), len(c.x)/len(c.y), c.x), Y: c.y}, Loss: LogisticLoss{}, Generalised: generalised,
		Learner: func() learn.Learner { return new(margin.SVM) }, Features: &LinearMap{In: 2, Out: 1}}
	k.Splits = []Split{{c.train, sample.Complement(c.train, len(c.y))}}
	c.change(&k)
	cv := casetest.Must(New(k))(t)
	return cv
}

// oneSided returns the one-sided derivatives of f at x in the direction d.
func oneSided(t *testing.T, f search.Objective, x, d []float64) (slopeBelow, slopeAbove float64) {
	t.Helper()
	at := func(step float64) float64 {
		moved := slices.Clone(x)
		for i := range moved {
			moved[i] += step * d[i]
		}
		v := casetest.Must(f(nil, moved))(t)
		return v
	}
	const h = 1e-5
	slope := func(h float64) float64 { return (4*at(h) - at(2*h) - 3*at(0)) / (2 * h) }
	return slope(-h), slope(h)
}

// The CV loss has a kink if a change of the map's parameters makes two equal feature rows unequal.
// The learner's derivatives do not show this kink.
func TestTiesThatTheFeatureMapParts(t *testing.T) {
	x := []float64{1, 0, 2, 0, -3, -1, 0, 2, 1, 1.5, -1, .3}
	y := []float64{1, 1, -1, 1, 1, -1}
	learner := func(l func() learn.Learner) func(*Config) { return func(c *Config) { c.Learner = l } }
	machine := func(k kernel.Kernel, intercept bool) func(*Config) {
		return learner(func() learn.Learner { return &kernel.SVM{Kernel: k, Intercept: intercept} })
	}
	train := []int{1, 2, 3}
	for _, c := range []tieCase{
		{"SVM, one of two needed", x, y, train, func(*Config) {}, []float64{0, 1, 1, 1}},
		{"SVM, both needed", x, y, train, func(*Config) {}, []float64{0, 2, 1, 1}},
		{"SVM, bound and free equal", x, y, train, func(*Config) {}, []float64{0, 4. / 3, 1, 1}},
		{"SVM, opposite rows", []float64{1, 0, 2, 0, -3, -1, 0, -2, 1, 1.5, -1, .3}, []float64{1, 1, -1, -1, 1, -1}, train, func(*Config) {}, []float64{0, 1, 1, 1}},
		{"SVM, standardised", x, y, []int{0, 1, 2, 3}, func(c *Config) { c.Standardise = true }, []float64{0, .2, 1, 1}},
		{"SVM that leaves rows out", x, y, train, learner(func() learn.Learner { return new(outerSVM) }), []float64{0, 1, 1, 1}},
		{"learned loss", x, y, train, learner(func() learn.Learner { return new(margin.LearnedLoss) }), []float64{.8, .05, .05, .1, 1, 1, 1}},
		{"kernel SVM", x, y, train, machine(nil, false), []float64{2, .1, 1, 1}},
		{"kernel SVM, both needed", x, y, train, machine(nil, false), []float64{.7, .1, 1, 1}},
		{"kernel SVM, linear", x, y, train, machine(kernel.Polynomial{Degree: 1}, false), []float64{2, 1, 0, 1, 1}},
		{"kernel SVM, intercept", x, y, train, machine(nil, true), []float64{2, .1, 1, 1}},
		// A change of the parameter changes θᵀφ at example 3, because the second feature has twice
		// the standard deviation of the first.
		{"SVM, standardised by unequal deviations", []float64{1, 2, 0, 3, 6, 0, -8, 8, 0, 3, 6, 1, 4, -16, 0, -2, -4, 0}, []float64{1, 1, -1, 1, -1, -1}, []int{1, 2, 3, 4, 5},
			func(c *Config) { c.Features, c.Standardise = &blend{n: 1, c: 1}, true }, []float64{0, .5, 0}},
		// Example 1 or 3 bounds b from one side.
		{"kernel SVM, all at bounds", []float64{1, 0, 2, 0, -3, -1, 0, 2, 1, 1.5, -1, -2}, y, []int{1, 2, 3, 5}, machine(nil, true), []float64{.1, .1, 1, 1}},
		{"network", x, y, train, func(c *Config) { c.Features = &Perceptron{Widths: []int{2, 1, 1}} }, []float64{0, 1, 1, 1, 5, 1, -5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			strict := c.cv(t, false)
			grad := make([]float64, len(c.alpha))
			var split *SplitError
			if _, err := strict.Eval(grad, c.alpha); !errors.Is(err, qpdiff.ErrNotDifferentiable) || !errors.As(err, &split) || !messageHas(err, "examples 1 and 3") {
				t.Errorf("gradient %v, error %v", grad, err)
			}
			if strict.Generalised() {
				t.Error("a gradient that failed is called generalised")
			}
			if _, err := strict.Eval(nil, c.alpha); err != nil {
				t.Errorf("loss alone: %v", err)
			}

			// With Config.Generalised set, the gradient lies between the slopes of both sides.
			loose := c.cv(t, true)
			if _, err := loose.Eval(grad, c.alpha); err != nil || !loose.Generalised() {
				t.Fatalf("generalised is %v, error %v", loose.Generalised(), err)
			}
			d := make([]float64, len(c.alpha))
			at := len(d) - loose.c.Features.NumParams()
			if d[at] = 1; at+1 < len(d) {
				d[at+1] = -1
			}
			below, above := oneSided(t, loose.Eval, c.alpha, d)
			if math.Abs(below-above) < 1e-4 {
				t.Errorf("slopes %v and %v: the case has no kink", below, above)
			}
			if got, tol := floats.Dot(grad, d), 1e-6; got < min(below, above)-tol || got > max(below, above)+tol {
				t.Errorf("derivative %v, one-sided ones %v and %v", got, below, above)
			}
		})
	}
}

// Equal rows do not affect the derivative if they stay equal for all parameters or become unequal
// only in a feature of weight 0.
func TestTiesThatTheFeatureMapKeeps(t *testing.T) {
	x := []float64{1, 0, 2, 0, -3, -1, 0, 2, 1, 1.5, -1, .3}
	y := []float64{1, 1, -1, 1, 1, -1}
	train := []int{1, 2, 3}
	kernel := func(c *Config) { c.Learner = func() learn.Learner { return new(kernel.SVM) } }
	both := func(a, b func(*Config)) func(*Config) { return func(c *Config) { a(c); b(c) } }
	network := func(c *Config) { c.Features = &Perceptron{Widths: []int{2, 2, 1}} }
	// The units are .9 − x₀ − x₁ and 1.5 − 2x₀ − x₁, if positive.
	dead := []float64{-1, -1, -2, -1, .9, 1.5, .4, -1, 2}
	twice := slices.Clone(x)
	copy(twice[6:8], twice[2:4])
	opposite := slices.Clone(x)
	opposite[6], opposite[7] = -2, 0
	flip := []float64{1, 1, -1, -1, 1, -1}
	apart := []float64{1, 0, 0, 2, 0, 1, -3, 0, -1, 2, 0, 3, 1, 0, 1.5, -1, 0, .3}
	separate := func(c *Config) { c.Features = &blend{n: 1} }
	for _, c := range []tieCase{
		{"SVM, the same example twice", twice, y, train, func(*Config) {}, []float64{.1, 1, 1.2, .9}},
		{"SVM, opposite examples", opposite, flip, train, func(*Config) {}, []float64{.1, 1, 1.2, .9}},
		{"kernel SVM, the same example twice", twice, y, train, kernel, []float64{2, .1, 1.2, .9}},
		{"SVM, dead units", x, y, train, network, append([]float64{.1, 1}, dead...)},
		{"kernel SVM, dead units", x, y, train, both(network, kernel), append([]float64{2, .1}, dead...)},
		// A change of the parameter makes the examples unequal in the second feature, whose θ is 0.
		{"SVM, a feature out of the support", apart, y, train, separate, []float64{.1, 1, 0}},
		{"SVM, a feature of weight 0", apart, y, train, func(c *Config) { c.Features, c.Hyper = &blend{n: 1}, []float64{0, 1} }, []float64{0}},
		{"kernel SVM, a feature of weight 0", apart, y, train, both(separate, kernel), []float64{2, .1, 0}},
		// Relative to the weighted mean, examples 1 and 3 are opposite, also after a linear map.
		{"SVM, opposite about the weighted mean", []float64{1, 0, 2, 0, -2.5, 1.5, -1, 1, 1, 1.5, -1, .3}, flip, train,
			func(c *Config) { c.Standardise, c.Data.Weights = true, []float64{1, 3, 1, 1, 1, 1} }, []float64{.05, .2, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cv := c.cv(t, false)
			ties := 0
			grad := make([]float64, len(c.alpha))
			if _, err := cv.Eval(grad, c.alpha); err != nil {
				t.Fatal(err)
			}
			cv.fits[0].learner.(learn.TiedLearner).Ties(&cv.fits[0].workspace, func(i, k int, _ float64, d []float64) bool {
				if c.train[i] == 1 && c.train[k] == 3 && floats.Norm(d, 2) > 1e-6 {
					ties++
				}
				return true
			})
			if ties == 0 {
				t.Error("examples 1 and 3 are not tied")
			}
			checkGradient(t, cv.Eval, c.alpha, 1e-5, 1e-7)
			if cv.Generalised() {
				t.Error("reported as generalised")
			}
			if _, own := cv.c.Features.(*blend); own {
				return
			}
			if a := testing.AllocsPerRun(5, func() { cv.Eval(grad, c.alpha) }); a != 0 {
				t.Errorf("%v allocations", a)
			}
		})
	}
}

// A kink of the feature map causes a kink in the CV loss even if it affects only the difference
// between two equal rows.
func TestTiesAtAKinkOfTheFeatureMap(t *testing.T) {
	c := tieCase{x: []float64{1, 0, 2, 0, -3, -1, 0, 2, -1, 1.5, -1, .3}, y: []float64{1, 1, -1, 1, 1, -1}, train: []int{1, 2, 3},
		change: func(c *Config) { c.Features = &Perceptron{Widths: []int{2, 2, 2}} },
		// The units are .9 − x₀ − x₁, negative at these examples, and x₀ + x₁ − 2.
		alpha: []float64{.1, 2, -1, -1, 1, 1, .9, -2, -1, 0, -.7, 0, 2, 1}}
	cv, grad := c.cv(t, false), make([]float64, len(c.alpha))
	casetest.Must(cv.Eval(grad, c.alpha))(t)
	train, _ := cv.FeatureCotangents()
	c.alpha[9], c.alpha[11] = -9*train.At(1, 1), 9*train.At(1, 0)
	d := make([]float64, len(c.alpha))
	d[4] = 1
	if below, above := oneSided(t, cv.Eval, c.alpha, d); math.Abs(below-above) < 1e-4 {
		t.Errorf("slopes %v and %v: the case has no kink", below, above)
	}
	if _, err := cv.Eval(grad, c.alpha); !errors.Is(err, qpdiff.ErrNotDifferentiable) {
		t.Errorf("gradient %v, error %v", grad, err)
	}
}

// Eval refuses a gradient if equal examples become unequal in a feature whose weight is 0 in the
// fit but not in the derivative.
func TestTiesThatOnlyTheDerivativeParts(t *testing.T) {
	x := []float64{0, 1.5, 0, 2, 0, 1, -3, 1, 0, 2, 0, 0, -3, -1, 0}
	c := tieCase{x: x, y: []float64{1, 1, -1, 1, -1}, train: []int{1, 2, 3, 4}}
	for name, learner := range map[string]func(*Config){
		"SVM": func(c *Config) { c.Hyper = []float64{0, .5} },
		"kernel SVM": func(c *Config) {
			c.Learner, c.Hyper = func() learn.Learner { return new(kernel.SVM) }, []float64{.6, .1}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.change = func(k *Config) {
				k.Features = &blend{n: 1}
				learner(k)
			}
			alpha, grad := []float64{0}, make([]float64, 1)
			if _, err := c.cv(t, false).Eval(grad, alpha); !errors.Is(err, qpdiff.ErrNotDifferentiable) || !messageHas(err, "examples 1 and 3") {
				t.Errorf("gradient %v, error %v", grad, err)
			}
			loose := c.cv(t, true)
			if _, err := loose.Eval(grad, alpha); err != nil || !loose.Generalised() {
				t.Fatalf("generalised is %v, error %v", loose.Generalised(), err)
			}
			if want := centralDifference(t, loose.Eval, alpha, 0, 1e-4); math.Abs(grad[0]-want) < 1e-3 {
				t.Errorf("equal shares give %v, differences %v: the case needs no refusal", grad[0], want)
			}
		})
	}
}

// Examples with equal features cause no kink if their multipliers are at bounds or do not affect
// the loss.
func TestEqualFeaturesWithoutTies(t *testing.T) {
	x, y := []float64{1, 0, 2, 0, -3, -1, 0, 2, 1, 1.5, -1, .3}, []float64{1, 1, -1, 1, 1, -1}
	for _, c := range []tieCase{
		{"SVM, below the margin", x, y, nil, func(*Config) {}, []float64{.1, 9, 1, 1}},
		{"SVM, beyond the margin", x, y, nil, func(*Config) {}, []float64{.01, .1, 1, 1}},
		{"SVM, validated at 0", []float64{1, 0, 2, 0, -3, -1, 0, 2, 0, 0, 0, 0}, y, nil, func(*Config) {}, []float64{.1, 1, 1, 1}},
		{"kernel SVM, at C", x, y, nil, func(c *Config) { c.Learner = func() learn.Learner { return new(kernel.SVM) } }, []float64{.3, .1, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.train = []int{0, 1, 2, 3}
			cv := c.cv(t, false)
			checkGradient(t, cv.Eval, c.alpha, 1e-5, 1e-7)
			cv.fits[0].learner.(learn.TiedLearner).Ties(&cv.fits[0].workspace, func(i, k int, _ float64, d []float64) bool {
				if floats.Norm(d, 2) > 0 {
					t.Errorf("rows %d and %d are tied along %v", i, k, d)
				}
				return true
			})
		})
	}
}

// The CV loss has a kink at two opposite examples with opposite labels if a change of the mean
// makes them unequal, because they are one row for the learner.
func TestTiesOfOppositeExamplesPartedByTheMean(t *testing.T) {
	d := learn.Data{X: mat.NewDense(6, 2, []float64{3, 1, -2, -3, -3, -3, 1, -2, -1, 2, 1, -2}), Y: []float64{1, 1, 1, -1, 1, -1}}
	c := Config{Data: d, Splits: []Split{{Train: []int{1, 2, 3, 4, 5}, Val: []int{0}}}, Loss: LogisticLoss{}, Standardise: true,
		Features: &LinearMap{In: 2, Out: 3}, Learner: func() learn.Learner { return new(margin.SVM) }}
	alpha := []float64{.76, .1, 2, -1, 2, -1, -2, 1}
	cv := casetest.Must(New(c))(t)
	if _, err := cv.Eval(make([]float64, 8), alpha); !errors.Is(err, qpdiff.ErrNotDifferentiable) {
		t.Errorf("error %v, want one of kind ErrNotDifferentiable", err)
	}
	slope := func(step float64) float64 {
		at, moved := slices.Clone(alpha), slices.Clone(alpha)
		moved[2] += step
		here, errHere := cv.Eval(nil, at)
		there, errThere := cv.Eval(nil, moved)
		casetest.OK(t, errHere, errThere)
		return (there - here) / step
	}
	if above, below := slope(1e-6), slope(-1e-6); math.Abs(above-below) < .05 {
		t.Errorf("slopes %v and %v: no kink", above, below)
	}
	c.Generalised = true
	cv = casetest.Must(New(c))(t)
	if _, err := cv.Eval(make([]float64, 8), alpha); err != nil || !cv.Generalised() {
		t.Errorf("error %v, generalised %v", err, cv.Generalised())
	}
}
