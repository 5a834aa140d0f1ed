package elasticnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"
	"cvgm/qpdiff"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// golden is the paper's first experiment as computed by independent code.
type golden struct {
	Iterates []struct {
		Alpha    [2]float64
		CVLoss   float64 `json:"cv_loss"`
		Grad     [2]float64
		TestLoss float64 `json:"test_loss_before_step"`
	}
	Exhaustive []struct{ L1, L2, CV, Test float64 }
}

// replayedResult runs the experiment once for all tests, without the parts that the published code
// lacks.
func replayedResult(t *testing.T) *Result {
	t.Helper()
	r, err := replayOnce()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var replayOnce = sync.OnceValues(func() (*Result, error) {
	p := DefaultElasticNet()
	p.LongSteps, p.SurfacePoints = 2, 2
	return p.Run(context.Background(), experiment.Hooks{})
})

func TestElasticNetReplayFollowsTheGoldenRun(t *testing.T) {
	text, err := os.ReadFile("testdata/experiment1.json")
	if err != nil {
		t.Fatal(err)
	}
	var want golden
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	r := replayedResult(t)
	if len(r.CVGM.TestLoss) != len(want.Iterates) || len(want.Iterates) != 99 {
		t.Fatalf("%d steps, golden run %d", len(r.CVGM.TestLoss), len(want.Iterates))
	}
	for k, w := range want.Iterates {
		casetest.Near(t, "test loss", r.CVGM.TestLoss[k], w.TestLoss, 1e-9)
		casetest.Near(t, "CV loss", r.CVGM.CVLoss[k], w.CVLoss, 1e-11)
		for i := range 2 {
			casetest.Near(t, "hyperparameter", r.CVGM.Lambda[k][i], w.Alpha[i], 1e-12)
			casetest.Near(t, "gradient", r.CVGM.Grad[k][i], w.Grad[i], 1e-9)
		}
		if t.Failed() {
			t.Fatalf("step %d", k)
		}
	}

	best := math.Inf(1)
	for k, w := range want.Exhaustive {
		casetest.Near(t, "grid λ1", r.Exhaustive.Lambda[k][0], w.L1, 1e-15)
		casetest.Near(t, "grid λ2", r.Exhaustive.Lambda[k][1], w.L2, 1e-15)
		casetest.Near(t, "grid CV loss", r.Exhaustive.CVLoss[k], w.CV, 1e-11)
		if w.CV < best {
			best = w.CV
			casetest.Near(t, "grid test loss", r.Exhaustive.TestLoss[k], w.Test, 1e-9)
		}
	}
}

// The replay gives the printed numbers of the published code up to the errors of its single
// precision, about 3e-7.
func TestElasticNetReplayGivesThePrintedNumbers(t *testing.T) {
	r := replayedResult(t)
	const single = 5e-7
	casetest.Near(t, "least squares", r.LeastSquares, 1.2847221015, single)
	casetest.Near(t, "true coefficients", r.TrueCoefficients, .9606138295, single)
	casetest.Near(t, "true coefficients in single precision", r.TrueCoefficientsSingle, .960613829513703, 1e-14)
	casetest.Near(t, "exhaustive search", r.Exhaustive.Final(), 1.2074096203, single)
	casetest.Near(t, "random search", r.Random.Final(), 1.083789587, single)
	casetest.Near(t, "CVGM", r.CVGM.Final(), 1.077971, single)
	if r.Exhaustive.Improvements != 21 {
		t.Errorf("exhaustive search improves %d times, printed are 21", r.Exhaustive.Improvements)
	}
	printed := []float64{1.28368, 1.28329, 1.28244, 1.28062, 1.27677, 1.26873, 1.25258, 1.22260, 1.17632, 1.13259, 1.13237,
		1.13189, 1.13088, 1.12875, 1.12439, 1.11617, 1.10379, 1.10592, 1.13080, 1.15407, 1.20741}
	var improvements []float64
	for i, v := range r.Exhaustive.TestLoss {
		if i == 0 || v != r.Exhaustive.TestLoss[i-1] {
			improvements = append(improvements, v)
		}
	}
	// The tolerance is half a unit of the fifth digit plus an error of the single-precision QP
	// solver.
	if diff := cmp.Diff(printed, improvements, cmpopts.EquateApprox(0, 5e-6+2e-6)); diff != "" {
		t.Errorf("improvements of exhaustive search (-printed +replayed):\n%s", diff)
	}
}

func TestElasticNetIsTheSameForAnyGOMAXPROCS(t *testing.T) {
	p := DefaultElasticNet()
	p.Steps, p.GridPoints, p.RandomPoints, p.LongSteps, p.SurfacePoints = 12, 4, 10, 40, 6
	casetest.SameForAnyGOMAXPROCS(t, p.Run)
}

func TestElasticNetRefusesBadParams(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*ElasticNetParams)
		want   error
	}{
		"no training rows": {func(p *ElasticNetParams) { p.Train = 0 }, qpdiff.ErrDomain},
		"no test rows":     {func(p *ElasticNetParams) { p.Train = p.Samples }, qpdiff.ErrDomain},
		"no splits":        {func(p *ElasticNetParams) { p.K = 0 }, qpdiff.ErrDomain},
		"p = 1":            {func(p *ElasticNetParams) { p.P = 1 }, qpdiff.ErrDomain},
		"no step":          {func(p *ElasticNetParams) { p.StepSize = 0 }, qpdiff.ErrDomain},
		"scale 0":          {func(p *ElasticNetParams) { p.Scale = 0 }, qpdiff.ErrDomain},
	} {
		p := DefaultElasticNet()
		c.change(&p)
		if _, err := p.Run(context.Background(), experiment.Hooks{}); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}

func TestElasticNetStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := DefaultElasticNet().Run(ctx, experiment.Hooks{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestElasticNetStepperTakesTheStepsOfRun(t *testing.T) {
	p := DefaultElasticNet()
	p.Samples, p.K, p.Steps, p.GridPoints, p.RandomPoints, p.LongSteps, p.SurfacePoints = 60, 6, 8, 2, 2, 2, 4
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.Stepper(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if fit, truth, err := ReferenceLosses(w.Setup); fit != r.LeastSquares || truth != r.TrueCoefficients || err != nil {
		t.Errorf("reference losses %v, %v (%v); Run has %v, %v", fit, truth, err, r.LeastSquares, r.TrueCoefficients)
	}
	i := 0
	for s, err := range w.States(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		test, err := s.Model.Risk(w.Loss, w.Test)
		if s.Step != i || [2]float64(s.X) != r.CVGM.Lambda[i] || s.CVLoss != r.CVGM.CVLoss[i] || test != r.CVGM.TestLoss[i] || err != nil {
			t.Errorf("step %d: %+v, test loss %v (%v); Run has λ %v, CV loss %v, test loss %v", i, s, test, err, r.CVGM.Lambda[i], r.CVGM.CVLoss[i], r.CVGM.TestLoss[i])
		}
		if i++; i == p.Steps {
			break
		}
	}
	s, err := p.Evaluate(t.Context(), w.Setup, false)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range r.Surface.CV {
		for j, want := range row {
			// Both losses come from warm starts, but from different ones.
			if math.Abs(s.CV[i][j]-want) > 1e-9*want {
				t.Errorf("surface at %d, %d: %v, want %v", i, j, s.CV[i][j], want)
			}
		}
	}
}

func TestElasticNetStepperRefusesBadParams(t *testing.T) {
	p := DefaultElasticNet()
	p.Train = p.Samples
	if _, err := p.Stepper(t.Context()); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("error %v", err)
	}
}

func ExampleElasticNetParams_Stepper() {
	w, err := DefaultElasticNet().Stepper(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for s, err := range w.States(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if s.Step == 98 {
			test, err := w.TestLoss(s.X)
			if err != nil {
				fmt.Println(err)
			}
			fmt.Printf("CV loss %.3f, test loss %.3f at λ = %.3f\n", s.CVLoss, test, s.X)
			break
		}
	}
	fit, _, err := ReferenceLosses(w.Setup)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Printf("least squares: %.3f\n", fit)
	// Output:
	// CV loss 1.654, test loss 1.078 at λ = [0.061 0.043]
	// least squares: 1.285
}
