// Package kernel has kernels and two learners that predict with them: the kernel support vector
// machine ([SVM]) and kernel ridge regression ([Ridge]).
package kernel
