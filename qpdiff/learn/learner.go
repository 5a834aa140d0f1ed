package learn

import (
	"context"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// A Learner is one convex learning method. It fits parameters θ to data at given hyperparameters
// and differentiates that fit. It keeps its storage and its warm start between fits. Load, Fit and
// Reset change it, and must not run at the same time as any other method. Derivatives only read the
// learner. Any number of derivatives may run at the same time, each with its own workspace. The
// learners of this module must not be copied after their first Load: a copy panics.
type Learner interface {
	// Dims returns the numbers of parameters and hyperparameters for data with n features. A linear
	// learner without intercept has n parameters and predicts θᵀx. With an intercept it has n+1
	// parameters, the intercept last, and predicts θᵀx + θ_n, where θᵀx sums over the n features.
	Dims(n int) (theta, hyper int)
	// Load makes d the data of the following fits. It must be called again if an entry of d
	// changes. The learner keeps its warm start if the new data have the shape of the old. If d
	// needs more than d.MaxBytes, Load returns an error of kind [qpdiff.ErrTooLarge]: see
	// [SizedLearner].
	Load(d Data) error
	// Fit solves the problem at the hyperparameters and writes θ.
	Fit(theta, hyper []float64) error
	// VJP adds dthetaᵀ·∂θ/∂input at the last Fit to each field of g that is not nil. If the last
	// Fit failed, the error matches [qpdiff.ErrNotFitted]. If w is nil, VJP allocates a workspace.
	// For data with equal rows, see [TiedLearner].
	VJP(w *qpdiff.Workspace, g *Grad, dtheta []float64) error
	// Reset forgets the warm start and the last fit. The next fit has the same bits as the first
	// fit of a new learner.
	Reset()
}

// A SizedLearner is a Learner that counts the bytes of its memory before it allocates them. All
// learners of this module do. A CV does not count the memory of a learner that is not a
// SizedLearner.
type SizedLearner interface {
	Learner
	// Bytes returns the largest number of bytes that the learner holds for data of these sizes,
	// without X: for Load, Fit, and VJP with one workspace. It does not count memory that Fit
	// allocates beyond Load's allocations, such as a growing working set. Fit returns an error if
	// that memory would exceed Data.MaxBytes. If the number overflows int64, Bytes returns the
	// largest int64.
	Bytes(s Size) int64
}

// A ContextLearner is a Learner whose long calls stop when a context ends. All learners of this
// module are ContextLearners.
type ContextLearner interface {
	Learner
	// SetContext sets the context of the following Loads, Fits, Folds and LeaveOneOuts, and of long
	// derivatives, until the next SetContext. Before the first SetContext there is no context. Once
	// ctx has ended, these calls return an error that matches the error of ctx. A running call
	// returns it within some 10⁷ operations, or after a pass over the data. A Load that ends this
	// way leaves the learner without data. A Fit leaves it as after Reset. A derivative leaves its
	// Grad undefined. Like Fit, SetContext changes the learner.
	SetContext(ctx context.Context)
}

// A ViewLearner is a Learner that reads X in place, through Data.Centre and Data.Scale. Of a sparse
// X it reads only the stored entries. Other learners of this module make a dense copy of a sparse
// X, and refuse Centre and Scale. A type that embeds a ViewLearner and declares its own Load must
// also declare Views.
type ViewLearner interface {
	Learner
	// Views reports whether the learner does so for data of these sizes.
	Views(s Size) bool
}

// A BatchLearner is a Learner that can fit several learners of its kind together, on data of the
// same size. Fitting them together is faster than fitting one after the other. Cross-validation
// uses FitBatch and VJPBatch.
type BatchLearner interface {
	Learner
	// Batch returns the number of learners like l to fit together for data of these sizes. If l is
	// of a type that embeds this learner, Batch returns 1, because that type may have its own Fit.
	Batch(l Learner, s Size) int
	// FitBatch runs Fit for each item's learner whose Err is nil, and sets Err to the error of Fit.
	// The results have the same bits as Fit's. Like Fit, FitBatch changes the learners.
	FitBatch(w *qpdiff.Workspace, batch []BatchItem, hyper []float64)
	// VJPBatch runs VJP for each item's learner whose Err is nil, and sets Err to the error of VJP.
	// The results have the same bits as VJP's. Like VJP, VJPBatch only reads the learners. It is
	// fastest with the w and the items of the last FitBatch. If w is nil, VJPBatch allocates a
	// workspace.
	VJPBatch(w *qpdiff.Workspace, batch []BatchItem)
}

// A BatchItem is one learner of a batch, with the arguments and results of its Fit and VJP; see
// [BatchLearner].
type BatchItem struct {
	Learner Learner
	Theta   []float64 // of FitBatch
	Grad    *Grad     // of VJPBatch
	DTheta  []float64 // likewise
	Err     error
}

// A VerifiedLearner is a Learner that measures its fits by the data.
type VerifiedLearner interface {
	Learner
	// Residual returns how far the last fit violates the optimality conditions: the largest
	// violation over all parameters, relative to the size of the terms of its condition. It is
	// computed anew from the data. Rounding leaves some 1e-14. Residual costs a pass over the data,
	// allocates, and only reads the learner. If the last Fit failed, the error matches
	// [qpdiff.ErrNotFitted].
	Residual() (float64, error)
}

// A FreedomLearner is a Learner that counts its effective parameters.
type FreedomLearner interface {
	Learner
	// Freedom writes the effective degrees of freedom of θ at the last fit to dst, one number for
	// each entry of θ. It is 1 for a parameter without a penalty, and lower for a parameter with a
	// penalty.
	Freedom(dst []float64) error
}

// A ForwardLearner is a Learner with derivatives along a direction.
type ForwardLearner interface {
	Learner
	// JVP sets dtheta to the derivative of θ at the last Fit along d, whose fields are tangents of
	// the inputs (nil: zero). If w is nil, JVP allocates a workspace.
	JVP(w *qpdiff.Workspace, dtheta []float64, d *Grad) error
}

// A SubsetLearner is a Learner that can take over the data of another learner of its kind, without
// some of the rows. This replaces a Load.
type SubsetLearner interface {
	Learner
	// LoadSubset takes the data of full without the rows listed in out, and makes them the data of
	// the following fits. A Fit at the hyperparameters of full's last fit starts from that fit. The
	// fields of a Grad then have the shapes of full's data. LoadSubset only reads full, so many
	// learners may call it at the same time with the same full.
	LoadSubset(full Learner, out []int) error
}

// A Predictor is a Learner whose prediction is not θᵀx, but also depends on the training data and
// the hyperparameters. Kernel methods are Predictors.
type Predictor interface {
	Learner
	// Predict writes the prediction for each row of x at the last Fit to dst. A later PredictVJP
	// with the same w and x is then cheaper.
	Predict(w *qpdiff.Workspace, dst []float64, x *mat.Dense) error
	// PredictVJP adds the derivative of Σ_t ddst_t·prediction(x_t) in each input to the field of g,
	// if the field is not nil. The derivative includes the dependence through the fit and the
	// direct one. If dx is not nil, PredictVJP adds the derivative in x to dx.
	PredictVJP(w *qpdiff.Workspace, g *Grad, dx, x *mat.Dense, ddst []float64) error
}

// A LeaveOneOutLearner is a Learner with a method for leave-one-out cross-validation. The method
// fits all data sets that lack one row at once. Like Fit, LeaveOneOut changes the learner.
// LeaveOneOutVJP only reads it.
type LeaveOneOutLearner interface {
	Learner
	// LeaveOneOut writes a prediction for each row of the data to dst. The prediction comes from
	// the fit at hyper to the other rows. After LeaveOneOut, the learner no longer has the last
	// Fit.
	LeaveOneOut(dst, hyper []float64) error
	// LeaveOneOutVJP adds the derivative of Σ_i ddst_i·dst_i at the last LeaveOneOut to each field
	// of g that is not nil. g.X receives the derivative in the rows as training rows. dx, unless
	// nil, receives the derivative in the rows as predicted rows. If w is nil, LeaveOneOutVJP
	// allocates a workspace.
	LeaveOneOutVJP(w *qpdiff.Workspace, g *Grad, dx *mat.Dense, ddst []float64) error
}

// A FoldLearner is a Learner with a method for cross-validation with folds. The method fits all
// data sets that lack one fold at once. Like Fit, Folds changes the learner. FoldsVJP only reads
// it.
type FoldLearner interface {
	Learner
	// FoldsAtOnce reports whether the learner can, with the settings that it has.
	FoldsAtOnce() bool
	// Folds writes predictions to dst, fold after fold: one for each row of the fold. The
	// prediction comes from the fit at hyper to the rows outside the fold. A row may be in several
	// folds. Folds may return an error for folds that Fit would accept. After Folds, the learner no
	// longer has the last Fit.
	Folds(dst, hyper []float64, folds [][]int) error
	// FoldsVJP adds the derivative of Σ_t ddst_t·dst_t at the last Folds, in the same way as
	// LeaveOneOutVJP of a [LeaveOneOutLearner].
	FoldsVJP(w *qpdiff.Workspace, g *Grad, dx *mat.Dense, ddst []float64) error
}

// A KinkedLearner is a Learner whose θ has kinks as a function of the inputs, and which can return
// generalised derivatives there. A Learner without kinks does not need this method.
type KinkedLearner interface {
	Learner
	// SetGeneralised selects what VJP returns at a kink. If on, VJP adds one element of the
	// generalised derivative and sets Grad.Generalised. Otherwise VJP returns an error that matches
	// [qpdiff.ErrNotDifferentiable].
	SetGeneralised(on bool)
}

// A TiedLearner is a Learner whose fit does not determine how equal training rows share their
// weight in the solution. Its VJP then sets Grad.X and Grad.Y to derivatives along some moves of X
// and y only. A Learner without the method Ties has derivatives along all moves.
type TiedLearner interface {
	Learner
	// Ties describes the moves along which the derivatives of the last VJP or PredictVJP with w and
	// g.X hold. It calls visit for pairs of rows i and k that are equal up to their sign. g.X is
	// the derivative along moves dX with dᵀdX_i = sign·dᵀdX_k for all visited pairs. Grad.Y is the
	// derivative along moves dy with dy_i = sign·dy_k for the visited pairs whose d is not 0. visit
	// must not keep d. It returns whether it needs the pair's other d.
	Ties(w *qpdiff.Workspace, visit func(i, k int, sign float64, d []float64) bool)
}

// A ClassLearner is a Learner of several classes at once. Its labels are the numbers of the
// classes, from 0. Class after class, its θ has one entry for each feature, and one more if it has
// an intercept. A row with label y has one decision η_c for each class, and its loss is log Σ_c
// exp(η_c) − η_y. The prediction for the row is the log odds of y, η_y − log Σ_{c≠y} exp(η_c). The
// logistic loss for label 1 of this prediction is the row's loss.
type ClassLearner interface {
	Learner
	// Outputs returns the number of classes.
	Outputs() int
}
