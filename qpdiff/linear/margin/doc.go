// Package margin has the linear learners with a hinge loss: the support vector machine
// and the learned loss, whose weights of four surrogate losses are hyperparameters.
package margin
