package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"
)

// ElasticNet and SparseLogistic pass learntest.Kinks on random problems. A zero coordinate is at
// its kink if λ1 equals the absolute slope of the loss.
func TestKinksOfRandomProblems(t *testing.T) {
	const rows, n = 14, 8
	kinks := 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		net, sparse := new(ElasticNet), new(SparseLogistic)
		l, slope := learn.Tunable(net), func(j int) float64 { return net.qp.grad[j] }
		if seed%2 == 0 {
			l, slope = sparse, func(j int) float64 { return sparse.g[j] }
		}
		net.Groups, sparse.Groups, sparse.Intercept = PerFeature(n), PerFeature(n), seed%4 == 0
		d := mixColumns(casetest.RandomData(seed, rows, n, seed%2 == 0), .5)
		if seed%2 == 0 {
			d.Y[0], d.Y[1] = 1, -1
		}
		hyper, side := make([]float64, 2*n), make([]float64, 2*n)
		for j := range n {
			hyper[j], hyper[n+j] = .15*rng.Float64(), .1
		}
		theta := make([]float64, numtest.First(l.Dims(n)))
		numtest.OK(t, l.Load(d), l.Fit(theta, hyper))
		var weak qpdiff.Weak
		for j := 0; j < n; j += 2 {
			if theta[j] == 0 {
				hyper[j], side[j] = math.Abs(slope(j)), 1
				weak.Coords = append(weak.Coords, j)
			}
		}
		kinks += len(weak.Coords)
		if weak.Empty() {
			continue
		}
		learntest.Kinks(t, func() learn.KinkedLearner { return l.New().(learn.KinkedLearner) }, learntest.Kink{Case: learntest.Case{Name: fmt.Sprintf("%T %d", l, seed), Data: d, Hyper: hyper},
			Weak: weak, Inputs: []qpdiff.Input{"λ1", "λ2", "X", "y"}, OneSided: true, Side: side})
	}
	if kinks < 40 {
		t.Errorf("only %d kinks tested", kinks)
	}
}
