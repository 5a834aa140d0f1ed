package margin

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
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

// marginObjective returns the objective at theta, and a bound on the sum of its absolute terms.
func (p *marginProblem) marginObjective(theta []float64) (value, size float64) {
	m := make([]float64, p.rows)
	for i := range m {
		m[i] = dense.Dot(theta, p.z[i*p.n:(i+1)*p.n])
	}
	value = p.objective(theta, m)
	for i := range m {
		m[i] = -p.norm[i] * math.Sqrt(dense.Dot(theta, theta))
	}
	return value, p.objective(theta, m)
}

// Even if one hyperparameter is extreme, a fit is a minimum or returns an error.
func TestMarginProblemsWithExtremeWeights(t *testing.T) {
	serial.Test(t)
	const rounding = 1e-11 // of the terms of F, at conditions far above 1
	rng := rand.New(rand.NewPCG(27, 1))
	fits, errs := [2]int{}, [2]int{}
	for trial := range 2000 {
		rows, n := 2+rng.IntN(8), 1+rng.IntN(4)
		d := casetest.ClassData(rng.Uint64(), rows, n)
		if trial%3 == 0 {
			for i := range rows {
				for j := range n {
					d.Dense().Set(i, j, math.Round(2*d.X.At(i, j)))
				}
			}
		}
		var l learn.Learner
		var p *marginSolver
		var tame, extreme []float64
		which := trial % 2
		if which == 0 {
			s := new(SVM)
			l, p = s, &s.p
			tame = []float64{rng.ExpFloat64() / 10, rng.ExpFloat64()}
			if rng.IntN(2) == 0 {
				tame[0] = 0
			}
			extreme = append(extreme, tame...)
			extreme[1] *= math.Pow(10, -160*rng.Float64())
		} else {
			s := new(LearnedLoss)
			l, p = s, &s.p
			for range 5 {
				tame = append(tame, rng.ExpFloat64())
			}
			extreme = append(extreme, tame...)
			extreme[rng.IntN(4)] *= math.Pow(10, 100*rng.Float64())
		}
		theta, other := make([]float64, n), make([]float64, n)
		numtest.OK(t, l.Load(d), l.Fit(other, tame))
		if rng.IntN(2) == 0 {
			l.(interface{ Reset() }).Reset()
		}
		if err := l.Fit(theta, extreme); err != nil {
			if !errors.Is(err, qpdiff.ErrIllPosed) && !errors.Is(err, qpdiff.ErrIterationLimit) && !errors.Is(err, qpdiff.ErrNotFinite) {
				t.Fatalf("trial %d, hyper %v: %v", trial, extreme, err)
			}
			errs[which]++
			continue
		}
		fits[which]++
		value, size := p.marginObjective(theta)
		lower := func(x []float64, what string) {
			if v, _ := p.marginObjective(x); v < value-rounding*size {
				t.Errorf("trial %d, hyper %v, %d×%d: %.17g at %v, %.3g lower at %s", trial, extreme, rows, n, value, theta, value-v, what)
			}
		}
		lower(other, "a tamer minimum")
		lower(make([]float64, n), "0")
		near := make([]float64, n)
		for k := range 60 {
			step := math.Pow(10, -9*rng.Float64())
			for j, v := range theta {
				near[j] = v + step*(math.Abs(v)+1)*rng.NormFloat64()
				if k%3 == 0 {
					near[j] = v + step*(other[j]-v)
				}
			}
			lower(near, "a point beside it")
		}
	}
	// Some fits fail because a tiny ridge penalty may be no more than rounding.
	for k, most := range []int{2, 5} {
		if errs[k]*most > fits[k] {
			t.Errorf("learner %d: %d of %d fits end in an error", k, errs[k], errs[k]+fits[k])
		}
	}
}

// searchCurved fails at once if its step would be too short for float64. In the test, the objective
// falls only up to the step 5e-161, because one margin moves 1e80 times as fast as the other.
func TestMarginSearchWithoutLength(t *testing.T) {
	p := marginSolver{
		marginProblem: marginProblem{rows: 2, RowSet: learner.RowSet{Copies: []float64{1, 1}}, smooth: [3]float64{0, 1, 0}},
		marginFace:    marginFace{side: []int8{-1, 1}},
		m:             []float64{0, 1}, dm: []float64{.5, -1e80},
	}
	if at, blocked, ok := p.searchCurved(); ok {
		t.Errorf("the search ends at %v, blocked by %d", at, blocked)
	}
	p.dm[1] = -1
	if at, _, ok := p.searchCurved(); !ok || at == 0 {
		t.Errorf("a step of ordinary length: ends at %v, %v", at, ok)
	}
}

// In any units of the features, the margins of the elbow are 1 up to the rounding of their terms.
func TestSVMElbowInAnyUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 8))
	elbows, hidden := 0, 0
	for k := range 500 {
		n := 2 + rng.IntN(4)
		d := casetest.RandomData(rng.Uint64(), 4*n, n, true)
		for j := range n {
			unit := math.Pow(10, 12*rng.Float64()-6)
			for i := range d.Y {
				d.Dense().Set(i, j, unit*d.X.At(i, j))
			}
		}
		var l SVM
		theta := make([]float64, n)
		if err := errors.Join(l.Load(d), l.Fit(theta, []float64{0, 1e-30})); errors.Is(err, errHiddenSide) {
			hidden++
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		for _, i := range l.p.elbow {
			elbows++
			m, terms := numtest.Precise(0), 0.0
			for j, v := range theta {
				z := l.p.z[i*n+j]
				m.Add(m, new(big.Float).Mul(numtest.Precise(z), numtest.Precise(v)))
				terms += math.Abs(z * v)
			}
			m.Sub(m, numtest.Precise(1))
			if off, _ := m.Float64(); !(math.Abs(off) <= 2*marginTol*(1+terms)) {
				t.Errorf("problem %d: a margin is off by %.3g, its terms are %.3g", k, off, terms)
			}
		}
	}
	if elbows < 500 || hidden > 5 {
		t.Errorf("only %d rows on elbows, %d fits refused", elbows, hidden)
	}
}

// A one-sided JVP that returns an error does not write to dtheta.
func TestSVMOneSidedErrorWritesNothing(t *testing.T) {
	d := learn.Data{X: mat.NewDense(3, 2, []float64{2, 0, -1, 0, 2, 0}), Y: []float64{1, -1, 1}}
	var l SVM
	dtheta := make([]float64, 2)
	numtest.OK(t, l.Load(d), l.Fit(dtheta, []float64{1. / 12, .5}))
	if len(l.weak.Rows) == 0 {
		t.Fatal("no row is weakly active")
	}
	dtheta[0], dtheta[1] = 7, 8
	err := l.JVP(nil, dtheta, &learn.Grad{Hyper: []float64{math.MaxFloat64, math.MaxFloat64}})
	if err == nil || dtheta[0] != 7 || dtheta[1] != 8 {
		t.Errorf("error %v, dtheta %v", err, dtheta)
	}
}

// Powers of two as units of the features change neither θ nor the weakly active rows and
// coordinates.
func TestSVMWeakInAnyUnits(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(36, 300))
	for trial := range 30 {
		rows, n := 20+rng.IntN(60), 4+rng.IntN(20)
		d := casetest.ClassData(rng.Uint64(), rows, n)
		// A column far from 0 makes the solver compute errors, because their cheap bound is too large.
		for i := range rows {
			d.Dense().Set(i, 0, 1e4+d.X.At(i, 0))
		}
		hyper := []float64{1e-4 * rng.Float64(), 1e-3 * rng.Float64()}
		var want []float64
		var weak qpdiff.Weak
		for _, power := range []int{0, 300, -300} {
			scaled, a := casetest.CloneData(d), math.Ldexp(1, power)
			scaled.Dense().Scale(a, scaled.X)
			var l SVM
			theta := make([]float64, n)
			numtest.OK(t, errors.Join(l.Load(scaled), l.Fit(theta, []float64{a * hyper[0], a * a * hyper[1]})))
			dense.ScaleBy(theta, power)
			if power == 0 {
				want, weak = theta, l.weak
			}
			if !numtest.Near(theta, want) || !slices.Equal(l.weak.Rows, weak.Rows) || !slices.Equal(l.weak.Coords, weak.Coords) {
				t.Errorf("trial %d, units 2^%d: weakly active %v, want %v", trial, power, l.weak, weak)
			}
		}
	}
}

// At a tiny λ2, a fit is a minimum even if a step reaches entries of 1e200. The reference is the
// fit at λ2 = 1e-9, because its minimum is the same for all smaller λ2.
func TestSVMWithRidgePenaltiesOf1e200(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(29, 11))
	fits := 0
	for trial := range numtest.Long(4000) {
		rows, n := 2+rng.IntN(5), 1+rng.IntN(4)
		d := learn.Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
		for i := range rows {
			d.Y[i] = float64(1 - 2*(i%2))
			for j := range n {
				d.Dense().Set(i, j, float64(rng.IntN(7)-3))
			}
		}
		var tame, tiny SVM
		if err := errors.Join(tame.Load(d), tiny.Load(d)); err != nil {
			t.Fatal(err)
		}
		l1, l2 := .01+3*rng.Float64(), math.Pow(10, -150-130*rng.Float64())
		theta, least := make([]float64, n), make([]float64, n)
		if err := tame.Fit(least, []float64{l1, 1e-9}); err != nil {
			continue
		}
		if trial%2 > 0 {
			// Only the θ of this fit matters, because the next fit starts there.
			_ = tiny.Fit(theta, []float64{3 * rng.Float64(), rng.Float64()})
		}
		if err := tiny.Fit(theta, []float64{l1, l2}); err != nil {
			continue
		}
		fits++
		f, size := tiny.p.marginObjective(theta)
		if low, _ := tiny.p.marginObjective(least); !(f <= low+1e-12*size) {
			t.Errorf("trial %d, %d×%d at λ = %v: F = %v at θ = %v, %v at θ = %v", trial, rows, n, []float64{l1, l2}, f, theta, low, least)
		}
	}
	if fits < numtest.Long(4000)/2 {
		t.Errorf("%d fits without an error", fits)
	}
}

// If margins overflow, their sides are unknown, and a fit returns an error.
func TestSVMOfOverflowingMargins(t *testing.T) {
	serial.Test(t)
	d := learn.Data{X: mat.NewDense(2, 4, []float64{-1e137, -4.5e137, -5.5e137, 0, -3.6e137, -5.3e137, -2.2e137, -5.8e137}), Y: []float64{1, -1}}
	var l SVM
	if err := l.Load(d); err != nil {
		t.Fatal(err)
	}
	theta := []float64{7, 7, 7, 7}
	// The last bits of the margins decide which of the two errors occurs.
	if err := l.Fit(theta, []float64{0, 6e-83}); !errors.Is(err, qpdiff.ErrNotFinite) && !errors.Is(err, errHiddenSide) || theta[0] != 7 {
		t.Errorf("θ = %v, error %v", theta, err)
	}
	if err := l.Fit(theta, []float64{0, 1e250}); err != nil {
		t.Errorf("a larger ridge penalty: %v", err)
	}
}
