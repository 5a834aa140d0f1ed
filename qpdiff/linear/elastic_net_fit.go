package linear

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/equal"
	"cvgm/qpdiff/internal/gram"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/sparse"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
)

// elasticNetFit is a solved elastic net with its data. Derivatives read it.
type elasticNetFit struct {
	workSet            *workingSet // nil if the Gram matrix of all features is used
	allZeroAbove       float64     // if λ1 is above allZeroAbove, each coordinate is certainly zero
	openBelow          float64     // at a larger λ2 no feature is open
	penalisedQuadratic             // its G is XᵀX/N, and its rmsY is ‖y‖/√N
	xty                []float64   // Xᵀy/N, the c of penalisedQuadratic
	// the length of a column: the number of rows of X, or the number of its rows with a weight above 0
	rows            int
	row             []float64 // work of seenEntries
	counts          []float64 // the weight of each row; nil if all weights are 1
	total           float64   // the sum of the counts, N
	inv             float64   // 1/N
	weightSpread    float64   // N divided by the smallest positive count
	scaledRows      []float64 // if counts is not nil: the rows, each multiplied by √count
	usesGramPackage bool      // package gram computes the sums
	maker           gram.Maker
	sparse          sparse.Columns
	classes         *equal.Columns // the classes of equal features; valid once classesKnown is true
	classesKnown    bool
	equalStorage    equal.Columns // storage of equalFeatures
	// if equalFeatures is not nil: the solution with one entry for each feature, also for features
	// that are equal
	fullTheta []float64
}

// shape allocates the storage for the data. If the shape of the data does not change, it keeps the
// warm start.
func (e *elasticNetFit) shape(d learn.Data) {
	rows, n := d.X.Dims()
	e.counts = learner.Counts(d, e.counts)
	wide := d.Sparse() || ways.WorkingSet(rows, n)
	if wide {
		if e.workSet == nil {
			e.workSet = new(workingSet)
		}
		rows = e.workSet.listRows(d, e.counts)
	}
	e.usesGramPackage = !d.Sparse() && ways.ManyRows(rows, d.Size().Counting, n)
	if d.Sparse() != (e.qp.sparse != nil) {
		e.params = 0
	}
	if n == e.params && rows == e.rows && wide == (e.qp.features != nil) {
		return
	}
	e.params, e.rows = n, rows
	e.qp.columnQuadratic = columnQuadratic{}
	if d.Sparse() {
		e.qp.sparse = &e.sparse
	}
	if wide {
		e.workSet.resize(n, rows)
		e.qp.features, e.qp.rows = e.workSet.features, rows
		e.resize(0)
	} else {
		if e.workSet != nil || n != e.n {
			e.allocate(n)
		}
		e.workSet, e.qp.features = nil, nil
		e.resize(n)
		e.qp.g = e.gram
	}
	e.reset()
}

// allocate allocates the Gram matrix of n features and the vectors of a fit as one block of memory.
// The fits of thousands of splits do not stay in the caches, and one block is fetched faster. The
// first hotVectors vectors are those that every fit reads.
func (e *elasticNetFit) allocate(n int) {
	q := &e.qp
	vectors := [...]*[]float64{&e.xty, &q.diag, &q.x, &q.sgn, &q.z, &e.l1, &e.l2, &e.root, &q.grad, &q.dinv, &q.d, &q.crossAt}
	all := make([]float64, n*(n+len(vectors)))
	e.gram, all = all[:n*n:n*n], all[n*n:]
	for _, x := range vectors {
		*x, all = all[:n:n], all[n:]
	}
}

const hotVectors = 8

// Bytes implements [learn.SizedLearner]: the allocations of shape, sums and the derivatives.
func (e *elasticNetFit) Bytes(s learn.Size) int64 {
	rows, n, _ := learner.Sizes(s)
	counts := 0.0
	if s.Weighted {
		counts = rows
	}
	if s.Sparse {
		first := min(n, firstFeatures)
		return learner.Entries(counts + rows + sparse.Entries(rows, n, float64(s.Stored)) + setEntries(rows, n, first) + gramEntries(rows, first) + systemEntries(first) + sparse.SolveEntries(rows, first))
	}
	if ways.WorkingSet(s.Rows, s.Features) {
		first := min(n, firstFeatures) // a fit never refuses a set of this size
		return learner.Entries(counts + workingEntries(rows, n, first, first) + gramEntries(rows, first) + systemEntries(first))
	}
	if ways.ManyRows(s.Rows, s.Counting, s.Features) {
		counts += gram.Entries(n)
	} else if s.Weighted {
		counts += rows * n // scaled
	}
	return learner.Entries(counts + n*n + (2+equalVectors)*n + penalisedEntries(n)) // gram, xty and diag
}

// reset forgets the warm start.
func (e *elasticNetFit) reset() {
	e.qp.reset()
	if e.workSet != nil {
		e.workSet.reset()
		e.qp.kernel.Forget()
	}
}

// resize gives the quadratic problem n coordinates.
func (e *elasticNetFit) resize(n int) {
	dense.GrowAll(n, &e.xty, &e.qp.diag)
	e.penalisedQuadratic.resize(n, n)
	e.qp.c, e.qp.up, e.qp.lo = e.xty, e.l1, e.l1
}

// penalties returns the groups, and l1, l2 and root of all features.
func (e *elasticNetFit) penalties() (groups *penaltyGroups, l1, l2, root []float64) {
	if s := e.workSet; s != nil {
		return &s.groups, s.l1, s.l2, s.root
	}
	return &e.groups, e.l1, e.l2, e.root
}

// finish ends a fit with equal features: it computes e.fullTheta.
func (e *elasticNetFit) finish() {
	e.fullTheta = append(e.fullTheta[:0], e.solution()...)
	e.equalFeatures.Share(e.fullTheta)
}

// sizeTerms sets terms to upper bounds.
func (e *elasticNetFit) sizeTerms() {
	reach := e.rmsY
	for j, t := range e.qp.x {
		reach += e.root[j] * math.Abs(t)
	}
	e.terms = dense.Grow(e.terms, e.n)
	for j, r := range e.root {
		e.terms[j] = r * reach
	}
}

// theta returns the solution at the end of a fit.
func (e *elasticNetFit) theta() []float64 {
	if e.equalFeatures != nil {
		return e.fullTheta
	}
	return e.solution()
}

// solution returns the solution in which each class of equal features is represented by one
// feature.
func (e *elasticNetFit) solution() []float64 {
	if e.workSet != nil {
		return e.workSet.theta
	}
	return e.qp.x
}

// share returns the weight of row i divided by the total weight.
func (e *elasticNetFit) share(i int) float64 { return dense.CountAt(e.counts, i) * e.inv }
