package synth_test

import (
	"strconv"
	"testing"

	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
)

func TestNumPyGolden(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("the reference has draws below 2³² and more, which IntN cannot be asked for here")
	}
	var golden struct {
		NumPy []struct {
			Seed        uint32
			Uniform     []float64
			Normal      []float64
			Integers    []int64
			Permutation []int
			NormalAgain []float64 `json:"normal_again"`
			Interval    []float64
		}
	}
	readJSON(t, "generators.json", &golden)
	if len(golden.NumPy) == 0 {
		t.Fatal("no reference")
	}
	for _, g := range golden.NumPy {
		r := synth.NewNumPy(g.Seed)
		uniform := drawValues(len(g.Uniform), r.Float64)
		if diff := cmp.Diff(g.Uniform, uniform); diff != "" {
			t.Errorf("seed %d, random_sample: %s", g.Seed, diff)
		}
		// The number of normal draws is odd, so the generator keeps the second number of a pair.
		wantClose(t, "standard_normal", drawValues(len(g.Normal), r.NormFloat64), g.Normal, 1e-15)
		var integers []int64
		for _, n := range []int64{1, 2, 3, 1000, 1 << 31, 1 << 32, 1<<32 + 1, 1e15} {
			integers = append(integers, int64(r.IntN(int(n))))
		}
		if diff := cmp.Diff(g.Integers, integers); diff != "" {
			t.Errorf("seed %d, randint: %s", g.Seed, diff)
		}
		shuffled := r.Clone()
		if diff := cmp.Diff(g.Permutation, r.Perm(10)); diff != "" {
			t.Errorf("seed %d, permutation: %s", g.Seed, diff)
		}
		order := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
		shuffled.Shuffle(10, func(i, j int) { order[i], order[j] = order[j], order[i] })
		if diff := cmp.Diff(g.Permutation, order); diff != "" {
			t.Errorf("seed %d, shuffle: %s", g.Seed, diff)
		}
		again := drawValues(len(g.NormalAgain), func() float64 { return synth.Normal(r, 3, 2) })
		wantClose(t, "normal", again, g.NormalAgain, 1e-15)
		interval := drawValues(len(g.Interval), func() float64 { return synth.Uniform(r, -4, -1) })
		if diff := cmp.Diff(g.Interval, interval); diff != "" {
			t.Errorf("seed %d, uniform: %s", g.Seed, diff)
		}
	}
}

func drawValues(n int, next func() float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = next()
	}
	return out
}
