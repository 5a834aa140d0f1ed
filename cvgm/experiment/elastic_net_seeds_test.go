package experiment

import (
	"context"
	"math"
	"testing"
)

func fewSeeds() ElasticNetSeedsParams {
	p := DefaultElasticNetSeeds()
	p.Seeds, p.K, p.LongSteps, p.Samples = 6, 16, 150, 300
	return p
}

func TestElasticNetSeedsAreTheSameForAnyGOMAXPROCS(t *testing.T) {
	sameForAnyGOMAXPROCS(t, fewSeeds().Run)
}

func TestElasticNetSeedsFillEverySlotWithTheRightPoint(t *testing.T) {
	r, err := fewSeeds().Run(context.Background())
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
	for i := range r.Methods[ElasticNetCVGM].CV {
		// Small enough steps descend, until the search has converged.
		if long, short := r.Methods[ElasticNetLong].CV[i], r.Methods[ElasticNetCVGM].CV[i]; !(long <= short) {
			t.Errorf("seed %d: CV loss %v after %d steps, %v after %d", i, long, r.Params.LongSteps, short, r.Params.Steps)
		}
	}
	if r.Methods[ElasticNetTrue].CV != nil || r.Methods[ElasticNetExhaustive].CVMean.N != 6 {
		t.Error("CV losses belong to the searches alone")
	}
	if c := r.Methods[ElasticNetTrue].CVGMMinusTest; c.Wins != 0 || math.IsNaN(c.Difference.Margin) {
		t.Errorf("CVGM against the true coefficients: %+v", c)
	}
}
