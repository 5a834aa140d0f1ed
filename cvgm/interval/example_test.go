package interval_test

import (
	"fmt"

	"cvgm/cvgm"
	"cvgm/cvgm/interval"

	"gonum.org/v1/gonum/mat"
)

// New builds intervals from the models of two folds and their errors on rows outside their training
// sets.
func ExampleNew() {
	line := func(slope float64) *cvgm.Model {
		return &cvgm.Model{Theta: []float64{slope}, Mean: []float64{0}, Std: []float64{1}}
	}
	spread := interval.FitSpread([]float64{1, 10}, []float64{1.5, 9}, nil)
	growing := interval.Spread{At: []float64{1, 10}, Size: []float64{.5, 1.5}}
	folds := []interval.Fold{
		{Model: line(1), Spread: growing, Scores: []float64{1.2, .4, .8}, Weights: []float64{1, 1, 1}},
		{Model: line(1.1), Spread: growing, Scores: []float64{.2, 1.6, .6}, Weights: []float64{1, 1, 1}},
	}
	intervals, err := interval.New(folds, 6)
	if err != nil {
		panic(err)
	}
	low, high, err := intervals.Predict(mat.NewDense(2, 1, []float64{2, 8}), .8)
	fmt.Printf("%.2f to %.2f, %.2f to %.2f, %v\n", low[0], high[0], low[1], high[1], err)
	fmt.Println(spread)
	_, _, err = intervals.Predict(mat.NewDense(1, 1, []float64{2}), .9)
	fmt.Println(err)
	// Output:
	// 1.19 to 3.21, 6.47 to 10.99, <nil>
	// {[10] [0.75]}
	// cvgm: level is 0.9, above 0.857, the highest level of intervals from 6 independent rows or groups (outside its domain): use a lower level, or more rows or groups
}
