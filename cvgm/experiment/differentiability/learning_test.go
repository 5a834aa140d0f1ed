package differentiability

import (
	"math"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"

	"gonum.org/v1/gonum/floats"
)

func TestLearning(t *testing.T) {
	p := DefaultLearning()
	p.K, p.Test, p.GridPoints, p.LossSeeds, p.Evaluations = 16, 300, 9, 3, 100
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range r.Runs {
		if last := run.CVLoss[run.Last()]; last > 1.02*run.Lowest || last >= run.CVLoss[0] {
			t.Errorf("%s: CV loss from %g to %g, %g on the grid", run.Name, run.CVLoss[0], last, run.Lowest)
		}
		if len(run.X) != len(run.Accuracy) || len(run.Surface) != p.GridPoints {
			t.Errorf("%s: %d points, %d accuracies, %d rows", run.Name, len(run.X), len(run.Accuracy), len(run.Surface))
		}
	}
	l := r.Loss
	for i, alpha := range l.Alpha {
		if math.Abs(floats.Sum(alpha)-1) > 1e-12 || floats.Min(alpha) < 0 {
			t.Errorf("weights %v leave the simplex", alpha)
		}
		if l.Lambda[i] < 1e-2 {
			t.Errorf("λ is %g", l.Lambda[i])
		}
	}
	if floats.Min(l.CVLoss) >= l.CVLoss[0] {
		t.Error("the CV loss does not fall")
	}
	for _, m := range l.Methods[1:] {
		if l.Methods[0].CV.Mean > m.CV.Mean {
			t.Errorf("%s has a lower CV loss than the learned one, which may start from it", m.Name)
		}
	}
	if len(l.Methods) != 6 || l.Methods[0].LearnedMinusTest.Difference.Mean != 0 {
		t.Errorf("%+v", l.Methods)
	}
	p.K, p.GridPoints, p.LossSeeds, p.Evaluations = 8, 3, 2, 10
	casetest.SameForAnyGOMAXPROCS(t, p.Run)
}
