package linear

import (
	"context"
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/equal"
	"cvgm/qpdiff/internal/learner"
)

// penalisedQuadratic is a quadratic problem with ℓ₁ and squared ℓ₂ penalties, whose solution x is
// the θ of a learner's fit:
//
//	½ xᵀGx − cᵀx + Σ_j λ1_j·|x_j| + ½ Σ_j λ2_j·x_j²
//
// For an elastic net this problem is the learner's problem itself. For a penalised logistic
// regression it is the second-order model of the loss at the solution. In both cases G and c are
// sums over the rows of the data.
type penalisedQuadratic struct {
	state    learner.State
	params   int       // entries of θ; the features of qp list the entries that are coordinates
	n        int       // coordinates
	features int       // number of coordinates with penalties, which come first
	gram     []float64 // G
	root     []float64 // √G_jj
	// rmsY·root_j bounds the size of the terms of c_j, and of entry j of the gradient
	rmsY   float64
	l1, l2 []float64

	groups penaltyGroups // as of the last fit
	// the features that share one value in the last fit because they are equal; nil if there are none
	equalFeatures *equal.Columns
	weakPenalised []int // weakly active with λ1 > 0
	weakFree      []int // coordinates with θ_j ≈ 0 and λ1_j = 0, where the kink is in λ1 only
	// the largest rounding error of a weakly active θ_j, relative to the size of θ
	blur float64
	norm float64     // ‖θ‖ in variables that give the active system a unit diagonal
	qp   piecewiseQP // ends with what small problems do not read

	// size of the terms of Gθ − c, for settleWeak; computed only if it is needed
	terms     []float64
	w, v      []float64    // work, made by probe
	reducedQP *piecewiseQP // work of settleWeak
}

// SetContext implements [learn.ContextLearner].
func (e *penalisedQuadratic) SetContext(ctx context.Context) { e.state.Stop.Watch(ctx) }

// resize gives the problem n coordinates. Penalties apply to as many coordinates as there are
// features.
func (e *penalisedQuadratic) resize(n, features int) {
	e.n, e.features = n, features
	dense.GrowAll(n, &e.l1, &e.l2, &e.root)
	e.qp.resize(n)
	e.qp.r = e.l2
}

// penalisedEntries returns how many float64s the method resize and the derivatives allocate for n
// coordinates.
func penalisedEntries(n float64) float64 {
	const own, coordinates, derivative = 8 + 3, 9, 4 // vectors: with lists; of a piecewiseQP; of its derivative
	return systemEntries(n) + n*(own+3*coordinates+2*3+derivative)
}

// errSolutionOverflows is the error of a fit whose solution is not finite.
var errSolutionOverflows = check.ArgErrorf("hyper", qpdiff.ErrNotFinite, "raise λ2, or scale the features and labels", "leaves a solution that overflows")

// begin begins a Fit. It checks the arguments and sets the groups and penalties of all features.
func (e *penalisedQuadratic) begin(src *penaltyGroups, l1, l2 []float64, groups []int, theta, hyper []float64) error {
	hypers := 2 * groupCount(groups)
	if err := e.state.BeginTheta(theta, e.params, hypers); err != nil {
		return err
	}
	if err := src.set(groups, len(l1)); err != nil {
		return err
	}
	if err := learner.CheckHyper(hyper, hypers); err != nil {
		return err
	}
	src.writePenalties(l1, l2, hyper)
	return nil
}

// suspectWeak lists the coordinates that may be weakly active at the solution, and reports whether
// there are any. It uses the condition of the active system.
func (e *penalisedQuadratic) suspectWeak() (anyWeak bool, err error) {
	e.blur = 0
	q := &e.qp
	// Sizes are in the variables √h_jj·θ_j, in which the active system has a unit diagonal.
	sum, in, least := 0.0, 0.0, math.Inf(1)
	squares := q.z[:len(q.act)] // in these variables, by member of act
	diag := q.diag
	l2, x := e.l2[:len(diag)], q.x[:len(diag)]
	for i, j := range q.act {
		h, v := diag[j]+l2[j], x[j]
		square := h * v * v
		squares[i] = square
		sum += square
		if square < least {
			least = square
		}
	}
	e.norm = math.Sqrt(sum)
	if !dense.Finite(e.norm) {
		return false, errSolutionOverflows
	}
	// Bounds of the condition number are tried first. They cost hardly anything, and almost always
	// decide which coordinates are weakly active.
	if !e.listWeak(e.rmsY+e.norm, q.conditionBound, least) {
		return false, nil
	}
	for _, j := range q.act {
		in = max(in, e.root[j]/math.Sqrt(q.diag[j]+e.l2[j]))
	}
	if len(q.act) == 0 {
		in = 1
	}
	return e.listWeak(e.rmsY*in+e.norm, q.cond(), least), nil
}

// settleWeak completes the list of weakly active coordinates that listWeak began. It uses e.terms,
// and the row of G of each listed coordinate. In these rows, only the entries at listed and active
// coordinates must be set. If some listed coordinates are at zero, their features and the features
// of the support must be linearly independent. Otherwise the solution would not be unique, and
// settleWeak returns an error.
func (e *penalisedQuadratic) settleWeak() error {
	if !e.retest() {
		return nil
	}
	if err := e.qp.partRoom(); err != nil {
		return err
	}
	s := restrict(&e.reducedQP, e, func(j int, active, weak bool) bool { return active || weak })
	if k := s.factorRegular(); k < len(s.act) {
		return e.qp.errOpen(s.act[k])
	}
	return nil
}

// listWeak lists the weakly active coordinates and reports whether there are any. cond is the
// condition of the active system. size is the size of the solution plus the size of the system's
// right-hand side. minSquare is the smallest square h_jj·θ_j² of an active coordinate j.
func (e *penalisedQuadratic) listWeak(size, cond, minSquare float64) bool {
	e.weakPenalised, e.weakFree = e.weakPenalised[:0], e.weakFree[:0]
	negligible := dense.LargestNegligible(size, cond)
	q := &e.qp
	act := q.act
	squares := q.z[:len(act)] // see suspectWeak
	next := 0
	// A coordinate whose square exceeds sureSquare is certainly not weakly active, and needs no square
	// root. The factor 2 allows for the rounding of the square and of negligible².
	sureSquare := max(2*negligible*negligible, leastSquare)
	if len(act) == e.n && minSquare > sureSquare {
		return false
	}
	for j := range e.n {
		if next < len(act) && act[next] == j {
			if squares[next] <= sureSquare && math.Sqrt(q.diag[j]+e.l2[j])*math.Abs(q.x[j]) <= negligible {
				switch {
				case q.sgn[next] != 0:
					e.weakPenalised = append(e.weakPenalised, j)
				case j < e.features:
					e.weakFree = append(e.weakFree, j)
				}
			}
			next++
		} else if dense.Negligible(e.l1[j]-math.Abs(q.grad[j]), e.l1[j]+e.root[j]*size, cond) {
			e.weakPenalised = append(e.weakPenalised, j)
		}
	}
	return len(e.weakPenalised)+len(e.weakFree) > 0
}

// Underflow may hide the modulus of a number whose square is below leastSquare.
const leastSquare = 1e-300

// probe allocates v and w for further solves of the active system. v is for right-hand sides, and w
// for solutions. Most fits need no further solve.
func (e *penalisedQuadratic) probe() {
	e.v, e.w = dense.Grow(e.v, e.n), dense.Grow(e.w, e.qp.room())
}

// retest computes the error of each listed coordinate, with one solve for each. (From the condition
// of the system, listWeak computes only one bound for all errors.) If the computed error leaves no
// doubt on which side of its kink a coordinate lies, retest removes the coordinate from the list.
// It reports whether any remaining coordinate is at zero.
func (e *penalisedQuadratic) retest() (atZero bool) {
	q := &e.qp
	e.probe()
	terms := func(j int) float64 { return e.terms[j] + e.l1[j] + e.l2[j]*math.Abs(q.x[j]) }
	fit := 0.0
	if q.rowFactor {
		fit = q.fitError(terms)
	}
	decided := func(j int) bool {
		q.stopper.Look()
		_, active := slices.BinarySearch(q.act, j)
		if q.rowFactor && q.sideCertain(j, active, terms(j)+e.root[j]*fit, e.l1[j]) {
			return true
		}
		curve := q.diag[j] + e.l2[j]
		root := math.Sqrt(curve)
		value, err := 0.0, 0.0
		if active {
			value, curve = math.Abs(q.x[j]), 1
			clear(e.v)
			e.v[j] = 1
		} else {
			value, err = e.l1[j]-math.Abs(q.grad[j]), terms(j)
			q.row(e.v, j)
		}
		for i, w := range q.solveActive(e.w, e.v) {
			k := q.act[i]
			err += math.Abs(w) * terms(k)
			if !active { // θ_j bends the objective by this, once in the support
				curve -= w * e.v[k]
			}
		}
		if !dense.Negligible(value, err, 1) {
			return true
		}
		atZero = atZero || !active
		e.blur = max(e.blur, dense.ComplementarityTol*dense.Eps*err*root/(max(curve, 0)*(e.rmsY+e.norm)))
		return false
	}
	e.weakPenalised = slices.DeleteFunc(e.weakPenalised, decided)
	e.weakFree = slices.DeleteFunc(e.weakFree, decided)
	return atZero
}

// sign returns sign(θ_j), or the sign of its subgradient if θ_j = 0.
func (e *penalisedQuadratic) sign(j int) float64 {
	if v := e.qp.x[j]; v != 0 || e.l1[j] == 0 {
		return dense.Sign(v)
	}
	return dense.Sign(e.qp.grad[j])
}

// kinkedAtZero reports whether a coordinate j of the group has a kink in λ1 at λ1_j = 0. A negative
// group number selects all groups. A feature of zeros has no such kink, because its coordinate
// stays at 0.
func (e *penalisedQuadratic) kinkedAtZero(group int) bool {
	return len(e.weakFree) > 0 && slices.ContainsFunc(e.weakFree, func(j int) bool {
		return (group < 0 || e.groups.at(j) == group) && e.qp.diag[j] != 0
	})
}

// quadratic returns e.
func (e *penalisedQuadratic) quadratic() *penalisedQuadratic { return e }

// restrict returns the quadratic function of e, without kinks, on the coordinates for which isKept
// returns true. It stores the result in *dst. The first call allocates *dst, because few problems
// need it.
func restrict(dst **piecewiseQP, e *penalisedQuadratic, isKept func(j int, active, weak bool) bool) *piecewiseQP {
	if *dst == nil {
		*dst = new(piecewiseQP)
	}
	q, n := *dst, e.n
	q.features = e.qp.features
	q.resize(n)
	dense.GrowAll(n, &q.c, &q.up, &q.lo)
	q.g, q.diag, q.r, q.intercept = e.qp.g, e.qp.diag, e.l2, e.qp.intercept
	q.columnQuadratic = e.qp.withOwnScratch()
	q.setStopper(e.qp.stopper)
	q.reset()
	a, w := 0, 0
	for j := range n {
		active, weak := dense.IsNext(e.qp.act, &a, j), dense.IsNext(e.weakPenalised, &w, j)
		q.c[j] = 0
		q.up[j], q.lo[j] = math.Inf(1), math.Inf(1)
		if isKept(j, active, weak) {
			q.up[j], q.lo[j] = 0, 0
		}
	}
	q.activate()
	return q
}
