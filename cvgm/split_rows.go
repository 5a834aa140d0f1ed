package cvgm

import (
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// predictRows writes the predictions for the normalised rows of x to dst. If learner is not nil,
// the learner makes the predictions. Otherwise a prediction is θᵀx, plus the last entry of theta if
// this is an intercept. In both cases predictRows also adds its argument intercept.
func predictRows(dst []float64, learner learn.Predictor, w *qpdiff.Workspace, theta []float64, intercept float64, x *mat.Dense) error {
	if learner != nil {
		err := learner.Predict(w, dst, x)
		floats.AddConst(intercept, dst)
		return err
	}
	rows := x.RawMatrix()
	linearRows(dst, theta, intercept, rows.Data, rows.Cols, rows.Stride)
	return nil
}

// linearRows does the work of predictRows without a learner. The rows have m features and start
// stride entries apart in x.
func linearRows(dst, theta []float64, intercept float64, x []float64, m, stride int) {
	constant, weights, i := sample.Sum(intercept, theta[m:]), theta[:m], 0
	row := func(i int) []float64 { return x[i*stride:][:len(weights)] }
	for ; i+4 <= len(dst); i += 4 { // four sums at a time, which do not wait for one another
		a, b, c, d := row(i), row(i+1), row(i+2), row(i+3)
		p, q, r, s := constant, constant, constant, constant
		for j, w := range weights {
			p += float64(w * a[j]) // the same bits on each processor
			q += float64(w * b[j])
			r += float64(w * c[j])
			s += float64(w * d[j])
		}
		dst[i], dst[i+1], dst[i+2], dst[i+3] = p, q, r, s
	}
	for ; i+2 <= len(dst); i += 2 {
		a, b := row(i), row(i+1)
		p, q := constant, constant
		for j, w := range weights {
			p += float64(w * a[j])
			q += float64(w * b[j])
		}
		dst[i], dst[i+1] = p, q
	}
	for ; i < len(dst); i++ {
		p, a := constant, row(i)
		for j, w := range weights {
			p += float64(w * a[j])
		}
		dst[i] = p
	}
}

// setRows sets dst to the sum of coef[i]·xᵢ over the first rows xᵢ of x, each with m entries. It
// sums two rows, or three if x has an odd number of rows, and returns how many. If x has only one
// row, setRows sets dst to 0 and returns 0. The bits are the same as for clear(dst) and addRows.
func setRows(dst []float64, m int, coef, x []float64) (rows int) {
	if len(coef) < 2 {
		clear(dst)
		return 0
	}
	first := x[:m]
	second, out := x[m:][:len(first)], dst[:len(first)]
	d, e := coef[0], coef[1]
	if rows = 2 + len(coef)%2; rows == 2 {
		for j, v := range first {
			out[j] = 0 + d*v + e*second[j] // 0 + x differs from x = −0
		}
	} else {
		third, f := x[2*m:][:len(first)], coef[2]
		for j, v := range first {
			out[j] = 0 + d*v + e*second[j] + f*third[j]
		}
	}
	if m < len(dst) {
		clear(dst[m:])
	}
	return rows
}

// addRows adds coef[i]·xᵢ to dst for the first rows xᵢ of x: for four rows if x has as many,
// otherwise for two, and for one row if x has only one. It returns the number of added rows. The
// bits of the sum do not depend on this number.
func addRows(dst, coef, x []float64) (rows int) {
	n := len(dst)
	first := x[:n]
	switch {
	case len(coef) >= 4:
		second, third, fourth := x[n:][:n], x[2*n:][:n], x[3*n:][:n]
		d, e, f, g := coef[0], coef[1], coef[2], coef[3]
		for j, v := range first {
			dst[j] = dst[j] + d*v + e*second[j] + f*third[j] + g*fourth[j]
		}
		return 4
	case len(coef) >= 2:
		second := x[n:][:n]
		d, e := coef[0], coef[1]
		for j, v := range first {
			dst[j] = dst[j] + d*v + e*second[j]
		}
		return 2
	}
	for j, v := range first {
		dst[j] += coef[0] * v
	}
	return 1
}
