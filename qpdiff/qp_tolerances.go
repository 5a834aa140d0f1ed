package qpdiff

import "cvgm/qpdiff/internal/dense"

// This file holds the tolerances and caps of the solver and of the derivatives. Each has its
// decision and, if it is more than the rounding of that decision, its reason. qp_tolerance_test.go
// pins the tolerances that decide a row or a status. Users set only Solution.Tol, whose default is
// defaultTol. internal/dense/complementarity.go decides strict complementarity.

// Limits of a program's data.
const (
	// asymmetry bounds the difference of entries (i, j) and (j, i) of Q, relative to them and to
	// √(Q_ii Q_jj). It covers the rounding of a product such as XᵀX, which is relative to that
	// root.
	asymmetry = 1e-13

	// safeSquares bounds sums of squares: above it, and below its inverse, they have lost nothing
	// to underflow or overflow.
	safeSquares = 1e-280
	// smallestRow is the smallest size of a row, and its inverse is the largest. There remain 38
	// decades for the row's multiplier.
	smallestRow = 1e-270
)

// The working set.
const (
	// pivotTol: Q counts as only semidefinite if a pivot, or the smallest eigenvalue after scaling
	// to a unit diagonal, is below it.
	pivotTol = 1e-11
	// convexTol bounds how far below zero rounding can move Q's eigenvalues, after scaling to a
	// unit diagonal.
	convexTol = 1e-12
	// feasTol is a violation relative to the size of the terms. Larger ones count as violated rows.
	feasTol = 1e-13
	// dependTol: a row counts as dependent on the working set if the
	// remainder of m_r after projection is below this fraction of its norm.
	dependTol = 1e-9
	// noneLeft: a remainder of m_r below this fraction counts as rounding error. Such a row is not
	// used, even if no other row helps.
	noneLeft = 1e-13
	// blockTol: an entry of the combination of rows counts as rounding error below this fraction of
	// the largest entry. It then does not drive a multiplier to zero.
	blockTol = 1e-14
	// roundings bounds the error of the sum that decides whether a row is violated, in units of the
	// rounding error of its largest term.
	roundings = 8
	// enterFraction: in a block, the rows violated by at least this fraction of the largest
	// violation enter. All rows at once would be too many, because most have to leave again. One by
	// one, such rows are watched between two computations of all rows. If there are more of them,
	// watching costs more than it saves.
	enterFraction = 0.5
	// guessSweeps bounds the sweeps of coordinate descent before the method
	// itself.
	guessSweeps = 30
	// quietSweeps is the number of successive sweeps without a bound left or reached after which
	// the sweeps end. The method itself corrects a wrong guess.
	quietSweeps = 4
)

// The solve.
const (
	// minChanges and changesPerRow make the default of [Solution.MaxIter]. The method is finite. If
	// it takes more than a hundred changes for each row, it cycles because of rounding.
	minChanges    = 1000
	changesPerRow = 100
	// hopelessChanges limits MaxIter to this multiple of its default. A solve that takes more
	// cycles.
	hopelessChanges = 100
	// safePivot is a pivot, for a unit diagonal, that is clearly above pivotTol. Above it the
	// smallest eigenvalue need not be estimated, which costs as much as a solve.
	safePivot = 1e-2
	// maxProximal bounds the number of proximal steps.
	maxProximal = 100
	// stalledProximal and stalledDefinite are numbers of steps that do not halve the residual.
	// After that many nothing more can be gained. Proximal steps may leave the residual unchanged
	// for some time, but recentring a definite program gains at once or not at all.
	stalledProximal = 10
	stalledDefinite = 3
	// stalledOwn is the number of steps without halving a variable's residual among its own terms
	// after which the steps end. The residual is then rounding of other terms, or Q is so flat that
	// only a weaker proximal term helps.
	stalledOwn = 3
	// maxWeaker limits how often the proximal term is made a hundred times weaker while the steps
	// are stuck. Starting at shiftQuadratic, it then reaches the rounding of Q.
	maxWeaker = 3
	// proximalPatience is the number of steps with the same proximal term.
	proximalPatience = 15
)

// The proximal term and the factors of the working set.
const (
	// cancelled: if less than this part of a squared norm (half of the norm) remains after
	// projection, its rounding matters.
	cancelled = .25

	// safeNorm bounds norms: between it and its reciprocal, squares neither underflow nor overflow.
	safeNorm = 1e-150

	// shiftQuadratic is the weight of the proximal term relative to the entries of Q. shiftLinear
	// is its weight relative to the size of the linear term over the size of z. The bounds of the
	// rows give the size of z. The term is so weak that one or two steps reach the solution, and so
	// strong that the factor keeps half its digits. A decade more or less changes only the number
	// of steps, because the residual decides.
	shiftQuadratic = 1e-7
	shiftLinear    = 1e-6
)

// Scaling.
const (
	// openBound is a multiple of the usual bounds. A larger bound represents infinity, and does not
	// make the proximal term weaker. Smaller multiples are common in one problem.
	openBound = 1e6
	// ruizSweeps is the number of passes of equilibrate. Each halves the distance from unit rows
	// and columns. The scale is used for the proximal term, for which a factor of two does not
	// matter.
	ruizSweeps = 10

	// geometricSweeps bounds the sweeps of geometricScale. They stop earlier if no entry of E
	// changes by more than geometricStep, in powers of two. An error of a few powers does not
	// matter to the following passes.
	geometricSweeps = 200
	geometricStep   = .1
	// tinyEntry: an entry is negligible if it is this many powers of two, after scaling, below
	// others of its row and of its column. It is then the rounding of a rounding error.
	tinyEntry = 53
	// tiniest: entries are removed at once from this part of the largest such number on.
	tiniest = .75

	// suspectEntry: a row is examined if its largest entry exceeds the others by this many powers
	// of two, in the scales that all rows give. For two rows of two variables, these scales hide
	// three quarters of tinyEntry, which decides.
	suspectEntry = tinyEntry / 5
	// clearUnits: the rows do not agree on the units if their entries, or the entries of P, differ
	// by more than this many powers of two in the scales that the rows give.
	clearUnits = 20

	// staleSize bounds how far the sizes of P and of the bounds may change, as a ratio, after the
	// weight of the proximal term was chosen. Within three orders of magnitude the steps converge
	// equally well. With far too weak a term, or from a centre far too large, the steps end so far
	// away that P is lost in the rounding of Qz. With far too strong a term there are more steps
	// than allowed.
	staleSize = 1e3
)

// Residuals and their refinement.
const (
	// underflow is the size below which rounding errors underflow.
	underflow = dense.SmallestNormal / dense.Eps

	// looseTol is a violation of a row, relative to the row's terms. A larger one is worth one
	// correction: rows of small variables lose digits next to large ones, which the size of z does
	// not show, and one correction recovers them.
	looseTol = 1e-12

	// refined is the relative residual below which no correction is worth while.
	refined = 1e-14
	// converged is the relative residual below which the proximal steps end. It leaves room above
	// [refined] for the working set's condition. A smaller value would only cost steps.
	converged = 1e-13
	// hiddenTol bounds an entry of the gradient, or a violation of a row, as a share of its own
	// terms. It applies to those above [converged] in the units of the equilibrated program. It is
	// a decade above defaultTol. A unit from an inactive row may hide the whole entry.
	hiddenTol = 10 * defaultTol
	// defaultTol is the default of Solution.Tol: half the digits, for problems whose condition
	// leaves no more.
	defaultTol = 1e-9
)

// Certificates.
const (
	// rayTol bounds ρ, the combination of rows that proves infeasibility, in rounding errors: eps
	// times the largest term of ρ. The factors of the working set leave some tens. A combination of
	// independent rows leaves far more, and some point far away then satisfies them.
	rayTol = 128
	// rayNoise is a size of a multiplier, in rounding errors of the largest multiplier of rows of
	// norm 1 in the metric of the factor. A smaller one counts as 0, because it might be large in
	// other units of the variables. A dozen of them fit below rayTol.
	rayNoise = 8
	// rayGain is the smallest distance of that combination's bound below zero, as a fraction of the
	// bound's terms: ten thousand of their rounding errors.
	rayGain = 1e-12

	// unboundedTol bounds the violation of Qd = 0, Gd ≤ 0 and Ad = 0 by a direction d, relative to
	// the size of the terms.
	unboundedTol = 1e-13
	// slopeTol is the smallest fall of the objective along that direction, relative to p. It is a
	// multiple of the direction's violations, or of eps if they are smaller. It is four decades
	// above the cost of repairing the violations.
	slopeTol = 1e4
	// flatTol bounds the curvature of a direction that counts as flat, relative to its size and to
	// Q. It also bounds the direction's product with a row that counts as parallel.
	flatTol = 1e-10
)

// Strict complementarity.
const (
	// weakCond is a condition. Above it, rounding hides too much of slacks and multipliers, and an
	// error names the condition as its reason.
	weakCond = dense.HiddenTol / (dense.ComplementarityTol * dense.Eps)
)

// Derivatives by the factors of the working set.
const (
	// slowTol is a residual of a derivative. Above it, the derivative's corrections with the
	// shifted factor count as too slow, because Q is flat compared with the proximal term. Rounding
	// leaves up to 1e-13.
	slowTol = 1e-12

	// noisyTol is a residual of an entry relative to its own terms. Above it the shifted factor
	// counts as unfit: the proximal term has the units of one equilibration, and the cotangents of
	// variables and multipliers may have any.
	noisyTol = 1e-9

	// noiseTol bounds the rounding error of a residual, relative to the terms of the solution
	// itself. Above it, corrections continue until two in a row do not halve the residual. The
	// proximal term is far larger than these terms, and its rounding vanishes only when the rows
	// are satisfied to the last bit. Sums of many terms may leave one rounding for each.
	noiseTol = 4 * refined

	// maxCorrections bounds the corrections of a derivative. Each has to halve the residual. From
	// the largest float64 down to rounding that takes a thousand. If they are that slow, slowTol
	// ends them long before.
	maxCorrections = 100
)

// Derivatives by eigenvalues.
const (
	// singularTol: singular values of C below this fraction of the largest one count as zero. So do
	// eigenvalues of H on the null space of C below this fraction of the norm of H.
	singularTol = 1e-11

	// equilibrations is the number of passes of Ruiz (2001); each halves the
	// decades by which rows differ.
	equilibrations = 10

	// projectorTol: smaller entries of a projector count as rounding errors. These are some eps of
	// the largest entry, 1, divided by the gap to the singular values that are not zero.
	projectorTol = 1e-12

	// rangeTol: a vector lies in a range if its part outside is below this fraction of the vector.
	rangeTol = 1e-8
)

// Convex programs.
const (
	// defaultPointTol is the zero value's [ConvexProgram.Tol]: first-order solvers seldom
	// end closer.
	defaultPointTol = 1e-8
)
