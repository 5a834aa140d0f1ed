package mydata

import (
	"cmp"
	"context"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/learn"
)

// A Path has the coefficients of a linear model along one hyperparameter. The other hyperparameters
// have the values that the search found. The model is fitted to all rows.
type Path struct {
	Hyper        string
	At           []float64   // ascending, between the bounds of the hyperparameter
	Tuned        float64     // the value that the search found; it is in At if it is between the bounds
	Features     []int       // features with the largest coefficients, at most pathFeatures; the largest at Tuned are first
	Coefficients [][]float64 // of these features, [feature][point], in the units of Model.Coefficients; NaN if a fit fails
	AtTuned      []float64   // of these features, at Tuned
	Nonzero      []int       // for each point: number of coefficients of all features that are not 0
	NonzeroTuned int         // this number at Tuned
}

// pathFeatures is the largest number of features in a Path. A reader cannot distinguish more lines
// in one figure.
const pathFeatures = 8

// paths returns a path for each model of the search's winner. The winner has one model, or one
// model for each class. The path is along the first hyperparameter that is searched. For all linear
// learners, this is the main penalty, or C. paths returns nil if the models are not linear.
func (p MyDataParams) paths(ctx context.Context, cv *cvgm.CV, tuned *tune.Tuned, features int) ([]*Path, error) {
	winner := modelsOf(tuned.Winner.Model, tuned.Winner.ClassModels)
	if m := winner[0]; m.Kernel != nil || m.Predictor != nil {
		return nil, nil
	}
	along := slices.IndexFunc(tuned.Searched, func(h learn.Hyperparameter) bool { return h.Lower < h.Upper })
	if along < 0 {
		return nil, nil
	}
	h := tuned.Searched[along]
	hyper := slices.Clone(tuned.Winner.Hyper)
	at := Hyper{Lower: h.Lower, Upper: h.Upper, Tuned: hyper[along]}.gridWithTuned(p.CurvePoints)
	points := make([][][]float64, len(at)) // [point][model][feature]
	for i, v := range at {
		hyper[along] = v
		models, err := fitRows(ctx, cv, tuned, upTo(len(tuned.Config.Data.Y)), hyper)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			points[i] = thetas(models, features)
		}
	}
	var all []*Path
	for k, theta := range thetas(winner, features) {
		path := &Path{Hyper: h.Name, At: at, Tuned: tuned.Winner.Hyper[along], NonzeroTuned: nonzero(theta)}
		path.draw(points, k, theta)
		all = append(all, path)
	}
	return all, nil
}

// draw sets the number of nonzero coefficients and the lines of model k. The coefficients of the
// model at the tuned value are theta. The slice points is indexed by point, model and feature, and
// holds the coefficients. Its entry for a point without a fit is nil.
func (path *Path) draw(points [][][]float64, k int, theta []float64) {
	features := len(theta)
	highest := make([]float64, features)
	for _, models := range points {
		n := 0
		if models != nil {
			n = nonzero(models[k])
			for j, c := range models[k] {
				highest[j] = max(highest[j], math.Abs(c))
			}
		}
		path.Nonzero = append(path.Nonzero, n)
	}
	path.Features = upTo(features)
	slices.SortStableFunc(path.Features, func(a, b int) int {
		return cmp.Or(cmp.Compare(math.Abs(theta[b]), math.Abs(theta[a])), cmp.Compare(highest[b], highest[a]))
	})
	path.Features = slices.DeleteFunc(path.Features[:min(features, pathFeatures)], func(j int) bool { return highest[j] == 0 && theta[j] == 0 })
	for _, j := range path.Features {
		line := make([]float64, len(points))
		for i, models := range points {
			if line[i] = math.NaN(); models != nil {
				line[i] = models[k][j]
			}
		}
		path.Coefficients, path.AtTuned = append(path.Coefficients, line), append(path.AtTuned, theta[j])
	}
}

// thetas returns the coefficients of each model.
func thetas(models []*cvgm.Model, features int) [][]float64 {
	var all [][]float64
	for _, m := range models {
		all = append(all, m.Theta[:features])
	}
	return all
}

// upTo returns the numbers from 0 to n−1.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// nonzero counts the numbers that are not 0.
func nonzero(v []float64) (n int) {
	for _, c := range v {
		if c != 0 {
			n++
		}
	}
	return n
}
