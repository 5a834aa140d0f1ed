package synth

import "cmp"

// XOR describes the paper's XOR problem (supplement, "XOR Experiment"). Each class is an equal
// mixture of the uniform distributions on two squares. The two squares of a class lie diagonally
// opposite each other, and each square extends beyond the axes. With I = [−1, Overlap] and J =
// [−Overlap, 1], the squares are
//
//	label −1: I×J or J×I,   label +1: I×I or J×J,
//
// and all squares are multiplied by Scale. The zero value has the paper's parameters: its squares
// have the sides [−3, .6] and [−.6, 3].
type XOR struct {
	// An axis divides a side of a square into two lengths. Overlap is the shorter length divided by
	// the longer one. It must be above 0 and at most 1. Zero means .2.
	Overlap float64
	// Scale is a factor of all coordinates. Zero means 3.
	Scale float64
}

func (o XOR) withDefaults() (XOR, error) {
	o.Overlap = cmp.Or(o.Overlap, .2)
	o.Scale = cmp.Or(o.Scale, 3)
	const small, large = 1e-50, 1e50
	return o, cmp.Or(
		inRange("XOR.Overlap", o.Overlap, small, 1),
		inRange("XOR.Scale", o.Scale, small, large),
	)
}

// MakeXOR draws n points. The first ⌊n/2⌋ have the label −1, and the others the label +1. MakeXOR
// takes two generators, square and point, which may be the same generator. For each point, it first
// draws a number from the generator square. A number below .5 selects the first of the two squares
// of the class. MakeXOR then draws the two coordinates from the generator point. With NewPython(0)
// as square and NewNumPy(0) as point, the data are the published data. MakeXOR returns an
// [ArgError] for n < 1 and for invalid options.
func MakeXOR(square, point Float64Source, n int, o XOR) (Data, error) {
	if err := checkPoints(n); err != nil {
		return Data{}, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return Data{}, err
	}
	d := twoClasses(n)
	for i, y := range d.Y {
		first, second := -1., -1.
		if square.Float64() >= .5 {
			first, second = 1, 1
		}
		if y < 0 {
			second = -second
		}
		row := d.X.RawRowView(i)
		for j, side := range [2]float64{first, second} {
			low, high := -1., o.Overlap
			if side > 0 {
				low, high = -o.Overlap, 1
			}
			row[j] = o.Scale * Uniform(point, low, high)
		}
	}
	return d, nil
}

// Bayes returns the best rule, and its accuracy, if both classes are equally likely.
//
// Let m be the number of squares of a class that contain a point. The density of the class at this
// point is m·½/(1+Overlap)². Each of the four corners lies in only one square. In a corner the
// label is certain, and the score is ±1. In the other parts of the squares, both classes are
// equally likely. The score there is 0, and each label is correct half of the time. The accuracy is
// therefore
//
//	Accuracy = c + (1 − c)/2,   c = ((1 − Overlap)/(1 + Overlap))²,
//
// where c is the share of the points that lie in the corners. For the paper's parameters, c = 4/9
// and Accuracy = 13/18 = .7222.
//
// The label is +1 if x₀x₁ ≥ 0, and otherwise −1. In the corners, this label agrees with the sign of
// the score. At points with the score 0, both labels are equally good. (The paper prints .851,
// because its code compares predictions in {0, 1} with labels in {−1, +1}.)
func (o XOR) Bayes() (*BayesRule, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	edge := (1 - o.Overlap) / (1 + o.Overlap)
	corners := edge * edge
	// member returns two numbers: the first is 1 if v lies in I, and the second is 1 if v lies in
	// J. Otherwise they are 0.
	member := func(v float64) (inI, inJ float64) {
		v /= o.Scale
		if v >= -1 && v <= o.Overlap {
			inI = 1
		}
		if v >= -o.Overlap && v <= 1 {
			inJ = 1
		}
		return inI, inJ
	}
	return &BayesRule{
		Accuracy: corners + (1-corners)/2,
		score: func(x0, x1 float64) float64 {
			i0, j0 := member(x0)
			i1, j1 := member(x1)
			plus, minus := i0*i1+j0*j1, i0*j1+j0*i1
			if plus+minus == 0 {
				return 0
			}
			return (plus - minus) / (plus + minus)
		},
		label: func(x0, x1 float64) float64 { return sign(x0 * x1) },
	}, nil
}
