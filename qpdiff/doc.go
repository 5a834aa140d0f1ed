// Package qpdiff solves the convex optimisation problem behind one fit of a
// learning method and differentiates its solution, exactly, by the implicit
// function theorem at the optimality (KKT) conditions.
//
// Two kinds of solvers live here. Learners (ElasticNet, …) each
// hold one learning problem and the workspace for it: Load a data set, Fit it
// at given hyperparameters, then ask for vector-Jacobian products (VJP) with
// respect to the hyperparameters, the features X and the labels y.
//
// Matrices cross the border as *mat.Dense and vectors as []float64. Nothing
// here draws random numbers, reads clocks or starts goroutines.
//
// # Errors
//
// A destination of the wrong length is the caller's bug and panics with a
// message that begins with "qpdiff: ". All that depends on data comes back as
// an error that can be matched with errors.Is against the Err… values of this
// package, and with errors.As against [ArgError] and [NotDifferentiableError].
package qpdiff
