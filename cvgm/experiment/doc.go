// Package experiment holds the parts that several experiments share. The experiments reproduce the
// paper or test its claims. The experiments of each notebook are in a package below this one:
// elasticnet (01), kernels (02 and 04), samplesize (03), differentiability (05), searches (06),
// splits (07), stability (08), manyhyper (09) and mydata.
//
// Each experiment has a file with three parts: the type Params of its parameters, the defaults of
// the parameters, and a method Run. Run turns Params into a result that consists of numbers.
// Package figures draws and tabulates the results. Package registry lists the experiments, and
// package claims compares the paper's claims with the results.
//
// A [Setup] is the problem of a search: data, splits, CV loss, start and bounds. A sweep of an
// experiment consists of independent cells. The cells run in parallel and can be stored ([Hooks]).
// Each numeric parameter has a range. Run returns an error for a value outside the range.
package experiment
