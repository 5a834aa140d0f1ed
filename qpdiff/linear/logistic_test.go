package linear

import (
	"encoding/json"
	"errors"
	"fmt"
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

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// logisticResidual returns the largest entry of the gradient, relative to the sum of the entry's
// absolute terms.
func logisticResidual(kind Intercept) func(d learn.Data, theta, hyper []float64) float64 {
	return func(d learn.Data, theta, hyper []float64) float64 {
		rows, n := d.X.Dims()
		grad, size := slices.Clone(theta), make([]float64, len(theta))
		if kind == UnpenalisedIntercept {
			grad[n] = 0
		}
		for j, v := range grad {
			size[j] = math.Abs(v)
		}
		for i := range rows {
			x := slices.Clone(d.Dense().RawRowView(i))
			if kind != NoIntercept {
				x = append(x, 1)
			}
			s := hyper[0] * d.Y[i] / (1 + math.Exp(d.Y[i]*dense.Dot(theta, x)))
			dense.Axpy(-s, x, grad)
			for j, v := range x {
				size[j] += math.Abs(s * v)
			}
		}
		worst := 0.0
		for j, g := range grad {
			worst = max(worst, math.Abs(g)/(size[j]+dense.Eps*slices.Max(size)+1e-300))
		}
		return worst
	}
}

func TestLogisticGolden(t *testing.T) {
	file, err := os.ReadFile("testdata/logistic.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Kind      string
		Intercept struct {
			None    bool
			Penalty float64
		}
		N, C        float64
		CondHessian float64 `json:"cond_hessian"`
		X           [][]float64
		Y, Theta    []float64
		VJPY        []float64 `json:"vjp_y"`
		ThetaDC     []float64 `json:"dtheta_dC"`
		Cotangent   []float64
		VJPX        [][]float64 `json:"vjp_X"`
	}
	numtest.OK(t, json.Unmarshal(file, &cases))
	for _, c := range cases {
		kind := PenalisedIntercept
		switch {
		case c.Intercept.None:
			kind = NoIntercept
		case c.Intercept.Penalty == 0:
			kind = UnpenalisedIntercept
		}
		t.Run(fmt.Sprint(c.Kind, kind), func(t *testing.T) {
			x := mat.NewDense(len(c.X), len(c.X[0]), slices.Concat(c.X...))
			d := learn.Data{X: x, Y: c.Y}
			l := Logistic{Intercept: kind}
			theta := make([]float64, len(c.Theta))
			numtest.OK(t, l.Load(d), l.Fit(theta, []float64{c.C}))
			g := learn.Grad{Hyper: make([]float64, 1), X: mat.NewDense(len(c.X), len(c.X[0]), nil), Y: make([]float64, len(c.Y))}
			numtest.OK(t, l.VJP(nil, &g, c.Cotangent))
			wantC := 0.0
			for j, v := range c.ThetaDC {
				wantC += v * c.Cotangent[j]
			}
			// The reference stops when the gradient has the size of the rounding of C.
			tol := 1e-15 * max(100, c.C) * max(1, min(c.CondHessian, 10))
			for _, b := range []struct {
				name      string
				got, want []float64
			}{
				{"theta", theta, c.Theta},
				{"X", g.X.RawMatrix().Data, slices.Concat(c.VJPX...)},
				{"y", g.Y, c.VJPY},
				{"C", g.Hyper, []float64{wantC}},
			} {
				if e := numtest.RelErr(b.got, b.want); !(e <= tol) {
					t.Errorf("%s is off by %.3g, relative to its largest entry; want at most %.3g", b.name, e, tol)
				}
			}
			if r := logisticResidual(kind)(d, theta, []float64{c.C}); !(r <= 1e-14) {
				t.Errorf("optimality residual %.3g", r)
			}
		})
	}
}

func TestLogisticContract(t *testing.T) {
	wide := casetest.RandomData(3, 4, 9, true)
	weighted := casetest.RandomData(4, 30, 3, true)
	for i := range weighted.Y {
		weighted.Y[i] *= .25 + float64(i)/10
	}
	weighted.Y[7] = 1e-9
	duplicated := casetest.RandomData(5, 12, 2, true)
	for i := range 6 {
		copy(duplicated.Dense().RawRowView(2*i), duplicated.Dense().RawRowView(2*i+1))
	}
	separable := casetest.RandomData(6, 40, 2, true)
	for i, y := range separable.Y {
		separable.Dense().Set(i, 0, y*(.2+math.Abs(separable.X.At(i, 0))))
	}
	two := learn.Data{X: mat.NewDense(2, 3, []float64{1, .5, 2, 1.5, -1, .25}), Y: []float64{1, -1}}
	for _, kind := range []Intercept{NoIntercept, UnpenalisedIntercept, PenalisedIntercept} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			var cases []learntest.Case
			for _, c := range []struct {
				name string
				data learn.Data
				c    float64
			}{
				{"57x2", casetest.RandomData(1, 57, 2, true), 10},
				{"95x2 small C", casetest.RandomData(2, 95, 2, true), 1e-4},
				{"20x1", casetest.RandomData(7, 20, 1, true), 3},
				{"4x9", wide, 50},
				{"30x3 real labels", weighted, 2},
				{"12x2 duplicated rows", duplicated, 1e3},
				{"40x2 separable", separable, 1e5},
				{"2x3", two, 100},
				{"200x12", casetest.RandomData(8, 200, 12, true), 1},
				{"80x40", casetest.RandomData(9, 80, 40, true), 1},   // by products with the rows
				{"20x60", casetest.RandomData(10, 20, 60, true), .5}, // by systems with an unknown for each row
			} {
				lc := learntest.Case{Name: c.name, Data: c.data, Hyper: []float64{c.c}, Residual: logisticResidual(kind), Tol: 1e-13}
				if c.c > 100 {
					lc.Step = 1e-4 // the solution bends more
				}
				cases = append(cases, lc)
			}
			casetest.Contract(t, func() learn.Learner { return &Logistic{Intercept: kind} }, cases...)
			cases = cases[:len(cases)-2] // which take these ways by themselves
			t.Run("products", func(t *testing.T) {
				casetest.Contract(t, func() learn.Learner { return casetest.WorkingSets{ForwardLearner: &Logistic{Intercept: kind}} }, cases...)
			})
		})
	}
}

// For one row with y·x = 1, the solution satisfies θ = C/(1 + exp θ), so θ = ln 3 at C = 4 ln 3.
func TestLogisticByHand(t *testing.T) {
	l := Logistic{}
	numtest.OK(t, l.Load(learn.Data{X: mat.NewDense(1, 1, []float64{-1}), Y: []float64{-1}}))
	theta, c := []float64{0}, 4*math.Log(3)
	numtest.OK(t, l.Fit(theta, []float64{c}))
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-15*(1+math.Abs(want))) {
			t.Errorf("%s is %.17g, want %.17g", what, got, want)
		}
	}
	near("theta", theta[0], math.Log(3))
	// By hand, π = 3/4, H = 1 + C·3/16, dθ/dC = (1/4)/H and dθ/dz = C(1/4 − (3/16) ln 3)/H for z = yx.
	// At x = y = −1, dz = −dx − dy.
	h := 1 + c*3/16
	dz := c * (1./4 - 3./16*math.Log(3)) / h
	g := learn.Grad{Hyper: []float64{0}, X: mat.NewDense(1, 1, nil), Y: []float64{0}}
	numtest.OK(t, l.VJP(nil, &g, []float64{1}))
	near("dC", g.Hyper[0], 1./4/h)
	near("dx", g.X.At(0, 0), -dz)
	near("dy", g.Y[0], -dz)
	p, u := []float64{0}, []float64{0}
	numtest.OK(t, l.Probabilities(nil, p), l.SolveHessian(nil, u, []float64{2}))
	near("π", p[0], 3./4)
	near("H⁻¹·2", u[0], 2/h)
}

// startAt makes theta the start of the next fit.
func startAt(l *Logistic, theta []float64) {
	copy(l.theta, theta)
	l.warmStart = true
}

// A fit finds the same minimiser from any start, for any order of the rows and either sign of a
// feature.
func TestLogisticProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		rows, n := rapid.IntRange(2, 40).Draw(t, "rows"), rapid.IntRange(1, 5).Draw(t, "n")
		kind := Intercept(rapid.IntRange(0, 2).Draw(t, "intercept"))
		d := casetest.RandomData(seed, rows, n, true)
		d.Y[0], d.Y[1] = 1, -1
		d.Dense().Scale(math.Pow(10, rapid.Float64Range(-3, 2).Draw(t, "log scale")), d.X)
		hyper := []float64{math.Pow(10, rapid.Float64Range(-4, 5).Draw(t, "log C"))}
		fit := func(d learn.Data, start []float64) []float64 {
			l := Logistic{Intercept: kind}
			theta := numtest.NaNs(l.Dims(n))
			numtest.OK(t, l.Load(d))
			if start != nil {
				startAt(&l, start)
			}
			numtest.OK(t, l.Fit(theta, hyper))
			if r := logisticResidual(kind)(d, theta, hyper); !(r <= 1e-9) {
				t.Fatalf("optimality residual %.3g", r)
			}
			return theta
		}
		theta := fit(d, nil)
		same := func(what string, got []float64) {
			t.Helper()
			// The margins are compared, because θ may have entries that do not matter.
			for i := range rows {
				x := append(slices.Clone(d.Dense().RawRowView(i)), 1)[:len(theta)]
				if m := dense.Dot(theta, x); !(math.Abs(dense.Dot(got, x)-m) <= 1e-9*math.Abs(m)+1e-13) {
					t.Fatalf("%s: margin %d is off by %.3g\n%v\n%v", what, i, dense.Dot(got, x)-m, theta, got)
				}
			}
		}
		rng := rand.New(rand.NewPCG(seed, 3))
		start := numtest.Normals(rng, len(theta))
		for j := range start {
			start[j] *= math.Pow(10, rapid.Float64Range(-2, 4).Draw(t, "log start"))
		}
		same("another start", fit(d, start))

		permuted := casetest.CloneData(d)
		for i, r := range rng.Perm(rows) {
			permuted.Dense().SetRow(i, d.Dense().RawRowView(r))
			permuted.Y[i] = d.Y[r]
		}
		same("rows permuted", fit(permuted, nil))

		flipped := casetest.CloneData(d)
		for i := range rows {
			flipped.Dense().Set(i, 0, -d.X.At(i, 0))
		}
		mirrored := fit(flipped, nil)
		mirrored[0] = -mirrored[0]
		same("a feature negated", mirrored)
	})
}

func TestLogisticIterationLimit(t *testing.T) {
	theta := make([]float64, 2)
	l := Logistic{MaxIter: 2}
	numtest.OK(t, l.Load(casetest.RandomData(1, 10, 2, true)))
	for i, c := range []struct{ err, kind error }{
		{l.Probabilities(nil, make([]float64, 10)), qpdiff.ErrNotFitted}, {l.SolveHessian(nil, theta, theta), qpdiff.ErrNotFitted},
		{l.Fit(theta, []float64{1}), qpdiff.ErrIterationLimit}, {l.VJP(nil, &learn.Grad{}, theta), qpdiff.ErrNotFitted},
	} {
		if !errors.Is(c.err, c.kind) {
			t.Errorf("%d: error %v, want one of kind %q", i, c.err, c.kind)
		}
	}
	if theta[0] == 0 {
		t.Error("θ is not filled at the iteration limit")
	}
}

func TestLogisticLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("2000×500")
	}
	d := casetest.RandomData(1, 2000, 500, true)
	l := Logistic{Intercept: UnpenalisedIntercept}
	theta, hyper := make([]float64, 501), []float64{.1}
	numtest.OK(t, l.Load(d), l.Fit(theta, hyper))
	if r := logisticResidual(l.Intercept)(d, theta, hyper); !(r <= 1e-13) {
		t.Errorf("optimality residual %.3g", r)
	}
}
