package searches

import (
	"flag"
	"reflect"
	"testing"

	"cvgm/cvgm/experiment"
)

var (
	stochasticSets = flag.Int("stochastic", 0, "data sets of the trial of stochastic CVGM at full size; 100 take some ten minutes of CPU. Zero: two of a small one")
	stochasticDraw = flag.Int("stochastic.draw", 0, "draw of these sets")
)

// The trial at full size:
//
//	go test ./cvgm/experiment/searches -run TestStochasticTrial -v -timeout 0 -stochastic 100
//
// The test prints the mean risk of each method and its difference from stochastic CVGM with an
// outer penalty, with 95 % confidence intervals. Steps, splits and weights were chosen on sets 1001
// to 1012.
//
// On sets 1 to 100, stochastic CVGM with an outer penalty has the risk .321 ± .012 after 5,200
// fits. Plain CVGM has .958 ± .086 after 25,600 fits, a difference of −.637 ± .079. CMA-ES has .333
// ± .008 after 25,600 fits. Most of the difference comes from the penalty: the training gradient
// with the same penalty and rule has .324 ± .010, a difference of −.003 ± .004.
//
// Without the flag, the problem is small, and a second run gives the same bits.
func TestStochasticTrial(t *testing.T) {
	p, full := DefaultStochastic(), *stochasticSets > 0
	if full {
		p.Rings.K, p.Budget, p.OuterFolds, p.Weights = 256, 100, 5, []float64{1, 3, 10, 30, 100}
		p.DataSets, p.Draw = *stochasticSets, *stochasticDraw
	} else {
		p.DataSets, p.Budget, p.Steps, p.OuterFolds, p.Weights = 2, 3, 4, 2, []float64{.1, 1}
		p.Rings.Train, p.Rings.Test, p.Rings.K, p.Rings.Hidden = 40, 50, 8, []int{4}
	}
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range r.Methods {
		t.Logf("%-50s %6d fits, risk %v, stochastic CVGM with penalty minus it %+v", m.Name, m.Fits, m.Risk, m.PenaltyLess)
	}
	plain, _ := r.Find(StochasticPlain)
	penalty, ok := r.Find(StochasticPenalty)
	if !ok || penalty.Fits != p.Fits() || plain.Fits > p.Budget*p.Rings.K || full && 4*penalty.Fits > p.Budget*p.Rings.K || len(r.Methods) != 8 {
		t.Errorf("methods %+v", r.Methods)
	}
	if d := penalty.PenaltyLess.Difference; d.Mean != 0 || penalty.PenaltyLess.Wins != .5 {
		t.Errorf("stochastic CVGM with penalty minus itself is %+v", penalty.PenaltyLess)
	}
	if !full {
		again, err := p.Run(t.Context(), experiment.Hooks{})
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("a second run differs: %+v, then %+v (%v)", r, again, err)
		}
	}
}

// A large penalty on the weights keeps the risk of the network at its start.
func TestOuterPenaltyHoldsTheStart(t *testing.T) {
	p := DefaultStochastic()
	p.Rings.Train, p.Rings.Test, p.Rings.K, p.Rings.Hidden, p.Steps = 40, 50, 8, []int{4}, 60
	problems := DimensionProblems{Rings: p.Rings, RingsRadius: p.RingsRadius}
	s, err := problems.Setup(0, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	start, err := s.TestLoss(s.Start)
	if err != nil {
		t.Fatal(err)
	}
	p.StepSize = 1e-4 // the size of Adam's steps, which does not depend on the weight of the penalty
	held, err := p.training(t.Context(), s, s.Train, 1e6, p.Steps)
	if err != nil {
		t.Fatal(err)
	}
	p.StepSize = .03
	free, err := p.training(t.Context(), s, s.Train, 0, p.Steps)
	if err != nil {
		t.Fatal(err)
	}
	atHeld, err := held.Risk(s.Loss, s.Test)
	if err != nil {
		t.Fatal(err)
	}
	atFree, err := free.Risk(s.Loss, s.Test)
	if err != nil {
		t.Fatal(err)
	}
	if near, far := atHeld-start, atFree-start; near*near > .01*far*far {
		t.Errorf("risk %g with the penalty and %g without, %g at the start", atHeld, atFree, start)
	}
}
