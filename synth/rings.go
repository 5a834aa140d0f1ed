package synth

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Rings describes two overlapping rings in the plane. They are the data of the paper's section
// "Synthetic Classification Data". In polar coordinates,
//
//	r ~ N(Radii[k], SD²),   θ ~ U(−π, π),   x = (r cos θ, r sin θ),
//
// with k = 0 for the label −1 and k = 1 for the label +1. A negative r gives the point at the
// radius |r| in the opposite direction. The zero value of Rings has the paper's parameters. The
// paper writes N(1, .4) and N(2, .4); the second number is the standard deviation.
type Rings struct {
	// Radii are the mean radii of the classes −1 and +1. They must be at least 0 and in ascending
	// order. If both are zero, 1 and 2 are used.
	Radii [2]float64
	// SD is the standard deviation of the radius. Zero means .4.
	SD float64
}

func (o Rings) withDefaults() (Rings, error) {
	o.Radii = cmp.Or(o.Radii, [2]float64{1, 2})
	o.SD = cmp.Or(o.SD, .4)
	const small, large = 1e-50, 1e50 // no square overflows or underflows
	err := cmp.Or(
		inRange("Rings.SD", o.SD, small, large),
		inRange("Rings.Radii[0]", o.Radii[0], 0, large),
		inRange("Rings.Radii[1]", o.Radii[1], 0, large),
	)
	//lint:ignore SA4023 cmp.Or returns nil where every check does
	if err != nil {
		return o, err
	}
	if o.Radii[0] >= o.Radii[1] {
		return o, argErrorf("Rings.Radii", "make the second radius the larger one", "are %v", o.Radii)
	}
	return o, nil
}

// MakeRings draws n points. The first ⌊n/2⌋ have the label −1, and the others the label +1. For
// each class in turn, MakeRings first draws all radii and then all angles, as the published code
// does. If src is a [NumPy], the data are therefore the published data. MakeRings returns an
// [ArgError] for n < 1 and for invalid options.
func MakeRings(src Source, n int, o Rings) (Data, error) {
	if err := checkPoints(n); err != nil {
		return Data{}, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return Data{}, err
	}
	d := twoClasses(n)
	for class, of := range [2][2]int{{0, n / 2}, {n / 2, n}} {
		for i := of[0]; i < of[1]; i++ {
			d.X.Set(i, 0, Normal(src, o.Radii[class], o.SD))
		}
		for i := of[0]; i < of[1]; i++ {
			r := d.X.At(i, 0)
			sin, cos := math.Sincos(Uniform(src, -math.Pi, math.Pi))
			d.X.SetRow(i, []float64{r * cos, r * sin})
		}
	}
	return d, nil
}

// checkPoints returns an ArgError if n < 1, or if n points of the plane do not fit into memory.
func checkPoints(n int) error { return inRange("n", float64(n), 1, maxSize/2) }

// twoClasses returns n points with labels. The coordinates of all points are 0. The first ⌊n/2⌋
// points have the label −1, and the others the label +1.
func twoClasses(n int) Data {
	y := make([]float64, n)
	for i := range y {
		y[i] = 1
		if i < n/2 {
			y[i] = -1
		}
	}
	return Data{mat.NewDense(n, 2, nil), y}
}

// Bayes returns the best rule, and its accuracy, if both classes are equally likely.
//
// Let φ_k be the density of N(μ_k, σ²), the distribution of r in class k. A point at the distance ρ
// from the origin arises from r = ρ and from r = −ρ. At this point, class k therefore has the
// density (φ_k(ρ) + φ_k(−ρ))/2πρ. The ratio of the two densities depends only on ρ,
//
//	log p₊/p₋ = (μ₊−μ₋)/σ² · (ρ − (μ₊+μ₋)/2) + log(1+e^(−2ρμ₊/σ²)) − log(1+e^(−2ρμ₋/σ²)),
//
// and this logarithm increases with ρ. The label is thus +1 on and outside a circle. With only the
// first term of the sum, this is the paper's rule, ‖x‖ > 1.5. The other terms come from negative r.
// For the paper's parameters, they enlarge the radius of the circle by 1.2·10⁻⁹, and Accuracy is
// Φ(1.25) − 1.0·10⁻¹⁰ = .89435.
func (o Rings) Bayes() (*BayesRule, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	// From here on, lengths are in units of the standard deviation.
	inner, outer := o.Radii[0]/o.SD, o.Radii[1]/o.SD
	logRatio := func(rho float64) float64 {
		rho = min(rho, 1e200) // for larger ρ, terms of the ratio would be infinite
		return (outer-inner)*(rho-(inner+outer)/2) +
			math.Log1p(math.Exp(-2*rho*outer)) - math.Log1p(math.Exp(-2*rho*inner))
	}
	// If the radius equals high, the first term of the log ratio is log 2, and the sum of the other
	// two terms is above −log 2. The value of high is therefore above the radius of the circle.
	low, high := 0., (inner+outer)/2+math.Ln2/(outer-inner)
	for {
		mid := low + (high-low)/2
		if mid <= low || mid >= high {
			break
		}
		if logRatio(mid) < 0 {
			low = mid
		} else {
			high = mid
		}
	}
	inside := normCDF(high-inner) - normCDF(-high-inner)
	outside := normCDF(outer-high) + normCDF(-outer-high)
	score := func(x0, x1 float64) float64 {
		return math.Tanh(logRatio(math.Hypot(x0, x1)/o.SD) / 2)
	}
	return &BayesRule{
		Accuracy: (inside + outside) / 2,
		score:    score,
		label:    func(x0, x1 float64) float64 { return sign(score(x0, x1)) },
	}, nil
}

// normCDF returns the standard normal distribution function Φ.
func normCDF(t float64) float64 { return math.Erfc(-t/math.Sqrt2) / 2 }
