// Package interval makes prediction intervals for the labels of new rows ([CVPlus]). It uses the
// models of cross-validation, and the errors of each model on rows on which the model was not
// trained. With Tuner.Intervals, package tune makes the intervals from its outer folds.
//
// The method is CV+ (Barber, Candès, Ramdas and Tibshirani 2021). The probability that an interval
// of level 1 − α contains the label of a new row is at least 1 − 2α − ε. The term ε vanishes as the
// folds grow. If no single row changes a model much, the probability is about 1 − α. Both
// statements hold for every distribution and every learner. They require that the new row comes
// from the same population and is independent of the other rows. If rows are in groups, the new row
// must belong to a new group (Lee, Barber and Willett 2023). If the population changes with time,
// the method has no such guarantee.
//
// Errors are measured in units of a spread. The spread is the expected size of an error, and it
// depends on the prediction. If noise grows with the prediction, the intervals therefore widen with
// the prediction. For each model, the spread is fitted to out-of-fold errors on the training rows
// of the model.
package interval
