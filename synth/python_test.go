package synth_test

import (
	"testing"

	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
)

func TestPythonGolden(t *testing.T) {
	var golden struct {
		Python []struct {
			Seed   int64
			Random []float64
		}
	}
	readJSON(t, "generators.json", &golden)
	if len(golden.Python) == 0 {
		t.Fatal("no reference")
	}
	for _, g := range golden.Python {
		if diff := cmp.Diff(g.Random, drawValues(len(g.Random), synth.NewPython(g.Seed).Float64)); diff != "" {
			t.Errorf("seed %d: %s", g.Seed, diff)
		}
	}
}
