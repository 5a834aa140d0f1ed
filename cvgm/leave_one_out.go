package cvgm

import (
	"slices"

	"cvgm/cvgm/internal/normalise"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// leaveOneOut evaluates all splits of a cross-validation at once. Each split must train on exactly
// the examples on which it does not validate. Config.Prepare must be nil, or a [FixedPreparer]
// whose features are fixed. If the features or labels are normalised, the learner must be a
// learn.NormalFoldLearner.
type leaveOneOut struct {
	learner learn.Learner
	splits  allSplits
	folds   [][]int // the validation rows of the splits; nil if each split has one
	// fit is a splitFit whose validation rows are the validation rows of all splits, one split
	// after the other.
	fit          splitFit
	features     *mat.Dense
	fittedSingly bool // the splits have also been fitted one by one, and their memory is counted
	foldNormal   learn.FoldNormal
	sums         normalise.Sums // for the deviations of scaled features
	// prepared is the output of a FixedPreparer for all rows with a weight above 0, or nil if there is
	// no FixedPreparer.
	prepared  *mat.Dense
	curvature []float64 // second derivatives of the CV loss with respect to the predictions; nil before a Hessian
}

// allSplits computes the fits of all splits at once. The predictions, and their cotangents ddst,
// are ordered by split, with one entry for each validation row of a split.
type allSplits interface {
	predict(dst, hyper []float64) error
	backward(w *qpdiff.Workspace, g *learn.Grad, dx *mat.Dense, ddst []float64) error
}

// singleRows are splits that validate on one example each. Each example belongs to one split.
type singleRows struct {
	learner   learn.LeaveOneOutLearner
	val       []int
	byExample []float64 // predictions or cotangents
}

func (l *singleRows) predict(dst, hyper []float64) error {
	if err := l.learner.LeaveOneOut(l.byExample, hyper); err != nil {
		return err
	}
	for j, i := range l.val {
		dst[j] = l.byExample[i]
	}
	return nil
}

func (l *singleRows) backward(w *qpdiff.Workspace, g *learn.Grad, dx *mat.Dense, ddst []float64) error {
	clear(l.byExample)
	for j, i := range l.val {
		l.byExample[i] += ddst[j]
	}
	return l.learner.LeaveOneOutVJP(w, g, dx, l.byExample)
}

// foldRows are splits that validate on folds. An example may be in several folds.
type foldRows struct {
	learner learn.FoldLearner
	val     [][]int
}

func (l *foldRows) predict(dst, hyper []float64) error { return l.learner.Folds(dst, hyper, l.val) }

func (l *foldRows) backward(w *qpdiff.Workspace, g *learn.Grad, dx *mat.Dense, ddst []float64) error {
	return l.learner.FoldsVJP(w, g, dx, ddst)
}

// newLeaveOneOut returns nil if the splits have to be fitted one by one.
func newLeaveOneOut(c *Config, learner learn.Learner) *leaveOneOut {
	n := len(c.Data.Y)
	scaled, fixed := c.sameInAllSplits()
	normalised := c.Standardise || c.Centring != NoCentring || slices.Contains(scaled, true)
	if _, tied := learner.(learn.TiedLearner); tied || !fixed || c.Prepare != nil && c.views(learner) || c.Centring == FixedLeastSquares && !c.Standardise ||
		slices.ContainsFunc(c.Splits, func(s Split) bool { return len(s.Train)+len(s.Val) != n || s.check(n) != nil }) {
		return nil
	}
	a := &leaveOneOut{learner: learner}
	if l, ok := learner.(learn.LeaveOneOutLearner); ok && !normalised && c.Prepare == nil && c.Data.Weights == nil && len(c.Splits) == n &&
		!slices.ContainsFunc(c.Splits, func(s Split) bool { return len(s.Val) != 1 }) {
		for _, s := range c.Splits {
			a.fit.split.Val = append(a.fit.split.Val, s.Val[0])
		}
		a.splits = &singleRows{l, a.fit.split.Val, make([]float64, n)}
	} else if l, ok := learner.(learn.FoldLearner); !ok || !l.FoldsAtOnce() || !a.addFolds(c) {
		return nil
	} else if a.splits = (&foldRows{l, a.folds}); normalised && !a.normalise(c, scaled) {
		return nil
	}
	m := len(a.fit.split.Val)
	a.fit.valY, a.fit.prediction, a.fit.dprediction = sample.Pick(c.Data.Y, a.fit.split.Val), make([]float64, m), make([]float64, m)
	return a
}

// sameInAllSplits reports whether each row has the same features in all splits. The features in
// scaledFeatures are compared before normalisation, which each split does with the statistics of
// its training rows.
func (c *Config) sameInAllSplits() (scaledFeatures []bool, fixed bool) {
	if c.Prepare == nil {
		return nil, true
	}
	if p, ok := c.Prepare.(FixedPreparer); ok && c.dense() != nil {
		return p.Fixed(c.Prepare, c.dense())
	}
	return nil, false
}

// normalise prepares the learner for normalised features. If Standardise is set, all features are
// normalised. Otherwise only the features in scaledFeatures are normalised. normalise returns false
// if the learner cannot normalise them.
func (a *leaveOneOut) normalise(c *Config, scaledFeatures []bool) bool {
	l, ok := a.learner.(learn.NormalFoldLearner)
	if !ok {
		return false
	}
	a.foldNormal.Intercept = c.Centring != NoCentring
	if c.Standardise {
		a.foldNormal.Scaled = slices.Repeat([]bool{true}, c.width())
	} else if slices.Contains(scaledFeatures, true) {
		// The other features are centred, too. Without an intercept, this would change the result.
		theta, _ := a.learner.Dims(c.width())
		if a.foldNormal.Scaled = scaledFeatures; len(scaledFeatures) != c.width() || theta == c.width() && !a.foldNormal.Intercept {
			return false
		}
	}
	l.NormaliseFolds(a.foldNormal)
	return true
}

// prepare computes the features of the rows of x with a weight above 0. It also fits
// Config.Prepare to the training rows of each split, so that the errors of these fits are not
// lost.
func (a *leaveOneOut) prepare(c *Config, x *mat.Dense) error {
	rows, n := x.Dims()
	all := sample.Positive(sample.Complement(nil, rows), c.Data.Weights)
	fit := func(train []int) (Prepared, error) {
		p, err := c.Prepare.Fit(copyRows(x, train), sample.Pick(c.Data.Weights, train))
		if err != nil {
			return nil, err
		}
		return p, checkPrepared(p, n, c.width())
	}
	for _, s := range c.Splits {
		if _, err := fit(sample.Positive(s.Train, c.Data.Weights)); err != nil {
			return err
		}
	}
	p, err := fit(all)
	if err != nil {
		return err
	}
	features := make([]float64, len(all)*c.width())
	if err := sample.Prepare(features, p, x, all); err != nil {
		return err
	}
	a.prepared = mat.NewDense(rows, c.width(), nil)
	sample.ScatterAdd(a.prepared, features, all, 1)
	return nil
}

// loadRows computes everything that depends on the rows x but not on α. If it returns an error, the
// caller fits the splits one by one to find the error.
func (a *leaveOneOut) loadRows(c *Config, x *mat.Dense) error {
	if c.Features != nil {
		return nil
	}
	if c.Prepare != nil {
		if err := a.prepare(c, x); err != nil {
			return err
		}
		x = a.prepared
	}
	return a.loadDeviations(c, x)
}

// loadDeviations gives the learner the deviations of the features x outside each fold.
func (a *leaveOneOut) loadDeviations(c *Config, x *mat.Dense) error {
	m := len(a.foldNormal.Scaled)
	if m == 0 {
		return nil
	}
	a.foldNormal.Deviations = sample.Resize(a.foldNormal.Deviations, m*len(a.folds))
	a.sums.Take(x, c.Data.Weights)
	for k, val := range a.folds {
		if err := a.sums.Deviations(a.foldNormal.Deviations[k*m:(k+1)*m], a.foldNormal.Scaled, val, c.learned()); err != nil {
			return err
		}
	}
	a.learner.(learn.NormalFoldLearner).NormaliseFolds(a.foldNormal)
	return nil
}

// addFolds makes a fold of each split. It returns false if all training rows or all validation rows
// of a split have the weight 0.
func (a *leaveOneOut) addFolds(c *Config) bool {
	a.fit.valWeights = sample.Weights{} // all 1 together
	for _, s := range c.Splits {
		counting, err := s.withWeight(c.Data.Weights)
		if err != nil {
			return false
		}
		weights := sample.Relative(c.Data.Weights, counting.Val)
		for at := range counting.Val {
			a.fit.valWeights = append(a.fit.valWeights, weights.At(at)/weights.Total(len(counting.Val))/float64(len(c.Splits)))
		}
		a.fit.split.Val = append(a.fit.split.Val, counting.Val...)
		a.folds = append(a.folds, counting.Val)
	}
	return true
}

// entries returns the number of float64 values of a, without the learner.
func (a *leaveOneOut) entries(c *Config) float64 {
	m := float64(len(a.foldNormal.Scaled))
	entries := 6*float64(len(a.fit.valY)) + m*float64(len(a.folds)) + 5*m
	if c.Prepare != nil {
		rows, _ := c.Data.X.Dims()
		entries += 2 * float64(rows) * float64(c.width())
	}
	return entries
}

// withFolds returns the size s of the learner's data, extended by the folds that the learner fits
// at once.
func (a *leaveOneOut) withFolds(s learn.Size) learn.Size {
	s.LeaveOneOut, s.Folds = a.folds == nil, a.folds
	return s
}

// eval computes the loss of a.fit. If the parameter gradient is true, it also computes the
// cotangents of the predictions. It returns false if one of the fits fails or the loss has no
// derivative. The caller then fits the splits one by one to find the error.
func (a *leaveOneOut) eval(c *Config, d learn.Data, hyper []float64, gradient bool) bool {
	if x := d.Dense(); x != a.features || c.Features != nil {
		if a.prepared != nil {
			d.X = a.prepared
		}
		if a.features = nil; c.Features != nil && a.loadDeviations(c, x) != nil || a.learner.Load(d) != nil {
			return false
		}
		a.features = x
	}
	return a.splits.predict(a.fit.prediction, hyper) == nil && a.fit.setLoss(c, gradient, true) == nil
}

// backward adds the cotangents of the hyperparameters to dhyper, and the cotangents of the features
// to asTraining and asValidation. Each of these three may be nil. If the learner cannot compute the
// derivative, backward returns false.
func (a *leaveOneOut) backward(dhyper []float64, asTraining, asValidation *mat.Dense) bool {
	a.fit.grad = learn.Grad{Hyper: dhyper, X: asTraining}
	return a.splits.backward(&a.fit.workspace, &a.fit.grad, asValidation, a.fit.dprediction) == nil
}

// hasHessian reports whether hessian can be called. If a is nil, it returns false.
func (a *leaveOneOut) hasHessian(c *Config) bool {
	if a == nil || c.Features != nil || c.Hyper != nil {
		return false
	}
	_, squared := c.Loss.(SquaredError)
	_, twice := a.learner.(learn.HessianFoldLearner)
	_, folds := a.splits.(*foldRows)
	return squared && twice && folds
}

// hessian sets h to the Hessian of the CV loss at the last evaluation.
func (a *leaveOneOut) hessian(c *Config, h *mat.SymDense) error {
	if a.curvature == nil {
		a.curvature = make([]float64, len(a.fit.prediction))
		for i := range a.curvature {
			a.curvature[i] = 2 * a.fit.valWeights.At(i) / a.fit.valWeights.Total(len(a.curvature))
		}
	}
	if err := a.fit.setLoss(c, true, true); err != nil {
		return err
	}
	h.Zero()
	return a.learner.(learn.HessianFoldLearner).FoldsHessian(&a.fit.workspace, h, a.fit.dprediction, a.curvature)
}
