package learn

// A Tunable is a Learner that describes how to tune it: its hyperparameters on given data, and the
// loss that judges its predictions. A learner of your own that implements Tunable is tuned like the
// learners of this module.
type Tunable interface {
	Learner
	// New returns a new learner of the same type with the same settings. The settings are the
	// exported fields.
	New() Learner
	// Convention returns the loss and the centring that are usual for the learner.
	Convention() Convention
	// Hyperparameters describes the hyperparameters for data with the moments m, in the order of
	// Fit. If several hyperparameters are of one kind, one for each group of features, a single
	// description covers them. Nil: the data do not determine a description, as for the parameters
	// of a kernel of your own.
	Hyperparameters(m Moments) []Hyperparameter
}

// A Convention is a learner's usual loss and centring.
type Convention struct {
	// Loss judges its predictions.
	Loss LossKind
	// Centred learners have no intercept: labels and features are centred instead.
	Centred bool
	// Raw learners need features in their own scales, which are not standardised.
	Raw bool
}

// A LossKind names a usual loss of predictions.
type LossKind int

const (
	NoLoss        LossKind = iota // none is usual
	SquaredError                  // (p − y)²
	AbsoluteError                 // |p − y|
	LogisticLoss                  // log(1 + exp(−yp)): the predictions are log odds of the label +1
	Hinge                         // max(0, 1 − yp)
	PoissonLoss                   // exp(p) − yp and a constant: the predictions are logarithms of the expected y
)

// A Hyperparameter is one to search for.
type Hyperparameter struct {
	Name string // as the documentation of its learner has it, such as λ1
	// 0 < Lower ≤ Default ≤ Upper. The search is in the logarithm.
	Lower, Default, Upper float64
	// Zero is true if the learner also accepts the value 0. If a search ends near Lower, it tries
	// 0, and keeps 0 unless that raises the CV loss.
	Zero bool
	// Kind is a name. A search with few evaluations changes all hyperparameters of the same Kind
	// together. Empty: it changes this hyperparameter by itself.
	Kind string
	// Features lists the features, numbered from 0, whose width this hyperparameter is, such as a γ
	// of an ARD kernel. A search begins with one width for all features. A width of 0 removes its
	// features. Nil: this hyperparameter is not a width.
	Features []int
}

// Moments are the sizes of a training set that determine the bounds of hyperparameters. Features
// and labels are centred and scaled as for the learner. A moment is 0 if it underflows in the
// data's unit, and +Inf if it overflows. The moment of data that are all 0 is 1.
type Moments struct {
	Examples int     // N
	Features int     // n
	Sparse   bool    // X is read by its stored entries
	Weight   float64 // the sum of the examples' weights; Examples without weights

	Trace       float64 // of XᵀX/N, which is at least its largest eigenvalue
	Largest     float64 // entry of its diagonal
	Variance    float64 // mean entry of its diagonal, of features that vary
	Correlation float64 // the largest |x_jᵀy|/N, with y centred
	Mean        float64 // of the labels, not centred

	// Squares is the diagonal of XᵀX/N, with one entry for each feature. Nil: the diagonal is not
	// known.
	Squares []float64

	// Spread returns the spread of the labels: 1.4826 times the median distance from their median.
	// For normal labels that is the standard deviation. If most labels are equal, the median is
	// over the labels that differ from them.
	Spread func() float64
	// Distance returns the median squared distance between two rows. It returns 0 if all squared
	// distances underflow.
	Distance func() float64
}

// VarianceOf returns the mean of Squares over count features, the first of which is first. It
// leaves out features that are always 0. If no feature remains, or if Squares is nil, it returns
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
