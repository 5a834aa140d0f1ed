package learn

import (
	"context"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// A Learner is one convex learning method. It fits parameters θ to data at given hyperparameters,
// and differentiates the fitted θ. A Learner keeps its storage between fits, and each fit starts
// warm from the previous fit. Load, Fit and Reset change the learner, and must not run at the same
// time as any other method. Derivatives only read the learner. Any number of derivatives may run at
// the same time, each with its own workspace. The learners of this module must not be copied after
// their first Load: using a copy panics.
type Learner interface {
	// Dims returns the numbers of parameters and hyperparameters for data with n features. A linear
	// learner without intercept has n parameters and predicts θᵀx for a row x. A linear learner with
	// an intercept has n+1 parameters and predicts Σ_{j<n} θ_j·x_j + θ_n, so that θ_n is the
	// intercept.
	Dims(n int) (theta, hyper int)
	// Load takes the data d, which all following fits use. It must be called again if an entry of d
	// changes. If the new data have the same shape as the old data, the next fit starts warm. If the
	// learner needs more than d.MaxBytes bytes for d, Load returns an error of kind
	// [qpdiff.ErrTooLarge]: see [SizedLearner].
	Load(d Data) error
	// Fit solves the learner's problem at the hyperparameters hyper, and writes the solution to
	// theta.
	Fit(theta, hyper []float64) error
	// VJP differentiates the last Fit. It adds dthetaᵀ·∂θ/∂input to each field of g that is not nil;
	// each field belongs to one input of the fit. If the last Fit failed, VJP returns an error that
	// matches [qpdiff.ErrNotFitted]. If the workspace w is nil, VJP allocates one. For data with equal
	// rows, see [TiedLearner].
	VJP(w *qpdiff.Workspace, g *Grad, dtheta []float64) error
	// Reset forgets the warm start and the last fit. The next fit has the same bits as the first
	// fit of a new learner.
	Reset()
}

// A SizedLearner is a Learner that can compute how many bytes it needs before it allocates memory.
// All learners of this module are SizedLearners. A CV does not count the memory of a learner that
// is not a SizedLearner.
type SizedLearner interface {
	Learner
	// Bytes returns the largest number of bytes that the learner holds for data of the sizes s. X is
	// not included. The number includes the memory of Load, of Fit, and of VJP with one workspace. It
	// does not include memory that only a Fit allocates, such as a growing working set. A Fit returns
	// an error before this memory exceeds Data.MaxBytes. If the number of bytes overflows int64, Bytes
	// returns the largest int64.
	Bytes(s Size) int64
}

// A ContextLearner is a Learner whose long calls stop when a context ends. All learners of this
// module are ContextLearners.
type ContextLearner interface {
	Learner
	// SetContext sets the context of all following long calls, until the next SetContext. The long
	// calls are Load, Fit, Folds, LeaveOneOut and long derivatives. Before the first SetContext, calls
	// have no context. Once the context ctx has ended, each long call returns an error that matches
	// the error of ctx. A call that is running returns this error within some 10⁷ operations, or after
	// a pass over the data. If Load returned this error, the learner has no data. If Fit returned it,
	// the learner is in the state after Reset. If a derivative returned it, the Grad is undefined.
	// Like Fit, SetContext changes the learner.
	SetContext(ctx context.Context)
}

// A ViewLearner is a Learner that reads X in place, and applies Data.Centre and Data.Scale while it
// reads. From a sparse X, it reads only the stored entries. All other learners of this module make
// a dense copy of a sparse X, and return an error if Centre or Scale is not nil. If your type
// embeds a ViewLearner and declares a method Load, it must also declare Views.
type ViewLearner interface {
	Learner
	// Views reports whether the learner reads X in place for data of the sizes s.
	Views(s Size) bool
}

// A BatchLearner is a Learner that can fit several learners of the same type together, on data sets
// of the same size. Fitting them together is faster than fitting one after the other.
// Cross-validation uses FitBatch and VJPBatch.
type BatchLearner interface {
	Learner
	// Batch returns the number of learners that FitBatch should fit together for data of the sizes s.
	// These learners have the type and the settings of l. If l has a type of its own that embeds the
	// receiver's type, Batch returns 1, because this type may have another Fit.
	Batch(l Learner, s Size) int
	// FitBatch calls Fit on the learner of each item whose Err is nil, and sets the item's Err to the
	// error of Fit. The results have the same bits as with separate calls of Fit. Like Fit, FitBatch
	// changes the learners.
	FitBatch(w *qpdiff.Workspace, batch []BatchItem, hyper []float64)
	// VJPBatch calls VJP on the learner of each item whose Err is nil, and sets the item's Err to the
	// error of VJP. The results have the same bits as with separate calls of VJP. Like VJP, VJPBatch
	// only reads the learners. It is fastest if the workspace w and the items are the same as in the
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
// module are VerifiedLearners, except [smooth.Learner], which cannot measure the error because it
// does not have the separate terms of your objective.
type VerifiedLearner interface {
	Learner
	// Residual computes how far the last fit violates its optimality conditions, and returns the
	// largest violation. Most learners have one condition for each parameter. A kernel method has
	// one condition for each training row instead. A fit with multipliers has one for each
	// parameter and one for each row. The violation of a condition is divided by the size of the
	// condition's terms: it has no unit, and is between 0 and 1. Residual computes the violations
	// anew from the data. If a fit is exact up to rounding, the residual is some 1e-14. Residual
	// costs a pass over the data, or the kernel's values between all rows. It allocates memory, and
	// only reads the learner. If the last Fit failed, the residual is NaN, and the error matches
	// [qpdiff.ErrNotFitted].
	Residual() (float64, error)
}

// A FreedomLearner is a Learner that counts its effective parameters.
type FreedomLearner interface {
	Learner
	// Freedom writes the effective degrees of freedom of the last fit to dst, one number for each
	// entry of θ. Without penalties, the numbers sum to the number of free parameters. Penalties lower
	// the sum, but a single number may be above 1 or below 0.
	Freedom(dst []float64) error
}

// A ForwardLearner is a Learner with derivatives along a direction.
type ForwardLearner interface {
	Learner
	// JVP differentiates the last Fit. It sets dtheta to the derivative of θ along the direction d.
	// The fields of d are tangents of the inputs; a nil field counts as zero. If the workspace w is
	// nil, JVP allocates one.
	JVP(w *qpdiff.Workspace, dtheta []float64, d *Grad) error
}

// A SubsetLearner is a Learner that can take over the data of another learner of the same type,
// without some of the rows. For this it has the method LoadSubset, which replaces Load and costs
// less.
type SubsetLearner interface {
	Learner
	// LoadSubset loads the data of another learner, source, except for the rows listed in omitted. If
	// the next Fit has the hyperparameters of source's last fit, it starts from source's solution. The
	// fields of a Grad have the shapes of source's data, with all rows. LoadSubset only reads source,
	// so several learners may call it at the same time with the same source.
	LoadSubset(source Learner, omitted []int) error
}

// A Predictor is a Learner whose predictions do not depend on θ alone: they also depend on the
// training data and on the hyperparameters. Kernel methods are Predictors.
type Predictor interface {
	Learner
	// Predict writes a prediction for each row of x to dst, with the solution of the last Fit. After a
	// Predict, a PredictVJP with the same w and x costs less.
	Predict(w *qpdiff.Workspace, dst []float64, x *mat.Dense) error
	// PredictVJP differentiates Σ_t ddst_t·prediction(x_t) over the rows x_t of x. To each field of g
	// that is not nil, it adds the derivative with respect to the input of the fit for which the field
	// stands. This derivative includes the change of the fit and the direct change of the prediction.
	// If dx is not nil, PredictVJP adds the derivative with respect to x to dx.
	PredictVJP(w *qpdiff.Workspace, g *Grad, dx, x *mat.Dense, ddst []float64) error
}

// A LeaveOneOutLearner is a Learner with a method for leave-one-out cross-validation. For data of N
// rows there are N smaller data sets: each consists of all rows but one. The method LeaveOneOut
// fits all of them at once. Like Fit, LeaveOneOut changes the learner. LeaveOneOutVJP only reads
// the learner.
type LeaveOneOutLearner interface {
	Learner
	// LeaveOneOut sets dst[i] to the prediction for row i of the data, from a fit without row i.
	// This fit uses all other rows, at the hyperparameters hyper. LeaveOneOut discards the result
	// of the last Fit.
	LeaveOneOut(dst, hyper []float64) error
	// LeaveOneOutVJP differentiates Σ_i ddst_i·dst_i, where dst holds the predictions of the last
	// LeaveOneOut. It adds the derivatives to the fields of g that are not nil. In all fits but one, a
	// row of X is a training row; in that one, it is the predicted row. LeaveOneOutVJP adds the
	// derivative through the training rows to g.X. If dx is not nil, it adds the derivative through
	// the predicted rows to dx. If the workspace w is nil, LeaveOneOutVJP allocates one.
	LeaveOneOutVJP(w *qpdiff.Workspace, g *Grad, dx *mat.Dense, ddst []float64) error
}

// A FoldLearner is a Learner with a method for cross-validation with folds. For K folds there are K
// smaller data sets: each consists of the rows outside one fold. The method Folds fits all of them
// at once. Like Fit, Folds changes the learner. FoldsVJP only reads the learner.
type FoldLearner interface {
	Learner
	// FoldsAtOnce reports whether Folds can be used with the learner's present settings.
	FoldsAtOnce() bool
	// Folds writes predictions to dst, fold after fold: one prediction for each row of a fold. The
	// predictions for a fold come from a fit to the rows outside this fold, at the hyperparameters
	// hyper. A row may be in several folds. Folds may return an error for a fold even if Fit would
	// accept the rows outside this fold. Folds discards the result of the last Fit.
	Folds(dst, hyper []float64, folds [][]int) error
	// FoldsVJP differentiates Σ_t ddst_t·dst_t, where dst holds the predictions of the last call of
	// Folds. It adds the derivatives to g and dx, like the method LeaveOneOutVJP of a
	// [LeaveOneOutLearner].
	FoldsVJP(w *qpdiff.Workspace, g *Grad, dx *mat.Dense, ddst []float64) error
}

// A HessianFoldLearner is a FoldLearner that can differentiate its predictions twice in the
// hyperparameters.
type HessianFoldLearner interface {
	FoldLearner
	// FoldsHessian adds a Hessian to h, which has one row for each hyperparameter. It is the Hessian,
	// in the hyperparameters, of Σ_t c_t(dst_t). Here dst holds the predictions of the last call of
	// Folds, and c_t is a function whose first and second derivatives at dst_t are ddst_t and
	// curvature_t. If the workspace w is nil, FoldsHessian allocates one. Like FoldsVJP, it only reads
	// the learner, and exists only if FoldsAtOnce returns true.
	FoldsHessian(w *qpdiff.Workspace, h *mat.SymDense, ddst, curvature []float64) error
}

// A NormalFoldLearner is a FoldLearner that can normalise the features in the fit of each fold.
// Over the training rows of this fit, each feature then has the mean 0 and the standard deviation
// 1. A cross-validation that standardises the training rows of each fold needs a NormalFoldLearner.
type NormalFoldLearner interface {
	FoldLearner
	// NormaliseFolds sets the normalisation n that Folds applies after the next Load. If n is not the
	// zero value, only Folds and its derivatives may follow this Load: Fit returns an error of kind
	// [qpdiff.ErrDomain].
	NormaliseFolds(n FoldNormal)
}

// A FoldNormal describes how the data are normalised in the fit of each fold. The zero value
// changes nothing.
type FoldNormal struct {
	// Intercept adds an intercept without a penalty to a learner that has no intercept.
	Intercept bool
	// Scaled has one entry for each feature. If Scaled is not nil, the learner centres each feature
	// and divides it by a deviation; see Deviations. The centre is the mean of the feature over the
	// rows outside the fold. The learner changes the features of the fold's own rows in the same way
	// before it predicts these rows. If Scaled is nil, the features are unchanged.
	Scaled []bool
	// Deviations has one positive entry for each fold and feature: first all features of the first
	// fold, then all features of the second fold, and so on. The learner reads Deviations in the first
	// call of Folds after Load. If Scaled[j] is true, the entry of feature j is its population
	// standard deviation over the rows outside the fold, and FoldsVJP differentiates the deviation.
	// For a constant feature, the entry is [math.MaxFloat64], and the feature becomes 0. If Scaled[j]
	// is false, the entry is 1.
	Deviations []float64
}

// A KinkedLearner is a Learner whose θ has kinks as a function of the inputs. At a kink it can
// return a generalised derivative. A Learner whose θ has no kinks does not need SetGeneralised.
type KinkedLearner interface {
	Learner
	// SetGeneralised selects the behaviour of VJP at a kink. If enable is true, VJP adds one
	// element of the generalised derivative and sets Grad.Generalised. If enable is false, VJP
	// returns an error that matches [qpdiff.ErrNotDifferentiable].
	SetGeneralised(enable bool)
}

// A TiedLearner is a Learner whose fit does not determine how equal training rows share their
// weight in the solution. If the data have equal rows, the derivatives from its VJP with respect to
// X and y are valid only for some changes dX and dy. If a Learner has no method Ties, its
// derivatives are valid for all changes.
type TiedLearner interface {
	Learner
	// Ties is about the last call of VJP or PredictVJP that had the workspace w and a g.X that is
	// not nil. It describes the changes dX and dy for which the derivatives of this call hold. For
	// this purpose, Ties calls the function visit with pairs of rows i and k that are equal up to
	// the sign, and with a vector d. The derivative g.X holds for a change dX if dᵀdX_i =
	// sign·dᵀdX_k in all calls of visit. The derivative g.Y holds for a change dy if dy_i =
	// sign·dy_k in all calls with d ≠ 0. The function visit must not keep d. A pair may have a
	// second vector d. Ties calls visit with the second vector only if the first call for the pair
	// returns true.
	Ties(w *qpdiff.Workspace, visit func(i, k int, sign float64, d []float64) bool)
}

// A ClassLearner is a classifier for two or more classes. The labels of its data are the numbers of
// the classes, from 0. Its θ consists of one block for each class. A block has one entry for each
// feature, and an intercept if the learner has one. For a row with label y, the learner computes a
// decision value η_c for each class c. The loss of the row is log Σ_c exp(η_c) − η_y. The
// prediction for the row is the log odds of its label, η_y − log Σ_{c≠y} exp(η_c). The logistic
// loss of this prediction, with the label 1, equals the loss of the row.
type ClassLearner interface {
	Learner
	// Outputs returns the number of classes.
	Outputs() int
}
