package learn

// A Tunable is a Learner that describes how to tune it: its hyperparameters on given data, and the
// loss that judges it. If a learner of your own implements it, it is tuned like the learners of
// this module.
type Tunable interface {
	Learner
	// New returns a new learner of the same type and with the same settings, which are its exported
	// fields.
	New() Learner
	// Convention returns the loss and the centring that are usual for the learner.
	Convention() Convention
	// Hyperparameters describes the hyperparameters on data of moments m, in the order of Fit. One
	// description covers all hyperparameters of a kind, one for each group of features. Nil: they
	// do not follow from the data, such as the parameters of a kernel of your own.
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
	// Zero: the learner also accepts 0. If a value is near Lower, 0 replaces it unless that raises
	// the CV loss.
	Zero bool
	// Kind is equal for hyperparameters that a search with few evaluations changes together. Empty:
	// this one is changed by itself.
	Kind string
	// Features are the features, from 0, whose width this hyperparameter is, such as γ of an ARD
	// kernel. A search begins with one width for all features, and a width of 0 removes its
	// features. Nil: it is not such a width.
	Features []int
}

// Moments are the sizes of a training set that determine the bounds of hyperparameters. Features
// and labels are centred and scaled as for the learner. A moment that under- or overflows in the
// data's unit is 0 or +Inf. A moment of zeros only is 1.
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

	// Squares is the diagonal of XᵀX/N: one entry for each feature. Nil: it is not known.
	Squares []float64

	// Spread returns the spread of the labels: 1.4826 times the median distance from their median.
	// For normal labels that is the standard deviation. If most labels are equal, the median is
	// over the others.
	Spread func() float64
	// Distance returns the median squared distance between two rows, or 0 if all underflow.
	Distance func() float64
}

// VarianceOf returns the mean of Squares over count features from first on, without features of
// zeros. Without any other feature, or without Squares, it returns Variance.
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
