package notebooks

import (
	"path/filepath"

	"cvgm/figures"
)

// Timings returns what ./reproduce.sh --timings has recorded, or nil where
// nothing is.
func Timings() *figures.Timings {
	return Must(figures.ReadTimings(filepath.Join(Must(moduleRoot()), "figures", "out", "timings.json")))
}
