package cvgm

import (
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// OutOfFold writes a prediction for each example to dst, which has one entry for each example.
// The predictions come from the last Eval or DataGradient. For a [learn.ClassLearner] the
// prediction is the log odds of the example's class. Each prediction comes from a split that
// validates on the example, so the example was not in the training rows. If several splits
// validate on the example, dst receives the mean of their predictions. If no split does, or if
// the example has the weight 0, dst receives NaN. If there was no evaluation, or if the last
// evaluation returned an error, the error matches qpdiff.ErrNotFitted.
func (cv *CV) OutOfFold(dst []float64) error {
	if len(dst) != len(cv.c.Data.Y) {
		panic("cvgm: dst has the wrong length")
	}
	if err := cv.checkEvaluated(); err != nil {
		return err
	}
	cv.meanOverSplits(dst, func(prediction, _ float64) float64 { return prediction })
	return nil
}

// OutOfFoldClasses writes the probability of each class for each example to dst, which has one row
// for each example and one column for each class. As in [CV.OutOfFold], the probabilities come from
// splits that validate on the example. If several splits validate on it, dst receives the means of
// their probabilities. If no split does, dst receives NaN. OutOfFoldClasses computes the
// predictions anew. It returns the same errors as OutOfFold. If the learner is not a
// [learn.ClassLearner], the error is of kind qpdiff.ErrDomain.
func (cv *CV) OutOfFoldClasses(dst *mat.Dense) error {
	l, ok := cv.fits[0].learner.(learn.ClassLearner)
	if !ok {
		return args.Bad("Config.Learner", qpdiff.ErrDomain, "use OutOfFold", "is a %T, which has one prediction", cv.fits[0].learner)
	}
	rows, classes := dst.Dims()
	if rows != len(cv.c.Data.Y) || classes != l.Outputs() {
		panic("cvgm: dst has the wrong shape")
	}
	if err := cv.checkEvaluated(); err != nil {
		return err
	}
	counts := make([]float64, rows)
	dst.Zero()
	row := make([]float64, classes)
	for j := range cv.fits {
		f := &cv.fits[j]
		f.joint.predict(f.prediction, f.theta, f.valX) // a gradient overwrote the decisions
		for at, i := range f.split.Val {
			for c := range row {
				row[c] = f.joint.decisions[c*len(f.valY)+at]
			}
			portable.Softmax(row)
			counts[i]++
			floats.AddScaled(dst.RawRowView(i), 1, row)
		}
	}
	for i, n := range counts {
		if n == 0 {
			n = math.NaN()
		}
		floats.Scale(1/n, dst.RawRowView(i))
	}
	return nil
}

// Residual returns the largest residual of the optimality conditions in the fits of all splits, at
// the last Eval or DataGradient. Each residual is relative to the size of its terms: see
// [learn.VerifiedLearner]. As in [CV.OutOfFold], the error can match qpdiff.ErrNotFitted. If the
// learner measures no residual, or if all splits were evaluated at once, the error matches
// qpdiff.ErrDomain.
func (cv *CV) Residual() (float64, error) {
	if err := cv.checkEvaluated(); err != nil {
		return math.NaN(), err
	}
	worst := 0.0
	for j := range cv.fits {
		l, ok := cv.fits[j].learner.(learn.VerifiedLearner)
		if !ok || cv.evalState.atOnce {
			return math.NaN(), args.Bad("Config.Learner", qpdiff.ErrDomain, "use a learner with a method Residual", "measures no residual: %T", cv.fits[j].learner)
		}
		r, err := l.Residual()
		if err != nil {
			return math.NaN(), &SplitError{j, err}
		}
		worst = max(worst, r)
	}
	return worst, nil
}

// StandardError returns the standard error of the CV loss over the examples, at the last Eval or
// DataGradient. Let n be the number of examples on which some split validates. The result is the
// standard deviation of the losses of these examples (with the divisor n−1) divided by √n. If
// several splits validate on an example, the example's loss c_i is the mean over these splits.
//
// With weights w, let s_i be w_i/Σw. The result is the standard error of the weighted mean by the
// jackknife, √((n−1)/n·Σ_i (s_i(c_i − c̄)/(1 − s_i))²). An example of weight 2 is one example, not
// two, and the unit of the weights does not matter. If one example has more than about 80 % of the
// weight, so that (Σw)²/Σw² is below 1.5, the standard error is +Inf: the other examples do not
// show how much the loss of this example varies. More splits of the same examples do not lower this
// standard error. They would lower a standard error over the splits.
//
// The standard error is optimistic. It treats the examples as independent, and the fits as fixed,
// although the fits share training rows (Bengio and Grandvalet 2004). If examples depend on each
// other, as in groups or in time, the true standard error may be far larger.
//
// As in [CV.OutOfFold], the error can match qpdiff.ErrNotFitted. If the splits validate on fewer
// than two examples, it matches qpdiff.ErrShape. If the result overflows, it matches
// qpdiff.ErrNotFinite.
func (cv *CV) StandardError() (float64, error) {
	if err := cv.checkEvaluated(); err != nil {
		return math.NaN(), err
	}
	losses := make([]float64, len(cv.c.Data.Y))
	cv.meanOverSplits(losses, func(prediction, y float64) float64 {
		loss, _ := cv.c.Loss.Eval(prediction, y)
		return loss
	})
	var rows []int
	for i, l := range losses {
		if l == l {
			rows = append(rows, i)
		}
	}
	if len(rows) < 2 {
		return math.NaN(), args.Bad("Config.Splits", qpdiff.ErrShape, "validate on more examples", "validate on %d example, whose loss has no standard error", len(rows))
	}
	weights := sample.Relative(cv.c.Data.Weights, rows)
	mean, total := 0.0, weights.Total(len(rows))
	for at, i := range rows {
		mean += weights.At(at) / total * losses[i] // terms that cannot overflow
	}
	shares := make([]float64, len(rows))
	for at, i := range rows {
		shares[at] = weights.At(at) / total
		losses[at] = shares[at] * (losses[i] - mean)
	}
	e, _ := sample.MeanError(losses[:len(rows)], shares)
	if !args.Finite(e) && !sample.FewUnits(shares) {
		return math.NaN(), overflow("the standard error of the CV loss is %v", e)
	}
	return e, nil
}

func (cv *CV) checkEvaluated() error {
	return args.BadIf(!cv.hasPredictions, "CV", qpdiff.ErrNotFitted, "call Eval first", "has no evaluation, or the last one failed")
}

// meanOverSplits sets each entry of dst to the mean of value over the splits that validate on the
// entry's example. If no split does, it sets the entry to NaN.
func (cv *CV) meanOverSplits(dst []float64, value func(prediction, y float64) float64) {
	counts := make([]float64, len(dst))
	for j := range cv.fits {
		for _, row := range cv.fits[j].split.Val {
			counts[row]++
		}
	}
	for i, c := range counts {
		if dst[i] = 0; c == 0 {
			dst[i] = math.NaN()
		}
	}
	add := func(f *splitFit) {
		for i, row := range f.split.Val {
			dst[row] += value(f.prediction[i], f.valY[i]) / counts[row] // terms that cannot overflow
		}
	}
	if cv.evalState.atOnce {
		add(&cv.loo.fit)
		return
	}
	for j := range cv.fits {
		_ = cv.fits[j].ensurePredictions() // without a Predictor, whose predictions are there, it returns nil
		add(&cv.fits[j])
	}
}
