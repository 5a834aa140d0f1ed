package kernel

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// ridgeFolds holds the fits of [Ridge.Folds], each to the rows outside its fold.
//
// Let V be the rows of a fold. The matrix of the fit without V has a ridge that depends on the
// weight of the remaining rows. With this ridge, it is the matrix of all rows without the rows and
// columns of V. Therefore the G of leaveOneOut, computed with this ridge, gives the residuals of V:
// G_VV⁻¹·(G·y)_V. These residuals have at least as many digits as residuals from a factor of the
// remaining rows.
//
// Folds whose remaining rows have the same weight form a family and share one G. If separate
// factors are cheaper, each fold has a separate factor instead.
type ridgeFolds struct {
	number   uint64 // of the fits, of check.NewState; 0 without
	place    []int  // of each row of X among those that count, or −1
	parts    []ridgeFold
	families []ridgeFamily
	coef     []float64 // c of each fold, one entry for each row that counts
	k        []float64 // scratch: the kernel matrix of the rows left of a fold
	rows     []int     // scratch: their numbers in the data
}

// A ridgeFold is one fold.
type ridgeFold struct {
	val    []int   // places of its rows
	left   []int   // places of the other rows
	part   float64 // of the weight, that the rows left have
	family int
	own    bool // factor belongs to the rows left; otherwise a and inv are the Cholesky factor of G_VV

	factor     kernelRidgeFactor
	a, inv     []float64
	work       []float64
	predicted  []float64
	everywhere []bool // scratch: the places of val
}

// A ridgeFamily is the set of folds whose remaining rows have the same part of the total weight.
type ridgeFamily struct {
	part        float64
	factor      kernelRidgeFactor // inverted: G
	c           []float64         // G·y
	left, folds float64           // sums over the folds: the cubes of the numbers of rows left, and of rows in the fold
	own         bool              // its folds have factors of their own
}

// Two parts of the weight are equal if they differ by at most familyTol, which allows for the
// rounding errors of their sums.
const familyTol = 1e-13

// ownFactors reports whether separate factors of the remaining rows cost at most as much as G and
// the parts G_VV, for a family of m rows. The parameter left is Σ(number of remaining rows)³ over
// the folds of the family, and folds is Σ(number of rows in the fold)³.
func ownFactors(m, left, folds float64) bool { return left <= 3*m*m*m+folds }

// foldEntries returns the number of entries of the fits by the folds s.Folds, and of their
// derivatives, for m rows that count. With weights, each fold may be a family, and four families
// may have a G. The time of foldEntries is quadratic in the number of folds, and it allocates
// nothing.
func foldEntries(s learn.Size, m float64) (entries float64) {
	for _, rows := range s.Folds {
		count := 0.0 // of folds of this size
		for _, others := range s.Folds {
			if len(others) == len(rows) {
				count++
			}
		}
		v := float64(len(rows))
		left, each := m-v, m*m/4+v*v
		switch own := ownFactors(m, count*left*left*left, count*v*v*v); {
		case s.Weighted:
			each = max(each, left*left)
		case own:
			each = left * left
		default:
			each = m*m/count + v*v
		}
		entries += each + 12*m + float64(dense.BlockWork(s.Counting))
	}
	return entries + m*m + 6*m
}

// take prepares f for the given folds of rows of X.
func (f *ridgeFolds) take(l *kernelRidgeFit, folds [][]int) error {
	m := len(l.rows)
	f.place = dense.Grow(f.place, len(l.state.Data.Y))
	dense.Fill(f.place, -1)
	for k, i := range l.rows {
		f.place[i] = k
	}
	f.parts = grown(f.parts, len(folds))
	f.families = f.families[:0]
	for k, rows := range folds {
		if err := f.takeFold(l, k, rows); err != nil {
			return err
		}
	}
	for k := range f.families {
		f.families[k].own = ownFactors(float64(m), f.families[k].left, f.families[k].folds)
	}
	f.coef = dense.Zeros(f.coef, len(folds)*m)
	return nil
}

// grown returns x with n entries. Entries keep their storage.
func grown[T any](x []T, n int) []T {
	for x = x[:cap(x)]; len(x) < n; {
		x = append(x, *new(T))
	}
	return x[:n]
}

// takeFold prepares fold k, which has the given rows, and its family.
func (f *ridgeFolds) takeFold(l *kernelRidgeFit, k int, rows []int) error {
	p, m := &f.parts[k], len(l.rows)
	p.val, p.left, p.everywhere = p.val[:0], p.left[:0], dense.Grow(p.everywhere, m)
	clear(p.everywhere)
	for _, i := range rows {
		if i < 0 || i >= len(f.place) || f.place[i] < 0 || p.everywhere[f.place[i]] {
			return check.ArgErrorf("folds", qpdiff.ErrDomain, "give rows of X that count, each once in a fold", "has row %d of %d rows in fold %d, or has it twice", i, len(f.place), k)
		}
		p.val, p.everywhere[f.place[i]] = append(p.val, f.place[i]), true
	}
	p.part = 0
	for i, in := range p.everywhere {
		if !in {
			p.left = append(p.left, i)
			p.part += l.factor.share[i]
		}
	}
	if len(p.val) == 0 || len(p.left) == 0 {
		return check.ArgErrorf("folds", qpdiff.ErrDomain, "leave it out, or divide it", "has %d of the %d rows that count in fold %d", len(p.val), m, k)
	}
	v, t := float64(len(p.val)), float64(len(p.left))
	for p.family = 0; p.family < len(f.families); p.family++ {
		if y := &f.families[p.family]; math.Abs(y.part-p.part) <= familyTol {
			y.left, y.folds = y.left+t*t*t, y.folds+v*v*v
			return nil
		}
	}
	f.families = grown(f.families, p.family+1)
	y := &f.families[p.family]
	y.part, y.left, y.folds = p.part, t*t*t, v*v*v
	return nil
}

// solve computes coef and the predictions of all folds.
func (f *ridgeFolds) solve(l *kernelRidgeFit, hyper []float64) error {
	if err := l.evaluate(hyper); err != nil {
		return err
	}
	for k := range f.families {
		if y := &f.families[k]; !y.own {
			y.own = y.solve(l, hyper[0]) != nil
		}
	}
	m := len(l.rows)
	for k := range f.parts {
		l.state.Stop.Look()
		p, c := &f.parts[k], f.coef[k*m:(k+1)*m]
		p.predicted = dense.Grow(p.predicted, len(p.val))
		y := &f.families[p.family]
		if p.own = y.own || !p.solveByFamily(l, y, c); !p.own {
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
	y.factor.end = &l.state.Stop
	y.factor.share, y.factor.balanced = append(y.factor.share[:0], l.factor.share...), l.factor.balanced
	if err := y.factor.factorise(l.k, l.rows, lambda, y.part); err != nil {
		return err
	}
	y.c = dense.Grow(y.c, len(l.rows))
	dense.Gather(y.c, l.state.Data.Y, l.rows)
	y.factor.solve(y.c, 0)
	y.factor.invert()
	return nil
}

// solveByFamily computes the fold's coefficients c and predictions by G. Let e = G_VV⁻¹·(G·y)_V.
// The coefficients are G·y − G_·V·e, and the predictions y − e. If G_VV is not positive definite,
// solveByFamily returns false.
func (p *ridgeFold) solveByFamily(l *kernelRidgeFit, y *ridgeFamily, c []float64) bool {
	v, m, inverse := len(p.val), len(c), y.factor.a
	p.a, p.work = dense.Grow(p.a, v*v), dense.Grow(p.work, max(m, dense.BlockWork(v)))
	p.inv = dense.Grow(p.inv, v)
	for at, i := range p.val {
		dense.Gather(p.a[at*v:at*v+at+1], inverse[i*m:(i+1)*m], p.val[:at+1])
	}
	if dense.CholeskyBlocks(y.factor.end, p.a, p.inv, v, dense.Eps, p.work) < v {
		return false
	}
	e := p.predicted
	dense.Gather(e, y.c, p.val)
	dense.ForwardSolve(p.a, p.inv, v, v, e)
	dense.BackSolve(p.a, p.inv, v, v, e)
	copy(c, y.c)
	for at, i := range p.val {
		dense.Axpy(-e[at], inverse[i*m:(i+1)*m], c)
	}
	for at, i := range p.val {
		c[i], e[at] = 0, l.state.Data.Y[l.rows[i]]-e[at]
	}
	return dense.AllFinite(c) && dense.AllFinite(e)
}

// solveLeft computes the fold's coefficients c and predictions by a factor of the remaining rows.
func (f *ridgeFolds) solveLeft(l *kernelRidgeFit, p *ridgeFold, c []float64, lambda float64) error {
	m, t := len(l.rows), len(p.left)
	f.k = dense.Grow(f.k, t*t)
	p.factor.end = &l.state.Stop
	p.factor.share, p.factor.balanced = dense.Grow(p.factor.share, t), l.factor.balanced
	f.rows = dense.Grow(f.rows, t)
	for at, i := range p.left {
		p.factor.share[at] = l.factor.share[i] / p.part
		dense.Gather(f.k[at*t:(at+1)*t], l.k[i*m:(i+1)*m], p.left)
		f.rows[at] = l.rows[i]
	}
	if err := p.factor.factorise(f.k, f.rows, lambda, 1); err != nil {
		return err
	}
	p.work = dense.Grow(p.work, m)
	left := p.work[:t]
	for at, i := range p.left {
		left[at] = l.state.Data.Y[l.rows[i]]
	}
	b := p.factor.solve(left, 0)
	clear(c)
	dense.Scatter(c, left, p.left)
	for at, i := range p.val {
		p.predicted[at] = b + floats.Dot(l.k[i*m:(i+1)*m], c)
	}
	if !dense.AllFinite(c) || !dense.AllFinite(p.predicted) {
		return l.overflow()
	}
	return nil
}
