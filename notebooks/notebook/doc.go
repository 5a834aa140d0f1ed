// Package notebook holds the functions that the GoNB notebooks call. Some functions compute results
// or read them from the store. Others show and save tables and figures.
//
// GoNB compiles each cell together with all earlier declarations, and runs it as a separate
// process. Declarations therefore persist from cell to cell, but values do not. A cell that uses
// values of an earlier cell computes them again.
package notebook
