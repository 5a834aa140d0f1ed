package tune

import (
	"math"
	"slices"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// For a large table, a descent ends after slowEvals evaluations without a sufficient decrease of
// the loss.
func TestLargeTableTakesFewerEvaluations(t *testing.T) {
	serial.Test(t)
	for _, n := range []int{largeTable/40 + 40, largeTable/40 - 40}[:casetest.Sets(2, 1)] {
		src := synth.NewStream(1, "descents")
		d := learn.Data{X: mat.NewDense(40, n, nil), Y: make([]float64, 40)}
		for i := range d.Y {
			d.Y[i] = src.NormFloat64()
			for j := range n {
				x := src.NormFloat64()
				if d.Dense().Set(i, j, x); j < 10 {
					d.Y[i] += x
				}
			}
		}
		tuned, err := Tuner{Workers: 1, OuterFolds: -1}.Tune(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		large, longest, repeated := 40*n > largeTable, 0, 0
		lowest, idle, start := math.Inf(1), 0, 0
		for i, step := range tuned.Path {
			if step.Start == 0 && start > 0 && slices.ContainsFunc(tuned.Path[:i], func(s Step) bool { return slices.Equal(s.Hyper, step.Hyper) }) {
				repeated++
			}
			if step.Start != start {
				lowest, idle, start = math.Inf(1), 0, step.Start
			}
			if step.Start == 0 {
				continue
			}
			if idle++; math.IsInf(lowest, 1) || step.Loss < lowest*(1-slowShare) {
				lowest, idle = step.Loss, 0
			}
			longest = max(longest, idle)
		}
		if large && (longest > slowEvals || repeated > 1) || !large && longest <= slowEvals {
			t.Errorf("%d features: %d evaluations in a row gain too little, %d points repeated", n, longest, repeated)
		}
	}
}
