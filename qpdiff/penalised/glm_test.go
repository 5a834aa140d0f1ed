package penalised

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// fullMatrix returns the matrix S of the penalty p, embedded in the n×n matrix of all features.
func (p Penalty) fullMatrix(n int) *mat.SymDense {
	s := mat.NewSymDense(n, nil)
	count, _ := p.size()
	for i := range count {
		for j := i; j < count; j++ {
			v := 0.0
			if p.S != nil {
				v = p.S.At(i, j)
			} else {
				rows, _ := p.Root.Dims()
				for r := range rows {
					v += p.Root.At(r, i) * p.Root.At(r, j)
				}
			}
			s.SetSym(p.First+i, p.First+j, v)
		}
	}
	return s
}

// gradientResidual returns the largest gradient entry of the objective, relative to the entry's
// terms.
func gradientResidual(l *GLM) func(d learn.Data, theta, hyper []float64) float64 {
	return func(d learn.Data, theta, hyper []float64) float64 {
		rows, n := d.X.Dims()
		grad, size := make([]float64, len(theta)), make([]float64, len(theta))
		penalties := l.Penalties
		if len(penalties) == 0 {
			penalties = []Penalty{Ridge(0, n)}
		}
		for j, p := range penalties {
			s := p.fullMatrix(n)
			for a := range n {
				for b := range n {
					v := hyper[j] * s.At(a, b) * theta[b]
					grad[a] += v
					size[a] += math.Abs(v)
				}
			}
		}
		for i := range rows {
			x := append(append([]float64{}, d.Dense().RawRowView(i)...), 1)[:len(theta)]
			eta, slope := floats.Dot(x, theta), 0.0
			y := d.Y[i]
			switch l.Loss {
			case Squared:
				slope = eta - y
			case Logistic:
				slope = -y / (1 + math.Exp(y*eta))
			case Poisson:
				slope = math.Exp(eta) - y
			}
			for a, v := range x {
				grad[a] += slope * v
				size[a] += math.Abs(v) * (math.Abs(slope) + math.Abs(y))
			}
		}
		worst := 0.0
		for a, g := range grad {
			worst = max(worst, math.Abs(g)/(size[a]+1e-16*floats.Max(size)))
		}
		return worst
	}
}

// root draws a matrix of rows×count normals.
func root(seed uint64, rows, count int) *mat.Dense {
	return mat.NewDense(rows, count, numtest.Normals(rand.New(rand.NewPCG(seed, 7)), rows*count))
}

// square returns RᵀR.
func square(r *mat.Dense) *mat.SymDense {
	s := new(mat.SymDense)
	s.SymOuterK(1, r.T())
	return s
}

// fivePenalties returns penalties of all kinds on 7 features. The last feature has no penalty.
func fivePenalties() []Penalty {
	return []Penalty{{S: square(root(1, 4, 6))}, Differences(1, 5, 2), {First: 2, Root: root(2, 2, 3)}, Ridge(0, 3), {First: 3, S: square(root(3, 2, 3)).SliceSym(0, 2)}}
}

var fiveLambda = []float64{.3, 2, 0, .7, 4}

// labels gives d labels of a loss.
func labels(loss Loss, d learn.Data) learn.Data {
	for i, y := range d.Y {
		if loss == Poisson {
			d.Y[i] = math.Round(math.Exp(math.Abs(y)/2)*2) / 2
		}
	}
	return d
}

func TestContract(t *testing.T) {
	for _, loss := range []Loss{Squared, Logistic, Poisson} {
		for _, intercept := range []bool{false, true} {
			for _, some := range []bool{false, true} {
				l := &GLM{Loss: loss, Intercept: intercept}
				n, hyper := 3, []float64{.8}
				if some {
					l.Penalties, n, hyper = fivePenalties(), 7, fiveLambda
				}
				cases := []learntest.Case{{Name: "rows", Data: labels(loss, casetest.NoisyClasses(1, 30, n))}, {Name: "more rows", Data: labels(loss, casetest.NoisyClasses(2, 71, n))}}
				if !some {
					cases = append(cases, learntest.Case{Name: "one feature", Data: labels(loss, casetest.NoisyClasses(3, 12, 1))},
						learntest.Case{Name: "more features", Data: labels(loss, casetest.NoisyClasses(4, 9, 14))})
				}
				if intercept && !some && loss == Logistic && !testing.Short() { // all losses sum the rows alike
					cases = append(cases, learntest.Case{Name: "two blocks of rows", Data: labels(loss, casetest.NoisyClasses(5, blockRows(64)+40, 63))})
				}
				for i := range cases {
					if c := &cases[i]; loss != Logistic {
						c.Data = labels(loss, casetest.RandomData(uint64(i), len(c.Data.Y), c.Data.X.(*mat.Dense).RawMatrix().Cols, false))
					}
					cases[i].Hyper, cases[i].Residual, cases[i].ClassLabels = hyper, gradientResidual(l), loss == Logistic
				}
				casetest.Contract(t, l.New, cases...)
			}
		}
	}
}

// The solution and its derivatives equal values computed with 40 digits by testdata/golden.py.
func TestGolden(t *testing.T) {
	file, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Loss                                              Loss
		X, VJPX                                           [][]float64
		Roots                                             [][][]float64
		Y, Weights, Lambda, Theta, Cotangent, VJPY, Hyper []float64
	}
	numtest.OK(t, json.Unmarshal(file, &cases))
	if len(cases) != 3 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		l := &GLM{Loss: c.Loss, Intercept: true}
		for _, r := range c.Roots {
			l.Penalties = append(l.Penalties, Penalty{Root: numtest.Matrix(r)})
		}
		d := learn.Data{X: numtest.Matrix(c.X), Y: c.Y, Weights: c.Weights}
		theta, g := make([]float64, len(c.Theta)), casetest.NewGrad(d, len(c.Lambda))
		numtest.OK(t, l.Load(d), l.Fit(theta, c.Lambda), l.VJP(nil, g, c.Cotangent))
		numtest.NearAll(t, "θ", theta, c.Theta, 1e-13, 0)
		numtest.NearAll(t, "λ", g.Hyper, c.Hyper, 1e-12, 0)
		numtest.NearAll(t, "y", g.Y, c.VJPY, 1e-12, 0)
		numtest.NearAll(t, "X", g.X.RawMatrix().Data, numtest.Matrix(c.VJPX).RawMatrix().Data, 1e-12, 0)
	}
}

// Without Penalties, the GLM equals an elastic net at λ2 = λ/N.
func TestRidge(t *testing.T) {
	d := casetest.RandomData(5, 40, 6, false)
	var l GLM
	var e linear.ElasticNet
	got, want := make([]float64, 6), make([]float64, 6)
	numtest.OK(t, l.Load(d), l.Fit(got, []float64{3}), e.Load(d), e.Fit(want, []float64{0, 3. / 40}))
	numtest.NearAll(t, "θ", got, want, 1e-12, 0)
}

// Differences penalises the differences of the given order, so polynomials of lower degree cost
// nothing.
func TestDifferences(t *testing.T) {
	const count = 6
	for order := 1; order < count; order++ {
		s, v, powers := Differences(2, count, order), root(4, count, 1).RawMatrix().Data, make([]float64, count)
		want := append([]float64{}, v...)
		for k := range order {
			for i := range want[:count-1-k] {
				want[i] = want[i+1] - want[i]
			}
		}
		x := mat.NewVecDense(count, v)
		numtest.NearAll(t, "form", []float64{mat.Inner(x, s.S, x)}, []float64{floats.Dot(want[:count-order], want[:count-order])}, 1e-12, 0)
		for i := range powers {
			powers[i] = math.Pow(float64(i), float64(order-1))
		}
		p := mat.NewVecDense(count, powers)
		if form := mat.Inner(p, s.S, p); s.First != 2 || math.Abs(form) > 1e-6 {
			t.Errorf("order %d: first %d, %v of a polynomial", order, s.First, form)
		}
	}
}

// With an intercept, a large constant in the features costs no digits.
func TestLargeConstant(t *testing.T) {
	for _, loss := range []Loss{Squared, Logistic, Poisson} {
		d := labels(loss, casetest.NoisyClasses(6, 50, 4))
		far := casetest.CloneData(d)
		for i := range 50 {
			floats.AddConst(0x1p20, far.X.(*mat.Dense).RawRowView(i))
			floats.AddConst(-0x1p20, far.X.(*mat.Dense).RawRowView(i))
			copy(d.X.(*mat.Dense).RawRowView(i), far.X.(*mat.Dense).RawRowView(i)) // rounded alike
			floats.AddConst(0x1p20, far.X.(*mat.Dense).RawRowView(i))
		}
		l := &GLM{Loss: loss, Intercept: true}
		near, moved := make([]float64, 5), make([]float64, 5)
		numtest.OK(t, l.Load(d), l.Fit(near, []float64{.5}), l.Load(far), l.Fit(moved, []float64{.5}))
		numtest.NearAll(t, "β", moved[:4], near[:4], 1e-9, 0)
	}
}

// Fit returns ErrIllPosed in any units if the problem has no unique solution.
func TestIllPosed(t *testing.T) {
	for _, unit := range []float64{1e-6, 1, 1e6} {
		d := casetest.RandomData(7, 30, 4, true)
		x := d.X.(*mat.Dense)
		for i := range 30 {
			x.Set(i, 3, 2*x.At(i, 1)-x.At(i, 0))
			if d.Y[i] < 0 == (x.At(i, 2) > 0) {
				x.Set(i, 2, -x.At(i, 2)) // separates
			}
		}
		x.Scale(unit, x)
		ridge := []Penalty{Ridge(0, 1)}
		for name, c := range map[string]struct {
			l      GLM
			lambda float64
			fails  bool
		}{
			"dependent":           {GLM{Penalties: ridge}, 0, true},
			"separated":           {GLM{Loss: Logistic, Penalties: []Penalty{{S: mat.NewDiagDense(4, []float64{1, 1, 0, 1})}}}, 1, true},
			"dependent, one kept": {GLM{Penalties: []Penalty{Ridge(0, 2)}}, 1e-3, false},
			"separated, kept":     {GLM{Loss: Logistic}, 1e-3, false},
		} {
			err := errors.Join(c.l.Load(d), c.l.Fit(make([]float64, 4), []float64{c.lambda * unit * unit}))
			if errors.Is(err, qpdiff.ErrIllPosed) != c.fails || err != nil != c.fails {
				t.Errorf("%s in unit %g: %v", name, unit, err)
			}
		}
	}
	// No minimum exists because the unpenalised feature 1 occurs only in rows of count 0 or of one
	// class.
	part := learn.Data{X: mat.NewDense(9, 2, []float64{1, 0, -2, 0, 3, 0, -4, 0, 5, 0, -1, 0, 2, 1, 1, 1, 0, 1}), Y: []float64{3, 1, 5, 0, 9, 2, 0, 0, 0}}
	for _, loss := range []Loss{Poisson, Logistic} {
		for i := range part.Y[:6] {
			if loss == Logistic {
				part.Y[i] = []float64{1, -1, 1, 1, -1, -1}[i]
			}
		}
		for i := 6; i < 9 && loss == Logistic; i++ {
			part.Y[i] = -1
		}
		l := GLM{Loss: loss, Penalties: []Penalty{Ridge(0, 1)}}
		if err := errors.Join(l.Load(part), l.Fit(make([]float64, 2), []float64{1})); !errors.Is(err, qpdiff.ErrIllPosed) {
			t.Errorf("loss %d, no minimum in some rows: %v", loss, err)
		}
	}
	zero := learn.Data{X: mat.NewDense(3, 1, []float64{1, 2, 3}), Y: make([]float64, 3)}
	l := GLM{Loss: Poisson, Intercept: true}
	if err := errors.Join(l.Load(zero), l.Fit(make([]float64, 2), []float64{1})); !errors.Is(err, qpdiff.ErrIllPosed) {
		t.Error(err)
	}
}

// The solution is 0 in any order of the examples if each example has an opposite. The gradient then
// consists of rounding.
func TestContradictingExamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 2))
	for trial := range 40 {
		rows, n := 6+rng.IntN(30), 1+rng.IntN(40)
		d := casetest.ClassData(rng.Uint64(), 2*rows, n)
		order := rng.Perm(2 * rows)
		for i := range rows {
			a, b := order[i], order[rows+i]
			d.Dense().SetRow(b, d.Dense().RawRowView(a))
			d.Y[a], d.Y[b] = 1, -1
		}
		hyper := []float64{math.Pow(10, 8*rng.Float64()-8)}
		for _, l := range []learn.Learner{&GLM{Loss: Logistic, Intercept: true}, &Multinomial{Classes: 2, Intercept: true}} {
			e := casetest.CloneData(d)
			if _, joint := l.(*Multinomial); joint {
				for i, y := range e.Y {
					e.Y[i] = (y + 1) / 2
				}
			}
			p, _ := l.Dims(n)
			theta := make([]float64, p)
			if err := errors.Join(l.Load(e), l.Fit(theta, hyper)); err != nil {
				t.Errorf("trial %d, %d × %d, %T at %v: %v", trial, 2*rows, n, l, hyper, err)
			}
			if most := dense.Largest(theta); most > 1e-7 {
				t.Errorf("trial %d, %d × %d, %T at %v: θ is up to %v", trial, 2*rows, n, l, hyper, most)
			}
		}
	}
}

// Rates near 1 have a minimiser near 0, at which exponentials round to 1. If a row with a weight far
// above the others has the rate 1, all steps near the minimiser consist of rounding.
func TestRatesNearOne(t *testing.T) {
	for _, heavy := range []float64{1e12, 1e15, 1e18, 1e21} {
		l, theta := &GLM{Loss: Poisson}, make([]float64, 1)
		d := learn.Data{X: mat.NewDense(3, 1, []float64{1, 1, 1}), Y: []float64{1, 7, 0}, Weights: []float64{heavy, 1, 2}}
		numtest.OK(t, l.Load(d), l.Fit(theta, []float64{1}))
		if want := 4 / heavy; math.Abs(theta[0]-want) > 1e-15 {
			t.Errorf("weight %g: θ %v, want %v", heavy, theta[0], want)
		}
	}
}

// If only the intercept overflows, Fit returns an error and leaves θ unchanged.
func TestInterceptOverflows(t *testing.T) {
	d := learn.Data{X: mat.NewDense(3, 1, []float64{1e10, 1e10 + 1, 1e10 + 2}), Y: []float64{-1e307, 0, 1e307}}
	l, theta := &GLM{Intercept: true}, []float64{3, 4}
	numtest.OK(t, l.Load(d))
	if err := l.Fit(theta, []float64{1e-3}); !errors.Is(err, qpdiff.ErrNotFinite) || theta[0] != 3 || theta[1] != 4 {
		t.Errorf("error %v, θ %v", err, theta)
	}
}

// A parameter that only rows of tiny weight determine is as exact as the others. At this parameter,
// the last steps are tiny compared with the parameters of rows with large weights.
func TestTinyWeights(t *testing.T) {
	const rows = 12
	d := learn.Data{X: mat.NewDense(rows, 2, nil), Y: make([]float64, rows), Weights: make([]float64, rows)}
	for i := range rows {
		d.Y[i], d.Weights[i] = float64(i%3+1), 1e20
		d.Dense().SetRow(i, []float64{1, 0})
		if i < rows/2 {
			d.Y[i], d.Weights[i] = float64(20+60*(i%2)), 1
			d.Dense().SetRow(i, []float64{0, 1})
		}
	}
	l, theta := &GLM{Loss: Poisson, Penalties: []Penalty{{S: mat.NewDiagDense(2, []float64{1, 0})}}}, make([]float64, 2)
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{1}))
	numtest.NearAll(t, "θ", theta, []float64{math.Log(2), math.Log(50)}, 1e-14, 0)
	if r, err := l.Residual(); !(r < 1e-12) || err != nil {
		t.Errorf("residual %v, %v", r, err)
	}
}

// countingContext counts the checks of a context that does not end.
type countingContext struct {
	context.Context
	checks int
}

func (c *countingContext) Done() <-chan struct{} { return make(chan struct{}) }

func (c *countingContext) Err() error {
	c.checks++
	return nil
}

// Each pass over the rows checks the context: each halving of a step, and the products of NearFolds
// with the inverse Hessian.
func TestPassesCheckTheContext(t *testing.T) {
	const rows = 30
	d := casetest.RandomData(1, rows, 3, false)
	l, theta := &GLM{}, make([]float64, 3)
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{1}))
	ctx := &countingContext{Context: context.Background()}
	l.SetContext(ctx)
	if _, err := l.NearFolds(theta[:1], theta[1:2], [][]int{{0}}); err != nil || ctx.checks < rows {
		t.Errorf("NearFolds with %d rows checks the context %d times, error %v", rows, ctx.checks, err)
	}
	// Newton's first step from η = 0 leads to η = 10⁹, and its end must be below 21.
	const halvings = 26
	counts := learn.Data{X: mat.NewDense(1, 1, []float64{1}), Y: []float64{1e9}}
	p := &GLM{Loss: Poisson}
	p.SetContext(ctx)
	numtest.OK(t, p.Load(counts))
	ctx.checks = 0
	if err := p.Fit(theta[:1], []float64{1e-6}); err != nil || ctx.checks < halvings {
		t.Errorf("%d checks, error %v", ctx.checks, err)
	}
}

// The fit to labels in a tiny or huge unit is the fit in this unit, although squares of the labels overflow.
func TestUnitOfLabels(t *testing.T) {
	d := casetest.RandomData(1, 30, 3, false)
	labels := slices.Clone(d.Y)
	var want []float64
	for _, power := range []int{0, -900, -665, 665, 900} {
		for i, v := range labels {
			d.Y[i] = math.Ldexp(v, power)
		}
		l, theta := &GLM{}, make([]float64, 3)
		numtest.OK(t, l.Load(d), l.Fit(theta, []float64{1}))
		dense.ScaleBy(theta, -power)
		if power == 0 {
			want = theta
		}
		if !slices.Equal(theta, want) {
			t.Errorf("in units of 2^%d: θ %v, want %v", power, theta, want)
		}
	}
}

// Penalties and labels that cannot be used cause an error.
func TestRefusals(t *testing.T) {
	d := casetest.RandomData(8, 10, 3, false)
	for name, c := range map[string]struct {
		l    GLM
		kind error
	}{
		"neither S nor Root": {GLM{Penalties: []Penalty{{}}}, qpdiff.ErrShape},
		"both":               {GLM{Penalties: []Penalty{{S: Differences(0, 3, 2).S, Root: root(1, 1, 3)}}}, qpdiff.ErrShape},
		"few differences":    {GLM{Penalties: []Penalty{Differences(0, 3, 3)}}, qpdiff.ErrShape},
		"no difference":      {GLM{Penalties: []Penalty{Differences(0, 3, 0)}}, qpdiff.ErrShape},
		"beyond X":           {GLM{Penalties: []Penalty{Ridge(1, 3)}}, qpdiff.ErrShape},
		"before X":           {GLM{Penalties: []Penalty{Ridge(-1, 3)}}, qpdiff.ErrShape},
		"NaN":                {GLM{Penalties: []Penalty{{S: mat.NewDiagDense(1, []float64{math.NaN()})}}}, qpdiff.ErrNotFinite},
		"negative":           {GLM{Penalties: []Penalty{{S: mat.NewDiagDense(1, []float64{-1})}}}, qpdiff.ErrNonconvex},
		"loss":               {GLM{Loss: 3}, qpdiff.ErrDomain},
		"negative counts":    {GLM{Loss: Poisson}, qpdiff.ErrDomain},
		"classes":            {GLM{Loss: Logistic}, qpdiff.ErrDomain},
	} {
		if err := c.l.Load(d); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The degrees of freedom add up to the trace of the matrix that maps labels to fitted values.
func TestFreedom(t *testing.T) {
	const tol = 1e-12 // rounding
	d := casetest.RandomData(5, 30, 7, false)
	theta, freedom := make([]float64, 8), make([]float64, 8)
	l := &GLM{Penalties: fivePenalties(), Intercept: true}
	if err := l.Freedom(freedom); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Errorf("error %v before a fit", err)
	}
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{.3, 2, .1, 5, 1}), l.Freedom(freedom))
	trace := 0.0
	for i := range d.Y {
		dtheta, dy := make([]float64, 8), make([]float64, 30)
		dy[i] = 1
		numtest.OK(t, l.JVP(nil, dtheta, &learn.Grad{Y: dy}))
		trace += floats.Dot(append(append([]float64{}, d.Dense().RawRowView(i)...), 1), dtheta)
	}
	numtest.NearAll(t, "trace", []float64{floats.Sum(freedom)}, []float64{trace}, tol, 0)
	if !(trace > 2 && trace < 7) || math.Abs(freedom[6]-1) > tol || math.Abs(freedom[7]-1) > tol {
		t.Errorf("%v of trace %v: feature 6 and the intercept have no penalty", freedom, trace)
	}
	numtest.OK(t, l.Fit(theta, make([]float64, 5)), l.Freedom(freedom))
	numtest.NearAll(t, "without penalties", freedom, []float64{1, 1, 1, 1, 1, 1, 1, 1}, tol, 0)
}

// The bounds of a λ depend on its own features, the curvature of the loss and the smallest
// eigenvalue of S.
func TestHyperparametersOfPenalties(t *testing.T) {
	l := &GLM{Loss: Poisson, Penalties: []Penalty{{Name: "a", S: Ridge(0, 2).S}, Differences(2, 3, 1)}}
	m := learn.Moments{Weight: 10, Variance: 5, Mean: .5, Squares: []float64{4, 0, 1, 2, 3}}
	all := l.Hyperparameters(m)
	a, b := all[0], all[1]
	numtest.NearAll(t, "defaults", []float64{a.Default, b.Default}, []float64{.01 * 10 * .5 * 4, .01 * 10 * .5 * 2 / (4. / 3)}, 1e-12, 0)
	numtest.NearAll(t, "ranges", []float64{a.Upper / a.Lower, b.Upper / b.Lower}, []float64{1e12, 2e12}, 1e-12, 0) // eigenvalues 0, 1, 3
	if a.Name != "λ(a)" || b.Name != "λ[1]" || a.Kind != "" {
		t.Errorf("%+v", all)
	}
	l.Penalties = append(l.Penalties, Ridge(0, 1), Ridge(4, 1))
	if all := l.Hyperparameters(m); all[0].Kind == "" || all[0].Kind != all[3].Kind {
		t.Errorf("four penalties have kinds of their own: %+v", all)
	}
}
