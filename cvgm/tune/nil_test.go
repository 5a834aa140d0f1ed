package tune

import (
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff/learn"
)

// A nil argument causes an error and no panic.
func TestNilIsAnArgErrorTune(t *testing.T) {
	casetest.WantArgErrors(t, map[string]func() error{
		"Tuner.TuneTable":   func() error { _, err := Tuner{}.TuneTable(t.Context(), nil); return err },
		"Tuner.TuneClasses": func() error { _, err := Tuner{}.TuneClasses(t.Context(), nil); return err },
		"Tuner.Tune":        func() error { _, err := Tuner{}.Tune(t.Context(), learn.Data{}); return err },
		"TunedClasses.Class": func() error {
			_, err := (&TunedClasses{Classes: []string{"a"}, Tuned: []*Tuned{{}}}).Class(nil)
			return err
		},
		"TunedClasses.Class of no Tuned": func() error {
			_, err := (&TunedClasses{Classes: []string{"a"}, Tuned: []*Tuned{nil}}).Class(nil)
			return err
		},
	})
}
