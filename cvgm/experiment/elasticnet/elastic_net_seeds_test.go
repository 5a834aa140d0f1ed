package elasticnet

import (
	"context"
	"math"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"
)

func fewSeeds() ElasticNetSeedsParams {
	p := DefaultElasticNetSeeds()
	p.Seeds, p.K, p.LongSteps, p.Samples, p.Evaluations = 6, 16, 150, 300, 20
	return p
}

func TestElasticNetSeedsAreTheSameForAnyGOMAXPROCS(t *testing.T) {
	casetest.SameForAnyGOMAXPROCS(t, fewSeeds().Run)
}

func TestElasticNetSeedsFillEverySlotWithTheRightPoint(t *testing.T) {
	r, err := fewSeeds().Run(context.Background(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range r.Methods {
		for i, v := range m.Test {
			if !(v > 0) || i > 0 && v == m.Test[i-1] {
				t.Errorf("%s, seed %d: test loss %v", m.Name, i, v)
			}
		}
	}
	for i := range r.Methods[CVGM].CV {
		// With small enough steps, CVGM descends until it has converged.
		if long, short := r.Methods[Long].CV[i], r.Methods[CVGM].CV[i]; !(long <= short) {
			t.Errorf("seed %d: CV loss %v after %d steps, %v after %d", i, long, r.Params.LongSteps, short, r.Params.Steps)
		}
	}
	if r.Methods[TrueCoefficients].CV != nil || r.Methods[Exhaustive].CVMean.N != 6 {
		t.Error("CV losses belong to the searches alone")
	}
	if c := r.Methods[TrueCoefficients].CVGMMinusTest; c.Wins != 0 || math.IsNaN(c.Difference.Margin) {
		t.Errorf("CVGM against the true coefficients: %+v", c)
	}
}

// No method has a CV loss below the minimum. A data set whose minimum is strictly inside the box
// does not count as outside.
func TestElasticNetMinimumAndBoxes(t *testing.T) {
	p := fewSeeds()
	p.Evaluations = 60
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range r.Minimum {
		for _, method := range r.Methods[:LeastSquares] {
			if method.CV[i] < m.CV-1e-9 {
				t.Errorf("seed %d: minimum %v, %s %v", i, m.CV, method.Name, method.CV[i])
			}
		}
		if !p.isInside(m.Grid) || !p.wideBox().isInside(m.Wide) {
			t.Errorf("seed %d: %+v", i, m)
		}
	}
	b := SearchBox{BoxLow: -4, BoxHigh: -1}
	for at, want := range map[[2]float64][2]bool{
		{.01, .01}: {true, false}, {.1, .01}: {true, true}, {.01, 1e-4}: {true, true}, {.2, .01}: {false, true}, {.01, 1e-7}: {false, true},
	} {
		if b.isInside(at) != want[0] || b.onEdge(at) != want[1] {
			t.Errorf("%v: inside %v, on the edge %v", at, b.isInside(at), b.onEdge(at))
		}
	}
}
