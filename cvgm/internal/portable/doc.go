// Package portable holds the code that makes predictions of texts. Pipelines run it, and the Go
// files that they write carry the declarations of it that they need. So it imports the standard
// library alone, and its results have the same bits on every processor: each product is rounded
// before each sum, by a conversion to float64, and exp is its own, because math.Exp differs
// between processors.
package portable

import "embed"

// Source holds the files of this package that a written Go file may carry.
//
//go:embed number.go date.go column.go spline.go exp.go kernel.go probability.go ends.go model.go
var Source embed.FS
