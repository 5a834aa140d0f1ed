package cvgm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// lineData returns 30 examples of y = 3x₁ − 2 plus noise, with four useless features.
func lineData() learn.Data {
	src := synth.NewStream(1, "example data")
	d := learn.Data{X: mat.NewDense(30, 5, nil), Y: make([]float64, 30)}
	for i := range d.Y {
		for j := range 5 {
			d.Dense().Set(i, j, src.NormFloat64())
		}
		d.Y[i] = 3*d.X.At(i, 0) - 2 + src.NormFloat64()
	}
	return d
}

func elasticNet(d learn.Data) *cvgm.CV {
	splits, err := cvgm.RandomSplits(synth.NewStream(1, "example splits"), len(d.Y), 64, .9)
	if err != nil {
		panic(err)
	}
	cv, err := cvgm.New(cvgm.Config{
		Data:        d,
		Splits:      splits,
		Learner:     func() learn.Learner { return new(linear.ElasticNet) },
		Loss:        cvgm.SquaredError{},
		Standardise: true,
		Centring:    cvgm.MeanCentring,
	})
	if err != nil {
		panic(err)
	}
	return cv
}

// The whole method is a descent of the CV loss in two penalties and a fit to all data.
func Example() {
	data := lineData()
	cv := elasticNet(data)
	searcher := search.ProjectedGradient{StepSize: .02, MaxEvals: 300}
	best, err := search.Best(searcher.Search(search.Problem{Objective: cv.Eval, Lower: []float64{0, 1e-7}}, []float64{.01, .01}))
	if err != nil {
		panic(err)
	}
	model, err := cv.Final(best.X)
	if err != nil {
		panic(err)
	}
	prediction := make([]float64, 1)
	if err := model.Predict(prediction, mat.NewDense(1, 5, []float64{1, 0, 0, 0, 0})); err != nil {
		panic(err)
	}
	fmt.Printf("λ = %.3f, CV loss %.3f, prediction %.2f\n", best.X, best.Loss, prediction[0])
	// Output: λ = [0.096 0.000], CV loss 1.338, prediction 0.87
}

func ExampleCV_Eval() {
	cv := elasticNet(lineData())
	grad := make([]float64, 2)
	loss, err := cv.Eval(grad, []float64{.1, .01})
	if err != nil {
		panic(err)
	}
	// A small step against the gradient lowers the loss by step·‖gradient‖².
	const step = 1e-6
	lower, err := cv.Eval(nil, []float64{.1 - step*grad[0], .01 - step*grad[1]})
	if err != nil {
		panic(err)
	}
	gain := (loss - lower) / (step * (grad[0]*grad[0] + grad[1]*grad[1]))
	fmt.Printf("gained %.3f of what the gradient promises\n", gain)
	// Output: gained 1.000 of what the gradient promises
}

// At a kink, where the CV loss has no gradient, the search uses an element of the generalised
// derivative and reports it.
func ExampleCV_Generalised() {
	splits, err := cvgm.LeaveOneOut(4)
	if err != nil {
		panic(err)
	}
	cv, err := cvgm.New(cvgm.Config{
		Data:        learn.Data{X: mat.NewDense(4, 1, []float64{1, 2, 2, 1}), Y: []float64{1, 3, 1, 2}},
		Splits:      splits,
		Learner:     func() learn.Learner { return new(linear.ElasticNet) },
		Loss:        cvgm.SquaredError{},
		Generalised: true,
	})
	if err != nil {
		panic(err)
	}
	searcher := search.HeavyBall{StepSize: .1, MaxEvals: 2}
	// At λ1 = 3 the θ of the last two splits becomes 0.
	for step, err := range searcher.Search(search.Problem{Objective: cv.Eval, Generalised: cv.Generalised}, []float64{3, .5}) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("CV loss %.4f, gradient %.4f, generalised: %v\n", step.Loss, step.Grad, step.Generalised)
	}
	// Output:
	// CV loss 3.7046, gradient [0.1293 0.0123], generalised: true
	// CV loss 3.6941, gradient [0.8101 0.0158], generalised: false
}

func ExampleSplit() {
	splits, err := cvgm.LeaveOneOut(3)
	if err != nil {
		panic(err)
	}
	for _, s := range splits {
		fmt.Println("train on", s.Train, "validate on", s.Val)
	}
	// Output:
	// train on [1 2] validate on [0]
	// train on [0 2] validate on [1]
	// train on [0 1] validate on [2]
}

func ExampleConfig() {
	_, err := cvgm.New(cvgm.Config{Data: lineData()})
	fmt.Println(err)
	// Output: cvgm: Config.Splits is empty: draw some, for example with RandomSplits
}

func ExampleCentring() {
	d := lineData()
	for _, intercept := range []cvgm.Centring{cvgm.NoCentring, cvgm.FixedLeastSquares, cvgm.MeanCentring} {
		splits, _ := cvgm.LeaveOneOut(len(d.Y))
		cv, err := cvgm.New(cvgm.Config{Data: d, Splits: splits, Loss: cvgm.SquaredError{}, Centring: intercept,
			Learner: func() learn.Learner { return new(linear.ElasticNet) }})
		if err != nil {
			panic(err)
		}
		m, err := cv.Final([]float64{.1, .1})
		if err != nil {
			panic(err)
		}
		at0 := make([]float64, 1)
		if err := m.Predict(at0, mat.NewDense(1, 5, nil)); err != nil {
			panic(err)
		}
		fmt.Printf("%.2f\n", at0[0])
	}
	// Output:
	// 0.00
	// -2.15
	// -1.98
}

func ExampleLoss() {
	for _, loss := range []cvgm.Loss{cvgm.SquaredError{}, cvgm.LogisticLoss{}, cvgm.ZeroOne{}} {
		value, slope := loss.Eval(.5, 1)
		fmt.Printf("%T %.4f %.4f\n", loss, value, slope)
	}
	// Output:
	// cvgm.SquaredError 0.2500 -1.0000
	// cvgm.LogisticLoss 0.4741 -0.3775
	// cvgm.ZeroOne 0.0000 NaN
}

// relativeError is the loss (ŷ/y − 1)².
type relativeError struct{}

func (relativeError) Eval(prediction, y float64) (loss, slope float64) {
	r := prediction/y - 1
	return r * r, 2 * r / y
}

func (relativeError) LabelSlope(prediction, y float64) float64 {
	return -2 * (prediction/y - 1) * prediction / (y * y)
}

// The CV loss has a gradient in the labels if its loss has the method LabelSlope. The prediction is
// the mean of the training labels.
func ExampleLabelLoss() {
	var loss cvgm.LabelLoss = relativeError{}
	cv, err := cvgm.New(cvgm.Config{
		Data:    learn.Data{X: mat.NewDense(3, 1, []float64{1, 1, 1}), Y: []float64{2, 4, 2}},
		Splits:  []cvgm.Split{{Train: []int{0, 1}, Val: []int{2}}},
		Learner: func() learn.Learner { return new(linear.ElasticNet) },
		Loss:    loss,
	})
	if err != nil {
		panic(err)
	}
	dy := make([]float64, 3)
	fmt.Println(cv.DataGradient(nil, dy, []float64{0, 0}))
	fmt.Println(dy)
	// Output:
	// 0.25 <nil>
	// [0.25 0.25 -0.75]
}

// absoluteError is the loss |ŷ − y|, with the slope 0 at its kink.
type absoluteError struct{}

func (absoluteError) Eval(prediction, y float64) (loss, slope float64) {
	r := prediction - y
	return math.Abs(r), r / math.Abs(r) // NaN at the kink
}

func (absoluteError) Kink(prediction, y float64) (distance, slope float64) {
	return math.Abs(prediction - y), 0
}

// The prediction 3 is at the kink of the loss.
func ExampleKinkedLoss() {
	var loss cvgm.KinkedLoss = absoluteError{}
	for _, generalised := range []bool{false, true} {
		cv, err := cvgm.New(cvgm.Config{
			Data:        learn.Data{X: mat.NewDense(3, 1, []float64{1, 1, 1}), Y: []float64{2, 4, 3}},
			Splits:      []cvgm.Split{{Train: []int{0, 1}, Val: []int{2}}},
			Learner:     func() learn.Learner { return new(linear.ElasticNet) },
			Loss:        loss,
			Generalised: generalised,
		})
		if err != nil {
			panic(err)
		}
		grad := make([]float64, 2)
		loss, err := cv.Eval(grad, []float64{0, 0})
		fmt.Println(loss, errors.Is(err, qpdiff.ErrNotDifferentiable), grad, cv.Generalised())
	}
	// Output:
	// NaN true [0 0] false
	// 0 false [0 0] true
}

func ExampleSquaredError() {
	fmt.Println(cvgm.SquaredError{}.Eval(3, 1))
	// Output: 4 4
}

func ExampleAbsoluteError() {
	fmt.Println(cvgm.AbsoluteError{}.Eval(3, 1))
	// Output: 2 1
}

// The Huber loss is quadratic for residuals up to Delta and linear beyond.
func ExampleHuberLoss() {
	loss := cvgm.HuberLoss{Delta: 1}
	fmt.Println(loss.Eval(1.5, 1))
	fmt.Println(loss.Eval(11, 1))
	// Output:
	// 0.125 0.5
	// 9.5 1
}

func ExampleLogisticLoss() {
	fmt.Println(cvgm.LogisticLoss{}.Eval(0, 1))
	// Output: 0.6931471805599453 -0.5
}

func ExampleHinge() {
	fmt.Println(cvgm.Hinge{}.Eval(.25, 1))
	// Output: 0.75 -1
}

func ExampleSquaredHinge() {
	fmt.Println(cvgm.SquaredHinge{}.Eval(.5, 1))
	// Output: 0.25 -1
}

func ExampleExponential() {
	fmt.Println(cvgm.Exponential{}.Eval(0, 1))
	// Output: 1 -1
}

func ExampleZeroOne() {
	fmt.Println(cvgm.ZeroOne{}.Eval(-2, 1))
	// Output: 1 NaN
}

func ExampleSplitError() {
	splits, _ := cvgm.KFold(synth.NewStream(1, "example splits"), 30, 5)
	splits[3].Val = []int{30}
	_, err := cvgm.New(cvgm.Config{Data: lineData(), Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }})
	fmt.Println(err)
	// Output: cvgm: split 3: Split holds index 30 for N = 30 examples (outside its domain): use indices from 0 to N-1
}

func ExampleModel() {
	cv := elasticNet(lineData())
	model, err := cv.Final([]float64{.3, .1})
	if err != nil {
		panic(err)
	}
	fresh := lineData() // here: the training data again
	risk, err := model.Risk(cvgm.SquaredError{}, fresh)
	if err != nil {
		panic(err)
	}
	fmt.Printf("weights %.2f of standardised features, mean squared error %.2f\n", model.Theta, risk)
	// Output: weights [2.25 0.00 -0.03 0.00 0.00] of standardised features, mean squared error 1.43
}

func ExampleModel_MarshalJSON() {
	model, err := elasticNet(lineData()).Final([]float64{.3, .1})
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(model)
	if err != nil {
		panic(err)
	}
	var same cvgm.Model
	if err := json.Unmarshal(text, &same); err != nil {
		panic(err)
	}
	fmt.Println(same.Hyper, same.Intercept == model.Intercept)
	// Output: [0.3 0.1] true
}
