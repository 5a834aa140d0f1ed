package penalised_test

import (
	"fmt"
	"log"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/penalised"

	"gonum.org/v1/gonum/mat"
)

// The model has an intercept and one penalty for each of two groups of features.
func ExampleGLM() {
	l := penalised.GLM{Penalties: []penalised.Penalty{penalised.Ridge(0, 2), penalised.Ridge(2, 1)}, Intercept: true}
	d := learn.Data{
		X: mat.NewDense(5, 3, []float64{1, 0, 2, 0, 1, 1, 1, 1, 0, 2, 1, 1, 0, 2, 1}),
		Y: []float64{3, 1, 2, 4, 2},
	}
	theta, lambda := make([]float64, 4), []float64{.1, 10}
	g := learn.Grad{Hyper: make([]float64, 2)}
	for _, err := range []error{l.Load(d), l.Fit(theta, lambda), l.VJP(nil, &g, []float64{0, 0, 1, 0})} {
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("θ = %.3f\n", theta)
	fmt.Printf("dθ[2]/dλ = %.4f\n", g.Hyper)
	// Output:
	// θ = [1.225 0.153 0.096 1.171]
	// dθ[2]/dλ = [-0.0287 -0.0084]
}

// The model predicts claims per year of exposure: the labels are rates, and the weights are
// exposures.
func ExamplePenalty() {
	l := penalised.GLM{Loss: penalised.Poisson, Intercept: true,
		Penalties: []penalised.Penalty{{Root: mat.NewDense(1, 2, []float64{1, -1})}}} // ½λ(β_0 − β_1)²
	d := learn.Data{
		X:       mat.NewDense(4, 2, []float64{0, 0, 1, 0, 0, 1, 1, 1}),
		Y:       []float64{.1, .2, .3, .5},
		Weights: []float64{100, 50, 60, 20},
	}
	theta := make([]float64, 3)
	if err := l.Load(d); err != nil {
		log.Fatal(err)
	}
	for _, lambda := range []float64{0, 10, 1e6} {
		if err := l.Fit(theta, []float64{lambda}); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.3f\n", theta)
	}
	// Output:
	// [0.590 1.019 -2.252]
	// [0.720 0.889 -2.235]
	// [0.805 0.805 -2.229]
}

// The effect of an ordered category of six levels, smoothed.
func ExampleDifferences() {
	l := penalised.GLM{Penalties: []penalised.Penalty{penalised.Differences(0, 6, 2)}}
	levels := mat.NewDense(6, 6, nil)
	for i := range 6 {
		levels.Set(i, i, 1)
	}
	theta := make([]float64, 6)
	if err := l.Load(learn.Data{X: levels, Y: []float64{1, 3, 2, 4, 6, 5}}); err != nil {
		log.Fatal(err)
	}
	for _, lambda := range []float64{.01, 1, 1e6} {
		if err := l.Fit(theta, []float64{lambda}); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.2f\n", theta)
	}
	// Output:
	// [1.03 2.92 2.08 4.00 5.94 5.03]
	// [1.23 2.21 2.96 4.04 5.04 5.52]
	// [1.29 2.17 3.06 3.94 4.83 5.71]
}

// The example computes the effective degrees of freedom of a weakly and a strongly penalised group.
func ExampleGLM_Freedom() {
	l := &penalised.GLM{Penalties: []penalised.Penalty{{Name: "weak", S: penalised.Ridge(0, 2).S}, {Name: "strong", First: 2, S: penalised.Ridge(0, 1).S}}, Intercept: true}
	d := learn.Data{
		X: mat.NewDense(5, 3, []float64{1, 0, 2, 0, 1, 1, 1, 1, 0, 2, 1, 1, 0, 2, 1}),
		Y: []float64{3, 1, 2, 4, 2},
	}
	theta, freedom := make([]float64, 4), make([]float64, 4)
	var counted learn.FreedomLearner = l
	for _, err := range []error{l.Load(d), l.Fit(theta, []float64{.1, 100}), counted.Freedom(freedom)} {
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("%.3f\n", freedom)
	for _, h := range l.Hyperparameters(learn.Moments{Weight: 5, Variance: 1}) {
		fmt.Println(h.Name, h.Default)
	}
	// Output:
	// [0.959 0.943 0.014 1.000]
	// λ(weak) 0.05
	// λ(strong) 0.05
}

// The model has an intercept for each of three classes. The example differentiates a weight in the
// penalty.
func ExampleMultinomial() {
	l := penalised.Multinomial{Classes: 3, Intercept: true}
	d := learn.Data{
		X: mat.NewDense(6, 2, []float64{1, 0, 2, 1, 0, 2, 1, 3, 3, 3, 4, 2}),
		Y: []float64{0, 0, 1, 1, 2, 2},
	}
	theta := make([]float64, 9)
	g := learn.Grad{Hyper: make([]float64, 1)}
	for _, err := range []error{l.Load(d), l.Fit(theta, []float64{.5}), l.VJP(nil, &g, []float64{1, 0, 0, 0, 0, 0, 0, 0, 0})} {
		if err != nil {
			log.Fatal(err)
		}
	}
	for c := range l.Outputs() {
		fmt.Printf("class %d: %.3f\n", c, theta[3*c:][:3])
	}
	fmt.Printf("dθ[0]/dλ = %.4f\n", g.Hyper)
	// Output:
	// class 0: [-0.034 -1.104 2.314]
	// class 1: [-1.028 0.623 0.738]
	// class 2: [1.062 0.481 -3.051]
	// dθ[0]/dλ = [-0.0314]
}
