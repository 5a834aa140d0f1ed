package qpdiff

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// activeSet is the working storage of one QP solve: the scaled problem, the
// factor of Q, and the working set with its triangle. Rows of the constraints
// are numbered together, the m inequalities first; w holds the working set as
// row numbers, the equalities first.
//
// With m_r = L⁻¹c_r for row r, LLᵀ = Q + shift·I, and u = Lᵀz, the program
// reads: minimise ½‖u − u0‖² subject to m_rᵀu ≤ r_r.
type activeSet struct {
	n, m, rows int
	loaded     bool // the fields of the problem hold the last one loaded
	factored   bool // l belongs to q

	// The problem. Row r is c[r·n:(r+1)·n], scaled by scale[r], a power of two.
	q, p, c, r, scale []float64
	qmax              float64   // largest |entry| of Q
	d                 []float64 // squared scale of the variables, for the proximal term
	// unit holds the units of the variables in which residuals are compared,
	// 1/√d_j.
	unit []float64

	l, linv []float64 // L and the inverses of its diagonal
	loose   bool      // see looseTol
	shift   float64   // what was added to the diagonal of Q
	// psize and zsize are what sizes returned when shift was chosen, qsize is the
	// largest entry of Q in the units of the variables.
	psize, zsize, qsize float64
	alone               []int     // see ownUnits
	flat                float64   // see flatness; zero where not computed yet
	inv                 []float64 // 1/√ of the diagonal of Q + shift·D, by flatness
	mrows               []float64 // m_r where has[r], likewise mnorm and msize
	mnorm               []float64 // ‖m_r‖²
	msize               []float64 // largest entry of c_r in the units of the variables
	has                 []bool
	// current: t and q1 belong to the rows of w and the factor. redundant: some
	// equalities depend on others, so that b has to be checked anew.
	current, redundant bool
	single             []int  // column of the only entry of row r, or manyEntries or noEntry
	skip               []bool // rows that follow from others, or that rounding decides

	triangle
	at  []int     // place of row r in w, -1 where it is not
	eq  int       // the first eq of w are equalities
	g   []float64 // Q₁u0, see perp
	e   []float64 // T⁻¹ baseSlack_W
	lam []float64 // multipliers by place in w, of the scaled rows

	// The base is the origin of z and the centre of the proximal term. At it,
	// the slacks are baseSlack = r − c·base, and the unconstrained minimiser is
	// u0 = Q₁ᵀg + perp with perp orthogonal to Q₁; noise bounds the size of what
	// went into perp.
	base, baseSlack, perp  []float64
	noise                  float64
	z, step, slack         []float64 // z = base + step, slack = r − c z
	grad, dz, dl, y, work  []float64
	row, wrow, work2       []float64
	oldZ, oldLam           []float64
	guess                  []int
	iterations, maxChanges int
}

// triangle holds rows of the constraints and the factors M_W = TQ₁ of their
// m_r, with n columns each.
type triangle struct {
	w    []int     // the rows, in the order of the factors
	t    []float64 // lower triangle
	tinv []float64 // inverses of its diagonal
	q1   []float64 // orthonormal rows that span those of M_W
}

// clone returns a copy with storage of its own.
func (f *triangle) clone() triangle {
	return triangle{w: slices.Clone(f.w), t: slices.Clone(f.t), tinv: slices.Clone(f.tinv), q1: slices.Clone(f.q1)}
}

// add appends row r, whose m_r is row·Q₁ + outside, with ‖outside‖² = left.
func (f *triangle) add(r, n int, left float64, row, outside []float64) {
	k := len(f.w)
	copy(f.t[k*n:k*n+k], row[:k])
	d := math.Sqrt(left)
	f.t[k*n+k], f.tinv[k] = d, 1/d
	floats.ScaleTo(f.q1[k*n:(k+1)*n], 1/d, outside)
	f.w = append(f.w, r)
}

// remove takes the row at place j out and restores the triangle by plane
// rotations, whose cosines and sines it leaves in cos and sin, from j on. The
// direction that Q₁ loses is left in the row of q1 behind the last.
func (f *triangle) remove(j, n int, cos, sin []float64) {
	k := len(f.w)
	for i := j + 1; i < k; i++ {
		// Row i becomes row i-1; it reaches one place beyond its diagonal.
		dst, src := f.t[(i-1)*n:(i-1)*n+i+1], f.t[i*n:i*n+i+1]
		copy(dst, src)
		for c := j; c < i-1; c++ {
			cs, sn := cos[c], sin[c]
			x, y := dst[c], dst[c+1]
			dst[c], dst[c+1] = cs*x+sn*y, cs*y-sn*x
		}
		x, y := dst[i-1], dst[i]
		h := math.Sqrt(x*x + y*y)
		if !(h > 1e-150 && h < 1e150) {
			h = math.Hypot(x, y)
		}
		cos[i-1], sin[i-1] = x/h, y/h
		dst[i-1] = h
		f.tinv[i-1] = 1 / h
		f.w[i-1] = f.w[i]
	}
	for c := j; c < k-1; c++ {
		rotate(f.q1[c*n:(c+1)*n], f.q1[(c+1)*n:(c+2)*n], cos[c], sin[c])
	}
	f.w = f.w[:k-1]
}

// forward replaces x by T⁻¹x.
func (f *triangle) forward(n int, x []float64) {
	for i := range x {
		x[i] = (x[i] - floats.Dot(f.t[i*n:i*n+i], x[:i])) * f.tinv[i]
	}
}

// Rows with more than one entry, and with none, in activeSet.single.
const (
	manyEntries = -1
	noEntry     = -2
)

const (
	// pivotTol decides when Q counts as only semidefinite: a pivot, or the
	// smallest eigenvalue after scaling to a unit diagonal, below it.
	pivotTol = 1e-11
	// convexTol is how far below zero Q's eigenvalues may lie by rounding, after
	// scaling to a unit diagonal.
	convexTol = 1e-12
	// feasTol is the violation, relative to the size of the terms, from which
	// a row counts as violated.
	feasTol = 1e-13
	// dependTol: a row counts as dependent on the working set where what is
	// left of m_r after projection is below this fraction of its norm.
	dependTol = 1e-9
	// noneLeft: what is left of m_r below this fraction is rounding error, and no
	// row to work with even where nothing else helps.
	noneLeft = 1e-13
	// blockTol: an entry of the combination of rows below this fraction of the
	// largest is its rounding error, and does not drive a multiplier to zero.
	blockTol = 1e-14
	// enterFraction: a block takes in the rows violated by at least this
	// fraction of the largest violation. All of them at once would be too many:
	// most have to leave again.
	enterFraction = 0.5
	// guessSweeps bounds the sweeps of coordinate descent before the method
	// itself.
	guessSweeps = 30
)

func (a *activeSet) resize(n, m, rows int) {
	a.n, a.m, a.rows = n, m, rows
	a.loaded, a.factored = false, false
	for _, v := range []*[]float64{&a.q, &a.l, &a.t, &a.q1} {
		*v = grow(*v, n*n)
	}
	for _, v := range []*[]float64{&a.c, &a.mrows} {
		*v = grow(*v, rows*n)
	}
	for _, v := range []*[]float64{&a.p, &a.d, &a.unit, &a.linv, &a.inv, &a.tinv, &a.g, &a.e, &a.lam, &a.z, &a.base, &a.step, &a.perp, &a.grad, &a.dz, &a.dl, &a.y, &a.work, &a.work2, &a.row, &a.wrow, &a.oldZ, &a.oldLam} {
		*v = grow(*v, n)
	}
	for _, v := range []*[]float64{&a.r, &a.scale, &a.mnorm, &a.msize, &a.slack, &a.baseSlack} {
		*v = grow(*v, rows)
	}
	a.has, a.skip = grow(a.has, rows), grow(a.skip, rows)
	a.at, a.single = grow(a.at, rows), grow(a.single, rows)
	a.w = grow(a.w, n)[:0]
	a.guess = grow(a.guess, n)
	clear(a.q)
	a.qmax = 0
	for r := range a.at {
		a.at[r] = -1
	}
	a.eq, a.current = 0, false
}

// forgetRows drops what was computed from the rows with the last factor, but
// keeps the working set as the next one's starting guess.
func (a *activeSet) forgetRows() {
	clear(a.has)
	a.current = false
}

// factor computes LLᵀ = Q + shift·D and reports the first row whose pivot is
// not above tol times its diagonal entry, or n.
func (a *activeSet) factor(shift, tol float64) int {
	n := a.n
	a.shift, a.flat = shift, 0
	for i := range n {
		copy(a.l[i*n:i*n+i+1], a.q[i*n:])
		a.l[i*n+i] += shift * a.d[i]
	}
	return cholesky(a.l, a.linv, n, tol)
}

// forward replaces x by L⁻¹x; its first entries below from are zero.
func (a *activeSet) forward(x []float64, from int) {
	n := a.n
	for i := from; i < n; i++ {
		x[i] = (x[i] - floats.Dot(a.l[i*n+from:i*n+i], x[from:i])) * a.linv[i]
	}
}

// back replaces x by L⁻ᵀx.
func (a *activeSet) back(x []float64) { backSolve(a.l, a.linv, a.n, a.n, x) }

// mrow returns m_r = L⁻¹c_r.
func (a *activeSet) mrow(r int) []float64 {
	n := a.n
	m := a.mrows[r*n : (r+1)*n]
	if a.has[r] {
		return m
	}
	copy(m, a.c[r*n:(r+1)*n])
	from := 0
	for from < n && m[from] == 0 {
		from++
	}
	a.forward(m, from)
	a.mnorm[r] = floats.Dot(m, m)
	a.msize[r] = a.rowSize(r)
	a.has[r] = true
	return m
}

func (a *activeSet) crow(r int) []float64 { return a.c[r*a.n : (r+1)*a.n] }

// project splits the row with vector m into its parts within and outside the
// span of those in f: t = Q₁m into a.row, w = m − Q₁ᵀt into a.wrow. It returns
// ‖w‖². It projects twice where much is taken away, which keeps the
// rows of Q₁ orthogonal to rounding error (Daniel et al., 1976).
func (a *activeSet) project(f *triangle, m []float64, norm2 float64) float64 {
	k, n := len(f.w), a.n
	t, w := a.row[:k], a.wrow
	copy(w, m)
	for i := range t {
		t[i] = floats.Dot(f.q1[i*n:(i+1)*n], m)
	}
	for i, v := range t {
		if v != 0 {
			floats.AddScaled(w, -v, f.q1[i*n:(i+1)*n])
		}
	}
	left := floats.Dot(w, w)
	for pass := 0; pass < 2 && left < 0.25*norm2 && k > 0; pass++ {
		norm2 = left
		dt := a.dl[:k]
		for i := range dt {
			dt[i] = floats.Dot(f.q1[i*n:(i+1)*n], w)
		}
		for i, v := range dt {
			t[i] += v
			if v != 0 {
				floats.AddScaled(w, -v, f.q1[i*n:(i+1)*n])
			}
		}
		left = floats.Dot(w, w)
	}
	return left
}

// combination sets a.y to the y with M_Wᵀy = Q₁ᵀt for the last projected row.
func (a *activeSet) combination() []float64 {
	k := len(a.w)
	y := a.y[:k]
	copy(y, a.row[:k])
	backSolve(a.t, a.tinv, k, a.n, y)
	return y
}

// enter appends row r to the working set, as last projected.
func (a *activeSet) enter(r int, left float64) {
	k, n := len(a.w), a.n
	a.add(r, n, left, a.row, a.wrow)
	q := a.q1[k*n : (k+1)*n]
	a.g[k] = floats.Dot(q, a.perp)
	floats.AddScaled(a.perp, -a.g[k], q)
	a.lam[k] = 0
	a.at[r] = k
	if r >= a.m {
		a.eq = k + 1
	}
	a.iterations++
}

// tryEnter appends row r unless it depends on the working set.
func (a *activeSet) tryEnter(r int) bool {
	if len(a.w) == a.n {
		return false
	}
	m := a.mrow(r)
	norm2 := a.mnorm[r]
	left := a.project(&a.triangle, m, norm2)
	if !(left > dependTol*dependTol*norm2) {
		return false
	}
	a.enter(r, left)
	return true
}

// leave removes place j from the working set.
func (a *activeSet) leave(j int) {
	k, n := len(a.w), a.n
	a.at[a.w[j]] = -1
	a.remove(j, n, a.work, a.work2)
	for i, r := range a.w[j:] {
		a.at[r] = j + i
	}
	copy(a.lam[j:k-1], a.lam[j+1:k])
	for c := j; c < k-1; c++ {
		cs, sn := a.work[c], a.work2[c]
		a.g[c], a.g[c+1] = cs*a.g[c]+sn*a.g[c+1], cs*a.g[c+1]-sn*a.g[c]
	}
	last := a.g[k-1]
	floats.AddScaled(a.perp, last, a.q1[(k-1)*n:k*n])
	a.noise = max(a.noise, math.Abs(last))
	if j < a.eq {
		a.eq--
	}
	a.iterations++
}

// multipliers solves for the multipliers of the working set, Tᵀλ = g − e, where
// e = T⁻¹s_W for the slacks s at the base.
func (a *activeSet) multipliers() {
	a.offsets()
	k := len(a.w)
	floats.SubTo(a.lam[:k], a.g[:k], a.e[:k])
	backSolve(a.t, a.tinv, k, a.n, a.lam)
}

// offsets computes a.e.
func (a *activeSet) offsets() {
	k := len(a.w)
	for i, r := range a.w {
		a.e[i] = a.baseSlack[r]
	}
	a.triangle.forward(a.n, a.e[:k])
}

// point sets z to the minimiser on the working set, base + L⁻ᵀ(u⊥ + Q₁ᵀe), the
// step from the base, and the slacks of all rows.
func (a *activeSet) point() {
	n := a.n
	copy(a.step, a.perp)
	for i, v := range a.e[:len(a.w)] {
		if v != 0 {
			floats.AddScaled(a.step, v, a.q1[i*n:(i+1)*n])
		}
	}
	a.back(a.step)
	floats.AddTo(a.z, a.base, a.step)
	for r := range a.rows {
		a.slack[r] = a.baseSlack[r] - floats.Dot(a.c[r*n:(r+1)*n], a.step)
	}
}

// recentre makes z the base, which is also the centre of the proximal term,
// with the working set and its multipliers: there the unconstrained minimiser
// is u0 = −L⁻¹∇L + M_Wᵀλ, kept as g = Q₁u0 and the part u⊥ orthogonal to Q₁. At
// a point near the solution u⊥ is small, and with it the rounding errors of
// what follows. It needs grad and slack as measure leaves them.
func (a *activeSet) recentre() {
	n, k := a.n, len(a.w)
	copy(a.base, a.z)
	copy(a.baseSlack, a.slack)
	for i, v := range a.grad {
		a.perp[i] = -v
	}
	a.forward(a.perp, 0)
	a.noise = floats.Norm(a.perp, 2)
	g := a.g[:k]
	for j := range g {
		v := floats.Dot(a.q1[j*n:(j+1)*n], a.perp)
		floats.AddScaled(a.perp, -v, a.q1[j*n:(j+1)*n])
		for i := j; i < k; i++ {
			v += a.t[i*n+j] * a.lam[i]
		}
		g[j] = v
	}
}

func (a *activeSet) slacks() {
	n := a.n
	for r := range a.rows {
		a.slack[r] = a.r[r] - floats.Dot(a.c[r*n:(r+1)*n], a.z)
	}
}

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
	count := 0
	for _, v := range a.lam[a.eq:len(a.w)] {
		if v < 0 {
			count++
		}
	}
	return count
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
	a.noise = floats.Norm(a.perp, 2)
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
			a.project(&a.triangle, m, a.mnorm[r])
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
	if a.rows != a.m || a.m == 0 || a.shift > 0 {
		return
	}
	lo, hi := a.work, a.work2
	for j := range n {
		lo[j], hi[j] = math.Inf(-1), math.Inf(1)
	}
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
		// m_rᵀu is known to the rounding of u, and to that of the step back to z,
		// by which the slacks of the working set differ from 0.
		off := 8 * eps * max(a.noise, floats.Norm(a.e[:len(a.w)], 2))
		for _, i := range a.w {
			off = max(off, math.Abs(a.slack[i])/math.Sqrt(a.mnorm[i]))
		}
		if -a.slack[r] <= off*math.Sqrt(a.mnorm[r]) {
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
		left := a.project(&a.triangle, m, norm2)
		k := len(a.w)
		dependent := k == a.n || left <= dependTol*dependTol*norm2
		y := a.combination()
		step, block := math.Inf(1), -1
		if !dependent {
			step = violation / left
		}
		rounding := blockTol * largest(y)
		for i := a.eq; i < k; i++ {
			if y[i] > rounding && a.lam[i] < step*y[i] {
				step, block = a.lam[i]/y[i], i
			}
		}
		if math.IsInf(step, 1) {
			if left <= noneLeft*noneLeft*norm2 || k == a.n || a.provesInfeasible(r) {
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
			a.offsets()
			a.point()
			return true
		}
		a.lam[block] = 0
		a.leave(block)
		if a.iterations > a.maxChanges {
			a.offsets()
			a.point()
			return true
		}
	}
}

// solve runs the whole method and fills in s but for the vectors.
func (a *activeSet) solve(s *Solution) Status {
	a.iterations = 0
	a.maxChanges = s.MaxIter
	if a.maxChanges <= 0 {
		a.maxChanges = 1000 + 100*(a.n+a.rows)
	}
	tol := s.Tol
	if tol <= 0 {
		tol = defaultTol
	}
	status := a.factorised(s)
	if status == IterationLimit {
		// Without a factor 0 is the best point known.
		clear(a.z)
		clear(a.lam)
		a.measure(s, false)
		a.loaded = false
	}
	if status == Optimal {
		status = a.descend(s, tol)
		if status == IterationLimit && a.shift == 0 && a.iterations <= a.maxChanges {
			// Too badly conditioned after all.
			if a.factorShifted() {
				status = a.descend(s, tol)
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
func (a *activeSet) factorised(s *Solution) Status {
	if a.factored {
		if !a.stale() {
			return Optimal
		}
		a.forgetRows()
	}
	for i := range a.d {
		a.d[i], a.unit[i] = 1, 1
	}
	a.factored = true
	if a.qmax > 0 {
		if a.factor(0, pivotTol) == a.n && a.definite() {
			return Optimal
		}
		for i := range a.d {
			a.d[i] = math.Abs(a.q[i*a.n+i])
			if a.d[i] == 0 {
				a.d[i] = floats.Norm(a.q[i*a.n:(i+1)*a.n], math.Inf(1))
			}
			if a.d[i] == 0 {
				a.d[i] = a.qmax
			}
		}
		if bad := a.factor(convexTol, 0); bad < a.n && a.provesNonconvex(s, bad) {
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
	if least > 1e-2 {
		return true // the usual case
	}
	s := smallestSingular(a.l, a.linv, a.n, a.n, size, a.work)
	return s*s > pivotTol
}

// factorShifted factorises Q + shift·D.
func (a *activeSet) factorShifted() bool {
	shift := a.equilibrate()
	a.forgetRows()
	return a.factor(shift, 0) == a.n
}

const (
	// maxProximal bounds the number of proximal steps.
	maxProximal = 100
	// shiftQuadratic and shiftLinear weigh the proximal term against the entries
	// of Q and against the linear term, over the size of z that the bounds of the
	// rows give, in the units of the variables: weak enough that a step or two
	// reach the solution, strong enough that the factor keeps half its digits. A
	// decade more or less changes the number of steps only: the residual decides.
	shiftQuadratic = 1e-7
	shiftLinear    = 1e-6
	// defaultTol is what Solution.Tol stands for where it is zero: half the
	// digits, for problems whose condition leaves no more.
	defaultTol = 1e-9
	// converged is the relative residual at which no further proximal step is
	// taken. It leaves room above [refined] for the working set's condition;
	// less of it costs steps only.
	converged = 1e-13
	// stalledProximal and stalledDefinite are the numbers of steps that do not
	// halve the residual after which there is no more to gain: proximal steps may
	// pause, but recentring a definite program gains at once or not at all.
	stalledProximal = 10
	stalledDefinite = 3
	// openBound: a bound beyond this multiple of the usual ones stands for
	// infinity, and does not make the proximal term weaker. Smaller multiples
	// are common in one problem.
	openBound = 1e6
	// proximalPatience is the number of steps with the same proximal term.
	proximalPatience = 15
)

// descend solves the program, by proximal steps if the factor is shifted.
func (a *activeSet) descend(s *Solution, tol float64) Status {
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
	best, stalled := math.Inf(1), 0
	for step := range maxProximal {
		if r < 0 {
			r = a.minimise()
		}
		if r >= 0 {
			a.current = false
			a.certifyInfeasible(s, r)
			return Infeasible
		}
		if a.shift > 0 {
			s.Proximal = step + 1
			if a.provesUnbounded(s) {
				return a.unbounded(s, tol)
			}
		}
		a.refine(s)
		if s.Residual.Relative > converged {
			a.tryZeros(s, tol)
		}
		rel := s.Residual.Relative
		if rel <= converged || a.iterations > a.maxChanges {
			break
		}
		if rel < best/2 {
			best, stalled = rel, 0
		} else if stalled++; rel <= tol && stalled >= stalledProximal || a.shift == 0 && stalled >= stalledDefinite {
			break // no longer getting better
		}
		weaker := a.shift
		if size := a.size(); size > staleSize*a.zsize {
			// The bounds are no measure of z: they may be 0 up to rounding.
			weaker = min(weaker, a.proximalWeight(size))
		}
		if step%proximalPatience == proximalPatience-1 {
			weaker = min(weaker, a.shift/100) // slow: Q is flatter than the proximal term
		}
		if weaker < a.shift/2 {
			if shift := a.shift; a.factor(weaker, 0) < a.n {
				a.factor(shift, 0) // to which the working set's triangle belongs
				break
			}
			a.forgetRows()
			r = a.start()
			continue
		}
		clear(a.skip[:a.m])
		a.recentre()
	}
	if s.Residual.Relative <= tol && finite(s.Objective) {
		return Optimal
	}
	return IterationLimit
}

// size is the norm of z in the scale of the variables.
func (a *activeSet) size() float64 {
	var sum float64
	for i, v := range a.z {
		sum += a.d[i] * v * v
	}
	return math.Sqrt(sum)
}

// equilibrate chooses the scale of the variables and the rows so that the
// largest entries of all rows and columns of Q and the constraints are near one
// (Ruiz, 2001), and returns the weight of the proximal term. Rows with a single
// entry do not count: a bound fits any scale of its variable.
func (a *activeSet) equilibrate() float64 {
	n := a.n
	sigma, col := a.work, a.work2
	rho := a.slack
	for i := range sigma {
		sigma[i] = 1
	}
	for r := range rho {
		rho[r] = 1
	}
	for range 10 {
		clear(col)
		if a.qmax > 0 {
			for i := range n {
				for j, v := range a.q[i*n : (i+1)*n] {
					col[i] = max(col[i], math.Abs(v)*sigma[i]*sigma[j]/a.qmax)
				}
			}
		}
		for r := range a.rows {
			if a.single[r] >= 0 {
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
	a.ownUnits(sigma, col)
	copy(a.unit, sigma)
	for j, v := range sigma {
		a.d[j] = 1 / (v * v)
	}
	for r := range a.rows {
		norm := 0.0
		for j, v := range a.crow(r) {
			v *= sigma[j]
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
		floats.Scale(s, a.crow(r))
	}
	qmax := 0.0
	for j, v := range sigma {
		qmax = max(qmax, a.q[j*n+j]*v*v)
	}
	a.psize, a.zsize = a.sizes()
	a.qsize = qmax
	if shift := a.proximalWeight(a.zsize); shift > 0 {
		return shift
	}
	return 1 // nothing in the problem has the units of z
}

// ownUnits chooses the scale of the variables that nothing but P and bounds
// holds, those with a zero in col: the one that brings their entries of P to the
// size of the others.
func (a *activeSet) ownUnits(sigma, col []float64) {
	size := 0.0
	for j, v := range col {
		if v > 0 {
			size = max(size, math.Abs(a.p[j])*sigma[j])
		}
	}
	if size == 0 {
		size = 1
	}
	a.alone = a.alone[:0]
	for j, v := range col {
		if v == 0 {
			a.alone = append(a.alone, j)
			if p := math.Abs(a.p[j]); p > 0 {
				sigma[j] = size / p
			}
		}
	}
}

// proximalWeight is the weight of the proximal term for a z of the given size.
func (a *activeSet) proximalWeight(zsize float64) float64 {
	weight := shiftQuadratic * a.qsize
	if zsize > 0 {
		weight = max(weight, shiftLinear*a.psize/zsize)
	}
	return weight
}

// curvature is the size of the objective's second derivatives, in the units of
// the variables: that of Q, or that of the linear term over that of z.
func (a *activeSet) curvature() float64 {
	if a.shift == 0 {
		return a.qmax
	}
	return max(a.qsize, a.shift/shiftLinear)
}

// staleSize is how far the sizes of P and of the bounds may be from those that
// the weight of the proximal term was chosen for. Within three orders of
// magnitude the steps converge as well. With far too weak a term, or from a
// centre far too large, the steps end so far away that P is lost in the rounding
// of Qz; with far too strong a one there are more steps than allowed.
const staleSize = 1e3

// stale reports whether the factor's proximal term does not suit P, H and B.
func (a *activeSet) stale() bool {
	if a.shift == 0 {
		return false
	}
	near := func(now, then float64) bool { return now <= staleSize*then && then <= staleSize*now }
	p, z := a.sizes()
	for _, j := range a.alone {
		if v := math.Abs(a.p[j]) * a.unit[j]; v > 0 && !near(v, a.psize) {
			return true
		}
	}
	return !near(p, a.psize) || !near(z, a.zsize)
}

// sizes returns that of the linear term, and that of z by the bounds of the
// rows, both in the units of the variables.
func (a *activeSet) sizes() (psize, zsize float64) {
	for j, v := range a.unit {
		psize = max(psize, math.Abs(a.p[j])*v)
	}
	// least: no feasible point is smaller. inverse/open: the harmonic mean of the
	// bounds that 0 meets, which bounds that stand for infinity do not move.
	least, inverse, open := 0.0, 0.0, 0.0
	for r := range a.rows {
		switch v := a.r[r]; {
		case a.single[r] == noEntry:
		case r >= a.m || v < 0:
			least = max(least, math.Abs(v))
		case v > 0:
			inverse += 1 / v
			open++
		}
	}
	usual := least
	if inverse > 0 {
		usual = max(usual, open/inverse)
	}
	for r, v := range a.r {
		if v = math.Abs(v); v <= openBound*usual && a.single[r] != noEntry {
			zsize = max(zsize, v)
		}
	}
	return psize, zsize
}
