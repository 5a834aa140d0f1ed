package linear

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/ridge"
	"cvgm/qpdiff/internal/woodbury"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

const (
	// If a support has more features than the data has rows, only λ2 distinguishes these features.
	// If λ2 is then below ridge.RowsFloor, the system has one unknown for each feature, and may
	// need more memory than the machine has. largestSystem and systemPerRow therefore bound the
	// size of such a support.
	largestSystem = 2000
	systemPerRow  = 8
	// rowsCorrections is the largest number of corrections of a solve with one unknown for each
	// row. If a correction is at most rowsCorrected times the solution, it is the last. The next
	// correction would have about the square of this relative size.
	rowsCorrections = 4
	rowsCorrected   = 1e-9
	// If r_j is smaller than dualProximal times the diagonal entry of coordinate j, the coordinate may
	// get a proximal term. This product also bounds the proximal term; see setProximalShare. Smaller
	// terms cost many more Newton steps, and larger terms cost more proximal points.
	dualProximal = 1e-3
)

// isCrowded reports whether the active system is too large. See largestSystem and the method
// limitSupport.
func (q *piecewiseQP) isCrowded() bool {
	s := len(q.act)
	systems := q.columns != nil || q.sparse != nil && q.g != nil
	return systems && s > q.maxSupport && !q.byRows()
}

// systemEntries returns the number of entries of three active systems, each with the given number
// of features. The first system belongs to the problem, the second to the weakly active
// coordinates, and the third to the derivatives.
func systemEntries(features float64) float64 { return 3 * features * (features + 4) }

// limitSupport sets q.maxSupport, the size of the largest support, to the smaller of two sizes. The
// first is distinct(q.rows). The second is the largest number of features whose systems fit into
// the remaining memory. This memory is maxBytes minus the memory of the heldEntries entries that
// are already allocated.
func (q *piecewiseQP) limitSupport(heldEntries float64, maxBytes int64) {
	q.heldEntries, q.maxBytes = heldEntries, maxBytes
	room := max(0, learner.Room(maxBytes)-heldEntries)
	q.maxSupport = int(min(math.Sqrt(room/3+4)-2, float64(distinctRows(q.rows)))) // the inverse of systemEntries
}

// distinctRows returns the largest number of features that a fit with a small r can distinguish, if
// the data have the given number of rows.
func distinctRows(rows int) int { return max(largestSystem, systemPerRow*rows) }

// errCrowded is the error of a support that is too large.
func (q *piecewiseQP) errCrowded() error {
	s := len(q.act)
	if s > distinctRows(q.rows) {
		return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise λ2 or λ1", "leaves %d features for %d rows in the model, which so small a λ2 does not tell apart", s, q.rows)
	}
	return learner.TooLarge(learner.Entries(q.heldEntries+systemEntries(float64(s))), q.maxBytes, learn.Size{Rows: q.rows, Features: s})
}

// kernelEntries returns the number of entries of the field kernel. If features ≤ rows, no kernel is
// needed, and the result is 0.
func kernelEntries(rows, n, features float64) float64 {
	if features <= rows {
		return 0
	}
	const members = 4 // for each feature of the sum: lists that grow
	return 2*n + members*features + rows*(2*rows+1) + 2*rows*min(features, woodbury.ChunkTerms)
}

// partRoom returns an error if MaxBytes has no room for the two restricted problems of weakly
// active coordinates. One of these problems belongs to the fit and one to a derivative. partRoom
// does not count their systems, because the bound q.maxSupport already allows for them.
func (q *piecewiseQP) partRoom() error {
	if !q.byColumns() {
		return nil
	}
	const vectors = 12 // of a piecewiseQP, with restrict
	n := float64(q.n)
	return learner.Exceeds(learner.Entries(q.heldEntries+systemEntries(float64(len(q.act)))+2*(vectors*n+kernelEntries(float64(q.rows), float64(len(q.columns)), n))), q.maxBytes, learn.Size{Rows: q.rows, Features: q.n})
}

// If more active coordinates than rows have neither a kink nor a positive r, they are linearly
// dependent, and dependentCoordinate returns one of them. Otherwise it returns −1.
func (q *piecewiseQP) dependentCoordinate() int {
	left := q.rows
	for i, j := range q.act {
		if q.sgn[i] != 0 || q.r[j] > 0 {
			continue
		}
		if left--; left < 0 {
			return j
		}
	}
	return -1
}

// gatherColumns does the work of gather if G is not stored.
func (q *piecewiseQP) gatherColumns(w int) {
	s := len(q.act)
	for i, j := range q.act {
		q.stopper.Look()
		out := q.a[i*w : (i+1)*w]
		q.products(out[i:s], j, q.act[i:])
		out[i] += q.r[j]
		out[s] = q.linearSlope(i)
	}
}

// row sets dst to row j of G. Entries outside the active set may stay unset.
func (q *piecewiseQP) row(dst []float64, j int) {
	if q.g != nil {
		copy(dst, q.g[j*q.n:(j+1)*q.n])
		return
	}
	if q.sparse != nil {
		q.fit = dense.Zeros(q.fit, q.rows)
	}
	q.rowOf(dst, j, q.act)
}

// rowOf computes the listed entries of row j of G from the columns of C. The list ascends, and the
// other entries of dst are undefined. If the columns are sparse, all entries of q.fit must be 0,
// and are 0 again afterwards.
func (q *piecewiseQP) rowOf(dst []float64, j int, columns []int) {
	if q.sparse == nil {
		q.products(dst[:len(columns)], j, columns)
		for i := len(columns) - 1; i >= 0; i-- {
			dst[columns[i]] = dst[i] // columns[i] ≥ i
		}
		return
	}
	f := q.features[j]
	q.sparse.Add(q.fit, 1, f)
	for _, k := range columns {
		dst[k] = q.inv * q.sparse.Product(f, q.features[k], q.fit)
	}
	q.sparse.Clear(q.fit, f)
}

// byRows reports whether the active system should be solved with one unknown for each row of the
// data.
func (q *piecewiseQP) byRows() bool {
	if len(q.act) <= q.rows || q.sparse != nil {
		return false
	}
	for _, j := range q.act {
		if !(q.r[j] > ridge.RowsFloor*q.diag[j]) {
			return false
		}
	}
	return true
}

// factorRows factorises K and writes the solution of the active system to z. It reports whether K
// is finite.
func (q *piecewiseQP) factorRows() bool {
	if !q.factorK(false) {
		return false
	}
	s := len(q.act)
	for i := range s {
		q.z[i] = q.linearSlope(i)
	}
	// In variables that give the system a unit diagonal, the trace of the system is s.
	q.conditionBound = float64(s) / q.penaltyFloor()
	q.fit = dense.Grow(q.fit, q.rows)
	q.solveRows(q.z[:s], q.fit, q.d, q.crossAt) // there are no other factors
	return true
}

// penaltyFloor returns a lower bound of the least eigenvalue of the active system, scaled to a unit
// diagonal. The bound follows from r alone, because G is positive semidefinite.
func (q *piecewiseQP) penaltyFloor() float64 {
	floor := 1.0
	for _, j := range q.act {
		floor = min(floor, q.r[j]/(q.diag[j]+q.r[j]))
	}
	return floor
}

// setProximalShare sets q.proximalShare, a proximal term divided by the diagonal entry of its
// coordinate. Strengths of kinks are compared in units in which all coordinates have the same size.
// If all kinks had at least the strength s, all coordinates would be 0. Kinks stronger than s do
// not count, because they hold their coordinates at 0. Let k be the greatest strength of the other
// kinks. The share is k/s, moved into the interval from ridge.RowsFloor to dualProximal.
//
// This choice keeps the number of proximal points low. A proximal point moves a coordinate by the
// strength of its kink divided by the proximal term. If kinks were weak and proximal terms large,
// hundreds of proximal points would be needed between two supports.
func (q *piecewiseQP) setProximalShare() {
	most, kink := 0.0, 0.0
	for j, c := range q.c {
		if q.diag[j] > 0 {
			most = max(most, math.Abs(c)/math.Sqrt(q.diag[j]))
		}
	}
	for j, up := range q.up {
		if k := max(up, q.lo[j]) / math.Sqrt(q.diag[j]); k <= most {
			kink = max(kink, k)
		}
	}
	if q.proximalShare = dualProximal; kink > 0 {
		q.proximalShare = min(max(kink/most, ridge.RowsFloor), dualProximal)
	}
}

// proximal returns the proximal term of coordinate j.
func (q *piecewiseQP) proximal(j int) float64 {
	if d := q.proximalShare * q.diag[j]; q.r[j] < d {
		return d
	}
	return 0
}

// factorK factorises K and reports whether K is finite. If proximal is true, it first adds the
// proximal terms to r.
func (q *piecewiseQP) factorK(proximal bool) bool {
	q.support = woodbury.Support{Act: q.act, Features: q.features, R: q.r, Diag: q.diag}
	if proximal {
		q.support.Proximal = q.proximalShare
	}
	return q.kernel.Factor(q.columns, q.rows, q.inv, &q.support)
}

// solveRows replaces the right-hand side u by the solution of the active system. It uses the factor
// that the last call of factorRows computed. With the right-hand side b, the vector f = K⁻¹·C·(b/r)
// is C times the solution u = (b − inv·Cᵀf)/r. A correction of f by δ = K⁻¹(C·u − f) changes u by
// −inv·Cᵀδ/r. Rounding errors of u, which are large for a small r, are part of C·u, and therefore
// corrected. The other arguments are scratch: rowFit and rowChange have one entry for each row, and
// columnWork has as many entries as u.
func (q *piecewiseQP) solveRows(u, rowFit, rowChange, columnWork []float64) {
	rowFit, rowChange, columnWork = rowFit[:q.rows], rowChange[:q.rows], columnWork[:len(u)]
	for i, j := range q.act {
		u[i] /= q.r[j]
	}
	clear(rowFit)
	for range 1 + rowsCorrections {
		q.combine(rowChange, u, q.act)
		floats.Sub(rowChange, rowFit)
		q.kernel.Solve(rowChange)
		floats.Add(rowFit, rowChange)
		q.dots(columnWork, rowChange, q.act)
		whole, part := 0.0, 0.0
		for i, j := range q.act {
			move := q.inv * columnWork[i] / q.r[j]
			u[i] -= move
			h := q.diag[j] + q.r[j]
			whole, part = max(whole, h*u[i]*u[i]), max(part, h*move*move)
		}
		if !(part > rowsCorrected*rowsCorrected*whole) {
			return
		}
	}
}

// fitError bounds the change of Cx/√N that errors of the right-hand side cause. The error of entry
// j is at most terms(j). The most recent factor must be the factor of K. Errors t change Cx by
// C·H⁻¹t = K⁻¹·C·diag(1/r)·t, and the singular values of √inv·K⁻¹·C·diag(1/√r) are at most ½.
func (q *piecewiseQP) fitError(terms func(j int) float64) float64 {
	sum := 0.0
	for _, j := range q.act {
		t := terms(j)
		sum += t * t / q.r[j]
	}
	return math.Sqrt(sum) / 2
}

// sideCertain reports whether rounding leaves no doubt about the side of the kink on which
// coordinate j lies. err is the rounding error of the coordinate's equation, and l1 is the strength
// of the kink.
func (q *piecewiseQP) sideCertain(j int, active bool, err, l1 float64) bool {
	if active {
		return !dense.Negligible(math.Abs(q.x[j])*q.r[j], err, 1)
	}
	return !dense.Negligible(l1-math.Abs(q.grad[j]), err, 1)
}
