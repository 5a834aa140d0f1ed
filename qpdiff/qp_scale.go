package qpdiff

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// geometricScale returns the diagonal of E for which the logarithms of the entries of EKE are
// nearest to zero, by least squares (Curtis and Reid, 1972). EKE does not depend on the units of
// the objective, rows and variables. The largest entries of rows alone would not determine E: in
// the rows (1, u) and (0, 1) they are one for every u ≤ 1. Only the diagonal of H counts, because
// it bounds the other entries. Entries that are negligible in their row and in their column do not
// count, because one very negative logarithm would outweigh all other logarithms. work has three
// times as many entries as E.
func geometricScale(work []float64, n, k int, h, c []float64) []float64 {
	dim := n + k
	clear(work)
	e, sum, count := work[:dim], work[dim:2*dim], work[2*dim:3*dim]
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

// withoutTiny returns c without its negligible entries, or nil if there are none. An entry is
// negligible if it is tiny compared with the largest entries of its row and of its column, in
// scales with the logarithms e. withoutTiny removes only the tiniest entries. Much larger entries
// may seem tiny only because of these, and are judged in the next scales. work has as many entries
// as e.
func withoutTiny(e, work []float64, n, k int, h, c []float64) (fewer []float64) {
	scaled := func(i, j int) float64 { return math.Log2(math.Abs(c[i*n+j])) + e[n+i] + e[j] }
	least, largest := math.Inf(1), math.Inf(-1)
	col, row := work[:n], work[n:]
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
	fewer = slices.Clone(c)
	for i := range k {
		for j := range n {
			if c[i*n+j] != 0 && below(i, j) > max(tinyEntry, tiniest*most) {
				fewer[i*n+j] = 0
			}
		}
	}
	return fewer
}

// sizeOfDiagonal is the binary exponent of the largest entry of the diagonal of h.
func sizeOfDiagonal(n int, h []float64) (exp int) {
	big := 0.0
	for i := range n {
		big = max(big, math.Abs(h[i*n+i]))
	}
	_, exp = math.Frexp(big)
	return exp
}

// sumLogs computes the sum of the logarithms of the entries, and their count, for each variable and
// row.
func sumLogs(sum, count []float64, n, k int, h, c []float64) {
	clear(sum)
	clear(count)
	exp := sizeOfDiagonal(n, h) // other units of the objective leave all bits as they are
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

// geometricSweep sets the logarithm of each scale to its best value for fixed others. It returns
// the largest change.
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

// equilibrate chooses the scales of the variables and the rows, so that the largest entries of all
// rows and columns of Q and of the constraints are near one in each part of the program (Ruiz,
// 2001). Then it chooses the weights of the proximal term. Rows with a single entry do not count,
// because a bound fits any scale of its variable.
func (a *activeSet) equilibrate() {
	n := a.n
	sigma, rho := a.unit, a.slack
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
		p := &a.parts[a.part[i]]
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

// findLone marks the rows with one entry that makes all their other entries negligible. It compares
// the entries in the units of the variables that Q and the other rows give. Such a row is a bound
// up to rounding. Its large entry would otherwise determine the unit of its variable, and
// everything else about the variable would be negligible in this unit. findLone returns the
// coefficients with zeros in place of the marked rows, or nil if there are none. e has the scales
// that all rows give.
func (a *activeSet) findLone(e []float64) (c []float64) {
	clear(a.lone)
	if !a.suspects(a.c, e) {
		return nil // the usual case
	}
	n, work := a.n, make([]float64, len(a.logs))
	c = slices.Clone(a.c)
	for more := true; more; more = a.suspects(c, e) {
		for r, lone := range a.lone[:a.rows] {
			if lone {
				clear(c[r*n : (r+1)*n])
			}
		}
		e = geometricScale(work, n, a.rows, a.q, c)
	}
	// The remaining rows must agree on the units. In these units, P must not consist of one
	// variable alone.
	if spread(n, a.rows, c, e) > clearUnits || spread(n, 1, a.p, append(e[:n:n], 1)) > clearUnits {
		clear(a.lone)
		return nil
	}
	if !a.keepLone(c, e) {
		return nil
	}
	return c
}

// keepLone unmarks marked rows whose variables are not related by the other rows, which are c in
// the scales e. It copies these rows to c. It reports whether any row is still marked.
func (a *activeSet) keepLone(c, e []float64) (some bool) {
	n, part := a.n, make([]int, a.n)
	connectVariables(part, a.q, c)
	votes := a.votes(c, e)
	for r, lone := range a.lone[:a.rows] {
		if !lone {
			continue
		}
		row := a.crow(r)
		first := slices.IndexFunc(row, nonzero)
		for j, v := range row { // the remaining rows relate the units of its variables
			lone = lone && (v == 0 || part[j] == part[first] && votes[j] >= 0)
		}
		if a.lone[r] = lone && excess(row, e) > tinyEntry; a.lone[r] {
			some = true
		} else {
			copy(c[r*n:(r+1)*n], row)
		}
	}
	return some
}

// votes returns a number for each variable: the number of entries that agree on its unit, minus
// twice the number of lone rows whose largest entry belongs to the variable.
func (a *activeSet) votes(c, e []float64) []int {
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
	for r, j := range a.single[:a.rows] {
		switch {
		case a.lone[r]:
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

// suspects marks the rows of c that may be lone, and reports whether there are any. Such a row has
// one entry far above its other entries. suspects marks only the rows in which this excess is
// largest. The excess of other rows may result from these rows, because an entry moves the scales
// of its row and of its column.
func (a *activeSet) suspects(c, e []float64) (some bool) {
	n, most := a.n, 0.0
	size := func(r int) (bits float64) {
		row := c[r*n : (r+1)*n]
		if a.single[r] != manyEntries || !(excess(row, e) > suspectEntry) {
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
		if v := size(r); v > 0 && v >= tiniest*most {
			a.lone[r], some = true, true
		}
	}
	return some
}

// largestAt is the index of the largest entry of a row in the scales e.
func largestAt(row, e []float64) (at int) {
	for j, v := range row {
		if math.Abs(v)*e[j] > math.Abs(row[at])*e[at] {
			at = j
		}
	}
	return at
}

// excess is the number of powers of two between the largest and the second largest entry of a row,
// in the scales e of the variables. It is 0 for a row of zeros.
func excess(row, e []float64) float64 {
	most, second := 0.0, 0.0
	for j, v := range row {
		if v = math.Abs(v) * e[j]; v > most {
			most, second = v, most
		} else {
			second = larger(second, v)
		}
	}
	if most == 0 {
		return 0
	}
	return math.Log2(most) - math.Log2(second)
}

// spread is the number of powers of two between the largest and the smallest entry of EcE.
func spread(n, k int, c, e []float64) float64 {
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

// ruizSweep divides the scales of variables and rows by the square roots of the largest entries.
func (a *activeSet) ruizSweep(sigma, rho []float64) {
	n, col := a.n, a.work2
	clear(col)
	for i := range n {
		big := a.parts[a.part[i]].qsize
		if big == 0 {
			continue
		}
		for j, v := range a.q[i*n : (i+1)*n] {
			col[i] = max(col[i], math.Abs(v)*sigma[i]*sigma[j]/big)
		}
	}
	for r := range a.rows {
		if a.single[r] >= 0 || a.lone[r] {
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

// scaleRows scales the rows, by powers of two, to a norm near one in the units of the
// variables.
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
		s := math.Ldexp(1, -min(e, have+1021)) // a scale of 0 would lose the multiplier
		a.scale[r] *= s
		a.r[r] *= s
		if a.twoSided && r < a.m {
			a.other[r] *= s
		}
		floats.Scale(s, a.crow(r))
	}
}
