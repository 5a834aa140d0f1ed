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

// The median distance of the rows is computed from widthPairs pairs of rows.
const widthPairs = 2000

// hyperparameters returns the learner's hyperparameters with their bounds and defaults. It also
// returns the kind of each hyperparameter. The bounds and defaults follow from the moments m of the
// data.
func (w *tuning) hyperparameters(m learn.Moments) (plan []learn.Hyperparameter, kinds []int, err error) {
	_, count := w.learner.Dims(m.Features)
	if w.Hyper != nil {
		return w.givenHyperparameters(count)
	}
	described := w.learner.Hyperparameters(m)
	if len(described) == 0 {
		return nil, nil, args.Bad("Tuner.Hyper", qpdiff.ErrEmpty, "describe each hyperparameter with its bounds", "is nil, and the data do not determine the hyperparameters of %T", w.learner)
	}
	// A learner has either one hyperparameter of each kind, or one of each kind for each group of
	// features.
	each := count / len(described)
	if each*len(described) != count {
		return nil, nil, args.Bad("Tuner.Learner", qpdiff.ErrShape, "describe each kind of hyperparameter once", "describes %d kinds of its %d hyperparameters", len(described), count)
	}
	kind, next := map[string]int{}, 0
	for _, h := range described {
		k, known := kind[h.Kind]
		if !known || h.Kind == "" {
			k, next = next, next+1
			kind[h.Kind] = k
		}
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

// givenHyperparameters returns the results of tuning.hyperparameters if Tuner.Hyper is set. The
// parameter wantedCount is the required length of Hyper.
func (w *tuning) givenHyperparameters(wantedCount int) (plan []learn.Hyperparameter, kinds []int, err error) {
	if len(w.Hyper) != wantedCount {
		return nil, nil, args.Bad("Tuner.Hyper", qpdiff.ErrShape, "give one entry per hyperparameter of the learner", "has %d entries where %T has %d", len(w.Hyper), w.learner, wantedCount)
	}
	for i, h := range w.Hyper {
		if !(h.Lower > 0 && h.Lower <= h.Default && h.Default <= h.Upper && args.Finite(h.Upper)) {
			return nil, nil, args.Bad("Tuner.Hyper", qpdiff.ErrDomain, "use 0 < Lower ≤ Default ≤ Upper", "has Lower %v, Default %v, Upper %v at index %d", h.Lower, h.Default, h.Upper, i)
		}
		kinds = append(kinds, i)
	}
	return slices.Clone(w.Hyper), kinds, nil
}

// moments returns the moments of the rows. The features are standardised in the same way as for a
// learner that is trained on all these rows. The result noneVaries reports whether all features are
// constant.
func (w *tuning) moments(rows []int) (m learn.Moments, noneVaries bool, err error) {
	weights := sample.Relative(w.c.Data.Weights, rows)
	y := sample.Pick(w.c.Data.Y, rows)
	if w.viewed {
		m, noneVaries, err = w.measureView(rows, y, weights)
	} else {
		var x *mat.Dense
		if x, err = w.featuresOf(rows); err == nil {
			m, noneVaries = measure(x, y, weights)
			m.Distance = func() float64 { return distance(x, weights) }
		}
	}
	m.Examples = len(rows)
	for _, i := range rows {
		m.Weight += w.weight(i)
	}
	m.Spread = func() float64 { return labelSpread(y, weights) }
	return m, noneVaries, err
}

// labelSpread returns a robust standard deviation of the labels. It is computed from the median
// distance between the labels and their median. If this distance is 0 because most labels are
// equal, labelSpread uses only the distances above 0. If all labels are equal, labelSpread returns
// their absolute value, or 1 if they are 0.
func labelSpread(y []float64, weights sample.Weights) float64 {
	middle := median(y, weights)
	distances := make([]float64, len(y))
	for i, v := range y {
		distances[i] = math.Abs(v - middle)
	}
	// normal is the standard deviation of a normal distribution, divided by the median of the
	// distance between a draw and the distribution's median.
	const normal = 1.4826
	spread := normal * median(distances, weights)
	if !(spread > 0) { // most labels are equal: the others have a spread, too
		spread = normal * medianPositive(distances, weights)
	}
	if !(spread > 0) {
		spread = math.Abs(middle) // all labels are equal: their size is the only unit
	}
	if !(spread > 0) || !args.Finite(spread) {
		spread = 1
	}
	return spread
}

// median returns a weighted median: the smallest value for which half of the weight lies at or
// below the value.
func median(values []float64, weights sample.Weights) float64 {
	sorted, w := slices.Clone(values), slices.Clone(weights)
	stat.SortWeighted(sorted, w)
	return stat.Quantile(.5, stat.Empirical, sorted, w)
}

// medianPositive returns the median of the values above 0, or NaN if there are none.
func medianPositive(values []float64, weights sample.Weights) float64 {
	var positive []float64
	var w sample.Weights
	for i, v := range values {
		if v > 0 && weights.At(i) > 0 {
			positive, w = append(positive, v), append(w, weights.At(i))
		}
	}
	if positive == nil {
		return math.NaN()
	}
	return median(positive, w)
}

// measure returns the moments of the weighted data. Its second result reports whether all features
// are constant.
func measure(x *mat.Dense, y []float64, weights sample.Weights) (learn.Moments, bool) {
	rows, n := x.Dims()
	mean, total := weights.Mean(y), weights.Total(rows)
	s, flat := newFeatureSizes(n, mean), true
	for j := range n {
		flat = flat && normalise.ConstantColumn(x.RawMatrix().Data, n, j)
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
		s.add(j, squares/total*size*size, product/total*size)
	}
	return s.moments(), flat
}

// featureSizes collects the sizes of features.
type featureSizes struct {
	m          learn.Moments
	varying    int
	correlated bool
}

func newFeatureSizes(n int, mean float64) *featureSizes {
	return &featureSizes{m: learn.Moments{Features: n, Mean: mean, Squares: make([]float64, n)}}
}

// add adds the moments of feature j: its mean square, and its mean product with the centred labels.
// The feature must be nonzero in at least one row.
func (s *featureSizes) add(j int, square, product float64) {
	s.m.Squares[j] = square
	s.m.Trace += square
	s.m.Largest = max(s.m.Largest, square)
	s.m.Correlation = max(s.m.Correlation, math.Abs(product))
	s.varying++
	s.correlated = s.correlated || product != 0
}

// moments returns the moments of the features.
func (s *featureSizes) moments() learn.Moments {
	m := s.m
	if s.varying == 0 {
		m.Trace, m.Largest, m.Variance, m.Correlation = 1, 1, 1, 1
	} else {
		m.Variance = m.Trace / float64(s.varying)
		if !s.correlated {
			m.Correlation = 1
		}
	}
	return m
}

// momentColumns is the number of vectors of features that measureView takes.
const momentColumns = 14

// measureView does the work of measure for the given rows of data that the learner reads in place.
func (w *tuning) measureView(rows []int, y []float64, weights sample.Weights) (m learn.Moments, flat bool, err error) {
	x := w.c.Data.X
	if w.prepare != nil {
		prepared, _, err := w.fitPrepared(rows)
		if err != nil {
			return m, false, err
		}
		if x, err = sample.PrepareStored(prepared.(cvgm.StoredPrepared), w.c.Data.Dense(), rows); err != nil {
			return m, false, err
		}
	}
	norm := w.normaliser(rows)
	if err := norm.FitRows(x, rows); err != nil {
		return m, false, err
	}
	constant, _ := normalise.ConstantStored(x, rows)
	n := len(norm.Mean)
	mean, total := weights.Mean(y), weights.Total(len(rows))
	squares, products, stored, labels := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	all := 0.0
	for at, i := range rows {
		weight, label := weights.At(at), y[at]-mean
		all += weight * label
		sample.VisitRow(x, i, func(j int, v float64) {
			if constant[j] { // its rounding carries no information
				return
			}
			v = (v - norm.Mean[j]) / norm.Std[j]
			stored[j] += weight
			squares[j] += weight * v * v
			products[j] += weight * v * label
			labels[j] += weight * label
		})
	}
	s := newFeatureSizes(n, mean)
	for j := range n {
		if constant[j] {
			continue
		}
		rest := -norm.Mean[j] / norm.Std[j] // the value of the entries that are not stored
		square := squares[j]/total + max(0, total-stored[j])/total*rest*rest
		if square == 0 {
			continue
		}
		s.add(j, square, (products[j]+rest*(all-labels[j]))/total)
	}
	m = s.moments()
	m.Sparse = learn.Data{X: x}.Sparse()
	return m, !slices.Contains(constant, false), nil
}

// distance returns the median of the squared distances between pairs of rows. The weight of a pair
// is the product of the weights of its two rows.
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

// normaliser returns the normaliser of the learner's features on the rows.
func (w *tuning) normaliser(rows []int) normalise.Normaliser {
	return normalise.Normaliser{Centre: w.c.Standardise || w.c.Centring == cvgm.MeanCentring, Scale: w.c.Standardise, Weights: sample.Relative(w.c.Data.Weights, rows)}
}

// fitPrepared fits Config.Prepare to the rows. It returns the fitted preparer and the values of the
// rows.
func (w *tuning) fitPrepared(rows []int) (cvgm.Prepared, *mat.Dense, error) {
	raw := w.gather(rows)
	prepared, err := w.prepare.Fit(raw, sample.Pick(w.c.Data.Weights, rows))
	return prepared, raw, err
}

// gather returns the values of the rows.
func (w *tuning) gather(rows []int) *mat.Dense {
	_, n := w.c.Data.X.Dims()
	x := mat.NewDense(len(rows), n, nil)
	sample.Gather(x.RawMatrix().Data, w.c.Data.Dense(), rows)
	return x
}

// featuresOf returns the features of the rows, prepared and normalised in the same way as for a
// learner that is trained on all these rows.
func (w *tuning) featuresOf(rows []int) (*mat.Dense, error) {
	_, n := w.c.Data.X.Dims()
	var x *mat.Dense
	if w.prepare == nil {
		x = w.gather(rows)
	} else {
		prepared, raw, err := w.fitPrepared(rows)
		if err != nil {
			return nil, err
		}
		_, n = prepared.Dims()
		x = mat.NewDense(len(rows), n, nil)
		if err := sample.Prepare(x.RawMatrix().Data, prepared, raw, sample.Complement(nil, len(rows))); err != nil {
			return nil, err
		}
	}
	for j := range n {
		if normalise.ConstantColumn(x.RawMatrix().Data, n, j) { // its rounding carries no information
			for i := range rows {
				x.Set(i, j, x.At(0, j))
			}
		}
	}
	norm := w.normaliser(rows)
	if err := norm.Fit(x.RawMatrix().Data, n); err != nil {
		return nil, err
	}
	norm.Apply(x.RawMatrix().Data)
	return x, nil
}
