package qpdiff

import "cvgm/qpdiff/internal/dense"

// This file holds the tolerances and caps of the solver and of the derivatives, each with its
// decision and, if it is more than the rounding of that decision, with its reason.
// qp_tolerance_test.go pins the tolerances that decide a row or a status. Users set
// Solution.Tol only, whose default is defaultTol. internal/dense/complementarity.go decides
// strict complementarity.

// Limits of a program's data.
const (
	// asymmetry bounds the difference of entries (i, j) and (j, i) of Q, relative to them and to
	// √(Q_ii Q_jj). It leaves room for the rounding of a product such as XᵀX, which is relative to
	// that root.
	asymmetry = 1e-13

	// safeSquares: above it, and below its inverse, a sum of squares has lost
	// nothing to underflow or overflow.
	safeSquares = 1e-280
	// smallestRow is the least size of a row, and its inverse is the largest. The row's multiplier
	// still has room for 38 decades.
	smallestRow = 1e-270
)

// The working set.
const (
	// pivotTol decides when Q counts as only semidefinite: a pivot, or the
	// smallest eigenvalue after scaling to a unit diagonal, below it.
	pivotTol = 1e-11
	// convexTol bounds the depth below zero of Q's eigenvalues by rounding, after
	// scaling to a unit diagonal.
	convexTol = 1e-12
	// feasTol is the violation, relative to the size of the terms, from which
	// a row counts as violated.
	feasTol = 1e-13
	// dependTol: a row counts as dependent on the working set if the
	// remainder of m_r after projection is below this fraction of its norm.
	dependTol = 1e-9
	// noneLeft: a remainder of m_r below this fraction is rounding error. Such a row is not used
	// even if no other row helps.
	noneLeft = 1e-13
	// blockTol: an entry of the combination of rows below this fraction of the
	// largest is its rounding error, and does not drive a multiplier to zero.
	blockTol = 1e-14
	// roundings bounds the error of the sum that decides whether a row is violated, in rounding
	// errors of its largest term.
	roundings = 8
	// enterFraction: a block takes in the rows violated by at least this
	// fraction of the largest violation. All of them at once would be too many:
	// most have to leave again. One by one, such rows are watched between two looks at
	// all rows: with more of them watching costs more than the looks that it saves.
	enterFraction = 0.5
	// guessSweeps bounds the sweeps of coordinate descent before the method
	// itself.
	guessSweeps = 30
	// quietSweeps is the number of sweeps that leave no bound and reach none after which no
	// more is tried: the method itself corrects a wrong guess.
	quietSweeps = 4
)

// The solve.
const (
	// minChanges and changesPerRow make the default of [Solution.MaxIter]. The method is
	// finite; if it takes more changes than a hundred for each row, rounding makes it cycle.
	minChanges    = 1000
	changesPerRow = 100
	// hopelessChanges limits MaxIter to so many times its default. A solve that takes more cycles.
	hopelessChanges = 100
	// safePivot is a pivot, for a unit diagonal, above which it is clearly above pivotTol. Then
	// no estimate of the smallest eigenvalue is needed, which costs as much as a solve.
	safePivot = 1e-2
	// maxProximal bounds the number of proximal steps.
	maxProximal = 100
	// stalledProximal and stalledDefinite are the numbers of steps that do not
	// halve the residual after which there is no more to gain: proximal steps
	// may leave it for some time, but recentring a definite program gains at once or
	// not at all.
	stalledProximal = 10
	stalledDefinite = 3
	// stalledOwn is the number of steps that do not halve the residual of a variable
	// among its own terms after which it is rounding of the terms of others, or Q is
	// so flat that only a weaker proximal term helps.
	stalledOwn = 3
	// maxWeaker limits how often the proximal term is made a hundred times weaker while the steps
	// are stuck. From shiftQuadratic it then reaches the rounding of Q.
	maxWeaker = 3
	// proximalPatience is the number of steps with the same proximal term.
	proximalPatience = 15
)

// The proximal term and the factors of the working set.
const (
	// cancelled is the part of a squared norm below which projection has subtracted so much
	// that the rounding of the projection counts: half of the norm.
	cancelled = .25

	// safeNorm: the squares of a norm between it and its reciprocal neither underflow
	// nor overflow.
	safeNorm = 1e-150

	// shiftQuadratic and shiftLinear weigh the proximal term against the entries of Q, and
	// against the linear term over the size of z that the bounds of the rows give, in the units
	// of the variables. The term is weak enough that a step or two reach the solution, and
	// strong enough that the factor keeps half its digits. A decade more or less changes the
	// number of steps only: the residual decides.
	shiftQuadratic = 1e-7
	shiftLinear    = 1e-6
)

// Scaling.
const (
	// openBound: a bound beyond this multiple of the usual ones represents infinity, and does
	// not make the proximal term weaker. Smaller multiples are common in one problem.
	openBound = 1e6
	// ruizSweeps is the number of passes of equilibrate. The distance from unit rows and
	// columns halves with each. The scale is used for the proximal term, for which a factor of
	// two does not matter.
	ruizSweeps = 10

	// geometricSweeps bounds the sweeps of geometricScale, which stop earlier if no entry of E
	// changes by more than geometricStep, in powers of two. An error of some powers does not
	// matter to the passes that follow.
	geometricSweeps = 200
	geometricStep   = .1
	// tinyEntry is the number of powers of two, after scaling, by which a negligible entry is
	// smaller than others of its row and of its column: then it is the rounding of a rounding
	// error.
	tinyEntry = 53
	// tiniest is the part of the largest such number from which an entry is left out at once.
	tiniest = .75

	// suspectEntry is the number of powers of two, in the scales that all rows give, by which
	// the largest entry of a row exceeds the others before the row is examined: in two rows of
	// two variables these scales hide three quarters of the tinyEntry that decides.
	suspectEntry = tinyEntry / 5
	// clearUnits is the number of powers of two by which the entries of rows, and of P, may
	// differ in the scales that they give: rows that differ by more do not agree on the units.
	clearUnits = 20

	// staleSize bounds the ratio of the sizes of P and of the bounds to the sizes for which the
	// weight of the proximal term was chosen. Within three orders of magnitude the steps
	// converge as well. With far too weak a term, or from a centre far too large, the steps end
	// so far away that P is lost in the rounding of Qz. With far too strong a term there are
	// more steps than allowed.
	staleSize = 1e3
)

// Residuals and their refinement.
const (
	// underflow is the size below which rounding errors underflow.
	underflow = dense.SmallestNormal / dense.Eps

	// looseTol is the violation of a row, relative to the terms of that row, that is
	// worth one correction: rows of small variables beside large ones lose digits
	// that the size of z does not show, and one correction brings them back.
	looseTol = 1e-12

	// refined is the relative residual below which no correction is worth while.
	refined = 1e-14
	// converged is the relative residual at which no further proximal step is
	// taken. It leaves room above [refined] for the working set's condition;
	// less of it costs steps only.
	converged = 1e-13
	// hiddenTol bounds, as a share of its own terms, an entry of the gradient or a violation of a
	// row that is above [converged] in the units of the equilibrated program. It is a decade above
	// defaultTol. A unit that comes from an inactive row may hide the whole entry.
	hiddenTol = 10 * defaultTol
	// defaultTol is Solution.Tol's default: half the digits, for problems whose
	// condition leaves no more.
	defaultTol = 1e-9
)

// Certificates.
const (
	// rayTol bounds ρ, the combination of rows that proves infeasibility, in rounding errors: eps
	// times the largest term of ρ. The factors of the working set leave some tens. A combination of
	// independent rows leaves far more, and then some point far away meets them.
	rayTol = 128
	// rayNoise is the size below which a multiplier counts as 0, in rounding errors of the largest
	// multiplier of rows of norm 1 in the metric of the factor. In other units of the variables
	// such a multiplier might be large. Below rayTol there is room for a dozen of them.
	rayNoise = 8
	// rayGain is the least distance below zero of the bound of that combination, as a fraction of
	// the terms of the bound: ten thousand of their rounding errors.
	rayGain = 1e-12

	// unboundedTol bounds the distance of a direction, relative to the size of the
	// terms, from Qd = 0, Gd ≤ 0 and Ad = 0.
	unboundedTol = 1e-13
	// slopeTol is the least fall of the objective along that direction, relative to p. It is a
	// multiple of the direction's violations, or of eps if they are smaller. It lies four decades
	// above the cost of repairing the violations.
	slopeTol = 1e4
	// flatTol bounds the curvature of a direction that counts as flat, relative to its size and
	// to Q, and its product with a row that it counts as parallel to.
	flatTol = 1e-10
)

// Strict complementarity.
const (
	// weakCond is the condition from which an error names the condition as its reason: rounding
	// hides too much of slacks and multipliers then.
	weakCond = dense.HiddenTol / (dense.ComplementarityTol * dense.Eps)
)

// Derivatives by the factors of the working set.
const (
	// slowTol is the residual of a derivative above which its corrections with the
	// shifted factor count as too slow: Q is flat next to the proximal term there.
	// Rounding leaves up to 1e-13.
	slowTol = 1e-12

	// noisyTol is the residual of an entry beside its own terms above which the shifted
	// factor counts as unfit: the proximal term has the units of one equilibration, and the
	// cotangents of variables and multipliers may have any.
	noisyTol = 1e-9

	// noiseTol bounds the rounding error of a residual, relative to the terms of the solution
	// itself. Above it, corrections continue until two in a row do not halve the residual. The
	// proximal term is far larger than these terms, and its rounding vanishes only when the
	// rows are met to the last bit. Sums of many terms may leave one rounding for each.
	noiseTol = 4 * refined

	// maxCorrections bounds the corrections of a derivative. Each has to halve the residual.
	// From the largest float64 down to rounding that takes a thousand; if they are so slow,
	// slowTol gives up long before.
	maxCorrections = 100
)

// Derivatives by eigenvalues.
const (
	// singularTol: singular values of C below this fraction of the largest are zero, and so are
	// eigenvalues of H on the null space of C below this fraction of the norm of H.
	singularTol = 1e-11

	// equilibrations is the number of passes of Ruiz (2001); each halves the
	// decades by which rows differ.
	equilibrations = 10

	// projectorTol: entries of a projector below it are rounding, which leaves some eps of
	// the largest, 1, divided by the gap to the singular values that are not zero.
	projectorTol = 1e-12

	// rangeTol: a vector lies in a range if its part outside is below this fraction of it.
	rangeTol = 1e-8
)

// Convex programs.
const (
	// defaultPointTol is the zero value's [ConvexProgram.Tol]: first-order solvers seldom
	// end closer.
	defaultPointTol = 1e-8
)
