package margin

import (
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// LearnedLoss is linear classification with a learned loss, a ridge penalty and no intercept. The
// loss is a conic combination of four surrogates of the 0–1 loss (Barratt and Sharma 2018,
// supplement B):
//
//	minimise over θ   1/N·Σ_i [ α1·max(0, 1−m_i) + α2·exp(−m_i)
//	                   + α3·max(0, 1−m_i)² + α4·log(1+exp(−2m_i)) ] + λ/2·‖θ‖²
//
// with the margins m_i = y_i θᵀx_i and labels ±1. Each row is weighted as [learn.Data] states. The
// hyperparameters are (α1, α2, α3, α4, λ), with all α ≥ 0 and λ > 0. The paper keeps α in the
// probability simplex. This constraint belongs to the search (search.Simplex) and not to the fit.
//
// # Method
//
// The solver is Newton's method over the faces of the hinge loss. The elbow is the set of rows with
// the margin 1. As in [SVM], a row i stays on the elbow while its multiplier b_i is between 0 and
// α1/N. A step ends at the point where the objective stops falling, which may lie between two
// kinks.
//
// # Derivatives
//
// Let the rows of Z_E be the vectors z_i = y_i x_i of the elbow E, let ℓ be the smooth part of the
// loss, and let H = λI + 1/N·Σ ℓ″(m_i)·z_i z_iᵀ. Let (w, u) solve H·w − Z_Eᵀu = dθ and Z_E·w = 0,
// where dθ is the cotangent of θ. The vector-Jacobian products are
//
//	α_k: −1/N·Σ_i ℓ_k'(m_i)·z_iᵀw    λ: −θᵀw
//	z_i: −ψ_i·w + (u_i − ℓ″(m_i)·z_iᵀw/N)·θ
//
// The sum for α1 (k = 1) does not include the rows of the elbow. ψ_i is the derivative of the
// objective with respect to m_i. For a row of the elbow, the part of ψ_i from the hinge loss is
// −b_i, where b_i is the row's multiplier. Off the elbow, u_i is 0. At α_k = 0 the derivative with
// respect to α_k is one-sided, from the right.
//
// θ has no derivative if strict complementarity fails. It fails if the multiplier of a row of the
// elbow is 0 or α1/N, or if a row off the elbow has the margin 1. (If α1 = α3 = 0, only the
// derivative with respect to α1 does not exist at this margin.) See [SVM] for the tolerance and for
// equal rows.
//
// The zero value is ready for Load. The first fit allocates memory, and later fits allocate
// nothing.
type LearnedLoss struct {
	// Generalised selects the result of VJP at weakly active rows. If it is true, VJP uses an element
	// of the generalised Jacobian, as for [SVM]. If it is false, VJP returns a NotDifferentiableError.
	Generalised bool

	marginFit
}

// learnedLossNames are the names of the hyperparameters in errors.
var learnedLossNames = []qpdiff.Input{"α1", "α2", "α3", "α4", "λ"}

var errExponentialLoss = check.ArgErrorf("hyper", qpdiff.ErrNotFinite, "raise λ", "leaves margins at which the exponential loss overflows")

// Dims returns n parameters and the 5 hyperparameters (α1, α2, α3, α4, λ).
func (l *LearnedLoss) Dims(n int) (theta, hyper int) { return n, 5 }

// SetGeneralised sets the field Generalised.
func (l *LearnedLoss) SetGeneralised(on bool) { l.Generalised = on }

// Load takes the data d, which all following fits use. It keeps a reference to d, and uses the
// fields Rows and Weights of d. Load returns the errors of [learn.Data.Check]. If a label is not
// ±1, even in a row of weight 0, the error is of kind ErrDomain. If all rows with a weight above 0
// have the same label, the error is of kind ErrIllPosed. If the squared norm of a row overflows,
// the error is of kind ErrNotFinite. All these errors are ArgErrors. After an error the learner has
// no data.
func (l *LearnedLoss) Load(d learn.Data) (err error) {
	defer learner.End(l, &err)
	return l.load(d)
}

// Fit solves the problem at the hyperparameters hyper and writes the solution to theta (n entries).
// The errors are the same as for [SVM.Fit], with λ in place of λ2.
func (l *LearnedLoss) Fit(theta, hyper []float64) (err error) {
	defer learner.End(l, &err)
	l.state.Stop.Look()
	if err := l.state.Begin(theta, hyper, l.p.n, 5); err != nil {
		return err
	}
	if hyper[4] == 0 {
		return check.ArgErrorf("hyper", qpdiff.ErrDomain, "give a ridge weight λ above 0", "holds 0 at index 4")
	}
	inv := 1 / l.p.total
	l.p.hinge = hyper[0] * inv
	for k := range l.p.smooth {
		l.p.smooth[k] = hyper[1+k] * inv
	}
	l.p.l2 = hyper[4]
	return l.solve(theta, false)
}

// Elbow returns the training rows whose margins are at the kink of the loss, as [SVM.Elbow] does.
func (l *LearnedLoss) Elbow(dst []int) ([]int, error) { return l.elbow(l, dst) }

// Residual implements [learn.VerifiedLearner].
func (l *LearnedLoss) Residual() (float64, error) { return learner.Measured(l, &l.state, l.residual) }

// VJP differentiates the last fit. It adds dthetaᵀ·∂θ/∂input to each field of g that is not nil. If
// there is no fit, it returns ErrNotFitted. It returns an ArgError of kind ErrNotFinite in three
// cases: dtheta is not finite; a product overflows; or α2 = 0 and the derivative with respect to α2
// overflows. After the overflow of a product, g is undefined. If strict complementarity fails and
// Generalised is not set, VJP returns a NotDifferentiableError that names the rows.
func (l *LearnedLoss) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) (err error) {
	defer learner.Name(l, &err)
	m := qpdiff.Scratch[marginDerivative](w)
	if err := m.adjoint(&l.marginFit, l.Generalised, g, dtheta, learnedLossNames...); err != nil {
		return err
	}
	if g.Hyper != nil {
		var d, size [4]float64
		n, inv := l.p.n, 1/l.p.total
		for i := range l.p.m {
			wz := dense.Dot(m.w, l.p.z[i*n:(i+1)*n]) * l.p.Copies[i] * inv
			for k, slope := range l.slopes(i, m.face.side[i]) {
				d[k] -= slope * wz
				size[k] += math.Abs(slope * wz)
			}
		}
		if !dense.Finite(d[1]) {
			return errExponentialLoss
		}
		if !l.Generalised && !l.weakFree.Empty() {
			d[0] = 0
		}
		dense.Axpy(1, d[:], g.Hyper)
		g.Hyper[4] -= dense.Dot(l.p.theta, m.w)
		if g.HyperSize != nil {
			dense.Axpy(1, size[:], g.HyperSize)
			g.HyperSize[4] += dense.AbsDot(l.p.theta, m.w)
		}
	}
	return m.finishAdjoint(&l.marginFit, l.Generalised, g, learnedLossNames[0])
}

// slopes returns the derivatives of the four losses at the margin of row i. The parameter side
// shows on which side of 1 the margin is. On the elbow d[0] is 0, because the multiplier includes
// the derivative of the hinge loss.
func (l *LearnedLoss) slopes(i int, side int8) (d [4]float64) {
	m := l.p.m[i]
	if side < 0 {
		d[0], d[2] = -1, -2*(1-m)
	}
	d[1] = -math.Exp(-m)
	d[3] = -2 / (1 + math.Exp(2*m))
	return d
}

// JVP differentiates the last fit. It sets dtheta to the directional derivative of θ along d. The
// fields of d are tangents of the inputs; a nil field counts as zero. As for [SVM.JVP], the
// derivative exists even if strict complementarity fails. If there is no fit, JVP returns
// ErrNotFitted. If d is not finite, or if dtheta or the change of the gradient along d overflows,
// it returns an ArgError of kind ErrNotFinite. If d lowers α1 from 0 while a margin is 1, it
// returns an ArgError of kind ErrDomain.
func (l *LearnedLoss) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) (err error) {
	defer learner.Name(l, &err)
	m := qpdiff.Scratch[marginDerivative](w)
	if err := m.forward(&l.marginFit, dtheta, d); err != nil {
		return err
	}
	rise := 0.0
	if d.Hyper != nil {
		if l.p.hinge == 0 && !(l.weak.Empty() && l.weakFree.Empty()) {
			if rise = d.Hyper[0] / l.p.total; rise < 0 {
				return check.ArgErrorf("d.Hyper", qpdiff.ErrDomain, "give a direction that raises α1", "lowers α1 from 0 where a margin is 1")
			}
		}
		n, inv := l.p.n, 1/l.p.total
		for i := range l.p.m {
			var s float64
			for k, slope := range l.slopes(i, m.face.side[i]) {
				if k == 0 && slices.Contains(l.weakFree.Rows, i) {
					continue // at its kink, which oneSided adds
				}
				if d.Hyper[k] != 0 {
					s += slope * d.Hyper[k]
				}
			}
			if !dense.Finite(s) {
				return errExponentialLoss
			}
			dense.Axpy(-s*l.p.Copies[i]*inv, l.p.z[i*n:(i+1)*n], m.w)
		}
		dense.Axpy(-d.Hyper[4], l.p.theta, m.w)
	}
	return m.finishForward(&l.marginFit, dtheta, d, rise)
}

// New returns a new learner with the same Generalised.
func (l *LearnedLoss) New() learn.Learner { return &LearnedLoss{Generalised: l.Generalised} }

// Convention returns the zero Convention, because no loss is usual for the learned loss.
func (*LearnedLoss) Convention() learn.Convention { return learn.Convention{} }

// Hyperparameters returns nil, because the data do not determine bounds for the weights of the
// losses.
func (*LearnedLoss) Hyperparameters(learn.Moments) []learn.Hyperparameter { return nil }
