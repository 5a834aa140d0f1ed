package notebook

import (
	"fmt"
	"os"
)

// Must returns v, or ends the cell with err.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Check ends the cell with err if there is one.
func Check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
