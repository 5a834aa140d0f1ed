package linear

import (
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// sparseRoundoff is the rounding of a slope relative to the size of its terms, apart from
// that of a sum over many rows.
const sparseRoundoff = 64 * dense.Eps

// errSparseBlurred is the error of a fit where rounding hides the solution.
var errSparseBlurred = check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise λ2, or scale or centre the features", "leaves the solution open: it is not unique within the rounding of the terms of the data")

// sparseLogisticFit is a sparse logistic regression on its data, solved: what its
// derivatives read. After a fit its penalisedQuadratic is the second-order model of the
// loss at θ, with G on the support, and θ is that model's qp.x.
type sparseLogisticFit struct {
	penalisedQuadratic
	logisticProblem
	inv float64 // 1/N

	limit []float64 // of each coordinate: Σ|zᵢⱼ|/N, which bounds the modulus of g
	ridge []float64 // λ2 of the model, with what damps a step
	hold  []float64 // λ1 of a coordinate that may move, +Inf of one that may not
	lin   []float64 // c of the model
	free  []int     // the coordinates that may move

	theta  []float64
	margin []float64 // m entries: θᵀzᵢ
	s, h   []float64 // m entries: the probability of the label not seen, and s(1−s)
	cs, ch []float64 // s and h times what the row counts, over N
	g      []float64 // gradient of the loss
	sums   []float64 // of each coordinate: Σ cs·|zᵢⱼ|
	reach  []float64 // m entries: Σ|zᵢⱼθ_j|, of which the margins are the sums

	step  []float64 // the step of θ
	dm    []float64 // the change of the margins along it
	roots []float64 // work of model
	rows  []float64
	block []float64

	iter int  // steps of the last fit
	warm bool // theta is the start of the next fit
}

// shape makes room for m rows of n features.
func (l *sparseLogisticFit) shape(m, n int, intercept bool) {
	d := n
	if intercept {
		d++
	}
	l.warm = l.warm && d == l.d && n == l.features
	l.logisticProblem.resize(m, d)
	l.penalisedQuadratic.resize(d, n)
	l.params = d
	l.gram = dense.Grow(l.gram, d*d)
	l.qp.g, l.qp.diag = l.gram, dense.Zeros(l.qp.diag, d)
	dense.GrowAll(d, &l.limit, &l.ridge, &l.hold, &l.lin, &l.theta, &l.g, &l.sums, &l.step)
	dense.GrowAll(m, &l.margin, &l.reach, &l.s, &l.h, &l.cs, &l.ch, &l.dm, &l.roots)
	l.rows, l.block = dense.Grow(l.rows, d*m), dense.Grow(l.block, d*d)
	l.free = dense.Grow(l.free, d)
	clear(l.gram)
	l.qp.c, l.qp.r, l.qp.up, l.qp.lo, l.qp.intercept = l.lin, l.ridge, l.hold, l.hold, intercept
	if intercept {
		l.l1[n], l.l2[n] = 0, 0
	}
}

// column returns the entries zᵢⱼ of all rows i.
func (l *sparseLogisticFit) column(j int) []float64 { return l.z[j*l.m : (j+1)*l.m] }

// bounds sets inv and limit, and reports a feature whose part of the Hessian overflows.
func (l *sparseLogisticFit) bounds() error {
	l.inv = 1 / l.total
	// Derivatives take cs and ch, in which 1/N is.
	l.c, l.most = 1, l.most*l.inv
	for j := range l.d {
		sum, squares := 0.0, 0.0
		for i, v := range l.column(j) {
			c := dense.CountAt(l.counts, i) * l.inv
			sum += c * math.Abs(v)
			squares += c * v * v
		}
		if l.limit[j] = sum; !dense.Finite(squares) {
			return check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the features and labels", "is so large that XᵀX overflows at column %d", j)
		}
	}
	return nil
}

// product sets dst to Zᵀv.
func (l *sparseLogisticFit) product(dst, v []float64) {
	clear(dst)
	for j, t := range v {
		if t != 0 {
			floats.AddScaled(dst, t, l.column(j))
		}
	}
}

// evaluate sets the margins, the probabilities and the gradient to those at theta.
func (l *sparseLogisticFit) evaluate() {
	l.product(l.margin, l.theta)
	logisticWeights(l.s, l.h, l.margin)
	for i := range l.cs {
		share := dense.CountAt(l.counts, i) * l.inv
		l.cs[i], l.ch[i] = share*l.s[i], share*l.h[i]
	}
	for j := range l.g {
		l.g[j] = -floats.Dot(l.cs, l.column(j))
	}
}

// model sets G to the Hessian of the loss at the coordinates set, which are ascending.
func (l *sparseLogisticFit) model(set []int) {
	s, m, n := len(set), l.m, l.n
	if s == 0 {
		return
	}
	for i, c := range l.ch {
		l.roots[i] = math.Sqrt(c)
	}
	for p, j := range set {
		floats.MulTo(l.rows[p*m:(p+1)*m], l.column(j), l.roots)
	}
	blas64.Syrk(blas.NoTrans, 1, blas64.General{Rows: s, Cols: m, Stride: m, Data: l.rows}, 0,
		blas64.Symmetric{Uplo: blas.Upper, N: s, Stride: s, Data: l.block})
	for p, j := range set {
		for q := p; q < s; q++ {
			k, v := set[q], l.block[p*s+q]
			l.gram[j*n+k], l.gram[k*n+j] = v, v
		}
		l.qp.diag[j] = l.gram[j*n+j]
	}
}

// measure sets sums, terms and root at theta. The terms are those of the gradient, and of
// the margins times what they make of it.
func (l *sparseLogisticFit) measure() {
	clear(l.reach)
	for j, t := range l.theta {
		if t = math.Abs(t); t != 0 {
			for i, v := range l.column(j) {
				l.reach[i] += t * math.Abs(v)
			}
		}
	}
	for j := range l.d {
		sum, moved, squares := 0.0, 0.0, 0.0
		for i, v := range l.column(j) {
			a, h := math.Abs(v), l.ch[i]
			sum += l.cs[i] * a
			moved += h * l.reach[i] * a
			squares += h * v * v
		}
		l.sums[j], l.terms[j], l.root[j] = sum, sum+moved, math.Sqrt(squares)
	}
}

// slope returns the slope of the objective in coordinate j at theta on the side of its
// kink where θ_j is, and at the kink that beyond what the kink holds.
func (l *sparseLogisticFit) slope(j int) float64 {
	t, g := l.theta[j], l.g[j]
	if t == 0 {
		return math.Copysign(max(0, math.Abs(g)-l.l1[j]), g)
	}
	return g + l.l2[j]*t + l.l1[j]*dense.Sign(t)
}

// optimal reports whether theta meets the optimality conditions to the rounding of their
// terms. It needs terms.
func (l *sparseLogisticFit) optimal() bool {
	tol := sparseRoundoff + dense.Eps*math.Sqrt(float64(l.m))
	for j, t := range l.theta {
		size := l.terms[j] + l.l1[j] + l.l2[j]*math.Abs(t)
		if !(math.Abs(l.slope(j)) <= tol*size) {
			return false
		}
	}
	return true
}

// settle makes the quadratic problem that of theta, with the factor of its active system,
// and finds the weakly active coordinates.
func (l *sparseLogisticFit) settle() error {
	q := &l.qp
	copy(q.x, l.theta)
	copy(l.hold, l.l1)
	copy(l.ridge, l.l2)
	q.activate()
	l.model(q.act)
	clear(l.lin)
	if k := q.factor(); k < len(q.act) {
		return q.errOpen(q.act[k])
	}
	// Where the rounding of the margins moves the terms of a slope by more than their
	// size, any θ is optimal.
	for _, j := range q.act {
		if size := l.sums[j] + l.l1[j] + l.l2[j]*math.Abs(l.theta[j]); !(dense.Eps*(l.terms[j]-l.sums[j]) <= learner.DecisionTol*size) {
			return errSparseBlurred
		}
	}
	l.rmsY = 0
	for j, g := range l.g {
		q.grad[j] = -g
		if l.root[j] > 0 {
			l.rmsY = max(l.rmsY, l.sums[j]/l.root[j])
		} else if l.sums[j] > 0 && l.theta[j] != 0 {
			return errSparseBlurred
		}
	}
	any, err := l.suspectWeak()
	if !any {
		return err
	}
	l.free = l.free[:0]
	next := 0
	for j := range l.n {
		if active := dense.IsNext(q.act, &next, j); active || slices.Contains(l.weak, j) {
			l.free = append(l.free, j)
		}
	}
	l.model(l.free)
	return l.settleWeak()
}

// dataVJP is part of a penalisedModel.
func (l *sparseLogisticFit) dataVJP(d *penalisedDerivative, g *learn.Grad, act []int, w []float64) error {
	u := dense.Zeros(d.b, l.d)
	dense.Scatter(u, w, act)
	d.rows = dense.Grow(d.rows, l.m)
	l.product(d.rows, u)
	return l.logisticProblem.dataVJP(g, l.state.Data, l.qp.x, u, l.cs, l.ch, d.rows)
}

// dataJVP is part of a penalisedModel.
func (l *sparseLogisticFit) dataJVP(d *penalisedDerivative, b []float64, t *learn.Grad) {
	d.rows = dense.Grow(d.rows, l.d)
	l.logisticProblem.dataJVP(b, t, l.state.Data, l.qp.x, l.cs, l.ch, d.rows)
}
