package kernel

import (
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
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// A userKernel embeds RBF, so learners treat it as a user's kernel.
type userKernel struct{ RBF }

// An RBF kernel evaluated for many rows returns the bits of its values and gradients for single
// rows.
func TestRowsAtOnce(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(1, 5))
	fits := map[string]int{}
	for round := range numtest.Long(120) {
		rows, n := 2+rng.IntN(60), rng.IntN(7)+1
		if round%10 == 0 {
			rows += 200 + rng.IntN(100)
		}
		d := casetest.ClassData(uint64(round), rows, n)
		x := d.X.(*mat.Dense)
		for i := range rows {
			switch rng.IntN(12) {
			case 0:
				copy(x.RawRowView(i), x.RawRowView(rng.IntN(rows)))
			case 1:
				x.Set(i, 0, x.At(i, 0)*1e160)
			}
			if round%3 == 0 {
				d.Weights = append(d.Weights, float64(rng.IntN(3)))
			}
		}
		hyper := []float64{math.Pow(10, -2+3*rng.Float64()), math.Pow(10, -4+6*rng.Float64())}
		intercept := round%2 == 0
		for name, pair := range map[string][2]learn.Predictor{
			"ridge": {&Ridge{Intercept: intercept}, &Ridge{Kernel: userKernel{}, Intercept: intercept}},
			"SVM":   {&SVM{Intercept: intercept, Generalised: true}, &SVM{Kernel: userKernel{}, Intercept: intercept, Generalised: true}},
		} {
			got, gotErr := fitResults(pair[0], d, hyper)
			want, wantErr := fitResults(pair[1], d, hyper)
			if gotErr == nil && !numtest.SameBits(got, want) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
				t.Fatalf("%s, round %d, %d rows: %v, %v\none by one %v, %v", name, round, rows, got, gotErr, want, wantErr)
			}
			if gotErr == nil {
				fits[name]++
			}
		}
	}
	if fits["ridge"] < numtest.Long(60) || fits["SVM"] < numtest.Long(60) {
		t.Errorf("only %v of %d rounds have a fit", fits, numtest.Long(120))
	}
}

// For hundreds of rows, sequential minimal optimisation leaves only few rows to the exact steps.
func TestManyRowsNeedFewExactSteps(t *testing.T) {
	serial.Test(t)
	const rows, left = 400, 8
	d := casetest.ClassData(1, rows, 5)
	l := &SVM{Intercept: true}
	theta := make([]float64, 1)
	numtest.OK(t, l.Load(d))
	for _, hyper := range [][]float64{{1000, .1}, {1500, .15}, {1000, .1}} {
		q, few := &l.q, pairsPerRow*rows
		if q.isWarm {
			few = rows / rowsPerPair
		}
		numtest.OK(t, l.gramMatrix(hyper[1:]), l.bounds(hyper[0]))
		copy(q.lin, q.y)
		q.residual()
		q.optimisePairs(q.mostPairs(few))
		guess := slices.Clone(q.freeSet)
		l.Reset()
		numtest.OK(t, l.Fit(theta, hyper))
		wrong := 0
		for i := range rows {
			if slices.Contains(q.freeSet, i) != slices.Contains(guess, i) {
				wrong++
			}
		}
		if wrong > left {
			t.Errorf("C = %v, γ = %v: %d rows are guessed wrong, beside %d free ones", hyper[0], hyper[1], wrong, len(q.freeSet))
		}
	}
}

// ridgeResidualTol bounds the residual of a ridge regression's conditions, relative to the largest
// sum of absolute terms. The factorisation is backward stable, so the bound holds for any condition
// number.
const ridgeResidualTol = 16 * dense.Eps

// Blocked factorisations solve ridge regressions of hundreds of rows to rounding.
func TestManyRowsLeaveNoResidual(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 5))
	fits := 0
	for round := range numtest.Long(60) {
		rows := 100 + rng.IntN(200)
		d := casetest.RandomData(uint64(round), rows, 1+rng.IntN(6), false)
		for i := range rows {
			if rng.IntN(5) == 0 {
				copy(d.Dense().RawRowView(i), d.Dense().RawRowView(rng.IntN(rows)))
			}
			if round%2 == 0 {
				d.Weights = append(d.Weights, float64(rng.IntN(3))*math.Pow(10, float64(rng.IntN(5)-2)))
			}
		}
		l := &Ridge{Intercept: rng.IntN(2) == 0}
		theta := make([]float64, numtest.First(l.Dims(1)))
		numtest.OK(t, l.Load(d))
		lambda := math.Pow(10, -13+13*rng.Float64())
		if l.Fit(theta, []float64{lambda, math.Pow(10, -4+6*rng.Float64())}) != nil {
			continue
		}
		fits++
		m, worst, size := len(l.rows), 0.0, 0.0
		for k, i := range l.rows {
			own := lambda / l.factor.shares[k] * l.c[k]
			left, terms := d.Y[i]-l.b-own, math.Abs(d.Y[i])+math.Abs(l.b)+math.Abs(own)
			for j, c := range l.c {
				left -= l.k[k*m+j] * c
				terms += math.Abs(l.k[k*m+j] * c)
			}
			worst, size = max(worst, math.Abs(left)), max(size, terms)
		}
		if !(worst <= ridgeResidualTol*size) {
			t.Errorf("round %d, %d rows, λ = %v: a condition leaves %v, its terms are up to %v", round, m, lambda, worst, size)
		}
	}
	if fits < numtest.Long(60)/2 {
		t.Errorf("only %d fits", fits)
	}
}

// fitResults returns the predictions of a fit and their derivatives, and the leave-one-out results
// if the learner has them.
func fitResults(l learn.Predictor, d learn.Data, hyper []float64) (out []float64, err error) {
	rows, n := d.X.Dims()
	theta := make([]float64, numtest.First(l.Dims(n)))
	if err := l.Load(d); err != nil {
		return nil, err
	}
	w, x, dst := new(qpdiff.Workspace), d.Dense().Slice(rows/3, rows, 0, n).(*mat.Dense), make([]float64, rows-rows/3)
	if err = l.Fit(theta, hyper); err == nil {
		err = l.Predict(w, dst, x)
	}
	out = append(slices.Clone(theta), dst...)
	for _, g := range []*learn.Grad{{Hyper: make([]float64, 2)}, casetest.NewGrad(d, 2)} {
		if err == nil {
			err = l.PredictVJP(w, g, nil, x, dst)
		}
		out = append(out, entries(g)...)
	}
	if r, ok := l.(*Ridge); ok && d.Weights == nil && err == nil {
		all := make([]float64, rows)
		err = r.LeaveOneOut(all, hyper)
		for _, g := range []*learn.Grad{{Hyper: make([]float64, 2)}, casetest.NewGrad(d, 2)} {
			if err == nil {
				err = r.LeaveOneOutVJP(w, g, nil, all)
			}
			out = append(out, entries(g)...)
		}
		out = append(out, all...)
	}
	return out, err
}

func entries(g *learn.Grad) []float64 {
	out := slices.Concat(g.Hyper, g.Y)
	if g.X != nil {
		out = append(out, g.X.RawMatrix().Data...)
	}
	return out
}
