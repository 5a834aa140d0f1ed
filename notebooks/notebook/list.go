package notebook

import (
	"os"

	"cvgm/cvgm/experiment/registry"
)

// listed records a missing result if ListVar is set, and reports whether it did. Results of
// functions that are not in the registry are computed by the notebook's own run.
func listed(e *entry, params any) bool {
	registered := registry.Of(params)
	if os.Getenv(ListVar) == "" || registered == nil {
		return false
	}
	Check(record(map[string]any{"missing": registered.Name, "parameters": e.params, "key": e.key}))
	return true
}
