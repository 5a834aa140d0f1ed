package qpdiff

import "cvgm/qpdiff/internal/dense"

// This file holds the tolerances and caps of the solver and of the derivatives. The comment of each
// tolerance describes the decision that the tolerance controls. If a tolerance is larger than the
// rounding error of its decision, its comment gives a reason. The tests in qp_tolerance_test.go
// check the values of the tolerances that affect a status, or which rows are active. Users set only
// Solution.Tol, whose default is defaultTol. Strict complementarity is decided in
// internal/dense/complementarity.go.

// Limits of a program's data.
const (
	// symmetryTol is the largest allowed |Q_ij − Q_ji|, relative to the largest of |Q_ij|, |Q_ji| and
	// √(Q_ii Q_jj). It allows for the rounding of a product such as XᵀX. The rounding errors of entry
	// (i, j) of this product are relative to √(Q_ii Q_jj).
	symmetryTol = 1e-13

	// safeSquares decides whether a sum of squares is reliable. A sum between safeSquares and
	// 1/safeSquares has lost nothing to underflow or overflow.
	safeSquares = 1e-280
	// smallestRow is the smallest allowed size of a row, and 1/smallestRow is the largest. At these
	// sizes, float64 has 38 decades left for the row's multiplier.
	smallestRow = 1e-270
)

// The working set.
const (
	// pivotTol bounds the pivots and eigenvalues of a Q that counts as positive definite: all of them
	// must be above pivotTol, after Q is scaled to a unit diagonal. Otherwise Q counts as only
	// semidefinite.
	pivotTol = 1e-11
	// convexTol bounds how far rounding can move the eigenvalues of Q below zero, after Q is scaled to
	// a unit diagonal.
	convexTol = 1e-12
	// feasTol decides whether a row is satisfied. A row counts as satisfied if its violation is at
	// most feasTol times the size of its terms. A row with a larger violation may enter the working
	// set, and so become active.
	feasTol = 1e-13
	// dependTol decides whether row r depends on the working set. Row r depends on it if the
	// projection of m_r leaves a remainder below dependTol·‖m_r‖.
	dependTol = 1e-9
	// noneLeft decides whether the remainder of m_r after projection is a rounding error. The
	// remainder counts as a rounding error if its norm is below noneLeft·‖m_r‖. Row r then never
	// enters the working set, even if no other row can enter it.
	noneLeft = 1e-13
	// blockTol decides which coefficients of a combination of rows are rounding errors: all below
	// blockTol times the largest coefficient. If a row's coefficient is a rounding error, the row's
	// multiplier does not limit a step.
	blockTol = 1e-14
	// roundingFactor bounds the error of the sum that decides whether a row is violated. The error is
	// at most roundingFactor times the rounding error of the sum's largest term.
	roundingFactor = 8
	// enterFraction selects the violated rows that enter the working set in a block: rows whose
	// violation is at least this fraction of the largest violation. If all violated rows entered at
	// once, most would have to leave again. The method in which rows enter one by one uses the same
	// fraction to select the rows that it watches before it computes all slacks again. A smaller
	// fraction would watch more rows, which costs more than it saves.
	enterFraction = 0.5
	// guessSweeps bounds the sweeps of coordinate descent before the method
	// itself.
	guessSweeps = 30
	// guessBounds stops after quietSweeps sweeps in succession in which no variable left or reached
	// a bound. The solver corrects a wrong guess.
	quietSweeps = 4
)

// The solve.
const (
	// minChanges and changesPerRow determine the default of [Solution.MaxIter], which is minChanges +
	// changesPerRow·(variables + rows). The method is finite. If it takes more than a hundred changes
	// for each row, rounding has made it cycle.
	minChanges    = 1000
	changesPerRow = 100
	// hopelessChanges is the largest useful MaxIter, as a multiple of its default. A solve with
	// more changes than this is cycling.
	hopelessChanges = 100
	// safePivot is a limit for the pivots of Q, after Q is scaled to a unit diagonal. It is far
	// above pivotTol. If all pivots exceed safePivot, Q is positive definite, and the solver need
	// not estimate the smallest eigenvalue of Q. The estimate costs as much as a solve.
	safePivot = 1e-2
	// maxProximal bounds the number of proximal steps.
	maxProximal = 100
	// After stalledProximal or stalledDefinite consecutive steps that do not halve the residual, a
	// solver stops, because more steps would gain nothing. stalledProximal applies to
	// programs with a proximal term, whose steps may leave the residual unchanged for some time.
	// stalledDefinite applies to definite programs, for which recentring helps at once or not at all.
	stalledProximal = 10
	stalledDefinite = 3
	// stalledOwn is a number of consecutive steps that do not halve the largest ratio of a gradient
	// entry to the entry's own terms. After this number of steps, more steps will not reduce the
	// ratio. There are two possible reasons: the entry is the rounding error of other terms, or Q is
	// so flat that only a weaker proximal term helps.
	stalledOwn = 3
	// maxWeaker bounds how often the weight of the proximal term is divided by 100 because the
	// steps make no progress. Three divisions reduce a weight of shiftQuadratic·‖Q‖ to the rounding
	// error of Q.
	maxWeaker = 3
	// proximalPatience bounds the number of steps with the same proximal term.
	proximalPatience = 15
)

// The proximal term and the factors of the working set.
const (
	// cancelTol decides whether the rounding error of a projection's remainder matters. It matters
	// if the squared norm falls below cancelTol times its value, and the norm thus below half its
	// value.
	cancelTol = .25

	// safeNorm and 1/safeNorm bound the norms whose squares are safe. The square of a norm between
	// these bounds neither underflows nor overflows.
	safeNorm = 1e-150

	// shiftQuadratic and shiftLinear determine the weight of the proximal term. shiftQuadratic is
	// the weight divided by the size of Q. shiftLinear is the weight divided by psize/zsize; for
	// these two sizes see programPart. With these weights, one or two steps reach the solution, and
	// the factor keeps half its digits. A weight ten times larger or smaller changes only the
	// number of steps, because the residual decides when the steps end.
	shiftQuadratic = 1e-7
	shiftLinear    = 1e-6
)

// Scaling.
const (
	// A bound that exceeds openBound times the usual size of the program's bounds represents
	// infinity. It is ignored when the weight of the proximal term is chosen. Bounds that do not
	// represent infinity often differ from each other, but by factors below openBound.
	openBound = 1e6
	// ruizSweeps is the number of passes of equilibrate. Each pass halves |log t|, where t is the
	// largest entry of a row or column. The scales determine the proximal term, for which a factor of
	// two does not matter.
	ruizSweeps = 10

	// geometricSweeps bounds the number of sweeps of geometricScale. The sweeps stop earlier if no
	// entry of the scaling E changes by more than a factor of 2^geometricStep. The passes of
	// equilibrate follow the sweeps, and correct an error of a few powers of two.
	geometricSweeps = 200
	geometricStep   = .1
	// tinyEntry is a number of bits. A scaled entry is negligible if it is at least 2^tinyEntry
	// times smaller than some entry of its row, and than some entry of its column. Such an entry is
	// the rounding error of a rounding error.
	tinyEntry = 53
	// tinyFraction decides which negligible entries are removed together. Let b be the number of
	// bits by which an entry is smaller than the largest entry of its row, or of its column if that
	// is smaller. A negligible entry is removed if its b is above tinyFraction times the largest b.
	tinyFraction = .75

	// suspectEntry is a number of bits, in the scales computed from all rows. A row is examined if
	// its largest entry exceeds its other entries by more than this number of bits. The threshold
	// is far below tinyEntry, because a large entry also changes the scales: with two rows of two
	// variables, scaling reduces the excess to a quarter. The examination itself compares the
	// excess with tinyEntry.
	suspectEntry = tinyEntry / 5
	// clearUnits is a number of bits. The rows determine units of the variables only if two
	// conditions hold: the scaled entries of the rows differ from each other by at most this number
	// of bits, and the scaled entries of P do too.
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
	// underflowSize is the size below which rounding errors underflow.
	underflowSize = dense.SmallestNormal / dense.Eps

	// looseTol is a violation of a row, relative to the row's terms. A violation above looseTol is
	// corrected once, which recovers the digits of small variables. Without this correction, rows of
	// small variables would lose digits if other rows have large variables. A comparison of the
	// violation with the size of z does not show this loss.
	looseTol = 1e-12

	// refinedTol is a relative residual. Once the residual is below refinedTol, no further correction
	// is worth its cost.
	refinedTol = 1e-14
	// convergedTol is a relative residual. The proximal steps end when the relative residual is below
	// convergedTol. It is ten times [refinedTol], because a badly conditioned working set prevents
	// smaller residuals. A smaller value would cost more steps without any benefit.
	convergedTol = 1e-13
	// hiddenTol bounds two ratios: a gradient entry divided by its own terms, and a row's violation
	// divided by the row's own terms. It applies to entries and violations above [convergedTol] in the
	// units of the equilibrated program. In these units, an entry may seem small although it is as
	// large as its own terms. This happens if its unit comes from an inactive row.
	hiddenTol = 10 * defaultTol
	// defaultTol is the default of Solution.Tol. It corresponds to half the digits of a float64,
	// because badly conditioned problems lose the other half.
	defaultTol = 1e-9
)

// Certificates.
const (
	// rayTol bounds ρ, the combination of rows that proves infeasibility. The unit of this bound is
	// one rounding error: eps times the largest term of ρ. With dependent rows, the factors of the
	// working set leave a ρ of some tens of rounding errors. For independent rows, ρ is far larger,
	// and some point far away satisfies the rows.
	rayTol = 128
	// In a proof of infeasibility, a multiplier counts as 0 if it is below rayNoise times the
	// rounding error of the largest multiplier. The multipliers belong to rows scaled to norm 1 in
	// the metric of the factor. A multiplier of this size must be removed from the combination of
	// rows, because it might be large in other units of the variables. The removal of a dozen
	// multipliers changes ρ by less than rayTol.
	rayNoise = 8
	// rayGain decides whether a combination of rows proves infeasibility. Let β be the right-hand side
	// of the combination. −β must exceed rayGain times the size of the terms of β. rayGain is some ten
	// thousand rounding errors.
	rayGain = 1e-12

	// unboundedTol bounds how far a direction d may violate Qd = 0, Gd ≤ 0 and Ad = 0, relative to the
	// size of the terms in these conditions.
	unboundedTol = 1e-13
	// slopeTol bounds the slope of the objective along a direction d, relative to the size of p.
	// Let v be the violation by d of the conditions in the comment of unboundedTol, or eps if this
	// is larger. A proof of unboundedness requires a slope below −slopeTol·v. A correction of d
	// that removes the violation then changes the slope by at most a ten-thousandth of its value.
	slopeTol = 1e4
	// flatTol decides whether the objective is flat along a direction: its curvature, relative to the
	// sizes of the direction and of Q, is at most flatTol. It also decides whether a row is parallel
	// to a direction: the product of the two is at most flatTol.
	flatTol = 1e-10
	// farTol decides which sides of rows are far away. Let z move along a direction until it meets
	// a side. The side is far if the slope of the objective is less than farTol times the terms of
	// Qz at this point. If a side is not far, the gradient at this point has at least two correct
	// digits of the slope, because farTol is a hundred times [convergedTol].
	farTol = 100 * convergedTol
)

// Strict complementarity.
const (
	// weakCond bounds the condition number of the KKT system. Above weakCond, rounding hides too many
	// slacks and multipliers. The error then gives the condition number as its reason.
	weakCond = dense.HiddenTol / (dense.ComplementarityTol * dense.Eps)
)

// Tolerances for derivatives that use the factors of the working set.
const (
	// slowTol is the largest acceptable residual of a derivative. If the residual stays larger, the
	// corrections with the factor that includes the proximal term converge too slowly, and the
	// derivative is computed in another way. This happens if Q is flat compared with the proximal
	// term. Rounding leaves residuals up to 1e-13.
	slowTol = 1e-12

	// noisyTol is the largest acceptable ratio of an entry's residual to the entry's own terms. If the
	// ratio is larger, the factor that includes the proximal term is not accurate enough. The units of
	// the proximal term come from one equilibration of the program. They may not suit the cotangents
	// of variables and multipliers, which may have any units.
	noisyTol = 1e-9

	// noiseTol bounds the rounding error of a residual, relative to the terms of the solution
	// itself. If the error is larger, corrections continue until two corrections in succession fail
	// to halve it. The error may be large for two reasons. First, the proximal term may be far
	// larger than the terms of the solution; its rounding error vanishes only when the rows are
	// satisfied to the last bit. Second, a sum may have many terms, with one rounding error each.
	noiseTol = 4 * refinedTol

	// maxCorrections bounds the number of corrections of a derivative. Corrections that only halve
	// the residual would need a thousand steps from the largest float64 down to rounding. slowTol
	// ends such slow corrections long before.
	maxCorrections = 100
)

// Derivatives by eigenvalues.
const (
	// singularTol decides which singular values and eigenvalues count as zero. A singular value of C
	// counts as zero if it is below this fraction of the largest singular value of C. An eigenvalue of
	// H on the null space of C counts as zero if it is below this fraction of the norm of H.
	singularTol = 1e-11

	// kktSweeps is the number of passes of the scaling method by Ruiz (2001). Each pass halves the
	// number of decades between the sizes of rows.
	kktSweeps = 10

	// projectorTol decides which entries of a projector are rounding errors: entries of at most this
	// size. The largest entry of a projector is 1. Rounding errors are a few eps, divided by the
	// smallest relative singular value that is not zero.
	projectorTol = 1e-12

	// rangeTol decides whether a vector lies in a range. The vector counts as being in the range if
	// its part outside the range is smaller than rangeTol times the vector.
	rangeTol = 1e-8
)

// Convex programs.
const (
	// defaultPointTol is the default of [ConvexProgram.Tol]. Solutions from first-order solvers seldom
	// have smaller errors.
	defaultPointTol = 1e-8
)
