package linear

import (
	"cmp"
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

const (
	// firstFeatures is how many features a working set begins with, and may grow by.
	firstFeatures = 32
	// spareFeatures is how many times the support a working set may be, beyond
	// firstFeatures, before the next fit begins with the support alone.
	spareFeatures = 4
	// gramPerRow is how many features for each row a working set has at most for which its
	// Gram matrix is kept. Beyond, the columns take its place, of which a product costs less.
	gramPerRow = 2
)

// workingSet holds the features on which an elastic net is solved where there are too many
// for the Gram matrix of all: the quadratic problem has these coordinates alone, and the
// slopes at the others show whether their kinks hold them at zero. (Massias, Gramfort and
// Salmon 2018, "Celer: a fast solver for the lasso with dual extrapolation", grow a working
// set likewise.) θ depends on the set only through the support.
type workingSet struct {
	features []int  // ascending; coordinate j of the quadratic problem is features[j]
	in       []bool // of all features: whether it is to be in the set

	// Of all features.
	root, xty, l1, l2 []float64
	groups            penaltyGroups
	theta, slope      []float64

	residual []float64 // of each row
	reach    float64   // bounds the size of the terms of the residual, over √N
	warm     bool      // theta comes from a fit
	enter    []int     // features about to enter

	// Work of gather: what was in the set, and the place there of what is.
	old, place []int
	oldColumns []float64
	oldGram    []float64 // empty where there was none
}

// resize gives the set n features, none of them in it, and rows rows.
func (s *workingSet) resize(n, rows int) {
	dense.GrowAll(n, &s.root, &s.xty, &s.l1, &s.l2, &s.theta, &s.slope)
	s.features = dense.Grow(s.features, n)
	s.in, s.residual = dense.Grow(s.in, n), dense.Grow(s.residual, rows)
	s.reset()
}

// reset forgets the warm start.
func (s *workingSet) reset() {
	s.features, s.warm = s.features[:0], false
	clear(s.theta)
}

// sumsWorking sets the sums over the rows of d, each as often as it counts, of all features.
func (e *elasticNetFit) sumsWorking(d learn.Data) (root, xty []float64) {
	s := e.working
	s.features = s.features[:0] // the columns are those of the data before
	clear(s.root)
	clear(s.xty)
	e.counts = learner.Counts(d, e.counts)
	e.total = 0
	yy, least := 0.0, math.Inf(1)
	for i, y := range d.Y {
		c := dense.CountAt(e.counts, i)
		if c == 0 {
			continue
		}
		x := d.Dense().RawRowView(i)
		floats.AddScaled(s.xty, c*y, x)
		for j, v := range x {
			s.root[j] += c * v * v
		}
		e.total += c
		yy += c * y * y
		least = min(least, c)
	}
	e.inv, e.spread = 1/e.total, e.total/least
	e.rmsY = math.Sqrt(yy * e.inv)
	floats.Scale(e.inv, s.xty)
	for j, v := range s.root {
		s.root[j] = math.Sqrt(v * e.inv)
	}
	return s.root, s.xty
}

// solveWorking solves the problem on working sets that grow until the kinks of all other
// features hold them, by more than what rounding hides.
func (e *elasticNetFit) solveWorking() error {
	s := e.working
	s.begin(e.rmsY)
	warm := s.warm
	for s.warm = false; ; warm = true {
		e.change()
		e.qp.warm = warm
		if err := e.qp.solve(); err != nil {
			return err
		}
		if e.slopes(); !dense.Finite(s.reach) {
			return errSolutionOverflows
		}
		if e.grow(); len(s.enter) == 0 {
			s.warm = true
			return nil
		}
	}
}

// grow chooses the features that enter the set. Where it is larger than the number of rows,
// all may enter at once: the systems then have as many unknowns as there are rows.
func (e *elasticNetFit) grow() {
	s := e.working
	most := max(firstFeatures, len(s.features))
	if len(s.features) > e.rows && e.qp.byRows() {
		most = len(s.in)
	}
	if s.enter = s.violators(s.enter[:0], most); len(s.enter) == 0 {
		s.enter = e.undecided(s.enter)
	}
}

// begin chooses the features that a fit begins with: those of the last fit, but the support
// alone where that is much smaller, and those without a kink.
func (s *workingSet) begin(rmsY float64) {
	support := 0
	for j, l1 := range s.l1 {
		if l1 > s.root[j]*rmsY { // certainly zero: see solve
			s.theta[j] = 0
		}
		if s.theta[j] != 0 {
			support++
		}
	}
	keep := len(s.features) <= firstFeatures+spareFeatures*support
	clear(s.in)
	for _, j := range s.features {
		s.in[j] = keep
	}
	for j, l1 := range s.l1 {
		s.in[j] = s.in[j] || s.theta[j] != 0 || l1 == 0
	}
	if s.enter = s.enter[:0]; !s.warm {
		copy(s.slope, s.xty)
		s.reach = rmsY
		s.enter = s.violators(s.enter, firstFeatures)
	}
}

// violators appends the features outside of the set whose slopes are beyond their kinks by
// more than rounding, and no more than most of them: those furthest beyond, in units in
// which the features have the same size.
func (s *workingSet) violators(enter []int, most int) []int {
	excess := func(j int) float64 { return math.Abs(s.slope[j]) - s.l1[j] }
	for j, in := range s.in {
		if !in && excess(j) > admitTol*s.root[j]*s.reach {
			enter = append(enter, j)
		}
	}
	if len(enter) > most {
		slices.SortFunc(enter, func(j, k int) int {
			return cmp.Or(cmp.Compare(excess(k)/s.root[k], excess(j)/s.root[j]), cmp.Compare(j, k))
		})
		enter = enter[:most]
	}
	return enter
}

// undecided appends the features outside of the set of which the condition of the active
// system does not show that rounding hides no kink: see listWeak and retest, which judge
// them in the set. What retest measures of a slope's error is at most the size of the terms
// times 1 + √(s·cond) for a support of s.
func (e *elasticNetFit) undecided(enter []int) []int {
	s, q := e.working, &e.qp
	list := func(cond float64) {
		enter = enter[:0]
		for j, in := range s.in {
			size := s.root[j] * s.reach
			if !in && dense.Negligible(s.l1[j]-math.Abs(s.slope[j]), s.l1[j]+size, 1+math.Sqrt(float64(len(q.act))*cond)) {
				enter = append(enter, j)
			}
		}
	}
	if list(q.bound); len(enter) > 0 {
		list(q.cond())
	}
	return enter
}

// slopes sets theta, and the slopes at it of the squared error, with the opposite sign, in
// all features.
func (e *elasticNetFit) slopes() {
	s, rows := e.working, e.state.Data.Dense()
	clear(s.theta)
	dense.Scatter(s.theta, e.qp.x, s.features)
	for i, y := range e.state.Data.Y {
		s.residual[i] = math.Sqrt(dense.CountAt(e.counts, i)) * y
	}
	s.reach = e.rmsY
	for k, t := range e.qp.x {
		if t != 0 {
			s.reach += e.root[k] * math.Abs(t)
			floats.AddScaled(s.residual, -t, e.qp.column(k))
		}
	}
	clear(s.slope)
	for i, r := range s.residual {
		if r != 0 {
			floats.AddScaled(s.slope, math.Sqrt(dense.CountAt(e.counts, i))*e.inv*r, rows.RawRowView(i))
		}
	}
}

// change gives the quadratic problem the features that are to be in the set, and those
// that enter, at theta. It keeps what it has of their columns and of the Gram matrix.
func (e *elasticNetFit) change() {
	s := e.working
	for _, j := range s.enter {
		s.in[j] = true
	}
	s.old = append(s.old[:0], s.features...)
	s.features = s.features[:0]
	for j, in := range s.in {
		if in {
			s.features = append(s.features, j)
		}
	}
	e.qp.features = s.features
	if e.n != len(s.features) || !slices.Equal(s.features, s.old) {
		e.gather()
	}
	e.groups.of, e.groups.count = e.groups.of[:0], s.groups.count
	for k, j := range s.features {
		e.l1[k], e.l2[k], e.qp.x[k] = s.l1[j], s.l2[j], s.theta[j]
		if len(s.groups.of) > 0 {
			e.groups.of = append(e.groups.of, s.groups.of[j])
		}
	}
}

// gather gives the quadratic problem the data of the features in the set.
func (e *elasticNetFit) gather() {
	s, q, rows, n, was := e.working, &e.qp, e.rows, len(e.working.features), len(e.working.old)
	s.oldColumns = append(s.oldColumns[:0], q.columns[:was*rows]...)
	s.oldGram = append(s.oldGram[:0], q.g...)
	cached := len(q.g) > 0
	e.resize(n)
	q.inv, q.g = e.inv, nil
	q.columns, q.diag, s.place = dense.Grow(q.columns, n*rows), dense.Grow(q.diag, n), s.place[:0]
	next := 0
	for k, j := range s.features {
		for next < was && s.old[next] < j {
			next++
		}
		column, place := q.column(k), -1
		if next < was && s.old[next] == j {
			place = next
			copy(column, s.oldColumns[place*rows:])
		} else {
			e.column(column, j)
		}
		s.place = append(s.place, place)
		e.root[k], e.xty[k], q.diag[k] = s.root[j], s.xty[j], e.inv*floats.Dot(column, column)
	}
	if n > gramPerRow*rows {
		return
	}
	e.gram = dense.Grow(e.gram, n*n)
	q.g = e.gram
	for k, place := range s.place {
		for l, o := range s.place[:k+1] {
			var v float64
			if cached && place >= 0 && o >= 0 {
				v = s.oldGram[place*was+o]
			} else {
				v = e.inv * floats.Dot(q.column(k), q.column(l))
			}
			e.gram[k*n+l], e.gram[l*n+k] = v, v
		}
	}
}

// column sets dst to √count·x of feature j in all rows.
func (e *elasticNetFit) column(dst []float64, j int) {
	x := e.state.Data.Dense().RawMatrix()
	for i := range dst {
		dst[i] = x.Data[i*x.Stride+j]
	}
	for i, c := range e.counts {
		dst[i] *= math.Sqrt(c)
	}
}
