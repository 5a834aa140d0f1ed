package qpdiff

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// geometricScale returns the diagonal of a scaling matrix E for the KKT matrix K = [H Cᵀ; C 0].
// With this E, the logarithms of the entries of EKE are nearest to zero, by least squares (Curtis
// and Reid, 1972). EKE does not depend on the units of the objective, rows and variables. In
// contrast, the condition that the largest entry of each row is one would not determine E. For
// example, the largest entries of the rows (1, u) and (0, 1) are one for every u ≤ 1.
//
// Only the diagonal of H is used, because it bounds the other entries of H. An entry of C is left
// out if it is negligible in its row and in its column, because its logarithm is so negative that
// it would outweigh all other logarithms. The slice scratch has three times as many entries as E.
func geometricScale(scratch []float64, n, k int, h, c []float64) []float64 {
	dim := n + k
	clear(scratch)
	e, sum, count := scratch[:dim], scratch[dim:2*dim], scratch[2*dim:3*dim]
	for {
		sumLogs(sum, count, n, k, h, c)
		for range geometricSweeps {
			if geometricSweep(e, sum, count, n, k, c) <= geometricStep {
				break
			}
		}
		fewer := withoutTiny(e, sum, n, k, h, c)
		if fewer == nil {
			break
		}
		c = fewer
	}
	for i, x := range e {
		e[i] = math.Exp2(x)
	}
	return e
}

// withoutTiny returns the rows c without some negligible entries, or nil if there are none; see
// tinyEntry. The entries are compared after scaling; e holds the logarithms of the scales. The
// smallest negligible entries distort these scales, so that other entries may only seem negligible.
// withoutTiny therefore removes only the smallest ones, as tinyFraction decides. The next call,
// with new scales, tests the other entries again. The slice scratch has as many entries as e.
func withoutTiny(e, scratch []float64, n, k int, h, c []float64) (kept []float64) {
	scaled := func(i, j int) float64 { return math.Log2(math.Abs(c[i*n+j])) + e[n+i] + e[j] }
	least, largest := math.Inf(1), math.Inf(-1)
	col, row := scratch[:n], scratch[n:]
	exp := sizeOfDiagonal(n, h)
	for j := range n {
		col[j] = math.Log2(math.Abs(h[j*n+j])) - float64(exp) + 2*e[j]
	}
	dense.Fill(row, math.Inf(-1))
	for i := range k {
		for j := range n {
			if c[i*n+j] != 0 {
				v := scaled(i, j)
				row[i], col[j] = max(row[i], v), max(col[j], v)
				least, largest = min(least, v), max(largest, v, col[j])
			}
		}
	}
	if !(largest-least > tinyEntry) {
		return nil // the usual case
	}
	below := func(i, j int) float64 { return min(row[i], col[j]) - scaled(i, j) }
	most := 0.0
	for i := range k {
		for j := range n {
			if c[i*n+j] != 0 {
				most = max(most, below(i, j))
			}
		}
	}
	if most <= tinyEntry {
		return nil
	}
	kept = slices.Clone(c)
	for i := range k {
		for j := range n {
			if c[i*n+j] != 0 && below(i, j) > max(tinyEntry, tinyFraction*most) {
				kept[i*n+j] = 0
			}
		}
	}
	return kept
}

// sizeOfDiagonal returns the binary exponent of the largest entry on the diagonal of h.
func sizeOfDiagonal(n int, h []float64) (exp int) {
	big := 0.0
	for i := range n {
		big = max(big, math.Abs(h[i*n+i]))
	}
	_, exp = math.Frexp(big)
	return exp
}

// sumLogs computes two values for each variable and each row: the number of its nonzero entries,
// and the sum of their logarithms.
func sumLogs(sum, count []float64, n, k int, h, c []float64) {
	clear(sum)
	clear(count)
	exp := sizeOfDiagonal(n, h) // subtracted so that a change of the objective's unit by a power of two changes no bit
	for i := range n {
		if v := math.Abs(h[i*n+i]); v > 0 && dense.Finite(v) {
			f, e := math.Frexp(v)
			sum[i], count[i] = 2*(math.Log2(f)+float64(e-exp)), 4
		}
	}
	for i := range k {
		for j := range n {
			if v := math.Abs(c[i*n+j]); v > 0 && dense.Finite(v) {
				l := math.Log2(v)
				sum[j] += l
				sum[n+i] += l
				count[j]++
				count[n+i]++
			}
		}
	}
}

// geometricSweep improves the logarithms e of the scales, one after the other. It sets each to its
// best value while the others are fixed. It returns the largest change.
func geometricSweep(e, sum, count []float64, n, k int, c []float64) (step float64) {
	move := func(i int, coupled float64) {
		if count[i] == 0 {
			return
		}
		x := -(sum[i] + coupled) / count[i]
		step = max(step, math.Abs(x-e[i]))
		e[i] = x
	}
	for j := range n {
		coupled := 0.0
		for i := range k {
			if c[i*n+j] != 0 {
				coupled += e[n+i]
			}
		}
		move(j, coupled)
	}
	for i := range k {
		coupled := 0.0
		for j := range n {
			if c[i*n+j] != 0 {
				coupled += e[j]
			}
		}
		move(n+i, coupled)
	}
	return step
}

// equilibrate chooses the scales of the variables and the rows, and then the weights of the
// proximal term. In each part of the program, the largest entry of each row and column of Q and of
// the constraints becomes near one (Ruiz, 2001). Rows with a single entry do not determine scales:
// such a row suits any scale of its variable.
func (a *activeSet) equilibrate() {
	n := a.n
	sigma, rho := a.unit, a.slack // the scales of the variables and rows; the slacks are computed later
	a.logs = dense.Grow(a.logs, 3*(n+a.rows))
	e := geometricScale(a.logs, n, a.rows, a.q, a.c)
	if c := a.findLone(e); c != nil {
		e = geometricScale(a.logs, n, a.rows, a.q, c)
	}
	copy(sigma, e)
	copy(rho, e[n:])
	for k := range a.parts {
		a.parts[k].qsize = 0
	}
	for i := range n {
		p := &a.parts[a.varPart[i]]
		for j, v := range a.q[i*n : (i+1)*n] {
			p.qsize = max(p.qsize, math.Abs(v)*sigma[i]*sigma[j])
		}
	}
	for range ruizSweeps {
		a.ruizSweep(sigma, rho)
	}
	for j, v := range sigma {
		a.d[j] = 1 / (v * v)
	}
	a.scaleRows()
	a.chooseWeights()
}

// findLone marks lone rows. A row is lone if one entry makes all its other entries negligible, so
// that the row is a bound up to rounding. The large entry must not determine the unit of its
// variable, because all other entries of the variable would be negligible in this unit. findLone
// compares entries in the units that Q and the other rows determine. It returns the coefficients of
// all rows, with zeros for the marked rows, or nil if no row is marked. The parameter e holds the
// scales computed from all rows.
func (a *activeSet) findLone(e []float64) (c []float64) {
	clear(a.loneRows)
	if !a.markSuspects(a.c, e) {
		return nil // the usual case
	}
	n, work := a.n, make([]float64, len(a.logs))
	c = slices.Clone(a.c)
	for more := true; more; more = a.markSuspects(c, e) {
		for r, lone := range a.loneRows[:a.rows] {
			if lone {
				clear(c[r*n : (r+1)*n])
			}
		}
		e = geometricScale(work, n, a.rows, a.q, c)
	}
	// The remaining rows must determine units in which their own entries have similar sizes, and
	// the entries of P have similar sizes too.
	if entrySpread(n, a.rows, c, e) > clearUnits || entrySpread(n, 1, a.p, append(e[:n:n], 1)) > clearUnits {
		clear(a.loneRows)
		return nil
	}
	if !a.keepLone(c, e) {
		return nil
	}
	return c
}

// keepLone checks the marked rows against the unmarked rows, which c holds. A row stays marked only
// if rows of c connect all its variables and clearly determine the units of these variables.
// keepLone unmarks all other rows and copies them to c. It reports whether some row is still
// marked. The parameter e holds the scales computed from c.
func (a *activeSet) keepLone(c, e []float64) (some bool) {
	n, part := a.n, make([]int, a.n)
	connectVariables(part, a.q, c)
	votes := a.unitVotes(c, e)
	for r, lone := range a.loneRows[:a.rows] {
		if !lone {
			continue
		}
		row := a.crow(r)
		first := slices.IndexFunc(row, nonzero)
		for j, v := range row { // the remaining rows relate the units of its variables
			lone = lone && (v == 0 || part[j] == part[first] && votes[j] >= 0)
		}
		if a.loneRows[r] = lone && entryExcess(row, e) > tinyEntry; a.loneRows[r] {
			some = true
		} else {
			copy(c[r*n:(r+1)*n], row)
		}
	}
	return some
}

// unitVotes returns, for each variable j, the number of nonzero entries that belong to j: entries
// of P, of the diagonal of Q, and of the unmarked rows with several entries. Each lone row whose
// largest entry is in column j reduces this number by 2.
func (a *activeSet) unitVotes(c, e []float64) []int {
	n := a.n
	votes := make([]int, n)
	for j, p := range a.p {
		if p != 0 {
			votes[j]++
		}
		if a.q[j*n+j] != 0 {
			votes[j]++
		}
	}
	for r, j := range a.onlyCol[:a.rows] {
		switch {
		case a.loneRows[r]:
			votes[largestAt(a.crow(r), e)] -= 2
		case j == manyEntries:
			for j, v := range c[r*n : (r+1)*n] {
				if v != 0 {
					votes[j]++
				}
			}
		}
	}
	return votes
}

// markSuspects marks the rows of c that may be lone, and reports whether it marked any. A row may
// be lone if one entry exceeds the row's other entries by far. If several rows may be lone,
// markSuspects marks only those whose largest scaled entry is about as large as any. These rows
// distort the scales, and the excess of the other rows may come only from this distortion.
func (a *activeSet) markSuspects(c, e []float64) (some bool) {
	n, most := a.n, 0.0
	size := func(r int) (bits float64) {
		row := c[r*n : (r+1)*n]
		if a.onlyCol[r] != manyEntries || !(entryExcess(row, e) > suspectEntry) {
			return 0
		}
		big := 0.0
		for j, v := range row {
			big = max(big, math.Abs(v)*e[j])
		}
		return math.Log2(big) + math.Log2(e[n+r])
	}
	for r := range a.rows {
		most = max(most, size(r))
	}
	for r := range a.rows {
		if v := size(r); v > 0 && v >= tinyFraction*most {
			a.loneRows[r], some = true, true
		}
	}
	return some
}

// largestAt returns the index of the largest entry of a row, after the entries are multiplied by
// the scales e.
func largestAt(row, e []float64) (at int) {
	for j, v := range row {
		if math.Abs(v)*e[j] > math.Abs(row[at])*e[at] {
			at = j
		}
	}
	return at
}

// entryExcess returns log₂ of a ratio: the largest entry of a row divided by its second largest
// entry. The entries are multiplied by the scales e of the variables. For a row of zeros,
// entryExcess returns 0.
func entryExcess(row, e []float64) float64 {
	most, second := 0.0, 0.0
	for j, v := range row {
		if v = math.Abs(v) * e[j]; v > most {
			most, second = v, most
		} else {
			second = fastMax(second, v)
		}
	}
	if most == 0 {
		return 0
	}
	return math.Log2(most) - math.Log2(second)
}

// entrySpread scales the rows c by e. It returns log₂ of a ratio: the largest scaled entry divided
// by the smallest nonzero scaled entry.
func entrySpread(n, k int, c, e []float64) float64 {
	least, largest := math.Inf(1), math.Inf(-1)
	for i := range k {
		for j, v := range c[i*n : (i+1)*n] {
			if v != 0 {
				v = math.Log2(math.Abs(v)) + math.Log2(e[n+i]) + math.Log2(e[j])
				least, largest = min(least, v), max(largest, v)
			}
		}
	}
	return largest - least
}

// ruizSweep divides the scale of each variable and each row by √t, where t is the largest scaled
// entry of the variable or row.
func (a *activeSet) ruizSweep(sigma, rho []float64) {
	n, col := a.n, a.work2
	clear(col)
	for i := range n {
		big := a.parts[a.varPart[i]].qsize
		if big == 0 {
			continue
		}
		for j, v := range a.q[i*n : (i+1)*n] {
			col[i] = max(col[i], math.Abs(v)*sigma[i]*sigma[j]/big)
		}
	}
	for r := range a.rows {
		if a.onlyCol[r] >= 0 || a.loneRows[r] {
			continue
		}
		big := 0.0
		for j, v := range a.crow(r) {
			v = math.Abs(v) * rho[r] * sigma[j]
			big = max(big, v)
			col[j] = max(col[j], v)
		}
		if big > 0 {
			rho[r] /= math.Sqrt(big)
		}
	}
	for j, v := range col {
		if v > 0 {
			sigma[j] /= math.Sqrt(v)
		}
	}
}

// scaleRows scales each row by a power of two, so that its norm, in the units of the variables, is
// near one.
func (a *activeSet) scaleRows() {
	for r := range a.rows {
		norm := 0.0
		for j, v := range a.crow(r) {
			v *= a.unit[j]
			norm += v * v
		}
		if norm == 0 {
			continue
		}
		_, e := math.Frexp(math.Sqrt(norm))
		_, have := math.Frexp(a.scale[r])
		s := math.Ldexp(1, -min(e, have+1021)) // limited, because a scale of 0 would lose the multiplier
		a.scale[r] *= s
		a.r[r] *= s
		if a.twoSided && r < a.m {
			a.otherRhs[r] *= s
		}
		floats.Scale(s, a.crow(r))
	}
}
