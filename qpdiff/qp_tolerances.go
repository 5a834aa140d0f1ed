package qpdiff

import "cvgm/qpdiff/internal/dense"

// This file holds the tolerances and caps of the solver and of the derivatives. The comment of a
// tolerance describes the decision that the tolerance controls. If the tolerance is larger than the
// rounding error of this decision, the comment gives a reason. qp_tolerance_test.go fixes the
// tolerances that decide a row or a status. Users set only Solution.Tol, whose default is
// defaultTol. internal/dense/complementarity.go decides strict complementarity.

// Limits of a program's data.
const (
	// asymmetry bounds |Q_ij − Q_ji|, relative to the largest of |Q_ij|, |Q_ji| and √(Q_ii Q_jj).
	// It covers the rounding of a product such as XᵀX, whose entry (i, j) has rounding errors
	// relative to √(Q_ii Q_jj).
	asymmetry = 1e-13

	// safeSquares bounds sums of squares. A sum between 1/safeSquares and safeSquares has lost
	// nothing to underflow or overflow.
	safeSquares = 1e-280
	// smallestRow is the smallest allowed size of a row, and 1/smallestRow is the largest allowed
	// size. float64 then has 38 decades left for the row's multiplier.
	smallestRow = 1e-270
)

// The working set.
const (
	// pivotTol is the smallest pivot, and the smallest eigenvalue, of a Q that counts as positive
	// definite. Q is first scaled to a unit diagonal. A Q with a smaller pivot or eigenvalue counts
	// as only semidefinite.
	pivotTol = 1e-11
	// convexTol bounds how far below zero rounding can move Q's eigenvalues, after scaling to a
	// unit diagonal.
	convexTol = 1e-12
	// feasTol is the largest violation of a satisfied row, relative to the size of the row's terms.
	feasTol = 1e-13
	// dependTol decides whether row r depends on the working set. It does if projection leaves less
	// than dependTol·‖m_r‖ of m_r.
	dependTol = 1e-9
	// noneLeft is a fraction of ‖m_r‖. If the remainder of m_r after projection is smaller, it
	// counts as rounding error, and the row is never used, even if no other row helps.
	noneLeft = 1e-13
	// blockTol is a fraction of the largest entry of the combination of rows. Smaller entries of
	// the combination count as rounding errors. The multipliers of their rows do not limit a step.
	blockTol = 1e-14
	// A sum decides whether a row is violated. roundings bounds the error of this sum, in units of
	// the rounding error of the sum's largest term.
	roundings = 8
	// enterFraction selects the violated rows that enter in a block. Their violation is at least
	// this fraction of the largest violation. If all violated rows entered at once, most would have
	// to leave again. The method that lets rows enter one by one watches the same rows until it
	// computes all slacks again. A smaller fraction would watch more rows, which costs more than it
	// saves.
	enterFraction = 0.5
	// guessSweeps bounds the sweeps of coordinate descent before the method
	// itself.
	guessSweeps = 30
	// quietSweeps is a number of sweeps of guessBounds. The sweeps end if no variable left or
	// reached a bound in the last quietSweeps sweeps. The method itself corrects a wrong guess.
	quietSweeps = 4
)

// The solve.
const (
	// minChanges + changesPerRow·(variables + rows) is the default of [Solution.MaxIter]. The
	// method is finite. If it takes more than a hundred changes for each row, it cycles because of
	// rounding.
	minChanges    = 1000
	changesPerRow = 100
	// hopelessChanges is the largest useful MaxIter, as a multiple of its default. A solve with
	// more changes than this is cycling.
	hopelessChanges = 100
	// safePivot is a pivot of a Q that is scaled to a unit diagonal. It is far above pivotTol. If
	// all pivots exceed safePivot, Q is positive definite, and its smallest eigenvalue need not be
	// estimated. This estimate costs as much as a solve.
	safePivot = 1e-2
	// maxProximal bounds the number of proximal steps.
	maxProximal = 100
	// stalledProximal and stalledDefinite are numbers of consecutive steps that do not halve the
	// residual. After so many steps, more steps gain nothing. stalledProximal applies with a
	// proximal term, because proximal steps may leave the residual unchanged for some time.
	// stalledDefinite applies to a definite program, for which recentring helps at once or not at
	// all.
	stalledProximal = 10
	stalledDefinite = 3
	// stalledOwn is a number of consecutive steps that do not halve the largest ratio of a gradient
	// entry to its own terms. After so many steps, more steps will not reduce the ratio. The entry
	// is then the rounding error of other terms, or Q is so flat that only a weaker proximal term
	// helps.
	stalledOwn = 3
	// maxWeaker bounds how often the proximal term is divided by 100 while the steps make no
	// progress. Three such divisions bring the weight shiftQuadratic down to the rounding error of
	// Q.
	maxWeaker = 3
	// proximalPatience bounds the number of steps with the same proximal term.
	proximalPatience = 15
)

// The proximal term and the factors of the working set.
const (
	// cancelled is a fraction of the squared norm of a vector before its projection. If projection
	// leaves less, the rounding error of the remainder matters. In terms of the norm itself, the
	// fraction is a half.
	cancelled = .25

	// safeNorm and 1/safeNorm are bounds of norms. The square of a norm between these bounds
	// neither underflows nor overflows.
	safeNorm = 1e-150

	// shiftQuadratic and shiftLinear determine the weight of the proximal term. shiftQuadratic is
	// the ratio of the weight to the entries of Q. shiftLinear is the ratio of the weight to a
	// quotient: the size of the linear term divided by the size of z. The bounds of the rows
	// determine this size of z. With these weights one or two steps reach the solution, and the
	// factor keeps half its digits. A weight ten times larger or smaller changes only the number of
	// steps, because the residual decides when they end.
	shiftQuadratic = 1e-7
	shiftLinear    = 1e-6
)

// Scaling.
const (
	// openBound is a multiple of the usual size of the program's bounds. A larger bound represents
	// infinity, and is ignored when the weight of the proximal term is chosen. Real bounds of one
	// problem often differ, but by smaller factors.
	openBound = 1e6
	// ruizSweeps is the number of passes of equilibrate. Each pass halves |log| of the largest
	// entry of a row or column. The scales determine the proximal term, for which a factor of two
	// does not matter.
	ruizSweeps = 10

	// geometricSweeps bounds the sweeps of geometricScale. They stop earlier if no entry of E
	// changes by more than a factor of 2^geometricStep. The passes of Ruiz that follow correct an
	// error of a few powers of two.
	geometricSweeps = 200
	geometricStep   = .1
	// tinyEntry is a number of bits. A scaled entry is negligible if it is 2^tinyEntry times
	// smaller than other entries of its row and also of its column. Such an entry is the rounding
	// error of a rounding error.
	tinyEntry = 53
	// tiniest is a fraction. Each tiny entry is too small by some number of bits. The entries that
	// are removed at once are too small by at least this fraction of the largest such number.
	tiniest = .75

	// suspectEntry is a number of bits, in the scales computed from all rows. A row is examined if
	// its largest entry exceeds its other entries by more than this number. The threshold is far
	// below tinyEntry, because a large entry also changes the scales. With two rows of two
	// variables, these scales hide three quarters of the excess. The examination itself compares
	// the excess with tinyEntry.
	suspectEntry = tinyEntry / 5
	// clearUnits is a number of bits. The rows imply units of the variables only if their scaled
	// entries, and the scaled entries of P, differ by at most this number of bits.
	clearUnits = 20

	// staleSize is a ratio of sizes. If the size of P or of the bounds changes by more than this
	// ratio, the weight of the proximal term is chosen again. Smaller changes do not slow down the
	// steps. With a far too weak term or a far too large centre, the steps end so far away that P
	// is lost in the rounding of Qz. With a far too strong term, the solve needs more steps than
	// are allowed.
	staleSize = 1e3
)

// Residuals and their refinement.
const (
	// underflow is the size below which rounding errors underflow.
	underflow = dense.SmallestNormal / dense.Eps

	// looseTol is a violation of a row, relative to the row's terms. A larger violation is
	// corrected once. Without this correction, rows of small variables would lose digits next to
	// rows of large variables. A comparison with the size of z does not show this loss. One
	// correction recovers the digits.
	looseTol = 1e-12

	// refined is a relative residual. If the residual is smaller, no further correction is worth
	// its cost.
	refined = 1e-14
	// The proximal steps end when the relative residual is below converged. converged is ten times
	// [refined], because a badly conditioned working set prevents smaller residuals. A smaller
	// value would cost more steps without any benefit.
	converged = 1e-13
	// hiddenTol bounds the ratio of a gradient entry, or of a row's violation, to its own terms. It
	// applies to entries and violations above [converged] in the units of the equilibrated program.
	// In these units alone, an entry as large as its own terms may seem small, if its unit comes
	// from an inactive row.
	hiddenTol = 10 * defaultTol
	// defaultTol is the default of Solution.Tol. It corresponds to half the digits of a float64,
	// because badly conditioned problems lose the other half.
	defaultTol = 1e-9
)

// Certificates.
const (
	// rayTol bounds the combination ρ of rows that proves infeasibility. Its unit is one rounding
	// error: eps times the largest term of ρ. With dependent rows, the factors of the working set
	// leave a ρ of some tens of rounding errors. For independent rows, ρ is far larger, and some
	// point far away satisfies the rows.
	rayTol = 128
	// rayNoise is the size below which a multiplier counts as 0. The multipliers are for rows
	// scaled to norm 1 in the metric of the factor. The unit is the rounding error of the largest
	// such multiplier. A small multiplier must not stay in the combination, because it might be
	// large in other units of the variables. A dozen such multipliers fit below rayTol.
	rayNoise = 8
	// rayGain is the smallest −β that proves infeasibility, as a fraction of the terms of β. β is
	// the right-hand side of the combination ρ. rayGain is some ten thousand rounding errors.
	rayGain = 1e-12

	// unboundedTol bounds the violation of Qd = 0, Gd ≤ 0 and Ad = 0 by a direction d, relative to
	// the size of the terms in these conditions.
	unboundedTol = 1e-13
	// slopeTol is the smallest fall of the objective along the direction d, relative to p. Its unit
	// is the violation that unboundedTol bounds, or eps if the violation is smaller. Moving d so
	// that it violates nothing would then cost ten thousand times less than this fall.
	slopeTol = 1e4
	// flatTol bounds the curvature of a flat direction, relative to the sizes of the direction and
	// of Q. It also bounds the product of a direction with a row parallel to it.
	flatTol = 1e-10
	// farTol decides which sides of rows are far away. A side is far if the slope of the objective,
	// at the point at which z meets the side, is less than farTol times the terms of Qz. At sides
	// that are not far, the gradient then keeps two digits of P, because farTol is a hundred times
	// [converged].
	farTol = 100 * converged
)

// Strict complementarity.
const (
	// weakCond bounds the condition number of the KKT system. Above weakCond, rounding hides too
	// many slacks and multipliers, and the error gives the condition as its reason.
	weakCond = dense.HiddenTol / (dense.ComplementarityTol * dense.Eps)
)

// Derivatives by the factors of the working set.
const (
	// slowTol is the largest acceptable residual of a derivative. If the residual stays larger,
	// corrections with the shifted factor are too slow, and the derivative is computed in another
	// way. Corrections are slow if Q is flat compared with the proximal term. Rounding leaves
	// residuals up to 1e-13.
	slowTol = 1e-12

	// noisyTol is the largest acceptable ratio of an entry's residual to its own terms. If the
	// ratio is larger, the shifted factor is not accurate enough. The units of the proximal term
	// come from one equilibration, but the cotangents of variables and multipliers may have any
	// units.
	noisyTol = 1e-9

	// noiseTol bounds the rounding error of a residual, relative to the terms of the solution
	// itself. If the error is larger, corrections continue until two successive corrections do not
	// halve the residual. The error may be large because the proximal term is far larger than the
	// terms of the solution. The rounding error of the proximal term vanishes only when the rows
	// are satisfied to the last bit. A sum of many terms may leave one rounding error for each
	// term.
	noiseTol = 4 * refined

	// maxCorrections bounds the number of corrections of a derivative. Corrections that only halve
	// the residual would need a thousand steps from the largest float64 down to rounding. slowTol
	// ends such slow corrections long before.
	maxCorrections = 100
)

// Derivatives by eigenvalues.
const (
	// singularTol is the fraction below which a singular value or eigenvalue counts as zero. The
	// fraction is relative to the largest singular value of C, or to the norm of H for eigenvalues
	// of H on the null space of C.
	singularTol = 1e-11

	// equilibrations is the number of passes of Ruiz (2001). Each pass halves the number of decades
	// by which rows differ.
	equilibrations = 10

	// projectorTol is the size of a projector's entry below which the entry counts as a rounding
	// error. The largest entry is 1. Rounding errors are a few eps divided by the smallest relative
	// singular value that is not zero.
	projectorTol = 1e-12

	// rangeTol decides whether a vector lies in a range. It does if its part outside the range is
	// smaller than this fraction of the vector.
	rangeTol = 1e-8
)

// Convex programs.
const (
	// defaultPointTol is the default of [ConvexProgram.Tol]. First-order solvers seldom end closer
	// to a solution.
	defaultPointTol = 1e-8
)
