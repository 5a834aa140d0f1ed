package cvgm

import (
	"context"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// CV is the cross-validation loss of a learner as a function of α,
//
//	L_cv(α) = 1/K Σ_j 1/|V_j| Σ_{i∈V_j} c(f(x_i; A_α(T_j)), y_i),
//
// This is the paper's equation (3), and Eval also returns its exact gradient. With weights w the
// mean of each split is Σ_i w_i c_i / Σ_i w_i over V_j. A CV is its own workspace, and goroutines
// must not share it.
type CV struct {
	c             Config
	plainPreparer Preparer // the Config.Prepare if it changes nothing; c.Prepare is then nil
	count         footprint
	features      int // m, the number of features that the learner receives
	hyper         int
	fits          []splitFit
	// dhyper holds, one after the other, the gradients of the splits with respect to the
	// hyperparameters. The grad.Hyper of each fit is a part of dhyper. Sums over the splits read
	// dhyper and results, and need not read the fits again.
	dhyper       []float64
	results      []splitResult
	x            *mat.Dense  // Data.X, the rows that the splits take; nil if it is sparse
	readsInPlace bool        // the splits read rows in place, or stored features
	gram         *learn.Gram // the Gram matrix of x, for splits that read the rows of x
	// fullLearner is a learner of all examples. It is nil unless the learners of the splits are
	// [learn.SubsetLearner]s and the features are unchanged.
	fullLearner learn.SubsetLearner
	fullTheta   []float64
	// loo evaluates all splits at once, for example if each split leaves one example out. The fit
	// of a single split is then prepared only when it is first needed. If loo is nil, each split is
	// fitted by itself.
	loo *leaveOneOut
	// These matrices hold the cotangents of the N×m features at the last gradient. asTraining is the
	// part from splits in which the example is a training row, and asValidation is the part from
	// splits in which it is a validation row. totalCotangent is the sum of both. All three are nil
	// without a feature map.
	asTraining, asValidation, totalCotangent *mat.Dense
	isGeneralised                            bool // see Generalised
	hasPredictions                           bool // the fits hold the predictions of an evaluation
	// evalState is the state of the current evaluation. Its closures are made once for all
	// evaluations, so that an evaluation allocates nothing.
	evalState struct {
		ctx                  context.Context // its end ends the evaluation
		x                    *mat.Dense
		hyper                []float64
		gradient             bool
		atOnce               bool              // loo evaluates all splits
		data                 *dataGradient     // the derivatives of DataGradient; nil for Eval
		batch                int               // splits that are evaluated together
		evalSplit, evalBatch func(k int) error // the methods
	}
	watching    bool // the learners have a context that may end
	batchLength int  // see mostTogether
	batches     batchPool
	ties        tieTest // for moves of the feature map's parameters
}

// A splitResult is the result of an evaluation of one split.
type splitResult struct {
	loss          float64
	isGeneralised bool // the gradient is at a kink
}

// Dims returns the length of α. Unless Config.Hyper is set, α begins with the learner's
// hyperparameters. The feature map's parameters follow.
func (cv *CV) Dims() int {
	n := 0
	if cv.c.Hyper == nil {
		n = cv.hyper
	}
	if cv.c.Features != nil {
		n += cv.c.Features.NumParams()
	}
	return n
}

// unpack divides v, which is α or a gradient with respect to α, into the learner's part and the
// feature map's part. If Config.Hyper is set, all of v is the feature map's part, and unpack
// returns fixedHyper as the learner's part.
func (cv *CV) unpack(v, fixedHyper []float64) (hyper, params []float64) {
	if cv.c.Hyper != nil {
		return fixedHyper, v
	}
	return v[:cv.hyper], v[cv.hyper:]
}

func (cv *CV) checkAlpha(alpha []float64) error {
	if len(alpha) != cv.Dims() {
		return args.Bad("alpha", qpdiff.ErrShape, "give the learner's hyperparameters, then the feature map's parameters",
			"has %d entries instead of %d", len(alpha), cv.Dims())
	}
	return args.CheckFinite("alpha", alpha, "take a smaller step or project onto bounds")
}

// Generalised reports whether the last gradient, of Eval or DataGradient, met a kink. Such a
// gradient is the result of the chain rule with an element of the generalised derivative: see
// Config.Generalised. Generalised returns false before the first gradient and after a gradient that
// failed. It may return true even if Config.Generalised is not set, because the settings of the
// learner can allow kinks.
func (cv *CV) Generalised() bool { return cv.isGeneralised }

// FeatureCotangents returns the two parts of ∂L_cv/∂φ at the last gradient of Eval, each N×m. The
// first part is the effect of the features as training rows, through the fitted θ. The second part
// is their effect as validation rows, through the predictions. The sum of the parts is the whole
// cotangent. If several rows have equal features, the cotangent may be valid only along moves that
// keep these rows equal: see [learn.TiedLearner]. The parts are nil without a feature map. They are
// valid until the next call of Eval.
func (cv *CV) FeatureCotangents() (asTraining, asValidation *mat.Dense) {
	return cv.asTraining, cv.asValidation
}

// Reset deletes every warm start. Later results have the same bits as the results of a new CV with
// the same Config.
func (cv *CV) Reset() {
	if cv.fullLearner != nil {
		cv.fullLearner.Reset()
	}
	if cv.loo != nil {
		cv.loo.learner.Reset()
	}
	for j := range cv.fits {
		cv.fits[j].learner.Reset()
	}
	cv.isGeneralised, cv.hasPredictions = false, false
}
