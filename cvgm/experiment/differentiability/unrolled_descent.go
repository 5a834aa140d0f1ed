package differentiability

import (
	"context"
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// unrolledDescent is a learner that runs gradient descent with momentum (Polyak's heavy ball) from
// 0, for a fixed number of steps. Its θ is the last iterate, not the minimiser of the objective F.
// With the learning rate η and the momentum μ, the iterates are
//
//	θ_{k+1} = θ_k − η·∇F(θ_k) + μ·(θ_k − θ_{k−1}),   k = 0 … Steps−1,   θ_{−1} = θ_0.
//
// The derivatives of the learner are the derivatives of this last iterate. They are computed
// backwards through the steps. The paper (Section 2.2) compares such iterative differentiation with
// implicit differentiation.
//
// The hyperparameters of the learner are the hyperparameters of the objective, followed by the
// learning rate η and the momentum μ. With n = Steps, a fit computes n gradients and stores all
// iterates. VJP computes n products with the Hessian and n products with the cross derivatives.
type unrolledDescent struct {
	Objective smooth.Objective
	Steps     int

	ctx     context.Context // nil: none
	data    learn.Data
	path    [][]float64 // θ_0 … θ_Steps; nil if there is no fit
	hyper   []float64   // hyperparameters of the objective
	eta, mu float64
}

func (l *unrolledDescent) Dims(n int) (theta, hyper int) { return n, l.Objective.NumHyper + 2 }

func (l *unrolledDescent) Load(d learn.Data) error {
	l.data, l.path = d, nil
	return d.Check()
}

func (l *unrolledDescent) Reset() { l.path = nil }

func (l *unrolledDescent) SetContext(ctx context.Context) { l.ctx = ctx }

// contextError returns the error of the context.
func (l *unrolledDescent) contextError() error {
	if l.ctx == nil {
		return nil
	}
	return l.ctx.Err()
}

// Fit runs the steps with the hyperparameters hyper, and writes the last iterate to theta. If the
// learning rate is too large, so that an iterate overflows, Fit returns an error.
func (l *unrolledDescent) Fit(theta, hyper []float64) error {
	m := l.Objective.NumHyper
	l.hyper, l.eta, l.mu = append(l.hyper[:0], hyper[:m]...), hyper[m], hyper[m+1]
	k := len(theta)
	block := make([]float64, (l.Steps+1)*k)
	path := make([][]float64, l.Steps+1)
	for t := range path {
		path[t] = block[t*k : (t+1)*k]
	}
	g := make([]float64, k)
	for t := range l.Steps {
		if err := l.contextError(); err != nil {
			l.path = nil
			return err
		}
		now, before, next := path[t], path[max(t-1, 0)], path[t+1]
		l.Objective.Gradient(g, now, l.data, l.hyper)
		for j, v := range now {
			next[j] = v - l.eta*g[j] + l.mu*(v-before[j])
			if math.IsNaN(next[j]) || math.IsInf(next[j], 0) {
				l.path = nil
				return l.overflow("lets the iterates grow")
			}
		}
	}
	copy(theta, path[l.Steps])
	l.path = path
	return nil
}

func (l *unrolledDescent) overflow(problem string) error {
	return &qpdiff.ArgError{Arg: "hyper", Why: qpdiff.ErrNotFinite, Problem: problem, Remedy: "lower the learning rate, the momentum or Steps"}
}

// VJP adds dthetaᵀ·∂θ/∂input to each field of g that is not nil.
func (l *unrolledDescent) VJP(_ *qpdiff.Workspace, g *learn.Grad, dtheta []float64) error {
	if l.path == nil {
		return qpdiff.ErrNotFitted
	}
	k, m := len(dtheta), len(l.hyper)
	sum := &learn.Grad{}
	if g.Hyper != nil {
		sum.Hyper = make([]float64, m)
	}
	if g.X != nil {
		rows, cols := g.X.Dims()
		sum.X = mat.NewDense(rows, cols, nil)
	}
	if g.Y != nil {
		sum.Y = make([]float64, len(g.Y))
	}
	// The vectors next, now and prev are the cotangents of the iterates θ_{t+1}, θ_t and θ_{t−1}.
	next, now, prev := append([]float64(nil), dtheta...), make([]float64, k), make([]float64, k)
	back, hv := make([]float64, k), make([]float64, k)
	var deta, dmu float64
	for t := l.Steps - 1; t >= 0; t-- {
		if err := l.contextError(); err != nil {
			return err
		}
		theta, before := l.path[t], l.path[max(t-1, 0)]
		if g.Hyper != nil {
			l.Objective.Gradient(back, theta, l.data, l.hyper)
			var slope float64 // floats.Dot would add in another order
			for j, v := range next {
				slope += v * back[j]
				dmu += v * (theta[j] - before[j])
			}
			deta -= slope
		}
		for j, v := range next {
			back[j] = -l.eta * v
		}
		l.Objective.MixedVJP(sum, back, theta, l.data, l.hyper)
		l.Objective.HVP(hv, back, theta, l.data, l.hyper)
		for j, v := range next {
			now[j] += (1+l.mu)*v + hv[j]
		}
		if t == 0 {
			prev = now
		}
		floats.AddScaled(prev, -l.mu, next)
		next, now, prev = now, prev, next
		clear(prev)
	}
	if v := floats.Sum(sum.Hyper) + deta + dmu; math.IsNaN(v) || math.IsInf(v, 0) {
		return l.overflow("lets the cotangents overflow")
	}
	if g.Hyper != nil {
		floats.Add(g.Hyper[:m], sum.Hyper)
		g.Hyper[m] += deta
		g.Hyper[m+1] += dmu
	}
	if g.X != nil {
		g.X.Add(g.X, sum.X)
	}
	if g.Y != nil {
		floats.Add(g.Y, sum.Y)
	}
	return nil
}
