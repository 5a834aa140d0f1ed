// Package manyhyper holds the experiments of notebook 09_many_hyperparameters. [LeversParams]
// compares hyperparameters of several kinds, from one in all to one for each feature.
// [AdditiveParams] compares additive models with others. [GradientMapParams] maps where the
// gradient of the CV loss, and many hyperparameters, help.
package manyhyper
