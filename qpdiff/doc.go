// Package qpdiff solves convex programs. It differentiates their solutions exactly, by the implicit
// function theorem at the optimality (KKT) conditions.
//
// A [Solution] solves any convex quadratic program ([QP]), with rows of one and of two sides,
// bounds and equalities, to rounding error. It reports how the solve ended, and proves that a
// program has no solution. It differentiates the primal and the dual solution in all data.
// Derivatives do not change the solution: any number of them may run at the same time, each with
// its own [Workspace].
//
// The method is a dual active-set method, chosen for exact zeros, warm starts and speed at the
// sizes of learning problems; [QP] describes it. [SolveBatch] and [VJPBatch] distribute a batch
// over the cores. [ConvexProgram] differentiates a solution of any smooth convex program by the
// same rule.
//
// The packages below hold learning problems. Package learn defines a learner. Its Load takes a data
// set and its Fit fits it at given hyperparameters. Then it returns vector-Jacobian products (VJP)
// in the hyperparameters, the features X and the labels y. The learners are in linear (elastic net,
// Huber and logistic regression), linear/margin (support vector machines, learned losses), kernel
// (kernel SVM, kernel ridge regression) and smooth (an objective of your own). Package learntest
// tests a learner or a kernel of your own.
//
// Matrices are *mat.Dense and vectors []float64. The package draws no random numbers and reads
// no clock. Only [ForEach] starts goroutines.
//
// # Errors
//
// A destination of the wrong length is a bug of the caller and panics, with a message that begins
// with "qpdiff: ". So does a copy of a learner, a [Solution] or a [Workspace] that was in use.
// Everything that depends on data is an error instead. Errors match the Err… values of this package
// with errors.Is, and [ArgError] and [NotDifferentiableError] with errors.As. The matrices of a
// [QP] belong to the caller, and its solution takes a small multiple of their memory. The matrices
// of learners may be far larger than the data, so learners count them first and may return
// [ErrTooLarge].
package qpdiff
