package differentiability

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
)

// UnrolledResult is the result of Run.
type UnrolledResult struct {
	Params UnrolledParams
	// Features is the number n of features. The implicit derivative stores the n² numbers of a
	// Hessian, and solves one system of equations. The iterative derivative stores (steps+1)·n
	// numbers.
	Features  int
	Curvature [2]float64 // smallest and largest curvature of half the mean squared error
	ByRate    []UnrolledRun
	ByPenalty []UnrolledRun
	Precision []UnrolledPrecision // by condition number
}

// UnrolledRun holds derivatives at one learning rate and one penalty: one derivative for each
// number of steps. If a run overflows, it ends before its last step.
type UnrolledRun struct {
	Rate, Momentum, Penalty float64
	Exact                   float64   // d(test loss)/dλ2, computed with the implicit function theorem
	Steps                   []int     // numbers of steps, until the run overflows
	Gradient                []float64 // d(test loss)/dλ2 through each number of steps
	Factor                  []float64 // for each number of steps: norm of the test loss's derivative in the first iterate, divided by the norm of its derivative in the last iterate
	Loss                    []float64 // test loss after each number of steps, minus the test loss of the exact fit
	Overflow                int       // number of steps at which the run overflowed; 0 if it did not overflow
}

// Error returns |Gradient − Exact|/|Exact| at each number of steps.
func (r UnrolledRun) Error() []float64 {
	e := make([]float64, len(r.Gradient))
	for k, g := range r.Gradient {
		e[k] = math.Abs(g-r.Exact) / math.Abs(r.Exact)
	}
	return e
}

// Run computes the derivatives in both ways.
func (p UnrolledParams) Run(ctx context.Context, hooks experiment.Hooks) (*UnrolledResult, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	src, err := p.Source(ctx)
	if err != nil {
		return nil, err
	}
	train, test, _, err := p.Examples(src)
	if err != nil {
		return nil, err
	}
	gram := mat.NewSymDense(p.Features, nil)
	gram.SymOuterK(1/float64(p.Train), train.X.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, false) {
		return nil, errors.New("the eigenvalues of the curvature do not converge")
	}
	values := eigen.Values(nil)
	r := &UnrolledResult{Params: p, Features: p.Features, Curvature: [2]float64{slices.Min(values), slices.Max(values)}}
	var runs []UnrolledRun
	for _, rate := range p.Rates {
		runs = append(runs, UnrolledRun{Rate: rate, Penalty: p.Penalty})
	}
	runs = append(runs, UnrolledRun{Rate: 1, Momentum: p.Momentum, Penalty: p.Penalty})
	byRate := len(runs)
	for _, penalty := range p.Penalties {
		runs = append(runs, UnrolledRun{Rate: 1, Penalty: penalty})
	}
	done, err := experiment.Cells(ctx, hooks, len(runs)+len(p.Conditions), func(i int) string {
		if i < len(runs) {
			return fmt.Sprintf("rate %g, momentum %g, λ2 = %g", runs[i].Rate, runs[i].Momentum, runs[i].Penalty)
		}
		return fmt.Sprintf("condition %g", p.Conditions[i-len(runs)])
	}, func(i int) (c unrolledCell, err error) {
		if i < len(runs) {
			c.Run = runs[i]
			err = c.Run.differentiate(ctx, train, test, p.UnrolledSteps, r.Curvature[1])
		} else {
			c.Precision, err = p.precision(ctx, train, test, p.Conditions[i-len(runs)])
		}
		return c, err
	})
	if err != nil {
		return nil, err
	}
	for i, c := range done {
		switch {
		case i < byRate:
			r.ByRate = append(r.ByRate, c.Run)
		case i < len(runs):
			r.ByPenalty = append(r.ByPenalty, c.Run)
		default:
			r.Precision = append(r.Precision, c.Precision)
		}
	}
	return r, nil
}

// unrolledCell is the result for one run, or for one condition number.
type unrolledCell struct {
	Run       UnrolledRun
	Precision UnrolledPrecision
}

func (r *UnrolledRun) differentiate(ctx context.Context, train, test learn.Data, steps []int, curvature float64) error {
	exact, gradient, err := testGradient(ctx, train, test, &smooth.Learner{Objective: ridge}, []float64{r.Penalty})
	if err != nil {
		return err
	}
	r.Exact = gradient
	rounded := newRidgeFit(floating[float64](), train, test, r.Penalty)
	for _, s := range steps {
		l := &unrolledDescent{Objective: ridge, Steps: s}
		loss, g, err := testGradient(ctx, train, test, l, []float64{r.Penalty, r.Rate / (curvature + r.Penalty), r.Momentum})
		if errors.Is(err, qpdiff.ErrNotFinite) {
			r.Overflow = s
			return nil
		}
		if err != nil {
			return err
		}
		_, factor, err := rounded.unrolled(ctx, descent{steps: s, rate: r.Rate / (curvature + r.Penalty), momentum: r.Momentum})
		if err != nil {
			return err
		}
		r.Steps, r.Gradient, r.Factor, r.Loss = append(r.Steps, s), append(r.Gradient, g), append(r.Factor, factor), append(r.Loss, loss-exact)
	}
	return nil
}
