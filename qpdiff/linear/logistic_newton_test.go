package linear

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// evaluateNear is right to four roundings at both ends of each of its branches.
func TestLogisticEvaluateNear(t *testing.T) {
	serial.Test(t)
	const rows = 16
	d := learn.Data{X: mat.NewDense(rows, 1, nil), Y: make([]float64, rows)}
	for i := range rows {
		d.Dense().Set(i, 0, 1)
		d.Y[i] = 1 - float64(i)/32
	}
	for _, r := range []float64{1e-9, dense.LogisticTaylor / 10, dense.LogisticTaylor, dense.LogisticTaylor * (1 + 1e-9), dense.LogisticShortSeries, dense.LogisticShortSeries * (1 + 1e-9), dense.LogisticSeries} {
		for _, theta := range []float64{-6, -.7, 0, .4, 3, 30} {
			for _, step := range []float64{r, -r} {
				var l Logistic
				numtest.OK(t, l.Load(d))
				s0, w0 := make([]float64, rows), make([]float64, rows)
				exact := func(m, dm float64) (s, w *big.Float) {
					// e = exp(m)·exp(dm), s = 1/(1+e), w = e·s², from the m of s0.
					one := numtest.Precise(1)
					e := numtest.PreciseExpm1(m / 32)
					e.Add(e, one)
					for range 5 {
						e.Mul(e, e)
					}
					q := numtest.PreciseExpm1(dm)
					e.Mul(e, q.Add(q, one))
					s = numtest.Precise(1)
					s.Quo(s, one.Add(one, e))
					w = numtest.Precise(0)
					w.Mul(s, s)
					w.Mul(w, e)
					return s, w
				}
				for i := range rows {
					s, w := exact(theta*d.Y[i], 0)
					s0[i], _ = s.Float64()
					w0[i], _ = w.Float64()
				}
				l.c, l.step[0] = 1, step
				l.evaluateNear(s0, w0, []float64{theta + step, 0, 0}, r)
				for i := range rows {
					s, w := exact(theta*d.Y[i], step*d.Y[i])
					if e, f := numtest.PreciseRelErr(l.s[i], s), numtest.PreciseRelErr(l.w[i], w); !(e <= 4*dense.Eps && f <= 4*dense.Eps) {
						t.Fatalf("reach %g, θ = %g, step %g, label %g: s is off by %.2f, w by %.2f roundings", r, theta, step, d.Y[i], e/dense.Eps, f/dense.Eps)
					}
				}
			}
		}
	}
}

// The line search ends at the full step, at a step that surely descends, or where the slope has at
// least halved.
func TestLogisticLineSearch(t *testing.T) {
	serial.Test(t)
	if bound := func(r float64) float64 { return (math.Exp(r) - r - 1) / (r * r) }; !(bound(logisticSafeStep) < 1) || bound(1.25*logisticSafeStep) < 1 {
		t.Errorf("a step of length %v may ascend, or a longer one descends for certain", logisticSafeStep)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	full, short, slow := 0, 0, 0
	for range 3000 {
		n := 1 + rng.IntN(4)
		d := casetest.RandomData(rng.Uint64(), 3+rng.IntN(30), n, true)
		var l Logistic
		numtest.OK(t, l.Load(d))
		l.c = math.Pow(10, 6*rng.Float64()-2)
		for j, v := range numtest.Normals(rng, n) {
			l.theta[j] = v * math.Pow(10, 3*rng.Float64())
		}
		l.evaluate(l.theta)
		if _, err := l.newtonStep(); err != nil {
			t.Fatal(err)
		}
		r := l.stepLength()
		before := dense.Dot(l.g, l.step)
		l.lineSearch(r)
		length := (l.cand[0] - l.theta[0]) / l.step[0]
		switch slope := dense.Dot(l.g, l.step) / before; {
		case length*r <= logisticSafeStep*(1+1e-9):
			short++
		case !(slope >= 0):
			t.Errorf("slope %v with length %v of %v", slope, length, r)
		case math.Abs(length-1) < 1e-9:
			full++
		case slope > .5*(1+1e-9):
			t.Errorf("slope %v of that at the start, with length %v of %v", slope, length, r)
		case slope > .25:
			slow++
		}
	}
	if full == 0 || short == 0 || slow == 0 {
		t.Errorf("%d full, %d short, %d at a slope above ¼ of that at the start", full, short, slow)
	}
}

// A fit starts again at θ = 0 if Newton's method is slow from its start.
func TestLogisticGivesUpASlowStart(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(5, 9))
	slow := 0
	starts := numtest.Long(2000)
	for range starts {
		n := 1 + rng.IntN(5)
		d := casetest.RandomData(rng.Uint64(), 2+rng.IntN(40), n, true)
		d.Dense().Scale(100, d.X)
		hyper, start := []float64{math.Pow(10, 2+3*rng.Float64())}, numtest.Normals(rng, n)
		for j := range start {
			start[j] *= 1e4
		}
		var l, cold Logistic
		theta, want := make([]float64, n), make([]float64, n)
		numtest.OK(t, l.Load(d), l.Fit(theta, hyper), cold.Load(d), cold.Fit(want, hyper))
		startAt(&l, start)
		if err := l.minimise(logisticMaxIter); err == nil && l.iter <= 25 {
			continue
		}
		slow++
		startAt(&l, start)
		if err := l.Fit(theta, hyper); err != nil || !numtest.SameBits(theta, want) || l.iter != cold.iter {
			t.Errorf("%v after %d steps, from 0 %v after %d, error %v", theta, l.iter, want, cold.iter, err)
		}
	}
	if slow == 0 || slow > starts/2 {
		t.Errorf("%d of %d starts are slow", slow, starts)
	}
}

// SolveHessian maps a vector orthogonal to all rows to itself or returns ErrIllPosed.
func TestLogisticSingular(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(4, 2))
	refused, answered := 0, 0
	for range 2000 {
		n := 2 + rng.IntN(6)
		d := casetest.RandomData(rng.Uint64(), n-1, n, true)
		null := numtest.Direction(rng, n)
		var q mat.QR
		q.Factorize(d.X.T())
		var full mat.Dense
		q.QTo(&full)
		// Every row occurs with both labels, so that nothing separates the classes.
		both := learn.Data{X: mat.NewDense(2*n-2, n, nil), Y: make([]float64, 2*n-2)}
		for i := range both.Y {
			both.Dense().SetRow(i, d.Dense().RawRowView(i/2))
			both.Y[i] = float64(2 - 3*(i%2))
		}
		for j := range null {
			null[j] = full.At(j, n-1)
		}
		var l Logistic
		theta := make([]float64, n)
		err := errors.Join(l.Load(both), l.Fit(theta, []float64{math.Pow(10, 8+10*rng.Float64())}))
		got := make([]float64, n)
		if err == nil {
			err = l.SolveHessian(nil, got, null)
		}
		switch {
		case err == nil:
			answered++
			// An accepted Hessian has eps·cond below 1/dense.ComplementarityTol.
			if e := numtest.RelErr(got, null); !(e <= 4./dense.ComplementarityTol) {
				t.Fatalf("C = %g: H⁻¹ is off by %.3g on the null space", l.c, e)
			}
		case errors.Is(err, qpdiff.ErrIllPosed):
			refused++
			if l.c < 1e11 {
				t.Fatalf("C = %g is refused: %v", l.c, err)
			}
		default:
			t.Fatal(err)
		}
	}
	if refused < 20 || answered < 200 {
		t.Errorf("%d refused, %d answered", refused, answered)
	}
}

// A fit finds its solution even if the Hessian at θ = 0 is singular to working precision. At the
// solution, the Hessian is regular because the huge rows have no weight there.
func TestLogisticSingularOnTheWay(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(7, 3))
	singular := 0
	for k := range 1000 {
		n := 2 + rng.IntN(5)
		d := casetest.RandomData(rng.Uint64(), 2*n, n, true)
		for i := range 1 + rng.IntN(n-1) {
			row := d.Dense().RawRowView(2 * i)
			scale := math.Pow(10, 7+3*rng.Float64())
			for j := range row {
				row[j] *= scale
			}
		}
		c := []float64{math.Pow(10, 2*rng.Float64()-1)}
		var l Logistic
		theta := make([]float64, n)
		numtest.OK(t, l.Load(d))
		l.c = c[0]
		l.evaluate(make([]float64, l.k))
		if !l.factor(nil) {
			singular++
		}
		if err := l.Fit(theta, c); err != nil {
			t.Errorf("problem %d, n = %d: %v", k, n, err)
			continue
		}
		warm := make([]float64, n)
		for j, v := range theta {
			warm[j] = 1.001 * v
		}
		startAt(&l, warm)
		if err := l.Fit(warm, c); err != nil || numtest.RelErr(warm, theta) > 1e-9 {
			t.Errorf("problem %d: from its solution, %v, error %v", k, numtest.RelErr(warm, theta), err)
		}
	}
	if singular < 500 {
		t.Errorf("only %d Hessians are singular at 0", singular)
	}
}

// A fit after LoadSubset starts at the solution for all rows only if this solution has the same C.
func TestLogisticStartsAtItsOwnC(t *testing.T) {
	d := casetest.RandomData(2, 40, 3, true)
	fit := func(fullC float64) ([]float64, int) {
		var full, part Logistic
		theta := make([]float64, 3)
		numtest.OK(t, full.Load(d))
		if fullC > 0 {
			numtest.OK(t, full.Fit(theta, []float64{fullC}))
		}
		numtest.OK(t, part.LoadSubset(&full, []int{3, 17}), part.Fit(theta, []float64{2}))
		return theta, part.iter
	}
	cold, steps := fit(0)
	if other, _ := fit(2.5); !numtest.SameBits(cold, other) {
		t.Error("the solution at another C changes the start")
	}
	if _, warm := fit(2); warm >= steps {
		t.Errorf("%d steps from the solution of all rows, %d from 0", warm, steps)
	}
}

// If rounding may hide the solution, a warm fit and a cold fit agree or both fail.
func TestLogisticRoundingHidesTheSolution(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(1, 1))
	blurred := 0
	for range numtest.Long(40000) {
		m := 4 + rng.IntN(4)
		x, y := mat.NewDense(m, 2, nil), make([]float64, m)
		for i := range m {
			for j := range 2 {
				x.Set(i, j, math.Exp(6*rng.NormFloat64())*rng.NormFloat64())
			}
			y[i] = float64(1 - 2*rng.IntN(2))
		}
		large := math.Pow(10, 4+6*rng.Float64())
		for j := range 2 {
			v := large * rng.NormFloat64()
			x.Set(0, j, v)
			x.Set(1, j, v+rng.NormFloat64())
		}
		y[0], y[1] = 1, -1
		var cold, warm Logistic
		theta, other := make([]float64, 2), make([]float64, 2)
		for _, l := range []*Logistic{&cold, &warm} {
			numtest.OK(t, l.Load(learn.Data{X: x, Y: y}))
		}
		err := cold.Fit(theta, []float64{1})
		warm.Fit(other, []float64{1.1})
		if again := warm.Fit(other, []float64{1}); (again == nil) != (err == nil) {
			t.Errorf("%v: cold %v, warm %v", mat.Formatted(x), err, again)
		}
		if errors.Is(err, errLogisticBlurred) {
			blurred++
		}
		for i := range m {
			if off := x.At(i, 0)*(theta[0]-other[0]) + x.At(i, 1)*(theta[1]-other[1]); err == nil && !(math.Abs(off) <= learner.DecisionTol) {
				t.Errorf("%v: margin %d moves by %g with the start", mat.Formatted(x), i, off)
			}
		}
	}
	if blurred == 0 {
		t.Error("no solution was hidden")
	}
}

// Fits by products with the rows take at most a tenth more Newton steps than fits by the Hessian.
func TestLogisticStepsByProducts(t *testing.T) {
	entries, products := 0, 0
	for seed := range uint64(60) {
		d := casetest.NoisyClasses(seed, 40+int(seed), 3+int(seed)%20)
		hyper, theta := []float64{math.Pow(10, float64(seed%7)-3)}, make([]float64, 3+int(seed)%20)
		var one, other Logistic
		numtest.OK(t, one.Load(d), one.Fit(theta, hyper), casetest.WorkingSets{ForwardLearner: &other}.Load(d), other.Fit(theta, hyper))
		entries += one.iter
		products += other.iter
	}
	if products > entries+entries/10 {
		t.Errorf("%d steps by products, %d by entries", products, entries)
	}
}
