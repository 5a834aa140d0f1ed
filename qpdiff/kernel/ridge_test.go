package kernel

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

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// denseRidge solves the conditions of a Ridge for c and b, by an LU factorisation.
func denseRidge(kernel Kernel, intercept bool, d learn.Data, hyper []float64) (c []float64, b float64) {
	n := len(d.Y)
	total := float64(n)
	if d.Weights != nil {
		total = floats.Sum(d.Weights)
	}
	a, y := mat.NewDense(n+1, n+1, nil), mat.NewVecDense(n+1, nil)
	for i := range n {
		for j := range n {
			a.Set(i, j, kernel.Eval(hyper[1:], d.Dense().RawRowView(i), d.Dense().RawRowView(j)))
		}
		weight := 1.0
		if d.Weights != nil {
			weight = d.Weights[i]
		}
		a.Set(i, i, a.At(i, i)+total*hyper[0]/weight)
		if intercept {
			a.Set(i, n, 1)
			a.Set(n, i, 1)
		}
		y.SetVec(i, d.Y[i])
	}
	if !intercept {
		a.Set(n, n, 1)
	}
	var x mat.VecDense
	if err := x.SolveVec(a, y); err != nil {
		panic(err)
	}
	return x.RawVector().Data[:n], x.AtVec(n)
}

// kernelRidgeResidual compares a fit with denseRidge, relative to the size of the terms.
func kernelRidgeResidual(kernel Kernel, intercept, predicted bool) func(d learn.Data, theta, hyper []float64) float64 {
	return func(d learn.Data, theta, hyper []float64) float64 {
		c, b := denseRidge(kernel, intercept, d, hyper)
		if !predicted {
			return math.Abs(theta[0]-b) / (1 + math.Abs(b))
		}
		n := d.Dense().RawMatrix().Cols
		x := mat.NewDense(5, n, numtest.Normals(rand.New(rand.NewPCG(8, 8)), 5*n))
		worst := 0.0
		for t, got := range theta {
			f, size := b, math.Abs(b)
			for i, v := range c {
				k := v * kernel.Eval(hyper[1:], d.Dense().RawRowView(i), x.RawRowView(t))
				f += k
				size += math.Abs(k)
			}
			worst = max(worst, math.Abs(got-f)/size)
		}
		return worst
	}
}

func TestKernelRidgeContract(t *testing.T) {
	for _, intercept := range []bool{false, true} {
		for _, c := range []struct {
			kernel Kernel
			params []float64
		}{
			{RBF{}, []float64{.4}},
			{Polynomial{}, []float64{.2, 1}},
			{Polynomial{Degree: 2}, []float64{.3, .5}},
			{ard{}, []float64{.3, .5, .1}},
			{ARD{}, []float64{.3, .7}},
			{ARD{Shape: Matern32}, []float64{.1, .4}},
			{ARD{Shape: Matern52}, []float64{.2, .1}},
			{ARD{Shape: Matern52, Groups: []int{0, 0}}, []float64{.2}},
		} {
			for _, predicted := range []bool{true, false} {
				if !predicted && !intercept {
					continue
				}
				var cases []learntest.Case
				add := func(rows int, lambda float64) {
					cases = append(cases, learntest.Case{Name: fmt.Sprintf("%T %v %v %dx2", c.kernel, intercept, predicted, rows), Data: casetest.RandomData(uint64(rows), rows, 2, false),
						Hyper: append([]float64{lambda}, c.params...), Residual: kernelRidgeResidual(c.kernel, intercept, predicted), Tol: 1e-12, Step: 1e-4})
				}
				add(30, .1)
				add(12, .02)
				add(3, 1)
				if isRBF(c.kernel) {
					add(dense.BlockSize+6, .05) // a factor of two blocks
				}
				casetest.Contract(t, func() learn.Learner {
					l := &Ridge{Kernel: c.kernel, Intercept: intercept}
					if predicted {
						return &casetest.Predictions{P: l}
					}
					return l
				}, cases...)
			}
		}
	}
}

// For two rows with labels ±1 and K = [1 e; e 1], ridge regression has c = ±1/(1 − e + 2λ).
func TestKernelRidgeByHand(t *testing.T) {
	const gamma, lambda = .3, .2
	e := math.Exp(-4 * gamma)
	d := learn.Data{X: mat.NewDense(2, 1, []float64{1, -1}), Y: []float64{1, -1}}
	for _, intercept := range []bool{false, true} {
		l := Ridge{Intercept: intercept}
		var b [1]float64
		nt, _ := l.Dims(1)
		numtest.OK(t, l.Load(d), l.Fit(b[:nt], []float64{lambda, gamma}))
		c, err := l.Coefficients(nil)
		if err != nil {
			t.Fatal(err)
		}
		a := 1 / (1 - e + 2*lambda)
		numtest.NearAll(t, "c", c, []float64{a, -a}, 8*dense.Eps, 0)
		numtest.NearAll(t, "b", b[:], []float64{0}, 8*dense.Eps, 1)
		x := mat.NewDense(1, 1, []float64{1})
		g := &learn.Grad{Hyper: make([]float64, 2)}
		if err := l.PredictVJP(nil, g, nil, x, []float64{1}); err != nil { // f(1) = a(1 − e)
			t.Fatal(err)
		}
		numtest.NearAll(t, "df", g.Hyper, []float64{-2 * a * a * (1 - e), 4 * e * (a - a*a*(1-e))}, 32*dense.Eps, 1)
	}
	// One row with Intercept is its label, whatever λ.
	l := Ridge{Intercept: true}
	b := []float64{0}
	for _, lambda := range []float64{0, 1} {
		if err := errors.Join(l.Load(learn.Data{X: mat.NewDense(1, 1, []float64{3}), Y: []float64{2}}), l.Fit(b, []float64{lambda, 1})); err != nil || b[0] != 2 {
			t.Errorf("one row, λ = %v: b = %v, error %v", lambda, b, err)
		}
	}
	// A kernel that is constant gives the mean of the labels.
	d = learn.Data{X: mat.NewDense(3, 1, []float64{2, 2, 2}), Y: []float64{1, 2, 6}}
	if err := errors.Join(l.Load(d), l.Fit(b, []float64{.5, 1})); err != nil || math.Abs(b[0]-3) > 8*dense.Eps {
		t.Errorf("equal rows: b = %v, error %v", b, err)
	}
}

// A fit returns an error if its condition number exceeds 2⁵²/256. The condition number of two rows
// at the distance δ is √2/δ².
func TestKernelRidgeVerdicts(t *testing.T) {
	d := casetest.RandomData(1, 6, 2, false)
	tied := casetest.CloneData(d)
	copy(tied.Dense().RawRowView(4), tied.Dense().RawRowView(1))
	near := func(delta float64) learn.Data {
		return learn.Data{X: mat.NewDense(2, 1, []float64{0, delta}), Y: []float64{1, 2}}
	}
	v := casetest.Residual(nil).Verdict
	v(t, "λ < 0", new(Ridge), d, qpdiff.ErrDomain, "λ", -1, 1)
	v(t, "γ = 0", new(Ridge), d, qpdiff.ErrDomain, "γ", 1, 0)
	v(t, "one hyperparameter", new(Ridge), d, qpdiff.ErrShape, "λ and the kernel", 1)
	v(t, "degree −1", &Ridge{Kernel: Polynomial{Degree: -1}}, d, qpdiff.ErrDomain, "Degree", 1, 1, 1)
	v(t, "degree 2000", &Ridge{Kernel: Polynomial{Degree: 2000}}, d, qpdiff.ErrNotFinite, "Kernel", 1, 1, 1)
	v(t, "indefinite kernel", &Ridge{Kernel: ard{}}, d, qpdiff.ErrNonconvex, "Kernel", .01, .1, .1, -.5)
	v(t, "equal rows", new(Ridge), tied, qpdiff.ErrIllPosed, "row 4", 0, 1)
	v(t, "singular", &Ridge{Kernel: Polynomial{Degree: 1}}, d, qpdiff.ErrIllPosed, "λ = 0", 0, 1, 0)
	v(t, "nearly singular", &Ridge{Kernel: Polynomial{Degree: 1}}, d, qpdiff.ErrIllPosed, "λ = 1e-14", 1e-14, 1, 0)
	v(t, "tiny λ", new(Ridge), d, nil, "", 1e-200, 1)
	v(t, "λ = 0", new(Ridge), d, nil, "", 0, 1)
	v(t, "near rows", new(Ridge), near(4.9e-7), nil, "", 0, 1)
	v(t, "nearer rows", new(Ridge), near(1.64e-7), qpdiff.ErrIllPosed, "", 0, 1)
}

// A coefficient of 0 has a derivative with respect to its label. For a single row, f = y/(1 + λ).
func TestKernelRidgeDifferentiatesZeroCoefficients(t *testing.T) {
	x := mat.NewDense(1, 1, []float64{2})
	var l Ridge
	g, df := &learn.Grad{Y: make([]float64, 1)}, make([]float64, 1)
	if err := errors.Join(l.Load(learn.Data{X: x, Y: []float64{0}}), l.Fit(nil, []float64{1, 3}), l.PredictVJP(nil, g, nil, x, []float64{1}),
		l.PredictJVP(nil, df, x, nil, &learn.Grad{Y: []float64{1}})); err != nil || math.Abs(g.Y[0]-.5) > 4*dense.Eps || math.Abs(df[0]-.5) > 4*dense.Eps {
		t.Errorf("∂f/∂y is %v by VJP and %v by JVP, want 0.5; error %v", g.Y, df, err)
	}
}

// LeaveOneOut does not affect later fits, allocates nothing, and leaves its destination unchanged
// after an error.
func TestKernelRidgeLeaveOneOutState(t *testing.T) {
	d, hyper := casetest.RandomData(2, 8, 2, false), []float64{.1, .5}
	l, fresh := Ridge{Intercept: true}, Ridge{Intercept: true}
	dst, b, want, v := make([]float64, 8), make([]float64, 1), make([]float64, 1), make([]float64, 8)
	check := func(what string, err, kind error) {
		t.Helper()
		if !errors.Is(err, kind) {
			t.Errorf("%s: %v, want %v", what, err, kind)
		}
	}
	check("without data", l.LeaveOneOut(dst, hyper), qpdiff.ErrNotFitted)
	numtest.OK(t, l.Load(d), fresh.Load(d), fresh.Fit(want, hyper), l.LeaveOneOut(dst, []float64{.7, 2}))
	check("Predict after LeaveOneOut", l.Predict(nil, dst, d.Dense()), qpdiff.ErrNotFitted)
	if err := l.Fit(b, hyper); err != nil || !numtest.SameBits(b, want) {
		t.Errorf("Fit after LeaveOneOut: %v, want %v, error %v", b, want, err)
	}
	numtest.OK(t, l.LeaveOneOut(dst, hyper))
	l.Reset()
	check("LeaveOneOutVJP after Reset", l.LeaveOneOutVJP(nil, &learn.Grad{}, nil, v), qpdiff.ErrNotFitted)
	before := slices.Clone(dst)
	check("λ = −1", l.LeaveOneOut(dst, []float64{-1, 1}), qpdiff.ErrDomain)
	if !numtest.SameBits(before, dst) {
		t.Errorf("a refused LeaveOneOut leaves %v of %v", dst, before)
	}
	for _, bad := range []learn.Data{{X: d.X, Y: d.Y, Rows: []int{1, 2}}, {X: d.X, Y: d.Y, Weights: numtest.Ones(8)}, {X: mat.NewDense(1, 1, []float64{1}), Y: []float64{1}}} {
		check(fmt.Sprintf("%+v", bad), errors.Join(l.Load(bad), l.LeaveOneOut(make([]float64, len(bad.Y)), hyper)), qpdiff.ErrDomain)
	}
	numtest.OK(t, l.Load(d), l.LeaveOneOut(dst, hyper))
	w, g, dx := new(qpdiff.Workspace), casetest.NewGrad(d, len(hyper)), mat.NewDense(8, 2, nil)
	if a := testing.AllocsPerRun(5, func() { numtest.OK(t, l.LeaveOneOut(dst, hyper), l.LeaveOneOutVJP(w, g, dx, v)) }); a != 0 {
		t.Errorf("%v allocations", a)
	}
	check("cotangent NaN", l.LeaveOneOutVJP(nil, g, nil, []float64{0, 0, math.NaN(), 0, 0, 0, 0, 0}), qpdiff.ErrNotFinite)
}

// The prediction function by itself predicts with the same bits.
func TestKernelModelPredictsAsTheLearner(t *testing.T) {
	d := casetest.ClassData(1, 20, 2)
	x := casetest.RandomData(2, 9, 2, false).Dense()
	for name, l := range map[string]Machine{"SVM": &SVM{Intercept: true}, "ridge": &Ridge{Kernel: Polynomial{}, Intercept: true}} {
		if _, err := l.Model(); !errors.Is(err, qpdiff.ErrNotFitted) {
			t.Errorf("%s without a fit: %v", name, err)
		}
		_, nh := l.Dims(2)
		want, got := make([]float64, 9), make([]float64, 9)
		numtest.OK(t, l.Load(d), l.Fit(make([]float64, 1), []float64{.5, .3, 1}[:nh]), l.Predict(nil, want, x))
		m, err := l.Model()
		if err != nil {
			t.Fatal(err)
		}
		l.Reset()
		if err := m.Predict(got, x); err != nil || !numtest.SameBits(got, want) {
			t.Errorf("%s: %v, want %v, error %v", name, got, want, err)
		}
		if err := m.Predict(make([]float64, 2), mat.NewDense(2, 3, nil)); !errors.Is(err, qpdiff.ErrShape) {
			t.Errorf("%s: more features: %v", name, err)
		}
		for i, bad := range []Model{
			{m.Kernel, m.Params, m.X, m.Coef[1:], 0}, {m.Kernel, nil, m.X, m.Coef, 0}, {m.Kernel, m.Params, nil, m.Coef, 0},
			{m.Kernel, m.Params, m.X, m.Coef, math.NaN()}, {m.Kernel, []float64{-1, 1}[:len(m.Params)], m.X, m.Coef, 0},
		} {
			if err := bad.Predict(got, x); casetest.KindOf(err) == err {
				t.Errorf("%s: model %d: error %v", name, i, err)
			}
		}
	}
	none := Model{Intercept: 3}
	got := make([]float64, 2)
	if err := none.Predict(got, mat.NewDense(2, 4, nil)); err != nil || got[0] != 3 || got[1] != 3 {
		t.Errorf("no rows: %v, error %v", got, err)
	}
}

// A fit returns an error if the constant of its kernel hides the rest of the kernel in rounding.
func TestKernelRidgeRefusesConstantsThatHideTheRest(t *testing.T) {
	d := casetest.RandomData(4, 12, 3, false)
	x := casetest.RandomData(5, 6, 3, false).Dense()
	for _, intercept := range []bool{true, false} {
		for exponent := range 23 {
			constant := math.Pow(10, float64(exponent))
			l, plain := Ridge{Kernel: Polynomial{Degree: 1}, Intercept: intercept}, Ridge{Kernel: Polynomial{Degree: 1}, Intercept: true}
			nt, _ := l.Dims(3)
			got, want := make([]float64, 6), make([]float64, 6)
			err := errors.Join(l.Load(d), l.Fit(make([]float64, nt), []float64{.01, 1, constant}))
			if exponent < 10 && err != nil || exponent > 14 && intercept && !errors.Is(err, qpdiff.ErrIllPosed) {
				t.Errorf("intercept %v, constant %g: %v", intercept, constant, err)
			}
			if err != nil || !intercept {
				continue
			}
			numtest.OK(t, plain.Load(d), plain.Fit(make([]float64, 1), []float64{.01, 1, 0}), plain.Predict(nil, want, x), l.Predict(nil, got, x))
			numtest.NearAll(t, fmt.Sprint("prediction, constant ", constant), got, want, 1e-12+1e-13*constant, 1)
		}
	}
}

// Derivatives in the predicted rows equal difference quotients, along any direction.
func TestPredictedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 2))
	d := casetest.ClassData(7, 20, 2)
	for _, c := range []struct {
		kernel Kernel
		hyper  []float64
	}{{RBF{}, []float64{1, .4}}, {Polynomial{}, []float64{.5, .2, 1}}, {ard{}, []float64{2, .3, .5, .1}}} {
		for _, l := range []casetest.PredictorJVP{&SVM{Kernel: c.kernel, Intercept: true}, &SVM{Kernel: c.kernel}, &Ridge{Kernel: c.kernel}} {
			x, along, v := mat.NewDense(3, 2, numtest.Normals(rng, 6)), mat.NewDense(3, 2, numtest.Normals(rng, 6)), numtest.Normals(rng, 3)
			dx, df, there, f := mat.NewDense(3, 2, nil), make([]float64, 3), mat.NewDense(3, 2, nil), make([]float64, 3)
			numtest.OK(t, l.Load(d), l.Fit(make([]float64, numtest.First(l.Dims(2))), c.hyper), l.PredictVJP(nil, &learn.Grad{}, dx, x, v), l.PredictJVP(nil, df, x, along, &learn.Grad{}))
			want := numtest.CentralDifference(func(h float64) float64 {
				there.Scale(h, along)
				there.Add(there, x)
				numtest.OK(t, l.Predict(nil, f, there))
				return dense.Dot(v, f)
			}, 1e-3)
			for product, got := range map[string]float64{"VJP": dense.Dot(dx.RawMatrix().Data, along.RawMatrix().Data), "JVP": dense.Dot(df, v)} {
				if !(math.Abs(got-want) <= 1e-9*(1+math.Abs(want))) {
					t.Errorf("%T with %T: %s %v, difference %v", l, c.kernel, product, got, want)
				}
			}
		}
	}
}
