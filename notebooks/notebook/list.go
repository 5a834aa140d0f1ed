package notebook

import (
	"os"

	"cvgm/cvgm/experiment/registry"
)

// listed serves a run that only lists missing results: a run with ListVar set. In such a run, it
// appends a missing result to the record and returns true. It skips experiments that are not in the
// registry, because the run of the notebook computes their results.
func listed(e *entry, params any) bool {
	registered := registry.Of(params)
	if os.Getenv(ListVar) == "" || registered == nil {
		return false
	}
	Check(record(map[string]any{"missing": registered.Name, "parameters": e.params, "key": e.key}))
	return true
}
