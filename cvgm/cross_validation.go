package cvgm

import (
	"math"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Intercept says how a CV treats the constant term of the prediction. Learners
// with an intercept of their own (logistic regression, SVM) go with
// NoIntercept.
type Intercept int

const (
	// NoIntercept leaves predictions at θᵀx, or at what the learner itself adds.
	NoIntercept Intercept = iota
	// LeastSquaresIntercept is what the paper's experiments use: the intercept
	// of an unregularised least-squares fit to each split's training rows is
	// subtracted from y and added to predictions. It is held constant: no
	// derivative goes through it.
	LeastSquaresIntercept
	// ExactIntercept is the unpenalised intercept that is optimal together with
	// θ for a squared loss: features and labels are centred on the training
	// rows, and derivatives go through the means. On standardised features it
	// equals LeastSquaresIntercept, because both are then the mean of y.
	ExactIntercept
)

// Config describes a cross-validation loss. Data, Splits, Learner and Loss are
// required.
type Config struct {
	Data   qpdiff.Data
	Splits []Split
	// Learner returns a new learner; it is called once per split, and once per
	// call of [CV.Final].
	Learner func() Learner
	Loss    Loss
	// Features maps the rows of Data.X to what the learner sees. Its parameters
	// follow the learner's hyperparameters in α. Nil: the features are Data.X.
	Features FeatureMap
	// Hyper, where not nil, holds the learner's hyperparameters constant: α is
	// then the feature map's parameters alone.
	Hyper []float64
	// Standardise maps every feature to mean 0 and (population) standard
	// deviation 1 on each split's training rows.
	Standardise bool
	Intercept   Intercept
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
	folds    []fold
	// full learns from all examples where the learners of the splits are
	// [LeaveOuter]s and see the features as they are; otherwise it is nil.
	full      LeaveOuter
	fullTheta []float64
	// Cotangents of the N×m features at the last gradient, as rows trained on,
	// as rows validated on, and in all. Only with a feature map.
	asTraining, asValidation, total *mat.Dense
	// run is the evaluation under way; its closure is made once, so that an
	// evaluation allocates nothing.
	run struct {
		x        *mat.Dense
		hyper    []float64
		gradient bool
		fold     func(j int) error
	}
}

// fold is the workspace of one split.
type fold struct {
	split       Split
	out         []int // the examples that are not in split.Train, with cv.full
	learner     Learner
	norm        normaliser
	train       qpdiff.Data // normalised rows, labels less the intercept
	val         []float64   // normalised rows, row-major
	valX        *mat.Dense  // val as a matrix
	valY        []float64   // raw labels
	intercept   float64
	theta       []float64
	dtheta      []float64
	loss        float64
	grad        qpdiff.Grad // Hyper always; X only with a feature map
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
		return nil, badArg("Config.Loss", qpdiff.ErrShape, "use SquaredError{}, SoftMargin{}, …", "is nil")
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
		cv.features = out
		cv.asTraining = mat.NewDense(n, out, nil)
		cv.asValidation = mat.NewDense(n, out, nil)
		cv.total = mat.NewDense(n, out, nil)
	}
	theta, hyper := c.Learner().Dims(cv.features)
	cv.hyper = hyper
	if c.Hyper != nil && len(c.Hyper) != hyper {
		return nil, badArg("Config.Hyper", qpdiff.ErrShape, "give one value per hyperparameter of the learner",
			"has %d entries where the learner has %d hyperparameters", len(c.Hyper), hyper)
	}
	if l, ok := c.Learner().(LeaveOuter); ok && !c.Standardise && c.Intercept == NoIntercept {
		cv.full, cv.fullTheta = l, make([]float64, theta)
	}
	cv.folds = make([]fold, len(c.Splits))
	for j, s := range c.Splits {
		if err := s.check(n); err != nil {
			return nil, &SplitError{j, err}
		}
		f := &cv.folds[j]
		f.split, f.learner = s, c.Learner()
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
	cv.run.fold = cv.evalFold
	return cv, nil
}

func (f *fold) prepare(c Config, m, theta, hyper int) {
	t, v := len(f.split.Train), len(f.split.Val)
	f.norm = normaliser{center: c.Standardise || c.Intercept == ExactIntercept, scale: c.Standardise}
	f.train = qpdiff.Data{X: mat.NewDense(t, m, nil), Y: make([]float64, t)}
	f.val, f.valY = make([]float64, v*m), make([]float64, v)
	f.theta, f.dtheta = make([]float64, theta), make([]float64, theta)
	f.grad.Hyper = make([]float64, hyper)
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
// training rows, takes the intercept off the labels and hands the training
// rows to the learner.
func (f *fold) load(c Config, x *mat.Dense) error {
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
	switch c.Intercept {
	case NoIntercept:
	case LeastSquaresIntercept:
		f.intercept = leastSquaresIntercept(train.Data, train.Cols, f.train.Y)
	case ExactIntercept:
		f.intercept = meanOf(f.train.Y)
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

// split α into the learner's hyperparameters and the feature map's parameters.
func (cv *CV) cut(alpha []float64) (hyper, params []float64) {
	if cv.c.Hyper != nil {
		return cv.c.Hyper, alpha
	}
	return alpha[:cv.hyper], alpha[cv.hyper:]
}

// Eval returns L_cv(α) and, where grad is not nil, overwrites it with the
// gradient. It is an [Objective]. An α of the wrong length is an error, a grad
// of the wrong length a panic. Errors of a split are a
// [SplitError]; where its fit has no derivative they match
// qpdiff.ErrNotDifferentiable.
func (cv *CV) Eval(grad, alpha []float64) (float64, error) {
	if err := cv.checkAlpha(alpha); err != nil {
		return math.NaN(), err
	}
	if grad != nil && len(grad) != len(alpha) {
		panic("cvgm: grad has the wrong length")
	}
	hyper, params := cv.cut(alpha)
	x := cv.c.Data.X
	if cv.c.Features != nil {
		var err error
		if x, err = cv.c.Features.Forward(params, cv.c.Data.X); err != nil {
			return math.NaN(), err
		}
	}
	if err := cv.fitFull(x, hyper); err != nil {
		return math.NaN(), err
	}
	cv.run.x, cv.run.hyper, cv.run.gradient = x, hyper, grad != nil
	if err := qpdiff.ForEach(cv.c.Workers, len(cv.folds), cv.run.fold); err != nil {
		return math.NaN(), err
	}
	k := float64(len(cv.folds))
	var loss float64
	for j := range cv.folds {
		loss += cv.folds[j].loss
	}
	loss /= k
	if !finite(loss) {
		return loss, badArg("alpha", qpdiff.ErrNotFinite, "use hyperparameters closer to those that worked", "gives the CV loss %v", loss)
	}
	if grad == nil {
		return loss, nil
	}
	clear(grad)
	dhyper, dparams := cv.cutGrad(grad)
	for j := range cv.folds {
		for i := range dhyper {
			dhyper[i] += cv.folds[j].grad.Hyper[i]
		}
	}
	for i := range dhyper {
		dhyper[i] /= k
	}
	if cv.c.Features != nil {
		cv.gatherCotangents()
		cv.c.Features.Backward(dparams, cv.total)
	}
	return loss, nil
}

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

// evalFold does split j's part of an evaluation.
func (cv *CV) evalFold(j int) error {
	f := &cv.folds[j]
	if cv.full != nil {
		gather(f.val, cv.run.x, f.split.Val)
		if err := f.learner.(LeaveOuter).LoadWithout(cv.full, f.out); err != nil {
			return &SplitError{j, err}
		}
	} else if cv.c.Features != nil {
		if err := f.load(cv.c, cv.run.x); err != nil {
			return &SplitError{j, err}
		}
	}
	if err := f.eval(cv.c.Loss, cv.run.hyper, cv.run.gradient); err != nil {
		return &SplitError{j, err}
	}
	return nil
}

func (cv *CV) cutGrad(grad []float64) (dhyper, dparams []float64) {
	if cv.c.Hyper != nil {
		return nil, grad
	}
	return grad[:cv.hyper], grad[cv.hyper:]
}

// eval fits the split and computes its validation loss and, if wanted, the
// loss's cotangents of the hyperparameters and of the split's features.
func (f *fold) eval(loss Loss, hyper []float64, gradient bool) error {
	if err := f.learner.Fit(f.theta, hyper); err != nil {
		return err
	}
	if err := f.predict(); err != nil {
		return err
	}
	v := len(f.valY)
	f.loss = 0
	for i, p := range f.dprediction {
		c, slope := loss.Eval(p, f.valY[i])
		f.loss += c
		f.dprediction[i] = slope / float64(v)
	}
	f.loss /= float64(v)
	if !gradient {
		return nil
	}
	for i, d := range f.dprediction {
		if d != d {
			return &qpdiff.NotDifferentiableError{Input: "prediction", Weak: []int{f.split.Val[i]},
				Remedy: "the validation loss has no derivative at this example; descend a smooth loss such as SoftMargin"}
		}
	}
	clear(f.grad.Hyper)
	if f.grad.X != nil {
		clear(f.grad.X.RawMatrix().Data)
		clear(f.dval)
	}
	if err := f.backward(); err != nil {
		return err
	}
	if f.grad.X != nil && f.out == nil {
		f.norm.backward(f.train.X.RawMatrix().Data, f.val, f.grad.X.RawMatrix().Data, f.dval)
	}
	return nil
}

// predict writes the predictions of the validation rows to dprediction.
func (f *fold) predict() error {
	if d, ok := f.learner.(Decider); ok {
		if err := d.Decide(f.dprediction, f.valX); err != nil {
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
func (f *fold) backward() error {
	if d, ok := f.learner.(Decider); ok {
		return d.DecideVJP(&f.grad, f.dvalX, f.valX, f.dprediction)
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
	return f.learner.VJP(&f.grad, f.dtheta)
}

// gatherCotangents sums the splits' cotangents of the features, in the order
// of the splits.
func (cv *CV) gatherCotangents() {
	cv.asTraining.Zero()
	cv.asValidation.Zero()
	scale := 1 / float64(len(cv.folds))
	for j := range cv.folds {
		f := &cv.folds[j]
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
// the whole cotangent. They are nil without a feature map, and valid until the
// next call of Eval.
func (cv *CV) FeatureCotangents() (asTraining, asValidation *mat.Dense) {
	return cv.asTraining, cv.asValidation
}

// Thetas returns a copy of the parameters fitted to each split at the last
// Eval, and the intercepts added to their predictions.
func (cv *CV) Thetas() (thetas [][]float64, intercepts []float64) {
	for j := range cv.folds {
		thetas = append(thetas, append([]float64(nil), cv.folds[j].theta...))
		intercepts = append(intercepts, cv.folds[j].intercept)
	}
	return thetas, intercepts
}

// Reset forgets every warm start: what follows has the same bits as with a new
// CV of the same Config.
func (cv *CV) Reset() {
	if cv.full != nil {
		cv.full.Reset()
	}
	for j := range cv.folds {
		cv.folds[j].learner.Reset()
	}
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
