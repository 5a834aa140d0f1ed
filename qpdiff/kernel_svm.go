package qpdiff

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// KernelSVM is the support vector machine with a kernel, by its dual (Cortes
// and Vapnik 1995), for labels ±1:
//
//	minimise over β   ½·Σ_ij β_i β_j k(x_i, x_j) − Σ_i y_i β_i
//	subject to        0 ≤ y_i β_i ≤ C,   with Intercept also Σ_i β_i = 0
//
// whose decision function is f(x) = Σ_i β_i k(x_i, x) + b, with b the
// multiplier of the last constraint (0 without Intercept). β_i is y_i times the usual
// dual variable. The hyperparameters are C > 0, then those of the kernel.
//
// The prediction is not θᵀx: θ is b alone with Intercept and empty without, and
// [KernelSVM.Predict] and [KernelSVM.PredictVJP] stand for the prediction and
// its derivatives with respect to C, the kernel's parameters, the training
// rows, their labels and the rows decided on.
//
// # Derivatives
//
// With F the rows with 0 < y_iβ_i < C, U those at C, the conditions
//
//	f(x_i) = 1/y_i for i ∈ F,   β_i = C·y_i for i ∈ U,   Σβ = 0 with Intercept
//
// determine β_F and b; the implicit function theorem at them needs one solve
// with k(x_F, x_F), bordered with Intercept. It needs strict complementarity: no row
// of F at a bound, and no row beside F with y_i·f(x_i) = 1. Either counts as so
// within 256 times the error that rounding of the terms of these conditions makes
// in it. Where all β are at a bound, b may be
// anything in an interval: it is set to its middle, and differentiated as such.
// Equal rows with equal labels count as one of their joint weight: derivatives
// are along moves that keep them equal, in equal parts to each. Along moves that
// part equal rows of F there is no derivative, since only the sum of their β is
// unique; see [KernelSVM.Ties].
//
// The zero value, with the RBF kernel and no intercept, is ready for Load. A
// KernelSVM is its own workspace: fits and products after the first allocate
// nothing. It must not be shared between goroutines.
type KernelSVM struct {
	Kernel Kernel // nil: RBF. It is read by Dims and Load.
	// Intercept adds an unpenalised constant to the decision function. It is read by
	// Dims and Load.
	Intercept bool
	// Generalised makes the products answer where strict complementarity
	// fails, as if each weakly active row stayed at the bound where it is or
	// to which it is nearest. False: a NotDifferentiableError.
	Generalised bool

	data   Data
	n      int // features
	rows   rowSet
	xy     []float64 // distinct rows of (x, y), n+1 entries each
	kernel Kernel
	params []float64 // the kernel's, that q.k belongs to
	c      float64
	stale  bool // q.k does not belong to data
	q      boxQP
	fitted bool
	weak   []int   // distinct rows
	blur   float64 // how far rounding may have moved the β of weakly active rows in all, in units of C

	beta, w, v, dy []float64 // by distinct row: β with weakly active ones at their bound, adjoint solution, cotangent of β, of y
	used           []int     // the free set without weakly active rows
	up, down       int       // where that is empty: see boxQP.between
	gx             []float64 // cotangent of the distinct rows
	slope          []float64 // see slopeAt
	dparams        []float64
	support        int       // number of support vectors
	decided        []float64 // per row of the last Predict: its features, then its kernel values with the support vectors
}

// Dims returns 1 parameter with Intercept and none without, and 1 hyperparameter
// more than the kernel has.
func (l *KernelSVM) Dims(n int) (theta, hyper int) {
	if l.Intercept {
		theta = 1
	}
	return theta, 1 + l.kernelOf().NumParams(n)
}

func (l *KernelSVM) kernelOf() Kernel {
	if l.Kernel == nil {
		return RBF{}
	}
	return l.Kernel
}

// SetGeneralised sets the field Generalised.
func (l *KernelSVM) SetGeneralised(on bool) { l.Generalised = on }

// Load makes d the data of the following fits. It keeps a reference to d.
// Errors are ArgErrors: of kind ErrShape or ErrNotFinite; ErrDomain for a label
// other than ±1; ErrIllPosed where all labels are the same. After one, the
// learner has no data.
func (l *KernelSVM) Load(d Data) error {
	l.fitted = false
	l.data = Data{}
	if err := checkClasses(d); err != nil {
		l.q.reset()
		return err
	}
	rows, n := d.X.Dims()
	w := n + 1
	if cap(l.xy) < rows*w || cap(l.beta) < rows || len(l.gx) < rows*n {
		l.xy, l.gx = make([]float64, rows*w), make([]float64, rows*n)
		buf := make([]float64, 4*rows)
		l.beta, l.w, l.v, l.dy = buf[:rows:rows], buf[rows:2*rows:2*rows], buf[2*rows:3*rows:3*rows], buf[3*rows:]
		l.weak, l.used = make([]int, 0, rows), make([]int, 0, rows)
	}
	l.kernel = l.kernelOf()
	same := n == l.n && l.q.balanced == l.Intercept
	l.n = n
	l.xy = l.xy[:rows*w]
	raw := d.X.RawMatrix()
	for i, y := range d.Y {
		row := l.xy[i*w : (i+1)*w]
		copy(row, raw.Data[i*raw.Stride:i*raw.Stride+n])
		row[n] = y
	}
	if l.rows.distinct(l.xy, rows, w) {
		same = false
	}
	l.q.balanced = l.Intercept
	l.q.resize(len(l.rows.first))
	for k, i := range l.rows.first {
		copy(l.xy[k*w:(k+1)*w], l.xy[i*w:(i+1)*w])
		y := l.xy[k*w+n]
		same = same && l.q.y[k] == y
		l.q.y[k] = y
	}
	if !same {
		l.q.reset()
	}
	l.stale = true
	l.data = d
	return nil
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (l *KernelSVM) Reset() {
	l.fitted = false
	l.q.reset()
}

// row is the k-th distinct row of X.
func (l *KernelSVM) row(k int) []float64 {
	w := l.n + 1
	return l.xy[k*w : k*w+l.n]
}

// Fit solves the dual at hyper = (C, kernel parameters…) and writes b to theta
// with Intercept. Errors: an ArgError that matches ErrShape, ErrNotFinite or
// ErrDomain for hyper, ErrNotFitted without data, ErrNonconvex where the kernel
// turns out not to be positive semidefinite, ErrIterationLimit where the problem
// is too ill-conditioned for the working precision: where rounding of the
// kernel's values and of the solution may change a training row's decision value
// by more than 1e-3, beside the margin 1. After an error there is no fit, and θ
// is left as it was.
func (l *KernelSVM) Fit(theta, hyper []float64) error {
	l.fitted = false
	l.decided, l.w = l.decided[:0], l.w[:0]
	if l.data.X == nil {
		return errNotLoaded
	}
	nt, nh := l.Dims(l.n)
	if len(theta) != nt {
		panic("qpdiff: theta has the wrong length")
	}
	if err := l.checkHyper(hyper, nh); err != nil {
		return err
	}
	if err := l.gramMatrix(hyper[1:]); err != nil {
		l.q.reset()
		return err
	}
	l.bounds(hyper[0])
	if err := l.q.solve(); err != nil {
		l.q.reset()
		return err
	}
	if err := l.findWeak(); err != nil {
		l.q.reset()
		return err
	}
	if l.Intercept {
		theta[0] = l.q.b
	}
	l.fitted = true
	return nil
}

func (l *KernelSVM) checkHyper(hyper []float64, want int) error {
	if len(hyper) != want {
		return argErrorf("hyper", ErrShape, "give C and the kernel's parameters", "has %d entries instead of %d", len(hyper), want)
	}
	if err := checkFinite("hyper", "give a finite hyperparameter", hyper); err != nil {
		return err
	}
	if !(hyper[0] > 0) {
		return argErrorf("hyper", ErrDomain, "give a C above 0", "holds %v as C", hyper[0])
	}
	return l.kernel.Check(hyper[1:])
}

// gramMatrix evaluates the kernel on the distinct rows.
func (l *KernelSVM) gramMatrix(params []float64) error {
	q := &l.q
	if !l.stale && slices.Equal(params, l.params) {
		return nil
	}
	l.stale = true
	n := q.n
	largest, sum := 0.0, 0.0
	for i := range n {
		x := l.row(i)
		for j := i; j < n; j++ {
			v := l.kernel.Eval(params, x, l.row(j))
			q.k[i*n+j], q.k[j*n+i] = v, v
			sum += math.Abs(v)
		}
		d := q.k[i*n+i]
		largest = max(largest, d)
		if d < 0 {
			return argErrorf("Kernel", ErrNonconvex, "use a positive semidefinite kernel", "is %v between row %d and itself", d, l.rows.first[i])
		}
	}
	if !finite(sum) {
		return argErrorf("Kernel", ErrNotFinite, "scale the features or change the kernel's parameters", "overflows or is not a number on the training rows")
	}
	q.largest, q.shift = largest, 0
	if l.Intercept {
		q.shift = largest
		if largest == 0 {
			q.shift = 1
		}
	}
	l.stale = false
	l.params = append(l.params[:0], params...)
	return nil
}

// bounds sets the bounds for C, and moves the last solution with them.
func (l *KernelSVM) bounds(c float64) {
	q := &l.q
	for i, y := range q.y {
		top := c * l.rows.copies[i]
		lo, hi := 0.0, top
		if y < 0 {
			lo, hi = -top, 0
		}
		switch b := q.beta[i]; {
		case !q.warm || b == 0:
			q.beta[i] = 0
		case b == q.lo[i]:
			q.beta[i] = lo
		case b == q.hi[i]:
			q.beta[i] = hi
		default:
			q.beta[i] = min(max(b*(c/l.c), lo), hi)
		}
		q.lo[i], q.hi[i] = lo, hi
	}
	l.c = c
}

// findWeak lists the rows at which strict complementarity fails.
func (l *KernelSVM) findWeak() error {
	q := &l.q
	l.weak = l.weak[:0]
	// In the variables root_i·β_i, which give the free set's matrix a unit
	// diagonal, root_i² = k_ii (and the shift): the size of β and of the terms
	// that its system balances.
	n := q.n
	root := func(i int) float64 { return math.Sqrt(q.k[i*n+i] + q.shift) }
	var size, right float64
	for i, b := range q.beta {
		size += root(i) * math.Abs(b)
	}
	label := 1 + math.Abs(q.b) // the size of y and b
	if !q.balanced || len(q.free) > 1 {
		for _, i := range q.free {
			right = max(right, label/root(i))
		}
	} // else Σβ = 0 alone determines β
	if !finite(size + label) {
		return argErrorf("Data", ErrNotFinite, "scale the features, or lower C", "leaves a decision function that overflows")
	}
	cond := ldlCond(q.a, q.dinv, len(q.free), len(q.free), q.ones, q.fix)
	if e := q.violation() + complementarityTol*eps*q.decisionError(); !(e <= decisionTol) {
		return argErrorf("Data", ErrIterationLimit, remedyForDecisions, "leaves decision values with an error of up to %.2g, beside the margin 1", e)
	}
	up, down := -1, -1
	if q.balanced && len(q.free) == 0 {
		up, down = q.between(q.beta)
	}
	next := 0
	for i, b := range q.beta {
		scale := label + root(i)*size
		if q.isFree(&next, i) {
			if negligible(root(i)*min(b-q.lo[i], q.hi[i]-b), right+size, cond) {
				l.weak = append(l.weak, i)
			}
		} else if up >= 0 && down >= 0 {
			// b is in the middle of an interval; the ends of one of length 0,
			// and all that are as near to the middle as the ends, are weak.
			d := math.Abs(q.r[i] - q.b)
			if negligible(d, scale, 1) || i != up && i != down && l.bindsB(i) && negligible(d-math.Abs(q.r[up]-q.b), scale, 1) {
				l.weak = append(l.weak, i)
			}
		} else if negligible(math.Abs(q.r[i]-q.b), scale, cond) {
			l.weak = append(l.weak, i)
		}
	}
	l.blur = 0
	if up < 0 || down < 0 { // else there is no system whose condition the bounds take
		l.weak = slices.DeleteFunc(l.weak, func(i int) bool { return !l.hidden(i) })
	}
	return nil
}

// hidden reports whether rounding hides on which side of its kink row i is, from
// what it does to that row's own β or margin: one solve, where findWeak bounds all
// rows by the condition of the free set's system.
func (l *KernelSVM) hidden(i int) bool {
	q := &l.q
	x := q.z[:len(q.free)]
	at, free := slices.BinarySearch(q.free, i)
	if free {
		clear(x)
		x[at] = 1
		terms := q.errorOf(x, 0)
		if !negligible(min(q.beta[i]-q.lo[i], q.hi[i]-q.beta[i]), terms, 1) {
			return false
		}
		l.blur += complementarityTol * eps * terms / l.c
		return true
	}
	for k, j := range q.free {
		x[k] = q.k[i*q.n+j]
	}
	label, size, _ := q.terms()
	return negligible(math.Abs(q.r[i]-q.b), q.errorOf(x, 1)+label+math.Sqrt(q.k[i*q.n+i])*size, 1)
}

// bindsB reports whether row i bounds b on the side of the nearer end.
func (l *KernelSVM) bindsB(i int) bool {
	q := &l.q
	if q.r[i] < q.b {
		return q.beta[i] < q.hi[i]
	}
	return q.beta[i] > q.lo[i]
}

// Predict writes the decision value of each row of x to dst. Errors: ErrNotFitted;
// an ArgError of kind ErrShape for x, or ErrNotFinite for x or a value that
// overflows, from whose row on dst is undefined.
func (l *KernelSVM) Predict(w *Workspace, dst []float64, x *mat.Dense) error {
	if err := l.checkRows(x); err != nil {
		return err
	}
	if len(dst) != x.RawMatrix().Rows {
		panic("qpdiff: dst has the wrong length")
	}
	l.decided, l.support = l.decided[:0], 0
	for _, b := range l.q.beta {
		if b != 0 {
			l.support++
		}
	}
	keep := len(dst) <= l.q.n
	for t := range dst {
		f := l.q.b
		xt := x.RawRowView(t)
		if keep {
			l.decided = append(l.decided, xt...)
		}
		for i, b := range l.q.beta {
			if b != 0 {
				k := l.kernel.Eval(l.params, l.row(i), xt)
				f += b * k
				if keep {
					l.decided = append(l.decided, k)
				}
			}
		}
		dst[t] = f
		if !finite(f) {
			l.decided = l.decided[:0]
			return argErrorf("x", ErrNotFinite, "scale the features or change the kernel's parameters", "has a row %d whose decision value is %v", t, f)
		}
	}
	return nil
}

func (l *KernelSVM) checkRows(x *mat.Dense) error {
	if !l.fitted {
		return errNotFitted
	}
	if _, c := x.Dims(); c != l.n {
		return argErrorf("x", ErrShape, "give as many features as the data has", "has %d columns instead of %d", c, l.n)
	}
	return checkFiniteRows("x", "remove or impute the entry", x)
}

// VJP adds dthetaᵀ·∂b/∂input at the last fit to each field of g that is not
// nil. Its errors are those of PredictVJP.
func (l *KernelSVM) VJP(w *Workspace, g *Grad, dtheta []float64) error {
	if !l.fitted {
		return errNotFitted
	}
	nt, _ := l.Dims(l.n)
	if len(dtheta) != nt {
		panic("qpdiff: dtheta has the wrong length")
	}
	if err := l.prepare(g, "dtheta", dtheta); err != nil {
		return err
	}
	var db float64
	if nt > 0 {
		db = dtheta[0]
	}
	if err := l.start(g); err != nil {
		return err
	}
	return l.finish(g, db)
}

// PredictVJP adds the derivative of Σ_t ddst_t·f(x_t) with respect to each input of
// the fit to the field of g that is not nil, and with respect to x to dx, unless
// that is nil. Where training rows coincide, g.X and g.Y hold the derivative along
// moves that keep them equal; [KernelSVM.Ties] lists the pairs for which that
// matters. Errors: ErrNotFitted; an ArgError of kind ErrShape or
// ErrNotFinite for x and ErrNotFinite for ddst; where strict complementarity
// fails and Generalised is not set, a NotDifferentiableError that names the
// rows; an ArgError of kind ErrIllPosed, Generalised or not, where rounding hides
// whether it does and may have moved the β of the rows in question by more than
// C/1000; one of kind ErrNotFinite where a product overflows, which leaves g and dx
// undefined.
func (l *KernelSVM) PredictVJP(w *Workspace, g *Grad, dx, x *mat.Dense, ddst []float64) error {
	if err := l.checkRows(x); err != nil {
		return err
	}
	r, c := x.Dims()
	if len(ddst) != r {
		panic("qpdiff: ddst has the wrong length")
	}
	if dx != nil {
		if dr, dc := dx.Dims(); dr != r || dc != c {
			panic("qpdiff: dx has the wrong shape")
		}
	}
	if err := l.prepare(g, "ddst", ddst); err != nil {
		return err
	}
	if err := l.start(g); err != nil {
		return err
	}
	var db float64
	inputs := g.X != nil || g.Hyper != nil
	for t, d := range ddst {
		if d == 0 {
			continue
		}
		db += d
		xt := x.RawRowView(t)
		known := l.known(t, len(ddst), xt)
		var dxt []float64
		if dx != nil {
			dxt = dx.RawRowView(t)
		}
		for i, b := range l.q.beta {
			if b == 0 {
				continue
			}
			xi := l.row(i)
			var k float64
			if known != nil {
				k, known = known[0], known[1:]
			} else {
				k = l.kernel.Eval(l.params, xi, xt)
			}
			l.v[i] += d * k
			if inputs || dx != nil {
				l.kernel.Grad(l.dparamsOf(g), l.gxOf(g, i), dxt, d*b, k, l.params, xi, xt)
			}
		}
	}
	if err := l.finish(g, db); err != nil {
		return err
	}
	return checkProduct(&Grad{X: dx})
}

// known returns the kernel values of row t of rows with the support vectors, if
// the last Predict has met them.
func (l *KernelSVM) known(t, rows int, xt []float64) []float64 {
	w := l.n + l.support
	if len(l.decided) != rows*w || l.support == 0 || !slices.Equal(l.decided[t*w:t*w+l.n], xt) {
		return nil
	}
	return l.decided[t*w+l.n : (t+1)*w]
}

// prepare checks a product's arguments, and that there is a derivative.
func (l *KernelSVM) prepare(g *Grad, arg string, cotangent []float64) error {
	_, nh := l.Dims(l.n)
	checkGrad(g, nh, len(l.rows.of), l.n)
	if err := checkFinite(arg, "give a finite cotangent", cotangent); err != nil {
		return err
	}
	switch {
	case len(l.weak) == 0 || !g.wanted():
		return nil
	case l.blur > decisionTol:
		return argErrorf("Data", ErrIllPosed, remedyForDecisions, "is so ill-conditioned that rounding hides which rows are weakly active: it may have moved their β by %.2g·C", l.blur)
	case !l.Generalised:
		return l.notDifferentiable(g)
	}
	return nil
}

func (l *KernelSVM) notDifferentiable(g *Grad) error {
	var weak Weak
	for _, k := range l.weak {
		weak.Rows = append(weak.Rows, l.rows.first[k])
	}
	return notDifferentiable(g, weak, "move the hyperparameters, or set Generalised", "C", "kernel parameters")
}

// start clears the work of a product, and takes the weakly active rows out of the
// free set in use and puts their β at the nearer bound.
func (l *KernelSVM) start(g *Grad) error {
	q := &l.q
	n := q.n
	l.beta, l.w, l.v, l.dy = l.beta[:n], l.w[:n], l.v[:n], l.dy[:n]
	copy(l.beta, q.beta)
	for _, i := range l.weak {
		if l.beta[i]-q.lo[i] < q.hi[i]-l.beta[i] {
			l.beta[i] = q.lo[i]
		} else {
			l.beta[i] = q.hi[i]
		}
	}
	clear(l.w)
	clear(l.v)
	clear(l.dy)
	clear(l.gx)
	l.dparams = append(l.dparams[:0], l.params...)
	clear(l.dparams)
	l.used = append(l.used[:0], q.free...)
	if len(l.weak) > 0 {
		l.used = slices.DeleteFunc(l.used, func(j int) bool {
			_, weak := slices.BinarySearch(l.weak, j)
			return weak
		})
		all := q.free
		q.free = l.used
		k := q.factor(0)
		q.free = all
		if k < len(l.used) {
			return argErrorf("Data", ErrIllPosed, "lower C or drop examples", "gives a kernel matrix that is singular to machine precision")
		}
	}
	if len(l.used) == 0 && q.balanced {
		// b is differentiated as the middle of the interval that is left. It has two
		// ends: their absence takes a Σβ of C at least, and prepare bounds how far the
		// weakly active rows are moved.
		l.up, l.down = q.between(l.beta)
	}
	if len(l.weak) > 0 && l.Generalised {
		g.Generalised = g.Generalised || g.wanted()
	}
	return nil
}

// Ties calls visit for pairs of equal rows i and k with equal labels whose β have a
// unique sum only, or which bound b where all β are at a bound. The g.X of the last
// product, which must have asked for it, is the derivative along moves dX with
// dᵀdX_i = dᵀdX_k for each d that visit is called with (n entries, valid during the
// call; sign is 1). Along other moves there is no derivative. visit returns
// whether it needs the pair's other d. Before a product there are no pairs.
func (l *KernelSVM) Ties(w *Workspace, visit func(i, k int, sign float64, d []float64) bool) {
	if !l.fitted || len(l.w) == 0 || len(l.rows.first) == len(l.rows.of) {
		return
	}
	for k, row := range l.rows.of {
		i := l.rows.first[row]
		if i == k {
			continue
		}
		// With other shares of β and of w, the cotangents of the copies differ by
		// multiples of gx and of w times the slope, or of the latter alone.
		if _, free := slices.BinarySearch(l.used, row); free && !visit(i, k, 1, l.gx[row*l.n:(row+1)*l.n]) || l.w[row] == 0 {
			continue
		}
		l.slopeAt(row)
		visit(i, k, 1, l.slope)
	}
}

// slopeAt sets slope to the gradient of the decision function at a distinct row.
func (l *KernelSVM) slopeAt(row int) {
	l.slope = append(l.slope[:0], l.row(row)...)
	clear(l.slope)
	n := l.q.n
	for j, b := range l.beta {
		if b != 0 {
			l.kernel.Grad(nil, nil, l.slope, b, l.q.k[j*n+row], l.params, l.row(j), l.row(row))
		}
	}
}

func (l *KernelSVM) dparamsOf(g *Grad) []float64 {
	if g.Hyper == nil {
		return nil
	}
	return l.dparams
}

func (l *KernelSVM) gxOf(g *Grad, i int) []float64 {
	if g.X == nil {
		return nil
	}
	return l.gx[i*l.n : (i+1)*l.n]
}

// finish goes back through the fit, from the cotangents v of β and db of b.
func (l *KernelSVM) finish(g *Grad, db float64) error {
	if !g.wanted() {
		return nil
	}
	q := &l.q
	// K_FF·w + ω·1 = v_F, and 1ᵀw = db with Intercept.
	all := q.free
	q.free = l.used
	s := len(q.free)
	z := q.z[:s]
	var omega float64
	switch {
	case s > 0:
		for i, j := range q.free {
			z[i] = l.v[j]
		}
		omega = q.bordered(z, db)
		for i, j := range q.free {
			l.w[j] = z[i]
		}
	case q.balanced:
		l.w[l.up] += db / 2
		l.w[l.down] += db / 2
	}
	q.free = all
	l.throughFit(g, omega, q.n)
	return checkProduct(g)
}

// throughFit adds to g what the adjoint solution w, ω makes of the training
// rows' kernel values, labels and C.
func (l *KernelSVM) throughFit(g *Grad, omega float64, n int) {
	q := &l.q
	inputs := g.X != nil || g.Hyper != nil
	var dc float64
	for i, w := range l.w {
		if w != 0 {
			l.dy[i] -= w
			row := q.k[i*n : (i+1)*n]
			axpy(-w, row, l.v)
			if inputs {
				xi := l.row(i)
				for j, b := range l.beta {
					if b != 0 {
						l.kernel.Grad(l.dparamsOf(g), l.gxOf(g, i), l.gxOf(g, j), -w*b, row[j], l.params, xi, l.row(j))
					}
				}
			}
		}
	}
	// β of a bounded row is C·copies·y.
	for i, b := range l.beta {
		if b != 0 && (b == q.lo[i] || b == q.hi[i]) {
			v := (l.v[i] - omega) * l.rows.copies[i]
			dc += v * q.y[i]
			l.dy[i] += v * l.c
		}
	}
	if g.Hyper != nil {
		g.Hyper[0] += dc
		axpy(1, l.dparams, g.Hyper[1:])
	}
	for i, k := range l.rows.of {
		share := 1 / l.rows.copies[k]
		if g.Y != nil {
			g.Y[i] += share * l.dy[k]
		}
		if g.X != nil {
			axpy(share, l.gx[k*l.n:(k+1)*l.n], g.X.RawRowView(i))
		}
	}
}
