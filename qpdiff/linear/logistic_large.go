package linear

import (
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/ridge"
	"cvgm/qpdiff/internal/sparse"
	"cvgm/qpdiff/internal/stop"
	"cvgm/qpdiff/internal/ways"

	"gonum.org/v1/gonum/floats"
)

// logisticLarge has the fields that only a logistic regression with many parameters uses. The
// systems of this regression are solved by conjugate gradients, whose products use the rows of the
// data.
type logisticLarge struct {
	on          bool
	byRows      bool
	noFallback  bool // the Hessian's entries do not decide if products fail
	usedHessian bool // the last fit took the Hessian's entries all the same

	heldEntries float64 // the entries that Load counts
	maxBytes    int64   // the MaxBytes of the data
	sys         ridge.System
	solver      ridge.Solver
	condition   ridge.Condition
	terms       []float64 // of each parameter: bounds the rounding of its gradient
	squares     []float64 // of each row: the sum of squares of its penalised entries
	along       []float64
	row         []float64

	starts     []float64               // the last solutions, one after another
	constant   [logisticStarts]float64 // and the C of each
	keptStarts int                     // how many there were
}

// logisticStarts is the number of solutions that are kept as starts. A search jumps between distant
// values of C. Each of its fits then begins at the kept solution with the most similar C.
const logisticStarts = 16

// start returns solution i.
func (g *logisticLarge) start(i int) []float64 { return g.starts[i*g.sys.K : (i+1)*g.sys.K] }

// nearestStart sets theta to the solution whose C is nearest to c, if there is one.
func (g *logisticLarge) nearestStart(theta []float64, c float64) {
	least, at := math.Inf(1), -1
	for i, v := range g.constant[:min(g.keptStarts, logisticStarts)] {
		if d := math.Abs(math.Log(v / c)); d < least {
			least, at = d, i
		}
	}
	if at >= 0 {
		copy(theta, g.start(at))
	}
}

// storeStart stores the solution theta at c. It replaces a solution at the same c, or the oldest
// solution.
func (g *logisticLarge) storeStart(theta []float64, c float64) {
	if !g.on {
		return
	}
	at := slices.Index(g.constant[:min(g.keptStarts, logisticStarts)], c)
	if at < 0 {
		at = g.keptStarts % logisticStarts
		g.keptStarts++
	}
	g.constant[at] = c
	copy(g.start(at), theta)
}

// resize chooses how the systems of p are solved.
func (g *logisticLarge) resize(p *logisticProblem) {
	if g.usedHessian = false; p.storedRows != nil {
		g.on, g.byRows, g.noFallback = true, false, ways.Gradients(p.d, 0)
	} else {
		g.on, g.byRows = ways.Products(p.d), ways.Rows(p.m, p.d)
		g.noFallback = g.byRows
	}
	g.solver.Reset()
	g.keptStarts = 0
}

// load prepares the systems of p. Only the first parameters of p have penalties; the argument
// penalised is the number of these parameters. load stops early if the context ends.
func (g *logisticLarge) load(end *stop.Stop, p *logisticProblem, penalised int) {
	if !g.on {
		return
	}
	g.sys.Rows = ridge.Rows{M: p.m, K: p.d, ByColumn: true, Stored: p.storedRows}
	if p.storedRows == nil {
		g.sys.Data = p.z[:p.d*p.m]
	}
	g.sys.Penalised, g.sys.Ridge = penalised, 1
	g.sys.Load(end, g.byRows)
	dense.GrowAll(p.d, &g.terms, &g.row)
	g.starts = dense.Grow(g.starts, logisticStarts*p.d)
	dense.GrowAll(p.m, &g.squares, &g.along)
}

// chooseWay selects how a fit of p solves its systems. With a sparse X, it selects conjugate
// gradients with or without a factor. If the penalty is too small for systems with one unknown for
// each row, it selects the way that uses the entries of the Hessian.
func (g *logisticLarge) chooseWay(p *logisticProblem) error {
	most := p.c * p.maxWeight / 4
	if p.storedRows != nil {
		g.sys.Iterative = ways.Gradients(p.d, g.sys.Penalty(1, most))
	}
	g.usedHessian = g.byRows && !g.sys.Penalises(1, most)
	if g.usedHessian && p.d > distinctRows(p.m) {
		return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "lower C", "leaves %d parameters for %d rows, which so large a C does not tell apart", p.d, p.m)
	}
	return nil
}

// setWeights sets the system to the Hessian of p. The argument w holds π(1−π) for each row.
func (g *logisticLarge) setWeights(p *logisticProblem, w []float64) {
	for i, v := range w {
		g.sys.Weights[i] = p.c * dense.CountAt(p.counts, i) * v
	}
	g.solver.Moved()
}

// checkDetermined does the work of logisticNewton.checkDetermined at theta, with products in place
// of the Hessian's entries. s holds 1−π of each row. If checkDetermined returns an error and the
// Hessian's entries are available, the caller uses these entries for the decision.
func (g *logisticLarge) checkDetermined(p *logisticProblem, s, theta []float64) error {
	g.solver.Condition(&g.sys, &g.condition)
	if dense.Unsolvable(g.condition.Cond) {
		return errLogisticSingular
	}
	most := logisticRounding * p.c * p.total
	squares, along := 0.0, 0.0 // of a row with the largest entries
	for j, z := range p.zmax[:p.d] {
		g.terms[j] = most*z + logisticRounding*p.pen[j]*math.Abs(theta[j])
		if j < g.sys.Penalised {
			squares += z * z
		}
		if g.condition.Schur > 0 {
			along += math.Abs(g.condition.Along[j]) * z
		}
	}
	if g.condition.Errors(&g.sys, g.terms)*g.condition.Reach(&g.sys, -1, squares, along) <= learner.DecisionTol {
		return nil
	}
	if p.storedRows != nil {
		for i, v := range s {
			g.along[i] = v * dense.CountAt(p.counts, i)
		}
		p.storedSizes(g.terms, g.along, theta)
		floats.Scale(logisticRounding, g.terms)
	} else {
		for j := range g.terms {
			g.terms[j] = logisticRounding * p.gradientSize(j, s, theta)
		}
	}
	g.measureRows()
	size := g.condition.Errors(&g.sys, g.terms)
	for i, v := range g.squares {
		if size*g.condition.Reach(&g.sys, i, v, g.along[i]) <= learner.DecisionTol {
			continue
		}
		if !g.byRows || !(g.marginShift(i) <= learner.DecisionTol) {
			return errLogisticBlurred
		}
	}
	return nil
}

// measureRows computes squares and along.
func (g *logisticLarge) measureRows() {
	if g.sys.Stored != nil {
		g.sys.Stored.RowSquares(g.squares, g.sys.Penalised)
	} else {
		clear(g.squares)
		for j := range g.sys.Penalised {
			for i, v := range g.sys.Data[j*g.sys.M : (j+1)*g.sys.M] {
				g.squares[i] += v * v
			}
		}
	}
	clear(g.along)
	if g.condition.Schur > 0 {
		g.sys.Times(g.along, g.condition.Along)
	}
}

// marginShift estimates how far the rounding errors of the gradient move the margin of row i.
func (g *logisticLarge) marginShift(i int) (sum float64) {
	moves := make([]float64, g.sys.K)
	if !g.solver.Exact(&g.sys, moves, g.sys.Row(g.row, i)) {
		return math.Inf(1)
	}
	return dense.AbsDot(moves, g.terms)
}

// storedSystemEntries returns the number of entries of the system and of the solvers, for a sparse
// X.
func storedSystemEntries(m, k, stored float64) float64 {
	system, solver := 2*k+m, 10*k+2*m
	if !ways.Gradients(int(k), 0) {
		solver += 2*k*k + 2*k + sparse.TakenEntries(m, k, stored) + float64(dense.BlockWork(int(k)))
	}
	return system + 2*solver
}
