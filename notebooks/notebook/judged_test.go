package notebook

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
)

// The comments in the record of draws name the sources that computed the draws.
func TestOlderSources(t *testing.T) {
	recorded := []byte("# splits.SplitsParams.Run 1a\n# searches.RegretParams.Run 2b\ndraw,row\n0,# not a source 3c\n")
	now := map[string]string{"splits.SplitsParams.Run": "1a", "searches.RegretParams.Run": "other"}
	if got := olderSources(recorded, func(f string) string { return now[f] }); !slices.Equal(got, []string{"searches.Regret"}) {
		t.Errorf("%q", got)
	}
	now["searches.RegretParams.Run"] = "2b"
	if got := olderSources(recorded, func(f string) string { return now[f] }); got != nil {
		t.Errorf("%q", got)
	}
	if got := currentSource("nowhere.NoParams.Run"); got != "" {
		t.Errorf("the source of nothing is %q", got)
	}
}

// Invalid recorded draws do not change the claims, and the note has the reason.
func TestDamagedDraws(t *testing.T) {
	judged := []claims.Claim{{Number: 1, Measured: []claims.Measurement{{Text: "a value", Ours: experiment.Estimate{Mean: 1, Margin: math.NaN(), N: 1}}}}}
	for _, c := range []struct {
		first int
		line  string
		want  string
	}{
		{0, "", ""},
		{0, "1,1a,here,1,NaN,1,x\n", `record 2: "x" is not a number`},
		{0, "1,1a,here,1,.5,9,0\n", "some have a spread and some have none"},
		{0, "1,2a,here,1,NaN,1,0\n", `draw 1 has no "here" of row 1a`},
		{1, "", "the first of them is draw 1"},
	} {
		var record bytes.Buffer
		if err := claims.RecordOf(judged).Write(&record, c.first); err != nil {
			t.Fatal(err)
		}
		record.WriteString(c.line)
		pooled, note := pooledBy(record.Bytes(), judged, func(string) string { return "" })
		if !strings.Contains(note, c.want) || (note == "") != (c.want == "") || (pooled[0].Measured[0].Draws == nil) != (c.want != "") {
			t.Errorf("%q: %q, want %q; %+v", c.line, note, c.want, pooled[0].Measured[0])
		}
	}
}

// The note names the moved rows and the changed experiments, or only the number of many
// experiments.
func TestNoteOfDraws(t *testing.T) {
	many := []string{"a.A", "b.B", "c.C", "d.D", "e.E"}
	for _, c := range []struct {
		older, moved []string
		want         string
	}{
		{nil, nil, ""},
		{many[:2], nil, "The sources of a.A, b.B have changed since the 10 draws were recorded. Draw 0, computed again, has the same numbers: no estimate has moved by a tenth of its standard error."},
		{many, []string{"1a", "7b"}, "The sources of 5 experiments have changed since the 10 draws were recorded. That has moved these rows of draw 0 by more than a tenth of their standard error: 1a, 7b. The command ./reproduce.sh --again 10 records the draws anew."},
	} {
		if got := noteOf(10, c.older, c.moved); got != c.want {
			t.Errorf("%q, %q: %s", c.older, c.moved, got)
		}
	}
}

// The record of draws names experiments. Each of them is in the module.
func TestRecordedSourcesAreKnown(t *testing.T) {
	recorded, err := os.ReadFile(filepath.Join("..", "..", "figures", "out", "draws.csv"))
	if err != nil {
		t.Fatal(err)
	}
	named := sourceLine.FindAllSubmatch(recorded, -1)
	if len(named) < 15 {
		t.Errorf("the record names %d experiments", len(named))
	}
	for _, found := range named {
		if currentSource(string(found[1])) == "" {
			t.Errorf("%s is no experiment", found[1])
		}
	}
}
