package dense

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestThree checks that functions for three unknowns return the bits of the general functions.
func TestThree(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		p := drawProblem(rng, 3)
		var large [16]float64 // with a last row of the identity matrix
		large[15] = 1
		for i := range 3 {
			p.g[i*3+i] += p.r[i]
			copy(large[i*4:], p.g[i*3:i*3+3])
		}
		tol := 1e-14
		var inv [3]float64
		var largeInv [4]float64
		k, largeK := LDLFactor(p.g, inv[:], 3, 3, tol), LDLFactor(large[:], largeInv[:], 4, 4, tol)
		if k != min(largeK, 3) || !slices.Equal(inv[:k], largeInv[:k]) {
			t.Fatalf("%d pivots, reciprocals %v; of the larger one %d, %v", k, inv, largeK, largeInv)
		}
		if k < 3 {
			continue
		}
		x, y := slices.Clone(p.c), append(slices.Clone(p.c), 0)
		LDLSolve(p.g, inv[:], 3, 3, x)
		LDLSolve(large[:], largeInv[:], 4, 4, y)
		if !slices.Equal(x, y[:3]) {
			t.Fatalf("solution %v, of the larger one %v", x, y)
		}
	}
}
