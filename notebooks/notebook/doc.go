// Package notebook holds the functions that the GoNB notebooks call. They compute results or read
// them from the store. They also show and save tables and figures.
//
// GoNB compiles a cell with all earlier declarations, and runs it as a separate process.
// Declarations persist, but values do not. A cell that uses values from earlier cells computes
// these values again.
package notebook
