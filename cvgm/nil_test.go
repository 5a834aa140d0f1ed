package cvgm

import (
	"errors"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
)

// What is nil where a value is needed is an argument's error, and no panic: results of a search that was
// stopped hold nil, too.
func TestNilIsAnArgError(t *testing.T) {
	p := pears(t)
	src := rand.New(rand.NewPCG(1, 1))
	e := p.Model.Prepared.(*Encoder)
	var noPipeline *Pipeline
	var noTable *Table
	var noModel *Model
	d := houses(10)
	for name, call := range map[string]func() error{
		"Pipeline.Predict":             func() error { _, err := p.Predict(nil); return err },
		"Pipeline.Decision":            func() error { _, err := p.Decision(nil); return err },
		"Pipeline.Decision of no rows": func() error { _, err := p.Decision(&Table{Columns: e.columns}); return err },
		"Pipeline.Class":               func() error { _, err := p.Class(nil); return err },
		"Pipeline.Probability":         func() error { _, err := p.Probability(nil); return err },
		"Pipeline.Read":                func() error { _, err := p.Read(nil); return err },
		"Pipeline.Record":              func() error { _, err := p.Record(nil); return err },
		"Pipeline.PredictRecord":       func() error { _, err := p.PredictRecord(nil); return err },
		"no Pipeline's Predict":        func() error { _, err := noPipeline.Predict(nil); return err },
		"no Pipeline's Class":          func() error { _, err := noPipeline.Class(nil); return err },
		"no Pipeline's Probability":    func() error { _, err := noPipeline.Probability(nil); return err },
		"no Pipeline's Read":           func() error { _, err := noPipeline.Read(nil); return err },
		"no Pipeline's Record":         func() error { _, err := noPipeline.Record(nil); return err },
		"no Model's Predict":           func() error { return noModel.Predict(make([]float64, 10), d.X) },
		"no Model's Risk":              func() error { _, err := noModel.Risk(SquaredError{}, d); return err },
		"Model.Predict":                func() error { return p.Model.Predict(nil, nil) },
		"Model.Risk":                   func() error { _, err := p.Model.Risk(nil, d); return err },
		"Model.Risk of no data":        func() error { _, err := p.Model.Risk(SquaredError{}, learn.Data{}); return err },
		"CSV.Read":                     func() error { _, err := CSV{Target: "y"}.Read(nil); return err },
		"ReadCSV":                      func() error { _, err := ReadCSV(nil, "y"); return err },
		"Table.Data":                   func() error { _, _, err := noTable.Data(); return err },
		"Table.Data of no rows":        func() error { _, _, err := (&Table{Y: []float64{1}}).Data(); return err },
		"Table.Binary":                 func() error { _, err := noTable.Binary("a"); return err },
		"Tuner.TuneTable":              func() error { _, err := Tuner{}.TuneTable(t.Context(), nil); return err },
		"Tuner.TuneClasses":            func() error { _, err := Tuner{}.TuneClasses(t.Context(), nil); return err },
		"Tuner.Tune":                   func() error { _, err := Tuner{}.Tune(t.Context(), learn.Data{}); return err },
		"TunedClasses.Class": func() error {
			_, err := (&TunedClasses{Classes: []string{"a"}, Tuned: []*Tuned{{}}}).Class(nil)
			return err
		},
		"TunedClasses.Class of no Tuned": func() error {
			_, err := (&TunedClasses{Classes: []string{"a"}, Tuned: []*Tuned{nil}}).Class(nil)
			return err
		},
		"Best":            func() error { _, err := Best(nil); return err },
		"New":             func() error { _, err := New(Config{}); return err },
		"Encoder.Fit":     func() error { _, err := e.Fit(nil, nil); return err },
		"KFold":           func() error { _, err := KFold(src, 0, 2); return err },
		"GroupedKFold":    func() error { _, err := GroupedKFold(src, nil, 2); return err },
		"StratifiedKFold": func() error { _, err := StratifiedKFold(src, nil, 2); return err },
		"BalancedWeights": func() error { _, err := BalancedWeights(nil); return err },
	} {
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%s: panics: %v", name, r)
				}
			}()
			var arg *qpdiff.ArgError
			if err := call(); !errors.As(err, &arg) {
				t.Errorf("%s: error %v", name, err)
			}
		}()
	}
}
