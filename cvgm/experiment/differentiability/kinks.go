package differentiability

import (
	"context"
	"errors"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/floats"
)

// A Kink is a value of an input at which an entry of a solution has two different one-sided slopes.
// The struct also holds the results of the library at this value.
type Kink struct {
	At    float64
	Entry int
	// Left and Right are the one-sided slopes, computed as directional derivatives. LeftDifference
	// and RightDifference are the same slopes, computed as one-sided differences.
	Left, Right                     float64
	LeftDifference, RightDifference float64
	// Weak holds the indices of the rows or entries without strict complementarity, as the library
	// reports them. Refusal is the library's error for the derivative. Generalised is the
	// derivative that the library returns if generalised derivatives are allowed.
	Weak        []int
	Refusal     string
	Generalised float64
	// Input, Value and Slope describe the path of the entry around the kink, point by point. Slope
	// is NaN at points without a derivative.
	Input, Value, Slope []float64
}

// refusal examines err, the error of a derivative. If err means that the derivative does not exist,
// refusal returns the weak rows or entries and the text of err. Otherwise its third result is err.
// If err is nil, the third result is a new error, because a derivative was returned although none
// exists.
func refusal(err error) (weak []int, words string, failure error) {
	var n *qpdiff.NotDifferentiableError
	if errors.As(err, &n) {
		return slices.Concat(n.Weak.Rows, n.Weak.Coords), err.Error(), nil
	}
	if err == nil {
		err = errors.New("experiment: a derivative was given where none exists")
	}
	return nil, "", err
}

// kinks finds a kink of each learner's path in λ1.
func (p LinearProblem) kinks(ctx context.Context, net, svm *Kink) error {
	src := p.stream("kinks")
	return experiment.FirstError(
		experiment.Wrap(p.kink(ctx, net, p.regression(src, p.Train), new(linear.ElasticNet), &linear.ElasticNet{Generalised: true}), "elastic net"),
		experiment.Wrap(p.kink(ctx, svm, p.classes(src, p.Train), new(margin.SVM), &margin.SVM{Generalised: true}), "support vector machine"))
}

// kink finds a value of λ1 at which an entry of θ has a kink. It measures the slopes at the kink,
// and follows the entry around the kink.
func (p LinearProblem) kink(ctx context.Context, k *Kink, d learn.Data, strict, generalised learn.ForwardLearner) error {
	_, n := d.X.Dims()
	path, general := lambda1Path{strict, p.Lambda2, make([]float64, n)}, lambda1Path{generalised, p.Lambda2, make([]float64, n)}
	for _, l := range []learn.ForwardLearner{strict, generalised} {
		l.(learn.ContextLearner).SetContext(ctx)
		if err := l.Load(d); err != nil {
			return err
		}
	}
	if err := k.find(path, p.Lambda1); err != nil {
		return err
	}
	if err := path.fit(k.At); err != nil {
		return err
	}
	at := path.theta[k.Entry]
	_, err := path.derivative(k.Entry)
	if k.Weak, k.Refusal, err = refusal(err); err != nil {
		return err
	}
	if err := general.fit(k.At); err != nil {
		return err
	}
	if k.Generalised, err = general.derivative(k.Entry); err != nil {
		return err
	}
	if err := k.measureSides(path, at); err != nil {
		return err
	}
	return k.followEntry(path)
}

// A lambda1Path is the solution of a learner as a function of λ1. It holds the result of the last
// fit.
type lambda1Path struct {
	learner learn.ForwardLearner
	lambda2 float64
	theta   []float64
}

func (a lambda1Path) fit(lambda1 float64) error {
	return a.learner.Fit(a.theta, []float64{lambda1, a.lambda2})
}

// derivative returns the derivative of an entry of θ in λ1.
func (a lambda1Path) derivative(entry int) (float64, error) {
	unit := make([]float64, len(a.theta))
	unit[entry] = 1
	g := learn.Grad{Hyper: make([]float64, 2)}
	err := a.learner.VJP(nil, &g, unit)
	return g.Hyper[0], err
}

// slopeIn returns the directional derivative of an entry of θ in λ1. The parameter direction gives
// the direction in which λ1 moves.
func (a lambda1Path) slopeIn(entry int, direction float64) (float64, error) {
	slope := make([]float64, len(a.theta))
	err := a.learner.JVP(nil, slope, &learn.Grad{Hyper: []float64{direction, 0}})
	return slope[entry], err
}

// find bisects to a value of λ1 at which a coefficient becomes 0, and sets k.At to this value.
func (k *Kink) find(path lambda1Path, lambda1 float64) error {
	low, high, err := k.bracket(path, lambda1)
	if err != nil {
		return err
	}
	for {
		mid := low + (high-low)/2
		if mid <= low || mid >= high {
			break
		}
		if err := path.fit(mid); err != nil {
			return err
		}
		if path.theta[k.Entry] != 0 {
			low = mid
		} else {
			high = mid
		}
	}
	// The last fits of the bisection may lie on either side of the kink, because of rounding. The
	// position of the kink is therefore computed from a point a little to the left of it. From this
	// point to the kink, the path is linear. After the kink, the path is zero.
	left := high * (1 - 1e-6)
	if err := path.fit(left); err != nil {
		return err
	}
	slope, err := path.slopeIn(k.Entry, 1)
	if err != nil {
		return err
	}
	if slope == 0 {
		return experiment.Invalid("Lambda2", path.lambda2, "use a larger value: a coefficient jumps to 0 as λ1 rises")
	}
	k.At = left - path.theta[k.Entry]/slope
	return nil
}

// bracket raises λ1 from the value lambda1 until the first coefficient is 0. It sets k.Entry to the
// index of this coefficient, and returns the last two values of λ1.
func (k *Kink) bracket(path lambda1Path, lambda1 float64) (low, high float64, err error) {
	low, high = lambda1, lambda1
	if err := path.fit(low); err != nil {
		return low, high, err
	}
	for k.Entry = -1; k.Entry < 0; {
		before := append([]float64(nil), path.theta...)
		low, high = high, high*1.02
		if floats.Norm(before, 1) == 0 {
			return low, high, experiment.Invalid("Lambda1", lambda1, "use a smaller value: there is no coefficient but 0")
		}
		if err := path.fit(high); err != nil {
			return low, high, err
		}
		for j, v := range before {
			if v != 0 && path.theta[j] == 0 {
				k.Entry = j
			}
		}
	}
	return low, high, nil
}

// measureSides sets the one-sided slopes at the kink. The parameter entryAtKink is the value of the
// entry at the kink.
func (k *Kink) measureSides(path lambda1Path, entryAtKink float64) error {
	h := 1e-6 * k.At
	for _, side := range []struct {
		sign              float64
		slope, difference *float64
	}{{-1, &k.Left, &k.LeftDifference}, {1, &k.Right, &k.RightDifference}} {
		if err := path.fit(k.At); err != nil {
			return err
		}
		slope, err := path.slopeIn(k.Entry, side.sign)
		if err != nil {
			return err
		}
		*side.slope = side.sign * slope
		if err := path.fit(k.At + side.sign*h); err != nil {
			return err
		}
		*side.difference = side.sign * (path.theta[k.Entry] - entryAtKink) / h
	}
	return nil
}

// followEntry sets the values and slopes of the entry around the kink.
func (k *Kink) followEntry(path lambda1Path) error {
	for _, l := range linspace(.97*k.At, 1.03*k.At, 121) {
		if math.Abs(l-k.At) < 1e-9*k.At {
			l = k.At
		}
		if err := path.fit(l); err != nil {
			return err
		}
		s, err := path.derivative(k.Entry)
		if err != nil {
			if _, _, err := refusal(err); err != nil {
				return err
			}
			s = math.NaN()
		}
		k.Input, k.Value, k.Slope = append(k.Input, l), append(k.Value, path.theta[k.Entry]), append(k.Slope, s)
	}
	return nil
}
