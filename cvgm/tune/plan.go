package tune

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/normalise"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// widthPairs is the number of pairs of rows in the median of their distances.
const widthPairs = 2000

// hyperparameters returns the learner's hyperparameters and the kind of each. Bounds and
// defaults come from the given rows, in the units of the data there.
func (w *tuning) hyperparameters(rows []int, x *mat.Dense, y []float64) (plan []learn.Hyperparameter, kinds []int, err error) {
	_, n := x.Dims()
	_, count := w.learner.Dims(n)
	if w.Hyper != nil {
		if len(w.Hyper) != count {
			return nil, nil, args.Bad("Tuner.Hyper", qpdiff.ErrShape, "give one entry per hyperparameter of the learner", "has %d entries where %T has %d", len(w.Hyper), w.learner, count)
		}
		for i, h := range w.Hyper {
			if !(h.Lower > 0 && h.Lower <= h.Default && h.Default <= h.Upper && args.Finite(h.Upper)) {
				return nil, nil, args.Bad("Tuner.Hyper", qpdiff.ErrDomain, "use 0 < Lower ≤ Default ≤ Upper", "has Lower %v, Default %v, Upper %v at index %d", h.Lower, h.Default, h.Upper, i)
			}
			kinds = append(kinds, i)
		}
		return slices.Clone(w.Hyper), kinds, nil
	}
	described := w.learner.Hyperparameters(w.moments(rows, x, y))
	if len(described) == 0 {
		return nil, nil, args.Bad("Tuner.Hyper", qpdiff.ErrEmpty, "describe each hyperparameter with its bounds", "is nil, and those of %T do not follow from the data", w.learner)
	}
	// Each kind is a hyperparameter, or one for each group of features.
	each := count / len(described)
	if each*len(described) != count {
		return nil, nil, args.Bad("Tuner.Learner", qpdiff.ErrShape, "describe each kind of hyperparameter once", "describes %d kinds of its %d hyperparameters", len(described), count)
	}
	for k, h := range described {
		if !(h.Lower > 0 && args.Finite(h.Upper)) {
			return nil, nil, args.Bad("Data", qpdiff.ErrNotFinite, "scale features, labels and weights towards 1", "has a unit in which the bounds of %s over- or underflow: %v and %v", h.Name, h.Lower, h.Upper)
		}
		for g := range each {
			plan, kinds = append(plan, h), append(kinds, k)
			if each > 1 {
				plan[len(plan)-1].Name = fmt.Sprintf("%s[%d]", h.Name, g)
			}
		}
	}
	return plan, kinds, nil
}

// moments returns the moments of the rows given, whose features and labels are x and y.
func (w *tuning) moments(rows []int, x *mat.Dense, y []float64) learn.Moments {
	weights := sample.Relative(w.c.Data.Weights, rows)
	m := measure(x, y, weights)
	m.Examples = len(rows)
	_, m.Features = x.Dims()
	for _, i := range rows {
		m.Weight += w.weight(i)
	}
	m.Spread = func() float64 { return spread(y, weights) }
	m.Distance = func() float64 { return distance(x, weights) }
	return m
}

// spread returns the spread of the labels, or another unit of theirs if most or all of them are
// equal.
func spread(y []float64, weights sample.Weights) float64 {
	middle := median(y, weights)
	distances := make([]float64, len(y))
	for i, v := range y {
		distances[i] = math.Abs(v - middle)
	}
	spread := 1.4826 * median(distances, weights)
	if !(spread > 0) {
		spread = slices.Max(distances) // most labels are equal
	}
	if !(spread > 0) {
		spread = math.Abs(middle) // all labels are equal: their size is the only unit
	}
	if !(spread > 0) || !args.Finite(spread) {
		spread = 1
	}
	return spread
}

// median returns the least value at or below which lies half of the weight.
func median(values []float64, weights sample.Weights) float64 {
	sorted, w := slices.Clone(values), slices.Clone(weights)
	stat.SortWeighted(sorted, w)
	return stat.Quantile(.5, stat.Empirical, sorted, w)
}

// measure returns the sizes of the data with weights.
func measure(x *mat.Dense, y []float64, weights sample.Weights) learn.Moments {
	rows, n := x.Dims()
	mean, total := weights.Mean(y), weights.Total(rows)
	var m learn.Moments
	varying, correlated := 0, false
	for j := range n {
		var size, squares, product float64
		for i := range rows {
			size = max(size, math.Abs(x.At(i, j)))
		}
		if size == 0 {
			continue
		}
		for i := range rows {
			v := x.At(i, j) / size
			squares += weights.At(i) * v * v
			product += weights.At(i) * v * (y[i] - mean)
		}
		v := squares / total * size * size
		m.Trace += v
		m.Largest = max(m.Largest, v)
		m.Correlation = max(m.Correlation, math.Abs(product)/total*size)
		varying++
		correlated = correlated || product != 0
	}
	if varying == 0 {
		return learn.Moments{Trace: 1, Largest: 1, Variance: 1, Correlation: 1}
	}
	m.Variance = m.Trace / float64(varying)
	if !correlated {
		m.Correlation = 1
	}
	return m
}

// distance returns the median of the squared distance between rows. A pair of rows has the
// product of their weights as its weight.
func distance(x *mat.Dense, weights sample.Weights) float64 {
	rows, _ := x.Dims()
	var squares []float64
	var pairs sample.Weights
	differ := false
	step := max(1, rows*(rows-1)/2/widthPairs)
	at := 0
	for i := range rows {
		for k := range i {
			if at++; at%step != 0 {
				continue
			}
			var d float64
			for j, v := range x.RawRowView(i) {
				v -= x.At(k, j)
				d += v * v
				differ = differ || v != 0
			}
			if d > 0 {
				squares, pairs = append(squares, d), append(pairs, weights.At(i)*weights.At(k))
			}
		}
	}
	switch {
	case len(squares) > 0:
		return median(squares, pairs)
	case differ:
		return 0 // all of them underflow
	}
	return 1
}

// seen returns the rows as the learner would see them in training on all of them.
func (w *tuning) seen(rows []int) (*mat.Dense, []float64, error) {
	_, n := w.c.Data.X.Dims()
	x, y := mat.NewDense(len(rows), n, nil), sample.Pick(w.c.Data.Y, rows)
	sample.Gather(x.RawMatrix().Data, w.c.Data.Dense(), rows)
	if w.c.Prepare != nil {
		prepared, err := w.c.Prepare.Fit(x, sample.Pick(w.c.Data.Weights, rows))
		if err != nil {
			return nil, nil, err
		}
		raw := x
		_, n = prepared.Dims()
		x = mat.NewDense(len(rows), n, nil)
		if err := sample.Prepare(x.RawMatrix().Data, prepared, raw, sample.Complement(nil, len(rows))); err != nil {
			return nil, nil, err
		}
	}
	for j := range n {
		if normalise.ConstantColumn(x.RawMatrix().Data, n, j) { // its rounding is no information
			for i := range rows {
				x.Set(i, j, x.At(0, j))
			}
		}
	}
	norm := normalise.Normaliser{Centre: w.c.Standardise || w.c.Centring == cvgm.MeanCentring, Scale: w.c.Standardise, Weights: sample.Relative(w.c.Data.Weights, rows)}
	if err := norm.Fit(x.RawMatrix().Data, n); err != nil {
		return nil, nil, err
	}
	norm.Apply(x.RawMatrix().Data)
	return x, y, nil
}
