package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/interval"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/learn"
)

// tuning is one call of Tune.
type tuning struct {
	Tuner
	c         cvgm.Config   // without Splits
	prepare   cvgm.Preparer // Config.Prepare; nil if it changes nothing
	viewed    bool          // the learner reads the matrix X in place, or reads the stored features of Prepare
	entries   float64       // the number of entries of X; for a sparse X, the number of stored entries
	table     *table.Table  // the table of the data; nil without one
	learner   learn.Tunable // the prototype
	outputs   int           // the number of classes of a learn.ClassLearner; otherwise 0
	ctx       context.Context
	limit     context.Context // ctx with the deadline, if there is one
	startTime time.Time
	deadline  time.Time // zero: none
	result    *Tuned

	otherBytes      int64 // bytes that are in use in addition to a search
	stage           string
	evaluations     int           // of all searches
	fitCount        int           // of the search
	lastEnd         time.Time     // the end of the last evaluation, or startTime
	evalTime        time.Duration // the measured time of an evaluation
	expected        int           // the expected number of evaluations: of the first search, and after it of all searches
	searches        float64       // the expected number of searches without an outer fold
	evalTimeRatio   float64       // the expected time of an evaluation without an outer fold, divided by its time in the first search
	firstSearchTime time.Duration // the measured time of the first search, after its end
	rival           *rival
	judgedModels    []judgedModel // the models of the outer folds
	firstRepeat     *repeat       // of the outer folds
	// For each fold of the first repeat, foldModels holds the models from which prediction
	// intervals are made.
	foldModels []map[contender]foldModel
}

func (w *tuning) warn(kind WarningKind, format string, args ...any) {
	w.result.Warnings = append(w.result.Warnings, Warning{kind, fmt.Sprintf(format, args...)})
}

// errTime ends a search at the end of MaxTime.
var errTime = errors.New("cvgm: Tuner.MaxTime is over: raise it")

// recordEvaluation is called after each evaluation of a search. It sets the field evalTime to the
// mean time between two evaluations. This mean includes the time for models and for the start of
// new searches. It excludes the first evaluation, which is slower than the others.
func (w *tuning) recordEvaluation(loss, best float64) {
	took := time.Since(w.lastEnd)
	w.lastEnd = w.lastEnd.Add(took)
	w.evaluations++
	w.evalTime += (took - w.evalTime) / time.Duration(max(1, w.evaluations-1))
	w.report(w.stage, loss, best)
}

// report calls Progress, unless it is nil.
func (w *tuning) report(stage string, loss, best float64) {
	if w.Progress == nil {
		return
	}
	p := Progress{Stage: stage, Evaluations: w.evaluations, Loss: loss, Best: best, Elapsed: time.Since(w.startTime)}
	if w.evaluations >= 2 {
		p.Left = w.timeLeft()
		if !w.deadline.IsZero() {
			p.Left = min(p.Left, max(0, time.Until(w.deadline)))
		}
	}
	w.Progress(p)
}

// measuredTime returns the time of all evaluations except the first one.
func (w *tuning) measuredTime() time.Duration { return w.evalTime * time.Duration(w.evaluations-1) }

// timeLeft returns the estimated remaining time. Once the first search has ended, the estimate is
// based on the times of all evaluations. In this estimate, the time of the first search is replaced
// by the time that it would probably take without an outer fold.
func (w *tuning) timeLeft() time.Duration {
	remaining := float64(max(1, w.expected-w.evaluations))
	if w.firstSearchTime == 0 {
		evaluations := float64(max(w.expected, w.evaluations))
		return time.Duration((remaining + w.searches*evaluations*w.evalTimeRatio) * float64(w.evalTime))
	}
	without := float64(w.measuredTime()-w.firstSearchTime) + w.evalTimeRatio*float64(w.firstSearchTime)
	return time.Duration(remaining * without / float64(w.evaluations))
}

// rows returns the indices of the examples of positive weight. Other examples are in no fold and do
// not affect bounds.
func (w *tuning) rows() []int {
	return sample.Positive(sample.Complement(nil, len(w.c.Data.Y)), w.c.Data.Weights)
}

// kinkedStarts is the default number of starts for a loss with kinks.
const kinkedStarts = 10

func (w *tuning) starts() int {
	if w.kinked() {
		return cmp.Or(w.Starts, kinkedStarts)
	}
	return cmp.Or(w.Starts, defaultStarts)
}

// A table with more than largeTable entries is large: its evaluations are slow. For a sparse table
// only the stored entries count. A large table gets fewer folds, and shorter descents and pattern
// searches: see slowEvals and lastLargePattern. For a large table, the points of the design are
// evaluated with gradients, and the descents from these points use the same gradients.
const largeTable = 200_000

// isLarge reports whether the table of examples and columns is large.
func (w *tuning) isLarge() bool {
	return w.entries > largeTable
}

// kinked reports whether the validation loss has kinks.
func (w *tuning) kinked() bool {
	_, kinks := w.c.Loss.(cvgm.KinkedLoss)
	return kinks
}

// classes reports whether the task has two classes: all labels are ±1. It returns false if the
// labels are numbers that denote several classes.
func (w *tuning) classes() bool { return !w.isJoint() && allSigns(w.c.Data.Y) }

// isJoint reports whether the learner is a joint model of several classes. The prediction for a row
// is then the log odds of the row's own class. The loss compares this prediction with the label 1.
func (w *tuning) isJoint() bool { return w.outputs > 0 }

// stratified reports whether the labels are classes. Folds are then drawn by class.
func (w *tuning) stratified() bool { return w.classes() || w.isJoint() }

// classLabels returns the labels of the classes.
func (w *tuning) classLabels() []float64 {
	if !w.isJoint() {
		return []float64{-1, 1}
	}
	labels := make([]float64, w.outputs)
	for c := range labels {
		labels[c] = float64(c)
	}
	return labels
}

// label returns a label as it is written in the table's file: the text of a class, or a number.
func (w *tuning) label(y float64) string {
	if w.table != nil && len(w.table.Classes) == 2 && !w.isJoint() {
		return strconv.Quote(w.table.Classes[map[bool]int{true: 1}[y > 0]])
	}
	if w.isJoint() && w.table != nil {
		return strconv.Quote(w.table.Classes[int(y)])
	}
	if w.classes() {
		return fmt.Sprintf("%+v", y)
	}
	return fmt.Sprint(y)
}

// judgedModel holds the hyperparameters of those models that an outer fold judges.
type judgedModel struct {
	fold             cvgm.Split
	tuned, byDefault []float64
}

// A foldModel is the model of an outer fold, with the spread of the model's errors. If the fit of
// the model failed, err is the reason.
type foldModel struct {
	model  *cvgm.Model
	spread interval.Spread
	err    error
}

// A rival is a simple model with which tuning is compared: a ridge, or the means of groups.
type rival struct {
	name  string
	ridge *tuning // nil: the rival is the means of groups
}

// weight is the weight of example i.
func (w *tuning) weight(i int) float64 { return sample.Weights(w.c.Data.Weights).At(i) }
