package synth

import "math"

// BayesRule is the best possible classifier for a distribution of points in the plane with labels
// ±1. [Rings.Bayes] and [XOR.Bayes] return such rules. On a zero BayesRule, every method panics.
type BayesRule struct {
	// Accuracy is the probability that the rule labels a point correctly. It is exact over the
	// population. No classifier has a higher accuracy.
	Accuracy float64

	score, label func(x0, x1 float64) float64
}

// Score returns P(y=+1 | x) − P(y=−1 | x), which is a number from −1 to +1. Its sign is the more
// likely label, and its absolute value is the certainty of this label. If both classes have density
// 0 at x, the score is 0. If a coordinate is NaN, the score is NaN. Score panics unless x has two
// entries.
func (b *BayesRule) Score(x []float64) float64 {
	if b.noPoint(x) {
		return math.NaN()
	}
	return b.score(x[0], x[1])
}

// Label returns the rule's label at x, which is +1 or −1. If the score is zero, the documentation
// of [Rings.Bayes] or [XOR.Bayes] gives the label. If a coordinate is NaN, the label is NaN. Label
// panics unless x has two entries.
func (b *BayesRule) Label(x []float64) float64 {
	if b.noPoint(x) {
		return math.NaN()
	}
	return b.label(x[0], x[1])
}

// SampleAccuracy returns the share of the examples in d that the rule labels correctly. By chance,
// this share may exceed the field Accuracy. SampleAccuracy panics if d has no examples, or if the
// number of labels differs from the number of rows.
func (b *BayesRule) SampleAccuracy(d Data) float64 {
	if d.X == nil || d.X.IsEmpty() || d.X.RawMatrix().Rows != len(d.Y) {
		panic("synth: SampleAccuracy: the data has no examples, or another number of labels than of rows")
	}
	var right int
	for i, y := range d.Y {
		if b.Label(d.X.RawRowView(i)) == y {
			right++
		}
	}
	return float64(right) / float64(len(d.Y))
}

// noPoint reports whether a coordinate of x is NaN. It panics if b is the zero value, or if x does
// not have two entries.
func (b *BayesRule) noPoint(x []float64) bool {
	if b.score == nil {
		panic("synth: BayesRule: the zero value is not a rule; use Rings.Bayes or XOR.Bayes")
	}
	if len(x) != 2 {
		panic("synth: a point of the plane has two coordinates")
	}
	return math.IsNaN(x[0]) || math.IsNaN(x[1])
}

// sign returns −1 for negative v and +1 otherwise.
func sign(v float64) float64 {
	if v < 0 {
		return -1
	}
	return 1
}
