// Package dense has the linear algebra of the solvers, on raw row-major slices and without
// allocation. It also has the common rule by which all solvers decide whether a slack or a
// multiplier is zero within rounding.
//
// Most loops exist twice, in Go and in assembly, and both give the same bits. The program in
// vector generates the assembly for the vector units of amd64. It rounds each product before
// adding it. Processors with AVX use the assembly, and all others use the Go code.
//
// Learners use the LDLᵀ factor, which is stored in upper triangles. A system of fewer than sixteen
// unknowns is factorised in one call. A larger system is factorised by blocks of rows. QPs use the
// Cholesky factor, which is stored in lower triangles. Kernel ridge regression has systems of
// hundreds of unknowns or more. Their factors, inverses and products are computed by blocks: an
// entry of a block is read from memory once for hundreds of operations. The Gram matrix of many
// rows uses tiles of two by eight entries.
package dense
