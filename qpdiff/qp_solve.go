package qpdiff

import (
	"cmp"
	"math"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// violated reports whether inequality r, outside the working set, is violated
// by more than rounding; size is that of z.
func (a *activeSet) violated(r int, size float64) bool {
	v := -a.slack[r]
	if !(v > 0) || a.at[r] >= 0 || a.skip[r] {
		return false
	}
	bound := math.Abs(a.r[r])
	if v > feasTol*(bound+size) || v <= feasTol*bound {
		return v > feasTol*bound
	}
	for j, c := range a.crow(r) {
		bound += math.Abs(c * a.z[j])
	}
	return v > feasTol*bound
}

// negative returns the number of negative multipliers of inequalities.
func (a *activeSet) negative() int {
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

// start makes z the base and builds the working set: the equalities, and as
// many rows of the last working set as are independent. It returns a row that
// no point can meet, as minimise does, or -1.
func (a *activeSet) start() int {
	n := a.n
	clear(a.skip)
	copy(a.base, a.z)
	a.slacks()
	copy(a.baseSlack, a.slack)
	for i, v := range a.p {
		a.perp[i] = -v - floats.Dot(a.q[i*n:(i+1)*n], a.z)
	}
	a.forward(a.perp, 0)
	a.measureNoise()
	guess := a.guess[:len(a.w)]
	copy(guess, a.w)
	for _, r := range guess {
		a.at[r] = -1
	}
	a.w, a.eq = a.w[:0], 0
	a.current, a.redundant = true, false
	for r := a.m; r < a.rows; r++ {
		if a.tryEnter(r) {
			continue
		}
		// The row depends on those before: its right-hand side has to match.
		clear(a.y)
		if len(a.w) == n {
			m := a.mrow(r)
			a.project(m, a.mnorm[r], a.row, a.wrow, a.dl)
		}
		a.combination()
		if a.provesInfeasible(r) {
			return r
		}
		a.skip[r], a.redundant = true, true
	}
	for _, r := range guess {
		if r < a.m {
			a.tryEnter(r)
		}
	}
	if len(guess) == 0 {
		a.guessBounds()
	}
	return -1
}

// guessBounds lets the bounds enter that a few sweeps of coordinate descent end
// at, where there are no other rows than bounds: the sweeps cost next to
// nothing, and save most of the changes of the working set.
func (a *activeSet) guessBounds() {
	n := a.n
	if a.rows != a.m || a.m == 0 || a.shifted {
		return
	}
	lo, hi := a.work, a.work2
	dense.Fill(lo, math.Inf(-1))
	dense.Fill(hi, math.Inf(1))
	for r, j := range a.single {
		switch {
		case j < 0:
			return
		case a.crow(r)[j] > 0:
			hi[j] = min(hi[j], a.r[r]/a.crow(r)[j])
		default:
			lo[j] = max(lo[j], a.r[r]/a.crow(r)[j])
		}
	}
	z := a.dz
	for j := range z {
		z[j] = max(lo[j], min(0, hi[j]))
	}
	for sweep, quiet := 0, 0; sweep < guessSweeps && quiet < 4; sweep++ {
		quiet++
		for j := range n {
			old := z[j]
			v := old - (floats.Dot(a.q[j*n:(j+1)*n], z)+a.p[j])/a.q[j*n+j]
			v = max(lo[j], min(v, hi[j]))
			z[j] = v
			if (v == lo[j] || v == hi[j]) != (old == lo[j] || old == hi[j]) {
				quiet = 0
			}
		}
	}
	for r, j := range a.single {
		if a.r[r] <= a.crow(r)[j]*z[j] {
			a.tryEnter(r)
		}
	}
}

// minimise finds the minimiser of the strictly convex program with the current
// factor. It returns a row that proves infeasibility, with its combination of
// the working set in a.y, or -1.
func (a *activeSet) minimise() int {
	// Blocks, as long as they make progress.
	best, patience := math.MaxInt, 3
	for patience > 0 {
		a.multipliers()
		a.point()
		size := a.size()
		bad := a.negative()
		worst := 0.0
		for r := range a.m {
			if a.violated(r, size) {
				bad++
				worst = max(worst, -a.slack[r])
			}
		}
		if bad == 0 {
			return -1
		}
		if bad < best {
			best, patience = bad, 3
		} else {
			patience--
		}
		a.dropNegative()
		for r := range a.m {
			if -a.slack[r] >= enterFraction*worst && a.violated(r, size) {
				a.tryEnter(r)
			}
		}
	}
	// One by one, from a working set whose multipliers are not negative. The
	// steps accumulate rounding: confirm with a fresh solution at the end.
	for range 5 {
		for a.multipliers(); a.negative() > 0; a.multipliers() {
			a.dropNegative()
		}
		a.point()
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

// oneByOne lets the most violated row enter until none is left.
func (a *activeSet) oneByOne() int {
	for a.iterations <= a.maxChanges {
		size := a.size()
		r, worst := -1, 0.0
		for i := range a.m {
			if a.slack[i] < worst && a.violated(i, size) {
				r, worst = i, a.slack[i]
			}
		}
		if r < 0 {
			return -1
		}
		a.mrow(r)
		if -a.slack[r] <= a.rounding(a.rowPart[r])*math.Sqrt(a.mnorm[r]) {
			a.skip[r] = true
			continue
		}
		if !a.satisfy(r) {
			if a.provesInfeasible(r) {
				return r
			}
			a.skip[r] = true
		}
	}
	return -1
}

// satisfy lets the violated row r enter, with the partial steps of Goldfarb
// and Idnani that keep the multipliers nonnegative. It returns false where no
// step satisfies the row; a.y then holds the combination of the working set.
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
		size := 0.0 // of the largest part, whatever the norms of the rows
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
			a.offsets()
			a.point()
			return true
		}
	}
}

// roundingOf is the rounding error of the slack of row r where it is the combination a.y of
// those of the working set, each of which is known to the rounding of its terms.
func (a *activeSet) roundingOf(r int) float64 {
	sum := a.slackTerm(r)
	for i, s := range a.w {
		sum += math.Abs(a.y[i]) * a.slackTerm(s)
	}
	return roundings * dense.Eps * sum
}

// solve runs the whole method and fills in s but for the vectors.
func (a *activeSet) solve(s *qpReport, tol float64, maxChanges int) Status {
	a.iterations = 0
	usual := minChanges + changesPerRow*(a.n+a.rows)
	a.maxChanges = min(cmp.Or(max(maxChanges, 0), usual), hopelessChanges*usual)
	tol = cmp.Or(max(tol, 0), defaultTol)
	status := a.factorised(s)
	if status == IterationLimit {
		// Without a factor 0 is the best point known.
		clear(a.z)
		clear(a.lam)
		a.measure(s, false)
		a.loaded = false
	}
	if status == Optimal {
		status = a.proximalPoint(s, tol)
		if status == IterationLimit && !a.shifted && a.iterations <= a.maxChanges {
			// Too badly conditioned after all.
			if a.factorShifted() {
				status = a.proximalPoint(s, tol)
			} else {
				a.loaded = false
			}
		}
	}
	s.Iterations = a.iterations
	return status
}

// factorised makes sure that there is a factor of Q, shifted where Q is not
// safely positive definite.
func (a *activeSet) factorised(s *qpReport) Status {
	if a.factored {
		if !a.stale() {
			return Optimal
		}
		a.forgetRows()
	}
	dense.Fill(a.d, 1)
	dense.Fill(a.unit, 1)
	clear(a.prox)
	a.factored, a.shifted, a.weakened = true, false, false
	if a.qmax > 0 {
		if a.factor(pivotTol) == a.n && a.definite() {
			return Optimal
		}
		for i := range a.prox {
			a.prox[i] = convexTol * cmp.Or(math.Abs(a.q[i*a.n+i]), floats.Norm(a.q[i*a.n:(i+1)*a.n], math.Inf(1)), a.qmax)
		}
		if bad := a.factor(0); bad < a.n && a.provesNonconvex(s, bad) {
			return Nonconvex
		}
	}
	if !a.factorShifted() {
		return IterationLimit
	}
	return Optimal
}

// definite reports whether the factor of Q is that of a matrix safely away from
// singular ones.
func (a *activeSet) definite() bool {
	size := a.work2
	least := 1.0
	for i := range a.n {
		root := math.Sqrt(a.q[i*a.n+i])
		size[i] = root
		least = min(least, 1/(a.linv[i]*root))
	}
	if least > safePivot {
		return true // the usual case
	}
	s := dense.SmallestSingular(a.l, a.linv, a.n, a.n, size, a.work)
	return s*s > pivotTol
}

// factorShifted factorises Q with a proximal term.
func (a *activeSet) factorShifted() bool {
	a.equilibrate()
	a.forgetRows()
	a.shifted = true
	return a.factorWeighted()
}

const (
	// minChanges and changesPerRow make the default of [Solution.MaxIter]. The
	// method is finite; what takes more changes than a hundred for each row goes
	// round in circles by rounding.
	minChanges    = 1000
	changesPerRow = 100
	// hopelessChanges is how many times that default MaxIter may be: by then the
	// circles have been gone round often enough.
	hopelessChanges = 100
	// safePivot is a pivot, for a unit diagonal, above which no estimate of the
	// smallest eigenvalue is needed to tell it from pivotTol: the estimate costs as
	// much as a solve.
	safePivot = 1e-2
	// maxProximal bounds the number of proximal steps.
	maxProximal = 100
	// stalledProximal and stalledDefinite are the numbers of steps that do not
	// halve the residual after which there is no more to gain: that of proximal steps
	// may stay for some of them, but recentring a definite program gains at once or
	// not at all.
	stalledProximal = 10
	stalledDefinite = 3
	// stalledOwn is the number of steps that do not halve the residual of a variable
	// among its own terms after which it is rounding of the terms of others, or Q is
	// so flat that only a weaker proximal term helps.
	stalledOwn = 3
	// maxWeaker is how many times the proximal term is made a hundred times weaker where
	// the steps are stuck: from shiftQuadratic it is then down at the rounding of Q.
	maxWeaker = 3
	// proximalPatience is the number of steps with the same proximal term.
	proximalPatience = 15
)

// proximalPoint solves the program, by steps of the proximal point method if the
// factor is shifted.
func (a *activeSet) proximalPoint(s *qpReport, tol float64) Status {
	for r := range a.rows {
		if a.single[r] == noEntry && (a.r[r] < 0 || r >= a.m && a.r[r] != 0) { // 0 ≤ h, 0 = b
			clear(a.y)
			a.certifyInfeasible(s, r)
			return Infeasible
		}
	}
	r := -1
	if a.current {
		a.measure(s, false)
		a.recentre()
	} else {
		clear(a.z)
		r = a.start()
	}
	track := progress{best: math.Inf(1), bestOwn: math.Inf(1), rays: a.n, weaker: maxWeaker}
	for step := range maxProximal {
		if r < 0 {
			r = a.minimise()
		}
		if r >= 0 {
			a.current = false
			a.certifyInfeasible(s, r)
			return Infeasible
		}
		if a.shifted {
			s.Proximal = step + 1
			if a.provesUnbounded(s) {
				return a.unbounded(s, tol)
			}
		}
		a.refine(s)
		if s.Residual.Relative > converged {
			a.tryZeros(s, tol)
		} else if a.shifted && a.coarse {
			a.tryZeroMultipliers(s)
		}
		if a.follow(&track, s.Residual.Relative, tol); track.done || a.iterations > a.maxChanges {
			break
		}
		slow := step%proximalPatience == proximalPatience-1
		if track.stuck {
			if !a.shifted {
				break
			}
			if track.rays > 0 && a.alongRay() {
				track.rays--
				track.best, track.stalled = math.Inf(1), 0
				r = a.start()
				continue
			}
			if track.weaker == 0 || track.own <= converged {
				break // only the gradient depends on the proximal term
			}
			track.weaker--
			track.best, track.stalled, track.idle, slow = math.Inf(1), 0, 0, true
		}
		if a.shifted && a.weaken(slow) {
			if !a.factorWeighted() {
				a.takeBackWeights() // to which the working set's triangle belongs
				break
			}
			a.forgetRows()
			r = a.start()
			continue
		}
		clear(a.skip[:a.m])
		a.recentre()
	}
	s.Residual.Relative = max(s.Residual.Relative, a.looseRows(tol))
	if s.Residual.Relative <= tol && track.settled && dense.Finite(s.Objective) {
		return Optimal
	}
	return IterationLimit
}

// progress is how far the steps of a solve have come.
type progress struct {
	// best and bestOwn are the relative residual, and that of each variable among its own
	// terms, that the later ones have to halve; stalled and idle count the steps that did not.
	best, bestOwn float64
	own           float64 // the residual of the last step among own terms
	stalled, idle int
	settled       bool // the residual among own terms falls no more
	done, stuck   bool // nothing is left to gain; or nothing by steps like the last
	rays, weaker  int  // how many more rays and weaker proximal terms may be tried
}

// follow notes the residual of one more step, which measure left.
func (a *activeSet) follow(t *progress, relative, tol float64) {
	t.settled = !a.shifted
	for k := range a.parts {
		a.parts[k].own = math.Inf(1)
	}
	if a.shifted && relative <= tol {
		// Proximal steps reach one variable after the other.
		t.own = a.ownResidual()
		if t.idle++; t.own < t.bestOwn/2 {
			t.bestOwn, t.idle = t.own, 0
		}
		t.settled = t.own <= converged || t.idle >= stalledOwn
	}
	if t.stalled++; relative < t.best/2 {
		t.best, t.stalled = relative, 0
	}
	end := relative <= converged && t.settled
	t.done = end && (!a.shifted || t.bestOwn <= tol)
	t.stuck = end || relative <= tol && t.settled && t.stalled >= stalledProximal || !a.shifted && t.stalled >= stalledDefinite
}

// unbounded gives the status of a program with a direction in which the
// objective falls without bound: the program is unbounded if some point is feasible. That is
// the point nearest to the origin in the metric of the factor, by the same
// method without the linear term.
func (a *activeSet) unbounded(s *qpReport, tol float64) Status {
	p := a.p
	a.p = a.oldZ
	clear(a.p)
	clear(a.z)
	r := a.start()
	if r < 0 {
		r = a.minimise()
	}
	feasible := false
	if r < 0 && a.iterations <= a.maxChanges {
		a.measure(s, false)
		worst := a.looseRows(tol)
		for _, p := range a.parts {
			worst = max(worst, p.primal)
		}
		feasible = worst <= tol
	}
	a.p = p
	a.current = false
	if feasible {
		return Unbounded
	}
	s.Certificate.Z, s.Certificate.Residual = s.Certificate.Z[:0], 0
	if r < 0 {
		a.measure(s, true)
		return IterationLimit
	}
	a.certifyInfeasible(s, r)
	return Infeasible
}
