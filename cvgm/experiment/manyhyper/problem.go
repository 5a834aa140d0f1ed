package manyhyper

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/penalised"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// A problem consists of a population and a learner. The learner has one hyperparameter for all
// features, or one for each group of neighbouring features.
type problem struct {
	name     string
	features int // the number of groups must divide it
	// draw returns training and test rows.
	draw func(stream func(purpose string) *synth.Stream) (train, test learn.Data)
	// learner returns a learner with one hyperparameter for each group.
	learner func(groups int) learn.Learner
	// box has the bounds and starts of the hyperparameters. Its last entry is for the
	// hyperparameters of the groups. The other entries are for hyperparameters that do not depend
	// on the groups.
	box []interval
}

// An interval holds the bounds of a hyperparameter, and the start of its searches.
type interval struct{ low, start, high float64 }

// The boxes extend from values without effect to values beyond which the models hardly change. The
// starts are in the middle of the values that the searches find.
var (
	ridgeBox    = interval{1e-6, 1e-2, 10} // λ of kernel ridge regression, per mean squared error
	widthBox    = interval{1e-4, .3, 100}  // γ of features on [0, 1)
	penaltyBox  = interval{1e-3, 1, 1e4}   // λ of standard normal features, per sum of squares
	smoothBox   = interval{1e-4, 1, 1e6}   // λ of smooth terms
	largestStep = 3.                       // no step changes a hyperparameter by a factor of more than e³
)

// setup returns the CV loss of a data set, with one hyperparameter for each group.
func (p problem) setup(groups int, train, test learn.Data, splits []cvgm.Split) (*experiment.Setup, error) {
	s := &experiment.Setup{Train: train, Test: test, Splits: splits, Loss: cvgm.SquaredError{}}
	var err error
	if s.CV, err = p.loss(groups, train, splits); err != nil {
		return nil, err
	}
	last := len(p.box) - 1
	for _, b := range slices.Concat(p.box[:last], slices.Repeat(p.box[last:], groups)) {
		s.Lower, s.Start, s.Upper = append(s.Lower, b.low), append(s.Start, b.start), append(s.Upper, b.high)
	}
	return s, nil
}

// loss returns the CV loss on splits of d, with one hyperparameter for each group.
func (p problem) loss(groups int, d learn.Data, splits []cvgm.Split) (*cvgm.CV, error) {
	return cvgm.New(cvgm.Config{
		Data: d, Splits: splits, Loss: cvgm.SquaredError{}, Workers: 1,
		Learner: func() learn.Learner { return p.learner(groups) },
	})
}

// searcher returns the searcher for all problems of this file.
func searcher(evaluations int) search.Searcher {
	return search.LogSpace{Searcher: search.QuasiNewton{MaxEvals: evaluations, MaxStep: largestStep}}
}

// spreadOver converts a point x for fewer groups into a point for the given number of groups,
// without changing the model.
func (p problem) spreadOver(x []float64, groups int) []float64 {
	shared := len(p.box) - 1
	all, of := slices.Clone(x[:shared]), x[shared:]
	for g := range groups {
		all = append(all, of[g*len(of)/groups])
	}
	return all
}

// checkDivisors returns an error if an entry of groups is not a divisor of the number of features.
func checkDivisors(name string, groups []int, features int) error {
	for _, g := range groups {
		if features%g != 0 {
			return experiment.Invalid(name, groups, fmt.Sprintf("use divisors of Features, %d", features))
		}
	}
	return nil
}

// Friedman describes data by Friedman's first function (1991), which depends on the first five
// features. All features are uniform on [0, 1).
type Friedman struct {
	Train    int     `help:"training examples" range:"[4,∞)" small:"[12,20]" setting:"N = %v"`
	Test     int     `help:"test examples" range:"[1,∞)" small:"[10,30]" setting:"%v test examples"`
	Features int     `help:"features, of which the first five have an effect" range:"[5,∞)" small:"{6}" setting:"%v features, uniform on [0, 1)"`
	Noise    float64 `help:"standard deviation of the noise" range:"[0,1e50]" small:"[.1,2]" setting:"noise of standard deviation %v"`
}

// problem returns kernel ridge regression with λ, and a width for each group.
func (f Friedman) problem(name string) problem {
	label := func(x []float64) float64 {
		return 10*math.Sin(math.Pi*x[0]*x[1]) + 20*(x[2]-.5)*(x[2]-.5) + 10*x[3] + 5*x[4]
	}
	draw := func(src synth.Source, rows int) learn.Data {
		d := learn.Data{X: uniformRows(src, rows, f.Features), Y: make([]float64, rows)}
		for i := range d.Y {
			d.Y[i] = label(d.Dense().RawRowView(i)) + f.Noise*src.NormFloat64()
		}
		return d
	}
	return problem{
		name: name, features: f.Features, box: []interval{ridgeBox, widthBox},
		draw: func(stream func(string) *synth.Stream) (train, test learn.Data) {
			return draw(stream("training data"), f.Train), draw(stream("test data"), f.Test)
		},
		learner: func(groups int) learn.Learner {
			of := make([]int, f.Features)
			for j := range of {
				of[j] = j * groups / f.Features
			}
			return &kernel.Ridge{Kernel: kernel.ARD{Groups: of}, Intercept: true}
		},
	}
}

// Banded describes data by a linear function of standard normal features. Neighbouring features
// form bands. Coefficients are normal, with the same standard deviation within a band. This
// standard deviation decreases from band to band.
type Banded struct {
	Train    int     `help:"training examples" range:"[4,∞)" small:"[12,20]" setting:"N = %v"`
	Test     int     `help:"test examples" range:"[1,∞)" small:"[10,30]" setting:"%v test examples"`
	Features int     `help:"features" range:"[1,∞)" small:"{6}" setting:"%v standard normal features"`
	Bands    int     `help:"bands of neighbouring features; a divisor of Features" range:"[1,∞)" most:"Features" small:"{1,2,3}" setting:"in %v bands"`
	Decay    float64 `help:"deviation of a band's coefficients, as a multiple of those of the band before" range:"[0,1]" small:"[.1,1]" setting:"normal coefficients, each band's deviation %v of the one before"`
	Noise    float64 `help:"standard deviation of the noise; that of the labels without it is 1 on average" range:"[0,1e50]" small:"[.1,2]" setting:"noise of standard deviation %v"`
}

func (b Banded) check(name string) error {
	if b.Features%b.Bands != 0 {
		return experiment.Invalid(name+"Bands", b.Bands, fmt.Sprintf("use a divisor of Features, %d", b.Features))
	}
	return nil
}

// problem returns ridge regression with a penalty for each group.
func (b Banded) problem(name string) problem {
	return problem{
		name: name, features: b.Features, box: []interval{penaltyBox},
		draw: func(stream func(string) *synth.Stream) (train, test learn.Data) {
			coef, src := make([]float64, b.Features), stream("coefficients")
			var sum float64
			for j := range coef {
				deviation := math.Pow(b.Decay, float64(j*b.Bands/b.Features))
				coef[j], sum = deviation*src.NormFloat64(), sum+deviation*deviation
			}
			draw := func(src synth.Source, rows int) learn.Data {
				d := learn.Data{X: mat.NewDense(rows, b.Features, nil), Y: make([]float64, rows)}
				for i := range d.Y {
					row := d.Dense().RawRowView(i)
					for j := range row {
						row[j] = src.NormFloat64()
						d.Y[i] += coef[j] * row[j] / math.Sqrt(sum)
					}
					d.Y[i] += b.Noise * src.NormFloat64()
				}
				return d
			}
			return draw(stream("training data"), b.Train), draw(stream("test data"), b.Test)
		},
		learner: func(groups int) learn.Learner {
			l := &penalised.GLM{Intercept: true}
			for g := range groups {
				size := b.Features / groups
				l.Penalties = append(l.Penalties, penalised.Ridge(g*size, size))
			}
			return l
		},
	}
}

// uniformRows draws rows of features that are uniform on [0, 1).
func uniformRows(src synth.Source, rows, features int) *mat.Dense {
	x := mat.NewDense(rows, features, nil)
	for i := range rows {
		row := x.RawRowView(i)
		for j := range row {
			row[j] = src.Float64()
		}
	}
	return x
}
