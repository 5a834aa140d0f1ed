package learntest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func optimality(t *testing.T, newLearner func() learn.Learner, c Case) {
	l, theta := fittedLearner(t, newLearner, c)
	if r := c.Residual(c.Data, theta, c.Hyper); !(r <= c.Tol) {
		t.Errorf("optimality residual %.3g, want at most %.3g", r, c.Tol)
	}
	if l, ok := l.(learn.VerifiedLearner); ok {
		if r, err := l.Residual(); err != nil || !(r <= c.Tol) {
			t.Errorf("Residual %.3g, want at most %.3g; error %v", r, c.Tol, err)
		}
		l.Reset()
		if r, err := l.Residual(); !errors.Is(err, qpdiff.ErrNotFitted) || r == r {
			t.Errorf("Residual after Reset %v, error %v", r, err)
		}
	}
	if len(theta) == 0 {
		return
	}
	// The residual must detect a wrong solution.
	theta[0] += 1e-3 * (1 + math.Abs(theta[0]))
	if r := c.Residual(c.Data, theta, c.Hyper); r <= c.Tol {
		t.Errorf("the residual %.3g does not see a wrong solution", r)
	}
}

func derivative(t *testing.T, newLearner func() learn.Learner, c Case) {
	const tol = 1e-7
	rng := rand.New(rand.NewPCG(7, 11))
	l, theta := fittedLearner(t, newLearner, c)
	v := numtest.Normals(rng, len(theta))
	g := newGrad(c, 0)
	numtest.OK(t, l.VJP(nil, g, v))

	var noise float64 // the rounding of vᵀθ in a difference quotient
	for i, a := range theta {
		noise += 4 * 0x1p-52 * math.Abs(a*v[i]) / c.Step
	}

	// value returns vᵀθ at the point x + h·u, where x holds the entries of one input. It computes
	// vᵀθ twice, with a warm learner and with a cold learner.
	probe := newLearner()
	moved := cloneData(c.Data)
	hyper := slices.Clone(c.Hyper)
	out := make([]float64, len(theta))
	value := func(x, u []float64, h float64, load bool) float64 {
		old := slices.Clone(x)
		defer copy(x, old)
		floats.AddScaled(x, h, u)
		if load {
			numtest.OK(t, probe.Load(moved))
		}
		numtest.OK(t, probe.Fit(out, hyper))
		return floats.Dot(v, out)
	}
	check := func(what string, x, u, grad []float64, load, forward bool) {
		t.Helper()
		numtest.OK(t, probe.Load(moved))
		f := func(h float64) float64 { return value(x, u, h, load) }
		got, size := 0.0, 0.0
		for i, w := range u {
			got += grad[i] * w
			size += math.Abs(grad[i] * w)
		}
		difference := numtest.CentralDifference
		if forward {
			difference = numtest.ForwardDifference
		}
		want := difference(f, c.Step)
		if !(math.Abs(got-want) <= tol*max(size, math.Abs(want))+noise) {
			t.Errorf("VJP in %s: %.12g, a difference quotient of Fit %.12g", what, got, want)
		}
	}

	for j, h := range c.Hyper {
		u := make([]float64, len(c.Hyper))
		u[j] = h
		if h == 0 {
			u[j] = 1e-2
		}
		check(fmt.Sprintf("hyper[%d]", j), hyper, u, g.Hyper, false, h == 0)
	}
	x := moved.Dense().RawMatrix().Data
	for i := range 4 {
		check(fmt.Sprintf("X along direction %d", i), x, numtest.Direction(rng, len(x)), g.X.RawMatrix().Data, true, false)
		u := make([]float64, len(x))
		k := rng.IntN(len(x))
		u[k] = 1
		check(fmt.Sprintf("X entry %d", k), x, u, g.X.RawMatrix().Data, true, false)
		if !c.ClassLabels {
			check(fmt.Sprintf("y along direction %d", i), moved.Y, numtest.Direction(rng, len(moved.Y)), g.Y, true, false)
		}
	}
}

func adjoint(t *testing.T, newLearner func() learn.Learner, c Case) {
	rng := rand.New(rand.NewPCG(3, 5))
	l, theta := fittedLearner(t, newLearner, c)
	j, ok := l.(learn.ForwardLearner)
	if !ok {
		return
	}
	// The JVP and the VJP are compared for all inputs together, for Hyper and Y together, and for each
	// input separately. In a comparison of all inputs, the terms of one input could hide a mistake in
	// another.
	for _, with := range []struct{ hyper, x, y bool }{{true, true, true}, {true, false, true}, {true, false, false}, {false, true, false}, {false, false, true}} {
		v := numtest.Normals(rng, len(theta))
		u, g := newGrad(c, 0), newGrad(c, 0)
		for _, s := range gradSlices(u) {
			copy(s, numtest.Normals(rng, len(s)))
		}
		for _, f := range []*learn.Grad{u, g} {
			if !with.hyper {
				f.Hyper = nil
			}
			if !with.x {
				f.X = nil
			}
			if !with.y {
				f.Y = nil
			}
		}
		isAdjoint(t, l, j, u, g, v, fmt.Sprintf("%+v", with))
	}
}

// isAdjoint compares the JVP along the direction u with the VJP of the cotangent v. It adds this
// VJP to g, whose fields must be zero before the call.
func isAdjoint(t *testing.T, l learn.Learner, j learn.ForwardLearner, u, g *learn.Grad, v []float64, what string) {
	t.Helper()
	numtest.OK(t, l.VJP(nil, g, v))
	ju := numtest.NaNs(len(v), 0)
	numtest.OK(t, j.JVP(nil, ju, u))
	var lhs, rhs, size float64
	for i, a := range ju {
		lhs += v[i] * a
		size += math.Abs(v[i] * a)
	}
	us := gradSlices(u)
	for i, s := range gradSlices(g) {
		for k, a := range s {
			rhs += a * us[i][k]
			size += math.Abs(a * us[i][k])
		}
	}
	if !(math.Abs(lhs-rhs) <= 1e-12*size) {
		t.Errorf("JVP is not the adjoint of VJP with %s: ⟨v,JVP(u)⟩ = %.16g, ⟨VJP(v),u⟩ = %.16g", what, lhs, rhs)
	}
}

// onlyRead checks that the derivatives of a fit do not write to the learner. A derivative must have
// the same bits in three situations: alone, at the same time as other derivatives, and with a
// workspace that was used for another fit. The next fit must have the same bits as without
// derivatives in between.
func onlyRead(t *testing.T, newLearner func() learn.Learner, c, other Case) {
	l, theta := fittedLearner(t, newLearner, c)
	rng := rand.New(rand.NewPCG(4, 7))
	v, between := numtest.Normals(rng, len(theta)), numtest.Normals(rng, len(theta))
	derive := func(w *qpdiff.Workspace) ([]float64, error) { return derivatives(l, w, c, v) }
	before := memory(l)
	want, err := derive(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, memory(l)) {
		t.Error("a derivative writes to the learner: allocate what it needs, since others may run at the same time")
	}
	elsewhere, thetaElsewhere := fittedLearner(t, newLearner, other)
	var wait sync.WaitGroup
	for range 4 {
		w := new(qpdiff.Workspace)
		numtest.OK(t, elsewhere.VJP(w, newGrad(other, 0), make([]float64, len(thetaElsewhere))))
		wait.Go(func() {
			for range 3 {
				if got, err := derive(w); err != nil || !numtest.SameBits(got, want) {
					t.Errorf("derivatives at the same time, or with a workspace that served others, differ from one alone, error %v", err)
				}
				if err := l.VJP(w, newGrad(c, 0), between); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()

	next := slices.Clone(c.Hyper)
	for i := range next {
		next[i] *= 1.01
	}
	fresh, alone := fittedLearner(t, newLearner, c)
	numtest.OK(t, l.Fit(theta, next), fresh.Fit(alone, next))
	if !numtest.SameBits(theta, alone) {
		t.Error("derivatives changed the fit that follows")
	}
	afterOthers(t, l, fresh, c, v, between)
}

// afterOthers compares the derivatives of two learners, l and fresh, each after its second fit. The
// learner fresh has computed no derivatives before. It computes derivatives with the cotangent v.
// The learner l computes derivatives with v, with otherV and again with v, in one workspace. All
// derivatives with v must have the same bits.
func afterOthers(t *testing.T, l, fresh learn.Learner, c Case, v, otherV []float64) {
	want, err := derivatives(fresh, nil, c, v)
	if err != nil {
		return // the next hyperparameters need not be smooth ones
	}
	w := new(qpdiff.Workspace)
	for _, along := range [][]float64{v, otherV, v} {
		got, err := derivatives(l, w, c, along)
		if &along[0] == &v[0] && (err != nil || !numtest.SameBits(got, want)) {
			t.Errorf("derivatives after others of the same fit differ from the first ones, error %v", err)
		}
	}
}

// derivatives returns the entries of two derivatives of the learner l: the VJP with the cotangent
// v, and the JVP along the direction whose entries are all ½.
func derivatives(l learn.Learner, w *qpdiff.Workspace, c Case, v []float64) (values []float64, err error) {
	g := newGrad(c, 0)
	err = l.VJP(w, g, v)
	values = slices.Concat(gradSlices(g)...)
	if j, ok := l.(learn.ForwardLearner); ok {
		forward := make([]float64, len(v))
		err = errors.Join(err, j.JVP(w, forward, newGrad(c, .5)))
		values = append(values, forward...)
	}
	if p, ok := l.(learn.Predictor); ok {
		predictions, g, dx := make([]float64, len(c.Data.Y)), newGrad(c, 0), mat.DenseCopyOf(c.Data.X)
		err = errors.Join(err, p.Predict(w, predictions, c.Data.Dense()), p.PredictVJP(w, g, dx, c.Data.Dense(), predictions))
		values = slices.Concat(append(gradSlices(g), values, predictions, dx.RawMatrix().Data)...)
	}
	return values, err
}

// testCounts tests Rows and Weights of the data. If Load does not return an error that names these
// fields, a row of weight w, and a row that is listed w times, must have the same effect as w equal
// rows.
func testCounts(t *testing.T, newLearner func() learn.Learner, c Case) {
	weighted, named, equal := countedForms(c.Data)
	if newLearner().Load(weighted) != nil {
		for arg, d := range map[string]learn.Data{"Data.Weights": weighted, "Data.Rows": named} {
			var e *qpdiff.ArgError
			if err := newLearner().Load(d); !errors.As(err, &e) || e.Arg != arg || !errors.Is(err, qpdiff.ErrDomain) {
				t.Errorf("%s is not nil: error %v", arg, err)
			}
		}
		return
	}
	at := func(d learn.Data) Case {
		c := c
		c.Data = d
		return c
	}
	derivative(t, newLearner, at(weighted))
	long := at(equal)
	l, want := fittedLearner(t, newLearner, long)
	v := numtest.Normals(rand.New(rand.NewPCG(2, 9)), len(want))
	g := newGrad(long, 0)
	numtest.OK(t, l.VJP(nil, g, v))
	sums := newGrad(c, 0)
	copy(sums.Hyper, g.Hyper)
	for k, i := range named.Rows {
		floats.Add(sums.X.RawRowView(i), g.X.RawRowView(k))
		sums.Y[i] += g.Y[k]
	}
	var thetas [][]float64
	for name, d := range map[string]learn.Data{"Weights": weighted, "Rows": named} {
		l, theta := fittedLearner(t, newLearner, at(d))
		numtest.NearAll(t, "Data."+name+" are accepted, but do not count as equal rows (refuse or use them): theta", theta, want, 1e-9, 0)
		if t.Failed() {
			return
		}
		g := newGrad(c, 0)
		numtest.OK(t, l.VJP(nil, g, v))
		size := floats.Norm(slices.Concat(gradSlices(sums)...), math.Inf(1))
		for i, s := range gradSlices(g) {
			numtest.NearAll(t, fmt.Sprint(name, ": VJP, block ", i), s, gradSlices(sums)[i], 1e-9, size)
		}
		if j, ok := l.(learn.ForwardLearner); ok {
			longer, _ := fittedLearner(t, newLearner, long)
			countsForward(t, name+": JVP", j, longer.(learn.ForwardLearner), c, long, named.Rows)
		}
		thetas = append(thetas, theta)
	}
	if !numtest.SameBits(thetas[0], thetas[1]) {
		t.Error("the same counts by Rows and by Weights give other bits")
	}
}

// countedForms returns the same data in three forms. In these data, the rows have different
// weights. In the first form, the weights are in the field Weights. In the second form, the field
// Rows lists rows several times. The third form has equal rows instead of weights.
func countedForms(d learn.Data) (weighted, named, equal learn.Data) {
	rows, n := d.X.Dims()
	weighted, named = d, d
	weighted.Weights = make([]float64, rows)
	var x, y []float64 // each row as often as its weight
	for i := range rows {
		count := 1 + (i+i/4)%3
		if i%7 == 6 {
			count = 0
		}
		weighted.Weights[i] = float64(count)
		for range count {
			named.Rows = append(named.Rows, i)
			x, y = append(x, d.Dense().RawRowView(i)...), append(y, d.Y[i])
		}
	}
	return weighted, named, learn.Data{X: mat.NewDense(len(y), n, x), Y: y}
}

// countsForward compares the JVPs of two learners along the same direction. The learner l has the
// data c, and the learner repLearner has the data repCase. Row k of repCase is equal to row rows[k]
// of c.
func countsForward(t *testing.T, what string, l, repLearner learn.ForwardLearner, c, repCase Case, rows []int) {
	u, along := newGrad(c, 0), newGrad(repCase, 0)
	rng := rand.New(rand.NewPCG(2, 10))
	for _, s := range gradSlices(u) {
		copy(s, numtest.Normals(rng, len(s)))
	}
	copy(along.Hyper, u.Hyper)
	for k, i := range rows {
		along.X.SetRow(k, u.X.RawRowView(i))
		along.Y[k] = u.Y[i]
	}
	n, _ := l.Dims(c.Data.Dense().RawMatrix().Cols)
	got, want := make([]float64, n), make([]float64, n)
	numtest.OK(t, l.JVP(nil, got, u), repLearner.JVP(nil, want, along))
	numtest.NearAll(t, what, got, want, 1e-9, 0)
}
