package linear

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// sums sets gram, xty, root and rmsY to the sums over the rows of d, each as often as
// it counts, and returns root and xty of all features.
func (e *elasticNetFit) sums(d learn.Data) (root, xty []float64) {
	if e.working != nil {
		return e.sumsWorking(d)
	}
	n, raw := e.n, d.Dense().RawMatrix()
	clear(e.xty)
	if e.counts == nil {
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

// residual returns the residual of the optimality conditions, relative to the size of their
// terms.
func (e *elasticNetFit) residual() float64 {
	theta, d := e.theta(), e.state.Data
	slope := make([]float64, e.params)
	if e.qp.sparse != nil {
		r := e.rowsOf(nil, theta)
		for i, y := range d.Y {
			r[i] = e.sparse.Root[i] * (y - r[i])
		}
		e.sparse.AddTransposed(slope, e.inv, r)
	} else {
		rows, viewed, work := d.Dense(), d.Centre != nil || d.Scale != nil, []float64(nil)
		for i, y := range d.Y {
			share := e.share(i)
			if share == 0 {
				continue
			}
			row := rows.RawRowView(i)
			if viewed {
				work = see(work, &d, row)
				row = work
			}
			dense.Axpy(share*(y-dense.Dot(theta, row)), row, slope)
		}
	}
	_, l1, l2, root := e.penalties()
	reach, worst := e.rmsY, 0.0
	for j, t := range theta {
		reach += root[j] * math.Abs(t)
	}
	for j, t := range theta {
		first, ridge := j, l2[j]
		if e.equal != nil {
			if first = e.equal.First[j]; first < 0 { // a feature of zeros
				continue
			}
			ridge = l2[first] * float64(e.equal.Copies(first))
		}
		miss := math.Abs(slope[j] - ridge*t - l1[first]*dense.Sign(t))
		if t == 0 {
			miss = max(0, math.Abs(slope[j])-l1[first])
		}
		if miss > 0 {
			worst = max(worst, miss/(l1[first]+ridge*math.Abs(t)+root[j]*reach))
		}
	}
	return worst
}
