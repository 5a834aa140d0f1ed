package cvgm_test

import (
	"fmt"
	"math"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// bump is a user's own feature map: φ(x) = exp(−p‖x‖²), with the parameter p.
type bump struct {
	p      float64
	x, phi *mat.Dense
}

func (b *bump) Dims() (in, out int) { return 2, 1 }
func (b *bump) NumParams() int      { return 1 }

func (b *bump) Forward(p []float64, x *mat.Dense) (*mat.Dense, error) {
	n, _ := x.Dims()
	b.p, b.x, b.phi = p[0], x, mat.NewDense(n, 1, nil)
	for i := range n {
		x := x.RawRowView(i)
		b.phi.Set(i, 0, math.Exp(-p[0]*floats.Dot(x, x)))
	}
	return b.phi, nil
}

func (b *bump) Backward(dp []float64, dx, dphi *mat.Dense) {
	for i := range b.phi.RawMatrix().Rows {
		x, d := b.x.RawRowView(i), b.phi.At(i, 0)*dphi.At(i, 0)
		dp[0] -= floats.Dot(x, x) * d
		if dx != nil { // wanted for derivatives in the examples only
			floats.AddScaled(dx.RawRowView(i), -2*b.p*d, x)
		}
	}
}

// The search learns the width of a bump. Logistic regression on the bump's feature separates two
// rings.
func ExampleFeatureMap() {
	src := synth.NewStream(1, "rings")
	d, err := synth.MakeRings(src, 60, synth.Rings{})
	if err != nil {
		panic(err)
	}
	splits, err := cvgm.RandomSplits(src, 60, 64, .95)
	if err != nil {
		panic(err)
	}
	cv, err := cvgm.New(cvgm.Config{
		Data: learn.Data{X: d.X, Y: d.Y}, Splits: splits, Loss: cvgm.LogisticLoss{}, Features: new(bump), Hyper: []float64{10},
		Learner: func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} },
	})
	if err != nil {
		panic(err)
	}
	start := []float64{3}
	before, err := cv.Eval(nil, start)
	if err != nil {
		panic(err)
	}
	searcher := search.ProjectedGradient{StepSize: 1}
	best, err := search.Best(searcher.Search(search.Problem{Objective: cv.Eval}, start))
	if err != nil {
		panic(err)
	}
	fmt.Printf("from p = %.2f, CV loss %.3f\n", start[0], before)
	fmt.Printf("to   p = %.2f, CV loss %.3f\n", best.X[0], best.Loss)
	// Output:
	// from p = 3.00, CV loss 0.548
	// to   p = 0.39, CV loss 0.204
}

// The parameters of a network are drawn and used.
func ExamplePerceptron() {
	p := cvgm.Perceptron{Widths: []int{2, 64, 2}}
	params := make([]float64, p.NumParams())
	p.Init(params, synth.NewStream(1, "weights"))
	phi, err := p.Forward(params, mat.NewDense(3, 2, []float64{0, 0, 1, 0, 0, 1}))
	if err != nil {
		panic(err)
	}
	rows, features := phi.Dims()
	fmt.Println(len(params), "parameters,", rows, "examples,", features, "features")
	// Output: 322 parameters, 3 examples, 2 features
}

// The map has one feature, φ(x) = 3x₁ − x₂.
func ExampleLinearMap() {
	l := cvgm.LinearMap{In: 2, Out: 1}
	phi, err := l.Forward([]float64{3, -1}, mat.NewDense(2, 2, []float64{1, 0, 1, 1}))
	if err != nil {
		panic(err)
	}
	fmt.Println(mat.Col(nil, 0, phi))
	// Output: [3 2]
}

// Logistic regression starts the fit without some rows from the fit to all rows.
func ExampleSubsetLearner() {
	d, err := synth.MakeRings(synth.NewStream(1, "rings"), 60, synth.Rings{})
	if err != nil {
		panic(err)
	}
	var full, part learn.SubsetLearner = new(linear.Logistic), new(linear.Logistic)
	theta, hyper := make([]float64, 2), []float64{10}
	if err := full.Load(learn.Data{X: d.X, Y: d.Y}); err != nil {
		panic(err)
	}
	if err := full.Fit(theta, hyper); err != nil {
		panic(err)
	}
	fmt.Printf("%.3f\n", theta)
	if err := part.LoadSubset(full, []int{3, 41, 59}); err != nil {
		panic(err)
	}
	if err := part.Fit(theta, hyper); err != nil {
		panic(err)
	}
	fmt.Printf("%.3f\n", theta)
	// Output:
	// [-0.175 0.090]
	// [-0.258 0.120]
}

// A hidden unit of a network has a kink if its input is 0, as at the second row.
func ExampleKinkedMap() {
	var m cvgm.KinkedMap = &cvgm.Perceptron{Widths: []int{1, 1, 1}}
	params := []float64{1, 0, 2, 0} // z = 1·x + 0, φ = 2·max(z, 0) + 0
	for _, rows := range [][]float64{{1, 3}, {1, 0}} {
		if _, err := m.Forward(params, mat.NewDense(2, 1, rows)); err != nil {
			panic(err)
		}
		grad := make([]float64, 4)
		m.Backward(grad, nil, mat.NewDense(2, 1, []float64{1, 1}))
		fmt.Println(grad, m.Generalised())
	}
	// Output:
	// [8 4 4 2] false
	// [2 2 1 2] true
}
