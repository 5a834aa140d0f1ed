package cvgm_test

import (
	"fmt"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/penalised"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// There are four groups of ten features, and each group has its own ridge penalty. The features of a
// group have half as much effect as the features of the group before. Newton's method finds the four
// penalties in fewer evaluations than a quasi-Newton search.
func ExampleCV_Hessian() {
	const n, groups, size = 150, 4, 10
	src := synth.NewStream(1, "example Hessian")
	d := learn.Data{X: mat.NewDense(n, groups*size, nil), Y: make([]float64, n)}
	var penalties []penalised.Penalty
	start, low, high := make([]float64, groups), make([]float64, groups), make([]float64, groups)
	for g, effect := 0, 1.; g < groups; g, effect = g+1, effect/2 {
		penalties = append(penalties, penalised.Ridge(g*size, size))
		start[g], low[g], high[g] = 1, 1e-3, 1e5
		for j := g * size; j < (g+1)*size; j++ {
			weight := effect * src.NormFloat64()
			for i := range d.Y {
				x := src.NormFloat64()
				d.Dense().Set(i, j, x)
				d.Y[i] += weight*x + src.NormFloat64()/size
			}
		}
	}
	splits, err := cvgm.KFold(src, n, 5)
	if err != nil {
		panic(err)
	}
	cv, err := cvgm.New(cvgm.Config{Data: d, Splits: splits, Loss: cvgm.SquaredError{}, Learner: func() learn.Learner { return &penalised.GLM{Penalties: penalties} }})
	if err != nil {
		panic(err)
	}
	problem := search.Problem{Objective: cv.Eval, Hessian: cv.Hessian, Lower: low, Upper: high}
	for _, s := range []search.Searcher{search.Newton{Tol: 1e-6}, search.QuasiNewton{Tol: 1e-6}} {
		best, err := search.Best(search.LogSpace{Searcher: s}.Search(problem, start))
		if err != nil {
			panic(err)
		}
		fmt.Printf("%T: λ %.0f, loss %.3f, fewer than 15 evaluations: %v\n", s, best.X, best.Loss, best.Evaluations < 15)
	}
	// Output:
	// search.Newton: λ [0 2 8 60], loss 0.497, fewer than 15 evaluations: true
	// search.QuasiNewton: λ [0 2 8 60], loss 0.497, fewer than 15 evaluations: false
}
