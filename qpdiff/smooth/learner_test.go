package smooth_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// gradientResidual returns the largest entry of ∇F, relative to the sum of the entry's absolute
// terms.
func gradientResidual(loss func(p, y float64) (d1, d2, dy float64)) func(d learn.Data, theta, hyper []float64) float64 {
	return func(d learn.Data, theta, hyper []float64) float64 {
		worst := 0.0
		rows, n := d.X.Dims()
		for j := range n {
			g, size := hyper[0]*theta[j], math.Abs(hyper[0]*theta[j])
			for i := range rows {
				p, ps := 0.0, 0.0
				for k, t := range theta {
					p += t * d.X.At(i, k)
					ps += math.Abs(t * d.X.At(i, k))
				}
				d1, d2, _ := loss(p, d.Y[i])
				g += d1 * d.X.At(i, j) / float64(rows)
				size += (math.Abs(d1) + d2*ps) * math.Abs(d.X.At(i, j)) / float64(rows)
			}
			worst = max(worst, math.Abs(g)/size)
		}
		return worst
	}
}

func TestSmoothLearnerContract(t *testing.T) {
	for name, loss := range map[string]func(p, y float64) (d1, d2, dy float64){"pseudo-Huber": casetest.PseudoHuber, "Poisson": casetest.Poisson} {
		t.Run(name, func(t *testing.T) {
			var cases []learntest.Case
			add := func(shape string, seed uint64, rows, n int, lambda float64) {
				cases = append(cases, learntest.Case{Name: shape, Data: casetest.RandomData(seed, rows, n, false), Hyper: []float64{lambda}, Residual: gradientResidual(loss)})
			}
			add("28x5", 1, 28, 5, .1)
			add("5x8", 2, 5, 8, .2)
			add("6x1", 3, 6, 1, .5)
			casetest.Contract(t, func() learn.Learner { return &smooth.Learner{Objective: casetest.LinearModel(loss)} }, cases...)
		})
	}
}

// For the objective of ridge regression, a Learner equals an elastic net at λ1 = 0.
func TestSmoothLearnerIsRidge(t *testing.T) {
	d := casetest.RandomData(4, 30, 6, false)
	v := numtest.Normals(rand.New(rand.NewPCG(1, 2)), 6)
	run := func(l learn.Learner, hyper ...float64) (theta []float64, g *learn.Grad) {
		t.Helper()
		theta = make([]float64, 6)
		g = &learn.Grad{Hyper: make([]float64, len(hyper)), X: mat.NewDense(30, 6, nil), Y: make([]float64, 30)}
		numtest.OK(t, l.Load(d), l.Fit(theta, hyper), l.VJP(nil, g, v))
		return theta, g
	}
	theta, g := run(&smooth.Learner{Objective: casetest.LinearModel(casetest.HalfSquare)}, .3)
	d.X = mat.DenseCopyOf(d.X.T()).T() // any matrix
	if again, _ := run(&smooth.Learner{Objective: casetest.LinearModel(casetest.HalfSquare)}, .3); !numtest.SameBits(again, theta) {
		t.Errorf("from a transposed matrix %v, want %v", again, theta)
	}
	want, wantGrad := run(new(linear.ElasticNet), 0, .3)
	numtest.NearAll(t, "theta", theta, want, 1e-13, 0)
	numtest.NearAll(t, "lambda", g.Hyper, wantGrad.Hyper[1:], 1e-13, 0)
	numtest.NearAll(t, "X", g.X.RawMatrix().Data, wantGrad.X.RawMatrix().Data, 1e-13, 0)
	numtest.NearAll(t, "y", g.Y, wantGrad.Y, 1e-13, 0)
}

// A fit succeeds even if a Newton step overshoots into overflow.
func TestSmoothLearnerIsCutBack(t *testing.T) {
	d := learn.Data{X: mat.NewDense(3, 1, []float64{1, 2, -3}), Y: []float64{1e5, 1e8, 0}}
	l := smooth.Learner{Objective: casetest.LinearModel(casetest.Poisson)}
	theta := make([]float64, 1)
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{1e-3}))
	if r := gradientResidual(casetest.Poisson)(d, theta, []float64{1e-3}); !(r <= 1e-13) {
		t.Errorf("theta %v with residual %g", theta, r)
	}
}

func TestSmoothLearnerVerdicts(t *testing.T) {
	d := casetest.RandomData(1, 5, 2, false)
	model := func(loss func(p, y float64) (d1, d2, dy float64)) *smooth.Learner {
		return &smooth.Learner{Objective: casetest.LinearModel(loss)}
	}
	v := casetest.Residual(nil).Verdict
	v(t, "concave", model(func(p, y float64) (d1, d2, dy float64) { return y - p, -1, 1 }), d, qpdiff.ErrIllPosed, "", .1)
	v(t, "NaN", model(func(p, y float64) (d1, d2, dy float64) { return math.NaN(), 1, 1 }), d, qpdiff.ErrNotFinite, "", .1)
	short, signed := model(casetest.Poisson), model(casetest.HalfSquare)
	short.MaxIter = 1
	v(t, "one step", short, d, qpdiff.ErrIterationLimit, "", .1)
	signed.Objective.Check = func(hyper []float64) error {
		if hyper[0] < -1 {
			return check.ArgErrorf("hyper", qpdiff.ErrDomain, "raise it", "is too low")
		}
		return nil
	}
	v(t, "allowed by Check", signed, d, nil, "", -.01)
	v(t, "refused by Check", signed, d, qpdiff.ErrDomain, "", -2)
	v(t, "no hyperparameter", signed, d, qpdiff.ErrShape, "")
	v(t, "two hyperparameters", signed, d, qpdiff.ErrShape, "", 1, 2)
}

func TestSmoothLearnerOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, n := rapid.IntRange(1, 20).Draw(t, "rows"), rapid.IntRange(1, 6).Draw(t, "n")
		d := casetest.RandomData(rapid.Uint64().Draw(t, "seed"), rows, n, false)
		scale := math.Pow(10, rapid.Float64Range(-2, 1).Draw(t, "scale"))
		d.Dense().Scale(scale, d.X)
		loss := casetest.PseudoHuber
		if rapid.Bool().Draw(t, "Poisson") {
			loss = casetest.Poisson
		}
		l := smooth.Learner{Objective: casetest.LinearModel(loss)}
		theta := make([]float64, n)
		numtest.OK(t, l.Load(d))
		for range 3 {
			lambda := math.Pow(10, rapid.Float64Range(-3, 2).Draw(t, "lambda"))
			numtest.OK(t, l.Fit(theta, []float64{lambda}))
			if r := gradientResidual(loss)(d, theta, []float64{lambda}); !(r <= 1e-12) {
				t.Fatalf("residual %g at lambda %v", r, lambda)
			}
		}
	})
}

// rescaleObjective returns the objective F(φ) = factor·o(θ) for θ_j = unit[j]·φ_j.
func rescaleObjective(o smooth.Objective, factor float64, unit []float64) smooth.Objective {
	times := func(dst, src []float64, factor float64) {
		for j, v := range src {
			dst[j] = factor * v * unit[j]
		}
	}
	theta, w := make([]float64, len(unit)), make([]float64, len(unit))
	s := o
	s.Gradient = func(g, phi []float64, d learn.Data, hyper []float64) {
		times(theta, phi, 1)
		o.Gradient(g, theta, d, hyper)
		times(g, g, factor)
	}
	s.HVP = func(hv, v, phi []float64, d learn.Data, hyper []float64) {
		times(theta, phi, 1)
		times(w, v, 1)
		o.HVP(hv, w, theta, d, hyper)
		times(hv, hv, factor)
	}
	return s
}

// Powers of two as units of the objective or the parameters do not change θ.
func TestSmoothLearnerUnits(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(31, 1))
	for trial := range 300 {
		n := 1 + rng.IntN(5)
		rows := n + 1 + rng.IntN(10)
		d := casetest.RandomData(rng.Uint64(), rows, n, false)
		loss := [...]func(p, y float64) (d1, d2, dy float64){casetest.HalfSquare, casetest.PseudoHuber, casetest.Poisson, casetest.PseudoHuber, casetest.HalfSquare}[trial%5]
		switch trial % 5 {
		case 0: // y orthogonal to the features, up to rounding
			f := linear.ElasticNet{}
			theta := make([]float64, n)
			numtest.OK(t, f.Load(d), f.Fit(theta, []float64{0, 0}))
			for i := range d.Y {
				d.Y[i] -= dense.Dot(theta, d.Dense().RawRowView(i))
			}
		case 1: // each row and its mirror image
			for i := 1; i < rows; i += 2 {
				d.Y[i-1] *= 1 + dense.Eps
				for j := range n {
					d.Dense().Set(i, j, -d.X.At(i-1, j))
				}
				d.Y[i] = d.Y[i-1]
			}
			if rows%2 > 0 {
				clear(d.Dense().RawRowView(rows - 1))
			}
		}
		hyper := []float64{math.Pow(10, -4*rng.Float64())}
		var want []float64
		factors := []float64{1, 0x1p-20, 0x1p20, 0x1p-100, 0x1p100}
		for at := range len(factors) + 4*n {
			unit, f := numtest.Ones(n), 1.
			if k := at - len(factors); k < 0 {
				f = factors[at]
			} else {
				unit[k/4] = [...]float64{0x1p-60, 0x1p-20, 0x1p20, 0x1p60}[k%4]
			}
			l := smooth.Learner{Objective: rescaleObjective(casetest.LinearModel(loss), f, unit)}
			theta := make([]float64, n)
			if err := errors.Join(l.Load(d), l.Fit(theta, hyper), l.Fit(theta, hyper)); err != nil {
				t.Fatalf("trial %d, F times %g, units %v: %v", trial, f, unit, err)
			}
			for j := range theta {
				theta[j] *= unit[j]
			}
			if want == nil {
				want = theta
			} else if !slices.Equal(theta, want) {
				t.Errorf("trial %d, F times %g, units %v: theta %v instead of %v", trial, f, unit, theta, want)
			}
		}
	}
}

// Fit returns ErrIllPosed for a large condition number, even if each pivot of the Hessian is above
// rounding.
func TestSmoothLearnerCondition(t *testing.T) {
	for _, c := range []struct {
		power   float64
		refused bool
	}{{-3, false}, {-11, false}, {-15, true}} {
		const n = 3
		d := learn.Data{X: mat.NewDense(4, n, []float64{1, 1, 0, 0, 1, 1, 1, 0, -1, 1, 1, 1}), Y: []float64{1, 2, 0, 1}}
		for i := range 4 { // the third feature is the difference of the others, up to this number
			d.Dense().Set(i, 2, d.X.At(i, 0)-d.X.At(i, 1)+math.Pow(10, c.power/2)*float64(i*i))
		}
		l := smooth.Learner{Objective: casetest.LinearModel(casetest.HalfSquare)}
		theta := make([]float64, n)
		err := errors.Join(l.Load(d), l.Fit(theta, []float64{0}))
		if c.refused != errors.Is(err, qpdiff.ErrIllPosed) || !c.refused && err != nil {
			t.Errorf("condition 1e%g: %v", -c.power, err)
		}
	}
}

// A fit of a flat loss reaches its minimum or returns ErrIllPosed, although whole steps overshoot
// the minimum.
func TestSmoothLearnerFlatLoss(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 2000 {
		n := 1 + rng.IntN(6)
		d := casetest.RandomData(rng.Uint64(), 1+rng.IntN(20), n, false)
		near := math.Pow(10, -float64(trial%7))
		for i := range d.Y {
			d.Y[i] *= [...]float64{1, 1e3}[trial%2]
			for j := 1; j < n; j++ {
				d.Dense().Set(i, j, d.X.At(i, j-1)+near*d.X.At(i, j))
			}
		}
		hyper := []float64{math.Pow(10, -12*rng.Float64())}
		l := smooth.Learner{Objective: casetest.LinearModel(casetest.PseudoHuber)}
		theta := make([]float64, n)
		if err := errors.Join(l.Load(d), l.Fit(theta, hyper)); err != nil {
			if !errors.Is(err, qpdiff.ErrIllPosed) {
				t.Errorf("trial %d: %v", trial, err)
			}
		} else if r := gradientResidual(casetest.PseudoHuber)(d, theta, hyper); !(r <= 1e-13) {
			t.Errorf("trial %d: residual %g", trial, r)
		}
	}
}

// A fit continues after its first step if the product of the Hessian with θ overflows.
func TestSmoothLearnerHessianNearOverflow(t *testing.T) {
	const weight = 4.6e305 // of θ⁴/4: at θ = 5.1 the gradient is 6e307, and Hθ overflows
	o := smooth.Objective{NumHyper: 1,
		Gradient: func(g, theta []float64, d learn.Data, hyper []float64) {
			v := theta[0]
			g[0] = hyper[0]*v*v*v + v - d.Y[0]
		},
		HVP: func(hv, v, theta []float64, d learn.Data, hyper []float64) {
			hv[0] = (3*hyper[0]*theta[0]*theta[0] + 1) * v[0]
		},
	}
	l := smooth.Learner{Objective: o}
	theta := make([]float64, 1)
	numtest.OK(t, l.Load(learn.Data{X: mat.NewDense(1, 1, []float64{1}), Y: []float64{5.1}}), l.Fit(theta, []float64{0}))
	// The step limit does not suffice because each step only reduces θ to ⅔ of its value.
	if err := l.Fit(theta, []float64{weight}); !errors.Is(err, qpdiff.ErrIterationLimit) {
		t.Errorf("θ = %v, error %v", theta, err)
	}
}

// A gradient counts as rounding only if it jumps enough and the Hessian changes little enough.
func TestSmoothLearnerNoise(t *testing.T) {
	for _, c := range []struct {
		jumps      int // on the way from θ = 0 to −1, which is the whole first step
		jump, more float64
		noise      bool
	}{
		{6, 3. / 64, 0, true},
		{60, 1. / 64 / 3, 0, false},
		{1, .5, 1. / 16 / 3, true},
		{1, .5, 3. / 16, false},
	} {
		hessian := func(theta float64) float64 { // of the smooth part
			if theta <= -.9 {
				return 1 + c.more
			}
			return 1
		}
		l := smooth.Learner{Objective: smooth.Objective{
			NumHyper: 1,
			Gradient: func(g, theta []float64, _ learn.Data, _ []float64) {
				g[0] = 1 + theta[0]*hessian(theta[0])
				for i := range c.jumps {
					if theta[0] < -float64(i+1)/float64(c.jumps+2) {
						g[0] += c.jump
					}
				}
				if theta[0] <= -.9 {
					g[0] += c.more
				}
			},
			HVP: func(hv, v, theta []float64, _ learn.Data, _ []float64) { hv[0] = hessian(theta[0]) * v[0] },
		}}
		theta := make([]float64, 1)
		if err := errors.Join(l.Load(casetest.RandomData(1, 2, 1, false)), l.Fit(theta, []float64{1})); err != nil {
			t.Errorf("%+v: %v", c, err)
		} else if c.noise != (theta[0] == -1) {
			t.Errorf("%+v: θ = %v", c, theta[0])
		}
	}
}
