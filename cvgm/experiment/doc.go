// Package experiment runs the experiments of the paper: one file per table or
// figure, each with its Params, the paper's own values of them, and a Run that
// turns Params into a Result. Results hold numbers only; package figures draws
// and tabulates them.
//
// Beside each measured number stands what the paper says and what the output
// saved in its published code says ([Quoted]). These quotations are the only
// results here that are not computed.
package experiment
