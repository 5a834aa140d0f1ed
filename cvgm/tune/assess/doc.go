// Package assess judges predictions and losses that were made out of fold: by metrics that people
// know ([Regress], [Classify]), by intervals of the risk ([Rows.Risk]) and by comparisons of models
// on the same rows ([Rows.Compare]). It reads labels, predictions and losses alone, of any
// learner.
//
// The rule of the intervals is the narrowest of those that cover. On 324 generated data sets (nine
// populations, six learners, 50 to 200 rows) 95 % intervals from three repeats of five outer
// folds hold the final model's risk on 20,000 fresh rows as often as the table has it. Widths are
// means, in units of a constant prediction's risk.
//
//	rule                                                      holds   width
//	mean ± 1.96 standard errors, one repeat                   .846    .374
//	corrected resampled t (Nadeau and Bengio 2003)            .864    .448
//	nested CV (Bates, Hastie and Tibshirani 2024), with the
//	inner folds' CV loss                                      .904    .465
//	this one: standard error over the rows, times a factor    .951    .492
//	bootstrap of the search's path (BBC-CV, [Rows.Selected])  .951    .487
//	conservative z (Nadeau and Bengio 2003)                   .985   1.291
//
// BBC-CV needs no outer folds, but judges the winner alone, and not the models that it is compared
// with. The factor is √(1.7 + .2/repeats). The two comparisons with the constant prediction and
// with the defaults then hold together on .963 of these sets.
package assess
