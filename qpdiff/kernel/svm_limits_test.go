package kernel

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A derivative of an SVM returns an error at a kink and succeeds away from kinks, in any units.
func TestKernelSVMStrictComplementarity(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(19, 1))
	refused, answered := 0, 0
	for trial := range 300 {
		rows, n := 6+rng.IntN(14), 1+rng.IntN(3)
		d := casetest.ClassData(rng.Uint64(), rows, n)
		unit := math.Pow(10, 12*rng.Float64()-6)
		d.Dense().Scale(unit, d.X)
		l := &SVM{Intercept: trial%2 == 0}
		hyper := []float64{0, math.Pow(10, 3*rng.Float64()-1) / (unit * unit)}
		if trial%3 == 0 {
			l.Kernel, hyper = Polynomial{Degree: 1}, []float64{0, 1 / (unit * unit), 0}
		}
		s := casetest.Steer{Learner: &casetest.Predictions{P: l, X: mat.DenseCopyOf(d.Dense().Slice(0, 5, 0, n))}, Data: d, Hyper: hyper, Gap: l.kinkGap, Cond: 1e6, Slack: math.Inf(1),
			Face: func() []int { return append(slices.Clone(l.q.freeSet), -1, len(l.atTop())) }}
		numtest.OK(t, l.Load(d))
		c := math.Pow(10, 3*rng.Float64()-2)
		r, a := s.Crossing(t, c, 3*c)
		refused += r
		answered += a
	}
	if refused < 100 || answered < 50 {
		t.Errorf("only %d kinks and %d others", refused, answered)
	}
}

// atTop lists the rows with β at C.
func (l *SVM) atTop() (rows []int) {
	for i, b := range l.q.beta {
		if math.Abs(b) == l.c*l.rows.Copies[i] {
			rows = append(rows, i)
		}
	}
	return rows
}

// kinkGap returns the relative distance of the solution from the nearest kink, and the condition
// number of the free set's matrix.
func (l *SVM) kinkGap() (gap, cond float64) {
	q := &l.q
	size := 0.0
	for i, b := range q.beta {
		size += math.Abs(b) * math.Sqrt(q.row(i)[i]+q.shift)
	}
	gap = math.Inf(1)
	for i, b := range q.beta {
		root := math.Sqrt(q.row(i)[i] + q.shift)
		if slices.Contains(q.freeSet, i) {
			top := l.c * l.rows.Copies[i]
			gap = min(gap, min(math.Abs(b), top-math.Abs(b))*root/((1+math.Abs(q.b))/root+size))
		} else {
			gap = min(gap, math.Abs(1/q.y[i]-dense.Dot(q.row(i), q.beta)-q.b)/(1+math.Abs(q.b)+root*size))
		}
	}
	if q.balanced && len(q.freeSet) == 0 {
		gap = 0 // there a margin counts that is not a row's own
	}
	return gap, numtest.EquilibratedCond(len(q.freeSet), func(i, j int) float64 { return q.row(q.freeSet[i])[q.freeSet[j]] + q.shift })
}

// If every free row is weakly active, the derivative of b does not depend on earlier fits.
func TestKernelSVMAllWeak(t *testing.T) {
	other := learn.Data{X: mat.NewDense(6, 1, []float64{0, 1, 2, 3, 4, 5}), Y: []float64{1, 1, 1, -1, -1, -1}}
	d := learn.Data{X: mat.NewDense(3, 1, []float64{1.3, 1.2, 1.3}), Y: []float64{-1, 1, 1}}
	theta, hyper := make([]float64, 1), []float64{1.15, 1.55}
	var want []float64
	for _, first := range []bool{false, true} {
		l := &SVM{Intercept: true, Generalised: true}
		if first {
			numtest.OK(t, l.Load(other), l.Fit(theta, []float64{.01, .5}))
		}
		g := &learn.Grad{Hyper: make([]float64, 2)}
		numtest.OK(t, l.Load(d), l.Fit(theta, hyper), l.VJP(nil, g, []float64{1}))
		if len(l.weak) == 0 || !g.Generalised {
			t.Fatalf("weak %v, generalised %v: no test", l.weak, g.Generalised)
		}
		if want == nil {
			want = g.Hyper
		} else if !numtest.SameBits(want, g.Hyper) {
			t.Errorf("after another fit %v, else %v", g.Hyper, want)
		}
	}
	// For C < 1/(1−k), both dual variables are C, and f = C·(1−k) at the first example.
	for _, apart := range []float64{1, 1e-2, 1e-4, 2e-5} {
		two := learn.Data{X: mat.NewDense(2, 1, []float64{0, apart}), Y: []float64{1, -1}}
		width := -math.Expm1(-apart * apart)
		l := &SVM{Intercept: true, Generalised: true}
		g := &learn.Grad{Hyper: make([]float64, 2)}
		x := mat.NewDense(1, 1, nil)
		if err := errors.Join(l.Load(two), l.Fit(theta, []float64{(1 + 16*dense.Eps/width) / width, 1}), l.PredictVJP(nil, g, nil, x, []float64{1})); err != nil {
			t.Fatalf("%v apart: %v", apart, err)
		}
		if len(l.weak) != 2 || !g.Generalised || !(math.Abs(theta[0]) <= 8*dense.Eps/width && math.Abs(g.Hyper[0]/width-1) <= 1e-6) {
			t.Errorf("%v apart: weak %v, b %v, product %v", apart, l.weak, theta, g.Hyper)
		}
	}
	// At this C, rounding hides how β divides among three rows, so b may have no bound.
	star := learn.Data{X: mat.NewDense(4, 2, []float64{0, 0, 1, 0, -.6, .8, -.6, -.8}), Y: []float64{1, -1, -1, -1}}
	l := &SVM{Intercept: true, Generalised: true}
	numtest.OK(t, l.Load(star), l.Fit(theta, []float64{.1, 1}), l.Fit(theta, []float64{1e-100, 1}))
	if err := l.VJP(nil, &learn.Grad{Hyper: make([]float64, 2)}, []float64{1}); len(l.weak) != 3 || !errors.Is(err, qpdiff.ErrIllPosed) {
		t.Errorf("weak %v, error %v", l.weak, err)
	}
	if err := l.PredictVJP(nil, new(learn.Grad), mat.NewDense(4, 2, nil), star.Dense(), make([]float64, 4)); err != nil {
		t.Errorf("derivatives in the rows predicted for: %v", err)
	}
}

// With the linear kernel, a row of zeros changes neither f nor its derivatives.
func TestKernelSVMZeroRow(t *testing.T) {
	d := casetest.ClassData(5, 9, 2)
	with := learn.Data{X: mat.NewDense(10, 2, nil), Y: append(slices.Clone(d.Y), 1)}
	for i := range 9 {
		with.Dense().SetRow(i, d.Dense().RawRowView(i))
	}
	x := mat.NewDense(3, 2, []float64{1, 2, -.5, .3, 0, 0})
	hyper, v := []float64{.7, 1, 0}, []float64{1, -2, 3}
	f, want := make([]float64, 3), make([]float64, 3)
	g, gwant := &learn.Grad{Hyper: make([]float64, 3), X: mat.NewDense(10, 2, nil)}, &learn.Grad{Hyper: make([]float64, 3), X: mat.NewDense(9, 2, nil)}
	l, ref := &SVM{Kernel: Polynomial{Degree: 1}}, &SVM{Kernel: Polynomial{Degree: 1}}
	numtest.OK(t, l.Load(with), l.Fit(nil, hyper), l.Predict(nil, f, x), l.PredictVJP(nil, g, nil, x, v),
		ref.Load(d), ref.Fit(nil, hyper), ref.Predict(nil, want, x), ref.PredictVJP(nil, gwant, nil, x, v))
	if numtest.RelErr(f, want) > 1e-14 || numtest.RelErr(g.Hyper[:2], gwant.Hyper[:2]) > 1e-13 || numtest.RelErr(g.X.RawMatrix().Data[:18], gwant.X.RawMatrix().Data) > 1e-13 {
		t.Errorf("with a row of zeros %v, %v, without %v, %v", f, g.Hyper, want, gwant.Hyper)
	}
	if l.q.beta[9] != .7 {
		t.Errorf("β of the row of zeros is %v", l.q.beta[9])
	}
	// Moved, the row changes f by C·x_9ᵀx to first order.
	got := numtest.ForwardDifference(func(h float64) float64 {
		with.Dense().Set(9, 0, h)
		numtest.OK(t, l.Load(with), l.Fit(nil, hyper), l.Predict(nil, f, x))
		return dense.Dot(v, f)
	}, 1e-3)
	if !(math.Abs(got-g.X.At(9, 0)) <= 1e-8) {
		t.Errorf("derivative in the row of zeros %v, difference %v", g.X.At(9, 0), got)
	}
}

// The kernel value and its derivatives are 0 if a distance overflows.
func TestKernelSVMFarAway(t *testing.T) {
	l := &SVM{Intercept: true}
	d := learn.Data{X: mat.NewDense(6, 2, []float64{.03, -.53, 1.24, -.37, .03, -.62, -.97, 1.69, .08, -.57, -.65, 1e155}), Y: []float64{1, -1, 1, -1, 1, -1}}
	theta := make([]float64, 1)
	far, near := &learn.Grad{Hyper: make([]float64, 2)}, &learn.Grad{Hyper: make([]float64, 2)}
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{10, .5}), l.VJP(nil, far, []float64{1}))
	d.Dense().Set(5, 1, 1e4)
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{10, .5}), l.VJP(nil, near, []float64{1}))
	if !numtest.SameBits(far.Hyper, near.Hyper) {
		t.Errorf("at 1e155 %v, at 1e4 %v", far.Hyper, near.Hyper)
	}
}

// Predict reuses kernel values only until the next fit.
func TestKernelSVMForgetsKernelValues(t *testing.T) {
	d := casetest.ClassData(5, 20, 2)
	x := mat.NewDense(4, 2, []float64{1, 2, -.5, .3, 0, 0, 1, 1})
	v := []float64{1, -2, 3, 1}
	for _, again := range [][]float64{{1, .9}, {1.01, .5}} {
		var l, fresh SVM
		g, want, w := &learn.Grad{Hyper: make([]float64, 2)}, &learn.Grad{Hyper: make([]float64, 2)}, new(qpdiff.Workspace)
		numtest.OK(t, l.Load(d), l.Fit(nil, []float64{1, .5}), l.Predict(w, make([]float64, 4), x), l.Fit(nil, again), l.PredictVJP(w, g, nil, x, v),
			fresh.Load(d), fresh.Fit(nil, again), fresh.PredictVJP(nil, want, nil, x, v))
		if numtest.RelErr(g.Hyper, want.Hyper) > 1e-12 {
			t.Errorf("at %v: %v after another fit, else %v", again, g.Hyper, want.Hyper)
		}
	}
}

// If only one row is free, its β and its rounding error follow from the sum of all other β.
func TestKernelSVMTinyC(t *testing.T) {
	theta, hyper := make([]float64, 1), []float64{1e-160, 1}
	l := &SVM{Intercept: true}
	g := &learn.Grad{Hyper: make([]float64, 2), X: mat.NewDense(4, 1, nil)}
	// The three equal rows have β = −C inside their bounds, so −1 = f(3) = b + O(C).
	d := learn.Data{X: mat.NewDense(4, 1, []float64{2, 3, 3, 3}), Y: []float64{1, -1, -1, -1}}
	if err := errors.Join(l.Load(d), l.Fit(theta, hyper), l.VJP(nil, g, []float64{1})); err != nil || len(l.q.freeSet) != 1 || theta[0] != -1 {
		t.Errorf("one free row: free %v, b %v, error %v", l.q.freeSet, theta, err)
	}
	// ∂b/∂C = Kᵀβ/C with β/C = (−1, 1): k(3,3) − k(2,3).
	if want := 1 - math.Exp(-1); math.Abs(g.Hyper[0]-want) > 8*dense.Eps {
		t.Errorf("∂b/∂C = %v, want %v", g.Hyper[0], want)
	}
	// Of two equal rows with different labels, one has a free β, even if C times the kernel
	// underflows.
	for _, tiny := range []float64{1, 1e-100, 1e-160, 1e-200} {
		l := &SVM{Kernel: Polynomial{Degree: 1}, Intercept: true}
		equal := learn.Data{X: mat.NewDense(3, 1, nil), Y: []float64{1, -1, 1}}
		g := &learn.Grad{Hyper: make([]float64, 3)}
		numtest.OK(t, l.Load(equal), l.Fit(theta, []float64{.8 * tiny, 1, tiny}))
		if b := l.q.beta; len(l.q.freeSet) != 1 || b[1] != -.8*tiny || !(math.Abs(b[0]+b[1]) <= 8*dense.Eps*tiny) {
			t.Errorf("C = %v: free %v, β %v", .8*tiny, l.q.freeSet, b)
		}
		if err := l.VJP(nil, g, []float64{1}); err != nil || g.Hyper[0] != 0 {
			t.Errorf("C = %v: ∂b/∂C = %v, error %v", .8*tiny, g.Hyper[0], err)
		}
	}
}

// A warm start from another C has the result of a cold fit, because the solver scales β with C.
func TestKernelSVMStartsAtItsOwnC(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 7))
	for trial := range 60 {
		d := casetest.ClassData(rng.Uint64(), 12, 2)
		warm, cold := &SVM{Intercept: trial%2 == 0}, &SVM{Intercept: trial%2 == 0}
		nt, _ := warm.Dims(2)
		theta, want := make([]float64, nt), make([]float64, nt)
		numtest.OK(t, warm.Load(d), cold.Load(d))
		for _, c := range []float64{1, 30, .5, .4, .05, 2} {
			hyper := []float64{c, 1}
			cold.Reset()
			numtest.OK(t, warm.Fit(theta, hyper), cold.Fit(want, hyper))
			numtest.NearAll(t, "β", warm.q.beta, cold.q.beta, 1e-10, 1e-12*c)
			numtest.NearAll(t, "b", theta, want, 1e-10, 1e-12)
		}
	}
}

// Ties returns the gradient of the decision function at equal rows as their slope.
func TestKernelSVMTiesSlope(t *testing.T) {
	d := learn.Data{X: mat.NewDense(4, 2, []float64{.2, .1, 1, .5, 1, .5, -1, 1}), Y: []float64{1, -1, -1, 1}}
	l := &SVM{Intercept: true}
	g := &learn.Grad{X: mat.NewDense(4, 2, nil)}
	want, w := mat.NewDense(1, 2, nil), new(qpdiff.Workspace)
	numtest.OK(t, l.Load(d), l.Fit(make([]float64, 1), []float64{10, 1}), l.PredictVJP(nil, new(learn.Grad), want, mat.NewDense(1, 2, []float64{1, .5}), []float64{1}), l.VJP(w, g, []float64{1}))
	var got [][]float64
	l.Ties(w, func(i, k int, sign float64, d []float64) bool {
		got = append(got, slices.Clone(d))
		return true
	})
	if len(got) != 2 {
		t.Fatalf("%d directions, want that of g.X and the slope", len(got))
	}
	numtest.NearAll(t, "slope", got[1], want.RawRowView(0), 1e-12, 0)
}

// The curvature along a pair of rows may overflow although all kernel values are finite.
func TestKernelSVMPairsThatOverflow(t *testing.T) {
	for _, scale := range []float64{1e153, 6e153, 1.016e154, 1.2e154} {
		l := &SVM{Kernel: Polynomial{Degree: 1}, Intercept: true}
		numtest.OK(t, l.Load(learn.Data{X: mat.NewDense(2, 1, []float64{scale, -.423 * scale}), Y: []float64{-1, 1}}))
		theta := []float64{0}
		if err := l.Fit(theta, []float64{1, 1, 0}); err != nil && !errors.Is(err, qpdiff.ErrNotFinite) && !errors.Is(err, qpdiff.ErrIterationLimit) {
			t.Errorf("scale %v: %v", scale, err)
		}
	}
}

// A fit at a subnormal C, whose rounding error is as large as C, does not affect the next fit.
func TestKernelSVMAfterASubnormalBound(t *testing.T) {
	x := mat.NewDense(7, 3, []float64{1, -1, -1, -1, 0, -2, -2, -3, 0, -2, 1, 0, 3, -1, 2, 0, -3, 0, 1, -1, 3})
	y := []float64{1, -1, 1, 1, 1, -1, 1}
	fit := func(hypers ...[]float64) (float64, []float64) {
		l := &SVM{Intercept: true}
		numtest.OK(t, l.Load(learn.Data{X: x, Y: y}))
		theta := make([]float64, 1)
		for k, hyper := range hypers {
			if err := l.Fit(theta, hyper); err != nil && k == len(hypers)-1 {
				t.Fatal(hyper, err)
			}
		}
		return theta[0], slices.Clone(l.q.beta)
	}
	for _, c := range []float64{.55, 3, 40} {
		hyper := []float64{c, .045}
		b, beta := fit(hyper)
		for _, tiny := range []float64{5e-324, 1e-323, 1e-310} {
			if warm, after := fit([]float64{.6, 1}, []float64{tiny, 5}, hyper); math.Abs(warm-b) > 1e-9 || !floats.EqualApprox(after, beta, 1e-9*c) {
				t.Errorf("C = %v after %v: b = %v, β = %v; cold %v, %v", c, tiny, warm, after, b, beta)
			}
		}
	}
}
