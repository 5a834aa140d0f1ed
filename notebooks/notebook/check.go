package notebook

import (
	"fmt"
	"os"
)

// Must returns the value v. If err is not nil, Must ends the cell with err.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Check ends the cell with err if err is not nil.
func Check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
