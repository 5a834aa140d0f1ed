package cvgm

import "cvgm/qpdiff"

// A Learner is one convex learning method: it fits parameters θ to data at
// given hyperparameters and differentiates that fit. A Learner is its own
// workspace: it belongs to one split, keeps its storage and its warm start
// between fits, and must not be shared between goroutines.
type Learner interface {
	// Dims returns the number of parameters and of hyperparameters for data
	// with n features. A linear learner has n parameters, or n+1 with the
	// intercept last; its prediction is θᵀx (+ θ_n).
	Dims(n int) (theta, hyper int)
	// Load makes d the data of the following fits. It must be called again
	// after an entry of d changed. The warm start survives where the shape
	// stays the same.
	Load(d qpdiff.Data) error
	// Fit solves the problem at the hyperparameters and writes θ.
	Fit(theta, hyper []float64) error
	// VJP adds dthetaᵀ·∂θ/∂input at the last Fit to each field of g that is not
	// nil. After a Fit that failed it returns qpdiff.ErrNotFitted. Where rows
	// coincide, see [TiedLearner].
	VJP(g *qpdiff.Grad, dtheta []float64) error
	// Reset forgets the warm start and the last fit: a fit that follows has
	// the same bits as the first fit of a new learner.
	Reset()
}

// A KinkedLearner is a Learner whose θ has kinks, and which can differentiate
// them. A CV with Config.Generalised set calls SetGeneralised(true) on each new
// learner. A Learner without this method needs none where its θ is smooth;
// otherwise its VJP fails at kinks, whatever Config.Generalised is.
type KinkedLearner interface {
	Learner
	// SetGeneralised selects what VJP does at a kink. True: it answers with one
	// element of the generalised derivative and sets Grad.Generalised. False: it
	// fails with an error that matches qpdiff.ErrNotDifferentiable.
	SetGeneralised(on bool)
}

// A TiedLearner is a Learner whose VJP, where training rows coincide, sets Grad.X to
// a derivative along some moves of X only, since the fit does not determine how
// much each of these rows counts. A CV whose feature map makes other moves has no
// derivative there. A Learner without this method has derivatives along all moves.
type TiedLearner interface {
	Learner
	// Ties calls visit, after a VJP or a DecideVJP with g.X, for pairs of rows i
	// and k that coincide up to their sign: g.X is the derivative along moves dX
	// with dᵀdX_i = sign·dᵀdX_k for all pairs visited. visit must not keep d. It
	// returns whether it needs the pair's other d.
	Ties(visit func(i, k int, sign float64, d []float64) bool)
}

// A LeaveOuter is a Learner that can take over the data of another one of its
// kind, less the rows out, in place of a Load. Where full is fitted at the
// hyperparameters of the Fit that follows, this begins at that fit. The fields
// of the Grad in VJP then have the shape of full's data. Many learners may do
// this with one full at the same time: they only read it. A CV whose learners
// are LeaveOuters fits one of them to all examples first.
type LeaveOuter interface {
	Learner
	LoadWithout(full any, out []int) error
}
