package tune

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/stat"
)

var (
	lowestSets = flag.Int("lowest", 0, "data sets on which searches of all learners are compared with many points; zero: few, of linear SVMs")
	lowestOf   = flag.String("lowest-of", "", "the only learner of these sets")
)

// searchedLearners are learners of all kinds of CV losses.
var searchedLearners = map[bool][]namedLearner{
	false: {{"elastic net", &linear.ElasticNet{}}, {"Huber", &linear.Huber{Intercept: true}}, {"kernel ridge", &kernel.Ridge{Intercept: true}}},
	true:  {{"logistic", &linear.Logistic{Intercept: linear.UnpenalisedIntercept}}, {"sparse logistic", &linear.SparseLogistic{Intercept: true}}, {"linear SVM", &margin.SVM{}}, {"kernel SVM", &kernel.SVM{Intercept: true}}},
}

// knownLowest evaluates many points, starts searches from the best points, and returns the lowest
// CV loss.
func (s drawnSet) knownLowest(t *testing.T, splits []cvgm.Split, points, starts int) (float64, error) {
	s.tuner.MaxEvals, s.tuner.Starts = math.MaxInt, starts
	w, err := s.tuner.begin(t.Context(), cvgm.Config{Data: s.data}, nil)
	if err != nil {
		return 0, err
	}
	r, err := w.newSearch(w.rows(), splits)
	if err != nil {
		return 0, err
	}
	const near = .02 // two starts are at least this far from each other
	r.lookAt = r.design(points)
	slices.SortFunc(r.lookAt, slices.Compare[[]float64]) // a warm start near by saves most of a fit
	if err := r.evaluateDesign(points); err != nil {
		return 0, err
	}
	for _, start := range r.starts(near) {
		if err := r.raceFrom([]Step{start}); err != nil {
			return 0, err
		}
	}
	if err := r.descend(r.bestStep.Hyper); err != nil {
		return 0, err
	}
	return r.bestStep.Loss, r.tryZeros()
}

// searchResult holds the number of evaluations of a search, and the excess of its CV loss over the
// lowest known loss, in units of the constant prediction's loss.
type searchResult struct{ excess, evaluations float64 }

// Searches end near the lowest known CV loss, even if the loss has hundreds of narrow valleys.
//
// With -lowest 300, the test takes about 15 minutes of processor time.
func TestSearchesFindTheLowest(t *testing.T) {
	casetest.Trial(t)
	from, learners, sets, points, starts := checkedOn, maps.Clone(searchedLearners), *lowestSets, 1400, 10
	only := *lowestOf
	if *coverageChosen {
		from = chosenOn
	}
	if sets == 0 {
		sets, points, only = 6, 100, "linear SVM"
	}
	if only != "" {
		for classes, all := range learners {
			learners[classes] = slices.DeleteFunc(slices.Clone(all), func(l namedLearner) bool { return l.name != only })
		}
		from = slices.DeleteFunc(slices.Clone(from), func(p population) bool { return len(learners[p.classes]) == 0 })
	}
	var mu sync.Mutex
	found := map[string][]searchResult{}
	casetest.OK(t, qpdiff.ForEach(workersFor(t, *lowestSets == 0), sets, func(k int) error {
		s := drawSetOf(from, learners, 50, 20_000+k, 1)
		s.tuner.OuterFolds, s.tuner.KeepWinner = -1, true
		tuned, err := s.tuner.Tune(t.Context(), s.data)
		if err != nil {
			return fmt.Errorf("set %d, %s, %s: %w", k, s.name, s.learner, err)
		}
		lowest, err := s.knownLowest(t, tuned.Splits, points, starts)
		if err != nil {
			return fmt.Errorf("set %d, %s, %s: %w", k, s.name, s.learner, err)
		}
		mu.Lock()
		defer mu.Unlock()
		one := searchResult{max(0, tuned.Loss-lowest) / tuned.ConstantLoss, float64(len(tuned.Path))}
		found[s.learner] = append(found[s.learner], one)
		if one.excess > nearLowest {
			t.Logf("set %d, %s, %s: %.2g above the lowest", k, s.name, s.learner, one.excess)
		}
		return nil
	}))
	all := 0
	for _, name := range slices.Sorted(maps.Keys(found)) {
		var evaluations []float64
		var worst float64
		near := 0
		for _, s := range found[name] {
			evaluations, worst = append(evaluations, s.evaluations), max(worst, s.excess)
			if s.excess <= nearLowest {
				near++
			}
		}
		slices.Sort(evaluations)
		t.Logf("%-16s %d of %d within %v of the lowest, the worst %.2g above; evaluations at the median %.0f", name, near, len(evaluations), nearLowest, worst, stat.Quantile(.5, stat.Empirical, evaluations, nil))
		all += near
	}
	t.Logf("%d of %d", all, sets)
	if least := .8 * float64(sets); float64(all) < least {
		t.Errorf("%d of %d are near the lowest, want %.0f", all, sets, least)
	}
}
