package cvgm

import (
	"errors"
	"fmt"
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

// splitFit is the workspace of one split. The fields that each evaluation reads come first, because
// the fits of thousands of splits are too large for the caches. The last of them is the field
// joint.
type splitFit struct {
	learner     learn.Learner
	predictor   learn.Predictor // the learner, if it predicts in place of θᵀx
	features    int
	intercept   float64
	loss        float64
	theta       []float64
	dtheta      []float64
	val         []float64  // normalised rows, row-major
	valX        *mat.Dense // val as a matrix
	valY        []float64  // raw labels
	valWeights  sample.Weights
	prediction  []float64 // of the validation rows
	dprediction []float64
	grad        learn.Grad // has Hyper unless Config.Hyper is set, and X only with a feature map
	dval        []float64
	dvalX       *mat.Dense // dval as a matrix
	// readsInPlace is set if train refers to the rows of all examples, or to the stored features of
	// these rows, without a copy. In this case the learner reads the rows of split.Train and
	// normalises them.
	readsInPlace bool
	loaded       bool // the last load succeeded
	metKink      bool // the last gradient met a kink of the loss
	fitFailed    bool // before the gradient
	// If triangle is not nil, the loss and its gradient are computed from it instead of from the
	// validation rows, and the predictions are computed only if they are needed: see
	// ensurePredictions.
	hasPredictions bool
	triangle       *sample.Triangle
	joint          *jointFit // for a learn.ClassLearner; otherwise nil

	split      Split // without the rows of weight 0
	leftOut    []int // with cv.fullLearner: the examples that are not in split.Train
	workspace  qpdiff.Workspace
	prepared   Prepared             // fitted to the training rows; nil without Config.Prepare
	normaliser normalise.Normaliser // with the weights of the training rows
	train      learn.Data           // normalised rows, labels minus the intercept; empty with cv.fullLearner
	data       *splitData           // of a DataGradient
}

// prepare allocates the storage for m features.
func (f *splitFit) prepare(c *Config, m int, viewed bool) {
	t, v := len(f.split.Train), len(f.split.Val)
	theta, _ := f.learner.Dims(m)
	f.predictor, _ = f.learner.(learn.Predictor)
	f.normaliser = normalise.Normaliser{Centre: c.centres(), Scale: c.Standardise, Learned: c.learned(),
		Weights: sample.Relative(c.Data.Weights, f.split.Train)}
	f.valWeights = sample.Relative(c.Data.Weights, f.split.Val)
	f.features = m
	shape := t // of the learner's data
	if f.readsInPlace = viewed; viewed {
		f.train = learn.Data{Y: make([]float64, len(c.Data.Y)), Rows: f.split.Train, Weights: c.Data.Weights}
		v = 0
	} else if f.leftOut != nil {
		shape = len(c.Data.Y) // cv.fullLearner has all examples
	} else {
		f.train = learn.Data{X: mat.NewDense(t, m, nil), Y: make([]float64, t), Weights: sample.Pick(c.Data.Weights, f.split.Train)}
	}
	picked := len(f.split.Val)
	all := make([]float64, 2*theta+3*picked+v*m) // next to each other: see splitFit
	take := func(n int) []float64 {
		taken := all[:n:n]
		all = all[n:]
		return taken
	}
	f.theta, f.dtheta, f.prediction, f.dprediction, f.valY, f.val = take(theta), take(theta), take(picked), take(picked), take(picked), take(v*m)
	copy(f.valY, sample.Pick(c.Data.Y, f.split.Val))
	f.joint = newJointFit(f.learner, f.valY)
	if c.Features != nil {
		f.grad.X, f.dval = mat.NewDense(shape, m, nil), make([]float64, v*m)
	}
	if v > 0 {
		f.valX = mat.NewDense(v, m, f.val)
		if f.dval != nil {
			f.dvalX = mat.NewDense(v, m, f.dval)
		}
	}
}

// load loads the features of the split's training rows into the learner. The rows are rows of x. It
// normalises the features with the statistics of the training rows, and subtracts the intercept
// from the labels.
func (f *splitFit) load(c *Config, x *mat.Dense) (err error) {
	if f.readsInPlace {
		err = f.loadView(c, x)
	} else {
		err = f.loadCopies(c, x)
	}
	f.loaded = err == nil
	return err
}

// loadCopies is load for rows that are gathered.
func (f *splitFit) loadCopies(c *Config, x *mat.Dense) error {
	if err := f.gatherRows(c, x); err != nil {
		return err
	}
	train := f.train.Dense().RawMatrix()
	for i, row := range f.split.Train {
		f.train.Y[i] = c.Data.Y[row]
	}
	if err := f.normaliser.Fit(train.Data, train.Cols); err != nil {
		return err
	}
	f.normaliser.Apply(train.Data)
	f.normaliser.Apply(f.val)
	switch c.Centring {
	case NoCentring:
	case FixedLeastSquares:
		f.intercept = normalise.LeastSquaresIntercept(train.Data, train.Cols, f.train.Y, f.normaliser.Weights)
	case MeanCentring:
		f.intercept = f.normaliser.Weights.Mean(f.train.Y)
	}
	if !args.Finite(f.intercept) {
		return args.Bad("Data", qpdiff.ErrNotFinite, "scale the features and the labels", "has the intercept %v over the training rows", f.intercept)
	}
	floats.AddConst(-f.intercept, f.train.Y)
	f.setTriangle(c)
	return f.learner.Load(f.train)
}

// triangleEntries returns the number of entries of the field triangle for a split with v validation
// rows, or 0 if the split uses the rows instead. The argument params is the learner's number of
// parameters for m features.
func (c *Config) triangleEntries(l learn.Learner, v, m, params int) int {
	_, squares := c.Loss.(SquaredError)
	_, predicts := l.(learn.Predictor)
	if !squares || predicts || params != m || c.Features != nil {
		return 0
	}
	return sample.TriangleEntries(v, m)
}

// setTriangle sets the triangle, if there is one.
func (f *splitFit) setTriangle(c *Config) {
	f.triangle = nil
	if f.joint != nil || c.triangleEntries(f.learner, len(f.valY), f.features, len(f.theta)) == 0 {
		return
	}
	if t := new(sample.Triangle); t.Reduce(f.val, f.features, f.valY, f.intercept, f.valWeights) {
		f.triangle = t
	}
}

// ensurePredictions computes the predictions of the validation rows, unless they are there.
func (f *splitFit) ensurePredictions() error {
	if f.hasPredictions {
		return nil
	}
	f.hasPredictions = true
	if f.readsInPlace {
		f.normaliser.PredictStored(f.prediction, f.train.X, f.split.Val, f.theta, f.intercept)
		return nil
	}
	if f.joint != nil {
		// Class learners require NoCentring, so no intercept is added.
		f.joint.predict(f.prediction, f.theta, f.valX)
		return nil
	}
	if f.predictor == nil {
		linearRows(f.prediction, f.theta, f.intercept, f.val, f.features, f.features)
		return nil
	}
	return predictRows(f.prediction, f.predictor, &f.workspace, f.theta, f.intercept, f.valX)
}

// setTriangleLoss computes the validation loss from the triangle. If withGradient is true, it also
// computes the cotangent of θ. It reports whether all results are finite.
func (f *splitFit) setTriangleLoss(withGradient bool) bool {
	var slopes []float64
	if withGradient {
		slopes = f.dtheta
	}
	f.loss, f.metKink = f.triangle.Loss(f.theta, slopes), false
	return args.Finite(f.loss) && args.AllFinite(slopes)
}

// loadView does the work of load for rows that are read in place. They are the rows of x or, if x
// is nil, the rows of a sparse Data.X or the stored features of Prepare.
func (f *splitFit) loadView(c *Config, x *mat.Dense) error {
	raw := c.Data.X
	if f.train.X = raw; x != nil {
		f.train.X = x
	}
	if c.Prepare != nil {
		if err := f.fitPrepared(c, c.dense()); err != nil {
			return err
		}
		p, ok := f.prepared.(StoredPrepared)
		if !ok {
			return args.Bad("Config.Prepare", qpdiff.ErrDomain, "let Fit return a StoredPrepared, or leave out MostStored", "returns %T from Fit, which is none", f.prepared)
		}
		x, err := sample.PrepareStored(p, c.dense(), slices.Concat(f.split.Train, f.split.Val))
		if err != nil {
			return err
		}
		f.train.X, raw = x, x
	}
	if err := f.normaliser.FitRows(raw, f.split.Train); err != nil {
		return err
	}
	if f.intercept = 0; c.Centring != NoCentring {
		f.intercept = f.normaliser.Weights.Mean(sample.Pick(c.Data.Y, f.split.Train))
	}
	if !args.Finite(f.intercept) {
		return args.Bad("Data", qpdiff.ErrNotFinite, "scale the labels", "has the intercept %v over the training rows", f.intercept)
	}
	copy(f.train.Y, c.Data.Y)
	floats.AddConst(-f.intercept, f.train.Y)
	if f.normaliser.Centre {
		f.train.Centre, f.train.Scale = f.normaliser.Mean, f.normaliser.Std
	}
	return f.learner.Load(f.train)
}

// setLoss computes the validation loss. If withGradient is true, it also computes the cotangents of
// the predictions. The parameter hyper is true if the cotangents are needed only for derivatives
// with respect to the hyperparameters.
func (f *splitFit) setLoss(c *Config, withGradient, hyper bool) error {
	if _, ok := c.Loss.(SquaredError); ok && f.setSquaresLoss(withGradient) {
		return nil
	}
	kinks, _ := c.Loss.(KinkedLoss)
	v := f.valWeights.Total(len(f.valY))
	f.loss, f.metKink = 0, false
	for i, p := range f.prediction {
		y := f.valY[i]
		value, slope := c.Loss.Eval(p, y)
		if !args.Finite(p) || !args.Finite(value) {
			return overflow("the loss is %v at the prediction %v of example %d", value, p, f.split.Val[i])
		}
		weight := f.valWeights.At(i)
		f.loss += float64(weight * value) // rounded before the sum, as in judgeSquares
		if !withGradient {
			continue
		}
		if kinks != nil {
			if distance, at := kinks.Kink(p, y); f.atKink(i, p, y, distance) {
				held, err := false, error(nil)
				if hyper {
					held, err = f.isHeld(i)
				}
				if err != nil {
					return err
				}
				if !held && !c.Generalised {
					return args.Bad("Config.Loss", qpdiff.ErrNotDifferentiable, "move the hyperparameters, set Config.Generalised, or use a smooth loss",
						"has a kink at the prediction %v of example %d", p, f.split.Val[i])
				}
				slope, f.metKink = at, f.metKink || !held
			}
		}
		if slope != slope {
			return &qpdiff.NotDifferentiableError{Inputs: []qpdiff.Input{"prediction"}, Weak: qpdiff.Weak{Rows: []int{f.split.Val[i]}},
				Remedy: "the validation loss has no derivative at this example; descend a smooth loss such as LogisticLoss"}
		}
		if !args.Finite(slope) {
			return overflow("the loss has the slope %v at the prediction %v of example %d", slope, p, f.split.Val[i])
		}
		f.dprediction[i] = weight * slope / v
	}
	f.loss /= v
	return nil
}

// setSquaresLoss does the work of setLoss for the squared error, in loops without calls. It returns
// false if a loss is not finite; setLoss then finds the error.
func (f *splitFit) setSquaresLoss(gradient bool) bool {
	labels, slopes := f.valY[:len(f.prediction)], f.dprediction[:len(f.prediction)]
	weights, v, sum := f.valWeights, f.valWeights.Total(len(labels)), 0.0
	for i, p := range f.prediction {
		r := p - labels[i]
		if r = float64(r * r); weights != nil {
			r = float64(r * weights[i])
		}
		sum += r
	}
	if !args.Finite(sum) {
		return false
	}
	f.loss, f.metKink = sum/v, false
	if gradient {
		for i, p := range f.prediction {
			r := 2 * (p - labels[i])
			if weights != nil {
				r *= weights[i]
			}
			slopes[i] = r / v
		}
	}
	return true
}

// isHeld reports whether the prediction of validation row i has the derivative 0, within rounding,
// in each hyperparameter. A continuous loss with finite one-sided slopes then also has the
// derivative 0, even at its kink.
//
// There are two causes. First, the row may be equal to a support vector at the margin, whose
// prediction is constant. Learners then return exact zeros. Second, the data may have a symmetry.
// The terms of the derivative then cancel up to their rounding errors: see learn.Grad.HyperSize.
func (f *splitFit) isHeld(i int) (bool, error) {
	if f.learner == nil {
		return false, nil
	}
	slopes := f.dprediction
	g := learn.Grad{Hyper: make([]float64, len(f.grad.Hyper)), HyperSize: make([]float64, len(f.grad.Hyper))}
	f.dprediction = make([]float64, len(slopes))
	f.dprediction[i] = 1
	err := f.plainBackward(&g, nil)
	f.dprediction = slopes
	if errors.Is(err, qpdiff.ErrNotDifferentiable) {
		return false, nil
	}
	if err != nil || g.Generalised {
		return false, err
	}
	for h, v := range g.Hyper {
		if size := g.HyperSize[h]; !(math.Abs(v) <= heldTol*size) || !args.Finite(size) {
			return false, nil
		}
	}
	return true, nil
}

// atKink reports whether the prediction p of validation row i, with the label y, is treated as
// being at a kink of the loss: see lossKinkTol. The parameter distance is the distance from p to
// the kink. The terms of a kernel machine cost as much as its prediction, so atKink computes them
// only near a kink.
func (f *splitFit) atKink(i int, p, y, distance float64) bool {
	if distance <= lossKinkTol*f.predictionTerms(i, p) {
		return true
	}
	k, ok := f.predictor.(kernel.Machine)
	return ok && distance <= nearLossKink*(math.Abs(p)+math.Abs(y)) && distance <= lossKinkTol*k.PredictionSize(f.valX.RawRowView(i))
}

// predictionTerms returns the sum of the moduli of the terms in the prediction p of validation row
// i. For a learn.Predictor and for leaveOneOut the terms are unknown, and predictionTerms returns
// |p|.
func (f *splitFit) predictionTerms(i int, p float64) float64 {
	if f.predictor != nil || f.features == 0 || f.joint != nil {
		return math.Abs(p)
	}
	m := f.features
	if f.readsInPlace {
		return math.Abs(f.intercept) + f.normaliser.SizeStored(f.train.X, f.split.Val[i], f.theta)
	}
	size := math.Abs(f.intercept)
	for j, w := range f.theta {
		if j < m {
			w *= f.val[i*m+j]
		}
		size += math.Abs(w)
	}
	return size
}

// backward adds the cotangents of the hyperparameters and of the normalised features to g. It
// computes them from the cotangents of the predictions. If g.X is not nil, backward also sets dval
// to the cotangents of the validation rows.
func (f *splitFit) backward(c *Config, g *learn.Grad, dval *mat.Dense) error {
	if err := f.plainBackward(g, dval); err != nil {
		return f.withoutKinks(c, err)
	}
	return nil
}

// withoutKinks changes err, the error of a derivative, if Config.Generalised is set. It adds to the
// message that the learner has no generalised derivative.
func (f *splitFit) withoutKinks(c *Config, err error) error {
	if !c.Generalised || !errors.Is(err, qpdiff.ErrNotDifferentiable) {
		return err
	}
	if _, ok := f.learner.(learn.KinkedLearner); ok {
		return err
	}
	return fmt.Errorf("%w (the learner %T has no method SetGeneralised)", err, f.learner)
}

// plainBackward is backward, but returns the error of the learner unchanged.
func (f *splitFit) plainBackward(g *learn.Grad, dval *mat.Dense) error {
	if f.predictor != nil {
		return f.predictor.PredictVJP(&f.workspace, g, dval, f.valX, f.dprediction)
	}
	f.cotangent(g.X != nil, dval)
	return f.learner.VJP(&f.workspace, g, f.dtheta)
}

// cotangent sets dtheta to the cotangent of θ. If wantRows is set, it sets dval to the cotangent of
// the validation rows. If the loss was computed from the triangle, dtheta is already set.
func (f *splitFit) cotangent(wantRows bool, dval *mat.Dense) {
	if !f.hasPredictions {
		return
	}
	if f.joint != nil {
		clear(f.dtheta)
		if !wantRows {
			dval = nil
		}
		f.joint.cotangent(f.dtheta, dval, f.theta, f.valX, f.dprediction)
		return
	}
	if f.readsInPlace {
		clear(f.dtheta)
		f.normaliser.AddStored(f.dtheta, f.train.X, f.split.Val, f.dprediction)
		if dval != nil {
			for i, d := range f.dprediction {
				floats.ScaleTo(dval.RawRowView(i), d, f.theta[:f.features])
			}
		}
		return
	}
	f.denseCotangent(wantRows, dval)
}

// denseCotangent is cotangent for dense validation rows and one prediction for each.
func (f *splitFit) denseCotangent(wantRows bool, dval *mat.Dense) {
	m := f.features
	slopes := f.dprediction
	next := setRows(f.dtheta, m, slopes, f.val)
	for at := next; at < len(slopes); {
		at += addRows(f.dtheta[:m], slopes[at:], f.val[at*m:])
	}
	if m == len(f.dtheta) && !wantRows {
		return
	}
	for i, d := range slopes {
		for j := m; j < len(f.dtheta); j++ {
			f.dtheta[j] += d
		}
		if wantRows {
			row := dval.RawRowView(i)
			for j, wj := range f.theta[:m] {
				row[j] = d * wj
			}
		}
	}
}

// dataGradient is the state of one call of DataGradient.
type dataGradient struct {
	wantX, wantY bool
	features     *mat.Dense // cotangent of the N×m features
	y            []float64
	errX, errY   error // the error of the split with the lowest index
}

// splitData is the part of one split in a dataGradient.
type splitData struct {
	grad       learn.Grad // of its training rows and labels
	val        *mat.Dense // cotangent of the validation rows
	label      []float64  // cotangent of the validation labels
	errX, errY error
}

// fitPrepared fits Config.Prepare to the training rows of x, and stores the result in f.prepared.
func (f *splitFit) fitPrepared(c *Config, x *mat.Dense) (err error) {
	_, n := x.Dims()
	if f.prepared, err = c.Prepare.Fit(copyRows(x, f.split.Train), sample.Pick(c.Data.Weights, f.split.Train)); err != nil {
		return err
	}
	return checkPrepared(f.prepared, n, f.features)
}

// copyRows returns a copy of the listed rows of x.
func copyRows(x *mat.Dense, rows []int) *mat.Dense {
	_, n := x.Dims()
	some := mat.NewDense(len(rows), n, nil)
	sample.Gather(some.RawMatrix().Data, x, rows)
	return some
}

// gatherRows copies the split's rows of x, through Config.Prepare if there is one.
func (f *splitFit) gatherRows(c *Config, x *mat.Dense) error {
	train := f.train.Dense().RawMatrix()
	if c.Prepare == nil {
		sample.Gather(train.Data, x, f.split.Train)
		sample.Gather(f.val, x, f.split.Val)
		return nil
	}
	if err := f.fitPrepared(c, x); err != nil {
		return err
	}
	if err := sample.Prepare(train.Data, f.prepared, x, f.split.Train); err != nil {
		return err
	}
	return sample.Prepare(f.val, f.prepared, x, f.split.Val)
}
