package linear

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/sparse"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

const (
	// sparseSweeps bounds the sweeps of coordinate descent, which ends when no sign changes
	// and no coordinate moves by more than sparseSettled of the largest.
	sparseSweeps  = 200
	sparseSettled = 1e-6
)

// ReadsStored implements [learn.SparseLearner].
func (e *ElasticNet) ReadsStored() {}

// sumsSparse is the part of sumsWorking for the features of a sparse X, but for a factor 1/N.
func (e *elasticNetFit) sumsSparse(d learn.Data) {
	s := e.working
	roots := s.residual
	for i := range roots {
		roots[i] = math.Sqrt(dense.CountAt(e.counts, i))
	}
	e.sparse.Load(d, roots)
	floats.Mul(roots, d.Y)
	e.sparse.AddTransposed(s.xty, 1, roots)
	for j := range s.root {
		s.root[j] = max(0, e.sparse.Square(j))
		s.diag[j] = e.inv * s.root[j]
	}
}

// sparseHeld is held for a set of sparse columns.
func (e *elasticNetFit) sparseHeld(set float64) float64 {
	rows, n := float64(e.rows), float64(e.params)
	gram := float64(cap(e.gram) + cap(e.working.oldGram))
	if !ways.Gradients(int(set)) {
		gram = max(gram, 2.25*set*set)
	}
	return sparse.Entries(rows, n, float64(e.sparse.Stored())) + setEntries(rows, n, set) + gram + gradientsEntries(rows, set) + float64(len(e.counts))
}

// gradientsEntries counts the entries of conjugate gradients on a set, in the fit and in a
// derivative.
func gradientsEntries(rows, set float64) float64 {
	return 2 * (rows + gradientsRoom*set + 2*gradientsSteps)
}

// applySparse sets dst to the product of the active system with v. fit is work of the rows.
func (q *piecewiseQP) applySparse(dst, v, fit []float64) {
	q.combine(fit, v, q.act)
	along := q.rowSum(fit)
	for i, j := range q.act {
		dst[i] = q.inv*q.dot(j, fit, along) + q.r[j]*v[i]
	}
}

// solveSparse leaves the solution of the active system in z, and the condition that its solve
// met in bound. It returns the coordinate with the largest residual if the system cannot be
// solved, else len(act).
func (q *piecewiseQP) solveSparse() int {
	s := len(q.act)
	b := q.grad[:s]
	for i := range b {
		b[i] = q.linear(i)
	}
	g := &q.gradients
	g.work = dense.Grow(g.work, q.rows+gradientsRoom*s)
	residual, worst := g.solve(q, q.z[:s], b, g.work)
	if q.bound = g.most / g.least; !(residual <= residualTol) || dense.Unsolvable(q.bound) {
		return worst
	}
	return s
}

// sparseRow is row for sparse columns.
func (q *piecewiseQP) sparseRow(dst []float64, j int) {
	q.fit = dense.Zeros(q.fit, q.rows)
	f := q.features[j]
	q.sparse.Add(q.fit, 1, f)
	for _, k := range q.act {
		dst[k] = q.inv * q.sparse.Product(f, q.features[k], q.fit)
	}
}

// descendSparse is coordinateDescent on the residual c − Gx, by the rows. Sparse columns touch
// few of them.
func (q *piecewiseQP) descendSparse() {
	c := q.sparse
	q.fit = dense.Zeros(q.fit, q.rows)
	rest, spread := q.fit, 0.0 // −Cx is rest less spread·ρ
	for j, v := range q.x {
		if v != 0 {
			spread += c.Add(rest, -v, q.features[j])
		}
	}
	along := c.Along(rest) - spread*c.Total
	for range sparseSweeps {
		signs, moved, largest := false, 0.0, 0.0
		for j, old := range q.x {
			f, h := q.features[j], q.diag[j]+q.r[j]
			if !(h > 0) {
				continue
			}
			rho := q.c[j] + q.inv*c.DotRest(f, rest, spread, along) + q.diag[j]*old
			v := q.soft(j, rho) / h
			largest = max(largest, math.Abs(v)*math.Sqrt(h))
			if v == old {
				continue
			}
			signs = signs || dense.Sign(v) != dense.Sign(old)
			moved = max(moved, math.Abs(v-old)*math.Sqrt(h))
			q.x[j] = v
			spread += c.Add(rest, old-v, f)
			along += (old - v) * c.AlongColumn(f)
		}
		if !signs && moved <= sparseSettled*largest {
			break
		}
	}
	q.activate()
}

// rowsOf sets dst to the products of the rows with v, an entry for each feature. Rows that do
// not count have 0.
func (e *elasticNetFit) rowsOf(dst, v []float64) []float64 {
	dst = dense.Grow(dst, e.rows)
	e.sparse.Times(dst, v)
	for i, r := range e.sparse.Root {
		if r != 0 {
			dst[i] /= r
		}
	}
	return dst
}

// sparseVJP is dataVJP for a sparse X.
func (e *elasticNetFit) sparseVJP(d *penalisedDerivative, g *learn.Grad, features []int, w []float64) error {
	theta := e.theta()
	d.all = dense.Zeros(d.all, e.params)
	dense.Scatter(d.all, w, features)
	d.rows = e.rowsOf(d.rows, d.all)
	if g.Y != nil {
		for i, xw := range d.rows {
			g.Y[i] += e.share(i) * xw
		}
	}
	if g.Stored != nil {
		d.fit = e.rowsOf(d.fit, theta)
		data := &e.state.Data
		data.VisitStored(func(at, i, j int, _ float64) {
			if share := e.share(i); share != 0 {
				g.Stored[at] += share * ((data.Y[i]-d.fit[i])*d.all[j] - d.rows[i]*theta[j]) / sparse.Scale(*data, j)
			}
		})
	}
	return learner.CheckProduct(g)
}

// sparseTangent is tangent for a sparse X.
func (e *elasticNetFit) sparseTangent(d *penalisedDerivative, b []float64, t *learn.Grad) {
	theta, data := e.theta(), &e.state.Data
	d.rows = dense.Zeros(d.rows, e.rows) // the change of the residual
	if t.Y != nil {
		copy(d.rows, t.Y)
	}
	if t.Stored != nil {
		d.fit = e.rowsOf(d.fit, theta)
		data.VisitStored(func(at, i, j int, _ float64) {
			dx := t.Stored[at] / sparse.Scale(*data, j)
			d.rows[i] -= dx * theta[j]
			b[j] += e.share(i) * (data.Y[i] - d.fit[i]) * dx
		})
	}
	floats.Mul(d.rows, e.sparse.Root)
	e.sparse.AddTransposed(b, e.inv, d.rows)
}
