package qpdiff_test

import (
	"errors"
	"fmt"
	"math"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// As a layer, this QP projects −p onto the unit box. The example computes the gradient of a loss in
// p.
func ExampleSolution_VJP() {
	eye := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	input := []float64{-3, -0.5}
	layer := qpdiff.QP{Q: eye, P: input, G: eye, H: []float64{1, 1}}
	var s qpdiff.Solution
	if err := s.Solve(&layer); err != nil {
		panic(err)
	}
	// The gradient of the loss ½‖z − target‖² in z is z − target.
	target := []float64{0, 2}
	dz := []float64{s.Z[0] - target[0], s.Z[1] - target[1]}
	g := qpdiff.QPGrad{P: make([]float64, 2), H: make([]float64, 2)}
	if err := s.VJP(nil, &g, dz, nil, nil); err != nil {
		panic(err)
	}
	fmt.Println("output", s.Z)
	fmt.Println("gradient with respect to the input", g.P)
	fmt.Println("gradient with respect to the bounds", g.H)
	// Output:
	// output [1 0.5]
	// gradient with respect to the input [0 1.5]
	// gradient with respect to the bounds [1 0]
}

// The example computes how the weights of a portfolio and the prices of its constraints change.
func ExampleSolution_JVP() {
	qp := qpdiff.QP{
		Q: mat.NewDense(3, 3, []float64{4, 1, 0, 1, 2, 0, 0, 0, 9}),
		P: []float64{-3, -2, -1}, // minus the expected returns
		G: mat.NewDense(1, 3, []float64{1, 0, 0}),
		H: []float64{0.4}, // at most 40 % in the first asset
		A: mat.NewDense(1, 3, []float64{1, 1, 1}),
		B: []float64{1},
	}
	var s qpdiff.Solution
	if err := s.Solve(&qp); err != nil {
		panic(err)
	}
	fmt.Printf("weights %.3f, price of the limit %.3f\n", s.Z, s.Lambda[0])
	// The price is the rate at which the objective falls if the limit rises.
	dz, dlambda := make([]float64, 3), make([]float64, 1)
	if err := s.JVP(nil, dz, dlambda, nil, &qpdiff.QPGrad{H: []float64{1}}); err != nil {
		panic(err)
	}
	fmt.Printf("weights move by %.3f, the price by %.3f\n", dz, dlambda[0])
	before, price := s.Objective, s.Lambda[0]
	qp.H[0] += 1e-6
	if err := s.Solve(&qp); err != nil {
		panic(err)
	}
	fmt.Printf("the objective fell at the rate %.3f, the price predicts %.3f\n", (before-s.Objective)/1e-6, price)
	// Output:
	// weights [0.400 0.545 0.055], price of the limit 0.345
	// weights move by [1.000 -0.909 -0.091], the price by -3.909
	// the objective fell at the rate 0.345, the price predicts 0.345
}

// At a kink, VJP returns an error that names the row. One-sided derivatives exist, and so does an
// element of the generalised Jacobian.
func ExampleSolution_DirectionalDerivative() {
	one := mat.NewDense(1, 1, []float64{1})
	qp := qpdiff.QP{Q: one, P: []float64{0}, G: one, H: []float64{0}} // min(-p, 0) at p = 0
	var s qpdiff.Solution
	if err := s.Solve(&qp); err != nil {
		panic(err)
	}
	g := qpdiff.QPGrad{P: make([]float64, 1)}
	var nd *qpdiff.NotDifferentiableError
	fmt.Println(errors.As(s.VJP(nil, &g, []float64{1}, nil, nil), &nd), nd.Inputs, nd.Weak)

	dz := make([]float64, 1)
	for _, dp := range []float64{1, -1} {
		if err := s.DirectionalDerivative(nil, dz, nil, nil, &qpdiff.QPGrad{P: []float64{dp}}); err != nil {
			panic(err)
		}
		fmt.Printf("p changes by %+g: z by %g\n", dp, dz[0])
	}
	s.Generalised = true
	fmt.Println(s.VJP(nil, &g, []float64{1}, nil, nil), g.P)
	// Output:
	// true [P] rows [0]
	// p changes by +1: z by -1
	// p changes by -1: z by 0
	// <nil> [-1]
}

// The example solves the paper's elastic net as a QP in the positive and negative parts of θ, and
// differentiates θ in λ1.
func ExampleQP_elasticNet() {
	// XᵀX/N = I and c = Xᵀy/N = (3, -2), so that θ_j is (|c_j| − λ1)/(1 + λ2) with the sign of c_j.
	lambda1, lambda2 := 1.0, 1.0
	c := []float64{3, -2}
	n := len(c)
	qp := qpdiff.QP{
		Q: mat.NewDense(2*n, 2*n, nil),
		P: make([]float64, 2*n),
		G: mat.NewDense(2*n, 2*n, nil), // v = (θ₊, θ₋) ≥ 0
		H: make([]float64, 2*n),
	}
	for j := range n {
		qp.Q.Set(j, j, 1+lambda2)
		qp.Q.Set(n+j, n+j, 1+lambda2)
		qp.Q.Set(j, n+j, -1)
		qp.Q.Set(n+j, j, -1)
		qp.P[j], qp.P[n+j] = lambda1-c[j], lambda1+c[j]
		qp.G.Set(j, j, -1)
		qp.G.Set(n+j, n+j, -1)
	}
	var s qpdiff.Solution
	if err := s.Solve(&qp); err != nil {
		panic(err)
	}
	// λ1 is in every entry of p.
	dv := make([]float64, 2*n)
	if err := s.JVP(nil, dv, nil, nil, &qpdiff.QPGrad{P: []float64{1, 1, 1, 1}}); err != nil {
		panic(err)
	}
	for j := range n {
		fmt.Printf("θ = %.2f, ∂θ/∂λ1 = %.2f\n", s.Z[j]-s.Z[n+j], dv[j]-dv[n+j])
	}
	// Output:
	// θ = 1.00, ∂θ/∂λ1 = -0.50
	// θ = -0.50, ∂θ/∂λ1 = 0.50
}

// The whole Jacobian of the solution with respect to the bounds.
func ExampleSolution_Jacobian() {
	eye := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	qp := qpdiff.QP{Q: eye, P: []float64{-3, -0.5}, G: eye, H: []float64{1, 1}}
	var s qpdiff.Solution
	if err := s.Solve(&qp); err != nil {
		panic(err)
	}
	j, err := s.Jacobian(qpdiff.OutputZ, qpdiff.InputH)
	fmt.Println(mat.Formatted(j), err)
	// Output:
	// ⎡1  0⎤
	// ⎣0  0⎦ <nil>
}

// VJPBatch adds up the cotangents of a matrix Q that two problems share.
func ExampleVJPBatch() {
	q := mat.NewDense(1, 1, []float64{2})
	qps := []qpdiff.QP{{Q: q, P: []float64{-2}}, {Q: q, P: []float64{-4}}}
	sols := make([]qpdiff.Solution, 2)
	if err := qpdiff.SolveBatch(sols, qps); err != nil {
		panic(err)
	}
	shared := mat.NewDense(1, 1, nil)
	grads := []qpdiff.QPGrad{{Q: shared, P: []float64{0}}, {Q: shared, P: []float64{0}}}
	if err := qpdiff.VJPBatch(nil, grads, sols, [][]float64{{1}, {1}}, nil, nil); err != nil {
		panic(err)
	}
	fmt.Printf("%.2f %.2f %.2f\n", shared.At(0, 0), grads[0].P, grads[1].P) // −(z₁ + z₂)/2, −½, −½
	// Output: -1.50 [-0.50] [-0.50]
}

// The general rule differentiates a program that is not a QP: minimise x₁ + x₂ on the disc x₁² +
// x₂² ≤ α.
func ExampleConvexProgram() {
	disc := qpdiff.ConvexProgram{
		Objective: func(d *qpdiff.Partials, x, alpha []float64) float64 {
			d.X[0], d.X[1] = 1, 1
			return x[0] + x[1]
		},
		Inequalities: []qpdiff.ParamFunc{func(d *qpdiff.Partials, x, alpha []float64) float64 {
			for i, v := range x {
				d.X[i] = 2 * v
				d.XX.Set(i, i, 2)
			}
			d.Alpha[0] = -1
			return x[0]*x[0] + x[1]*x[1] - alpha[0]
		}},
	}
	const alpha = 2.0
	x := -math.Sqrt(alpha / 2)
	s, err := disc.Differentiate([]float64{x, x}, []float64{1 / math.Sqrt(2*alpha)}, nil, []float64{alpha})
	if err != nil {
		panic(err)
	}
	fmt.Printf("∂x/∂α = %.3f, ∂λ/∂α = %.3f\n", s.X.RawMatrix().Data, s.Lambda.At(0, 0))
	// Output: ∂x/∂α = [-0.250 -0.250], ∂λ/∂α = -0.125
}

// A workspace keeps the work that the derivatives of one solution share.
func ExampleWorkspace() {
	// minimise ½(z₀² + z₁²) − z₀ − 2z₁ subject to z₀ + z₁ ≤ 2
	q := &qpdiff.QP{
		Q: mat.NewDense(2, 2, []float64{1, 0, 0, 1}), P: []float64{-1, -2},
		G: mat.NewDense(1, 2, []float64{1, 1}), H: []float64{2},
	}
	var s qpdiff.Solution
	if err := s.Solve(q); err != nil {
		fmt.Println(err)
		return
	}
	var w qpdiff.Workspace
	for i := range s.Z {
		g := &qpdiff.QPGrad{H: make([]float64, 1)}
		cotangent := make([]float64, 2)
		cotangent[i] = 1
		if err := s.VJP(&w, g, cotangent, nil, nil); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("∂z%d/∂h = %.2f\n", i, g.H[0])
	}
	// Output:
	// ∂z0/∂h = 0.50
	// ∂z1/∂h = 0.50
}
