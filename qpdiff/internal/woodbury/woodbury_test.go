package woodbury

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/floats"
)

// A factor of K that was updated many times equals a factor computed anew, up to rounding.
func TestSum(t *testing.T) {
	serial.Test(t)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		const features = 120
		rows := 3 + rng.IntN(30)
		columns, diag, inv := make([][]float64, features), make([]float64, features), 1/float64(rows)
		var sum Sum
		for f := range features {
			c := make([]float64, rows)
			for i := range c {
				c[i] = rng.NormFloat64()
			}
			if rng.IntN(10) == 0 {
				floats.Scale(1e6, c)
			}
			columns[f], diag[f] = c, inv*floats.Dot(c, c)
		}
		in := make([]bool, features)
		groups := rng.IntN(2) * 3
		var lambda [4]float64
		for k := range lambda {
			lambda[k] = math.Exp(4 * rng.NormFloat64())
		}
		for range 30 {
			switch rng.IntN(3) {
			case 0:
				lambda[rng.IntN(1+groups)] *= math.Exp(rng.NormFloat64())
			case 1:
				for range rng.IntN(features) {
					in[rng.IntN(features)] = rng.IntN(2) == 0
				}
			default:
				in[rng.IntN(features)] = true
			}
			support := &Support{Diag: diag}
			for f := range features {
				if support.Features, support.R = append(support.Features, f), append(support.R, lambda[f%(1+groups)]); in[f] {
					support.Act = append(support.Act, f)
				}
			}
			var anew Sum
			if !sum.Factor(columns, rows, inv, support) || !anew.Factor(columns, rows, inv, support) {
				t.Fatalf("seed %d: no factor", seed)
			}
			x := make([]float64, rows)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			want := slices.Clone(x)
			sum.Solve(x)
			anew.Solve(want)
			cond := 1.0
			for i := range support.Act {
				m := support.member(i)
				cond += m.Diag * float64(rows) / m.R
			}
			// Both solutions have rounding errors, multiplied by the condition number of K.
			if d := floats.Distance(x, want, 2); d > 1e-13*cond*floats.Norm(want, 2) {
				t.Fatalf("seed %d: off by %.2g of %.2g, condition %.2g", seed, d, floats.Norm(want, 2), cond)
			}
		}
	}
}
