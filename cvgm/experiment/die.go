package experiment

import (
	"math"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// A die of six faces with mean at most α₀ has, of all distributions, the one of
// highest entropy (Jaynes 1957):
//
//	minimise Σ x_i log x_i   subject to   mᵀx ≤ α₀,  1ᵀx = 1
//
// with the faces' numbers m = (α₁ … α₆) as parameters too: a convex program that
// is no QP, with an active inequality and an equality.
func die() *qpdiff.ConvexProgram {
	return &qpdiff.ConvexProgram{
		Objective: func(d *qpdiff.Partials, x, alpha []float64) float64 {
			var f float64
			for i, v := range x {
				f += v * math.Log(v)
				d.X[i] = math.Log(v) + 1
				d.XX.Set(i, i, 1/v)
			}
			return f
		},
		Inequalities: []qpdiff.ParamFunc{func(d *qpdiff.Partials, x, alpha []float64) float64 {
			f := -alpha[0]
			d.Alpha[0] = -1
			for i, v := range x {
				f += alpha[1+i] * v
				d.X[i], d.Alpha[1+i] = alpha[1+i], v
				d.XAlpha.Set(i, 1+i, 1)
			}
			return f
		}},
		Equalities: []qpdiff.ParamFunc{func(d *qpdiff.Partials, x, alpha []float64) float64 {
			for i := range x {
				d.X[i] = 1
			}
			return floats.Sum(x) - 1
		}},
	}
}

// solveDie returns the solution x_i = exp(−λm_i)/Σ, for the λ by Newton's method
// that gives it the mean α₀, and ν = log Σ − 1.
func solveDie(alpha []float64) (x []float64, lambda, nu float64) {
	m := alpha[1:]
	x = make([]float64, len(m))
	for range 50 {
		var sum, mean, square float64
		for i, v := range m {
			x[i] = math.Exp(-lambda * v)
			sum += x[i]
			mean += x[i] * v
			square += x[i] * v * v
		}
		mean /= sum
		floats.Scale(1/sum, x)
		nu = math.Log(sum) - 1
		step := (mean - alpha[0]) / (square/sum - mean*mean)
		if math.Abs(step) <= 1e-16*math.Abs(lambda) {
			break
		}
		lambda += step
	}
	return x, lambda, nu
}
