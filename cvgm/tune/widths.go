package tune

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/memory"
)

const (
	// widthDescent bounds the evaluations of a descent that changes all widths.
	widthDescent = 60
	// At first, each of three descents has at most widthBegin evaluations for each free
	// hyperparameter, including the widths. After them, the best of the three descents is nearly
	// always in the valley in which it would end. Only this descent continues.
	widthBegin = 2
	// A step may multiply the loss by at most widthRaise. After a larger rise, the next descent
	// would not lower the priced loss (see pricedLoss).
	widthRaise = 1.2
	// The lower bound of a feature's kernel parameter γ is leastWidth times the γ of the common
	// width. At this bound, the feature has no effect.
	leastWidth = 1e-8
	// At one of the starts, γ is smoothStart times the γ of the common width. Predictions at this
	// start are smooth. A descent from it often ends in another, deeper valley.
	smoothStart = .01
	// All features whose γ is at most noWidth times the largest γ are removed together.
	noWidth = 1e-7
	// In all steps together, the search tries at most widthTrials changes, each of which adds or
	// removes one feature. With 20 features, this bound allows eight steps. With more than 160
	// features, it allows no step, because one step would take longer than all earlier descents.
	widthTrials = 160
)

// A widthRule is a rule for the splits of a search for widths. It gives the number of folds, the
// number of draws, and the stream of random numbers.
type widthRule struct {
	folds, draws, largeDraws int // largeDraws replaces draws for more than largeData examples
	stream                   uint64
}

var (
	// Each split must leave many rows out of its fit. Otherwise the fits of the splits are almost
	// equal, and a search in many widths over-fits.
	findMany = widthRule{2, 10, 3, 2}
	findFew  = widthRule{3, 7, 2, 2} // if each width has at least bearable rows
	// A fit to more rows allows narrower widths and smaller penalties.
	scaleWidths = widthRule{10, 2, 1, 3}
	judgeWidths = widthRule{5, 8, 2, 4}
)

// oneWidth runs the search with one common width for all features. If the learner is a
// [learn.FoldLearner], all splits are fitted at once on the data d. In d, the features have the
// same scaling in all splits. oneWidth then evaluates the best point on the actual splits.
func (s *tuneSearch) oneWidth(d learn.Data) error {
	if l, ok := s.w.learner.New().(learn.FoldLearner); d.X == nil || !ok || !l.FoldsAtOnce() {
		return s.run()
	}
	design := slices.Clone(s.lookAt)
	// This evaluates the defaults, whose loss is a result.
	if err := s.storeBudget(s.evaluateDesign(1)); err != nil || s.outOf != "" {
		return err
	}
	part, err := s.searchOnSplits(d, restrictSplits(s.splits, s.rows))
	if err != nil {
		return err
	}
	part.lookAt = design
	if err := s.storeBudget(s.runPart(part, part.oneDescent)); err != nil {
		return err
	}
	s.failedCount, s.failure = part.failedCount, part.failure
	loss := math.Inf(1)
	if args.Finite(part.bestStep.Loss) {
		s.timeIgnored = true
		loss, err = s.eval(nil, part.bestStep.Hyper)
		if s.timeIgnored = false; err != nil {
			return err
		}
	}
	if !args.Finite(loss) && s.outOf == "" {
		return s.run()
	}
	return nil
}

// oneDescent evaluates the design, descends from the best point, and calls tryZeros. More descents
// in one common width would find less than the descents in all widths, which follow it.
func (s *tuneSearch) oneDescent() error {
	if err := s.evaluateDesign(len(s.lookAt)); err != nil || !slices.Contains(s.isFree, true) || !args.Finite(s.bestStep.Loss) {
		return err
	}
	if err := s.descend(s.bestStep.Hyper); err != nil {
		return err
	}
	return s.tryZeros()
}

// widths searches for a width of each feature. It begins at the best point of the search with one
// common width.
//
// The search has four parts:
//   - It begins descents in all free hyperparameters, on splits that fit half or two thirds of the
//     rows. There are three starts: the best point, the best point with the defaults of the other
//     hyperparameters, and the best point with γ near 0.
//   - On the same splits it continues from the best point of these descents. It removes features of
//     small γ, and adds and removes single features.
//   - On folds that fit most rows, it descends in a common factor of all γ and in the other
//     hyperparameters, and removes features of small γ.
//   - It compares the result with the common width. The result becomes the best point if two
//     conditions hold. On fresh folds, its loss with the price of the widths is below the loss of
//     the common width. On the splits of the search, its CV loss is lower.
func (s *tuneSearch) widths(d learn.Data) error {
	one, rule := s.bestStep.Hyper, findMany
	if s.freeWidths()*bearable <= len(s.rows) {
		rule = findFew
	}
	find, err := s.searchOnView(d, rule)
	if err != nil {
		return err
	}
	find.commonFactor, find.brief = false, true
	noisy, smooth := slices.Clone(one), slices.Clone(one)
	for i := range s.hyper {
		if s.isFree[i] && s.isWidth(i) {
			find.hyper[i].Lower = leastWidth * one[i]
			smooth[i] *= smoothStart
		} else {
			// With λ near 0, features without effect act as the penalty.
			noisy[i] = s.hyper[i].Default
		}
	}
	begin := min(widthDescent, widthBegin*len(find.coordinates(one, false)))
	for _, start := range [][]float64{one, noisy, smooth} {
		if err := s.runPart(find, func() error { return find.descendWithin(start, begin) }); err != nil {
			return err
		}
	}
	if !args.Finite(find.bestStep.Loss) {
		return nil
	}
	if err := s.runPart(find, find.stepWidths); err != nil {
		return err
	}
	scale, err := s.searchOnView(d, scaleWidths)
	if err != nil {
		return err
	}
	copy(scale.hyper, find.hyper)
	if err := s.runPart(scale, func() error { return scale.scaleWidths(find.bestStep.Hyper) }); err != nil {
		return err
	}
	judge, err := s.searchOnView(d, judgeWidths)
	if err != nil {
		return err
	}
	better := false
	if err := s.runPart(judge, func() (err error) { better, err = judge.prefers(scale.bestStep.Hyper, one); return err }); err != nil || !better {
		return err
	}
	for i := range s.hyper {
		s.hyper[i].Lower = find.hyper[i].Lower
	}
	_, err = s.eval(nil, scale.bestStep.Hyper)
	return err
}

// runPart runs a search that is a part of this search. It adds the evaluations and fits of the part
// to the counts of this search. It reserves one evaluation of this search for the best point of the
// part.
func (s *tuneSearch) runPart(partSearch *tuneSearch, run func() error) error {
	done := len(partSearch.path)
	partSearch.earlierEvaluations, partSearch.fitCount = s.earlierEvaluations+len(s.path)-done+1, 0
	err := run()
	s.earlierEvaluations += len(partSearch.path) - done
	s.fitCount += partSearch.fitCount
	return err
}

// stepWidths removes features of small γ from the best point and descends in the widths of the
// other features. Each further step adds or removes one feature, and descends again. Of all
// features, it adds or removes the one for which the priced loss is lowest, even if the priced loss
// rises. The steps end when the descent does not lower the priced loss. An added feature has the
// median γ of the other features. With a small γ, the kernel would be nearly linear in the feature,
// and adding a feature without a linear effect would not lower the loss.
func (s *tuneSearch) stepWidths() error {
	lowest, err := s.withoutSmall(s.bestStep)
	if err != nil {
		return err
	}
	for trials, next := 0, lowest; ; {
		s.bestStep.Loss = math.Inf(1)
		if err := s.descendWithin(next.Hyper, widthDescent); err != nil {
			return err
		}
		if next.Loss < s.bestStep.Loss {
			s.bestStep = next
		}
		if trials > 0 && !(s.pricedLoss(s.bestStep) < s.pricedLoss(lowest)) {
			s.bestStep = lowest
			return nil
		}
		lowest = s.bestStep
		if trials += s.freeWidths(); trials > widthTrials {
			return nil
		}
		var found bool
		if next, found, err = s.oneFeature(lowest.Hyper); err != nil || !found || next.Loss > widthRaise*lowest.Loss {
			s.bestStep = lowest
			return err
		}
	}
}

// oneFeature tries, for each feature, to add it to x or to remove it from x. Of all these points,
// it returns the one whose priced loss is lowest. The second result is false if none of them can be
// fitted.
func (s *tuneSearch) oneFeature(x []float64) (lowest Step, fitted bool, err error) {
	var kept []float64
	for _, i := range s.widthsOf(x) {
		kept = append(kept, x[i])
	}
	slices.Sort(kept)
	for i, v := range x {
		if !s.isFree[i] || !s.isWidth(i) || v > 0 && len(kept) == 1 {
			continue
		}
		y := slices.Clone(x)
		if y[i] = 0; v == 0 {
			y[i] = kept[(len(kept)-1)/2]
		}
		if _, err := s.eval(nil, y); err != nil {
			return lowest, false, err
		}
		if step := s.path[len(s.path)-1]; args.Finite(step.Loss) && (!fitted || s.pricedLoss(step) < s.pricedLoss(lowest)) {
			lowest, fitted = step, true
		}
	}
	return lowest, fitted, nil
}

// widthsOf returns the indices of the free widths of x that are above 0, in ascending order of γ.
func (s *tuneSearch) widthsOf(x []float64) (order []int) {
	for i, v := range x {
		if s.isFree[i] && s.isWidth(i) && v > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, k int) int { return cmp.Compare(x[i], x[k]) })
	return order
}

// withoutSmall removes features from a point, one after the other in ascending order of γ. Of the
// points so obtained and the point itself, it returns the one whose priced loss is lowest.
func (s *tuneSearch) withoutSmall(startStep Step) (Step, error) {
	x := slices.Clone(startStep.Hyper)
	order := s.widthsOf(x)
	largest, bestSmaller, lowest := x[order[len(order)-1]], startStep, s.pricedLoss(startStep)
	for k, i := range order[:len(order)-1] {
		if x[i] = 0; x[order[k+1]] <= noWidth*largest {
			continue
		}
		if _, err := s.eval(nil, x); err != nil {
			return bestSmaller, err
		}
		step := s.path[len(s.path)-1]
		priced := s.pricedLoss(step)
		if priced <= lowest {
			bestSmaller, lowest = step, priced
		} else if priced-s.widthsPrice(x) > lowest { // above lowest even without its price
			break
		}
	}
	return bestSmaller, nil
}

// scaleWidths descends from x in a common factor of the widths, removes features of small γ, and
// descends again.
func (s *tuneSearch) scaleWidths(x []float64) error {
	if err := s.descend(x); err != nil || !args.Finite(s.bestStep.Loss) {
		return err
	}
	without, err := s.withoutSmall(s.bestStep)
	if err != nil {
		return err
	}
	s.bestStep.Loss = math.Inf(1)
	err = s.descend(without.Hyper)
	if !(s.bestStep.Loss <= without.Loss) {
		s.bestStep = without
	}
	return err
}

// widthsPrice returns the price of those widths of x that are above 0. The price is added to N
// times the logarithm of the loss, and has the same unit. A price is needed because many widths fit
// noise, and a CV loss on the same rows does not show this. By noise alone, the best of n features
// lowers N·log(loss) by about 2·ln n (the risk inflation criterion of Foster and George 1994). For
// few features the price must be higher than 2·ln n.
//
// The formula was chosen among 77 pairs of prices. A pair consists of a price for removing features
// and a price for keeping separate widths. The prices were numbers from 1 to 6, or depended on ln n
// or ln N. The pairs whose prices are near the present formula have the lowest geometric mean of
// test losses on 369 data sets. These sets come from 29 functions of 3 to 30 features. The features
// have equal effects, different effects or no effect.
func (s *tuneSearch) widthsPrice(x []float64) float64 {
	return (2 + 1.5*math.Log(float64(s.freeWidths()))) * float64(len(s.widthsOf(x)))
}

// pricedLoss returns N times the logarithm of the loss, plus the price of the widths.
func (s *tuneSearch) pricedLoss(step Step) float64 {
	return float64(len(s.rows))*math.Log(step.Loss) + s.widthsPrice(step.Hyper)
}

// prefers reports whether the priced loss of x is lower than the priced loss of xCommon, a point
// with one width for all features. The price of xCommon is 0. The result is false if a loss is
// below 0.
func (s *tuneSearch) prefers(x, xCommon []float64) (bool, error) {
	with, err := s.eval(nil, x)
	if err != nil {
		return false, err
	}
	without, err := s.eval(nil, xCommon)
	return s.pricedLoss(Step{Hyper: x, Loss: with}) < float64(len(s.rows))*math.Log(without), err
}

// standardisedRows returns the data of the search's rows, standardised on all these rows as for the
// final model. On these data, a [learn.FoldLearner] can fit all splits at once. The field X of the
// result is nil if the learner reads the data in place or the CV centres the labels.
func (s *tuneSearch) standardisedRows() (d learn.Data, err error) {
	if s.w.viewed || s.w.c.Centring != cvgm.NoCentring {
		return d, nil
	}
	d.Y, d.Weights = sample.Pick(s.w.c.Data.Y, s.rows), sample.Pick(s.w.c.Data.Weights, s.rows)
	d.X, err = s.w.featuresOf(s.rows)
	return d, err
}

// searchOnView returns a search on the data d, which standardisedRows returned. The method
// widthSplits makes its splits by the given rule.
func (s *tuneSearch) searchOnView(d learn.Data, rule widthRule) (*tuneSearch, error) {
	splits, err := s.widthSplits(rule)
	if err != nil {
		return nil, err
	}
	return s.searchOnSplits(d, splits)
}

// searchOnSplits returns a search on the given splits of d.
func (s *tuneSearch) searchOnSplits(d learn.Data, splits []cvgm.Split) (*tuneSearch, error) {
	place := map[int]int{}
	for k, i := range s.rows {
		place[i] = k
	}
	at := func(rows []int) []int {
		some := make([]int, len(rows))
		for k, i := range rows {
			some[k] = place[i]
		}
		return some
	}
	c, within := s.w.c, s.w.c
	within.Splits = s.splits
	c.Data, c.Prepare, c.Standardise = d, nil, false
	c.Splits = nil
	for _, split := range splits {
		c.Splits = append(c.Splits, cvgm.Split{Train: at(split.Train), Val: at(split.Val)})
	}
	_, n := d.X.Dims()
	beside := memory.Add(s.w.otherBytes, within.Bytes(), s.w.seenBytes(len(s.rows)), bytesOf(len(s.rows), n))
	if err := tooLarge(c, memory.Add(c.Bytes(), beside), len(splits)); err != nil {
		return nil, err
	}
	c.MaxBytes = remaining(s.w.c.MaxBytes, beside)
	cv, err := s.w.load(c)
	if err != nil {
		return nil, err
	}
	p := *s
	p.cv, p.splits, p.hyper, p.bestStep, p.path, p.designPoints, p.lookAt = cv, c.Splits, slices.Clone(s.hyper), Step{Loss: math.Inf(1)}, nil, nil, nil
	p.trialPoint, p.descentNumber = make([]float64, len(s.hyper)), 0
	return &p, nil
}

// widthSplits returns splits of the search's rows. If the user has set splits, it returns these.
// Otherwise it draws splits by the given rule, in the same way as the folds of the search are
// drawn.
func (s *tuneSearch) widthSplits(rule widthRule) (all []cvgm.Split, err error) {
	if s.w.Tuner.Splits != nil {
		return restrictSplits(s.splits, s.rows), nil
	}
	draws, src := rule.draws, rand.New(rand.NewPCG(s.w.Seed, rule.stream))
	if len(s.rows) > largeData || s.w.isLarge() {
		draws = rule.largeDraws
	}
	folds := min(rule.folds, s.w.mostFolds(s.rows))
	for range draws {
		splits, err := s.w.draw(src, s.rows, folds, "")
		if err != nil {
			return nil, err
		}
		if s.w.Groups == nil {
			equaliseSizes(splits)
		}
		all = append(all, splits...)
	}
	return all, nil
}

// equaliseSizes moves rows from validation to training until all splits validate on equally many
// rows. A [learn.FoldLearner] fits such splits faster, because it needs one inverse for all of
// them.
func equaliseSizes(splits []cvgm.Split) {
	least := len(slices.MinFunc(splits, func(a, b cvgm.Split) int { return cmp.Compare(len(a.Val), len(b.Val)) }).Val)
	for k, split := range splits {
		train := append(slices.Clone(split.Train), split.Val[least:]...)
		slices.Sort(train)
		splits[k] = cvgm.Split{Train: train, Val: split.Val[:least]}
	}
}
