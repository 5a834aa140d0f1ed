package tune

import (
	"time"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/interval"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune/assess"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
)

// A Tuner fits a learner to data, with hyperparameters that minimise the CV loss. The zero value is
// ready to use. It tunes a logistic regression with intercept if all labels are ±1, and an elastic
// net otherwise.
//
// Tune draws splits, and standardises the features on the training rows of each split. It derives
// bounds and starts of the hyperparameters from the data. It descends the CV loss in the logarithms
// of the hyperparameters, with the exact gradient (see [search.QuasiNewton]). It also tries exact
// zeros for a penalty that may vanish. Nested cross-validation estimates the risk of the whole
// procedure. Units of features and labels do not change the result. The same Tuner and data give
// the same bits for any Workers, unless MaxTime intervenes.
//
// A kernel with a width for each feature ([kernel.ARD]) is tuned in two stages: first with one
// common width, and then with a width for each feature. The second stage uses splits that fit half
// or two thirds of the rows, because splits that fit more rows over-fit many widths. On these
// splits Tune also adds and removes single features, if there are at most 160. Tune keeps the
// common width unless separate widths lower the loss by more than a price, which grows with their
// number; see [Tuned.Widths].
//
// Several hyperparameters of one Kind ([learn.Hyperparameter]), such as the penalties of many
// groups of features, first have one common factor. Then Tune descends in each of them. With fewer
// than 100 examples for each hyperparameter, Tune compares separate hyperparameters with the common
// factor on four folds that both searches leave out. If separate hyperparameters do not have the
// lower loss there, Tune keeps the common factor and warns.
//
// Fields may be set in any combination. Tune does not change the Tuner, and several goroutines may
// use one Tuner at the same time.
type Tuner struct {
	// Learner is a [learn.Tunable], as all learners of this module are. Tune makes new learners
	// with the same settings. If Learner is nil, the learner depends on the labels, as described
	// above; see also [Tuner.TuneClasses]. If Learner is a [learn.ClassLearner], such as a
	// penalised.Multinomial, the labels are the numbers of the classes, and the result has
	// ClassModels.
	Learner learn.Learner
	// Loss is the validation loss. If Loss is nil, it is the loss of the learner's Convention. If
	// the Convention has no loss, Loss is required.
	Loss cvgm.Loss
	// Hyper describes the learner's hyperparameters in their order. If Hyper is nil, Tune takes the
	// learner's own description for the data. If the learner has no description, for example with
	// your own kernel, Hyper is required.
	Hyper []learn.Hyperparameter
	// Fixed holds hyperparameters constant, by name. An elastic net with "λ1": 0 is a ridge
	// regression, and an elastic net with "λ2": 0 is a lasso. The name "lambda1" is read as "λ1",
	// and so on.
	Fixed map[string]float64

	// Splits are the splits of the CV loss. If Splits is nil, Tune draws folds, as many as the
	// field Folds requires. The first applicable function draws them:
	//   - [cvgm.GroupedKFold] with Groups,
	//   - [cvgm.StratifiedKFold] if all labels are ±1 or numbers of classes,
	//   - [cvgm.KFold].
	//
	// Splits are in the order of time if every split trains on rows before its validation rows, as
	// in [cvgm.TimeSplits]. The nested estimate then keeps this order: the last splits are its
	// outer folds, and the search for an outer fold uses the earlier splits.
	Splits []cvgm.Split
	// Folds is the number of folds. If Folds is zero, there are 10 folds for a table of at most
	// 1000 examples and at most 200,000 numbers, and otherwise 5. Tune reduces the number of folds
	// to the number of examples or groups. With two classes, Tune reduces it to the number of
	// examples of the smaller class. With three or more classes, each class needs two rows.
	Folds int
	// Groups has a number for each example. Examples with the same number stay together in all
	// folds, also in the nested estimate. If Splits is set, Tune checks that the splits keep groups
	// together.
	Groups []int
	// Balanced gives all classes the same total weight in fits, in the CV loss, in the risk and in
	// the model; see [cvgm.BalancedWeights]. The classes are the labels ±1, or the classes of a
	// [learn.ClassLearner]. With Balanced, the data must not have weights.
	Balanced bool
	// If Raw is true, the features are not changed. If Raw is false, each feature is standardised
	// to mean 0 and standard deviation 1 on the training rows of each split, unless the learner's
	// Convention is Raw.
	Raw bool

	// Seed seeds the folds, and the bootstrap samples for Risk.Selected. The folds of the search
	// come from rand.NewPCG(Seed, 0) of math/rand/v2. Nothing else is random.
	Seed uint64
	// Starts is the number of searches. They begin at the points of lowest loss among the first
	// evaluations. The kind of the searches depends on the loss:
	//   - For a smooth loss they are descents. If Starts is zero, there are 3.
	//   - For a loss with kinks ([cvgm.KinkedLoss]) they use no gradients. Each time their steps
	//     are halved, the worse half of the searches stops. If Starts is zero, there are 10.
	//
	// If the table has more than 200,000 numbers, the searches end earlier. A descent ends if five
	// evaluations together lower the CV loss by at most a thousandth. After the descents, a search
	// that uses no gradients begins at the best point. It stops at longer steps than for a smaller
	// table.
	Starts int
	// MaxEvals bounds the number of evaluations of the CV loss in one search. If MaxEvals is zero,
	// the limit is 200, or 400 for a loss with kinks. If there is a width for each feature, this
	// default is 600 higher. If there are instead several hyperparameters of one Kind, it is 400
	// higher. If the limit ends the search before the separate widths or hyperparameters are
	// judged, they keep their common factor.
	MaxEvals int
	// MaxTime is the time limit. The call may exceed MaxTime by the first evaluation, one pass over
	// the data, one evaluation at the best point, and the fit of the model. For a learner that is
	// not a [learn.ContextLearner], a pass over the data is a whole fit. After two evaluations,
	// Tune estimates whether MaxTime is too short. If so, Tune first takes fewer starts, then fewer
	// folds, and finally omits the nested estimate, each with a warning. If MaxTime is zero, there
	// is no limit.
	MaxTime time.Duration
	// OuterFolds is the number of folds of the nested estimate. If OuterFolds is zero, there are 5
	// folds, or fewer if the data, or Splits that are in the order of time, do not allow 5. If
	// OuterFolds is below zero, there is no nested estimate. The outer folds are drawn like the
	// folds of the search: with whole groups, separately in each class, or at random.
	OuterFolds int
	// Repeats is the number of repeats of the nested estimate. Each repeat has different outer
	// folds. If Repeats is zero, Tune makes 1 to 10 repeats, as many as it can make with about
	// 7,000 fits; see [Risk]. There is only one repeat if Splits are in the order of time, or if
	// each example or group is an outer fold.
	Repeats int
	// Intervals makes Tune compute prediction intervals for a numeric target, in Tuned.Intervals.
	// Each outer fold then costs two more fits, two more evaluations of the CV loss, and the memory
	// of a model.
	Intervals bool
	// KeepWinner makes Tuned.Model the search's winner, even if a constant prediction or the
	// defaults are better.
	KeepWinner bool
	// Threshold is the prediction above which an example is classified as +1 in the metrics of two
	// classes; see [assess.Classes]. The usual threshold is 0, both for log odds and for support
	// vector machines. To classify examples as +1 if their probability is above p, set Threshold to
	// the log odds log(p/(1−p)). Threshold does not affect the model, and is not used for three or
	// more classes.
	Threshold float64
	// Workers bounds the number of goroutines that share the splits. If Workers is zero, the bound
	// is GOMAXPROCS.
	Workers int
	// MaxBytes bounds the memory that a search and its nested estimate hold at one time; see
	// [cvgm.Config.Bytes]. If the search needs more memory, Tune returns an error of kind
	// qpdiff.ErrTooLarge before it allocates the memory. If only the nested estimate needs more,
	// Tune omits the nested estimate, with a warning. All other results do not depend on MaxBytes.
	// If MaxBytes is zero, the bound is Data.MaxBytes, or the default that [learn.Data] documents.
	MaxBytes int64
	// Progress, if not nil, is called after each evaluation. It is also called before a search
	// loads its splits, because loads and the first evaluation may take long. The calls are made in
	// the goroutine that calls Tune.
	Progress func(Progress)
}

// Progress describes a [Tuner]'s work so far.
type Progress struct {
	Stage       string  // "loading", "search", or "outer fold 2 of 5"
	Evaluations int     // of the CV loss in all searches so far
	Loss        float64 // the CV loss at the last evaluation; +Inf if the fit failed, NaN while loading
	Best        float64 // the lowest CV loss of this search
	// Elapsed is the time since the call of Tune. Left is the estimated remaining time, or 0 before
	// the second evaluation is done.
	Elapsed, Left time.Duration
}

// A Step is one evaluation of the CV loss.
type Step struct {
	Hyper []float64
	Loss  float64 // +Inf if the fit failed
	// Start is the number of the descent, from 1. It is 0 for points of the first design, and for
	// points at which the search sets hyperparameters to 0.
	Start int
}

// Tuned is the result of [Tuner.Tune].
type Tuned struct {
	// Choice is the kind of Model: the winner of the search, the defaults or a constant prediction.
	// Tune replaces the winner if the defaults or a constant prediction have a lower CV loss. It
	// also replaces the winner if an interval in Risk.Comparisons shows that the defaults or a
	// constant prediction are better. The first warning then gives the reason. With
	// Tuner.KeepWinner, Model is always the winner.
	Choice Choice
	// Model is fitted to all data. It is nil if ctx ended before the fit. It is also nil for a
	// [learn.ClassLearner].
	Model *cvgm.Model
	// Pipeline is the model with the encoder and the classes of the table. Pipeline is nil if there
	// is no table or if Model is nil.
	Pipeline *table.Pipeline
	// ClassModels and ClassPipeline replace Model and Pipeline if the learner is a
	// [learn.ClassLearner]. They have a model for each class: see [cvgm.CV.FinalClasses] and
	// [cvgm.ClassProbabilities]. The documentation of Model applies to ClassModels. For other
	// learners both are nil.
	ClassModels   []*cvgm.Model
	ClassPipeline *table.OneVsRest
	// Hyper holds the hyperparameters of Model. A constant prediction has none: Hyper then holds
	// the hyperparameters of Winner.
	Hyper []float64
	Names []string // of the hyperparameters
	// Loss is the CV loss of Model. For the winner, it is the lowest CV loss that the search found
	// at a point at which the model can be fitted. If the warning CommonFactor is given, only
	// points with common factors count. Loss is optimistic, because the search minimised it on the
	// same splits. The estimates in Risk are not optimistic. Loss is the mean over the splits of
	// their weighted mean losses, so all splits count alike. In Risk, each example counts in
	// proportion to its weight. So Loss and the estimates in Risk may differ much if single
	// examples have large weights.
	Loss float64
	// StandardError is the standard error of Loss, computed from the losses of the N examples; see
	// [cvgm.CV.StandardError].
	StandardError float64
	DefaultHyper  []float64
	DefaultLoss   float64 // the CV loss at DefaultHyper; +Inf if the fit failed
	ConstantLoss  float64 // the CV loss of the best constant prediction on each split's training rows
	TrainLoss     float64 // the mean loss of Model on the data that it is fitted to
	// Residual is the largest residual of the optimality conditions at Hyper, over the fits of all
	// splits; see [cvgm.CV.Residual]. Residual is NaN for a constant prediction, and for a learner
	// that measures no residual.
	Residual float64
	// OutOfFold holds a prediction for each example. It comes from the fits of those splits whose
	// validation rows contain the example; see [cvgm.CV.OutOfFold]. For a [learn.ClassLearner], the
	// prediction is the log odds of the class of the example's label.
	OutOfFold []float64
	// Winner is the model with the lowest CV loss that the search found, even if Choice is not
	// ChoseWinner.
	Winner Candidate
	Splits []cvgm.Split
	// Config describes the minimised CV loss, which cvgm.New(Config) returns. Config.Splits equals
	// Splits.
	Config cvgm.Config
	// Searched holds the hyperparameters with the bounds of the search. For a name in Fixed, Lower
	// equals Upper.
	Searched []learn.Hyperparameter
	Path     []Step // all evaluations of the search on Splits, in their order
	// Evaluations is the number of evaluations of the CV loss in all searches. It includes the
	// evaluations for widths of features, for the nested estimate, and for the comparison of
	// separate hyperparameters with a common factor.
	Evaluations int
	Elapsed     time.Duration
	Risk        *Risk // nil: no estimate
	// Intervals predicts intervals for new rows with the method of [interval.CVPlus]. It uses the
	// models of the outer folds of the first repeat. The search for the hyperparameters of a fold's
	// model did not use the rows of this fold. If Choice is not ChoseWinner, the models are the
	// defaults or constant predictions. Examples of weight 0 are left out. With groups, an interval
	// is valid for an example of a new group, and a group counts as one row. The guarantee does not
	// hold for splits in the order of time. Intervals is nil if Tuner.Intervals is not set, or if a
	// warning reports that the intervals cannot be computed.
	Intervals *interval.CVPlus
	Warnings  []Warning
}

// A Choice is the kind of the model that a [Tuned] holds.
type Choice int

const (
	ChoseWinner   Choice = iota // the model of the lowest CV loss that the search found
	ChoseDefault                // the model of the default hyperparameters
	ChoseConstant               // the best constant prediction for all data
)

// A Candidate is a model that Tune may choose. Its fields have the same meanings as in [Tuned].
type Candidate struct {
	Hyper                                    []float64
	Loss, StandardError, TrainLoss, Residual float64
	OutOfFold                                []float64
	Model                                    *cvgm.Model
	Pipeline                                 *table.Pipeline
	ClassModels                              []*cvgm.Model
	ClassPipeline                            *table.OneVsRest
}

// A Warning is a message for the user of a tuned model.
type Warning struct {
	Kind WarningKind
	Text string // a sentence
}

func (w Warning) String() string { return w.Text }

// WarningKind is the kind of a [Warning].
type WarningKind int

const (
	NoImprovement       WarningKind = iota // the CV loss at the end equals the one at the defaults
	AtBound                                // a hyperparameter ended at a bound
	Overfitting                            // the CV loss is far above the training loss
	OneClass                               // a split validates on one class alone
	ManyHyperparameters                    // more hyperparameters than the data can bear
	NoInformation                          // all labels are equal, or no feature varies
	FewerFolds                             // MaxTime was too short for all folds
	FewerStarts                            // MaxTime was too short for all starts
	NoRisk                                 // MaxTime was too short for the nested estimate, or the data are too few
	OutOfBudget                            // MaxEvals or MaxTime ended the search
	FewerRepeats                           // MaxTime was too short for all repeats of the nested estimate
	// Worse: tuning is worse than a constant prediction or the defaults. Unless KeepWinner is set,
	// Model is then a constant prediction or has the default hyperparameters.
	Worse
	// MaybeWorse: tuning has a higher estimated risk than a constant prediction or the defaults,
	// but the interval of the difference contains 0.
	MaybeWorse
	OtherLoss       // the fit does not minimise the validation loss
	FailedFits      // the learner failed at some hyperparameters
	UncertainColumn // a choice of CSV.Read that the file does not settle: see table.Note
	NoIntervals     // a fit failed that the prediction intervals need
	CommonFactor    // separate hyperparameters of a kind fit noise, so they keep their ratios
	DominantWeight  // one example has much of the total weight
	RandomFolds     // the table has dates, but the folds are not in the order of time
)

const (
	overfit           = 2. // Overfitting: the CV loss is more than this many times the training loss
	bearable          = 10 // ManyHyperparameters: each has fewer examples than this
	leastExamples     = 4
	largeData         = 1000
	smallFolds        = 10
	largeFolds        = 5
	defaultOuterFolds = 5
	defaultStarts     = 3
	defaultEvals      = 200
	kinkedEvals       = 400
	evalsPerStart     = 20   // a typical number, from which the remaining time is estimated
	evalsOfOne        = 13   // the same number if a smooth loss depends on one kind of hyperparameter
	atBoundFactor     = 1.5  // AtBound: the hyperparameter is within this factor of the bound
	boundError        = 1e-9 // a hyperparameter that differs from its bound by a smaller share has only rounding errors of the logarithms
	dominantShare     = .25  // DominantWeight: an example has more than this share; the share is 1/4 at most if all weights are equal
	improvementUnit   = 1e-9
)

// Risk estimates risks by nested cross-validation (Varma and Simon 2006). For each outer fold, Tune
// repeats the whole search on the examples outside the fold, and judges the model of this search on
// the fold. So Risk estimates the risk of tuning on slightly fewer examples than the data have.
// Each repeat draws different outer folds, and the loss of an example is its mean over the repeats.
// The number of repeats depends on the number of fits of the search, but not on any result.
// Repeating until a comparison is decided would double the number of false decisions.
//
// All intervals are computed from the losses of the examples; see [assess.Rows]. Examples of the
// same group count as dependent. With splits in the order of time, examples of the same fold also
// count as dependent.
type Risk struct {
	Folds, Repeats int // of the outer folds
	// Tuned is the risk of tuning. Default is the risk of the default hyperparameters. As in the
	// search, they are derived from the training rows of each outer fold. Default is +Inf if the
	// fit failed on a fold. Constant is the risk of the best constant prediction. Each estimate has
	// a 95 % interval.
	Tuned, Default, Constant Estimate
	// The rival is a simple model. Rival is its risk, and RivalName is its name. The rival is a
	// ridge regression with the best of nine penalties, or a logistic ridge regression for the
	// logistic loss. In three cases, the rival instead predicts a constant for each level of one
	// categorical column: the learner itself is this ridge, it is a [learn.ClassLearner], or the
	// table is large. RivalName is empty if there is no rival. This happens if a fit failed, and in
	// the three cases if no column is categorical.
	Rival     Estimate
	RivalName string
	// Comparisons compares tuning with up to three alternatives: a constant prediction, the
	// defaults and the rival. Each entry is the risk of tuning minus the risk of the alternative,
	// in per cent of the mean of Constant; texts show it with the opposite sign, as
	// [assess.Comparison.Gain]. With a probability of .95, all these intervals hold at the same
	// time. Comparisons is empty if the risk of the constant prediction is 0.
	Comparisons []assess.Comparison
	// Outer holds the outer folds of each repeat. OutOfFold[k][i] is the prediction for example i
	// in repeat k. The prediction comes from the search that did not use the outer fold of this
	// example. It is NaN for an example that is in no outer fold.
	Outer     [][]cvgm.Split
	OutOfFold [][]float64
	// OutOfFoldClasses holds the probability of each class for each example in each repeat, or NaN
	// for an example without a prediction. It is nil unless the learner is a [learn.ClassLearner].
	// For a ClassLearner, OutOfFold holds for each example the log odds of its own class.
	OutOfFoldClasses [][][]float64
	// Selected is the risk of the procedure that selects the best of three choices: tuning, the
	// defaults and the constant prediction. Selected is higher than the lowest mean loss of the
	// three, because this mean is too low after the selection; see [assess.Rows.Selected]. If
	// Choice is not ChoseWinner, Selected is the risk estimate for Tuned.Model.
	Selected Estimate
	// At most one of the fields Regression, Classes and Multiclass is set. Regression holds the
	// metrics of OutOfFold if the target is a number. Classes holds them if all labels are ±1.
	// Multiclass holds the metrics of the predicted probabilities if the learner is a
	// [learn.ClassLearner]. Metrics use the weights of the data, without the weights from Balanced.
	// Metrics of probabilities require a learner whose predictions are log odds.
	Regression *assess.Regression
	Classes    *assess.Classes
	Multiclass *assess.Multiclass
}

// An Estimate is a mean with its 95 % confidence interval.
type Estimate = assess.Estimate

// check reports fields of t that cannot be used.
func (t Tuner) check(d learn.Data) error {
	n := len(d.Y)
	if err := args.First(
		args.BadIf(d.Rows != nil, "Data", qpdiff.ErrDomain, "select rows of X and Y instead", "has Rows, which Tune does not use"),
		args.BadIf(n < leastExamples, "Data", qpdiff.ErrShape, "give more", "has %d examples, and tuning needs %d at least", n, leastExamples),
		args.BadIf(t.Folds < 0 || t.Folds == 1 || t.Folds > n, "Tuner.Folds", qpdiff.ErrDomain, "use 2 to N, or zero for the default", "is %d for N = %d examples", t.Folds, n),
		args.BadIf(t.OuterFolds == 1 || t.OuterFolds > n, "Tuner.OuterFolds", qpdiff.ErrDomain, "use 2 to N, zero for the default, or -1 for none", "is %d for N = %d examples", t.OuterFolds, n),
		args.BadIf(t.Repeats < 0, "Tuner.Repeats", qpdiff.ErrDomain, "use a positive number, or zero for the default", "is %d", t.Repeats),
		args.BadIf(t.Starts < 0, "Tuner.Starts", qpdiff.ErrDomain, "use a positive number, or zero for the default", "is %d", t.Starts),
		args.BadIf(t.MaxEvals < 0, "Tuner.MaxEvals", qpdiff.ErrDomain, "use a positive number, or zero for the default", "is %d", t.MaxEvals),
		args.BadIf(t.MaxTime < 0, "Tuner.MaxTime", qpdiff.ErrDomain, "use a positive time, or zero for no bound", "is %v", t.MaxTime),
		args.BadIf(t.MaxBytes < 0, "Tuner.MaxBytes", qpdiff.ErrDomain, "use a positive number, or zero for the default", "is %d", t.MaxBytes),
		args.BadIf(!args.Finite(t.Threshold), "Tuner.Threshold", qpdiff.ErrNotFinite, "use a number, or zero for the default", "is %v", t.Threshold),
		args.BadIf(t.Groups != nil && len(t.Groups) != n, "Tuner.Groups", qpdiff.ErrShape, "give one number per example", "has %d entries for N = %d examples", len(t.Groups), n),
		args.BadIf(t.Intervals && t.OuterFolds < 0, "Tuner.Intervals", qpdiff.ErrDomain, "use OuterFolds 0 or 2 to N", "is set without outer folds"),
		args.BadIf(t.Splits != nil && t.Folds != 0, "Tuner.Folds", qpdiff.ErrDomain, "set one of them", "is set together with Splits"),
	); err != nil {
		return err
	}
	if t.Splits == nil {
		return nil
	}
	if t.Groups != nil {
		return cvgm.CheckGroups(t.Splits, t.Groups)
	}
	return cvgm.CheckGroups(t.Splits, sample.Complement(nil, n)) // each example a group of its own
}

// hasModel reports whether t has a model.
func (t *Tuned) hasModel() bool { return t.Model != nil || t.ClassModels != nil }

// Metrics describes Regression, Classes or Multiclass in one line. It returns "" if all are nil.
func (r *Risk) Metrics() string {
	switch {
	case r.Regression != nil:
		return r.Regression.String()
	case r.Classes != nil:
		return r.Classes.String()
	case r.Multiclass != nil:
		return r.Multiclass.String()
	}
	return ""
}
