package learn

// A Tunable is a Learner with the information that a tuner needs: the bounds of its hyperparameters
// for given data, and the usual loss of its predictions. A tuner treats a Tunable of your own like
// the learners of this module.
type Tunable interface {
	Learner
	// New returns a new learner of the same type with the same settings, which are the exported
	// fields.
	New() Learner
	// Convention returns the loss and the centring that are usual for the learner.
	Convention() Convention
	// Hyperparameters describes the hyperparameters for data with the moments m, in the order of Fit.
	// A learner may have one copy of each hyperparameter for each group of features; the result then
	// has one description for all copies. If the data do not determine a description, Hyperparameters
	// returns nil, for example for the parameters of a kernel of your own.
	Hyperparameters(m Moments) []Hyperparameter
}

// A Convention is a learner's usual loss and centring.
type Convention struct {
	// Loss is the usual loss of the learner's predictions.
	Loss LossKind
	// Centred is true if the learner has no intercept, and labels and features are centred instead.
	Centred bool
	// Raw is true if the features must not be standardised.
	Raw bool
	// Robust is true if the learner fits Huber's loss with some threshold. The absolute error, and
	// Huber's loss with any threshold, are then suitable validation losses.
	Robust bool
}

// A RidgeLearner is a Tunable that becomes a ridge regression if some of its hyperparameters are 0.
// This is a logistic ridge regression if its loss is the logistic loss, and otherwise a linear one.
// A tuner compares learners with a ridge regression, but does not compare one ridge regression with
// another.
type RidgeLearner interface {
	Tunable
	// BeyondRidge returns the names of the hyperparameters that must be 0 for the learner to be a
	// ridge regression. If the learner is always a ridge regression, BeyondRidge returns nil.
	BeyondRidge() []string
}

// A SizedClassLearner is a [ClassLearner] whose number of classes can be set. A tuner sets it if
// Outputs returns 0.
type SizedClassLearner interface {
	ClassLearner
	// SetOutputs sets the number of classes of the next Load.
	SetOutputs(classes int)
}

// A LossKind names a usual loss of predictions.
type LossKind int

const (
	NoLoss        LossKind = iota // the learner has no usual loss
	SquaredError                  // (p − y)²
	AbsoluteError                 // |p − y|
	LogisticLoss                  // log(1 + exp(−yp)) for a prediction p and a label y = ±1: the predictions are log odds of the label +1
	Hinge                         // max(0, 1 − yp)
	// PoissonLoss is exp(p) − yp plus a constant, where y is the label. The prediction p is the
	// logarithm of the expected y.
	PoissonLoss
)

// A Hyperparameter describes a hyperparameter that a search chooses.
type Hyperparameter struct {
	Name string // as in the documentation of the learner, such as λ1
	// Lower and Upper are the bounds of a search, and Default is the value at which it starts: 0 <
	// Lower ≤ Default ≤ Upper. The search uses the logarithm of the hyperparameter.
	Lower, Default, Upper float64
	// Zero is true if the learner also accepts the value 0. If a search ends near Lower, it also tries
	// the value 0. It keeps the value 0 unless the CV loss at 0 is higher.
	Zero bool
	// Kind names a group of hyperparameters. A search with few evaluations changes all hyperparameters
	// of a Kind alike. If Kind is empty, the search changes this hyperparameter alone.
	Kind string
	// Features is not nil if this hyperparameter is a width of some features, such as a γ of an ARD
	// kernel. Features lists these features, numbered from 0. A search begins with the same width for
	// all features. If a width is 0, its features have no effect in the model.
	Features []int
}

// Moments describes a training set by numbers, from which the bounds of hyperparameters are
// computed. These numbers are moments of the features and labels after centring and scaling for the
// learner. A moment is 0 if it underflows in the units of the data, and +Inf if it overflows. If
// all numbers that enter a moment are 0, the moment is 1.
type Moments struct {
	Examples int     // N
	Features int     // n
	Sparse   bool    // the learner reads the stored entries of X
	Weight   float64 // the sum of the weights of the examples; equal to Examples if there are no weights

	Trace       float64 // trace of XᵀX/N, an upper bound of its largest eigenvalue
	Largest     float64 // largest diagonal entry of XᵀX/N
	Variance    float64 // mean diagonal entry of XᵀX/N, over the features that vary
	Correlation float64 // the largest |x_jᵀy|/N, with y centred
	Mean        float64 // mean of the labels before they are centred

	// Squares is the diagonal of XᵀX/N, with one entry for each feature. Nil: the diagonal is not
	// known.
	Squares []float64

	// Spread returns the spread of the labels: 1.4826 times the median of the distances between a
	// label and the median label. For normally distributed labels, the spread equals the standard
	// deviation. If most labels are equal, only the distances of the other labels are used.
	Spread func() float64
	// Distance returns the median squared distance between two rows. It returns 0 if all squared
	// distances underflow.
	Distance func() float64
}

// VarianceOf returns the mean of Squares_j over the features first ≤ j < first + count. Features
// that are always 0 are left out. If no feature remains, or if Squares is nil, VarianceOf returns
// Variance.
func (m Moments) VarianceOf(first, count int) float64 {
	sum, varying := 0.0, 0
	if first >= 0 && first+count <= len(m.Squares) {
		for _, v := range m.Squares[first:][:count] {
			if sum += v; v > 0 {
				varying++
			}
		}
	}
	if varying == 0 {
		return m.Variance
	}
	return sum / float64(varying)
}
