// Package portable holds the code that turns texts into predictions. Pipelines run this code. A Go
// file that a pipeline writes contains the declarations that the file needs. The package therefore
// imports only the standard library. Its results have the same bits on every processor: each
// product is converted to float64, and so rounded, before it is added. The package has its own exp,
// because math.Exp differs between processors.
package portable

import "embed"

// Source holds the files of this package from which a written Go file may copy declarations.
//
//go:embed number.go date.go column.go spline.go gaussian.go exp.go kernel.go probability.go ends.go model.go
var Source embed.FS
