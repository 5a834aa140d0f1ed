// Package notebooks is what the GoNB notebooks of this folder call: they show
// and save their tables and figures through it.
//
// GoNB compiles a cell with all earlier declarations and runs it as a process
// of its own. Declarations live on, values do not: what a cell needs of an
// earlier one it computes again.
package notebooks
