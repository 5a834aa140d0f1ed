package dense

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkSmall times gathering, factorising and solving a small system.
func BenchmarkSmall(b *testing.B) {
	for _, n := range []int{9, 10} {
		const all = 10
		rng := rand.New(rand.NewPCG(3, 1))
		g, x, r := make([]float64, all*all), make([]float64, 30*all), make([]float64, all)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		Gram(g, 1./30, x, 30, all, all)
		at := []int{0, 1, 2, 4, 5, 6, 7, 8, 9}
		if n == 10 {
			at = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
		}
		w := LDLStride(n)
		a, inv, y := make([]float64, n*w), make([]float64, n), make([]float64, n)
		for _, on := range []bool{false, true} {
			defer SetVectors(SetVectors(on))
			run := func(name string, f func()) {
				b.Run(fmt.Sprintf("n=%d vectors=%v %s", n, on, name), func(b *testing.B) {
					defer SetVectors(SetVectors(on))
					for b.Loop() {
						f()
					}
				})
			}
			run("gather", func() { GatherUpper(a, w, g, all, r, at) })
			run("gather+factor", func() { GatherUpper(a, w, g, all, r, at); LDLFactor(a, inv, n, w, 0) })
			run("back", func() { copy(y, x); LDLBack(a, inv, n, w, y) })
			run("forward", func() { copy(y, x); LDLForward(a, inv, n, w, y) })
			run("all", func() {
				GatherUpper(a, w, g, all, r, at)
				LDLFactor(a, inv, n, w, 0)
				copy(y, x)
				LDLBack(a, inv, n, w, y)
				LDLForward(a, inv, n, w, y)
				LDLBack(a, inv, n, w, y)
			})
			lanes, inverses, solutions := make([]float64, LaneCount*n*(n+1)), make([]float64, LaneCount*n), make([]float64, LaneCount*n)
			var pivots [LaneCount]float64
			ridge := make([]float64, LaneCount*n)
			src := [LaneCount][]float64{g, g, g, g}
			gather := func() { LaneUpper(lanes, &src, all, ridge, n) }
			run("gather, four in lanes", gather)
			run("gather+factor+back, four in lanes", func() { gather(); LDLLanes(lanes, inverses, solutions, &pivots, n, 0) })
			run("forward+back, four in lanes", func() { copy(solutions, x); LDLLanesSolve(lanes, inverses, solutions, n) })
		}
	}
}
