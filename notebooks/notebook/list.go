package notebook

import (
	"os"

	"cvgm/cvgm/experiment/registry"
)

// listed appends a missing result to the record and returns true if ListVar is set. If the
// experiment is not in the registry, it returns false, because the run of the notebook computes the
// results of these experiments.
func listed(e *entry, params any) bool {
	registered := registry.Of(params)
	if os.Getenv(ListVar) == "" || registered == nil {
		return false
	}
	Check(record(map[string]any{"missing": registered.Name, "parameters": e.params, "key": e.key}))
	return true
}
