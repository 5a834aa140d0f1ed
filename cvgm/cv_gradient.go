package cvgm

import (
	"math"
	"slices"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// gradient collects the gradient from the k splits.
func (cv *CV) gradient(grad []float64, k float64) error {
	clear(grad)
	generalised := false
	dhyper, dparams := cv.unpack(grad, nil)
	for j := range cv.fits {
		for i := range dhyper {
			dhyper[i] += cv.fits[j].grad.Hyper[i]
		}
		generalised = generalised || cv.fits[j].kinked || cv.fits[j].grad.Generalised
	}
	for i := range dhyper {
		dhyper[i] /= k
	}
	if cv.c.Features != nil {
		cv.gatherCotangents()
		cv.c.Features.Backward(dparams, nil, cv.total)
		if m, ok := cv.c.Features.(KinkedMap); ok && m.Generalised() {
			if !cv.c.Generalised {
				return badArg("Config.Features", qpdiff.ErrNotDifferentiable, "move the parameters, or set Config.Generalised",
					"has a kink at its parameters")
			}
			generalised = true
		}
	}
	for i, g := range grad {
		if !finite(g) {
			return cv.findOverflow(i, g)
		}
	}
	for j := range cv.fits {
		if generalised || !cv.parted(&cv.fits[j]) {
			continue
		}
		if !cv.c.Generalised {
			return &SplitError{j, badArg("Config.Features", qpdiff.ErrNotDifferentiable, "move the parameters, or set Config.Generalised",
				"moves examples %d and %d apart, whose equal features the learner's derivative holds equal", cv.ties.i, cv.ties.k)}
		}
		generalised = true
	}
	cv.generalised = generalised
	return nil
}

// gatherCotangents sums the splits' cotangents of the features, in the order
// of the splits.
func (cv *CV) gatherCotangents() {
	cv.asTraining.Zero()
	cv.asValidation.Zero()
	scale := 1 / float64(len(cv.fits))
	for j := range cv.fits {
		f := &cv.fits[j]
		if cv.full != nil {
			floats.AddScaled(cv.asTraining.RawMatrix().Data, scale, f.grad.X.RawMatrix().Data)
		} else {
			scatterAdd(cv.asTraining, f.grad.X.RawMatrix().Data, f.split.Train, scale)
		}
		scatterAdd(cv.asValidation, f.dval, f.split.Val, scale)
	}
	cv.total.Add(cv.asTraining, cv.asValidation)
}

// findOverflow names what makes entry i of the gradient g, which is not finite.
func (cv *CV) findOverflow(i int, g float64) error {
	for j := range cv.fits {
		f := &cv.fits[j]
		for h, v := range f.grad.Hyper {
			if !finite(v) {
				return &SplitError{j, overflow("the derivative with respect to hyperparameter %d is %v", h, v)}
			}
		}
		if f.grad.X == nil {
			continue
		}
		for _, part := range [2][]float64{f.grad.X.RawMatrix().Data, f.dval} {
			for at, v := range part {
				if !finite(v) {
					return &SplitError{j, overflow("the derivative with respect to feature %d is %v", at%cv.features, v)}
				}
			}
		}
	}
	return overflow("the gradient is %v at index %d", g, i)
}

// parted reports whether the feature map's parameters move training rows of f
// apart that the learner's derivative holds equal.
func (cv *CV) parted(f *splitFit) bool {
	l, ok := f.learner.(qpdiff.TiedLearner)
	if !ok || !cv.c.learned() {
		return false
	}
	cv.ties.fit, cv.ties.found = f, false
	l.Ties(&f.work, cv.ties.visit)
	return cv.ties.found
}

// visitTie is what parted asks [qpdiff.TiedLearner] to call. The derivatives of dᵀφ are
// taken one example at a time and compared: their difference, taken at once, would
// have the rounding of both.
func (cv *CV) visitTie(i, k int, sign float64, d []float64) (more bool) {
	f, t := cv.ties.fit, &cv.ties
	if f.out == nil {
		i, k = f.split.Train[i], f.split.Train[k]
	}
	if t.found || sign > 0 && slices.Equal(cv.c.Data.X.RawRowView(i), cv.c.Data.X.RawRowView(k)) {
		return false
	}
	backward := func(at int, weight float64, examples ...int) {
		for _, example := range examples {
			row := t.dfeatures.RawRowView(example)
			for j, v := range d {
				if f.norm.scale {
					v /= f.norm.std[j] // which moves both examples alike
				}
				row[j] += weight * v
			}
		}
		clear(t.dparams[at])
		cv.c.Features.Backward(t.dparams[at], nil, t.dfeatures)
		t.dfeatures.Zero()
		if m, ok := cv.c.Features.(KinkedMap); ok && m.Generalised() {
			t.found = true
		}
	}
	backward(0, 1, i)
	backward(1, sign, k)
	if sign > 0 || !f.norm.centre {
		t.found = t.found || !slices.Equal(t.dparams[0], t.dparams[1])
	} else { // the mean moves examples of opposite sign apart, twice
		backward(2, 2/float64(len(f.split.Train)), f.split.Train...)
		for p, of := range t.dparams[0] {
			with, mean := t.dparams[1][p], t.dparams[2][p]
			t.found = t.found || !(math.Abs(of-with-mean) <= tieTol*(math.Abs(of)+math.Abs(with)+math.Abs(mean)))
		}
	}
	if t.found {
		t.i, t.k = i, k
	}
	return !t.found
}

// tieTol is the rounding of a sum over the training rows, relative to its terms: a move
// of the mean that makes up for those of two examples differs from them by no more.
const tieTol = 1e-12
