package tune

import (
	"reflect"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
)

// usualLosses holds the default validation loss for each kind of loss that a learner's Convention
// may name.
var usualLosses = map[learn.LossKind]cvgm.Loss{
	learn.SquaredError: cvgm.SquaredError{}, learn.AbsoluteError: cvgm.AbsoluteError{}, learn.LogisticLoss: cvgm.LogisticLoss{}, learn.Hinge: cvgm.Hinge{}, learn.PoissonLoss: cvgm.PoissonLoss{},
}

// prototype returns the learner to tune.
func (t Tuner) prototype(y []float64) (learn.Tunable, error) {
	l := t.Learner
	if l == nil {
		l = &linear.ElasticNet{}
		if allSigns(y) {
			l = &linear.Logistic{Intercept: linear.UnpenalisedIntercept}
		}
	}
	if v := reflect.ValueOf(l); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, args.Bad("Tuner.Learner", qpdiff.ErrDomain, "give for example &linear.ElasticNet{}", "is a %T, which is nil", l)
	}
	if p, ok := l.(learn.Tunable); ok {
		// A learner may embed another learner without a method New of its own. Go then promotes the
		// method New of the embedded learner, which makes a learner of the embedded type.
		if made := p.New(); reflect.TypeOf(made) != reflect.TypeOf(l) {
			return nil, args.Bad("Tuner.Learner", qpdiff.ErrDomain, "give it a method New of its own", "is a %T whose New makes a %T", l, made)
		}
		return p, nil
	}
	return nil, args.Bad("Tuner.Learner", qpdiff.ErrDomain, "give it the methods of learn.Tunable, or take for example &linear.ElasticNet{}", "is a %T, which is not a learn.Tunable", l)
}

func allSigns(y []float64) bool {
	return !slices.ContainsFunc(y, func(v float64) bool { return v != 1 && v != -1 })
}
