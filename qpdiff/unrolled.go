package qpdiff

import "gonum.org/v1/gonum/mat"

// Unrolled is gradient descent with momentum (Polyak's heavy ball), stopped
// after a fixed number of steps, as a learner: its θ is not the minimiser of F
// but the last iterate of
//
//	θ_{k+1} = θ_k − η·∇F(θ_k) + μ·(θ_k − θ_{k−1}),   k = 0 … Steps−1,   θ_{−1} = θ_0,
//
// and its derivatives are those of that iterate, by going back through the
// steps: the iterative differentiation to which the paper (Section 2.2)
// compares the implicit kind. As Steps grows they converge to those of
// [Custom], where the iteration does.
//
// The hyperparameters are those of the objective, then the learning rate η ≥ 0
// and the momentum μ ≥ 0. For a quadratic F the iteration converges if
// 0 ≤ μ < 1 and 0 < η < 2(1+μ)/L, L the largest eigenvalue of ∇²F; for others,
// momentum can make it cycle.
//
// A fit costs Steps gradients, a product as many Hessian and cross products
// (and gradients, if Hyper is wanted), and all iterates are kept for it:
// (Steps+1)·n numbers, where the implicit derivative needs one Hessian.
//
// With Objective and Steps set the value is ready for Load. An Unrolled is its
// own workspace; fits and products after the first allocate only what the
// objective's functions do. It must not be shared between goroutines.
type Unrolled struct {
	Objective SmoothObjective
	Steps     int       // zero: 100
	Start     []float64 // θ_0; nil: 0

	data   Data
	n, k   int       // features, parameters
	steps  int       // as of the last fit
	path   []float64 // θ_0 … θ_Steps
	back   []float64 // cotangents of three of them
	sum    Grad      // of the steps' cotangents, in dhyper, dx, dy
	dhyper []float64
	dx     *mat.Dense
	dy     []float64
	hyper  []float64 // of the objective
	g, hv  []float64
	eta    float64
	mu     float64
	fitted bool
}

// Dims returns the dimensions of the objective, with 2 hyperparameters more.
func (l *Unrolled) Dims(n int) (theta, hyper int) {
	theta, hyper = l.Objective.dims(n)
	return theta, hyper + 2
}

// Load makes d the data of the following fits. It keeps a reference to d.
// Errors are ArgErrors of kind ErrShape or ErrNotFinite; after one, the learner
// has no data.
func (l *Unrolled) Load(d Data) error {
	l.fitted = false
	l.data = Data{}
	if err := d.Check(); err != nil {
		return err
	}
	_, l.n = d.X.Dims()
	if k, _ := l.Dims(l.n); k != l.k || l.g == nil {
		l.k = k
		l.g, l.hv, l.back = make([]float64, k), make([]float64, k), make([]float64, 3*k)
	}
	if l.Start != nil {
		if len(l.Start) != l.k {
			return argErrorf("Unrolled.Start", ErrShape, "give one entry per parameter, or nil", "has %d entries instead of %d", len(l.Start), l.k)
		}
		if err := checkFinite("Unrolled.Start", "start from a finite point", l.Start); err != nil {
			return err
		}
	}
	l.data = d
	return nil
}

// Reset forgets the last fit. There is no warm start: every fit begins at Start.
func (l *Unrolled) Reset() { l.fitted = false }

// Fit runs the steps at hyper and writes the last iterate to theta. Errors: an
// ArgError that matches ErrShape, ErrNotFinite or ErrDomain for hyper,
// ErrNotFitted without data, and ErrNotFinite where an iterate overflows, as it
// does with too large a learning rate. After an error there is no fit, and θ is
// left as it was.
func (l *Unrolled) Fit(theta, hyper []float64) error {
	l.fitted = false
	if l.data.X == nil {
		return errNotLoaded
	}
	k := l.k
	if len(theta) != k {
		panic("qpdiff: theta has the wrong length")
	}
	m := l.Objective.NumHyper
	if len(hyper) != m+2 {
		return checkHyper(hyper, m+2)
	}
	if err := checkHyper(hyper[m:], 2); err != nil {
		return err
	}
	if err := l.Objective.checkHyper(hyper[:m]); err != nil {
		return err
	}
	l.hyper = append(l.hyper[:0], hyper[:m]...)
	l.eta, l.mu = hyper[m], hyper[m+1]
	l.steps = l.Steps
	if l.steps <= 0 {
		l.steps = 100
	}
	l.path = grow(l.path, (l.steps+1)*k)
	clear(l.path[:k])
	copy(l.path, l.Start)
	for t := range l.steps {
		now, next := l.iterate(t), l.iterate(t+1)
		before := l.iterate(max(t-1, 0))
		l.Objective.Gradient(l.g, now, l.data, l.hyper)
		for j, v := range now {
			next[j] = v - l.eta*l.g[j] + l.mu*(v-before[j])
			if !finite(next[j]) {
				return argErrorf("hyper", ErrNotFinite, "lower the learning rate or the momentum",
					"lets the iterates grow: entry %d is %v after %d steps with learning rate %v and momentum %v", j, next[j], t+1, l.eta, l.mu)
			}
		}
	}
	copy(theta, l.iterate(l.steps))
	l.fitted = true
	return nil
}

// iterate is θ_t.
func (l *Unrolled) iterate(t int) []float64 { return l.path[t*l.k : (t+1)*l.k] }

// VJP adds dthetaᵀ·∂θ/∂input at the last fit to each field of g that is not
// nil, where ∂θ is that of the last iterate. Errors: ErrNotFitted; an ArgError
// of kind ErrNotFinite for dtheta, or for hyper where a cotangent overflows.
func (l *Unrolled) VJP(w *Workspace, g *Grad, dtheta []float64) error {
	if !l.fitted {
		return errNotFitted
	}
	k, m := l.k, len(l.hyper)
	if len(dtheta) != k {
		panic("qpdiff: dtheta has the wrong length")
	}
	checkGrad(g, m+2, len(l.data.Y), l.n)
	if err := checkFinite("dtheta", "give a finite cotangent", dtheta); err != nil {
		return err
	}
	sum := l.sums(g)
	// Cotangents of θ_{t+1}, θ_t and θ_{t−1}.
	next, now, prev := l.back[:k:k], l.back[k:2*k:2*k], l.back[2*k:]
	copy(next, dtheta)
	clear(now)
	clear(prev)
	var deta, dmu float64
	for t := l.steps - 1; t >= 0; t-- {
		theta, before := l.iterate(t), l.iterate(max(t-1, 0))
		if g.Hyper != nil {
			l.Objective.Gradient(l.g, theta, l.data, l.hyper)
			deta -= dot(next, l.g)
			for j, v := range next {
				dmu += v * (theta[j] - before[j])
			}
		}
		for j, v := range next {
			l.g[j] = -l.eta * v
		}
		l.Objective.CrossProduct(sum, l.g, theta, l.data, l.hyper)
		l.Objective.HessianProduct(l.hv, l.g, theta, l.data, l.hyper)
		for j, v := range next {
			now[j] += (1+l.mu)*v + l.hv[j]
		}
		if t == 0 {
			prev = now
		}
		axpy(-l.mu, next, prev)
		next, now, prev = now, prev, next
		clear(prev)
	}
	if err := l.checkSums(sum, deta, dmu); err != nil {
		return err
	}
	if g.Hyper != nil {
		axpy(1, sum.Hyper, g.Hyper[:m])
		g.Hyper[m] += deta
		g.Hyper[m+1] += dmu
	}
	if g.X != nil {
		g.X.Add(g.X, sum.X)
	}
	if g.Y != nil {
		axpy(1, sum.Y, g.Y)
	}
	return nil
}

// sums returns zeros for the fields of g that are not nil.
func (l *Unrolled) sums(g *Grad) *Grad {
	rows := len(l.data.Y)
	l.sum = Grad{}
	if g.Hyper != nil {
		l.dhyper = grow(l.dhyper, len(l.hyper))
		clear(l.dhyper)
		l.sum.Hyper = l.dhyper
	}
	if g.X != nil {
		if l.dx == nil || l.dx.RawMatrix().Rows != rows || l.dx.RawMatrix().Cols != l.n {
			l.dx = mat.NewDense(rows, l.n, nil)
		}
		l.dx.Zero()
		l.sum.X = l.dx
	}
	if g.Y != nil {
		l.dy = grow(l.dy, rows)
		clear(l.dy)
		l.sum.Y = l.dy
	}
	return &l.sum
}

func (l *Unrolled) checkSums(sum *Grad, deta, dmu float64) error {
	total := deta + dmu
	for _, v := range sum.Hyper {
		total += v
	}
	if sum.X != nil {
		for _, v := range sum.X.RawMatrix().Data {
			total += v
		}
	}
	for _, v := range sum.Y {
		total += v
	}
	if !finite(total) {
		return argErrorf("hyper", ErrNotFinite, "lower the learning rate, the momentum or Steps", "lets the cotangents overflow on the way back through %d steps", l.steps)
	}
	return nil
}
