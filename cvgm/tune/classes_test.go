package tune

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
)

// Warnings name classes as the file does.
func TestTuneWarnsOfClassesByTheirNames(t *testing.T) {
	var text strings.Builder
	text.WriteString("x,sick\n")
	for i := range 24 {
		fmt.Fprintf(&text, "%d,%s\n", i*i%11, []string{"no", "yes"}[i%5/4])
	}
	for _, class := range []string{"yes", "no"} {
		table := casetest.Must(table.CSV{Target: "sick", Positive: class}.Read(strings.NewReader(text.String())))(t)
		tuner := Tuner{OuterFolds: -1, MaxEvals: 12}
		for j := range 4 { // of which the last validates on the class no alone
			tuner.Splits = append(tuner.Splits, cvgm.Split{Train: []int{0, 4, 5, 9, 10, 14}, Val: [][]int{{15, 19}, {20, 19}, {21, 14 + 5}, {1, 2, 3}}[j]})
		}
		tuned := casetest.Must(tuner.TuneTable(t.Context(), table))(t)
		if text := fmt.Sprint(tuned); !strings.Contains(text, `Split 3 validates on examples of the class "no" alone.`) {
			t.Errorf("Positive %q: %s", class, text)
		}
	}
}

// The error for a class with a single row contains the name of the class in the file.
func TestTuneTableNamesTheClassOfOneRow(t *testing.T) {
	text := "x,sick\n1,no\n2,no\n3,no\n4,no\n5,no\n6,yes\n"
	for _, class := range []string{"yes", "no"} {
		table := casetest.Must(table.CSV{Target: "sick", Positive: class}.Read(strings.NewReader(text)))(t)
		if _, err := (Tuner{}).TuneTable(t.Context(), table); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), `one row of the class "yes"`) {
			t.Errorf("Positive %q: %v", class, err)
		}
	}
}
