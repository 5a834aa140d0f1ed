package linear

import (
	"cmp"
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/sparse"
	"cvgm/qpdiff/internal/stop"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// The constants of logistic regression. A Newton step changes each margin yᵢ θᵀxᵢ. The length of
// the step is the largest of these changes, so it does not depend on the units of X and y.
const (
	// A problem with fewer than logisticSmall parameters is padded with zero features to
	// logisticSmall. One unrolled kernel then handles all small problems.
	logisticSmall = 3

	// logisticMaxIter is the largest number of Newton steps in one fit, if MaxIter is 0. Fits of
	// separable data at a large C take several dozen steps.
	logisticMaxIter = 200
	// A fit from a warm start that takes more than logisticWarmSteps steps begins again at θ = 0.
	// At θ = 0 every π is ½, and a fit of ordinary data from there takes fewer steps.
	logisticWarmSteps = 25

	// Any step of length at most logisticSafeStep lowers L. A step δ of length r satisfies L(θ+δ) ≤
	// L(θ) − λ² + λ²(eʳ−r−1)/r², where λ is the Newton decrement. The factor (eʳ−r−1)/r² is below 1
	// for r < 1.79.
	logisticSafeStep = 1.5
	// The line search accepts a step length t if |slope at t| ≤ logisticSlope·|slope at 0|. A
	// larger constant would accept shorter steps; a smaller constant would take more bisections.
	logisticSlope = .5
	// logisticBisections bounds the number of bisections of a line search. Without this limit,
	// rounding could keep the slope above the tolerance logisticSlope forever. After so many
	// bisections the step is negligible.
	logisticBisections = 64

	// A step shorter than logisticLastStep is the last one. Convergence is quadratic, so the
	// remaining error is at most the square of the step, which is below rounding.
	logisticLastStep = 1e-8
	// If the last step is shorter than logisticSettled, the relative changes of s, w and the Hessian
	// are at most logisticSettled. Their rounding errors are about as large, so derivatives use the
	// values from before the step.
	logisticSettled = 1e-13
	// If a step is longer than logisticStall times the previous step, convergence is not quadratic.
	// The gradient may then consist of rounding errors.
	logisticStall = .5
	// A gradient smaller than logisticRoundoff times the size of its terms may consist of rounding
	// errors. The factor 64·eps suffices for sums over several thousand rows.
	logisticRoundoff = 64 * dense.Eps
	// logisticRounding is the rounding error of one term of the gradient: one rounding of the
	// product and one of the sum.
	logisticRounding = 2 * dense.Eps

	// After a short step, the probabilities are computed by series. For a small problem, the first
	// logisticBoundSteps steps begin with a cheap upper bound of the step's length. If this bound is
	// short enough for a series, the bound replaces the length. Later steps use the length itself. The
	// bound might never fall below logisticLastStep, and a fit that used it might not end.
	logisticBoundSteps = 8

	// If the margin of a row is above logisticLargestMargin, exp is near overflow. 1−π and w of this
	// row are negligible compared with the values of any other row.
	logisticLargestMargin = 700
)

// errLogisticBlurred is the error of a fit if rounding hides the solution.
var errLogisticBlurred = check.ArgErrorf("Data", qpdiff.ErrIllPosed, "scale or centre the features, or lower C", "has terms so large that the rounding of their sum hides the solution")

// errLogisticSingular is the error of a fit or a derivative whose Hessian is singular to working
// precision.
var errLogisticSingular = check.ArgErrorf("Data", qpdiff.ErrIllPosed, "scale or centre the features, lower C, or penalise the intercept", "gives a Hessian that is singular to machine precision")

// logisticProblem minimises ½ θᵀRθ + C Σᵢ log(1 + exp(−θᵀzᵢ)), with zᵢ = yᵢxᵢ and a diagonal R.
// Vectors such as θ have k entries.
type logisticProblem struct {
	m    int // rows
	d    int // entries of θ
	k    int // d, or logisticSmall if d is smaller: the rest is padding
	c    float64
	z    []float64 // k×m: entry (j, i) is yᵢxᵢⱼ, 0 for a row left out
	zmax []float64 // largest modulus of each row of z, or a bound
	ymax float64   // largest modulus of a label
	pen  []float64 // diagonal of R

	// the weight of each row, also 0 for rows that z leaves out; nil if all weights are 1
	counts    []float64
	total     float64 // the sum of the weights
	maxWeight float64 // the largest weight

	storedRows *sparse.Columns // for a sparse X, in place of z: each row times its label
}

// checkRows makes the checks of [learn.Data.Check], except the check of the entries of X and y. The
// method fold checks the entries.
func checkRows(d learn.Data) error {
	if d.Sparse() || d.Centre != nil || d.Scale != nil {
		return d.Check()
	}
	if x := d.Dense(); x == nil || x.IsEmpty() || len(d.Y) != x.RawMatrix().Rows {
		return d.Check()
	}
	return check.Counts(d.Rows, d.Weights, len(d.Y))
}

// fold sets row i of z to yᵢxᵢ. The caller has checked the shape and the weights of d. If the
// number of parameters is one more than the number of features, the problem has an intercept, and
// the last entry of row i is yᵢ. The errors are listed at [Logistic.Load].
func (p *logisticProblem) fold(d learn.Data) error {
	p.ymax = 0
	if p.counts = learner.Counts(d, p.counts); p.counts != nil {
		p.total, p.maxWeight = floats.Sum(p.counts), slices.Max(p.counts)
	}
	if p.storedRows != nil {
		return p.foldStored(d, nil)
	}
	raw := d.Dense().RawMatrix()
	m, n := raw.Rows, raw.Cols
	finiteZero := 0.0 // stays finiteZero as long as every product is finite
	for i, y := range d.Y {
		if y == 0 {
			return errLabelZero(i)
		}
		finiteZero += 0 * y
		p.ymax = max(p.ymax, math.Abs(y))
		row := raw.Data[i*raw.Stride : i*raw.Stride+n]
		if p.counts != nil && p.counts[i] == 0 {
			for j := range p.d {
				p.z[j*m+i] = 0
			}
			for _, v := range row {
				finiteZero += 0 * v
			}
			continue
		}
		for j, v := range row {
			v *= y
			finiteZero += 0 * v
			p.z[j*m+i] = v
			p.zmax[j] = max(p.zmax[j], math.Abs(v))
		}
		if p.d > n {
			p.z[n*m+i] = y
			p.zmax[n] = max(p.zmax[n], math.Abs(y))
		}
	}
	if finiteZero != 0 {
		if err := d.Check(); err != nil {
			return err
		}
		return errFoldOverflows
	}
	return nil
}

var errFoldOverflows = check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the features", "has a product of a label and a feature that overflows")

// errLabelZero is the error of a label 0 in row i.
func errLabelZero(i int) error {
	return check.ArgErrorf("Data.Y", qpdiff.ErrDomain, "use the labels -1 and 1, not 0 and 1; drop an example that is not to count", "holds the label 0 at index %d, whose loss does not depend on θ", i)
}

// foldStored does the work of fold for a sparse X. It leaves out the rows in the list leftOut.
func (p *logisticProblem) foldStored(d learn.Data, leftOut []int) error {
	labels := append(p.storedRows.Root[:0], d.Y...)
	for i, y := range labels {
		if y == 0 {
			return errLabelZero(i)
		}
		p.ymax = max(p.ymax, math.Abs(y))
		if dense.CountAt(p.counts, i) == 0 {
			labels[i] = 0
		}
	}
	for _, i := range leftOut {
		labels[i] = 0
	}
	p.storedRows.Load(d, labels)
	if p.d > p.storedRows.N {
		p.storedRows.AddRoots()
	}
	if p.storedRows.Largest(p.zmax); !dense.AllFinite(p.zmax) {
		return errFoldOverflows
	}
	if !dense.Finite(p.storedRows.Total) {
		return check.ArgErrorf("Data.Y", qpdiff.ErrNotFinite, "scale the labels", "is so large that the sum of its squares overflows")
	}
	return nil
}

// labels returns the label of each row, or 0 for a row of weight 0. The problem must have an
// intercept, because the label of row i is read from the entry of zᵢ that belongs to the intercept.
func (p *logisticProblem) labels() []float64 {
	if p.storedRows != nil {
		return p.storedRows.Root
	}
	return p.z[(p.d-1)*p.m : p.d*p.m]
}

// oneSign reports whether the labels of all rows with a weight above 0 have the same sign. The
// problem must have an intercept.
func (p *logisticProblem) oneSign() bool {
	labels := p.labels()
	return !slices.ContainsFunc(labels, func(y float64) bool { return y > 0 }) ||
		!slices.ContainsFunc(labels, func(y float64) bool { return y < 0 })
}

// descent returns the fraction t of a step of length r that the line search accepts. The step t
// certainly lowers the objective, because t·r ≤ logisticSafeStep or the slope at t is not positive.
// descent tries t = 1 first. If t = 1 is too long, it bisects. The bisection ends when the slope at
// t is between logisticSlope·slope0 and 0, where slope0 < 0 is the slope at the start.
func descent(r, slope0 float64, slope func(t float64) float64) float64 {
	lo, hi, t := 0.0, math.Inf(1), 1.0
	for range logisticBisections {
		s := slope(t)
		if t*r <= logisticSafeStep || s <= 0 && (s >= logisticSlope*slope0 || t == 1) {
			break
		}
		if s > 0 {
			hi = t
		} else {
			lo = t
		}
		t = (lo + hi) / 2
	}
	return t
}

// timesCounts sets dst to v with each entry multiplied by the weight of its row, and returns dst.
// If all weights are 1 (counts is nil), it returns v itself.
func (p *logisticProblem) timesCounts(dst *[]float64, v []float64) []float64 {
	if p.counts == nil {
		return v
	}
	*dst = dense.Grow(*dst, p.m)
	for i, count := range p.counts {
		(*dst)[i] = count * v[i]
	}
	return *dst
}

// logisticPoint is a logistic problem at one θ.
type logisticPoint struct {
	s    []float64 // m entries: 1−πᵢ, the probability of the label that was not seen
	w    []float64 // m entries: πᵢ(1−πᵢ), the weight of row i in the Hessian
	h    []float64 // k×k upper triangle, row-major: the Hessian H, then its factor
	dinv []float64 // k entries: reciprocal pivots of the factor
	root []float64 // (k+1)×m: work of hessian

	takenRows sparse.Columns // with a sparse X, likewise
	set       []int          // all columns

	countScratch []float64 // m entries, with counts: work of timesCounts
}

// resize resizes the problem to m rows and d parameters, and sets R to the identity matrix. sparseX
// is true if X is sparse.
func (p *logisticProblem) resize(m, d int, sparseX bool) {
	k := max(d, logisticSmall)
	p.m, p.d, p.k = m, d, k
	p.total, p.maxWeight = float64(m), 1
	p.zmax, p.pen = dense.Grow(p.zmax, k), dense.Grow(p.pen, k)
	clear(p.zmax)
	if sparseX {
		p.storedRows, p.z = cmp.Or(p.storedRows, new(sparse.Columns)), nil
	} else {
		p.storedRows, p.z = nil, dense.Grow(p.z, k*m)
		clear(p.z[d*m:])
	}
	dense.Fill(p.pen, 1)
}

// hessianEntries returns how many float64s a fit with the Hessian's entries needs in total: one
// Hessian and two points, each of which holds another Hessian. The second point belongs to a
// logisticDerivative.
func hessianEntries(m, k float64) float64 {
	point := 2*m + k*k + k
	if k > logisticSmall {
		point += (k + 1) * m
	}
	return 2*point + k*k
}

// storedHessianEntries returns the same number for a sparse X. It includes the entries of the
// copied columns.
func storedHessianEntries(m, k, stored float64) float64 {
	return 2*(3*m+k*k+2*k+sparse.TakenEntries(m, k, stored)) + k*k
}

// resize gives the point the shape of p. If hessian is true, it also allocates a Hessian.
func (pt *logisticPoint) resize(p *logisticProblem, hessian bool) {
	pt.s, pt.w = dense.Grow(pt.s, p.m), dense.Grow(pt.w, p.m)
	if !hessian {
		return
	}
	pt.h, pt.dinv = dense.Grow(pt.h, p.k*p.k), dense.Grow(pt.dinv, p.k)
	if p.storedRows != nil {
		pt.root = dense.Grow(pt.root, p.m)
	} else if p.k > logisticSmall {
		pt.root = dense.Grow(pt.root, (p.k+1)*p.m)
	}
}

// product sets dst to Zᵀv, which has one entry for each row of the data.
func (p *logisticProblem) product(dst, v []float64) {
	if p.storedRows != nil {
		p.storedRows.Times(dst, v)
		return
	}
	m := p.m
	if p.k == logisticSmall {
		dense.Combine3(dst[:m], v, p.z)
		return
	}
	blas64.Gemv(blas.Trans, 1, p.matrix(), blas64.Vector{N: p.k, Inc: 1, Data: v}, 0, blas64.Vector{N: m, Inc: 1, Data: dst})
}

// matrix returns z as a k×m matrix.
func (p *logisticProblem) matrix() blas64.General {
	return blas64.General{Rows: p.k, Cols: p.m, Stride: p.m, Data: p.z}
}

// gradient sets g to the gradient at theta, and s to 1−π.
func (p *logisticProblem) gradient(g, s, theta []float64) {
	m, k := p.m, p.k
	if p.storedRows != nil {
		clear(g)
		p.storedRows.AddTransposed(g, -p.c, s)
	} else if k == logisticSmall {
		g0, g1, g2 := dense.Products3(s[:m], p.z)
		g[0], g[1], g[2] = -p.c*g0, -p.c*g1, -p.c*g2
	} else {
		blas64.Gemv(blas.NoTrans, -p.c, p.matrix(), blas64.Vector{N: m, Inc: 1, Data: s}, 0, blas64.Vector{N: k, Inc: 1, Data: g})
	}
	for j, r := range p.pen {
		g[j] += r * theta[j]
	}
}

// storedSizes does for a sparse X what gradientSize does: dst[j] is the sum of the absolute terms
// of the gradient in θ_j. The caller has multiplied s by the weights of the rows.
func (p *logisticProblem) storedSizes(dst, s, theta []float64) {
	clear(dst)
	p.storedRows.Sizes(dst, s)
	for j := range dst {
		dst[j] = p.c*dst[j] + p.pen[j]*math.Abs(theta[j])
	}
}

// gradientSize returns the sum of the absolute terms of the gradient entry for θ_j.
func (p *logisticProblem) gradientSize(j int, s, theta []float64) float64 {
	m := p.m
	size := p.pen[j] * math.Abs(theta[j])
	for i, v := range p.z[j*m : (j+1)*m] {
		c := p.c
		if p.counts != nil {
			c *= p.counts[i]
		}
		size += c * s[i] * math.Abs(v)
	}
	return size
}

// hessian sets the upper triangle of pt.h from the weights pt.w. It stops early if the context
// ends.
func (p *logisticProblem) hessian(end *stop.Stop, pt *logisticPoint) {
	m, k := p.m, p.k
	weights := p.timesCounts(&pt.countScratch, pt.w)
	if p.storedRows != nil {
		p.storedHessian(pt, weights)
	} else if k == logisticSmall {
		dense.Moments3(pt.h, p.c, weights[:m], p.z)
	} else {
		roots := pt.root[k*m:]
		for i, w := range weights {
			roots[i] = math.Sqrt(w)
		}
		for j := range k {
			row := pt.root[j*m : (j+1)*m]
			for i, v := range p.z[j*m : (j+1)*m] {
				row[i] = v * roots[i]
			}
		}
		for j := range k {
			end.Look()
			row := pt.h[j*k+j : (j+1)*k]
			dense.Products(row, pt.root[j*m:], m, pt.root[j*m:(j+1)*m])
			floats.Scale(p.c, row)
		}
	}
	for j, r := range p.pen {
		pt.h[j*k+j] += r
	}
}

// storedHessian is the branch of hessian for a sparse X.
func (p *logisticProblem) storedHessian(pt *logisticPoint, weights []float64) {
	pt.set = pt.set[:0]
	for j := range p.d {
		pt.set = append(pt.set, j)
	}
	for i, w := range weights {
		pt.root[i] = math.Sqrt(p.c * w)
	}
	pt.takenRows.Take(p.storedRows, pt.set, pt.root)
	pt.takenRows.Gram(pt.h[:p.d*p.d], pt.set, pt.root)
	for j := p.d - 1; j >= 0 && p.d < p.k; j-- { // spread over the rows with padding
		copy(pt.h[j*p.k:], pt.h[j*p.d:(j+1)*p.d])
		clear(pt.h[j*p.k+p.d : (j+1)*p.k])
	}
	clear(pt.h[p.d*p.k:])
}

// factor overwrites h by its factor and reports whether h is regular to working precision. It stops
// early if the context of end ends.
func (pt *logisticPoint) factor(end *stop.Stop) bool {
	k := len(pt.dinv)
	return dense.LDLFactorUntil(end, pt.h, pt.dinv, k, k, dense.Eps) == k
}

// backsolve replaces x by H⁻¹x.
func (pt *logisticPoint) backsolve(x []float64) {
	k := len(pt.dinv)
	dense.LDLSolve(pt.h, pt.dinv, k, k, x)
}

// logisticWeights sets s to 1−π and w to π(1−π), where π belongs to the margins in the argument
// margins. Both have full relative precision.
func logisticWeights(s, w, margins []float64) {
	s, w = s[:len(margins)], w[:len(margins)]
	for i, m := range margins {
		e := math.Exp(min(m, logisticLargestMargin))
		si := 1 / (1 + e)
		s[i] = si
		w[i] = e * si * si
	}
}
