package dense_test

import (
	"math"
	"math/rand/v2"
	"testing"

	. "cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learntest/serial"
)

// ExpNegatives returns the bits of ExpNegative and differs from math.Exp by less than two units in
// the last place.
func TestExpNegatives(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(3, 9))
	q := []float64{0, 5e-324, 1e-300, 1e-17, math.Ln2 / 2, math.Nextafter(math.Ln2/2, 1), 707.9, 708, math.Nextafter(708, 709), 746, 1e300, math.Inf(1), math.NaN()}
	for range 4000 {
		q = append(q, math.Exp(-40+48*rng.Float64()))
	}
	got := append([]float64(nil), q...)
	ExpNegatives(got)
	for i, v := range q {
		want := math.Exp(-v)
		if v > 708 {
			want = 0
		}
		if !(math.Abs(got[i]-want) <= 2*Eps*want) && v == v || v != v && got[i] == got[i] {
			t.Errorf("exp(−%v) is %v, not %v", v, got[i], want)
		}
		if math.Float64bits(ExpNegative(v)) != math.Float64bits(got[i]) && v == v {
			t.Errorf("exp(−%v) is %v alone and %v among others", v, ExpNegative(v), got[i])
		}
	}
	if got[0] != 1 {
		t.Errorf("exp(−0) is %v", got[0])
	}
}

// Terms with the weight 0 are left out, even if their squares overflow.
func TestWidthsLeaveOut(t *testing.T) {
	serial.Test(t)
	for n := 1; n < 12; n++ {
		points, s := make([]float64, 3*n), make([]float64, n)
		for i := range n {
			points[i], points[n+i], points[2*n+i] = float64(i), 1e300, 2
			if i%2 == 0 {
				points[2*n+i], s[i] = -1e300, 0
			} else {
				s[i] = 1
			}
		}
		q := make([]float64, n)
		AddWeightedSquares(q, []float64{2, 0}, []float64{1, -1e300}, points, n)
		sums := []float64{1}
		AddPairSquares(sums, s, []float64{5}, points[2*n:], n)
		for i, v := range q {
			if want := 2 * float64(i-1) * float64(i-1); v != want {
				t.Errorf("%d entries: entry %d is %v, not %v", n, i, v, want)
			}
		}
		if want := 1 + 9*float64(n/2); sums[0] != want {
			t.Errorf("%d entries: the sum is %v, not %v", n, sums[0], want)
		}
	}
}
