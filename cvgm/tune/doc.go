// Package tune tunes a learner on your own data in one call ([Tuner]). It derives bounds of the
// hyperparameters from the data. From several starts, it descends along the exact gradient of the
// cross-validation loss. It then fits the model to all data. Nested cross-validation estimates the
// risk of the whole procedure. Tuner.MaxBytes bounds the memory.
package tune
