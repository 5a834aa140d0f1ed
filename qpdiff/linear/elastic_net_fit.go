package linear

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// elasticNetFit is an elastic net on its data, solved: what its derivatives read.
type elasticNetFit struct {
	penalisedQuadratic           // its G is XᵀX/N, its rmsY ‖y‖/√N
	xty                []float64 // Xᵀy/N, its c
	rows               int       // of X
	counts             []float64 // what each row counts, nil: one each
	total              float64   // the sum of the counts, N
	inv                float64   // 1/N
	spread             float64   // N over the least positive count
	scaled             []float64 // with counts: √count·x by row
}

func (e *elasticNetFit) resize(n int) {
	e.penalisedQuadratic.resize(n, n)
	e.xty = dense.Grow(e.xty, n)
	e.qp.c, e.qp.up, e.qp.lo = e.xty, e.l1, e.l1
}

// sums sets gram, xty, root and rmsY to the sums over the rows of d, each as often as
// it counts.
func (e *elasticNetFit) sums(d learn.Data) {
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
		e.root[j] = math.Sqrt(e.gram[j*n+j])
	}
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

// share is what row i counts of all.
func (e *elasticNetFit) share(i int) float64 { return dense.CountAt(e.counts, i) * e.inv }
