// Package dense is the linear algebra of the solvers, on raw row-major slices and
// without allocation, and their rule for what rounding makes of a zero.
//
// Learners use Dot, Axpy and the LDLᵀ factor on upper triangles: at the size of their
// normal equations (n ≈ 10) a plain loop is several times faster than a call into a
// general library. QPs use floats.Dot and floats.AddScaled and the Cholesky factor on
// lower triangles: from ten entries on those are twice as fast as a loop in Go, and more
// from fifty on. Kernel ridge regression has hundreds of unknowns and more: its factor,
// inverse and products go by blocks, which read the memory once for hundreds of operations.
package dense
