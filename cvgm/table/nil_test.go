package table

import (
	"strings"
	"testing"

	"cvgm/cvgm/internal/casetest"
)

// If a required argument is nil, there is an ArgError and no panic.
func TestNilIsAnArgErrorTable(t *testing.T) {
	p := pears(t)
	e := p.Model.Prepared.(*Encoder)
	var noPipeline *Pipeline
	var noTable *Table
	var noClasses *OneVsRest
	casetest.WantArgErrors(t, map[string]func() error{
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
		"OneVsRest.Class":              func() error { _, err := new(OneVsRest).Class(nil); return err },
		"no OneVsRest's Class":         func() error { _, err := noClasses.Class(nil); return err },
		"CSV.Read of no rows":          func() error { _, err := CSV{Target: "y"}.Read(strings.NewReader("a,y\n")); return err },
		"CSV.Read of no value": func() error {
			_, err := CSV{Target: "y", Missing: MissingDropsRow}.Read(strings.NewReader("a,y\n,1\n"))
			return err
		},
		"CSV.Read of the target alone": func() error { _, err := CSV{Target: "y"}.Read(strings.NewReader("y\n1\n")); return err },
		"CSV.Read":                     func() error { _, err := CSV{Target: "y"}.Read(nil); return err },
		"ReadCSV":                      func() error { _, err := ReadCSV(nil, "y"); return err },
		"Table.Data":                   func() error { _, _, err := noTable.Data(); return err },
		"Table.Data of no rows":        func() error { _, _, err := (&Table{Y: []float64{1}}).Data(); return err },
		"Table.Binary":                 func() error { _, err := noTable.Binary("a"); return err },
		"Encoder.Fit":                  func() error { _, err := e.Fit(nil, nil); return err },
	})
}
