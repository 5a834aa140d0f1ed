package cvgm_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/cvgmtest"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func init() {
	cvgm.FeatureMapContract = func(t rapid.TB, fresh func() cvgm.FeatureMap, reference func(params, x []float64) []float64, params []float64, x *mat.Dense, step float64) {
		t.Helper()
		cvgmtest.FeatureMap(t, fresh, reference, params, x, step)
		f := fresh()
		_, out := f.Dims()
		rows, _ := x.Dims()
		grad, d := make([]float64, len(params)), mat.NewDense(rows, out, nil)
		if a := testing.AllocsPerRun(5, func() {
			f.Forward(params, x)
			f.Backward(grad, nil, d)
		}); a != 0 {
			t.Errorf("Forward and Backward allocate %v times", a)
		}
	}
}

func TestLosses(t *testing.T) {
	predictions := []float64{-20, -2, -1, -.3, 0, .4, 1, 3, 17}
	for _, l := range []cvgm.Loss{cvgm.SquaredError{}, cvgm.LogisticLoss{}, cvgm.Hinge{}, cvgm.SquaredHinge{}, cvgm.Exponential{}, cvgm.ZeroOne{},
		cvgm.AbsoluteError{}, cvgm.HuberLoss{Delta: .5}, cvgm.HuberLoss{Delta: 4}} {
		cvgmtest.Loss(t, l, predictions, []float64{-1, 1, .5})
	}
	cvgmtest.Loss(t, cvgm.PoissonLoss{}, []float64{-3, -1, -.3, 0, .4, 1.5}, []float64{.25, 1, 7})
}

// The exact gradients of a CV pass the check for any objective.
func TestCheckGradientOfACV(t *testing.T) {
	src := synth.NewStream(5, "check gradient")
	d := learn.Data{X: mat.NewDense(20, 3, nil), Y: make([]float64, 20)}
	for i := range d.Y {
		for j := range 3 {
			d.Dense().Set(i, j, src.NormFloat64())
		}
		d.Y[i] = d.X.At(i, 0) + src.NormFloat64()
	}
	splits := casetest.Must(cvgm.KFold(src, 20, 4))(t)
	cv, err := cvgm.New(cvgm.Config{Data: d, Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }})
	if err != nil {
		t.Fatal(err)
	}
	cvgmtest.CheckGradient(t, cv.Eval, []float64{.1, .2})
}

// failures collects the failures of a contract.
type failures struct {
	*testing.T
	messages []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.messages = append(f.messages, fmt.Sprintf(format, args...))
}

func (f *failures) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(f)
}

// failuresOf returns the failures of a contract test, in one string.
func failuresOf(t *testing.T, contract func(t cvgmtest.TB)) string {
	f := &failures{T: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(f) {
				panic(r)
			}
		}()
		contract(f)
	}()
	return strings.Join(f.messages, "\n")
}

// parabolaLoss is the squared error times unit, with a slope of the wrong sign if sign is −1.
type parabolaLoss struct{ unit, sign float64 }

func (l parabolaLoss) Eval(p, y float64) (loss, slope float64) {
	return l.unit * (p - y) * (p - y), l.unit * 2 * l.sign * (p - y)
}

// squareMap is the feature map x ↦ unit·(x, x²), whose output matrix has unused entries between the
// rows.
type squareMap struct {
	unit    float64
	forgets bool // a term in Backward
	x       *mat.Dense
}

func (m *squareMap) Dims() (in, out int) { return 1, 2 }
func (m *squareMap) NumParams() int      { return 0 }

func (m *squareMap) Forward(params []float64, x *mat.Dense) (*mat.Dense, error) {
	rows, n := x.Dims()
	if n != 1 || len(params) > 0 {
		return nil, qpdiff.ErrShape
	}
	m.x = x
	phi := mat.NewDense(rows, 3, nil)
	for i := range rows {
		v := x.At(i, 0)
		phi.SetRow(i, []float64{m.unit * v, m.unit * v * v, 7})
	}
	return phi.Slice(0, rows, 0, 2).(*mat.Dense), nil
}

func (m *squareMap) Backward(dparams []float64, dx, dfeatures *mat.Dense) {
	rows, _ := m.x.Dims()
	if r, c := dfeatures.Dims(); len(dparams) > 0 || r != rows || c != 2 {
		panic("shape")
	}
	if dx == nil {
		return
	}
	if r, c := dx.Dims(); r != rows || c != 1 {
		panic("shape")
	}
	for i := range rows {
		d := dfeatures.At(i, 0)
		if !m.forgets {
			d += 2 * m.x.At(i, 0) * dfeatures.At(i, 1)
		}
		dx.Set(i, 0, dx.At(i, 0)+m.unit*d)
	}
}

// Each contract reports the fault of a faulty type, in any unit, and nothing for the same type
// without the fault.
func TestContractsFindFaults(t *testing.T) {
	x := mat.NewDense(3, 1, []float64{.5, -2, 1})
	stream := synth.NewStream(1, "one for all searches")
	for _, unit := range []float64{1e-9, 1, 1e9} {
		for _, c := range []struct {
			name, message string
			contract      func(t cvgmtest.TB, fault bool)
		}{
			{"objective", "the gradient's slope", func(t cvgmtest.TB, fault bool) {
				cvgmtest.CheckGradient(t, func(grad, x []float64) (float64, error) {
					if grad != nil {
						grad[0], grad[1] = unit*2*x[0], unit
						if fault {
							grad[1] = unit * x[0]
						}
					}
					return unit * (x[0]*x[0] + x[1]), nil
				}, []float64{2, 3})
			}},
			{"loss", "slope", func(t cvgmtest.TB, fault bool) {
				l := parabolaLoss{unit, 1}
				if fault {
					l.sign = -1
				}
				cvgmtest.Loss(t, l, []float64{1, 2, .3}, []float64{1, .7})
			}},
			{"map", "dx", func(t cvgmtest.TB, fault bool) {
				cvgmtest.FeatureMap(t, func() cvgm.FeatureMap { return &squareMap{unit: unit, forgets: fault} }, nil, nil, x, 1e-3)
			}},
			{"linear map", "in the parameters", func(t cvgmtest.TB, fault bool) {
				cvgmtest.FeatureMap(t, func() cvgm.FeatureMap {
					return &scaledMap{LinearMap: cvgm.LinearMap{In: 1, Out: 2}, unit: unit, fault: fault}
				},
					nil, []float64{.4, 3}, x, 1e-3)
			}},
			{"searcher's budget", "evaluations for a budget", func(t cvgmtest.TB, fault bool) {
				cvgmtest.Searcher(t, func(budget int) search.Searcher {
					if fault {
						budget++
					}
					return search.ProjectedGradient{StepSize: .2, MaxEvals: budget}
				}, cvgmtest.Search{Gradient: true})
			}},
			{"searcher's source", "a second search differs", func(t cvgmtest.TB, fault bool) {
				cvgmtest.Searcher(t, func(budget int) search.Searcher {
					return search.RandomSearch{MaxEvals: budget, Draw: search.LogUniform(-1, 0), Source: func() cvgm.Source {
						if fault {
							return stream
						}
						return synth.NewStream(1, "search")
					}}
				}, cvgmtest.Search{})
			}},
			{"searcher's random objective", "mark it as Random", func(t cvgmtest.TB, fault bool) {
				cvgmtest.Searcher(t, func(budget int) search.Searcher {
					return deafSearcher{search.HeavyBall{StepSize: .1, MaxEvals: budget}, fault}
				}, cvgmtest.Search{Gradient: true})
			}},
		} {
			for _, fault := range []bool{false, true} {
				got := failuresOf(t, func(t cvgmtest.TB) { c.contract(t, fault) })
				if fault != (got != "") || fault && !strings.Contains(got, c.message) {
					t.Errorf("%s in units of %v, faulty: %v, reports %q", c.name, unit, fault, got)
				}
			}
		}
	}
}

// deafSearcher does not restart a random objective if fault is true.
type deafSearcher struct {
	search.Searcher
	fault bool
}

func (s deafSearcher) Search(p search.Problem, x0 []float64) iter.Seq2[search.Step, error] {
	if s.fault {
		p.Restart = nil
	}
	return s.Searcher.Search(p, x0)
}

// scaledMap is a LinearMap times unit. Its derivative in the parameters has the wrong sign if fault
// is true.
type scaledMap struct {
	cvgm.LinearMap
	unit  float64
	fault bool
}

func (m *scaledMap) Forward(params []float64, x *mat.Dense) (*mat.Dense, error) {
	phi, err := m.LinearMap.Forward(params, x)
	if err == nil {
		phi.Scale(m.unit, phi)
	}
	return phi, err
}

func (m *scaledMap) Backward(dparams []float64, dx, dfeatures *mat.Dense) {
	var d mat.Dense
	d.Scale(m.unit, dfeatures)
	own := make([]float64, len(dparams))
	m.LinearMap.Backward(own, dx, &d)
	for i, v := range own {
		if m.fault {
			v = -v
		}
		dparams[i] += v
	}
}
