package figures

import (
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
)

// Every figure and table of differentiability draws from small and odd Results, and
// holds its numbers.
func TestDifferentiabilityOutputs(t *testing.T) {
	for _, c := range []struct {
		name                                 string
		seed                                 uint64
		train, features                      int
		noise, flips                         float64
		points, k, evaluations, grid, losses int
		test                                 int
	}{
		{"small", 1, 40, 6, .5, .1, 31, 8, 6, 4, 2, 100},
		{"smallest", 4, 8, 3, .5, .1, 2, 8, 1, 2, 1, 5},
		{"noisy", 9, 30, 6, 5, .4, 31, 8, 6, 4, 2, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			derivatives, path, limit := experiment.DefaultDerivatives(), experiment.DefaultSolutionPaths(), experiment.DefaultDifferentiabilityLimits()
			erratum, learn := experiment.DefaultErrata(), experiment.DefaultLearning()
			for _, p := range []*experiment.LinearExamples{&derivatives.LinearExamples, &path.LinearExamples, &limit.LinearExamples, &erratum.LinearExamples, &learn.LinearExamples} {
				p.Seed, p.Train, p.Features, p.Noise = c.seed, c.train, c.features, c.noise
			}
			path.PathPoints, derivatives.K, limit.K, erratum.Test = c.points, c.k, c.k, c.test
			learn.K, learn.Test, learn.Flips, learn.Evaluations, learn.GridPoints, learn.LossSeeds = c.k, c.test, c.flips, c.evaluations, c.grid, c.losses

			checks := ran[*experiment.DerivativeChecks](t)(derivatives.Run(t.Context()))
			testOutputs(t, checks, map[string]string{
				"derivative_errors": formatFull(math.Log10(checks.Checks[0].Errors()[0])),
				"derivative_checks": formatFull(checks.Checks[3].VJP),
			})
			paths := ran[*experiment.SolutionPaths](t)(path.Run(t.Context()))
			testOutputs(t, paths, map[string]string{"solution_paths": formatFull(paths.Paths[2].Value[3][1])})
			limits := ran[*experiment.DifferentiabilityLimits](t)(limit.Run(t.Context()))
			testOutputs(t, limits, map[string]string{
				"differentiability_kinks":   formatFull(limits.ElasticNet.Left),
				"differentiability_limits":  formatFull(math.Log10(limits.Ridge.Twice[0])),
				"differentiability_answers": limits.Ridge.TwiceRefusal,
			})
			errata := ran[*experiment.ErrataResult](t)(erratum.Run(t.Context()))
			stability := &experiment.StabilityResult{Learners: []experiment.StabilityLearner{{Name: "ridge", Hyper: "λ2", At: []float64{1},
				Parts: []experiment.StabilityParts{{Risk: experiment.Estimate{Mean: 7}, Delta: experiment.Estimate{Mean: .25}}}}}}
			testOutputs(t, errata, map[string]string{
				"incomplete_jacobian": formatFull(errata.Jacobian.Data.X.At(0, 0)),
				"jacobian_errors":     formatFull(errata.Jacobian.Cosine),
				"errata":              "as printed 7.250",
			}, func(r *experiment.ErrataResult) Output { return ErrataTable(r, stability) })
			if rows := ErrataTable(errata, nil).Rows; len(rows) != 14 || slices.ContainsFunc(rows, func(r []any) bool { return strings.Contains(r[0].(string), "Stability") }) {
				t.Errorf("without the stability's result the errata are %v", rows)
			}
			learning := ran[*experiment.Learning](t)(learn.Run(t.Context()))
			testOutputs(t, learning, map[string]string{
				"learning_paths":    formatFull(learning.Runs[2].CVLoss[0]),
				"learning":          formatFull(learning.Runs[0].Lowest),
				"learned_loss":      formatFull(learning.Loss.Alpha[0][0]),
				"learned_loss_gain": formatFull(learning.Loss.Methods[2].Test.Mean),
			})
		})
	}
}
