// Package experiment runs the experiments of the paper and those that test its
// claims. Each has a file with its Params, their defaults, and a Run that turns
// Params into a result of numbers; package figures draws and tabulates them. The
// experiments are registered: [All] lists them, and [Experiment] runs one.
//
// A [Setup] is what a search runs on: data, splits, CV loss, start and bounds.
// Sweeps consist of cells, which are independent, run in parallel and can be kept
// ([WithKeeper]). Every parameter has a range, outside of which Run refuses it.
//
// [Printed] holds the numbers that the paper prints, and those in the output saved
// with its published code, to set beside the measured ones. These are the only numbers
// here that are not computed. [Claims] judges the paper's claims by the results.
package experiment
