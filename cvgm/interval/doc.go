// Package interval makes prediction intervals for the labels of new rows, from the models of
// cross-validation and their errors on the rows that they were not trained on ([CVPlus]).
// package tune makes them of its outer folds with Tuner.Intervals.
//
// The method is CV+ (Barber, Candès, Ramdas and Tibshirani 2021). An interval of level 1 − α holds the
// label of a new row with a probability of 1 − 2α at least, up to a term that vanishes with the size of
// the folds, and of about 1 − α for models that one row changes little, whatever the
// distribution and the learner: the new row must come from the same population, independent of the others. Of rows in
// groups it is a row of a new group (Lee, Barber and Willett 2023). No such claim holds
// for rows that change with time.
//
// Errors count in units of a spread, which is fitted to out-of-fold errors among the rows that the model was
// trained on. It depends on the prediction: where noise grows with the prediction, the intervals do, too.
package interval
