package cvgm

import (
	"slices"

	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// leaveOneOut evaluates all splits of a cross-validation at once: of leave-one-out, or with a
// [learn.FoldLearner] of any folds that each train on all other examples. It needs learners that
// see the features and labels as they are.
type leaveOneOut struct {
	learner     learn.LeaveOneOutLearner
	fit         splitFit  // its validation rows are the splits' own, in their order
	predictions []float64 // by example
	ddst        []float64 // their cotangent
	features    *mat.Dense
	fitted      bool // the splits are fitted one by one, too, and counted
}

// newLeaveOneOut returns nil if the splits have to be fitted one by one.
func newLeaveOneOut(c *Config, learner learn.Learner) *leaveOneOut {
	n := len(c.Data.Y)
	if folds := newFolds(c, learner); folds != nil {
		return folds
	}
	l, ok := learner.(learn.LeaveOneOutLearner)
	_, tied := learner.(learn.TiedLearner)
	if !ok || tied || c.Standardise || c.Centring != NoCentring || c.Prepare != nil || c.Data.Weights != nil || len(c.Splits) != n ||
		slices.ContainsFunc(c.Splits, func(s Split) bool { return len(s.Val) != 1 || len(s.Train) != n-1 || s.check(n) != nil }) {
		return nil
	}
	a := &leaveOneOut{learner: l, predictions: make([]float64, n), ddst: make([]float64, n)}
	for _, s := range c.Splits {
		a.fit.split.Val = append(a.fit.split.Val, s.Val[0])
	}
	a.fit.valY, a.fit.prediction, a.fit.dprediction = sample.Pick(c.Data.Y, a.fit.split.Val), make([]float64, n), make([]float64, n)
	return a
}

// allFolds makes a [learn.FoldLearner] with its folds a [learn.LeaveOneOutLearner].
type allFolds struct {
	learn.FoldLearner
	val [][]int
}

func (f *allFolds) LeaveOneOut(dst, hyper []float64) error { return f.Folds(dst, hyper, f.val) }

func (f *allFolds) LeaveOneOutVJP(w *qpdiff.Workspace, g *learn.Grad, dx *mat.Dense, ddst []float64) error {
	return f.FoldsVJP(w, g, dx, ddst)
}

// newFolds returns nil if the learner fits no folds at once, or the splits are none: if one trains
// on fewer than all other examples, or an example is validated on twice.
func newFolds(c *Config, learner learn.Learner) *leaveOneOut {
	n := len(c.Data.Y)
	l, ok := learner.(learn.FoldLearner)
	_, tied := learner.(learn.TiedLearner)
	if !ok || tied || !l.FoldsAtOnce() || c.Standardise || c.Centring != NoCentring || c.Prepare != nil {
		return nil
	}
	f, seen := &allFolds{FoldLearner: l}, make([]bool, n)
	a := &leaveOneOut{learner: f, predictions: make([]float64, n), ddst: make([]float64, n)}
	a.fit.valWeights = sample.Weights{} // all 1 together
	for _, s := range c.Splits {
		if len(s.Train)+len(s.Val) != n || s.check(n) != nil {
			return nil
		}
		counting, err := s.counting(c.Data.Weights)
		if err != nil {
			return nil
		}
		weights := sample.Relative(c.Data.Weights, counting.Val)
		for at, i := range counting.Val {
			if seen[i] {
				return nil
			}
			seen[i] = true
			a.fit.split.Val = append(a.fit.split.Val, i)
			a.fit.valWeights = append(a.fit.valWeights, weights.At(at)/weights.Total(len(counting.Val))/float64(len(c.Splits)))
		}
		f.val = append(f.val, counting.Val)
	}
	m := len(a.fit.split.Val)
	a.fit.valY, a.fit.prediction, a.fit.dprediction = sample.Pick(c.Data.Y, a.fit.split.Val), make([]float64, m), make([]float64, m)
	return a
}

// eval sets fit's loss and, if wanted, the cotangents of its predictions. It returns false if
// one of the fits fails or the loss has no derivative: fits one by one then give the error.
func (a *leaveOneOut) eval(c *Config, d learn.Data, hyper []float64, gradient bool) bool {
	if x := d.Dense(); x != a.features || c.Features != nil {
		if a.features = nil; a.learner.Load(d) != nil {
			return false
		}
		a.features = x
	}
	if a.learner.LeaveOneOut(a.predictions, hyper) != nil {
		return false
	}
	for j, i := range a.fit.split.Val {
		a.fit.prediction[j] = a.predictions[i]
	}
	return a.fit.judge(c, gradient) == nil
}

// backward adds the cotangents of hyperparameters and features to dhyper, asTraining and
// asValidation, each unless it is nil. It reports false as eval does.
func (a *leaveOneOut) backward(dhyper []float64, asTraining, asValidation *mat.Dense) bool {
	clear(a.ddst)
	for j, i := range a.fit.split.Val {
		a.ddst[i] += a.fit.dprediction[j]
	}
	a.fit.grad = learn.Grad{Hyper: dhyper, X: asTraining}
	return a.learner.LeaveOneOutVJP(&a.fit.work, &a.fit.grad, asValidation, a.ddst) == nil
}
