package learn

import (
	"context"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// A Learner is one convex learning method: it fits parameters θ to data at given
// hyperparameters and differentiates that fit. It keeps its storage and its warm
// start between fits. Load, Fit and Reset change it; they must not run while any
// other method does. Derivatives only read it, and any number of them may run at
// the same time, each with a workspace of its own. The learners of this module must
// not be copied after their first Load: a copy panics.
type Learner interface {
	// Dims returns the number of parameters and of hyperparameters for data with n
	// features. A linear learner has n parameters, or n+1 with the intercept last;
	// its prediction is θᵀx (+ θ_n).
	Dims(n int) (theta, hyper int)
	// Load makes d the data of the following fits. It must be called again after an
	// entry of d changed. The warm start survives if the shape stays the same. Data that
	// need more than d.MaxBytes are an error of kind [qpdiff.ErrTooLarge]: see [SizedLearner].
	Load(d Data) error
	// Fit solves the problem at the hyperparameters and writes θ.
	Fit(theta, hyper []float64) error
	// VJP adds dthetaᵀ·∂θ/∂input at the last Fit to each field of g that is not nil. After a
	// Fit that failed the error matches [qpdiff.ErrNotFitted]. A nil w allocates. If rows
	// coincide, see [TiedLearner].
	VJP(w *qpdiff.Workspace, g *Grad, dtheta []float64) error
	// Reset forgets the warm start and the last fit: a fit that follows has the same
	// bits as the first fit of a new learner.
	Reset()
}

// A SizedLearner is a Learner that counts its memory before it is allocated. All learners of
// this module are. A CV counts nothing for other learners.
type SizedLearner interface {
	Learner
	// Bytes returns the largest number of bytes that the learner holds for data of these sizes,
	// without X: for Load, Fit, and VJP with one workspace. Memory that grows in Fit beyond
	// Load's allocations, such as working sets, is left out: Fit returns an error if it exceeds
	// Data.MaxBytes. A number beyond int64 is the largest int64.
	Bytes(s Size) int64
}

// A ContextLearner is a Learner whose long calls end when a context does. All learners of this
// module are.
type ContextLearner interface {
	Learner
	// SetContext makes ctx the context of the following Loads, Fits, Folds and LeaveOneOuts, and of
	// long derivatives, until the next SetContext: once it has ended, they return an error that
	// matches ctx's. A call under way does so within some 10⁷ operations, or a pass over the data.
	// After a Load that ended so the learner has no data, after a Fit it is as after Reset, and a
	// derivative leaves its Grad undefined. Before the first SetContext nothing ends them. Like
	// Fit, SetContext changes the learner.
	SetContext(ctx context.Context)
}

// A ViewLearner is a Learner that reads X in place, through Data.Centre and Data.Scale, and only
// the stored entries of a sparse X. Other learners of this module copy a sparse X as a dense one,
// and refuse Centre and Scale. A type that embeds a ViewLearner and declares a Load must declare
// a Views, too.
type ViewLearner interface {
	Learner
	// Views reports whether the learner does so for data of these sizes.
	Views(s Size) bool
}

// A BatchLearner is a Learner that fits several of its kind, on data of the same size, faster
// together than one after the other, as cross-validation needs.
type BatchLearner interface {
	Learner
	// Batch returns how many learners like l are best fitted together for data of these sizes. It
	// is 1 for an l that embeds this learner, and may have a Fit of its own.
	Batch(l Learner, s Size) int
	// FitBatch runs Fit of each item's learner whose Err is nil, and sets Err to the error. The
	// results have the same bits as Fit's. Like Fit it changes the learners.
	FitBatch(w *qpdiff.Workspace, batch []BatchItem, hyper []float64)
	// VJPBatch runs VJP of each item's learner whose Err is nil, and sets Err to the error. The
	// results have the same bits as VJP's. Like VJP it only reads the learners. It is fastest
	// with the w and the items of the last FitBatch. A nil w allocates.
	VJPBatch(w *qpdiff.Workspace, batch []BatchItem)
}

// A BatchItem holds the arguments and results of Fit and VJP, for one learner of a
// [BatchLearner]'s batch.
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
	// Residual returns by how much the last fit misses its optimality conditions, relative to
	// the size of their terms: the largest over all parameters, computed anew from the data.
	// Rounding leaves some 1e-14. It costs a pass over the data, allocates, and only reads the
	// learner. After a Fit that failed the error matches [qpdiff.ErrNotFitted].
	Residual() (float64, error)
}

// A FreedomLearner is a Learner that counts its effective parameters.
type FreedomLearner interface {
	Learner
	// Freedom writes the effective degrees of freedom of each entry of θ at the last fit to dst: 1
	// for a parameter without a penalty, less with one.
	Freedom(dst []float64) error
}

// A ForwardLearner is a Learner with derivatives along a direction.
type ForwardLearner interface {
	Learner
	// JVP sets dtheta to the derivative of θ at the last Fit along d, whose fields
	// are tangents of the inputs (nil: zero). A nil w allocates.
	JVP(w *qpdiff.Workspace, dtheta []float64, d *Grad) error
}

// A SubsetLearner is a Learner that can take over the data of another one of its kind, without
// some rows, instead of a Load.
type SubsetLearner interface {
	Learner
	// LoadSubset makes the data of full without the rows out the data of the following fits. A
	// Fit at the hyperparameters of full's last fit begins at that fit. The fields of the Grad
	// of VJP then have the shape of full's data. full is only read: many learners may do this
	// with one full at the same time.
	LoadSubset(full Learner, out []int) error
}

// A Predictor is a Learner whose prediction is not θᵀx but depends on the training
// data and the hyperparameters as well, as a kernel method's does.
type Predictor interface {
	Learner
	// Predict writes the prediction for each row of x at the last Fit to dst. A
	// PredictVJP that follows with the same w and x is the cheaper for it.
	Predict(w *qpdiff.Workspace, dst []float64, x *mat.Dense) error
	// PredictVJP adds the derivative of Σ_t ddst_t·prediction(x_t), through the fit and
	// directly, to each field of g that is not nil. It adds the derivative with respect to x to
	// dx, unless dx is nil.
	PredictVJP(w *qpdiff.Workspace, g *Grad, dx, x *mat.Dense, ddst []float64) error
}

// A LeaveOneOutLearner is a Learner that fits all data sets that lack one row at
// once, which leave-one-out cross-validation needs. As Fit does, LeaveOneOut changes the
// learner, and LeaveOneOutVJP only reads it.
type LeaveOneOutLearner interface {
	Learner
	// LeaveOneOut writes to dst, for each row of the data, the prediction for it of the
	// fit at hyper to the other rows. It ends the last Fit.
	LeaveOneOut(dst, hyper []float64) error
	// LeaveOneOutVJP adds the derivative of Σ_i ddst_i·dst_i at the last LeaveOneOut to each
	// field of g that is not nil. g.X receives the derivative with respect to the rows as
	// training rows. dx, unless nil, receives the derivative with respect to the rows as
	// predicted rows. A nil w allocates.
	LeaveOneOutVJP(w *qpdiff.Workspace, g *Grad, dx *mat.Dense, ddst []float64) error
}

// A FoldLearner is a Learner that fits all data sets that lack one fold at once, which
// cross-validation with folds needs. As Fit does, Folds changes the learner, and FoldsVJP only
// reads it.
type FoldLearner interface {
	Learner
	// FoldsAtOnce reports whether the learner can, with the settings that it has.
	FoldsAtOnce() bool
	// Folds writes to dst, fold after fold, for each row of the data in the fold the prediction for
	// it of the fit at hyper to the rows that are not in the fold. A row may be in several folds.
	// The learner may refuse folds that Fit would take. It ends the last Fit.
	Folds(dst, hyper []float64, folds [][]int) error
	// FoldsVJP adds the derivative of Σ_t ddst_t·dst_t at the last Folds as LeaveOneOutVJP of a
	// [LeaveOneOutLearner] does.
	FoldsVJP(w *qpdiff.Workspace, g *Grad, dx *mat.Dense, ddst []float64) error
}

// A KinkedLearner is a Learner whose θ has kinks, and which can differentiate them. A Learner
// without kinks does not need this method.
type KinkedLearner interface {
	Learner
	// SetGeneralised selects the result of VJP at a kink. True: one element of the generalised
	// derivative, with Grad.Generalised set. False: an error that matches
	// [qpdiff.ErrNotDifferentiable].
	SetGeneralised(on bool)
}

// A TiedLearner is a Learner whose VJP, if training rows coincide, sets Grad.X and Grad.Y to
// derivatives along some moves of X and y only, because the fit does not determine how much
// each of these rows counts. A Learner without this method has derivatives along all moves.
type TiedLearner interface {
	Learner
	// Ties calls visit, after a VJP or a PredictVJP with w and with g.X, for pairs of rows i
	// and k that coincide up to their sign. g.X is the derivative along moves dX with dᵀdX_i =
	// sign·dᵀdX_k for all pairs visited. Grad.Y is the derivative along moves of the labels
	// with dy_i = sign·dy_k, for pairs with a d that is not 0. visit must not keep d. It
	// returns whether it needs the pair's other d.
	Ties(w *qpdiff.Workspace, visit func(i, k int, sign float64, d []float64) bool)
}

// A ClassLearner is a Learner of several classes at once. Its labels are the numbers of the classes
// from 0 on, and its θ has, class after class, one entry for each feature and one more if it has an
// intercept: a row has one decision η_c for each class, and log Σ_c exp(η_c) − η_y as its loss. A
// prediction for a row of label y is the log odds of y, η_y − log Σ_{c≠y} exp(η_c), which the
// logistic loss of label 1 judges.
type ClassLearner interface {
	Learner
	// Outputs returns the number of classes.
	Outputs() int
}
