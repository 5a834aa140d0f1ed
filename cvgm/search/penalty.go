package search

import (
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// Plus returns the problem with the objective f + weight·r. Here f is the objective of p, and r is
// an outer penalty on the coordinates. An outer penalty keeps a search of many hyperparameters from
// fitting the validation rows. The parameter weight is in units of f/r. If weight is 0, the
// objective is f, and r is not evaluated. Otherwise the problem has no Hessian, because r has none. If
// f or r returns an error, the search ends with this
// error. If weight is negative or not finite, the search ends with an error of kind
// [qpdiff.ErrDomain]. The objective is not safe for concurrent use. [SquaredDistance] and
// [SquaredLogDistance] make penalties, and cvgm.NestedScores compares weights.
func (p Problem) Plus(weight float64, r Objective) Problem {
	f := p.Objective
	if f == nil || weight == 0 {
		return p // a search returns an error for a problem without an objective
	}
	err := args.First(
		args.BadIf(!(weight >= 0 && args.Finite(weight)), "weight", qpdiff.ErrDomain, "use a finite number from 0 up", "of Problem.Plus is %v", weight),
		args.BadIf(r == nil, "r", qpdiff.ErrEmpty, "give a penalty, for example SquaredDistance", "of Problem.Plus is nil"),
	)
	var slopes []float64
	p.Hessian = nil // r has none
	p.Objective = func(grad, x []float64) (float64, error) {
		if err != nil {
			return math.NaN(), err
		}
		loss, err := f(grad, x)
		if err != nil {
			return loss, err
		}
		var slope []float64
		if grad != nil {
			slopes = slices.Grow(slopes[:0], len(grad))
			slope = slopes[:len(grad)]
		}
		penalty, err := r(slope, x)
		if err != nil {
			return math.NaN(), err
		}
		if grad != nil {
			floats.AddScaled(grad, weight, slope)
		}
		return loss + weight*penalty, nil
	}
	return p
}

// SquaredDistance returns the penalty
//
//	r(x) = 1/2n Σ_i ((x_i − c_i)/unit)²
//
// Use it for coordinates with a common unit, such as the weights of a network. The penalty itself
// has no unit. It is ½ if |x_i − c_i| = unit for every i. For the parameters of a learned feature
// map, the penalty with the centre 0 is weight decay. The argument unit must be positive. If x
// differs from c in length, or if c or unit is not finite, each evaluation returns an error.
func SquaredDistance(c []float64, unit float64) Objective {
	c = slices.Clone(c)
	err := args.First(
		args.BadIf(len(c) == 0, "c", qpdiff.ErrEmpty, "give the centre of a SquaredDistance at least one coordinate", "is empty"),
		args.CheckFinite("c", c, "centre a SquaredDistance at finite numbers"),
		args.BadIf(!(unit > 0 && args.Finite(unit)), "unit", qpdiff.ErrDomain, "use a positive number, the distance that counts as one", "of SquaredDistance is %v", unit),
	)
	return distance(len(c), err, func(i int, x float64) (float64, float64, error) { return (x - c[i]) / unit, 1 / unit, nil })
}

// SquaredLogDistance returns the penalty
//
//	r(x) = 1/2n Σ_i (ln x_i/c_i)²
//
// Use it for n positive coordinates, such as penalties and widths. They may have different units:
// the penalty depends only on the ratios x_i/c_i. The penalty is ½ if each ratio is e or 1/e (e =
// 2.718…). The entries of c must be positive. If x has the wrong length or an entry that is not
// positive, the evaluation returns an error.
func SquaredLogDistance(c []float64) Objective {
	logs := logs(slices.Clone(c))
	err := args.First(
		args.BadIf(len(c) == 0, "c", qpdiff.ErrEmpty, "give the centre of a SquaredLogDistance at least one coordinate", "is empty"),
		args.BadIf(!args.AllFinite(logs), "c", qpdiff.ErrDomain, "centre a SquaredLogDistance at positive numbers", "is %v", c),
	)
	return distance(len(c), err, func(i int, x float64) (float64, float64, error) {
		return math.Log(x) - logs[i], 1 / x, args.BadIf(!(x > 0), "x", qpdiff.ErrDomain, "bound the coordinates of a SquaredLogDistance away from zero", "is %v at index %d", x, i)
	})
}

// distance returns an objective: half the mean of the squares of n residuals. The function
// residualAt returns residual i and its derivative in x_i. If err is not nil, each evaluation of
// the objective returns err.
func distance(n int, err error, residualAt func(i int, x float64) (residual, slope float64, err error)) Objective {
	return func(grad, x []float64) (float64, error) {
		if err := args.First(err, args.BadIf(len(x) != n, "x", qpdiff.ErrShape, "give the centre of the penalty one entry for each coordinate", "has %d entries where the centre has %d", len(x), n)); err != nil {
			return math.NaN(), err
		}
		sum := 0.
		for i, v := range x {
			residual, slope, err := residualAt(i, v)
			if err != nil {
				return math.NaN(), err
			}
			share := residual / float64(n)
			sum += residual * share / 2
			if grad != nil {
				grad[i] = share * slope
			}
		}
		return sum, nil
	}
}
