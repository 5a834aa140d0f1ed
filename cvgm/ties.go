package cvgm

import (
	"math"
	"slices"

	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// A tieTest finds training rows that the derivative of the learner treats as equal. If a change of
// the feature map's parameters, or of the rows of the data, makes them unequal, the derivative does
// not hold for this change.
type tieTest struct {
	c            *Config
	rows         bool // the moves are of the rows of the data, not of the parameters
	visitFunc    func(i, k int, sign float64, d []float64) bool
	fit          *splitFit
	hasTies      bool         // the derivative treats some rows as equal in a direction d
	makesUnequal bool         // a move makes such rows unequal
	i, k         int          // the examples found
	dfeatures    *mat.Dense   // zero
	dparams      [3][]float64 // derivatives of dᵀφ for example i, for example k, and for the mean
	dx           [3]*mat.Dense
}

func (t *tieTest) prepare(c *Config, features int, rows bool) {
	n, raw := c.Data.X.Dims()
	if c.Prepare != nil { // moves of the prepared rows
		raw = features
	}
	t.c, t.rows, t.visitFunc, t.dfeatures = c, rows, t.visit, mat.NewDense(n, features, nil)
	for at := range t.dparams {
		if c.Features != nil {
			t.dparams[at] = make([]float64, c.Features.NumParams())
		}
		if rows {
			t.dx[at] = mat.NewDense(n, raw, nil)
		}
	}
}

// prepared reports whether findTies may find rows.
func (t *tieTest) prepared() bool { return t.c != nil }

// findTies looks at the training rows of f.
func (t *tieTest) findTies(f *splitFit) {
	t.hasTies, t.makesUnequal = false, false
	if l, ok := f.learner.(learn.TiedLearner); ok && t.prepared() {
		t.fit = f
		l.Ties(&f.workspace, t.visitFunc)
	}
}

// visit is the function that findTies passes to [learn.TiedLearner]. It compares the derivatives of
// dᵀφ for the examples i and k, where φ is the features of an example. It does not compute the
// derivative of the difference, which would contain the rounding errors of both.
func (t *tieTest) visit(i, k int, sign float64, d []float64) (canContinue bool) {
	f := t.fit
	if f.leftOut == nil {
		i, k = f.split.Train[i], f.split.Train[k]
	}
	if t.makesUnequal || !t.rows && sign > 0 && slices.Equal(t.c.Data.Dense().RawRowView(i), t.c.Data.Dense().RawRowView(k)) {
		return false
	}
	if !t.hasTies && slices.ContainsFunc(d, func(v float64) bool { return v != 0 }) {
		t.hasTies, t.i, t.k = true, i, k
	}
	of, with := t.moveDerivative(0, d, 1, nil, i), t.moveDerivative(1, d, sign, nil, k)
	if sign > 0 || !f.normaliser.Centre {
		t.makesUnequal = t.makesUnequal || !slices.Equal(of, with)
	} else { // a move of the mean counts twice for examples of opposite sign
		rows := f.split.Train
		mean := t.moveDerivative(2, d, 2/f.normaliser.Weights.Total(len(rows)), f.normaliser.Weights, rows...)
		for p := range of {
			t.makesUnequal = t.makesUnequal || !(math.Abs(of[p]-with[p]-mean[p]) <= tieTol*(math.Abs(of[p])+math.Abs(with[p])+math.Abs(mean[p])))
		}
	}
	if t.makesUnequal {
		t.i, t.k = i, k
	}
	return !t.makesUnequal
}

// moveDerivative returns the derivative of scale·Σdᵀφ, a weighted sum over the examples, with
// respect to the rows of the data, or with respect to the parameters. It stores the result in
// t.dx[slot] or t.dparams[slot].
func (t *tieTest) moveDerivative(slot int, d []float64, scale float64, weights sample.Weights, examples ...int) []float64 {
	f, m := t.fit, t.c.Features
	for nr, example := range examples {
		weight := scale * weights.At(nr)
		row := t.dfeatures.RawRowView(example)
		for j, v := range d {
			if f.normaliser.Scale {
				v /= f.normaliser.Std[j] // Std[j] is the same for both examples
			}
			row[j] += weight * v
		}
	}
	clear(t.dparams[slot])
	if t.rows {
		t.dx[slot].Zero()
	}
	t.makesUnequal = backwardMap(m, t.dparams[slot], t.dx[slot], t.dfeatures) || t.makesUnequal
	t.dfeatures.Zero()
	if t.rows {
		return t.dx[slot].RawMatrix().Data
	}
	return t.dparams[slot]
}

// backwardMap calls Backward of m, or of the identity if m is nil. It reports whether a kink was
// met.
func backwardMap(m FeatureMap, dparams []float64, dx, dfeatures *mat.Dense) (kinked bool) {
	if m == nil {
		dx.Add(dx, dfeatures)
		return false
	}
	m.Backward(dparams, dx, dfeatures)
	k, ok := m.(KinkedMap)
	return ok && k.Generalised()
}

// tieTol bounds the rounding error of a sum over the training rows, relative to the moduli of its
// terms. Two sums that are equal in exact arithmetic differ by at most this much.
const tieTol = 1e-12
