package kernel

import (
	"cmp"
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// kernelSVMFit is a solved support vector machine, with its data and all values that its
// derivatives need.
type kernelSVMFit struct {
	kernelMachine // its rows are the distinct rows of X, its coefficients β
	rows          learner.RowSet
	c             float64
	q             boxQP

	weak []int // distinct rows at which strict complementarity fails
	// betaError is an upper bound for a sum over the weakly active rows. The term of a row is the
	// amount by which rounding may have moved its β, divided by its bound.
	betaError float64
}

// load copies the rows from the data. It keeps the warm start if the following stay the same: the
// number of features, and the places, labels and counts of the distinct rows.
func (l *kernelSVMFit) load(features int, bias bool) {
	d, rows, n := l.state.Data, len(l.state.Data.Y), l.n
	w := n + 1
	dense.GrowAll(rows, &l.weak, &l.support)
	sameRows := n == features && l.q.balanced == bias
	l.stride = w // with the label behind the features
	l.points = dense.Grow(l.points, rows*w)
	x := d.Dense()
	for i, y := range d.Y {
		row := l.points[i*w : (i+1)*w]
		copy(row, x.RawRowView(i))
		row[n] = y
	}
	l.rows.Counts = learner.Counts(d, l.rows.Counts)
	if l.rows.Distinct(l.points, rows, w) {
		sameRows = false
	}
	l.q.balanced = bias
	l.q.resize(len(l.rows.First))
	for k, i := range l.rows.First {
		copy(l.points[k*w:(k+1)*w], l.points[i*w:(i+1)*w])
		y := l.points[k*w+n]
		// The bounds of the last fit show the old weights of the rows: hi − lo was C times the weight of
		// the row.
		sameRows = sameRows && l.q.y[k] == y && l.q.hi[k]-l.q.lo[k] == l.c*l.rows.Copies[k]
		l.q.y[k] = y
	}
	l.transpose(l.q.n)
	l.q.baseEntries, l.q.maxBytes = l.entries(d.Size()), d.MaxBytes
	if !sameRows {
		l.q.reset()
	}
}

// entries counts the allocations of load and of the derivatives.
func (l *kernelSVMFit) entries(s learn.Size) float64 {
	rows, n, m := learner.Sizes(s)
	return rows*(2*n+1) + 3*rows + learner.RowSetEntries(rows, s.Weighted) + 19*m + rowsEntries(m) + derivativeEntries(m, n, float64(s.Predicted))
}

// gramMatrix evaluates the kernel between all distinct rows. If there are too many rows, it
// evaluates only the diagonal.
func (l *kernelSVMFit) gramMatrix(params []float64) error {
	q := &l.q
	changed, largest, err := q.rows.updateRows(&l.kernelMachine, l.rows.First, q.diagonal, params)
	if changed {
		q.largest, q.shift = largest, 0
		if l.q.balanced {
			q.shift = cmp.Or(largest, 1)
		}
	}
	return err
}

// bounds computes the bounds of β for a new C, and scales the last solution in proportion to C. It
// does not scale the solution if the last C was subnormal, because β then has few digits, and
// scaling would violate Σβ = 0. If a bound is not positive and finite, bounds returns an error.
func (l *kernelSVMFit) bounds(c float64) error {
	q := &l.q
	var sum, size float64
	for i, y := range q.y {
		top := c * l.rows.Copies[i]
		if !(top > 0) || !dense.Finite(top) {
			return check.ArgErrorf("hyper", qpdiff.ErrDomain, "scale C or the weights", "gives row %d, which counts %v, the bound %v with C = %v",
				l.rows.First[i], l.rows.Copies[i], top, c)
		}
		lo, hi := 0.0, top
		if y < 0 {
			lo, hi = -top, 0
		}
		switch b := q.beta[i]; {
		case !q.isWarm || b == 0:
			q.beta[i] = 0
		case b == q.lo[i]:
			q.beta[i] = lo
		case b == q.hi[i]:
			q.beta[i] = hi
		default:
			q.beta[i] = min(max(b*(c/l.c), lo), hi)
		}
		q.lo[i], q.hi[i] = lo, hi
		sum += q.beta[i]
		size += math.Abs(q.beta[i])
	}
	if q.balanced && math.Abs(sum) > boundTol*float64(q.n)*size {
		q.reset()
	}
	l.c = c
	return nil
}
