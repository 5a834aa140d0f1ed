package cvgm

import "gonum.org/v1/gonum/mat"

// A FeatureMap is a differentiable map φ from raw features to those that a
// learner sees, with parameters that the gradient method learns: the paper's
// learned kernel. A FeatureMap is its own workspace and must not be shared
// between goroutines.
type FeatureMap interface {
	// Dims returns the number of raw and of mapped features.
	Dims() (in, out int)
	// NumParams returns the number of parameters.
	NumParams() int
	// Forward maps the N rows of x. The N×out result belongs to the map and
	// holds until the next call.
	Forward(params []float64, x *mat.Dense) (*mat.Dense, error)
	// Backward adds to dparams the derivative of a scalar with respect to the
	// parameters at the last Forward, given its derivative with respect to the
	// N×out features.
	Backward(dparams []float64, dfeatures *mat.Dense)
}
