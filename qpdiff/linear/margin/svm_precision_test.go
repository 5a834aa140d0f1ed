package margin

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
)

// A generalised VJP is right to a thousandth of the margin, even for nearly equal rows and a tiny
// λ2. The reference is the interval between the one-sided derivatives, because λ2 may be at a kink.
func TestSVMGeneralisedRight(t *testing.T) {
	serial.Test(t)
	const tol, h = 1e-3, 1e-20
	generalised, exact := 0, 0
	for trial := range numtest.Long(2500) {
		rng := rand.New(rand.NewPCG(uint64(trial), 2))
		rows, n := []int{4, 8}[rng.IntN(2)], 2+rng.IntN(2)
		d := casetest.ClassData(rng.Uint64(), rows, n)
		apart := math.Pow(10, -13*rng.Float64())
		for i := range rows / 2 {
			for j := range n {
				d.Dense().Set(i, j, d.X.At(0, j)*d.Y[0]*d.Y[i]+apart*rng.NormFloat64())
			}
		}
		for j := range n {
			unit := math.Pow(10, 8*rng.Float64()-4)
			for i := range rows {
				d.Dense().Set(i, j, unit*d.X.At(i, j))
			}
		}
		l2 := math.Pow(10, -18*rng.Float64())
		theta, l := make([]float64, n), &SVM{Generalised: true}
		if err := errors.Join(l.Load(d), l.Fit(theta, []float64{0, l2})); err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		dual, c := dualOf(d), 1/(l2*float64(rows))
		_, at := dual.Decisions(c, 0)
		_, below := dual.Decisions(c, -h)
		_, above := dual.Decisions(c, h)
		for i := range at {
			g := &learn.Grad{Hyper: make([]float64, 2)}
			if err := l.VJP(nil, g, d.Dense().RawRowView(i)); err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
			if g.Generalised {
				generalised++
			} else {
				exact++
			}
			got := -l2 * g.Hyper[1]
			left, right, excess := numtest.OneSided(got, below[i], at[i], above[i], h)
			if !(excess <= tol*(1+math.Abs(left)+math.Abs(right))) {
				t.Errorf("trial %d, λ2 %.3g, weak %v: row %d has λ2·∂(θᵀx)/∂λ2 = %v, want %v or %v", trial, l2, l.weak, i, got, left, right)
				break
			}
		}
	}
	if generalised < numtest.Long(800) || exact < numtest.Long(12000) {
		t.Errorf("%d generalised products, %d others", generalised, exact)
	}
}

// In mixed units of the features, a fit is right to 1e-6 of the margin or returns an error. ‖x‖‖θ‖
// does not bound rounding tightly, because large entries of x meet small entries of θ.
func TestSVMRightOrRefusedInMixedUnits(t *testing.T) {
	serial.Test(t)
	const tol = 1e-6
	refused := 0
	trials := []int{104, 436} // of 5000 problems, those with margins far smaller than ‖x‖‖θ‖
	for trial := range numtest.Long(500) {
		trials = append(trials, trial)
	}
	for _, trial := range trials {
		rng := rand.New(rand.NewPCG(uint64(trial), 4))
		rows, n := []int{4, 8}[rng.IntN(2)], 2+rng.IntN(4)
		d := casetest.ClassData(rng.Uint64(), rows, n)
		apart := math.Pow(10, -3*rng.Float64())
		for i := range rows / 2 {
			for j := range n {
				d.Dense().Set(i, j, d.X.At(0, j)*(1-1e-9*float64(min(i, 1)))*d.Y[0]*d.Y[i]+apart*rng.NormFloat64())
			}
		}
		for j := range n {
			unit := math.Pow(10, 12*(rng.Float64()-.5))
			for i := range rows {
				d.Dense().Set(i, j, unit*d.X.At(i, j))
			}
		}
		l2 := math.Pow(10, -18*rng.Float64())
		theta, l := make([]float64, n), &SVM{}
		numtest.OK(t, l.Load(d))
		if err := l.Fit(theta, []float64{0, l2}); errors.Is(err, errHiddenSide) {
			refused++
			continue
		} else if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		want, _ := dualOf(d).Decisions(1/(l2*float64(rows)), 0)
		for i, f := range want {
			if got := dense.Dot(theta, d.Dense().RawRowView(i)); !(math.Abs(got-f) <= tol*(1+math.Abs(f))) {
				t.Errorf("trial %d, λ2 %.3g: row %d has θᵀx = %v, want %v", trial, l2, i, got, f)
			}
		}
	}
	if refused == 0 || refused > 1+len(trials)/50 {
		t.Errorf("%d of %d refused", refused, len(trials))
	}
}

// dualOf returns the dual problem of an SVM on d at λ1 = 0.
func dualOf(d learn.Data) *numtest.PreciseDual {
	return &numtest.PreciseDual{Y: d.Y, Kernel: func(i, j int) *big.Float {
		return numtest.PreciseDot(d.Dense().RawRowView(i), d.Dense().RawRowView(j))
	}}
}
