package linear

import (
	"errors"
	"math"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"

	"gonum.org/v1/gonum/mat"
)

// sparseLogisticResidual returns the largest violation of the optimality conditions, relative to
// their terms and rounding. The penalties are a pair for all features or a pair for each feature.
func sparseLogisticResidual(intercept bool) func(d learn.Data, theta, hyper []float64) float64 {
	return func(d learn.Data, theta, hyper []float64) float64 {
		rows, n := d.X.Dims()
		grad, size := make([]float64, len(theta)), make([]float64, len(theta))
		for i, y := range d.Y {
			x := append(mat.Row(nil, i, d.X), 1)[:len(theta)]
			margin, terms := 0.0, 0.0
			for j, t := range theta {
				margin += y * t * x[j]
				terms += math.Abs(y * t * x[j])
			}
			s := 1 / (1 + math.Exp(margin))
			for j, v := range x {
				grad[j] -= s * y * v / float64(rows)
				size[j] += s * math.Abs(y*v) * (1 + terms) / float64(rows)
			}
		}
		var worst float64
		for j, t := range theta {
			v := math.Abs(grad[j])
			if j < n {
				l1, l2 := hyper[0], hyper[1]
				if len(hyper) == 2*n && n > 1 {
					l1, l2 = hyper[j], hyper[n+j]
				}
				size[j] += l1 + l2*math.Abs(t)
				if t == 0 {
					v = max(0, v-l1)
				} else {
					v = math.Abs(grad[j] + l2*t + l1*dense.Sign(t))
				}
			}
			if size[j] > 0 {
				v /= size[j]
			}
			worst = max(worst, v)
		}
		return worst
	}
}

func TestSparseLogisticContract(t *testing.T) {
	for _, intercept := range []bool{false, true} {
		var cases []learntest.Case
		add := func(name string, d learn.Data, hyper ...float64) {
			if intercept {
				name += " with intercept"
				for i := range d.Y {
					d.Dense().Set(i, 0, d.X.At(i, 0)+.7)
				}
			}
			cases = append(cases, learntest.Case{Name: name, Data: d, Hyper: hyper, Residual: sparseLogisticResidual(intercept)})
		}
		add("28x10", casetest.RandomData(1, 28, 10, true), 1e-2, 1e-2)
		add("10x20", casetest.RandomData(2, 10, 20, true), .05, .01)
		add("10x20 lasso", casetest.RandomData(3, 10, 20, true), .1, 0)
		add("5x1", casetest.RandomData(4, 5, 1, true), .05, .5)
		add("2x3", learn.Data{X: casetest.RandomData(5, 2, 3, true).X, Y: []float64{1, -1}}, .02, .5)
		add("50x3 correlated", mixColumns(casetest.RandomData(6, 50, 3, true), .95), .02, .01)
		add("20x20 ridge", casetest.RandomData(7, 20, 20, true), 0, .5)
		add("90x3 without penalties", casetest.NoisyClasses(8, 90, 3), 0, 0)
		if !intercept { // else each quotient is the rounding of the intercept
			add("28x10 all zero", casetest.RandomData(10, 28, 10, true), 100, .1)
		}
		add("15x200", casetest.RandomData(13, 15, 200, true), .005, .5) // a support larger than the rows
		if !testing.Short() {
			add("80x70", casetest.RandomData(9, 80, 70, true), .02, .1)
			add("60x250", casetest.RandomData(14, 60, 250, true), .1, .05) // a small working set
		}
		casetest.Contract(t, func() learn.Learner { return &SparseLogistic{Intercept: intercept} }, cases...)
		if testing.Short() && !intercept { // the other learner of the two uses them
			continue
		}
		t.Run("working sets", func(t *testing.T) {
			casetest.Contract(t, func() learn.Learner {
				return casetest.WorkingSets{ForwardLearner: &SparseLogistic{Intercept: intercept}}
			}, cases...)
		})
	}
}

func TestSparseLogisticGroupsContract(t *testing.T) {
	for _, groups := range [][]int{{1, 0, 2, 1}, {0, 1, 2, 3}} {
		var cases []learntest.Case
		add := func(name string, d learn.Data, hyper ...float64) {
			count := groupCount(groups)
			cases = append(cases, learntest.Case{Name: name, Data: d, Residual: residualInGroups(groups, sparseLogisticResidual(true)),
				Hyper: append(hyper[:count:count], hyper[4:4+count]...)})
		}
		add("28x4", casetest.RandomData(1, 28, 4, true), .02, .03, .05, .01, .07, .01, 1e-2, .1)
		add("5x4", learn.Data{X: casetest.RandomData(2, 5, 4, true).X, Y: []float64{1, 1, -1, 1, -1}}, .02, .03, .05, .01, .07, .01, 1e-2, .1)
		add("28x4, one group free", casetest.NoisyClasses(3, 28, 4), 0, .1, .05, .02, 0, .01, 1e-2, .1)
		casetest.Contract(t, func() learn.Learner { return &SparseLogistic{Intercept: true, Groups: groups} }, cases...)
		t.Run("working sets", func(t *testing.T) {
			casetest.Contract(t, func() learn.Learner {
				return casetest.WorkingSets{ForwardLearner: &SparseLogistic{Intercept: true, Groups: groups}}
			}, cases...)
		})
	}
}

// sigmoid returns 1/(1 + exp(−v)).
func sigmoid(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// At λ1 = 0, a SparseLogistic equals a Logistic at C = 1/(N·λ2).
func TestSparseLogisticIsLogisticWithoutLambda1(t *testing.T) {
	for _, c := range []struct {
		rows, n   int
		intercept bool
		weighted  bool
	}{{20, 3, true, false}, {20, 3, false, false}, {6, 9, true, false}, {30, 5, true, true}, {12, 250, true, false}} {
		d := casetest.RandomData(uint64(c.rows), c.rows, c.n, true)
		d.Y[0], d.Y[1] = 1, -1
		total := float64(c.rows)
		if c.weighted {
			d.Weights, total = make([]float64, c.rows), 0
			for i := range d.Weights {
				d.Weights[i] = float64(i%4) / 2
				total += d.Weights[i]
			}
		}
		const l2 = .03
		l, want := &SparseLogistic{Intercept: c.intercept}, new(Logistic)
		if c.intercept {
			want.Intercept = UnpenalisedIntercept
		}
		params, _ := l.Dims(c.n)
		theta, reference, v := make([]float64, params), make([]float64, params), make([]float64, params)
		for j := range v {
			v[j] = 1 + float64(j)
		}
		g, h := casetest.NewGrad(d, 2), casetest.NewGrad(d, 1)
		numtest.OK(t, l.Load(d), want.Load(d), l.Fit(theta, []float64{0, l2}), want.Fit(reference, []float64{1 / (total * l2)}),
			l.VJP(nil, g, v), want.VJP(nil, h, v))
		numtest.NearAll(t, "theta", theta, reference, 1e-13, 0)
		numtest.NearAll(t, "λ2", g.Hyper[1:], []float64{-h.Hyper[0] / (total * l2 * l2)}, 1e-12, 0)
		numtest.NearAll(t, "X", g.X.RawMatrix().Data, h.X.RawMatrix().Data, 1e-12, 0)
		numtest.NearAll(t, "y", g.Y, h.Y, 1e-12, 0)
	}
}

// An intercept equals a feature of ones without penalties.
func TestSparseLogisticInterceptIsAFreeFeature(t *testing.T) {
	const rows, n = 25, 4
	d := casetest.NoisyClasses(12, rows, n)
	ones := learn.Data{X: mat.NewDense(rows, n+1, nil), Y: d.Y}
	ones.Dense().Slice(0, rows, 0, n).(*mat.Dense).Copy(d.X)
	for i := range rows {
		ones.Dense().Set(i, n, 1)
	}
	l, want := &SparseLogistic{Intercept: true}, &SparseLogistic{Groups: []int{0, 0, 0, 0, 1}}
	theta, reference, v := make([]float64, n+1), make([]float64, n+1), []float64{1, -2, 3, -4, 5}
	g, h := casetest.NewGrad(d, 2), casetest.NewGrad(ones, 4)
	numtest.OK(t, l.Load(d), want.Load(ones), l.Fit(theta, []float64{.05, .02}), want.Fit(reference, []float64{.05, 0, .02, 0}),
		l.VJP(nil, g, v), want.VJP(nil, h, v))
	numtest.NearAll(t, "theta", theta, reference, 1e-13, 0)
	numtest.NearAll(t, "hyper", g.Hyper, []float64{h.Hyper[0], h.Hyper[2]}, 1e-12, 0)
	numtest.NearAll(t, "y", g.Y, h.Y, 1e-12, 0)
	for i := range rows {
		numtest.NearAll(t, "X", g.X.RawRowView(i), h.X.RawRowView(i)[:n], 1e-12, .1)
	}
}

// If x = 1 in all rows and λ2 = 0, θ is the logit of q, and λ1 moves q from the share of label 1
// towards ½.
func TestSparseLogisticByHand(t *testing.T) {
	d := learn.Data{X: mat.NewDense(5, 1, []float64{1, 1, 1, 1, 1}), Y: []float64{1, 1, -1, 1, 1}}
	logit := func(q float64) float64 { return math.Log(q / (1 - q)) }
	l, theta := new(SparseLogistic), make([]float64, 1)
	numtest.OK(t, l.Load(d))
	for _, l1 := range []float64{0, .1, .25, .31, 5} {
		g := &learn.Grad{Hyper: make([]float64, 2)}
		numtest.OK(t, l.Fit(theta, []float64{l1, 0}), l.VJP(nil, g, []float64{1}))
		want, slope := 0.0, 0.0
		if q := .8 - l1; q > .5 {
			want, slope = logit(q), -1/(q*(1-q))
		}
		if !(math.Abs(theta[0]-want) <= 1e-15) || !(math.Abs(g.Hyper[0]-slope) <= 1e-13) {
			t.Errorf("λ1 = %g: θ = %v, derivative %v; want %v, %v", l1, theta[0], g.Hyper[0], want, slope)
		}
	}
	// Without a support, the intercept is the log odds of the labels.
	both := &SparseLogistic{Intercept: true}
	d.X = mat.NewDense(5, 1, []float64{1, -2, 0, 3, 1})
	theta = make([]float64, 2)
	if err := errors.Join(both.Load(d), both.Fit(theta, []float64{9, 0})); err != nil || theta[0] != 0 || !(math.Abs(theta[1]-logit(.8)) <= 1e-15) {
		t.Errorf("θ = %v, want 0 and %v, error %v", theta, logit(.8), err)
	}
}
