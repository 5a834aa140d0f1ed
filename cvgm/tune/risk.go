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
	w.expected = w.evaluations + len(outer)*w.evaluations
	nested := newRepeat(outer, len(w.c.Data.Y))
	for j, fold := range outer {
		w.stage = fmt.Sprintf("outer fold %d of %d", j+1, len(outer))
		made, err := w.outerFold(fold)
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
		nested.add(fold, made)
		w.expected = w.evaluations * (len(outer) + 1) / (j + 2)
	}
	w.out.Risk = w.risk(nested)
	w.measureRisk(w.out.Risk)
	return nil
}

// risk returns the estimates by a repeat of outer folds.
func (w *tuning) risk(nested *repeat) *Risk {
	var share float64
	var weights []float64
	var of []int // the outer fold of each row
	for j, fold := range nested.folds {
		share += float64(len(fold.Val)) / float64(len(fold.Train)) / float64(len(nested.folds))
		for _, i := range fold.Val {
			weights, of = append(weights, w.weight(i)), append(of, j)
		}
	}
	losses := func(c contender) (all []float64) {
		for _, fold := range nested.folds {
			for _, i := range fold.Val {
				loss := math.Inf(1)
				if p := nested.predictions[c][i]; p == p {
					loss, _ = w.c.Loss.Eval(p, w.c.Data.Y[i])
				}
				all = append(all, loss)
			}
		}
		return all
	}
	tuned, byDefault, byConstant := losses(ofTuning), losses(ofDefault), losses(ofConstant)
	of95 := func(a, b []float64) Estimate { return estimate(a, b, weights, of, share) }
	return &Risk{
		Folds: len(nested.folds), Tuned: of95(tuned, nil), Default: of95(byDefault, nil), Constant: of95(byConstant, nil),
		LessDefault: of95(tuned, byDefault), LessConstant: of95(tuned, byConstant),
		Outer: nested.folds, OutOfFold: nested.predictions[ofTuning],
	}
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

// A contender is what the outer folds judge.
type contender int

const (
	ofTuning contender = iota
	ofDefault
	ofConstant
	contenders
)

// A repeat holds the predictions of one partition into outer folds.
type repeat struct {
	folds       []cvgm.Split
	predictions [contenders][]float64 // of each row; NaN: of no fold, or the fit failed
}

func newRepeat(folds []cvgm.Split, rows int) *repeat {
	r := &repeat{folds: folds}
	for c := range r.predictions {
		r.predictions[c] = slices.Repeat([]float64{math.NaN()}, rows)
	}
	return r
}

// add takes the predictions for the validation rows of a fold.
func (r *repeat) add(fold cvgm.Split, made [contenders][]float64) {
	for c, predictions := range made {
		for at, p := range predictions {
			r.predictions[c][fold.Val[at]] = p
		}
	}
}

// outerFold searches on the training rows of an outer split, and returns the predictions for
// its validation rows, nil if the default fails.
func (w *tuning) outerFold(outer cvgm.Split) ([contenders][]float64, error) {
	var made [contenders][]float64
	folds := 0
	if w.Tuner.Splits == nil {
		if folds = min(len(w.out.Splits), w.mostFolds(outer.Train)); folds < 2 {
			return made, args.Bad("Tuner.Groups", qpdiff.ErrDomain, "give three groups or more, or OuterFolds: -1", "leave one group to the search")
		}
	}
	splits, err := w.splits(outer.Train, folds)
	if err != nil {
		return made, err
	}
	if len(splits) == 0 {
		return made, args.Bad("Tuner.Splits", qpdiff.ErrShape, "use Folds, or OuterFolds: -1", "have no rows among those of an outer fold")
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
		return made, err
	}
	if s.outOf == "MaxTime" {
		return made, errTime
	}
	within := w.c
	within.Splits = splits
	c.MaxBytes = less(c.MaxBytes, within.Bytes())
	cv, err := w.load(c)
	if err != nil {
		return made, err
	}
	predictions := make([]float64, len(c.Data.Y))
	judge := func(k contender, hyper []float64) error {
		if _, err := cv.Eval(nil, hyper); err != nil {
			return err
		}
		if err := cv.OutOfFold(predictions); err != nil {
			return err
		}
		made[k] = sample.Pick(predictions, outer.Val)
		return nil
	}
	if settled, err := s.settle(func() error { return judge(ofTuning, s.best.Hyper) }); !settled {
		return made, err
	}
	byDefault := s.path[0].Hyper
	if err := judge(ofDefault, byDefault); errors.Is(err, qpdiff.ErrTooLarge) {
		return made, err
	}
	w.judged = append(w.judged, judged{outer, s.best.Hyper, byDefault})
	made[ofConstant] = slices.Repeat([]float64{w.constantOn(outer.Train)}, len(outer.Val))
	return made, nil
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
