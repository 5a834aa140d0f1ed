package readings

import (
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
)

// Texts about the end of a run name the step that their CV loss belongs to.
func TestLastLossesHaveSteps(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{XORVariantsTable(xorResult()), "After 2 steps, before the last one, the CV loss is 3.0000 along the full gradient and 3.0000 along the published direction."},
		{XORVariants(xorResult()), "full: determined for 3 of 3 steps; after step 3 the CV loss is 2.000 and"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%q lacks %q", c.got, c.want)
		}
	}
}

// The answers on the gradient's parts follow from the results.
func TestAnswersOnGradientParts(t *testing.T) {
	answer := func(cosine, uphill, left float64) string {
		at := kernels.GradientParts{PrintedUphill: experiment.Estimate{Mean: uphill, N: 10}, Left: experiment.Estimate{Mean: left}}
		r := &kernels.GradientPartsResult{Paths: []kernels.GradientPath{{Problem: kernels.ProblemRings, Variant: kernels.Published, K: 4, At: []kernels.GradientParts{at}}}}
		return GradientParts(r, &kernels.LearnedKernelResult{Runs: []kernels.Run{{Cosine: []float64{cosine}}}})
	}
	for _, c := range []struct{ got, want string }{
		{answer(-.5, 0, .6), "typical?** No: the cosine of its first published step is -0.50."},
		{answer(-.5, .9, .6), "typical?** Yes:"},
		{answer(.5, .2, .6), "typical?** Yes:"},
		{answer(-.5, .2, .6), "with 20 % uphill."},
		{answer(.5, .9, .6), "typical?** No:"},
		{answer(.5, 0, .6), "cancel?** No:"},
		{answer(.5, 0, .4), "cancel?** In part:"},
		{answer(.5, 0, .05), "cancel?** Yes:"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%q lacks %q", c.got, c.want)
		}
	}
}

// xorResult returns runs of three steps.
func xorResult() *kernels.LearnedKernelResult {
	losses := []float64{5, 4, 3, 2}
	run := func(v kernels.Variant) kernels.Run {
		return kernels.Run{Variant: v, CVLoss: losses, Perturbed: losses, Accuracy: make([]float64, 4), Cosine: make([]float64, 4)}
	}
	return &kernels.LearnedKernelResult{Runs: []kernels.Run{run(kernels.Published), run(kernels.Full)}}
}
