package qpdiff

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// isViolated reports whether z violates inequality r by more than a rounding error. An inequality
// in the working set does not count as violated. The argument named size is the result of zNorm.
func (a *activeSet) isViolated(r int, size float64) bool {
	v, bound := -a.slack[r], math.Abs(a.r[r])
	return v > 0 && a.at[r] < 0 && !a.skippedRows[r] && v > feasTol*bound && (v > feasTol*(bound+size) || v > feasTol*a.slackTerm(r))
}

// countNegative counts the inequalities of the working set with a negative multiplier.
func (a *activeSet) countNegative() int {
	return floats.Count(func(v float64) bool { return v < 0 }, a.lam[a.eq:len(a.w)])
}

// dropNegative removes the inequalities with a negative multiplier.
func (a *activeSet) dropNegative() {
	for i := len(a.w) - 1; i >= a.eq; i-- {
		if a.lam[i] < 0 {
			a.leave(i)
		}
	}
}

// restartAtZ makes z the base. It builds the working set from the equalities and as many
// independent rows of the last working set as possible. If no point satisfies the equalities, it
// returns a row r that proves this, and otherwise -1.
func (a *activeSet) restartAtZ() int {
	n := a.n
	clear(a.skippedRows)
	if a.twoSided || slices.ContainsFunc(a.z, nonzero) {
		a.setSlacks()
		dense.Products(a.perp, a.q, n, a.z)
	} else { // the usual case
		copy(a.slack, a.r)
		clear(a.perp)
	}
	a.baseHere()
	for i, v := range a.p {
		a.perp[i] = -v - a.perp[i]
	}
	a.forward(a.perp, 0)
	a.measureNoise()
	guess := a.lastRows[:len(a.w)]
	copy(guess, a.w)
	for _, r := range guess {
		a.at[r] = -1
	}
	a.w, a.eq = a.w[:0], 0
	a.triangleValid, a.equalitiesDepend = true, false
	first := a.m
	if a.twoSided {
		first = 0
	}
	for r := first; r < a.rows; r++ {
		if !a.equality(r) || a.tryEnter(r) {
			continue
		}
		// The row is a combination of earlier rows, so its right-hand side must be the same combination
		// of their right-hand sides.
		clear(a.y)
		if len(a.w) == n {
			m := a.mrow(r)
			a.project(m, a.mnorm[r], a.row, a.wrow, a.dl)
		}
		a.combination()
		if a.provesInfeasible(r) {
			return r
		}
		a.skippedRows[r], a.equalitiesDepend = true, true
	}
	for _, r := range guess {
		if !a.equality(r) {
			a.tryEnter(r)
		}
	}
	if len(guess) == 0 {
		a.guessBounds()
	}
	return -1
}

// guessBounds guesses which bounds are active. It does so only if every row is a bound. It makes a
// few sweeps of coordinate descent, and guesses that a bound is active if a variable is at this
// bound after the sweeps. The sweeps cost very little, and save most changes of the working set.
func (a *activeSet) guessBounds() {
	n := a.n
	if a.rows != a.m || a.m == 0 || a.shifted || !a.onlyBounds {
		return
	}
	lo, hi := a.work[:n], a.work2[:n]
	dense.Fill(lo, math.Inf(-1))
	dense.Fill(hi, math.Inf(1))
	for r, j := range a.onlyCol {
		if c := a.c[r*n+j]; c > 0 {
			hi[j] = min(hi[j], a.r[r]/c)
		} else {
			lo[j] = max(lo[j], a.r[r]/c)
		}
	}
	for r, v := range a.otherRhs {
		j := a.onlyCol[r]
		if c := -a.c[r*n+j]; c > 0 {
			hi[j] = min(hi[j], v/c)
		} else {
			lo[j] = max(lo[j], v/c)
		}
	}
	z, grad := a.dz[:n], a.row[:n]
	for j := range z {
		z[j] = max(lo[j], min(0, hi[j]))
	}
	dense.Products(grad, a.q, n, z)
	floats.Add(grad, a.p)
	steps := a.wrow[:n]
	for j := range steps {
		steps[j] = 1 / a.q[j*n+j]
	}
	for sweep, quiet := 0, 0; sweep < guessSweeps && quiet < quietSweeps; sweep++ {
		quiet++
		if dense.DescendBox(z, grad, a.q, steps, lo, hi) > 0 {
			quiet = 0
		}
	}
	for r, j := range a.onlyCol {
		if a.twoSided && !a.mayEnter(r, a.crow(r)[j]*z[j]) {
			continue
		}
		if a.r[r] <= a.crow(r)[j]*z[j] {
			a.tryEnter(r)
		}
	}
}

// findBroken lists the violated inequalities outside the working set, and returns the largest
// violation.
func (a *activeSet) findBroken() (worst float64) {
	a.violatedRows = a.violatedRows[:0]
	size := -1.0
	for r, slack := range a.slack[:a.m] {
		if !(slack < 0) || a.at[r] >= 0 {
			continue
		}
		if size < 0 {
			size = a.zNorm()
		}
		if a.isViolated(r, size) {
			a.violatedRows = append(a.violatedRows, r)
			worst = fastMax(worst, -slack)
		}
	}
	return worst
}

// minimise solves the strictly convex program with the current factor, and returns -1. If the
// program is infeasible, minimise returns a row r, and a.y holds coefficients of the rows of the
// working set. Row r minus the combination of rows with these coefficients is a constraint that no
// point satisfies, which proves that the program is infeasible.
func (a *activeSet) minimise() int {
	if a.byBlocks() {
		return -1
	}
	// From here on, rows enter one by one, so the working set must not have negative multipliers.
	// Rounding errors of the steps accumulate, so each pass solves again on the final working set.
	for range 5 {
		for a.setMultipliers(); a.countNegative() > 0; a.setMultipliers() {
			a.dropNegative()
		}
		a.setPoint()
		changes := a.iterations
		if r := a.oneByOne(); r >= 0 {
			return r
		}
		if a.iterations == changes || a.iterations > a.maxChanges {
			return -1
		}
	}
	return -1
}

// byBlocks changes the working set in blocks: the most violated rows enter, and all rows with
// negative multipliers leave. It stops if the violated rows outnumber the variables, or after three
// steps that do not reduce the number of rows that are violated or have a negative multiplier. It
// reports whether it found the minimiser.
func (a *activeSet) byBlocks() bool {
	best, patience := math.MaxInt, 3
	for patience > 0 {
		a.setMultipliers()
		a.setPoint()
		worst := a.findBroken()
		bad := a.countNegative() + len(a.violatedRows)
		if bad == 0 {
			return true
		}
		if len(a.violatedRows) > a.n {
			// at most n rows can hold with equality, and the steps have not yet shown which rows these are
			break
		}
		if bad < best {
			best, patience = bad, 3
		} else {
			patience--
		}
		a.dropNegative()
		for _, r := range a.violatedRows {
			if -a.slack[r] >= enterFraction*worst {
				a.tryEnter(r)
			}
		}
	}
	return false
}

// oneByOne adds the most violated row to the working set, and repeats this step until no row is
// violated. It then returns -1. If a row proves infeasibility, oneByOne returns this row. Computing
// all slacks is expensive. oneByOne therefore watches only the rows whose violation is at least
// enterFraction of the largest violation. It updates the slacks of these rows until their
// violations are small, and then computes all slacks again.
func (a *activeSet) oneByOne() int {
	for a.iterations <= a.maxChanges {
		worst := a.findBroken()
		if len(a.violatedRows) == 0 {
			return -1
		}
		a.violatedRows = slices.DeleteFunc(a.violatedRows, func(r int) bool { return -a.slack[r] < enterFraction*worst })
		for a.iterations <= a.maxChanges {
			r := a.mostViolated()
			if r < 0 || -a.slack[r] < enterFraction*worst {
				break
			}
			a.mrow(r)
			if -a.slack[r] <= a.roundingError(a.rowPart[r])*math.Sqrt(a.mnorm[r]) {
				a.skippedRows[r] = true
				continue
			}
			if !a.satisfy(r) {
				if a.provesInfeasible(r) {
					return r
				}
				a.skippedRows[r] = true
				continue
			}
			a.setOffsets()
			a.move()
			a.followRows(a.violatedRows)
			a.followRows(a.w)
		}
		a.followAll()
	}
	return -1
}

// mostViolated returns the most violated row of the list a.violatedRows, or -1 if no row of the
// list is violated.
func (a *activeSet) mostViolated() int {
	size := a.zNorm()
	r, worst := -1, 0.0
	for _, i := range a.violatedRows {
		if a.slack[i] < worst && a.isViolated(i, size) {
			r, worst = i, a.slack[i]
		}
	}
	return r
}

// satisfy adds the violated row r to the working set, by the partial steps of Goldfarb and Idnani.
// These steps keep the multipliers nonnegative. If no step satisfies the row, satisfy returns
// false. In this case a.y holds the coefficients of a combination of rows of the working set, and
// this combination is the nearest to row r.
func (a *activeSet) satisfy(r int) bool {
	m := a.mrow(r)
	norm2 := a.mnorm[r]
	violation, lam := -a.slack[r], 0.0
	for {
		left := a.project(m, norm2, a.row, a.wrow, a.dl)
		k := len(a.w)
		dependent := k == a.n || left <= dependTol*dependTol*norm2
		y := a.combination()
		step, block := math.Inf(1), -1
		if !dependent {
			step = violation / left
		}
		size := 0.0 // the largest |y_i|·‖m_i‖
		for i, v := range y {
			size = max(size, math.Abs(v)*math.Sqrt(a.mnorm[a.w[i]]))
		}
		for i := a.eq; i < k; i++ {
			if y[i]*math.Sqrt(a.mnorm[a.w[i]]) > blockTol*size && a.lam[i] < step*y[i] {
				step, block = a.lam[i]/y[i], i
			}
		}
		if math.IsInf(step, 1) {
			if left <= noneLeft*noneLeft*norm2 || k == a.n || violation <= a.roundingOf(r) || a.provesInfeasible(r) {
				return false
			}
			step = violation / left
		}
		for i, v := range y {
			a.lam[i] -= step * v
		}
		lam += step
		violation -= step * left
		if block < 0 {
			a.enter(r, left)
			a.lam[k] = lam
		} else {
			a.lam[block] = 0
			a.leave(block)
		}
		if block < 0 || a.iterations > a.maxChanges {
			return true
		}
	}
}

// roundingOf returns the rounding error of the slack of a row r. This row is a combination of rows
// of the working set, with the coefficients a.y. The error has two parts: the rounding of the terms
// of r's slack, and the rounding of the slacks of the combined rows.
func (a *activeSet) roundingOf(r int) float64 {
	sum := a.slackTerm(r)
	for i, s := range a.w {
		sum += math.Abs(a.y[i]) * a.slackTerm(s)
	}
	return roundingFactor * dense.Eps * sum
}
