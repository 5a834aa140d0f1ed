// Package portable holds the code that makes predictions of texts. Pipelines run it, and the Go
// files that they write carry its source. So it imports the standard library alone, and its
// results have the same bits on every processor: each product is rounded before each sum, by a
// conversion to float64, and exp is its own, since that of package math differs between
// processors.
package portable

import "embed"

// Source holds the files of this package that a written Go file carries.
//
//go:embed number.go date.go column.go spline.go exp.go kernel.go probability.go ends.go model.go
var Source embed.FS
