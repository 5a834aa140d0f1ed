package manyhyper

import (
	"fmt"

	"cvgm/synth"
)

// mapPlace is a cell with its setup.
type mapPlace struct {
	MapPlace
	setup        func(p GradientMapParams, m mapPlace, stream func(purpose string) *synth.Stream) (*mapSetup, error)
	level        int // number of groups or of hidden units
	share, noise int // indices in the lists; the names of streams contain them
}

// stream names a stream of random numbers. Cells of one size and noise share their streams.
func (m mapPlace) stream(purpose string) string {
	return fmt.Sprintf("map, %s of %d examples, noise %d: %s", m.Problem, m.Train, m.noise, purpose)
}

// places lists the cells.
func (p GradientMapParams) places() (all []mapPlace) {
	for _, of := range []mapFactors{
		{MapOfPenalties, p.Penalties.Sizes, p.Penalties.Groups, p.Penalties.Noises, func(groups int) int { return groups }, GradientMapParams.regression},
		{MapOfWidths, p.Widths.Sizes, p.Widths.Groups, p.Widths.Noises, func(groups int) int { return 1 + groups }, GradientMapParams.regression},
		{MapOfWeights, p.Weights.Sizes, p.Weights.Hidden, p.Weights.Noises, func(hidden int) int { return p.Weights.cvgm(hidden, p.K, .5).NumHyperparameters() }, GradientMapParams.rings},
	} {
		all = append(all, of.places(p.Shares, p.Fraction)...)
	}
	return all
}

// mapFactors are the factors of a problem, without the shares, which all problems have.
type mapFactors struct {
	problem string
	sizes   []int
	levels  []int
	noises  []float64
	count   func(level int) int // number of hyperparameters
	setup   func(p GradientMapParams, m mapPlace, stream func(purpose string) *synth.Stream) (*mapSetup, error)
}

// places lists the cells of the problem. For fraction, see GradientMapParams.Fraction.
func (of mapFactors) places(shares []float64, fraction int) (all []mapPlace) {
	for a, size := range of.sizes {
		for b, level := range of.levels {
			for c, share := range shares {
				for d, noise := range of.noises {
					if (a+b+c+d)%fraction == 0 {
						all = append(all, mapPlace{MapPlace{of.problem, size, of.count(level), share, noise}, of.setup, level, c, d})
					}
				}
			}
		}
	}
	return all
}
