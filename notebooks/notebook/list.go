package notebook

import (
	"os"

	"cvgm/cvgm/experiment/registry"
)

// listed records a missing result if ListVar is set, and reports whether it did. It skips functions
// that are not in the registry, because the notebook's own run computes their results.
func listed(e *entry, params any) bool {
	registered := registry.Of(params)
	if os.Getenv(ListVar) == "" || registered == nil {
		return false
	}
	Check(record(map[string]any{"missing": registered.Name, "parameters": e.params, "key": e.key}))
	return true
}
