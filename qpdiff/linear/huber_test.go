package linear

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"

	"gonum.org/v1/gonum/mat"
)

// huberResidual returns the largest entry of the gradient, relative to the entry's terms.
func huberResidual(intercept bool) func(d learn.Data, theta, hyper []float64) float64 {
	return func(d learn.Data, theta, hyper []float64) float64 {
		rows, n := d.X.Dims()
		grad, size := make([]float64, len(theta)), make([]float64, len(theta))
		for j := range n {
			grad[j] = hyper[0] * theta[j]
			size[j] = math.Abs(grad[j])
		}
		for i, y := range d.Y {
			x := slices.Clone(d.Dense().RawRowView(i))
			if intercept {
				x = append(x, 1)
			}
			r, terms := y-dense.Dot(x, theta), math.Abs(y)
			for j, v := range x {
				terms += math.Abs(v * theta[j])
			}
			slope := max(-hyper[1], min(r, hyper[1]))
			for j, v := range x {
				grad[j] -= slope * v / float64(rows)
				size[j] += min(terms, hyper[1]) * math.Abs(v) / float64(rows)
			}
		}
		worst := 0.0
		for j, g := range grad {
			if size[j] > 0 {
				worst = max(worst, math.Abs(g)/size[j])
			}
		}
		return worst
	}
}

// addOutliers moves every fifth label up or down by 20 standard deviations.
func addOutliers(d learn.Data) learn.Data {
	for i := 0; i < len(d.Y); i += 5 {
		d.Y[i] += 20 * float64(1-2*(i/5%2))
	}
	return d
}

func TestHuberContract(t *testing.T) {
	for _, intercept := range []bool{false, true} {
		var cases []learntest.Case
		add := func(name string, d learn.Data, hyper ...float64) {
			cases = append(cases, learntest.Case{Name: fmt.Sprintf("%s intercept %v", name, intercept), Data: d, Hyper: hyper, Residual: huberResidual(intercept), Step: 1e-4})
		}
		add("28x10", addOutliers(casetest.RandomData(1, 28, 10, false)), .01, .5)
		add("40x3 without penalty", addOutliers(casetest.RandomData(2, 40, 3, false)), 0, .3)
		add("10x20", addOutliers(casetest.RandomData(3, 10, 20, false)), .1, .4)
		add("6x1", casetest.RandomData(4, 6, 1, false), .05, .3)
		add("50x3 quadratic", casetest.RandomData(5, 50, 3, false), .05, 20)
		add("50x3 nearly absolute", addOutliers(casetest.RandomData(6, 50, 3, false)), .01, .03)
		add("80x40", addOutliers(casetest.RandomData(8, 80, 40, false)), .1, .4) // by products with the rows
		add("20x60", addOutliers(casetest.RandomData(7, 20, 60, false)), .1, .4)
		casetest.Contract(t, func() learn.Learner { return &Huber{Intercept: intercept} }, cases...)
		cases = cases[:len(cases)-2] // which take these ways by themselves
		t.Run("products", func(t *testing.T) {
			casetest.Contract(t, func() learn.Learner { return casetest.WorkingSets{ForwardLearner: &Huber{Intercept: intercept}} }, cases...)
		})
	}
}

// If δ exceeds all residuals, a Huber regression equals an elastic net at λ1 = 0.
func TestHuberIsRidgeRegressionAtLargeDelta(t *testing.T) {
	for seed := range uint64(5) {
		d := casetest.RandomData(seed, 20, 4, false)
		if seed > 2 {
			d.Weights = make([]float64, 20)
			for i := range d.Weights {
				d.Weights[i] = float64(i % 3)
			}
		}
		for _, delta := range []float64{100, 1e9, 1e300, math.MaxFloat64} {
			var net ElasticNet
			var l Huber
			want, got := make([]float64, 4), make([]float64, 4)
			numtest.OK(t, net.Load(d), net.Fit(want, []float64{0, .1}), l.Load(d), l.Fit(got, []float64{.1, delta}))
			numtest.NearAll(t, "θ", got, want, 1e-13, 0)
			g, h := casetest.NewGrad(d, 2), casetest.NewGrad(d, 2)
			v := []float64{1, -2, 3, .5}
			if err := errors.Join(net.VJP(nil, g, v), l.VJP(nil, h, v)); err != nil {
				t.Fatal(delta, err)
			}
			numtest.NearAll(t, "λ2, δ", h.Hyper, []float64{g.Hyper[1], 0}, 1e-12, 0)
			numtest.NearAll(t, "X", h.X.RawMatrix().Data, g.X.RawMatrix().Data, 1e-12, 0)
			numtest.NearAll(t, "y", h.Y, g.Y, 1e-12, 0)
		}
	}
}

// For x = 1 and three labels of which the last is an outlier, θ equals (y_0 + y_1 + δ)/2.
func TestHuberByHand(t *testing.T) {
	d := learn.Data{X: mat.NewDense(3, 1, []float64{1, 1, 1}), Y: []float64{0, .5, 11}}
	var l Huber
	theta, g := make([]float64, 1), &learn.Grad{Hyper: make([]float64, 2), Y: make([]float64, 3)}
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{0, 1}), l.VJP(nil, g, []float64{1}))
	numtest.NearAll(t, "θ", theta, []float64{.75}, 4*dense.Eps, 0)
	numtest.NearAll(t, "λ2, δ", g.Hyper, []float64{-1.125, .5}, 8*dense.Eps, 0)
	numtest.NearAll(t, "y", g.Y, []float64{.5, .5, 0}, 8*dense.Eps, 0)
}

func TestHuberIterationLimit(t *testing.T) {
	l := Huber{MaxIter: 1}
	theta := []float64{7, 7}
	if err := errors.Join(l.Load(addOutliers(casetest.RandomData(3, 20, 2, false))), l.Fit(theta, []float64{.1, .1})); !errors.Is(err, qpdiff.ErrIterationLimit) || theta[0] != 7 {
		t.Errorf("one step: θ %v, error %v", theta, err)
	}
}

// The size of outliers does not change θ, because their residuals count as δ.
func TestHuberBoundsOutliers(t *testing.T) {
	d := casetest.RandomData(7, 30, 3, false)
	var l Huber
	var want []float64
	for _, size := range []float64{20, 1e3, 1e9} {
		d.Y[4], d.Y[11] = size, -size
		got := make([]float64, 3)
		numtest.OK(t, l.Load(d), l.Fit(got, []float64{.01, .5}))
		if want == nil {
			want = got
		}
		numtest.NearAll(t, fmt.Sprint("outliers of ", size), got, want, 1e-12, 0)
	}
}

// A warm fit at a huge δ finds its solution even if the previous fit had a small δ.
func TestHuberFromZonesFarOff(t *testing.T) {
	d := addOutliers(casetest.RandomData(9, 12, 2, false))
	var l Huber
	want, got := make([]float64, 2), make([]float64, 2)
	numtest.OK(t, l.Load(d), l.Fit(want, []float64{.02, 1e265}), l.Fit(got, []float64{.02, .01}), l.Fit(got, []float64{.02, 3e265}))
	numtest.NearAll(t, "θ", got, want, 1e-13, 0)
}

// Along a path of δ, warm fits have the solutions of cold fits and stay within the step limit.
func TestHuberPaths(t *testing.T) {
	for seed := range uint64(numtest.Long(40)) {
		rng := rand.New(rand.NewPCG(seed, 5))
		rows, n := 2+rng.IntN(40), 1+rng.IntN(6)
		d := addOutliers(casetest.RandomData(seed, rows, n, false))
		intercept := seed%2 == 0
		warm := Huber{Intercept: intercept}
		k, _ := warm.Dims(n)
		got, want := make([]float64, k), make([]float64, k)
		numtest.OK(t, warm.Load(d))
		for step := range 40 {
			hyper := []float64{.1 * rng.Float64(), 10 * math.Pow(10, -float64(step)/4)}
			cold := Huber{Intercept: intercept}
			err, errCold := warm.Fit(got, hyper), errors.Join(cold.Load(d), cold.Fit(want, hyper))
			if casetest.KindOf(err) != casetest.KindOf(errCold) || err != nil && !errors.Is(err, qpdiff.ErrIllPosed) {
				t.Errorf("seed %d (%dx%d) at %v: warm %v, cold %v", seed, rows, n, hyper, err, errCold)
				break
			}
			if err == nil {
				numtest.NearAll(t, fmt.Sprintf("seed %d at %v", seed, hyper), got, want, 1e-9, 1)
			}
		}
	}
}

// The Hessian keeps no rounding errors of a very large row that leaves the quadratic zone.
func TestHuberHessianForgetsRows(t *testing.T) {
	for seed := range uint64(40) {
		const rows, n = 60, 4
		rng := rand.New(rand.NewPCG(seed, 7))
		d := casetest.RandomData(seed, rows, n, false)
		large := math.Pow(10, float64(seed%6))
		for j, v := range d.Dense().RawRowView(7) {
			d.Dense().Set(7, j, large*v)
		}
		var l Huber
		numtest.OK(t, l.Load(d), l.Fit(make([]float64, n), []float64{.01, 1e9}))
		for step := range 6 {
			for i := range l.zone {
				if l.zone[i] = 0; rng.IntN(5) == 0 || i == 7 && step%3 > 0 {
					l.zone[i] = 1
				}
			}
			made := l.newton()
			got, want := make([]float64, n*n), make([]float64, n*n)
			l.hessian(nil, want, l.quadratic)
			for j := range n {
				want[j*n+j] -= l.l2
				for k := j; k < n; k++ {
					got[j*n+k] = l.sums.quad[k*n+j]
				}
			}
			if made < n {
				t.Fatal("singular")
			}
			numtest.NearAll(t, fmt.Sprintf("seed %d, step %d, a row times %g", seed, step, large), got, want, 1e-13, 0)
		}
	}
}

// The line search returns the step at which the slope is 0.
func TestHuberLineSearch(t *testing.T) {
	between := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 6))
		rows, n := 2+rng.IntN(30), 1+rng.IntN(4)
		var l Huber
		numtest.OK(t, l.Load(addOutliers(casetest.RandomData(seed, rows, n, false))))
		l.l2, l.delta = rng.Float64(), math.Exp(rng.NormFloat64()-1)
		copy(l.theta, numtest.Normals(rng, n))
		copy(l.step, numtest.Normals(rng, n))
		slope := func(t float64) (sum float64) {
			for j, s := range l.step {
				sum += l.l2 * s * (l.theta[j] + t*s)
			}
			for i, y := range l.y {
				a := dense.Dot(l.row(i), l.step)
				r := y - dense.Dot(l.row(i), l.theta) - t*a
				sum -= l.share[i] * a * max(-l.delta, min(r, l.delta))
			}
			return sum
		}
		if slope(0) > 0 {
			for j := range l.step {
				l.step[j] *= -1
			}
		}
		l.residuals()
		switch at := l.lineSearch(); {
		case !(at > 0) || !(math.Abs(slope(at)) <= 1e-12*math.Abs(slope(0))):
			t.Errorf("seed %d: slope %v at %v, %v at 0", seed, slope(at), at, slope(0))
		case at != 1:
			between++
		}
	}
	if between < 100 {
		t.Error(between)
	}
}

// At kinks, a Huber regression has the same derivatives from a system in the rows as from its
// Hessian.
func TestHuberKinksByRows(t *testing.T) {
	for seed := range uint64(20) {
		const rows, n = 9, 14
		d := casetest.RandomData(seed, rows, n, false)
		intercept := seed%2 == 0
		entries, other := &Huber{Intercept: intercept}, &Huber{Intercept: intercept}
		k, _ := entries.Dims(n)
		numtest.OK(t, entries.Load(d), casetest.WorkingSets{ForwardLearner: other}.Load(d))
		theta := make([]float64, k)
		numtest.OK(t, entries.Fit(theta, []float64{.3, 1e9}))
		hyper := []float64{.3, dense.Largest(entries.r)}
		want, got := casetest.NewGrad(d, 2), casetest.NewGrad(d, 2)
		for _, l := range []*Huber{entries, other} {
			numtest.OK(t, l.Fit(theta, hyper))
			if err := l.VJP(nil, want, theta); !casetest.Refuses(err, qpdiff.Weak{Rows: l.weak}, "λ2", "δ", "X", "y") || len(l.weak) != 1 {
				t.Errorf("seed %d, by rows %v: %v", seed, l.sums.byRows, err)
			}
			l.Generalised = true
		}
		numtest.OK(t, entries.VJP(nil, want, theta), other.VJP(nil, got, theta))
		if !other.sums.byRows || entries.sums.byRows || !got.Generalised {
			t.Error("the ways are others")
		}
		for i, s := range casetest.GradSlices(got) {
			numtest.NearAll(t, fmt.Sprint("seed ", seed, ", field ", i), s, casetest.GradSlices(want)[i], 1e-11, 0)
		}
	}
}
