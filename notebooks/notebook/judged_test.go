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
