package notebook

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The comments in the draws' record name the source that computed each draw.
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

// The note names a few experiments or counts many, and names the rows that moved.
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

// Each experiment that the recorded draws name is one of the module.
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
