package penalised

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/gram"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The method centres reports whether the folds use the systems that normalFold describes. They do
// if the features are scaled. They also do if there is an intercept and a fold is large: such a
// fold needs the mean of its training rows, because a large entry in the fold can move the mean of
// all rows far from the training rows. In all other cases, the factor of all rows costs less.
func (l *glmFit) centres(folds [][]int) bool {
	return l.normal.Scaled != nil || l.q > l.n && slices.ContainsFunc(folds, func(v []int) bool { return isLarge(len(v), l.q) })
}

// unknowns returns the number of unknowns in the system of a fold.
func (l *glmFit) unknowns() int {
	if l.folds.normal {
		return l.n
	}
	return l.q
}

// setNormalised sets dst to the normalised features of z.
func (s *normalFold) setNormalised(dst, z []float64) {
	for j, m := range s.mean {
		dst[j] = (z[j] - m) / s.scale[j]
	}
}

// eachOutside calls the function visit for each row that has a weight above 0 and is not in the
// fold p. The argument of visit is the row's place among the rows with a weight above 0.
func (p *foldPart) eachOutside(rows int, visit func(at int)) {
	within := p.inFit
	for at := range rows {
		if len(within) > 0 && within[0] == at {
			within = within[1:]
			continue
		}
		visit(at)
	}
}

// normalise prepares p, the part of fold k, for normalised features.
func (l *glmFit) normalise(k int, p *foldPart) {
	n, q, s := l.n, l.q, &p.normal
	slices.Sort(p.inFit)
	s.total, s.lossyFeatures = 0, s.lossyFeatures[:0]
	if s.scale = l.folds.ones; l.normal.Scaled != nil {
		s.scale = l.normal.Deviations[k*n : (k+1)*n]
	}
	s.mean, p.b = dense.Zeros(s.mean, n), dense.Zeros(p.b, n)
	var kept, sum float64 // squares of the labels that are left, and these labels
	p.eachOutside(len(l.w), func(at int) {
		w, y := l.w[at], l.y[at]
		s.total += w
		sum += w * y
		kept += w * y * y
	})
	s.label = sum / s.total
	squares := dense.Zeros(l.folds.row, n)
	l.folds.row = squares
	for _, at := range p.inFit {
		w, z := l.w[at], l.z[at*q:][:n]
		for j, v := range z {
			s.mean[j] -= w * v
			squares[j] += w * v * v
		}
		dense.Axpy(-w*l.y[at], z, p.b)
	}
	for j := range n {
		whole := l.gram[j*(q+1)]
		s.mean[j] = (s.mean[j] + l.gram[j*q+n]) / s.total
		p.b[j] = (p.b[j] + l.folds.b[j] - s.mean[j]*sum) / s.scale[j]
		rest := whole - squares[j] - s.total*s.mean[j]*s.mean[j]
		if constant := s.scale[j] == math.MaxFloat64; !constant && (!(rest >= max(gram.LeastKept*whole, gram.LeastSquares)) || !dense.Finite(rest)) {
			s.lossyFeatures = append(s.lossyFeatures, j)
		}
	}
	for _, j := range s.lossyFeatures {
		s.mean[j], p.b[j] = 0, 0
		for range 2 { // the second pass corrects rounding, so that a constant feature becomes 0
			correction := 0.0
			p.eachOutside(len(l.w), func(at int) { correction += l.w[at] / s.total * (l.z[at*q+j] - s.mean[j]) })
			s.mean[j] += correction
		}
	}
	if recompute := !(kept-s.label*sum >= gram.LeastKept*l.folds.labelSquares); recompute || len(s.lossyFeatures) > 0 {
		l.recomputeProducts(p, recompute)
	}
}

// recomputeProducts computes products of the labels with features from the rows outside the fold p.
// It computes them for the features in the list lossyFeatures, or for all features if the parameter
// allFeatures is true.
func (l *glmFit) recomputeProducts(p *foldPart, allFeatures bool) {
	s, row := &p.normal, l.folds.row
	if allFeatures {
		clear(p.b)
	}
	p.eachOutside(len(l.w), func(at int) {
		y := l.w[at] * (l.y[at] - s.label)
		s.setNormalised(row, l.z[at*l.q:])
		if allFeatures {
			dense.Axpy(y, row, p.b)
			return
		}
		for _, j := range s.lossyFeatures {
			p.b[j] += y * row[j]
		}
	})
}

// outsideSquares sets the upper triangle of the n×n matrix g to the sum of w·x·xᵀ. The sum is over
// the rows outside the fold p; x has the normalised features of a row, and w is the row's weight.
// The slice *block is scratch.
func (l *glmFit) outsideSquares(g []float64, p *foldPart, block *[]float64) {
	n, q, s := l.n, l.q, &p.normal
	for i := range n {
		copy(g[i*n+i:(i+1)*n], l.gram[i*q+i:])
	}
	most := min(len(p.inFit), blockRows(n))
	*block = dense.Grow(*block, max(n, 2*most*n))
	for first := 0; first < len(p.inFit); first += most {
		some := p.inFit[first:min(first+most, len(p.inFit))]
		rows, less := (*block)[:len(some)*n], (*block)[most*n:][:len(some)*n]
		for k, at := range some {
			z := l.z[at*q:][:n]
			copy(rows[k*n:], z)
			floats.ScaleTo(less[k*n:(k+1)*n], -l.w[at], z)
		}
		dense.AddProducts(g, less, rows, len(some), n, n)
	}
	for i, m := range s.mean {
		of := g[i*n+i : (i+1)*n]
		dense.Axpy(-s.total*m, s.mean[i:], of)
		for j := range of {
			of[j] = of[j] / s.scale[i] / s.scale[i+j]
		}
	}
	if len(s.lossyFeatures) > 0 {
		l.recomputeSquares(g, p, (*block)[:n])
	}
}

// recomputeSquares computes the entries of g that belong to the features in the list lossyFeatures,
// from the rows outside the fold p. The parameter row is scratch.
func (l *glmFit) recomputeSquares(g []float64, p *foldPart, row []float64) {
	n, s := l.n, &p.normal
	for _, j := range s.lossyFeatures {
		clear(g[j*n+j : (j+1)*n])
		for i := range j {
			g[i*n+j] = 0
		}
	}
	p.eachOutside(len(l.w), func(at int) {
		s.setNormalised(row, l.z[at*l.q:])
		for f, j := range s.lossyFeatures {
			v := l.w[at] * row[j]
			dense.Axpy(v, row[j:], g[j*n+j:(j+1)*n])
			for i := range j {
				if !slices.Contains(s.lossyFeatures[:f], i) { // row i has this entry
					g[i*n+j] += v * row[i]
				}
			}
		}
	})
}

// factorNormal sets h to the factor of the Hessian of the fold p, in the normalised features. If
// this Hessian is singular, it returns false. The slices scratch, scratch2 (n entries each) and
// block are work space.
func (l *glmFit) factorNormal(h, dinv []float64, p *foldPart, scratch, scratch2 []float64, block *[]float64) bool {
	n := l.n
	if p.large {
		copy(h, p.gram)
	} else {
		l.outsideSquares(h, p, block)
	}
	floats.Add(h, l.folds.hessianAll[:n*n])
	return dense.LDLFactorUntil(&l.state.Stop, h, dinv, n, n, rankTol) == n && !dense.Unsolvable(dense.LDLCond(h, dinv, n, n, scratch, scratch2))
}

// solveNormal sets beta to the θ of a fold with normalised features. If the Hessian of the fold is
// singular, it returns false.
func (l *glmFit) solveNormal(p *foldPart, beta []float64) bool {
	f, n := &l.folds, l.n
	h, dinv := f.h, f.dinv
	if p.large {
		h, dinv = p.h, p.dinv
	}
	if !l.factorNormal(h, dinv, p, f.work, f.row, &f.block) {
		return false
	}
	copy(beta, p.b)
	dense.LDLSolve(h, dinv, n, n, beta)
	return true
}

// predictNormal returns the prediction for row i of X. The parameter theta is the solution of the
// fit without the fold p.
func (l *glmFit) predictNormal(p *foldPart, theta []float64, i int) (sum float64) {
	s := &p.normal
	if l.intercept {
		sum = l.label + s.label
	}
	for j, v := range l.state.Data.Dense().RawRowView(i) {
		sum += (v - l.centre[j] - s.mean[j]) / s.scale[j] * theta[j]
	}
	return sum
}

// normalFactor returns the factor of the Hessian of a fold with normalised features. It computes the
// factor of a small fold anew, because the factors of many small folds would need far more memory
// than the data.
func (d *foldDerivative) normalFactor(l *glmFit, p *foldPart) (h, dinv []float64) {
	if p.large {
		return p.h, p.dinv
	}
	n := l.n
	d.h = dense.Grow(d.h, n*n)
	dense.GrowAll(n, &d.dinv, &d.work, &d.work2)
	l.factorNormal(d.h, d.dinv, p, d.work, d.work2, &d.block)
	return d.h, d.dinv
}

// normalRows adds the cotangents of the training rows and of their labels for fold k, whose
// features are normalised. If the means and deviations were fixed, there would be only the usual
// terms. Further terms arise because a mean has the cotangent −Σddst·β/scale, and a deviation has
// the cotangent −(u∘Pβ + β∘Pu)/scale. Here P is the matrix of the penalties, and Σddst is the
// parameter sumDdst.
func (d *foldDerivative) normalRows(l *glmFit, g *learn.Grad, k int, sumDdst float64) {
	f, n := &l.folds, l.n
	p := &f.parts[k]
	s, u, beta := &p.normal, d.uThenBeta[k*n:(k+1)*n], f.beta[k*n:(k+1)*n]
	d.row, d.deviation, d.s = dense.Grow(d.row, n), dense.Zeros(d.deviation, n), dense.Zeros(d.s, 2*n)
	addSymmetric(d.s[:n], f.hessianAll, beta)
	addSymmetric(d.s[n:], f.hessianAll, u)
	for j, scaled := range l.normal.Scaled {
		if scaled {
			d.deviation[j] = (u[j]*d.s[j] + beta[j]*d.s[n+j]) / s.total
		}
	}
	offset := 0.0
	if l.intercept {
		offset = sumDdst / s.total
	}
	p.eachOutside(len(l.w), func(at int) {
		w, i := l.w[at], l.rows[at]
		s.setNormalised(d.row, l.z[at*l.q:])
		along := dense.Dot(d.row, u)
		if g.Y != nil {
			g.Y[i] += w * (along + offset)
		}
		if g.X == nil {
			return
		}
		r, dst := l.y[at]-s.label-dense.Dot(d.row, beta), g.X.RawRowView(i)
		for j, x := range d.row {
			dst[j] += w * (r*u[j] - (along+sumDdst/s.total)*beta[j] - d.deviation[j]*x) / s.scale[j]
		}
	})
}

// addSymmetric adds the product of a symmetric matrix and v to dst. The parameter a has the upper
// triangle of the matrix.
func addSymmetric(dst, a, v []float64) {
	n := len(v)
	for i := range n {
		row := a[i*n+i : (i+1)*n]
		dst[i] += dense.Dot(row, v[i:])
		dense.Axpy(v[i], row[1:], dst[i+1:])
	}
}

// startNormal sets u to the cotangent of the θ of fold k, whose features are normalised. It adds
// the cotangents of the predicted rows to dx. It returns the sum of the cotangents of the
// predictions.
func (l *glmFit) startNormal(k int, u []float64, dx *mat.Dense, ddst []float64) (sum float64) {
	p, x := &l.folds.parts[k], l.state.Data.Dense()
	s, beta := &p.normal, l.folds.beta[k*l.n:]
	for at, i := range p.val {
		sum += ddst[at]
		for j, v := range x.RawRowView(i) {
			u[j] += ddst[at] * ((v - l.centre[j] - s.mean[j]) / s.scale[j])
		}
		if dx == nil {
			continue
		}
		for j, row := 0, dx.RawRowView(i); j < l.n; j++ {
			row[j] += ddst[at] * beta[j] / s.scale[j]
		}
	}
	return sum
}

// normalRows prepares the part of fold k for normalised features.
func (l *glmFit) normalRows(k int, p *foldPart) {
	f, n := &l.folds, l.n
	if l.normalise(k, p); p.large {
		p.gram, p.h, p.dinv = dense.Grow(p.gram, n*n), dense.Grow(p.h, n*n), dense.Grow(p.dinv, n)
		l.outsideSquares(p.gram, p, &f.block)
	} else {
		f.h = dense.Grow(f.h, n*n)
		f.dinv = dense.Grow(f.dinv, n)
	}
	f.work = dense.Grow(f.work, n)
}
