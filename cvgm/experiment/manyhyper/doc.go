// Package manyhyper holds the experiments of notebook 09_many_hyperparameters: hyperparameters of
// several kinds, from one to one for each feature ([LeversParams]), additive models beside others
// ([AdditiveParams]), and a map of when the gradient of the CV loss and many hyperparameters help
// ([GradientMapParams]).
package manyhyper
