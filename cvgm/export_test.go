package cvgm

import (
	"slices"

	"cvgm/cvgm/internal/casetest"
)

// Thetas returns the parameters and the intercept that the last Eval fitted to each split.
func (cv *CV) Thetas() (thetas [][]float64, intercepts []float64) {
	for j := range cv.fits {
		thetas = append(thetas, slices.Clone(cv.fits[j].theta))
		intercepts = append(intercepts, cv.fits[j].intercept)
	}
	return thetas, intercepts
}

// Rechecked_ is rechecked.
func Rechecked_(text []byte) []byte { return casetest.Rechecked(text) }
