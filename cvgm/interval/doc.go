// Package interval makes prediction intervals for the labels of new rows, from the models of
// cross-validation and their errors on the rows that they were not trained on ([CVPlus]).
// package tune makes them of its outer folds with Tuner.Intervals.
//
// The method is CV+ (Barber, Candès, Ramdas and Tibshirani 2021). An interval of level 1 − α holds the
// label of a new row with a probability of at least 1 − 2α, up to a term that vanishes with the size of
// the folds. If one row changes a model little, the probability is about 1 − α. Both hold for every
// distribution and learner, if the new row comes from the same population and is independent of the
// others. If rows are in groups, the new row belongs to a new group (Lee, Barber and Willett 2023).
// Rows that change with time have no such guarantee.
//
// Errors count in units of a spread, which is fitted to out-of-fold errors among the rows that the model was
// trained on. It depends on the prediction: where noise grows with the prediction, the intervals do, too.
package interval
