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
	// widthDescent bounds the evaluations of a descent in all widths.
	widthDescent = 60
	// leastWidth is the share of the one width's γ below which no γ falls: its feature has no effect.
	leastWidth = 1e-8
	// smoothStart is the share of the one width's γ at which a descent begins. Smooth predictions lead to
	// another valley, which is often the deeper one.
	smoothStart = .01
	// noWidth is the share of the largest γ up to which the features of all γ are removed together.
	noWidth = 1e-7
	// noMore is the multiple of the lowest loss above which no more features are removed.
	noMore = 2
	// outTol is the share by which the loss may rise if features are removed. Sampling moves it by more.
	outTol = .01
	// widthPrice is the share of the loss, times N, that each width more than one has to save, also if
	// its feature left: many widths lower the loss also where they only fit the noise of the folds.
	widthPrice = 3
)

// A rule of splits for widths: draws of so many folds, from a stream of random numbers of its own.
type widthRule struct {
	folds, draws, large int // large is draws for more than largeData examples
	stream              uint64
}

var (
	// Splits that leave few rows out over-fit many widths, because their fits are almost the same.
	findMany = widthRule{2, 10, 3, 2}
	findFew  = widthRule{3, 7, 2, 2} // with bearable rows or more for each width
	// Fits to more rows bear narrower widths and smaller penalties.
	scaleWidths = widthRule{10, 2, 1, 3}
	judgeWidths = widthRule{5, 8, 2, 4}
)

// find runs the search, and looks for a width of each feature if the learner has several.
func (s *tuneSearch) find() error {
	if err := s.run(); err != nil || s.freeWidths() < 2 || s.outOf != "" {
		return err
	}
	return s.ended(s.widths())
}

// widths looks for a width of each feature, from the search's best point, which has one for all.
//
// It descends the loss on splits that fit half or two thirds of the rows, in all free hyperparameters,
// from three starts: from there, with the defaults of the other hyperparameters, and with γ near 0.
// On folds that fit most rows it then descends in a common factor of all γ and in the other
// hyperparameters, and removes features of small γ. The result becomes the best point if on fresh
// folds it saves more than its widths cost, and if its CV loss is lower.
func (s *tuneSearch) widths() error {
	d, err := s.view()
	if err != nil || d.X == nil {
		return err
	}
	one, rule := s.best.Hyper, findMany
	if s.freeWidths()*bearable <= len(s.rows) {
		rule = findFew
	}
	find, err := s.part(d, rule)
	if err != nil {
		return err
	}
	find.tied = false
	noisy, smooth := slices.Clone(one), slices.Clone(one)
	for i := range s.hyper {
		if s.free[i] && s.isWidth(i) {
			find.hyper[i].Lower = leastWidth * one[i]
			smooth[i] *= smoothStart
		} else {
			noisy[i] = s.hyper[i].Default // a λ near 0 lets features without effect take its place
		}
	}
	for _, start := range [][]float64{one, noisy, smooth} {
		if err := s.with(find, func() error { return find.descendWithin(start, widthDescent) }); err != nil {
			return err
		}
	}
	if !args.Finite(find.best.Loss) {
		return nil
	}
	scale, err := s.part(d, scaleWidths)
	if err != nil {
		return err
	}
	copy(scale.hyper, find.hyper)
	if err := s.with(scale, func() error { return scale.scaleWidths(find.best.Hyper) }); err != nil {
		return err
	}
	judge, err := s.part(d, judgeWidths)
	if err != nil {
		return err
	}
	better := false
	if err := s.with(judge, func() (err error) { better, err = judge.prefers(scale.best.Hyper, one); return err }); err != nil || !better {
		return err
	}
	for i := range s.hyper {
		s.hyper[i].Lower = find.hyper[i].Lower
	}
	_, err = s.eval(nil, scale.best.Hyper)
	return err
}

// with runs a part of the search, whose evaluations and fits then count as the search's.
func (s *tuneSearch) with(part *tuneSearch, run func() error) error {
	done := len(part.path)
	part.before, part.fits = s.before+len(s.path)-done, 0
	err := run()
	s.before += len(part.path) - done
	s.fits += part.fits
	return err
}

// scaleWidths descends from x in a common factor of the widths. It then removes features in the order
// of their γ as long as the loss hardly rises, and descends again.
func (s *tuneSearch) scaleWidths(x []float64) error {
	if err := s.descend(x); err != nil || !args.Finite(s.best.Loss) {
		return err
	}
	lowest := s.best
	var order []int
	for i := range s.hyper {
		if s.free[i] && s.isWidth(i) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, k int) int { return cmp.Compare(lowest.Hyper[i], lowest.Hyper[k]) })
	x = slices.Clone(lowest.Hyper)
	largest, without := x[order[len(order)-1]], lowest
	for k, i := range order[:len(order)-1] {
		if x[i] = 0; x[order[k+1]] <= noWidth*largest {
			continue
		}
		loss, err := s.eval(nil, x)
		if err != nil {
			return err
		}
		if loss > noMore*lowest.Loss {
			break
		}
		if loss <= lowest.Loss*(1+outTol) {
			without = s.path[len(s.path)-1]
		}
	}
	s.best.Loss = math.Inf(1)
	err := s.descend(without.Hyper)
	if !(s.best.Loss <= without.Loss) {
		s.best = without
	}
	return err
}

// prefers reports whether x saves more of the loss with one width than its widths cost.
func (s *tuneSearch) prefers(x, one []float64) (bool, error) {
	with, err := s.eval(nil, x)
	if err != nil {
		return false, err
	}
	without, err := s.eval(nil, one)
	price := widthPrice * float64(s.freeWidths()-1) / float64(len(s.rows))
	return with*(1+price) < without, err
}

// view returns the search's rows as the learner of the final model sees them: standardised on all of
// them. Then all splits of a [learn.FoldLearner] are fitted at once. X is nil if the learner reads the
// data in place.
func (s *tuneSearch) view() (d learn.Data, err error) {
	if s.w.viewed || s.w.c.Centring != cvgm.NoCentring {
		return d, nil
	}
	d.Y, d.Weights = sample.Pick(s.w.c.Data.Y, s.rows), sample.Pick(s.w.c.Data.Weights, s.rows)
	d.X, err = s.w.seen(s.rows)
	return d, err
}

// part returns a search on splits of the view by a rule, or on the user's splits.
func (s *tuneSearch) part(d learn.Data, rule widthRule) (*tuneSearch, error) {
	splits, err := s.widthSplits(rule)
	if err != nil {
		return nil, err
	}
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
	beside := memory.Add(s.w.beside, within.Bytes(), s.w.seenBytes(len(s.rows)), bytesOf(len(s.rows), n))
	if err := tooLarge(c, memory.Add(c.Bytes(), beside), len(splits)); err != nil {
		return nil, err
	}
	c.MaxBytes = less(s.w.c.MaxBytes, beside)
	cv, err := s.w.load(c)
	if err != nil {
		return nil, err
	}
	p := *s
	p.cv, p.splits, p.hyper, p.best, p.path, p.known, p.lookAt = cv, c.Splits, slices.Clone(s.hyper), Step{Loss: math.Inf(1)}, nil, nil, nil
	p.trial, p.start = make([]float64, len(s.hyper)), 0
	return &p, nil
}

// widthSplits draws splits of the search's rows by a rule, as the folds of the search are drawn.
func (s *tuneSearch) widthSplits(rule widthRule) (all []cvgm.Split, err error) {
	if s.w.Tuner.Splits != nil {
		return restrict(s.splits, s.rows), nil
	}
	draws, src := rule.draws, rand.New(rand.NewPCG(s.w.Seed, rule.stream))
	if len(s.rows) > largeData || s.w.large() {
		draws = rule.large
	}
	folds := min(rule.folds, s.w.mostFolds(s.rows))
	for range draws {
		splits, err := s.w.draw(src, s.rows, folds, "")
		if err != nil {
			return nil, err
		}
		all = append(all, splits...)
	}
	return all, nil
}
