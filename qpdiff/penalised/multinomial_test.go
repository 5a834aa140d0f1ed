package penalised

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// classData draws normal features, and labels from noisy linear decision values.
func classData(seed uint64, rows, n, classes int) learn.Data {
	rng := rand.New(rand.NewPCG(seed, 47))
	d := learn.Data{X: mat.NewDense(rows, n, numtest.Normals(rng, rows*n)), Y: make([]float64, rows)}
	beta := mat.NewDense(n, classes, numtest.Normals(rng, n*classes))
	var decisions mat.Dense
	decisions.Mul(d.X, beta)
	for i := range d.Y {
		row := decisions.RawRowView(i)
		floats.Add(row, numtest.Normals(rng, classes))
		if d.Y[i] = float64(floats.MaxIdx(row)); i < classes {
			d.Y[i] = float64(i)
		}
	}
	return d
}

// jointResidual returns the largest gradient entry or sum over the classes, relative to its terms.
func jointResidual(l *Multinomial) func(d learn.Data, theta, hyper []float64) float64 {
	return func(d learn.Data, theta, hyper []float64) float64 {
		rows, n := d.X.Dims()
		q := len(theta) / l.Classes
		grad, size := make([]float64, len(theta)), make([]float64, len(theta))
		penalties := l.Penalties
		if len(penalties) == 0 {
			penalties = []Penalty{Ridge(0, n)}
		}
		for j, p := range penalties {
			s := p.fullMatrix(n)
			for k := range theta {
				for b := 0; k%q < n && b < n; b++ {
					v := hyper[j] * s.At(k%q, b) * theta[k-k%q+b]
					grad[k] += v
					size[k] += math.Abs(v)
				}
			}
		}
		p := make([]float64, l.Classes)
		for i := range rows {
			x := append(append([]float64{}, d.Dense().RawRowView(i)...), 1)[:q]
			for c := range p {
				p[c] = floats.Dot(x, theta[c*q:][:q])
			}
			total := floats.LogSumExp(p)
			for c := range p {
				slope := math.Exp(p[c] - total)
				if float64(c) == d.Y[i] {
					slope--
				}
				for a, v := range x {
					grad[c*q+a] += slope * v
					size[c*q+a] += math.Abs(v)
				}
			}
		}
		worst := 0.0
		for k, g := range grad {
			worst = max(worst, math.Abs(g)/size[k])
		}
		for a := range q {
			sum, terms := 0.0, 1e-300
			for c := range p {
				sum += theta[c*q+a]
				terms += math.Abs(theta[c*q+a])
			}
			worst = max(worst, math.Abs(sum)/terms)
		}
		return worst
	}
}

func TestMultinomialContract(t *testing.T) {
	for _, intercept := range []bool{false, true} {
		for _, some := range []bool{false, true} {
			l := &Multinomial{Classes: 3, Intercept: intercept}
			n, hyper := 3, []float64{.8}
			if some {
				l.Penalties, n, hyper = fivePenalties(), 7, fiveLambda
			}
			cases := []learntest.Case{{Name: "rows", Data: classData(1, 40, n, 3)}, {Name: "more rows", Data: classData(2, 71, n, 3)}}
			if !some {
				cases = append(cases, learntest.Case{Name: "one feature", Data: classData(3, 12, 1, 3)}, learntest.Case{Name: "more features", Data: classData(4, 9, 14, 3)})
			}
			for i := range cases {
				cases[i].Hyper, cases[i].Residual, cases[i].ClassLabels = hyper, jointResidual(l), true
			}
			casetest.Contract(t, l.New, cases...)
		}
	}
}

// The coefficients equal the values of scikit-learn and, like their derivatives, values with 40
// digits from testdata/multinomial.py.
func TestMultinomialGolden(t *testing.T) {
	const exact, peer = 1e-12, 1e-6 // scikit-learn stops at a gradient of some 1e-7
	file, err := os.ReadFile("testdata/multinomial.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Classes                                     int
		Intercept                                   bool
		X, VJPX                                     [][]float64
		Roots                                       [][][]float64
		Y, Weights, Lambda, Theta, Cotangent, Hyper []float64
	}
	numtest.OK(t, json.Unmarshal(file, &cases))
	derived := 0
	for _, c := range cases {
		l := &Multinomial{Classes: c.Classes, Intercept: c.Intercept}
		for _, r := range c.Roots {
			l.Penalties = append(l.Penalties, Penalty{Root: numtest.Matrix(r)})
		}
		d := learn.Data{X: numtest.Matrix(c.X), Y: c.Y, Weights: c.Weights}
		theta, g := make([]float64, len(c.Theta)), casetest.NewGrad(d, len(c.Lambda))
		numtest.OK(t, l.Load(d), l.Fit(theta, c.Lambda))
		if c.VJPX == nil {
			numtest.NearAll(t, "θ of scikit-learn", theta, c.Theta, peer, 0)
			continue
		}
		derived++
		numtest.OK(t, l.VJP(nil, g, c.Cotangent))
		numtest.NearAll(t, "θ", theta, c.Theta, exact, 0)
		numtest.NearAll(t, "λ", g.Hyper, c.Hyper, exact, 0)
		numtest.NearAll(t, "X", g.X.RawMatrix().Data, numtest.Matrix(c.VJPX).RawMatrix().Data, exact, 0)
	}
	if derived != 2 || len(cases) != 6 {
		t.Errorf("%d cases, %d with derivatives", len(cases), derived)
	}
}

// With two classes, θ_1 − θ_0 equals the θ of a logistic regression with half the penalty.
func TestTwoClasses(t *testing.T) {
	d := casetest.NoisyClasses(3, 40, 5)
	classes := casetest.CloneData(d)
	for i, y := range d.Y {
		classes.Y[i] = (1 + y) / 2
	}
	two, one := &Multinomial{Classes: 2, Intercept: true}, &GLM{Loss: Logistic, Intercept: true}
	theta, want := make([]float64, 12), make([]float64, 6)
	numtest.OK(t, two.Load(classes), two.Fit(theta, []float64{.6}), one.Load(d), one.Fit(want, []float64{.3}))
	floats.Sub(theta[6:], theta[:6])
	numtest.NearAll(t, "θ", theta[6:], want, 1e-12, 0)
}

// The solution does not depend on the numbering of the classes, on units or on the origin of the
// features.
func TestMultinomialUnits(t *testing.T) {
	const rows, n, classes, q, tol = 50, 4, 4, 5, 1e-9 // 2²⁰ beside features of size 1 costs 20 bits
	d := classData(6, rows, n, classes)
	x := d.X.(*mat.Dense)
	x.Apply(func(_, _ int, v float64) float64 { return v + 0x1p20 - 0x1p20 }, x) // rounded alike
	theta := func(d learn.Data, lambda float64) []float64 {
		theta := make([]float64, classes*q)
		l := &Multinomial{Classes: classes, Intercept: true}
		numtest.OK(t, l.Load(d), l.Fit(theta, []float64{lambda}))
		return theta
	}
	want := theta(d, .5)
	far, turned := casetest.CloneData(d), casetest.CloneData(d)
	fx := far.X.(*mat.Dense)
	fx.Apply(func(_, _ int, v float64) float64 { return 1e6 * (v + 0x1p20) }, fx)
	for i, y := range d.Y {
		turned.Y[i] = math.Mod(y+1, classes)
	}
	inUnits, other := theta(far, .5e12), theta(turned, .5)
	for c := range classes {
		beta := inUnits[c*q:][:n]
		floats.Scale(1e6, beta)
		numtest.NearAll(t, "in other units", beta, want[c*q:][:n], tol, 0)
		numtest.NearAll(t, "of other numbers", other[(c+1)%classes*q:][:q], want[c*q:][:q], 1e-12, 0)
	}
}

// The error for an unusable penalty names the field, which both learners have.
func TestPenaltyErrorNamesTheField(t *testing.T) {
	d := classData(7, 30, 3, 2)
	for _, l := range []learn.Learner{&GLM{Penalties: []Penalty{{}}}, &Multinomial{Classes: 2, Penalties: []Penalty{{}}}} {
		if err := l.Load(d); err == nil || !strings.Contains(err.Error(), ": Penalties has both or none") {
			t.Errorf("%T: %v", l, err)
		}
	}
}

// Load or Fit returns an error for an invalid label and for a problem without a unique solution.
func TestMultinomialRefusals(t *testing.T) {
	for _, unit := range []float64{1e-6, 1, 1e6} {
		d := classData(7, 30, 3, 3)
		x := d.X.(*mat.Dense)
		x.Scale(unit, x)
		twice := casetest.CloneData(d)
		for i := range 30 {
			twice.X.(*mat.Dense).Set(i, 2, 2*x.At(i, 0)-x.At(i, 1))
		}
		apart := casetest.CloneData(d)
		for i, y := range d.Y {
			apart.X.(*mat.Dense).Set(i, 0, unit*y)
			apart.X.(*mat.Dense).Set(i, 1, unit*y*y)
		}
		last, first := casetest.CloneData(d), casetest.CloneData(d) // of the classes are apart from both others
		for i, y := range d.Y {
			last.X.(*mat.Dense).Set(i, 0, unit*(y-1.5))
			first.X.(*mat.Dense).Set(i, 0, unit*(y-.5))
			for _, x := range []*mat.Dense{last.X.(*mat.Dense), first.X.(*mat.Dense)} {
				if k := x.At(i, 0) / unit; k != .5 && k != -.5 {
					x.Set(i, 0, unit*math.Copysign(.5, k))
				}
			}
		}
		absent := casetest.CloneData(d)
		for i := range absent.Y {
			absent.Y[i] = min(absent.Y[i], 1)
		}
		fraction := casetest.CloneData(d)
		fraction.Y[4] = .5
		for name, c := range map[string]struct {
			l      Multinomial
			d      learn.Data
			lambda float64
			kind   error
		}{
			"dependent":               {Multinomial{Classes: 3}, twice, 0, qpdiff.ErrIllPosed},
			"dependent, kept":         {Multinomial{Classes: 3}, twice, 1e-3, nil},
			"separated":               {Multinomial{Classes: 3}, apart, 0, qpdiff.ErrIllPosed},
			"last separated":          {Multinomial{Classes: 3, Penalties: []Penalty{Ridge(1, 2)}}, last, 1, qpdiff.ErrIllPosed},
			"first separated":         {Multinomial{Classes: 3, Penalties: []Penalty{Ridge(1, 2)}}, first, 1, qpdiff.ErrIllPosed},
			"separated, kept":         {Multinomial{Classes: 3}, apart, 1e-3, nil},
			"without a row":           {Multinomial{Classes: 3, Intercept: true}, absent, 1, qpdiff.ErrIllPosed},
			"without row, b":          {Multinomial{Classes: 3}, absent, 1, nil},
			"one class":               {Multinomial{Classes: 1}, d, 1, qpdiff.ErrDomain},
			"no number":               {Multinomial{}, d, 1, qpdiff.ErrDomain},
			"label beyond":            {Multinomial{Classes: 2}, d, 1, qpdiff.ErrDomain},
			"label that is no number": {Multinomial{Classes: 3}, fraction, 1, qpdiff.ErrDomain},
		} {
			theta, _ := c.l.Dims(3)
			err := c.l.Load(c.d)
			if err == nil {
				err = c.l.Fit(make([]float64, theta), []float64{c.lambda * unit * unit})
			}
			if c.kind == nil && err != nil || !errors.Is(err, c.kind) {
				t.Errorf("%s in unit %g: %v", name, unit, err)
			}
		}
	}
}

// The degrees of freedom add up to the number of free parameters minus Σ_j λ_j·tr(H⁻¹S_j).
func TestMultinomialFreedom(t *testing.T) {
	const classes, n, tol = 3, 7, 1e-10
	d := classData(8, 90, n, classes)
	l := &Multinomial{Classes: classes, Penalties: fivePenalties(), Intercept: true}
	theta, freedom := make([]float64, classes*(n+1)), make([]float64, classes*(n+1))
	if err := l.Freedom(freedom); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Errorf("error %v before a fit", err)
	}
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{.3, 2, .1, 5, 1}), l.Freedom(freedom))
	if sum := floats.Sum(freedom); !(sum > 4 && sum < 14) || math.Abs(freedom[n]-2./3) > tol || math.Abs(freedom[n-1]-2./3) > tol {
		t.Errorf("%v of sum %v: intercept and last feature have no penalty", freedom, sum)
	}
	// The derivative along the tangent λ is −Σ_j λ_jH⁻¹S_jθ. Unit vectors in place of θ give the
	// trace.
	rest := float64((classes - 1) * (n + 1))
	for k := range theta {
		dtheta, dlambda := make([]float64, len(theta)), make([]float64, 5)
		copy(l.theta, make([]float64, len(l.theta)))
		unit := make([]float64, len(theta))
		unit[k] = 1
		l.joint.toOutputs(l.theta, unit, n+1)
		copy(dlambda, l.lambda)
		numtest.OK(t, l.JVP(nil, dtheta, &learn.Grad{Hyper: dlambda}))
		if k%(n+1) < n { // the intercept is written for features that are not centred
			rest += dtheta[k]
		}
	}
	numtest.NearAll(t, "trace", []float64{floats.Sum(freedom)}, []float64{rest}, tol, 0)
	numtest.OK(t, l.Fit(theta, make([]float64, 5)), l.Freedom(freedom))
	for k, v := range freedom {
		if math.Abs(v-2./3) > tol {
			t.Errorf("entry %d without penalties: %v", k, v)
		}
	}
}
