package notebook

import (
	"slices"
	"testing"
)

// The comments in the draws' record name the source that computed each draw.
func TestOlderSources(t *testing.T) {
	recorded := []byte("# cvgm/cvgm/experiment/splits.SplitsParams.Run 1a\n# cvgm/cvgm/experiment/searches.RegretParams.Run 2b\ndraw,row\n0,# not a source 3c\n")
	now := map[string]string{"cvgm/cvgm/experiment/splits.SplitsParams.Run": "1a", "cvgm/cvgm/experiment/searches.RegretParams.Run": "other"}
	if got := olderSources(recorded, func(f string) string { return now[f] }); !slices.Equal(got, []string{"searches.Regret"}) {
		t.Errorf("%q", got)
	}
	now["cvgm/cvgm/experiment/searches.RegretParams.Run"] = "2b"
	if got := olderSources(recorded, func(f string) string { return now[f] }); got != nil {
		t.Errorf("%q", got)
	}
	if got := currentSource("cvgm/nowhere.NoParams.Run"); got != "" {
		t.Errorf("the source of nothing is %q", got)
	}
}
