package learn

import (
	"context"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// A Learner is one convex learning method. It fits parameters θ to data at given hyperparameters,
// and differentiates the fitted θ. It keeps its storage between fits, and each fit starts warm from
// the previous one. Load, Fit and Reset change the learner, and must not run at the same time as
// any other method. Derivatives only read the learner. Any number of derivatives may run at the
// same time, each with its own workspace. The learners of this module must not be copied after
// their first Load: a copy panics.
type Learner interface {
	// Dims returns the numbers of parameters and hyperparameters for data with n features. A linear
	// learner without intercept has n parameters and predicts θᵀx. With an intercept it has n+1
	// parameters and predicts Σ_{j<n} θ_j·x_j + θ_n: the intercept is θ_n.
	Dims(n int) (theta, hyper int)
	// Load makes d the data of the following fits. It must be called again if an entry of d
	// changes. If the new data have the same shape as the old data, the next fit starts warm. If
	// the learner needs more than d.MaxBytes for d, Load returns an error of kind
	// [qpdiff.ErrTooLarge]: see [SizedLearner].
	Load(d Data) error
	// Fit solves the learner's problem at the hyperparameters hyper, and writes the solution to
	// theta.
	Fit(theta, hyper []float64) error
	// VJP differentiates the last Fit. To each field of g that is not nil, it adds
	// dthetaᵀ·∂θ/∂input. Each field of g belongs to one input of the fit. If the last Fit failed,
	// the error matches [qpdiff.ErrNotFitted]. If w is nil, VJP allocates a workspace. For data
	// with equal rows, see [TiedLearner].
	VJP(w *qpdiff.Workspace, g *Grad, dtheta []float64) error
	// Reset forgets the warm start and the last fit. The next fit has the same bits as the first
	// fit of a new learner.
	Reset()
}

// A SizedLearner is a Learner that counts the bytes of its memory before it allocates them. All
// learners of this module are SizedLearners. A CV does not count the memory of other learners.
type SizedLearner interface {
	Learner
	// Bytes returns the largest number of bytes that the learner holds for data of the sizes s,
	// without X. It counts the memory of Load, of Fit, and of VJP with one workspace. It does not
	// count memory that only a Fit allocates, such as a growing working set. Fit returns an error
	// before this memory exceeds Data.MaxBytes. If the number overflows int64, Bytes returns the
	// largest int64.
	Bytes(s Size) int64
}

// A ContextLearner is a Learner whose long calls stop when a context ends. All learners of this
// module are ContextLearners.
type ContextLearner interface {
	Learner
	// SetContext sets the context of all following long calls, until the next SetContext. These are
	// the calls of Load, Fit, Folds, LeaveOneOut and of long derivatives. Before the first
	// SetContext, calls have no context. Once ctx has ended, these calls return an error that
	// matches the error of ctx. A running call returns the error within some 10⁷ operations, or
	// after a pass over the data. After such an error, Load leaves the learner without data, Fit
	// leaves it as Reset does, and a derivative leaves its Grad undefined. Like Fit, SetContext
	// changes the learner.
	SetContext(ctx context.Context)
}

// A ViewLearner is a Learner that reads X in place, and applies Data.Centre and Data.Scale as it
// reads. If X is sparse, it reads only the stored entries. All other learners of this module make a
// dense copy of a sparse X, and return an error if Centre or Scale is not nil. If your type embeds
// a ViewLearner and declares Load, it must also declare Views.
type ViewLearner interface {
	Learner
	// Views reports whether the learner reads X in place for data of the sizes s.
	Views(s Size) bool
}

// A BatchLearner is a Learner that can fit several learners of its type together, on data sets of
// the same size. This is faster than fitting one learner after the other. Cross-validation uses
// FitBatch and VJPBatch.
type BatchLearner interface {
	Learner
	// Batch returns the number of learners like l that FitBatch should fit together for data of the
	// sizes s. If the type of l embeds this learner's type, Batch returns 1, because the type of l
	// may have another Fit.
	Batch(l Learner, s Size) int
	// FitBatch calls Fit on the learner of each item whose Err is nil, and sets the item's Err to
	// the error of Fit. The results have the same bits as with single calls of Fit. Like Fit,
	// FitBatch changes the learners.
	FitBatch(w *qpdiff.Workspace, batch []BatchItem, hyper []float64)
	// VJPBatch calls VJP on the learner of each item whose Err is nil, and sets the item's Err to
	// the error of VJP. The results have the same bits as with single calls of VJP. Like VJP,
	// VJPBatch only reads the learners. It is fastest with the same w and the same items as in the
	// last FitBatch. If w is nil, VJPBatch allocates a workspace.
	VJPBatch(w *qpdiff.Workspace, batch []BatchItem)
}

// A BatchItem is a learner in a batch of a [BatchLearner], with the arguments and the results of
// its Fit and its VJP.
type BatchItem struct {
	Learner Learner
	Theta   []float64 // the result of FitBatch
	Grad    *Grad     // the result of VJPBatch
	DTheta  []float64 // the cotangent of VJPBatch
	Err     error
}

// A VerifiedLearner is a Learner that can measure the error of its last fit. All learners of this
// module are VerifiedLearners, except [smooth.Learner]: the terms of your own objective
// are unknown.
type VerifiedLearner interface {
	Learner
	// Residual returns the largest violation of an optimality condition by the last fit. There is
	// one condition for each parameter. A kernel method has one for each training row instead, and
	// a fit with multipliers has one for each row, too. The violation of a condition is measured
	// relative to the size of the condition's terms: it has no unit, and is between 0 and 1.
	// Residual computes the violations anew from the data. A fit that is exact up to rounding has a
	// residual of some 1e-14. Residual costs a pass over the data, or the kernel's values between
	// all rows. It allocates, and only reads the learner. If the last Fit failed, the error matches
	// [qpdiff.ErrNotFitted], and the residual is NaN.
	Residual() (float64, error)
}

// A FreedomLearner is a Learner that counts its effective parameters.
type FreedomLearner interface {
	Learner
	// Freedom writes the effective degrees of freedom of the last fit to dst, one number for each
	// entry of θ. The number is 1 for a parameter without a penalty, and lower for a parameter with
	// a penalty.
	Freedom(dst []float64) error
}

// A ForwardLearner is a Learner with derivatives along a direction.
type ForwardLearner interface {
	Learner
	// JVP differentiates the last Fit. It sets dtheta to the derivative of θ along d. The fields of
	// d are tangents of the inputs; a nil field is zero. If w is nil, JVP allocates a workspace.
	JVP(w *qpdiff.Workspace, dtheta []float64, d *Grad) error
}

// A SubsetLearner is a Learner that can use the data of another learner of its type, except for
// some of the rows. LoadSubset then replaces Load, and costs less.
type SubsetLearner interface {
	Learner
	// LoadSubset loads the data of the learner source without the rows listed in omitted. If the
	// next Fit has the hyperparameters of source's last fit, it starts from the solution of source.
	// The fields of a Grad have the shapes of the data of source, with all rows. LoadSubset only
	// reads source, so several learners may call it at the same time with the same source.
	LoadSubset(source Learner, omitted []int) error
}

// A Predictor is a Learner whose predictions depend on θ, on the training data and on the
// hyperparameters, and not on θ alone. Kernel methods are Predictors.
type Predictor interface {
	Learner
	// Predict writes a prediction for each row of x to dst, with the solution of the last Fit. A
	// later PredictVJP with the same w and x is cheaper than without this call.
	Predict(w *qpdiff.Workspace, dst []float64, x *mat.Dense) error
	// PredictVJP differentiates Σ_t ddst_t·prediction(x_t). It adds the derivative in each input of
	// the fit to the input's field of g, if this field is not nil. The derivative includes the
	// change of the fit and the direct change of the prediction. If dx is not nil, PredictVJP adds
	// the derivative in x to dx.
	PredictVJP(w *qpdiff.Workspace, g *Grad, dx, x *mat.Dense, ddst []float64) error
}

// A LeaveOneOutLearner is a Learner with a method for leave-one-out cross-validation. For data of N
// rows there are N smaller data sets, each of which lacks one row. The method fits all of them at
// once. Like Fit, LeaveOneOut changes the learner. LeaveOneOutVJP only reads the learner.
type LeaveOneOutLearner interface {
	Learner
	// LeaveOneOut sets dst[i] to the prediction for row i of the data. The prediction comes from
	// the fit, at the hyperparameters hyper, to all rows except i. LeaveOneOut discards the result
	// of the last Fit.
	LeaveOneOut(dst, hyper []float64) error
	// LeaveOneOutVJP differentiates Σ_i ddst_i·dst_i at the last LeaveOneOut, and adds the
	// derivatives to the fields of g that are not nil. A row of X is a training row in all fits but
	// one, and the predicted row in this one fit. LeaveOneOutVJP adds the derivative through the
	// training rows to g.X. If dx is not nil, it adds the derivative through the predicted rows to
	// dx. If w is nil, LeaveOneOutVJP allocates a workspace.
	LeaveOneOutVJP(w *qpdiff.Workspace, g *Grad, dx *mat.Dense, ddst []float64) error
}

// A FoldLearner is a Learner with a method for cross-validation with folds. For K folds there are K
// smaller data sets, each of which lacks one fold. The method fits all of them at once. Like Fit,
// Folds changes the learner. FoldsVJP only reads the learner.
type FoldLearner interface {
	Learner
	// FoldsAtOnce reports whether Folds can be used with the learner's present settings.
	FoldsAtOnce() bool
	// Folds writes predictions to dst, fold after fold, with one prediction for each row of a fold.
	// The predictions for a fold come from the fit, at the hyperparameters hyper, to the rows
	// outside the fold. A row may be in several folds. Folds may return an error for a fold even if
	// Fit would accept the rows outside the fold. Folds discards the result of the last Fit.
	Folds(dst, hyper []float64, folds [][]int) error
	// FoldsVJP differentiates Σ_t ddst_t·dst_t, with the predictions dst of the last call of Folds.
	// It adds the derivatives to g and dx, like the method LeaveOneOutVJP of a
	// [LeaveOneOutLearner].
	FoldsVJP(w *qpdiff.Workspace, g *Grad, dx *mat.Dense, ddst []float64) error
}

// A NormalFoldLearner is a FoldLearner that can normalise the features in the fit of each fold. In
// this fit, the features then have the mean 0 and the standard deviation 1 over the training rows.
// A cross-validation that standardises the training rows of each fold needs this.
type NormalFoldLearner interface {
	FoldLearner
	// NormaliseFolds sets the normalisation n that Folds applies after the next Load. If n is not
	// the zero value, the learner then serves Folds and FoldsVJP only, and Fit returns an error of
	// kind [qpdiff.ErrDomain].
	NormaliseFolds(n FoldNormal)
}

// A FoldNormal describes how the data of each fold's fit are normalised. The zero value changes
// nothing.
type FoldNormal struct {
	// Intercept adds an intercept without a penalty to a learner that has none.
	Intercept bool
	// Scaled has one entry for each feature. If Scaled is not nil, the learner subtracts from each
	// feature its mean over the rows outside the fold, and divides the feature by its deviation;
	// see Deviations. The learner changes the features of the fold's rows in the same way before it
	// predicts these rows. Nil: the features are unchanged.
	Scaled []bool
	// Deviations has one positive entry for each fold and feature. The features of the first fold
	// come first. The learner reads Deviations in the first call of Folds after Load. If Scaled[j] is
	// true, the entry of feature j is its population standard deviation over the rows outside the
	// fold, and FoldsVJP differentiates the deviation. For a constant feature, the entry is
	// [math.MaxFloat64], and the feature becomes 0. If Scaled[j] is false, the entry is 1.
	Deviations []float64
}

// A KinkedLearner is a Learner whose θ, as a function of the inputs, has kinks. At a kink it can
// return a generalised derivative. A Learner whose θ has no kinks does not need SetGeneralised.
type KinkedLearner interface {
	Learner
	// SetGeneralised selects the behaviour of VJP at a kink. If enable is true, VJP adds one
	// element of the generalised derivative and sets Grad.Generalised. If enable is false, VJP
	// returns an error that matches [qpdiff.ErrNotDifferentiable].
	SetGeneralised(enable bool)
}

// A TiedLearner is a Learner whose fit does not determine how equal training rows share their
// weight in the solution. If rows are equal, the fields X and Y of a Grad from its VJP hold only
// for some changes dX of X and dy of y. For a Learner without the method Ties, they hold for all
// changes.
type TiedLearner interface {
	Learner
	// Ties describes the changes for which the derivatives of the last VJP or PredictVJP with w and
	// g.X hold. It calls visit for pairs of rows i and k that are equal up to their sign. g.X is
	// the derivative for changes dX with dᵀdX_i = sign·dᵀdX_k in all calls of visit. g.Y is the
	// derivative for changes dy with dy_i = sign·dy_k in all calls with d ≠ 0. visit must not keep
	// d. A pair may have a second vector d. Ties calls visit with this vector only if the first
	// call for the pair returns true.
	Ties(w *qpdiff.Workspace, visit func(i, k int, sign float64, d []float64) bool)
}

// A ClassLearner is a classifier for two or more classes. Its labels are the numbers of the
// classes, from 0. Its θ consists of one block for each class. A block has one entry for each
// feature, and an intercept if the learner has one. For a row with label y, the learner computes a
// decision value η_c for each class c. The loss of the row is log Σ_c exp(η_c) − η_y. The
// prediction for the row is the log odds of its label, η_y − log Σ_{c≠y} exp(η_c). The logistic
// loss of this prediction, with the label 1, equals the loss of the row.
type ClassLearner interface {
	Learner
	// Outputs returns the number of classes.
	Outputs() int
}
