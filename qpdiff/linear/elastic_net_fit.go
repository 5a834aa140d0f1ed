package linear

import (
	"cmp"
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// elasticNetFit is an elastic net on its data, solved: what its derivatives read.
type elasticNetFit struct {
	penalisedQuadratic             // its G is XᵀX/N, its rmsY ‖y‖/√N
	xty                []float64   // Xᵀy/N, its c
	rows               int         // of X
	counts             []float64   // what each row counts, nil: one each
	total              float64     // the sum of the counts, N
	inv                float64     // 1/N
	spread             float64     // N over the least positive count
	scaled             []float64   // with counts: √count·x by row
	working            *workingSet // nil where the Gram matrix of all features serves
}

// shape makes room for rows of n features. The warm start survives where the shape stays.
func (e *elasticNetFit) shape(rows, n int) {
	wide := ways.WorkingSet(n)
	if n == e.params && rows == e.rows && wide == (e.working != nil) {
		return
	}
	e.params, e.rows = n, rows
	e.qp.columnQuadratic = columnQuadratic{}
	if wide {
		e.working = cmp.Or(e.working, new(workingSet))
		e.working.resize(n, rows)
		e.qp.features, e.qp.rows = e.working.features, rows
		e.resize(0)
	} else {
		e.working, e.qp.features = nil, nil
		e.resize(n)
		e.gram = dense.Grow(e.gram, n*n)
		e.qp.g, e.qp.diag = e.gram, dense.Grow(e.qp.diag, n)
	}
	e.reset()
}

// reset forgets the warm start.
func (e *elasticNetFit) reset() {
	e.qp.reset()
	if e.working != nil {
		e.working.reset()
	}
}

// resize gives the quadratic problem n coordinates.
func (e *elasticNetFit) resize(n int) {
	e.penalisedQuadratic.resize(n, n)
	e.xty = dense.Grow(e.xty, n)
	e.qp.c, e.qp.up, e.qp.lo = e.xty, e.l1, e.l1
}

// sums sets gram, xty, root and rmsY to the sums over the rows of d, each as often as
// it counts, and returns root and xty of all features.
func (e *elasticNetFit) sums(d learn.Data) (root, xty []float64) {
	if e.working != nil {
		return e.sumsWorking(d)
	}
	n, raw := e.n, d.Dense().RawMatrix()
	clear(e.xty)
	if e.counts = learner.Counts(d, e.counts); e.counts == nil {
		e.total, e.spread = float64(e.rows), float64(e.rows)
		e.inv = 1 / e.total
		dense.Gram(e.gram, e.inv, raw.Data, e.rows, n, raw.Stride)
		for i, y := range d.Y {
			dense.Axpy(y, raw.Data[i*raw.Stride:i*raw.Stride+n], e.xty)
		}
		e.rmsY = math.Sqrt(dense.Dot(d.Y, d.Y) * e.inv)
	} else {
		e.scaled = dense.Zeros(e.scaled, e.rows*n)
		e.total = floats.Sum(e.counts)
		yy, least := 0.0, math.Inf(1)
		for i, c := range e.counts {
			if c == 0 {
				continue
			}
			x, y := raw.Data[i*raw.Stride:i*raw.Stride+n], d.Y[i]
			dense.Axpy(math.Sqrt(c), x, e.scaled[i*n:(i+1)*n])
			dense.Axpy(c*y, x, e.xty)
			yy += c * y * y
			least = min(least, c)
		}
		e.inv, e.spread = 1/e.total, e.total/least
		dense.Gram(e.gram, e.inv, e.scaled, e.rows, n, n)
		e.rmsY = math.Sqrt(yy * e.inv)
	}
	for j := range n {
		e.xty[j] *= e.inv
		e.qp.diag[j] = e.gram[j*n+j]
		e.root[j] = math.Sqrt(e.qp.diag[j])
	}
	return e.root, e.xty
}

// begin begins a Fit: it checks the arguments and sets the penalties.
func (e *elasticNetFit) begin(groups []int, theta, hyper []float64) error {
	if s := e.working; s != nil {
		return e.penalisedQuadratic.begin(&s.groups, s.l1, s.l2, groups, theta, hyper)
	}
	return e.penalisedQuadratic.begin(&e.groups, e.l1, e.l2, groups, theta, hyper)
}

// solve finds the solution and the coordinates that are weakly active there.
func (e *elasticNetFit) solve() error {
	if e.working != nil {
		if err := e.solveWorking(); err != nil {
			return err
		}
	} else {
		// The residual of the solution is not longer than y, so that some penalties
		// hold their coordinates at zero for certain. In the warm start their slopes
		// might overflow.
		for j, l1 := range e.l1 {
			if l1 > e.root[j]*e.rmsY {
				e.qp.x[j] = 0
			}
		}
		if err := e.qp.solve(); err != nil {
			return err
		}
	}
	any, err := e.suspectWeak()
	if any {
		e.sizeTerms()
		err = e.settleWeak()
	}
	return err
}

// sizeTerms sets terms to a bound.
func (e *elasticNetFit) sizeTerms() {
	reach := e.rmsY
	for j, t := range e.qp.x {
		reach += e.root[j] * math.Abs(t)
	}
	for j, r := range e.root {
		e.terms[j] = r * reach
	}
}

// theta returns the solution.
func (e *elasticNetFit) theta() []float64 {
	if e.working != nil {
		return e.working.theta
	}
	return e.qp.x
}

// share is what row i counts of all.
func (e *elasticNetFit) share(i int) float64 { return dense.CountAt(e.counts, i) * e.inv }
