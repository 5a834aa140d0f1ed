package cvgm

import (
	"context"
	"math"
	"reflect"
	"runtime"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/memory"

	"gonum.org/v1/gonum/mat"
)

// New checks the configuration and prepares every split. Errors name the invalid argument. If only
// one split causes the error, the error is a [SplitError].
//
// New allocates the copies of the rows for each split only if they fit into Config.MaxBytes.
func New(c Config) (*CV, error) { return NewContext(context.Background(), c) }

// NewContext is New with a context. If ctx ends, NewContext stops and returns the error of ctx. If
// it was loading a split, this error is in a [SplitError]. A [learn.ContextLearner] stops loading
// at once. Other learners finish the load first.
func NewContext(ctx context.Context, c Config) (*CV, error) {
	if err := args.First(
		args.BadIf(c.MaxBytes < 0, "Config.MaxBytes", qpdiff.ErrDomain, "use a positive number, or zero for the default", "is %d", c.MaxBytes),
		args.BadIf(c.Data.MaxBytes < 0, "Config.Data.MaxBytes", qpdiff.ErrDomain, "use a positive number, or zero for the default", "is %d", c.Data.MaxBytes),
		args.BadIf(len(c.Splits) == 0, "Config.Splits", qpdiff.ErrEmpty, "draw some, for example with RandomSplits", "is empty"),
		args.BadIf(c.Learner == nil, "Config.Learner", qpdiff.ErrEmpty, "give a function that returns a new learner", "is nil"),
		args.BadIf(c.Loss == nil, "Config.Loss", qpdiff.ErrEmpty, "use SquaredError{}, LogisticLoss{}, …", "is nil"),
		checkLoss(c.Loss),
		args.BadIf(c.Centring < NoCentring || c.Centring > MeanCentring, "Config.Centring", qpdiff.ErrDomain, "use one of the constants", "is %d", c.Centring),
	); err != nil {
		return nil, err
	}
	c, plain := c.withoutPlain()
	first, err := c.newLearner()
	if err != nil {
		return nil, err
	}
	if err := c.prepareData(first); err != nil {
		return nil, err
	}
	n, raw := c.Data.X.Dims()
	if err := args.First(c.checkPreparer(raw), c.checkClasses(first)); err != nil {
		return nil, err
	}
	cv := &CV{c: c, plainPreparer: plain, features: c.width()}
	if c.Features != nil {
		if err := cv.checkMap(raw); err != nil {
			return nil, err
		}
	}
	c = cv.c
	theta, hyper := first.Dims(cv.features)
	cv.hyper = hyper
	if c.Hyper != nil && len(c.Hyper) != hyper {
		return nil, args.Bad("Config.Hyper", qpdiff.ErrShape, "give one value per hyperparameter of the learner",
			"has %d entries where the learner has %d hyperparameters", len(c.Hyper), hyper)
	}
	if cv.fullLearner = c.wholeLearner(first); cv.fullLearner == nil {
		cv.loo = newLeaveOneOut(&cv.c, first)
	}
	if err := cv.begin(first); err != nil {
		return nil, err
	}
	if cv.fullLearner != nil {
		cv.fullTheta = make([]float64, theta)
	}
	if c.Features != nil {
		cv.asTraining, cv.asValidation, cv.totalCotangent = mat.NewDense(n, cv.features, nil), mat.NewDense(n, cv.features, nil), mat.NewDense(n, cv.features, nil)
	}
	cv.fits, cv.results, cv.dhyper = make([]splitFit, len(c.Splits)), make([]splitResult, len(c.Splits)), make([]float64, len(c.Splits)*hyper)
	cv.takeRows(first)
	defer cv.watchContext(context.Background())
	if cv.fullLearner != nil && c.Features == nil {
		cv.watchContext(ctx)
		if err := cv.fullLearner.Load(cv.allExamples(c.Data.Dense(), cv.fullLearner)); err != nil {
			return nil, err
		}
	}
	for j := range c.Splits {
		if err := cv.addSplit(j, first); err != nil {
			return nil, err
		}
	}
	if cv.loo == nil && c.Features == nil {
		if err := cv.loadSplits(ctx); err != nil {
			return nil, err
		}
	}
	cv.batchLength = cv.mostTogether()
	cv.evalState.evalSplit, cv.evalState.evalBatch = cv.evalSplit, cv.evalBatch
	if c.learned() {
		cv.ties.prepare(&cv.c, cv.features, false)
	}
	return cv, nil
}

// The method begin computes the memory that the CV needs. If one learner can evaluate all splits at
// once, begin also prepares this learner. The parameter firstLearner is the first result of
// Config.Learner.
func (cv *CV) begin(firstLearner learn.Learner) error {
	c := &cv.c
	cv.count = c.countCV(firstLearner, cv.features, cv.loo)
	if err := c.tooLarge(cv.count.total()); err != nil || cv.loo == nil {
		return err
	}
	if cv.loo.loadRows(c, c.dense()) == nil {
		return nil
	}
	cv.loo = nil
	cv.count = c.countCV(firstLearner, cv.features, nil)
	return c.tooLarge(cv.count.total())
}

// prepareData checks Data. Unless the learner l reads stored entries, it copies X to a *mat.Dense,
// once for all splits.
func (c *Config) prepareData(l learn.Learner) error {
	storedEntries := c.views(l)
	inPlace := storedEntries && c.Prepare == nil && c.Data.Sparse()
	if _, ok := c.Data.X.(*mat.Dense); !ok && c.Data.X != nil && !inPlace {
		rows, n := c.Data.X.Dims()
		if err := c.tooLarge(memory.Bytes(word * float64(rows) * float64(n))); err != nil {
			return err
		}
		if err := args.Stored(c.Data); err != nil {
			return err
		}
		c.Data.X = c.Data.Dense()
	}
	if storedEntries && c.Centring == FixedLeastSquares && c.Standardise {
		c.Centring = MeanCentring // the two are equal on standardised features
	}
	if storedEntries && c.Prepare == nil {
		fixed := c.Centring == FixedLeastSquares
		return args.First(
			args.BadIf(fixed, "Config.Centring", qpdiff.ErrDomain, "use MeanCentring, or set Standardise", "is FixedLeastSquares, which needs a dense Data.X"),
			args.Data("Config.Data", c.Data, false),
		)
	}
	return args.Data("Config.Data", c.Data, c.Prepare != nil)
}

// checkMap checks that Config.Features fits rows of ncols raw columns.
func (cv *CV) checkMap(ncols int) error {
	c := &cv.c
	in, out := c.Features.Dims()
	fixed := c.Centring == FixedLeastSquares && c.learned()
	if err := args.First(
		args.BadIf(in != ncols, "Config.Features", qpdiff.ErrShape, "match the map's inputs to the columns of Data.X", "takes %d inputs where Data.X has %d columns", in, ncols),
		args.BadIf(out < 1, "Config.Features", qpdiff.ErrShape, "give the map at least one output", "has %d outputs", out),
		args.BadIf(fixed && !c.Standardise, "Config.Centring", qpdiff.ErrDomain, "use MeanCentring, or set Standardise",
			"is FixedLeastSquares, which would depend on the parameters of Config.Features"),
	); err != nil {
		return err
	}
	if fixed {
		// On standardised features, FixedLeastSquares and MeanCentring have the same result.
		// MeanCentring stays exact if features are almost linearly dependent.
		c.Centring = MeanCentring
	}
	return nil
}

// takeRows sets the fields x, viewed and gram, for a learner l.
func (cv *CV) takeRows(l learn.Learner) {
	c := &cv.c
	cv.readsInPlace = c.views(l)
	if cv.x = c.dense(); cv.x != nil && c.Prepare == nil && cv.readsInPlace {
		cv.gram = learn.NewGram(cv.x, c.Data.Weights)
	}
}

// addSplit prepares the fit of split j, except for the features. firstLearner is the first learner
// that Config.Learner returned.
func (cv *CV) addSplit(j int, firstLearner learn.Learner) error {
	c, s, f := cv.c, cv.c.Splits[j], &cv.fits[j]
	n := len(c.Data.Y)
	err := s.check(n)
	if err == nil {
		f.split, err = s.withWeight(c.Data.Weights)
	}
	if err != nil {
		return &SplitError{j, err}
	}
	if f.learner, err = c.newLearner(); err != nil {
		return err
	}
	if v := reflect.ValueOf(firstLearner); v.Comparable() && f.learner == firstLearner {
		return args.Bad("Config.Learner", qpdiff.ErrDomain, "return a new learner from each call", "returned the same %T twice", firstLearner)
	}
	if c.Hyper == nil {
		f.grad.Hyper = cv.dhyper[j*cv.hyper:][:cv.hyper:cv.hyper]
	}
	if cv.loo != nil {
		return nil
	}
	if cv.fullLearner != nil {
		f.leftOut = sample.Complement(f.split.Train, n)
	}
	cv.prepare(f)
	return nil
}

// loadSplits loads all splits. Their features must not depend on α.
func (cv *CV) loadSplits(ctx context.Context) error {
	cv.watchContext(ctx)
	workers := cv.c.Workers
	if cv.c.Prepare != nil {
		workers = 1 // a Preparer's Fit is not for concurrent use
	}
	return qpdiff.ForEach(workers, len(cv.fits), func(j int) error {
		if err := ctx.Err(); err != nil {
			return &SplitError{j, err}
		}
		return cv.loadSplit(j)
	})
}

// loadSplit loads split j. Its features must not depend on α.
func (cv *CV) loadSplit(j int) (err error) {
	if f := &cv.fits[j]; cv.fullLearner != nil {
		err = cv.loadSubset(f, cv.x)
	} else {
		err = f.load(&cv.c, cv.x)
	}
	if err != nil {
		return &SplitError{j, err}
	}
	return nil
}

// loadSubset loads a split if cv.fullLearner is not nil.
func (cv *CV) loadSubset(f *splitFit, x *mat.Dense) error {
	sample.Gather(f.val, x, f.split.Val)
	return f.learner.(learn.SubsetLearner).LoadSubset(cv.fullLearner, f.leftOut)
}

// Eval returns L_cv(α). If grad is not nil, Eval overwrites it with the gradient. Eval is a
// [search.Objective]. If α has the wrong length, Eval returns an error. If grad has the wrong
// length, Eval panics.
//
// If a split fails, the error is a [SplitError]. If the gradient does not exist and
// Config.Generalised is not set, the error matches qpdiff.ErrNotDifferentiable. If a loss or a
// derivative overflows, it matches qpdiff.ErrNotFinite. After an error the loss is NaN, and grad is
// undefined.
func (cv *CV) Eval(grad, alpha []float64) (float64, error) {
	return cv.eval(context.Background(), grad, nil, alpha)
}

// EvalContext is Eval with a context. If ctx ends, EvalContext stops and returns the error of ctx.
// If it was evaluating a split, this error is in a [SplitError]. A [learn.ContextLearner] stops its
// load, fit or long derivative at once. Other learners finish first, and a [learn.BatchLearner]
// finishes its batch.
func (cv *CV) EvalContext(ctx context.Context, grad, alpha []float64) (float64, error) {
	return cv.eval(ctx, grad, nil, alpha)
}

// eval is EvalContext. If data is not nil, it also computes the derivatives with respect to the
// data.
func (cv *CV) eval(ctx context.Context, grad []float64, data *dataGradient, alpha []float64) (float64, error) {
	cv.isGeneralised = cv.isGeneralised && grad == nil && data == nil
	cv.hasPredictions = false
	if err := cv.checkAlpha(alpha); err != nil {
		return math.NaN(), err
	}
	if grad != nil && len(grad) != len(alpha) {
		panic("cvgm: grad has the wrong length")
	}
	if len(grad) == 0 {
		grad = nil // an empty gradient exists at kinks, too
	}
	hyper, params := cv.unpack(alpha, cv.c.Hyper)
	x, err := features(cv.c.Features, params, cv.x)
	if err != nil {
		return math.NaN(), err
	}
	cv.watchContext(ctx)
	if cv.fullLearner != nil {
		if err := cv.fullLearner.Load(cv.allExamples(x, cv.fullLearner)); err != nil {
			return math.NaN(), err
		}
		// If this fit fails, each split starts from scratch or returns its own error.
		cv.fullLearner.Fit(cv.fullTheta, hyper)
	}
	cv.evalState.ctx, cv.evalState.x, cv.evalState.hyper, cv.evalState.gradient, cv.evalState.data = ctx, x, hyper, grad != nil, data
	k := float64(len(cv.fits))
	var loss float64
	var generalised bool
	if grad != nil {
		clear(cv.dhyper)
	}
	atOnce := cv.loo != nil && data == nil && cv.loo.eval(&cv.c, cv.allExamples(x, cv.loo.learner), hyper, grad != nil) && (grad == nil || cv.gradientAtOnce(grad))
	cv.evalState.atOnce = atOnce
	if atOnce {
		loss = cv.loo.fit.loss
	} else {
		if err := cv.countSplits(); err != nil {
			return math.NaN(), err
		}
		work, parts := cv.evalState.evalSplit, len(cv.fits)
		if size := cv.batchSize(); size > 1 {
			cv.evalState.batch = size
			work, parts = cv.evalState.evalBatch, (parts+size-1)/size
		}
		if err := qpdiff.ForEach(cv.c.Workers, parts, work); err != nil {
			return math.NaN(), err
		}
		for j := range cv.results {
			loss += cv.results[j].loss
			generalised = generalised || cv.results[j].isGeneralised
		}
		loss /= k
	}
	if !args.Finite(loss) {
		return math.NaN(), overflow("the CV loss is %v, although the loss of each split is finite", loss)
	}
	if grad != nil {
		if atOnce {
			generalised = cv.loo.fit.metKink || cv.loo.fit.grad.Generalised
		} else {
			cv.gradientOfSplits(grad, k)
		}
		if err := cv.completeGradient(grad, generalised, atOnce); err != nil {
			return math.NaN(), err
		}
	}
	cv.hasPredictions = true
	return loss, nil
}

// evalSplit evaluates split j.
func (cv *CV) evalSplit(j int) error {
	f := &cv.fits[j]
	err := cv.loadForEval(f)
	if err == nil {
		err = f.eval(&cv.c, cv.evalState.hyper, cv.evalState.gradient, cv.evalState.data)
	}
	if err != nil {
		return &SplitError{j, cv.ofShare(err)}
	}
	cv.results[j] = f.result()
	return nil
}

// watchContext makes ctx the context of all fits.
func (cv *CV) watchContext(ctx context.Context) {
	ends := ctx.Done() != nil
	if !ends && !cv.watching {
		return
	}
	cv.watching = ends
	for j := range cv.fits {
		setContext(ctx, cv.fits[j].learner)
	}
	if cv.fullLearner != nil {
		setContext(ctx, cv.fullLearner)
	}
	if cv.loo != nil {
		setContext(ctx, cv.loo.learner)
	}
}

// setContext makes ctx the context of the learner l, if l takes a context.
func setContext(ctx context.Context, l learn.Learner) {
	if stops, ok := l.(learn.ContextLearner); ok {
		stops.SetContext(ctx)
	}
}

// loadForEval loads the data of split f into its learner, if f is not loaded yet, or if there is a
// feature map. If cv.fullLearner is not nil, the learner of f takes its data from it at each
// evaluation.
func (cv *CV) loadForEval(f *splitFit) error {
	err := cv.evalState.ctx.Err()
	switch {
	case err != nil:
	case cv.fullLearner != nil:
		err = cv.loadSubset(f, cv.evalState.x)
	case cv.c.Features != nil || !f.loaded:
		if f.train.X == nil {
			cv.prepare(f)
		}
		err = f.load(&cv.c, cv.evalState.x)
	}
	return err
}

// eval fits the split and computes its validation loss. If withGradient is true, it also computes
// the derivatives of the loss with respect to the hyperparameters and to the split's features.
func (f *splitFit) eval(c *Config, hyper []float64, withGradient bool, data *dataGradient) error {
	if err := f.learner.Fit(f.theta, hyper); err != nil {
		return err
	}
	if err := f.value(c, withGradient, data); err != nil || !withGradient {
		return err
	}
	f.clearGradient()
	return f.endGradient(c, f.plainBackward(&f.grad, f.dvalX))
}

// value computes the validation loss of the fit. If withGradient is true, it also computes the
// cotangents of the predictions. If data is not nil, value computes the split's part of data.
func (f *splitFit) value(c *Config, withGradient bool, data *dataGradient) error {
	f.hasPredictions = false
	if f.triangle != nil && data == nil && f.setTriangleLoss(withGradient) {
		return nil
	}
	if err := f.ensurePredictions(); err != nil {
		return err
	}
	if data != nil {
		f.data = f.newSplitData(c, data)
	}
	if err := f.setLoss(c, withGradient || data != nil, data == nil && f.grad.X == nil); err != nil || data == nil {
		return err
	}
	return f.dataBackward(c, data)
}

// result returns the result of the last evaluation.
func (f *splitFit) result() splitResult { return splitResult{f.loss, f.metKink || f.grad.Generalised} }

// clearGradient sets the cotangents of the split's features to zero, before terms are added to
// them. The gradient with respect to the hyperparameters is already zero, because the caller clears
// cv.dhyper.
func (f *splitFit) clearGradient() {
	f.grad.Generalised = false
	if f.grad.X != nil {
		clear(f.grad.X.RawMatrix().Data)
		clear(f.dval)
	}
}

// endGradient completes a gradient of the split. The parameter err is the error of the learner's
// VJP.
func (f *splitFit) endGradient(c *Config, err error) error {
	if err != nil {
		return f.withoutKinks(c, err)
	}
	if f.grad.X != nil && f.leftOut == nil {
		f.normaliser.Backward(f.train.Dense().RawMatrix().Data, f.val, f.grad.X.RawMatrix().Data, f.dval)
	}
	return nil
}

// Each worker gets at least batchesPerWorker batches of splits. With several batches, no worker
// waits long for the others.
const batchesPerWorker = 4

// mostTogether returns the number of splits for which a batch is most efficient.
func (cv *CV) mostTogether() int {
	b, ok := cv.fits[0].learner.(learn.BatchLearner)
	if !ok || cv.fullLearner != nil {
		return 1
	}
	size := learn.Size{Rows: len(cv.fits[0].split.Train), Features: cv.features}
	if cv.readsInPlace {
		size = cv.c.viewSize(cv.features)
	}
	size.Counting = size.Rows
	most := b.Batch(b, size)
	for j := range cv.fits {
		l := cv.fits[j].learner
		if _, predicts := l.(learn.Predictor); predicts {
			return 1
		}
		most = min(most, b.Batch(l, size))
	}
	return max(1, most)
}

// batchSize returns the number of splits in a batch. The results do not depend on it.
func (cv *CV) batchSize() int {
	most, workers := cv.batchLength, cv.c.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if workers > 1 {
		most = min(most, max(1, len(cv.fits)/(batchesPerWorker*workers)))
	}
	return most
}

// evalBatch evaluates one batch of splits. It returns the first error of these splits.
func (cv *CV) evalBatch(batch int) error {
	r, lo := &cv.evalState, batch*cv.evalState.batch
	fits := cv.fits[lo:min(lo+r.batch, len(cv.fits))]
	b := cv.batches.takeBatch(len(fits))
	defer cv.batches.putBack(b)
	for i := range fits {
		f := &fits[i]
		b.items[i] = learn.BatchItem{Learner: f.learner, Theta: f.theta, Grad: &f.grad, DTheta: f.dtheta, Err: cv.loadForEval(f)}
	}
	l := cv.fits[0].learner.(learn.BatchLearner)
	l.FitBatch(&b.workspace, b.items, r.hyper)
	for i := range fits {
		f, err := &fits[i], &b.items[i].Err
		if *err == nil {
			*err = f.value(&cv.c, r.gradient, r.data)
		}
		if f.fitFailed = *err != nil; r.gradient && !f.fitFailed {
			f.clearGradient()
			f.cotangent(f.grad.X != nil, f.dvalX)
		}
	}
	if r.gradient {
		l.VJPBatch(&b.workspace, b.items)
	}
	for i := range fits {
		f, err := &fits[i], b.items[i].Err
		if r.gradient && !f.fitFailed && (err != nil || f.grad.X != nil) {
			err = f.endGradient(&cv.c, err)
		}
		if err != nil {
			return &SplitError{lo + i, cv.ofShare(err)}
		}
		cv.results[lo+i] = f.result()
	}
	return nil
}
