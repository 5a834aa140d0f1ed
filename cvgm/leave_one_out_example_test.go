package cvgm_test

import (
	"encoding/json"
	"fmt"
	"math"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// Leave-one-out cross-validation of a kernel ridge regression takes one fit for each step of the
// search. The JSON of the final model includes its training rows.
func ExampleLeaveOneOut() {
	const n = 40
	src := synth.NewStream(1, "example leave-one-out")
	d := learn.Data{X: mat.NewDense(n, 1, nil), Y: make([]float64, n)}
	for i := range d.Y {
		x := 6 * src.Float64()
		d.Dense().Set(i, 0, x)
		d.Y[i] = math.Sin(x) + .1*src.NormFloat64()
	}
	splits, err := cvgm.LeaveOneOut(n)
	if err != nil {
		panic(err)
	}
	cv, err := cvgm.New(cvgm.Config{Data: d, Splits: splits, Loss: cvgm.SquaredError{},
		Learner: func() learn.Learner { return &kernel.Ridge{Intercept: true} }})
	if err != nil {
		panic(err)
	}
	problem := search.Problem{Objective: cv.Eval, Lower: []float64{1e-6, 1e-3}}
	best, err := search.Best(search.QuasiNewton{MaxEvals: 60}.Search(problem, []float64{.1, .1}))
	if err != nil {
		panic(err)
	}
	fmt.Printf("λ %.4f, γ %.3f, loss %.4f\n", best.X[0], best.X[1], best.Loss)

	m, err := cv.Final(best.X)
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	var back cvgm.Model
	if err := json.Unmarshal(text, &back); err != nil {
		panic(err)
	}
	f := make([]float64, 1)
	if err := back.Predict(f, mat.NewDense(1, 1, []float64{math.Pi / 2})); err != nil {
		panic(err)
	}
	fmt.Printf("f(π/2) %.2f\n", f[0])
	// Output:
	// λ 0.0011, γ 0.317, loss 0.0103
	// f(π/2) 1.01
}
