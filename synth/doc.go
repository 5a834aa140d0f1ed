// Package synth makes the synthetic data sets of the paper, and owns every
// random number generator of the project.
package synth
