package cvgm

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear/margin"

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

// Rounding puts τ at the entry that is 0, to either side in turn.
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

// The projection p of x is optimal: p is on the simplex and x − p is a constant
// τ where p > 0 and at most τ elsewhere.
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

// The losses of the supplement's last experiment that there could have been:
// projected gradient over the simplex lowers the CV loss.
func TestLearnedLossIsLearned(t *testing.T) {
	cv := classifierCV(t, 4, 12, func() learn.Learner { return new(margin.LearnedLoss) }, func(c *Config) { c.Standardise = true })
	x := []float64{.4, .2, .2, .2, .1}
	checkGradient(t, cv.Eval, x, 1e-6, 1e-7)
	p := Problem{Objective: cv.Eval, Project: func(x []float64) { Simplex(x[:4]); x[4] = max(x[4], 1e-3) }}
	start := math.NaN()
	best, err := Best(func(yield func(Step, error) bool) {
		for s, err := range (ProjectedGradient{StepSize: .05, MaxEvals: 30}).Search(p, x) {
			if s.Evaluations == 1 {
				start = s.Loss
			}
			if math.Abs(s.X[0]+s.X[1]+s.X[2]+s.X[3]-1) > 1e-14 {
				t.Errorf("left the simplex: %v", s.X)
			}
			if !yield(s, err) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !(best.Loss < start-1e-4) {
		t.Errorf("from %v to %v", start, best.Loss)
	}
}

// What comes of a NaN must not pass for a point of the simplex.
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
