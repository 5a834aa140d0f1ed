// Package notebook holds the functions that the GoNB notebooks call: to compute results or read
// them from the store, and to show and save tables and figures.
//
// GoNB compiles a cell with all earlier declarations and runs it as a separate process.
// Declarations persist, but values do not: a cell that uses the values of earlier cells computes
// them again.
package notebook
