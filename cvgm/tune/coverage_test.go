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
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/tune/assess"
	"cvgm/qpdiff"
)

var (
	coverageSets   = flag.Int("coverage", 0, "data sets of the simulation of the nested estimate, with all learners and 20,000 fresh rows each; zero: few and small ones")
	coverageChosen = flag.Bool("chosen", false, "draw the sets of the simulation from the populations on which the rules were chosen, not from those that judge them")
)

// coverageResult holds the results for one data set, in units of the constant prediction's risk.
type coverageResult struct {
	drawnSet
	holds, plainHolds, allHold     bool    // the final model's risk, and both differences together
	width, plainWidth              float64 // of the intervals of the risk
	gain                           float64 // of the tuned model over the constant, on fresh rows
	better, betterDefault, falsely bool    // better than the constant; better than the default; falsely, according to fresh rows
	unwarned                       bool    // without a warning, a loss or an estimate is above the same number of the constant or of the default
}

// judgeCoverage tunes a model on the data of s and compares the nested estimate with the loss on
// fresh rows.
func judgeCoverage(t *testing.T, s drawnSet) (*coverageResult, error) {
	s.tuner.KeepWinner = true
	tuned, err := s.tuner.Tune(t.Context(), s.data)
	if err != nil || tuned.Risk == nil {
		return nil, err
	}
	loss, r := tuned.Config.Loss, tuned.Risk
	var risks [ofConstant + 1]float64
	cv, err := cvgm.New(tuned.Config)
	if err != nil {
		return nil, err
	}
	for k, hyper := range [][]float64{tuned.Hyper, tuned.DefaultHyper} {
		model, err := cv.Final(hyper)
		if err != nil {
			return nil, err
		}
		if risks[k], err = model.Risk(loss, s.fresh); err != nil {
			return nil, err
		}
	}
	w, err := s.tuner.begin(t.Context(), cvgm.Config{Data: s.data}, nil)
	if err != nil {
		return nil, err
	}
	constant := w.constantOn(w.rows())
	for _, y := range s.fresh.Y {
		l, _ := loss.Eval(constant[0], y)
		risks[ofConstant] += l / float64(len(s.fresh.Y))
	}
	n := len(s.data.Y)
	losses := make([]float64, n)
	var mean float64
	for i, p := range r.OutOfFold[0] {
		losses[i], _ = loss.Eval(p, s.data.Y[i])
		mean += losses[i] / float64(n)
	}
	plain := 1.96 * assess.Rows{Folds: [][]int{sample.Complement(nil, n)}}.StandardError(losses)
	in := func(e Estimate, v float64) bool { return e.Low <= v && v <= e.High }
	byConstant, _ := r.comparisonWith(constantName)
	byDefault, _ := r.comparisonWith(defaultName)
	unit := risks[ofConstant]
	toDefault, toConstant := risks[ofTuning]-risks[ofDefault], risks[ofTuning]-unit
	above := tuned.Loss > tuned.ConstantLoss*(1+1e-6) || byConstant.Percent.Mean > 1e-6 || byDefault.Percent.Mean > 1e-6
	return &coverageResult{
		drawnSet: s, holds: in(r.Tuned, risks[ofTuning]), plainHolds: math.Abs(mean-risks[ofTuning]) <= plain,
		allHold: in(byConstant.Percent, 100*toConstant/unit) && in(byDefault.Percent, 100*toDefault/unit),
		width:   (r.Tuned.High - r.Tuned.Low) / unit, plainWidth: 2 * plain / unit, gain: -toConstant / unit,
		better: byConstant.Better(), betterDefault: byDefault.Better(), falsely: byDefault.Better() && toDefault >= 0,
		unwarned: above && !slices.Contains(tuned.kinds(), Worse) && !slices.Contains(tuned.kinds(), MaybeWorse),
	}, nil
}

// collectCoverage returns a function that calls judgeCoverage, and the list of its results.
// Goroutines may share the function.
func collectCoverage(t *testing.T) (judge func(drawnSet) error, found *[]*coverageResult) {
	var mu sync.Mutex
	found = new([]*coverageResult)
	return func(s drawnSet) error {
		c, err := judgeCoverage(t, s)
		if err == nil && c != nil {
			mu.Lock()
			defer mu.Unlock()
			*found = append(*found, c)
		}
		return err
	}, found
}

// shareOf counts the sets that satisfy among, and the sets that also satisfy property.
func shareOf(all []*coverageResult, among, property func(*coverageResult) bool) (count, of int) {
	for _, c := range all {
		if among(c) {
			if of++; property(c) {
				count++
			}
		}
	}
	return count, of
}

// The nested estimate detects 90 % of the gains of a fifth or more over a constant prediction.
//
// With -coverage 480, the test takes more than 90 minutes of processor time.
func TestGainsOfAFifthAreSeen(t *testing.T) {
	casetest.Trial(t)
	const fifth, least = .2, .9
	sets, fresh := *coverageSets, 20_000
	if sets == 0 {
		sets, fresh = len(faintOn), 4000
	}
	judge, found := collectCoverage(t)
	casetest.OK(t, qpdiff.ForEach(workersFor(t, *coverageSets == 0), sets, func(k int) error { return judge(drawSetOf(faintOn, trialLearners, 500, k, fresh)) }))
	all := *found
	seen, of := shareOf(all, func(c *coverageResult) bool { return c.gain >= fifth }, func(c *coverageResult) bool { return c.better })
	t.Logf("better than the constant on %d of %d sets with a gain of a fifth", seen, of)
	if of < len(all)/3 || float64(seen) < least*float64(of) {
		t.Errorf("%d of %d gains are seen, on %d sets", seen, of, len(all))
	}
}

// onDrawnSets calls judge for data sets from the selected populations. The flag -coverage overrides
// setsEach and freshRows.
func onDrawnSets(t *testing.T, selection func([]population) []population, setsEach, freshRows int, judge func(s drawnSet) error) {
	t.Helper()
	from, sets := selection(checkedOn), *coverageSets
	if *coverageChosen {
		from = selection(chosenOn)
	}
	small := sets == 0
	if small {
		sets = setsEach * len(from)
	} else {
		freshRows = 20_000
	}
	casetest.OK(t, qpdiff.ForEach(workersFor(t, small), sets, func(k int) error {
		at := k
		if small {
			at = k%len(from) + k/len(from)*3*len(from)
		}
		s := drawSet(from, at, freshRows)
		if err := judge(s); err != nil {
			return fmt.Errorf("set %d, %s, %s: %w", k, s.name, s.learner, err)
		}
		return nil
	}))
}

// The intervals of the nested estimate contain the true risk as often as their level requires.
//
// The rules of the estimate were chosen on other populations. With -coverage 480, the test takes
// about 15 minutes of processor time.
func TestNestedEstimateCovers(t *testing.T) {
	casetest.Trial(t)
	judge, found := collectCoverage(t)
	onDrawnSets(t, slices.Clone, 2, 4000, judge)
	all := *found
	any := func(*coverageResult) bool { return true }
	var width, plain float64
	for _, c := range all {
		width += c.width / float64(len(all))
		plain += c.plainWidth / float64(len(all))
	}
	holds, n := shareOf(all, any, func(c *coverageResult) bool { return c.holds })
	plainHolds, _ := shareOf(all, any, func(c *coverageResult) bool { return c.plainHolds })
	joint, _ := shareOf(all, any, func(c *coverageResult) bool { return c.allHold })
	byChance, chances := shareOf(all, func(c *coverageResult) bool { return c.chance }, func(c *coverageResult) bool { return c.better })
	large, larges := shareOf(all, func(c *coverageResult) bool { return c.gain >= .5 && len(c.data.Y) >= 100 }, func(c *coverageResult) bool { return c.better })
	falsely, better := shareOf(all, func(c *coverageResult) bool { return c.betterDefault }, func(c *coverageResult) bool { return c.falsely })
	unwarned, _ := shareOf(all, any, func(c *coverageResult) bool { return c.unwarned })
	t.Logf("%d sets: %.3f of the intervals hold the final model's risk (%.3f of ± 1.96 standard errors), with the mean width %.3f (%.3f) of the constant's risk; %.3f of the pairs of differences; better than the constant on %d of %d with a gain of half and 100 rows, and on %d of %d by chance; better than the default on %d, falsely on %d; %d unwarned",
		n, float64(holds)/float64(n), float64(plainHolds)/float64(n), width, plain, float64(joint)/float64(n), large, larges, byChance, chances, better, falsely, unwarned)
	for _, margin := range []func(*coverageResult) string{
		func(c *coverageResult) string { return c.name },
		func(c *coverageResult) string { return c.learner },
		func(c *coverageResult) string {
			return fmt.Sprintf("%d rows and more", []int{50, 100}[min(len(c.data.Y)/100, 1)])
		},
	} {
		names := map[string]bool{}
		for _, c := range all {
			names[margin(c)] = true
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			count, of := shareOf(all, func(c *coverageResult) bool { return margin(c) == name }, func(c *coverageResult) bool { return c.holds })
			t.Logf("%-20s %.3f of %d", name, float64(count)/float64(of), of)
		}
	}
	scatter := func(of int) float64 { return 3 * math.Sqrt(assess.Confidence*(1-assess.Confidence)*float64(of)) }
	if least := assess.Confidence*float64(n) - scatter(n); float64(holds) < least || float64(joint) < least {
		t.Errorf("fewer than %.0f intervals hold", least)
	}
	if most := (1-assess.Confidence)*float64(chances) + scatter(chances); float64(byChance) > most || unwarned > 0 {
		t.Errorf("%d better by chance, more than %.0f, or %d without a warning", byChance, most, unwarned)
	}
	if float64(large) < .9*float64(larges) {
		t.Errorf("%d of %d large gains are seen", large, larges)
	}
}
