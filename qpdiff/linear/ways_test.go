package linear_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"
)

// An elastic net gives the same results with its Gram matrix as on working sets.
func TestElasticNetWays(t *testing.T) {
	serial.Test(t)
	fits := 0
	for i := range numtest.Long(600) {
		rng := rand.New(rand.NewPCG(36, uint64(i)))
		rows, n := 2+rng.IntN(40), 1+rng.IntN(80)
		d := casetest.RandomData(uint64(i), rows, n, false)
		if rng.IntN(3) == 0 {
			d.Weights = make([]float64, rows)
			for k := range d.Weights {
				d.Weights[k] = float64(1+rng.IntN(3)) * math.Exp(rng.NormFloat64())
			}
			d.Weights[rng.IntN(rows)] = 0
		}
		switch rng.IntN(5) {
		case 0: // near to each other
			for i := range rows {
				row := d.Dense().RawRowView(i)
				for j := range row[1:] {
					row[j+1] = row[0] + .01*row[j+1]
				}
			}
		case 1: // pairs of equal ones
			for i := range rows {
				row := d.Dense().RawRowView(i)
				for j := 1; j < n; j += 2 {
					row[j] = row[j-1]
				}
			}
		}
		var groups []int
		if rng.IntN(3) == 0 {
			groups = linear.PerFeature(n)
		}
		gram, set := &linear.ElasticNet{Groups: groups}, &linear.ElasticNet{Groups: groups}
		numtest.OK(t, gram.Load(d), casetest.WorkingSets{ForwardLearner: set}.Load(d))
		_, h := gram.Dims(n)
		hyper := make([]float64, h)
		for k := range hyper {
			hyper[k] = math.Exp(-1 - 7*rng.Float64())
		}
		for step := range 6 {
			for k := range hyper {
				hyper[k] = max(hyper[k], 1e-4) * math.Exp(rng.NormFloat64())
			}
			switch rng.IntN(9) {
			case 0:
				hyper[rng.IntN(h)] = 0
			case 1:
				set.Reset()
			case 2:
				clear(hyper[h/2:])
			}
			what := fmt.Sprintf("%d, %d × %d, step %d", i, rows, n, step)
			// The tolerances are this large because nearly equal columns have condition numbers of 1e8 and
			// more.
			const fitTol, derivativeTol = 1e-8, 2e-6
			if compareLearners(t, what, rng, d, gram, set, hyper, fitTol, derivativeTol, 0) {
				fits++
			}
		}
	}
	if fits < numtest.Long(3000) {
		t.Error(fits, "fits")
	}
}

// Huber and logistic regressions give the same results with the method for few features as with the
// method for many.
func TestSmoothWays(t *testing.T) {
	serial.Test(t)
	for _, c := range []struct {
		name    string
		fresh   func(intercept bool) learn.ForwardLearner
		classes bool
		hyper   func(rng *rand.Rand) []float64
	}{
		{"Huber", func(intercept bool) learn.ForwardLearner { return &linear.Huber{Intercept: intercept} }, false, func(rng *rand.Rand) []float64 {
			return []float64{math.Exp(-9 * rng.Float64()), 3 * math.Exp(-5*rng.Float64())}
		}},
		{"Logistic", func(intercept bool) learn.ForwardLearner {
			if intercept {
				return &linear.Logistic{Intercept: linear.UnpenalisedIntercept}
			}
			return new(linear.Logistic)
		}, true, func(rng *rand.Rand) []float64 { return []float64{math.Exp(12*rng.Float64() - 8)} }},
		{"SparseLogistic", func(intercept bool) learn.ForwardLearner { return &linear.SparseLogistic{Intercept: intercept} }, true, func(rng *rand.Rand) []float64 {
			return []float64{math.Exp(-1 - 6*rng.Float64()), math.Exp(-9 * rng.Float64())}
		}},
	} {
		fits := 0
		for i := range numtest.Long(300) {
			rng := rand.New(rand.NewPCG(37, uint64(i)))
			rows, n := 2+rng.IntN(40), 1+rng.IntN(60)
			d := casetest.RandomData(uint64(i), rows, n, c.classes)
			if c.classes {
				d.Y[0], d.Y[1] = 1, -1
			}
			if rng.IntN(3) == 0 {
				d.Weights = make([]float64, rows)
				for k := range d.Weights {
					d.Weights[k] = float64(1+rng.IntN(3)) * math.Exp(rng.NormFloat64())
				}
				d.Weights[rng.IntN(rows)] = 0
			}
			alterFeatures(rng, d)
			intercept := rng.IntN(2) == 0
			equations, products := c.fresh(intercept), c.fresh(intercept)
			err := equations.Load(d)
			if other := (casetest.WorkingSets{ForwardLearner: products}).Load(d); err != nil || other != nil {
				if (err == nil) != (other == nil) {
					t.Errorf("%s %d: %v, and otherwise %v", c.name, i, err, other)
				}
				continue
			}
			fits += comparePath(t, fmt.Sprintf("%s %d, %d × %d", c.name, i, rows, n), rng, d, equations, products, c.hyper)
		}
		if fits < numtest.Long(1000) {
			t.Error(c.name, fits, "fits")
		}
	}
}

// alterFeatures makes features of d equal, nearly equal or constant, rescales features, or repeats
// rows.
func alterFeatures(rng *rand.Rand, d learn.Data) {
	kind := rng.IntN(7)
	rows, n := d.X.Dims()
	for i := range rows {
		row := d.Dense().RawRowView(i)
		for j := 1; j < n; j++ {
			switch kind {
			case 0:
				row[j] = row[0] + .1*row[j]
			case 1:
				row[j] = row[j-j%2]
			case 2:
				row[j] *= math.Exp(3 * math.Sin(float64(5*j)))
			case 3:
				if j == n/2 {
					row[j] = 3
				}
			}
		}
		if kind == 4 && i > rows/2 {
			copy(row, d.Dense().RawRowView(i-1))
		}
	}
}

// comparePath compares two learners at several hyperparameters and counts the fits in which both
// succeed.
func comparePath(t *testing.T, what string, rng *rand.Rand, d learn.Data, one, other learn.ForwardLearner, draw func(rng *rand.Rand) []float64) (fits int) {
	t.Helper()
	for step := range 5 {
		hyper := draw(rng)
		if rng.IntN(9) == 0 {
			other.Reset()
		}
		name := fmt.Sprintf("%s, step %d at %v", what, step, hyper)
		const tol, floor = 1e-8, 1e-3 // because derivatives in unused hyperparameters are only rounding
		if compareLearners(t, name, rng, d, one, other, hyper, tol, tol, floor) {
			fits++
		}
	}
	return fits
}

// compareLearners compares θ and its derivatives of two learners, and reports whether both learners
// succeed. Both must fail if one fails.
func compareLearners(t *testing.T, what string, rng *rand.Rand, d learn.Data, one, other learn.ForwardLearner, hyper []float64, fitTol, derivativeTol, floor float64) bool {
	t.Helper()
	_, n := d.X.Dims()
	p, h := one.Dims(n)
	var theta, dtheta [2][]float64
	var grads [2]*learn.Grad
	var errs [2]error
	v, along := numtest.Normals(rng, p), casetest.NewGrad(d, h)
	for _, s := range casetest.GradSlices(along) {
		copy(s, numtest.Normals(rng, len(s)))
	}
	for k, l := range []learn.ForwardLearner{one, other} {
		theta[k], dtheta[k], grads[k] = make([]float64, p), make([]float64, p), casetest.NewGrad(d, h)
		if errs[k] = l.Fit(theta[k], hyper); errs[k] == nil {
			if errs[k] = l.VJP(nil, grads[k], v); errs[k] == nil {
				errs[k] = l.JVP(nil, dtheta[k], along)
			}
		}
	}
	if (errs[0] == nil) != (errs[1] == nil) {
		t.Errorf("%s: %v, and the other way %v", what, errs[0], errs[1])
	}
	if errs[0] != nil || errs[1] != nil {
		return false
	}
	numtest.NearAll(t, what+": θ", theta[1], theta[0], fitTol, floor)
	numtest.NearAll(t, what+": JVP", dtheta[1], dtheta[0], derivativeTol, floor)
	for k, s := range casetest.GradSlices(grads[1]) {
		numtest.NearAll(t, fmt.Sprint(what, ": VJP ", k), s, casetest.GradSlices(grads[0])[k], derivativeTol, floor)
	}
	return true
}

// On working sets, a warm fit has the solution of a cold fit, whatever fits came before.
func TestElasticNetComesBack(t *testing.T) {
	serial.Test(t)
	for i := range numtest.Long(60) {
		rng := rand.New(rand.NewPCG(136, uint64(i)))
		rows, n := 10+rng.IntN(30), 201+rng.IntN(200)
		d := casetest.RandomData(uint64(i), rows, n, false)
		warm, cold := new(linear.ElasticNet), new(linear.ElasticNet)
		numtest.OK(t, warm.Load(d), cold.Load(d))
		theta, want := make([]float64, n), make([]float64, n)
		for step := range 30 {
			// The hyperparameters alternate between distant values, so the nearest past fit is not the last.
			hyper := []float64{.02 * math.Exp(.3*rng.NormFloat64()), .01}
			if step%2 == 1 {
				hyper = []float64{.3 * math.Exp(.3*rng.NormFloat64()), .1}
			}
			cold.Reset()
			numtest.OK(t, warm.Fit(theta, hyper), cold.Fit(want, hyper))
			for j, v := range want {
				if d := math.Abs(theta[j] - v); !(d <= 1e-12*(1+math.Abs(v))) {
					t.Fatalf("%d, %d × %d, step %d: θ_%d is %v, and %v after a cold start", i, rows, n, step, j, theta[j], v)
				}
			}
		}
	}
}
