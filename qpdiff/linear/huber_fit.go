package linear

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// huberFit is a Huber regression on its data, solved: what its derivatives read.
type huberFit struct {
	state learner.State
	huberNewton
	rows   []int // those that count
	counts []float64
	weak   []int   // of those: rows whose residual is ±delta to working precision
	blur   float64 // how far rounding may have moved their residuals at most, in units of delta

	without, pivots []float64 // work of findWeak
}

// load makes d, whose entries are checked, the data.
func (l *huberFit) load(d learn.Data, intercept bool) error {
	_, n := d.X.Dims()
	k := n
	if intercept {
		k++
	}
	var total float64
	l.counts, l.rows, total = learner.Counting(d, l.counts, l.rows)
	l.resize(len(l.rows), k)
	l.weak = dense.Grow(l.weak, l.m)[:0]
	dense.Fill(l.pen, 1)
	if intercept {
		l.pen[n] = 0
	}
	clear(l.work) // of the columns: Σ share·z²
	yy := 0.0
	features := d.Dense()
	for at, i := range l.rows {
		z := l.row(at)
		copy(z, features.RawRowView(i))
		if intercept {
			z[n] = 1
		}
		l.y[at], l.share[at] = d.Y[i], dense.CountAt(l.counts, i)/total
		for j, v := range z {
			l.work[j] += l.share[at] * v * v
		}
		yy += l.share[at] * d.Y[i] * d.Y[i]
	}
	for j, xx := range l.work {
		if !dense.Finite(xx) || !dense.Finite(math.Sqrt(xx)*math.Sqrt(yy)) {
			l.warm = false
			return check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the features and labels", "is so large that XᵀX or Xᵀy overflows at column %d", j)
		}
	}
	l.state.Data = d
	return nil
}

// findWeak lists the rows at the kink of the second derivative. Where the others in the
// quadratic zone do not determine θ, it is at the end of a set of minimisers, or a
// rounding error apart from that.
func (l *huberFit) findWeak() error {
	l.weak, l.blur = l.weak[:0], 0
	for i, r := range l.r {
		off := math.Abs(math.Abs(r) - l.delta)
		if l.hides(i, off) {
			l.weak = append(l.weak, i)
			l.blur = max(l.blur, dense.ComplementarityTol*dense.Eps*l.rowError(i)/l.delta)
		}
	}
	if len(l.weak) == 0 {
		return nil
	}
	l.without, l.pivots = dense.Grow(l.without, l.k*l.k), dense.Grow(l.pivots, l.k)
	next := 0
	l.hessian(l.without, func(i int) float64 {
		if dense.IsNext(l.weak, &next, i) {
			return 0
		}
		return l.quadratic(i)
	})
	if _, at := l.factorise(l.without, l.pivots); at < l.k {
		return errHuberOpen(at)
	}
	return nil
}
