package qpdiff

import (
	"errors"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/numtest"

	"gonum.org/v1/gonum/mat"
)

// A workspace does not reuse its results for another Solution at the same address.
func TestWorkspaceOfAReplacedSolution(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var w Workspace
	var s Solution
	for trial := range 20 {
		q := &QP{Q: mat.NewDense(3, 3, nil), P: numtest.Normals(rng, 3), G: mat.NewDense(4, 3, numtest.Normals(rng, 12)), H: []float64{.1, .2, .3, .4}}
		for i := range 3 {
			q.Q.Set(i, i, 1+rng.Float64())
		}
		s = Solution{}
		g, want, v := &QPGrad{P: make([]float64, 3)}, &QPGrad{P: make([]float64, 3)}, numtest.Normals(rng, 3)
		if err := errors.Join(s.Solve(q), s.VJP(&w, g, v, nil, nil), s.VJP(nil, want, v, nil, nil)); err != nil {
			t.Fatal(err)
		}
		if !numtest.SameBits(g.P, want.P) {
			t.Errorf("trial %d: %v, with a new workspace %v", trial, g.P, want.P)
		}
	}
}
