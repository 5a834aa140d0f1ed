package kernel

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// ridgeFolds holds the fits of [Ridge.Folds]. There is one fit for each fold, to the rows outside
// this fold.
//
// Let V be the rows of a fold. The fit without V has a ridge that depends on the weight of the
// remaining rows. Let A be the matrix of all rows with this ridge. The matrix of the fit without V
// is A without the rows and columns of V. The matrix G of leaveOneOut for A therefore gives the
// residuals of V: G_VV⁻¹·(G·y)_V. The rounding errors of these residuals grow with the condition
// number of A. A factor of the remaining rows has smaller errors if rows are equal, λ is tiny and
// the fold contains one of these rows.
//
// Folds form a family if their remaining rows have the same weight. The folds of a family share one
// matrix G, or have separate factors if these are cheaper. Small folds of a family are solved in
// groups.
type ridgeFolds struct {
	fitID    uint64 // number of the fits, from check.NewState; 0 without fits
	placeOf  []int  // for each row of X, its place among the rows with a weight above 0, or −1
	parts    []ridgeFold
	families []ridgeFamily
	groups   []foldGroup
	coef     []float64 // the coefficients c of each fold, with one entry for each row with a weight above 0
	prepared bool      // parts and families belong to the data
	k        []float64 // scratch: the kernel matrix of the rows outside a fold
	rows     []int     // scratch: their numbers in the data
}

// A ridgeFold is one fold.
type ridgeFold struct {
	val         []int   // places of its rows
	otherPlaces []int   // places of the other rows
	fraction    float64 // the other rows' fraction of the total weight
	family      int
	// if true, the field factor is for the rows outside the fold; otherwise the fields a and inv,
	// or the fold's group, hold the Cholesky factor of G_VV
	ownFactor bool
	grouped   bool

	factor    kernelRidgeFactor
	a, inv    []float64
	work      []float64
	predicted []float64
	place     int    // of its first prediction among the predictions of all folds
	inFold    []bool // scratch: the places of val
}

// A ridgeFamily is a set of folds. The rows outside each of these folds have the same fraction of
// the total weight.
type ridgeFamily struct {
	fraction             float64
	count                int               // of its folds
	factor               kernelRidgeFactor // inverted: G
	c                    []float64         // G·y
	restCubes, foldCubes float64           // sums over the folds: of (number of remaining rows)³, and of (number of rows in the fold)³
	largest              float64           // number of rows of the largest fold
	ownFactors           bool              // each fold has a separate factor
}

// familyTol is the largest relative difference at which two fractions of the weight count as equal.
// It allows for the rounding errors of their sums.
const familyTol = 1e-13

// ownFactors reports which way is cheaper for a family of count folds of m rows. It returns true if
// separate factors cost at most as much as the shared matrix G with its parts G_VV. The separate
// factor of a fold is the factor of all rows outside this fold. The parameters restCubes and
// foldCubes are fields of ridgeFamily. The parameter largest is the number of rows of the largest
// fold. If the folds are solved in groups, the way with G takes only about a quarter of the time
// that its number of multiplications suggests. For a single fold, G takes twice the time and the
// memory of a separate factor.
func ownFactors(count int, m, restCubes, foldCubes, largest float64) bool {
	shared := 3*m*m*m + foldCubes
	if largest <= mostGrouped {
		shared /= 4
	}
	return count == 1 || restCubes <= shared
}

// foldEntries returns the number of entries that [Ridge.Folds] and [Ridge.FoldsVJP] need for the
// folds s.Folds, if m rows have a weight above 0. If the rows have weights, the result is enough
// for all families. A family with a matrix G then has two folds or more, and four or more if one of
// its folds is too large for a group. The time of foldEntries is quadratic in the number of folds.
// foldEntries allocates nothing.
func foldEntries(s learn.Size, m float64) (entries float64) {
	for _, rows := range s.Folds {
		same := 0 // number of folds of this size
		for _, others := range s.Folds {
			if len(others) == len(rows) {
				same++
			}
		}
		count, v, block := float64(same), float64(len(rows)), float64(dense.BlockWork(s.Counting))
		left, whole := m-v, m*m+float64(dense.InverseWork(s.Counting))+block // of a family
		each := 0.0
		switch own := ownFactors(same, m, count*left*left*left, count*v*v*v, v); {
		case s.Weighted:
			folds := 4.0 // of the smallest family with a matrix G
			if v <= mostGrouped {
				folds = 2
			}
			each = max(whole/folds+dense.LaneCount*(v+3)*v, left*left+block)
		case own:
			each = left*left + block
		case v <= mostGrouped:
			lanes := math.Ceil(count/dense.LaneCount) * dense.LaneCount
			each = (whole + lanes*(v+3)*v) / count
		default:
			each = whole/count + v*v + float64(dense.BlockWork(len(rows)))
		}
		entries += each + 16*m
	}
	return entries + m*m + (6+dense.BlockSize)*m + float64(dense.GramWork(s.Counting))
}

// prepareFolds prepares f for the given folds of rows of X.
func (f *ridgeFolds) prepareFolds(l *kernelRidgeFit, folds [][]int) error {
	if !f.prepared || !f.holds(folds) {
		if err := f.takeFolds(l, folds); err != nil {
			return err
		}
	}
	m := len(l.rows)
	for k := range f.families {
		y := &f.families[k]
		y.ownFactors = ownFactors(y.count, float64(m), y.restCubes, y.foldCubes, y.largest)
	}
	f.groupFolds()
	f.coef = dense.Grow(f.coef, len(folds)*m)
	return nil
}

// holds reports whether f was prepared for the given folds.
func (f *ridgeFolds) holds(folds [][]int) bool {
	if len(folds) != len(f.parts) {
		return false
	}
	for k, rows := range folds {
		val := f.parts[k].val
		if len(rows) != len(val) {
			return false
		}
		for at, i := range rows {
			if i < 0 || i >= len(f.placeOf) || f.placeOf[i] != val[at] {
				return false
			}
		}
	}
	return true
}

// takeFolds prepares the parts and families of f.
func (f *ridgeFolds) takeFolds(l *kernelRidgeFit, folds [][]int) error {
	f.prepared = false
	f.placeOf = dense.Grow(f.placeOf, len(l.state.Data.Y))
	dense.Fill(f.placeOf, -1)
	for k, i := range l.rows {
		f.placeOf[i] = k
	}
	f.parts = resized(f.parts, len(folds))
	f.families = f.families[:0]
	place := 0
	for k, rows := range folds {
		if err := f.takeFold(l, k, rows); err != nil {
			return err
		}
		f.parts[k].place = place
		place += len(rows)
	}
	f.prepared = true
	return nil
}

// resized returns x with n entries. Entries keep their storage.
func resized[T any](x []T, n int) []T {
	for x = x[:cap(x)]; len(x) < n; {
		x = append(x, *new(T))
	}
	return x[:n]
}

// takeFold prepares fold k, whose rows are given, and the family of this fold.
func (f *ridgeFolds) takeFold(l *kernelRidgeFit, k int, rows []int) error {
	p, m := &f.parts[k], len(l.rows)
	p.val, p.otherPlaces, p.inFold = p.val[:0], p.otherPlaces[:0], dense.Grow(p.inFold, m)
	clear(p.inFold)
	for _, i := range rows {
		if i < 0 || i >= len(f.placeOf) || f.placeOf[i] < 0 || p.inFold[f.placeOf[i]] {
			return check.ArgErrorf("folds", qpdiff.ErrDomain, "give rows of X that count, each once in a fold", "has row %d of %d rows in fold %d, or has it twice", i, len(f.placeOf), k)
		}
		p.val, p.inFold[f.placeOf[i]] = append(p.val, f.placeOf[i]), true
	}
	p.fraction = 0
	for i, in := range p.inFold {
		if !in {
			p.otherPlaces = append(p.otherPlaces, i)
			p.fraction += l.factor.shares[i]
		}
	}
	if len(p.val) == 0 || len(p.otherPlaces) == 0 {
		return check.ArgErrorf("folds", qpdiff.ErrDomain, "leave it out, or divide it", "has %d of the %d rows that count in fold %d", len(p.val), m, k)
	}
	v, t := float64(len(p.val)), float64(len(p.otherPlaces))
	for p.family = 0; p.family < len(f.families); p.family++ {
		if y := &f.families[p.family]; math.Abs(y.fraction-p.fraction) <= familyTol*p.fraction {
			y.count++
			y.restCubes, y.foldCubes, y.largest = y.restCubes+t*t*t, y.foldCubes+v*v*v, max(y.largest, v)
			return nil
		}
	}
	f.families = resized(f.families, p.family+1)
	y := &f.families[p.family]
	y.fraction, y.count, y.restCubes, y.foldCubes, y.largest = p.fraction, 1, t*t*t, v*v*v, v
	return nil
}

// solve computes coef and the predictions of all folds.
func (f *ridgeFolds) solve(l *kernelRidgeFit, hyper []float64) error {
	if err := l.evaluate(hyper); err != nil {
		return err
	}
	for k := range f.families {
		if y := &f.families[k]; !y.ownFactors {
			y.ownFactors = y.solve(l, hyper[0]) != nil
		}
	}
	for k := range f.groups {
		f.groups[k].solve(l, f)
	}
	m := len(l.rows)
	for k := range f.parts {
		l.state.Stop.Look()
		p, c := &f.parts[k], f.coef[k*m:(k+1)*m]
		p.predicted = dense.Grow(p.predicted, len(p.val))
		y := &f.families[p.family]
		p.ownFactor = y.ownFactors || p.ownFactor || !p.grouped && !p.factoriseByFamily(l, y) || !p.predictByFamily(l, y, c)
		if !p.ownFactor {
			continue
		}
		if err := f.solveLeft(l, p, c, hyper[0]); err != nil {
			return err
		}
	}
	return nil
}

// solve computes G and G·y.
func (y *ridgeFamily) solve(l *kernelRidgeFit, lambda float64) error {
	y.factor.stopper = &l.state.Stop
	y.factor.shares, y.factor.balanced = append(y.factor.shares[:0], l.factor.shares...), l.factor.balanced
	if err := y.factor.factorise(l.k, l.rows, lambda, y.fraction); err != nil {
		return err
	}
	y.c = dense.Grow(y.c, len(l.rows))
	dense.Gather(y.c, l.state.Data.Y, l.rows)
	y.factor.solve(y.c, 0)
	y.factor.invert()
	return nil
}

// factoriseByFamily computes the factor of G_VV, from the matrix G of the fold's family, and sets
// p.predicted to e = G_VV⁻¹·(G·y)_V. If G_VV is not positive definite, it returns false.
func (p *ridgeFold) factoriseByFamily(l *kernelRidgeFit, y *ridgeFamily) bool {
	v, m, inverse := len(p.val), len(l.rows), y.factor.a
	p.a, p.work = dense.Grow(p.a, v*v), dense.Grow(p.work, max(m, dense.BlockWork(v)))
	p.inv = dense.Grow(p.inv, v)
	for at, i := range p.val {
		dense.Gather(p.a[at*v:at*v+at+1], inverse[i*m:(i+1)*m], p.val[:at+1])
	}
	if dense.CholeskyBlocks(y.factor.stopper, p.a, p.inv, v, dense.Eps, p.work) < v {
		return false
	}
	dense.Gather(p.predicted, y.c, p.val)
	dense.ForwardSolve(p.a, p.inv, v, v, p.predicted)
	dense.BackSolve(p.a, p.inv, v, v, p.predicted)
	return true
}

// predictByFamily computes the fold's coefficients c = G·y − G_·V·e, and replaces e by the
// predictions y_V − e. It returns false if one of them is not finite.
func (p *ridgeFold) predictByFamily(l *kernelRidgeFit, y *ridgeFamily, c []float64) bool {
	m, inverse, e := len(c), y.factor.a, p.predicted
	copy(c, y.c)
	sum := dense.Sum{Dst: c}
	for at, i := range p.val {
		sum.Add(-e[at], inverse[i*m:(i+1)*m])
	}
	sum.End()
	for at, i := range p.val {
		c[i], e[at] = 0, l.state.Data.Y[l.rows[i]]-e[at]
	}
	return dense.AllFinite(c) && dense.AllFinite(e)
}

// solveLeft computes the fold's coefficients c and predictions from a factor of the remaining rows.
func (f *ridgeFolds) solveLeft(l *kernelRidgeFit, p *ridgeFold, c []float64, lambda float64) error {
	m, t := len(l.rows), len(p.otherPlaces)
	f.k = dense.Grow(f.k, t*t)
	p.factor.stopper = &l.state.Stop
	p.factor.shares, p.factor.balanced = dense.Grow(p.factor.shares, t), l.factor.balanced
	f.rows = dense.Grow(f.rows, t)
	for at, i := range p.otherPlaces {
		p.factor.shares[at] = l.factor.shares[i] / p.fraction
		dense.Gather(f.k[at*t:(at+1)*t], l.k[i*m:(i+1)*m], p.otherPlaces)
		f.rows[at] = l.rows[i]
	}
	if err := p.factor.factorise(f.k, f.rows, lambda, 1); err != nil {
		return err
	}
	p.work = dense.Grow(p.work, m)
	left := p.work[:t]
	for at, i := range p.otherPlaces {
		left[at] = l.state.Data.Y[l.rows[i]]
	}
	b := p.factor.solve(left, 0)
	clear(c)
	dense.Scatter(c, left, p.otherPlaces)
	for at, i := range p.val {
		p.predicted[at] = b + floats.Dot(l.k[i*m:(i+1)*m], c)
	}
	if !dense.AllFinite(c) || !dense.AllFinite(p.predicted) {
		return l.overflowError()
	}
	return nil
}

// mostGrouped is the number of rows of the largest fold that is solved in a group. The matrices of a
// group of larger folds would not fit into the second-level cache.
const mostGrouped = 48

// A foldGroup is a set of up to dense.LaneCount folds of one family. The folds have equally many
// rows, and are solved in lanes.
type foldGroup struct {
	folds      [dense.LaneCount]int // the first one once more in each lane without a fold
	count      int
	a, dinv, x []float64 // the factors of G_VV, and the solutions, in lanes
}

// groupFolds puts the folds without separate factors in groups.
func (f *ridgeFolds) groupFolds() {
	f.groups = f.groups[:0]
	for k := range f.parts {
		p := &f.parts[k]
		p.ownFactor, p.grouped = false, !f.families[p.family].ownFactors && len(p.val) <= mostGrouped
		if !p.grouped {
			continue
		}
		at := len(f.groups)
		for at--; at >= 0; at-- {
			first := &f.parts[f.groups[at].folds[0]]
			if f.groups[at].count < dense.LaneCount && first.family == p.family && len(first.val) == len(p.val) {
				break
			}
		}
		if at < 0 {
			at = len(f.groups)
			f.groups = resized(f.groups, at+1)
			for lane := range f.groups[at].folds {
				f.groups[at].folds[lane] = k
			}
			f.groups[at].count = 0
		}
		f.groups[at].folds[f.groups[at].count] = k
		f.groups[at].count++
	}
}

// solve computes the factors of G_VV. It sets the field predicted of each fold to e =
// G_VV⁻¹·(G·y)_V. If G_VV is not positive definite, the fold gets a separate factor.
func (g *foldGroup) solve(l *kernelRidgeFit, f *ridgeFolds) {
	l.state.Stop.Look()
	y := &f.families[f.parts[g.folds[0]].family]
	if y.ownFactors {
		return
	}
	v := len(f.parts[g.folds[0]].val)
	g.a = dense.Grow(g.a, v*(v+1)*dense.LaneCount)
	dense.GrowAll(v*dense.LaneCount, &g.dinv, &g.x)
	var rows [dense.LaneCount][]int
	var e [dense.LaneCount][]float64
	for lane, k := range g.folds {
		p := &f.parts[k]
		p.predicted = dense.Grow(p.predicted, v)
		rows[lane], e[lane] = p.val, p.predicted
		dense.Gather(p.predicted, y.c, p.val)
	}
	dense.LaneGather(g.a, y.factor.a, len(l.rows), &rows, v)
	dense.LaneRows(g.a[v*dense.LaneCount:], v+1, &e, v)
	var pivots [dense.LaneCount]float64
	regular := dense.LDLLanes(g.a, g.dinv, g.x, &pivots, v, dense.Eps)
	dense.RowsOfLanes(&e, g.x, v)
	for lane, k := range g.folds {
		f.parts[k].ownFactor = regular>>lane&1 == 0
	}
}

// adjoint sets dst to G_VV⁻¹·s for each fold. In dst and s, the entries of a fold begin at the
// place of its first prediction. The slice x is scratch of mostGrouped·dense.LaneCount entries.
func (g *foldGroup) adjoint(f *ridgeFolds, dst, s, x []float64) {
	first := &f.parts[g.folds[0]]
	if f.families[first.family].ownFactors {
		return
	}
	v := len(first.val)
	var from, to [dense.LaneCount][]float64
	for lane, k := range g.folds {
		at := f.parts[k].place
		from[lane], to[lane] = s[at:at+v], dst[at:at+v]
	}
	dense.LaneRows(x, 1, &from, v)
	dense.LDLLanesSolve(g.a, g.dinv, x, v)
	dense.RowsOfLanes(&to, x, v)
}
