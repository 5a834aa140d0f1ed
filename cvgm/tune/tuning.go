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
	c        cvgm.Config   // without Splits
	prepare  cvgm.Preparer // Config.Prepare; nil if it changes nothing
	viewed   bool          // the learner reads X in place, or the stored features of Prepare
	entries  float64       // the number of entries of X, or of stored entries if X is sparse
	table    *table.Table  // the table of the data; nil without one
	learner  learn.Tunable // the prototype
	outputs  int           // the number of classes of a learn.ClassLearner; otherwise 0
	ctx      context.Context
	limit    context.Context // ctx with the deadline, if there is one
	began    time.Time
	deadline time.Time // zero: none
	out      *Tuned

	beside      int64 // bytes that are in use in addition to a search
	stage       string
	evaluations int           // of all searches
	fits        int           // of the search
	last        time.Time     // the end of the last evaluation, or began
	each        time.Duration // the measured time of an evaluation
	expected    int           // the expected number of all evaluations
	rival       *rival
	judged      []judged // the models of the outer folds
	first       *repeat  // of the outer folds
	// foldModels holds the models for intervals, for each fold of the first repeat.
	foldModels []map[contender]foldModel
}

func (w *tuning) warn(kind WarningKind, format string, args ...any) {
	w.out.Warnings = append(w.out.Warnings, Warning{kind, fmt.Sprintf(format, args...)})
}

// errTime ends a search at the end of MaxTime.
var errTime = errors.New("cvgm: Tuner.MaxTime is over: raise it")

// evaluated counts an evaluation of a search. It sets the field each to the mean time from one
// evaluation to the next. This mean includes the time of models and of new searches, but not the
// first, cold evaluation.
func (w *tuning) evaluated(loss, best float64) {
	took := time.Since(w.last)
	w.last = w.last.Add(took)
	w.evaluations++
	w.each += (took - w.each) / time.Duration(max(1, w.evaluations-1))
	if w.Progress == nil {
		return
	}
	p := Progress{Stage: w.stage, Evaluations: w.evaluations, Loss: loss, Best: best, Elapsed: time.Since(w.began)}
	if w.evaluations >= 2 {
		p.Left = time.Duration(max(1, w.expected-w.evaluations)) * w.each
		if !w.deadline.IsZero() {
			p.Left = min(p.Left, max(0, time.Until(w.deadline)))
		}
	}
	w.Progress(p)
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

// largeTable is the number of entries of a table above which evaluations are slow. For a sparse
// table only the stored entries count. A large table gets fewer folds, and shorter descents and
// pattern searches: see slowEvals and lastLargePattern. The points of its design are evaluated with
// gradients, which the descents from these points then reuse.
const largeTable = 200_000

// large reports whether the table of examples and columns is large.
func (w *tuning) large() bool {
	return w.entries > largeTable
}

// kinked reports whether the validation loss has kinks.
func (w *tuning) kinked() bool {
	_, kinks := w.c.Loss.(cvgm.KinkedLoss)
	return kinks
}

// classes reports whether all labels are ±1, and not the numbers of several classes.
func (w *tuning) classes() bool { return !w.joint() && allSigns(w.c.Data.Y) }

// joint reports whether the learner is a joint model of several classes. A prediction is then the
// log odds of the class of the row's label, and the loss compares the prediction with the label 1.
func (w *tuning) joint() bool { return w.outputs > 0 }

// stratified reports whether labels are classes, so that folds are drawn by class.
func (w *tuning) stratified() bool { return w.classes() || w.joint() }

// classLabels returns the labels of the classes.
func (w *tuning) classLabels() []float64 {
	if !w.joint() {
		return []float64{-1, 1}
	}
	labels := make([]float64, w.outputs)
	for c := range labels {
		labels[c] = float64(c)
	}
	return labels
}

// label returns a label in the form of the table's file: the text of a class, or a number.
func (w *tuning) label(y float64) string {
	if w.table != nil && len(w.table.Classes) == 2 && !w.joint() {
		return strconv.Quote(w.table.Classes[map[bool]int{true: 1}[y > 0]])
	}
	if w.joint() && w.table != nil {
		return strconv.Quote(w.table.Classes[int(y)])
	}
	if w.classes() {
		return fmt.Sprintf("%+v", y)
	}
	return fmt.Sprint(y)
}

// judged holds the hyperparameters of the models that an outer fold judges.
type judged struct {
	fold             cvgm.Split
	tuned, byDefault []float64
}

// A foldModel is the model of an outer fold, with the spread of the model's errors. If the model
// could not be fitted, err is the reason.
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
