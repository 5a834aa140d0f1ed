// Package qpdiff solves convex programs and differentiates their solutions. Derivatives are exact,
// by the implicit function theorem at the optimality (KKT) conditions.
//
// A [Solution] solves any convex quadratic program ([QP]) to rounding error. The rows of a program
// may have one side or two, and there may be bounds and equalities. The Status of a Solution gives
// the way in which the solve ended. If the program has no solution, the Certificate proves this. A
// Solution differentiates z and the multipliers with respect to all data of the program.
// Derivatives do not change the solution: any number of them may run at the same time, each with
// its own [Workspace].
//
// The method is a dual active-set method, chosen for exact zeros, warm starts and speed at the
// sizes of learning problems; [QP] describes it. [SolveBatch] and [VJPBatch] distribute a batch
// over the cores. [ConvexProgram] uses the same theorem to differentiate a solution of any smooth
// convex program.
//
// Learning problems are in the packages below qpdiff. Package learn defines the interface of
// learners. The method Load of a learner takes a data set. Fit fits the learner to the data at
// given hyperparameters. VJP then computes vector-Jacobian products with respect to the
// hyperparameters, the features X and the labels y. The learners are in linear (elastic net, Huber
// and logistic regression), linear/margin (support vector machines, learned losses), kernel (kernel
// SVM, kernel ridge regression) and smooth (an objective of your own). Package learntest tests a
// learner or a kernel of your own.
//
// Matrices are *mat.Dense and vectors []float64. The package draws no random numbers and reads
// no clock. Only [ForEach] starts goroutines.
//
// # Errors
//
// Two bugs of the caller panic, with a message that begins with "qpdiff: ". One is a destination of
// the wrong length. The other is the use of a copy of a learner, a [Solution] or a [Workspace], if
// the original was used before it was copied. Failures that depend on data are returned as errors.
// Use errors.Is to compare an error with the Err… values of this package, and errors.As to find its
// [ArgError] or [NotDifferentiableError].
//
// A [Solution] needs a small multiple of the memory of its QP's matrices, which belong to the
// caller. A learner may need matrices far larger than its data. Therefore each learner counts the
// memory of these matrices before it allocates them, and may return [ErrTooLarge].
package qpdiff
