package portable

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// rounding bounds the rounding error of a value of a B-spline, relative to the largest value.
const rounding = 1e-14

// splines sets dst to the values of all B-splines.
func splines(dst []float64, low, high, x float64) {
	clear(dst)
	first, near := BSplines(len(dst), low, high, x)
	copy(dst[first:], near[:])
}

// bSpline computes the B-spline number k with the knots k, k+1, … by the recursion of Cox and de
// Boor.
func bSpline(k, degree int, s float64) float64 {
	if degree == 0 {
		if s >= float64(k) && s < float64(k+1) {
			return 1
		}
		return 0
	}
	d := float64(degree)
	return (s-float64(k))/d*bSpline(k, degree-1, s) + (float64(k+degree+1)-s)/d*bSpline(k+1, degree-1, s)
}

func TestValuesFollowFromTheRecursion(t *testing.T) {
	for _, count := range []int{4, 5, 10, 23} {
		dst := make([]float64, count)
		segments := float64(count - 3)
		for s := 0.; s < segments; s += .173 {
			splines(dst, -2, 4, -2+6*s/segments)
			for k, v := range dst {
				if want := bSpline(k-3, 3, s); math.Abs(v-want) > 20*rounding {
					t.Fatalf("%d splines, number %d at %v: %v, not %v", count, k, s, v, want)
				}
			}
		}
	}
}

// Beyond the range, each B-spline continues along its tangent at the end of the range.
func TestValuesBeyondTheRangeAreOnTheTangent(t *testing.T) {
	const low, high, h = 10., 30., 1e-5
	const slopeTol = 1e-4 // of one-sided differences of a cubic over h
	at := func(x float64) []float64 {
		dst := make([]float64, 8)
		splines(dst, low, high, x)
		return dst
	}
	for _, end := range []struct{ x, out float64 }{{low, -1}, {high, 1}} {
		edge, inside, near, far := at(end.x), at(end.x-h*end.out), at(end.x+h*end.out), at(end.x+7*end.out)
		for k := range edge {
			slope, tangent := (edge[k]-inside[k])/h, (near[k]-edge[k])/h
			if math.Abs(slope-tangent) > slopeTol || math.Abs(far[k]-edge[k]-7*tangent) > slopeTol {
				t.Errorf("spline %d at %v: slopes %v and %v, 7 beyond %v from %v", k, end.x, slope, tangent, far[k], edge[k])
			}
		}
		if sum := floats.Sum(far); math.Abs(sum-1) > rounding*100 {
			t.Errorf("sum %v beyond %v", sum, end.x)
		}
	}
}

func TestValuesOfHugeRanges(t *testing.T) {
	a, b := make([]float64, 6), make([]float64, 6)
	splines(a, -1.7e308, 1.7e308, 1e308)
	splines(b, -1.7, 1.7, 1)
	if !floats.EqualApprox(a, b, rounding) {
		t.Errorf("%v, not %v", a, b)
	}
}
