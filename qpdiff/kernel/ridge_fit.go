package kernel

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/stop"

	"gonum.org/v1/gonum/floats"
)

// kernelRidgeFactor solves (K + ridge·diag(1/shares))·x + b·1 = r. If balanced is true, x must also
// satisfy the equation 1ᵀx = sum. Otherwise b = 0. The entries of shares, one for each row, sum to
// 1.
//
// If balanced is true, the factorised matrix is K′ + ridge·diag(1/shares) + shift·11ᵀ. K′ is the
// centred K: K′_ij = K_ij − u_i − u_j, with a vector u for which K′·shares = 0. If sum = 0, neither
// the centring nor the shift affects x. The matrix is positive definite whenever x is unique.
type kernelRidgeFactor struct {
	a, inv   []float64 // Cholesky factor, lower triangle; a is G after invert
	shares   []float64
	ridge    float64
	balanced bool
	u        []float64
	shift    float64

	size, x, work []float64 // of factorise
	stopper       *stop.Stop
}

// factorise factorises the matrix k with the ridge lambda·fraction. Row i of k belongs to row
// rows[i] of the data. factorise stops early if the context of stopper ends.
func (f *kernelRidgeFactor) factorise(k []float64, rows []int, lambda, fraction float64) error {
	f.ridge = lambda * fraction
	n := len(f.shares)
	dense.GrowAll(n, &f.inv, &f.u, &f.size, &f.x)
	f.a, f.work = dense.Grow(f.a, n*n), dense.Grow(f.work, dense.BlockWork(n))
	clear(f.u)
	f.shift = 0
	if f.balanced {
		mean := 0.0
		for i := range n {
			f.u[i] = dense.Dot(f.shares, k[i*n:(i+1)*n])
			mean += f.shares[i] * f.u[i]
		}
		floats.AddConst(-mean/2, f.u)
		for i, s := range f.shares {
			f.shift += s * (k[i*n+i] - 2*f.u[i])
		}
		if f.shift = max(f.shift, 0)/float64(n) + f.ridge; f.shift == 0 {
			f.shift = 1
		}
	}
	lost := 1.0 // by how much the terms of a diagonal entry exceed it
	for i := range n {
		f.stopper.Look()
		row := f.a[i*n : i*n+i+1]
		if copy(row, k[i*n:]); f.balanced {
			own, shift := f.u[i], f.shift
			for j, u := range f.u[:len(row)] {
				row[j] = row[j] - own - u + shift
			}
		}
		f.a[i*n+i] += f.ridge / f.shares[i]
		f.size[i] = math.Sqrt(f.a[i*n+i])
		lost = max(lost, k[i*n+i]/f.a[i*n+i])
	}
	const remedy = "raise λ, or drop one of equal rows"
	if at := dense.CholeskyBlocks(f.stopper, f.a, f.inv, n, dense.Eps, f.work); at < n {
		if pivot := f.a[at*n+at]; pivot < -dense.ComplementarityTol*dense.Eps*float64(n)*f.pivotError(k, at) {
			return check.ArgErrorf("Kernel", qpdiff.ErrNonconvex, "use a positive semidefinite kernel", "has a direction of negative curvature at row %d", rows[at])
		} else if !dense.Finite(pivot) {
			return check.ArgErrorf("hyper", qpdiff.ErrNotFinite, "scale the features, or change λ", "gives a kernel matrix that overflows at row %d", rows[at])
		}
		return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, remedy, "has λ = %v, with which the kernel matrix is singular: row %d depends on those before it", lambda, rows[at])
	}
	least := dense.SmallestSingular(f.a, f.inv, n, n, f.size, f.x)
	if cond := lost * math.Sqrt(float64(n)) / (least * least); dense.Unsolvable(cond) {
		return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, remedy, "has λ = %v, with which the kernel matrix is singular to machine precision: its condition is about %.2g", lambda, cond)
	}
	return nil
}

// pivotError bounds the rounding error of the pivot at which the factorisation of a matrix M
// stopped, in units of eps. Let p be pivotRow, the row of this pivot. Let v be the vector with v_p
// = 1 for which the entries of Mv before p are zero. The pivot is vᵀMv, and the bound is Σ_ij |v_i
// v_j|·size_ij, where size_ij bounds the size of the terms of M_ij.
func (f *kernelRidgeFactor) pivotError(k []float64, pivotRow int) float64 {
	n := len(f.shares)
	v := f.x[:pivotRow+1]
	copy(v, f.a[pivotRow*n:pivotRow*n+pivotRow])
	dense.BackSolve(f.a, f.inv, pivotRow, n, v[:pivotRow])
	v[pivotRow] = 1
	sum := 0.0
	for i, w := range v {
		sum += math.Abs(w) * math.Hypot(f.size[i], math.Sqrt(k[i*n+i]))
	}
	return sum * sum
}

// solve overwrites the right-hand side in x with the solution, and returns b. With an intercept,
// the entries of the solution add up to the argument sum. solve writes to no other memory.
func (f *kernelRidgeFactor) solve(x []float64, sum float64) (b float64) {
	n := len(x)
	if f.balanced {
		if sum != 0 {
			dense.Axpy(-sum, f.u, x)
		}
		b = dense.Dot(f.shares, x) - f.ridge*sum
		floats.AddConst(f.shift*sum-b, x)
	}
	dense.ForwardSolve(f.a, f.inv, n, n, x)
	dense.BackSolve(f.a, f.inv, n, n, x)
	if f.balanced {
		// The sum of x is corrected to the last bits, because a large constant of the kernel
		// multiplies the error of this sum. If a multiple of the vector shares is added to x, the
		// left-hand side changes only by a multiple of ridge·1, which b absorbs.
		over := floats.Sum(x) - sum
		dense.Axpy(-over, f.shares, x)
		b += f.ridge*over - dense.Dot(f.u, x)
	}
	return b
}

// invert replaces the factor by a matrix G, for which the solution is x = G·r if sum = 0. After
// invert, solve must not be called.
func (f *kernelRidgeFactor) invert() {
	n := len(f.shares)
	f.work = dense.Grow(f.work, dense.InverseWork(n))
	dense.InverseBlocks(f.stopper, f.a, f.inv, n, f.work)
	if !f.balanced {
		return
	}
	sums, whole := f.x, 0.0
	for i := range n {
		sums[i] = floats.Sum(f.a[i*n : (i+1)*n])
		whole += sums[i]
	}
	floats.AddScaled(sums, -whole/2, f.shares)
	for i, s := range f.shares {
		row := f.a[i*n : (i+1)*n]
		floats.AddScaled(row, -s, sums)
		floats.AddScaled(row, -sums[i], f.shares)
	}
}

// kernelRidgeFit is a solved kernel ridge regression, with its data and all values that its
// derivatives need.
type kernelRidgeFit struct {
	kernelMachine // the rows are the rows with a weight above 0; the coefficients are c
	rows          []int
	counts        []float64
	k             []float64 // kernel matrix of the rows
	c             []float64
	factor        kernelRidgeFactor

	// the number of the last leave-one-out fit, in which the inverse has replaced the factor; 0 if
	// there is no such fit
	loo uint64
	// for the leave-one-out fits: y_i minus the prediction for row i from the fit without row i
	residual []float64
}

// load copies the rows with a weight above 0 from the data.
func (l *kernelRidgeFit) load(bias bool) {
	d, n := l.state.Data, l.n
	var total float64
	l.counts, l.rows, total = learner.Counting(d, l.counts, l.rows)
	m := len(l.rows)
	l.stride = n
	l.points = dense.Grow(l.points, m*n)
	dense.GrowAll(m, &l.c, &l.factor.shares)
	l.support = dense.Grow(l.support, m)
	l.k = dense.Grow(l.k, m*m)
	features := d.Dense()
	for k, i := range l.rows {
		copy(l.points[k*n:(k+1)*n], features.RawRowView(i))
		l.factor.shares[k] = dense.CountAt(l.counts, i) / total
		l.support[k] = k
	}
	l.transpose(m)
	l.factor.balanced = bias
}

// evaluate computes the kernel matrix.
func (l *kernelRidgeFit) evaluate(hyper []float64) error {
	if err := l.checkHyper(hyper, "λ", func(lambda float64) error {
		if lambda >= 0 {
			return nil
		}
		return check.ArgErrorf("hyper", qpdiff.ErrDomain, "give a λ at or above 0", "holds %v as λ", lambda)
	}); err != nil {
		return err
	}
	l.factor.stopper = &l.state.Stop
	_, _, err := l.gram(l.k, l.rows, hyper[1:])
	return err
}

// solve computes c, and returns b, for the ridge λ·fraction.
func (l *kernelRidgeFit) solve(hyper []float64, fraction float64) (b float64, err error) {
	if err := l.evaluate(hyper); err != nil {
		return 0, err
	}
	if err := l.factor.factorise(l.k, l.rows, hyper[0], fraction); err != nil {
		return 0, err
	}
	dense.Gather(l.c, l.state.Data.Y, l.rows)
	b = l.factor.solve(l.c, 0)
	if !dense.AllFinite(l.c) || !dense.Finite(b) {
		return 0, l.overflowError()
	}
	return b, nil
}

// overflowError is the error of coefficients that are not finite.
func (*kernelRidgeFit) overflowError() error {
	return check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the labels or the kernel, or raise λ", "leaves coefficients that overflow")
}

// leaveOneOut sets dst[i] to the prediction for row i from a fit to the other rows.
//
// For the fit without row i, the matrix is K + (N−1)λ·I, without row i and column i. With an
// intercept, let G be the upper left block of the inverse of [K + (N−1)λ·I, 1; 1ᵀ, 0]. Without an
// intercept, let G be the inverse of K + (N−1)λ·I. The residual of row i is (G·y)_i/G_ii.
func (l *kernelRidgeFit) leaveOneOut(dst, hyper []float64) error {
	m := len(l.rows)
	if m < 2 {
		return check.ArgErrorf("Data", qpdiff.ErrDomain, "give at least two rows", "has one row, without which there is nothing to fit")
	}
	if _, err := l.solve(hyper, float64(m-1)/float64(m)); err != nil {
		return err
	}
	l.factor.invert()
	l.residual = dense.Grow(l.residual, m)
	for i := range m {
		part := l.factor.a[i*m+i]
		l.residual[i] = l.c[i] / part
		if !(part > 0) || !dense.Finite(l.residual[i]) {
			return check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the labels or the kernel, or raise λ", "leaves a residual of %v for row %d", l.residual[i], i)
		}
	}
	for i, r := range l.residual {
		dst[i] = l.state.Data.Y[i] - r
	}
	l.coef = l.c
	return nil
}
