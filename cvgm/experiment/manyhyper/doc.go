// Package manyhyper holds the experiments of notebook 09_many_hyperparameters. [LeversParams]
// varies the number of hyperparameters of several kinds, from one for all features to one for each
// feature. [AdditiveParams] compares additive models with other models. [GradientMapParams] maps
// two kinds of problems: problems in which the gradient of the CV loss helps, and problems in which
// many hyperparameters help.
package manyhyper
