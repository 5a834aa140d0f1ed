package normalise

import (
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// FitRows does the work of Fit for the listed rows of x. If x is sparse, it reads only the stored
// entries. z.Weights has an entry for each listed row.
func (z *Normaliser) FitRows(x mat.Matrix, rows []int) error {
	if x, ok := x.(*mat.Dense); ok {
		raw := x.RawMatrix()
		return z.fit(&table{raw.Data, raw.Cols, raw.Stride, rows})
	}
	_, m := x.Dims()
	if z.startFit(m); !z.Centre {
		return nil
	}
	visit := visitor(x, rows, z.Weights)
	total := z.Weights.Total(len(rows))
	constant, first := ConstantStored(x, rows)
	c := columns{weight: make([]float64, m), size: make([]float64, m)}
	visit(func(j int, v, w float64) {
		c.weight[j] += w
		c.size[j] = max(c.size[j], math.Abs(v))
		z.Mean[j] += w * v
	})
	for j := range m {
		if z.Mean[j] /= total; !args.Finite(z.Mean[j]) {
			return z.errMean(j)
		}
	}
	if z.Scale {
		z.storedDeviations(visit, &c, total)
	}
	for j := range m {
		if err := z.setConstant(j, constant[j], first[j]); err != nil {
			return err
		}
	}
	return nil
}

// visitor returns a function that calls its argument for each stored entry of the listed rows.
func visitor(x mat.Matrix, rows []int, weights sample.Weights) func(each func(j int, v, weight float64)) {
	return func(each func(j int, v, weight float64)) {
		for at, i := range rows {
			w := weights.At(at)
			sample.VisitRow(x, i, func(j int, v float64) { each(j, v, w) })
		}
	}
}

// ConstantStored reports for each column of x whether it is constant up to rounding on the listed
// rows. It uses the criterion of ConstantColumn. It also returns an entry of each column. x may be
// sparse.
func ConstantStored(x mat.Matrix, rows []int) (constant []bool, first []float64) {
	_, m := x.Dims()
	constant, first = make([]bool, m), make([]float64, m)
	stored, zeros := make([]int, m), make([]bool, m)
	near := constantTol * float64(len(rows)) * 0x1p-52
	for j := range constant {
		constant[j], zeros[j] = true, true
	}
	visitor(x, rows, nil)(func(j int, v, _ float64) {
		if stored[j]++; stored[j] == 1 {
			first[j] = v
		}
		constant[j] = constant[j] && math.Abs(v-first[j]) <= near*math.Abs(first[j])
		zeros[j] = zeros[j] && v == 0
	})
	for j, n := range stored {
		if n < len(rows) {
			constant[j] = zeros[j] // such a column also has zeros that are not stored
		}
	}
	return constant, first
}

// columns holds, for each column, the total weight and the largest absolute value of the stored
// entries.
type columns struct{ weight, size []float64 }

// storedDeviations computes σ. For each column it uses a power of two as unit, in which the entries
// are near 1, so that no square overflows or underflows.
func (z *Normaliser) storedDeviations(visit func(func(j int, v, w float64)), c *columns, total float64) {
	clear(z.Std)
	exponent := make([]int, len(z.Mean))
	for j, size := range c.size {
		_, exponent[j] = math.Frexp(size)
	}
	visit(func(j int, v, w float64) {
		d := math.Ldexp(v-z.Mean[j], -exponent[j])
		z.Std[j] += w * (d * d)
	})
	for j := range z.Std {
		d := math.Ldexp(z.Mean[j], -exponent[j])
		z.Std[j] += max(0, total-c.weight[j]) * (d * d) // the entries that are not stored
		z.Std[j] = math.Ldexp(math.Sqrt(z.Std[j]/total), exponent[j])
	}
}

// constant returns the part of θᵀx that is the same for all normalised rows. It includes the
// intercepts, which are the last entries of theta, after the features' entries.
func (z *Normaliser) constant(theta []float64) float64 {
	sum := sample.Sum(0, theta[len(z.Mean):])
	for j, mean := range z.Mean {
		sum -= float64(theta[j] * (mean / z.Std[j])) // the same bits on each processor
	}
	return sum
}

// PredictStored writes intercept + θᵀx to dst, for the listed rows of x after normalisation. The
// parameter theta has an entry for each feature, followed by constants. PredictStored adds these
// constants to each prediction.
func (z *Normaliser) PredictStored(dst []float64, x mat.Matrix, rows []int, theta []float64, intercept float64) {
	if x, ok := x.(*mat.Dense); ok {
		own, scaled := z.splitTheta(theta)
		for at, i := range rows {
			dst[at] = intercept + own + floats.Dot(scaled, z.centredRow(x, i))
		}
		return
	}
	constant := intercept + z.constant(theta)
	for at, i := range rows {
		p := constant
		sample.VisitRow(x, i, func(j int, v float64) { p += float64(theta[j] * (v / z.Std[j])) })
		dst[at] = p
	}
}

// splitTheta returns theta in two parts. slopes holds the features' entries divided by σ, and
// constant is the sum of the other entries.
func (z *Normaliser) splitTheta(theta []float64) (constant float64, slopes []float64) {
	m := len(z.Mean)
	z.ratio = append(z.ratio[:0], theta[:m]...)
	floats.Div(z.ratio, z.Std)
	return sample.Sum(0, theta[m:]), z.ratio
}

// centredRow returns row i of x minus μ. The result uses z.scratch.
func (z *Normaliser) centredRow(x *mat.Dense, i int) []float64 {
	z.scratch = sample.Resize(z.scratch, len(z.Mean))
	return floats.SubTo(z.scratch, x.RawRowView(i), z.Mean)
}

// SizeStored returns the sum of the absolute terms of PredictStored for row i, without the
// intercept.
func (z *Normaliser) SizeStored(x mat.Matrix, i int, theta []float64) (size float64) {
	m := len(z.Mean)
	for _, w := range theta[m:] {
		size += math.Abs(w)
	}
	if x, ok := x.(*mat.Dense); ok {
		_, scaled := z.splitTheta(theta)
		for j, v := range z.centredRow(x, i) {
			size += math.Abs(scaled[j] * v)
		}
		return size
	}
	for j, mean := range z.Mean {
		size += math.Abs(theta[j] * (mean / z.Std[j]))
	}
	sample.VisitRow(x, i, func(j int, v float64) { size += math.Abs(theta[j] * (v / z.Std[j])) })
	return size
}

// AddStored adds the cotangent of theta to dtheta. The argument dpredictions is the cotangent of
// the predictions that PredictStored writes.
func (z *Normaliser) AddStored(dtheta []float64, x mat.Matrix, rows []int, dpredictions []float64) {
	m, all := len(z.Mean), sample.Sum(0, dpredictions)
	for j := m; j < len(dtheta); j++ {
		dtheta[j] += all
	}
	if x, ok := x.(*mat.Dense); ok {
		z.ratio = sample.Resize(z.ratio, m)
		clear(z.ratio)
		for at, i := range rows {
			floats.AddScaled(z.ratio, dpredictions[at], z.centredRow(x, i))
		}
		floats.Div(z.ratio, z.Std)
		floats.Add(dtheta[:m], z.ratio)
		return
	}
	z.scratch = sample.Resize(z.scratch, m)
	clear(z.scratch)
	for at, i := range rows {
		d := dpredictions[at]
		sample.VisitRow(x, i, func(j int, v float64) { z.scratch[j] += d * v })
	}
	for j := range m {
		dtheta[j] += (z.scratch[j] - all*z.Mean[j]) / z.Std[j]
	}
}
