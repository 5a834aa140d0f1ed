// Package assess judges predictions and losses made out of fold: by familiar metrics ([Regress],
// [Classify]), by intervals of the risk ([Rows.Risk]), and by comparisons of models on the same
// rows ([Rows.Compare]). It needs only labels, predictions and losses, of any learner.
//
// The rule of the intervals is the narrowest one among those that cover. It was tried on 324
// generated data sets (nine populations, six learners, 50 to 200 rows), with three repeats of five
// outer folds. The table shows how often 95 % intervals contain the final model's risk on 20,000
// fresh rows. Widths are means, in units of a constant prediction's risk.
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
// BBC-CV needs no outer folds. But it judges only the winner, and not the models with which the
// winner is compared. The factor is √(1.7 + .2/repeats). With it the two comparisons, with the
// constant prediction and with the defaults, hold jointly on .963 of these sets.
package assess
