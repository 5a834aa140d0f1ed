package qpdiff

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// An Intercept says whether a linear model has a constant term, the last entry
// of θ, and whether the ridge penalty ½θᵀRθ covers it.
type Intercept int

const (
	NoIntercept          Intercept = iota // θ has one entry per feature; R = I
	UnpenalisedIntercept                  // θ has one more; R = diag(1, …, 1, 0)
	PenalisedIntercept                    // θ has one more; R = I
)

// Logistic is L2-regularised logistic regression with labels ±1 (Barratt and
// Sharma, Example "Logistic regression"):
//
//	minimise L(θ) = ½ θᵀRθ + C Σᵢ log(1 + exp(−yᵢ θᵀxᵢ)).
//
// With an intercept, xᵢ stands for (xᵢ, 1) and R depends on the penalty; see
// [Intercept]. The only hyperparameter is C > 0. A label is used as the real
// number it is in yᵢ θᵀxᵢ, so the solution is differentiable in y as well.
//
// # Derivatives
//
// Write πᵢ = 1/(1 + exp(−yᵢ θᵀxᵢ)), the probability of the label that was
// seen, and H = R + C Σ πᵢ(1−πᵢ) yᵢ² xᵢxᵢᵀ for the Hessian. The implicit
// function theorem at ∇L = 0 gives dθ = −H⁻¹ d(∇L) with
//
//	∇_{xᵢ}∇_θ L = C(πᵢ−1) yᵢ I + C πᵢ(1−πᵢ) yᵢ² xᵢ θᵀ
//	∂∇_θ L/∂yᵢ  = C(πᵢ−1) xᵢ   + C πᵢ(1−πᵢ) yᵢ (θᵀxᵢ) xᵢ
//	∂∇_θ L/∂C   = −Σᵢ (1−πᵢ) yᵢ xᵢ = −Rθ/C,
//
// with one row for each entry of θ; in the intercept's row of the first line
// the first term is absent and the xᵢ of the second is 1. The formula printed
// in that Example stops after the first term of the first line: it leaves out
// that πᵢ depends on xᵢ, and is not a derivative. Every block exists
// everywhere: L is smooth and strictly convex.
//
// # Method
//
// Newton's method with a line search on slopes alone. Bach's bound for
// generalised self-concordant functions (Electronic Journal of Statistics 4,
// 2010) says that a fraction t of the Newton step δ descends if it changes no
// margin yᵢ θᵀxᵢ by more than 1.5; and L being convex, so does one at whose end
// the slope along δ is still negative. Fit begins at the last solution as long
// as the number of features stays the same, and ends at machine precision.
//
// The zero value is ready for use and has no intercept.
type Logistic struct {
	Intercept Intercept
	// MaxIter limits the Newton steps of one fit; 0 means 200.
	MaxIter int

	data   Data
	rows   []int // rows of data in use, nil for all of them
	nRows  int   // number of rows in use
	d      int   // entries of θ
	k      int   // d, or logisticSmall where d is less: the rest is padding
	c      float64
	loaded bool
	fitted bool
	warm   bool
	stale  bool // the factor belongs to another point than theta
	iter   int

	z      []float64 // k×nRows: entry (j, i) is yᵢ xᵢⱼ
	s, w   []float64 // 1−πᵢ and πᵢ(1−πᵢ) at the last point evaluated
	dm, sw []float64 // work: zᵢᵀδ and √w·z
	pen    []float64 // diagonal of R
	theta  []float64
	cand   []float64
	g      []float64
	step   []float64
	h      []float64 // k×k upper triangle, row-major: H, then its factor
	dinv   []float64 // reciprocal pivots of the factor
}

// logisticSmall is the size up to which problems are padded with features that
// are zero and handled by one unrolled kernel.
const logisticSmall = 3

// Dims returns n (n+1 with an intercept) and 1.
func (l *Logistic) Dims(n int) (theta, hyper int) {
	if l.Intercept == NoIntercept {
		return n, 1
	}
	return n + 1, 1
}

// Load makes d the training set. It must be called again after an entry of d
// changed. With an unpenalised intercept there is a solution only if some
// labels are positive and some negative; otherwise the error matches
// ErrIllPosed.
func (l *Logistic) Load(d Data) error { return l.LoadRows(d, nil) }

// LoadRows makes the given rows of d the training set, without the caller
// having to copy them; nil means all of d. The fields of the Grad in VJP and
// JVP then have the shape of d, and the rows that are not given have derivative
// zero. Learners of many splits share one d (and one Grad) this way. The slice
// rows is kept, not copied.
func (l *Logistic) LoadRows(d Data, rows []int) error {
	l.loaded, l.fitted = false, false
	if d.X == nil || d.X.IsEmpty() {
		return d.Check()
	}
	raw := d.X.RawMatrix()
	if len(d.Y) != raw.Rows {
		return d.Check()
	}
	if l.Intercept < NoIntercept || l.Intercept > PenalisedIntercept {
		return argErrorf("Logistic.Intercept", ErrDomain, "use one of the constants", "is %d", l.Intercept)
	}
	m := raw.Rows
	if rows != nil {
		m = len(rows)
		if m == 0 {
			return argErrorf("rows", ErrShape, "give at least one row, or nil for all", "is empty")
		}
		for i, r := range rows {
			if r < 0 || r >= raw.Rows {
				return argErrorf("rows", ErrDomain, "use row numbers of X", "holds %d at index %d, X has %d rows", r, i, raw.Rows)
			}
		}
	}
	l.resize(m, raw.Cols)
	n := raw.Cols
	zero := 0.0 // stays zero as long as every product is finite
	positive, negative := false, false
	for i := range m {
		r := i
		if rows != nil {
			r = rows[i]
		}
		y := d.Y[r]
		positive = positive || y > 0
		negative = negative || y < 0
		zero += 0 * y
		for j, v := range raw.Data[r*raw.Stride : r*raw.Stride+n] {
			v *= y
			zero += 0 * v
			l.z[j*m+i] = v
		}
		if l.d > n {
			l.z[n*m+i] = y
		}
	}
	if zero != 0 {
		if err := d.Check(); err != nil {
			return err
		}
		return argErrorf("Data", ErrNotFinite, "scale the features", "has a product of a label and a feature that overflows")
	}
	if l.Intercept == UnpenalisedIntercept && !(positive && negative) {
		return argErrorf("Data.Y", ErrIllPosed, "penalise the intercept or give examples of both classes",
			"has no %s label, so that an unpenalised intercept has no minimiser", map[bool]string{true: "negative", false: "positive"}[positive])
	}
	l.data, l.rows, l.loaded = d, rows, true
	return nil
}

// resize gives the work space the shape for m rows of n features and forgets
// the warm start where the number of parameters changes.
func (l *Logistic) resize(m, n int) {
	d, _ := l.Dims(n)
	k := max(d, logisticSmall)
	if d != l.d || l.pen == nil {
		l.warm = false
		l.d, l.k = d, k
		l.pen, l.theta, l.cand = make([]float64, k), make([]float64, k), make([]float64, k)
		l.g, l.step, l.dinv, l.h = make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, k*k)
	}
	for j := range l.pen {
		l.pen[j] = 1
	}
	if l.Intercept == UnpenalisedIntercept {
		l.pen[d-1] = 0
	}
	l.nRows = m
	l.z = slices.Grow(l.z[:0], k*m)[:k*m]
	clear(l.z[d*m:])
	l.s, l.w, l.dm = slices.Grow(l.s[:0], m)[:m], slices.Grow(l.w[:0], m)[:m], slices.Grow(l.dm[:0], m)[:m]
	if k > logisticSmall {
		l.sw = slices.Grow(l.sw[:0], k*m)[:k*m]
	}
}

// Start makes theta the point where the next Fit begins, in place of the last
// solution. It must follow a Load and may be any finite point; a good one saves
// Newton steps and changes nothing else but the last bits of the solution.
func (l *Logistic) Start(theta []float64) {
	if len(theta) != l.d {
		panic("qpdiff: theta has the wrong length")
	}
	copy(l.theta, theta)
	clear(l.theta[l.d:])
	l.warm = true
	for _, v := range theta {
		l.warm = l.warm && finite(v)
	}
	l.fitted = false
}

// Reset forgets the warm start and the last fit.
func (l *Logistic) Reset() { l.warm, l.fitted = false, false }

// Fit writes the minimiser to theta (n entries, with an intercept n+1, the
// intercept last) at hyper = [C]. The errors match ErrDomain for a C that is
// not positive and finite, ErrNotFitted before the first Load, ErrNotFinite
// where the data is so large that squares overflow, ErrIllPosed where the
// Hessian is singular to machine precision, and ErrIterationLimit, where theta
// holds the last iterate.
func (l *Logistic) Fit(theta, hyper []float64) error {
	l.fitted = false
	if !l.loaded {
		return errNotLoaded
	}
	if len(theta) != l.d {
		panic("qpdiff: theta has the wrong length")
	}
	if err := checkHyper(hyper, 1); err != nil {
		return err
	}
	if hyper[0] == 0 {
		return argErrorf("hyper", ErrDomain, "give a weight C above 0", "holds 0 at index 0")
	}
	l.c = hyper[0]
	limit := l.MaxIter
	if limit <= 0 {
		limit = 200
	}
	var err error
	if l.warm {
		err = l.minimise(min(limit, logisticWarmSteps))
	}
	if !l.warm || err != nil {
		// Where every π is 0 or 1 the Hessian says nothing; at θ = 0 it is as
		// well conditioned as the data.
		clear(l.theta)
		err = l.minimise(limit)
	}
	if err == errSingular {
		err = argErrorf("Data", ErrIllPosed, "scale or centre the features, or penalise the intercept", "gives a Hessian that is singular to machine precision")
	}
	l.warm, l.fitted = err == nil, err == nil
	if err == nil || errors.Is(err, ErrIterationLimit) {
		copy(theta, l.theta)
	}
	return err
}

// errSingular is what minimise returns where the Hessian has no Cholesky
// factor; Fit turns it into an error that helps.
var errSingular = errors.New("singular Hessian")

const (
	// A start that takes more steps than this is given up for θ = 0.
	logisticWarmSteps = 25
	// A step shorter than this in every margin is the last: the quadratic
	// convergence leaves less than its square, and the probabilities follow it
	// to second order without another exponential.
	logisticLastStep = 1e-8
	// A step no longer than this in every margin descends at full length:
	// L(θ+δ) ≤ L(θ) − λ² + λ²(eʳ−r−1)/r², with the Newton decrement λ.
	logisticSafeStep = 1.5
)

// minimise runs Newton's method from l.theta.
func (l *Logistic) minimise(limit int) error {
	last := math.Inf(1) // the size of the full step before
	l.evaluate(l.theta)
	for l.iter = 1; l.iter <= limit; l.iter++ {
		if err := l.newtonStep(); err != nil {
			return err
		}
		r := l.product(l.dm, l.step)
		if r <= logisticLastStep || (r < 1e-3 && r > last/2 && l.gradientIsRoundoff()) {
			l.finish()
			return nil
		}
		last = r
		l.lineSearch(r)
		l.theta, l.cand = l.cand, l.theta
	}
	return argErrorf("Logistic.MaxIter", ErrIterationLimit, "raise it, or scale the features", "allows %d Newton steps, which are not enough", limit)
}

// lineSearch evaluates at cand = θ + t·step for a length t that is certain to
// descend: one that changes no margin by more than logisticSafeStep, or where
// the slope along step is still negative. A full step is tried first; if that
// goes too far, t is where the slope has fallen to between 0 and a half of
// what it was. The largest change of a margin along step is r.
func (l *Logistic) lineSearch(r float64) {
	slope0 := dot(l.g, l.step)
	lo, hi := 0.0, math.Inf(1)
	t := 1.0
	for range 64 { // rounding alone could keep the slope from the range wanted
		for j, v := range l.theta {
			l.cand[j] = v + t*l.step[j]
		}
		l.evaluate(l.cand)
		slope := dot(l.g, l.step)
		switch {
		case t*r <= logisticSafeStep, slope <= 0 && (slope >= slope0/2 || t == 1):
			return
		case slope > 0:
			hi = t
		default:
			lo = t
		}
		t = (lo + hi) / 2
	}
}

// finish takes the last step, to which the probabilities respond to second
// order and the factor is brought up to date only if it is asked for.
func (l *Logistic) finish() {
	for j, v := range l.step {
		l.theta[j] += v
	}
	for i, dm := range l.dm {
		// d²s/dm² = w(1−2s) and dw/dm = −w(1−2s)
		s, w := l.s[i], l.w[i]
		l.s[i] = s - dm*w
		l.w[i] = w - dm*w*(1-2*s)
	}
	l.stale = true
}

// product writes Zᵀv, one entry per row of data, and returns the largest
// modulus.
func (l *Logistic) product(dst, v []float64) float64 {
	m := l.nRows
	top := 0.0
	if l.k == logisticSmall {
		z0, z1, z2 := l.z[:m], l.z[m:2*m], l.z[2*m:3*m]
		v0, v1, v2 := v[0], v[1], v[2]
		dst = dst[:m]
		for i := range dst {
			p := v0*z0[i] + v1*z1[i] + v2*z2[i]
			dst[i] = p
			top = max(top, math.Abs(p))
		}
		return top
	}
	blas64.Gemv(blas.Trans, 1, l.zt(), blas64.Vector{N: l.k, Inc: 1, Data: v}, 0, blas64.Vector{N: m, Inc: 1, Data: dst})
	for _, p := range dst {
		top = max(top, math.Abs(p))
	}
	return top
}

// zt is z as a k×nRows matrix.
func (l *Logistic) zt() blas64.General {
	return blas64.General{Rows: l.k, Cols: l.nRows, Stride: l.nRows, Data: l.z}
}

// evaluate sets s, w, the gradient g and the upper triangle of the Hessian h
// at theta.
func (l *Logistic) evaluate(theta []float64) {
	l.product(l.dm, theta)
	for i, m := range l.dm {
		// Relative precision in both 1−π and π; beyond 700 both w and 1−π
		// are nothing beside any other row, and eᵐ would overflow.
		e := math.Exp(min(m, 700))
		s := 1 / (1 + e)
		l.s[i] = s
		l.w[i] = e * s * s
	}
	l.accumulate(theta)
}

// accumulate sets the gradient and the Hessian's upper triangle from s and w.
func (l *Logistic) accumulate(theta []float64) {
	m, k := l.nRows, l.k
	if k == logisticSmall {
		var g0, g1, g2, h00, h01, h02, h11, h12, h22 float64
		z0, z1, z2 := l.z[:m], l.z[m:2*m], l.z[2*m:3*m]
		w := l.w[:m]
		for i, s := range l.s[:m] {
			a, b, c, w := z0[i], z1[i], z2[i], w[i]
			g0 += s * a
			g1 += s * b
			g2 += s * c
			wa, wb := w*a, w*b
			h00 += wa * a
			h01 += wa * b
			h11 += wb * b
			h02 += wa * c
			h12 += wb * c
			h22 += w * c * c
		}
		c := l.c
		h := l.h[:9]
		h[0], h[1], h[2] = c*h00, c*h01, c*h02
		h[4], h[5], h[8] = c*h11, c*h12, c*h22
		l.g[0], l.g[1], l.g[2] = -c*g0, -c*g1, -c*g2
	} else {
		for i, w := range l.w {
			l.dm[i] = math.Sqrt(w)
		}
		for j := range k {
			row := l.sw[j*m : (j+1)*m]
			for i, v := range l.z[j*m : (j+1)*m] {
				row[i] = v * l.dm[i]
			}
		}
		blas64.Syrk(blas.NoTrans, l.c, blas64.General{Rows: k, Cols: m, Stride: m, Data: l.sw}, 0,
			blas64.Symmetric{Uplo: blas.Upper, N: k, Stride: k, Data: l.h})
		blas64.Gemv(blas.NoTrans, -l.c, l.zt(), blas64.Vector{N: m, Inc: 1, Data: l.s}, 0, blas64.Vector{N: k, Inc: 1, Data: l.g})
	}
	for j, p := range l.pen {
		l.g[j] += p * theta[j]
		l.h[j*k+j] += p
	}
}

// newtonStep factors h in place and sets step = −h⁻¹g.
func (l *Logistic) newtonStep() error {
	if err := l.factor(); err != nil {
		return err
	}
	for j, v := range l.g {
		l.step[j] = -v
	}
	l.backsolve(l.step)
	return nil
}

// factor overwrites h by its factor.
func (l *Logistic) factor() error {
	if ldlFactor(l.h, l.dinv, l.k, l.k, eps) < l.k {
		return errSingular
	}
	l.stale = false
	return nil
}

// backsolve replaces x by h⁻¹x.
func (l *Logistic) backsolve(x []float64) {
	ldlForward(l.h, l.dinv, l.k, l.k, x)
	ldlBack(l.h, l.dinv, l.k, l.k, x)
}

// gradientIsRoundoff reports whether no entry of the gradient exceeds what
// rounding leaves of the sums it is made of.
func (l *Logistic) gradientIsRoundoff() bool {
	m := l.nRows
	for j, g := range l.g {
		scale := l.pen[j] * math.Abs(l.theta[j])
		for i, v := range l.z[j*m : (j+1)*m] {
			scale += l.c * l.s[i] * math.Abs(v)
		}
		if math.Abs(g) > 0x1p-46*scale {
			return false
		}
	}
	return true
}

// refresh brings the factor to the solution.
func (l *Logistic) refresh() error {
	if !l.stale {
		return nil
	}
	l.accumulate(l.theta)
	return l.factor()
}

// Iterations returns the number of Newton steps of the last Fit.
func (l *Logistic) Iterations() int { return l.iter }

// Probabilities writes πᵢ = 1/(1 + exp(−yᵢ θᵀxᵢ)) at the last successful Fit,
// one for every row in use: the probability that the fitted model gives to the
// label it was shown. The error matches ErrNotFitted.
func (l *Logistic) Probabilities(dst []float64) error {
	if !l.fitted {
		return errNotFitted
	}
	if len(dst) != l.nRows {
		panic("qpdiff: dst has the wrong length")
	}
	for i, s := range l.s {
		dst[i] = 1 - s
	}
	return nil
}

// SolveHessian writes H⁻¹v to dst, for the Hessian H of L at the last
// successful Fit: the product that every derivative of θ is made of. dst and v
// have as many entries as θ and may be the same slice. The errors match
// ErrNotFitted, and ErrNotFinite for v.
func (l *Logistic) SolveHessian(dst, v []float64) error {
	if !l.fitted {
		return errNotFitted
	}
	if len(dst) != l.d {
		panic("qpdiff: dst has the wrong length")
	}
	if err := l.solve(v); err != nil {
		return err
	}
	copy(dst, l.step)
	return nil
}

// solve sets step = H⁻¹v, padded.
func (l *Logistic) solve(v []float64) error {
	if len(v) != l.d {
		panic("qpdiff: dtheta has the wrong length")
	}
	if err := checkFinite("dtheta", "give a finite cotangent", v); err != nil {
		return err
	}
	if err := l.refresh(); err != nil {
		return err
	}
	copy(l.step, v)
	clear(l.step[l.d:])
	l.backsolve(l.step)
	return nil
}

// VJP adds dthetaᵀ·∂θ/∂input at the last successful Fit to every field of g
// that is not nil: Hyper one entry (C), X and Y of the shape of the data. It
// solves one system with the Hessian whatever is asked for. The errors match
// ErrNotFitted, and ErrNotFinite for dtheta.
func (l *Logistic) VJP(g *Grad, dtheta []float64) error {
	if !l.fitted {
		return errNotFitted
	}
	rows, n := l.data.X.Dims()
	checkGrad(g, 1, rows, n)
	if err := l.solve(dtheta); err != nil {
		return err
	}
	u := l.step
	if g.Hyper != nil {
		sum := 0.0
		for j, p := range l.pen {
			sum += p * u[j] * l.theta[j]
		}
		g.Hyper[0] += sum / l.c
	}
	if g.X == nil && g.Y == nil {
		return nil
	}
	l.product(l.dm, u)
	if g.X != nil {
		l.vjpX(g.X.RawMatrix(), u)
	}
	if g.Y != nil {
		raw := l.data.X.RawMatrix()
		for i, a := range l.dm {
			r := l.row(i)
			x := raw.Data[r*raw.Stride : r*raw.Stride+n]
			ux, tx := dot(u[:n], x), dot(l.theta[:n], x)
			if l.d > n {
				ux += u[n]
				tx += l.theta[n]
			}
			g.Y[r] += l.c * (l.s[i]*ux - l.w[i]*a*tx)
		}
	}
	return nil
}

// row is the row of the data that is the i-th in use.
func (l *Logistic) row(i int) int {
	if l.rows == nil {
		return i
	}
	return l.rows[i]
}

// vjpX adds yᵢ C((1−πᵢ) u − πᵢ(1−πᵢ)(uᵀzᵢ) θ) to row i of gx, with uᵀzᵢ in dm.
func (l *Logistic) vjpX(gx blas64.General, u []float64) {
	n, y := gx.Cols, l.data.Y
	for i, a := range l.dm {
		r := l.row(i)
		cy := l.c * y[r]
		p, q := cy*l.s[i], cy*l.w[i]*a
		row := gx.Data[r*gx.Stride : r*gx.Stride+n]
		for j := range row {
			row[j] += p*u[j] - q*l.theta[j]
		}
	}
}

// JVP writes to dtheta the directional derivative of θ at the last successful
// Fit along d, in which a nil field means no change. The errors match
// ErrNotFitted, and ErrNotFinite for d.
func (l *Logistic) JVP(dtheta []float64, d *Grad) error {
	if !l.fitted {
		return errNotFitted
	}
	if len(dtheta) != l.d {
		panic("qpdiff: dtheta has the wrong length")
	}
	rows, n := l.data.X.Dims()
	checkGrad(d, 1, rows, n)
	if err := checkTangent(d); err != nil {
		return err
	}
	if err := l.refresh(); err != nil {
		return err
	}
	out := l.step
	clear(out)
	if d.Hyper != nil {
		for j, p := range l.pen {
			out[j] += d.Hyper[0] * p * l.theta[j] / l.c
		}
	}
	// Row i moves zᵢ = yᵢxᵢ by dz, and −∇L by C((1−πᵢ) dz − πᵢ(1−πᵢ)(θᵀdz) zᵢ).
	raw := l.data.X.RawMatrix()
	dz := l.cand
	for i := range l.nRows {
		r := l.row(i)
		x, y := raw.Data[r*raw.Stride:r*raw.Stride+n], l.data.Y[r]
		clear(dz)
		if d.X != nil {
			for j := range n {
				dz[j] = y * d.X.At(r, j)
			}
		}
		if d.Y != nil {
			for j, v := range x {
				dz[j] += d.Y[r] * v
			}
			if l.d > n {
				dz[n] = d.Y[r]
			}
		}
		p, q := l.c*l.s[i], l.c*l.w[i]*dot(l.theta, dz)
		for j, v := range dz {
			out[j] += p*v - q*l.z[j*l.nRows+i]
		}
	}
	l.backsolve(out)
	copy(dtheta, out)
	return nil
}
