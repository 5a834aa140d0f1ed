package margin

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"
)

const (
	// updatedElbow is the smallest number of elbow rows for which the factor is updated. For a smaller
	// elbow, the factor is computed anew for each face, at little cost.
	updatedElbow = 64

	// A factor is updated only if the number of rows on the elbow is at least updatedPart times the
	// number of changed rows and coordinates. One change costs about as much as updatedPart rows of a
	// new factor.
	updatedPart = 8

	// maxUpdates is the number of changes after which a factor is computed anew, because each change
	// adds rounding errors. A new factor costs about as much as these changes together.
	maxUpdates = 64
)

// factorise sets g as the method gradient does, and factorises the face's optimality system. If the
// normal of a row depends on the normals of earlier rows, factorise removes the row from the elbow,
// and puts it on the side of the kink on which the row's margin lies. It returns false if the
// Hessian is singular. It stops early if the context of stopper ends.
func (f *marginFace) factorise(p *marginProblem, g, theta, m []float64) bool {
	f.gradient(p, g, theta, m)
	s := len(f.act)
	if !p.curved && f.update(p) {
		return true
	}
	if p.curved {
		if dense.LDLFactorUntil(f.stopper, f.h[:s*s], f.dinv[:s], s, s, dense.Eps) < s {
			return false
		}
		for k := range s {
			f.root[k] = math.Sqrt(1 / f.dinv[k])
		}
	}
	e := 0
	for _, i := range f.elbow {
		f.stopper.Look()
		if e < s && f.orthogonalise(p, i, e) {
			f.elbow[e] = i
			e++
		} else {
			f.side[i] = sideIf(m[i] < 1)
		}
	}
	f.elbow = f.elbow[:e]
	if !p.curved {
		f.setFactored()
	}
	return true
}

// refactorise does the work of factorise at a solution. At a solution, a row on the elbow has a
// multiplier and must stay on the elbow. refactorise therefore also returns false if the normal of
// a row depends on earlier normals.
func (f *marginFace) refactorise(p *marginProblem, g, theta, m []float64) bool {
	elbow := len(f.elbow)
	return f.factorise(p, g, theta, m) && len(f.elbow) == elbow
}

// setFactored records that the factor belongs to the present face. It must be called whenever the
// factor has been computed anew.
func (f *marginFace) setFactored() {
	o := &f.factored
	o.rows, o.coords = append(o.rows[:0], f.elbow...), append(o.coords[:0], f.act...)
	o.changes, o.systemKnown = 0, true
}

// distance returns the number of values that are in only one of two ascending lists.
func distance(a, b []int) (count int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			a, b = a[1:], b[1:]
		case a[0] < b[0]:
			a, count = a[1:], count+1
		default:
			b, count = b[1:], count+1
		}
	}
	return count + len(a) + len(b)
}

// update changes the factor of an earlier face to the factor of the present face, one row or
// coordinate at a time. The loss must have no smooth part ℓ. update returns false if the face has
// to be factorised anew. This is so if the face differs too much from the earlier face, or if a
// normal depends on other normals.
func (f *marginFace) update(p *marginProblem) bool {
	o := &f.factored
	if !o.systemKnown || min(len(f.elbow), len(o.rows)) < updatedElbow {
		return false
	}
	changes := distance(o.rows, f.elbow) + distance(o.coords, f.act)
	if changes == 0 {
		return true
	}
	if o.changes += changes; o.changes > maxUpdates || updatedPart*changes > len(f.elbow) {
		return false
	}
	// This order keeps the normals independent for as long as possible: rows leave first, then new
	// coordinates enter, then old coordinates leave, and finally new rows enter.
	for e := len(o.rows) - 1; e >= 0; e-- {
		if _, held := slices.BinarySearch(f.elbow, o.rows[e]); !held {
			f.dropRow(e)
		}
	}
	for _, j := range f.act {
		if k, had := slices.BinarySearch(o.coords, j); !had {
			f.addCoord(p, k, j)
		}
	}
	for k := len(o.coords) - 1; k >= 0; k-- {
		if _, held := slices.BinarySearch(f.act, o.coords[k]); !held && !f.dropCoord(p, k) {
			return false
		}
	}
	for _, i := range f.elbow {
		if e, had := slices.BinarySearch(o.rows, i); !had && !f.addRow(p, e, i) {
			return false
		}
	}
	return true
}

// rotate applies a plane rotation to columns a and b of R and to rows a and b of Q. The product R·Q
// does not change. In R, rotate changes only the rows firstRow ≤ i < rows. The rows of Q have s
// entries.
func (f *marginFace) rotate(a, b, firstRow, rows, s int, cos, sin float64) {
	n := len(f.pos)
	for i := firstRow; i < rows; i++ {
		x, y := f.r[i*n+a], f.r[i*n+b]
		f.r[i*n+a], f.r[i*n+b] = cos*x+sin*y, cos*y-sin*x
	}
	f.cos[0], f.sin[0] = cos, sin
	dense.RotateRows(f.q[a*s:], (b-a)*s, s, f.cos[:], f.sin[:])
}

// plane returns the plane rotation that moves (x, y) to (hypot(x, y), 0).
func plane(x, y float64) (cos, sin float64) {
	h := math.Hypot(x, y)
	if h == 0 {
		return 1, 0
	}
	return x / h, y / h
}

// dropRow removes the row with the number e from the factor.
func (f *marginFace) dropRow(e int) {
	o, n, s := &f.factored, len(f.pos), len(f.factored.coords)
	o.rows = slices.Delete(o.rows, e, e+1)
	rows := len(o.rows)
	for i := e; i < rows; i++ {
		copy(f.r[i*n:i*n+i+2], f.r[(i+1)*n:(i+1)*n+i+2])
	}
	for k := e; k < rows; k++ {
		cos, sin := plane(f.r[k*n+k], f.r[k*n+k+1])
		f.rotate(k, k+1, k, rows, s, cos, sin)
	}
}

// addRow inserts row i of the data as row e of the factor. If the normal of row i depends on the
// normals in the factor, it returns false.
func (f *marginFace) addRow(p *marginProblem, e, i int) bool {
	o, n, s := &f.factored, len(f.pos), len(f.factored.coords)
	rows := len(o.rows)
	if rows == s || !f.orthogonalise(p, i, rows) {
		return false
	}
	o.rows = slices.Insert(o.rows, e, i)
	// The new last row of R moves to row e. Rotations then make its entries 0 on one side of the
	// diagonal, so that R is triangular again.
	last := f.line[:rows+1]
	copy(last, f.r[rows*n:])
	for k := rows; k > e; k-- {
		copy(f.r[k*n:k*n+k], f.r[(k-1)*n:])
		f.r[k*n+k] = 0
	}
	copy(f.r[e*n:], last)
	for k := rows - 1; k >= e; k-- {
		cos, sin := plane(f.r[e*n+k], f.r[e*n+k+1])
		f.r[e*n+k] = cos*f.r[e*n+k] + sin*f.r[e*n+k+1]
		f.rotate(k, k+1, k+1, rows+1, s, cos, sin)
	}
	return true
}

// addCoord inserts coordinate j into the factor, with the number k.
func (f *marginFace) addCoord(p *marginProblem, k, j int) {
	o, n := &f.factored, len(f.pos)
	rows, s := len(o.rows), len(o.coords)+1
	for e := rows - 1; e >= 0; e-- {
		copy(f.q[e*s+k+1:(e+1)*s], f.q[e*(s-1)+k:(e+1)*(s-1)])
		copy(f.q[e*s:e*s+k], f.q[e*(s-1):])
		f.q[e*s+k] = 0
	}
	o.coords = slices.Insert(o.coords, k, j)
	// The unit vector of the new coordinate becomes a new row of Q. The entries of the normals at this
	// coordinate become a new column of R. Rotations then make this column 0.
	unit := f.q[rows*s : (rows+1)*s]
	clear(unit)
	unit[k] = 1
	for e, i := range o.rows {
		f.r[e*n+rows] = p.z[i*n+j] / math.Sqrt(p.l2)
	}
	for e := range rows {
		cos, sin := plane(f.r[e*n+e], f.r[e*n+rows])
		f.rotate(e, rows, e, rows, s, cos, sin)
	}
}

// dropCoord removes the coordinate at place k of the support from the factor. If the rows are
// linearly dependent without this coordinate, it returns false.
func (f *marginFace) dropCoord(p *marginProblem, k int) bool {
	o, n := &f.factored, len(f.pos)
	rows, s := len(o.rows), len(o.coords)
	if rows == s {
		return false
	}
	// A new row is added to Q, so that the rows of Q span the unit vector of the coordinate. Rotations
	// then turn the new row into this unit vector. After that, all other rows are 0 in the coordinate.
	unit := f.q[rows*s : (rows+1)*s]
	clear(unit)
	unit[k] = 1
	length, independent := f.project(unit, f.line[:rows])
	if !independent {
		return false
	}
	for i := range unit {
		unit[i] /= length
	}
	for e := range rows {
		f.r[e*n+rows] = 0
	}
	for e := rows - 1; e >= 0; e-- {
		sin, cos := plane(f.q[e*s+k], unit[k])
		f.rotate(e, rows, e, rows, s, cos, -sin)
		r := f.r[e*n : e*n+e+1]
		if math.Abs(r[e]) <= dependentTol*norm2(r) {
			return false
		}
	}
	for e := range rows {
		copy(f.q[e*(s-1):e*(s-1)+k], f.q[e*s:])
		copy(f.q[e*(s-1)+k:(e+1)*(s-1)], f.q[e*s+k+1:])
	}
	o.coords = slices.Delete(o.coords, k, k+1)
	return true
}
