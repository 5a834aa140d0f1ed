// Package margin has the linear learners with a hinge loss: the support vector machine, and the
// learned loss. The learned loss combines four surrogate losses, whose weights are among its
// hyperparameters.
package margin
