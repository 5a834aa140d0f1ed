package qpdiff

import (
	"cmp"
	"math"
	"slices"
)

// kinkedQP minimises the quadratic function with a kink at zero in each
// coordinate
//
//	½ xᵀ(G + diag r)x − cᵀx + Σ_j up_j·max(x_j,0) + lo_j·max(−x_j,0)
//
// exactly: by finding the active set (the coordinates that are not held at
// zero by their kink) and solving the linear system on it. up = lo = λ is an
// ℓ₁ penalty, up = lo = 0 leaves the coordinate free, lo = +Inf forbids
// negative values and up = lo = +Inf holds it at zero.
//
// x depends on how the active set was found only through the set itself: two
// runs that end at the same set and signs give the same bits.
type kinkedQP struct {
	n             int
	g             []float64 // n×n, both triangles
	c, r, up, lo  []float64
	x             []float64 // a feasible point, after solve the solution
	act           []int     // the active set, ascending: free, or not held at zero
	sgn           []float64 // per member of act: the side of the kink, 0 if free
	a, dinv       []float64 // factor of the active system, its right-hand side as last column
	z, grad       []float64 // work; after solve: c − Gx where x_j is held at zero
	d, at         []float64 // work of stepTo
	cross         []int
	bound         float64 // of the condition of the active system, from above
	warm, hadFree bool    // x and act come from a solve; that solve had free coordinates
}

func (q *kinkedQP) resize(n int) {
	if q.n == n {
		return
	}
	buf := make([]float64, n*(n+1)+7*n)
	take := func(k int) []float64 {
		s := buf[:k:k]
		buf = buf[k:]
		return s
	}
	*q = kinkedQP{
		n: n, g: q.g, c: q.c, r: q.r, up: q.up, lo: q.lo,
		a: take(n * (n + 1)), dinv: take(n), x: take(n), z: take(n), grad: take(n), sgn: take(n)[:0],
		d: take(n), at: take(n), cross: make([]int, 0, n),
		act: make([]int, 0, n),
	}
}

// reset forgets the warm start.
func (q *kinkedQP) reset() {
	q.warm = false
	q.act, q.sgn = q.act[:0], q.sgn[:0]
	clear(q.x)
}

// cdSweeps bounds the coordinate descent sweeps between two exact steps, and
// cdPhases how often descent is tried before exact steps alone finish.
const (
	cdSweeps = 8
	cdPhases = 60
	// minFactorisations and factorisationsPerFeature bound the factorisations of one
	// solve: the method is finite, and what takes more goes round by rounding.
	minFactorisations        = 200
	factorisationsPerFeature = 20
	// admitTol is the rounding of a slope, relative to the size of its terms, within
	// which no coordinate is let into the active set.
	admitTol = 32 * eps
	// pivotRounding times eps for each feature is the rounding of a pivot.
	pivotRounding = 8
	// looseInverse is the inverse determinant, for a unit diagonal, up to which the
	// bound of the condition that needs no λ2 is good enough.
	looseInverse = 1e6
)

// solve moves x to the solution and leaves the factor of its active system in
// a, dinv. It starts from the active set and x of the last solve: where λ moved
// little, one factorisation confirms the set. Otherwise it alternates sweeps of
// coordinate descent, which are cheap and change many signs, with exact steps
// on the active set, and in the end takes exact steps alone. Those lower the
// objective each time x moves, and come to the minimiser of an active set
// before another coordinate may enter; no active set has its minimiser visited
// twice, so they are finitely many.
func (q *kinkedQP) solve() error {
	free := false
	for j, u := range q.up {
		if u == 0 && q.lo[j] == 0 {
			free = true
			break
		}
	}
	if free || q.hadFree {
		q.activate()
		q.hadFree = free
	}
	phases := cdPhases
	if !q.warm {
		q.descend()
		phases--
	}
	q.warm = false
	tol := admitTol
	for range minFactorisations + factorisationsPerFeature*q.n {
		s := len(q.act)
		if k := q.factor(); k < s {
			phases = max(0, phases-1)
			moved, ok := q.slide(k)
			if !ok {
				return argErrorf("hyper", ErrIllPosed, "raise lambda2 or drop features",
					"leaves the solution open: feature %d is zero or depends linearly on others", q.act[k])
			}
			if !moved && !q.fresh() {
				tol = math.Inf(1)
			}
			continue
		}
		ldlBack(q.a, q.dinv, s, s+1, q.z[:s])
		wrong := 0
		for i, v := range q.z[:s] {
			if t := q.sgn[i]; v*t <= 0 && t != 0 {
				wrong++
			}
		}
		if wrong > 0 {
			if !q.stepTo() && !q.fresh() {
				tol = math.Inf(1)
			}
		} else {
			for i, j := range q.act {
				q.x[j] = q.z[i]
			}
			wrong = q.admit(tol, phases == 0)
			if wrong == 0 {
				q.warm = true
				return nil
			}
		}
		if wrong > 1 && phases > 0 {
			q.descend()
			phases--
		}
	}
	return argErrorf("Data", ErrIterationLimit, "raise lambda2", "is so ill-conditioned that no active set was confirmed")
}

// fresh reports whether a coordinate let into the active set has not left its
// kink yet. If all those let in last want to leave again at once, then rounding
// alone had let them in.
func (q *kinkedQP) fresh() bool {
	for i, j := range q.act {
		if q.sgn[i] != 0 && q.x[j] == 0 {
			return true
		}
	}
	return false
}

// factor gathers the active system and factorises it. The solution's start is
// left in z. It returns the first dependent member of act, or len(act).
func (q *kinkedQP) factor() int {
	s := len(q.act)
	w := s + 1
	for i, j := range q.act {
		row := q.g[j*q.n : (j+1)*q.n]
		out := q.a[i*w : (i+1)*w]
		if s == q.n {
			copy(out[i:], row[i:])
		} else {
			for k := i; k < s; k++ {
				out[k] = row[q.act[k]]
			}
		}
		out[i] += q.r[j]
		out[s] = q.linear(i)
	}
	if k := ldlFactor(q.a, q.dinv, s, w, pivotRounding*eps*float64(q.n)); k < s {
		return k
	}
	q.bound = q.condBound()
	if unsolvable(q.bound) && unsolvable(q.cond()) {
		return ldlDependent(q.a, q.dinv, s, w, q.d, q.at)
	}
	for i := range s {
		q.z[i] = q.a[i*w+s]
	}
	return s
}

// condBound bounds the condition of the active system, scaled to a unit
// diagonal, as factorised last, from above.
func (q *kinkedQP) condBound() float64 {
	inv, n := 1.0, q.n
	dinv := q.dinv[:len(q.act)]
	for i, j := range q.act {
		inv *= (q.g[j*n+j] + q.r[j]) * dinv[i]
	}
	if inv <= looseInverse {
		return condBound(len(q.act), 1/inv, 0)
	}
	// G is positive semidefinite.
	floor := 1.0
	for _, j := range q.act {
		floor = min(floor, q.r[j]/(q.g[j*n+j]+q.r[j]))
	}
	return condBound(len(q.act), 1/inv, floor)
}

// cond estimates it.
func (q *kinkedQP) cond() float64 {
	s := len(q.act)
	return ldlCond(q.a, q.dinv, s, s+1, q.d, q.at)
}

// solveActive solves the active system, as factorised last, for the right-hand
// side v (n entries, of which it reads the active ones) and returns the
// solution, one entry per member of act, in w.
func (q *kinkedQP) solveActive(w, v []float64) []float64 {
	s := len(q.act)
	w = w[:s]
	for i, j := range q.act {
		w[i] = v[j]
	}
	ldlForward(q.a, q.dinv, s, s+1, w)
	ldlBack(q.a, q.dinv, s, s+1, w)
	return w
}

// stepTo moves x towards the minimiser z of the active system, which lies
// beyond some kinks: to z or to that kink on the way where the objective is
// lowest. The coordinates whose kink is there leave the active set, those that
// crossed theirs change sides. It reports whether x moved.
//
// Along x + t(z−x) the slope is (t−1)·dᵀHd, d = z−x, plus (up_j+lo_j)·|d_j| for
// each kink crossed. (This is the line search of Lee, Battle, Raina and Ng
// 2006, "Efficient sparse coding algorithms".) A coordinate that reaches its
// kink has moved, also where t underflows.
func (q *kinkedQP) stepTo() (moved bool) {
	s := len(q.act)
	d, at, cross := q.d[:s], q.at[:s], q.cross[:0]
	for i, j := range q.act {
		x, z := q.x[j], q.z[i]
		d[i] = z - x
		if t := q.sgn[i]; t != 0 && z*t <= 0 {
			at[i] = 0
			if x != 0 {
				at[i] = x / (x - z)
			}
			cross = append(cross, i)
		}
	}
	slices.SortFunc(cross, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	curv := ldlForm(q.a, q.dinv, s, s+1, d)
	t, jump, value := 0.0, 0.0, 0.0
	bestT, best := at[cross[0]], 0.0 // at the least as far as the first
	for k := 0; k <= len(cross); k++ {
		next := 1.0
		if k < len(cross) {
			next = at[cross[k]]
		}
		value += (next - t) * (jump - curv*(1-(t+next)/2))
		t = next
		if value < best {
			bestT, best = t, value
		} else if t > 0 {
			break
		}
		if k < len(cross) {
			i := cross[k]
			j := q.act[i]
			jump += (q.up[j] + q.lo[j]) * math.Abs(d[i])
			if math.IsInf(jump, 1) {
				break
			}
		}
	}
	for _, i := range cross {
		switch j := q.act[i]; {
		case at[i] == bestT:
			moved = moved || q.x[j] != 0
			q.x[j] = 0
			q.act[i] = -1
		case at[i] < bestT:
			q.sgn[i] = -q.sgn[i]
		}
	}
	if bestT > 0 {
		for i, j := range q.act {
			if j < 0 {
				continue
			}
			q.x[j] += bestT * d[i]
			if bestT == 1 {
				q.x[j] = q.z[i]
			}
			q.stop(i)
		}
	}
	q.compact()
	return moved || bestT > 0
}

// stop takes member i out of the active set if x is at its kink or beyond.
func (q *kinkedQP) stop(i int) {
	if j := q.act[i]; q.sgn[i] != 0 && q.x[j]*q.sgn[i] <= 0 {
		q.x[j] = 0
		q.act[i] = -1
	}
}

// compact closes the gaps that coordinates left in the active set.
func (q *kinkedQP) compact() {
	k := 0
	for i, j := range q.act {
		if j >= 0 {
			q.act[k], q.sgn[k] = j, q.sgn[i]
			k++
		}
	}
	q.act, q.sgn = q.act[:k], q.sgn[:k]
}

// slide deals with member k of act being linearly dependent on those before
// it: along that dependency the objective is linear, so x moves down it to the
// next kink, whose coordinate leaves. It reports whether x moved, and ok false
// where no kink bounds the way: then the solution is not unique.
func (q *kinkedQP) slide(k int) (moved, ok bool) {
	s := len(q.act)
	// The dependency v: v_k = 1, v_<k = −H_<k⁻¹h_k. Column k of the partial
	// factor holds L⁻¹h_k.
	v := q.d[:k+1]
	for i := range k {
		v[i] = -q.a[i*(s+1)+k]
	}
	ldlBack(q.a, q.dinv, k, s+1, v[:k])
	v[k] = 1
	var down float64
	for i, t := range v {
		down += q.linear(i) * t
	}
	// Where the objective is flat along v, rounding decides which way is down:
	// if no kink bounds that one, the other is as good.
	if down < 0 {
		negate(v)
	}
	t := q.reach(v)
	if math.IsInf(t, 1) {
		negate(v)
		if t = q.reach(v); math.IsInf(t, 1) {
			return false, false
		}
	}
	for i, u := range v {
		j := q.act[i]
		if u*q.sgn[i] < 0 && -q.x[j]/u <= t {
			moved = moved || q.x[j] != 0
			q.x[j] = 0
			q.act[i] = -1
		} else if t > 0 {
			q.x[j] += t * u
			q.stop(i)
		}
	}
	q.compact()
	return moved || t > 0, true
}

// reach returns how far x can move along v, on the first members of the active
// set, until one of them is at its kink.
func (q *kinkedQP) reach(v []float64) float64 {
	t := math.Inf(1)
	for i, u := range v {
		if u*q.sgn[i] < 0 {
			t = min(t, -q.x[q.act[i]]/u)
		}
	}
	return t
}

func negate(v []float64) {
	for i := range v {
		v[i] = -v[i]
	}
}

// linear returns minus the slope at zero of the objective's linear part for
// member i of act, on its side of the kink.
func (q *kinkedQP) linear(i int) float64 {
	j := q.act[i]
	switch t := q.sgn[i]; {
	case t > 0:
		return q.c[j] - q.up[j]
	case t < 0:
		return q.c[j] + q.lo[j]
	}
	return q.c[j]
}

// admit adds to the active set the coordinates at zero whose kink is too weak
// to hold them there, by more than tol times the size of the terms compared, or
// if one is set the one of them that violates its kink most. It returns how
// many it added.
func (q *kinkedQP) admit(tol float64, one bool) int {
	n, s := q.n, len(q.act)
	next := 0
	worst := 0.0
	for j := range n {
		if next < s && q.act[next] == j {
			next++
			continue
		}
		row := q.g[j*n : (j+1)*n]
		d := q.c[j]
		for i, k := range q.act[:s] {
			d -= row[k] * q.z[i]
		}
		q.grad[j] = d
		if d <= q.up[j] && -d <= q.lo[j] {
			continue
		}
		// More than the rounding of d?
		size := math.Abs(q.c[j])
		for i, k := range q.act[:s] {
			size += math.Abs(row[k] * q.z[i])
		}
		excess, side := d-q.up[j], 1.0
		if d < 0 {
			excess, side = -d-q.lo[j], -1
		}
		if !(excess > tol*size) {
			continue
		}
		if one {
			if excess <= worst {
				continue
			}
			worst = excess
			q.act, q.sgn = q.act[:s], q.sgn[:s]
		}
		q.act, q.sgn = append(q.act, j), append(q.sgn, side)
	}
	added := len(q.act) - s
	q.sortActive(s)
	return added
}

// sortActive merges the ascending members from s on into the ascending first s.
func (q *kinkedQP) sortActive(s int) {
	for i := s; i < len(q.act); i++ {
		j, t := q.act[i], q.sgn[i]
		k := i
		for ; k > 0 && q.act[k-1] > j; k-- {
			q.act[k], q.sgn[k] = q.act[k-1], q.sgn[k-1]
		}
		q.act[k], q.sgn[k] = j, t
	}
}

// activate makes the active set that of x: all free coordinates and those that
// are not zero.
func (q *kinkedQP) activate() {
	q.act, q.sgn = q.act[:0], q.sgn[:0]
	for j, v := range q.x {
		switch {
		case q.up[j] == 0 && q.lo[j] == 0:
			q.act, q.sgn = append(q.act, j), append(q.sgn, 0)
		case v > 0:
			q.act, q.sgn = append(q.act, j), append(q.sgn, 1)
		case v < 0:
			q.act, q.sgn = append(q.act, j), append(q.sgn, -1)
		}
	}
}

// descend runs coordinate descent from x until a sweep leaves all signs as
// they were, and makes its support the active set.
func (q *kinkedQP) descend() {
	n := q.n
	d := q.grad
	copy(d, q.c)
	for j, v := range q.x {
		if v != 0 {
			axpy(-v, q.g[j*n:(j+1)*n], d)
		}
	}
	for range cdSweeps + len(q.act)/2 {
		moved := false
		for j := range n {
			row := q.g[j*n : (j+1)*n]
			h := row[j] + q.r[j]
			if !(h > 0) {
				continue
			}
			old := q.x[j]
			rho := d[j] + row[j]*old
			var v float64
			if rho > q.up[j] {
				v = (rho - q.up[j]) / h
			} else if -rho > q.lo[j] {
				v = (rho + q.lo[j]) / h
			}
			if v == old {
				continue
			}
			if v > 0 != (old > 0) || v < 0 != (old < 0) {
				moved = true
			}
			q.x[j] = v
			axpy(old-v, row, d)
		}
		if !moved {
			break
		}
	}
	q.activate()
}
