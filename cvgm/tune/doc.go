// Package tune tunes a learner on data of your own in one call ([Tuner]): bounds of the
// hyperparameters from the data, several descents along the exact gradient of the
// cross-validation loss, the model fitted to all data, and the risk of the whole procedure
// by nested cross-validation. Tuner.MaxBytes bounds the memory.
package tune
