package qpdiff

import (
	"fmt"
	"math"

	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
)

// Solution solves a [QP], holds the solution and differentiates it. The zero value is ready to use.
//
// A Solution reuses its storage. Solving another problem of the same shape allocates nothing and
// starts from the last working set. If Q equals the Q of the last problem, Solve reuses the factor
// of Q. If G and A also equal the last problem's G and A, Solve reuses their factors too. There is
// one exception, for a Q that is not definite: Solve factorises again if the linear term P or the
// bounds imply a far larger or smaller solution than before. The slices of a Solution are valid
// until the next Solve.
//
// While Solve runs, no other goroutine may use the Solution. Derivatives only read the Solution, so
// many goroutines may differentiate it at the same time, each with a separate [Workspace]. A
// Solution must not be copied after its first Solve: using the copy panics.
type Solution struct {
	// Tol is the largest Residual.Relative with which a solution counts as Optimal; zero means 1e-9.
	// The solver refines the solution to rounding error, whatever Tol is.
	Tol float64
	// MaxIter is the largest number of changes of the working set. Zero means the default, 1000 +
	// 100·(variables + rows). Values above a hundred times the default have the effect of a hundred
	// times the default.
	MaxIter int
	// Generalised selects the derivatives at weakly active rows, which are rows with the slack 0
	// and the multiplier 0. If it is false, a derivative that does not exist is an error. If it is
	// true, weakly active rows count as inactive. The result is then not a derivative but one
	// element of the generalised (Bouligand) Jacobian. This element is the limit of derivatives as
	// the h_r of the weakly active rows r decrease to their given values.
	Generalised bool

	Z []float64 // n: the minimiser
	// Lambda holds the multipliers of the m inequalities Gz ≤ h. The multipliers of inactive rows
	// are exactly zero. If the QP has bounds, n more entries hold the multipliers of the bounds.
	// Multipliers of lower sides are negative.
	Lambda []float64
	Nu     []float64 // q: multipliers of Az = b
	// Objective is ½ zᵀQz + pᵀz.
	Objective float64
	Status    Status
	Residual  KKTResidual
	// Iterations counts the changes of the working set. Proximal counts the proximal steps; no such
	// steps are taken if Q is positive definite. Refinements counts the corrections of the solution on
	// the last working set.
	Iterations, Proximal, Refinements int
	Certificate                       Certificate

	home  check.Home
	set   activeSet
	state uint64 // the number of the last Solve or Reset
}

// Reset forgets the last solve and its warm start, but keeps the storage. The next Solve gives the
// same bits as a new Solution.
func (s *Solution) Reset() {
	s.forget()
	s.set.loaded = false
}

// forget empties the results.
func (s *Solution) forget() {
	s.home.Take()
	s.Z, s.Lambda, s.Nu = s.Z[:0], s.Lambda[:0], s.Nu[:0]
	s.Objective, s.Status, s.Residual = 0, Unsolved, KKTResidual{}
	s.Iterations, s.Proximal, s.Refinements = 0, 0, 0
	c := &s.Certificate
	c.Z, c.Lambda, c.Nu, c.Residual = c.Z[:0], c.Lambda[:0], c.Nu[:0], 0
	s.state = check.NewState()
}

// Solve solves q. The error matches
//
//   - ErrShape, ErrNotFinite or ErrDomain (an [ArgError]) if the data cannot be used. ErrDomain has
//     three causes: Q is not symmetric; the largest entry of a nonzero row of G or A lies outside
//     1e-270…1e270; or a lower side is above its upper side;
//   - ErrInfeasible, ErrUnbounded or ErrNonconvex with the Status of the same name and a
//     Certificate;
//   - ErrIterationLimit if Tol was not reached. The error is also returned if MaxIter was reached
//     while some entry of the gradient was not yet small compared with the terms of this entry. Z,
//     Lambda and Nu then hold the best point found, and Residual measures this point;
//   - ErrNotFinite, with the Status IterationLimit, if a number leaves the range of float64: an
//     entry of the solution, or a product in the sums of its residual. This cannot happen if all
//     entries and the solution have sizes between 1e-140 and 1e140.
//
// After all errors except ErrIterationLimit, Z, Lambda and Nu are empty. Solve does not change q,
// and keeps no reference to it.
func (s *Solution) Solve(q *QP) error {
	s.forget()
	a := &s.set
	if err := a.load(q); err != nil {
		a.loaded = false
		return named(err)
	}
	r := qpReport{Certificate: s.Certificate}
	s.Status = a.solve(&r, s.Tol, s.MaxIter)
	s.Objective, s.Residual, s.Certificate = r.Objective, r.Residual, r.Certificate
	s.Iterations, s.Proximal, s.Refinements = r.Iterations, r.Proximal, r.Refinements
	switch s.Status {
	case Optimal, IterationLimit:
		s.Z = append(s.Z[:0], a.z...)
		s.Lambda, s.Nu = dense.Zeros(s.Lambda, a.m), dense.Zeros(s.Nu, a.rows-a.m)
		inRange := dense.Finite(s.Residual.Relative) && dense.Finite(s.Residual.Primal) && dense.Finite(s.Objective)
		for i, r := range a.w {
			v := a.lam[i] * a.scale[r]
			inRange = inRange && dense.Finite(v) && (math.Abs(v) >= dense.SmallestNormal || a.lam[i] == 0)
			out, at := a.placeOut(s.Lambda, s.Nu, r)
			out[at] = v + 0 // no -0
		}
		if !inRange {
			return s.outOfRange()
		}
		if s.Status == Optimal {
			return nil
		}
		return fmt.Errorf("qpdiff: stopped with a relative KKT residual of %.3g (%w): scale rows and variables alike, or remove rows that nearly repeat others", s.Residual.Relative, ErrIterationLimit)
	case Nonconvex:
		if !dense.Finite(s.Certificate.Residual) {
			return s.outOfRange()
		}
		a.loaded = false
		return errNonconvexQP
	}
	s.Residual, s.Objective = KKTResidual{}, 0
	if c := &s.Certificate; !dense.Finite(c.Residual) || !dense.AllFinite(c.Z) || !dense.AllFinite(c.Lambda) || !dense.AllFinite(c.Nu) {
		return s.outOfRange()
	}
	if s.Status == Infeasible {
		return errInfeasibleQP
	}
	return errUnboundedQP
}

// outOfRange empties the Solution, because its numbers do not solve the program, and returns the
// error.
func (s *Solution) outOfRange() error {
	s.Reset()
	s.Status = IterationLimit
	return errOutOfRangeQP
}
