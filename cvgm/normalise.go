package cvgm

import (
	"math"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// normaliser maps features to (x − μ)/σ with the mean μ and the population
// standard deviation σ of the training rows it was fitted to. Without scaling
// σ is 1, and without centring μ is 0. Scaling goes with centring.
type normaliser struct {
	center, scale bool
	mean, dev     []float64
}

// fit computes μ and σ from the rows of x (row-major, m columns).
func (z *normaliser) fit(x []float64, m int) error {
	z.mean, z.dev = resize(z.mean, m), resize(z.dev, m)
	rows := len(x) / m
	for j := range m {
		z.mean[j], z.dev[j] = 0, 1
	}
	if z.center {
		for i := range rows {
			for j, v := range x[i*m : i*m+m] {
				z.mean[j] += v
			}
		}
		for j := range z.mean {
			z.mean[j] /= float64(rows)
		}
	}
	if !z.scale {
		return nil
	}
	clear(z.dev)
	for i := range rows {
		for j, v := range x[i*m : i*m+m] {
			d := v - z.mean[j]
			z.dev[j] += d * d
		}
	}
	for j, s := range z.dev {
		z.dev[j] = math.Sqrt(s / float64(rows))
		// A constant column leaves at most rounding noise of its mean.
		if !(z.dev[j] > 1e-13*math.Abs(z.mean[j])) || math.IsInf(z.dev[j], 1) {
			return badArg("X", qpdiff.ErrDomain, "drop the feature, use more training rows, or do not standardise",
				"has standard deviation %v in feature %d over the training rows", z.dev[j], j)
		}
	}
	return nil
}

// apply normalises the rows of x in place.
func (z *normaliser) apply(x []float64) {
	if !z.center {
		return
	}
	m := len(z.mean)
	for i := 0; i+m <= len(x); i += m {
		row := x[i : i+m]
		for j := range row {
			row[j] = (row[j] - z.mean[j]) / z.dev[j]
		}
	}
}

// backward turns cotangents of the normalised rows into cotangents of the raw
// rows, in place. train holds the normalised training rows x̂, which μ and σ
// were fitted to, and val those that were only mapped. With n training rows,
// ∂μ/∂x_i = 1/n and ∂σ/∂x_i = x̂_i/n for each training row.
func (z *normaliser) backward(train, val, dtrain, dval []float64) {
	if !z.center {
		return
	}
	m := len(z.mean)
	n := float64(len(train) / m)
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
		for i := j; i < len(train); i += m {
			dtrain[i] = (dtrain[i] - (dmean+ddev*train[i])/n) / z.dev[j]
		}
		for i := j; i < len(dval); i += m {
			dval[i] /= z.dev[j]
		}
	}
}

// leastSquaresIntercept returns the intercept of the least-squares fit of y on
// the rows of x with an intercept: ȳ − x̄ᵀθ, with the θ of least norm where
// several fit.
func leastSquaresIntercept(x []float64, m int, y []float64) float64 {
	n := len(y)
	z := normaliser{center: true}
	_ = z.fit(x, m) // without scaling nothing can fail
	yc := mat.NewDense(n, 1, nil)
	mean := meanOf(y)
	centred := append([]float64(nil), x...)
	z.apply(centred)
	for i, v := range y {
		yc.Set(i, 0, v-mean)
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(n, m, centred), mat.SVDThin) {
		return math.NaN()
	}
	var theta mat.Dense
	rank := svd.Rank(1e-12)
	if rank == 0 {
		return mean
	}
	svd.SolveTo(&theta, yc, rank)
	for j, mu := range z.mean {
		mean -= mu * theta.At(j, 0)
	}
	return mean
}

func meanOf(v []float64) float64 { return sum(0, v) / float64(len(v)) }

func resize(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}
