// Package check checks arguments and the state of solvers. It defines the errors of these checks,
// which qpdiff exports.
package check
