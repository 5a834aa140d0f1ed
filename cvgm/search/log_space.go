package search

import (
	"iter"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// LogSpace runs a searcher on z = log x, for hyperparameters whose order of magnitude is unknown.
// It helps searchers without gradient, because they depend on scales. Each coordinate of z has the
// scale 1, which corresponds to a factor e in x. Searchers with gradient may not find a minimum at
// x = 0, because z is −∞ there.
type LogSpace struct {
	Searcher Searcher
}

// Search yields the steps of the inner searcher, with X and Grad converted from z to x. It converts
// Problem.Hessian to z, too. The problem must have a box with positive lower bounds.
func (m LogSpace) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	settings := args.First(p.box("LogSpace"), args.BadIf(m.Searcher == nil, "LogSpace.Searcher", qpdiff.ErrEmpty, "give a searcher", "is nil"))
	return search(p, x0, 1, true, settings, func(w *searchRun) {
		for i := range x0 {
			if lower, _ := p.bounds(i); !(lower > 0) {
				w.fail(args.Bad("Problem.Lower", qpdiff.ErrDomain, "bound every coordinate away from zero", "is not positive at index %d", i))
				return
			}
		}
		toX := func(z []float64) {
			for i, v := range z {
				lower, upper := p.bounds(i)
				// Against rounding and overflow.
				w.X[i] = min(max(math.Exp(v), lower), upper, math.MaxFloat64)
			}
		}
		grad := w.Grad
		inner := Problem{Lower: logs(p.Lower), Upper: logs(p.Upper), Hessian: hessianInLogs(p.Hessian, w.X, grad), Generalised: p.Generalised, Restart: p.Restart, zeroIsArbitrary: true, scale: slices.Repeat([]float64{1}, len(x0))}
		inner.Objective = func(dz, z []float64) (float64, error) {
			toX(z)
			if dz == nil {
				return p.Objective(nil, w.X)
			}
			loss, err := p.Objective(grad, w.X)
			for i, g := range grad {
				dz[i] = g * w.X[i]
			}
			return loss, err
		}
		for s, err := range m.Searcher.Search(inner, logs(w.X)) {
			toX(s.X)
			s.X = w.X
			if s.Grad != nil {
				s.Grad = grad
			}
			if !w.yieldInner(s, err) {
				return
			}
		}
	})
}

// hessianInLogs returns the Hessian in log x of a function with the given Hessian in x, or nil for nil.
// Both functions return the Hessian at the last evaluation, which was at x and had the gradient grad.
func hessianInLogs(hessian func(h *mat.SymDense) error, x, grad []float64) func(h *mat.SymDense) error {
	if hessian == nil {
		return nil
	}
	return func(h *mat.SymDense) error {
		err := hessian(h)
		for i, xi := range x {
			for j, xj := range x[i:] {
				h.SetSym(i, i+j, h.At(i, i+j)*xi*xj)
			}
			h.SetSym(i, i, h.At(i, i)+grad[i]*xi)
		}
		return err
	}
}

// logs returns the logarithms of v, or nil for nil.
func logs(v []float64) []float64 {
	if v == nil {
		return nil
	}
	l := make([]float64, len(v))
	for i, x := range v {
		l[i] = math.Log(x)
	}
	return l
}
