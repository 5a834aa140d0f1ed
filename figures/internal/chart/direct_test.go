package chart

import (
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"
)

// Labels that would overlap move apart to both sides, and stay within the panel.
func TestSpreadOut(t *testing.T) {
	for _, c := range []struct{ places, want []vg.Length }{
		{nil, nil},
		{[]vg.Length{20, 50}, []vg.Length{20, 50}},
		{[]vg.Length{50, 50, 50}, []vg.Length{40, 50, 60}},
		{[]vg.Length{20, 50, 52, 90}, []vg.Length{20, 46, 56, 90}},
		{[]vg.Length{0, 0, 100, 100}, []vg.Length{0, 10, 90, 100}},
		{slices.Repeat([]vg.Length{100}, 12), []vg.Length{-10, 0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}},
	} {
		if got := SpreadOut(c.places, 10, 0, 100); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.places, got, c.want)
		}
	}
}
