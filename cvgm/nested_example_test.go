package cvgm_test

import (
	"context"
	"fmt"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// The example chooses the weight of an outer penalty on twenty ridge penalties without test data.
// Five outer folds judge a search for each weight.
func ExampleNestedScores() {
	const n, features = 40, 20
	d, _, err := synth.MakeRegression(synth.NewStream(2, "example data"), synth.Regression{Samples: n, Features: features, Informative: 5, Noise: 100})
	if err != nil {
		panic(err)
	}
	weights := []float64{3e4, 3e3, 300, 0} // in units of the squared error, the simplest model first
	start := slices.Repeat([]float64{1}, features)
	part := func(rows []int) learn.Data {
		p := learn.Data{X: mat.NewDense(len(rows), features, nil)}
		for at, i := range rows {
			p.X.(*mat.Dense).SetRow(at, d.X.RawRowView(i))
			p.Y = append(p.Y, d.Y[i])
		}
		return p
	}
	tuned := func(train learn.Data, weight float64) (*cvgm.Model, error) {
		splits, err := cvgm.RandomSplits(synth.NewStream(1, "splits"), len(train.Y), 8, .8)
		if err != nil {
			return nil, err
		}
		cv, err := cvgm.New(cvgm.Config{Data: train, Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring,
			Learner: func() learn.Learner { return &linear.ElasticNet{Groups: linear.PerFeature(features)} }})
		if err != nil {
			return nil, err
		}
		// The learner has one λ1 per feature, fixed at 0, and one λ2 per feature.
		hyper, grad := make([]float64, 2*features), make([]float64, 2*features)
		problem := search.Problem{Lower: slices.Repeat([]float64{1e-3}, features), Objective: func(g, x []float64) (float64, error) {
			copy(hyper[features:], x)
			loss, err := cv.Eval(grad, hyper)
			copy(g, grad[features:])
			return loss, err
		}}
		best, err := search.Best(search.QuasiNewton{MaxEvals: 40}.Search(problem.Plus(weight, search.SquaredLogDistance(start)), start))
		if err != nil {
			return nil, err
		}
		copy(hyper[features:], best.X)
		return cv.Final(hyper)
	}
	folds, err := cvgm.KFold(synth.NewStream(1, "outer folds"), n, 5)
	if err != nil {
		panic(err)
	}
	scores, err := cvgm.NestedScores(context.Background(), folds, 0, func(_ context.Context, f cvgm.Split) ([][]float64, error) {
		var losses [][]float64
		for _, w := range weights {
			model, err := tuned(part(f.Train), w)
			if err != nil {
				return nil, err
			}
			l, err := model.Losses(cvgm.SquaredError{}, part(f.Val))
			if err != nil {
				return nil, err
			}
			losses = append(losses, l)
		}
		return losses, nil
	})
	if err != nil {
		panic(err)
	}
	lowest, err := cvgm.Simplest(scores, 0)
	simple, errSimple := cvgm.Simplest(scores, 1)
	fmt.Println("lowest at", weights[lowest], "and within a standard error at", weights[simple], err, errSimple)
	// Output: lowest at 3000 and within a standard error at 3000 <nil> <nil>
}

func ExampleScore() {
	scores := []cvgm.Score{{Loss: 1.3, Paired: .1}, {Loss: 1.05, Paired: .1}, {Loss: 1}}
	lowest, err := cvgm.Simplest(scores, 0)
	simple, errSimple := cvgm.Simplest(scores, 1)
	fmt.Println(lowest, simple, err, errSimple)
	// Output: 2 1 <nil> <nil>
}
