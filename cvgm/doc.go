// Package cvgm makes the cross-validation loss of a convex learning method a differentiable
// function of its hyperparameters, and minimises it. It implements the cross-validation gradient
// method of Barratt and Sharma, "Optimizing for Generalization in Machine Learning with
// Cross-Validation Gradients" (arXiv:1805.07072), Algorithm 1.
//
// The types follow the path of the data. A [Split] divides the examples into training and
// validation rows. [RandomSplits], [KFold], [StratifiedKFold], [GroupedKFold] and [TimeSplits] make
// splits. [New] makes a [CV] from a [Config]. The CV fits a [learn.Learner] to every split, and
// returns the validation loss with its exact gradient with respect to the hyperparameters α. A
// [search.Searcher] minimises this loss over α, one evaluation at a time. With the best α,
// [CV.Final] fits the learner to all data and returns the [Model].
//
// A [Stochastic] draws its splits anew at each evaluation, for searches that tolerate noise.
// [search.Problem.Plus] adds an outer penalty on α. Package table reads data with text, classes or
// missing values. Package tune does all of this in one call.
//
// Results have the same bits for any GOMAXPROCS. Every split has its own storage and warm start,
// and sums run in the order of the splits. New allocates at most Config.MaxBytes (see
// [Config.Bytes]). The default is a quarter of the memory that the process may use.
package cvgm
