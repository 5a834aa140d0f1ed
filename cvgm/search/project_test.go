package search

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSimplexByHand(t *testing.T) {
	for _, c := range []struct{ x, want []float64 }{
		{[]float64{.25, .75}, []float64{.25, .75}},
		{[]float64{1, 1}, []float64{.5, .5}},
		{[]float64{-3, 5, 1}, []float64{0, 1, 0}},
		{[]float64{1, .5, -1}, []float64{.75, .25, 0}},
		{[]float64{7}, []float64{1}},
		{[]float64{1e18, 1e18, 0}, []float64{.5, .5, 0}},
		{nil, nil},
		{[]float64{math.Inf(1), 1}, []float64{1, 0}},
		{[]float64{math.Inf(1), math.Inf(-1), math.Inf(1)}, []float64{.5, 0, .5}},
		{[]float64{math.Inf(-1), 3}, []float64{0, 1}},
		{[]float64{math.Inf(-1), math.Inf(-1)}, []float64{.5, .5}},
	} {
		x := slices.Clone(c.x)
		Simplex(x)
		if d := cmp.Diff(c.want, x); d != "" {
			t.Errorf("%v: %s", c.x, d)
		}
	}
}

// Simplex changes a point of the simplex only by rounding, whether the computed τ is above or below
// 0.
func TestSimplexEndsOnTheSimplex(t *testing.T) {
	x := []float64{0.559133663148587, 0, 0.38439084635680654, 0.05647549049460641}
	p := slices.Clone(x)
	Simplex(p)
	for i := range p {
		if math.Abs(p[i]-x[i]) > 1e-15 {
			t.Errorf("%v becomes %v", x, p)
		}
	}
}

// Simplex returns the nearest point of the simplex, by the optimality conditions: x − p equals a
// constant τ where p > 0, and is at most τ elsewhere.
func TestSimplexIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-10, 10), 1, 20).Draw(t, "x")
		p := slices.Clone(x)
		Simplex(p)
		tau, sum := math.Inf(-1), 0.0
		for i, v := range p {
			sum += v
			tau = max(tau, x[i]-v)
		}
		if math.Abs(sum-1) > 1e-14*float64(len(x)) {
			t.Fatalf("%v sums to 1 + %g", p, sum-1)
		}
		for i, v := range p {
			if v < 0 || v > 0 && math.Abs(x[i]-v-tau) > 1e-14 {
				t.Fatalf("%v to %v: entry %d", x, p, i)
			}
		}
		again := slices.Clone(p)
		Simplex(again)
		for i := range p {
			if math.Abs(again[i]-p[i]) > 1e-15 {
				t.Fatalf("projected again, %v becomes %v", p, again)
			}
		}
	})
}

// Simplex sets all entries to NaN if the argument contains a NaN.
func TestSimplexOfNaN(t *testing.T) {
	for _, x := range [][]float64{{math.NaN(), 1}, {1, math.NaN()}, {math.Inf(1), math.NaN()}} {
		Simplex(x)
		if x[0] == x[0] || x[1] == x[1] {
			t.Errorf("becomes %v", x)
		}
	}
}

func ExampleSimplex() {
	alpha := []float64{.6, .5, -.1, .2}
	Simplex(alpha)
	fmt.Printf("%.3f\n", alpha)
	// Output: [0.500 0.400 0.000 0.100]
}
