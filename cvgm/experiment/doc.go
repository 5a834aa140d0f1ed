// Package experiment holds the parts that the experiments share. Experiments reproduce the paper or
// test its claims. There is a package below it for each notebook: elasticnet (01), kernels (02 and
// 04), samplesize (03), differentiability (05), searches (06), splits (07), stability (08),
// manyhyper (09) and mydata.
//
// Each experiment has a file with its Params, their defaults, and a Run that turns Params into a
// result of numbers. Package figures draws and tabulates the results. Package registry lists the
// experiments, and package claims judges the paper's claims by their results.
//
// A [Setup] is the problem of a search: data, splits, CV loss, start and bounds. A sweep consists
// of independent cells, which run in parallel and can be kept ([WithKeeper]). Every parameter has a
// range; Run returns an error for a value outside it.
package experiment
