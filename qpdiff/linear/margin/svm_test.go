package margin

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

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// svmResidual returns the violation of the optimality conditions of an SVM.
func svmResidual(d learn.Data, theta, hyper []float64) float64 {
	return marginResidual(d, theta, 1, [3]float64{}, hyper[0], hyper[1])
}

// marginResidual returns the violation of the optimality conditions for four losses with penalties.
// The weights of the exponential, truncated quadratic and logistic losses are smooth[0], smooth[1]
// and smooth[2]. Least squares give the multipliers of the elbow.
func marginResidual(d learn.Data, theta []float64, hinge float64, smooth [3]float64, l1, l2 float64) float64 {
	rows, n := d.X.Dims()
	var elbow, free []int
	g, size := make([]float64, n), make([]float64, n)
	for j, t := range theta {
		g[j] = l2*t + l1*dense.Sign(t)
		size[j] = l2*math.Abs(t) + l1
		if t != 0 || l1 == 0 {
			free = append(free, j)
		}
	}
	worst := 0.0
	for i := range rows {
		m, ms := 0.0, 1.0
		for j, t := range theta {
			m += d.Y[i] * d.X.At(i, j) * t
			ms += math.Abs(d.X.At(i, j) * t)
		}
		f := -smooth[0]*math.Exp(-m) - 2*smooth[1]*max(0, 1-m) - 2*smooth[2]/(1+math.Exp(2*m))
		switch {
		case math.Abs(m-1) < 1e-9*ms && hinge > 0:
			elbow = append(elbow, i)
			worst = max(worst, math.Abs(m-1)/ms/16)
		case m < 1:
			f -= hinge
		}
		for j := range n {
			v := f / float64(rows) * d.Y[i] * d.X.At(i, j)
			g[j] += v
			size[j] += math.Abs(v)
		}
	}
	b := new(mat.Dense)
	if len(elbow) > 0 && len(free) > 0 {
		a, r := mat.NewDense(len(free), len(elbow), nil), mat.NewDense(len(free), 1, nil)
		for k, j := range free {
			r.Set(k, 0, g[j])
			for e, i := range elbow {
				a.Set(k, e, d.Y[i]*d.X.At(i, j)/float64(rows))
			}
		}
		if len(elbow) > len(free) {
			return math.Inf(1)
		}
		if err := b.Solve(a, r); err != nil {
			return math.Inf(1)
		}
		for e, i := range elbow {
			v := b.At(e, 0)
			worst = max(worst, -v, v-hinge)
			for j := range n {
				t := v / float64(rows) * d.Y[i] * d.X.At(i, j)
				g[j] -= t
				size[j] += math.Abs(t)
			}
		}
	}
	for j, t := range theta {
		v := math.Abs(g[j])
		if t == 0 {
			v = max(0, v-l1)
		}
		if size[j] > 0 {
			worst = max(worst, v/size[j])
		}
	}
	return worst
}

func TestSVMContract(t *testing.T) {
	var cases []learntest.Case
	add := func(name string, seed uint64, rows, n int, hyper ...float64) {
		cases = append(cases, learntest.Case{Name: name, Data: casetest.ClassData(seed, rows, n), Hyper: hyper,
			Residual: svmResidual, ClassLabels: true, Step: 1e-4})
	}
	add("28x10", 1, 28, 10, 1e-2, 1e-2)
	add("10x20", 2, 10, 20, .02, .1)
	add("40x2 no l1", 3, 40, 2, 0, .3)
	add("200x3", 4, 200, 3, .01, .02)
	add("6x1", 5, 6, 1, .02, .5)
	add("2x3", 7, 2, 3, .02, .5)
	add("60x8 small penalties", 8, 60, 8, 1e-2, 1e-3)
	add("80x70", 9, 80, 70, .005, .01)
	casetest.Contract(t, func() learn.Learner { return new(SVM) }, cases...)
}

func TestSVMGolden(t *testing.T) {
	var golden struct {
		Cases []struct {
			Lambda1, Lambda2 float64
			X                [][]float64
			Y, Theta         []float64
			Elbow, Support   []int
			MarginViolators  []int     `json:"margin_violators"`
			ElbowMultipliers []float64 `json:"elbow_multipliers_times_N"`
			DLambda1         []float64 `json:"dtheta_dlambda1"`
			DLambda2         []float64 `json:"dtheta_dlambda2"`
		}
	}
	numtest.ReadGolden(t, "e1_svm_l1l2.json", &golden)
	if len(golden.Cases) != 6 {
		t.Fatalf("%d cases", len(golden.Cases))
	}
	for i, c := range golden.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var l SVM
			theta := numtest.NaNs(len(c.Theta), 0)
			numtest.OK(t, l.Load(learn.Data{X: numtest.Matrix(c.X), Y: c.Y}), l.Fit(theta, []float64{c.Lambda1, c.Lambda2}))
			numtest.NearAll(t, "theta", theta, c.Theta, 1e-11, 0)
			var violators, support []int
			for i, s := range l.p.side {
				if s < 0 {
					violators = append(violators, i)
				}
			}
			for j, v := range theta {
				if v != 0 {
					support = append(support, j)
				}
			}
			if d := cmp.Diff([][]int{c.Elbow, c.MarginViolators, c.Support}, [][]int{l.p.elbow, violators, support}); d != "" {
				t.Errorf("elbow, violators, support: %s", d)
			}
			b := slices.Clone(l.p.mult)
			for i := range b {
				b[i] *= float64(len(c.Y))
			}
			numtest.NearAll(t, "multipliers", b, c.ElbowMultipliers, 1e-10, 0)
			for k, want := range [][]float64{c.DLambda1, c.DLambda2} {
				d := &learn.Grad{Hyper: make([]float64, 2)}
				d.Hyper[k] = 1
				got := numtest.NaNs(len(want), 0)
				numtest.OK(t, l.JVP(nil, got, d))
				numtest.NearAll(t, fmt.Sprint("derivative in hyper ", k), got, want, 1e-10, 1e-2)
			}
		})
	}
}

// An SVM has the solution and derivatives of the quadratic program of supplement A.
func TestSVMAsQP(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for seed, hyper := range [][]float64{{.02, .3}, {.05, .05}, {.01, 1}, {.1, .2}} {
		const rows, n = 24, 4
		d := casetest.ClassData(uint64(seed), rows, n)
		size := 2*n + rows
		q := qpdiff.QP{Q: mat.NewDense(size, size, nil), P: make([]float64, size), G: mat.NewDense(size+rows, size, nil), H: make([]float64, size+rows)}
		for j := range n {
			q.P[j], q.P[n+j] = hyper[0], hyper[0]
			q.Q.Set(j, j, hyper[1])
			q.Q.Set(n+j, n+j, hyper[1])
			q.Q.Set(j, n+j, -hyper[1])
			q.Q.Set(n+j, j, -hyper[1])
		}
		for k := range size {
			q.G.Set(k, k, -1)
		}
		for i, y := range d.Y {
			q.P[2*n+i] = 1. / rows
			q.H[size+i] = -1
			q.G.Set(size+i, 2*n+i, -1)
			for j := range n {
				q.G.Set(size+i, j, -y*d.X.At(i, j))
				q.G.Set(size+i, n+j, y*d.X.At(i, j))
			}
		}
		var s qpdiff.Solution
		numtest.OK(t, s.Solve(&q))
		var l SVM
		theta := make([]float64, n)
		numtest.OK(t, l.Load(d), l.Fit(theta, hyper))
		fromQP := make([]float64, n)
		v, dz := numtest.Normals(rng, n), make([]float64, size)
		for j := range n {
			fromQP[j] = s.Z[j] - s.Z[n+j]
			dz[j], dz[n+j] = v[j], -v[j]
		}
		numtest.NearAll(t, "theta", theta, fromQP, 1e-11, 0)
		qg := &qpdiff.QPGrad{Q: mat.NewDense(size, size, nil), P: make([]float64, size), G: mat.NewDense(size+rows, size, nil)}
		numtest.OK(t, s.VJP(nil, qg, dz, nil, nil))
		want := &learn.Grad{Hyper: make([]float64, 2), X: mat.NewDense(rows, n, nil)}
		for j := range 2 * n {
			want.Hyper[0] += qg.P[j]
			for k := range 2 * n {
				want.Hyper[1] += qg.Q.At(j, k) * q.Q.At(j, k) / hyper[1]
			}
		}
		for i, y := range d.Y {
			for j := range n {
				want.X.Set(i, j, y*(qg.G.At(size+i, n+j)-qg.G.At(size+i, j)))
			}
		}
		g := &learn.Grad{Hyper: make([]float64, 2), X: mat.NewDense(rows, n, nil)}
		numtest.OK(t, l.VJP(nil, g, v))
		numtest.NearAll(t, "hyper", g.Hyper, want.Hyper, 1e-10, 1)
		numtest.NearAll(t, "X", g.X.RawMatrix().Data, want.X.RawMatrix().Data, 1e-10, 1)
	}
}

// An SVM with one feature equals the solution by hand. θ stays 1/2 for a range of penalties because
// the slope of the loss jumps there.
func TestSVMByHand(t *testing.T) {
	d := learn.Data{X: mat.NewDense(2, 1, []float64{1, -2}), Y: []float64{1, -1}}
	for _, c := range []struct{ l1, l2, theta, d1, d2 float64 }{
		// Both rows violate the margin, so λ2θ + λ1 = (1+2)/2.
		{0, 4, .375, -.25, -.375 / 4},
		{.5, 4, .25, -.25, -.25 / 4},
		// The second row is on the elbow, because 0 < λ2/2 + λ1 − 1/2 < 1.
		{.25, 1, .5, 0, 0},
		// The second row is beyond the margin, so λ2θ + λ1 = 1/2.
		{0, .75, 2. / 3, -1 / .75, -2. / 3 / .75},
		// The first row is on the elbow.
		{.1, .1, 1, 0, 0},
		// The ℓ₁ penalty holds θ at 0.
		{2, 1, 0, 0, 0},
	} {
		var l SVM
		theta, g := []float64{math.NaN()}, &learn.Grad{Hyper: make([]float64, 2)}
		numtest.OK(t, l.Load(d), l.Fit(theta, []float64{c.l1, c.l2}), l.VJP(nil, g, []float64{1}))
		numtest.NearAll(t, fmt.Sprint("theta at ", c.l1, c.l2), theta, []float64{c.theta}, 4*dense.Eps, 1)
		numtest.NearAll(t, fmt.Sprint("derivatives at ", c.l1, c.l2), g.Hyper, []float64{c.d1, c.d2}, 8*dense.Eps, 1)
	}
}

// If multipliers are not unique, JVP is one-sided along the penalties and returns an error along X.
func TestSVMWithoutUniqueMultipliers(t *testing.T) {
	d := learn.Data{X: mat.NewDense(3, 2, []float64{1, 0, 0, -1, .5, .5}), Y: []float64{1, -1, 1}}
	var l, probe SVM
	theta, got := make([]float64, 2), make([]float64, 2)
	numtest.OK(t, l.Load(d), probe.Load(d), l.Fit(theta, []float64{0, .3}))
	for _, u := range [][]float64{{0, 1}, {0, -1}, {1, 0}, {1, -2}} {
		numtest.OK(t, l.JVP(nil, got, &learn.Grad{Hyper: u}))
		for j := range theta {
			want := numtest.ForwardDifference(func(h float64) float64 {
				at := make([]float64, 2)
				numtest.OK(t, probe.Fit(at, []float64{h * u[0], .3 + h*u[1]}))
				return at[j]
			}, 1e-5)
			if math.Abs(got[j]-want) > 1e-6 {
				t.Errorf("along %v: derivative %v in coordinate %d, difference quotient %v", u, got[j], j, want)
			}
		}
	}
	if err := l.JVP(nil, got, &learn.Grad{X: d.Dense()}); !casetest.Refuses(err, l.weak, "X") {
		t.Errorf("X where multipliers are not unique: %v", err)
	}
}

func TestMarginVerdicts(t *testing.T) {
	data := func(x, y float64, labels ...float64) learn.Data {
		return learn.Data{X: mat.NewDense(2, 1, []float64{x, y}), Y: labels}
	}
	v := casetest.Residual(nil).Verdict
	v(t, "label 0", new(SVM), data(1, 2, 0, 1), qpdiff.ErrDomain, "", 1, 1)
	v(t, "one class", new(SVM), data(1, 2, 1, 1), qpdiff.ErrIllPosed, "", 1, 1)
	v(t, "the other class", new(SVM), data(1, 2, -1, -1), qpdiff.ErrIllPosed, "", 1, 1)
	v(t, "overflow", new(SVM), data(1, 1e200, 1, -1), qpdiff.ErrNotFinite, "", 1, 1)
	v(t, "λ2 = 0", new(SVM), data(1, 2, -1, 1), qpdiff.ErrDomain, "", 1, 0)
	v(t, "lambda = 0", new(LearnedLoss), data(1, 2, -1, 1), qpdiff.ErrDomain, "", 0, 1, .5, 0, 0)
}

// svmGap returns the duality gap of the fit; the objective at θ = 0 is 1.
func svmGap(l *SVM, d learn.Data, theta []float64) float64 {
	p := &l.p
	primal, dual := p.objective(p.theta, p.m), 0.0
	c := make([]float64, p.n)
	e := 0
	for i, side := range p.side {
		a := 0.0
		switch {
		case side < 0:
			a = p.hinge * p.Copies[i]
		case side == 0:
			a = min(max(p.mult[e], 0), p.hinge*p.Copies[i])
			e++
		}
		dual += a
		dense.Axpy(a, p.z[i*p.n:(i+1)*p.n], c)
	}
	for _, v := range c {
		v = max(0, math.Abs(v)-p.l1)
		dual -= v * v / (2 * p.l2)
	}
	return primal - dual
}

// Along paths of hyperparameters and data, warm fits are optimal and equal cold fits.
func TestMarginLearnersOptimalOnPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := casetest.DrawClasses(t)
		_, n := d.X.Dims()
		var l learn.Tunable = new(SVM)
		if rapid.Bool().Draw(t, "loss") {
			l = new(LearnedLoss)
		}
		theta, cold := make([]float64, n), make([]float64, n)
		numtest.OK(t, l.Load(d))
		for range 4 {
			hyper := []float64{casetest.DrawPenalty(t, "λ1"), math.Pow(10, rapid.Float64Range(-4, 1).Draw(t, "λ2"))}
			if _, nh := l.Dims(n); nh == 5 {
				hyper = nil
				for range 4 {
					hyper = append(hyper, max(0, rapid.Float64Range(-.5, 1).Draw(t, "alpha")))
				}
				hyper = append(hyper, math.Pow(10, rapid.Float64Range(-3, 1).Draw(t, "lambda")))
			}
			numtest.OK(t, l.Fit(theta, hyper))
			if rapid.Bool().Draw(t, "move") {
				d.Dense().Set(0, 0, float64(rapid.IntRange(-200, 200).Draw(t, "x00"))/64)
				numtest.OK(t, l.Load(d))
			}
			fresh := l.New()
			numtest.OK(t, fresh.Load(d), fresh.Fit(cold, hyper), l.Fit(theta, hyper))
			for j := range theta {
				if math.Abs(theta[j]-cold[j]) > 1e-9*(1+math.Abs(cold[j])) {
					t.Fatalf("warm %v, cold %v", theta, cold)
				}
			}
			switch l := l.(type) {
			case *SVM:
				if gap := svmGap(l, d, theta); !(math.Abs(gap) <= 1e-12) {
					t.Fatalf("duality gap %g at %v", gap, hyper)
				}
			case *LearnedLoss:
				for j, v := range l.p.subgradients() {
					if math.Abs(v) > 1e-11*(1+l.p.gradSize(j)) {
						t.Fatalf("gradient %v in coordinate %d at %v", v, j, hyper)
					}
				}
			}
		}
	})
}

// subgradients returns the gradient of the objective, including the multipliers of the elbow.
func (p *marginSolver) subgradients() []float64 {
	p.gradient(&p.marginProblem, p.grad, p.theta, p.m)
	g := slices.Clone(p.grad)
	if !p.curved {
		dense.Axpy(p.l2, p.theta, g)
	}
	for e, i := range p.elbow {
		b := min(max(p.mult[e], 0), p.hinge*p.Copies[i])
		dense.Axpy(-b, p.z[i*p.n:(i+1)*p.n], g)
	}
	return g
}

// A warm fit is optimal even if the normals of two elbow rows become equal on the new support.
func TestSVMElbowThatLosesARow(t *testing.T) {
	d := learn.Data{X: mat.NewDense(2, 4, []float64{0, 0, 1, 2, 0, 1, -1, -2}), Y: []float64{1, -1}}
	var l SVM
	theta := make([]float64, 4)
	numtest.OK(t, l.Load(d))
	for _, hyper := range [][]float64{{.00562341325190349, 1.0022511482929128}, {.00562341325190349, 1.0022511482929128}, {.1, 1.1547819846894583}} {
		numtest.OK(t, l.Fit(theta, hyper))
		if gap := svmGap(&l, d, theta); !(math.Abs(gap) <= 1e-14) {
			t.Errorf("duality gap %g at %v", gap, hyper)
		}
	}
}

// A VJP in the hyperparameters is exactly 0 if and only if dtheta is a linear combination of elbow
// rows.
func TestElbowHoldsCombinations(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	held := 0
	for range 200 {
		const rows, n = 12, 4
		d := learn.Data{X: mat.NewDense(rows, n, numtest.Normals(rng, rows*n)), Y: make([]float64, rows)}
		for i := range d.Y {
			d.Y[i] = 2*float64(i%2) - 1
		}
		unit := math.Ldexp(1, 200*(rng.IntN(3)-1))
		x := d.Dense()
		x.Scale(unit, x)
		theta := make([]float64, n)
		for curved, l := range []learn.KinkedLearner{new(SVM), new(LearnedLoss)} {
			hyper := []float64{.02 * unit, .05 * unit * unit}
			if curved == 1 {
				hyper = []float64{.5, .1, .1, .1, .05 * unit * unit}
			}
			if err := errors.Join(l.Load(d), l.Fit(theta, hyper)); err != nil {
				t.Fatal(err)
			}
			elbow, err := l.(interface{ Elbow([]int) ([]int, error) }).Elbow(nil)
			if err != nil || len(elbow) == 0 || len(elbow) >= n-1 || slices.Contains(theta, 0) {
				continue
			}
			dtheta := make([]float64, n)
			for _, i := range elbow {
				floats.AddScaled(dtheta, rng.NormFloat64(), x.RawRowView(i))
			}
			for _, off := range []float64{0, 1e-10} {
				dtheta[0] += off * floats.Norm(dtheta, 2)
				g := &learn.Grad{Hyper: make([]float64, len(hyper))}
				if err := l.VJP(nil, g, dtheta); err != nil {
					continue
				}
				if zero := slices.Equal(g.Hyper, make([]float64, len(hyper))); zero != (off == 0) {
					t.Errorf("%T, unit %v, elbow %v, %v beside a combination: %v", l, unit, elbow, off, g.Hyper)
				}
				held++
			}
		}
	}
	if held < 100 {
		t.Errorf("%d products: the test needs more", held)
	}
}
