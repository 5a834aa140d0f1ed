// Package normalise maps features to mean 0 and deviation 1, with derivatives.
package normalise

import (
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
)

// Normaliser maps features to (x − μ)/σ. It is fitted to training rows: μ is their weighted mean,
// and σ their population standard deviation. Without scaling σ is 1, and without centring μ is 0.
// Scaling requires centring.
type Normaliser struct {
	Centre, Scale  bool
	Learned        bool // the features depend on parameters to be differentiated
	Weights        sample.Weights
	Mean, Std      []float64
	scratch, ratio []float64
	Jump           int // the first feature that is constant and scaled, −1 if there is none
}

// A column of n entries counts as constant if no entry differs from the first entry v by more than
// constantTol·2⁻⁵²·n·|v|. This is a bound of the rounding error of the computed mean. scikit-learn
// has the same convention.
const constantTol = 1

// Flat is the σ of a constant column, the largest float64. Validation rows may have other entries
// in this column. With this σ they become 0, in any unit of the column. With any other σ, the
// normalised entries and the values of kernels would depend on the unit of the column.
const Flat = math.MaxFloat64

// table holds rows of m entries. In x, the distance between the starts of successive rows is
// stride. The table consists of the rows listed in named. If named is nil, it consists of all rows,
// and stride is m.
type table struct {
	x         []float64
	m, stride int
	named     []int
}

func (t *table) rows() int {
	if t.named != nil {
		return len(t.named)
	}
	return len(t.x) / t.m
}

func (t *table) row(i int) []float64 {
	if t.named != nil {
		i = t.named[i]
	}
	return t.x[i*t.stride : i*t.stride+t.m]
}

// ConstantColumn reports whether column j of x (row-major, m columns) is
// constant up to rounding.
func ConstantColumn(x []float64, m, j int) bool { return (&table{x: x, m: m, stride: m}).constant(j) }

func (t *table) constant(j int) bool {
	rows, first := t.rows(), t.row(0)[j]
	near := constantTol * float64(rows) * 0x1p-52 * math.Abs(first)
	for i := 1; i < rows; i++ {
		if !(math.Abs(t.row(i)[j]-first) <= near) {
			return false
		}
	}
	return true
}

// Fit computes μ and σ from the rows of x (row-major, m columns). A constant column has its first
// entry as μ, so that equal entries become exactly 0. If Scale is set, its σ is Flat.
func (z *Normaliser) Fit(x []float64, m int) error { return z.fit(&table{x: x, m: m, stride: m}) }

// startFit sets all μ to 0 and all σ to 1.
func (z *Normaliser) startFit(m int) {
	z.Mean, z.Std, z.Jump = sample.Resize(z.Mean, m), sample.Resize(z.Std, m), -1
	for j := range m {
		z.Mean[j], z.Std[j] = 0, 1
	}
}

func (z *Normaliser) fit(x *table) error {
	z.startFit(x.m)
	rows := x.rows()
	total := z.Weights.Total(rows)
	if !z.Centre {
		return nil
	}
	sums := z.Mean
	for i := range rows {
		weight, row := z.Weights.At(i), x.row(i)[:len(sums)]
		for j, v := range row {
			sums[j] += weight * v
		}
	}
	for j := range z.Mean {
		z.Mean[j] /= total
		if !args.Finite(z.Mean[j]) {
			return z.errMean(j)
		}
	}
	if z.Scale {
		z.deviations(x)
	}
	first := x.row(0)
	for j := range first {
		if err := z.setConstant(j, x.constant(j), first[j]); err != nil {
			return err
		}
	}
	return nil
}

// errMean is the error if the mean of feature j is not finite.
func (z *Normaliser) errMean(j int) error {
	return args.Bad("Data.X", qpdiff.ErrNotFinite, "scale the feature", "has mean %v in feature %d over the training rows", z.Mean[j], j)
}

// setConstant replaces μ and σ of column j if the column is constant. firstEntry is the first entry
// of the column. setConstant returns an error if μ or σ cannot be used.
func (z *Normaliser) setConstant(j int, constant bool, firstEntry float64) error {
	switch {
	case !constant:
		if !(z.Std[j] > 0) || !args.Finite(z.Std[j]) {
			return args.Bad("Data.X", qpdiff.ErrNotFinite, "scale the feature", "has standard deviation %v in feature %d over the training rows", z.Std[j], j)
		}
	case z.Scale && z.Learned:
		return args.Bad("Features", qpdiff.ErrDomain, "move its parameters, use more training rows, or do not standardise",
			"has the constant %v as feature %d over the training rows, where the standardised feature jumps", firstEntry, j)
	default:
		z.Mean[j], z.Std[j] = firstEntry, 1
		if z.Scale {
			z.Std[j] = Flat
		}
		if z.Scale && z.Jump < 0 {
			z.Jump = j
		}
	}
	return nil
}

// deviations computes σ.
func (z *Normaliser) deviations(x *table) {
	rows := x.rows()
	clear(z.Std)
	mean, sums := z.Mean, z.Std[:len(z.Mean)]
	for i := range rows {
		weight, row := z.Weights.At(i), x.row(i)[:len(mean)]
		for j, v := range row {
			d := v - mean[j]
			sums[j] += weight * (d * d)
		}
	}
	total := z.Weights.Total(rows)
	for j, s := range z.Std {
		if z.Std[j] = math.Sqrt(s / total); !(s >= smallestSquares) || !args.Finite(s) {
			z.Std[j] = z.scaledDeviation(x, j)
		}
	}
}

// If the sum of squares is below smallestSquares, some squares may have lost bits to underflow. The
// smallest normal number divided by 2⁻⁵² is 1e-292, and the bound allows for 10¹² rows. The exact
// bound does not matter: if no square underflows, scaledDeviation gives the same result up to
// rounding.
const smallestSquares = 1e-280

// scaledDeviation returns the standard deviation of column j if the squares of its entries overflow
// or underflow. It first divides the entries by a power of two. So if the unit of the column
// changes by a power of two, the digits of the result stay the same.
func (z *Normaliser) scaledDeviation(x *table, j int) float64 {
	var size, s float64
	rows := x.rows()
	for i := range rows {
		size = max(size, math.Abs(x.row(i)[j]-z.Mean[j]))
	}
	_, exponent := math.Frexp(size)
	for i := range rows {
		d := math.Ldexp(x.row(i)[j]-z.Mean[j], -exponent)
		s += z.Weights.At(i) * (d * d)
	}
	return math.Ldexp(math.Sqrt(s/z.Weights.Total(rows)), exponent)
}

// Apply normalises the rows of x in place.
func (z *Normaliser) Apply(x []float64) {
	if !z.Centre {
		return
	}
	mean, std := z.Mean, z.Std[:len(z.Mean)]
	for ; len(mean) > 0 && len(x) >= len(mean); x = x[len(mean):] {
		row := x[:len(mean)]
		for j, v := range row {
			row[j] = (v - mean[j]) / std[j]
		}
	}
}

// Backward turns cotangents of the normalised rows into cotangents of the raw rows, in place. The
// parameter train holds the normalised training rows x̂, which determined μ and σ. The parameter
// val holds the validation rows, which did not. Let w_i be the weights of the training rows, with
// sum W. Then ∂μ/∂x_i = w_i/W and ∂σ/∂x_i = w_i·x̂_i/W.
func (z *Normaliser) Backward(train, val, dtrain, dval []float64) {
	if !z.Centre {
		return
	}
	m := len(z.Mean)
	rows := len(train) / m
	total := z.Weights.Total(rows)
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
		if !z.Scale {
			ddev = 0
		}
		for i := range rows {
			at := i*m + j
			dtrain[at] = (dtrain[at] - z.Weights.At(i)*(dmean+ddev*train[at])/total) / z.Std[j]
		}
		for i := j; i < len(dval); i += m {
			dval[i] /= z.Std[j]
		}
	}
}
