package linear

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/equal"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// sums computes gram, xty, root and rmsY, which are weighted sums over the rows of d. It returns
// root and xty of all features.
func (e *elasticNetFit) sums(d learn.Data) (root, xty []float64) {
	if e.workSet != nil {
		return e.sumsWorking(d)
	}
	n, raw := e.n, d.Dense().RawMatrix()
	clear(e.xty)
	if e.usesGramPackage {
		e.sumsMany(d)
	} else if e.counts == nil {
		e.total, e.weightSpread = float64(e.rows), float64(e.rows)
		e.inv = 1 / e.total
		dense.Gram(e.gram, e.inv, raw.Data, e.rows, n, raw.Stride)
		for i, y := range d.Y {
			dense.Axpy(y, raw.Data[i*raw.Stride:i*raw.Stride+n], e.xty)
		}
		e.rmsY = math.Sqrt(dense.Dot(d.Y, d.Y) * e.inv)
	} else {
		e.scaledRows = dense.Zeros(e.scaledRows, e.rows*n)
		e.total = floats.Sum(e.counts)
		yy, least := 0.0, math.Inf(1)
		for i, c := range e.counts {
			if c == 0 {
				continue
			}
			x, y := raw.Data[i*raw.Stride:i*raw.Stride+n], d.Y[i]
			dense.Axpy(math.Sqrt(c), x, e.scaledRows[i*n:(i+1)*n])
			dense.Axpy(c*y, x, e.xty)
			yy += c * y * y
			least = min(least, c)
		}
		e.inv, e.weightSpread = 1/e.total, e.total/least
		dense.Gram(e.gram, e.inv, e.scaledRows, e.rows, n, n)
		e.rmsY = math.Sqrt(yy * e.inv)
	}
	for j := range n {
		e.xty[j] *= e.inv
		e.qp.diag[j] = e.gram[j*n+j]
		e.root[j] = math.Sqrt(e.qp.diag[j])
	}
	e.allZeroAbove = slices.Min(e.root) * e.rmsY
	return e.root, e.xty
}

// The function sums calls sumsMany if there are many rows. sumsMany leaves out the factor 1/N.
func (e *elasticNetFit) sumsMany(d learn.Data) {
	e.total = 0
	yy, least := 0.0, math.Inf(1)
	for i, y := range d.Y {
		if c := dense.CountAt(e.counts, i); c > 0 {
			e.total += c
			yy += c * y * y
			least = min(least, c)
		}
	}
	e.inv, e.weightSpread = 1/e.total, e.total/least
	e.rmsY = math.Sqrt(yy * e.inv)
	e.maker.End = &e.state.Stop
	e.maker.Make(e.gram, e.xty, &d, e.counts)
	floats.Scale(e.inv, e.gram)
}

// startFit begins a Fit: it checks the arguments and sets the penalties.
func (e *elasticNetFit) startFit(groups []int, theta, hyper []float64) error {
	e.equalFeatures = nil
	of, l1, l2 := &e.groups, e.l1, e.l2
	if s := e.workSet; s != nil {
		of, l1, l2 = &s.groups, s.l1, s.l2
	}
	err := e.penalisedQuadratic.begin(of, l1, l2, groups, theta, hyper)
	if err == nil && (hyper[of.count] <= e.openBelow || of.count > 1 && slices.Min(hyper[of.count:]) <= e.openBelow) {
		e.holdEqual()
	}
	return err
}

// isOpen reports whether λ2 is too small to determine separate values for feature k and the
// features that are equal to feature k. A feature of zeros is open if it has no penalties.
func (e *elasticNetFit) isOpen(k int, l1, l2, root []float64) bool {
	return l2[k] <= ridgeRounding*root[k]*root[k] && (root[k] > 0 || l1[k] == 0)
}

// holdEqual holds at zero each feature that equals an earlier feature with the same penalties, if
// λ2 is too small to distinguish them (see isOpen). The first fit with such a λ2 searches for equal
// features. Solutions therefore do not depend on earlier fits.
func (e *elasticNetFit) holdEqual() {
	of, l1, l2, root := e.penalties()
	for k := 0; !e.classesKnown && k < len(l1); k++ {
		if e.isOpen(k, l1, l2, root) {
			e.findEqual()
		}
	}
	if e.classes == nil {
		return
	}
	e.equalFeatures = e.classes.Restrict(&e.equalStorage, func(first, k int) bool {
		return of.at(first) == of.at(k) && e.isOpen(k, l1, l2, root)
	})
	if e.equalFeatures == nil {
		return
	}
	for j := range l1 {
		if e.equalFeatures.Held(j) {
			l1[j] = math.MaxFloat64
		} else if copies := e.equalFeatures.Copies(j); copies > 1 {
			l2[j] /= float64(copies) // of the sum of their shares
		}
	}
}

// findEqual computes classes, once for the data.
func (e *elasticNetFit) findEqual() {
	e.classesKnown = true
	if e.qp.sparse != nil {
		e.classes = equal.Find(e.rows, e.params, e.sparse.Compare())
		return
	}
	e.classes = equal.Find(e.rows, e.params, seenColumns{e})
}

// seenColumns are the columns of a dense X as the solver uses them: each entry is multiplied by the
// square root of its row's weight.
type seenColumns struct{ *elasticNetFit }

// Project implements [equal.Matrix].
func (e seenColumns) Project(sums, size []float64, weight func() float64) {
	d, row := e.state.Data, make([]float64, len(sums))
	for i := range d.Y {
		if root := math.Sqrt(dense.CountAt(e.counts, i)); root > 0 {
			x := seen(row, d, i)
			floats.AddScaled(sums, root*weight(), x)
			for j, v := range x {
				size[j] = max(size[j], root*math.Abs(v))
			}
		}
	}
}

// Alike implements [equal.Matrix].
func (e seenColumns) Alike(first, k int, sign, tol float64) bool {
	d := e.state.Data
	x := d.Dense()
	for i := range d.Y {
		if root := math.Sqrt(dense.CountAt(e.counts, i)); root > 0 {
			row := x.RawRowView(i)
			if !(root*math.Abs(d.Seen(first, row[first])-sign*d.Seen(k, row[k])) <= tol) {
				return false
			}
		}
	}
	return true
}

// solve finds the solution and the coordinates that are weakly active there.
func (e *elasticNetFit) solve() error {
	if e.workSet != nil {
		if err := e.solveWorking(); err != nil {
			return err
		}
	} else {
		e.start()
		if _, err := e.qp.advanceActivated(math.MaxInt); err != nil {
			return err
		}
	}
	return e.settle()
}

// start makes the active set of the warm start the active set of the fit.
func (e *elasticNetFit) start() {
	if len(e.groups.of) == 0 && e.equalFeatures == nil && e.l1[0] > 0 && e.l1[0] <= e.allZeroAbove {
		if e.qp.isActivated() {
			return
		}
	} else {
		e.clipPenalty()
	}
	e.qp.activate()
}

// clipPenalty sets coordinates of the warm start to 0 if they are certainly 0 at the solution. A
// coordinate is certainly 0 if the penalties hold it at 0 for every residual that is not longer
// than y. If such a coordinate were not set to 0, its slope might overflow.
func (e *elasticNetFit) clipPenalty() {
	root, x := e.root[:len(e.l1)], e.qp.x[:len(e.l1)]
	for j, l1 := range e.l1 {
		if l1 > root[j]*e.rmsY {
			x[j] = 0
		}
	}
}

// settle finds the coordinates that are weakly active at the solution.
func (e *elasticNetFit) settle() error {
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
	theta, slope := e.theta(), e.slopesOfRows()
	_, l1, l2, root := e.penalties()
	reach, worst := e.rmsY, 0.0
	for j, t := range theta {
		reach += root[j] * math.Abs(t)
	}
	for j, t := range theta {
		first, ridge := j, l2[j]
		if e.equalFeatures != nil {
			if first = e.equalFeatures.First[j]; first < 0 { // a feature of zeros
				continue
			}
			ridge = l2[first] * float64(e.equalFeatures.Copies(first))
		}
		miss := math.Abs(slope[j] - ridge*t - l1[first]*dense.Sign(t))
		if t == 0 {
			miss = max(0, math.Abs(slope[j])-l1[first])
		}
		worst = max(worst, learner.Relative(miss, l1[first]+ridge*math.Abs(t)+root[j]*reach))
	}
	return worst
}

// slopesOfRows returns the negative derivatives of the squared error. Unlike the solvers, it
// computes them from the rows alone.
func (e *elasticNetFit) slopesOfRows() []float64 {
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
				work = learner.See(work, &d, row)
				row = work
			}
			dense.Axpy(share*(y-dense.Dot(theta, row)), row, slope)
		}
	}
	return slope
}
