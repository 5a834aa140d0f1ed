package synth

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Regression describes the random linear regression problem of [MakeRegression]. Its fields are
// options of scikit-learn's make_regression for one target. The zero value has scikit-learn's
// defaults, except for TailStrength.
type Regression struct {
	Samples     int // number of examples N; zero means 100
	Features    int // number of features n; zero means 100
	Informative int // the number of features with an effect on the target; if there are fewer features, all have an effect; zero means 10

	Bias  float64 // added to every response
	Noise float64 // standard deviation of the normal noise in the responses

	// EffectiveRank, if not zero, makes the features correlated. EffectiveRank is then the approximate
	// number of large singular values of X, as in scikit-learn's make_low_rank_matrix. If it is zero,
	// the features are independent and standard normal.
	EffectiveRank int
	// TailStrength, between 0 and 1, is the weight of the slowly decreasing tail of the singular
	// values. If it is zero, there is no tail. (The default of scikit-learn is .5.) TailStrength has
	// an effect only if EffectiveRank is not zero.
	TailStrength float64

	// NoShuffle keeps the order of examples and features. The informative features are then the
	// first features.
	NoShuffle bool
}

// MakeRegression draws a linear regression problem
//
//	y = Xw + bias + noise·ε,   ε ~ N(0, I),
//
// with N×n features X and n coefficients w. Informative coefficients are uniform on [0, 100), and
// the others are zero. MakeRegression draws in the order of scikit-learn's make_regression:
// features, coefficients, noise, order of the examples, order of the features. If src is a [NumPy],
// the data are therefore equal to scikit-learn's data. MakeRegression returns an [ArgError] for
// invalid options.
func MakeRegression(src Source, o Regression) (d Data, coef []float64, err error) {
	o.Samples = cmp.Or(o.Samples, 100)
	o.Features = cmp.Or(o.Features, 100)
	o.Informative = cmp.Or(o.Informative, 10)
	if err := o.check(); err != nil {
		return Data{}, nil, err
	}

	var x *mat.Dense
	if o.EffectiveRank == 0 {
		x = gaussian(src, o.Samples, o.Features)
	} else {
		x = lowRank(src, o.Samples, o.Features, o.EffectiveRank, o.TailStrength)
	}
	coef = make([]float64, o.Features)
	for i := range min(o.Informative, o.Features) {
		coef[i] = 100 * src.Float64()
	}
	y := make([]float64, o.Samples)
	for i := range y {
		y[i] = floats.Dot(x.RawRowView(i), coef) + o.Bias
		if o.Noise > 0 {
			y[i] += Normal(src, 0, o.Noise)
		}
	}
	if o.NoShuffle {
		return Data{x, y}, coef, nil
	}

	rows, cols := src.Perm(o.Samples), src.Perm(o.Features)
	d = Data{mat.NewDense(o.Samples, o.Features, nil), make([]float64, o.Samples)}
	for i, from := range rows {
		d.Y[i] = y[from]
		to, row := d.X.RawRowView(i), x.RawRowView(from)
		for j, col := range cols {
			to[j] = row[col]
		}
	}
	shuffled := make([]float64, o.Features)
	for j, from := range cols {
		shuffled[j] = coef[from]
	}
	return d, shuffled, nil
}

func (o Regression) check() error {
	const huge = 1e300 // so that 10⁸ standard deviations do not overflow
	err := cmp.Or(
		checkSize("Regression.Samples", o.Samples),
		checkSize("Regression.Features", o.Features),
		checkSize("Regression.Informative", o.Informative),
		inRange("Regression.Bias", o.Bias, -huge, huge),
		inRange("Regression.Noise", o.Noise, 0, huge),
		inRange("Regression.EffectiveRank", float64(o.EffectiveRank), 0, maxSize),
		inRange("Regression.TailStrength", o.TailStrength, 0, 1),
	)
	//lint:ignore SA4023 cmp.Or returns nil where every check does
	if err == nil && o.Samples > maxSize/o.Features {
		err = argErrorf("Regression.Samples", "ask for fewer than 2³¹ numbers",
			"is %d for %d features", o.Samples, o.Features)
	}
	return err
}

// gaussian draws an r×c matrix of standard normal numbers, one row after the other.
func gaussian(src Source, r, c int) *mat.Dense {
	m := mat.NewDense(r, c, nil)
	data := m.RawMatrix().Data
	for i := range data {
		data[i] = src.NormFloat64()
	}
	return m
}

// lowRank draws an r×c matrix UΣVᵀ. U and V are random matrices with orthonormal columns. The
// diagonal of Σ has the singular values
//
//	σ_i = (1 − tail)·exp(−(i/rank)²) + tail·exp(−i/(10·rank)),   i = 0, 1, …,
//
// as in scikit-learn's make_low_rank_matrix.
func lowRank(src Source, r, c, rank int, tail float64) *mat.Dense {
	n := min(r, c)
	u := gaussian(src, r, n)
	orthonormalize(u.RawMatrix())
	v := gaussian(src, c, n)
	orthonormalize(v.RawMatrix())
	for j := range n {
		i := float64(j) / float64(rank)
		sigma := float64((1-tail)*math.Exp(-i*i)) + float64(tail*math.Exp(-.1*i))
		blas64.Scal(sigma, u.ColView(j).(*mat.VecDense).RawVector())
	}
	x := mat.NewDense(r, c, nil)
	x.Mul(u, v.T())
	return x
}

// orthonormalize replaces the matrix a by the factor Q of its QR decomposition. LAPACK chooses the
// signs of the columns of Q. The matrix must not have more columns than rows.
func orthonormalize(a blas64.General) {
	tau := make([]float64, a.Cols)
	work := []float64{0}
	lapack64.Geqrf(a, tau, work, -1)
	work = make([]float64, int(work[0]))
	lapack64.Geqrf(a, tau, work, len(work))
	lapack64.Orgqr(a, tau, work[:1], -1)
	work = make([]float64, int(work[0]))
	lapack64.Orgqr(a, tau, work, len(work))
}
