package cvgm

import (
	"math"
	"slices"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// normaliser maps features to (x − μ)/σ with the weighted mean μ and the population
// standard deviation σ of the training rows it was fitted to. Without scaling
// σ is 1, and without centring μ is 0. Scaling goes with centring.
type normaliser struct {
	centre, scale bool
	learned       bool // the features depend on parameters to be differentiated
	weights       rowWeights
	mean, std     []float64
	jump          int // the first feature that is constant and scaled, −1 if there is none
}

// constantTol bounds the difference of the entries of a constant column, in
// units of 2⁻⁵² and relative to their size and number: the error of their
// computed mean has that bound, so that centring leaves nothing but rounding.
// It is the convention of scikit-learn.
const constantTol = 1

// constantColumn reports whether column j of x (row-major, m columns) is
// constant up to rounding.
func constantColumn(x []float64, m, j int) bool {
	near := constantTol * float64(len(x)/m) * 0x1p-52 * math.Abs(x[j])
	for i := j + m; i < len(x); i += m {
		if !(math.Abs(x[i]-x[j]) <= near) {
			return false
		}
	}
	return true
}

// fit computes μ and σ from the rows of x (row-major, m columns). A constant
// column has its first entry as μ, so that equal entries become exactly 0, and
// σ = 1.
func (z *normaliser) fit(x []float64, m int) error {
	z.mean, z.std, z.jump = resize(z.mean, m), resize(z.std, m), -1
	rows := len(x) / m
	total := z.weights.total(rows)
	for j := range m {
		z.mean[j], z.std[j] = 0, 1
	}
	if z.centre {
		for i := range rows {
			weight := z.weights.at(i)
			for j, v := range x[i*m : i*m+m] {
				z.mean[j] += weight * v
			}
		}
		for j := range z.mean {
			z.mean[j] /= total
			if !finite(z.mean[j]) {
				return badArg("Data.X", qpdiff.ErrNotFinite, "scale the feature", "has mean %v in feature %d over the training rows", z.mean[j], j)
			}
		}
	}
	if z.scale {
		clear(z.std)
		for i := range rows {
			weight := z.weights.at(i)
			for j, v := range x[i*m : i*m+m] {
				d := v - z.mean[j]
				z.std[j] += weight * (d * d)
			}
		}
		for j, s := range z.std {
			if z.std[j] = math.Sqrt(s / total); !(s >= smallestSquares) || !finite(s) {
				z.std[j] = z.scaledDeviation(x, j)
			}
		}
	}
	if !z.centre {
		return nil
	}
	for j := range m {
		switch {
		case !constantColumn(x, m, j):
			if !(z.std[j] > 0) || !finite(z.std[j]) {
				return badArg("Data.X", qpdiff.ErrNotFinite, "scale the feature", "has standard deviation %v in feature %d over the training rows", z.std[j], j)
			}
		case z.scale && z.learned:
			return badArg("Features", qpdiff.ErrDomain, "move its parameters, use more training rows, or do not standardise",
				"has the constant %v as feature %d over the training rows, where the standardised feature jumps", x[j], j)
		default:
			z.mean[j], z.std[j] = x[j], 1
			if z.scale && z.jump < 0 {
				z.jump = j
			}
		}
	}
	return nil
}

// smallestSquares bounds the sums of squares below which some squares may have
// lost bits to underflow: the smallest normal number over 2⁻⁵² is 1e-292, and
// the bound leaves room for 10¹² rows. The exact bound does not matter: where
// no square underflows, scaledDeviation gives the same but for rounding.
const smallestSquares = 1e-280

// scaledDeviation is the standard deviation of column j where the squares of
// its entries over- or underflow. It has the bits of the same column in a unit in which
// they do not.
func (z *normaliser) scaledDeviation(x []float64, j int) float64 {
	m := len(z.mean)
	var size, s float64
	for i := j; i < len(x); i += m {
		size = max(size, math.Abs(x[i]-z.mean[j]))
	}
	_, exponent := math.Frexp(size)
	rows := len(x) / m
	for i := range rows {
		d := math.Ldexp(x[i*m+j]-z.mean[j], -exponent)
		s += z.weights.at(i) * (d * d)
	}
	return math.Ldexp(math.Sqrt(s/z.weights.total(rows)), exponent)
}

// apply normalises the rows of x in place.
func (z *normaliser) apply(x []float64) {
	if !z.centre {
		return
	}
	m := len(z.mean)
	for i := 0; i+m <= len(x); i += m {
		row := x[i : i+m]
		for j := range row {
			row[j] = (row[j] - z.mean[j]) / z.std[j]
		}
	}
}

// backward turns cotangents of the normalised rows into cotangents of the raw
// rows, in place. train holds the normalised training rows x̂, which μ and σ
// were fitted to, and val those that were only mapped. With the weights w_i of the
// training rows, of sum W, ∂μ/∂x_i = w_i/W and ∂σ/∂x_i = w_i·x̂_i/W for each of them.
func (z *normaliser) backward(train, val, dtrain, dval []float64) {
	if !z.centre {
		return
	}
	m := len(z.mean)
	rows := len(train) / m
	total := z.weights.total(rows)
	for j := range m {
		var dmean, ddev float64 // times −σ
		for i := j; i < len(train); i += m {
			dmean += dtrain[i]
			ddev += dtrain[i] * train[i]
		}
		for i := j; i < len(dval); i += m {
			dmean += dval[i]
			ddev += dval[i] * val[i]
		}
		if !z.scale {
			ddev = 0
		}
		for i := range rows {
			at := i*m + j
			dtrain[at] = (dtrain[at] - z.weights.at(i)*(dmean+ddev*train[at])/total) / z.std[j]
		}
		for i := j; i < len(dval); i += m {
			dval[i] /= z.std[j]
		}
	}
}

// leastSquaresIntercept returns the intercept of the weighted least-squares fit of y on
// the rows of x with an intercept: ȳ − x̄ᵀθ, with the θ of least norm where
// several fit. It is NaN where the fit fails.
func leastSquaresIntercept(x []float64, m int, y []float64, weights rowWeights) float64 {
	n := len(y)
	z := normaliser{centre: true, weights: weights}
	if z.fit(x, m) != nil {
		return math.NaN()
	}
	yc, mean := slices.Clone(y), weights.mean(y)
	centred := slices.Clone(x)
	z.apply(centred)
	if !allFinite(centred) {
		return math.NaN() // the singular value decomposition would not end
	}
	floats.AddConst(-mean, yc)
	for i := range n {
		root := math.Sqrt(weights.at(i))
		yc[i] *= root
		floats.Scale(root, centred[i*m:(i+1)*m])
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(n, m, centred), mat.SVDThin) {
		return math.NaN()
	}
	var theta mat.Dense
	rank := svd.Rank(interceptRankTol)
	if rank == 0 {
		return mean
	}
	svd.SolveTo(&theta, mat.NewDense(n, 1, yc), rank)
	for j, mu := range z.mean {
		mean -= mu * theta.At(j, 0)
	}
	return mean
}

// interceptRankTol bounds the singular values that count as zero in
// leastSquaresIntercept, relative to the largest one: linearly dependent
// features have singular values of some 1e-15, and features whose dependence
// cannot be told from rounding of the data have up to 1e-13.
const interceptRankTol = 1e-12
