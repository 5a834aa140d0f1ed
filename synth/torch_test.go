package synth_test

import (
	"testing"

	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
)

// TestTorchLinear compares every bit of the initial networks of the published experiments.
func TestTorchLinear(t *testing.T) {
	for _, file := range []string{"rings.json.gz", "xor.json.gz"} {
		var golden struct {
			Weights []struct {
				W [][]float64
				B []float64
			}
		}
		readJSON(t, file, &golden)
		if len(golden.Weights) == 0 {
			t.Fatal("no reference")
		}
		g := synth.NewTorch(0)
		for layer, want := range golden.Weights {
			var flat []float64
			for _, row := range want.W {
				flat = append(flat, row...)
			}
			w, b := make([]float64, len(flat)), make([]float64, len(want.B))
			g.Linear(w, b)
			if diff := cmp.Diff(flat, w); diff != "" {
				t.Errorf("%s, layer %d, weights: %s", file, layer, diff)
			}
			if diff := cmp.Diff(want.B, b); diff != "" {
				t.Errorf("%s, layer %d, bias: %s", file, layer, diff)
			}
		}
	}
}

func TestTorchLinearPanics(t *testing.T) {
	for _, c := range [][2]int{{0, 0}, {0, 2}, {2, 0}, {5, 2}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Linear of %d weights and %d biases did not panic", c[0], c[1])
				}
			}()
			synth.NewTorch(0).Linear(make([]float64, c[0]), make([]float64, c[1]))
		}()
	}
}
