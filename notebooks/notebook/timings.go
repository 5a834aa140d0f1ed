package notebook

import (
	"path/filepath"

	"cvgm/cvgm/experiment"
	"cvgm/notebooks/source"
)

// Timings returns what ./reproduce.sh --timings has recorded, or nil where
// nothing is.
func Timings() *experiment.Timings {
	return Must(experiment.ReadTimings(filepath.Join(Must(source.Root()), "figures", "out", "timings.json")))
}
