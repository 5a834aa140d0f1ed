package tune

import (
	"reflect"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
)

// A tunedLearner describes how a learner is tuned by the convention of its field.
type tunedLearner struct {
	prototype learn.Learner
	loss      cvgm.Loss // nil: none is usual
	centred   bool      // labels and features are centred, in place of an intercept
}

// make returns a new learner with the prototype's settings.
func (l tunedLearner) make() learn.Learner {
	old := reflect.ValueOf(l.prototype).Elem()
	made := reflect.New(old.Type())
	copySettings(made.Elem(), old)
	return made.Interface().(learn.Learner)
}

// copySettings copies the exported fields of a struct, and those of structs embedded in it, whose
// other fields may hold loaded data.
func copySettings(to, from reflect.Value) {
	for i := range from.NumField() {
		switch field := from.Type().Field(i); {
		case field.Anonymous && field.Type.Kind() == reflect.Struct:
			copySettings(to.Field(i), from.Field(i))
		case field.IsExported():
			to.Field(i).Set(from.Field(i))
		}
	}
}

// prototype returns the learner to tune and its conventions.
func (t Tuner) prototype(y []float64) (tunedLearner, error) {
	l := tunedLearner{prototype: t.Learner}
	if l.prototype == nil {
		l.prototype = &linear.ElasticNet{}
		if allSigns(y) {
			l.prototype = &linear.Logistic{Intercept: linear.UnpenalisedIntercept}
		}
	}
	if v := reflect.ValueOf(l.prototype); v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return l, args.Bad("Tuner.Learner", qpdiff.ErrDomain, "give for example &linear.ElasticNet{}", "is a %T, which is nil or no pointer to a struct", l.prototype)
	}
	switch l.prototype.(type) {
	case *linear.ElasticNet:
		l.loss, l.centred = cvgm.SquaredError{}, true
	case *kernel.Ridge:
		l.loss = cvgm.SquaredError{}
	case *linear.Huber:
		l.loss = cvgm.AbsoluteError{}
	case *linear.Logistic, *linear.SparseLogistic:
		l.loss = cvgm.LogisticLoss{}
	case *margin.SVM, *kernel.SVM:
		l.loss = cvgm.Hinge{}
	}
	return l, nil
}

func allSigns(y []float64) bool {
	return !slices.ContainsFunc(y, func(v float64) bool { return v != 1 && v != -1 })
}
