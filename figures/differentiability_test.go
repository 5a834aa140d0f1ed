package figures

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
)

// Every figure and table of differentiability draws from a small Result, and
// holds its numbers.
func TestDifferentiabilityOutputs(t *testing.T) {
	p := experiment.DefaultDifferentiability()
	p.PathPoints, p.K, p.Test, p.Evaluations, p.GridPoints, p.LossSeeds = 31, 8, 100, 6, 4, 2
	ctx := context.Background()
	checks, err := p.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	paths, err := p.RunPaths(ctx)
	if err != nil {
		t.Fatal(err)
	}
	limits, err := p.RunLimits(ctx)
	if err != nil {
		t.Fatal(err)
	}
	errata, err := p.RunErrata(ctx)
	if err != nil {
		t.Fatal(err)
	}
	learning, err := p.RunLearning(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stability := &experiment.StabilityResult{Learners: []experiment.StabilityLearner{{Name: "ridge", Hyper: "λ2", At: []float64{1},
		Parts: []experiment.StabilityParts{{Risk: experiment.Estimate{Mean: 7}, Delta: experiment.Estimate{Mean: .25}}}}}}
	dir := t.TempDir()
	for _, o := range []struct {
		output
		want string // in its CSV
	}{
		{DerivativeErrors(checks), full(math.Log10(checks.Checks[0].Errors()[0]))},
		{DerivativeTable(checks), full(checks.Checks[3].VJP)},
		{SolutionPaths(paths), full(paths.Paths[2].Value[3][7])},
		{DifferentiabilityKinks(limits), full(limits.ElasticNet.Left)},
		{DifferentiabilityLimits(limits), full(math.Log10(limits.Ridge.Twice[0]))},
		{DifferentiabilityTable(limits), limits.Ridge.TwiceRefusal},
		{IncompleteJacobian(errata), full(errata.Jacobian.Data.X.At(0, 0))},
		{JacobianTable(errata), full(errata.Jacobian.Cosine)},
		{ErrataTable(errata, stability), "as printed 7.250"},
		{LearningPaths(learning), full(learning.Runs[2].CVLoss[1])},
		{LearningTable(learning), full(learning.Runs[0].Lowest)},
		{LearnedLossPath(learning), full(learning.Loss.Alpha[1][0])},
		{LearnedLossTable(learning), full(learning.Loss.Methods[2].Test.Mean)},
	} {
		if err := o.Write(dir); err != nil {
			t.Error(err)
		}
		if !strings.Contains(o.CSV(), o.want) {
			t.Errorf("%q is missing from\n%s", o.want, o.CSV())
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 7*4+6*3 { // no name stands for two
		t.Errorf("%d files, %v", len(files), err)
	}
	if rows := ErrataTable(errata, nil).Rows; len(rows) != 14 || slices.ContainsFunc(rows, func(r []any) bool { return strings.Contains(r[0].(string), "Stability") }) {
		t.Errorf("without the stability's result the errata are %v", rows)
	}
}
