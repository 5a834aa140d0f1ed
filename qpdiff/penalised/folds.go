package penalised

import (
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// leverageTol is the smallest accepted pivot of I − Z̃H⁻¹Z̃ᵀ. A pivot is 1 minus another number, so
// its relative error is at most some 2⁻⁵²/leverageTol = 2e-11. If a pivot is smaller than
// leverageTol, rounding leaves too few digits. If a pivot is 0, the rows outside the fold do not
// determine θ.
const leverageTol = 1e-5

// predict returns the prediction of theta for row i of X.
func (l *glmFit) predict(theta []float64, i int) (p float64) {
	for j, v := range l.state.Data.Dense().RawRowView(i) {
		p += (v - l.centre[j]) * theta[j]
	}
	if l.q > l.n {
		p += theta[l.n] + l.label
	}
	return p
}

// fold prepares the parts for the given folds. If the folds are the same as in the previous call,
// it does nothing.
func (l *glmFit) fold(folds [][]int) error {
	f, rows := &l.folds, len(l.state.Data.Y)
	if f.partsValid && len(f.parts) == len(folds) && !slices.ContainsFunc(folds, func(v []int) bool { return len(v) == 0 }) {
		same := true
		for k, v := range folds {
			same = same && slices.Equal(v, f.parts[k].val)
		}
		if same {
			return nil
		}
	}
	f.partsValid, f.normal = false, l.centres(folds)
	f.ones = dense.Grow(f.ones, l.n)
	dense.Fill(f.ones, 1)
	dense.GrowAll(rows, &f.lastFold, &f.placeOf)
	dense.Fill(f.lastFold, -1)
	dense.Fill(f.placeOf, -1)
	for k, i := range l.rows {
		f.placeOf[i] = k
	}
	f.parts = dense.Grow(f.parts, len(folds))
	q, unknowns := l.q, l.unknowns()
	f.hessianAll, f.beta, f.b = dense.Grow(f.hessianAll, q*q), dense.Grow(f.beta, len(folds)*unknowns), dense.Zeros(f.b, q)
	f.labelSquares = 0
	for k, w := range l.w {
		dense.Axpy(w*l.y[k], l.z[k*q:(k+1)*q], f.b)
		f.labelSquares += w * l.y[k] * l.y[k]
	}
	for k, v := range folds {
		if err := l.checkFold(f.lastFold, f.placeOf, k, v); err != nil {
			return err
		}
		l.state.Stop.Look()
		l.foldRows(k, v)
	}
	f.partsValid = true
	return nil
}

// checkFold returns an error if fold k is invalid: it is empty, it has a number that is not a row
// of X, it has a row twice, or it has all rows with a weight above 0. Entry i of the slice lastFold
// is the last fold that has row i, and entry i of placeOf is the place of row i among the rows with
// a weight above 0, or −1.
func (l *glmFit) checkFold(lastFold, placeOf []int, k int, v []int) error {
	if len(v) == 0 {
		return check.ArgErrorf("folds", qpdiff.ErrDomain, "leave it out", "has no row in fold %d", k)
	}
	counting := 0
	for _, i := range v {
		if i < 0 || i >= len(lastFold) {
			return check.ArgErrorf("folds", qpdiff.ErrDomain, "give rows of X", "has row %d in fold %d, and X has %d rows", i, k, len(lastFold))
		}
		if lastFold[i] == k {
			return check.ArgErrorf("folds", qpdiff.ErrDomain, "give each row once in a fold", "has row %d twice in fold %d", i, k)
		}
		if lastFold[i] = k; placeOf[i] >= 0 {
			counting++
		}
	}
	if counting == len(l.rows) {
		return check.ArgErrorf("folds", qpdiff.ErrDomain, "leave it out, or divide it", "has all rows that count in fold %d", k)
	}
	return nil
}

// foldRows prepares the part of fold k. The parameter val lists the rows of this fold.
func (l *glmFit) foldRows(k int, val []int) {
	p, q := &l.folds.parts[k], l.q
	p.val = append(p.val[:0], val...)
	p.inFit = p.inFit[:0]
	for _, i := range val {
		if k := l.folds.placeOf[i]; k >= 0 {
			p.inFit = append(p.inFit, k)
		}
	}
	v := len(p.inFit)
	p.large = isLarge(v, q)
	if l.folds.normal {
		l.normalRows(k, p)
		return
	}
	size := v
	if p.large {
		size = q
		p.gram, p.b = dense.Zeros(p.gram, q*q), dense.Zeros(p.b, q)
		rows := make([]float64, v*q)
		weighted := make([]float64, v*q)
		for at, k := range p.inFit {
			z := l.z[k*q : (k+1)*q]
			copy(rows[at*q:], z)
			floats.ScaleTo(weighted[at*q:(at+1)*q], l.w[k], z)
			dense.Axpy(l.w[k]*l.y[k], z, p.b)
		}
		dense.AddProducts(p.gram, weighted, rows, v, q, q)
	} else {
		p.t = dense.Grow(p.t, v*q)
	}
	p.h = dense.Grow(p.h, size*size)
	dense.GrowAll(size, &p.dinv, &p.step, &p.work)
}

// solveFolds computes beta, the θ of each fold.
func (l *glmFit) solveFolds() error {
	f, q := &l.folds, l.unknowns()
	if l.folds.normal {
		f.hessianAll = dense.Zeros(f.hessianAll, q*q)
	} else {
		copy(f.hessianAll, l.gram)
	}
	l.sums.addTo(f.hessianAll, q, l.lambda)
	if !l.folds.normal && slices.ContainsFunc(f.parts, func(p foldPart) bool { return !p.large }) {
		if err := l.factorise(); err != nil {
			return err
		}
		copy(l.theta, f.b)
		dense.LDLSolve(l.h, l.dinv, q, q, l.theta)
	}
	for k := range f.parts {
		l.state.Stop.Look()
		p, beta, solved := &f.parts[k], f.beta[k*q:(k+1)*q], false
		switch {
		case l.folds.normal:
			solved = l.solveNormal(p, beta)
		case p.large:
			solved = l.solveLarge(p, beta)
		default:
			solved = l.solveSmall(p, beta)
		}
		if !solved {
			return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise a penalty, or draw other folds", "does not determine θ without the rows of fold %d, the first of which is row %d", k, p.val[0])
		}
	}
	return nil
}

// solveLarge sets beta to the θ of a large fold. If the Hessian without the fold is singular, or
// singular within the rounding errors of the subtraction, it returns false.
func (l *glmFit) solveLarge(p *foldPart, beta []float64) bool {
	f, q := &l.folds, l.q
	floats.SubTo(p.h, f.hessianAll, p.gram)
	lost := 1.0
	for j := range q {
		whole, rest := f.hessianAll[j*q+j], p.h[j*q+j]
		if !(rest > leverageTol*whole) {
			return false
		}
		lost = max(lost, whole/rest)
	}
	if dense.LDLFactorUntil(&l.state.Stop, p.h, p.dinv, q, q, rankTol) < q || dense.Unsolvable(lost*dense.LDLCond(p.h, p.dinv, q, q, p.work, p.step)) {
		return false
	}
	floats.SubTo(beta, f.b, p.b)
	dense.LDLSolve(p.h, p.dinv, q, q, beta)
	return true
}

// solveSmall sets beta to the θ of a small fold. If a pivot is below leverageTol, or if the Hessian
// without the fold is singular to working precision, it returns false.
func (l *glmFit) solveSmall(p *foldPart, beta []float64) bool {
	q, v := l.q, len(p.inFit)
	for at, k := range p.inFit {
		l.state.Stop.Look()
		t := p.t[at*q : (at+1)*q]
		floats.ScaleTo(t, math.Sqrt(l.w[k]), l.z[k*q:(k+1)*q])
		dense.LDLSolve(l.h, l.dinv, q, q, t)
	}
	for at, k := range p.inFit {
		root := math.Sqrt(l.w[k])
		z := l.z[k*q : (k+1)*q]
		for other := at; other < v; other++ {
			p.h[at*v+other] = -root * dense.Dot(z, p.t[other*q:])
		}
		p.h[at*v+at]++
		p.step[at] = root * (l.y[k] - dense.Dot(z, l.theta))
	}
	if dense.LDLFactorUntil(&l.state.Stop, p.h, p.dinv, v, v, 0) < v {
		return false
	}
	lost := 1.0
	for _, inverse := range p.dinv {
		if !(inverse*leverageTol < 1) {
			return false
		}
		lost = max(lost, inverse)
	}
	if dense.Unsolvable(lost * l.cond) {
		return false
	}
	dense.LDLSolve(p.h, p.dinv, v, v, p.step[:v])
	copy(beta, l.theta)
	for at, s := range p.step[:v] {
		dense.Axpy(-s, p.t[at*q:(at+1)*q], beta)
	}
	return true
}

// adjoint implements [GLM.FoldsVJP]. For the fit without fold k, let H_k be the Hessian and G_k the
// gradient of the objective. Let u_k solve H_k·u_k = Σ ddst_i z_i. The sum is over the rows z_i of
// the fold, and ddst_i is the cotangent of the prediction for row i. The derivative with respect to
// an input ξ is −Σ_k u_kᵀ∂G_k/∂ξ.
func (d *foldDerivative) adjoint(l *glmFit, g *learn.Grad, dx *mat.Dense, ddst []float64) error {
	f, q := &l.folds, l.unknowns()
	size := len(f.parts) * q
	d.uThenBeta, d.betaThenU = dense.Zeros(d.uThenBeta, 2*size), dense.Grow(d.betaThenU, 2*size)
	for k := range f.parts {
		p, u := &f.parts[k], d.uThenBeta[k*q:(k+1)*q]
		sum := l.startFold(k, u, dx, ddst)
		ddst = ddst[len(p.val):]
		if d.solve(l, p, u); l.folds.normal && (g.X != nil || g.Y != nil) {
			d.normalRows(l, g, k, sum)
		}
	}
	copy(d.uThenBeta[size:], f.beta)
	copy(d.betaThenU, f.beta)
	copy(d.betaThenU[size:], d.uThenBeta[:size])
	if g.Hyper != nil || g.X != nil && !l.folds.normal {
		d.products = dense.Zeros(d.products, q*q)
		dense.AddProducts(d.products, d.uThenBeta, d.betaThenU, 2*len(f.parts), q, q)
	}
	if g.Hyper != nil {
		for j := range l.sums {
			l.sums[j].subtractInner(g.Hyper, d.products, q)
		}
	}
	if (g.X != nil || g.Y != nil) && !l.folds.normal {
		d.rows(l, g)
	}
	if err := learner.CheckProduct(&learn.Grad{X: dx}); err != nil {
		return err
	}
	return learner.CheckProduct(g)
}

// startFold sets u, which is 0 before, to the cotangent of the θ of fold k. It adds the cotangents of
// the predicted rows to dx, unless dx is nil. It returns the sum of the cotangents of the predictions.
func (l *glmFit) startFold(k int, u []float64, dx *mat.Dense, ddst []float64) (sum float64) {
	if l.folds.normal {
		return l.startNormal(k, u, dx, ddst)
	}
	x, beta := l.state.Data.Dense(), l.folds.beta[k*l.q:]
	for at, i := range l.folds.parts[k].val {
		sum += ddst[at]
		for j, v := range x.RawRowView(i) {
			u[j] += ddst[at] * (v - l.centre[j])
		}
		if dx != nil {
			dense.Axpy(ddst[at], beta[:l.n], dx.RawRowView(i))
		}
	}
	if l.q > l.n {
		u[l.n] = sum
	}
	return sum
}

// solve replaces u by H⁻¹u, where H is the Hessian of the fit without fold p.
func (d *foldDerivative) solve(l *glmFit, p *foldPart, u []float64) {
	q, v := l.q, len(p.inFit)
	switch {
	case l.folds.normal:
		h, dinv := d.normalFactor(l, p)
		dense.LDLSolve(h, dinv, l.n, l.n, u)
		return
	case p.large:
		dense.LDLSolve(p.h, p.dinv, q, q, u)
		return
	}
	d.s = dense.Grow(d.s, v)
	for at := range d.s {
		d.s[at] = dense.Dot(u, p.t[at*q:])
	}
	dense.LDLSolve(p.h, p.dinv, v, v, d.s)
	dense.LDLSolve(l.h, l.dinv, q, q, u)
	for at, s := range d.s {
		dense.Axpy(s, p.t[at*q:(at+1)*q], u)
	}
}

// The method rows adds the cotangents of the training rows to g.X, and the cotangents of their
// labels to g.Y.
func (d *foldDerivative) rows(l *glmFit, g *learn.Grad) {
	f, q := &l.folds, l.q
	d.sum, d.row = dense.Zeros(d.sum, q), dense.Grow(d.row, q)
	for k := range f.parts {
		dense.Axpy(1, d.uThenBeta[k*q:(k+1)*q], d.sum)
	}
	if g.X != nil {
		for i := range q {
			for j := range i {
				d.products[i*q+j] = d.products[j*q+i]
			}
		}
	}
	for at, i := range l.rows {
		w, y, z := l.w[at], l.y[at], l.z[at*q:(at+1)*q]
		if g.Y != nil {
			g.Y[i] += w * dense.Dot(z, d.sum)
		}
		if g.X == nil {
			continue
		}
		dense.Products(d.row, d.products, q, z)
		dense.Axpy(-y, d.sum, d.row)
		dense.Axpy(-w, d.row[:l.n], g.X.RawRowView(i))
	}
	// The fit without a fold does not use the rows of the fold, so their contributions are subtracted.
	for k := range f.parts {
		u, beta := d.uThenBeta[k*q:(k+1)*q], f.beta[k*q:(k+1)*q]
		for _, at := range f.parts[k].inFit {
			i, w, y, z := l.rows[at], l.w[at], l.y[at], l.z[at*q:(at+1)*q]
			along := dense.Dot(z, u)
			if g.Y != nil {
				g.Y[i] -= w * along
			}
			if g.X != nil {
				row := g.X.RawRowView(i)
				dense.Axpy(w*along, beta[:l.n], row)
				dense.Axpy(-w*(y-dense.Dot(z, beta)), u[:l.n], row)
			}
		}
	}
}
