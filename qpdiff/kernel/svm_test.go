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
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// kernelSVMResidual refits l and returns the larger of the change of θ and the violation of the
// dual.
func kernelSVMResidual(new func() (learn.Learner, *SVM)) func(d learn.Data, theta, hyper []float64) float64 {
	return func(d learn.Data, theta, hyper []float64) float64 {
		l, machine := new()
		again := make([]float64, len(theta))
		if err := errors.Join(l.Load(d), l.Fit(again, hyper)); err != nil {
			return math.Inf(1)
		}
		worst := 0.0
		size := 1.0
		for _, v := range again {
			size = max(size, math.Abs(v))
		}
		for i, v := range again {
			worst = max(worst, math.Abs(v-theta[i])/size/100)
		}
		return max(worst, kernelSVMViolation(machine, d, hyper))
	}
}

// kernelSVMViolation returns the violation of the dual's conditions at β and b, relative to their
// terms.
func kernelSVMViolation(l *SVM, d learn.Data, hyper []float64) float64 {
	rows, _ := d.X.Dims()
	beta := make([]float64, rows)
	worst, sum, total := 0.0, 0.0, 0.0
	top := make([]float64, rows)
	for i, k := range l.rows.Of {
		if k < 0 {
			continue
		}
		top[i] = hyper[0] * dense.CountAt(learner.Counts(d, nil), i)
		beta[i] = l.q.beta[k] * top[i] / (hyper[0] * l.rows.Copies[k])
		a := beta[i] * d.Y[i]
		worst = max(worst, -a/top[i], (a-top[i])/top[i]/8)
		sum += beta[i]
		total += a
	}
	if l.Intercept {
		worst = max(worst, math.Abs(sum)/total/8)
	}
	for i := range rows {
		f, size := l.q.b, 1.0
		for j := range rows {
			v := beta[j] * l.kernel.Eval(hyper[1:], d.Dense().RawRowView(i), d.Dense().RawRowView(j))
			f += v
			size += math.Abs(v)
		}
		m, a := d.Y[i]*f, beta[i]*d.Y[i]
		if a > 0 {
			worst = max(worst, (m-1)/size)
		}
		if a < top[i]*(1-8*dense.Eps) { // a is divided among copies
			worst = max(worst, (1-m)/size)
		}
	}
	return worst
}

// ard is a user-defined kernel: exp(−Σ_j γ_j (x_j−z_j)²) + c·xᵀz.
type ard struct{}

func (k ard) NumParams(n int) int { return n + 1 }

func (k ard) Check(params []float64) error { return nil }

func (k ard) Eval(p, x, z []float64) float64 {
	var d float64
	for j := range x {
		d += p[j] * (x[j] - z[j]) * (x[j] - z[j])
	}
	return math.Exp(-d) + p[len(x)]*dense.Dot(x, z)
}

func (k ard) Grad(dp, dx, dz []float64, s, value float64, p, x, z []float64) {
	n := len(x)
	e := value - p[n]*dense.Dot(x, z)
	for j := range x {
		v := x[j] - z[j]
		if dp != nil {
			dp[j] -= s * e * v * v
		}
		if dx != nil {
			dx[j] += s * (-2*p[j]*v*e + p[n]*z[j])
		}
		if dz != nil {
			dz[j] += s * (2*p[j]*v*e + p[n]*x[j])
		}
	}
	if dp != nil {
		dp[n] += s * dense.Dot(x, z)
	}
}

func TestKernelSVMContract(t *testing.T) {
	for _, bias := range []bool{false, true} {
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
			values := func() (learn.Learner, *SVM) {
				l := &SVM{Kernel: c.kernel, Intercept: bias}
				return &casetest.Predictions{P: l}, l
			}
			constant := func() (learn.Learner, *SVM) {
				l := &SVM{Kernel: c.kernel, Intercept: true}
				return l, l
			}
			for _, theta := range []struct {
				name string
				new  func() (learn.Learner, *SVM)
			}{{"decision values", values}, {"b", constant}} {
				if theta.name == "b" && !bias {
					continue
				}
				var cases []learntest.Case
				add := func(name string, d learn.Data, hyperC float64) {
					cases = append(cases, learntest.Case{Name: fmt.Sprintf("%T %v %s %s", c.kernel, bias, theta.name, name), Data: d,
						Hyper: append([]float64{hyperC}, c.params...), Residual: kernelSVMResidual(theta.new), ClassLabels: true, Step: 1e-4})
				}
				add("30x2", casetest.ClassData(1, 30, 2), 1)
				add("20x2", casetest.ClassData(2, 20, 2), .3)
				add("6x2", casetest.ClassData(3, 6, 2), 2)
				casetest.Contract(t, func() learn.Learner { l, _ := theta.new(); return l }, cases...)
			}
		}
	}
}

func TestKernelSVMGolden(t *testing.T) {
	var golden struct {
		Cases []struct {
			Param, C, B        float64
			Bias               bool
			X                  [][]float64
			XTest              [][]float64 `json:"X_test"`
			Y, Alpha, Decision []float64
			Free               []int
			AtC                []int     `json:"at_C"`
			DecisionDParam     []float64 `json:"ddecision_dparam"`
			DecisionDC         []float64 `json:"ddecision_dC"`
		}
	}
	numtest.ReadGolden(t, "e2_kernel_svm.json", &golden)
	if len(golden.Cases) != 6 {
		t.Fatalf("%d cases", len(golden.Cases))
	}
	for i, c := range golden.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			l := SVM{Kernel: Polynomial{}, Intercept: c.Bias}
			theta := make([]float64, 0, 1)
			if c.Bias {
				theta = theta[:1]
			}
			numtest.OK(t, l.Load(learn.Data{X: numtest.Matrix(c.X), Y: c.Y}), l.Fit(theta, []float64{c.C, c.Param, 1}))
			alpha := slices.Clone(l.q.beta)
			var atC []int
			for i, y := range c.Y {
				alpha[i] *= y
				if alpha[i] == c.C {
					atC = append(atC, i)
				}
			}
			numtest.NearAll(t, "alpha", alpha, c.Alpha, 1e-11, 0)
			if d := cmp.Diff([][]int{c.Free, c.AtC}, [][]int{l.q.freeSet, atC}); d != "" {
				t.Errorf("free, at C: %s", d)
			}
			if c.Bias {
				numtest.NearAll(t, "b", theta, []float64{c.B}, 1e-11, 0)
			}
			x := numtest.Matrix(c.XTest)
			f := numtest.NaNs(len(c.Decision), 0)
			numtest.OK(t, l.Predict(nil, f, x))
			numtest.NearAll(t, "decision", f, c.Decision, 1e-11, 0)
			dC, dParam := make([]float64, len(f)), make([]float64, len(f))
			for k := range f {
				v := make([]float64, len(f))
				v[k] = 1
				g := &learn.Grad{Hyper: make([]float64, 3)}
				numtest.OK(t, l.PredictVJP(nil, g, nil, x, v))
				dC[k], dParam[k] = g.Hyper[0], g.Hyper[1]
			}
			numtest.NearAll(t, "d decision/dC", dC, c.DecisionDC, 1e-10, 0)
			numtest.NearAll(t, "d decision/dparam", dParam, c.DecisionDParam, 1e-10, 0)
		})
	}
}

// For two examples at ±1 with an RBF kernel, both dual variables are min(1/(1−e), C) with e =
// exp(−4γ).
func TestKernelSVMByHand(t *testing.T) {
	d := learn.Data{X: mat.NewDense(2, 1, []float64{1, -1}), Y: []float64{1, -1}}
	x := mat.NewDense(1, 1, []float64{.5})
	const gamma = .3
	e := math.Exp(-4 * gamma)
	near, far := math.Exp(-.25*gamma), math.Exp(-2.25*gamma)
	slope := 2.25*far - .25*near // of k(1, ½) − k(−1, ½) in γ
	for _, c := range []struct{ c, a, da, dc float64 }{
		{10, 1 / (1 - e), -4 * e / (1 - e) / (1 - e), 0},
		{1, 1, 0, near - far},
	} {
		for _, bias := range []bool{false, true} {
			l := SVM{Intercept: bias}
			var theta [1]float64
			nt, _ := l.Dims(1)
			f := []float64{math.NaN()}
			numtest.OK(t, l.Load(d), l.Fit(theta[:nt], []float64{c.c, gamma}), l.Predict(nil, f, x))
			numtest.NearAll(t, "f", f, []float64{c.a * (near - far)}, 8*dense.Eps, 0)
			g := &learn.Grad{Hyper: make([]float64, 2)}
			dx := mat.NewDense(1, 1, nil)
			numtest.OK(t, l.PredictVJP(nil, g, dx, x, []float64{1}))
			numtest.NearAll(t, "df", g.Hyper, []float64{c.dc, c.da*(near-far) + c.a*slope}, 16*dense.Eps, 1)
			numtest.NearAll(t, "df/dx", dx.RawMatrix().Data, []float64{c.a * gamma * (near + 3*far)}, 16*dense.Eps, 0)
		}
	}
}

func TestKernelSVMRefusals(t *testing.T) {
	d := casetest.ClassData(1, 6, 2)
	v := casetest.Residual(nil).Verdict
	v(t, "C = 0", new(SVM), d, qpdiff.ErrDomain, "", 0, 1)
	v(t, "γ = 0", new(SVM), d, qpdiff.ErrDomain, "", 1, 0)
	v(t, "scale 0", &SVM{Kernel: Polynomial{}}, d, qpdiff.ErrDomain, "", 1, 0, 1)
	v(t, "constant −1", &SVM{Kernel: Polynomial{}}, d, qpdiff.ErrDomain, "", 1, 1, -1)
	v(t, "degree −1", &SVM{Kernel: Polynomial{Degree: -1}}, d, qpdiff.ErrDomain, "", 1, 1, 1)
	v(t, "degree 2000", &SVM{Kernel: Polynomial{Degree: 2000}}, d, qpdiff.ErrNotFinite, "", 1, 1, 1)
	v(t, "indefinite kernel", &SVM{Kernel: ard{}}, d, qpdiff.ErrNonconvex, "", 100, .1, .1, -.5)
	var l SVM
	if err := l.Predict(nil, nil, mat.NewDense(1, 1, nil)); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Errorf("Predict without a fit: %v", err)
	}
	numtest.OK(t, l.Load(d), l.Fit(nil, []float64{1, 1}))
	if err := l.Predict(nil, make([]float64, 1), mat.NewDense(1, 3, nil)); !errors.Is(err, qpdiff.ErrShape) {
		t.Errorf("Predict on other features: %v", err)
	}
	if err := l.PredictVJP(nil, &learn.Grad{}, nil, mat.NewDense(1, 2, []float64{1, math.NaN()}), make([]float64, 1)); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("PredictVJP at NaN: %v", err)
	}
}

// Fit uses the kernel and the Intercept that the last Load has read.
func TestKernelSVMReadsKernelAtLoad(t *testing.T) {
	l, same := &SVM{Intercept: true}, &SVM{Intercept: true}
	theta, want, hyper := make([]float64, 1), make([]float64, 1), []float64{2, .3}
	numtest.OK(t, l.Load(casetest.ClassData(1, 20, 2)), same.Load(casetest.ClassData(1, 20, 2)), same.Fit(want, hyper))
	l.Kernel, l.Intercept = Polynomial{}, false
	if err := l.Fit(theta, hyper); err != nil || !numtest.SameBits(theta, want) {
		t.Errorf("b = %v with error %v, want %v", theta, err, want)
	}
	if err := errors.Join(l.Load(casetest.ClassData(1, 20, 2)), l.Fit(nil, []float64{2, .3, 1})); err != nil {
		t.Errorf("after another Load: %v", err)
	}
}

// Predict keeps kernel values for PredictVJP. They are used only for the same rows.
func TestKernelSVMPredictsElsewhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	rows := mat.NewDense(8, 2, numtest.Normals(rng, 16))
	gradient := func(before ...*mat.Dense) []float64 {
		t.Helper()
		var l SVM
		var w qpdiff.Workspace
		numtest.OK(t, l.Load(casetest.ClassData(1, 20, 2)), l.Fit(nil, []float64{1, .3}))
		for _, x := range before {
			numtest.OK(t, l.Predict(&w, make([]float64, x.RawMatrix().Rows), x))
		}
		g := &learn.Grad{Hyper: make([]float64, 2)}
		numtest.OK(t, l.PredictVJP(&w, g, nil, rows.Slice(2, 6, 0, 2).(*mat.Dense), []float64{1, 0, 2, -1}))
		return g.Hyper
	}
	want := gradient()
	same := rows.Slice(2, 6, 0, 2).(*mat.Dense)
	for i, before := range [][]*mat.Dense{{same}, {rows}, {same, rows}, {rows.Slice(2, 5, 0, 2).(*mat.Dense)}, {rows.Slice(0, 4, 0, 2).(*mat.Dense)}} {
		if got := gradient(before...); !numtest.SameBits(got, want) {
			t.Errorf("%d: %v, want %v", i, got, want)
		}
	}
}

// largestEntry returns the largest entry of the kernel matrix, which is on its diagonal.
func largestEntry(l *SVM, d learn.Data, hyper []float64) (largest float64) {
	rows, _ := d.X.Dims()
	for i := range rows {
		x := d.Dense().RawRowView(i)
		largest = max(largest, l.kernel.Eval(hyper[1:], x, x))
	}
	return largest
}

func TestKernelSVMOptimalOnPaths(t *testing.T) {
	// A fit may return an error if C times the largest kernel entry exceeds mostTerms, because
	// rounding then matters.
	const mostTerms = 1e7
	rapid.Check(t, func(t *rapid.T) {
		d := casetest.DrawClasses(t)
		l := SVM{Intercept: rapid.Bool().Draw(t, "bias")}
		if rapid.Bool().Draw(t, "polynomial") {
			l.Kernel = Polynomial{Degree: rapid.IntRange(1, 3).Draw(t, "degree")}
		}
		_, n := d.X.Dims()
		nt, nh := l.Dims(n)
		theta, hyper := make([]float64, nt), make([]float64, nh)
		numtest.OK(t, l.Load(d))
		for range 3 {
			hyper[0] = math.Pow(10, rapid.Float64Range(-2, 2).Draw(t, "C"))
			hyper[1] = math.Pow(10, rapid.Float64Range(-1, 1).Draw(t, "scale"))
			if nh > 2 {
				hyper[2] = 1
			}
			if rapid.Bool().Draw(t, "move") {
				d.Dense().Set(0, 0, float64(rapid.IntRange(-200, 200).Draw(t, "x00"))/64)
				numtest.OK(t, l.Load(d))
			}
			err := l.Fit(theta, hyper)
			if errors.Is(err, qpdiff.ErrIterationLimit) && hyper[0]*largestEntry(&l, d, hyper) > mostTerms {
				continue
			}
			numtest.OK(t, err)
			if v := kernelSVMViolation(&l, d, hyper); !(v <= 1e-10) {
				t.Fatalf("violation %g at %v", v, hyper)
			}
		}
	})
}
