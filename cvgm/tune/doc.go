// Package tune tunes a learner on data of your own in one call ([Tuner]). It takes bounds of
// the hyperparameters from the data, descends the cross-validation loss several times along its
// exact gradient, and fits the model to all data. Nested cross-validation estimates the risk of
// the whole procedure. Tuner.MaxBytes bounds the memory.
package tune
