package qpdiff

import "math"

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
	warm, hadFree bool      // x and act come from a solve; that solve had free coordinates
}

func (q *kinkedQP) resize(n int) {
	if q.n == n {
		return
	}
	buf := make([]float64, n*(n+1)+5*n)
	take := func(k int) []float64 {
		s := buf[:k:k]
		buf = buf[k:]
		return s
	}
	*q = kinkedQP{
		n: n, g: q.g, c: q.c, r: q.r, up: q.up, lo: q.lo,
		a: take(n * (n + 1)), dinv: take(n), x: take(n), z: take(n), grad: take(n), sgn: take(n)[:0],
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
	cdPhases = 6
)

// solve moves x to the solution and leaves the factor of its active system in
// a, dinv. It starts from the active set and x of the last solve: where λ moved
// little, one factorisation confirms the set. Otherwise coordinate descent
// guesses a new set and primal active-set steps finish. Every step lowers the
// objective and an active set is left only downhill, so none comes back and
// the number of steps is finite.
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
	settled := false
	for step := 0; step < 200+20*q.n; step++ {
		s := len(q.act)
		if k := q.factor(); k < s {
			if !q.slide(k) {
				return argErrorf("hyper", ErrIllPosed, "raise lambda2 or drop features", "leaves the solution open: feature %d depends linearly on others", q.act[k])
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
			if q.stepTo() {
				settled = true
			} else if wrong > 1 && phases > 0 {
				q.descend()
				phases--
			}
			continue
		}
		for i, j := range q.act {
			q.x[j] = q.z[i]
		}
		tol := 32 * eps
		if settled {
			tol = math.Inf(1)
		}
		added := q.admit(tol)
		if added == 0 {
			q.warm = true
			return nil
		}
		if added > 1 && phases > 0 {
			q.descend()
			phases--
		}
	}
	return argErrorf("Data", ErrIterationLimit, "raise lambda2", "is so ill-conditioned that no active set was confirmed")
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
		b := q.c[j]
		if t := q.sgn[i]; t > 0 {
			b -= q.up[j]
		} else if t < 0 {
			b += q.lo[j]
		}
		out[s] = b
	}
	k := ldlFactor(q.a, q.dinv, s, w, 4*eps*float64(q.n))
	if k == s {
		for i := range s {
			q.z[i] = q.a[i*w+s]
		}
	}
	return k
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

// stepTo moves x towards the minimiser z of the active system, up to the first
// kink, and drops the coordinates that arrive there. It reports whether
// nothing but rounding had let the newest coordinates into the set: all of
// them want to leave it on the wrong side at once.
func (q *kinkedQP) stepTo() (stuck bool) {
	t := 1.0
	fresh, left := 0, 0
	for i, j := range q.act {
		if s := q.sgn[i]; s != 0 {
			if q.x[j] == 0 {
				fresh++
			}
			if q.z[i]*s <= 0 {
				if q.x[j] == 0 {
					left++
				}
				t = min(t, q.x[j]/(q.x[j]-q.z[i]))
			}
		}
	}
	if left > 0 || !(t > 0) {
		t = 0
	}
	k := 0
	for i, j := range q.act {
		s := q.sgn[i]
		if s != 0 && q.z[i]*s <= 0 && !(q.x[j]/(q.x[j]-q.z[i]) > t) {
			q.x[j] = 0
			continue
		}
		if t > 0 {
			q.x[j] += t * (q.z[i] - q.x[j])
			if s != 0 && q.x[j]*s <= 0 {
				q.x[j] = 0
				continue
			}
		}
		q.act[k], q.sgn[k] = j, s
		k++
	}
	q.act, q.sgn = q.act[:k], q.sgn[:k]
	return left > 0 && left == fresh
}

// slide deals with member k of act being linearly dependent on those before
// it: along that dependency the objective is linear, so x moves down it to the
// next kink, whose coordinate leaves. It reports false when there is none:
// then the objective is flat in a direction that no kink bounds.
func (q *kinkedQP) slide(k int) bool {
	s := len(q.act)
	// The dependency v: v_k = 1, v_<k = −H_<k⁻¹ h_k. Column k of the partial
	// factor holds L⁻¹h_k.
	v := q.z[:s]
	clear(v)
	for i := range k {
		v[i] = -q.a[i*(s+1)+k]
	}
	ldlBack(q.a, q.dinv, k, s+1, v[:k])
	v[k] = 1
	var slope float64
	for i := range k + 1 {
		j := q.act[i]
		b := q.c[j]
		if t := q.sgn[i]; t > 0 {
			b -= q.up[j]
		} else if t < 0 {
			b += q.lo[j]
		}
		slope -= b * v[i]
	}
	if slope > 0 {
		for i := range k + 1 {
			v[i] = -v[i]
		}
	}
	for range 2 {
		t := math.Inf(1)
		for i := range k + 1 {
			if v[i]*q.sgn[i] < 0 {
				t = min(t, -q.x[q.act[i]]/v[i])
			}
		}
		if !math.IsInf(t, 1) {
			m := 0
			for i, j := range q.act {
				if i <= k {
					hit := v[i]*q.sgn[i] < 0 && !(-q.x[j]/v[i] > t)
					q.x[j] += t * v[i]
					if hit || q.sgn[i] != 0 && q.x[j]*q.sgn[i] < 0 {
						q.x[j] = 0
						continue
					}
				}
				q.act[m], q.sgn[m] = j, q.sgn[i]
				m++
			}
			q.act, q.sgn = q.act[:m], q.sgn[:m]
			return true
		}
		for i := range k + 1 {
			v[i] = -v[i]
		}
	}
	return false
}

// admit adds to the active set every coordinate at zero whose kink is too weak
// to hold it there, by more than tol times the size of the terms compared, and
// returns how many.
func (q *kinkedQP) admit(tol float64) int {
	n, s := q.n, len(q.act)
	added, next := 0, 0
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
		size *= tol
		switch {
		case d > q.up[j]+size:
			q.act, q.sgn = append(q.act, j), append(q.sgn, 1)
			added++
		case -d > q.lo[j]+size:
			q.act, q.sgn = append(q.act, j), append(q.sgn, -1)
			added++
		}
	}
	if added > 0 {
		q.sortActive(s)
	}
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
	for range cdSweeps {
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
