package kernel

import (
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// adjointFolds does the work of [Ridge.FoldsVJP]. Let V be the rows of a fold, T the remaining
// rows, and c the fold's coefficients, which are 0 in V. A vector u represents the fold. In V, u is
// ddst. In T, −u solves the system of T for the right-hand side K_TV·ddst. With the matrix G of all
// rows, u = G_·V·G_VV⁻¹·ddst. The cotangent of the kernel matrix is u·cᵀ. The rows V of u·cᵀ belong
// to the predicted rows, and the rows T to the training rows. The cotangent of y is −u_T.
func (d *kernelDerivative) adjointFolds(l *kernelRidgeFit, f *ridgeFolds, g *learn.Grad, dx *mat.Dense, ddst []float64) error {
	m := len(l.rows)
	d.clearSums(&l.kernelMachine)
	inputs := g.X != nil || dx != nil
	if d.u = dense.Zeros(d.u, len(f.parts)*m); inputs {
		d.foldCot = dense.Zeros(d.foldCot, len(f.parts)*m)
	}
	d.solved, d.lanes = dense.Grow(d.solved, len(ddst)), dense.Grow(d.lanes, mostGrouped*dense.LaneCount)
	for k := range f.groups {
		f.groups[k].adjoint(f, d.solved, ddst, d.lanes)
	}
	for k := range f.parts {
		p := &f.parts[k]
		u, c, own := d.u[k*m:(k+1)*m], f.coef[k*m:(k+1)*m], ddst[p.place:p.place+len(p.val)]
		if inputs {
			dense.Scatter(d.foldCot[k*m:(k+1)*m], own, p.val)
		}
		d.foldAdjoint(l, f, p, u, own)
		dense.Scatter(u, own, p.val)
		if g.Y != nil {
			for _, i := range p.otherPlaces {
				g.Y[l.rows[i]] -= u[i]
			}
		}
		if g.Hyper != nil {
			sum := 0.0
			for _, i := range p.otherPlaces {
				sum += u[i] * c[i] / l.factor.shares[i]
			}
			g.Hyper[0] += p.fraction * sum
		}
	}
	if g.X == nil && (g.Hyper == nil || len(l.kernelParams) == 0) && dx == nil {
		return learner.CheckProduct(g)
	}
	d.pairUp(f, m)
	d.work, d.weights = dense.Grow(d.work, dense.GramWork(m)), dense.Grow(d.weights, min(m, dense.BlockSize)*m)
	depth := 2 * len(f.parts)
	for first := 0; first < m; first += dense.BlockSize {
		end := min(first+dense.BlockSize, m)
		weights := d.weights[:(end-first)*end]
		clear(weights)
		dense.AddProduct(&l.state.Stop, weights, end-first, end, d.ucPairs[first*depth:], d.cuPairs, depth, d.work)
		for j := first; j < end; j++ {
			d.foldsRow(l, f, g, dx, j, weights[(j-first)*end:])
		}
	}
	if err := d.addInputs(l, g); err != nil {
		return err
	}
	return learner.CheckProduct(&learn.Grad{X: dx})
}

// foldAdjoint computes the vector u of adjointFolds for one fold, but only its entries for rows
// outside the fold. The parameter ddst holds the cotangents of the fold's predictions.
func (d *kernelDerivative) foldAdjoint(l *kernelRidgeFit, f *ridgeFolds, p *ridgeFold, u, ddst []float64) {
	m, v := len(l.rows), len(p.val)
	d.supportRow = dense.Grow(d.supportRow, m)
	sum := dense.Sum{Dst: u}
	if !p.ownFactor {
		a, inverse := d.solved[p.place:p.place+v], f.families[p.family].factor.a
		if !p.grouped {
			copy(a, ddst)
			dense.ForwardSolve(p.a, p.inv, v, v, a)
			dense.BackSolve(p.a, p.inv, v, v, a)
		}
		for at, i := range p.val {
			sum.Add(a[at], inverse[i*m:(i+1)*m])
		}
		sum.End()
		return
	}
	for at, i := range p.val {
		sum.Add(-ddst[at], l.k[i*m:(i+1)*m])
	}
	sum.End()
	w := d.supportRow[:len(p.otherPlaces)]
	dense.Gather(w, u, p.otherPlaces)
	p.factor.solve(w, -floats.Sum(ddst))
	dense.Scatter(u, w, p.otherPlaces)
}

// pairUp writes the rows of ucPairs and cuPairs: for row i of m rows, u_i and c_i of each fold in
// ucPairs, and c_i and u_i in cuPairs. The sum of u·cᵀ + c·uᵀ over the folds is then
// ucPairs·cuPairsᵀ.
func (d *kernelDerivative) pairUp(f *ridgeFolds, m int) {
	depth := 2 * len(f.parts)
	dense.GrowAll(m*depth, &d.ucPairs, &d.cuPairs)
	for k := range f.parts {
		u, c := d.u[k*m:(k+1)*m], f.coef[k*m:(k+1)*m]
		for i, v := range u {
			at := i*depth + 2*k
			d.ucPairs[at], d.ucPairs[at+1] = v, c[i]
			d.cuPairs[at], d.cuPairs[at+1] = c[i], v
		}
	}
}

// foldsRow adds the contributions of the kernel values k(x_j, x_i) for all i ≤ j. The weights are
// row j of left·rightᵀ.
func (d *kernelDerivative) foldsRow(l *kernelRidgeFit, f *ridgeFolds, g *learn.Grad, dx *mat.Dense, j int, weights []float64) {
	m := len(l.rows)
	rows, values := l.support[:j+1], l.k[j*m:][:j+1]
	d.s = append(d.s[:0], weights[:j+1]...)
	d.s[j] /= 2
	if g.Hyper != nil {
		d.addGradients(&l.kernelMachine, &learn.Grad{Hyper: g.Hyper}, nil, values, l.row(j), rows)
	}
	if g.X == nil && dx == nil {
		return
	}
	d.asRow, d.asOther = dense.Zeros(d.asRow, j+1), dense.Zeros(d.asOther, j+1)
	for k := range f.parts {
		own, c := d.foldCot[k*m:], f.coef[k*m:]
		dense.Axpy(own[j], c[:j+1], d.asRow)
		dense.Axpy(c[j], own[:j+1], d.asOther)
	}
	d.addPairs(l, g, dx, j, values, rows)
}
