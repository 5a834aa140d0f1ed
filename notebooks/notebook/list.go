package notebook

import (
	"os"

	"cvgm/cvgm/experiment"
)

// ListVar names the environment variable that, where it is set, ends each cell at
// the first result that the store lacks, without an error. The cell adds the
// experiment's name, parameters and key to the file of RecordVar instead of
// computing the result. ./reproduce.sh --on slurm sets it.
const ListVar = "CVGM_LIST"

// listed records a missing result if ListVar is set, and reports whether it did.
// Results of functions that are not in the registry are computed where the
// notebook runs.
func listed(e *entry, params any) bool {
	registered := experiment.Of(params)
	if os.Getenv(ListVar) == "" || registered == nil {
		return false
	}
	Check(record(map[string]any{"missing": registered.Name, "parameters": e.params, "key": e.key}))
	return true
}
