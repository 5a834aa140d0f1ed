package kernel

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// JVP and PredictJVP are the adjoints of VJP and PredictVJP.
func TestKernelSVMForwardIsAdjoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 1))
	generalised, tied, bounded, parted := 0, 0, 0, 0
	for trial := range numtest.Long(2000) {
		rows, n := 4+rng.IntN(12), 1+rng.IntN(3)
		l := &SVM{Intercept: rng.IntN(2) == 0, Generalised: true, Kernel: []Kernel{nil, Polynomial{Degree: 1}, Polynomial{}}[rng.IntN(3)]}
		d := casetest.ClassData(rng.Uint64(), rows, n)
		if trial%2 == 0 { // equal rows, and rows of decision value ±1
			for i := range rows {
				for j := range n {
					d.Dense().Set(i, j, math.Round(d.X.At(i, j)))
				}
			}
		}
		nt, nh := l.Dims(n)
		hyper := make([]float64, nh)
		for i := range hyper {
			hyper[i] = math.Pow(10, 3*rng.Float64()-2)
		}
		if trial%4 == 0 {
			hyper[0], hyper[nh-1] = 1, 0.5
		}
		theta := make([]float64, nt)
		numtest.OK(t, l.Load(d))
		if err := l.Fit(theta, hyper); errors.Is(err, qpdiff.ErrIterationLimit) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		random := func(r, c int) *mat.Dense { return mat.NewDense(r, c, numtest.Normals(rng, r*c)) }
		along := &learn.Grad{Hyper: numtest.Normals(rng, nh), X: random(rows, n), Y: numtest.Normals(rng, rows)}
		x, dx, v := random(4, n), random(4, n), numtest.Normals(rng, 4)
		w := new(qpdiff.Workspace)
		df, alone := make([]float64, 4), make([]float64, 4)
		numtest.OK(t, l.Predict(w, df, x))
		err := l.PredictJVP(w, df, x, dx, along)
		var arg *qpdiff.ArgError
		if errors.As(err, &arg) && arg.Why == qpdiff.ErrNotDifferentiable {
			parted++
			for i, k := range l.rows.Of { // move equal rows equally
				along.X.SetRow(i, along.X.RawRowView(l.rows.First[k]))
				along.Y[i] = along.Y[l.rows.First[k]]
			}
			err = l.PredictJVP(w, df, x, dx, along)
		}
		if errors.Is(err, qpdiff.ErrIllPosed) {
			continue
		}
		g, gx, gb, db := casetest.NewGrad(d, nh), mat.NewDense(4, n, nil), casetest.NewGrad(d, nh), make([]float64, nt)
		numtest.OK(t, err, l.PredictJVP(nil, alone, x, dx, along), l.PredictVJP(w, g, gx, x, v), l.VJP(w, gb, numtest.Ones(nt)), l.JVP(w, db, along))
		if !numtest.SameBits(df, alone) {
			t.Fatalf("trial %d: %v with kernel values kept, else %v", trial, df, alone)
		}
		moves := slices.Concat(casetest.GradSlices(along)...)
		for _, c := range []struct {
			what                    string
			v, forward, back, moves []float64
		}{
			{"PredictJVP", v, df, slices.Concat(append(casetest.GradSlices(g), gx.RawMatrix().Data)...), append(slices.Clone(moves), dx.RawMatrix().Data...)},
			{"JVP", numtest.Ones(nt), db, slices.Concat(casetest.GradSlices(gb)...), moves},
		} {
			lhs, rhs, size := dense.Dot(c.v, c.forward), dense.Dot(c.back, c.moves), l.termBound()
			for k, a := range c.back {
				size += math.Abs(a * c.moves[k])
			}
			if !(math.Abs(lhs-rhs) <= 1e-12*size) {
				t.Fatalf("trial %d: %s: ⟨v, J·d⟩ = %.16g, ⟨Jᵀv, d⟩ = %.16g", trial, c.what, lhs, rhs)
			}
		}
		if g.Generalised {
			generalised++
		}
		if len(l.rows.First) < rows {
			tied++
		}
		if l.Intercept && len(l.q.freeSet) == 0 {
			bounded++
		}
	}
	if generalised < numtest.Long(20) || tied < numtest.Long(100) || bounded < numtest.Long(10) || parted < numtest.Long(20) {
		t.Errorf("%d generalised products, %d with equal rows, %d with all β at a bound, %d that part equal rows", generalised, tied, bounded, parted)
	}
}

// termBound returns a bound of the terms of a decision value, which grows with condition numbers
// above 1e4.
func (l *SVM) termBound() float64 {
	q := &l.q
	_, size, _ := q.terms()
	cond := numtest.EquilibratedCond(len(q.freeSet), func(i, j int) float64 { return q.row(q.freeSet[i])[q.freeSet[j]] + q.shift })
	return math.Sqrt(q.largest) * size * max(1, cond/1e4)
}

// JVP returns an error if a move separates equal rows at which the solution has a kink.
func TestKernelSVMPartsEqualRows(t *testing.T) {
	x := []float64{1.5, .2, -.2, -2, -1, -1}
	for _, c := range []struct {
		name    string
		equal   [2]int // the second row is as the first
		hyper   []float64
		dx      []float64
		refused bool
	}{
		{"apart", [2]int{4, 5}, []float64{2, .2}, []float64{0, 0, 0, 0, 1, 0}, true},
		{"together", [2]int{4, 5}, []float64{2, .2}, []float64{0, 0, 0, 0, 1, 1}, false},
		{"apart at C", [2]int{1, 5}, []float64{2, .2}, []float64{0, 1, 0, 0, 0, -.5}, false},
		{"apart beyond the margin", [2]int{3, 5}, []float64{2, .2}, []float64{0, 0, 0, 1, 0, 0}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &SVM{Intercept: true}
			y := []float64{1, 1, -1, -1, -1, -1}
			y[5] = y[c.equal[0]]
			at := mat.NewDense(1, 1, []float64{.7})
			f := make([]float64, 1)
			fit := func(h float64) float64 {
				d := learn.Data{X: mat.NewDense(6, 1, slices.Clone(x)), Y: y}
				d.Dense().Set(c.equal[1], 0, x[c.equal[0]])
				dense.Axpy(h, c.dx, d.Dense().RawMatrix().Data)
				numtest.OK(t, l.Load(d), l.Fit(make([]float64, 1), c.hyper), l.Predict(nil, f, at))
				return f[0]
			}
			const h = 1e-6
			below, above := (fit(0)-fit(-h))/h, (fit(h)-fit(0))/h
			fit(0)
			switch err := l.PredictJVP(nil, f, at, nil, &learn.Grad{X: mat.NewDense(6, 1, c.dx)}); {
			case !c.refused && (err != nil || math.Abs(f[0]-above) > 1e-5 || math.Abs(f[0]-below) > 1e-5):
				t.Errorf("derivative %v, error %v; differences give %v and %v", f, err, below, above)
			case c.refused && !errors.Is(err, qpdiff.ErrNotDifferentiable):
				t.Errorf("derivative %v, error %v; differences give %v and %v", f, err, below, above)
			case c.refused && math.Abs(below-above) < 1e-3:
				t.Errorf("slopes %v and %v: the case has no kink", below, above)
			}
		})
	}
}

// Equal rows have equal dual variables, and a dual variable at its bound equals C to the last bit.
func TestKernelSVMMultipliers(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 3))
	atC, inside := 0, 0
	for range 300 {
		d := casetest.ClassData(rng.Uint64(), 15, 2)
		for range 6 {
			i, k := rng.IntN(15), rng.IntN(15)
			if d.Y[i] == d.Y[k] {
				d.Dense().SetRow(i, d.Dense().RawRowView(k))
			}
		}
		l := &SVM{Intercept: rng.IntN(2) == 0}
		if _, err := l.Multipliers(nil); !errors.Is(err, qpdiff.ErrNotFitted) {
			t.Fatalf("without a fit: %v", err)
		}
		if _, err := l.SupportVectors(nil); !errors.Is(err, qpdiff.ErrNotFitted) {
			t.Fatalf("without a fit: %v", err)
		}
		theta, c := make([]float64, 1)[:numtest.First(l.Dims(2))], rng.Float64()
		numtest.OK(t, l.Load(d), l.Fit(theta, []float64{c, 1}))
		alpha, err := l.Multipliers(make([]float64, 3))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := l.SupportVectors([]int{7})
		if err != nil {
			t.Fatal(err)
		}
		f, b, sum, total := make([]float64, 15), 0.0, 0.0, 0.0
		if l.Intercept {
			b = theta[0]
		}
		numtest.OK(t, l.Predict(nil, f, d.Dense()))
		var support []int
		for i, a := range alpha {
			sum += d.Y[i] * a
			total += a
			if a > 0 {
				support = append(support, i)
			}
			margin, want := d.Y[i]*f[i], b
			for k, v := range alpha {
				want += v * d.Y[k] * l.kernel.Eval([]float64{1}, d.Dense().RawRowView(i), d.Dense().RawRowView(k))
				if slices.Equal(d.Dense().RawRowView(i), d.Dense().RawRowView(k)) && d.Y[i] == d.Y[k] && v != a {
					t.Fatalf("rows %d and %d are equal and have the dual variables %v and %v", i, k, a, v)
				}
			}
			switch {
			case math.Abs(want-f[i]) > 1e-12*(1+total):
				t.Fatalf("row %d: the dual variables give the decision value %v, Predict %v", i, want, f[i])
			case a == c && margin < 1+1e-12:
				atC++
			case a == 0 && margin > 1-1e-12:
			case a > 0 && a < c && math.Abs(margin-1) < 1e-12:
				inside++
			default:
				t.Fatalf("C %v: row %d has the dual variable %v and the margin %v", c, i, a, margin)
			}
		}
		if !slices.Equal(rows, support) {
			t.Fatalf("support vectors %v, want %v", rows, support)
		}
		if l.Intercept && math.Abs(sum) > 1e-13*total {
			t.Fatalf("Σ y·α = %v of %v", sum, total)
		}
	}
	if atC < 100 || inside < 100 {
		t.Errorf("%d dual variables at C, %d inside", atC, inside)
	}
}
