package cvgmtest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/search"

	"gonum.org/v1/gonum/floats"
)

// gradientTol is a tolerance for |slope − difference quotient|. It is relative to the size of the
// slope's terms plus the size of the values that the quotient subtracts. It covers the rounding
// errors of a five-point quotient with steps of 1e-4.
const gradientTol = 1e-7

// CheckGradient compares the gradient of the objective f at x with difference quotients of f. The
// quotients are along each coordinate and along random directions. The step along a coordinate is
// relative to the entry of x, or absolute if the entry is 0. The value of f must be the same with
// and without a gradient. CheckGradient skips a direction along which f has a kink near x. If it
// skips all directions, the test fails.
func CheckGradient(t TB, f search.Objective, x []float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(17, uint64(len(x))))
	grad := make([]float64, len(x))
	for i := range grad {
		grad[i] = math.NaN() // an objective overwrites
	}
	value, err := f(grad, x)
	if err != nil {
		t.Fatalf("at %v: %v", x, err)
	}
	if alone, err := f(nil, x); err != nil || !(math.Abs(alone-value) <= 1e-10*math.Abs(value)) {
		t.Errorf("the value is %v with a gradient, %v without, error %v", value, alone, err)
	}
	smooth := 0
	for k := range len(x) + 3 {
		u := direction(rng, x, k)
		want, size, even, err := slope(f, x, u)
		if err != nil {
			t.Fatalf("near %v along %v: %v", x, u, err)
		}
		if !even {
			continue
		}
		smooth++
		for i, g := range grad {
			size += math.Abs(g * u[i])
		}
		if got := floats.Dot(grad, u); !(math.Abs(got-want) <= gradientTol*size) {
			t.Errorf("along %v the gradient's slope is %.12g, a difference quotient %.12g", u, got, want)
		}
	}
	if smooth == 0 {
		t.Errorf("no direction at %v along which the objective is smooth", x)
	}
}

// direction returns a direction in which to move x. For an index k < len(x), it is the direction
// along coordinate k. For a larger k, it is a random direction. Entry i of the direction is in
// units of |x_i|, or of 1 if x_i is 0.
func direction(rng *rand.Rand, x []float64, k int) []float64 {
	u := make([]float64, len(x))
	for i, v := range x {
		size := cmp.Or(math.Abs(v), 1)
		if k == i {
			u[i] = size
		} else if k >= len(x) {
			u[i] = size * rng.NormFloat64()
		}
	}
	return u
}

// slope returns the five-point difference quotient d of f at x along the direction u. It also
// computes the quotient with half the step, and smooth is true if both quotients are equal up to
// gradientTol. The value of size is the largest |f| at the points of both quotients.
func slope(f search.Objective, x, u []float64) (d, size float64, smooth bool, err error) {
	at := func(step float64) float64 {
		moved := slices.Clone(x)
		floats.AddScaled(moved, step, u)
		v, e := f(nil, moved)
		if err == nil {
			err = e
		}
		size = max(size, math.Abs(v))
		return v
	}
	quotient := func(h float64) float64 { return (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h) }
	const step = 1e-4
	d = quotient(step)
	half := quotient(step / 2)
	return d, size, math.Abs(d-half) <= gradientTol*(size+math.Abs(d)), err
}

// Loss tests a loss at all pairs of predictions and labels. At a point at which the loss is smooth,
// Loss compares the slope with respect to the prediction to difference quotients. For a
// [cvgm.LabelLoss], it also compares the slope with respect to the label. At a kink, the slope of a
// [cvgm.KinkedLoss] must lie between the slopes on the two sides of the kink.
func Loss(t TB, l cvgm.Loss, predictions, labels []float64) {
	t.Helper()
	const step = 1e-5
	near := func(what string, p, y, got float64, f func(h float64) float64) {
		at, above, below := f(0), f(step), f(-step)
		want, half := (above-below)/(2*step), (f(step/2)-f(-step/2))/step
		// This is a bound of the rounding error of the moved prediction and label, divided by the step.
		rounding := 0x1p-50 * (math.Abs(p) + math.Abs(y)) / step
		tol := gradientTol*(max(math.Abs(above), math.Abs(below))+math.Abs(want)) + rounding*max(math.Abs(above-at), math.Abs(at-below))/step
		if !math.IsNaN(got) && math.Abs(want-half) <= tol && !(math.Abs(got-want) <= tol) {
			t.Errorf("%T at %v, %v: slope %v in the %s, difference quotient %v", l, p, y, got, what, want)
		}
	}
	value := func(p, y float64) float64 {
		v, _ := l.Eval(p, y)
		return v
	}
	for _, p := range predictions {
		for _, y := range labels {
			v, slope := l.Eval(p, y)
			if k, ok := l.(cvgm.KinkedLoss); ok {
				if distance, at := k.Kink(p, y); distance <= 2*step {
					before, after := (v-value(p-10*step, y))/(10*step), (value(p+10*step, y)-v)/(10*step)
					bend := 10 * step * (math.Abs(before) + math.Abs(after))
					if !(at >= min(before, after)-bend && at <= max(before, after)+bend) {
						t.Errorf("%T at its kink %v, %v: slope %v, beside it %v and %v", l, p, y, at, before, after)
					}
					continue
				}
			}
			near("prediction", p, y, slope, func(h float64) float64 { return value(p+h, y) })
			if label, ok := l.(cvgm.LabelLoss); ok {
				near("label", p, y, label.LabelSlope(p, y), func(h float64) float64 { return value(p, y+h) })
			}
		}
	}
}
