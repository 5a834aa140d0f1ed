package qpdiff

import "math"

// huberFit is a Huber regression on its data, solved: what its derivatives read.
type huberFit struct {
	state fitState
	huberNewton
	rows   []int // those that count
	counts []float64
	weak   []int   // of those: rows whose residual is ±delta to working precision
	blur   float64 // how far rounding may have moved their residuals at most, in units of delta

	without, pivots []float64 // work of findWeak
}

// load makes d, whose entries are checked, the data.
func (l *huberFit) load(d Data, intercept bool) error {
	rows, n := d.X.Dims()
	k := n
	if intercept {
		k++
	}
	l.counts = counts(d, l.counts)
	l.rows = grow(l.rows, rows)[:0]
	total := 0.0
	for i := range rows {
		if count := countAt(l.counts, i); count > 0 {
			l.rows = append(l.rows, i)
			total += count
		}
	}
	l.resize(len(l.rows), k)
	l.weak = grow(l.weak, l.m)[:0]
	fill(l.pen, 1)
	if intercept {
		l.pen[n] = 0
	}
	clear(l.work) // of the columns: Σ share·z²
	yy := 0.0
	for at, i := range l.rows {
		z := l.row(at)
		copy(z, d.X.RawRowView(i))
		if intercept {
			z[n] = 1
		}
		l.y[at], l.share[at] = d.Y[i], countAt(l.counts, i)/total
		for j, v := range z {
			l.work[j] += l.share[at] * v * v
		}
		yy += l.share[at] * d.Y[i] * d.Y[i]
	}
	for j, xx := range l.work {
		if !finite(xx) || !finite(math.Sqrt(xx)*math.Sqrt(yy)) {
			l.warm = false
			return argErrorf("Data", ErrNotFinite, "scale the features and labels", "is so large that XᵀX or Xᵀy overflows at column %d", j)
		}
	}
	l.state.data = d
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
			l.blur = max(l.blur, complementarityTol*eps*l.rowError(i)/l.delta)
		}
	}
	if len(l.weak) == 0 {
		return nil
	}
	l.without, l.pivots = grow(l.without, l.k*l.k), grow(l.pivots, l.k)
	next := 0
	l.hessian(l.without, func(i int) float64 {
		if isNext(l.weak, &next, i) {
			return 0
		}
		return l.quadratic(i)
	})
	if _, at := l.factorise(l.without, l.pivots); at < l.k {
		return errHuberOpen(at)
	}
	return nil
}
