package cvgm

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"cvgm/cvgm/internal/args"
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

// dataCV returns a CV and its gradients in the data at α.
func dataCV(t *testing.T, c Config, alpha []float64) (cv *CV, dx *mat.Dense, dy []float64, loss float64, err error) {
	t.Helper()
	cv = casetest.Must(New(c))(t)
	rows, n := c.Data.X.Dims()
	dx, dy = mat.NewDense(rows, n, nil), make([]float64, rows)
	loss, err = cv.DataGradient(dx, dy, alpha)
	return cv, dx, dy, loss, err
}

// allNaN reports whether no entry of v is a number.
func allNaN(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return !math.IsNaN(x) })
}

// lossOfRows returns the CV loss at α as a function of the rows of the data.
func lossOfRows(c Config, alpha []float64) search.Objective {
	rows, n := c.Data.X.Dims()
	return func(_, x []float64) (float64, error) {
		c.Data.X = mat.NewDense(rows, n, x)
		cv, err := New(c)
		if err != nil {
			return math.NaN(), err
		}
		return cv.Eval(nil, alpha)
	}
}

func netConfig(t *testing.T, rows int) Config {
	t.Helper()
	splits := casetest.Must(KFold(synth.NewStream(3, "splits"), rows, 3))(t)
	return Config{Data: casetest.Regression(3, rows, 3), Splits: splits, Loss: SquaredError{}, Standardise: true, Centring: MeanCentring,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }}
}

// If a column is constant up to rounding, the gradient treats it as constant.
func TestDataGradientAtAColumnConstantUpToRounding(t *testing.T) {
	c := netConfig(t, 12)
	c.Data.X = mat.DenseCopyOf(c.Data.X)
	for k, i := range c.Splits[1].Train {
		c.Data.Dense().Set(i, 2, []float64{.3, math.Nextafter(.3, 1)}[k%2])
	}
	_, dx, dy, loss, err := dataCV(t, c, []float64{.05, .1})
	var split *SplitError
	if !errors.Is(err, qpdiff.ErrNotDifferentiable) || !errors.As(err, &split) || split.Split != 1 || !messageHas(err, "feature 2") ||
		!messageHas(err, "dx: ") || !allNaN(dx.RawMatrix().Data) || !args.AllFinite(dy) || !args.Finite(loss) {
		t.Errorf("error %v, dx %v, dy %v", err, dx.RawMatrix().Data, dy)
	}
}

// DataGradient returns a NaN loss and NaN gradients with each error, and the next call succeeds.
func TestDataGradientAfterErrors(t *testing.T) {
	c := netConfig(t, 12)
	c.Standardise, c.Centring, c.Splits, c.Generalised = false, NoCentring, c.Splits[:1], true
	cv, _, _, want, err := dataCV(t, c, []float64{.05, .1})
	if err != nil {
		t.Fatal(err)
	}
	// λ1 at the kink of the zero solution.
	x, y := cv.fits[0].train.Dense(), cv.fits[0].train.Y
	top := 0.0
	for j := range 3 {
		top = max(top, math.Abs(mat.Dot(x.ColView(j), mat.NewVecDense(len(y), y)))/float64(len(y)))
	}
	if _, err := cv.Eval(make([]float64, 2), []float64{top, .1}); err != nil || !cv.Generalised() {
		t.Fatalf("error %v, generalised %v", err, cv.Generalised())
	}
	dx, dy := mat.NewDense(12, 3, nil), make([]float64, 12)
	for _, alpha := range [][]float64{{math.NaN(), 1}, {1}, {-1, 1}} {
		dx.Zero()
		clear(dy)
		if loss, err := cv.DataGradient(dx, dy, alpha); err == nil || !math.IsNaN(loss) || !allNaN(dx.RawMatrix().Data) || !allNaN(dy) {
			t.Errorf("α = %v: loss %v, error %v, dx %v, dy %v", alpha, loss, err, dx.RawMatrix().Data, dy)
		}
		if cv.Generalised() {
			t.Errorf("α = %v: a gradient that failed is called generalised", alpha)
		}
	}
	if again, err := cv.DataGradient(dx, dy, []float64{.05, .1}); err != nil || again != want || !args.AllFinite(dx.RawMatrix().Data) {
		t.Errorf("loss %v, then %v, error %v", want, again, err)
	}
	wantPanic(t, "dx of another shape", func() { cv.DataGradient(mat.NewDense(12, 2, nil), nil, []float64{.05, .1}) })
	wantPanic(t, "dy of another length", func() { cv.DataGradient(nil, make([]float64, 11), []float64{.05, .1}) })

	// At a kink of the loss.
	c.Loss, c.Generalised, c.Hyper = Hinge{}, false, nil
	c.Data.Y = slices.Repeat([]float64{1, -1}, 6)
	c.Data.X = mat.NewDense(12, 1, c.Data.Y)
	c.Learner = func() learn.Learner { return new(margin.SVM) }
	_, dx, dy, loss, err := dataCV(t, c, []float64{0, .01})
	if !errors.Is(err, qpdiff.ErrNotDifferentiable) || !math.IsNaN(loss) || !allNaN(dx.RawMatrix().Data) || !allNaN(dy) {
		t.Errorf("kink of the loss: loss %v, error %v, dx %v, dy %v", loss, err, dx.RawMatrix().Data, dy)
	}
}

// If two rows are equal for the learner, the CV loss has a kink in directions that make them
// unequal, and a derivative in all others.
func TestDataGradientAtTies(t *testing.T) {
	x := []float64{1, 0, 2, .5, -3, -1, 2, .5, 1, 1.5, -1, .3}
	opposite := slices.Clone(x)
	opposite[6], opposite[7] = -2, -.5
	y, flip := []float64{1, 1, -1, 1, 1, -1}, []float64{1, 1, -1, -1, 1, -1}
	train := []int{1, 2, 3}
	learner := func(l func() learn.Learner) func(*Config) {
		return func(c *Config) { c.Features, c.Learner = nil, l }
	}
	svm := learner(func() learn.Learner { return new(margin.SVM) })
	for _, c := range []tieCase{
		{"SVM", x, y, train, svm, []float64{0, .5}},
		{"SVM, opposite rows", opposite, flip, train, svm, []float64{0, .5}},
		{"SVM, standardised", x, y, []int{0, 1, 2, 3}, func(c *Config) { svm(c); c.Standardise = true }, []float64{0, .2}},
		{"SVM that leaves rows out", x, y, train, learner(func() learn.Learner { return new(outerSVM) }), []float64{0, .5}},
		{"SVM, linear map", x, y, train, func(*Config) {}, []float64{0, 1, 1, 1}},
		{"SVM, network", x, y, train, func(c *Config) { c.Features = &Perceptron{Widths: []int{2, 1, 1}} }, []float64{0, 1, 1, 1, 5, 1, -5}},
		{"learned loss", x, y, train, learner(func() learn.Learner { return new(margin.LearnedLoss) }), []float64{.8, .05, .05, .1, .5}},
		{"kernel SVM", x, y, train, learner(func() learn.Learner { return new(kernel.SVM) }), []float64{2, .1}},
		{"kernel SVM, intercept", x, y, train, learner(func() learn.Learner { return &kernel.SVM{Intercept: true} }), []float64{2, .1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, dx, dy, loss, err := dataCV(t, c.cv(t, false).c, c.alpha)
			var split *SplitError
			if !errors.Is(err, qpdiff.ErrNotDifferentiable) || !errors.As(err, &split) || !messageHas(err, "cvgm: dx: split 0: Config.Data.X has the examples 1 and 3") ||
				!messageHas(err, "cvgm: dy: split 0: Config.Data.Y has the labels of the examples 1 and 3") {
				t.Errorf("error %v", err)
			}
			if !allNaN(dx.RawMatrix().Data) || !allNaN(dy) || !args.Finite(loss) {
				t.Errorf("loss %v, dx %v, dy %v", loss, dx.RawMatrix().Data, dy)
			}
			for range 2 { // each block alone
				cv := c.cv(t, false)
				if _, err := cv.DataGradient(nil, dy, c.alpha); !errors.Is(err, qpdiff.ErrNotDifferentiable) || messageHas(err, "dx: ") {
					t.Errorf("dy alone: error %v", err)
				}
				if _, err := cv.DataGradient(dx, nil, c.alpha); !errors.Is(err, qpdiff.ErrNotDifferentiable) || messageHas(err, "dy: ") {
					t.Errorf("dx alone: error %v", err)
				}
			}

			cv := c.cv(t, true)
			if _, err := cv.DataGradient(nil, dy, c.alpha); err != nil || !cv.Generalised() || !args.AllFinite(dy) {
				t.Errorf("dy alone: generalised is %v, error %v", cv.Generalised(), err)
			}
			if _, err := cv.DataGradient(dx, dy, c.alpha); err != nil || !cv.Generalised() || !args.AllFinite(dy) {
				t.Fatalf("generalised is %v, error %v", cv.Generalised(), err)
			}
			f := lossOfRows(cv.c, c.alpha)
			grad := dx.RawMatrix().Data
			sign := c.y[1] * c.y[3]
			u := normalVector(synth.NewStream(1, "direction"), len(c.x))
			u[6], u[7] = sign*u[2], sign*u[3]
			if cv.fits[0].normaliser.Centre && sign < 0 {
				t.Fatal("moves of the mean part opposite rows")
			}
			want, even, err := differenceSlope(f, c.x, u, 1e-4)
			if got := floats.Dot(grad, u); err != nil || !even || !(math.Abs(got-want) <= 1e-8*(1+math.Abs(want))) {
				t.Errorf("along moves that keep the rows equal: derivative %.12g, differences give %.12g, smooth %v, error %v", got, want, even, err)
			}
			kinks := 0
			for at := range 2 {
				clear(u)
				u[6+at], u[2+at] = 1, -sign
				below, above := oneSided(t, f, c.x, u)
				if math.Abs(below-above) > 1e-4 {
					kinks++
				}
				if got, tol := floats.Dot(grad, u), 1e-6; got < min(below, above)-tol || got > max(below, above)+tol {
					t.Errorf("derivative %v, one-sided ones %v and %v", got, below, above)
				}
			}
			if kinks == 0 {
				t.Error("the case has no kink")
			}
			if _, linear := cv.fits[0].learner.(*margin.SVM); !linear || cv.c.Features != nil || cv.c.Standardise {
				return
			}
			// A change of y_i has the effect of a multiple of x_i added to x_i, because the learner
			// uses only the products y_i·x_i.
			clear(u)
			copy(u[2:4], c.x[2:4])
			if below, above := oneSided(t, f, c.x, u); math.Abs(below-above) < 1e-4 {
				t.Errorf("slopes %v and %v: the label has no kink", below, above)
			}
			if want := c.y[1] * floats.Dot(grad, u); !(math.Abs(dy[1]-want) <= 1e-12*(1+math.Abs(want))) {
				t.Errorf("dy is %v where dx gives %v", dy[1], want)
			}
		})
	}
}

// For two training rows with opposite labels, the CV loss has a kink in the labels only, because
// centring makes the products y_i·x_i equal for all rows.
func TestDataGradientOfTwoTrainingRows(t *testing.T) {
	c := Config{Data: learn.Data{X: mat.NewDense(5, 2, []float64{1, .5, -1, .25, .2, 2, -1, .4, .3, -.6}), Y: []float64{1, -1, 1, -1, 1}},
		Splits: []Split{{Train: []int{0, 1}, Val: []int{2, 3, 4}}}, Loss: LogisticLoss{}, Standardise: true,
		Learner: func() learn.Learner { return new(margin.SVM) }}
	alpha := []float64{0, .1}
	cv, dx, dy, _, err := dataCV(t, c, alpha)
	ties := 0
	cv.fits[0].learner.(learn.TiedLearner).Ties(&cv.fits[0].workspace, func(_, _ int, sign float64, _ []float64) bool {
		ties++
		return sign < 0
	})
	if ties == 0 {
		t.Error("the rows are not tied")
	}
	if !errors.Is(err, qpdiff.ErrNotDifferentiable) || messageHas(err, "dx: ") || !allNaN(dy) {
		t.Errorf("error %v, dy %v", err, dy)
	}
	u := normalVector(synth.NewStream(1, "direction"), 10)
	want, even, err := differenceSlope(lossOfRows(c, alpha), c.Data.Dense().RawMatrix().Data, u, 1e-4)
	if got := floats.Dot(dx.RawMatrix().Data, u); err != nil || !even || !(math.Abs(got-want) <= 1e-9) || want == 0 {
		t.Errorf("derivative %v, differences give %v, smooth %v, error %v", got, want, even, err)
	}
}

// clip is the feature map that cuts each feature off at ±1.
type clip struct{ x, out *mat.Dense }

func (c *clip) Dims() (in, out int) { return 1, 1 }
func (c *clip) NumParams() int      { return 0 }
func (c *clip) Forward(_ []float64, x *mat.Dense) (*mat.Dense, error) {
	c.x, c.out = x, mat.DenseCopyOf(x)
	c.out.Apply(func(_, _ int, v float64) float64 { return max(-1, min(v, 1)) }, x)
	return c.out, nil
}
func (c *clip) Backward(_ []float64, dx, dfeatures *mat.Dense) {
	if dx == nil {
		return
	}
	for i := range c.x.RawMatrix().Rows {
		if math.Abs(c.x.At(i, 0)) < 1 {
			dx.Set(i, 0, dx.At(i, 0)+dfeatures.At(i, 0))
		}
	}
}

// A change of a third row causes a kink in the CV loss if it moves the mean and thereby makes two
// equal rows unequal.
func TestDataGradientAtTiesPartedByTheMean(t *testing.T) {
	c := Config{Data: learn.Data{X: mat.NewDense(6, 1, []float64{2, -2, .5, -.5, .7, -.3}), Y: []float64{1, -1, 1, 1, 1, -1}},
		Splits: []Split{{Train: []int{0, 1, 2, 3}, Val: []int{4, 5}}}, Loss: LogisticLoss{}, Standardise: true, Features: new(clip),
		Learner: func() learn.Learner { return new(margin.SVM) }}
	alpha := []float64{0, .3}
	u := []float64{0, 0, 1, 0, 0, 0}
	below, above := oneSided(t, lossOfRows(c, alpha), c.Data.Dense().RawMatrix().Data, u)
	if math.Abs(below-above) < 1e-3 {
		t.Fatalf("slopes %v and %v: no kink", below, above)
	}
	if _, dx, _, _, err := dataCV(t, c, alpha); !errors.Is(err, qpdiff.ErrNotDifferentiable) || !messageHas(err, "dx: ") {
		t.Errorf("dx %v, error %v", dx.RawMatrix().Data, err)
	}
	c.Generalised = true
	cv, dx, _, _, err := dataCV(t, c, alpha)
	if got := dx.At(2, 0); err != nil || !cv.Generalised() || got < min(below, above)-1e-6 || got > max(below, above)+1e-6 {
		t.Errorf("derivative %v between %v and %v, error %v, generalised %v", got, below, above, err, cv.Generalised())
	}
}

// DataGradient equals the derivatives of the loss in edge cases.
func TestDataGradientAtEdges(t *testing.T) {
	src := synth.NewStream(6, "edges")
	d := classData(src, 11, 3)
	d.Dense().SetRow(7, d.Dense().RawRowView(3))
	d.Y[7] = d.Y[3]
	zero := learn.Data{X: mat.DenseCopyOf(d.X), Y: normalVector(src, 11)}
	for i := range 11 {
		zero.Dense().Set(i, 1, 0)
	}
	splits := casetest.Must(LeaveOneOut(11))(t)
	for name, c := range map[string]Config{
		"λ1 = 0":         {Data: zero, Loss: SquaredError{}, Learner: func() learn.Learner { return new(linear.ElasticNet) }, Centring: MeanCentring, Hyper: []float64{0, .2}},
		"logistic":       {Data: d, Loss: LogisticLoss{}, Learner: func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }, Hyper: []float64{1}},
		"θ = 0":          {Data: zero, Loss: SquaredError{}, Learner: func() learn.Learner { return new(linear.ElasticNet) }, Centring: MeanCentring, Hyper: []float64{1e9, .2}},
		"λ2 of nearly 0": {Data: d, Loss: SquaredError{}, Learner: func() learn.Learner { return new(linear.ElasticNet) }, Standardise: true, Centring: MeanCentring, Hyper: []float64{0, 1e-12}},
	} {
		c.Splits, c.Features = splits, &squaresMap{in: 3}
		if !checkDataGradient(t, name+", map", c, nil, c.Data.X == zero.X, src) {
			t.Errorf("%s: not smooth", name)
		}
		alpha := c.Hyper
		c.Features, c.Hyper = nil, nil
		if !checkDataGradient(t, name, c, alpha, c.Data.X == zero.X, src) {
			t.Errorf("%s: not smooth", name)
		}
	}

	// A split whose training rows are all of one class.
	one := Config{Data: d, Splits: []Split{{Train: []int{1, 3, 5, 7}, Val: []int{0, 2}}}, Loss: LogisticLoss{}, Learner: func() learn.Learner { return new(margin.SVM) }}
	var split *SplitError
	if _, err := New(one); !errors.Is(err, qpdiff.ErrIllPosed) || !errors.As(err, &split) || !messageHas(err, "both classes") {
		t.Errorf("one class: %v", err)
	}
}

// DataGradient returns the same bits for any number of workers, for a dx within a larger matrix,
// and for concurrent CVs.
func TestDataGradientBits(t *testing.T) {
	c := netConfig(t, 30)
	c.Features = &squaresMap{in: 3}
	c.Workers = 1
	_, want, wantY, loss, err := dataCV(t, c, []float64{.05, .1})
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	c.Workers = 0
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			c := c
			c.Features = &squaresMap{in: 3}
			cv, err := New(c)
			if err != nil {
				t.Error(err)
				return
			}
			wide, dy := mat.NewDense(40, 9, nil), make([]float64, 30)
			for range 3 {
				wide.Apply(func(_, _ int, _ float64) float64 { return rand.Float64() }, wide)
				cv.Reset()
				got, err := cv.DataGradient(wide.Slice(4, 34, 5, 8).(*mat.Dense), dy, []float64{.05, .1})
				if err != nil || got != loss || !mat.Equal(wide.Slice(4, 34, 5, 8), want) || !slices.Equal(dy, wantY) {
					t.Errorf("loss %v, want %v, error %v, or other gradients", got, loss, err)
				}
			}
		})
	}
	group.Wait()
}

// narrow is a feature map whose Forward returns fewer columns than Dims says.
type narrow struct{ squaresMap }

func (n *narrow) Forward(params []float64, x *mat.Dense) (*mat.Dense, error) {
	out, err := n.squaresMap.Forward(params, x)
	rows, _ := x.Dims()
	return out.Slice(0, rows, 0, n.in).(*mat.Dense), err
}

func TestFeaturesOfAnotherShape(t *testing.T) {
	c := netConfig(t, 12)
	c.Features = &narrow{squaresMap{in: 3}}
	if _, dx, dy, loss, err := dataCV(t, c, []float64{.05, .1}); !errors.Is(err, qpdiff.ErrShape) || !messageHas(err, "Features maps 12 rows to 12×3") ||
		!math.IsNaN(loss) || !allNaN(dx.RawMatrix().Data) || !allNaN(dy) {
		t.Errorf("loss %v, error %v", loss, err)
	}
}
