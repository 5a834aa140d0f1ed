package cvgm

import (
	"math/rand/v2"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff/learn"
)

// If a required value is nil, there is an ArgError and no panic.
func TestNilIsAnArgError(t *testing.T) {
	var noModel *Model
	m := new(Model)
	d := casetest.Regression(1, 10, 2)
	src := rand.New(rand.NewPCG(1, 1))
	casetest.WantArgErrors(t, map[string]func() error{
		"no Model's Predict":    func() error { return noModel.Predict(make([]float64, 10), d.Dense()) },
		"no Model's Risk":       func() error { _, err := noModel.Risk(SquaredError{}, d); return err },
		"Model.Predict":         func() error { return m.Predict(nil, nil) },
		"Model.Risk":            func() error { _, err := m.Risk(nil, d); return err },
		"Model.Risk of no data": func() error { _, err := m.Risk(SquaredError{}, learn.Data{}); return err },
		"New":                   func() error { _, err := New(Config{}); return err },
		"KFold":                 func() error { _, err := KFold(src, 0, 2); return err },
		"GroupedKFold":          func() error { _, err := GroupedKFold(src, nil, 2); return err },
		"StratifiedKFold":       func() error { _, err := StratifiedKFold(src, nil, 2); return err },
		"BalancedWeights":       func() error { _, err := BalancedWeights(nil); return err },
	})
}
