package cvgm

import (
	"math"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// No search over the penalties of an elastic net converges too early in another unit of the labels,
// which changes only λ1.
func TestSearchOverAnElasticNetDoesNotStopEarlyInOtherUnits(t *testing.T) {
	src := synth.NewStream(1, "elastic net units")
	const n, m = 80, 7
	x, y := mat.NewDense(n, m, nil), make([]float64, n)
	for i := range n {
		for j := range m {
			x.Set(i, j, src.NormFloat64())
		}
		y[i] = x.At(i, 0) - 2*x.At(i, 1) + 2*src.NormFloat64()
	}
	splits := casetest.Must(RandomSplits(src, n, 16, .8))(t)
	problem := func(unit float64) search.Problem {
		labels := make([]float64, n)
		for i, v := range y {
			labels[i] = v * unit
		}
		cv := casetest.Must(New(Config{Data: learn.Data{X: x, Y: labels}, Splits: splits, Loss: SquaredError{}, Generalised: true, Learner: func() learn.Learner { return new(linear.ElasticNet) }}))(t)
		return search.Problem{Objective: cv.Eval, Generalised: cv.Generalised, Lower: []float64{1e-3 * unit, 1e-3}}
	}
	for name, make := range map[string]func(f float64) search.Searcher{
		"QuasiNewton":       func(float64) search.Searcher { return search.QuasiNewton{} },
		"AdaptiveGradient":  func(float64) search.Searcher { return search.AdaptiveGradient{} },
		"HeavyBall":         func(float64) search.Searcher { return search.HeavyBall{StepSize: .002} },
		"ProjectedGradient": func(float64) search.Searcher { return search.ProjectedGradient{StepSize: .02} },
	} {
		want := casetest.Must(search.Best(make(1).Search(problem(1), []float64{.1, .1})))(t)
		for _, unit := range []float64{1e-4, 1e4} {
			// Searches with a single step size are slow here, because the penalties have different
			// units.
			best := math.Inf(1)
			var last search.Step
			for s, err := range make(unit*unit).Search(problem(unit), []float64{.1 * unit, .1}) {
				if err != nil {
					t.Fatal(err)
				}
				last = s
				best = min(best, last.Loss/(unit*unit)/want.Loss-1)
			}
			enough := .03
			if name == "QuasiNewton" {
				enough = 1e-6
			}
			if !(best <= enough) || last.Converged && best > 1e-6 || !last.Converged && last.Evaluations < 30 {
				t.Errorf("%s, labels times %v: %v above the loss %v of labels as they are after %d evaluations, converged %v",
					name, unit, best, want.Loss, last.Evaluations, last.Converged)
			}
		}
	}
}

// In the supplement's last experiment, projected gradient over the simplex lowers the CV loss.
func TestLearnedLossIsLearned(t *testing.T) {
	cv := classifierCV(t, 4, 12, func() learn.Learner { return new(margin.LearnedLoss) }, func(c *Config) { c.Standardise = true })
	x := []float64{.4, .2, .2, .2, .1}
	checkGradient(t, cv.Eval, x, 1e-6, 1e-7)
	p := search.Problem{Objective: cv.Eval, Project: func(x []float64) { search.Simplex(x[:4]); x[4] = max(x[4], 1e-3) }}
	start := math.NaN()
	best, err := search.Best(func(yield func(search.Step, error) bool) {
		for s, err := range (search.ProjectedGradient{StepSize: .05, MaxEvals: 30}).Search(p, x) {
			if s.Evaluations == 1 {
				start = s.Loss
			}
			if math.Abs(s.X[0]+s.X[1]+s.X[2]+s.X[3]-1) > 1e-14 {
				t.Errorf("left the simplex: %v", s.X)
			}
			if !yield(s, err) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !(best.Loss < start-1e-4) {
		t.Errorf("from %v to %v", start, best.Loss)
	}
}
