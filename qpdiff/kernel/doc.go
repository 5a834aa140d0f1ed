// Package kernel has kernels, and learners that predict by them: the kernel support vector machine
// ([SVM]) and kernel ridge regression ([Ridge]).
package kernel
