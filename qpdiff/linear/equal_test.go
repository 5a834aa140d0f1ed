package linear_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// drawRepeated draws data in which each feature occurs up to three times, with either sign. Column
// j repeats the drawn feature originals[j], or is zero if originals[j] is −1.
func drawRepeated(rng *rand.Rand, rows, distinct int) (d learn.Data, originals []int, sign []float64) {
	for k := range distinct {
		for range 1 + rng.IntN(3) {
			originals = append(originals, k)
		}
	}
	originals = append(originals, -1)
	rng.Shuffle(len(originals), func(i, j int) { originals[i], originals[j] = originals[j], originals[i] })
	few := casetest.RandomData(rng.Uint64(), rows, distinct, false)
	unit := math.Pow(10, 6*rng.Float64()-3)
	d = learn.Data{X: mat.NewDense(rows, len(originals), nil), Y: few.Y}
	if rng.IntN(2) == 0 {
		d.Weights = make([]float64, rows)
		for i := range d.Weights {
			d.Weights[i] = .5 + rng.Float64()
		}
	}
	for j, k := range originals {
		sign = append(sign, float64(1-2*rng.IntN(2)))
		for i := range rows {
			if k >= 0 {
				d.Dense().Set(i, j, unit*sign[j]*few.X.At(i, k)*(1+1e-16*rng.NormFloat64()))
			}
		}
	}
	return d, originals, sign
}

// fitLearner fits l to d and returns θ.
func fitLearner(t *testing.T, l learn.Learner, d learn.Data, hyper ...float64) []float64 {
	t.Helper()
	theta := numtest.NaNs(l.Dims(d.X.(*mat.Dense).RawMatrix().Cols))
	numtest.OK(t, l.Load(d), l.Fit(theta, hyper))
	return theta
}

// Without a ridge penalty, equal features share one value, the limit for λ2 → 0.
func TestEqualFeaturesShareOneValue(t *testing.T) {
	for trial := range numtest.Long(300) {
		rng := rand.New(rand.NewPCG(uint64(trial), 12))
		distinct := 2 + rng.IntN(5)
		d, of, sign := drawRepeated(rng, distinct+3+rng.IntN(20), distinct)
		rows, n := d.X.Dims()
		size := d.Dense().Norm(2) / math.Sqrt(float64(rows))
		l1 := []float64{0, .02, .2}[rng.IntN(3)] * size
		fresh := func() learn.Learner { return new(linear.ElasticNet) }
		if rng.IntN(2) == 0 {
			fresh = func() learn.Learner { return casetest.WorkingSets{ForwardLearner: new(linear.ElasticNet)} }
		}
		name := fmt.Sprintf("trial %d, %d×%d, λ1 %.3g", trial, rows, n, l1)
		l := fresh()
		theta := fitLearner(t, l, d, l1, 0)
		limit := fitLearner(t, fresh(), d, l1, 1e-7*size*size)
		if e := numtest.RelErr(theta, limit); !(e <= 1e-4) {
			t.Fatalf("%s: θ %v, in the limit %v", name, theta, limit)
		}
		first := map[int]int{}
		for j, k := range of {
			at, seen := first[k]
			if !seen {
				first[k], at = j, j
			}
			if k < 0 && theta[j] != 0 || k >= 0 && theta[j] != sign[j]*sign[at]*theta[at] {
				t.Fatalf("%s: θ %v, of the features %v", name, theta, of)
			}
		}
		// A warm fit has the bits of the first fit.
		again := make([]float64, n)
		numtest.OK(t, l.Fit(again, []float64{1.5*l1 + size, size * size}), l.Fit(again, []float64{l1, 0}))
		if !numtest.SameBits(again, theta) {
			t.Fatalf("%s: θ %v, warm %v", name, theta, again)
		}

		v := numtest.Normals(rng, n)
		g := &learn.Grad{Hyper: make([]float64, 2), Y: make([]float64, rows)}
		switch err := l.VJP(nil, g, v); {
		case l1 == 0: // the end of the domain of λ1, with features at their kink or none
			g.Hyper = nil
			if err != nil && !errors.Is(err, qpdiff.ErrNotDifferentiable) {
				t.Fatalf("%s: %v", name, err)
			}
		case err != nil:
			t.Fatalf("%s: %v", name, err)
		}
		value := func(hyper []float64, moved learn.Data) float64 {
			return floats.Dot(v, fitLearner(t, fresh(), moved, hyper...))
		}
		at, tol := floats.Dot(v, theta), 1e-4*floats.Norm(theta, 1)*floats.Norm(v, 2)
		if g.Hyper != nil {
			h := 1e-5 * l1
			if q := (value([]float64{l1 + h, 0}, d) - value([]float64{l1 - h, 0}, d)) / (2 * h); !(math.Abs(q-g.Hyper[0])*l1 <= tol) {
				t.Fatalf("%s: derivative in λ1 %v, quotient %v", name, g.Hyper[0], q)
			}
		}
		if g.Hyper != nil {
			h := 1e-6 * size * size
			if q := (value([]float64{l1, h}, d) - at) / h; !(math.Abs(q-g.Hyper[1])*size*size <= 1e3*tol) {
				t.Fatalf("%s: derivative in λ2 %v, quotient %v", name, g.Hyper[1], q)
			}
		}
		i, h := rng.IntN(rows), 1e-5
		moved := d
		moved.Y = append([]float64{}, d.Y...)
		moved.Y[i] += h
		up := value([]float64{l1, 0}, moved)
		moved.Y[i] -= 2 * h
		if q := (up - value([]float64{l1, 0}, moved)) / (2 * h); !(math.Abs(q-g.Y[i]) <= tol) {
			t.Fatalf("%s: derivative in y %v, quotient %v", name, g.Y[i], q)
		}

		// JVP agrees with VJP.
		move := &learn.Grad{Y: numtest.Normals(rng, rows)}
		want := floats.Dot(move.Y, g.Y)
		if g.Hyper != nil {
			move.Hyper = []float64{rng.NormFloat64() * l1, rng.Float64()}
			want += floats.Dot(move.Hyper, g.Hyper)
		}
		along := make([]float64, n)
		numtest.OK(t, l.(learn.ForwardLearner).JVP(nil, along, move))
		if got := floats.Dot(v, along); !(math.Abs(got-want) <= 1e-9*(math.Abs(want)+floats.Norm(along, 2))) {
			t.Fatalf("%s: JVP %v, VJP %v", name, got, want)
		}

		// θ has no derivative in X if equal features are in the support or a feature of zeros has no
		// penalty.
		shared := false
		for j, k := range of {
			shared = shared || k >= 0 && theta[j] != 0 && first[k] != j || k < 0 && l1 == 0
		}
		gx := &learn.Grad{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
		err := l.VJP(nil, gx, v)
		if errors.Is(err, qpdiff.ErrNotDifferentiable) != shared || !shared && err != nil || numtest.RelErr(gx.Y, g.Y) > 1e-12 {
			t.Fatalf("%s: error %v in X, want one: %v", name, err, shared)
		}
	}
}

// For equal features, a sparse X gives the results of its dense copy.
func TestEqualFeaturesSparse(t *testing.T) {
	for _, most := range []int{1000, 0} {
		inSupport := 0
		defer ways.SetSparseFeatures(ways.SetSparseFeatures(most))
		for trial := range 50 {
			rng := rand.New(rand.NewPCG(uint64(trial), 13))
			rows := 10 + rng.IntN(20)
			x := numtest.DrawStored(rng, rows, 6)
			for i := range rows { // column 6 is column 0
				for k, j := range x.Index[i] {
					if j == 0 {
						x.Index[i], x.Value[i] = append(x.Index[i], 6), append(x.Value[i], x.Value[i][k])
						break
					}
				}
			}
			x.Columns = 7
			y := numtest.Normals(rng, rows)
			seen := x.Seen(nil, nil)
			for i := range y {
				y[i] = .1*y[i] + 3*seen.At(i, 0) - seen.At(i, 2)
			}
			l, dense := &linear.ElasticNet{Generalised: true}, &linear.ElasticNet{Generalised: true}
			theta, want := make([]float64, 7), make([]float64, 7)
			hyper := []float64{.05, 0}
			numtest.OK(t, l.Load(learn.Data{X: x, Y: y}), dense.Load(learn.Data{X: seen, Y: y}), l.Fit(theta, hyper), dense.Fit(want, hyper))
			if theta[0] == 0 {
				continue
			}
			inSupport++
			if theta[0] != theta[6] || !(numtest.RelErr(theta, want) < 1e-9) {
				t.Fatalf("trial %d: θ %v, dense %v", trial, theta, want)
			}
			g, gd := &learn.Grad{Stored: make([]float64, learn.Data{X: x}.Stored())}, &learn.Grad{X: mat.NewDense(rows, 7, nil)}
			v := numtest.Normals(rng, 7)
			e1, e2 := l.VJP(nil, g, v), dense.VJP(nil, gd, v)
			if e1 != nil || e2 != nil {
				t.Log(trial, theta, e1, e2, gd.X, g.Stored)
			}
			numtest.OK(t, e1, e2)
			if !g.Generalised || !gd.Generalised {
				t.Fatal("the derivative is not marked as generalised")
			}
			var stored []float64
			learn.Data{X: x}.VisitStored(func(_, i, j int, _ float64) { stored = append(stored, gd.X.At(i, j)) })
			if !(numtest.RelErr(g.Stored, stored) < 1e-8) {
				t.Fatalf("trial %d: derivative %v, dense %v", trial, g.Stored, stored)
			}
			// The generalised derivative holds along moves that keep the features equal.
			const h = 1e-6
			value := func(s float64) float64 {
				moved := mat.DenseCopyOf(seen)
				for _, j := range []int{0, 6} {
					moved.Set(3, j, moved.At(3, j)+s)
				}
				return floats.Dot(v, fitLearner(t, new(linear.ElasticNet), learn.Data{X: moved, Y: y}, hyper...))
			}
			if q, got := (value(h)-value(-h))/(2*h), gd.X.At(3, 0)+gd.X.At(3, 6); !(math.Abs(q-got) <= 1e-4*(1+math.Abs(q))) {
				t.Fatalf("trial %d: derivative along an equal move %v, quotient %v", trial, got, q)
			}
		}
		if inSupport < 30 {
			t.Errorf("the equal features have a value in %d of 50 trials", inSupport)
		}
	}
}

// For equal features, a warm fit has the bits of the first fit of a new learner.
func TestEqualFeaturesAfterOtherFits(t *testing.T) {
	for trial := range numtest.Long(300) {
		rng := rand.New(rand.NewPCG(uint64(trial), 14))
		distinct := 1 + rng.IntN(5)
		d, _, _ := drawRepeated(rng, distinct+3+rng.IntN(20), distinct)
		rows, n := d.X.Dims()
		size := d.Dense().Norm(2) / math.Sqrt(float64(rows))
		if rng.IntN(2) == 0 {
			x := &numtest.Stored{Rows: rows, Columns: n, Index: make([][]int, rows), Value: make([][]float64, rows)}
			for i := range rows {
				for j, v := range d.Dense().RawRowView(i) {
					x.Index[i], x.Value[i] = append(x.Index[i], j), append(x.Value[i], v)
				}
			}
			d.X = x
		}
		l := new(linear.ElasticNet)
		numtest.OK(t, l.Load(d))
		for step := range 6 {
			hyper := []float64{size * math.Exp(-1-7*rng.Float64()), size * size * math.Pow(10, -14*rng.Float64())}
			hyper[rng.IntN(2)] *= float64(rng.IntN(2))
			if rng.IntN(4) == 0 {
				l.Reset()
			}
			theta, want, fresh := make([]float64, n), make([]float64, n), new(linear.ElasticNet)
			numtest.OK(t, l.Fit(theta, hyper), fresh.Load(d), fresh.Fit(want, hyper))
			if !numtest.SameBits(theta, want) {
				t.Fatalf("trial %d, step %d, %d×%d, λ %v: θ %v, of a new learner %v", trial, step, rows, n, hyper, theta, want)
			}
		}
	}
}

// θ has no derivative in X if a feature of zeros has no penalties, because its coefficient is
// discontinuous in X.
func TestZerosWithoutPenaltiesHaveNoDerivativeInX(t *testing.T) {
	x := mat.NewDense(4, 2, []float64{0, 1, 0, 2, 0, -3, 0, 4})
	y := []float64{1, 2, -1, 3}
	stored := func(zeros bool) *numtest.Stored {
		s := &numtest.Stored{Rows: 4, Columns: 2, Index: make([][]int, 4), Value: make([][]float64, 4)}
		for i := range 4 {
			if zeros {
				s.Index[i], s.Value[i] = append(s.Index[i], 0), append(s.Value[i], 0)
			}
			s.Index[i], s.Value[i] = append(s.Index[i], 1), append(s.Value[i], x.At(i, 1))
		}
		return s
	}
	for _, c := range []struct {
		name string
		x    mat.Matrix
		can  bool // change
	}{{"dense", x, true}, {"sparse with stored zeros", stored(true), true}, {"sparse", stored(false), false}} {
		for _, free := range []bool{false, true} {
			for _, generalised := range []bool{false, true} {
				l := &linear.ElasticNet{Groups: []int{0, 1}, Generalised: generalised}
				d := learn.Data{X: c.x, Y: y}
				hyper := []float64{0, .1, .5, .2}
				if free {
					hyper[2] = 0
				}
				theta, dtheta := make([]float64, 2), []float64{0, 1}
				numtest.OK(t, l.Load(d), l.Fit(theta, hyper))
				var g, forward learn.Grad
				if d.Sparse() {
					g.Stored, forward.Stored = make([]float64, d.Stored()), make([]float64, d.Stored())
				} else {
					g.X, forward.X = mat.NewDense(4, 2, nil), mat.NewDense(4, 2, nil)
				}
				g.Y = make([]float64, 4)
				want := free && c.can
				err := l.VJP(nil, &g, dtheta)
				if refused := errors.Is(err, qpdiff.ErrNotDifferentiable); refused != (want && !generalised) || !refused && err != nil || g.Generalised != (want && generalised) {
					t.Errorf("%s, without penalties %v, Generalised %v: the VJP is generalised: %v, error %v", c.name, free, generalised, g.Generalised, err)
				}
				if floats.Norm(g.Y, 1) == 0 {
					t.Errorf("%s, without penalties %v, Generalised %v: the derivative in y is missing", c.name, free, generalised)
				}
				err = l.JVP(nil, make([]float64, 2), &forward)
				if refused := errors.Is(err, qpdiff.ErrNotDifferentiable); refused != want || !refused && err != nil {
					t.Errorf("%s, without penalties %v, Generalised %v: JVP returns %v", c.name, free, generalised, err)
				}
				if g.X == nil && g.Stored == nil || !want {
					continue
				}
				small := mat.DenseCopyOf(x)
				small.Set(0, 0, 1e-9)
				if moved := fitLearner(t, new(linear.ElasticNet), learn.Data{X: small, Y: y}, 0, 0); math.Abs(moved[0]) < 1e6 {
					t.Errorf("a small feature has the value %v, want one that cancels its smallness", moved[0])
				}
			}
		}
	}
}
