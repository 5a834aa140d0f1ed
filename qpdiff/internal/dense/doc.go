// Package dense has the linear algebra of the solvers, on raw row-major slices and without
// allocation. It also has the rule by which solvers decide whether a quantity is zero within
// rounding.
//
// Most loops exist twice, with the same bits: in Go, and in assembly for the vector units of amd64.
// vector/main.go generates the assembly. The assembly rounds each product before adding it. It is
// used on processors with AVX, and the Go code on all others.
//
// Learners use the LDLᵀ factor on upper triangles. A system of fewer than sixteen unknowns is
// gathered, factorised and solved in one call. A larger system is handled by blocks of rows. QPs
// use the Cholesky factor on lower triangles. Kernel ridge regression has hundreds of unknowns or
// more. Its factor, inverse and products use blocks, which read the memory once for hundreds of
// operations. The Gram matrix of many rows uses tiles of two by eight entries.
package dense
