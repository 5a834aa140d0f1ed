package qpdiff

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// kernelSVMFit is a kernel machine on its data, solved: what its derivatives read.
type kernelSVMFit struct {
	fitState
	n            int // features
	rows         rowSet
	xy           []float64 // distinct rows of (x, y), n+1 entries each
	kernel       Kernel    // as of the last Load
	kernelParams []float64 // that q.k belongs to
	c            float64
	stale        bool // q.k does not belong to data
	q            boxQP

	support []int   // distinct rows with β ≠ 0
	weak    []int   // distinct rows at which strict complementarity fails
	blur    float64 // how far rounding may have moved the β of weakly active rows in all, in units of C
}

// load makes d, whose entries are checked, the data. A warm start survives where the
// distinct rows are in the same places with the same labels.
func (l *kernelSVMFit) load(d Data, bias bool) {
	rows, n := d.X.Dims()
	w := n + 1
	growAll(rows, &l.weak, &l.support)
	same := n == l.n && l.q.balanced == bias
	l.n = n
	l.xy = grow(l.xy, rows*w)
	for i, y := range d.Y {
		row := l.xy[i*w : (i+1)*w]
		copy(row, d.X.RawRowView(i))
		row[n] = y
	}
	if l.rows.distinct(l.xy, rows, w, nil) {
		same = false
	}
	l.q.balanced = bias
	l.q.resize(len(l.rows.first))
	for k, i := range l.rows.first {
		copy(l.xy[k*w:(k+1)*w], l.xy[i*w:(i+1)*w])
		y := l.xy[k*w+n]
		same = same && l.q.y[k] == y
		l.q.y[k] = y
	}
	if !same {
		l.q.reset()
	}
	l.stale = true
	l.data = d
}

// row is the k-th distinct row of X.
func (l *kernelSVMFit) row(k int) []float64 {
	w := l.n + 1
	return l.xy[k*w : k*w+l.n]
}

// checkHyper checks C and the kernel's parameters.
func (l *kernelSVMFit) checkHyper(hyper []float64) error {
	if len(hyper) != l.hypers {
		return argErrorf("hyper", ErrShape, "give C and the kernel's parameters", "has %d entries instead of %d", len(hyper), l.hypers)
	}
	if err := checkFinite("hyper", "give a finite hyperparameter", hyper); err != nil {
		return err
	}
	if !(hyper[0] > 0) {
		return argErrorf("hyper", ErrDomain, "give a C above 0", "holds %v as C", hyper[0])
	}
	return l.kernel.Check(hyper[1:])
}

// gramMatrix evaluates the kernel on the distinct rows.
func (l *kernelSVMFit) gramMatrix(params []float64) error {
	q := &l.q
	if !l.stale && slices.Equal(params, l.kernelParams) {
		return nil
	}
	l.stale = true
	n := q.n
	largest, sum := 0.0, 0.0
	for i := range n {
		x := l.row(i)
		for j := i; j < n; j++ {
			v := l.kernel.Eval(params, x, l.row(j))
			q.k[i*n+j], q.k[j*n+i] = v, v
			sum += math.Abs(v)
		}
		d := q.k[i*n+i]
		largest = max(largest, d)
		if d < 0 {
			return argErrorf("Kernel", ErrNonconvex, "use a positive semidefinite kernel", "is %v between row %d and itself", d, l.rows.first[i])
		}
	}
	if !finite(4 * sum) { // the curvature along a pair of rows sums four values
		return argErrorf("Kernel", ErrNotFinite, "scale the features or change the kernel's parameters", "overflows or is not a number on the training rows")
	}
	q.largest, q.shift = largest, 0
	if l.q.balanced {
		q.shift = cmp.Or(largest, 1)
	}
	l.stale = false
	l.kernelParams = append(l.kernelParams[:0], params...)
	return nil
}

// bounds sets the bounds for C, and moves the last solution with them.
func (l *kernelSVMFit) bounds(c float64) {
	q := &l.q
	for i, y := range q.y {
		top := c * l.rows.copies[i]
		lo, hi := 0.0, top
		if y < 0 {
			lo, hi = -top, 0
		}
		switch b := q.beta[i]; {
		case !q.warm || b == 0:
			q.beta[i] = 0
		case b == q.lo[i]:
			q.beta[i] = lo
		case b == q.hi[i]:
			q.beta[i] = hi
		default:
			q.beta[i] = min(max(b*(c/l.c), lo), hi)
		}
		q.lo[i], q.hi[i] = lo, hi
	}
	l.c = c
}

// kernelValues are the kernel's values of a Predict: for each row of x its features,
// then its values with the support vectors.
type kernelValues struct {
	fit    uint64 // the number of the fit
	values []float64
}

// predict writes the decision value of each row of x to dst, and the kernel's values
// to keep, unless that is nil or x is longer than the data.
func (l *kernelSVMFit) predict(keep *kernelValues, dst []float64, x *mat.Dense) error {
	if err := l.checkRows(x, nil, "dst", dst); err != nil {
		return err
	}
	if len(dst) > l.q.n {
		keep = nil
	}
	if keep != nil {
		keep.fit, keep.values = l.fit, keep.values[:0]
	}
	for t := range dst {
		f := l.q.b
		xt := x.RawRowView(t)
		if keep != nil {
			keep.values = append(keep.values, xt...)
		}
		for _, i := range l.support {
			k := l.kernel.Eval(l.kernelParams, l.row(i), xt)
			f += l.q.beta[i] * k
			if keep != nil {
				keep.values = append(keep.values, k)
			}
		}
		dst[t] = f
		if !finite(f) {
			return argErrorf("x", ErrNotFinite, "scale the features or change the kernel's parameters", "has a row %d whose decision value is %v", t, f)
		}
	}
	return nil
}

// checkRows checks the rows x of a Predict or of its derivative, one for each entry
// of the argument arg, and the shape of dx, unless that is nil.
func (l *kernelSVMFit) checkRows(x, dx *mat.Dense, arg string, values []float64) error {
	if err := l.fitted(); err != nil {
		return err
	}
	r, c := x.Dims()
	if c != l.n {
		return argErrorf("x", ErrShape, "give as many features as the data has", "has %d columns instead of %d", c, l.n)
	}
	if err := checkFiniteRows("x", "remove or impute the entry", x); err != nil {
		return err
	}
	checkLength(arg, values, r)
	checkMatrix("dx", dx, r, c)
	return nil
}
