package qpdiff

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Program is a convex program with parameters α (paper, eq. 4):
//
//	minimise   f0(x, α)
//	subject to f_i(x, α) ≤ 0,  i < m   (multipliers λ ≥ 0)
//	           h_i(x, α) = 0,  i < q   (multipliers ν)
//
// with f0 and f convex and h affine in x, and all of them twice differentiable.
// It does not solve the program: it differentiates a solution found elsewhere.
type Program struct {
	Objective    Function
	Inequalities []Function
	Equalities   []Function
	// Tol is the size, relative to the terms it comes from, up to which a
	// constraint counts as active and a multiplier as zero, and how far the
	// point may be from meeting the KKT conditions; zero means 1e-8.
	Tol float64
}

// A Function returns its value at (x, α) and sets the derivatives in d, which
// are zero when it is called.
type Function func(d *Derivatives, x, alpha []float64) float64

// Derivatives are those of one function of (x, α), x ∈ Rⁿ, α ∈ Rᵖ.
type Derivatives struct {
	X      []float64  // ∇_x, n
	Alpha  []float64  // ∇_α, p; only asked of the constraints
	XX     *mat.Dense // ∇²_xx, n×n
	XAlpha *mat.Dense // ∂(∇_x)/∂α, n×p
}

// Sensitivity holds the derivatives of a solution with respect to α.
type Sensitivity struct {
	X      *mat.Dense // ∂x/∂α, n×p
	Lambda *mat.Dense // ∂λ/∂α, m×p; nil if m = 0
	Nu     *mat.Dense // ∂ν/∂α, q×p; nil if q = 0
}

// Differentiate returns the derivatives of the solution (x, λ, ν) with respect
// to α by the rule of the paper (Section 3; Barratt, 2018),
//
//	∇_α s = −(∇_z g)⁻¹ ∇_α g,   g = (∇_x L, diag(λ)f, h),
//
// reduced to the strictly active constraints, on which it is the symmetric
//
//	[∇²_xx L  Cᵀ] [ẋ ]     [∇²_xα L]
//	[C        0 ] [ẏ ] = − [∇_α f_S, ∇_α h],   C = (∇_x f_S, ∇_x h).
//
// The tests are those of [Solution.VJP], in the same order: strict
// complementarity first, for which the condition that the paper states,
// ∇_α g ∈ R(∇_z g), does not suffice; then that condition for each α_j; then
// that x, λ and ν are each unique. The error joins one [NotDifferentiableError]
// per failure; its Input is "alpha[j]", or "alpha" if no derivative exists.
// Columns and blocks that exist are given, the other columns are zero and
// the other blocks nil. Multipliers with needless zeros, where constraints depend
// on each other, fail the first test: pass others.
//
// A point that is no solution is an [ArgError] (ErrDomain).
func (p *Program) Differentiate(x, lambda, nu, alpha []float64) (*Sensitivity, error) {
	n, m, q, np := len(x), len(p.Inequalities), len(p.Equalities), len(alpha)
	if n == 0 || len(lambda) != m || len(nu) != q {
		return nil, argErrorf("x, lambda, nu", ErrShape, "give one multiplier per constraint", "have %d, %d, %d entries for %d inequalities and %d equalities", n, len(lambda), len(nu), m, q)
	}
	for name, v := range map[string][]float64{"x": x, "lambda": lambda, "nu": nu, "alpha": alpha} {
		if err := checkVector(name, v); err != nil {
			return nil, err
		}
	}
	tol := p.Tol
	if tol <= 0 {
		tol = 1e-8
	}
	l := lagrangian{n: n, np: np, grad: make([]float64, n), hess: mat.NewDense(n, n, nil), cross: mat.NewDense(n, max(np, 1), nil), size: 1}
	if _, _, err := l.add("Objective", p.Objective, 1, x, alpha); err != nil {
		return nil, err
	}
	var weak, rows []int // rows: the active constraints, equalities after the m inequalities
	var c, rhs []float64
	var scale []float64
	for i := range m + q {
		name, f, mult := fmt.Sprintf("Inequalities[%d]", i), Function(nil), 0.0
		if i < m {
			f, mult = p.Inequalities[i], lambda[i]
		} else {
			name, f, mult = fmt.Sprintf("Equalities[%d]", i-m), p.Equalities[i-m], nu[i-m]
		}
		value, d, err := l.add(name, f, mult, x, alpha)
		if err != nil {
			return nil, err
		}
		norm := floats.Norm(d.X, 2)
		terms := 1.0 // the size of what the value is made of, to first order
		for j, v := range d.X {
			terms = max(terms, math.Abs(v*x[j]))
		}
		if value > tol*terms || i >= m && value < -tol*terms || i < m && mult < 0 {
			return nil, argErrorf(name, ErrDomain, "pass a solution, or raise Tol", "has the value %g and the multiplier %g", value, mult)
		}
		active := i >= m || value >= -tol*terms
		zero := mult*norm <= tol*l.size
		switch {
		case i < m && !active && !zero:
			return nil, argErrorf(name, ErrDomain, "pass a solution, or raise Tol", "has the value %g and the multiplier %g", value, mult)
		case i < m && active && zero:
			weak = append(weak, i)
		case active:
			s := 1.0
			if norm > 0 {
				s = 1 / norm
			}
			rows, scale = append(rows, i), append(scale, s)
			for _, v := range d.X {
				c = append(c, v*s)
			}
			for _, v := range d.Alpha {
				rhs = append(rhs, -v*s)
			}
		}
	}
	if r := floats.Norm(l.grad, math.Inf(1)); r > tol*l.size {
		return nil, argErrorf("x, lambda, nu", ErrDomain, "pass a solution, or raise Tol", "leave the gradient %g of the Lagrangian, of terms up to %g", r, l.size)
	}
	if len(weak) > 0 {
		return nil, &NotDifferentiableError{Input: "alpha", Weak: weak, Remedy: "the solution has a kink here"}
	}
	return l.sensitivity(m, q, rows, c, rhs, scale)
}

// lagrangian sums f0 + λᵀf + νᵀh and its derivatives.
type lagrangian struct {
	n, np int
	grad  []float64
	hess  *mat.Dense
	cross *mat.Dense
	size  float64 // largest term of grad
}

// add evaluates f and adds weight times it.
func (l *lagrangian) add(name string, f Function, weight float64, x, alpha []float64) (float64, *Derivatives, error) {
	d := &Derivatives{X: make([]float64, l.n), Alpha: make([]float64, l.np), XX: mat.NewDense(l.n, l.n, nil), XAlpha: mat.NewDense(l.n, max(l.np, 1), nil)}
	value := f(d, x, alpha)
	if !finite(value) {
		return 0, nil, argErrorf(name, ErrNotFinite, "evaluate it in its domain", "is %v", value)
	}
	if err := errors.Join(checkVector(name+"'s ∇x", d.X), checkVector(name+"'s ∇α", d.Alpha), checkMatrix(name+"'s ∇²xx", d.XX), checkMatrix(name+"'s ∇²xα", d.XAlpha)); err != nil {
		return 0, nil, err
	}
	if weight == 0 {
		return value, d, nil
	}
	for i, v := range d.X {
		l.grad[i] += weight * v
		l.size = max(l.size, math.Abs(weight*v))
	}
	d.XX.Scale(weight, d.XX)
	d.XAlpha.Scale(weight, d.XAlpha)
	l.hess.Add(l.hess, d.XX)
	l.cross.Add(l.cross, d.XAlpha)
	return value, d, nil
}

// sensitivity solves for the columns of α, given the active constraints: their
// numbers, coefficients, −∇_α, and scale.
func (l *lagrangian) sensitivity(m, q int, rows []int, c, rhs, scale []float64) (*Sensitivity, error) {
	n, np, k := l.n, l.np, len(rows)
	kkt := newKKTMatrix(n, k, l.hess.RawMatrix().Data, c)
	var errs []error
	free := [3]float64{} // of x, λ, ν
	for _, e := range kkt.null {
		for i := range n + k {
			block := 0
			if i >= n {
				block = 1
				if rows[i-n] >= m {
					block = 2
				}
			}
			free[block] = max(free[block], math.Abs(kkt.vec.At(i, e)))
		}
	}
	out := &Sensitivity{}
	dst := [3]*mat.Dense{}
	for b, r := range [3]int{n, m, q} {
		if np == 0 || r == 0 {
			continue
		}
		if free[b] > rangeTol {
			errs = append(errs, &NotDifferentiableError{Input: "alpha", Residual: free[b], Remedy: [3]string{"x", "lambda", "nu"}[b] + " is not unique"})
			continue
		}
		dst[b] = mat.NewDense(r, np, nil)
	}
	out.X, out.Lambda, out.Nu = dst[0], dst[1], dst[2]
	cz, cy, v, y := make([]float64, n), make([]float64, k), make([]float64, n), make([]float64, k)
	for j := range np {
		for i := range cz {
			cz[i] = -l.cross.At(i, j)
		}
		for i := range cy {
			cy[i] = rhs[i*np+j]
		}
		if outside := kkt.solve(v, y, cz, cy); outside > rangeTol {
			errs = append(errs, &NotDifferentiableError{Input: fmt.Sprintf("alpha[%d]", j), Residual: outside, Remedy: "constraints depend on each other, or the objective is flat"})
			continue
		}
		if out.X != nil {
			out.X.SetCol(j, v)
		}
		for i, r := range rows {
			if r < m && out.Lambda != nil {
				out.Lambda.Set(r, j, y[i]*scale[i])
			} else if r >= m && out.Nu != nil {
				out.Nu.Set(r-m, j, y[i]*scale[i])
			}
		}
	}
	return out, errors.Join(errs...)
}
