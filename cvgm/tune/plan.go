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
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// The bounds of penalties are these shares of the value at which the penalty alone decides:
// the smallest λ1 at which θ is 0, and the trace of XᵀX/N, which is at least its largest
// eigenvalue, for λ2. Values beyond change the predictions by about such a share.
const (
	leastLambda1   = 1e-5
	leastLambda2   = 1e-8
	mostLambda2    = 10
	defaultLambda1 = .03 // of the same value
	defaultLambda2 = .03 // of the mean variance of a feature
	// that of kernel ridge regression, whose kernels are 1 at equal rows
	defaultKernelLambda = 1e-2
	// Huber's threshold, in units of the spread of the labels
	leastThreshold, defaultThreshold, mostThreshold = 1e-2, 1.345, 10
	// C·N times the largest variance of a feature is a ratio of loss to penalty.
	leastC, mostC = 1e-3, 1e6
	// Bounds of kernel machines, whose kernels are 1 at equal rows, and of γ in units of the inverse
	// of the median squared distance between rows.
	leastKernelC, mostKernelC = 1e-3, 1e4
	widthRange                = 1e3
	widthPairs                = 2000 // pairs of rows in the median
)

// hyperparameters returns those of the learner, by the rows of X given: with bounds and
// defaults in the units that the data have there.
func (w *tuning) hyperparameters(rows []int, x *mat.Dense, y []float64) ([]Hyperparameter, error) {
	_, n := x.Dims()
	_, count := w.learner.prototype.Dims(n)
	if w.Hyper != nil {
		if len(w.Hyper) != count {
			return nil, args.Bad("Tuner.Hyper", qpdiff.ErrShape, "give one entry per hyperparameter of the learner", "has %d entries where %T has %d", len(w.Hyper), w.learner.prototype, count)
		}
		for i, h := range w.Hyper {
			if !(h.Lower > 0 && h.Lower <= h.Default && h.Default <= h.Upper && args.Finite(h.Upper)) {
				return nil, args.Bad("Tuner.Hyper", qpdiff.ErrDomain, "use 0 < Lower ≤ Default ≤ Upper", "has Lower %v, Default %v, Upper %v at index %d", h.Lower, h.Default, h.Upper, i)
			}
		}
		plan := slices.Clone(w.Hyper)
		for i := range plan {
			plan[i].kind = i
		}
		return plan, nil
	}
	weights := sample.Relative(w.c.Data.Weights, rows)
	m := measure(x, y, weights)
	var total float64
	for _, i := range rows {
		total += w.weight(i)
	}
	share := float64(len(rows)) / total // C multiplies a sum of weighted losses
	// Each kind is a hyperparameter, or one for each group of features.
	repeated := func(kinds ...Hyperparameter) []Hyperparameter {
		var plan []Hyperparameter
		each := count / len(kinds)
		for k, h := range kinds {
			for g := range each {
				h.kind = k
				plan = append(plan, h)
				if each > 1 {
					plan[len(plan)-1].Name = fmt.Sprintf("%s[%d]", h.Name, g)
				}
			}
		}
		return plan
	}
	l1 := func(most float64) Hyperparameter {
		return Hyperparameter{Name: "λ1", Lower: leastLambda1 * most, Default: defaultLambda1 * most, Upper: most, Zero: true}
	}
	l2 := func(zero bool) Hyperparameter {
		return Hyperparameter{Name: "λ2", Lower: leastLambda2 * m.trace, Default: defaultLambda2 * m.variance, Upper: mostLambda2 * m.trace, Zero: zero}
	}
	c := Hyperparameter{Name: "C", Lower: leastKernelC * share, Default: share, Upper: mostKernelC * share}
	var plan []Hyperparameter
	switch l := w.learner.prototype.(type) {
	case *linear.ElasticNet:
		plan = repeated(l1(m.correlation), l2(true))
	case *linear.SparseLogistic: // at θ = 0 the loss has half the slope of labels as targets, and a quarter of the curvature
		plan = repeated(l1(m.correlation/2), l2(true))
	case *linear.Huber:
		plan = repeated(l2(true), threshold(y, weights))
	case *kernel.Ridge:
		if isRBF(l.Kernel) {
			plan = repeated(Hyperparameter{Name: "λ", Lower: leastLambda2, Default: defaultKernelLambda, Upper: mostLambda2}, width(x, m, weights))
		}
	case *linear.Logistic:
		unit := 1 / (total * m.largest)
		plan = repeated(Hyperparameter{Name: "C", Lower: leastC * unit, Default: share / m.variance, Upper: mostC * unit})
	case *margin.SVM:
		plan = repeated(l1(m.correlation), l2(false))
	case *kernel.SVM:
		if isRBF(l.Kernel) {
			plan = repeated(c, width(x, m, weights))
		}
	}
	if plan == nil {
		return nil, args.Bad("Tuner.Hyper", qpdiff.ErrShape, "describe each hyperparameter with its bounds", "is nil, and those of %T do not follow from the data", w.learner.prototype)
	}
	for _, h := range plan {
		if !(h.Lower > 0 && args.Finite(h.Upper)) {
			return nil, args.Bad("Data", qpdiff.ErrNotFinite, "scale features, labels and weights towards 1", "has a unit in which the bounds of %s over- or underflow: %v and %v", h.Name, h.Lower, h.Upper)
		}
	}
	return plan, nil
}

// threshold returns that of Huber's loss in units of the labels' spread: 1.4826 times their weighted median
// distance from their weighted median, which is the standard deviation of normal ones. Its default gives up 5 %
// of efficiency at normal errors (Huber 1964).
func threshold(y []float64, weights sample.Weights) Hyperparameter {
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
	return Hyperparameter{Name: "δ", Lower: leastThreshold * spread, Default: defaultThreshold * spread, Upper: mostThreshold * spread}
}

// median returns the least value at or below which lies half of the weight.
func median(values []float64, weights sample.Weights) float64 {
	sorted, w := slices.Clone(values), slices.Clone(weights)
	stat.SortWeighted(sorted, w)
	return stat.Quantile(.5, stat.Empirical, sorted, w)
}

func isRBF(k kernel.Kernel) bool {
	_, rbf := k.(kernel.RBF)
	return rbf || k == nil
}

// measures are what bounds follow from: 0 or +Inf where the unit of the data lets them under- or overflow.
type measures struct {
	trace       float64 // of XᵀX/N, centred unless the features stay raw
	largest     float64 // entry of its diagonal
	variance    float64 // mean entry of its diagonal, of features that vary
	correlation float64 // the largest |x_jᵀy|/N, both centred
}

// measure returns the measures of the data with weights, 1 where all entries that a measure is of are 0.
func measure(x *mat.Dense, y []float64, weights sample.Weights) measures {
	rows, n := x.Dims()
	mean, total := weights.Mean(y), weights.Total(rows)
	var m measures
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
		m.trace += v
		m.largest = max(m.largest, v)
		m.correlation = max(m.correlation, math.Abs(product)/total*size)
		varying++
		correlated = correlated || product != 0
	}
	if varying == 0 {
		return measures{1, 1, 1, 1}
	}
	m.variance = m.trace / float64(varying)
	if !correlated {
		m.correlation = 1
	}
	return m
}

// width returns the parameter γ of the RBF kernel exp(−γ‖x−x′‖²), by the median of the squared
// distance between rows (the median heuristic), where a pair of rows counts as the product of their
// weights. Its default is that of scikit-learn: one over the number of features times their variance.
func width(x *mat.Dense, m measures, weights sample.Weights) Hyperparameter {
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
	middle := 1.
	switch {
	case len(squares) > 0:
		middle = median(squares, pairs)
	case differ:
		middle = 0 // all of them underflow
	}
	h := Hyperparameter{Name: "γ", Lower: 1 / (widthRange * middle), Upper: widthRange / middle}
	h.Default = min(max(1/m.trace, h.Lower), h.Upper)
	return h
}

// seen returns the rows as the learner would see them in training on all of them.
func (w *tuning) seen(rows []int) (*mat.Dense, []float64, error) {
	_, n := w.c.Data.X.Dims()
	x, y := mat.NewDense(len(rows), n, nil), sample.Pick(w.c.Data.Y, rows)
	sample.Gather(x.RawMatrix().Data, w.c.Data.X, rows)
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
