// Package experiment holds one file per table or figure of the paper: its
// Params, the paper's own Params, and a Run that turns Params into a Result.
package experiment
