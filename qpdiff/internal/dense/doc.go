// Package dense is the linear algebra of the solvers, on raw row-major slices and without
// allocation. It also has their rule for zeros that are hidden by rounding.
//
// Most loops exist twice, with the same bits: in Go, and in assembly for the vector units of amd64.
// vector/main.go generates the assembly; it rounds products before it adds them. Processors with
// AVX use the assembly, all others the Go code.
//
// Learners use the LDLᵀ factor on upper triangles. Systems of fewer than sixteen unknowns are
// gathered, factorised and solved in one call each, and larger ones by blocks of rows. QPs use the
// Cholesky factor on lower triangles. Kernel ridge regression has hundreds of unknowns or more. Its
// factor, inverse and products use blocks, which read the memory once for hundreds of operations.
// The Gram matrix of many rows uses tiles of two by eight entries.
package dense
