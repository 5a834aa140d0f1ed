package cvgm

import (
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Hessian sets h to the Hessian of the CV loss in α, at the α of the last evaluation. It is the
// Hessian that [search.Newton] needs. A CV has a Hessian if all of the following hold:
//
//   - The learner is a [learn.HessianFoldLearner] that fits all splits at once, such as a GLM of
//     package penalised with the loss Squared. Each example is a training or a validation row of each
//     split, and Prepare is nil or a [FixedPreparer] whose features are fixed.
//   - Loss is [SquaredError].
//   - Features and Hyper are nil, so that α consists of the learner's hyperparameters.
//
// Hessian uses the fits and the context of the last evaluation, and fits nothing. With J
// hyperparameters it costs J solves for each split. The matrix h must have J rows; otherwise Hessian
// panics. After an error h is undefined. Errors:
//
//   - ErrDomain: the CV has no Hessian.
//   - ErrNotFitted: there is no evaluation, or the last one failed.
//   - ErrIllPosed: the last evaluation fitted the splits one by one, because the joint fits failed
//     or because it was a DataGradient.
//   - ErrNotFinite: an entry overflows.
//   - The error of the context, if the context has ended.
func (cv *CV) Hessian(h *mat.SymDense) error {
	if h.SymmetricDim() != cv.Dims() {
		panic("cvgm: h has the wrong size")
	}
	if err := args.First(
		args.BadIf(!cv.loo.hasHessian(&cv.c), "Config", qpdiff.ErrDomain, "search by QuasiNewton", "has no Hessian: it needs SquaredError, no Features, no Hyper, and a learner of folds with second derivatives that fits all splits at once"),
		cv.checkEvaluated(),
	); err != nil {
		return err
	}
	if !cv.evalState.atOnce {
		return args.Bad("CV", qpdiff.ErrIllPosed, "raise a penalty, or search by QuasiNewton", "has fitted its splits one by one in the last evaluation, without second derivatives")
	}
	return cv.loo.hessian(&cv.c, h)
}

// gradientOfSplits sets the hyperparameters' part of grad to the mean of the gradients of the k
// splits. It also gathers the cotangents of the features.
func (cv *CV) gradientOfSplits(grad []float64, k float64) {
	clear(grad)
	dhyper, _ := cv.unpack(grad, nil)
	for i := range dhyper {
		var sum float64
		for at := i; at < len(cv.dhyper); at += cv.hyper {
			sum += cv.dhyper[at]
		}
		dhyper[i] = sum / k
	}
	if cv.c.Features != nil {
		cv.gatherCotangents()
	}
}

// gradientAtOnce does the work of gradientOfSplits with cv.loo. It returns false if cv.loo cannot
// compute the derivative.
func (cv *CV) gradientAtOnce(grad []float64) bool {
	clear(grad)
	dhyper, _ := cv.unpack(grad, nil)
	if cv.c.Features != nil {
		cv.asTraining.Zero()
		cv.asValidation.Zero()
	}
	if !cv.loo.backward(dhyper, cv.asTraining, cv.asValidation) {
		return false
	}
	if cv.c.Features != nil {
		cv.totalCotangent.Add(cv.asTraining, cv.asValidation)
	}
	return true
}

// completeGradient completes grad, in which the hyperparameters' part is already set. The parameter
// atKink is true if this part is at a kink, and atOnce is true if cv.loo computed it.
func (cv *CV) completeGradient(grad []float64, atKink, atOnce bool) error {
	_, dparams := cv.unpack(grad, nil)
	if cv.c.Features != nil {
		if backwardMap(cv.c.Features, dparams, nil, cv.totalCotangent) {
			if !cv.c.Generalised {
				return args.Bad("Config.Features", qpdiff.ErrNotDifferentiable, "move the parameters, or set Config.Generalised",
					"has a kink at its parameters")
			}
			atKink = true
		}
	}
	for i, g := range grad {
		if !args.Finite(g) {
			return cv.findOverflow(i, g)
		}
	}
	for j := range cv.fits {
		if atKink || atOnce || !cv.ties.prepared() {
			break
		}
		if cv.ties.findTies(&cv.fits[j]); !cv.ties.makesUnequal {
			continue
		}
		if !cv.c.Generalised {
			return &SplitError{j, args.Bad("Config.Features", qpdiff.ErrNotDifferentiable, "move the parameters, or set Config.Generalised",
				"moves examples %d and %d apart, whose equal features the learner's derivative holds equal", cv.ties.i, cv.ties.k)}
		}
		atKink = true
	}
	cv.isGeneralised = atKink
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
		if cv.fullLearner != nil {
			floats.AddScaled(cv.asTraining.RawMatrix().Data, scale, f.grad.X.RawMatrix().Data)
		} else {
			sample.ScatterAdd(cv.asTraining, f.grad.X.RawMatrix().Data, f.split.Train, scale)
		}
		sample.ScatterAdd(cv.asValidation, f.dval, f.split.Val, scale)
	}
	cv.totalCotangent.Add(cv.asTraining, cv.asValidation)
}

// findOverflow returns an error if g, entry i of the gradient, is not finite. The error names the
// source of the entry.
func (cv *CV) findOverflow(i int, g float64) error {
	for j := range cv.fits {
		f := &cv.fits[j]
		for h, v := range f.grad.Hyper {
			if !args.Finite(v) {
				return &SplitError{j, overflow("the derivative with respect to hyperparameter %d is %v", h, v)}
			}
		}
		if f.grad.X == nil {
			continue
		}
		for _, part := range [2][]float64{f.grad.X.RawMatrix().Data, f.dval} {
			for at, v := range part {
				if !args.Finite(v) {
					return &SplitError{j, overflow("the derivative with respect to feature %d is %v", at%cv.features, v)}
				}
			}
		}
	}
	return overflow("the gradient is %v at index %d", g, i)
}
