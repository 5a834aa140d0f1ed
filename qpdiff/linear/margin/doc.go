// Package margin has the linear learners with a hinge loss: the support vector machine, and the
// learned loss. The hyperparameters of the learned loss include the weights of four surrogate
// losses.
package margin
