package qpdiff

import "cvgm/qpdiff/internal/dense"

// This file holds the tolerances and caps of the solver and of the derivatives. The comment of each
// names the decision that it controls. If the value is larger than the rounding error of this
// decision, the comment gives the reason. qp_tolerance_test.go fixes the tolerances that decide a
// row or a status. Users set only Solution.Tol, whose default is defaultTol.
// internal/dense/complementarity.go decides strict complementarity.

// Limits of a program's data.
const (
	// asymmetry bounds the difference of entries (i, j) and (j, i) of Q, relative to these entries
	// and to √(Q_ii Q_jj). It covers the rounding of a product such as XᵀX. The rounding error of
	// its entries is relative to this root.
	asymmetry = 1e-13

	// safeSquares bounds sums of squares. A sum between 1/safeSquares and safeSquares has lost
	// nothing to underflow or overflow.
	safeSquares = 1e-280
	// smallestRow is the smallest size of a row, and its inverse is the largest size. This leaves
	// 38 decades for the row's multiplier.
	smallestRow = 1e-270
)

// The working set.
const (
	// pivotTol bounds pivots, and the smallest eigenvalue of Q after scaling to a unit diagonal. If
	// one of them is below pivotTol, Q counts as only semidefinite.
	pivotTol = 1e-11
	// convexTol bounds how far below zero rounding can move Q's eigenvalues, after scaling to a
	// unit diagonal.
	convexTol = 1e-12
	// feasTol is a violation of a row, relative to the size of the row's terms. A row with a larger
	// violation counts as violated.
	feasTol = 1e-13
	// dependTol is a fraction of the norm of m_r. If the remainder of m_r after projection is
	// smaller, row r counts as dependent on the working set.
	dependTol = 1e-9
	// noneLeft is a fraction of the norm of m_r. A smaller remainder counts as rounding error. A
	// row with such a remainder is not used, even if no other row helps.
	noneLeft = 1e-13
	// blockTol is a fraction of the largest entry of the combination of rows. A smaller entry
	// counts as rounding error, and does not drive a multiplier to zero.
	blockTol = 1e-14
	// roundings bounds the error of the sum that decides whether a row is violated, in units of the
	// rounding error of its largest term.
	roundings = 8
	// enterFraction selects the rows that enter in a block: their violation is at least this
	// fraction of the largest violation. If all violated rows entered at once, most would have to
	// leave again. When rows enter one by one, the same rows are watched between two computations
	// of all rows. If more rows are watched, watching costs more than it saves.
	enterFraction = 0.5
	// guessSweeps bounds the sweeps of coordinate descent before the method
	// itself.
	guessSweeps = 30
	// quietSweeps ends the sweeps of guessBounds: after this number of sweeps in a row, no variable
	// left or reached a bound. The method itself corrects a wrong guess.
	quietSweeps = 4
)

// The solve.
const (
	// minChanges + changesPerRow·(variables + rows) is the default of [Solution.MaxIter]. The
	// method is finite. If it takes more than a hundred changes for each row, it cycles because of
	// rounding.
	minChanges    = 1000
	changesPerRow = 100
	// hopelessChanges limits MaxIter to this multiple of the default. A solve that takes more
	// changes is cycling.
	hopelessChanges = 100
	// safePivot is a pivot, for a unit diagonal, that is clearly above pivotTol. If all pivots are
	// larger, the smallest eigenvalue need not be estimated. The estimate costs as much as a solve.
	safePivot = 1e-2
	// maxProximal bounds the number of proximal steps.
	maxProximal = 100
	// stalledProximal and stalledDefinite are numbers of steps in a row that do not halve the
	// residual. After them, nothing more can be gained. Proximal steps may leave the residual
	// unchanged for some time, but recentring a definite program gains at once or not at all.
	stalledProximal = 10
	stalledDefinite = 3
	// stalledOwn ends the steps after this number of steps that do not halve a variable's residual
	// among its own terms. The residual is then the rounding error of other terms, or Q is so flat
	// that only a weaker proximal term helps.
	stalledOwn = 3
	// maxWeaker limits how often the proximal term is made a hundred times weaker while the steps
	// make no progress. Starting at shiftQuadratic, its weight then reaches the rounding error of
	// Q.
	maxWeaker = 3
	// proximalPatience is the number of steps with the same proximal term.
	proximalPatience = 15
)

// The proximal term and the factors of the working set.
const (
	// cancelled is a fraction of a squared norm, and means half of the norm. If less remains after
	// projection, the rounding error of the remainder matters.
	cancelled = .25

	// safeNorm bounds norms: between it and its reciprocal, squares neither underflow nor overflow.
	safeNorm = 1e-150

	// shiftQuadratic is the weight of the proximal term relative to the entries of Q. shiftLinear
	// is its weight relative to the size of the linear term over the size of z. The bounds of the
	// rows give the size of z. The proximal term is weak enough for one or two steps to reach the
	// solution, and strong enough for the factor to keep half its digits. A weight ten times larger
	// or smaller changes only the number of steps, because the residual decides when they end.
	shiftQuadratic = 1e-7
	shiftLinear    = 1e-6
)

// Scaling.
const (
	// openBound is a multiple of the usual size of bounds. A bound larger than this multiple
	// represents infinity, and does not make the proximal term weaker. One problem often has bounds
	// that differ by smaller factors.
	openBound = 1e6
	// ruizSweeps is the number of passes of equilibrate. Each pass halves the distance of rows and
	// columns from norm one. The scale serves the proximal term, for which a factor of two does not
	// matter.
	ruizSweeps = 10

	// geometricSweeps bounds the sweeps of geometricScale. They stop earlier if no entry of E
	// changes by more than a factor of 2^geometricStep. The following passes correct an error of a
	// few powers of two.
	geometricSweeps = 200
	geometricStep   = .1
	// tinyEntry is a number of powers of two. An entry is negligible if, after scaling, it is that
	// far below other entries of its row and of its column. It is then the rounding error of a
	// rounding error.
	tinyEntry = 53
	// tiniest is a part of the largest number of powers of two by which an entry is tiny. All
	// entries from this part on are removed at once.
	tiniest = .75

	// suspectEntry is a number of powers of two, in the scales that all rows give. A row is
	// examined if its largest entry exceeds its other entries by more. For two rows of two
	// variables, these scales hide three quarters of tinyEntry, which then decides.
	suspectEntry = tinyEntry / 5
	// clearUnits is a number of powers of two, in the scales that the rows give. If the entries of
	// the rows, or the entries of P, differ by more, the rows do not agree on the units.
	clearUnits = 20

	// staleSize bounds the ratio by which the sizes of P and of the bounds may change after the
	// weight of the proximal term was chosen. Changes within three orders of magnitude do not slow
	// down the steps. If the term is far too weak, or the centre far too large, the steps end so
	// far away that P is lost in the rounding of Qz. If the term is far too strong, more steps are
	// needed than allowed.
	staleSize = 1e3
)

// Residuals and their refinement.
const (
	// underflow is the size below which rounding errors underflow.
	underflow = dense.SmallestNormal / dense.Eps

	// looseTol is a violation of a row, relative to the row's terms. A larger violation is worth
	// one correction. Rows of small variables lose digits next to rows of large variables, which a
	// comparison with the size of z does not show. One correction recovers these digits.
	looseTol = 1e-12

	// refined is the relative residual below which no correction is worth while.
	refined = 1e-14
	// converged is the relative residual below which the proximal steps end. It leaves room above
	// [refined] for the working set's condition. A smaller value would cost more steps without any
	// benefit.
	converged = 1e-13
	// hiddenTol bounds an entry of the gradient, or a violation of a row, as a share of its own
	// terms. It applies to entries and violations above [converged] in the units of the
	// equilibrated program. It is ten times defaultTol. The bound is needed because a unit that
	// comes from an inactive row may hide the whole entry.
	hiddenTol = 10 * defaultTol
	// defaultTol is the default of Solution.Tol. It asks for half the digits, because the condition
	// of some problems leaves no more.
	defaultTol = 1e-9
)

// Certificates.
const (
	// rayTol bounds ρ, the combination of rows that proves infeasibility, in rounding errors: eps
	// times the largest term of ρ. The factors of the working set leave some tens of these errors.
	// For independent rows, ρ is far larger, and some point far away satisfies the rows.
	rayTol = 128
	// rayNoise is a size of a multiplier, in rounding errors of the largest multiplier of rows of
	// norm 1 in the metric of the factor. A smaller multiplier counts as 0, because it might be
	// large in other units of the variables. A dozen such multipliers fit below rayTol.
	rayNoise = 8
	// rayGain is the smallest distance below zero of the bound β of that combination, as a fraction
	// of the terms of β. It is ten thousand of their rounding errors.
	rayGain = 1e-12

	// unboundedTol bounds the violation of Qd = 0, Gd ≤ 0 and Ad = 0 by a direction d, relative to
	// the size of the terms.
	unboundedTol = 1e-13
	// slopeTol is the smallest fall of the objective along that direction, relative to p, as a
	// multiple of the direction's violations. If the violations are below eps, it is a multiple of
	// eps. It is four decades above the cost of repairing the violations.
	slopeTol = 1e4
	// flatTol bounds the curvature of a direction that counts as flat, relative to the sizes of the
	// direction and of Q. It also bounds the product of the direction with a row that counts as
	// parallel to it.
	flatTol = 1e-10
	// farTol is a share of the terms of Qz. A side is far if the slope of the objective is a smaller
	// share of the terms where z meets the side. It is a hundred times [converged], which leaves two
	// digits of P in the gradient at sides that are not far.
	farTol = 100 * converged
)

// Strict complementarity.
const (
	// weakCond is a condition number. Above it, rounding hides too much of slacks and multipliers,
	// and the error names the condition as its reason.
	weakCond = dense.HiddenTol / (dense.ComplementarityTol * dense.Eps)
)

// Derivatives by the factors of the working set.
const (
	// slowTol is a residual of a derivative. If the residual stays above it, corrections with the
	// shifted factor count as too slow. They are slow if Q is flat compared with the proximal term.
	// Rounding leaves residuals up to 1e-13.
	slowTol = 1e-12

	// noisyTol is a residual of an entry relative to its own terms. If the residual is larger, the
	// shifted factor counts as unfit. The proximal term has the units of one equilibration, but the
	// cotangents of variables and multipliers may have any units.
	noisyTol = 1e-9

	// noiseTol bounds the rounding error of a residual, relative to the terms of the solution
	// itself. Above it, corrections continue until two in a row do not halve the residual. The
	// proximal term is far larger than these terms, and its rounding error vanishes only when the
	// rows are satisfied to the last bit. A sum of many terms may leave one rounding error for each
	// term.
	noiseTol = 4 * refined

	// maxCorrections bounds the number of corrections of a derivative. Each correction must halve
	// the residual. Halving the largest float64 down to rounding takes a thousand corrections. If
	// corrections are that slow, slowTol ends them long before.
	maxCorrections = 100
)

// Derivatives by eigenvalues.
const (
	// singularTol is a fraction. Singular values of C below this fraction of the largest one count
	// as zero. Eigenvalues of H on the null space of C count as zero below this fraction of the
	// norm of H.
	singularTol = 1e-11

	// equilibrations is the number of passes of Ruiz (2001). Each pass halves the number of decades
	// by which rows differ.
	equilibrations = 10

	// projectorTol is the size of an entry of a projector. Smaller entries count as rounding
	// errors. Rounding errors are some eps of the largest entry, 1, divided by the gap to the
	// singular values that are not zero.
	projectorTol = 1e-12

	// rangeTol is a fraction of a vector. The vector lies in a range if its part outside the range
	// is smaller.
	rangeTol = 1e-8
)

// Convex programs.
const (
	// defaultPointTol is the zero value's [ConvexProgram.Tol]: first-order solvers seldom
	// end closer.
	defaultPointTol = 1e-8
)
