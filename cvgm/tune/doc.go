// Package tune tunes a learner on your own data in one call ([Tuner]). It derives bounds of the
// hyperparameters from the data. It descends the cross-validation loss several times along the
// exact gradient of this loss, and fits the model to all data. Nested cross-validation estimates
// the risk of the whole procedure. Tuner.MaxBytes bounds the memory.
package tune
