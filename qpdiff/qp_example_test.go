package qpdiff_test

import (
	"errors"
	"fmt"
	"math"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// The example minimises half the variance minus the expected return of a portfolio without short
// positions.
func ExampleQP_portfolio() {
	covariance := mat.NewDense(3, 3, []float64{
		4, 1, 0,
		1, 2, 0,
		0, 0, 9,
	})
	qp := qpdiff.QP{
		Q: covariance,
		P: []float64{-3, -2, 1}, // minus the expected returns
		G: mat.NewDense(3, 3, []float64{-1, 0, 0, 0, -1, 0, 0, 0, -1}),
		H: []float64{0, 0, 0},
		A: mat.NewDense(1, 3, []float64{1, 1, 1}),
		B: []float64{1},
	}
	var s qpdiff.Solution
	if err := s.Solve(&qp); err != nil {
		panic(err)
	}
	fmt.Printf("weights %.3f\n", s.Z)
	fmt.Printf("price of holding the third asset %.3f\n", s.Lambda[2])
	// Output:
	// weights [0.500 0.500 0.000]
	// price of holding the third asset 1.500
}

// The projection of a point onto the simplex.
func ExampleQP_simplex() {
	point := []float64{0.9, 0.5, -0.2}
	eye := mat.NewDense(3, 3, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1})
	qp := qpdiff.QP{
		Q: eye,
		P: make([]float64, 3),
		G: mat.NewDense(3, 3, nil),
		H: make([]float64, 3),
		A: mat.NewDense(1, 3, []float64{1, 1, 1}),
		B: []float64{1},
	}
	qp.G.Scale(-1, eye)
	for i, v := range point {
		qp.P[i] = -v
	}
	var s qpdiff.Solution
	if err := s.Solve(&qp); err != nil {
		panic(err)
	}
	fmt.Printf("%.1f\n", s.Z)
	// Output: [0.7 0.3 0.0]
}

// Three power plants of limited capacity supply 6 units at the lowest cost. The first two plants may
// differ by at most 1 unit.
func ExampleQP_twoSided() {
	qp := qpdiff.QP{
		Q: mat.NewDense(3, 3, []float64{1, 0, 0, 0, 4, 0, 0, 0, 1}),
		P: make([]float64, 3),
		A: mat.NewDense(1, 3, []float64{1, 1, 1}),
		B: []float64{6},
		G: mat.NewDense(1, 3, []float64{1, -1, 0}), // -1 ≤ z₀ − z₁ ≤ 1
		L: []float64{-1},
		H: []float64{1},

		ZMin: []float64{0, 0, 0},
		ZMax: []float64{5, 5, 2},
	}
	var s qpdiff.Solution
	if err := s.Solve(&qp); err != nil {
		panic(err)
	}
	fmt.Printf("output %.1f\n", s.Z)
	fmt.Printf("multiplier of the difference %.2f, of the capacities %.2f\n", s.Lambda[:1], s.Lambda[1:])

	// The first plant's output as a function of the limits.
	g := qpdiff.QPGrad{L: make([]float64, 1), H: make([]float64, 1), ZMax: make([]float64, 3)}
	if err := s.VJP(nil, &g, []float64{1, 0, 0}, nil, nil); err != nil {
		panic(err)
	}
	fmt.Printf("derivative of the first output: in L %.1f, H %.1f, capacities %.1f\n", g.L, g.H, g.ZMax)
	// Output:
	// output [2.5 1.5 2.0]
	// multiplier of the difference [1.75], of the capacities [0.00 0.00 2.25]
	// derivative of the first output: in L [0.0], H [0.5], capacities [0.0 0.0 -0.5]
}

// The example solves the dual of a support vector machine for four points on a line.
func ExampleQP_supportVectorMachine() {
	x := []float64{-3, -1, 1, 3}
	y := []float64{-1, -1, 1, 1}
	n := len(x)
	qp := qpdiff.QP{
		Q: mat.NewDense(n, n, nil),
		P: []float64{-1, -1, -1, -1},
		A: mat.NewDense(1, n, y),
		B: []float64{0},

		ZMin: make([]float64, n), // 0 ≤ α ≤ 10
		ZMax: []float64{10, 10, 10, 10},
	}
	for i := range n {
		for j := range n {
			qp.Q.Set(i, j, y[i]*x[i]*x[j]*y[j])
		}
	}
	var s qpdiff.Solution
	if err := s.Solve(&qp); err != nil {
		panic(err)
	}
	w := 0.0
	for i, a := range s.Z {
		w += a * y[i] * x[i]
	}
	fmt.Printf("α %.2f, w %.2f, bias %.2f\n", s.Z, w, math.Abs(s.Nu[0]))
	// Output: α [0.00 0.50 0.50 0.00], w 1.00, bias 0.00
}

// An infeasible program is reported with a proof: λ ≥ 0 with Gᵀλ = 0 and hᵀλ < 0.
func ExampleCertificate() {
	qp := qpdiff.QP{
		P: []float64{1},
		G: mat.NewDense(2, 1, []float64{1, -1}),
		H: []float64{-1, 0}, // z ≤ -1 and z ≥ 0
	}
	var s qpdiff.Solution
	err := s.Solve(&qp)
	fmt.Println(errors.Is(err, qpdiff.ErrInfeasible), s.Status, s.Certificate.Lambda)
	// Output: true infeasible [1 1]
}

// Each item of a batch has its own status. Problems of a batch may share matrices.
func ExampleSolveBatch() {
	eye := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	bounds := []float64{1, 1}
	qps := []qpdiff.QP{
		{Q: eye, P: []float64{-3, 0}, G: eye, H: bounds},
		{Q: eye, P: []float64{0.5, -0.5}, G: eye, H: bounds},
		{P: []float64{1, 0}, G: eye, H: bounds},
	}
	sols := make([]qpdiff.Solution, len(qps))
	err := qpdiff.SolveBatch(sols, qps)
	fmt.Println(errors.Is(err, qpdiff.ErrUnbounded))
	for i := range sols {
		fmt.Println(sols[i].Status, sols[i].Z)
	}
	// Output:
	// true
	// optimal [1 0]
	// optimal [-0.5 0.5]
	// unbounded []
}

// A Solution holds the residuals of the KKT conditions and starts the next solve from its working
// set.
func ExampleSolution() {
	eye := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	qp := qpdiff.QP{Q: eye, P: []float64{-3, 0}, G: eye, H: []float64{1, 1}}
	var s qpdiff.Solution
	for range 2 {
		if err := s.Solve(&qp); err != nil {
			panic(err)
		}
		fmt.Println(s.Z, s.Lambda, s.Objective, s.Residual.Relative < 1e-15, s.Iterations)
		qp.P[0] = -4
	}
	// Output:
	// [1 0] [2 0] -2.5 true 1
	// [1 0] [3 0] -3.5 true 0
}
