package qpdiff

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// elasticNetFit is an elastic net on its data, solved: what its derivatives read.
type elasticNetFit struct {
	fitState
	n      int       // features
	rows   int       // of X
	counts []float64 // what each row counts, nil: one each
	total  float64   // the sum of the counts, N
	inv    float64   // 1/N
	spread float64   // N over the least positive count
	scaled []float64 // with counts: √count·x by row
	gram   []float64 // XᵀX/N
	xty    []float64 // Xᵀy/N
	root   []float64 // ‖x_j‖/√N
	rmsY   float64   // ‖y‖/√N
	l1, l2 []float64
	qp     piecewiseQP

	perFeature bool    // as of the last fit
	weak       []int   // weakly active with λ1 > 0
	weakFree   []int   // θ_j ≈ 0 with λ1_j = 0: a kink in λ1 only
	blur       float64 // how far rounding may have moved the weakly active θ_j at most, in the scale of θ

	w, v []float64   // work of retest
	part piecewiseQP // work of findWeak
}

func (e *elasticNetFit) resize(n int) {
	e.n = n
	growAll(n, &e.xty, &e.root, &e.l1, &e.l2, &e.w, &e.v)
	e.gram = grow(e.gram, n*n)
	e.qp.resize(n)
	e.qp.g, e.qp.c, e.qp.r, e.qp.up, e.qp.lo = e.gram, e.xty, e.l2, e.l1, e.l1
}

// sums sets gram, xty, root and rmsY to the sums over the rows of d, each as often as
// it counts.
func (e *elasticNetFit) sums(d Data) {
	n, raw := e.n, d.X.RawMatrix()
	clear(e.xty)
	if e.counts = d.counts(e.counts); e.counts == nil {
		e.total, e.spread = float64(e.rows), float64(e.rows)
		e.inv = 1 / e.total
		gram(e.gram, e.inv, raw.Data, e.rows, n, raw.Stride)
		for i, y := range d.Y {
			axpy(y, raw.Data[i*raw.Stride:i*raw.Stride+n], e.xty)
		}
		e.rmsY = math.Sqrt(dot(d.Y, d.Y) * e.inv)
	} else {
		e.scaled = zeros(e.scaled, e.rows*n)
		e.total = floats.Sum(e.counts)
		yy, least := 0.0, math.Inf(1)
		for i, c := range e.counts {
			if c == 0 {
				continue
			}
			x, y := raw.Data[i*raw.Stride:i*raw.Stride+n], d.Y[i]
			axpy(math.Sqrt(c), x, e.scaled[i*n:(i+1)*n])
			axpy(c*y, x, e.xty)
			yy += c * y * y
			least = min(least, c)
		}
		e.inv, e.spread = 1/e.total, e.total/least
		gram(e.gram, e.inv, e.scaled, e.rows, n, n)
		e.rmsY = math.Sqrt(yy * e.inv)
	}
	for j := range n {
		e.xty[j] *= e.inv
		e.root[j] = math.Sqrt(e.gram[j*n+j])
	}
}

// share is what row i counts of all.
func (e *elasticNetFit) share(i int) float64 { return countAt(e.counts, i) * e.inv }

// findWeak lists the weakly active coordinates at the solution. With some of
// them at zero the solution can be unique only if the features at their kink
// are linearly independent together with the support.
func (e *elasticNetFit) findWeak() error {
	e.blur = 0
	q, n := &e.qp, e.n
	// In the variables √h_jj·θ_j, which give the active system a unit diagonal.
	sum, in := 0.0, 0.0
	for i, j := range q.act {
		h := e.gram[j*n+j] + e.l2[j]
		sum += h * q.x[j] * q.x[j]
		q.z[i] = math.Sqrt(h) * math.Abs(q.x[j])
	}
	size := math.Sqrt(sum)
	if !finite(size) {
		return argErrorf("hyper", ErrNotFinite, "raise lambda2, or scale the features and labels", "leaves a solution that overflows")
	}
	// Bounds come first, since they decide almost always and cost next to nothing.
	if !e.listWeak(e.rmsY+size, q.bound) {
		return nil
	}
	for _, j := range q.act {
		in = max(in, e.root[j]/math.Sqrt(e.gram[j*n+j]+e.l2[j]))
	}
	if len(q.act) == 0 {
		in = 1
	}
	if !e.listWeak(e.rmsY*in+size, q.cond()) || !e.retest(size) {
		return nil
	}
	s := e.part.restrict(e, func(j int, active, weak bool) bool { return active || weak })
	if k := s.factor(); k < len(s.act) {
		return errOpen(s.act[k])
	}
	return nil
}

// listWeak lists the coordinates that are weakly active where the solution and
// the right-hand side of the active system have the given size and the system
// the condition cond. It reports whether there are any.
func (e *elasticNetFit) listWeak(size, cond float64) bool {
	e.weak, e.weakFree = e.weak[:0], e.weakFree[:0]
	q := &e.qp
	next := 0
	for j := range e.n {
		if next < len(q.act) && q.act[next] == j {
			if negligible(q.z[next], size, cond) {
				if q.sgn[next] == 0 {
					e.weakFree = append(e.weakFree, j)
				} else {
					e.weak = append(e.weak, j)
				}
			}
			next++
		} else if negligible(e.l1[j]-math.Abs(q.grad[j]), e.l1[j]+e.root[j]*size, cond) {
			e.weak = append(e.weak, j)
		}
	}
	return len(e.weak)+len(e.weakFree) > 0
}

// retest takes from the coordinates listed those whose own error does not hide on
// which side of their kink they are: one solve each, where listWeak bounds all
// errors by the condition of the system. It reports whether any that remains is at
// zero. size is ‖θ‖ with a unit diagonal.
func (e *elasticNetFit) retest(size float64) (atZero bool) {
	q, n := &e.qp, e.n
	reach := e.rmsY // with root_j: the size of the terms of row j
	for j, t := range q.x {
		reach += e.root[j] * math.Abs(t)
	}
	terms := func(j int) float64 { return e.root[j]*reach + e.l1[j] + e.l2[j]*math.Abs(q.x[j]) }
	decided := func(j int) bool {
		_, active := slices.BinarySearch(q.act, j)
		curve := e.gram[j*n+j] + e.l2[j]
		root := math.Sqrt(curve)
		value, err := 0.0, 0.0
		if active {
			value, curve = math.Abs(q.x[j]), 1
			clear(e.v)
			e.v[j] = 1
		} else {
			value, err = e.l1[j]-math.Abs(q.grad[j]), terms(j)
			copy(e.v, e.gram[j*n:(j+1)*n])
		}
		for i, w := range q.solveActive(e.w, e.v) {
			k := q.act[i]
			err += math.Abs(w) * terms(k)
			if !active { // θ_j bends the objective by this, once in the support
				curve -= w * e.v[k]
			}
		}
		if !negligible(value, err, 1) {
			return true
		}
		atZero = atZero || !active
		e.blur = max(e.blur, complementarityTol*eps*err*root/(max(curve, 0)*(e.rmsY+size)))
		return false
	}
	e.weak = slices.DeleteFunc(e.weak, decided)
	e.weakFree = slices.DeleteFunc(e.weakFree, decided)
	return atZero
}

// sign returns sign(θ_j), or the sign of its subgradient where θ_j = 0.
func (e *elasticNetFit) sign(j int) float64 {
	if v := e.qp.x[j]; v != 0 || e.l1[j] == 0 {
		return sign(v)
	}
	return sign(e.qp.grad[j])
}

// kinkedAtZero reports whether a coordinate has a kink in λ1 at 0. That of a
// feature that is zero throughout has none: it does not leave 0.
func (e *elasticNetFit) kinkedAtZero() bool {
	return slices.ContainsFunc(e.weakFree, func(j int) bool { return e.gram[j*e.n+j] != 0 })
}

// restrict makes q the quadratic of e without kinks, on the coordinates that keep
// reports.
func (q *piecewiseQP) restrict(e *elasticNetFit, keep func(j int, active, weak bool) bool) *piecewiseQP {
	n := e.n
	q.resize(n)
	growAll(n, &q.c, &q.up, &q.lo)
	q.g, q.r = e.gram, e.l2
	q.reset()
	a, w := 0, 0
	for j := range n {
		active, weak := isNext(e.qp.act, &a, j), isNext(e.weak, &w, j)
		q.c[j] = 0
		q.up[j], q.lo[j] = math.Inf(1), math.Inf(1)
		if keep(j, active, weak) {
			q.up[j], q.lo[j] = 0, 0
		}
	}
	q.activate()
	return q
}
