// Package assess judges predictions and losses on rows that were left out of the training. There
// are three kinds of results: familiar metrics ([Regress], [Classify]), intervals of the risk
// ([Rows.Risk]), and comparisons of models on the same rows ([Rows.Compare]). The package needs
// only labels, predictions and losses, so it judges any learner.
//
// The table compares rules for the intervals on 324 generated data sets. The sets are from nine
// populations and have 50 to 200 rows. Six learners were fitted, with three repeats of five outer
// folds. The column "holds" is the share of 95 % intervals that contain the final model's risk on
// 20,000 fresh rows. The column "width" is the mean width, in units of a constant prediction's
// risk.
//
//	rule                                                      holds   width
//	mean ± 1.96 standard errors, one repeat                   .846    .374
//	corrected resampled t (Nadeau and Bengio 2003)            .864    .448
//	nested CV (Bates, Hastie and Tibshirani 2024), with the
//	inner folds' CV loss                                      .904    .465
//	standard error over the rows or folds, times a factor     .951    .492
//	bootstrap of the search's path (BBC-CV, [Rows.Selected])  .951    .487
//	conservative z (Nadeau and Bengio 2003)                   .985   1.291
//
// BBC-CV needs no outer folds. But it judges only the winner of the search, and not the models with
// which the winner is compared. [Rows.Compare] multiplies the standard error by the factor √(1.7 +
// .2/repeats). Each set has one interval for the comparison with the constant prediction, and one
// for the comparison with the defaults. For a share of .963 of the sets, both intervals contain the
// true difference.
//
// The interval of a single risk needs a smaller factor. The next table is from 1600 other sets of
// the same populations, with the tuner's default numbers of repeats. Widths are in units of the
// width of a simple interval: the mean ± 1.96 standard errors of one repeat. The simple interval
// contains the risk on .862 of the sets. Each rule except the last uses two variances: the variance
// over the rows, and the average of this variance with the variance over the folds. It uses the
// larger of the two. In the average, the weight of the variance over the rows is a number of
// degrees of freedom. With the weight 0, the average is the variance over the folds.
//
//	factor, weight of the variance over the rows              holds   width
//	√(1.7 + .2/repeats), 0                                    .951    1.41
//	√(.9 + .2/repeats), 0                                     .909    1.21
//	√(1.15 + .2/repeats), 5                                   .921    1.20
//	√(1.6 + .2/repeats), 5: the rule of [Rows.Risk]           .945    1.35
//	√(1.7 + .2/repeats), without the variance over the folds  .947    1.35
//
// More than a hundred other rules were tried. Some use another scale than the root of the risk, or
// other weights. Some shift the interval, by the skewness of the losses (Johnson 1978) or towards
// the CV loss. At the width 1.20, their intervals contain the risk on at most .931 of the sets. For
// the rule of [Rows.Risk], this share was also computed for each population and for each learner.
// It is .826 for the population whose noise grows exponentially with a feature, and .919 or more
// for each of the others and for each learner.
package assess
