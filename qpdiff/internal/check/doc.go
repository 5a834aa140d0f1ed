// Package check holds what arguments and the state of solvers are checked by, and the
// errors of that, which qpdiff exports.
package check
