package kernel

import (
	"cmp"
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// A Kernel is a positive semidefinite function k(x, z) of two rows of features. It may have
// parameters that a search can learn. The methods of a Kernel must not write to their arguments,
// and must not change the state of the Kernel.
type Kernel interface {
	// NumParams returns the number of parameters for rows of n features.
	NumParams(n int) int
	// Check returns an error if the kernel is not positive semidefinite with the given parameters. The
	// caller has already checked that there are NumParams parameters and that they are finite.
	Check(params []float64) error
	// Eval returns k(x, z).
	Eval(params, x, z []float64) float64
	// Grad multiplies derivatives of k(x, z) by s, and adds the products to three destinations: the
	// derivatives with respect to the parameters to dparams, to x to dx, and to z to dz. Each of
	// the three may be nil. The argument value must be k(x, z), the result of Eval.
	Grad(dparams, dx, dz []float64, s, value float64, params, x, z []float64)
}

// RBF is the radial basis function kernel exp(−γ‖x−z‖²) with the parameter γ > 0.
type RBF struct{}

// NumParams returns 1: γ.
func (RBF) NumParams(int) int { return 1 }

// Check returns an error if γ ≤ 0.
func (RBF) Check(params []float64) error {
	if !(params[0] > 0) {
		return check.ArgErrorf("hyper", qpdiff.ErrDomain, "give the RBF kernel a γ above 0", "holds %v as γ", params[0])
	}
	return nil
}

// Eval returns exp(−γ‖x−z‖²).
func (RBF) Eval(params, x, z []float64) float64 {
	return math.Exp(-params[0] * squaredDistance(x, z))
}

// Grad multiplies the derivatives of k = k(x, z) by s. It adds −s·‖x−z‖²·k to dparams, −2γs·k·(x−z)
// to dx, and 2γs·k·(x−z) to dz.
func (k RBF) Grad(dparams, dx, dz []float64, s, value float64, params, x, z []float64) {
	if s *= value; s == 0 {
		return // also if the distance overflows, which makes value 0
	}
	d := squaredDistance(x, z)
	if dparams != nil {
		dparams[0] -= s * d
	}
	s *= -2 * params[0]
	if dx != nil {
		for j, v := range x {
			dx[j] += s * (v - z[j])
		}
	}
	if dz != nil {
		for j, v := range x {
			dz[j] -= s * (v - z[j])
		}
	}
}

func squaredDistance(x, z []float64) float64 {
	z = z[:len(x)]
	var d float64
	for j, v := range x {
		v -= z[j]
		d += v * v
	}
	return d
}

// Polynomial is the kernel (s·xᵀz + c)^Degree. Its parameters are the scale s > 0 and the constant
// c ≥ 0. With Degree 1 and c = 0 it is the linear kernel.
type Polynomial struct {
	Degree int // zero: 3
}

// NumParams returns 2: s and c.
func (Polynomial) NumParams(int) int { return 2 }

// Check returns an error if the scale s ≤ 0, the constant c < 0 or Degree < 0.
func (k Polynomial) Check(params []float64) error {
	switch {
	case k.Degree < 0:
		return check.ArgErrorf("Polynomial.Degree", qpdiff.ErrDomain, "use a positive degree", "is %d", k.Degree)
	case !(params[0] > 0):
		return check.ArgErrorf("hyper", qpdiff.ErrDomain, "give the polynomial kernel a scale above 0", "holds %v as the scale", params[0])
	case params[1] < 0:
		return check.ArgErrorf("hyper", qpdiff.ErrDomain, "give the polynomial kernel a constant at or above 0", "holds %v as the constant", params[1])
	}
	return nil
}

// Eval returns (s·xᵀz + c)^Degree.
func (k Polynomial) Eval(params, x, z []float64) float64 {
	return power(params[0]*dense.Dot(x, z)+params[1], k.degree())
}

// Grad multiplies the derivatives of k(x, z) by the parameter s, and adds the products to its
// destinations. Let t = scale·xᵀz + constant, so that k = t^Degree. The derivative of k is
// Degree·t^(Degree−1) times the derivative of t. The derivatives of t are xᵀz in the scale, 1 in
// the constant, scale·z in x, and scale·x in z.
func (k Polynomial) Grad(dparams, dx, dz []float64, s, value float64, params, x, z []float64) {
	xz := dense.Dot(x, z)
	p := k.degree()
	s *= float64(p) * power(params[0]*xz+params[1], p-1)
	if dparams != nil {
		dparams[0] += s * xz
		dparams[1] += s
	}
	if dx != nil {
		dense.Axpy(s*params[0], z, dx)
	}
	if dz != nil {
		dense.Axpy(s*params[0], x, dz)
	}
}

func (k Polynomial) degree() int { return cmp.Or(k.Degree, 3) }

// power returns xⁿ for n ≥ 0.
func power(x float64, n int) float64 {
	p := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p *= x
		}
		x *= x
	}
	return p
}

// checkColumns returns an error if x, the rows to predict, is nil or does not have n features.
func checkColumns(x *mat.Dense, n int) error {
	if x == nil {
		return check.ArgErrorf("x", check.ErrEmpty, "give the rows to predict for", "is nil")
	}
	if c := x.RawMatrix().Cols; c != n {
		return check.ArgErrorf("x", qpdiff.ErrShape, "give as many features as the model has", "has %d columns instead of %d", c, n)
	}
	return nil
}

func isRBF(k Kernel) bool {
	_, rbf := k.(RBF)
	return rbf || k == nil
}

// widthRange determines the bounds of γ. Let d be the median squared distance between rows (the
// median heuristic). The bounds are 1/(widthRange·d) and widthRange/d.
const widthRange = 1e3

// width describes the parameter γ of the RBF kernel exp(−γ‖x−x′‖²). The default of γ is the same as
// in scikit-learn: 1/(number of features × variance of the features).
func width(m learn.Moments) learn.Hyperparameter {
	middle := m.Distance()
	h := learn.Hyperparameter{Name: "γ", Lower: 1 / (widthRange * middle), Upper: widthRange / middle}
	h.Default = min(max(1/m.Trace, h.Lower), h.Upper)
	return h
}
