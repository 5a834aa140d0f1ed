package mydata

import (
	"math"
	"slices"
)

// Hyper is a hyperparameter with its bounds.
type Hyper struct {
	Name                         string
	Lower, Default, Tuned, Upper float64
	Zero                         bool // 0 was tried, too
}

// grid returns n points between the bounds of a hyperparameter, with equal ratios.
func (h Hyper) grid(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = min(max(h.Lower*math.Pow(h.Upper/h.Lower, float64(i)/float64(n-1)), h.Lower), h.Upper)
	}
	return v
}

// gridWithTuned returns the points of grid, and the tuned value if it is between the bounds.
func (h Hyper) gridWithTuned(n int) []float64 {
	at := h.grid(n)
	if h.Tuned > h.Lower && h.Tuned < h.Upper {
		i, _ := slices.BinarySearch(at, h.Tuned)
		at = slices.Insert(at, i, h.Tuned)
	}
	return at
}
