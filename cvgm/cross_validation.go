package cvgm

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Centring selects what a CV subtracts from features and labels before a
// learner without an intercept of its own is fitted, and adds to its
// predictions. All but NoCentring suit learners of a squared loss. Learners with
// an intercept of their own (Logistic, KernelSVM with Intercept) and learners of
// labels ±1 need NoCentring, since the others change the labels.
type Centring int

const (
	// NoCentring subtracts nothing: predictions are θᵀx, or the learner's own.
	NoCentring Centring = iota
	// FixedLeastSquares subtracts from the labels the intercept of an
	// unregularised least-squares fit to each split's training rows, as the
	// paper's experiments do. No derivative goes through it. It does not depend on
	// the hyperparameters. It depends on a learned feature map unless Standardise
	// is set: New refuses that combination.
	FixedLeastSquares
	// MeanCentring subtracts from features and labels their means on the training
	// rows, and derivatives go through the means. The result is the unpenalised
	// intercept that is optimal together with θ for a squared loss. On
	// standardised features it equals FixedLeastSquares, because both subtract
	// the mean of y.
	MeanCentring
)

// Config describes a cross-validation loss. Data, Splits, Learner and Loss are
// required.
type Config struct {
	Data   qpdiff.Data
	Splits []Split
	// Learner returns a new learner, never the same one again. New calls it once
	// more than there are splits, and each call of [CV.Final] once.
	Learner func() qpdiff.Learner
	Loss    Loss
	// Features maps the rows of Data.X to what the learner sees. Its parameters
	// follow the learner's hyperparameters in α. Nil: the features are Data.X.
	Features FeatureMap
	// Hyper, where not nil, holds the learner's hyperparameters constant: α is
	// then the feature map's parameters alone.
	Hyper []float64
	// Standardise maps every feature to mean 0 and (population) standard
	// deviation 1 on each split's training rows. A feature that is constant on
	// them, up to rounding, is centred only, as if its deviation were 1. With a
	// feature map that has parameters such a feature is an error, since the CV
	// loss jumps where a feature becomes constant.
	Standardise bool
	Centring    Centring
	// Generalised selects what the gradient is where it does not exist, at kinks
	// of the learner, the loss or the feature map. False: an error that matches
	// qpdiff.ErrNotDifferentiable. True: the chain rule with one element of the
	// generalised derivative at each kink; see [CV.Generalised], [qpdiff.KinkedLearner],
	// [KinkedLoss] and [KinkedMap].
	Generalised bool
	// Workers bounds the goroutines that share the splits. Zero: GOMAXPROCS.
	// The results do not depend on it.
	Workers int
}

// CV is the cross-validation loss of a learner as a function of α,
//
//	L_cv(α) = 1/K Σ_j 1/|V_j| Σ_{i∈V_j} c(f(x_i; A_α(T_j)), y_i),
//
// the paper's equation (3), with its exact gradient. A CV is its own workspace
// and must not be shared between goroutines.
type CV struct {
	c        Config
	features int // m, the number of features that the learner sees
	hyper    int
	fits     []splitFit
	// full learns from all examples where the learners of the splits are
	// [qpdiff.SubsetLearner]s and see the features as they are; otherwise it is nil.
	full      qpdiff.SubsetLearner
	fullTheta []float64
	// Cotangents of the N×m features at the last gradient, as rows trained on,
	// as rows validated on, and in all. Only with a feature map.
	asTraining, asValidation, total *mat.Dense
	generalised                     bool // see Generalised
	// run is the evaluation under way; its closures are made once, so that an
	// evaluation allocates nothing.
	run struct {
		x        *mat.Dense
		hyper    []float64
		gradient bool
		split    func(j int) error
	}
	ties struct { // see parted
		visit     func(i, k int, sign float64, d []float64) bool
		fit       *splitFit
		found     bool
		i, k      int          // the examples found
		dfeatures *mat.Dense   // zero
		dparams   [2][]float64 // of i and of k
	}
}

// splitFit is the workspace of one split.
type splitFit struct {
	split       Split
	out         []int // the examples that are not in split.Train, with cv.full
	learner     qpdiff.Learner
	work        qpdiff.Workspace
	norm        normaliser
	train       qpdiff.Data // normalised rows, labels less the intercept
	val         []float64   // normalised rows, row-major
	valX        *mat.Dense  // val as a matrix
	valY        []float64   // raw labels
	intercept   float64
	theta       []float64
	dtheta      []float64
	loss        float64
	grad        qpdiff.Grad // Hyper unless Config.Hyper holds it; X only with a feature map
	kinked      bool        // the last gradient met a kink of the loss
	dval        []float64
	dvalX       *mat.Dense // dval as a matrix
	dprediction []float64
}

// New checks the configuration and prepares every split. Errors name the
// argument; those that belong to one split are a [SplitError].
func New(c Config) (*CV, error) {
	switch {
	case len(c.Splits) == 0:
		return nil, badArg("Config.Splits", qpdiff.ErrShape, "draw some, for example with RandomSplits", "is empty")
	case c.Learner == nil:
		return nil, badArg("Config.Learner", qpdiff.ErrShape, "give a function that returns a new learner", "is nil")
	case c.Loss == nil:
		return nil, badArg("Config.Loss", qpdiff.ErrShape, "use SquaredError{}, LogisticLoss{}, …", "is nil")
	case c.Centring < NoCentring || c.Centring > MeanCentring:
		return nil, badArg("Config.Centring", qpdiff.ErrDomain, "use one of the constants", "is %d", c.Centring)
	}
	if err := c.Data.Check(); err != nil {
		return nil, err
	}
	n, raw := c.Data.X.Dims()
	cv := &CV{c: c, features: raw}
	if c.Features != nil {
		in, out := c.Features.Dims()
		if in != raw {
			return nil, badArg("Config.Features", qpdiff.ErrShape, "match the map's inputs to the columns of Data.X",
				"takes %d inputs where Data.X has %d columns", in, raw)
		}
		if out < 1 {
			return nil, badArg("Config.Features", qpdiff.ErrShape, "give the map at least one output", "has %d outputs", out)
		}
		if c.Centring == FixedLeastSquares && c.learned() {
			if !c.Standardise {
				return nil, badArg("Config.Centring", qpdiff.ErrDomain, "use MeanCentring, or set Standardise",
					"is FixedLeastSquares, which would depend on the parameters of Config.Features")
			}
			// The two are equal on standardised features. The mean of y is
			// constant also where features are almost linearly dependent.
			cv.c.Centring = MeanCentring
		}
		cv.features = out
		cv.asTraining = mat.NewDense(n, out, nil)
		cv.asValidation = mat.NewDense(n, out, nil)
		cv.total = mat.NewDense(n, out, nil)
	}
	c = cv.c
	first, err := c.newLearner()
	if err != nil {
		return nil, err
	}
	theta, hyper := first.Dims(cv.features)
	cv.hyper = hyper
	if c.Hyper != nil && len(c.Hyper) != hyper {
		return nil, badArg("Config.Hyper", qpdiff.ErrShape, "give one value per hyperparameter of the learner",
			"has %d entries where the learner has %d hyperparameters", len(c.Hyper), hyper)
	}
	if l, ok := first.(qpdiff.SubsetLearner); ok && !c.Standardise && c.Centring == NoCentring {
		cv.full, cv.fullTheta = l, make([]float64, theta)
	}
	cv.fits = make([]splitFit, len(c.Splits))
	for j, s := range c.Splits {
		if err := s.check(n); err != nil {
			return nil, &SplitError{j, err}
		}
		f := &cv.fits[j]
		f.split = s
		if f.learner, err = c.newLearner(); err != nil {
			return nil, err
		}
		if v := reflect.ValueOf(first); v.Comparable() && f.learner == first {
			return nil, badArg("Config.Learner", qpdiff.ErrDomain, "return a new learner from each call", "returned the same %T twice", first)
		}
		f.prepare(c, cv.features, theta, hyper)
		if cv.full != nil {
			f.out = complement(s.Train, n)
			if c.Features != nil {
				f.grad.X = mat.NewDense(n, cv.features, nil)
			}
		}
		for i, row := range s.Val {
			f.valY[i] = c.Data.Y[row]
		}
		if c.Features == nil {
			if err := f.load(c, c.Data.X); err != nil {
				return nil, &SplitError{j, err}
			}
		}
	}
	cv.run.split = cv.evalSplit
	if c.learned() {
		cv.ties.visit, cv.ties.dfeatures = cv.visitTie, mat.NewDense(n, cv.features, nil)
		for i := range cv.ties.dparams {
			cv.ties.dparams[i] = make([]float64, c.Features.NumParams())
		}
	}
	return cv, nil
}

// learned reports whether the features depend on α.
func (c *Config) learned() bool { return c.Features != nil && c.Features.NumParams() > 0 }

// newLearner returns a new learner that treats kinks as c says.
func (c *Config) newLearner() (qpdiff.Learner, error) {
	l := c.Learner()
	if l == nil {
		return nil, badArg("Config.Learner", qpdiff.ErrShape, "give a function that returns a new learner", "returned nil")
	}
	if k, ok := l.(qpdiff.KinkedLearner); ok && c.Generalised {
		k.SetGeneralised(true)
	}
	return l, nil
}

func (f *splitFit) prepare(c Config, m, theta, hyper int) {
	t, v := len(f.split.Train), len(f.split.Val)
	f.norm = normaliser{center: c.Standardise || c.Centring == MeanCentring, scale: c.Standardise, learned: c.learned()}
	f.train = qpdiff.Data{X: mat.NewDense(t, m, nil), Y: make([]float64, t)}
	f.val, f.valY = make([]float64, v*m), make([]float64, v)
	f.theta, f.dtheta = make([]float64, theta), make([]float64, theta)
	if c.Hyper == nil {
		f.grad.Hyper = make([]float64, hyper)
	}
	if c.Features != nil {
		f.grad.X, f.dval = mat.NewDense(t, m, nil), make([]float64, v*m)
	}
	f.dprediction = make([]float64, v)
	if v > 0 {
		f.valX = mat.NewDense(v, m, f.val)
		if f.dval != nil {
			f.dvalX = mat.NewDense(v, m, f.dval)
		}
	}
}

// load gathers the split's rows of the features x, normalises them on the
// training rows, subtracts the intercept from the labels and hands the training
// rows to the learner.
func (f *splitFit) load(c Config, x *mat.Dense) error {
	train := f.train.X.RawMatrix()
	gather(train.Data, x, f.split.Train)
	gather(f.val, x, f.split.Val)
	for i, row := range f.split.Train {
		f.train.Y[i] = c.Data.Y[row]
	}
	if err := f.norm.fit(train.Data, train.Cols); err != nil {
		return err
	}
	f.norm.apply(train.Data)
	f.norm.apply(f.val)
	switch c.Centring {
	case NoCentring:
	case FixedLeastSquares:
		f.intercept = leastSquaresIntercept(train.Data, train.Cols, f.train.Y)
	case MeanCentring:
		f.intercept = meanOf(f.train.Y)
	}
	if !finite(f.intercept) {
		return badArg("Data", qpdiff.ErrNotFinite, "scale the features and the labels", "has the intercept %v over the training rows", f.intercept)
	}
	if f.intercept != 0 {
		for i := range f.train.Y {
			f.train.Y[i] -= f.intercept
		}
	}
	return f.learner.Load(f.train)
}

// Dims returns the length of α: the learner's hyperparameters, unless
// Config.Hyper holds them, and then the feature map's parameters.
func (cv *CV) Dims() int {
	n := 0
	if cv.c.Hyper == nil {
		n = cv.hyper
	}
	if cv.c.Features != nil {
		n += cv.c.Features.NumParams()
	}
	return n
}

// unpack divides v, which is α or its gradient, into the learner's part and the
// feature map's. With Config.Hyper the learner's part is held instead.
func (cv *CV) unpack(v, held []float64) (hyper, params []float64) {
	if cv.c.Hyper != nil {
		return held, v
	}
	return v[:cv.hyper], v[cv.hyper:]
}

// Eval returns L_cv(α) and, where grad is not nil, overwrites it with the
// gradient. It is an [Objective]. An α of the wrong length is an error, a grad
// of the wrong length a panic. Errors of a split are a [SplitError]. Errors
// match qpdiff.ErrNotDifferentiable where the gradient does not exist and
// Config.Generalised is not set, and qpdiff.ErrNotFinite where a loss or a
// derivative overflows. After an error the loss is NaN, and grad holds no
// gradient.
func (cv *CV) Eval(grad, alpha []float64) (float64, error) {
	cv.generalised = cv.generalised && grad == nil
	if err := cv.checkAlpha(alpha); err != nil {
		return math.NaN(), err
	}
	if grad != nil && len(grad) != len(alpha) {
		panic("cvgm: grad has the wrong length")
	}
	hyper, params := cv.unpack(alpha, cv.c.Hyper)
	x, err := features(cv.c.Features, params, cv.c.Data.X)
	if err != nil {
		return math.NaN(), err
	}
	if err := cv.fitFull(x, hyper); err != nil {
		return math.NaN(), err
	}
	cv.run.x, cv.run.hyper, cv.run.gradient = x, hyper, grad != nil
	if err := qpdiff.ForEach(cv.c.Workers, len(cv.fits), cv.run.split); err != nil {
		return math.NaN(), err
	}
	k := float64(len(cv.fits))
	var loss float64
	for j := range cv.fits {
		loss += cv.fits[j].loss
	}
	loss /= k
	if !finite(loss) {
		return math.NaN(), overflow("the CV loss is %v, although that of each split is finite", loss)
	}
	if grad == nil {
		return loss, nil
	}
	if err := cv.gradient(grad, k); err != nil {
		return math.NaN(), err
	}
	return loss, nil
}

// gradient collects the gradient from the k splits.
func (cv *CV) gradient(grad []float64, k float64) error {
	clear(grad)
	generalised := false
	dhyper, dparams := cv.unpack(grad, nil)
	for j := range cv.fits {
		for i := range dhyper {
			dhyper[i] += cv.fits[j].grad.Hyper[i]
		}
		generalised = generalised || cv.fits[j].kinked || cv.fits[j].grad.Generalised
	}
	for i := range dhyper {
		dhyper[i] /= k
	}
	if cv.c.Features != nil {
		cv.gatherCotangents()
		cv.c.Features.Backward(dparams, cv.total)
		if m, ok := cv.c.Features.(KinkedMap); ok && m.Generalised() {
			if !cv.c.Generalised {
				return badArg("Config.Features", qpdiff.ErrNotDifferentiable, "move the parameters, or set Config.Generalised",
					"has a kink at its parameters")
			}
			generalised = true
		}
	}
	for i, g := range grad {
		if !finite(g) {
			return cv.findOverflow(i, g)
		}
	}
	for j := range cv.fits {
		if generalised || !cv.parted(&cv.fits[j]) {
			continue
		}
		if !cv.c.Generalised {
			return &SplitError{j, badArg("Config.Features", qpdiff.ErrNotDifferentiable, "move the parameters, or set Config.Generalised",
				"moves examples %d and %d apart, whose equal features the learner's derivative holds equal", cv.ties.i, cv.ties.k)}
		}
		generalised = true
	}
	cv.generalised = generalised
	return nil
}

// parted reports whether the feature map's parameters move training rows of f
// apart that the learner's derivative holds equal.
func (cv *CV) parted(f *splitFit) bool {
	l, ok := f.learner.(qpdiff.TiedLearner)
	if !ok || !cv.c.learned() {
		return false
	}
	cv.ties.fit, cv.ties.found = f, false
	l.Ties(&f.work, cv.ties.visit)
	return cv.ties.found
}

// visitTie is what parted asks [qpdiff.TiedLearner] to call. The derivatives of dᵀφ are
// taken one example at a time and compared: their difference, taken at once, would
// have the rounding of both.
func (cv *CV) visitTie(i, k int, sign float64, d []float64) (more bool) {
	f, t := cv.ties.fit, &cv.ties
	if f.out == nil {
		i, k = f.split.Train[i], f.split.Train[k]
	}
	if t.found || slices.Equal(cv.c.Data.X.RawRowView(i), cv.c.Data.X.RawRowView(k)) {
		return false
	}
	for at, example := range [2]int{i, k} {
		row := t.dfeatures.RawRowView(example)
		for j, v := range d {
			if f.norm.scale {
				v /= f.norm.std[j] // μ and σ move both examples alike
			}
			if at == 1 {
				v *= sign
			}
			row[j] = v
		}
		clear(t.dparams[at])
		cv.c.Features.Backward(t.dparams[at], t.dfeatures)
		clear(row)
		if m, ok := cv.c.Features.(KinkedMap); ok && m.Generalised() {
			t.found = true
		}
	}
	if t.found = t.found || !slices.Equal(t.dparams[0], t.dparams[1]); t.found {
		t.i, t.k = i, k
	}
	return !t.found
}

// findOverflow names what makes entry i of the gradient g, which is not finite.
func (cv *CV) findOverflow(i int, g float64) error {
	for j := range cv.fits {
		f := &cv.fits[j]
		for h, v := range f.grad.Hyper {
			if !finite(v) {
				return &SplitError{j, overflow("the derivative with respect to hyperparameter %d is %v", h, v)}
			}
		}
		if f.grad.X == nil {
			continue
		}
		for _, part := range [2][]float64{f.grad.X.RawMatrix().Data, f.dval} {
			for at, v := range part {
				if !finite(v) {
					return &SplitError{j, overflow("the derivative with respect to feature %d is %v", at%cv.features, v)}
				}
			}
		}
	}
	return overflow("the gradient is %v at index %d", g, i)
}

// overflow is the error of an α at which something is not finite.
func overflow(format string, args ...any) error {
	return badArg("alpha", qpdiff.ErrNotFinite, "take α closer to where it is finite, or scale the data", "is out of range: "+format, args...)
}

// Generalised reports whether the last gradient is not a derivative but the
// chain rule with an element of a generalised derivative, because a kink was
// met: see Config.Generalised. It is false before the first gradient and after
// one that failed, and may be true without Config.Generalised where the
// learner's own settings make it answer at kinks.
func (cv *CV) Generalised() bool { return cv.generalised }

// fitFull fits the learner of all examples, if there is one, for the splits to
// start from. Where it cannot be fitted, each of them says so itself, or starts
// from scratch.
func (cv *CV) fitFull(x *mat.Dense, hyper []float64) error {
	if cv.full == nil {
		return nil
	}
	if err := cv.full.Load(qpdiff.Data{X: x, Y: cv.c.Data.Y}); err != nil {
		return err
	}
	cv.full.Fit(cv.fullTheta, hyper)
	return nil
}

// evalSplit does split j's part of an evaluation.
func (cv *CV) evalSplit(j int) error {
	f := &cv.fits[j]
	if cv.full != nil {
		gather(f.val, cv.run.x, f.split.Val)
		if err := f.learner.(qpdiff.SubsetLearner).LoadSubset(cv.full, f.out); err != nil {
			return &SplitError{j, err}
		}
	} else if cv.c.Features != nil {
		if err := f.load(cv.c, cv.run.x); err != nil {
			return &SplitError{j, err}
		}
	}
	if err := f.eval(&cv.c, cv.run.hyper, cv.run.gradient); err != nil {
		return &SplitError{j, err}
	}
	return nil
}

// eval fits the split and computes its validation loss and, if wanted, the
// loss's cotangents of the hyperparameters and of the split's features.
func (f *splitFit) eval(c *Config, hyper []float64, gradient bool) error {
	if err := f.learner.Fit(f.theta, hyper); err != nil {
		return err
	}
	if err := f.predict(); err != nil {
		return err
	}
	if err := f.judge(c, gradient); err != nil || !gradient {
		return err
	}
	f.grad.Generalised = false
	clear(f.grad.Hyper)
	if f.grad.X != nil {
		clear(f.grad.X.RawMatrix().Data)
		clear(f.dval)
	}
	if err := f.backward(); err != nil {
		if _, ok := f.learner.(qpdiff.KinkedLearner); c.Generalised && !ok && errors.Is(err, qpdiff.ErrNotDifferentiable) {
			return fmt.Errorf("%w (the learner %T has no method SetGeneralised)", err, f.learner)
		}
		return err
	}
	if f.grad.X != nil && f.out == nil {
		f.norm.backward(f.train.X.RawMatrix().Data, f.val, f.grad.X.RawMatrix().Data, f.dval)
	}
	return nil
}

// judge sets the loss and replaces the predictions by their cotangents.
func (f *splitFit) judge(c *Config, gradient bool) error {
	kinks, _ := c.Loss.(KinkedLoss)
	v := float64(len(f.valY))
	f.loss, f.kinked = 0, false
	for i, p := range f.dprediction {
		y := f.valY[i]
		value, slope := c.Loss.Eval(p, y)
		if !finite(p) || !finite(value) {
			return overflow("the loss is %v at the prediction %v of example %d", value, p, f.split.Val[i])
		}
		f.loss += value
		if !gradient {
			continue
		}
		if kinks != nil {
			if distance, at := kinks.Kink(p, y); distance <= lossKinkTol*f.size(i, p) {
				if !c.Generalised {
					return badArg("Config.Loss", qpdiff.ErrNotDifferentiable, "move the hyperparameters, set Config.Generalised, or use a smooth loss",
						"has a kink at the prediction %v of example %d", p, f.split.Val[i])
				}
				slope, f.kinked = at, true
			}
		}
		if slope != slope {
			return &qpdiff.NotDifferentiableError{Inputs: []qpdiff.Input{"prediction"}, Weak: qpdiff.Weak{Rows: []int{f.split.Val[i]}},
				Remedy: "the validation loss has no derivative at this example; descend a smooth loss such as LogisticLoss"}
		}
		if !finite(slope) {
			return overflow("the loss has the slope %v at the prediction %v of example %d", slope, p, f.split.Val[i])
		}
		f.dprediction[i] = slope / v
	}
	f.loss /= v
	return nil
}

// size returns the size of the terms that prediction p of validation row i is a
// sum of. Those of a qpdiff.Predictor are not known; the prediction stands for them.
func (f *splitFit) size(i int, p float64) float64 {
	if _, ok := f.learner.(qpdiff.Predictor); ok {
		return math.Abs(p)
	}
	_, m := f.train.X.Dims()
	size := math.Abs(f.intercept)
	for j, w := range f.theta {
		if j < m {
			w *= f.val[i*m+j]
		}
		size += math.Abs(w)
	}
	return size
}

// predict writes the predictions of the validation rows to dprediction.
func (f *splitFit) predict() error {
	if d, ok := f.learner.(qpdiff.Predictor); ok {
		if err := d.Predict(&f.work, f.dprediction, f.valX); err != nil {
			return err
		}
		for i := range f.dprediction {
			f.dprediction[i] += f.intercept
		}
		return nil
	}
	_, m := f.train.X.Dims()
	w := f.theta[:m]
	constant := sum(f.intercept, f.theta[m:])
	for i := range f.dprediction {
		f.dprediction[i] = predict(constant, w, f.val[i*m:i*m+m])
	}
	return nil
}

// backward adds the cotangents of hyperparameters and normalised features, from
// those of the predictions.
func (f *splitFit) backward() error {
	if d, ok := f.learner.(qpdiff.Predictor); ok {
		return d.PredictVJP(&f.work, &f.grad, f.dvalX, f.valX, f.dprediction)
	}
	_, m := f.train.X.Dims()
	clear(f.dtheta)
	for i, d := range f.dprediction {
		for j, xj := range f.val[i*m : i*m+m] {
			f.dtheta[j] += d * xj
		}
		for j := m; j < len(f.dtheta); j++ {
			f.dtheta[j] += d
		}
		if f.grad.X != nil {
			for j, wj := range f.theta[:m] {
				f.dval[i*m+j] = d * wj
			}
		}
	}
	return f.learner.VJP(&f.work, &f.grad, f.dtheta)
}

// gatherCotangents sums the splits' cotangents of the features, in the order
// of the splits.
func (cv *CV) gatherCotangents() {
	cv.asTraining.Zero()
	cv.asValidation.Zero()
	scale := 1 / float64(len(cv.fits))
	for j := range cv.fits {
		f := &cv.fits[j]
		if cv.full != nil {
			floats.AddScaled(cv.asTraining.RawMatrix().Data, scale, f.grad.X.RawMatrix().Data)
		} else {
			scatterAdd(cv.asTraining, f.grad.X.RawMatrix().Data, f.split.Train, scale)
		}
		scatterAdd(cv.asValidation, f.dval, f.split.Val, scale)
	}
	cv.total.Add(cv.asTraining, cv.asValidation)
}

// FeatureCotangents returns the two parts of ∂L_cv/∂φ at the last gradient,
// each N×m: of the features as rows that the splits train on, which reach the
// loss through the fitted θ, and of the features as rows that the splits
// validate on, which reach it directly through the predictions. Their sum is
// the whole cotangent, which for rows of equal features may hold only along moves
// that keep them equal: see [qpdiff.TiedLearner]. They are nil without a feature map, and
// valid until the next call of Eval.
func (cv *CV) FeatureCotangents() (asTraining, asValidation *mat.Dense) {
	return cv.asTraining, cv.asValidation
}

// Reset forgets every warm start: what follows has the same bits as with a new
// CV of the same Config.
func (cv *CV) Reset() {
	if cv.full != nil {
		cv.full.Reset()
	}
	for j := range cv.fits {
		cv.fits[j].learner.Reset()
	}
	cv.generalised = false
}

func (cv *CV) checkAlpha(alpha []float64) error {
	if len(alpha) != cv.Dims() {
		return badArg("alpha", qpdiff.ErrShape, "give the learner's hyperparameters, then the feature map's parameters",
			"has %d entries instead of %d", len(alpha), cv.Dims())
	}
	for i, a := range alpha {
		if !finite(a) {
			return badArg("alpha", qpdiff.ErrNotFinite, "take a smaller step or project onto bounds", "holds %v at index %d", a, i)
		}
	}
	return nil
}

// predict returns the linear prediction constant + wᵀx.
func predict(constant float64, w, x []float64) float64 {
	for j, v := range x {
		constant += w[j] * v
	}
	return constant
}

func sum(s float64, v []float64) float64 {
	for _, x := range v {
		s += x
	}
	return s
}

// gather copies the named rows of src to dst, row-major without gaps.
func gather(dst []float64, src *mat.Dense, rows []int) {
	s := src.RawMatrix()
	for i, row := range rows {
		copy(dst[i*s.Cols:(i+1)*s.Cols], s.Data[row*s.Stride:])
	}
}

// complement returns the numbers from 0 to n−1 that rows does not hold. It is
// never nil.
func complement(rows []int, n int) []int {
	in := make([]bool, n)
	for _, r := range rows {
		in[r] = true
	}
	out := make([]int, 0, n-len(rows))
	for i, held := range in {
		if !held {
			out = append(out, i)
		}
	}
	return out
}

// scatterAdd adds scale times the rows of src to the named rows of dst.
func scatterAdd(dst *mat.Dense, src []float64, rows []int, scale float64) {
	d := dst.RawMatrix()
	for i, row := range rows {
		to := d.Data[row*d.Stride : row*d.Stride+d.Cols]
		for j, v := range src[i*d.Cols : (i+1)*d.Cols] {
			to[j] += scale * v
		}
	}
}

func finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }
