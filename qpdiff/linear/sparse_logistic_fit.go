package linear

import (
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/sparse"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// sparseRoundoff is the rounding error of a slope, relative to the size of its terms. It does not
// include the rounding errors of a sum over many rows.
const sparseRoundoff = 64 * dense.Eps

// errSparseBlurred is the error of a fit if rounding hides the solution.
var errSparseBlurred = check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise λ2, or scale or centre the features", "leaves the solution open: it is not unique within the rounding of the terms of the data")

// sparseLogisticFit is a solved sparse logistic regression with its data. Its penalisedQuadratic is
// the second-order model of the loss on a working set of coordinates: the coordinates that are not
// zero or are about to leave zero. After a fit it is the model at θ, from which derivatives are
// computed.
type sparseLogisticFit struct {
	penalisedQuadratic
	logisticProblem
	inv         float64 // 1/N
	penalised   int     // coordinates with penalties: all except an intercept
	limitsEntry bool    // only a limited number of coordinates may enter workSet at a time
	coords      sparseCoordinates

	ridge   []float64 // λ2 of the model, with the damping of a step
	lin     []float64 // c of the model
	workSet []int     // the working set, ascending

	theta  []float64
	margin []float64 // m entries: θᵀzᵢ
	s, h   []float64 // m entries: the probability of the label not seen, and s(1−s)
	cs, ch []float64 // s and h times the weight of the row, over N
	g      []float64 // gradient of the loss
	absSum []float64 // m entries: Σ_j|zᵢⱼθ_j|, the sums of the absolute terms of the margins

	step     []float64      // the step of θ
	dm       []float64      // the change of the margins along it
	roots    []float64      // work of model
	setCols  []float64      // the columns of the set, times roots
	views    [][]float64    // of each coordinate: its part of setCols
	workCols sparse.Columns // for a sparse X, in place of setCols and views
	along    float64        // of the rows that curve takes
	entering []int          // work of chooseWorkSet

	iter int  // steps of the last fit
	warm bool // theta is the start of the next fit
}

// sparseCoordinates holds vectors with one entry for each coordinate of a sparse logistic
// regression.
type sparseCoordinates struct {
	l1, l2      []float64
	groups      penaltyGroups
	gradBound   []float64 // Σ|zᵢⱼ|/N, which bounds the modulus of g
	size        []float64 // √(Σzᵢⱼ²/N)
	sums        []float64 // Σ cs·|zᵢⱼ|
	terms, root []float64 // see penalisedQuadratic
}

// shape allocates the storage for the data.
func (l *sparseLogisticFit) shape(data learn.Data, intercept bool) {
	m, n := data.X.Dims()
	d := n
	if intercept {
		d++
	}
	l.warm = l.warm && d == l.d && n == l.penalised
	l.logisticProblem.resize(m, d, data.Sparse())
	l.params, l.penalised, l.limitsEntry = d, n, data.Sparse() || ways.WorkingSet(m, n)
	all := &l.coords
	dense.GrowAll(d, &all.l1, &all.l2, &all.gradBound, &all.size, &all.sums, &all.terms, &all.root, &l.theta, &l.g, &l.step)
	dense.GrowAll(m, &l.margin, &l.absSum, &l.s, &l.h, &l.cs, &l.ch, &l.dm, &l.roots)
	dense.GrowAll(d, &l.workSet, &l.entering)
	if l.qp.columnQuadratic = (columnQuadratic{rows: m, inv: 1}); l.storedRows != nil {
		l.qp.sparse = &l.workCols
	}
	l.qp.intercept = intercept
	if intercept {
		all.l1[n], all.l2[n] = 0, 0
	}
	if !l.warm {
		clear(l.theta)
	}
}

// column returns column j of z: the entries zᵢⱼ of all rows i.
func (l *sparseLogisticFit) column(j int) []float64 { return l.z[j*l.m : (j+1)*l.m] }

// bounds sets inv and gradBound. It returns an error if a diagonal entry of the Hessian overflows.
func (l *sparseLogisticFit) bounds() error {
	l.inv = 1 / l.total
	// Derivatives take cs and ch, in which 1/N is.
	l.c, l.maxWeight = 1, l.maxWeight*l.inv
	if l.storedRows != nil {
		return l.storedBounds()
	}
	for j := range l.d {
		sum, squares := 0.0, 0.0
		for i, v := range l.column(j) {
			c := dense.CountAt(l.counts, i) * l.inv
			sum += c * math.Abs(v)
			squares += c * v * v
		}
		if l.coords.gradBound[j], l.coords.size[j] = sum, math.Sqrt(squares); !dense.Finite(squares) {
			return errSquareOverflows(j)
		}
	}
	return nil
}

// errSquareOverflows is the error for a feature j whose sum of squares overflows.
func errSquareOverflows(j int) error {
	return check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the features and labels", "is so large that XᵀX overflows at column %d", j)
}

// storedBounds is the branch of bounds for a sparse X.
func (l *sparseLogisticFit) storedBounds() error {
	shares := l.cs
	for i := range shares {
		shares[i] = dense.CountAt(l.counts, i) * l.inv
	}
	l.storedRows.Sizes(l.coords.gradBound, shares)
	clear(l.coords.size)
	l.storedRows.Squares(l.coords.size, shares)
	for j, squares := range l.coords.size {
		if l.coords.size[j] = math.Sqrt(squares); !dense.Finite(squares) {
			return errSquareOverflows(j)
		}
	}
	return nil
}

// product sets dst to Zᵀv.
func (l *sparseLogisticFit) product(dst, v []float64) {
	if l.storedRows != nil {
		l.storedRows.Times(dst, v)
		return
	}
	clear(dst)
	sum := dense.Sum{Dst: dst}
	for j, t := range v {
		sum.Add(t, l.column(j))
	}
	sum.End()
}

// evaluate computes the margins, the probabilities and the gradient at theta.
func (l *sparseLogisticFit) evaluate() {
	l.product(l.margin, l.theta)
	logisticWeights(l.s, l.h, l.margin)
	for i := range l.cs {
		share := dense.CountAt(l.counts, i) * l.inv
		l.cs[i], l.ch[i] = share*l.s[i], share*l.h[i]
	}
	if l.storedRows != nil {
		clear(l.g)
		l.storedRows.AddTransposed(l.g, -1, l.cs)
		return
	}
	dense.Products(l.g, l.z, l.m, l.cs)
	floats.Scale(-1, l.g)
}

// sparseEntries returns the number of entries for m rows and d coordinates. It includes a working
// set of nset coordinates, but not the active systems of the set. If gram is true, it includes the
// Gram matrix of the set.
func sparseEntries(m, d, nset float64, gram bool) float64 {
	const all, coordinates, rows = 20, 34, 11 // vectors of all coordinates, with views; of the set; of the rows
	const structures = 128                    // of a quadratic problem, in addition to an elastic net's
	// Storage that grows takes up to a quarter more.
	entries := structures + m*d + all*d + rows*m + coordinates*nset + 1.25*nset*m
	if nset > m {
		entries += kernelEntries(m, d, nset)
	}
	if gram {
		entries += 1.25 * nset * nset
	}
	return entries
}

// storedEntries does the work of sparseEntries for a sparse X. The parameter nonzeros is the number
// of stored entries of X.
func storedEntries(m, d, nset, nonzeros float64) float64 {
	const all, coordinates, rows = 20, 34, 13
	entries := sparse.Entries(m, d, nonzeros+m) + sparse.TakenEntries(m, d, nonzeros) + all*d + rows*m + coordinates*nset + sparse.SolveEntries(m, nset)
	if !ways.Gradients(int(nset), 0) {
		entries += 2.25 * nset * nset
	}
	return entries
}

// makeRoom returns an error if a working set of nset coordinates needs more than Data.MaxBytes.
// Otherwise it sets the bound of the set's active systems.
func (l *sparseLogisticFit) makeRoom(nset int) error {
	most := l.state.Data.MaxBytes
	held := sparseEntries(float64(l.m), float64(l.d), float64(nset), !l.limitsEntry || nset <= gramPerRow*l.m) + float64(len(l.counts))
	if l.storedRows != nil {
		held = storedEntries(float64(l.m), float64(l.d), float64(nset), float64(l.storedRows.Stored())) + float64(len(l.counts))
	}
	l.qp.limitSupport(held, most)
	return learner.Exceeds(learner.Entries(held), most, learn.Size{Rows: l.m, Features: nset})
}

// model sets the quadratic problem to the second-order model of the loss at theta, plus the
// penalties. The problem has the coordinates in workSet, which ascends. model sets the problem's x
// to theta.
func (l *sparseLogisticFit) model(workSet []int) error {
	if err := l.makeRoom(len(workSet)); err != nil {
		return err
	}
	s, m, q := len(workSet), l.m, &l.qp
	features := s
	if l.d > l.penalised {
		features--
	}
	q.features = workSet // so that resize makes no room for a system: factor does
	l.penalisedQuadratic.resize(s, features)
	dense.GrowAll(s, &l.terms, &l.ridge, &l.lin, &q.diag)
	q.c, q.r, q.up, q.lo = l.lin, l.ridge, l.l1, l.l1
	dense.Gather(l.l1, l.coords.l1, workSet)
	dense.Gather(l.l2, l.coords.l2, workSet)
	dense.Gather(l.root, l.coords.root, workSet)
	dense.Gather(l.terms, l.coords.terms, workSet)
	dense.Gather(q.x, l.theta, workSet)
	copy(l.ridge, l.l2)
	l.groups.of, l.groups.count = l.groups.of[:0], l.coords.groups.count
	if len(l.coords.groups.of) > 0 {
		for _, j := range workSet[:features] {
			l.groups.of = append(l.groups.of, l.coords.groups.of[j])
		}
	}
	for i, c := range l.ch {
		l.roots[i] = math.Sqrt(c)
	}
	if l.storedRows != nil {
		l.storedModel(workSet)
		return nil
	}
	l.setCols, l.views = dense.Grow(l.setCols, s*m), dense.Grow(l.views, l.d)
	q.columns = l.views
	q.kernel.Forget()
	for p, j := range workSet {
		l.views[j] = l.setCols[p*m : (p+1)*m]
		floats.MulTo(l.views[j], l.column(j), l.roots)
	}
	if q.g = nil; l.limitsEntry && s > gramPerRow*m {
		for p := range workSet {
			q.diag[p] = floats.Dot(q.column(p), q.column(p))
		}
		return nil
	}
	l.gram = dense.Grow(l.gram, s*s)
	q.g = l.gram
	for p := range s {
		q.stopper.Look()
		row := l.gram[p*s+p : (p+1)*s]
		dense.Products(row, l.setCols[p*m:], m, q.column(p))
		for k, v := range row {
			l.gram[(p+k)*s+p] = v
		}
		q.diag[p] = row[0]
	}
	return nil
}

// storedModel is the branch of model for a sparse X.
func (l *sparseLogisticFit) storedModel(workSet []int) {
	s, q := len(workSet), &l.qp
	l.workCols.Take(l.storedRows, workSet, l.roots)
	penalty := math.Inf(1)
	for p, j := range workSet {
		if q.diag[p] = max(0, l.workCols.Square(j)); j < l.penalised {
			penalty = min(penalty, l.l2[p]/q.diag[p])
		}
	}
	if q.g = nil; ways.Gradients(s, penalty) {
		return
	}
	l.gram = dense.Grow(l.gram, s*s)
	q.g = l.gram
	l.workCols.Gram(l.gram, workSet, l.roots)
	for p := range s {
		q.diag[p] = l.gram[p*s+p]
	}
}

// curve returns sum + (Gv)_i. v has one entry for each coordinate of the working set, and product
// is the vector Cv that the method combine computes.
func (l *sparseLogisticFit) curve(sum float64, i int, v, product []float64) float64 {
	if l.qp.g == nil {
		return sum + l.qp.dot(i, product, l.along)
	}
	for k, g := range l.gram[i*l.n : (i+1)*l.n] {
		sum += g * v[k]
	}
	return sum
}

// combine stores Cv in dst, where the columns of C are the columns of the working set. If the model
// has a Gram matrix, the method curve does not read this vector, and combine does nothing.
func (l *sparseLogisticFit) combine(dst, v []float64) {
	if l.qp.g != nil {
		return
	}
	if l.storedRows != nil {
		l.workCols.Combine(dst, v, l.qp.features, nil)
		l.along = l.qp.rowSum(dst)
		return
	}
	clear(dst)
	sum := dense.Sum{Dst: dst}
	for i, x := range v {
		sum.Add(x, l.qp.column(i))
	}
	sum.End()
}

// measure sets sums, terms and root at theta. l.terms[j] is the total size of the summands of
// gradient entry j: Σᵢ csᵢ|zᵢⱼ|, plus Σᵢ chᵢ·absSumᵢ·|zᵢⱼ| for the summands of the margins.
func (l *sparseLogisticFit) measure() {
	if l.storedRows != nil {
		l.storedMeasure()
		return
	}
	clear(l.absSum)
	for j, t := range l.theta {
		if t = math.Abs(t); t != 0 {
			for i, v := range l.column(j) {
				l.absSum[i] += t * math.Abs(v)
			}
		}
	}
	for j := range l.d {
		sum, moved, squares := 0.0, 0.0, 0.0
		for i, v := range l.column(j) {
			a, h := math.Abs(v), l.ch[i]
			sum += l.cs[i] * a
			moved += h * l.absSum[i] * a
			squares += h * v * v
		}
		l.coords.sums[j], l.coords.terms[j], l.coords.root[j] = sum, sum+moved, math.Sqrt(squares)
	}
}

// storedMeasure is measure for a sparse X.
func (l *sparseLogisticFit) storedMeasure() {
	all, moves := &l.coords, l.roots
	l.storedRows.FitSizes(l.absSum, l.theta)
	floats.MulTo(moves, l.ch, l.absSum)
	l.storedRows.Sizes(all.sums, l.cs)
	l.storedRows.Sizes(all.terms, moves)
	floats.Add(all.terms, all.sums)
	clear(all.root)
	l.storedRows.Squares(all.root, l.ch)
	for j, squares := range all.root {
		all.root[j] = math.Sqrt(squares)
	}
}

// slope returns the slope of the objective in coordinate j at theta. If θ_j = 0, it returns the
// part of the slope that exceeds the strength of the kink.
func (l *sparseLogisticFit) slope(j int) float64 {
	t, g := l.theta[j], l.g[j]
	if t == 0 {
		return math.Copysign(max(0, math.Abs(g)-l.coords.l1[j]), g)
	}
	return g + l.coords.l2[j]*t + l.coords.l1[j]*dense.Sign(t)
}

// isOptimal reports whether theta meets the optimality conditions up to the rounding errors of
// their terms. The caller must call measure first.
func (l *sparseLogisticFit) isOptimal() bool {
	tol := sparseRoundoff + dense.Eps*math.Sqrt(float64(l.m))
	for j, t := range l.theta {
		size := l.coords.terms[j] + l.coords.l1[j] + l.coords.l2[j]*math.Abs(t)
		if !(math.Abs(l.slope(j)) <= tol*size) {
			return false
		}
	}
	return true
}

// settle sets the quadratic problem to the model at theta, factorises its active system, and finds
// the weakly active coordinates.
func (l *sparseLogisticFit) settle() error {
	q, all := &l.qp, &l.coords
	l.workSet = l.workSet[:0]
	for j, t := range l.theta {
		if t != 0 || all.l1[j] == 0 {
			l.workSet = append(l.workSet, j)
		}
	}
	if err := l.activate(); err != nil {
		return err
	}
	// The rounding errors of the margins may change a slope by as much as the size of the slope's
	// terms. In this case the optimality conditions hold to rounding at every θ, and do not
	// determine θ.
	for _, j := range l.workSet {
		if size := all.sums[j] + all.l1[j] + all.l2[j]*math.Abs(l.theta[j]); !(dense.Eps*(all.terms[j]-all.sums[j]) <= learner.DecisionTol*size) {
			return errSparseBlurred
		}
	}
	l.rmsY = 0
	for j, root := range all.root {
		if root > 0 {
			l.rmsY = max(l.rmsY, all.sums[j]/root)
		} else if all.sums[j] > 0 && l.theta[j] != 0 {
			return errSparseBlurred
		}
	}
	any, err := l.suspectWeak()
	if err != nil {
		return err
	}
	if l.addUndecided(q.conditionBound) && l.addUndecided(q.cond()) {
		slices.Sort(l.workSet)
		if err := l.activate(); err != nil {
			return err
		}
		if any, err = l.suspectWeak(); err != nil {
			return err
		}
	}
	if !any {
		return nil
	}
	return l.settleWeak()
}

// activate sets the quadratic problem to the model on l.workSet, and factorises the active system.
func (l *sparseLogisticFit) activate() error {
	q := &l.qp
	if err := l.model(l.workSet); err != nil {
		return err
	}
	clear(l.lin)
	q.activate()
	if k := q.factorRegular(); k < len(q.act) {
		return q.errOpen(q.act[k])
	}
	for i, j := range l.workSet {
		q.grad[i] = -l.g[j]
	}
	return nil
}

// addUndecided appends to l.workSet the coordinates outside it that may be weakly active. It uses
// the test of listWeak, where cond is the condition of the active system. It reports whether it
// added coordinates.
func (l *sparseLogisticFit) addUndecided(cond float64) bool {
	l.workSet = l.workSet[:l.n]
	next, size := 0, l.rmsY+l.norm
	for j, l1 := range l.coords.l1 {
		if dense.IsNext(l.workSet[:l.n], &next, j) {
			continue
		}
		if dense.Negligible(l1-math.Abs(l.g[j]), l1+l.coords.root[j]*size, cond) {
			l.workSet = append(l.workSet, j)
		}
	}
	return len(l.workSet) > l.n
}

// dataVJP implements penalisedModel.
func (l *sparseLogisticFit) dataVJP(d *penalisedDerivative, g *learn.Grad, act []int, w []float64) error {
	d.fullVector = dense.Zeros(d.fullVector, l.d)
	dense.Scatter(d.fullVector, w, d.thetaIndices(&l.qp, act))
	d.rows = dense.Grow(d.rows, l.m)
	l.product(d.rows, d.fullVector)
	if l.storedRows != nil {
		d.fit = dense.Grow(d.fit, l.m)
		return l.storedVJP(g, l.state.Data, l.theta, d.fullVector, l.cs, l.ch, d.rows, d.fit)
	}
	return l.logisticProblem.dataVJP(g, l.state.Data, l.theta, d.fullVector, l.cs, l.ch, d.rows)
}

// dataJVP implements penalisedModel.
func (l *sparseLogisticFit) dataJVP(d *penalisedDerivative, b []float64, t *learn.Grad) {
	d.rows, d.fullVector = dense.Grow(d.rows, l.d), dense.Zeros(d.fullVector, l.d)
	if l.storedRows != nil {
		d.rows, d.fit = dense.Grow(d.rows, l.m), dense.Grow(d.fit, l.m)
		l.storedJVP(d.fullVector, t, l.state.Data, l.theta, l.cs, l.ch, d.rows, d.fit)
		dense.Gather(b, d.fullVector, l.qp.features)
		return
	}
	l.logisticProblem.dataJVP(d.fullVector, t, l.state.Data, l.theta, l.cs, l.ch, d.rows)
	dense.Gather(b, d.fullVector, l.qp.features)
}

// residual returns the residual of the optimality conditions, relative to the size of their
// terms.
func (l *sparseLogisticFit) residual() (worst float64) {
	c := sparseLogisticFit{logisticProblem: l.logisticProblem, inv: l.inv, theta: l.theta}
	dense.GrowAll(l.m, &c.margin, &c.s, &c.h, &c.cs, &c.ch, &c.absSum, &c.roots)
	c.coords = sparseCoordinates{l1: l.coords.l1, l2: l.coords.l2}
	dense.GrowAll(l.d, &c.g, &c.coords.sums, &c.coords.terms, &c.coords.root)
	c.evaluate()
	c.measure()
	for j, t := range c.theta {
		worst = max(worst, learner.Relative(math.Abs(c.slope(j)), c.coords.terms[j]+c.coords.l1[j]+c.coords.l2[j]*math.Abs(t)))
	}
	return worst
}
