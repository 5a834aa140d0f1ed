package cvgm_test

import (
	"fmt"
	"log"
	"math"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/penalised"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// The labels are claims per exposure, and the weights are exposures. A search over five folds
// chooses two penalties.
func ExamplePoissonLoss() {
	const rows, n = 80, 5
	src := synth.NewStream(1, "claims")
	d := learn.Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows), Weights: make([]float64, rows)}
	for i := range rows {
		for j := range n {
			d.Dense().Set(i, j, src.NormFloat64())
		}
		d.Weights[i] = 20 + 5*math.Abs(src.NormFloat64())
		expected := d.Weights[i] * math.Exp(d.X.At(i, 0)-2)
		d.Y[i] = math.Round(max(0, expected+math.Sqrt(expected)*src.NormFloat64())) / d.Weights[i]
	}
	splits, err := cvgm.KFold(synth.NewStream(1, "folds"), rows, 5)
	if err != nil {
		log.Fatal(err)
	}
	cv, err := cvgm.New(cvgm.Config{Data: d, Splits: splits, Loss: cvgm.PoissonLoss{}, Learner: func() learn.Learner {
		return &penalised.GLM{Loss: penalised.Poisson, Intercept: true, Penalties: []penalised.Penalty{penalised.Ridge(0, 1), penalised.Ridge(1, 4)}}
	}})
	if err != nil {
		log.Fatal(err)
	}
	lambda := []float64{10, 10}
	first, err := cv.Eval(nil, lambda)
	if err != nil {
		log.Fatal(err)
	}
	last := first
	for s, err := range (search.QuasiNewton{}).Search(search.Problem{Objective: cv.Eval, Lower: []float64{1e-3, 1e-3}, Upper: []float64{1e4, 1e4}}, lambda) {
		if err != nil {
			log.Fatal(err)
		}
		last = s.Loss
	}
	fmt.Println("lower than at the start:", last < first)
	// Output: lower than at the start: true
}
