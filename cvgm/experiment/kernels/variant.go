package kernels

import (
	"fmt"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/floats"
)

// A Variant is a direction for the gradient method on a learned kernel. It is either the gradient
// of the loss in Algorithm 1, or a substitute for this gradient. The published code uses a
// substitute with two errors. First, it holds the validation features constant. It thus omits the
// path from φ(x) through the prediction to the loss. Second, its Jacobian of the fit holds the
// probabilities π constant.
type Variant int

const (
	// Published is the published code's direction. It has both errors. In addition, the fit
	// penalises the intercept, but the Jacobian of the fit does not.
	Published Variant = iota
	// Detached uses the exact Jacobian of the fit, but holds the validation features constant.
	Detached
	// DetachedPenalised is Detached for a fit with a penalised intercept.
	DetachedPenalised
	// Full is the exact gradient.
	Full
	// FullPenalised is the exact gradient for a fit with a penalised intercept.
	FullPenalised
)

// Variants lists all variants.
var Variants = []Variant{Published, Detached, DetachedPenalised, Full, FullPenalised}

func (v Variant) String() string {
	if v < 0 || int(v) >= len(Variants) {
		return fmt.Sprintf("Variant(%d)", int(v))
	}
	return [...]string{"published", "detached", "detached, penalised intercept", "full", "full, penalised intercept"}[v]
}

func (v Variant) detached() bool { return v != Full && v != FullPenalised }

// exactVariant returns another variant: the exact gradient of the loss that v descends.
func (v Variant) exactVariant() Variant {
	if v.intercept() == linear.UnpenalisedIntercept {
		return Full
	}
	return FullPenalised
}

func (v Variant) intercept() linear.Intercept {
	if v == Detached || v == Full {
		return linear.UnpenalisedIntercept
	}
	return linear.PenalisedIntercept
}

func (v Variant) Learner() learn.Learner {
	if v == Published {
		l := new(incompleteLogistic)
		l.Intercept = v.intercept()
		return l
	}
	return &linear.Logistic{Intercept: v.intercept()}
}

// printedTerm returns the learner for the fit of v, but with an incomplete derivative: ∇_{xᵢ}∇_θ L
// has only its first term, as the paper prints it.
func (v Variant) printedTerm() learn.Learner {
	l := &incompleteLogistic{exactHessian: true}
	l.Intercept = v.intercept()
	return l
}

// incompleteLogistic is logistic regression with the published code's derivative with respect to X.
// This derivative differs from the exact derivative in two ways. First, ∇_{xᵢ}∇_θ L is only C(πᵢ−1)
// yᵢ I, without the term C πᵢ(1−πᵢ) xᵢθᵀ. Second, the Hessian does not contain the penalty of the
// intercept, although the fit penalises the intercept. If exactHessian is true, the Hessian is
// exact.
type incompleteLogistic struct {
	linear.Logistic
	exactHessian bool // whether to use the Hessian of the fit
	y            []float64
	c            float64
	u, e, pi     []float64
}

func (l *incompleteLogistic) Load(d learn.Data) error {
	l.y = d.Y
	return l.Logistic.Load(d)
}

func (l *incompleteLogistic) LoadSubset(full learn.Learner, out []int) error {
	f := full.(*incompleteLogistic)
	l.y = f.y
	return l.Logistic.LoadSubset(&f.Logistic, out)
}

func (l *incompleteLogistic) Fit(theta, hyper []float64) error {
	if err := l.Logistic.Fit(theta, hyper); err != nil {
		return err
	}
	l.c = hyper[0]
	return nil
}

// VJP adds only to g.X, because the published code has no other derivatives.
func (l *incompleteLogistic) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) error {
	n := len(dtheta) - 1
	if len(l.u) != n+1 {
		l.u, l.e = make([]float64, n+1), make([]float64, n+1)
	}
	if len(l.pi) != len(l.y) {
		l.pi = make([]float64, len(l.y))
	}
	if err := l.SolveHessian(w, l.u, dtheta); err != nil {
		return err
	}
	if !l.exactHessian {
		// The Hessian without the penalty of the intercept is H − eeᵀ, for the last unit vector e.
		clear(l.e)
		l.e[n] = 1
		if err := l.SolveHessian(w, l.e, l.e); err != nil {
			return err
		}
		floats.AddScaled(l.u, l.u[n]/(1-l.e[n]), l.e)
	}
	if err := l.Probabilities(w, l.pi); err != nil {
		return err
	}
	for i, pi := range l.pi {
		floats.AddScaled(g.X.RawRowView(i), l.c*(1-pi)*l.y[i], l.u[:n])
	}
	return nil
}
