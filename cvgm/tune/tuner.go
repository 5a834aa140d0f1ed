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

// A Tuner fits a learner to data, with hyperparameters that minimise the CV loss. The zero
// value is a good start: it tunes a logistic regression with intercept if all labels are ±1,
// and an elastic net otherwise.
//
// Tune draws splits, and standardises the features on the training rows of each split. It takes
// bounds and starts of the hyperparameters from the data. It descends the CV loss in their
// logarithms by its exact gradient (see [search.QuasiNewton]), and tries exact zeros for a penalty
// that may vanish. Nested cross-validation estimates the risk of the whole procedure. Units of
// features and labels do not change the result. The same Tuner and data give the same bits for any
// Workers, unless MaxTime intervenes.
//
// A kernel with a width for each feature ([kernel.ARD]) is tuned in two stages: first with one
// width for all, and then with all widths. The second stage uses splits that fit half or two thirds
// of the rows, because other splits over-fit many widths. One width is kept unless the other widths
// save more of the loss than their number costs; see [Tuned.Widths].
//
// Fields may be set in any combination. Tune does not change the Tuner, and several goroutines may
// use one Tuner at the same time.
type Tuner struct {
	// Learner is a [learn.Tunable], as all learners of this module are. Tune makes new learners
	// with its settings. Nil: see above, and [Tuner.TuneClasses]. For a [learn.ClassLearner], such as
	// a penalised.Multinomial, the labels are the numbers of the classes, and the result has
	// ClassModels.
	Learner learn.Learner
	// Loss is the validation loss. Nil: the loss of the learner's Convention. A learner without one
	// requires Loss.
	Loss cvgm.Loss
	// Hyper describes the learner's hyperparameters in their order. Nil: the learner's own
	// description for the data. If it has none, for example with a kernel of your own, Hyper is
	// required.
	Hyper []learn.Hyperparameter
	// Fixed holds hyperparameters constant, by name: "λ1": 0 makes an elastic net a ridge
	// regression, and "λ2": 0 a lasso. "lambda1" is read as "λ1", and so on.
	Fixed map[string]float64

	// Splits are the splits of the CV loss. Nil: Folds folds, drawn by the first applicable
	// function: [cvgm.GroupedKFold] with Groups, [cvgm.StratifiedKFold] if all labels are ±1 or
	// numbers of classes, and [cvgm.KFold]. If every split trains on rows before its validation rows, as in
	// [cvgm.TimeSplits], the nested estimate keeps that order. Its outer folds are the last of the
	// splits, and their searches use the earlier ones.
	Splits []cvgm.Split
	// Folds is the number of folds. Zero: 10 up to 1000 examples and 200,000 numbers in the table,
	// and 5 beyond. It is never larger than the number of examples, groups, or examples of the
	// smaller one of two classes. Each of several classes needs two rows.
	Folds int
	// Groups has a number for each example. Examples with the same number stay together in all
	// folds, also in the nested estimate. With Splits, Tune checks that they do.
	Groups []int
	// Balanced gives both classes of labels ±1, or all classes of a [learn.ClassLearner], the same
	// total weight, in fits, CV loss, risk and model; see [cvgm.BalancedWeights]. The data must then have no weights.
	Balanced bool
	// Raw leaves the features unchanged. False: the training rows of each split give each feature
	// mean 0 and standard deviation 1, unless the learner's Convention is Raw.
	Raw bool

	// Seed seeds the random numbers of the folds. They come from math/rand/v2's PCG with Seed and 0
	// as its state. Nothing else is random.
	Seed uint64
	// Starts is the number of descents. They begin at the best of the first evaluations. Zero: 3.
	// For a loss with kinks ([cvgm.KinkedLoss]), so many searches without gradients begin there.
	// Their worse half stops each time that their steps are halved. Zero: 10.
	Starts int
	// MaxEvals bounds the evaluations of the CV loss in one search. Zero: 200, 400 for a loss with
	// kinks, and 300 more with a width for each feature.
	MaxEvals int
	// MaxTime is the time limit. The call may exceed it by the first evaluation, a pass over the
	// data (a fit, for a learner that is not a [learn.ContextLearner]), one evaluation at the best
	// point and the fit of the model. If two evaluations show that the time will not suffice, Tune
	// first takes fewer starts, then fewer folds, and then omits the nested estimate, with
	// warnings. Zero: no limit.
	MaxTime time.Duration
	// OuterFolds is the number of folds of the nested estimate. Zero: 5, or fewer if the data or
	// Splits in the order of time require it. Below zero: no estimate. The outer folds are drawn
	// like the folds of the search: by groups, by class, or at random.
	OuterFolds int
	// Repeats is the number of repeats of the nested estimate, each with other outer folds. Zero:
	// up to 10, at least one, and otherwise as many as some 7,000 fits allow; see [Risk]. There is
	// only one if Splits are in the order of time, or if each example or group is an outer fold.
	Repeats int
	// Intervals makes Tune compute prediction intervals, Tuned.Intervals, for a numeric target.
	// They take two more fits of each outer fold's rows, two more evaluations of its CV loss, and
	// the memory of a model for each outer fold.
	Intervals bool
	// KeepWinner makes Tuned.Model the search's winner, even if a constant prediction or the
	// defaults are better.
	KeepWinner bool
	// Threshold is the prediction above which an example is called +1 in the metrics of classes:
	// see [assess.Classes]. It does not affect the model, and several classes do not use it. Zero is usual for log odds and for
	// support vector machines; the log odds of a probability p are log(p/(1−p)).
	Threshold float64
	// Workers bounds the goroutines that share the splits. Zero: GOMAXPROCS.
	Workers int
	// MaxBytes bounds the memory that a search and its nested estimate hold at a time, with all
	// their CVs: see [cvgm.Config.Bytes]. If they need more, Tune returns an error of kind
	// qpdiff.ErrTooLarge before the allocation. If only the nested estimate needs more, it is
	// omitted, with a warning. The result does not depend on MaxBytes. Zero: Data.MaxBytes, or the
	// default that [learn.Data] documents.
	MaxBytes int64
	// Progress is called from the goroutine that calls Tune: after each evaluation, and before the
	// splits of a search in a large table are loaded. Nil: no calls.
	Progress func(Progress)
}

// Progress describes a [Tuner]'s work so far.
type Progress struct {
	Stage       string  // "loading", "search", or "outer fold 2 of 5"
	Evaluations int     // of the CV loss in all searches so far
	Loss        float64 // the CV loss at the last evaluation; +Inf if the fit failed, NaN while loading
	Best        float64 // the lowest one of this search
	// Elapsed is the time since the call of Tune. Left is the estimated remaining time, 0 before
	// two evaluations.
	Elapsed, Left time.Duration
}

// A Step is one evaluation of the CV loss.
type Step struct {
	Hyper []float64
	Loss  float64 // +Inf if the fit failed
	Start int     // the number of the descent, from 1; 0 outside descents: points of the first design, and tries of zeros
}

// Tuned is the result of [Tuner.Tune].
type Tuned struct {
	// Choice states which model Model is. It is the search's winner, unless a constant prediction
	// or the defaults are better: their CV loss is lower, or the whole interval of a comparison of
	// Risk is in their favour. The first warning then explains it. Tuner.KeepWinner keeps the
	// winner.
	Choice Choice
	Model  *cvgm.Model // fitted to all data; nil if ctx ended before, and for a learn.ClassLearner
	// Pipeline is the model with the encoder and the classes of the table. It is nil without a
	// table, and if Model is nil.
	Pipeline *table.Pipeline
	// ClassModels and ClassPipeline are Model and Pipeline of a [learn.ClassLearner], with a model
	// for each class: see [cvgm.CV.FinalClasses] and [cvgm.ClassProbabilities]. All statements about
	// Model apply to them. For other learners they are nil.
	ClassModels   []*cvgm.Model
	ClassPipeline *table.OneVsRest
	Hyper         []float64 // of Model, or of Winner if Model is a constant prediction, which has none
	Names         []string  // of the hyperparameters
	// Loss is the CV loss of Model. The winner's is the lowest one found at which the model can be
	// fitted. It is optimistic, because it was minimised over the same splits. The estimates of
	// Risk are not.
	Loss float64
	// StandardError is the standard error of Loss over the losses of the N examples; see
	// [cvgm.CV.StandardError].
	StandardError float64
	DefaultHyper  []float64
	DefaultLoss   float64 // the CV loss at DefaultHyper; +Inf if the fit failed
	ConstantLoss  float64 // the CV loss of the best constant prediction on each split's training rows
	TrainLoss     float64 // the mean loss of Model on the data that it is fitted to
	// Residual is the largest residual of the optimality conditions of the splits' fits at Hyper;
	// see [cvgm.CV.Residual]. It is NaN if the learner measures none, and for a constant
	// prediction.
	Residual float64
	// OutOfFold holds the predictions for each example by the splits that validate on it, for a
	// [learn.ClassLearner] the log odds of its own class; see [cvgm.CV.OutOfFold].
	OutOfFold []float64
	// Winner is the model with the lowest CV loss that the search found, whatever Choice is.
	Winner Candidate
	Splits []cvgm.Split
	// Config describes the CV loss that was minimised: New(Config) returns it, on Splits and in the
	// hyperparameters Searched.
	Config   cvgm.Config
	Searched []learn.Hyperparameter // as they were searched for, with their bounds; Lower = Upper if in Fixed
	Path     []Step                 // all evaluations of the search on Splits, in their order
	// Evaluations includes the evaluations for widths of features, and for the nested estimate.
	Evaluations int
	Elapsed     time.Duration
	Risk        *Risk // nil: no estimate
	// Intervals predicts intervals for new rows by the method of [interval.CVPlus]. It uses the
	// models of the first repeat of the outer folds. Each has the hyperparameters of a search that
	// did not see its fold. If Choice is not ChoseWinner, the models are the defaults or constant
	// predictions. Examples of weight 0 are left out. With groups, an interval is for an example of
	// a new group, and a group counts as one row. The guarantee does not hold for splits in the
	// order of time. Intervals is nil unless Tuner.Intervals is set, and after a warning that they
	// cannot be computed.
	Intervals *interval.CVPlus
	Warnings  []Warning
}

// A Choice is what the model of a [Tuned] is.
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

// A Warning is something that a user of a tuned model should know.
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
	Worse                                  // than a constant prediction or the defaults, which Model is unless KeepWinner is set
	MaybeWorse                             // than a constant prediction or the defaults, by the estimate without its interval
	OtherLoss                              // the fit does not minimise the validation loss
	FailedFits                             // the learner failed at some hyperparameters
	UncertainColumn                        // a choice of CSV.Read that the file does not settle: see table.Note
	NoIntervals                            // a fit failed that the prediction intervals need
)

const (
	overfit           = 2. // Overfitting: the CV loss is more than this many times the training loss
	bearable          = 10 // ManyHyperparameters: fewer examples than this for each
	leastExamples     = 4
	largeData         = 1000
	smallFolds        = 10
	largeFolds        = 5
	defaultOuterFolds = 5
	defaultStarts     = 3
	defaultEvals      = 200
	kinkedEvals       = 400
	evalsPerStart     = 20  // as many are typical; by it the time left is estimated
	atBoundFactor     = 1.5 // AtBound: within this factor of it
	improvementUnit   = 1e-9
)

// Risk estimates risks by nested cross-validation (Varma and Simon 2006). For each outer fold the
// whole search is repeated on the other examples. Its model is judged on the fold, which the search
// has not seen. So Risk estimates the risk of tuning on somewhat fewer examples. Each repeat draws
// other folds; the loss of an example is the mean over the repeats. The number of repeats depends
// on the fits of the search, not on any result. Repeating until something is decided would double
// the false decisions.
//
// All intervals are based on the losses of the examples, see [assess.Rows]. Examples of a group
// depend on each other, and so do examples of a fold in the order of time.
type Risk struct {
	Folds, Repeats int // of the outer folds
	// Tuned is the risk of tuning. Default is the risk of the defaults, by the same rules from the
	// same data, and +Inf if the fit failed on a fold. Constant is the risk of the best constant
	// prediction. Each has a 95 % interval.
	Tuned, Default, Constant Estimate
	// Rival is the risk of a simple model, which RivalName names. It is a ridge regression at the
	// best of nine penalties, and a logistic one for the logistic loss. If the learner is such a
	// ridge itself, it is the means of the levels of one categorical column. RivalName is empty
	// without a rival: if the learner is a ridge and no column has levels, if the table is large,
	// or if a fit failed.
	Rival     Estimate
	RivalName string
	// Comparisons answers up to three questions: is tuning better than a constant prediction, than
	// the defaults, than the rival? Each entry is the risk of tuning minus the other risk, in per
	// cent of Constant's mean. The intervals hold jointly with the probability .95. Comparisons is
	// empty if the constant prediction has no loss.
	Comparisons []assess.Comparison
	// Outer holds the outer folds of each repeat. OutOfFold holds the prediction for each example
	// by the search that did not see its outer fold, NaN if there is none.
	Outer     [][]cvgm.Split
	OutOfFold [][]float64
	// OutOfFoldClasses holds the probability of each class for each example in each repeat, NaN if
	// there is none, if the learner is a [learn.ClassLearner]; else it is nil. OutOfFold then holds
	// the log odds of an example's own class.
	OutOfFoldClasses [][][]float64
	// Selected is the risk of the best of three choices: tuning, the defaults and the constant
	// prediction. It is higher than the lowest mean loss, which selected the choice. See
	// [assess.Rows.Selected]. If Choice is not the winner, it is the estimate for Tuned.Model.
	Selected Estimate
	// Regression holds the metrics of OutOfFold if the target is a number, and Classes if all labels
	// are ±1. Multiclass holds the metrics of the predicted probabilities if the learner is a
	// [learn.ClassLearner]. The others are nil. In them rows count by the weights of the data, but not
	// by weights from Balanced. Probabilities are judged if the learner's predictions are log odds.
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

// fitted reports whether t has a model.
func (t *Tuned) fitted() bool { return t.Model != nil || t.ClassModels != nil }

// Metrics describes Regression, Classes or Multiclass in one line, empty if there are none.
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
