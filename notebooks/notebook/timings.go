package notebook

import (
	"path/filepath"

	"cvgm/figures"
	"cvgm/notebooks/source"
)

// Timings returns what ./reproduce.sh --timings has recorded, or nil where
// nothing is.
func Timings() *figures.Timings {
	return Must(figures.ReadTimings(filepath.Join(Must(source.Root()), "figures", "out", "timings.json")))
}
