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
// number it is in yᵢ θᵀxᵢ, so the solution is differentiable in y as well. The
// label 0 is refused: its loss is log 2 whatever θ is.
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
// as the number of features stays the same, and ends at machine precision. Once
// no margin changes by more than ½ in a step, the probabilities follow by
// series and no exponential is computed any more.
//
// The zero value is ready for use and has no intercept.
type Logistic struct {
	Intercept Intercept
	// MaxIter limits the Newton steps of one fit; 0 means 200.
	MaxIter int

	data   Data
	full   *Logistic // the learner of all rows, nil where this is one
	out    []int     // the rows that this one leaves out
	nRows  int
	d      int // entries of θ
	k      int // d, or logisticSmall where d is less: the rest is padding
	c      float64
	loaded bool
	fitted bool
	warm   bool
	placed bool // s, w, g and h are those at theta
	stale  bool // s, w and the factor belong to the point theta − last
	bare   bool // h is not the factor of the Hessian that s and w give
	iter   int

	z      []float64 // k×nRows: entry (j, i) is yᵢ xᵢⱼ, 0 for a row left out
	s, w   []float64 // 1−πᵢ and πᵢ(1−πᵢ) at the last point evaluated
	dm, sw []float64 // work: zᵢᵀδ and √w·z
	pen    []float64 // diagonal of R
	theta  []float64
	cand   []float64
	g      []float64
	step   []float64
	last   []float64 // the last Newton step
	zmax   []float64 // largest modulus of each row of z
	ymax   float64   // of a label
	h      []float64 // k×k upper triangle, row-major: H, then its factor
	hess   []float64 // H before it was factored
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
// changed. Errors are ArgErrors: of kind ErrShape or ErrNotFinite; ErrDomain for
// a label 0, as the classes 0 and 1 have it. With an unpenalised intercept there
// is a solution only if some labels are positive and some negative; otherwise
// the error matches ErrIllPosed.
func (l *Logistic) Load(d Data) error {
	l.loaded, l.fitted = false, false
	l.full, l.out = nil, nil
	if d.X == nil || d.X.IsEmpty() || len(d.Y) != d.X.RawMatrix().Rows {
		return d.Check()
	}
	if l.Intercept < NoIntercept || l.Intercept > PenalisedIntercept {
		return argErrorf("Logistic.Intercept", ErrDomain, "use one of the constants", "is %d", l.Intercept)
	}
	raw := d.X.RawMatrix()
	m, n := raw.Rows, raw.Cols
	l.resize(m, n)
	zero := 0.0 // stays zero as long as every product is finite
	for i, y := range d.Y {
		if y == 0 {
			return argErrorf("Data.Y", ErrDomain, "use the labels -1 and 1, not 0 and 1; drop an example that is not to count", "holds the label 0 at index %d, whose loss does not depend on θ", i)
		}
		zero += 0 * y
		l.ymax = max(l.ymax, math.Abs(y))
		for j, v := range raw.Data[i*raw.Stride : i*raw.Stride+n] {
			v *= y
			zero += 0 * v
			l.z[j*m+i] = v
			l.zmax[j] = max(l.zmax[j], math.Abs(v))
		}
		if l.d > n {
			l.z[n*m+i] = y
			l.zmax[n] = max(l.zmax[n], math.Abs(y))
		}
	}
	if zero != 0 {
		if err := d.Check(); err != nil {
			return err
		}
		return argErrorf("Data", ErrNotFinite, "scale the features", "has a product of a label and a feature that overflows")
	}
	return l.accept(d)
}

// LoadSubset makes the training set of full, less the rows out, that of l, as
// cross-validation wants it. Where full is fitted at the C of a Fit that
// follows, this begins at the solution of full, corrected to first order for
// the rows that are missing: the Newton step that leaves them out costs next
// to nothing. l keeps no warm start of its own, so that its result depends on
// full alone.
//
// The fields of the Grad in VJP and JVP have the shape of full's data; the
// rows left out have derivative zero, and probability 1 in Probabilities.
//
// full must be a *Logistic with the same Intercept that was loaded by Load,
// else the error matches ErrDomain; it is only read, so that many learners can
// do this at once. LoadSubset must be called again after full was loaded or
// fitted again. The slice out is kept.
func (l *Logistic) LoadSubset(full Learner, out []int) error {
	l.loaded, l.fitted, l.warm = false, false, false
	f, ok := full.(*Logistic)
	if !ok || f == l || f == nil || !f.loaded || f.full != nil || f.Intercept != l.Intercept {
		return argErrorf("full", ErrDomain, "give another *Logistic of the same Intercept that has all rows loaded", "is no learner to leave rows out of")
	}
	rows, n := f.data.X.Dims()
	l.resize(rows, n)
	l.full, l.out = f, out
	copy(l.z, f.z)
	copy(l.zmax, f.zmax)
	l.ymax = f.ymax
	for i, r := range out {
		if r < 0 || r >= rows {
			return argErrorf("out", ErrDomain, "use row numbers of full's data", "holds %d at index %d where there are %d rows", r, i, rows)
		}
		for j := range l.d {
			l.z[j*rows+r] = 0
		}
	}
	return l.accept(f.data)
}

// accept ends a Load: it makes sure that there is a minimiser.
func (l *Logistic) accept(d Data) error {
	if l.Intercept == UnpenalisedIntercept {
		labels := l.z[(l.d-1)*l.nRows : l.d*l.nRows]
		missing := ""
		if !slices.ContainsFunc(labels, func(y float64) bool { return y > 0 }) {
			missing = "positive"
		} else if !slices.ContainsFunc(labels, func(y float64) bool { return y < 0 }) {
			missing = "negative"
		}
		if missing != "" {
			return argErrorf("Data.Y", ErrIllPosed, "penalise the intercept or give examples of both classes",
				"has no %s label, so that an unpenalised intercept has no minimiser", missing)
		}
	}
	l.data, l.loaded = d, true
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
		l.hess, l.last, l.zmax = make([]float64, k*k), make([]float64, k), make([]float64, k)
	}
	clear(l.zmax)
	l.ymax = 0
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
// intercept last) at hyper = [C]. The errors match ErrShape, ErrNotFinite or
// ErrDomain for a hyper that is not one positive number, ErrNotFitted before
// the first Load, ErrIllPosed where the Hessian at the solution is singular to
// machine precision or overflows, and ErrIterationLimit, where theta holds the
// last iterate. After any other error theta is as it was.
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
	l.placed, l.iter = false, 0
	l.startWithout()
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
	l.warm, l.fitted = err == nil, err == nil
	if err == nil || errors.Is(err, ErrIterationLimit) {
		copy(theta, l.theta)
	}
	return err
}

// startWithout makes the start the solution of the learner of all rows, plus
// the Newton step for the rows left out of this one. Without those, V, the
// gradient there is C Σ_V (1−πᵢ) zᵢ, and their part of the Hessian is gone.
func (l *Logistic) startWithout() {
	f := l.full
	if l.warm || f == nil || !f.fitted || f.c != l.c {
		return
	}
	m, k := l.nRows, l.k
	copy(l.h, f.hess)
	clear(l.step)
	for _, r := range l.out {
		s, w := l.c*f.s[r], l.c*f.w[r]
		for i := range k {
			zi := f.z[i*m+r]
			l.step[i] -= s * zi
			for j := i; j < k; j++ {
				l.h[i*k+j] -= w * zi * f.z[j*m+r]
			}
		}
	}
	copy(l.theta, f.theta)
	if l.factor() == nil {
		l.backsolve(l.step)
		axpy(1, l.step, l.theta)
		if f.stale {
			axpy(1, f.last, l.step) // counted from where s and w are
		}
		if r := l.reach(); r <= logisticNudge {
			l.nudge(f.s, f.w, l.theta, r)
			l.placed = true
		}
	}
	l.warm = true
}

// errLogisticBlurred is what a fit answers where rounding hides the solution.
var errLogisticBlurred = argErrorf("Data", ErrIllPosed, "scale or centre the features, or lower C", "has terms so large that the rounding of their sum hides the solution")

// errLogisticSingular is what a fit or a product answers where the Hessian is
// singular to working precision.
var errLogisticSingular = argErrorf("Data", ErrIllPosed, "scale or centre the features, lower C, or penalise the intercept", "gives a Hessian that is singular to machine precision")

const (
	// A start that takes more steps than this is given up for θ = 0.
	logisticWarmSteps = 25
	// A step shorter than this in every margin is the last: the quadratic
	// convergence leaves less than its square.
	logisticLastStep = 1e-8
	// A gradient below the first part of its terms is rounding; the second is what
	// rounding leaves of most.
	logisticRoundoff = 0x1p-46
	logisticRounding = 0x1p-51
	// A step shorter than this in every margin leaves the Hessian as it was.
	logisticSettled = 1e-13
	// Where the Hessian is singular, so much of its diagonal is added to it, relative
	// to the diagonal and to be above the rounding of its pivots; and a step shorter
	// than logisticIdle in every margin leads nowhere, as it changes no weight of the
	// Hessian by more than that. Answers depend on neither, but for rounding.
	logisticDamping = 0x1p-44
	logisticIdle    = 1e-3
	// A step no longer than this in every margin needs no exponentials; nor
	// long series, if it is shorter still: up to logisticTaylor four terms.
	logisticNudge  = .5
	logisticNear   = 1. / 16
	logisticTaylor = 2e-4
	// A step no longer than this in every margin descends at full length:
	// L(θ+δ) ≤ L(θ) − λ² + λ²(eʳ−r−1)/r², with the Newton decrement λ.
	logisticSafeStep = 1.5
)

// minimise runs Newton's method from l.theta.
func (l *Logistic) minimise(limit int) error {
	last := math.Inf(1) // the reach of the step before
	if !l.placed {
		l.evaluate(l.theta)
	}
	l.placed = false
	for l.iter = 1; l.iter <= limit; l.iter++ {
		damped, err := l.newtonStep()
		if err != nil {
			return err
		}
		r := l.reach()
		hidden := !damped && r > last/2 && r > logisticLastStep && l.gradientIsRoundoff()
		switch {
		case damped && r <= logisticIdle:
			return errLogisticSingular
		case !damped && r <= logisticLastStep, hidden && r <= decisionTol:
			axpy(1, l.step, l.theta)
			for _, row := range l.out {
				l.s[row], l.w[row] = 0, 0
			}
			if r > logisticSettled {
				copy(l.last, l.step)
				l.stale = true // until somebody asks for more than θ
			}
			return l.determined()
		case hidden:
			if err := l.determined(); err != nil {
				return err
			}
			// The gradient is more than rounding. The test has overwritten what belongs
			// to the step.
			l.evaluate(l.theta)
			if _, err := l.newtonStep(); err != nil {
				return err
			}
			l.reach()
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
	if r <= logisticNudge {
		for j, v := range l.theta {
			l.cand[j] = v + l.step[j]
		}
		l.nudge(l.s, l.w, l.cand, r)
		return
	}
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

// reach returns how much step changes a margin at most, or for small problems an
// upper bound that costs no pass over the data, if that will do.
func (l *Logistic) reach() float64 {
	if l.k == logisticSmall && l.iter < 8 {
		r := 0.0
		for j, v := range l.step {
			r += l.zmax[j] * math.Abs(v)
		}
		if r <= logisticNudge {
			return r
		}
	}
	l.product(l.dm, l.step)
	r := 0.0
	for _, dm := range l.dm {
		if dm = math.Abs(dm); dm > r {
			r = dm
		}
	}
	return r
}

// follow makes s and w follow the last step, to which they respond to second
// order.
func (l *Logistic) follow() {
	if !l.stale {
		return
	}
	l.product(l.dm, l.last)
	for i, dm := range l.dm {
		// d²s/dm² = w(1−2s) and dw/dm = −w(1−2s)
		s, w := l.s[i], l.w[i]
		l.s[i] = s - dm*w
		l.w[i] = w - dm*w*(1-2*s)
	}
	l.stale, l.bare = false, true
}

// settle makes s, w and the factor follow the last step.
func (l *Logistic) settle() error {
	l.follow()
	if !l.bare {
		return nil
	}
	l.hessian()
	copy(l.hess, l.h)
	return l.factor()
}

// product writes Zᵀv, one entry per row of data.
func (l *Logistic) product(dst, v []float64) {
	m := l.nRows
	if l.k == logisticSmall {
		z0, z1, z2 := l.z[:m], l.z[m:2*m], l.z[2*m:3*m]
		v0, v1, v2 := v[0], v[1], v[2]
		dst = dst[:m]
		for i := range dst {
			dst[i] = v0*z0[i] + v1*z1[i] + v2*z2[i]
		}
		return
	}
	blas64.Gemv(blas.Trans, 1, l.zt(), blas64.Vector{N: l.k, Inc: 1, Data: v}, 0, blas64.Vector{N: m, Inc: 1, Data: dst})
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

// nudge sets s, w, g and h at theta, to full precision and without an
// exponential, from the values s0 and w0 at theta − step, of which step is known
// to change no margin by more than r ≤ logisticNudge: where m becomes m+dm,
// with q = exp(−dm) − 1,
//
//	s = s₀(1+q)/(1+s₀q),  w = w₀(1+q)/(1+s₀q)².
func (l *Logistic) nudge(s0, w0, theta []float64, r float64) {
	l.product(l.dm, l.step)
	s, w := l.s[:len(l.dm)], l.w[:len(l.dm)]
	s0, w0 = s0[:len(l.dm)], w0[:len(l.dm)]
	switch {
	case r <= logisticTaylor:
		for i, dm := range l.dm {
			// The derivatives of s in m are −w, w(1−2s), −w(1−6w), …
			si, wi := s0[i], w0[i]
			w2 := wi * (1 - 2*si)
			w3 := wi * (1 - 6*wi)
			s[i] = si - dm*(wi-dm*(w2*(1./2)-dm*(w3*(1./6))))
			w[i] = wi - dm*(w2-dm*(w3*(1./2)-dm*(w2*(1-12*wi)*(1./6))))
		}
	case r <= logisticNear:
		for i, dm := range l.dm {
			q := expm1Near(-dm)
			inv := 1 / (1 + s0[i]*q)
			q = (1 + q) * inv
			s[i] = s0[i] * q
			w[i] = w0[i] * q * inv
		}
	default:
		for i, dm := range l.dm {
			q := expm1(-dm)
			inv := 1 / (1 + s0[i]*q)
			q = (1 + q) * inv
			s[i] = s0[i] * q
			w[i] = w0[i] * q * inv
		}
	}
	l.accumulate(theta)
}

// expm1 returns exp(y) − 1 for |y| ≤ logisticNudge: the terms of the series that
// it leaves out are below rounding.
func expm1(y float64) float64 {
	y2 := y * y
	y4 := y2 * y2
	return y * ((1 + y*(1./2)) + y2*(1./6+y*(1./24)) + y4*((1./120+y*(1./720))+y2*(1./5040+y*(1./40320))+
		y4*((1./362880+y*(1./3628800))+y2*(1./39916800+y*(1./479001600))+y4*(1./6227020800+y*(1./87178291200)))))
}

// expm1Near is expm1 for |y| ≤ logisticNear.
func expm1Near(y float64) float64 {
	y2 := y * y
	y4 := y2 * y2
	return y * ((1 + y*(1./2)) + y2*(1./6+y*(1./24)) + y4*((1./120+y*(1./720))+y2*(1./5040+y*(1./40320))+y4*(1./362880)))
}

// accumulate sets the gradient g and the upper triangle of the Hessian h at
// theta from s and w there.
func (l *Logistic) accumulate(theta []float64) {
	m, k := l.nRows, l.k
	if k == logisticSmall {
		// Apart from the Hessian, whose sums take all registers.
		z0, z1, z2 := l.z[:m], l.z[m:2*m], l.z[2*m:3*m]
		var g0, g1, g2 float64
		for i, s := range l.s[:m] {
			g0 += s * z0[i]
			g1 += s * z1[i]
			g2 += s * z2[i]
		}
		l.g[0], l.g[1], l.g[2] = -l.c*g0, -l.c*g1, -l.c*g2
	} else {
		blas64.Gemv(blas.NoTrans, -l.c, l.zt(), blas64.Vector{N: m, Inc: 1, Data: l.s}, 0, blas64.Vector{N: k, Inc: 1, Data: l.g})
	}
	for j, p := range l.pen {
		l.g[j] += p * theta[j]
	}
	l.hessian()
}

// hessian sets the upper triangle of h from w.
func (l *Logistic) hessian() {
	m, k := l.nRows, l.k
	if k == logisticSmall {
		z0, z1, z2 := l.z[:m], l.z[m:2*m], l.z[2*m:3*m]
		var h00, h01, h02, h11, h12, h22 float64
		for i, w := range l.w[:m] {
			a, b, c := z0[i], z1[i], z2[i]
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
	}
	for j, p := range l.pen {
		l.h[j*k+j] += p
	}
}

// newtonStep factors h in place and sets step = −h⁻¹g. Where h is singular to
// working precision, it takes h plus a part of its diagonal, the least with which
// the step descends: away from there, as rows become certain, h may be regular.
func (l *Logistic) newtonStep() (damped bool, err error) {
	copy(l.hess, l.h)
	for part := 0.0; part <= 1; part = max(logisticDamping, part*(1<<10)) {
		if part > 0 {
			copy(l.h, l.hess)
			for j := range l.k {
				l.h[j*l.k+j] *= 1 + part
			}
		}
		if l.factor() != nil {
			continue
		}
		for j, v := range l.g {
			l.step[j] = -v
		}
		l.backsolve(l.step)
		if !allFinite(l.step) {
			break
		}
		if part == 0 || dot(l.g, l.step) < 0 {
			return part > 0, nil
		}
	}
	return false, errLogisticSingular
}

// factor overwrites h by its factor.
func (l *Logistic) factor() error {
	if ldlFactor(l.h, l.dinv, l.k, l.k, eps) < l.k {
		return errLogisticSingular
	}
	l.stale, l.bare = false, false
	return nil
}

// determined returns an error where the factor is of no use, so that there is no
// telling θ and its derivatives from others, and where the rounding of the gradient
// may move a margin by more than decisionTol. Bounds come first, since they decide
// almost always and cost next to nothing.
func (l *Logistic) determined() error {
	k := l.k
	pivots, margin, noise := 1.0, 0.0, 0.0 // squared norms in variables that give h a unit diagonal
	most := logisticRounding * l.c * float64(l.nRows)
	for j, inv := range l.dinv {
		d := l.hess[j*k+j]
		pivots *= d * inv
		z := l.zmax[j]
		e := most*z + logisticRounding*l.pen[j]*math.Abs(l.theta[j])
		margin += z * z / d
		noise += e * e / d
	}
	cond := condBound(k, 1/pivots, 0)
	if unsolvable(cond) && unsolvable(ldlCond(l.h, l.dinv, k, k, l.cand, l.g)) {
		return errLogisticSingular
	}
	if cond*math.Sqrt(margin*noise) <= decisionTol {
		return nil
	}
	moved := make([]float64, l.nRows)
	for j := range k {
		clear(l.cand)
		l.cand[j] = logisticRounding * l.gradientSize(j)
		l.backsolve(l.cand)
		l.product(l.dm, l.cand)
		for i, dm := range l.dm {
			moved[i] += math.Abs(dm)
		}
	}
	if !(largest(moved) <= decisionTol) {
		return errLogisticBlurred
	}
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
	for j, g := range l.g {
		if math.Abs(g) > logisticRoundoff*l.gradientSize(j) {
			return false
		}
	}
	return true
}

// gradientSize is the sum of the moduli of the terms of the gradient in θ_j.
func (l *Logistic) gradientSize(j int) float64 {
	m := l.nRows
	size := l.pen[j] * math.Abs(l.theta[j])
	for i, v := range l.z[j*m : (j+1)*m] {
		size += l.c * l.s[i] * math.Abs(v)
	}
	return size
}

// Iterations returns the number of Newton steps of the last Fit.
func (l *Logistic) Iterations() int { return l.iter }

// Probabilities writes πᵢ = 1/(1 + exp(−yᵢ θᵀxᵢ)) at the last successful Fit,
// one for every row: the probability that the fitted model gives to the
// label it was shown. The error matches ErrNotFitted.
func (l *Logistic) Probabilities(w *Workspace, dst []float64) error {
	if !l.fitted {
		return errNotFitted
	}
	if len(dst) != l.nRows {
		panic("qpdiff: dst has the wrong length")
	}
	l.follow()
	for i, s := range l.s {
		dst[i] = 1 - s
	}
	return nil
}

// SolveHessian writes H⁻¹v to dst, for the Hessian H of L at the last
// successful Fit: the product that every derivative of θ is made of. dst and v
// have as many entries as θ and may be the same slice. The errors are those of
// VJP, with ErrNotFinite for v; after one, dst is as it was.
func (l *Logistic) SolveHessian(w *Workspace, dst, v []float64) error {
	if !l.fitted {
		return errNotFitted
	}
	if len(dst) != l.d {
		panic("qpdiff: dst has the wrong length")
	}
	if err := l.solve(v); err != nil {
		return err
	}
	if err := checkTangentOut(l.step); err != nil {
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
	if err := l.settle(); err != nil {
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
// ErrNotFitted; ErrIllPosed where the Hessian turns out to be singular to
// machine precision; ErrNotFinite for dtheta, or where a product overflows, which
// leaves g undefined.
func (l *Logistic) VJP(w *Workspace, g *Grad, dtheta []float64) error {
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
		return checkProduct(g)
	}
	l.product(l.dm, u)
	if g.X != nil {
		l.vjpX(g.X.RawMatrix(), u)
	}
	if g.Y != nil {
		raw := l.data.X.RawMatrix()
		for i, a := range l.dm {
			if l.s[i] == 0 { // the row is left out, whatever it holds
				continue
			}
			x := raw.Data[i*raw.Stride : i*raw.Stride+n]
			ux, tx := dot(u[:n], x), dot(l.theta[:n], x)
			if l.d > n {
				ux += u[n]
				tx += l.theta[n]
			}
			g.Y[i] += l.c * (l.s[i]*ux - l.w[i]*a*tx)
		}
	}
	// What vjpX adds is at most cy(|u| + |uᵀz||θ|).
	var uz float64
	for j, v := range u {
		uz += l.zmax[j] * math.Abs(v)
	}
	if g.X != nil && finite(l.c*l.ymax*(largest(u)+uz*largest(l.theta))) {
		return checkProduct(&Grad{Hyper: g.Hyper, Y: g.Y})
	}
	return checkProduct(g)
}

// vjpX adds yᵢ C((1−πᵢ) u − πᵢ(1−πᵢ)(uᵀzᵢ) θ) to row i of gx, with uᵀzᵢ in dm.
func (l *Logistic) vjpX(gx blas64.General, u []float64) {
	n, m, c := gx.Cols, l.nRows, l.c
	theta := l.theta[:n]
	y, s, w, dm := l.data.Y[:m], l.s[:m], l.w[:m], l.dm[:m]
	if n == 2 {
		u0, u1, t0, t1 := u[0], u[1], theta[0], theta[1]
		for i, a := range dm {
			if s[i] == 0 { // left out, whatever the label
				continue
			}
			cy := c * y[i]
			p, q := cy*s[i], cy*w[i]*a
			row := gx.Data[i*gx.Stride:][:2]
			row[0] += p*u0 - q*t0
			row[1] += p*u1 - q*t1
		}
		return
	}
	for i, a := range dm {
		if s[i] == 0 {
			continue
		}
		cy := c * y[i]
		p, q := cy*s[i], -cy*w[i]*a
		row := gx.Data[i*gx.Stride:][:n]
		for j, uj := range u[:n] {
			row[j] = row[j] + p*uj + q*theta[j]
		}
	}
}

// JVP writes to dtheta the directional derivative of θ at the last successful
// Fit along d, in which a nil field means no change. The errors are those of VJP,
// with ErrNotFinite for d; after one, dtheta is as it was.
func (l *Logistic) JVP(w *Workspace, dtheta []float64, d *Grad) error {
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
	if err := l.settle(); err != nil {
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
		if l.s[i] == 0 { // the row is left out, whatever it holds
			continue
		}
		x, y := raw.Data[i*raw.Stride:i*raw.Stride+n], l.data.Y[i]
		clear(dz)
		if d.X != nil {
			for j := range n {
				dz[j] = y * d.X.At(i, j)
			}
		}
		if d.Y != nil {
			for j, v := range x {
				dz[j] += d.Y[i] * v
			}
			if l.d > n {
				dz[n] = d.Y[i]
			}
		}
		p, q := l.c*l.s[i], l.c*l.w[i]*dot(l.theta, dz)
		for j, v := range dz {
			out[j] += p*v - q*l.z[j*l.nRows+i]
		}
	}
	l.backsolve(out)
	if err := checkTangentOut(out); err != nil {
		return err
	}
	copy(dtheta, out)
	return nil
}
