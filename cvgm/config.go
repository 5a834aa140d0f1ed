package cvgm

import (
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// Centring selects how a CV replaces an intercept, for a learner without an intercept. The CV
// subtracts means from features and labels before the fit, and adds them to its predictions. All
// values except NoCentring are for learners with a squared loss. Learners of labels ±1, and
// learners that have an intercept (Logistic, kernel.SVM with Intercept), need NoCentring, because
// the other values change the labels. For Huber regression set the field Intercept of the learner,
// because means are not optimal together with θ for the Huber loss.
type Centring int

const (
	// NoCentring subtracts nothing. The predictions are θᵀx, or the predictions of a learner that
	// does not predict by θᵀx.
	NoCentring Centring = iota
	// FixedLeastSquares subtracts a constant from the labels, as the paper's experiments do. The
	// constant is the intercept of an unregularised least-squares fit to the training rows of each
	// split. Derivatives do not go through this intercept, because it does not depend on the
	// hyperparameters. If the features were learned and Standardise were false, the intercept would
	// depend on the parameters of the feature map, so New refuses this combination.
	FixedLeastSquares
	// MeanCentring subtracts the mean on the training rows from each feature and from the
	// labels. Derivatives go through the means. For a squared loss the result is the
	// unpenalised intercept that is optimal together with θ. On standardised features
	// MeanCentring equals FixedLeastSquares, because both subtract the mean of y.
	MeanCentring
)

// Config describes a cross-validation loss. Data, Splits, Learner and Loss are
// required.
type Config struct {
	// Data has no Rows, and must not change while the CV is in use. Other data need another CV. An
	// example of weight w counts like w copies of the example. This holds for the fits, for the
	// means of validation losses, and for the means and deviations of Standardise and Centring.
	// Examples of weight 0 count neither in training nor in validation. The unit of the weights
	// matters only to learners in which C multiplies a weighted sum over the examples
	// (linear.Logistic, kernel.SVM). Gradients treat the weights as constant. Learners that do not
	// support weights refuse them. See [BalancedWeights].
	Data   learn.Data
	Splits []Split
	// Learner returns a new learner at each call. [New] calls Learner once for each split and one
	// further time, and [CV.Final] calls it once. If the learner is a [learn.ClassLearner], Data.Y
	// holds the indices of the classes, and [CV.FinalClasses] returns the model. Loss then gets the
	// log odds of the example's class as its prediction, and 1 as its label.
	Learner func() learn.Learner
	Loss    Loss
	// Prepare makes the features from the columns of Data.X. It is fitted to the training rows of
	// each split and, by [CV.Final], to all rows. With Prepare, Data.X may hold NaN for missing
	// values, and Features must be nil. If Data.X is a table with categories, use a
	// [table.Encoder]. If Prepare is a [StoredPreparer] with many features, the CV holds only the
	// stored features. If Prepare is nil, the columns of Data.X are the features.
	Prepare Preparer
	// Features maps the rows of Data.X to the learner's features. The parameters of the map come after
	// the learner's hyperparameters in α. If Features is nil, the features are Data.X.
	Features FeatureMap
	// If Hyper is not nil, it gives fixed values to the learner's hyperparameters, and α has only the
	// feature map's parameters.
	Hyper []float64
	// Standardise maps every feature to (weighted) mean 0 and (population) standard deviation 1 on
	// each split's training rows. If a feature is constant on the training rows, up to rounding, it
	// becomes 0 for all rows, even for validation rows with another value. If the feature map has
	// parameters, a constant feature is an error, because the CV loss jumps when a feature becomes
	// constant.
	Standardise bool
	Centring    Centring
	// Generalised selects the result at kinks of the learner, the loss or the feature map, at which no
	// gradient exists. If it is false, the result is an error that matches
	// qpdiff.ErrNotDifferentiable. If it is true, the chain rule uses one element of the generalised
	// derivative at each kink; see [CV.Generalised], [learn.KinkedLearner], [KinkedLoss] and
	// [KinkedMap].
	Generalised bool
	// Workers bounds the number of goroutines that share the splits. If Workers is zero, the bound is
	// GOMAXPROCS. The results do not depend on Workers.
	Workers int
	// MaxBytes bounds the memory that the CV holds, with its learners, evaluations and Final: see
	// [Config.Bytes]. If the CV needs more, New and DataGradient return an error of kind
	// qpdiff.ErrTooLarge before they allocate. If a [learn.FoldLearner] or [learn.LeaveOneOutLearner]
	// fails to fit all splits together, Eval fits them one by one. If this needs more memory than
	// MaxBytes, Eval also returns an error of kind qpdiff.ErrTooLarge. If the CV needs less than
	// MaxBytes, the learners may use the rest for working sets that grow. Each learner gets a part
	// that is proportional to its number of rows. The results do not depend on MaxBytes. If MaxBytes
	// is zero, the bound is Data.MaxBytes, or the default that [learn.Data] documents.
	MaxBytes int64
}

// learned reports whether the features depend on α.
func (c *Config) learned() bool { return c.Features != nil && c.Features.NumParams() > 0 }

// width returns the number of features that the learner receives.
func (c *Config) width() int {
	_, m := c.Data.X.Dims()
	if c.Prepare != nil {
		_, m = c.Prepare.Dims()
	}
	if c.Features != nil {
		_, m = c.Features.Dims()
	}
	return m
}

// views reports whether the splits read rows in place. The rows are the rows of Data.X (their
// stored entries if Data.X is sparse) or the features that Prepare stores. If there is a feature
// map or the intercept of FixedLeastSquares, dense rows are copied, and views returns false.
func (c *Config) views(l learn.Learner) bool {
	fixed := c.Centring == FixedLeastSquares && !c.Standardise
	copies := c.Features != nil || fixed && (c.Prepare != nil || !c.Data.Sparse())
	return !copies && sample.Views(l, c.Data, c.Prepare, c.minWeightedRows)
}

// minWeightedRows counts the training rows with a positive weight in each split, and returns the
// smallest count. The cost is proportional to the number of training rows in all splits.
func (c *Config) minWeightedRows() int {
	least := len(c.Data.Y)
	for _, s := range c.Splits {
		counting := 0
		for _, i := range s.Train {
			if w := c.Data.Weights; i >= 0 && i < len(c.Data.Y) && (w == nil || i < len(w) && w[i] > 0) {
				counting++
			}
		}
		least = min(least, counting)
	}
	return least
}

// centres reports whether means are subtracted from features.
func (c *Config) centres() bool { return c.Standardise || c.Centring == MeanCentring }

// dense returns Data.X if Data.X is dense. Otherwise it returns nil, and the splits read the stored
// entries of Data.X.
func (c *Config) dense() *mat.Dense {
	x, _ := c.Data.X.(*mat.Dense)
	return x
}

// withoutPlain returns c, or a copy of c without Prepare if Prepare changes nothing. In the second
// case it also returns the removed Preparer, and otherwise nil.
func (c Config) withoutPlain() (Config, Preparer) {
	if x := c.dense(); x != nil && c.Features == nil && sample.Plain(c.Prepare, x) {
		plain := c.Prepare
		c.Prepare = nil
		return c, plain
	}
	return c, nil
}

// checkClasses returns an error if the labels or Centring do not suit a [learn.ClassLearner].
func (c *Config) checkClasses(l learn.Learner) error {
	classes, ok := l.(learn.ClassLearner)
	if !ok {
		return nil
	}
	if c.Centring != NoCentring {
		return args.Bad("Config.Centring", qpdiff.ErrDomain, "use NoCentring and the learner's own intercept", "subtracts means from labels that are numbers of classes")
	}
	return checkLabels("Config.Data.Y", c.Data.Y, classes.Outputs())
}

// checkLabels returns an error for the first label that is not one of the numbers 0 to classes − 1.
func checkLabels(arg string, labels []float64, classes int) error {
	for i, y := range labels {
		if !(y >= 0 && y < float64(classes)) || y != math.Trunc(y) {
			return args.Bad(arg, qpdiff.ErrDomain, "give the numbers of the classes, from 0 on", "holds %v at index %d for %d classes", y, i, classes)
		}
	}
	return nil
}

// newLearner returns a new learner with the Generalised of c.
func (c *Config) newLearner() (learn.Learner, error) {
	l := c.Learner()
	if l == nil {
		return nil, args.Bad("Config.Learner", qpdiff.ErrEmpty, "give a function that returns a new learner", "returned nil")
	}
	if k, ok := l.(learn.KinkedLearner); ok && c.Generalised {
		k.SetGeneralised(true)
	}
	return l, nil
}

// checkPreparer returns an error if Prepare does not fit the other fields or the n columns of X.
func (c *Config) checkPreparer(n int) error {
	if c.Prepare == nil {
		return nil
	}
	in, out := c.Prepare.Dims()
	return args.First(
		args.BadIf(c.Features != nil, "Config.Prepare", qpdiff.ErrDomain, "make the features in the Preparer, or prepare the rows of each part yourself",
			"is set together with Config.Features, which maps all rows at once"),
		args.BadIf(in != n, "Config.Prepare", qpdiff.ErrShape, "give Data.X the columns of the Preparer", "takes %d columns, and Data.X has %d", in, n),
		args.BadIf(out < 1, "Config.Prepare", qpdiff.ErrShape, "give the Preparer at least one feature", "has %d features", out),
	)
}
