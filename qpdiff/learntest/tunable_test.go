package learntest_test

import (
	"fmt"
	"reflect"
	"testing"

	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/penalised"
	"cvgm/qpdiff/smooth"
)

// New copies every exported field.
func TestNewHasAllSettings(t *testing.T) {
	for _, l := range []learn.Tunable{new(linear.ElasticNet), new(linear.Huber), new(linear.Logistic), new(linear.SparseLogistic),
		new(margin.SVM), new(margin.LearnedLoss), new(kernel.SVM), new(kernel.Ridge), new(penalised.GLM), new(penalised.Multinomial), new(smooth.Learner)} {
		from := reflect.ValueOf(l).Elem()
		set := 0
		for i := range from.NumField() {
			if !from.Type().Field(i).IsExported() {
				continue
			}
			set++
			switch f := from.Field(i); f.Kind() {
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Int:
				f.SetInt(7)
			case reflect.Slice:
				f.Set(reflect.MakeSlice(f.Type(), 3, 3))
			case reflect.Interface:
				f.Set(reflect.ValueOf(kernel.Polynomial{Degree: 7}))
			case reflect.Struct:
				f.FieldByName("NumHyper").SetInt(7)
			default:
				t.Fatalf("%T has a field of kind %v", l, f.Kind())
			}
		}
		to := reflect.ValueOf(l.New()).Elem()
		if to.Type() != from.Type() {
			t.Fatalf("%T makes a %v", l, to.Type())
		}
		for i := range from.NumField() {
			if f := from.Type().Field(i); f.IsExported() && fmt.Sprint(to.Field(i)) != fmt.Sprint(from.Field(i)) {
				t.Errorf("%T: %s is %v in a new one instead of %v", l, f.Name, to.Field(i), from.Field(i))
			}
		}
		if set == 0 {
			t.Errorf("%T has no settings", l)
		}
	}
}
