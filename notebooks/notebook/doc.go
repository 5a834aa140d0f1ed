// Package notebook holds the functions that the GoNB notebooks call: to compute
// results or take them from the store, and to show and save tables and figures.
//
// GoNB compiles a cell with all earlier declarations and runs it as a process
// of its own. Declarations live on, values do not: a cell computes again the
// values of earlier cells that it uses.
package notebook
