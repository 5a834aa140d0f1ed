package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// outerFolds returns the number of outer folds; none is −1.
func (w *tuning) outerFolds() int { return cmp.Or(w.OuterFolds, defaultOuterFolds) }

// leastOuter is the number of examples below which there is no nested estimate: with 5 folds,
// 10 examples leave 8 to the searches.
const leastOuter = 10

// estimateRisk sets the nested estimate. Its errors are ctx's.
func (w *tuning) estimateRisk() error {
	none := func(format string, args ...any) error {
		w.warn(NoRisk, format, args...)
		return nil
	}
	folds, rows := w.outerFolds(), w.rows()
	switch n := len(rows); {
	case folds < 0:
		return nil
	case w.OuterFolds == 0 && n < leastOuter:
		return none("%d examples are too few for a nested estimate of the risk.", n)
	case w.OuterFolds == 0:
		folds = min(folds, w.mostFolds(rows))
	}
	if folds < 2 {
		return none("The data do not allow two outer folds.")
	}
	if need := w.each * evalsPerStart; !w.deadline.IsZero() && need*time.Duration(folds) > time.Until(w.deadline) {
		return none("MaxTime, %v, does not suffice for the nested estimate of the risk.", w.MaxTime)
	}
	outer, err := w.outer(rows, folds)
	if err != nil {
		return none("There is no nested estimate of the risk: %v.", err)
	}
	var tuned, byDefault, byConstant, weights []float64
	var of []int // the outer fold of each
	w.expected = w.evaluations + len(outer)*w.evaluations
	for j, fold := range outer {
		w.stage = fmt.Sprintf("outer fold %d of %d", j+1, len(outer))
		losses, err := w.outerFold(fold)
		w.out.Evaluations = w.evaluations
		switch {
		case err == nil:
		case w.ctx.Err() != nil:
			return err
		case errors.Is(err, errTime):
			return none("MaxTime, %v, did not suffice for the nested estimate of the risk.", w.MaxTime)
		default:
			return none("There is no nested estimate of the risk: the search without outer fold %d failed: %v.", j+1, err)
		}
		tuned = append(tuned, losses[0]...)
		byDefault = append(byDefault, losses[1]...)
		byConstant = append(byConstant, losses[2]...)
		for _, i := range fold.Val {
			weights, of = append(weights, w.weight(i)), append(of, j)
		}
		w.expected = w.evaluations * (len(outer) + 1) / (j + 2)
	}
	var share float64
	for _, fold := range outer {
		share += float64(len(fold.Val)) / float64(len(fold.Train)) / float64(len(outer))
	}
	of95 := func(a, b []float64) Estimate { return estimate(a, b, weights, of, share) }
	w.out.Risk = &Risk{
		Folds: len(outer), Tuned: of95(tuned, nil), Default: of95(byDefault, nil), Constant: of95(byConstant, nil),
		LessDefault: of95(tuned, byDefault), LessConstant: of95(tuned, byConstant),
	}
	return nil
}

// outer returns the outer folds, as many at most. They are drawn like the search's folds (see
// draw), from another seed, which PCG with Seed and 1 gives. In the order of time they are the
// last of the splits. A split is left out if no split of the search precedes it, or if it
// shares a validation row with a later one.
func (w *tuning) outer(rows []int, folds int) ([]cvgm.Split, error) {
	if w.ordered() {
		var last []cvgm.Split
		taken := map[int]bool{}
		for _, s := range slices.Backward(restrict(w.Tuner.Splits, rows)) {
			if len(last) == folds {
				break
			}
			if len(restrict(w.Tuner.Splits, s.Train)) == 0 || slices.ContainsFunc(s.Val, func(i int) bool { return taken[i] }) {
				continue
			}
			for _, i := range s.Val {
				taken[i] = true
			}
			last = append(last, s)
		}
		if len(last) < 2 {
			return nil, args.Bad("Tuner.Splits", qpdiff.ErrShape, "give more, or OuterFolds: -1", "are in the order of time, and have %d with others before them where two are needed", len(last))
		}
		slices.Reverse(last)
		return last, nil
	}
	seed := w.Seed
	w.Seed = rand.New(rand.NewPCG(seed, 1)).Uint64()
	defer func() { w.Seed = seed }()
	arg := ""
	if w.OuterFolds > 0 {
		arg = "Tuner.OuterFolds"
	}
	return w.draw(rows, folds, arg)
}

// outerFold searches on the training rows of an outer split, and returns the losses on its
// validation rows: of the tuned learner, of the default and of the constant prediction.
func (w *tuning) outerFold(outer cvgm.Split) ([3][]float64, error) {
	var losses [3][]float64
	folds := 0
	if w.Tuner.Splits == nil {
		if folds = min(len(w.out.Splits), w.mostFolds(outer.Train)); folds < 2 {
			return losses, args.Bad("Tuner.Groups", qpdiff.ErrDomain, "give three groups or more, or OuterFolds: -1", "leave one group to the search")
		}
	}
	splits, err := w.splits(outer.Train, folds)
	if err != nil {
		return losses, err
	}
	if len(splits) == 0 {
		return losses, args.Bad("Tuner.Splits", qpdiff.ErrShape, "use Folds, or OuterFolds: -1", "have no rows among those of an outer fold")
	}
	c := w.c
	c.Splits = []cvgm.Split{outer}
	w.beside = c.Bytes()
	defer func() { w.beside = 0 }()
	s, err := w.newSearch(outer.Train, splits)
	if err == nil {
		err = s.run()
	}
	if err != nil {
		return losses, err
	}
	if s.outOf == "MaxTime" {
		return losses, errTime
	}
	within := w.c
	within.Splits = splits
	c.MaxBytes = less(c.MaxBytes, within.Bytes())
	cv, err := w.load(c)
	if err != nil {
		return losses, err
	}
	predictions := make([]float64, len(c.Data.Y))
	judge := func(k int, hyper []float64) error {
		if _, err := cv.Eval(nil, hyper); err != nil {
			return err
		}
		if err := cv.OutOfFold(predictions); err != nil {
			return err
		}
		for _, i := range outer.Val {
			loss, _ := c.Loss.Eval(predictions[i], c.Data.Y[i])
			losses[k] = append(losses[k], loss)
		}
		return nil
	}
	if settled, err := s.settle(func() error { return judge(0, s.best.Hyper) }); !settled {
		return losses, err
	}
	byDefault := s.path[0].Hyper
	if err := judge(1, byDefault); errors.Is(err, qpdiff.ErrTooLarge) {
		return losses, err
	} else if err != nil {
		losses[1] = slices.Repeat([]float64{math.Inf(1)}, len(outer.Val))
	}
	w.judged = append(w.judged, judged{outer, s.best.Hyper, byDefault})
	constant := w.constantOn(outer.Train)
	for _, i := range outer.Val {
		loss, _ := c.Loss.Eval(constant, c.Data.Y[i])
		losses[2] = append(losses[2], loss)
	}
	return losses, nil
}

// estimate returns the weighted mean μ of the losses a, or of a − b if b is not nil, on k outer
// folds. A training set has 1/share times as many rows as its fold. of has the fold of each
// loss. With e_i = (w_i/Σw)(a_i − b_i − μ), n of them of positive weight, the interval is
//
//	μ ± t √(1 + k·share) √max(n/(n−1) Σ_i e_i², k/(k−1) Σ_j (Σ_{i in fold j} e_i)²).
//
// The first sum is for independent losses. The second (Liang and Zeger 1986) is larger if
// losses of a fold have a common part, from their model or from a group. t is the quantile of
// Student's distribution with n − 1 or k − 1 degrees of freedom. The factor covers the
// dependence of the folds' models, which share examples (Nadeau and Bengio 2003).
func estimate(a, b, weights []float64, of []int, share float64) Estimate {
	d := slices.Clone(a)
	for i := range b {
		d[i] -= b[i]
	}
	var n, total, mean float64
	for _, w := range weights {
		total += w
		if w > 0 {
			n++
		}
	}
	for i, w := range weights {
		if w > 0 {
			mean += w / total * d[i]
		}
	}
	if math.IsInf(mean, 0) {
		return Estimate{mean, mean, mean}
	}
	folds := make([]float64, slices.Max(of)+1)
	for i, w := range weights {
		d[i] = w / total * (d[i] - mean)
		folds[of[i]] += d[i]
	}
	// Norms neither over- nor underflow, as squares of small losses would.
	deviation := func(e []float64, n float64) float64 { return math.Sqrt(n/max(1, n-1)) * floats.Norm(e, 2) }
	k := float64(len(folds))
	size, count := deviation(d, n), n
	if byFold := deviation(folds, k); byFold > size {
		size, count = byFold, k
	}
	reach := distuv.StudentsT{Sigma: 1, Nu: max(1, count-1)}.Quantile(.975) * math.Sqrt(1+k*share) * size
	return Estimate{mean, mean - reach, mean + reach}
}

// constantLoss is the CV loss of the best constant prediction on each split's training rows.
func (w *tuning) constantLoss(splits []cvgm.Split) (float64, error) {
	var total float64
	missed := false // a label
	for _, s := range splits {
		c := w.constantOn(s.Train)
		weights := sample.Relative(w.c.Data.Weights, s.Val)
		var loss float64
		for at, i := range s.Val {
			l, _ := w.c.Loss.Eval(c, w.c.Data.Y[i])
			loss += weights.At(at) * l
			missed = missed || c != w.c.Data.Y[i]
		}
		total += loss / weights.Total(len(s.Val))
	}
	total /= float64(len(splits))
	switch w.c.Loss.(type) {
	case cvgm.SquaredError, cvgm.AbsoluteError, cvgm.HuberLoss: // others are 0 beside some labels, too
		missed = missed && total < smallestLoss
	default:
		missed = false
	}
	if missed || !args.Finite(total) {
		return math.NaN(), args.Bad("Data.Y", qpdiff.ErrNotFinite, "scale the labels", "has the CV loss %v for a constant prediction", total)
	}
	return total, nil
}

// smallestLoss bounds the losses that underflow: it is the smallest number with all digits.
const smallestLoss = 0x1p-1022

// constantOn returns the constant prediction of lowest mean loss on the rows, for a convex
// loss. For other losses it is the best of three: the smallest label, the largest, and the
// point that bisection finds between them.
func (w *tuning) constantOn(rows []int) float64 {
	rows = sample.Positive(rows, w.c.Data.Weights)
	labels, weights := sample.Pick(w.c.Data.Y, rows), sample.Relative(w.c.Data.Weights, rows)
	switch w.c.Loss.(type) {
	case cvgm.SquaredError:
		return runningMean(labels, weights)
	case cvgm.AbsoluteError:
		return median(labels, weights)
	}
	if w.classes() { // two labels in place of N make this much cheaper than a fit
		labels, weights = classWeights(labels, weights)
	}
	slope := func(p float64) float64 { return slopeAt(w.c.Loss, p, labels, weights) }
	low, high := slices.Min(labels), slices.Max(labels)
	candidates := []float64{low, high}
	if size := max(math.Abs(low), math.Abs(high)); low == high { // one label: beyond it some losses fall still
		low, high = low-size, high+size
	}
	const doublings, halvings = 4, 60
	for range doublings {
		middle, half := (low+high)/2, (high-low)/2
		if slope(low) > 0 || slope(high) < 0 {
			low, high = middle-2*half, middle+2*half
		}
	}
	for range halvings {
		if middle := low + (high-low)/2; slope(middle) > 0 {
			high = middle
		} else {
			low = middle
		}
	}
	best, lowest := low+(high-low)/2, math.Inf(1)
	for _, p := range append([]float64{best}, candidates...) {
		var loss float64
		for i, y := range labels {
			l, _ := w.c.Loss.Eval(p, y)
			loss += weights.At(i) * l
		}
		if loss < lowest {
			best, lowest = p, loss
		}
	}
	return best
}

// runningMean returns the mean of y, whose sum may overflow.
func runningMean(y []float64, weights sample.Weights) (mean float64) {
	var total float64
	for i, y := range y {
		if v := weights.At(i); v > 0 {
			total += v
			mean += v / total * (y - mean)
		}
	}
	return mean
}

// slopeAt sums the slopes of a loss at the prediction p, those at its kinks included.
func slopeAt(loss cvgm.Loss, p float64, labels []float64, weights sample.Weights) (total float64) {
	kinks, _ := loss.(cvgm.KinkedLoss)
	for i, y := range labels {
		_, s := loss.Eval(p, y)
		if s != s && kinks != nil {
			_, s = kinks.Kink(p, y)
		}
		if s == s {
			total += weights.At(i) * s
		}
	}
	return total
}

// classWeights returns the labels that there are among ±1, with their total weights.
func classWeights(y []float64, weights sample.Weights) (labels []float64, totals sample.Weights) {
	for _, label := range []float64{-1, 1} {
		var total float64
		for i, v := range y {
			if v == label {
				total += weights.At(i)
			}
		}
		if total > 0 {
			labels, totals = append(labels, label), append(totals, total)
		}
	}
	return labels, totals
}
