package kernel

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// The decision values of every fit that succeeds are right to 1e-3 of the margin. The reference is
// solved in 400 bits.
func TestKernelSVMRightOrRefused(t *testing.T) {
	serial.Test(t)
	const tol = 1e-3 // as Fit documents it
	trials := numtest.Long(1500)
	accepted, refused := 0, 0
	for trial := range trials {
		l, theta, hyper := preciseTrial(t, trial)
		var want []float64
		for _, factor := range []float64{1, .6, 1.7} {
			if factor != 1 {
				_ = l.Fit(theta, []float64{hyper[0] * factor, hyper[1] / factor, 1}[:len(hyper)])
			}
			if err := l.Fit(theta, hyper); err != nil {
				if !errors.Is(err, qpdiff.ErrIterationLimit) {
					t.Fatalf("trial %d: %v", trial, err)
				}
				refused++
				continue
			}
			accepted++
			if want == nil {
				want, _ = preciseDecisions(l, hyper, 0)
			}
			got := make([]float64, len(want))
			x := mat.NewDense(len(want), l.n, nil)
			for i := range want {
				x.SetRow(i, l.row(i))
			}
			numtest.OK(t, l.Predict(nil, got, x))
			for i, v := range got {
				if !(math.Abs(v-want[i]) <= tol*max(1, math.Abs(want[i]))) {
					t.Fatalf("trial %d, %T, C %.3g: row %d has decision value %v, want %v", trial, l.kernel, hyper[0], i, v, want[i])
				}
			}
		}
	}
	if accepted < trials || refused < trials/5 {
		t.Errorf("%d fits accepted and %d refused", accepted, refused)
	}
}

// preciseTrial draws a problem whose features have random units and offsets.
func preciseTrial(t *testing.T, trial int) (l *SVM, theta, hyper []float64) {
	rng := rand.New(rand.NewPCG(uint64(trial), 41))
	rows, n := 4+rng.IntN(9), 1+rng.IntN(3)
	d := casetest.ClassData(rng.Uint64(), rows, n)
	decades, offset := float64(rng.IntN(7)), 1e3*rng.Float64()*float64(rng.IntN(2))
	for j := range n {
		unit := math.Pow(10, decades*(2*rng.Float64()-1))
		for i := range rows {
			d.Dense().Set(i, j, unit*(d.X.At(i, j)+offset))
		}
	}
	l = &SVM{Intercept: rng.IntN(2) == 0}
	hyper = []float64{math.Pow(10, 6*rng.Float64()-3), math.Pow(10, 2*rng.Float64()-1), 1}
	if degree := rng.IntN(4); degree > 0 {
		l.Kernel = Polynomial{Degree: degree}
	} else {
		hyper = hyper[:2]
	}
	theta = make([]float64, 1)
	if !l.Intercept {
		theta = nil
	}
	numtest.OK(t, l.Load(d))
	return l, theta, hyper
}

// A generalised derivative is right to 1e-2 of the margin, or PredictVJP returns an error.
func TestKernelSVMGeneralisedRightOrRefused(t *testing.T) {
	serial.Test(t)
	const tol, h = 1e-2, 1e-20
	// These trials have rows for which the bounds from norms and the rounding error disagree about
	// a kink.
	trials := []int{496, 729, 2841, 3140, 21091, 24742, 39790, 54051, 181115}
	for trial := range numtest.Long(1500) {
		trials = append(trials, trial)
	}
	generalised, exact, refused := 0, 0, 0
	for _, trial := range trials {
		l, theta, hyper := preciseTrial(t, trial)
		l.Generalised = true
		if l.Fit(theta, hyper) != nil {
			continue
		}
		_, at := preciseDecisions(l, hyper, 0)
		_, below := preciseDecisions(l, hyper, -h)
		_, above := preciseDecisions(l, hyper, h)
		for i := range at {
			g := &learn.Grad{Hyper: make([]float64, len(hyper))}
			if err := l.PredictVJP(nil, g, nil, mat.NewDense(1, l.n, l.row(i)), []float64{1}); err != nil {
				if !errors.Is(err, qpdiff.ErrIllPosed) {
					t.Fatalf("trial %d: %v", trial, err)
				}
				refused++
				break
			}
			if g.Generalised {
				generalised++
			} else {
				exact++
			}
			got := hyper[0] * g.Hyper[0]
			left, right, excess := numtest.OneSided(got, below[i], at[i], above[i], h)
			if !(excess <= tol*(1+math.Abs(left)+math.Abs(right))) {
				t.Errorf("trial %d, %T, C %.3g, weak %v: row %d has C·∂f/∂C = %v, want %v or %v", trial, l.kernel, hyper[0], l.weak, i, got, left, right)
				break
			}
		}
	}
	if generalised < numtest.Long(200) || exact < numtest.Long(5000) || refused < 4 {
		t.Errorf("%d generalised products, %d others, %d refused", generalised, exact, refused)
	}
}

// A fit returns an error if the kernel's values reach 1e13 times the margin.
func TestKernelSVMRefusesRawFeatures(t *testing.T) {
	for degree := 1; degree <= 3; degree++ {
		for _, c := range []struct {
			size   float64 // of the kernel's values
			refuse bool
		}{{1e6, false}, {1e13, true}, {1e20, true}, {1e40, true}} {
			rng := rand.New(rand.NewPCG(227, 13))
			d := learn.Data{X: mat.NewDense(20, 1, nil), Y: make([]float64, 20)}
			unit := math.Sqrt(2 * math.Pow(c.size, 1/float64(degree)))
			for i := range d.Y {
				d.Dense().Set(i, 0, unit*rng.NormFloat64())
				d.Y[i] = float64(1 - 2*(i%2))
			}
			l := &SVM{Intercept: true, Kernel: Polynomial{Degree: degree}}
			theta := []float64{7}
			numtest.OK(t, l.Load(d))
			err := l.Fit(theta, []float64{1, .5, 1})
			if errors.Is(err, qpdiff.ErrIterationLimit) != c.refuse || c.refuse && theta[0] != 7 {
				t.Errorf("degree %d, kernel values of %.0e: error %v, θ %v", degree, c.size, err, theta)
			}
		}
	}
}

// A change of units changes no verdict if the kernel's parameter compensates it.
func TestKernelSVMDecisionErrorUnits(t *testing.T) {
	d := casetest.ClassData(3, 20, 2)
	for _, unit := range []float64{0x1p-20, 1, 0x1p20} {
		scaled := learn.Data{X: mat.DenseCopyOf(d.X), Y: d.Y}
		scaled.Dense().Scale(unit, scaled.X)
		for _, c := range []float64{1, 1e12} {
			l := &SVM{Kernel: Polynomial{Degree: 2}, Intercept: true}
			err := errors.Join(l.Load(scaled), l.Fit(make([]float64, 1), []float64{c, 1 / (unit * unit), 1}))
			if (err != nil) != (c > 1) {
				t.Errorf("unit %v, C %v: %v", unit, c, err)
			}
		}
	}
}

// preciseKernel returns the exact value of a polynomial kernel, or the value of an RBF kernel to
// 1e-90. Coarser values could make the kernel matrix indefinite.
func preciseKernel(k Kernel, params, x, z []float64) *big.Float {
	base, t, v := numtest.Precise(0), numtest.Precise(0), numtest.Precise(1)
	p, ok := k.(Polynomial)
	if !ok {
		for j, a := range x {
			t.Sub(numtest.Precise(a), numtest.Precise(z[j]))
			base.Add(base, t.Mul(t, t))
		}
		base.Mul(base, numtest.Precise(-params[0]))
		if f, _ := base.Float64(); f < -1000 {
			return numtest.Precise(0)
		}
		const halvings = 30
		base.SetMantExp(base, -halvings)
		t.SetInt64(1)
		for i := 1; i < 15; i++ {
			v.Add(v, t.Quo(t.Mul(t, base), numtest.Precise(float64(i))))
		}
		for range halvings {
			v.Mul(v, v)
		}
		return v
	}
	base.Add(base.Mul(numtest.PreciseDot(x, z), numtest.Precise(params[0])), numtest.Precise(params[1]))
	for range p.degree() {
		v.Mul(v, base)
	}
	return v
}

// preciseDecisions returns the decision values of the distinct rows of l.
func preciseDecisions(l *SVM, hyper []float64, d float64) (f []float64, exact []*big.Float) {
	dual := numtest.PreciseDual{Y: l.q.y, Copies: l.rows.Copies, Intercept: l.Intercept,
		Kernel: func(i, j int) *big.Float { return preciseKernel(l.kernel, hyper[1:], l.row(i), l.row(j)) }}
	return dual.Decisions(hyper[0], d)
}
