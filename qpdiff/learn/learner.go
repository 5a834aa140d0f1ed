package learn

import (
	"context"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// A Learner is one convex learning method. It fits parameters θ to data at given hyperparameters
// and differentiates that fit. It keeps its storage and its warm start between fits. Load, Fit and
// Reset change it, and must not run at the same time as any other method. Derivatives only read it.
// Any number of them may run at the same time, each with its own workspace. The learners of this
// module must not be copied after their first Load: a copy panics.
type Learner interface {
	// Dims returns the numbers of parameters and hyperparameters for data with n features. A linear
	// learner has n parameters, or n+1 with the intercept last. Its prediction is θᵀx (+ θ_n).
	Dims(n int) (theta, hyper int)
	// Load makes d the data of the following fits. It must be called again after an entry of d
	// changed. The warm start survives if the shape is the same. Data that need more than
	// d.MaxBytes are an error of kind [qpdiff.ErrTooLarge]: see [SizedLearner].
	Load(d Data) error
	// Fit solves the problem at the hyperparameters and writes θ.
	Fit(theta, hyper []float64) error
	// VJP adds dthetaᵀ·∂θ/∂input at the last Fit to each field of g that is not nil. After a
	// Fit that failed the error matches [qpdiff.ErrNotFitted]. A nil w allocates. If rows
	// coincide, see [TiedLearner].
	VJP(w *qpdiff.Workspace, g *Grad, dtheta []float64) error
	// Reset forgets the warm start and the last fit. The next fit has the same bits as the first
	// fit of a new learner.
	Reset()
}

// A SizedLearner is a Learner that counts its memory before it allocates it, as all learners of
// this module do. A CV does not count the memory of other learners.
type SizedLearner interface {
	Learner
	// Bytes returns the largest number of bytes that the learner holds for data of these sizes,
	// without X: for Load, Fit, and VJP with one workspace. It excludes memory that grows in Fit
	// beyond Load's allocations, such as working sets. Fit returns an error if that exceeds
	// Data.MaxBytes. A number beyond int64 is returned as the largest int64.
	Bytes(s Size) int64
}

// A ContextLearner is a Learner whose long calls end when a context does. All learners of this
// module are ContextLearners.
type ContextLearner interface {
	Learner
	// SetContext sets the context of the following Loads, Fits, Folds and LeaveOneOuts, and of long
	// derivatives. It applies until the next SetContext. When the context has ended, they return an
	// error that matches ctx's. A running call does so within some 10⁷ operations, or a pass over
	// the data. After a Load that ended this way the learner has no data. After a Fit it is as
	// after Reset. A derivative leaves its Grad undefined. Before the first SetContext no context
	// applies. Like Fit, SetContext changes the learner.
	SetContext(ctx context.Context)
}

// A ViewLearner is a Learner that reads X in place, through Data.Centre and Data.Scale, and only
// the stored entries of a sparse X. Other learners of this module make a dense copy of a sparse X,
// and refuse Centre and Scale. A type that embeds a ViewLearner and declares its own Load must also
// declare Views.
type ViewLearner interface {
	Learner
	// Views reports whether the learner does so for data of these sizes.
	Views(s Size) bool
}

// A BatchLearner is a Learner that can fit several learners of its kind together, on data of the
// same size. That is faster than one after the other. Cross-validation uses it.
type BatchLearner interface {
	Learner
	// Batch returns how many learners like l should be fitted together for data of these sizes. It
	// returns 1 for an l that embeds this learner, because l may have its own Fit.
	Batch(l Learner, s Size) int
	// FitBatch runs Fit for each item's learner whose Err is nil, and sets Err to the error. The
	// results have the same bits as Fit's. Like Fit, it changes the learners.
	FitBatch(w *qpdiff.Workspace, batch []BatchItem, hyper []float64)
	// VJPBatch runs VJP for each item's learner whose Err is nil, and sets Err to the error. The
	// results have the same bits as VJP's. Like VJP, it only reads the learners. It is fastest with
	// the w and the items of the last FitBatch. A nil w allocates.
	VJPBatch(w *qpdiff.Workspace, batch []BatchItem)
}

// A BatchItem holds the arguments and results of Fit and VJP for one learner in a [BatchLearner]'s
// batch.
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
	// Residual returns the largest violation of the optimality conditions by the last fit over all
	// parameters, relative to the size of their terms. It is computed anew from the data. Rounding
	// leaves some 1e-14. It costs a pass over the data, allocates, and only reads the learner.
	// After a Fit that failed the error matches [qpdiff.ErrNotFitted].
	Residual() (float64, error)
}

// A FreedomLearner is a Learner that counts its effective parameters.
type FreedomLearner interface {
	Learner
	// Freedom writes the effective degrees of freedom of θ at the last fit to dst, one for each
	// entry. They are 1 for a parameter without a penalty, and lower with one.
	Freedom(dst []float64) error
}

// A ForwardLearner is a Learner with derivatives along a direction.
type ForwardLearner interface {
	Learner
	// JVP sets dtheta to the derivative of θ at the last Fit along d, whose fields
	// are tangents of the inputs (nil: zero). A nil w allocates.
	JVP(w *qpdiff.Workspace, dtheta []float64, d *Grad) error
}

// A SubsetLearner is a Learner that can take the data of another learner of its kind, without some
// rows, instead of a Load.
type SubsetLearner interface {
	Learner
	// LoadSubset makes the data of full without the rows out the data of the following fits. A Fit
	// at the hyperparameters of full's last fit begins at that fit. The fields of the Grad of VJP
	// then have the shape of full's data. LoadSubset only reads full, so many learners may call it
	// with one full at the same time.
	LoadSubset(full Learner, out []int) error
}

// A Predictor is a Learner whose prediction is not θᵀx. It also depends on the training data and
// the hyperparameters, as with a kernel method.
type Predictor interface {
	Learner
	// Predict writes the prediction for each row of x at the last Fit to dst. It makes a following
	// PredictVJP with the same w and x cheaper.
	Predict(w *qpdiff.Workspace, dst []float64, x *mat.Dense) error
	// PredictVJP adds the derivative of Σ_t ddst_t·prediction(x_t), through the fit and directly,
	// to each field of g that is not nil. It adds the derivative in x to dx, unless dx is nil.
	PredictVJP(w *qpdiff.Workspace, g *Grad, dx, x *mat.Dense, ddst []float64) error
}

// A LeaveOneOutLearner is a Learner that fits all data sets that lack one row at once.
// Leave-one-out cross-validation uses it. Like Fit, LeaveOneOut changes the learner. LeaveOneOutVJP
// only reads it.
type LeaveOneOutLearner interface {
	Learner
	// LeaveOneOut writes a prediction for each row of the data to dst, by the fit at hyper to the
	// other rows. It ends the last Fit.
	LeaveOneOut(dst, hyper []float64) error
	// LeaveOneOutVJP adds the derivative of Σ_i ddst_i·dst_i at the last LeaveOneOut to each field
	// of g that is not nil. g.X receives the derivative in the rows as training rows. dx, unless
	// nil, receives the derivative in the rows as predicted rows. A nil w allocates.
	LeaveOneOutVJP(w *qpdiff.Workspace, g *Grad, dx *mat.Dense, ddst []float64) error
}

// A FoldLearner is a Learner that fits all data sets that lack one fold at once. Cross-validation
// with folds uses it. Like Fit, Folds changes the learner. FoldsVJP only reads it.
type FoldLearner interface {
	Learner
	// FoldsAtOnce reports whether the learner can, with the settings that it has.
	FoldsAtOnce() bool
	// Folds writes predictions to dst, fold after fold: for each row of the data in the fold, by
	// the fit at hyper to the rows outside the fold. A row may be in several folds. The learner may
	// refuse folds that Fit would accept. It ends the last Fit.
	Folds(dst, hyper []float64, folds [][]int) error
	// FoldsVJP adds the derivative of Σ_t ddst_t·dst_t at the last Folds, in the same way as
	// LeaveOneOutVJP of a [LeaveOneOutLearner].
	FoldsVJP(w *qpdiff.Workspace, g *Grad, dx *mat.Dense, ddst []float64) error
}

// A KinkedLearner is a Learner whose θ has kinks, and which can return generalised derivatives
// there. A Learner without kinks does not need this method.
type KinkedLearner interface {
	Learner
	// SetGeneralised selects the result of VJP at a kink. True: one element of the generalised
	// derivative, and Grad.Generalised is set. False: an error that matches
	// [qpdiff.ErrNotDifferentiable].
	SetGeneralised(on bool)
}

// A TiedLearner is a Learner whose fit does not determine the weights of training rows that
// coincide. Its VJP then sets Grad.X and Grad.Y to derivatives along some moves of X and y only. A
// Learner without this method has derivatives along all moves.
type TiedLearner interface {
	Learner
	// Ties calls visit after a VJP or a PredictVJP with w and g.X, for pairs of rows i and k that
	// coincide up to their sign. g.X is the derivative along moves dX with dᵀdX_i = sign·dᵀdX_k for
	// all visited pairs. Grad.Y is the derivative along moves of the labels with dy_i = sign·dy_k,
	// for pairs with a d that is not 0. visit must not keep d. It returns whether it needs the
	// pair's other d.
	Ties(w *qpdiff.Workspace, visit func(i, k int, sign float64, d []float64) bool)
}

// A ClassLearner is a Learner of several classes at once. Its labels are the numbers of the
// classes, from 0. Class after class, its θ has one entry for each feature, and one more if it has
// an intercept. A row has one decision η_c for each class, and the loss log Σ_c exp(η_c) − η_y. The
// prediction for a row of label y is the log odds of y, η_y − log Σ_{c≠y} exp(η_c). The logistic
// loss of label 1 judges it.
type ClassLearner interface {
	Learner
	// Outputs returns the number of classes.
	Outputs() int
}
