package linear

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// A fit after LoadSubset equals a fit to a copy of the remaining rows.
func TestLogisticWithout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		if rapid.Bool().Draw(t, "products") {
			defer ways.SetProductFeatures(ways.SetProductFeatures(0))
		}
		rows, n := 30, rapid.IntRange(1, 5).Draw(t, "n")
		kind := Intercept(rapid.IntRange(0, 2).Draw(t, "intercept"))
		d := casetest.RandomData(seed, rows, n, true)
		d.Y[0], d.Y[1] = 1, -1
		out := rapid.SliceOfNDistinct(rapid.IntRange(2, rows-1), 0, rows-2, rapid.ID).Draw(t, "out")
		var rest []int
		for i := range rows {
			if !slices.Contains(out, i) {
				rest = append(rest, i)
			}
		}
		copied := learn.Data{X: mat.NewDense(len(rest), n, nil), Y: make([]float64, len(rest))}
		for i, r := range rest {
			copied.Dense().SetRow(i, d.Dense().RawRowView(r))
			copied.Y[i] = d.Y[r]
		}
		full, a, b := Logistic{Intercept: kind}, Logistic{Intercept: kind}, Logistic{Intercept: kind}
		dim, _ := a.Dims(n)
		tf, ta, tb := make([]float64, dim), make([]float64, dim), make([]float64, dim)
		rng := rand.New(rand.NewPCG(seed, 2))
		v := numtest.Normals(rng, dim)
		ga := learn.Grad{Hyper: []float64{0}, X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
		gb := learn.Grad{Hyper: []float64{0}, X: mat.NewDense(len(rest), n, nil), Y: make([]float64, len(rest))}
		c := math.Pow(10, rapid.Float64Range(-3, 3).Draw(t, "log C"))
		hyper := []float64{c}
		numtest.OK(t, full.Load(d))
		// The full learner has no fit, a fit at another C, or a fit at the same C.
		if state := rapid.IntRange(0, 3).Draw(t, "state of full"); state > 0 {
			numtest.OK(t, full.Fit(tf, []float64{c * []float64{2, 1, 1}[state-1]}))
		}
		numtest.OK(t, a.LoadSubset(&full, out), a.Fit(ta, hyper), a.VJP(nil, &ga, v),
			b.Load(copied), b.Fit(tb, hyper), b.VJP(nil, &gb, v))
		want := learn.Grad{Hyper: gb.Hyper, X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
		for i, r := range rest {
			want.X.SetRow(r, gb.X.RawRowView(i))
			want.Y[r] = gb.Y[i]
		}
		const tol = 1e-11
		// The tolerance in C is relative to the terms of the scalar product, because the terms may
		// cancel.
		slope, terms := make([]float64, dim), 0.
		numtest.OK(t, b.JVP(nil, slope, &learn.Grad{Hyper: []float64{1}}))
		for i, s := range slope {
			terms += math.Abs(v[i] * s)
		}
		if numtest.RelErr(ta, tb) > tol || numtest.RelErr(ga.X.RawMatrix().Data, want.X.RawMatrix().Data) > tol ||
			numtest.RelErr(ga.Y, want.Y) > tol || math.Abs(ga.Hyper[0]-want.Hyper[0]) > tol*terms {
			t.Fatalf("rows left out and others copied differ: %s\n%s", cmp.Diff(tb, ta), cmp.Diff(want.X.RawMatrix().Data, ga.X.RawMatrix().Data))
		}
		p := make([]float64, rows)
		numtest.OK(t, a.Probabilities(nil, p))
		for _, r := range out {
			if p[r] != 1 || ga.Y[r] != 0 || slices.ContainsFunc(ga.X.RawRowView(r), func(v float64) bool { return v != 0 }) {
				t.Fatalf("row %d is left out and still has a derivative", r)
			}
		}
		// JVP ignores the tangents of omitted rows.
		du, dv := learn.Grad{X: mat.NewDense(rows, n, numtest.Normals(rng, rows*n)), Y: numtest.Normals(rng, rows)}, learn.Grad{X: mat.NewDense(len(rest), n, nil), Y: make([]float64, len(rest))}
		for i, r := range rest {
			dv.X.SetRow(i, du.X.RawRowView(r))
			dv.Y[i] = du.Y[r]
		}
		ja, jb := make([]float64, dim), make([]float64, dim)
		numtest.OK(t, a.JVP(nil, ja, &du), b.JVP(nil, jb, &dv))
		if numtest.RelErr(ja, jb) > tol {
			t.Fatalf("JVPs differ: %s", cmp.Diff(jb, ja))
		}
		// Earlier fits of a learner do not change its bits.
		again := make([]float64, dim)
		numtest.OK(t, b.LoadSubset(&full, out), b.Fit(again, hyper))
		if !numtest.SameBits(again, ta) {
			t.Fatalf("a learner that was in use gives other bits: %s", cmp.Diff(ta, again))
		}
	})
}

// Even after a fit of many steps, a learner returns the bits of a new learner.
func TestLogisticWithoutAfterALongFit(t *testing.T) {
	d := casetest.RandomData(0x21, 30, 2, true)
	d.Y[0], d.Y[1] = 1, -1
	full := Logistic{Intercept: PenalisedIntercept}
	theta, again := make([]float64, 3), make([]float64, 3)
	hyper := []float64{1000}
	numtest.OK(t, full.Load(d), full.Fit(theta, hyper))
	fresh, used := Logistic{Intercept: PenalisedIntercept}, Logistic{Intercept: PenalisedIntercept}
	if err := errors.Join(used.Load(d), used.Fit(again, hyper)); err != nil || used.iter < logisticBoundSteps {
		t.Fatalf("%v after %d steps, want at least %d", err, used.iter, logisticBoundSteps)
	}
	numtest.OK(t, fresh.LoadSubset(&full, []int{5}), fresh.Fit(theta, hyper), used.LoadSubset(&full, []int{5}), used.Fit(again, hyper))
	if !numtest.SameBits(again, theta) {
		t.Errorf("other bits: %s", cmp.Diff(theta, again))
	}
}

func TestLogisticWithoutRefusals(t *testing.T) {
	d := casetest.RandomData(1, 6, 2, true)
	d.Y = []float64{1, 1, -1, -1, -1, -1}
	full := Logistic{Intercept: UnpenalisedIntercept}
	l := Logistic{Intercept: UnpenalisedIntercept}
	want := func(what string, err, kind error) {
		t.Helper()
		var arg *qpdiff.ArgError
		if !errors.Is(err, kind) || !errors.As(err, &arg) {
			t.Errorf("%s: error %v, want an ArgError of kind %q", what, err, kind)
		}
		if err := l.Fit(make([]float64, l.d), []float64{1}); !errors.Is(err, qpdiff.ErrNotFitted) {
			t.Errorf("%s, then Fit: error %v", what, err)
		}
	}
	want("not loaded", l.LoadSubset(&full, nil), qpdiff.ErrDomain)
	numtest.OK(t, full.Load(d))
	want("another type", l.LoadSubset(new(ElasticNet), nil), qpdiff.ErrDomain)
	want("nothing", l.LoadSubset(nil, nil), qpdiff.ErrDomain)
	want("itself", full.LoadSubset(&full, nil), qpdiff.ErrDomain)
	numtest.OK(t, full.Load(d))
	want("row 6", l.LoadSubset(&full, []int{6}), qpdiff.ErrDomain)
	want("row -1", l.LoadSubset(&full, []int{-1}), qpdiff.ErrDomain)
	want("one class left", l.LoadSubset(&full, []int{0, 1}), qpdiff.ErrIllPosed)
	other := Logistic{}
	want("another intercept", other.LoadSubset(&full, nil), qpdiff.ErrDomain)
	numtest.OK(t, other.Load(d))
	other.Intercept = UnpenalisedIntercept
	want("data of another intercept", l.LoadSubset(&other, nil), qpdiff.ErrDomain)
	other.Intercept = NoIntercept
	part := Logistic{}
	numtest.OK(t, part.LoadSubset(&other, []int{1, 2}))
	if err := new(Logistic).LoadSubset(&part, nil); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("one that leaves rows out itself: error %v", err)
	}
}

// A fit of many parameters starts at the stored solution for the nearest C. Load discards stored
// solutions.
func TestLogisticStartsAtTheNearestC(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(9, 9))
	const rows, n = 300, 60
	d := learn.Data{X: mat.NewDense(rows, n, numtest.Normals(rng, rows*n)), Y: make([]float64, rows)}
	for i := range d.Y {
		d.Y[i] = math.Copysign(1, d.Dense().At(i, 0)+rng.NormFloat64())
	}
	var l Logistic
	numtest.OK(t, l.Load(d))
	theta := make([]float64, n)
	fit := func(c float64) int {
		t.Helper()
		numtest.OK(t, l.Fit(theta, []float64{c}))
		return l.iter
	}
	fit(1)
	want := slices.Clone(theta)
	for range logisticStarts / 2 {
		fit(1e3)
		if steps := fit(1); steps > 2 {
			t.Errorf("%d steps at a C that was fitted before", steps)
		}
		numtest.NearAll(t, "θ", theta, want, 1e-12, 1e-12)
	}
	for i := range logisticStarts {
		fit(1e3 * (1 + float64(i)))
	}
	if steps := fit(1); steps <= 2 {
		t.Errorf("%d steps at a C whose solution was replaced", steps)
	}
	numtest.NearAll(t, "θ", theta, want, 1e-12, 1e-12)
	fit(1e3)
	d.Y[0] = -d.Y[0]
	numtest.OK(t, l.Load(d))
	if l.large.nearestStart(theta, 1); l.large.keptStarts != 0 {
		t.Errorf("%d solutions of other data are kept", l.large.keptStarts)
	}
}
