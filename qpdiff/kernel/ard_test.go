package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// Matérn kernels have the values and slopes of their general formula, even if the distance
// overflows.
func TestShapes(t *testing.T) {
	for _, q := range []float64{0, 1e-12, .01, .5, 3, 40, 1e4, math.Inf(1)} {
		rho := math.Sqrt(2 * q) // the distance in widths
		want := map[Shape]float64{Gaussian: math.Exp(-rho * rho / 2), Matern32: math.Exp(-math.Sqrt(3) * rho), Matern52: math.Exp(-math.Sqrt(5) * rho)}
		if want[Matern32] > 0 {
			want[Matern32] *= 1 + math.Sqrt(3)*rho
		}
		if want[Matern52] > 0 {
			want[Matern52] *= 1 + math.Sqrt(5)*rho + 5*rho*rho/3
		}
		for s := range shapes {
			got := s.value(q)
			numtest.NearAll(t, fmt.Sprint(s, " at ", q), []float64{got}, []float64{want[s]}, 1e-12, 1e-300)
			if math.IsInf(q, 1) {
				numtest.NearAll(t, fmt.Sprint("slope of ", s), []float64{s.slope(q, got)}, []float64{0}, 0, 0)
				continue
			}
			// The tolerance is of order √h because the curvature of Matern32 is infinite at 0.
			const h = 1e-7
			quotient := numtest.ForwardDifference(func(h float64) float64 { return s.value(q + h) }, h)
			numtest.NearAll(t, fmt.Sprint("slope of ", s, " at ", q), []float64{s.slope(q, got)}, []float64{quotient}, 10*math.Sqrt(h), 1e-6)
		}
	}
}

// An ARD kernel equals RBF if all widths are equal, and ignores features of width 0.
func TestARDOfEqualWidthsIsRBF(t *testing.T) {
	d := casetest.RandomData(3, 40, 9, false)
	fit := func(l *Ridge, d learn.Data, hyper ...float64) []float64 {
		t.Helper()
		f := make([]float64, 40)
		numtest.OK(t, l.Load(d), l.Fit(make([]float64, 1), hyper), l.Predict(nil, f, d.Dense()))
		return f
	}
	want := fit(&Ridge{Intercept: true}, d, .1, .2)
	equal := append([]float64{.1}, .2, .2, .2, .2, .2, .2, .2, .2, .2)
	numtest.NearAll(t, "equal widths", fit(&Ridge{Kernel: ARD{}, Intercept: true}, d, equal...), want, 1e-12, 1)
	groups := ARD{Groups: []int{1, 0, 0, 1, 2, 2, 1, 0, 0}}
	numtest.NearAll(t, "equal groups", fit(&Ridge{Kernel: groups, Intercept: true}, d, .1, .2, .2, .2), want, 1e-12, 1)

	less := learn.Data{X: mat.DenseCopyOf(d.Dense().Slice(0, 40, 1, 9)), Y: d.Y}
	want = fit(&Ridge{Intercept: true}, less, .1, .2)
	for i := range 40 { // the removed feature may overflow
		d.Dense().Set(i, 0, 1e200*d.X.At(i, 0))
	}
	equal[1] = 0
	numtest.NearAll(t, "without a feature", fit(&Ridge{Kernel: ARD{}, Intercept: true}, d, equal...), want, 1e-12, 1)
}

// ARD predictions are independent of a feature's unit if γ scales with its inverse square.
func TestARDUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 1))
	for shape := range shapes {
		d, v := casetest.ClassData(4, 30, 5), numtest.Normals(rng, 30)
		hyper, h := append([]float64{.3}, .1, .4, .02, 0, .7), make([]float64, 6)
		for _, l := range []casetest.PredictorJVP{&Ridge{Kernel: ARD{Shape: shape}, Intercept: true}, &SVM{Kernel: ARD{Shape: shape}, Intercept: true}} {
			run := func(unit func(j int) float64) (f, dhyper []float64) {
				scaled := casetest.CloneData(d)
				copy(h, hyper)
				for j := range 5 {
					h[j+1] /= unit(j) * unit(j)
					for i := range 30 {
						scaled.Dense().Set(i, j, d.X.At(i, j)*unit(j))
					}
				}
				f = make([]float64, 30)
				g := &learn.Grad{Hyper: make([]float64, 6)}
				numtest.OK(t, l.Load(scaled), l.Fit(make([]float64, 1), h), l.Predict(nil, f, scaled.Dense()), l.PredictVJP(nil, g, nil, scaled.Dense(), v))
				for j := range h {
					g.Hyper[j] *= h[j]
				}
				return f, g.Hyper
			}
			f, g := run(func(int) float64 { return 1 })
			f2, g2 := run(func(j int) float64 { return math.Pow(10, float64(40*(j-2))) })
			numtest.NearAll(t, fmt.Sprintf("%T %v: prediction", l, shape), f2, f, 1e-9, 1)
			numtest.NearAll(t, fmt.Sprintf("%T %v: derivative", l, shape), g2, g, 1e-8, 1)
		}
	}
}

// An ARD kernel evaluated for many rows returns the bits of its values for single rows.
func TestARDColumnsAreTheRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 2))
	for round := range 60 {
		n := 1 + rng.IntN(11)
		d := casetest.ClassData(uint64(round), 30, n)
		k := ARD{Shape: Shape(round % int(shapes))}
		hyper := []float64{.3}
		for range n {
			hyper = append(hyper, float64(rng.IntN(3))*rng.Float64())
		}
		ridge, svm := &Ridge{Kernel: k}, &SVM{Kernel: k}
		for _, c := range []struct {
			Machine
			of   *kernelMachine
			rows func() []int
		}{
			{ridge, &ridge.kernelMachine, func() []int { return []int{0, 3, 4, 5, 9, 20, 29} }},
			{svm, &svm.kernelMachine, func() []int { return svm.support }},
		} {
			x := casetest.RandomData(uint64(round), 7, n, false).Dense()
			want, got := make([]float64, 7), make([]float64, 7)
			g, each := &learn.Grad{Hyper: make([]float64, n+1)}, make([]float64, n)
			numtest.OK(t, c.Load(d), c.Fit(nil, hyper), c.Predict(nil, want, x))
			m, err := c.Model()
			numtest.OK(t, err, m.Predict(got, x))
			if !numtest.SameBits(got, want) {
				t.Fatalf("round %d: the model predicts %v, the learner %v", round, got, want)
			}
			rows := c.rows()
			values, s := make([]float64, len(rows)), numtest.Normals(rng, len(rows))
			c.of.values(values, hyper[1:], x.RawRowView(0), rows)
			var dk kernelDerivative
			dk.s, dk.dparams = s, make([]float64, n)
			dk.addGradients(c.of, g, nil, values, x.RawRowView(0), rows)
			for at, i := range rows {
				if v := k.Eval(hyper[1:], c.of.row(i), x.RawRowView(0)); v != values[at] {
					t.Fatalf("round %d, row %d: %v, want %v", round, i, values[at], v)
				}
				k.Grad(each, nil, nil, s[at], values[at], hyper[1:], c.of.row(i), x.RawRowView(0))
			}
			numtest.NearAll(t, "derivative in the widths", dk.dparams, each, 64*dense.Eps, 1)
		}
	}
}

func TestARDVerdicts(t *testing.T) {
	d := casetest.RandomData(1, 6, 2, false)
	v := casetest.Residual(nil).Verdict
	v(t, "γ < 0", &Ridge{Kernel: ARD{}}, d, qpdiff.ErrDomain, "γ[1]", 1, 1, -1)
	v(t, "a shape that is none", &Ridge{Kernel: ARD{Shape: 3}}, d, qpdiff.ErrDomain, "ARD.Shape", 1, 1, 1)
	v(t, "no widths", &Ridge{Kernel: ARD{}}, d, qpdiff.ErrShape, "hyper", 1, 1)
	v(t, "a group without a feature", &Ridge{Kernel: ARD{Groups: []int{1, 1}}}, d, qpdiff.ErrDomain, "group 0", 1, 1, 1)
	v(t, "all widths 0", &Ridge{Kernel: ARD{}}, d, nil, "", 1, 0, 0)
	for name, groups := range map[string][]int{"3 entries for 2 features": {0, 1, 1}, "-1 at index 1": {0, -1}, "2 at index 1": {0, 2}} {
		for _, l := range []learn.Learner{&Ridge{Kernel: ARD{Groups: groups}}, &SVM{Kernel: ARD{Groups: groups}}} {
			err := l.Load(casetest.ClassData(1, 6, 2))
			numtest.WantText(t, name, err, name)
			if again := l.Fit(nil, []float64{1, 1, 1}); !errors.Is(again, qpdiff.ErrNotFitted) {
				t.Errorf("%s: a Fit after the error returns %v", name, again)
			}
		}
		m := Model{Kernel: ARD{Groups: groups}, Params: []float64{1, 1, 1}[:ARD{Groups: groups}.NumParams(2)], X: mat.NewDense(1, 2, nil), Coef: []float64{1}}
		numtest.WantText(t, "model: "+name, m.Check(), name)
	}
}

// A learner with an ARD kernel has its own hyperparameter and a width for each group of features.
func TestARDHyperparameters(t *testing.T) {
	m := learn.Moments{Examples: 9, Features: 3, Weight: 9, Trace: 3, Distance: func() float64 { return 6 }}
	for _, c := range []struct {
		l    learn.Tunable
		want string
	}{
		{&Ridge{Kernel: ARD{}}, "λ γ[0] γ[1] γ[2] "},
		{&SVM{Kernel: ARD{Groups: []int{0, 1, 0}}}, "C γ[0] γ[1] "},
	} {
		names := ""
		for i, h := range c.l.Hyperparameters(m) {
			names += h.Name + " "
			if i > 0 && (!h.Zero || !(h.Lower < h.Default && h.Default < h.Upper)) {
				t.Errorf("%+v", h)
			}
		}
		if names != c.want {
			t.Errorf("%T: hyperparameters %q, want %q", c.l, names, c.want)
		}
		if _, h := c.l.Dims(3); h != len(c.l.Hyperparameters(m)) {
			t.Errorf("%T has %d hyperparameters", c.l, h)
		}
	}
}
