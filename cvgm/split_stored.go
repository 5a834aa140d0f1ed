package cvgm

import (
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/normalise"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// dense returns Data.X if it is dense, else nil: the splits then read its stored entries.
func (c *Config) dense() *mat.Dense {
	x, _ := c.Data.X.(*mat.Dense)
	return x
}

// loadStored is load for a sparse X.
func (f *splitFit) loadStored(c *Config) error {
	if err := f.norm.FitStored(f.train.X, f.split.Train); err != nil {
		return err
	}
	if f.intercept = 0; c.Centring != NoCentring {
		f.intercept = f.norm.Weights.Mean(sample.Pick(c.Data.Y, f.split.Train))
	}
	if !args.Finite(f.intercept) {
		return args.Bad("Data", qpdiff.ErrNotFinite, "scale the labels", "has the intercept %v over the training rows", f.intercept)
	}
	copy(f.train.Y, c.Data.Y)
	floats.AddConst(-f.intercept, f.train.Y)
	if f.norm.Centre {
		f.train.Centre, f.train.Scale = f.norm.Mean, f.norm.Std
	}
	return f.learner.Load(f.train)
}

// storedConstant returns what all rows share of θᵀx, for features (x − μ)/σ of a sparse x.
func storedConstant(theta []float64, norm *normalise.Normaliser) (sum float64) {
	for j, mean := range norm.Mean {
		sum -= theta[j] * (mean / norm.Std[j])
	}
	return sum
}

// predictStored is predictRows for the named rows of a sparse x that norm normalises.
func predictStored(dst []float64, x mat.Matrix, rows []int, theta []float64, intercept float64, norm *normalise.Normaliser) {
	constant := sample.Sum(intercept, theta[len(norm.Mean):]) + storedConstant(theta, norm)
	for at, i := range rows {
		p := constant
		x.(mat.RowNonZeroDoer).DoRowNonZero(i, func(_, j int, v float64) {
			p += theta[j] * (v / norm.Std[j])
		})
		dst[at] = p
	}
}

// storedSize is size for row i of a sparse X.
func (f *splitFit) storedSize(i int) float64 {
	size := math.Abs(f.intercept)
	for j, w := range f.theta {
		if j < len(f.norm.Mean) {
			w *= f.norm.Mean[j] / f.norm.Std[j]
		}
		size += math.Abs(w)
	}
	f.train.X.(mat.RowNonZeroDoer).DoRowNonZero(i, func(_, j int, v float64) {
		size += math.Abs(f.theta[j] * (v / f.norm.Std[j]))
	})
	return size
}

// addStored adds the cotangents of θ to dtheta, by those of the predictions of a sparse X.
func (f *splitFit) addStored(dtheta []float64) {
	m := len(f.norm.Mean)
	all := sample.Sum(0, f.dprediction)
	for at, i := range f.split.Val {
		d := f.dprediction[at]
		f.train.X.(mat.RowNonZeroDoer).DoRowNonZero(i, func(_, j int, v float64) {
			dtheta[j] += d * (v / f.norm.Std[j])
		})
	}
	for j, mean := range f.norm.Mean {
		dtheta[j] -= all * (mean / f.norm.Std[j])
	}
	for j := range dtheta[m:] {
		dtheta[m+j] += all
	}
}
