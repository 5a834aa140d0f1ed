package kernel

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/stop"
)

// freeFactor is the factor LDLᵀ of K_FF + shift·11ᵀ for a set F of rows, where K is the kernel
// matrix. With the constraint Σβ = 0 the shift does not change the problem, and the matrix is
// positive definite whenever the solution is unique. Without the constraint the shift is 0.
type freeFactor struct {
	a, dinv  []float64
	balanced bool
	shift    float64
	ones     []float64 // with balanced: the inverse times 1
	weight   float64   // and its sum
	stopper  *stop.Stop
}

// factorise factorises the matrix K_FF + shift·11ᵀ of s rows. Before the call, the slice a holds
// the upper triangle of this matrix. factorise returns the first row that depends on earlier rows,
// or s if there is none. It stops early if the context of stopper ends.
func (f *freeFactor) factorise(s int, tol float64) int {
	f.dinv, f.ones = dense.Grow(f.dinv, s), dense.Grow(f.ones, s)
	k := dense.LDLFactorUntil(f.stopper, f.a, f.dinv, s, s, tol)
	if k == s && f.balanced {
		dense.Fill(f.ones, 1)
		dense.LDLSolve(f.a, f.dinv, s, s, f.ones)
		f.weight = 0
		for _, v := range f.ones {
			f.weight += v
		}
	}
	return k
}

// solve replaces x by the solution w of K_FF·w + b·1 = x. If balanced is true, w also satisfies 1ᵀw
// = sum. solve returns b. It writes to no other memory than x.
func (f *freeFactor) solve(x []float64, sum float64) (b float64) {
	dense.LDLSolve(f.a, f.dinv, len(x), len(x), x)
	if !f.balanced || len(x) == 0 {
		return 0
	}
	over := -sum
	for _, v := range x {
		over += v
	}
	b = over / f.weight
	if math.Abs(b) < dense.SmallestNormal { // b underflows though the entries of x need not
		for i, v := range f.ones {
			x[i] -= over * (v / f.weight)
		}
	} else {
		dense.Axpy(-b, f.ones, x)
	}
	return b + f.shift*sum
}
