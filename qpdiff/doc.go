// Package qpdiff solves convex programs and differentiates their solutions. The derivatives are
// exact: they follow from the implicit function theorem, applied to the optimality (KKT)
// conditions.
//
// A [Solution] solves any convex quadratic program ([QP]) to rounding error. The rows of a program
// may have one side or two, and the program may have bounds and equalities. After a solve, the
// Status of the Solution shows whether the solver found a solution, and if not, why. If the program
// has no solution, the Certificate proves this. A Solution differentiates z and the multipliers
// with respect to all data of the program. Computing derivatives does not change the Solution: any
// number of goroutines may compute derivatives at the same time, each with its own [Workspace].
//
// The method is a dual active-set method, which [QP] describes. It was chosen for exact zeros, warm
// starts and speed at the sizes of learning problems. [SolveBatch] and [VJPBatch] distribute a
// batch over the cores. [ConvexProgram] uses the same theorem to differentiate a given solution of
// any smooth convex program.
//
// Learning problems are in the packages below qpdiff. Package learn defines the interface of
// learners. A learner has three main methods. Load takes a data set. Fit fits the learner to the
// data at given hyperparameters. VJP computes vector-Jacobian products with respect to the
// hyperparameters, the features X and the labels y. The learners are in the packages linear
// (elastic net, Huber and logistic regression), linear/margin (support vector machines, learned
// losses), kernel (kernel SVM, kernel ridge regression) and smooth (an objective of your own).
// Package learntest tests a learner or a kernel of your own.
//
// Matrices are *mat.Dense and vectors []float64. The package draws no random numbers and reads
// no clock. Only [ForEach] starts goroutines.
//
// # Errors
//
// The package panics at two bugs of the caller, with a message that begins with "qpdiff: ". One bug
// is a destination of the wrong length. The other is the use of a copy: a learner, a [Solution] or
// a [Workspace] must not be copied after its first use. Failures that depend on data are returned
// as errors. Use errors.Is to compare an error with the Err… values of this package, and errors.As
// to find its [ArgError] or [NotDifferentiableError].
//
// A [Solution] needs a small multiple of the memory of its QP's matrices, and the caller allocates
// those matrices. A learner, in contrast, may need matrices far larger than its data. Each learner
// therefore counts the memory of these matrices before it allocates them, and may return
// [ErrTooLarge].
package qpdiff
