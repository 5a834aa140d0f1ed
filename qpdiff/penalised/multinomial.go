package penalised

import (
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// Multinomial is multinomial logistic regression with quadratic penalties: one model of C classes,
//
//	minimise over β_c and b_c   Σ_i w_i [log Σ_c exp(η_ic) − η_{i,y_i}] + ½ Σ_j λ_j Σ_c β_cᵀS_jβ_c
//
// Here η_ic = x_iᵀβ_c + b_c is the decision value of row i for class c. The probability of class c
// is exp(η_ic)/Σ_k exp(η_ik). The labels y_i are the numbers of the classes, 0 to C − 1. w_i is the
// weight of row i in the [learn.Data], 1 by default. As for [GLM], the loss is a sum and not a
// mean. Without Intercept, b_c is 0. Each λ_j applies to all classes.
//
// If the same vector is added to all β_c, no probability changes. Among these solutions, the
// learner returns the one with Σ_c β_c = 0 and Σ_c b_c = 0. For penalised features, the penalties
// alone already imply Σ_c β_c = 0.
//
// There is one hyperparameter λ_j ≥ 0 for each penalty. θ holds β_0 (and b_0, if Intercept is set),
// then the parameters of class 1 in the same order, and so on. The numbers of the classes affect
// only the order of these entries. A label is the number of a class, so θ has no derivative with
// respect to the labels, and derivatives do not change Grad.Y.
//
// # Method
//
// The method is the same as for [GLM], with the parameters of C − 1 orthonormal contrasts of the
// classes (Helmert contrasts), for which the Hessian is regular. With n features a Newton step
// costs N·n²C²/4 multiplications for the Hessian and (Cn)³/6 for the factor of the Hessian.
//
// Set Classes before Load. Fits after the first allocate nothing.
type Multinomial struct {
	Classes int // C, at least 2; read by Dims and Load
	// Penalties, Intercept and Raw are as for [GLM].
	Penalties []Penalty
	Intercept bool
	Raw       bool

	glmFit
}

// multinomial is the loss of a [softmax]. A GLM cannot have this loss.
const multinomial = Poisson + 1

// Dims returns the number of parameters and the number of hyperparameters for n features. There are
// n parameters for each class, or n+1 with Intercept, and one hyperparameter for each penalty.
func (l *Multinomial) Dims(n int) (theta, hyper int) {
	if theta = n; l.Intercept {
		theta++
	}
	return theta * max(0, l.Classes), max(1, len(l.Penalties))
}

// Outputs implements [learn.ClassLearner].
func (l *Multinomial) Outputs() int { return l.Classes }

// SetOutputs sets the field Classes.
func (l *Multinomial) SetOutputs(classes int) { l.Classes = classes }

// Load takes the data d, which all following fits use. It copies the rows with a weight above 0. It
// returns the errors of [GLM.Load]. If Classes is below 2, or if a label is not one of the numbers
// 0 to Classes − 1, it returns an ArgError of kind ErrDomain. If Intercept is set and no row of
// some class has a weight above 0, it returns an ArgError of kind ErrIllPosed. After an error the
// learner has no data.
func (l *Multinomial) Load(d learn.Data) (err error) {
	defer learner.End(l, &err)
	if d, err = l.state.Take(l, d, false); err == nil {
		err = l.check(d)
	}
	if err := l.loadData(d, multinomial, l.Classes, l.Penalties, l.Intercept, err); err != nil {
		return err
	}
	if class := l.joint.absentClass(l.y, l.w); class >= 0 && l.Intercept {
		l.state.Unload()
		l.isWarm = false
		return check.ArgErrorf("Data.Y", qpdiff.ErrIllPosed, "give at least one row of each class, as folds by class do, or leave out the class", "has no row of class %d that counts: its intercept has no minimum", class)
	}
	return nil
}

// check returns an error if Classes or a label is invalid.
func (l *Multinomial) check(d learn.Data) error {
	if l.Classes < 2 {
		return check.ArgErrorf("Multinomial.Classes", qpdiff.ErrDomain, "give the number of classes, two or more", "is %d", l.Classes)
	}
	for i, y := range d.Y {
		if !(y >= 0 && y < float64(l.Classes)) || y != math.Trunc(y) {
			return check.ArgErrorf("Data.Y", qpdiff.ErrDomain, "give the numbers of the classes, from 0 on", "holds %v at index %d for %d classes", y, i, l.Classes)
		}
	}
	return nil
}

// Bytes implements [learn.SizedLearner], as for [GLM].
func (l *Multinomial) Bytes(s learn.Size) int64 {
	_, q, _ := learner.Sizes(s)
	if l.Intercept {
		q++
	}
	classes := float64(max(2, l.Classes))
	return learner.Entries(fitEntries(s, l.Penalties, l.Intercept, classes-1) + q*q + classes*(classes+4))
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (l *Multinomial) Reset() { l.reset() }

// Fit minimises the objective at the hyperparameters hyper, which are the λ_j, and writes the
// minimiser to θ. It starts from the best constants or from the last solution. After an error the
// learner has no fit, and θ is unchanged. The errors are the same as for [GLM.Fit]. ErrIllPosed
// also occurs if features without a penalty separate some classes from the other classes.
func (l *Multinomial) Fit(theta, hyper []float64) (err error) {
	defer learner.End(l, &err)
	return l.fit(theta, hyper)
}

// Residual implements [learn.VerifiedLearner]. Each of the C − 1 contrasts has one condition for
// each of its parameters.
func (l *Multinomial) Residual() (float64, error) { return learner.Measured(l, &l.state, l.residual) }

// VJP does the same as the VJP of [GLM], but does not change g.Y.
func (l *Multinomial) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[glmDerivative](w).adjoint(&l.glmFit, g, dtheta)
}

// JVP is the same as for [GLM], but ignores d.Y.
func (l *Multinomial) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[glmDerivative](w).tangent(&l.glmFit, dtheta, d)
}

// New returns a new learner with the same settings. Both learners share the matrices of Penalties.
func (l *Multinomial) New() learn.Learner {
	return &Multinomial{Classes: l.Classes, Penalties: slices.Clone(l.Penalties), Intercept: l.Intercept, Raw: l.Raw}
}

// Convention returns two settings: the logistic loss, and the learner's field Raw. The loss is
// applied to the log odds of each row's class, as for any [learn.ClassLearner].
func (l *Multinomial) Convention() learn.Convention {
	return learn.Convention{Loss: learn.LogisticLoss, Raw: l.Raw}
}

// Freedom has the same meaning as for [GLM]. The C parameters of a feature in all classes sum to 0,
// so they have only C − 1 degrees of freedom even without a penalty. Hence an intercept has (C −
// 1)/C degrees of freedom in each class.
func (l *Multinomial) Freedom(dst []float64) error {
	if err := l.state.Fitted(); err != nil {
		return learner.Named(l, err)
	}
	check.Length("dst", dst, l.params())
	l.freedom(dst)
	return nil
}

// Hyperparameters describes the λ_j as for [GLM].
func (l *Multinomial) Hyperparameters(m learn.Moments) []learn.Hyperparameter {
	return hyperparameters(l.Penalties, 1/float64(max(2, l.Classes)), m)
}
