package main

import (
	"math"
	"strings"
	"testing"
)

// For training values ±1 with labels ±2, the slope is (2 − λ1)/(1 + λ2). The CV loss is its square,
// because the validation row is x = 1, y = 0.
func TestStepsHaveLossesAndGradients(t *testing.T) {
	const text = `{"X": [[1], [-1], [1]], "Y": [2, -2, 0], "Splits": [{"Train": [0, 1], "Val": [2]}], "Penalties": [[0.5, 0.25], [1, 1]]}`
	const rounding = 1e-14
	got, err := takeSteps(strings.NewReader(text), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ slope, over float64 }{{1.2, 1.25}, {.5, 2}} {
		loss, gradient := want.slope*want.slope, []float64{-2 * want.slope / want.over, -2 * want.slope * want.slope / want.over}
		if !(math.Abs(got.Losses[i]-loss) <= rounding) || !(math.Abs(got.Gradients[i][0]-gradient[0]) <= rounding) || !(math.Abs(got.Gradients[i][1]-gradient[1]) <= rounding) {
			t.Errorf("CV loss %v, gradient %v; want %v, %v", got.Losses[i], got.Gradients[i], loss, gradient)
		}
	}
	if !(0 < got.WarmSeconds) || !(0 < got.ColdSeconds) {
		t.Errorf("%v s for a warm step, %v s for a cold one", got.WarmSeconds, got.ColdSeconds)
	}
	for _, wrong := range []string{`{}`, `{`, `{"X": [[1]], "Y": [1], "Penalties": [[1, 1]]}`, strings.Replace(text, "0.5", "-1", 1)} {
		if _, err := takeSteps(strings.NewReader(wrong), 1); err == nil {
			t.Errorf("no error for %s", wrong)
		}
	}
}
