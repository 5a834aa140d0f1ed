package cvgm

import (
	"context"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/normalise"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Model is a learner fitted to all data at chosen hyperparameters: the
// prediction function A_α(S).
type Model struct {
	Hyper     []float64 // the learner's hyperparameters
	Theta     []float64 // weights of the m features, then the learner's own intercept if it has one
	Intercept float64   // added to predictions; 0 with NoCentring
	Prepared  Prepared  // makes features of the columns of x; if nil, the columns are the features
	// The learner's features are (φ(x) − Mean)/Std. With Standardise, a constant feature has the
	// Std math.MaxFloat64.
	Mean, Std []float64
	Features  FeatureMap
	Params    []float64 // of the feature map
	// Kernel makes the predictions, in place of θᵀx, if the learner is a [kernel.Machine]. Kernel
	// holds the support rows. For other learners it is nil.
	Kernel *kernel.Model
	// Predictor is nil if the learner is a [kernel.Machine] or predicts by θᵀx. For any other learner,
	// Predictor makes the predictions, and holds the data that they need.
	Predictor learn.Predictor
	// LogOdds is true if the predictions are the log odds of the label +1. This holds if the
	// Convention of the learner is learn.LogisticLoss. The JSON of a pipeline contains LogOdds. The
	// JSON of a model does not.
	LogOdds bool
	// LogMean is true if the predictions are logarithms of expected labels. This holds if the
	// Convention of the learner is learn.PoissonLoss. The JSON of a pipeline contains LogMean.
	LogMean bool
	// Freedom holds the effective degrees of freedom of each entry of Theta, if the learner is a
	// [learn.FreedomLearner]. For other learners it is nil. The JSON of a pipeline contains
	// Freedom.
	Freedom []float64
}

// Final fits a new learner to all examples at α, with the normalisation and intercept of Config. It
// is the last step of the method, after the search for α. The errors are the same as for Eval, but
// none is a SplitError.
func (cv *CV) Final(alpha []float64) (*Model, error) {
	n, _ := cv.c.Data.X.Dims()
	return cv.FinalOn(sample.Complement(nil, n), alpha)
}

// FinalOn is Final for some of the examples, such as the training rows of a split. The parameter
// rows holds the indices of these examples. If an index is out of range or occurs twice, the error
// is of kind ErrDomain. If all these examples have the weight 0, the error is of kind ErrEmpty.
func (cv *CV) FinalOn(rows []int, alpha []float64) (*Model, error) {
	return cv.FinalContext(context.Background(), rows, alpha)
}

// FinalContext is FinalOn with a context. If ctx ends, FinalContext returns the error of ctx; a
// [learn.ContextLearner] then stops its load or fit.
func (cv *CV) FinalContext(ctx context.Context, rows []int, alpha []float64) (*Model, error) {
	if l, ok := cv.fits[0].learner.(learn.ClassLearner); ok {
		return nil, args.Bad("Config.Learner", qpdiff.ErrDomain, "use FinalClasses", "is a %T, which has a model for each class", l)
	}
	m, err := cv.fitModel(ctx, rows, alpha)
	if err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// fitModel fits a new learner to the rows and returns its model. The Theta of the model holds the
// whole θ of the learner: for a [learn.ClassLearner] the weights of all classes.
func (cv *CV) fitModel(ctx context.Context, rows []int, alpha []float64) (*Model, error) {
	if err := cv.checkAlpha(alpha); err != nil {
		return nil, err
	}
	if err := cv.checkRows(rows); err != nil {
		return nil, err
	}
	hyper, params := cv.unpack(alpha, cv.c.Hyper)
	n, _ := cv.c.Data.X.Dims()
	m := &Model{Hyper: slices.Clone(hyper), Features: cv.c.Features}
	if m.Features != nil {
		m.Params = slices.Clone(params)
	}
	x, err := features(m.Features, m.Params, cv.x)
	if err != nil {
		return nil, err
	}
	learner, err := cv.c.newLearner()
	if err != nil {
		return nil, err
	}
	f := splitFit{split: Split{Train: sample.Positive(slices.Clone(rows), cv.c.Data.Weights)}, learner: learner}
	cv.prepare(&f)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	setContext(ctx, learner)
	defer setContext(context.Background(), learner) // the model may keep it
	if err := f.load(&cv.c, x); err != nil {
		return nil, err
	}
	if err := f.learner.Fit(f.theta, hyper); err != nil {
		return nil, cv.ofShare(err)
	}
	m.Theta, m.Intercept, m.Mean, m.Std = f.theta, f.intercept, f.normaliser.Mean, f.normaliser.Std
	if m.Prepared = f.prepared; cv.plainPreparer != nil {
		x, weights := cv.c.dense(), cv.c.Data.Weights
		if len(rows) < n {
			x, weights = copyRows(x, f.split.Train), sample.Pick(weights, f.split.Train)
		}
		if m.Prepared, err = cv.plainPreparer.Fit(x, weights); err != nil {
			return nil, err
		}
	}
	if t, ok := learner.(learn.Tunable); ok {
		m.LogOdds, m.LogMean = t.Convention().Loss == learn.LogisticLoss, t.Convention().Loss == learn.PoissonLoss
	}
	if l, ok := learner.(learn.FreedomLearner); ok {
		m.Freedom = make([]float64, len(m.Theta))
		if err := l.Freedom(m.Freedom); err != nil {
			return nil, err
		}
	}
	if k, ok := f.learner.(kernel.Machine); ok {
		if m.Kernel, err = k.Model(); err != nil {
			return nil, err
		}
	} else {
		m.Predictor = f.predictor
	}
	return m, nil
}

// checkRows returns an error for the first row that is out of range or listed twice.
func (cv *CV) checkRows(rows []int) error {
	n := len(cv.c.Data.Y)
	seen := make([]bool, n)
	for k, i := range rows {
		if i < 0 || i >= n || seen[i] {
			return args.Bad("rows", qpdiff.ErrDomain, "use each number from 0 to N − 1 once at most", "holds %d at index %d for N = %d examples", i, k, n)
		}
		seen[i] = true
	}
	weighs := func(i int) bool { return sample.Weights(cv.c.Data.Weights).At(i) > 0 }
	return args.BadIf(!slices.ContainsFunc(rows, weighs), "rows", qpdiff.ErrEmpty, "give examples with a weight", "hold no example that counts")
}

// This is the remedy in the error of a model whose parts do not fit together.
const together = "keep the parts of a model together"

// check returns an error for the first part of a model that is not finite, or that does not fit the
// other parts.
func (m *Model) check() error {
	if m == nil {
		return args.Bad("Model", qpdiff.ErrEmpty, "fit one with CV.Final or Tuner.Tune; a search that was stopped has none", "is nil")
	}
	n := len(m.Mean)
	if err := args.First(
		args.BadIf(n == 0 && len(m.Std) == 0, "Model", qpdiff.ErrEmpty, "fit a CV with Final, or read a model from JSON", "has no features"),
		args.BadIf(len(m.Std) != n, "Model.Mean", qpdiff.ErrShape, together, "has %d entries where Std has %d", n, len(m.Std)),
		args.BadIf(m.Predictor == nil && m.Kernel == nil && (len(m.Theta) < n || len(m.Theta) > n+1), "Model.Theta", qpdiff.ErrShape, together, "has %d entries for %d features", len(m.Theta), n),
		args.BadIf(m.Freedom != nil && len(m.Freedom) != len(m.Theta), "Model.Freedom", qpdiff.ErrShape, together, "has %d entries where Theta has %d", len(m.Freedom), len(m.Theta)),
		args.BadIf(m.Features == nil && len(m.Params) > 0, "Model.Params", qpdiff.ErrShape, together, "has %d entries without a feature map", len(m.Params)),
	); err != nil {
		return err
	}
	if err := m.checkParts(n); err != nil {
		return err
	}
	for _, part := range []struct {
		name   string
		values []float64
	}{{"Hyper", m.Hyper}, {"Theta", m.Theta}, {"Intercept", []float64{m.Intercept}}, {"Mean", m.Mean}, {"Std", m.Std}, {"Params", m.Params}, {"Freedom", m.Freedom}} {
		if err := args.CheckFinite("Model."+part.name, part.values, "fit at another α, or scale the data"); err != nil {
			return err
		}
	}
	for j, d := range m.Std {
		if !(d > 0) {
			return args.Bad("Model.Std", qpdiff.ErrDomain, "use positive deviations", "holds %v at index %d", d, j)
		}
	}
	return nil
}

// checkParts returns an error if the feature map, the preparer or the kernel does not fit n
// features.
func (m *Model) checkParts(n int) error {
	if m.Features != nil {
		if _, out := m.Features.Dims(); out != n || m.Features.NumParams() != len(m.Params) {
			return args.Bad("Model.Features", qpdiff.ErrShape, together, "has %d outputs and %d parameters where the model has %d features and %d parameters",
				out, m.Features.NumParams(), n, len(m.Params))
		}
	}
	if m.Prepared != nil {
		if _, out := m.Prepared.Dims(); m.Features != nil || out != n {
			return args.Bad("Model.Prepared", qpdiff.ErrShape, together, "has %d outputs where the model has %d features, or a feature map beside it", out, n)
		}
	}
	if m.Kernel == nil {
		return nil
	}
	if err := m.Kernel.Check(); err != nil || m.Kernel.X == nil {
		return err
	}
	_, columns := m.Kernel.X.Dims()
	return args.BadIf(columns != n, "Model.Kernel", qpdiff.ErrShape, together, "has rows of %d features where the model has %d", columns, n)
}

// columns returns the number of columns of x for a model without a feature map.
func (m *Model) columns() int {
	if m.Prepared == nil {
		return len(m.Mean)
	}
	in, _ := m.Prepared.Dims()
	return in
}

// Predict writes the prediction for each row of x to dst. If x has the wrong number of columns, or
// the model's parts do not fit together, the error matches ErrShape. If a prediction is not finite,
// it matches ErrNotFinite. If a sparse x does not visit each of its entries once, it matches
// ErrDomain. After an error dst is undefined.
//
// Predict reads only the stored entries of x if x is sparse (see [learn.Data]) and the columns of x
// are the features. Any other matrix that is not dense is copied to a dense matrix. If Prepared is
// a [StoredPrepared] with few stored features, a linear model uses only these features.
func (m *Model) Predict(dst []float64, x mat.Matrix) error {
	if err := m.check(); err != nil {
		return err
	}
	d := learn.Data{X: x}
	if dense, ok := x.(*mat.Dense); x == nil || ok && (dense == nil || dense.IsEmpty()) {
		return args.Bad("x", qpdiff.ErrEmpty, "give at least one row", "is empty")
	}
	rows, cols := x.Dims()
	if len(dst) != rows {
		panic("cvgm: dst has the wrong length")
	}
	if want := m.columns(); m.Features == nil && cols != want {
		return args.Bad("x", qpdiff.ErrShape, "give the columns that the model was fitted to", "has %d columns instead of %d", cols, want)
	}
	err := args.Stored(d)
	if err != nil {
		return err
	}
	p, stores := m.Prepared.(StoredPrepared)
	linear := m.Features == nil && m.Kernel == nil && m.Predictor == nil
	switch {
	case linear && m.Prepared == nil && d.Sparse():
		m.predictStored(dst, x)
	case linear && stores && sample.MostStored(p) > 0:
		if x, err = sample.PrepareStored(p, d.Dense(), sample.Complement(nil, rows)); err == nil {
			m.predictStored(dst, x)
		}
	default:
		err = m.predictDense(dst, d.Dense())
	}
	if err != nil {
		return err
	}
	return m.checkPredictions(dst)
}

// predictStored is Predict for a linear model whose features are the columns of x. It reads only
// the stored entries of x.
func (m *Model) predictStored(dst []float64, x mat.Matrix) {
	norm := normalise.Normaliser{Centre: true, Mean: m.Mean, Std: m.Std}
	norm.PredictStored(dst, x, sample.Complement(nil, len(dst)), m.Theta, m.Intercept)
}

// predictDense is Predict for a dense x that has been checked.
func (m *Model) predictDense(dst []float64, x *mat.Dense) error {
	prepared := m.Prepared != nil && !sample.Plain(m.Prepared, x)
	x, err := features(m.Features, m.Params, x)
	if err != nil {
		return err
	}
	norm := normalise.Normaliser{Centre: true, Mean: m.Mean, Std: m.Std}
	rows, width := len(dst), len(m.Mean)
	some := rows
	if m.Kernel == nil && m.Predictor == nil { // each prediction depends only on its own row
		some = min(rows, max(1, predictedEntries/width))
	}
	all, storage := sample.Complement(nil, rows), mat.NewDense(some, width, nil)
	for first := 0; first < rows && err == nil; first += some {
		last := min(first+some, rows)
		part, scaled := dst[first:last], storage.Slice(0, last-first, 0, width).(*mat.Dense)
		if !prepared {
			scaled.Copy(x.Slice(first, last, 0, width))
		} else if err := sample.Prepare(scaled.RawMatrix().Data, m.Prepared, x, all[first:last]); err != nil {
			return err
		}
		norm.Apply(scaled.RawMatrix().Data)
		if m.Kernel != nil {
			err = m.Kernel.Predict(part, scaled)
			floats.AddConst(m.Intercept, part)
		} else {
			err = predictRows(part, m.Predictor, nil, m.Theta, m.Intercept, scaled)
		}
	}
	return err
}

// A linear model prepares and normalises a block of rows at a time. The block has about predictedEntries
// entries.
const predictedEntries = 1 << 16

// checkPredictions returns an error for the first prediction that is not finite.
func (m *Model) checkPredictions(dst []float64) error {
	for i, p := range dst {
		if !args.Finite(p) {
			return args.Bad("x", qpdiff.ErrNotFinite, "remove or impute the row, or scale the features", "gives the prediction %v for row %d", p, i)
		}
	}
	return nil
}

// Risk returns the mean loss of the model's predictions on d, weighted by d.Weights. It returns the
// errors of Predict and of Data.Check. If d has Rows, which Risk does not support, or if a
// HuberLoss has no valid Delta, the error matches ErrDomain. If a loss overflows, it matches
// ErrNotFinite.
func (m *Model) Risk(loss Loss, d learn.Data) (float64, error) {
	losses, err := m.Losses(loss, d)
	if err != nil {
		return math.NaN(), err
	}
	return weightedMean(losses, d.Weights)
}

// weightedMean returns the mean of the losses with the given weights (equal weights if nil). It
// ignores a loss of weight 0.
func weightedMean(losses, weights []float64) (float64, error) {
	w := sample.Relative(weights, sample.Complement(nil, len(losses)))
	var total float64
	for i, c := range losses {
		if weights != nil && weights[i] == 0 {
			continue
		}
		if total += w.At(i) * c; !args.Finite(total) {
			return math.NaN(), lossOverflow("has losses up to %v at example %d, whose sum overflows", c, i)
		}
	}
	return total / w.Total(len(losses)), nil
}

// Losses returns the loss of the model's prediction for each example of d. For an example of weight
// 0 it returns 0. The errors are the same as for [Model.Risk].
func (m *Model) Losses(loss Loss, d learn.Data) ([]float64, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	if err := args.First(args.Data("d", d, m.Prepared != nil), checkLoss(loss)); err != nil {
		return nil, err
	}
	losses := make([]float64, len(d.Y)) // first the predictions
	if err := m.Predict(losses, d.X); err != nil {
		return nil, err
	}
	for i, p := range losses {
		if losses[i] = 0; d.Weights != nil && d.Weights[i] == 0 {
			continue
		}
		if losses[i], _ = loss.Eval(p, d.Y[i]); !args.Finite(losses[i]) {
			return nil, lossOverflow("has the loss %v at the prediction %v of example %d", losses[i], p, i)
		}
	}
	return losses, nil
}

// lossOverflow returns the error for a loss that is not finite on the examples d.
func lossOverflow(format string, values ...any) error {
	return args.Bad("d", qpdiff.ErrNotFinite, "use another loss, or scale the labels", format, values...)
}
