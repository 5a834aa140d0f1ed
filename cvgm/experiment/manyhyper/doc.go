// Package manyhyper holds the experiments of notebook 09_many_hyperparameters. [LeversParams]
// compares several kinds of hyperparameters, with numbers from one for all features to one for each
// feature. [AdditiveParams] compares additive models with other models. [GradientMapParams] maps
// the problems in which the gradient of the CV loss helps, and in which many hyperparameters help.
package manyhyper
